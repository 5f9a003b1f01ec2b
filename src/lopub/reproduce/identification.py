"""Which dependences are found, invented and lost over f (the paper's correlation identification)."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub.collection.dataset import Dataset
from lopub.contract.domain import Pair
from lopub.inference.joint import Probabilities
from lopub.model.dependence import gain_graph, paper_graph, threshold
from lopub.reproduce.crowds import paper_study
from lopub.reproduce.estimation import names_of, true_joint
from lopub.reproduce.extent import ESTIMATORS, PAPER_METHODS, TABLES, Scale
from lopub.reproduce.measurements import Cell, Values

NAME = "identification"
GAIN = "shrunk, gain"
"""Edges by held-out gain instead of phi, against the same true ones."""
ALGORITHM_4 = "Algorithm 4 as written"
"""Marginals and pairs each by a Lasso of their own, so that a pair is not compared with its own marginals."""
METHODS = (*PAPER_METHODS, ALGORITHM_4, "em", "moments", "shrunk", GAIN)


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
    records, study = paper_study(cell.table, directory, table.identified_sample, cell.x, cell.seed)
    pairs = list(combinations(range(len(records.domain)), 2))
    estimator = ESTIMATORS[{GAIN: "shrunk", ALGORITHM_4: "Lasso_JD"}.get(cell.method, cell.method)]
    asked = [study.domain.positions(names_of(records, pair)) for pair in pairs]
    joints = dict(zip(pairs, study.joints(asked, estimator, workers=1), strict=True))
    if cell.method == GAIN:
        found = set(gain_graph(len(records.domain), {pair: joint.fit.gain or 0.0 for pair, joint in joints.items()}).edges)
    elif cell.method == ALGORITHM_4:
        names, sizes = records.domain.names, records.domain.sizes
        alone = [study.estimate(name, estimator).probabilities for name in names]
        strengths = {pair: information(joint.probabilities, alone[pair[0]], alone[pair[1]]) for pair, joint in joints.items()}
        found = {pair for pair in pairs if strengths[pair] >= threshold(sizes[pair[0]], sizes[pair[1]], table.phi)}
    else:
        probabilities = {pair: joint.probabilities for pair, joint in joints.items()}
        found = set(paper_graph(records.domain.sizes, probabilities, table.phi).edges)
    true = true_edges(records, table.phi)
    added, lost = len(found - true) / len(pairs), len(true - found) / len(pairs)
    return {"accurate": 1 - added - lost, "added": added, "lost": lost}


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
    return set(paper_graph(records.domain.sizes, {pair: true_joint(records, pair) for pair in pairs}, phi).edges)
