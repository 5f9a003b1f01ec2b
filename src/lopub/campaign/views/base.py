"""Which attributes one report covers, and how a client draws them, independently of its answers.

A view is a tuple of attribute positions in domain order. It is public and says nothing about the answers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import ClassVar, Self

from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.randomness import Randomness, Repeatable
from lopub.campaign.views.walk import Lists
from lopub.errors import CampaignError

Sizes = Sequence[int]
Losses = Callable[[int], list[Decimal]]
"""Number of attributes in a view -> the loss of every attribute, in order, where so many share the budget."""

MOST_VIEWS = 20_000
"""Views that are looked at one by one."""
N_TYPICAL = 300
"""Views that stand for all of them, where they are drawn."""


class ViewRule(ABC):
    """A law over views. sizes: the number of candidates of every attribute, in order."""

    kind: ClassVar[str]
    in_short: ClassVar[str] = ""
    """What it asks of each person, for people who choose a rule."""
    known: ClassVar[dict[str, type["ViewRule"]]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        ViewRule.known[cls.kind] = cls

    masked: ClassVar[bool] = True
    """Whether a report must say which attributes it covers."""

    @abstractmethod
    def check(self, sizes: Sizes, jointly: bool) -> None:
        """Refuse a domain that this rule cannot serve."""

    @abstractmethod
    def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
        """A view, drawn without looking at any answer."""

    @abstractmethod
    def can_draw(self, view: Clique, sizes: Sizes) -> bool:
        """Whether the view has a probability above zero."""

    def covers(self, position: int, view_size: int | None = None) -> bool:
        """Whether some view (of this size) holds the attribute; true of every rule that treats attributes alike."""
        return True

    def covers_together(self, clique: Clique, sizes: Sizes) -> bool:
        """Whether some view holds all of these attributes."""
        return any(set(clique).issubset(view) for view in self.views(sizes))

    @abstractmethod
    def views(self, sizes: Sizes) -> Iterator[Clique]:
        """Every view that can be drawn, each once; there may be very many."""

    @property
    def by_size(self) -> bool:
        """Whether attributes with equally many candidates are equally likely to be covered, alone and together."""
        return False

    def with_lists(self, lists: Lists) -> "ViewRule":
        """The same rule where each of these sets of attributes is one question; itself where that makes no difference."""
        return self

    usual_mechanism: ClassVar[str] = ""
    """What goes with this rule where nobody names a mechanism; empty where it does not matter."""

    def usually_jointly(self, n_attributes: int) -> bool:
        """Whether a view is randomized jointly where nobody says."""
        return True

    @property
    def weights_kept(self) -> tuple[int, ...] | None:
        """How often each view is drawn, as integers, where devices may keep the one that they drew; None where views are so many
        that one would tell devices apart."""
        return None

    # ---- how often which view is drawn

    def n_alike(self, n_attributes: int) -> int | None:
        """How many attributes every view has, where every set of so many is equally likely."""
        return None

    def chances(self, sizes: Sizes, most: int) -> dict[Clique, float] | None:
        """Every view with its probability; None where there are more than `most`, or nobody can write them down."""
        n_alike = self.n_alike(len(sizes))
        if n_alike is None or math.comb(len(sizes), n_alike) > most:
            return None
        return dict.fromkeys(self.views(sizes), 1 / math.comb(len(sizes), n_alike))

    def coverage(self, clique: Clique, sizes: Sizes) -> float | None:
        """The probability that a view holds all of these attributes; None where it can only be learnt by drawing."""
        d, n_alike = len(sizes), self.n_alike(len(sizes))
        if n_alike is not None:
            return (
                math.comb(d - len(clique), n_alike - len(clique)) / math.comb(d, n_alike)
                if len(clique) <= n_alike
                else 0.0
            )
        chances = self.chances(sizes, MOST_VIEWS)
        return (
            None
            if chances is None
            else sum(chance for view, chance in chances.items() if set(clique).issubset(view))
        )

    def typical_views(self, sizes: Sizes) -> tuple[tuple[Clique, float], ...]:
        """Views with their probabilities: all of them, or a sample that is always the same."""
        chances = self.chances(sizes, MOST_VIEWS)
        if chances is not None:
            return tuple(chances.items())
        return tuple(
            (self.draw(sizes, Repeatable(b"view %d" % turn)), 1 / N_TYPICAL)
            for turn in range(N_TYPICAL)
        )

    def n_tried(self, sizes: Sizes, most: int) -> int:
        """How many sets of attributes must be looked at to find every view; from most + 1 on, most + 1."""
        return sum(1 for _ in islice(self.views(sizes), most + 1))

    @abstractmethod
    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        """How many attributes a view may have, where that does not depend on their candidates."""

    @abstractmethod
    def most_cells(self, sizes: Sizes) -> int:
        """A bound on the cells of a view's product domain; reached unless the rule is `fill`."""

    @abstractmethod
    def worst(
        self, losses: Losses, n_attributes: int, among: Sequence[int] | None = None
    ) -> Decimal:
        """The largest sum of its attributes' losses that a view can have, randomized separately. among: count these only."""

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """The campaign's `view` object."""

    @classmethod
    @abstractmethod
    def from_json(cls, members: Members, domain: Domain) -> Self:
        """The rule of a campaign's `view` object, whose kind has been taken already."""

    @abstractmethod
    def __str__(self) -> str: ...


def view_from_json(members: Members, domain: Domain) -> ViewRule:
    """The rule that a campaign names."""
    kind = members.text("kind")
    if kind not in ViewRule.known:
        raise CampaignError(
            f"{members.path('kind')} must be one of {', '.join(sorted(ViewRule.known))}"
        )
    rule = ViewRule.known[kind].from_json(members, domain)
    members.done()
    return rule
