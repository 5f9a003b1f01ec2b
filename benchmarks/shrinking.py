"""Is the default ever beaten? `python benchmarks/shrinking.py [--ours] [TABLE ...]`: `shrunk` beside the best of em, lasso,
hybrid and product. Writes shrinking.csv in benchmarks/results. --ours: what the others have in that file is kept, and `shrunk`
alone is run on the same sets.

The paper's reports (Bloom filters of every attribute, its sample of each table), random sets of k attributes, the mean over all
sets of a cell. ratio: shrunk over the best of the others. Sets of more than 5,000 cells are left out: they take minutes each. The
tables come from LOPUB_DATA; one that is not there is left out, and its rows of the last run stay."""

import csv
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub.collection.catalogue.public import data_directory
from lopub.errors import StoreError
from lopub.inference.joint import avd
from lopub.reproduce.crowds import paper_study, table_of
from lopub.reproduce.estimation import names_of, true_joint
from lopub.reproduce.extent import TABLES

FLIPS = ("0.1", "0.3", "0.5", "0.7", "0.9")
DIMENSIONS = (2, 3, 5)
OTHERS = ("em", "lasso", "hybrid", "product")
N_SEEDS = {"retail": 2, "nltcs": 2, "adult": 2, "tpce": 1}
N_SETS = 12
MOST_CELLS = 5_000
RESULTS = Path(__file__).parent / "results" / "shrinking.csv"
HEAD = ["table", "f", "k", "sets", *OTHERS, "shrunk", "best", "ratio", "seconds"]


def chosen_sets(sizes: tuple[int, ...], k: int, seed: int) -> list[tuple[int, ...]]:
    able = [one for one in combinations(range(len(sizes)), k) if np.prod([sizes[p] for p in one]) <= MOST_CELLS]
    return [able[number] for number in np.random.default_rng([k, seed]).permutation(len(able))[:N_SETS]]


def rows(name: str, directory: Path, kept: dict[tuple[str, str, str], list[str]]) -> Iterator[list[str]]:
    for flip in FLIPS:
        known = {k: kept.get((name, flip, str(k))) for k in DIMENSIONS}
        errors = {k: {m: [] for m in (("shrunk",) if known[k] else (*OTHERS, "shrunk"))} for k in DIMENSIONS}
        seconds = dict.fromkeys(DIMENSIONS, 0.0)
        for seed in range(N_SEEDS[name]):
            records, study = paper_study(name, directory, TABLES[name].sample, flip, seed)
            study.joint_of((0, 1))  # marginals, and what the pairs teach
            for k in DIMENSIONS:
                for clique in chosen_sets(records.domain.sizes, k, seed):
                    asked, true = study.domain.positions(names_of(records, clique)), true_joint(records, clique)
                    start = time.process_time()
                    for method, found in errors[k].items():
                        start = time.process_time()
                        found.append(avd(study.joint_of(asked, method).probabilities, true))
                    seconds[k] += time.process_time() - start  # of shrunk, the last one
        for k, own in errors.items():
            old = known[k]
            others = {method: float(old[HEAD.index(method)]) for method in OTHERS} if old else {}
            yield row(name, flip, k, others | {method: float(np.mean(found)) for method, found in own.items()}, own, seconds[k])


def row(name: str, flip: str, k: int, means: dict[str, float], own: dict[str, list[float]], seconds: float) -> list[str]:
    best = min(OTHERS, key=means.__getitem__)
    n, ratio = len(own["shrunk"]), means["shrunk"] / means[best]
    return [name, flip, str(k), str(n), *(f"{mean:.5f}" for mean in means.values()), best, f"{ratio:.3f}", f"{seconds / n:.3f}"]


def main(names: list[str], ours: bool) -> None:
    kept = list(csv.reader(RESULTS.open()))[1:] if RESULTS.exists() else []
    others = {(line[0], line[1], line[2]): line for line in kept} if ours else {}
    for name in names or TABLES:
        try:
            table_of(name, data_directory(None))
        except StoreError as error:
            print(f"{name} is left out: {error}")
            continue
        found = []
        for line in rows(name, data_directory(None), others):
            print(*line, flush=True)
            found.append(line)
        kept = list(csv.reader(RESULTS.open()))[1:] if RESULTS.exists() else []  # another table may have been run meanwhile
        kept = [line for line in kept if line[0] != name] + found
        with RESULTS.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *sorted(kept, key=lambda line: list(TABLES).index(line[0]))])
    ratios = [float(line[HEAD.index("ratio")]) for line in kept]
    print(
        f"mean ratio {np.mean(ratios):.3f}, largest {max(ratios):.3f}, {sum(r > 1.1 for r in ratios)} of {len(ratios)} above 1.1"
    )


main([name for name in sys.argv[1:] if name != "--ours"], "--ours" in sys.argv)
