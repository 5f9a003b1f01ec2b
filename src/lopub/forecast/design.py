"""Which mechanism and view suit a domain and an epsilon: expected errors in closed form, and what they rank first.

For a pair of attributes with c cells, all equally likely, an estimate from the reports that cover the pair has the AVD

    sqrt(2 / pi) / 2 * sqrt(c / worth),

where `worth` is how many undisturbed records the reports are worth. A report that covers the pair is worth, with v the variance
of a debiased bit, m (1 - m) / (p - q)^2 for a bit that is a one in the share m of all reports:

- `direct`, a view of K cells as one block: keep^2 / (1 - 1 / c), whatever the pair's part of the view;
- bits, a view of K cells as one block: 1 / (K v): every cell of the view adds its noise to the pair's;
- each attribute a block of its own: 1 / (c (v_a + 1 / s_a^2) (v_b + 1 / s_b^2)), the second moments of both sides.

The same for one attribute. Floats will do here: nothing of the guarantee hangs on a design.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, combinations, islice

from lopub.contract.budget import epsilon_decimal
from lopub.contract.domain import Clique
from lopub.contract.mechanism import Law, Mechanism
from lopub.contract.view import Sizes
from lopub.laws import Bulk, bulk_of
from lopub.laws.designs import Design

MEAN_DEVIATION = math.sqrt(2 / math.pi) / 2
"""Of a normal error, its mean absolute size, halved as AVD halves."""
MOST_PAIRS = 2000
"""Pairs that a score is averaged over."""
MOST_CELLS = 2**62
"""More cells than any mechanism takes as one block; a report of so many is worth nothing, and of more no less."""
_LOG_MOST_CELLS = math.log(MOST_CELLS)
PEOPLE = 50_000
"""Where nobody says how many."""
MOST_TOLD_APART = 40
"""Attributes up to which each one's own coverage is looked up among typical views; of more, too few views hold two given ones."""
INDEPENDENCE = 0.1
"""AVD that independence has on a typical pair of a typical table."""


Laws = Callable[[int, int], Law]
"""(cells of a block, blocks that share the budget) -> the law of the block."""


@dataclass(frozen=True)
class Score:
    """What a design is expected to give. A worth is that of an average report, for each attribute and for each pair (of some)."""

    design: Design
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    """How much each attribute matters; a pair matters as the product of its two."""
    pairs: tuple[Clique, ...]
    marginal_worths: tuple[float, ...]
    pair_worths: tuple[float, ...]

    def marginal_error(self, people: int) -> float:
        """Mean AVD of an attribute, were every answer equally likely."""
        errors = (spread(cells, worth * people) for cells, worth in zip(self.sizes, self.marginal_worths, strict=True))
        return _mean([min(1.0, error) for error in errors], self.weights)

    def pair_error(self, people: int) -> float:
        """Mean AVD of a pair by an unshrunk estimate, were every cell equally likely."""
        return _mean([min(1.0, error) for error in self._pair_spreads(people)], self._pair_weights)

    def shrunk_pair_error(self, people: int) -> float:
        """The same where noise is shrunk towards independence, which is itself off by about INDEPENDENCE."""
        left = [INDEPENDENCE / (1 + INDEPENDENCE / error) if error else 0.0 for error in self._pair_spreads(people)]
        return _mean(left, self._pair_weights)

    def typical_spread(self, people: int) -> float:
        """The median over pairs of the unshrunk error; above 1 where reports tell next to nothing."""
        spreads = sorted(self._pair_spreads(people))
        return spreads[len(spreads) // 2] if spreads else 0.0

    def _pair_spreads(self, people: int) -> list[float]:
        cells = (self.sizes[a] * self.sizes[b] for a, b in self.pairs)
        return [spread(n_cells, worth * people) for n_cells, worth in zip(cells, self.pair_worths, strict=True)]

    @property
    def _pair_weights(self) -> list[float]:
        return [self.weights[a] * self.weights[b] for a, b in self.pairs]


def spread(n_cells: int, worth: float) -> float:
    """Expected AVD of equally likely cells from so many undisturbed records; above 1 where they tell nothing."""
    return MEAN_DEVIATION * math.sqrt(n_cells / worth) if worth > 0 else math.inf


def usual_designs(sizes: Sizes, epsilon: float) -> Iterator[Design]:
    """Those among which a campaign is made unless more is asked."""
    return chain.from_iterable(bulk.usual_designs(sizes, epsilon) for bulk in Bulk.known.values())


def designs(sizes: Sizes, epsilon: float) -> Iterator[Design]:
    """All that a planner compares."""
    others = (bulk.other_designs(sizes, epsilon) for bulk in Bulk.known.values())
    return chain(usual_designs(sizes, epsilon), chain.from_iterable(others))


def score_of(design: Design, sizes: Sizes, laws: Laws) -> Score:
    """The score of a design whose laws are known, where all attributes matter alike."""
    d = len(sizes)
    step = max(1, math.comb(d, 2) // MOST_PAIRS)
    pairs = tuple(islice(combinations(range(d), 2), 0, None, step))
    worth = _worths(design, sizes, cache(laws))
    singles = tuple(worth((position,)) for position in range(d))
    return Score(design, tuple(sizes), (1.0,) * d, pairs, singles, tuple(map(worth, pairs)))


def ranked(
    found: Iterable[Design],
    sizes: Sizes,
    epsilon: float,
    *,
    people: int = PEOPLE,
    goal: str = "pairs",
    weights: Sequence[float] | None = None,
) -> list[Score]:
    """The best first. goal: "marginals", or anything else for pairs."""
    scores = [score(design, sizes, epsilon, weights) for design in found]
    marginal = goal == "marginals" or len(sizes) == 1

    def rank(one: Score) -> tuple[float, str]:
        error = one.marginal_error(people) if marginal else one.shrunk_pair_error(people)
        return round(error, 9), str(one.design)  # ties, such as a subset of one and direct, go by name

    return sorted(scores, key=rank)


def score(design: Design, sizes: Sizes, epsilon: float, weights: Sequence[float] | None = None) -> Score:
    """The score of a design at a total epsilon."""
    found = _unweighted(design, tuple(sizes), epsilon)
    return found if weights is None else replace(found, weights=tuple(weights))


@lru_cache(maxsize=256)
def _unweighted(design: Design, sizes: tuple[int, ...], epsilon: float) -> Score:
    kind, budget = Mechanism.known[design.mechanism], epsilon_decimal(str(epsilon))

    @cache
    def mechanism(n_blocks: int) -> Mechanism:
        return kind.for_epsilon(budget, (n_blocks,))

    return score_of(design, sizes, lambda n_cells, n_blocks: mechanism(n_blocks).sized_law(n_cells, n_blocks))


def _worths(design: Design, sizes: Sizes, laws: Laws) -> Callable[[Clique], float]:
    """The worth of an average report for one or two attributes, as a function of these."""
    n_alike = design.view.n_alike(len(sizes))
    if n_alike is not None:
        return lambda clique: _worth_of_sample(design, n_alike, clique, sizes, laws)
    drawn = design.view.typical_views(sizes)
    if design.view.by_size and len(sizes) > MOST_TOLD_APART:
        return _worths_by_size(design, drawn, sizes, laws)
    holders: list[set[int]] = [set() for _ in sizes]  # of each attribute: the numbers of the views that hold it
    for number, (view, _) in enumerate(drawn):
        for position in view:
            holders[position].add(number)
    cells = [_cells(sizes[position] for position in view) if design.jointly else 0 for view, _ in drawn]

    def worth(clique: Clique) -> float:
        numbers = sorted(set.intersection(*(holders[position] for position in clique)))
        found = ((drawn[number][1], cells[number], len(drawn[number][0])) for number in numbers)
        return sum(chance * _of_view(design, clique, n_cells, n_blocks, sizes, laws) for chance, n_cells, n_blocks in found)

    return worth


def _worths_by_size(design: Design, drawn: Sequence[tuple[Clique, float]], sizes: Sizes, laws: Laws) -> Callable[[Clique], float]:
    """The same where attributes of one size are covered alike: what the drawn views are worth for all of them, shared out."""
    total: dict[tuple[int, ...], float] = {}
    for view, chance in drawn:
        n_cells = _cells(sizes[position] for position in view) if design.jointly else 0
        met = Counter(tuple(sorted(sizes[p] for p in clique)) for n in (1, 2) for clique in combinations(view, n))
        for kind, times in sorted(met.items()):
            clique = tuple(sizes.index(size) for size in kind)
            worth = chance * _of_view(design, clique, n_cells, len(view), sizes, laws)
            total[kind] = total.get(kind, 0.0) + times * worth
    of_size = Counter(sizes)

    def shared(clique: Clique) -> float:
        kind = tuple(sorted(sizes[position] for position in clique))
        n_alike = of_size[kind[0]] if len(kind) == 1 else of_size[kind[0]] * (of_size[kind[1]] - (kind[0] == kind[1]))
        return total.get(kind, 0.0) / (n_alike / 2 if len(kind) == 2 and kind[0] == kind[1] else n_alike)

    return shared


def _worth_of_sample(design: Design, n_sampled: int, clique: Clique, sizes: Sizes, laws: Laws) -> float:
    """Where every set of so many attributes is equally likely, and those beside the clique are of typical size."""
    d, k = len(sizes), n_sampled
    chance = k / d if len(clique) == 1 else k * (k - 1) / (d * (d - 1))
    if chance <= 0:
        return 0.0
    typical = math.exp(min(_LOG_MOST_CELLS, _mean_log(tuple(sizes)) * max(k - len(clique), 0)))
    return chance * _of_view(design, clique, min(MOST_CELLS, _cells(sizes[p] for p in clique) * round(typical)), k, sizes, laws)


@lru_cache(maxsize=4)
def _mean_log(sizes: tuple[int, ...]) -> float:
    return sum(math.log(size) for size in sizes) / len(sizes)


def _cells(sizes: Iterable[int]) -> int:
    """The product of these sizes, held at MOST_CELLS: the true one may be beyond every float."""
    product = 1
    for size in sizes:
        product = min(product * size, MOST_CELLS)
    return product


def _of_view(design: Design, clique: Clique, n_cells: int, n_blocks: int, sizes: Sizes, laws: Laws) -> float:
    """Of a report whose view has so many cells and attributes. n_cells: not looked at where attributes are randomized apart."""
    bulk = bulk_of(Mechanism.known[design.mechanism])
    if design.jointly:
        return bulk.worth(laws(n_cells, 1), math.prod(sizes[position] for position in clique))
    noises = [bulk.noise(laws(sizes[position], n_blocks)) for position in clique]
    sides = [noise + 1 / sizes[position] ** 2 for noise, position in zip(noises, clique, strict=True)]
    return 1 / math.prod(sizes[position] * side for position, side in zip(clique, sides, strict=True))


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total > 0 else 0.0
