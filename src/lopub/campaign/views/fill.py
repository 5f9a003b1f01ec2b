"""`fill:cells`: as many attributes as fit."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import ClassVar, Self

from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.randomness import Randomness
from lopub.campaign.views.base import Losses, Sizes, ViewRule
from lopub.campaign.views.walk import Lists, walk
from lopub.errors import CampaignError


@dataclass(frozen=True)
class Fill(ViewRule):
    """As many attributes as fit into so many cells: walk all of them in a uniformly random order, take the first
    two, then each one that keeps the product of sizes within `cells`. For jointly randomized views only. A list is walked as one
    question."""

    kind: ClassVar[str] = "fill"
    cells: int
    lists: Lists = ()

    def with_lists(self, lists: Lists) -> "Fill":
        return replace(self, lists=lists)

    def check(self, sizes: Sizes, jointly: bool) -> None:
        if self.cells < 4:
            raise CampaignError(
                f"view fill:cells needs at least 4 cells, the smallest pair of attributes, got {self.cells}"
            )
        if len(sizes) < 2:
            raise CampaignError("view fill:cells needs at least 2 attributes, got 1")
        if not jointly:
            raise CampaignError(
                "view fill:cells must be randomized jointly; use sample:k to randomize separately"
            )

    def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
        return self.walked(walk(len(sizes), self.lists, len(sizes), randomness), sizes)

    def walked(self, order: Sequence[int], sizes: Sizes) -> Clique:
        """The attributes that are taken in this order: the first two, then each that still fits."""
        taken: list[int] = []
        product = 1
        for position in order:
            if len(taken) < 2 or product * sizes[position] <= self.cells:
                taken.append(position)
                product *= sizes[position]
        return tuple(sorted(taken))

    def can_draw(self, view: Clique, sizes: Sizes) -> bool:
        """A set of two, or one that fits; and in either case nothing outside would still fit in."""
        product = math.prod(sizes[position] for position in view)
        if len(view) < 2 or (len(view) > 2 and product > self.cells):
            return False
        outside = set(range(len(sizes))) - set(view)
        return all(product * sizes[position] > self.cells for position in outside)

    def views(self, sizes: Sizes) -> Iterator[Clique]:
        """The walk in domain order first, so that one is found at once. Then grow sets in domain order; a set counts where
        nothing outside it fits any more."""
        first = self.walked(range(len(sizes)), sizes)
        yield first
        for view in self._fitting(sizes):
            if view != first and self.can_draw(view, sizes):
                yield view

    def n_tried(self, sizes: Sizes, most: int) -> int:
        return sum(1 for _ in islice(self._fitting(sizes), most + 1))

    def _fitting(self, sizes: Sizes) -> Iterator[Clique]:
        """Every set within `cells`, and every set of one or two attributes."""
        pending: list[tuple[Clique, int]] = [((i,), sizes[i]) for i in range(len(sizes))]
        while pending:
            view, product = pending.pop()
            yield view
            for i in range(view[-1] + 1, len(sizes)):
                if len(view) < 2 or product * sizes[i] <= self.cells:
                    pending.append(((*view, i), product * sizes[i]))

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        raise CampaignError("view fill:cells must be randomized jointly")

    def most_cells(self, sizes: Sizes) -> int:
        return min(math.prod(sizes), max(self.cells, math.prod(sorted(sizes)[-2:])))

    def worst(
        self, losses: Losses, n_attributes: int, among: Sequence[int] | None = None
    ) -> Decimal:
        raise CampaignError("view fill:cells must be randomized jointly")

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "cells": self.cells}

    @classmethod
    def from_json(cls, members: Members, domain: Domain) -> Self:
        return cls(members.integer("cells"))

    def __str__(self) -> str:
        return f"fill:{self.cells}"
