"""CPU time and memory of a checkout against another one, as ratios in one run.

`python benchmarks/rebuild.py BEFORE [AFTER] [--repeats N] [--only WORD] [--results FILE]`

BEFORE, AFTER: roots of checkouts of LoPub, each with its virtual environment in .venv if it needs one of its own; AFTER is this
one unless given. Both run the same tasks in processes of their own, in turn, so that what else the machine does falls on both
alike. Figures are the least CPU seconds of the repetitions, compilation left out, and the peak memory of a process that does
nothing but the task. Needs LOPUB_DATA (adult.csv.gz).

benchmarks/results/rebuild.csv has the rebuild of the house itself, 2735790 against the commit before it, 45638c4;
rebuild_since.csv has today's code against the same commit, with all that was built since.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "rebuild_since.csv"
REPEATS = 3
N_ENCODED = 3000
N_CAMPAIGNS = 200
NOTABLE = 1.10
GIVEN = "LOPUB_REBUILD_CAMPAIGN"
Task = Callable[[], object]


def home(*names: str) -> Any:
    """The first of these modules that there is: a checkout may keep a thing elsewhere."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(f"none of {', '.join(names)} is there")


def adult() -> Any:
    return home("lopub.reports.catalogue", "lopub.catalogue").public_table("adult")


def campaign_of(table: Any, **wish: Any) -> Any:
    """The same for both checkouts: this one chooses it, the other one loads its bytes, whatever its own defaults are."""
    import lopub

    if GIVEN in os.environ:
        return lopub.Campaign.from_bytes(Path(os.environ[GIVEN]).read_bytes())
    return lopub.make_campaign(
        table.domain, lopub.Terms(name="rebuild"), lopub.CampaignRequest(**wish)
    )


def batch_of(**wish: Any) -> Any:
    import lopub

    table = adult()
    return lopub.simulate(table, campaign_of(table, **wish), seed=1)


def pairs(**wish: Any) -> Task:
    import lopub

    batch = batch_of(**wish)
    return lambda: lopub.estimate_pairs(batch)


def some_pairs(method: str, **wish: Any) -> Task:
    """Of three attributes."""
    import lopub

    batch = batch_of(**wish)
    names = batch.campaign.domain.names[1:4]
    return lambda: lopub.estimate_pairs(batch, names, method=method)


def counting(**wish: Any) -> Task:
    import lopub

    batch = batch_of(**wish)
    return lambda: lopub.count(batch)


def simulating(**wish: Any) -> Task:
    import lopub

    table = adult()
    campaign = campaign_of(table, **wish)
    return lambda: lopub.simulate(table, campaign, seed=1)


def encoding(**wish: Any) -> Task:
    import lopub

    table = adult()
    campaign = campaign_of(table, **wish)
    domain = campaign.domain
    records = [
        {
            name: attribute.candidates[code]
            for name, attribute, code in zip(domain.names, domain.attributes, row, strict=True)
        }
        for row in table.codes[:N_ENCODED].tolist()
    ]
    return lambda: [
        lopub.Client(campaign, store=lopub.MemoryStore()).encode(record) for record in records
    ]


def loading(**wish: Any) -> Task:
    import lopub

    data = campaign_of(adult(), **wish).canonical_bytes
    return lambda: [lopub.Campaign.from_bytes(data) for _ in range(N_CAMPAIGNS)]


def publishing(**wish: Any) -> Task:
    import lopub

    batch, folder = batch_of(**wish), tempfile.mkdtemp()

    def task() -> None:
        publication, path = lopub.publish(batch, seed=1), Path(folder) / f"{time.monotonic_ns()}"
        if hasattr(publication, "save"):
            publication.save(path)
        else:
            lopub.write_publication(publication, path)

    return task


TASKS: dict[str, tuple[Callable[..., Task], dict[str, Any]]] = {
    f"encode {N_ENCODED} records, direct, epsilon 8": (encoding, {"epsilon": 8}),
    f"encode {N_ENCODED} records, bloom, f 0.5": (encoding, {"flip_probability": "0.5"}),
    f"load {N_CAMPAIGNS} campaigns, direct, epsilon 8": (loading, {"epsilon": 8}),
    f"load {N_CAMPAIGNS} campaigns, bloom, f 0.5": (loading, {"flip_probability": "0.5"}),
    "simulate Adult, direct, epsilon 8": (simulating, {"epsilon": 8}),
    "simulate Adult, bloom, f 0.5": (simulating, {"flip_probability": "0.5"}),
    "simulate Adult, bloom, f 0.9": (simulating, {"flip_probability": "0.9"}),
    "count Adult, direct, epsilon 8": (counting, {"epsilon": 8}),
    "count Adult, bloom, f 0.5": (counting, {"flip_probability": "0.5"}),
    "all Adult pairs, direct, epsilon 8": (pairs, {"epsilon": 8}),
    "all Adult pairs, subset, epsilon 4": (pairs, {"epsilon": 4}),
    "three Adult pairs by em, bloom, f 0.5": (
        partial(some_pairs, "em"),
        {"flip_probability": "0.5"},
    ),
    "three Adult pairs by shrunk, bloom, f 0.5": (
        partial(some_pairs, "shrunk"),
        {"flip_probability": "0.5"},
    ),
    "publish Adult, direct, epsilon 8": (publishing, {"epsilon": 8}),
}


def serve(name: str) -> None:
    """In a process of its own: prepare a task and run it once; then again for every line that comes, and say what it took."""
    make, wish = TASKS[name]
    task = make(**wish)
    task()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        task()
        seconds = time.process_time() - start
        print(
            json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]),
            flush=True,
        )


class Checkout:
    """A process of a checkout that waits with one task."""

    def __init__(self, root: Path, name: str, campaign: Path) -> None:
        own = root / ".venv" / "bin" / "python"
        command = [str(own) if own.exists() else sys.executable, __file__, "task", name]
        environment = {
            **os.environ,
            "PYTHONPATH": str(root / "src"),
            "OPENBLAS_NUM_THREADS": "1",
            GIVEN: str(campaign),
        }
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._line() != "ready":
            raise SystemExit(f"{root} cannot do: {name}")

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def measure(self) -> tuple[float, float]:
        """CPU seconds, and peak memory in MB."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds, megabytes = json.loads(self._line())
        return seconds, megabytes

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def compared(name: str, roots: tuple[Path, Path], repeats: int) -> list[str]:
    """The row of a task: its least seconds, peaks and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        campaign = Path(folder) / "campaign.json"
        campaign.write_bytes(campaign_of(adult(), **TASKS[name][1]).canonical_bytes)
        sides = [Checkout(root, name, campaign) for root in roots]
        runs = [[side.measure() for side in sides] for _ in range(repeats)]
        for side in sides:
            side.end()
    (before, old_peak), (after, new_peak) = (
        (min(s for s, _ in side), max(m for _, m in side)) for side in zip(*runs, strict=True)
    )
    ratio, memory = after / before, new_peak / old_peak
    mark = " <" if max(ratio, memory) > NOTABLE else ""
    print(
        f"  {name:<46} {before:8.3f} s {after:8.3f} s {ratio:6.2f}   {old_peak:6.0f} MB {new_peak:6.0f} MB {memory:5.2f}{mark}",
        flush=True,
    )
    return [
        name,
        f"{before:.4f}",
        f"{after:.4f}",
        f"{ratio:.3f}",
        f"{old_peak:.0f}",
        f"{new_peak:.0f}",
        f"{memory:.3f}",
    ]


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["task"]:
        serve(arguments[1])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=HERE)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument(
        "--only",
        default="",
        metavar="WORD",
        help="tasks whose name has it; rows are added to the file",
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    least = f"least of {asked.repeats} (marked above {NOTABLE})"
    print(f"before, after, ratio: CPU seconds and peak memory, interleaved, {least}", flush=True)
    with open(asked.results, "a" if asked.only else "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not asked.only:
            writer.writerow(
                [
                    "task",
                    "seconds_before",
                    "seconds_after",
                    "ratio",
                    "mb_before",
                    "mb_after",
                    "memory_ratio",
                ]
            )
        for name in (task for task in TASKS if asked.only in task):
            writer.writerow(
                compared(name, (asked.before.resolve(), asked.after.resolve()), asked.repeats)
            )
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
