"""Which mechanism and view suit a domain and an epsilon: expected errors in closed form, and what they rank first.

For a pair of attributes with c cells, all equally likely, an estimate from the reports that cover the pair has the AVD

    sqrt(2 / pi) / 2 * sqrt(c / worth),

where `worth` is how many undisturbed records the reports are worth. A report that covers the pair is worth, with v the variance
of a debiased bit, m (1 - m) / (p - q)^2 for a bit that is a one in the share m of all reports:

- `direct`, a view of K cells as one block: keep^2 / (1 - 1 / c), whatever the pair's part of the view;
- bits, a view of K cells as one block: 1 / (K v): every cell of the view adds its noise to the pair's;
- each attribute a block of its own: 1 / (c (v_a + 1 / s_a^2) (v_b + 1 / s_b^2)), the second moments of both sides.

The same for one attribute. Floats will do here: nothing of the guarantee hangs on a choice.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations, islice

from lopub.canonical import LARGEST_INTEGER
from lopub.view import AllAttributes, Fill, Listed, Sample, Sizes, View, ViewRule

MEAN_DEVIATION = math.sqrt(2 / math.pi) / 2
"""Of a normal error, its mean absolute size, halved as AVD halves."""
N_VIEWS = 300
"""Views of a `fill` rule that are drawn to learn how often a pair is covered; always the same ones."""
MOST_PAIRS = 2000
"""Pairs that a score is averaged over."""
LARGEST_BITS = 2**16
MOST_CELLS = 2**62
"""More cells than any mechanism takes as one block; a report of so many is worth nothing, and of more no less."""
_LOG_MOST_CELLS = math.log(MOST_CELLS)
PEOPLE = 50_000
"""Where nobody says how many."""
INDEPENDENCE = 0.1
"""AVD that independence has on a typical pair of a typical table."""
CELLS_PER_ODDS = 6
"""`fill` takes e^eps / 6 cells, which keeps about six of seven answers."""
OTHER_SHARES = (3, 12)
FEWEST_CELLS = 4
SAMPLED = (1, 2, 3, 5, 8, 12)


Noises = Callable[[int, int], float]
"""(cells of a block, blocks that share the budget) -> v."""


@dataclass(frozen=True)
class Choice:
    """A mechanism and a view, and how its attributes are randomized."""

    mechanism: str
    view: ViewRule
    jointly: bool

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.view}, {'jointly' if self.jointly else 'separately'}"


@dataclass(frozen=True)
class Score:
    """What a choice is expected to give. A worth is that of an average report, for each attribute and for each pair (of some)."""

    choice: Choice
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    """How much each attribute matters; a pair matters as the product of its two."""
    pairs: tuple[View, ...]
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


def usual_choices(sizes: Sizes, epsilon: float) -> Iterator[Choice]:
    """Those among which a campaign is made unless more is asked."""
    d = len(sizes)
    if d == 1:
        yield from (Choice(mechanism, AllAttributes(), True) for mechanism in ("direct", "subset"))
        return
    yield from (Choice("direct", Fill(cells), True) for cells in [fill_cells(epsilon)] if cells >= FEWEST_CELLS)
    if math.prod(sorted(sizes)[-2:]) <= LARGEST_BITS:
        yield from (Choice(mechanism, Sample(2), True) for mechanism in ("subset", "direct"))
    else:
        yield Choice("direct", Sample(2), True)


def choices(sizes: Sizes, epsilon: float) -> Iterator[Choice]:
    """All that a planner compares."""
    d = len(sizes)
    yield from usual_choices(sizes, epsilon)
    if d == 1:
        yield Choice("unary", AllAttributes(), True)
        return
    for share in OTHER_SHARES:
        cells = fill_cells(epsilon, share)
        if cells >= FEWEST_CELLS:
            yield Choice("direct", Fill(cells), True)
    if math.prod(sorted(sizes)[-2:]) <= LARGEST_BITS:
        yield Choice("unary", Sample(2), True)
    if d > 2:
        yield Choice("direct", Sample(3), True)
    for n_sampled in (n for n in SAMPLED if n < d):
        yield Choice("subset", Sample(n_sampled), False)
    yield Choice("subset", AllAttributes(), False)


def score_of(choice: Choice, sizes: Sizes, noises: Noises) -> Score:
    """The score of a choice whose noise is known, where all attributes matter alike."""
    d = len(sizes)
    step = max(1, math.comb(d, 2) // MOST_PAIRS)
    pairs = tuple(islice(combinations(range(d), 2), 0, None, step))
    worth = _worths(choice, _views(choice.view, sizes), sizes, cache(noises))
    singles = tuple(worth((position,)) for position in range(d))
    return Score(choice, tuple(sizes), (1.0,) * d, pairs, singles, tuple(map(worth, pairs)))


def ranked(
    found: Iterable[Choice],
    sizes: Sizes,
    epsilon: float,
    *,
    people: int = PEOPLE,
    goal: str = "pairs",
    weights: Sequence[float] | None = None,
) -> list[Score]:
    """The best first. goal: "marginals", or anything else for pairs."""
    scores = [score(choice, sizes, epsilon, weights) for choice in found]
    marginal = goal == "marginals" or len(sizes) == 1

    def rank(one: Score) -> tuple[float, str]:
        error = one.marginal_error(people) if marginal else one.shrunk_pair_error(people)
        return round(error, 9), str(one.choice)  # ties, such as a subset of one and direct, go by name

    return sorted(scores, key=rank)


def score(choice: Choice, sizes: Sizes, epsilon: float, weights: Sequence[float] | None = None) -> Score:
    """The score of a choice at a total epsilon."""
    found = _unweighted(choice, tuple(sizes), epsilon)
    return found if weights is None else replace(found, weights=tuple(weights))


@lru_cache(maxsize=256)
def _unweighted(choice: Choice, sizes: tuple[int, ...], epsilon: float) -> Score:
    return score_of(choice, sizes, lambda n_cells, n_blocks: noise(choice.mechanism, n_cells, epsilon / n_blocks))


@dataclass(frozen=True)
class _Views:
    """The views of a rule as (view, probability); None where the rule treats all sets of its size alike."""

    drawn: tuple[tuple[View, float], ...] | None
    n_sampled: int


def _views(rule: ViewRule, sizes: Sizes) -> _Views:
    if isinstance(rule, AllAttributes):
        return _Views(None, len(sizes))
    if isinstance(rule, Sample):
        return _Views(None, rule.n_sampled)
    if isinstance(rule, Listed):
        total = sum(rule.weights)
        return _Views(tuple((view, weight / total) for view, weight in zip(rule.sets, rule.weights, strict=True)), 0)
    if not isinstance(rule, Fill):
        raise TypeError(f"no scores for views of kind {rule.kind}")
    return _Views(tuple((rule.walked(order, sizes), 1 / N_VIEWS) for order in _orders(len(sizes))), 0)


@lru_cache(maxsize=4)
def _orders(n_attributes: int) -> tuple[Sequence[int], ...]:
    """N_VIEWS orders of so many attributes, as if at random, and always the same ones."""
    positions = range(n_attributes)
    return tuple(array("H", sorted(positions, key=lambda position: _shuffling(turn, position))) for turn in range(N_VIEWS))


def _shuffling(turn: int, position: int) -> bytes:
    """Sorts positions as if at random, and always the same way."""
    return hashlib.sha256(b"%d,%d" % (turn, position)).digest()


def _worths(choice: Choice, covered: _Views, sizes: Sizes, noises: Noises) -> Callable[[View], float]:
    """The worth of an average report for one or two attributes, as a function of these."""
    if covered.drawn is None:
        return lambda part: _worth_of_sample(choice, covered.n_sampled, part, sizes, noises)
    drawn = covered.drawn
    holders: list[set[int]] = [set() for _ in sizes]  # of each attribute: the numbers of the views that hold it
    for number, (view, _) in enumerate(drawn):
        for position in view:
            holders[position].add(number)
    cells = [_cells(sizes[position] for position in view) if choice.jointly else 0 for view, _ in drawn]

    def worth(part: View) -> float:
        numbers = sorted(set.intersection(*(holders[position] for position in part)))
        found = ((drawn[number][1], cells[number], len(drawn[number][0])) for number in numbers)
        return sum(chance * _of_view(choice, part, n_cells, n_blocks, sizes, noises) for chance, n_cells, n_blocks in found)

    return worth


def _worth_of_sample(choice: Choice, n_sampled: int, part: View, sizes: Sizes, noises: Noises) -> float:
    """Where every set of so many attributes is equally likely, and those beside the part are of typical size."""
    d, k = len(sizes), n_sampled
    chance = k / d if len(part) == 1 else k * (k - 1) / (d * (d - 1))
    if chance <= 0:
        return 0.0
    typical = math.exp(min(_LOG_MOST_CELLS, _mean_log(tuple(sizes)) * max(k - len(part), 0)))
    return chance * _of_view(choice, part, min(MOST_CELLS, _cells(sizes[p] for p in part) * round(typical)), k, sizes, noises)


@lru_cache(maxsize=4)
def _mean_log(sizes: tuple[int, ...]) -> float:
    return sum(math.log(size) for size in sizes) / len(sizes)


def _cells(sizes: Iterable[int]) -> int:
    """The product of these sizes, held at MOST_CELLS: the true one may be beyond every float."""
    product = 1
    for size in sizes:
        product = min(product * size, MOST_CELLS)
    return product


def _of_view(choice: Choice, part: View, n_cells: int, n_blocks: int, sizes: Sizes, noises: Noises) -> float:
    """Of a report whose view has so many cells and attributes. n_cells: not looked at where attributes are randomized apart."""
    if choice.jointly:
        own = math.prod(sizes[position] for position in part)
        if choice.mechanism == "direct":  # what is seen of the part is kept as often as the whole: K v = (1 - 1 / K) / keep^2
            return (1 - 1 / n_cells) / (n_cells * noises(n_cells, 1)) / (1 - 1 / own)
        return 1 / (n_cells * noises(n_cells, 1))
    sides = [noises(sizes[position], n_blocks) + 1 / sizes[position] ** 2 for position in part]
    return 1 / math.prod(sizes[position] * side for position, side in zip(part, sides, strict=True))


def noise(mechanism: str, n_cells: int, epsilon: float) -> float:
    """v of a block whose candidates are equally likely."""
    odds = math.exp(min(epsilon, 500.0))
    if mechanism == "unary":
        p, q = 0.5, 1 / (odds + 1)
    elif mechanism == "direct":
        p, q = odds / (odds + n_cells - 1), 1 / (odds + n_cells - 1)
    else:
        w = max(1, math.floor(n_cells / (odds + 1) + 0.5))
        p = w * odds / (w * odds + n_cells - w)
        q = (p * (w - 1) + (1 - p) * w) / (n_cells - 1)
    mean = q + (p - q) / n_cells
    return mean * (1 - mean) / (p - q) ** 2 if p > q else math.inf


def fill_cells(epsilon: float, share: int = CELLS_PER_ODDS) -> int:
    """e^eps / share, kept within what a campaign file can say."""
    return int(min(math.exp(min(epsilon, 60.0)) / share, LARGEST_INTEGER))


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total > 0 else 0.0
