"""A publication by a server that everybody trusts with the records: the same structure and synthesis on true counts.

Without noise, what is left is the error of the model. With Laplace noise it is like JTree (Chen et al., KDD 2015), which the
paper compares itself with. A baseline for comparison, not a release: its noise is drawn in floating point.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lopub.campaign.domain import Clique, Pair
from lopub.estimation.joint import Probabilities, mutual_information
from lopub.reports.dataset import Dataset
from lopub.synthesis.cliques import given_model
from lopub.synthesis.dependence import LEAST_GAIN, threshold
from lopub.synthesis.junction import GrowingGraph
from lopub.synthesis.synthesis import synthesize
from reproduction.estimation import true_joint

STRUCTURES = ("paper", "calibrated")
PHI = 0.2
MOST_CELLS = {"paper": 5_000, "calibrated": 100_000}


def trusted_table(records: Dataset, *, structure: str, epsilon: float | None, seed: int) -> Dataset:
    """As many synthetic records. epsilon: half of it for the structure, half for the cliques; None: no noise."""
    rng = np.random.default_rng([seed, STRUCTURES.index(structure)])
    half = None if epsilon is None else epsilon / 2
    growing = GrowingGraph(records.domain.sizes, MOST_CELLS[structure])
    for edge in _edges(records, structure, half, rng):
        growing.offer(*edge)
    tree = growing.tree()
    model = given_model(tree, noisy_joints(records, tree.cliques, half, rng))
    return synthesize(tree, model.joints, records.domain, len(records), rng, stratified=True)


def noisy_joints(
    records: Dataset, cliques: Sequence[Clique], epsilon: float | None, rng: np.random.Generator
) -> list[Probabilities]:
    """Joints of several cliques. A person who answers differently moves two counts of each by one."""
    found = []
    for clique in cliques:
        counts = true_joint(records, clique) * len(records)
        if epsilon is not None:
            counts = np.maximum(
                counts + rng.laplace(scale=2 * len(cliques) / epsilon, size=counts.shape), 0
            )
        total = counts.sum()
        found.append(counts / total if total > 0 else np.full(counts.shape, 1 / counts.size))
    return found


def _edges(
    records: Dataset, structure: str, epsilon: float | None, rng: np.random.Generator
) -> list[Pair]:
    """Strongest first: information that reaches phi's threshold (paper), or passes by LEAST_GAIN what chance alone would give."""
    sizes, pairs = records.domain.sizes, list(combinations(range(len(records.domain)), 2))
    strengths = {pair: mutual_information(true_joint(records, pair)) for pair in pairs}
    if epsilon is not None:
        scale = len(pairs) * information_sensitivity(len(records)) / epsilon
        strengths = {
            pair: strength + rng.laplace(scale=scale) for pair, strength in strengths.items()
        }

    def least(a: int, b: int) -> float:
        chance = (sizes[a] - 1) * (sizes[b] - 1) / 2
        return (
            threshold(sizes[a], sizes[b], PHI)
            if structure == "paper"
            else (chance + LEAST_GAIN) / len(records)
        )

    return sorted(
        (pair for pair in pairs if strengths[pair] >= least(*pair)),
        key=lambda pair: (-strengths[pair], pair),
    )


def information_sensitivity(n_records: int) -> float:
    """How far one person's answers can move a mutual information, in nats (Zhang et al., PrivBayes, SIGMOD 2014)."""
    n = n_records
    return 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log((n + 1) / (n - 1))
