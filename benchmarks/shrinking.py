"""Is the default ever beaten? `shrunk` beside the best of em, lasso, hybrid and product.

`PYTHONPATH=. python benchmarks/shrinking.py [--ours | --rest] [TABLE ...]` writes shrinking.csv in benchmarks/results.
--ours: what the others have in that file is kept, and `shrunk` alone is run on the same sets. --rest: only rows that the file
lacks, to go on with a run that was stopped. The table of docs/estimation.md is printed at the end.

The paper's reports (Bloom filters of every attribute, its sample of each table), random sets of k attributes, the mean over all
sets of a cell, the same for all methods. ratio: shrunk over the best of the others; seconds: CPU time of one set by shrunk. Sets
of more than 5,000 cells are left out: they take minutes each. The tables come from LOPUB_DATA; one that is not there is left out,
and its rows of the last run stay."""

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from lopub.errors import StoreError
from lopub.estimation.joint import avd
from lopub.reports.catalogue.public import data_directory
from reproduction.crowds import paper_study, table_of
from reproduction.estimation import names_of, true_joint
from reproduction.extent import TABLES
from reproduction.figures import TITLES

FLIPS = ("0.1", "0.3", "0.5", "0.7", "0.9")
DIMENSIONS = (2, 3, 5)
OTHERS = ("em", "lasso", "hybrid", "product")
N_SEEDS = {"retail": 2, "nltcs": 2, "adult": 2, "tpce": 1}
N_SETS = 12
Errors = dict[tuple[int, str], list[tuple[float, float]]]
Key = tuple[str, str, str]
"""Table, f, k."""
MOST_CELLS = 5_000
RESULTS = Path(__file__).parent / "results" / "shrinking.csv"
HEAD = ["table", "f", "k", "sets", *OTHERS, "shrunk", "best", "ratio", "seconds"]


def chosen_sets(sizes: tuple[int, ...], k: int, seed: int) -> list[tuple[int, ...]]:
    able = [
        one
        for one in combinations(range(len(sizes)), k)
        if np.prod([sizes[p] for p in one]) <= MOST_CELLS
    ]
    return [
        able[number] for number in np.random.default_rng([k, seed]).permutation(len(able))[:N_SETS]
    ]


def measured(
    name: str, directory: Path, flip: str, seed: int, methods: dict[int, tuple[str, ...]]
) -> Errors:
    """Of one sample of a table: by k and method, the error of every set; and the CPU seconds of all of them."""
    records, study = paper_study(name, directory, TABLES[name].sample, flip, seed)
    study.joint_of((0, 1))  # marginals, and what the pairs teach
    found: Errors = {}
    for k in DIMENSIONS:
        for clique in chosen_sets(records.domain.sizes, k, seed):
            asked, true = (
                study.domain.positions(names_of(records, clique)),
                true_joint(records, clique),
            )
            for method in methods[k]:
                start = time.process_time()
                error = avd(study.joint_of(asked, method).probabilities, true)
                found.setdefault((k, method), []).append((error, time.process_time() - start))
    return found


def rows(
    name: str, flips: Sequence[str], directory: Path, kept: dict[Key, list[str]], pool: Executor
) -> Iterator[list[str]]:
    def methods_at(flip: str) -> dict[int, tuple[str, ...]]:
        return {
            k: ("shrunk",) if (name, flip, str(k)) in kept else (*OTHERS, "shrunk")
            for k in DIMENSIONS
        }

    work = {
        flip: [
            pool.submit(measured, name, directory, flip, seed, methods_at(flip))
            for seed in range(N_SEEDS[name])
        ]
        for flip in flips
    }
    for flip, futures in work.items():
        found = [future.result() for future in futures]
        for k in DIMENSIONS:
            old = kept.get((name, flip, str(k)))
            means = {method: float(old[HEAD.index(method)]) for method in OTHERS} if old else {}
            own = {
                method: [pair for one in found for pair in one[k, method]]
                for method in methods_at(flip)[k]
            }
            means |= {
                method: float(np.mean([error for error, _ in pairs]))
                for method, pairs in own.items()
            }
            yield row(
                name,
                flip,
                k,
                means,
                len(own["shrunk"]),
                sum(seconds for _, seconds in own["shrunk"]),
            )


def row(name: str, flip: str, k: int, means: dict[str, float], n: int, seconds: float) -> list[str]:
    best = min(OTHERS, key=means.__getitem__)
    figures = (f"{means[method]:.5f}" for method in (*OTHERS, "shrunk"))
    return [
        name,
        flip,
        str(k),
        str(n),
        *figures,
        best,
        f"{means['shrunk'] / means[best]:.3f}",
        f"{seconds / n:.3f}",
    ]


def main(names: list[str], *, ours: bool, rest: bool) -> None:
    kept = read()
    others: dict[Key, list[str]] = (
        {(line[0], line[1], line[2]): line for line in kept} if ours else {}
    )
    with ProcessPoolExecutor(
        mp_context=get_context("spawn"), initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        for name in names or TABLES:
            try:
                table_of(name, data_directory(None))
            except StoreError as error:
                print(f"{name} is left out: {error}")
                continue
            known = {(line[0], line[1]) for line in kept} if rest else set()
            flips = [flip for flip in FLIPS if (name, flip) not in known]
            for line in rows(name, flips, data_directory(None), others, pool):
                print(*line, flush=True)
                kept = [
                    *(old for old in read() if old[:3] != line[:3]),
                    line,
                ]  # another run may have added its own
                write(kept)
    print(table(kept))
    ratios = [float(line[HEAD.index("ratio")]) for line in kept]
    above = sum(ratio > 1.1 for ratio in ratios)
    print(
        f"mean ratio {np.mean(ratios):.3f}, largest {max(ratios):.3f}, {above} of {len(ratios)} above 1.1"
    )


def table(lines: list[list[str]]) -> str:
    """In Markdown: by table and k down, by f across, our error, who is best of the others, and the ratio."""
    found = {(line[0], line[1], line[2]): dict(zip(HEAD, line, strict=True)) for line in lines}
    told = [f"| table, k | f = {' | '.join(FLIPS)} |", f"|---{'|---' * len(FLIPS)}|"]
    for name in TABLES:
        for k in DIMENSIONS:
            own = [found.get((name, flip, str(k))) for flip in FLIPS]
            cells = [
                f"{cell['shrunk']} (`{cell['best']}`, {float(cell['ratio']):.2f})"
                if cell
                else "not run"
                for cell in own
            ]
            told.append(f"| {TITLES[name]}, {k} | {' | '.join(cells)} |")
    return "\n".join(told)


def read() -> list[list[str]]:
    return list(csv.reader(RESULTS.open()))[1:] if RESULTS.exists() else []


def write(lines: list[list[str]]) -> None:
    """In the order of the tables; a row as soon as it is there, so that a run that is stopped can be gone on with."""
    ordered = sorted(lines, key=lambda line: (list(TABLES).index(line[0]), line[1], line[2]))
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *ordered])


if __name__ == "__main__":
    main(
        [name for name in sys.argv[1:] if name in TABLES],
        ours="--ours" in sys.argv,
        rest="--rest" in sys.argv,
    )
