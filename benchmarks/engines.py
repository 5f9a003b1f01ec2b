"""Many reports through Dask and Spark with two workers: time, rate, memory of each worker.

`python benchmarks/engines.py [local] [dask] [spark] [--reports N] [--keep DIRECTORY]`; all three by default. DIRECTORY keeps the
reports for the next run. Results go to benchmarks/results/engines.csv.
"""

import argparse
import csv
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from client import adult_shaped
from lopub import CampaignRequest, Dataset, ReportBatch, Terms, make_campaign
from lopub.reports.batch import save_reports
from lopub.reports.engines import Engine, FileSource, LocalEngine, count_source
from lopub.reports.engines.passing import bytes_of_counts
from lopub.reports.simulation import simulate

N_REPORTS = 100_000_000
N_WORKERS = 2
MOST_MB = 1_500
BLOCK = 2**19
FILE_REPORTS = 10_000_000
RESULTS = Path(__file__).parent / "results" / "engines.csv"


def crowd(n: int, first: int = 0) -> Iterator[ReportBatch]:
    """Reports of n people, a block at a time, each block with a seed of its own, and so with ids of its own."""
    campaign = make_campaign(adult_shaped(), Terms(name="bench"), CampaignRequest(epsilon=8))
    for number, start in enumerate(range(0, n, BLOCK), start=first):
        rng, size = np.random.default_rng(number), min(BLOCK, n - start)
        codes = np.stack(
            [rng.integers(0, k, size, dtype=np.uint16) for k in campaign.domain.sizes], axis=1
        )
        yield simulate(Dataset(campaign.domain, codes), campaign, seed=number)


def write_crowd(path: Path, n: int, first: int = 0) -> None:
    campaign = make_campaign(adult_shaped(), Terms(name="bench"), CampaignRequest(epsilon=8))
    save_reports(path, campaign, crowd(n, first))


def files_of(folder: Path, n: int) -> list[Path]:
    found = []
    for number, start in enumerate(range(0, n, FILE_REPORTS)):
        path = folder / f"{n}-{number:03}.parquet"
        if not path.exists():
            write_crowd(path, min(FILE_REPORTS, n - start), number * (FILE_REPORTS // BLOCK + 1))
        found.append(path)
    return found


class Watched:
    """The most memory that any Python process below this one, or this one itself, has held meanwhile."""

    def __init__(self) -> None:
        self.most: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            for process in _family(os.getpid()):
                self.most[process] = max(self.most.get(process, 0), _resident_mb(process))

    def mb(self) -> float:
        workers = [most for process, most in self.most.items() if process != os.getpid()]
        return max(workers or self.most.values(), default=0)


def _family(process: int) -> list[int]:
    """A process and all below it, Java left out: its memory is what its options say."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, rest = (entry / "stat").read_text().rsplit(")", 1)
            except OSError:
                continue
            if not name.endswith("(java"):
                parents[int(entry.name)] = int(rest.split()[1])
            else:
                parents[int(entry.name)] = process
    found = [process]
    for each in found:
        found += [
            child for child, parent in parents.items() if parent == each and child not in found
        ]
    return [each for each in found if "java" not in _name(each)]


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""


def _resident_mb(process: int) -> float:
    try:
        return (
            int(Path(f"/proc/{process}/statm").read_text().split()[1])
            * os.sysconf("SC_PAGE_SIZE")
            / 2**20
        )
    except (OSError, IndexError):
        return 0


def local() -> Engine:
    return LocalEngine(N_WORKERS)


def dask() -> Engine:
    from lopub.reports.engines.dask_engine import DaskEngine

    return DaskEngine.here(N_WORKERS, memory_limit=f"{MOST_MB}MB")


def spark() -> Engine:
    from lopub.reports.engines.spark_engine import SparkEngine

    return SparkEngine.at(None)


ENGINES: dict[str, Callable[[], Engine]] = {"local": local, "dask": dask, "spark": spark}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []])
    parser.add_argument("--reports", type=int, default=N_REPORTS)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    rows, said = [], set()
    with tempfile.TemporaryDirectory() as folder:
        files = files_of(asked.keep or Path(folder), asked.reports)
        print(
            f"{asked.reports:,} direct reports, {N_WORKERS} workers (asked: at most {MOST_MB:,} MB each)",
            flush=True,
        )
        for name in asked.engines or ENGINES:
            with ENGINES[name]() as engine, Watched() as watched:
                start = time.perf_counter()
                counts = count_source(FileSource(files), engine)
                seconds = time.perf_counter() - start
            said.add(bytes_of_counts(counts))
            rate = len(counts) / seconds
            rows.append(
                [
                    name,
                    asked.reports,
                    N_WORKERS,
                    f"{seconds:.1f}",
                    f"{rate:.0f}",
                    f"{watched.mb():.0f}",
                ]
            )
            print(
                f"  {name:>6}: {seconds:7.1f} s, {rate:12,.0f} reports per second, {watched.mb():6,.0f} MB",
                flush=True,
            )
    print(f"  the same counts: {len(said) == 1}", flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["engine", "reports", "workers", "wall_s", "reports_per_s", "most_mb_a_worker"], *rows]
        )


if __name__ == "__main__":
    main()
