"""Which drawn records are kept, so that the synthetic table keeps the questionnaire's rules and the model's shares.

Cliques rule out what they can. How many options of a list are ticked, no clique sees where it does not hold all of them; so some
records have too many ticks, or none. To leave these out and nothing else would make every tick rarer, or more frequent. So each
pattern of ticks is kept with a probability of its own, raked such that every option keeps the share that it has in the model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.questionnaire import Rows, contradicting
from lopub.bulk.records import distinct_rows
from lopub.campaign.domain import Clique, Domain, TickList
from lopub.estimation.joint import NOTHING, Probabilities
from lopub.estimation.maxent import margin_of
from lopub.reports.dataset import Codes
from lopub.synthesis.junction import JunctionTree

FEWEST_PILOT, MOST_PILOT = 20_000, 200_000
"""Records from which the patterns' probabilities are found."""
SWEEPS = 100
LEAST_KEPT = 0.05
"""Smallest probability with which the rarest wanted pattern lets the others be kept: a bound on the work."""

Draw = Callable[[int], Codes]


@dataclass(frozen=True, eq=False)
class _List:
    """The options of one list, and the probability to keep each pattern of ticks."""

    positions: Clique
    kept: dict[bytes, float]

    def chances(self, codes: Codes) -> Probabilities:
        patterns, places = distinct_rows(
            np.ascontiguousarray(codes[:, list(self.positions)].astype(np.uint8))
        )
        return np.array([self.kept.get(pattern.tobytes(), 1.0) for pattern in patterns])[places]


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Decides which records are kept."""

    domain: Domain
    lists: tuple[_List, ...]

    @classmethod
    def of(
        cls,
        tree: JunctionTree,
        joints: Sequence[Probabilities],
        domain: Domain,
        columns: Domain,
        draw: Draw,
        n_rows: int,
    ) -> "Acceptance":
        """For the records of a model. domain: with the tree's positions. columns: with those of the records."""
        ruled = [
            one for one in domain.questions if isinstance(one, TickList) and (one.most or one.none)
        ]
        if not ruled:
            return cls(columns, ())
        pilot = draw(min(max(n_rows, FEWEST_PILOT), MOST_PILOT))
        pilot = pilot[~contradicting(columns, pilot)]
        lists = []
        for names in ([option.name for option in one.options] for one in ruled):
            shares = [_share(position, tree, joints) for position in domain.positions(names)]
            lists.append(_balanced(columns.positions(names), pilot, shares))
        return cls(columns, tuple(lists))

    def keeps(self, codes: Codes, rng: np.random.Generator) -> Rows:
        """Of each record, whether it is kept."""
        kept = ~contradicting(self.domain, codes)
        for one in self.lists:
            kept &= rng.random(len(codes)) < one.chances(codes)
        return kept


def _balanced(positions: Clique, pilot: Codes, shares: Sequence[Probabilities]) -> _List:
    patterns, places = distinct_rows(
        np.ascontiguousarray(pilot[:, list(positions)].astype(np.uint8))
    )
    have = np.bincount(places, minlength=len(patterns)) / max(len(pilot), 1)
    wanted = _raked(patterns, have, shares)
    weights = np.divide(wanted, have, out=np.ones_like(have), where=have > 0)
    largest = min(float(weights.max(initial=1.0)), 1 / LEAST_KEPT)
    return _List(
        positions,
        {
            row.tobytes(): min(w / largest, 1.0)
            for row, w in zip(patterns, weights.tolist(), strict=True)
        },
    )


def _share(position: int, tree: JunctionTree, joints: Sequence[Probabilities]) -> Probabilities:
    """An attribute's shares in the model."""
    place = next(place for place, clique in enumerate(tree.cliques) if position in clique)
    return margin_of(joints[place], (tree.cliques[place].index(position),))


def _raked(
    patterns: NDArray[np.uint8], shares: Probabilities, wanted: Sequence[Probabilities]
) -> Probabilities:
    """The shares of patterns, raked to those of their options. patterns: shape (n_patterns, n_options)."""
    fitted = shares.copy()
    for _ in range(SWEEPS):
        for column, target in zip(patterns.T, wanted, strict=True):
            have = np.bincount(column, weights=fitted, minlength=len(target))
            fitted *= np.divide(target, have, out=np.zeros_like(have), where=have > NOTHING)[column]
    return fitted
