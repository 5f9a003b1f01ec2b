"""The paper's theorems on time and space beside ours, measured: each estimator over the number of reports and of attributes.

Bloom filters, m=32 h=4 f=0.5, v=4 candidates an attribute. Seconds are of one estimate from reports in memory, counting
included, and of the same estimate again, once reports are in order and counted; peak memory is what is added to reports in
order. Each in a process of its own. `moments` stops at pairs. Writes
benchmarks/results/complexity.csv and complexity.svg. `python benchmarks/complexity.py`.
"""

import csv
import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

from lopub import (
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    ReportBatch,
    Terms,
    make_campaign,
    simulate,
)
from lopub.queries import Study

METHODS = ("em", "shrunk", "moments", "lasso", "hybrid")
N_REPORTS = (5_000, 20_000, 50_000, 100_000, 200_000)
N_FIXED, K_FIXED, MOST_K, N_CANDIDATES = 20_000, 2, 4, 4
RESULTS = Path(__file__).parent / "results"
PAPER = {
    "em": ("N k m v^k + t N v^2k", "N k m + 2 N v^k"),
    "lasso": ("v^3k + k m v^2k + N k m", "N k m + v^k k m"),
    "hybrid": ("v^3k + k m v^2k + N k m + t N v'^2 + N k m v'", "N k m + v^k k m + 2 N v'"),
}
OURS = {
    "em": ("N k v h + t N v^k + N v^2k", "N k (m / 8 + v) + v^2k"),
    "shrunk": ("N k v h + t N v^k + N v^2k", "N k (m / 8 + v) + v^2k"),
    "moments": ("N (k m)^2 / 64 + t v^(k + 1)", "N k m / 8 + (k m)^2"),
    "lasso": ("N (k m)^2 / 64 + t h k v^k", "N k m / 8 + (k m)^2 + h k v^k"),
    "hybrid": ("lasso + em", "lasso + em"),
}
"""N v^2k, once, and v^2k are the standard errors (up to 2,048 cells). What is done once for all cliques is counted in:
co-occurrences of bits, for the regressions."""
Row = dict[str, float | str]


def people(n: int, k: int) -> Dataset:
    """Each attribute follows the one before in half of the records."""
    domain = Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple(f"v{value}" for value in range(N_CANDIDATES)))
            for i in range(k)
        )
    )
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, N_CANDIDATES, n)]
    for _ in range(k - 1):
        columns.append(np.where(rng.random(n) < 0.5, columns[-1], rng.integers(0, N_CANDIDATES, n)))
    return Dataset(domain, np.stack(columns, axis=1))


def reports(n: int, k: int) -> ReportBatch:
    table = people(n, k)
    request = CampaignRequest(flip_probability=0.5, n_bits=32, n_hashes=4)
    return simulate(table, make_campaign(table.domain, Terms(name="complexity"), request), seed=1)


def measure_here(method: str, n: int, k: int) -> None:
    """Print one measurement as JSON: warmed up, so that compiling and loading do not count."""
    Study(reports(300, k)).estimate(people(1, k).domain.names, method)
    batch = reports(n, k)
    names = batch.campaign.domain.names
    start = time.perf_counter()
    study = Study(batch)
    joint = study.estimate(names, method)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    study.estimate(names, method)
    again = time.perf_counter() - start
    fresh = Study(reports(n, k))  # which has put nothing aside
    tracemalloc.start()
    fresh.estimate(names, method)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    print(
        json.dumps(
            {
                "seconds": seconds,
                "again": again,
                "peak_mb": peak,
                "evaluations": joint.fit.n_evaluations,
            }
        )
    )


def measured(method: str, n: int, k: int) -> Row:
    command = [sys.executable, __file__, method, str(n), str(k)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"method": method, "n_reports": n, "k": k, **found}


def all_measured() -> list[Row]:
    rows = []
    for method in METHODS:
        sizes = dict.fromkeys(
            [(n, K_FIXED) for n in N_REPORTS] + [(N_FIXED, k) for k in range(1, MOST_K + 1)]
        )
        for n, k in sizes:
            if method != "moments" or k <= 2:
                rows.append(measured(method, n, k))
    return rows


def growth(rows: list[Row], method: str, what: str) -> float:
    """The exponent of N in the seconds, from the fewest to the most reports."""
    own = {
        row["n_reports"]: float(row[what])
        for row in rows
        if row["method"] == method and row["k"] == K_FIXED
    }
    return float(
        np.log(own[N_REPORTS[-1]] / own[N_REPORTS[0]]) / np.log(N_REPORTS[-1] / N_REPORTS[0])
    )


def _shown(row: Row) -> str:
    return f"{1e3 * float(row['seconds']):.1f} / {1e3 * float(row['again']):.1f} / {float(row['peak_mb']):.1f}"


def print_table(rows: list[Row]) -> None:
    cases = [(n, K_FIXED) for n in N_REPORTS] + [(N_FIXED, k) for k in range(1, MOST_K + 1)]
    print(
        f"one estimate: milliseconds / the same again / MB above reports in order; Bloom m=32 h=4 f=0.5, v={N_CANDIDATES}"
    )
    print(
        "  "
        + " " * 8
        + "".join(f"{f'N={n // 1000}k k={k}':>21}" for n, k in cases)
        + "   seconds grow as (again)"
    )
    for method in METHODS:
        own = {(row["n_reports"], row["k"]): row for row in rows if row["method"] == method}
        shown = [_shown(own[c]) if c in own else "-" for c in cases]
        print(
            f"  {method:<8}"
            + "".join(f"{text:>21}" for text in shown)
            + f"   N^{growth(rows, method, 'seconds'):.2f} (N^{growth(rows, method, 'again'):.2f})"
        )
    print("the paper's theorems (t iterations), and ours")
    for method in METHODS:
        for whose, theorems in (("paper", PAPER), ("ours", OURS)):
            if method in theorems:
                time_, space = theorems[method]
                print(f"  {method:<8} {whose:<6} time O({time_}), space O({space})")


def write_csv(rows: list[Row]) -> None:
    with open(RESULTS / "complexity.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "n_reports", "k", "seconds", "again", "peak_mb", "evaluations"])
        for row in rows:
            shown = f"{row['seconds']:.5f}", f"{row['again']:.5f}", f"{row['peak_mb']:.2f}"
            writer.writerow([row["method"], row["n_reports"], row["k"], *shown, row["evaluations"]])


def plot(rows: list[Row]) -> None:
    """Seconds over N and over k, on logarithms; the same rows give the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "lopub", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(8, 3.4), sharey=True, layout="constrained"
    )
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        over_n = sorted((row["n_reports"], row["seconds"]) for row in own if row["k"] == K_FIXED)
        over_cells = sorted(
            (N_CANDIDATES ** int(row["k"]), row["seconds"])
            for row in own
            if row["n_reports"] == N_FIXED
        )
        (line,) = left.loglog(*zip(*over_n, strict=True), marker="o", markersize=3, label=method)
        right.loglog(*zip(*over_cells, strict=True), marker="o", markersize=3, label=method)
        again = sorted((row["n_reports"], row["again"]) for row in own if row["k"] == K_FIXED)
        left.loglog(*zip(*again, strict=True), linestyle=":", color=line.get_color())
    left.set(
        xlabel="reports N",
        ylabel="seconds of one estimate",
        title=f"k = {K_FIXED} attributes (dotted: asked again)",
    )
    right.set(
        xlabel=f"cells v^k (v = {N_CANDIDATES}, k = 1 to {MOST_K})",
        title=f"N = {N_FIXED:,} reports",
    )
    right.legend(frameon=False)
    figure.savefig(RESULTS / "complexity.svg", metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str]) -> None:
    if arguments:
        measure_here(arguments[0], int(arguments[1]), int(arguments[2]))
        return
    RESULTS.mkdir(exist_ok=True)
    rows = all_measured()
    print_table(rows)
    write_csv(rows)
    plot(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
