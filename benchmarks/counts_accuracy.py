"""How near `shrunk` comes with the default campaigns of epsilon 1, 2 and 4 (`subset`, views of two attributes, jointly).

Mean AVD of all pairs and of the 12 most dependent ones, mean AVD of the marginals, and edges found, in the table as it is and
with every column permuted, where each edge is a false one; mean of three seeds. Needs LOPUB_DATA with the tables asked for;
nltcs is not redistributed (the NLTCS, National Long Term Care Study, is sponsored by the National Institute of Aging and
conducted by the Duke University Center for Demographic Studies under Grant No. U01AG007198). Only public names are used, so that
versions can be compared: `python benchmarks/counts_accuracy.py LABEL [table ...]` adds rows under a label to
benchmarks/results/counts_accuracy.csv. `python benchmarks/counts_accuracy.py LABEL publish` times one publication of 1,000,000
reports of Adult at epsilon 4, and says how much memory it took.
"""

import csv
import resource
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub import CampaignRequest, Dataset, Terms, make_campaign, publish, simulate
from lopub.queries import Study
from lopub.reports.catalogue import public_table
from lopub.synthesis.dependence import LEAST_GAIN

SEEDS = (1, 2, 3)
EPSILONS = (1, 2, 4)
N_DEPENDENT = 12
N_PUBLISHED = 1_000_000
RESULTS = Path(__file__).parent / "results" / "counts_accuracy.csv"
COLUMNS = [
    "version",
    "table",
    "columns",
    "epsilon",
    "avd_all_pairs",
    "avd_dependent_pairs",
    "avd_marginals",
    "edges",
    "seconds",
]


def permuted(table: Dataset) -> Dataset:
    """The same marginals, and no dependence but by chance."""
    rng = np.random.default_rng(77)
    return Dataset(
        table.domain, np.stack([rng.permutation(column) for column in table.codes.T], axis=1)
    )


def dependence(joint: np.ndarray) -> float:
    return float(np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum())


def measured(table: Dataset, epsilon: float, seed: int) -> list[float]:
    pairs = list(combinations(table.domain.names, 2))
    truths = {pair: table.counts(pair) / len(table) for pair in pairs}
    dependent = sorted(pairs, key=lambda pair: dependence(truths[pair]), reverse=True)[:N_DEPENDENT]
    campaign = make_campaign(
        table.domain, Terms(name="accuracy"), CampaignRequest(epsilon=epsilon, mechanism="subset")
    )
    batch = simulate(table, campaign, seed=seed)
    start = time.perf_counter()
    study = Study(batch)
    joints = study.pairs()
    seconds = time.perf_counter() - start
    errors = {pair: joints[pair].avd(truths[pair]) for pair in pairs}
    marginals = [
        np.abs(study.marginal(study.domain.position(name)) - table.counts(name) / len(table)).sum()
        / 2
        for name in campaign.domain.names
    ]
    edges = sum((joint.fit.gain or 0.0) >= LEAST_GAIN for joint in joints.values())
    of_dependent = np.mean([errors[pair] for pair in dependent])
    return [
        float(np.mean(list(errors.values()))),
        float(of_dependent),
        float(np.mean(marginals)),
        edges,
        seconds,
    ]


def time_publication(label: str) -> None:
    table = public_table("adult")
    people = Dataset(
        table.domain, table.codes[np.random.default_rng(1).integers(0, len(table), N_PUBLISHED)]
    )
    batch = simulate(
        people,
        make_campaign(
            people.domain, Terms(name="accuracy"), CampaignRequest(epsilon=4, mechanism="subset")
        ),
        seed=1,
    )
    del people
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    publish(batch)
    seconds, peak = (
        time.perf_counter() - start,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    print(
        f"{label}: {seconds:.1f} s; peak memory {peak:.0f} MiB, {before:.0f} MiB before", flush=True
    )


def main(label: str, names: list[str]) -> None:
    if names == ["publish"]:
        time_publication(label)
        return
    is_new = not RESULTS.exists()
    with open(RESULTS, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(COLUMNS)
        for name in names or ["adult", "tpce", "retail", "nltcs"]:
            whole = public_table(name)
            for columns, table in (("as they are", whole), ("permuted", permuted(whole))):
                for epsilon in EPSILONS:
                    found = np.mean([measured(table, epsilon, seed) for seed in SEEDS], axis=0)
                    row = [
                        *(f"{value:.5f}" for value in found[:3]),
                        f"{found[3]:.2f}",
                        f"{found[4]:.1f}",
                    ]
                    writer.writerow([label, name, columns, epsilon, *row])
                    print(label, name, columns, epsilon, *row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
