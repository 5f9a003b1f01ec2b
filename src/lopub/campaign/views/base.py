"""Which attributes one report covers, and how a client draws them, independently of its answers.

A view is a tuple of attribute positions in domain order. It is public and says nothing about the answers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import ClassVar, Self

from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.randomness import Randomness
from lopub.campaign.views.walk import Lists
from lopub.errors import CampaignError

Sizes = Sequence[int]
Losses = Callable[[int], list[Decimal]]
"""Number of attributes in a view, which share the budget -> the losses of all attributes, in order."""


class ViewRule(ABC):
    """A law over views. sizes: the number of candidates of every attribute, in order."""

    kind: ClassVar[str]
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

    @abstractmethod
    def views(self, sizes: Sizes) -> Iterator[Clique]:
        """Every view that can be drawn, each once; there may be very many."""

    def with_lists(self, lists: Lists) -> "ViewRule":
        """The rule where each of these sets of attributes is one question; itself where that makes no difference."""
        return self

    @property
    def weights_kept(self) -> tuple[int, ...] | None:
        """How often each view is drawn, as integers, where devices may keep the one that they drew; None where there are too many
        views for that."""
        return None

    def n_tried(self, sizes: Sizes, most: int) -> int:
        """How many sets of attributes must be tried to find every view; counted up to most + 1."""
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
