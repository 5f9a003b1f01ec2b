"""How large a model's cliques may be, and what the questionnaire's rules ask of it: edges in any case, and room for them."""

import math
from collections.abc import Sequence

import numpy as np

from lopub.campaign.domain import Pair
from lopub.publication.settings import MOST_CLIQUE_CELLS
from lopub.queries import Study
from lopub.synthesis.junction import GrowingGraph

CELLS_PER_REPORT = 100
"""Where no cap is given, a clique may have so many cells for each undisturbed report that an average pair is worth."""
FEWEST_CELLS, MOST_CELLS = 5_000, 100_000
"""Bounds of such a cap."""


def known_edges(study: Study, known: Sequence[Pair]) -> list[Pair]:
    """Edges in any case: pairs that are publicly known, and those that a rule of the questionnaire is about."""
    return [*known, *(edge for edge in study.support.edges if edge not in set(known))]


def cells_of_rules(study: Study) -> int:
    """Cells of the largest clique that the questionnaire's rules alone make; 0 where it has none."""
    rules = GrowingGraph(study.domain.sizes, MOST_CLIQUE_CELLS)
    for edge in study.support.edges:
        rules.offer(*edge)
    return (
        max(math.prod(study.domain.sizes[p] for p in clique) for clique in rules.tree().cliques)
        if study.support.edges
        else 0
    )


def default_cap(study: Study) -> int:
    """From the number of reports and their noise, within bounds; with room for any pair."""
    wanted = int(CELLS_PER_REPORT * study.reports_per_pair)
    return max(
        min(MOST_CELLS, max(FEWEST_CELLS, wanted)), int(np.prod(sorted(study.domain.sizes)[-2:]))
    )
