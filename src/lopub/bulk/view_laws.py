"""How often which view is drawn: what estimation, planning and pages ask of a view rule, and a device never needs."""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import permutations
from typing import Any, ClassVar, Generic, TypeVar

from lopub.campaign.domain import Clique
from lopub.campaign.randomness import Randomness
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, Sizes, ViewRule
from lopub.campaign.views.walk import Lists, questions_of
from lopub.errors import CampaignError

MOST_VIEWS = 20_000
"""Views that are looked at one by one."""
N_TYPICAL = 300
"""Views that stand for all of them, where they are drawn."""
MOST_WALKED = 6
"""Attributes up to which `fill` is walked in every order."""
MOST_PERMUTED = 4
"""Attributes of a view of lists whose orders are all looked at."""

Rule = TypeVar("Rule", bound=ViewRule)


@dataclass(frozen=True)
class ViewLaw(Generic[Rule]):
    """The law of the views of one rule. This class serves a rule of which nothing is known but its draws."""

    rule: Rule
    kind: ClassVar[str] = ""
    in_short: ClassVar[str] = ""
    """What the rule asks of each person, for people who choose one."""
    usual_mechanism: ClassVar[str] = ""
    """The mechanism that goes with the rule where nobody names one; empty where it does not matter."""
    known: ClassVar[dict[str, type["ViewLaw[Any]"]]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        ViewLaw.known[cls.kind] = cls

    @property
    def by_size(self) -> bool:
        """Whether attributes with equally many candidates are equally likely to be covered, alone and together."""
        return False

    def usually_jointly(self, n_attributes: int) -> bool:
        """Whether a view is randomized jointly where nobody says."""
        return True

    def n_alike(self, n_attributes: int) -> int | None:
        """How many attributes every view has, where every set of so many is equally likely."""
        return None

    def covers_together(self, clique: Clique, sizes: Sizes) -> bool:
        """Whether some view holds all of these attributes."""
        return any(set(clique).issubset(view) for view in self.rule.views(sizes))

    def chances(self, sizes: Sizes, most: int = MOST_VIEWS) -> dict[Clique, float] | None:
        """Every view with its probability; None where there are more than `most`, or nobody can write them down."""
        n_alike = self.n_alike(len(sizes))
        if n_alike is None or math.comb(len(sizes), n_alike) > most:
            return None
        return dict.fromkeys(self.rule.views(sizes), 1 / math.comb(len(sizes), n_alike))

    def coverage(self, clique: Clique, sizes: Sizes) -> float | None:
        """The probability that a view holds all of these attributes; None where it can only be learnt by drawing."""
        d, k, n_alike = len(sizes), len(clique), self.n_alike(len(sizes))
        if n_alike is not None:
            return math.comb(d - k, n_alike - k) / math.comb(d, n_alike) if k <= n_alike else 0.0
        if (chances := self.chances(sizes)) is None:
            return None
        return sum(chance for view, chance in chances.items() if set(clique).issubset(view))

    def typical_views(self, sizes: Sizes) -> tuple[tuple[Clique, float], ...]:
        """Views with their probabilities: all of them, or a sample that is always the same."""
        if (chances := self.chances(sizes)) is not None:
            return tuple(chances.items())
        return tuple(
            (self.rule.draw(sizes, Repeatable(b"view %d" % turn)), 1 / N_TYPICAL)
            for turn in range(N_TYPICAL)
        )


class AllLaw(ViewLaw[AllAttributes]):
    """One view."""

    kind: ClassVar[str] = AllAttributes.kind
    in_short: ClassVar[str] = "every question of everybody"

    def usually_jointly(self, n_attributes: int) -> bool:
        return n_attributes == 1

    def n_alike(self, n_attributes: int) -> int:
        return n_attributes


class SampleLaw(ViewLaw[Sample]):
    """Every set of so many attributes is equally likely, unless there are lists."""

    kind: ClassVar[str] = Sample.kind
    in_short: ClassVar[str] = "so many questions per person, drawn at random"

    def n_alike(self, n_attributes: int) -> int | None:
        return None if self.rule.lists else self.rule.n_sampled

    def covers_together(self, clique: Clique, sizes: Sizes) -> bool:
        return len(clique) <= self.rule.n_sampled

    def chances(self, sizes: Sizes, most: int = MOST_VIEWS) -> dict[Clique, float] | None:
        lists, n_sampled = self.rule.lists, self.rule.n_sampled
        if not lists:
            return super().chances(sizes, most)
        if n_sampled > MOST_PERMUTED or math.comb(len(sizes), n_sampled) > most:
            return None
        return {view: chance_of_set(view, len(sizes), lists) for view in self.rule.views(sizes)}


class FillLaw(ViewLaw[Fill]):
    """The views that walks in random orders fill."""

    kind: ClassVar[str] = Fill.kind
    in_short: ClassVar[str] = "as many questions per person as have so many combined answers"
    usual_mechanism: ClassVar[str] = "direct"

    @property
    def by_size(self) -> bool:
        return not self.rule.lists

    def covers_together(self, clique: Clique, sizes: Sizes) -> bool:
        return len(clique) <= 2 or math.prod(sizes[i] for i in clique) <= self.rule.cells

    def chances(self, sizes: Sizes, most: int = MOST_VIEWS) -> dict[Clique, float] | None:
        """Of few attributes: every order that they can be walked in."""
        if len(sizes) > MOST_WALKED:
            return None
        orders = permutations(range(len(sizes)))
        if not self.rule.lists:
            found = Counter(self.rule.walked(order, sizes) for order in orders)
            return {view: times / found.total() for view, times in sorted(found.items())}
        chances: dict[Clique, float] = {}
        for order in orders:
            view = self.rule.walked(order, sizes)
            chance = chance_of_order(order, len(sizes), self.rule.lists)
            chances[view] = chances.get(view, 0.0) + chance
        return dict(sorted(chances.items()))

    def typical_views(self, sizes: Sizes) -> tuple[tuple[Clique, float], ...]:
        if self.rule.lists:
            return super().typical_views(sizes)
        orders = _typical_orders(len(sizes))
        return tuple((self.rule.walked(order, sizes), 1 / N_TYPICAL) for order in orders)


class ListedLaw(ViewLaw[Listed]):
    """The listed sets, in proportion to their weights."""

    kind: ClassVar[str] = Listed.kind
    in_short: ClassVar[str] = "one of the listed sets of questions per person"

    def chances(self, sizes: Sizes, most: int = MOST_VIEWS) -> dict[Clique, float]:
        sets, weights = self.rule.sets, self.rule.weights
        total = sum(weights)
        return {view: weight / total for view, weight in zip(sets, weights, strict=True)}


def view_law(rule: ViewRule) -> ViewLaw[Any]:
    """The law of a rule's views."""
    return ViewLaw.known.get(rule.kind, ViewLaw)(rule)


def view_from_text(text: str) -> ViewRule:
    """The rule of a command line: all, sample:K or fill:CELLS.

    >>> str(view_from_text("sample:2"))
    'sample:2'
    """
    kind, _, number = text.partition(":")
    if kind == "all" and not number:
        return AllAttributes()
    if kind in ("sample", "fill") and number.isascii() and number.isdecimal() and len(number) < 20:
        return Sample(int(number)) if kind == "sample" else Fill(int(number))
    raise CampaignError(
        "view must be all, sample:K or fill:CELLS with a whole number, such as sample:2"
    )


def chance_of_order(order: Sequence[int], n_attributes: int, lists: Lists) -> float:
    """The probability that a walk begins with these attributes in this order."""
    left = questions_of(n_attributes, lists)
    chance = 1.0
    for position in order:
        question = next(one for one in left if position in one)
        chance /= len(left) * len(question)
        question.remove(position)
        if not question:
            left.remove(question)
    return chance


def chance_of_set(view: Clique, n_attributes: int, lists: Lists) -> float:
    """The probability that a walk begins with these attributes, in whatever order."""
    return sum(chance_of_order(order, n_attributes, lists) for order in permutations(view))


@lru_cache(maxsize=4)
def _typical_orders(n_attributes: int) -> tuple[Sequence[int], ...]:
    """Orders of so many attributes, as if at random, and always the same ones."""

    def shuffling(turn: int, position: int) -> bytes:
        return hashlib.sha256(b"%d,%d" % (turn, position)).digest()

    positions = range(n_attributes)
    return tuple(
        array("H", sorted(positions, key=partial(shuffling, turn))) for turn in range(N_TYPICAL)
    )


class Repeatable(Randomness):
    """The same draws from a stream that everybody can repeat: for typical views, never for noise."""

    def __init__(self, name: bytes) -> None:
        self._name, self._counter, self._buffer = name, 0, b""

    def take(self, n_bytes: int) -> bytes:
        while len(self._buffer) < n_bytes:
            self._buffer += hashlib.sha256(b"%b, %d" % (self._name, self._counter)).digest()
            self._counter += 1
        taken, self._buffer = self._buffer[:n_bytes], self._buffer[n_bytes:]
        return taken
