"""How counting and publishing grow with the number of reports and of attributes, beside the paper's theorems.

Over N: Adult's shape (15 attributes), epsilon 8 (`direct`) and 4 (`subset`), from files of reports to a publication. Over d:
binary attributes, epsilon 8, 200,000 reports. Every step in a process of its own: processor seconds, wall seconds, peak memory.
`python benchmarks/growth.py [reports] [attributes] [--keep DIRECTORY]`; both by default. Writes benchmarks/results/growth.csv and
growth.svg. 10^8 reports take 3 GB of files.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
N_REPORTS = (10**5, 10**6, 10**7, 10**8)
N_ATTRIBUTES = (10, 30, 100, 300, 1000)
N_FIXED = 200_000
ROWS = 100_000
"""Synthetic records: the same for every N, so that only what depends on the reports grows."""
THEOREM = "N k m v^k + t N v^2k a pair (Theorem 2), d (d - 1) / 2 pairs"

MAKE = """
import sys; sys.path.insert(0, {here!r})
import numpy as np
from client import adult_shaped
from lopub import Boolean, CampaignRequest, Dataset, Domain, Terms, make_campaign, simulate
from lopub.reports.batch import save_reports
n, d, epsilon, path = {n}, {d}, {epsilon}, {path!r}
domain = adult_shaped() if d is None else Domain(tuple(Boolean(name=f"q{{i:04}}") for i in range(d)))
campaign = make_campaign(domain, Terms(name="growth"), CampaignRequest(epsilon=epsilon))
def blocks():
    for number, start in enumerate(range(0, n, 2**17)):
        rng, size = np.random.default_rng(number), min(2**17, n - start)
        codes = np.stack([rng.integers(0, k, size, dtype=np.uint16) for k in domain.sizes], axis=1)
        yield simulate(Dataset(domain, codes), campaign, seed=number)
save_reports(path, campaign, blocks())
"""
COUNT = """
from pathlib import Path
from lopub.reports.engines import FileSource, LocalEngine, count_source
counts = count_source(FileSource([Path({path!r})]), LocalEngine())
counts.save({counts!r}, force=True)
said = dict(n=len(counts), tables=len(counts.tables))
"""
PUBLISH = """
from lopub import Counts, publish
made = publish(Counts.load({counts!r}), seed=1, rows={rows})
made.save({out!r}, force=True)
said = dict(n=made.n_reports, edges=len(made.graph.edges), pairs=made.graph.n_pairs, fitted=len(made.graph.strengths))
"""
MEASURED = """
import json, resource, time
wall, cpu = time.perf_counter(), time.process_time()
{work}
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(said | dict(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu, mb=own.ru_maxrss / 1024)))
"""


def measured(work: str) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-c", MEASURED.format(work=work)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def grown(folder: Path, n: int, d: int | None, epsilon: int) -> list[dict[str, float | str]]:
    """Count and publish reports of n people; d: binary attributes, or None for Adult's."""
    path = folder / f"{n}-{d}-{epsilon}.parquet"
    if not path.exists():
        make = MAKE.format(
            here=str(Path(__file__).parent), n=n, d=d, epsilon=epsilon, path=str(path)
        )
        subprocess.run([sys.executable, "-c", make], check=True)
    counts, out, rows = (
        str(folder / "counts.parquet"),
        str(folder / "published"),
        ROWS if d is None else n,
    )
    steps = {
        "count": COUNT.format(path=str(path), counts=counts),
        "publish": PUBLISH.format(counts=counts, out=out, rows=rows),
    }
    found = []
    for step, work in steps.items():
        row = measured(work)
        print(
            f"{n:>11,} reports {d or 15:>5} attributes epsilon {epsilon} {step:>8}: {row['wall']:7.1f} s",
            row,
            flush=True,
        )
        found.append({"reports": n, "attributes": d or 15, "epsilon": epsilon, "step": step, **row})
    return found


def drawn(rows: list[dict[str, float | str]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
    sides = (("reports", {"attributes": 15}, True), ("attributes", {"reports": N_FIXED}, False))
    for side, (over, fixed, adult) in zip(axes, sides, strict=True):
        alike = [row for row in rows if (row["attributes"] == 15) is adult]
        own = [row for row in alike if all(row[key] == value for key, value in fixed.items())]
        for step in ("count", "publish"):
            for epsilon in sorted({row["epsilon"] for row in own}):
                points = sorted(
                    (float(r[over]), float(r["cpu"]))
                    for r in own
                    if r["step"] == step and r["epsilon"] == epsilon
                )
                if points:
                    side.loglog(
                        *zip(*points, strict=True), "o-", label=f"{step}, epsilon {epsilon}"
                    )
        if own:
            first = min(float(row[over]) for row in own)
            last = max(float(row[over]) for row in own)
            start = max(float(row["cpu"]) for row in own if float(row[over]) == first)
            power = 1 if over == "reports" else 2
            side.loglog(
                [first, last],
                [start, start * (last / first) ** power],
                "k:",
                label="the paper's growth",
            )
        side.set(xlabel=over, ylabel="processor seconds")
        side.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(RESULTS / "growth.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["reports", "attributes", []])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--most", type=int, default=max(N_REPORTS))
    asked = parser.parse_args()
    what, rows = asked.what or ["reports", "attributes"], []
    with tempfile.TemporaryDirectory() as made:
        folder = asked.keep or Path(made)
        if "reports" in what:
            rows += [
                row
                for n in N_REPORTS
                if n <= asked.most
                for epsilon in (8, 4)
                for row in grown(folder, n, None, epsilon)
            ]
        if "attributes" in what:
            rows += [row for d in N_ATTRIBUTES for row in grown(folder, N_FIXED, d, 8)]
    names = [
        "reports",
        "attributes",
        "epsilon",
        "step",
        "wall",
        "cpu",
        "mb",
        "tables",
        "pairs",
        "fitted",
        "edges",
    ]
    with (RESULTS / "growth.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {
                key: f"{value:.2f}" if isinstance(value, float) else value
                for key, value in row.items()
            }
            for row in rows
        )
    drawn(rows)
    print("the paper:", THEOREM)


if __name__ == "__main__":
    main()
