"""How often a stated finding is chance: simulated collections of people of whom it is known what depends on what.

`python benchmarks/findings.py [RUNS [WORD]]` (200 runs; WORD: only the cases whose name has it)

Independent people: any finding is false; counted are the runs with one. Mixed people: three pairs of attributes depend on each
other and nothing else does; the mean share of false ones among what is stated, and how many of the three pairs are stated, beside
the edges that the model takes in; and how many of the intervals of what is stated hold the share of the people that were played.
Writes benchmarks/results/findings.csv.
"""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lopub import CampaignRequest, Terms, make_campaign, simulate
from lopub.campaign.domain import Categorical, Domain, Pair
from lopub.campaign.views import AllAttributes
from lopub.publication.findings import findings_of
from lopub.queries import Study
from lopub.queries.contrasts import IN, OUT, Contrast
from lopub.reports.dataset import Dataset
from lopub.reports.progress import silent
from lopub.synthesis.dependence import gain_graph

RESULTS = Path(__file__).parent / "results" / "findings.csv"
N_DEPENDENT = 3
"""Pairs, in mixed people: the first attributes."""


@dataclass(frozen=True)
class Case:
    """People and how they are asked."""

    name: str
    n: int
    n_attributes: int
    request: dict[str, Any]
    skew: float | None = None
    """The share of every attribute's first answer; None: shares are drawn."""
    strength: float = 0.0
    """Of mixed people, how many give the answer that goes with their other one; 0: independent people."""


CASES = [
    *(Case(f"independent, epsilon {e}", 10_000, 10, {"epsilon": e}) for e in (1, 2, 4, 8)),
    Case("independent, epsilon 4, 2,000 people", 2_000, 10, {"epsilon": 4}),
    Case("independent, epsilon 4, 100,000 people", 100_000, 10, {"epsilon": 4}),
    Case("independent, one answer 97 %, direct, all at once", 20_000, 8, {
        "epsilon": 6, "mechanism": "direct", "view": AllAttributes(), "jointly": True}, skew=0.97),
    Case("independent, one answer 97 %, epsilon 6", 20_000, 8, {"epsilon": 6}, skew=0.97),
    Case("independent, bloom, f 0.5", 3_000, 6, {"flip_probability": "0.5"}),
    *(Case(f"mixed, epsilon {e}", 10_000, 10, {"epsilon": e}, strength=0.5) for e in (1, 2, 4, 8)),
    Case("mixed, epsilon 4, weak", 10_000, 10, {"epsilon": 4}, strength=0.2),
]  # fmt: skip


def people(case: Case, rng: np.random.Generator) -> Dataset:
    """Attributes of 2 to 6 answers; in mixed people the second of a pair follows the first in some of them."""
    sizes = rng.integers(2, 7, case.n_attributes)
    columns = []
    for place, size in enumerate(sizes.tolist()):
        shares = rng.dirichlet(np.full(size, 1.5))
        if case.skew is not None:
            shares = np.array([case.skew, *[(1 - case.skew) / (size - 1)] * (size - 1)])
        column = rng.choice(size, case.n, p=shares)
        if case.strength and place % 2 and place < 2 * N_DEPENDENT:
            column = np.where(rng.random(case.n) < case.strength, columns[-1] % size, column)
        columns.append(column)
    attributes = [
        Categorical(name=f"q{i:02d}", values=tuple(f"v{v}" for v in range(k)))
        for i, k in enumerate(sizes.tolist())
    ]
    return Dataset(Domain(tuple(attributes)), np.stack(columns, axis=1))


@dataclass(frozen=True)
class Found:
    """In one collection: the pairs that are stated, the model's edges, and of each interval that is stated whether it holds."""

    stated: set[Pair]
    edges: set[Pair]
    holding: list[bool]


def found(case: Case, seed: int) -> Found:
    """One collection."""
    table = people(case, np.random.default_rng([23, seed]))
    campaign = make_campaign(table.domain, Terms(name="findings"), CampaignRequest(**case.request))
    study = Study(simulate(table, campaign, seed=seed))
    wanted = list(combinations(range(case.n_attributes), 2))
    pairs = dict(zip(wanted, study.joints(wanted), strict=True))
    graph = gain_graph(
        case.n_attributes, {pair: joint.fit.gain or 0.0 for pair, joint in pairs.items()}
    )
    stated = findings_of(study, graph, pairs, silent).stated
    place = table.domain.position
    pairs_stated = {
        (min(ends), max(ends)) for one in stated if (ends := [place(name) for name in one.names])
    }
    return Found(
        pairs_stated,
        set(graph.edges),
        [held for one in stated if one.contrast for held in holds(table, one.contrast)],
    )


def holds(table: Dataset, contrast: Contrast) -> Iterator[bool]:
    """Whether the true shares of a contrast lie in its intervals."""
    group, answer = (
        split.classes[table.codes[:, table.domain.position(split.attribute.name)]]
        for split in (contrast.group, contrast.answer)
    )
    for own, estimate in ((IN, contrast.within), (OUT, contrast.outside)):
        true = (answer[group == own] == IN).mean()
        yield bool(estimate.low <= true <= estimate.high)


def measured(case: Case, runs: int) -> list[str]:
    """The row of a case."""
    true = {(2 * i, 2 * i + 1) for i in range(N_DEPENDENT)} if case.strength else set()
    results = [found(case, seed) for seed in range(runs)]
    figures = []
    for told in ([result.stated for result in results], [result.edges for result in results]):
        false = [len(pairs - true) for pairs in told]
        shares = [f / max(len(pairs), 1) for f, pairs in zip(false, told, strict=True)]
        power = sum(len(pairs & true) for pairs in told) / max(len(true) * runs, 1)
        figures += [
            f"{np.mean(np.array(false) > 0):.4f}",
            f"{np.mean(shares):.4f}",
            f"{power:.3f}" if true else "",
        ]
    holding = [held for result in results for held in result.holding]
    figures.append(f"{np.mean(holding):.3f}" if true and holding else "")
    print(f"{case.name:<52} stated: any false {figures[0]}, share false {figures[1]}, found {figures[2]:<6}"
          f" edges: {figures[3]}, {figures[4]}, {figures[5]}; intervals that hold {figures[6]}", flush=True)  # fmt: skip
    return [case.name, str(case.n), str(case.n_attributes), str(runs), *figures]


def rows(runs: int, word: str) -> Iterator[list[str]]:
    for case in CASES:
        if word in case.name:
            yield measured(case, runs)


def main(arguments: list[str]) -> None:
    runs, word = int(arguments[0]) if arguments else 200, arguments[1] if len(arguments) > 1 else ""
    figures = [f"{what}_{figure}" for what in ("stated", "edges") for figure in FIGURES]
    head = ["case", "n", "attributes", "runs", *figures, "intervals_that_hold"]
    found = list(rows(runs, word))
    if not word:
        with open(RESULTS, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *found])


FIGURES = ("any_false", "share_false", "true_found")

if __name__ == "__main__":
    main(sys.argv[1:])
