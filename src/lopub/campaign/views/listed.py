"""`listed`: named sets with integer weights."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import ClassVar, Self

from lopub.campaign.budget import total_up
from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Clique, Domain, names_of
from lopub.campaign.randomness import Randomness
from lopub.campaign.texts import one_line
from lopub.campaign.views.base import Losses, Sizes, ViewRule
from lopub.errors import CampaignError

MOST_WEIGHT = 2**32
"""The largest sum of the weights of all listed views."""
MOST_LISTED = 2**17
"""Attributes that all listed views name together."""


@dataclass(frozen=True)
class Listed(ViewRule):
    """One of the listed sets, with a probability in proportion to its weight."""

    kind: ClassVar[str] = "listed"
    names: tuple[tuple[str, ...], ...]
    weights: tuple[int, ...]
    sets: tuple[Clique, ...]
    """The sets as positions."""

    @classmethod
    def of(cls, domain: Domain, weights: Sequence[tuple[str | Sequence[str], int]]) -> Self:
        """Named sets with their weights, in the order given; a single name is a set of one attribute."""
        weights = [(names_of(names), weight) for names, weight in weights]
        if (n := sum(len(names) for names, _ in weights)) > MOST_LISTED:
            raise CampaignError(
                f"view listed may name {MOST_LISTED:,} attributes in all its sets together, got {n:,}"
            )
        if any(len(set(names)) < len(names) for names, _ in weights):
            raise CampaignError("a listed view names the same attribute twice")
        sets = tuple(tuple(sorted(domain.positions(names))) for names, _ in weights)
        in_order = tuple(tuple(domain.names[i] for i in view) for view in sets)
        return cls(in_order, tuple(weight for _, weight in weights), sets)

    def __repr__(self) -> str:
        return one_line(self, f"{len(self.sets):,} sets")

    def __post_init__(self) -> None:
        if not self.sets:
            raise CampaignError("view listed needs at least one set of attributes")
        if not all(self.sets):
            raise CampaignError("view listed has a set without attributes")
        if len(set(self.sets)) < len(self.sets):
            raise CampaignError("view listed names the same set of attributes twice")
        if any(weight < 1 for weight in self.weights) or sum(self.weights) > MOST_WEIGHT:
            raise CampaignError(
                "view listed needs weights of at least 1 that add up to at most 2^32"
            )

    @cached_property
    def _of_size(self) -> dict[int, list[Clique]]:
        """Number of attributes -> the views that have so many."""
        found: dict[int, list[Clique]] = {}
        for view in self.sets:
            found.setdefault(len(view), []).append(view)
        return found

    def check(self, sizes: Sizes, jointly: bool) -> None:
        return

    def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
        drawn = randomness.below(sum(self.weights))
        for view, weight in zip(self.sets, self.weights, strict=True):
            if drawn < weight:
                return view
            drawn -= weight
        raise AssertionError("unreachable: the draw is below the sum of the weights")

    def can_draw(self, view: Clique, sizes: Sizes) -> bool:
        return view in self._different

    @cached_property
    def _different(self) -> frozenset[Clique]:
        return frozenset(self.sets)

    def covers(self, position: int, view_size: int | None = None) -> bool:
        return view_size in self._sizes_around.get(position, ()) or (
            view_size is None and position in self._sizes_around
        )

    @cached_property
    def _sizes_around(self) -> dict[int, set[int]]:
        """Attribute -> how many attributes the views have that hold it."""
        found: dict[int, set[int]] = {}
        for view in self.sets:
            for position in view:
                found.setdefault(position, set()).add(len(view))
        return found

    @property
    def weights_kept(self) -> tuple[int, ...]:
        return self.weights

    def views(self, sizes: Sizes) -> Iterator[Clique]:
        return iter(self.sets)

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return tuple(sorted(self._of_size))

    def most_cells(self, sizes: Sizes) -> int:
        return max(math.prod(sizes[position] for position in view) for view in self.sets)

    def worst(
        self, losses: Losses, n_attributes: int, among: Sequence[int] | None = None
    ) -> Decimal:
        counted = set(range(n_attributes) if among is None else among)
        return max(
            total_up([each[position] for position in view if position in counted])
            for n, views in self._of_size.items()
            for each in (losses(n),)
            for view in views
        )

    def to_json(self) -> dict[str, Json]:
        sets: list[Json] = [
            {"attributes": list(names), "weight": weight}
            for names, weight in zip(self.names, self.weights, strict=True)
        ]
        return {"kind": self.kind, "sets": sets}

    @classmethod
    def from_json(cls, members: Members, domain: Domain) -> Self:
        where = members.path("sets")
        return cls.of(
            domain, [_listed_set(item, where, i) for i, item in enumerate(members.items("sets"))]
        )

    def __str__(self) -> str:
        return f"listed ({len(self.sets)} sets)"


def _listed_set(item: Json, where: str, i: int) -> tuple[tuple[str, ...], int]:
    inner = Members(item, f"{where}[{i}]")
    names, weight = inner.texts("attributes"), inner.integer("weight")
    inner.done()
    return names, weight
