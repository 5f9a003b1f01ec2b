"""`all` and `sample:k`: every set of k attributes is equally likely."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import ClassVar, Self

from lopub.campaign.budget import total_up
from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.randomness import Randomness
from lopub.campaign.views.base import Losses, Sizes, ViewRule
from lopub.campaign.views.walk import Lists, walk
from lopub.errors import CampaignError


@dataclass(frozen=True)
class AllAttributes(ViewRule):
    """Every report covers every attribute: the paper."""

    kind: ClassVar[str] = "all"
    masked: ClassVar[bool] = False

    def check(self, sizes: Sizes, jointly: bool) -> None:
        return

    @property
    def weights_kept(self) -> tuple[int, ...]:
        return (1,)

    def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
        return tuple(range(len(sizes)))

    def can_draw(self, view: Clique, sizes: Sizes) -> bool:
        return len(view) == len(sizes)

    def views(self, sizes: Sizes) -> Iterator[Clique]:
        yield tuple(range(len(sizes)))

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return (n_attributes,)

    def most_cells(self, sizes: Sizes) -> int:
        return math.prod(sizes)

    def worst(
        self, losses: Losses, n_attributes: int, among: Sequence[int] | None = None
    ) -> Decimal:
        each = losses(n_attributes)
        return total_up(each if among is None else [each[position] for position in among])

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, members: Members, domain: Domain) -> Self:
        return cls()

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Sample(ViewRule):
    """A uniformly random set of `n_sampled` attributes; with lists, the first ones of a walk."""

    kind: ClassVar[str] = "sample"
    n_sampled: int
    lists: Lists = ()

    def with_lists(self, lists: Lists) -> "Sample":
        return replace(self, lists=lists)

    def check(self, sizes: Sizes, jointly: bool) -> None:
        if not 1 <= self.n_sampled <= len(sizes):
            raise CampaignError(
                f"view sample:k needs k in 1..{len(sizes)}, the number of attributes, got {self.n_sampled}"
            )

    def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
        return tuple(sorted(walk(len(sizes), self.lists, self.n_sampled, randomness)))

    def can_draw(self, view: Clique, sizes: Sizes) -> bool:
        return len(view) == self.n_sampled

    def views(self, sizes: Sizes) -> Iterator[Clique]:
        return combinations(range(len(sizes)), self.n_sampled)

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return (self.n_sampled,)

    def most_cells(self, sizes: Sizes) -> int:
        return math.prod(sorted(sizes)[-self.n_sampled :])

    def worst(
        self, losses: Losses, n_attributes: int, among: Sequence[int] | None = None
    ) -> Decimal:
        each = losses(self.n_sampled)
        return total_up(
            sorted(each if among is None else [each[position] for position in among])[
                -self.n_sampled :
            ]
        )

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "attributes": self.n_sampled}

    @classmethod
    def from_json(cls, members: Members, domain: Domain) -> Self:
        return cls(members.integer("attributes"))

    def __str__(self) -> str:
        return f"sample:{self.n_sampled}"
