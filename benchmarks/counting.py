"""Counting 20,000,000 `direct` reports from Parquet: against an older checkout, or against the plain way, in one run.

`python benchmarks/counting.py [CHECKOUT] [--reports N] [--keep DIRECTORY]`: CHECKOUT is a directory with a `src` of LoPub, whose
whole batch is read and counted; without it, the plain way is that of this code: everything into memory, then counted. Every run
is a process of its own, for its memory. DIRECTORY keeps the reports for the next run. Results: benchmarks/results/counting.csv.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from engines import write_crowd

N_REPORTS = 20_000_000
ASKED, MOST_MB = 8, 600
RESULTS = Path(__file__).parent / "results" / "counting.csv"
STREAMED = """
from pathlib import Path
from lopub.reports.engines import FileSource, LocalEngine, count_source
def counted(path): return count_source(FileSource([Path(path)]), LocalEngine({n_workers}))
"""
WHOLE = """
try:
    from lopub.reports.batch import ReportBatch
    from lopub.reports.counts import count
except ImportError:  # an older floor plan
    from lopub.batch import ReportBatch
    from lopub.counts import count
def counted(path): return count((getattr(ReportBatch, "load", None) or ReportBatch.read)(path))
"""
TIMED = """
import hashlib, json, resource, sys, time
counted(sys.argv[1])  # compiles and loads what is needed
wall, cpu = time.perf_counter(), time.process_time()
counts = counted(sys.argv[2])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
said = hashlib.sha256(repr([(k, t.n_reports, t.counts.tobytes()) for k, t in sorted(counts.tables.items())]).encode()).hexdigest()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(dict(wall=wall, cpu=cpu, mb=peak, n=len(counts), said=said)))
"""


def measured(way: str, source: Path, few: Path, many: Path) -> dict[str, float | str]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", way + TIMED, str(few), str(many)]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", nargs="?", type=Path)
    parser.add_argument("--reports", type=int, default=N_REPORTS)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    here = Path(__file__).parents[1] / "src"
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        kept = asked.keep or Path(folder)
        few, many = kept / "1000.parquet", kept / f"{asked.reports}.parquet"
        for path in (few, many):
            if not path.exists():
                write_crowd(path, int(path.stem))
        ways = {
            "plain": (WHOLE, (asked.checkout / "src").absolute() if asked.checkout else here),
            "one core": (STREAMED.format(n_workers=1), here),
            "all cores": (STREAMED.format(n_workers=cores), here),
        }
        rows = [{"way": name, **measured(*way, few, many)} for name, way in ways.items()]
    first = rows[0]
    print(
        f"{asked.reports:,} direct reports from Parquet on {cores} cores (asked: {ASKED}x, at most {MOST_MB} MB)",
        flush=True,
    )
    for row in rows:
        row["ratio"] = float(first["wall"]) / float(row["wall"])
        print(
            f"  {row['way']:>10}: {row['wall']:6.1f} s, {row['cpu']:6.1f} s of processor, {row['mb']:6,.0f} MB,"
            f" {row['ratio']:5.1f}x, the same counts: {row['said'] == first['said']}",
            flush=True,
        )
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["way", "reports", "cores", "wall_s", "processor_s", "peak_mb", "ratio"])
        for row in rows:
            figures = (
                f"{row['wall']:.2f}",
                f"{row['cpu']:.2f}",
                f"{row['mb']:.0f}",
                f"{row['ratio']:.1f}",
            )
            writer.writerow([row["way"], asked.reports, cores, *figures])


if __name__ == "__main__":
    main()
