"""Which dependences are found, invented and lost over f (the paper's correlation identification)."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from lopub.collection.dataset import Dataset
from lopub.contract.domain import Pair
from lopub.model.dependence import gain_graph, paper_graph
from lopub.reproduce.crowds import paper_study
from lopub.reproduce.estimation import names_of, true_joint
from lopub.reproduce.extent import ESTIMATORS, PAPER_METHODS, TABLES, Scale
from lopub.reproduce.measurements import Cell, Values

NAME = "identification"
GAIN = "shrunk, gain"
"""Edges by held-out gain instead of phi, against the same true ones."""
METHODS = (*PAPER_METHODS, "em", "moments", "shrunk", GAIN)


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
    estimator = ESTIMATORS["shrunk" if cell.method == GAIN else cell.method]
    asked = [study.domain.positions(names_of(records, pair)) for pair in pairs]
    joints = dict(zip(pairs, study.joints(asked, estimator, workers=1), strict=True))
    if cell.method == GAIN:
        found = set(gain_graph(len(records.domain), {pair: joint.fit.gain or 0.0 for pair, joint in joints.items()}).edges)
    else:
        probabilities = {pair: joint.probabilities for pair, joint in joints.items()}
        found = set(paper_graph(records.domain.sizes, probabilities, table.phi).edges)
    true = true_edges(records, table.phi)
    added, lost = len(found - true) / len(pairs), len(true - found) / len(pairs)
    return {"accurate": 1 - added - lost, "added": added, "lost": lost}


def true_edges(records: Dataset, phi: float) -> set[Pair]:
    """The dependent pairs of the records themselves."""
    pairs = combinations(range(len(records.domain)), 2)
    return set(paper_graph(records.domain.sizes, {pair: true_joint(records, pair) for pair in pairs}, phi).edges)
