"""Which dependences are found, invented and lost over f (the paper's correlation identification)."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub.campaign.domain import Pair
from lopub.estimation.joint import JointDistribution, Probabilities
from lopub.reports.dataset import Dataset
from lopub.synthesis.dependence import gain_graph, paper_graph, threshold
from reproduction.crowds import paper_study
from reproduction.estimation import names_of, true_joint
from reproduction.extent import ESTIMATORS, PAPER_METHODS, TABLES, Scale
from reproduction.measurements import Cell, Values

NAME = "identification"
GAIN = "shrunk, gain"
"""Edges by held-out gain instead of phi, against the same true ones."""
ALGORITHM_4 = "Algorithm 4 as written"
"""Marginals and pairs each by a Lasso of their own, so that a pair is not compared with its own marginals."""
METHODS = (*PAPER_METHODS, ALGORITHM_4, "em", "moments", "shrunk", GAIN)
"""Those that look at the same joints stand near each other."""


def cells(scale: Scale) -> Iterator[Cell]:
    """The measurements of this experiment, in order."""
    for table in scale.slow_tables:
        for seed in range(scale.identification_seeds):
            for flip in scale.slow_flips:
                for method in METHODS:
                    yield Cell(experiment=NAME, table=table, seed=seed, x=flip, method=method)


def measured(cell: Cell, directory: Path) -> Values:
    """Shares of all pairs: identified rightly, added, lost."""
    table = TABLES[cell.table]
    sample = (cell.table, directory, table.identified_sample, cell.x, cell.seed)
    records, study = paper_study(*sample)
    how = {GAIN: "shrunk", ALGORITHM_4: "Lasso_JD"}.get(cell.method, cell.method)
    joints, sizes = _joints(sample, how), records.domain.sizes
    if cell.method == GAIN:
        found = set(
            gain_graph(
                len(sizes), {pair: joint.fit.gain or 0.0 for pair, joint in joints.items()}
            ).edges
        )
    elif cell.method == ALGORITHM_4:
        alone = [
            study.estimate(name, ESTIMATORS[how]).probabilities for name in records.domain.names
        ]
        strengths = {
            pair: information(joint.probabilities, alone[pair[0]], alone[pair[1]])
            for pair, joint in joints.items()
        }
        found = {
            pair
            for pair in joints
            if strengths[pair] >= threshold(sizes[pair[0]], sizes[pair[1]], table.phi)
        }
    else:
        found = set(
            paper_graph(
                sizes, {pair: joint.probabilities for pair, joint in joints.items()}, table.phi
            ).edges
        )
    true = true_edges(records, table.phi)
    added, lost = len(found - true) / len(joints), len(true - found) / len(joints)
    return {"accurate": 1 - added - lost, "added": added, "lost": lost}


@lru_cache(maxsize=2)
def _joints(sample: tuple[str, Path, float, str, int], how: str) -> dict[Pair, JointDistribution]:
    """Of all pairs, by one estimator, which more than one way to find dependences may look at."""
    records, study = paper_study(*sample)
    pairs = list(combinations(range(len(records.domain)), 2))
    asked = [study.domain.positions(names_of(records, pair)) for pair in pairs]
    return dict(zip(pairs, study.joints(asked, ESTIMATORS[how], workers=1), strict=True))


def information(joint: Probabilities, first: Probabilities, second: Probabilities) -> float:
    """Sum of p ln(p / (p_i p_j)) with marginals that are estimated for themselves (Algorithm 4, lines 3, 7 and 8); infinite where
    a pair has people in a cell that its marginals rule out."""
    product = np.outer(first, second)
    there = joint > 0
    with np.errstate(divide="ignore"):
        return float((joint[there] * np.log(joint[there] / product[there])).sum())


def true_edges(records: Dataset, phi: float) -> set[Pair]:
    """The dependent pairs of the records themselves."""
    pairs = combinations(range(len(records.domain)), 2)
    return set(
        paper_graph(
            records.domain.sizes, {pair: true_joint(records, pair) for pair in pairs}, phi
        ).edges
    )
