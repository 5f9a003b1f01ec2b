"""How noisy one person's report is about some attributes: what every forecast is made of.

What reports say about the cells of a clique has the covariance (D - D 1 1' D / 1' D 1) / n, with n people and D diagonal: alpha +
beta P of each cell, as the laws say, more where a view has other attributes whose cells are summed over, and in all the harmonic
mean of the views that cover the clique, each by its chance. Where attributes are randomized apart, the D of a pair is the product
of its two sides'.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import combinations

import numpy as np

from lopub.bulk import Bulk, bulk_of
from lopub.bulk.cells import CellNoise
from lopub.bulk.designs import Design
from lopub.bulk.view_laws import view_law
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Law, Mechanism
from lopub.campaign.views import Sizes
from lopub.planning.budgets import epsilon_decimal
from lopub.planning.makers import maker_of
from lopub.planning.population import Probabilities

MOST_CELLS = 2**62
"""More cells than any mechanism takes as one block; a report of so many is worth nothing, and of more no less."""
_LOG_MOST_CELLS = math.log(MOST_CELLS)
LARGEST_NOISE = 1e10
"""Beyond which nothing is told anyway."""
MOST_TOLD_APART = 40
"""Attributes up to which each one's own coverage is looked up among typical views; of more, too few views hold two given ones."""

Laws = Callable[[int, int], Law]
"""(cells of a block, blocks that share the budget) -> the law of the block."""


@dataclass(frozen=True)
class Cover:
    """Views that hold a clique. n_cells: of the view; n_blocks: attributes in it; n_others: of the attributes beside the
    clique, how many equally likely cells they are as good as."""

    chance: float
    n_cells: int
    n_blocks: int
    n_others: float


@dataclass(frozen=True, eq=False)
class DesignNoise:
    """The noise of a design. concentrations: of every attribute, 1 / sum of its squared shares."""

    design: Design
    sizes: tuple[int, ...]
    laws: Laws
    concentrations: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_cell_noise", cache(lambda *block: self.bulk.cell_noise(self.laws(*block)))
        )
        object.__setattr__(self, "_covers", _covers(self.design, self.sizes, self.concentrations))

    @property
    def bulk(self) -> Bulk:
        """The NumPy half of the mechanism."""
        return bulk_of(Mechanism.known[self.design.mechanism])

    @property
    def shrinks_shares(self) -> bool:
        """Whether shares are read off counts of ones, which shrinks them a little."""
        return self.design.jointly and self.bulk.counts_tell_cells

    def of(
        self, clique: Clique, cells: Probabilities, sides: Sequence[Probabilities]
    ) -> Probabilities | None:
        """D of a person, for cells with these shares; None where no view covers the clique. sides: the attributes' own shares."""
        covers: list[Cover] = self._covers(clique)  # type: ignore[attr-defined]
        if not covers:
            return None
        n_cells = math.prod(self.sizes[position] for position in clique)
        weights = [
            1 / min(self._mean_noise(cover, clique, n_cells), LARGEST_NOISE) for cover in covers
        ]
        total = sum(cover.chance * weight for cover, weight in zip(covers, weights, strict=True))
        if total <= 0:
            return None
        parts = [
            cover.chance * weight**2 / total**2
            for cover, weight in zip(covers, weights, strict=True)
        ]
        spread = (
            self._spread_jointly(covers, parts, n_cells, cells)
            if self.design.jointly
            else np.zeros_like(cells)
        )
        if not self.design.jointly:
            for cover, part in zip(covers, parts, strict=True):
                spread = spread + part * np.minimum(
                    self._spread_apart(cover, clique, sides), LARGEST_NOISE
                )
        return np.minimum(spread, LARGEST_NOISE)

    def _spread_jointly(
        self, covers: Sequence[Cover], parts: Sequence[float], n_cells: int, cells: Probabilities
    ) -> Probabilities:
        """Every view's alpha + beta P, each by its part."""
        noises = [self._jointly(cover, n_cells) for cover in covers]
        alpha = sum(
            part * min(a, LARGEST_NOISE) for part, (a, _) in zip(parts, noises, strict=True)
        )
        beta = sum(part * min(b, LARGEST_NOISE) for part, (_, b) in zip(parts, noises, strict=True))
        return alpha + beta * cells

    def _spread_apart(
        self, cover: Cover, clique: Clique, sides: Sequence[Probabilities]
    ) -> Probabilities:
        own = [
            a + b * shares for (a, b), shares in zip(self._apart(cover, clique), sides, strict=True)
        ]
        return own[0] if len(own) == 1 else np.asarray(own[0] * own[1], dtype=np.float64)

    def _mean_noise(self, cover: Cover, clique: Clique, n_cells: int) -> float:
        """Of a cell with an average share."""
        if self.design.jointly:
            alpha, beta = self._jointly(cover, n_cells)
            return alpha + beta / n_cells
        return math.prod(
            a + b / self.sizes[p]
            for (a, b), p in zip(self._apart(cover, clique), clique, strict=True)
        )

    def _jointly(self, cover: Cover, n_cells: int) -> tuple[float, float]:
        noise: CellNoise = self._cell_noise(cover.n_cells, 1)  # type: ignore[attr-defined]
        beside = cover.n_cells / n_cells
        if (
            self.shrinks_shares and beside > 1
        ):  # the sum over other cells is weighted by how many people they hold
            beside = math.sqrt(beside * min(beside, cover.n_others))
        return noise.alpha * beside, noise.beta

    def _apart(self, cover: Cover, clique: Clique) -> list[tuple[float, float]]:
        noises = [self._cell_noise(self.sizes[position], cover.n_blocks) for position in clique]  # type: ignore[attr-defined]
        return [(noise.alpha, noise.beta) for noise in noises]


def laws_at(mechanism: str, epsilon: float) -> Laws:
    """The laws that a mechanism has at a total epsilon."""
    return _laws_at(mechanism, str(epsilon))


@lru_cache(maxsize=64)
def _laws_at(mechanism: str, epsilon: str) -> Laws:
    maker, budget = maker_of(Mechanism.known[mechanism]), epsilon_decimal(epsilon)

    @cache
    def made(n_blocks: int) -> Mechanism:
        return maker.for_epsilon(budget, (n_blocks,))

    return cache(lambda n_cells, n_blocks: maker.sized_law(made(n_blocks), n_cells, n_blocks))


def laws_of(campaign: Campaign) -> Laws:
    """The laws of a finished campaign."""
    return partial(maker_of(campaign.mechanism).sized_law, campaign.mechanism)


def design_of(campaign: Campaign) -> Design:
    """The design of a finished campaign."""
    return Design(campaign.mechanism.name, campaign.view, campaign.jointly)


# ---- which views hold a clique


def _covers(
    design: Design, sizes: Sizes, concentrations: Sequence[float]
) -> Callable[[Clique], list[Cover]]:
    law = view_law(design.view)
    n_alike = law.n_alike(len(sizes))
    if n_alike is not None and n_alike < len(sizes):
        return lambda clique: _of_sample(n_alike, clique, sizes, concentrations)
    drawn = law.typical_views(sizes)
    if law.by_size and len(sizes) > MOST_TOLD_APART:
        return _by_size(drawn, sizes, concentrations)
    holders: list[set[int]] = [
        set() for _ in sizes
    ]  # of each attribute: the numbers of the views that hold it
    for number, (view, _) in enumerate(drawn):
        for position in view:
            holders[position].add(number)

    alike = _mean_chances(drawn, sizes) if law.by_size else {}
    kinds = [_kind(view, (), sizes, concentrations) for view, _ in drawn]

    def covers(clique: Clique) -> list[Cover]:
        numbers = sorted(set.intersection(*(holders[position] for position in clique)))
        found = Counter[tuple[int, int, float]]()
        own = math.prod(concentrations[position] for position in clique)
        for number in numbers:
            n_cells, n_blocks, every = kinds[number]
            found[n_cells, n_blocks, round(every / own, 2)] += drawn[number][1]  # type: ignore[assignment]
        total = sum(found.values())
        scale = (
            alike[_sizes_of(clique, sizes)] / total if alike and total else 1.0
        )  # drawn views hold some a little too often
        return [Cover(chance * scale, *kind) for kind, chance in found.items()]

    return covers


def _sizes_of(clique: Clique, sizes: Sizes) -> tuple[int, ...]:
    return tuple(sorted(sizes[position] for position in clique))


def _mean_chances(
    drawn: Sequence[tuple[Clique, float]], sizes: Sizes
) -> dict[tuple[int, ...], float]:
    """How often drawn views hold one attribute, or two, of these sizes: the mean over all such attributes."""
    found = Counter[tuple[int, ...]]()
    for view, chance in drawn:
        for kind, n in _n_cliques(Counter(sizes[position] for position in view)).items():
            found[kind] += chance * n  # type: ignore[assignment]
    every = _n_cliques(Counter(sizes))
    return {kind: total / every[kind] for kind, total in found.items()}


def _n_cliques(of_size: Mapping[int, int]) -> dict[tuple[int, ...], int]:
    """Among so many attributes of each size, how many single ones and pairs of each sizes there are."""
    found: dict[tuple[int, ...], int] = {(a,): n for a, n in of_size.items()}
    found |= {(a, b): of_size[a] * of_size[b] for a, b in combinations(sorted(of_size), 2)}
    return found | {(a, a): n * (n - 1) // 2 for a, n in of_size.items() if n > 1}


def _kind(
    view: Clique, clique: Clique, sizes: Sizes, concentrations: Sequence[float]
) -> tuple[int, int, float]:
    """Cells and attributes of a view, and how many equally likely cells its other attributes have."""
    others = math.prod(concentrations[position] for position in view if position not in clique)
    return _cells(sizes[position] for position in view), len(view), round(others, 6)


def _of_sample(
    n_sampled: int, clique: Clique, sizes: Sizes, concentrations: Sequence[float]
) -> list[Cover]:
    """Where every set of so many attributes is equally likely, and those beside the clique are of typical size."""
    d, k = len(sizes), n_sampled
    chance = k / d if len(clique) == 1 else k * (k - 1) / (d * (d - 1))
    if chance <= 0:
        return []
    n_others = k - len(clique)
    typical = math.exp(min(_LOG_MOST_CELLS, _mean_log(tuple(sizes)) * n_others))
    n_cells = min(MOST_CELLS, _cells(sizes[p] for p in clique) * max(1, round(typical)))
    others = math.exp(min(_LOG_MOST_CELLS, _mean_log(tuple(concentrations)) * n_others))
    return [Cover(chance, n_cells, k, others)]


def _by_size(
    drawn: Sequence[tuple[Clique, float]], sizes: Sizes, concentrations: Sequence[float]
) -> Callable[[Clique], list[Cover]]:
    """Where attributes of one size are covered alike: what the drawn views hold of all of them, shared out."""
    found: dict[tuple[int, ...], Counter[tuple[int, int, float]]] = {}
    for view, chance in drawn:
        met = Counter(
            tuple(sorted(sizes[p] for p in clique))
            for n in (1, 2)
            for clique in combinations(view, n)
        )
        for kind, times in sorted(met.items()):
            clique = tuple(sizes.index(size) for size in kind)
            of_view = _kind(view, clique, sizes, concentrations)
            found.setdefault(kind, Counter())[of_view] += chance * times  # type: ignore[assignment]
    of_size = Counter(sizes)

    def covers(clique: Clique) -> list[Cover]:
        kind = _sizes_of(clique, sizes)
        n_alike: float = of_size[kind[0]]
        if len(kind) == 2:
            n_alike *= (of_size[kind[1]] - 1) / 2 if kind[0] == kind[1] else of_size[kind[1]]
        return [
            Cover(chance / n_alike, *of_view)
            for of_view, chance in found.get(kind, Counter()).items()
        ]

    return covers


@lru_cache(maxsize=16)
def _mean_log(values: tuple[float, ...]) -> float:
    return sum(math.log(value) for value in values) / len(values)


def _cells(sizes: Iterable[int]) -> int:
    """The product of these sizes, held at MOST_CELLS: the true one may be beyond every float."""
    product = 1
    for size in sizes:
        product = min(product * size, MOST_CELLS)
    return product
