"""What a design will give, before anybody has answered: one model of error, behind every figure that is printed.

An `Outlook` is a design, or a finished campaign, and a reference population. For any number of people it gives a `Forecast`: the
expected AVD of every attribute and pair, with what shrinking takes away apart from noise. A forecast falls with people and with
epsilon. Floats will do here: nothing of the guarantee hangs on a forecast.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.designs import Design
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique, Pair
from lopub.planning.noise import DesignNoise, Laws, design_of, laws_at, laws_of
from lopub.planning.population import DEPENDENCES, LOADINGS, Population, Probabilities
from lopub.planning.risk import Pairs, ShareErrors, pair_errors, share_errors

MOST_PAIRS = 100
"""Pairs that a forecast looks at, picked evenly, those that matter more the more often."""
MOST_GROUPS, MOST_GROUPS_OF_TABLE = 16, 48
"""Candidates of an attribute that are told apart; of more, those with similar shares are taken together."""
UNSEEN = 1.15
"""By what dependence that no report covers is taken to be larger, where nobody knows its strength: a collection that cannot see
it has to be better by that much. With it, one question a person is chosen where public tables bear it out."""
ACCURACY = 0.25
"""Nineteen of twenty forecasts were within this of simulations (`benchmarks/forecasts.py`)."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected AVD of shares and pairs. weights: how much each attribute and each pair counts."""

    people: int
    share_errors: Probabilities
    pair_errors: Probabilities
    blind_errors: Probabilities
    """Of pairs, were the attributes taken to be independent."""
    pair_bias: Probabilities
    """What of the pairs' error is dependence that is not seen; more people lower it only by seeing more of it."""
    share_weights: Probabilities
    pair_weights: Probabilities

    @property
    def shares(self) -> float:
        """Mean over attributes."""
        return _mean(self.share_errors, self.share_weights)

    @property
    def pairs(self) -> float:
        """Mean over pairs; of a single attribute, its own error."""
        return _mean(self.pair_errors, self.pair_weights) if len(self.pair_errors) else self.shares

    @property
    def blind(self) -> float:
        """Mean over pairs, were the attributes taken to be independent."""
        return (
            _mean(self.blind_errors, self.pair_weights) if len(self.blind_errors) else self.shares
        )

    @property
    def bias(self) -> float:
        """What of the mean over pairs is dependence that is not seen."""
        return _mean(self.pair_bias, self.pair_weights) if len(self.pair_bias) else 0.0


class Crowd:
    """A reference population as the model sees it: groups of candidates, the pairs that are looked at, and their true tables.

    weights: how much each attribute matters; a pair matters as the product of its two."""

    def __init__(self, population: Population, weights: tuple[float, ...] | None) -> None:
        self.population = population
        self.weights = (
            np.ones(len(population.domain))
            if weights is None
            else np.asarray(weights, dtype=np.float64)
        )
        self.groups = [_groups(population, position) for position in range(len(population.domain))]
        self.concentrations = tuple(1 / float(shares @ shares) for shares in population.shares)
        self.shares = _padded([group.shares for group in self.groups])
        self.times = _padded([group.times for group in self.groups])
        picked = _picked(self.weights)
        self.pairs: tuple[Pair, ...] = tuple(pair for pair, _ in picked)
        self.pair_weights = np.array([weight for _, weight in picked])

    @cached_property
    def sides(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the second attribute of every pair."""
        first, second = np.array(self.pairs).T
        return first, second

    @cached_property
    def truths(self) -> list[Probabilities]:
        """The cells of every pair, one for each two groups."""
        return [
            _grouped_pair(self.population, pair, self.groups[pair[0]], self.groups[pair[1]])
            for pair in self.pairs
        ]

    @cached_property
    def tables(self) -> tuple[Probabilities, Probabilities, Probabilities]:
        """Truth, product and times of every pair. shape (pairs, cells) each."""
        groups = [(self.groups[a], self.groups[b]) for a, b in self.pairs]
        products = [np.outer(a.shares, b.shares).ravel() for a, b in groups]
        times = [np.outer(a.times, b.times).ravel() for a, b in groups]
        return _padded([truth.ravel() for truth in self.truths]), _padded(products), _padded(times)

    @cached_property
    def independence(self) -> Probabilities:
        """AVD of independence itself, for each pair."""
        truth, product, times = self.tables
        return np.asarray(0.5 * (times * np.abs(truth - product)).sum(axis=1), dtype=np.float64)

    @cached_property
    def freedom(self) -> Probabilities:
        """Degrees of freedom of each pair."""
        sizes = np.array(self.population.domain.sizes, dtype=np.float64) - 1
        return sizes[self.sides[0]] * sizes[self.sides[1]]

    @cached_property
    def reach(self) -> Probabilities:
        """AVD between independence and the most dependent table with a pair's shares, at most."""
        mixed = 1 - 1 / np.array(self.concentrations)
        return np.minimum(mixed[self.sides[0]], mixed[self.sides[1]])


@lru_cache(maxsize=64)
def crowd_of(population: Population, weights: tuple[float, ...] | None = None) -> Crowd:
    """Made once for all designs."""
    return Crowd(population, weights)


class Outlook:
    """A design and a reference population: forecasts for any number of people."""

    def __init__(self, design: Design, crowd: Crowd, laws: Laws) -> None:
        self.design, self.crowd = design, crowd
        domain = crowd.population.domain
        drawn = (
            replace(design, view=design.view.with_lists(domain.lists)) if domain.lists else design
        )  # as a campaign draws
        self._noise = DesignNoise(drawn, domain.sizes, laws, crowd.concentrations)

    def at(self, people: int) -> Forecast:
        """What so many people are expected to give."""
        crowd = self.crowd
        singles = self._shares_at(people)
        if not crowd.pairs:
            none = np.empty(0)
            return Forecast(people, singles.errors, none, none, none, crowd.weights, none)
        found = pair_errors(self._pairs, people, self._about_shares(singles.variances))
        first, second = (singles.errors[side] for side in crowd.sides)
        unseen = self._pairs.unseen * crowd.independence
        most = np.minimum(
            1 - (1 - first) * (1 - second) + unseen, 1.0
        )  # beyond which two wrong shares cannot lead
        errors, blind = np.minimum(found.errors, most), np.minimum(found.blind, most)
        return Forecast(
            people,
            singles.errors,
            errors,
            blind,
            np.minimum(found.bias, errors),
            crowd.weights,
            crowd.pair_weights,
        )

    def shares_at(self, people: int) -> float:
        """What so many people are expected to give of shares: `at(people).shares`, without its pairs."""
        return _mean(self._shares_at(people).errors, self.crowd.weights)

    def _shares_at(self, people: int) -> ShareErrors:
        crowd = self.crowd
        return share_errors(
            crowd.shares, crowd.times, self._singles / people, shrunk=self._noise.shrinks_shares
        )

    @cached_property
    def _singles(self) -> Probabilities:
        """Noise of every attribute. shape (attributes, groups)."""
        rows = []
        for position, group in enumerate(self.crowd.groups):
            noise = self._noise.of((position,), group.shares, (group.shares,))
            rows.append(np.full_like(group.shares, np.inf) if noise is None else noise)
        return _padded(rows)

    @cached_property
    def _pairs(self) -> Pairs:
        rows = [
            self._pair(pair, truth)
            for pair, truth in zip(self.crowd.pairs, self.crowd.truths, strict=True)
        ]
        noise, own = (_padded([row[i] for row in rows]) for i in (0, 1))
        unseen = UNSEEN if self.crowd.population.dependence in LOADINGS else 1.0
        crowd = self.crowd
        return Pairs(
            *crowd.tables,
            noise,
            own,
            crowd.freedom,
            crowd.reach,
            self._noise.shrinks_shares,
            unseen,
        )

    def _pair(self, pair: Pair, truth: Probabilities) -> tuple[Probabilities, Probabilities]:
        """Noise of one person, and the part of it that shares do not know better."""
        first, second = (self.crowd.groups[position] for position in pair)
        noise = self._noise.of(pair, truth, (first.shares[:, None], second.shares[None]))
        if noise is None:
            return np.full(truth.size, np.inf), np.zeros(truth.size)
        rows, columns = noise @ second.times, first.times @ noise
        total = float(first.times @ rows)
        return noise.ravel(), np.outer(1 - rows / total, 1 - columns / total).ravel()

    def _about_shares(self, variances: Probabilities) -> Probabilities:
        """The variance of the product of two estimated shares, for the cells of every pair."""
        rows = []
        for a, b in self.crowd.pairs:
            first, second = self.crowd.groups[a], self.crowd.groups[b]
            va, vb = variances[a, : len(first.shares)], variances[b, : len(second.shares)]
            rows.append(
                (np.outer(va, second.shares**2 + vb) + np.outer(first.shares**2, vb)).ravel()
            )
        return _padded(rows)


def outlook(
    design: Design, population: Population, epsilon: float, weights: Sequence[float] | None = None
) -> Outlook:
    """Of a design at a total epsilon."""
    own = None if weights is None else tuple(weights)
    return Outlook(design, crowd_of(population, own), laws_at(design.mechanism, epsilon))


def outlook_of(campaign: Campaign, population: Population | None = None) -> Outlook:
    """Of a finished campaign, from the laws of its own noise; on people like those of surveys unless others are named."""
    crowd = crowd_of(population or Population.like_surveys(campaign.domain))
    return Outlook(design_of(campaign), crowd, laws_of(campaign))


def _picked(weights: Probabilities) -> list[tuple[Pair, float]]:
    """Pairs with their weights. Of many, evenly over the weights of all: the mean over what is picked is then that over all."""
    d = len(weights)
    if math.comb(d, 2) <= MOST_PAIRS:
        return [((a, b), float(weights[a] * weights[b])) for a, b in combinations(range(d), 2)]
    first, second = np.triu_indices(d, 1)
    ends = np.cumsum(weights[first] * weights[second])
    at = np.searchsorted(ends, (np.arange(MOST_PAIRS) + 0.5) * ends[-1] / MOST_PAIRS)
    numbers, times = np.unique(at, return_counts=True)
    return [
        ((int(first[i]), int(second[i])), float(n)) for i, n in zip(numbers, times, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Group:
    """Candidates that are taken together. members: of each candidate, its group; shares: of one candidate of each group."""

    members: np.ndarray
    shares: Probabilities
    times: Probabilities


def _groups(population: Population, position: int) -> Group:
    """Candidates with similar shares together, and never those that go with different hidden halves."""
    shares = population.shares[position]
    most = MOST_GROUPS if population.dependence in DEPENDENCES else MOST_GROUPS_OF_TABLE
    members = np.arange(len(shares))
    if len(shares) > most:
        side = np.sign(population.tilts[position]) if population.tilts else np.zeros(len(shares))
        sides = [np.flatnonzero(side == one) for one in np.unique(side)]
        number = 0
        for own in sides:
            ordered = own[np.argsort(-shares[own], kind="stable")]
            for piece in np.array_split(ordered, min(len(ordered), most // len(sides))):
                members[piece] = number
                number += 1
    times = np.bincount(members).astype(np.float64)
    return Group(members, np.bincount(members, weights=shares) / times, times)


def _grouped_pair(
    population: Population, pair: Clique, first: Group, second: Group
) -> Probabilities:
    """The shares of a pair's cells, of one cell of each two groups."""
    times = np.outer(first.times, second.times)
    if population.has_closed_form(pair):
        tilts = [
            np.bincount(g.members, weights=population.tilts[p]) / g.times
            for p, g in zip(pair, (first, second), strict=True)
        ]
        return np.asarray(
            np.outer(first.shares, second.shares) + np.outer(*tilts), dtype=np.float64
        )
    joint, found = population.joint(pair), np.zeros(times.shape)
    np.add.at(found, (first.members[:, None], second.members[None]), joint)
    return found / times


def _padded(rows: Sequence[Probabilities]) -> Probabilities:
    """Rows of different lengths, filled up with zeros."""
    found = np.zeros((len(rows), max(map(len, rows))))
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


def _mean(values: Probabilities, weights: Probabilities) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0
