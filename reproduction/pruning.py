"""The three pruning tables over phi: dependences with and without pruning, pairs that are compared."""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from lopub.campaign.domain import Pair
from lopub.estimation.joint import Probabilities
from lopub.reports.dataset import Dataset
from lopub.synthesis.dependence import Pruning, pairs_to_check, paper_graph
from reproduction.crowds import sampled, table_of
from reproduction.estimation import true_joint
from reproduction.extent import TABLES, Scale
from reproduction.measurements import Cell, Values

NAME = "pruning"


def cells(scale: Scale) -> Iterator[Cell]:
    """True counts of samples: nothing of it is private, so one method."""
    for table in TABLES.values():
        for seed in range(scale.pruning_seeds):
            for phi in table.pruning_phis:
                yield Cell(
                    experiment=NAME, table=table.name, seed=seed, x=phi, method="true counts"
                )


def measured(cell: Cell, directory: Path) -> Values:
    """Dependences are counted in both directions, as in the paper's matrix."""
    table = TABLES[cell.table]
    records, joints = _joints(cell.table, directory, table.identified_sample, cell.seed)
    phi, sizes = float(cell.x), records.domain.sizes
    pruning = Pruning(
        find=table.pruning_finds, rank="entropy_per_candidate"
    )  # which fits the paper's tables best
    marginals = [true_joint(records, (position,)) for position in range(len(sizes))]
    checked = pairs_to_check(marginals, phi, pruning)
    every = set(paper_graph(sizes, joints, phi).edges)
    pruned = set(paper_graph(sizes, {pair: joints[pair] for pair in checked}, phi, pruning).edges)
    return {
        "dependences_pruned": 2.0 * len(pruned),
        "dependences": 2.0 * len(every),
        "loss": 1 - len(pruned) / len(every) if every else 0.0,
        "pairs_pruned": float(len(checked)),
        "pairs": float(len(joints)),
        "reduction": 1 - len(checked) / len(joints),
        "attributes": float(len(sizes)),
        "domain_log2": sum(math.log2(size) for size in sizes),
        "domain_bits": float(sum(math.ceil(math.log2(size)) for size in sizes)),
    }


@lru_cache(maxsize=2)
def _joints(
    name: str, directory: Path, share: float, seed: int
) -> tuple[Dataset, dict[Pair, Probabilities]]:
    records = sampled(table_of(name, directory), share, seed)
    return records, {
        pair: true_joint(records, pair) for pair in combinations(range(len(records.domain)), 2)
    }
