"""Which attributes one report covers, and how a client draws them, independently of its answers.

A view is a tuple of attribute positions in domain order. It is public and says nothing about the answers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice
from typing import ClassVar

from lopub.canonical import Json, Members
from lopub.domain import Domain
from lopub.errors import CampaignError
from lopub.exact import total_up
from lopub.randomness import Randomness

View = tuple[int, ...]
Sizes = Sequence[int]
Losses = Callable[[int], list[Decimal]]
"""Number of attributes in a view -> the loss of every attribute, in order, where so many share the budget."""

MOST_WEIGHT = 2**32
"""Of all listed views together."""
MOST_LISTED = 2**17
"""Attributes that all listed views name together."""


class ViewRule(ABC):
    """A law over views. sizes: the number of candidates of every attribute, in order."""

    kind: ClassVar[str]
    masked: ClassVar[bool] = True
    """Whether a report must say which attributes it covers."""

    @abstractmethod
    def check(self, sizes: Sizes, jointly: bool) -> None:
        """Refuse a domain that this rule cannot serve."""

    @abstractmethod
    def draw(self, sizes: Sizes, randomness: Randomness) -> View:
        """A view, drawn without looking at any answer."""

    @abstractmethod
    def can_draw(self, view: View, sizes: Sizes) -> bool:
        """Whether the view has a probability above zero."""

    def covers(self, position: int, view_size: int | None = None) -> bool:
        """Whether some view (of this size) holds the attribute; true of every rule that treats attributes alike."""
        return True

    def covers_together(self, clique: View, sizes: Sizes) -> bool:
        """Whether some view holds all of these attributes."""
        return any(set(clique).issubset(view) for view in self.views(sizes))

    @abstractmethod
    def views(self, sizes: Sizes) -> Iterator[View]:
        """Every view that can be drawn, each once; there may be very many."""

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
    def worst(self, losses: Losses, n_attributes: int) -> Decimal:
        """The largest sum of its attributes' losses that a view can have, randomized separately."""

    @abstractmethod
    def to_json(self) -> dict[str, Json]: ...

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class AllAttributes(ViewRule):
    """Every report covers every attribute: the paper."""

    kind: ClassVar[str] = "all"
    masked: ClassVar[bool] = False

    def check(self, sizes: Sizes, jointly: bool) -> None:
        return

    def draw(self, sizes: Sizes, randomness: Randomness) -> View:
        return tuple(range(len(sizes)))

    def can_draw(self, view: View, sizes: Sizes) -> bool:
        return len(view) == len(sizes)

    def views(self, sizes: Sizes) -> Iterator[View]:
        yield tuple(range(len(sizes)))

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return (n_attributes,)

    def most_cells(self, sizes: Sizes) -> int:
        return math.prod(sizes)

    def worst(self, losses: Losses, n_attributes: int) -> Decimal:
        return total_up(losses(n_attributes))

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind}

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Sample(ViewRule):
    """A uniformly random set of so many attributes."""

    kind: ClassVar[str] = "sample"
    n_sampled: int

    def check(self, sizes: Sizes, jointly: bool) -> None:
        if not 1 <= self.n_sampled <= len(sizes):
            raise CampaignError(f"view sample:k needs k in 1..{len(sizes)}, the number of attributes, got {self.n_sampled}")

    def draw(self, sizes: Sizes, randomness: Randomness) -> View:
        return tuple(sorted(randomness.prefix(len(sizes), self.n_sampled)))

    def can_draw(self, view: View, sizes: Sizes) -> bool:
        return len(view) == self.n_sampled

    def covers_together(self, clique: View, sizes: Sizes) -> bool:
        return len(clique) <= self.n_sampled

    def views(self, sizes: Sizes) -> Iterator[View]:
        return combinations(range(len(sizes)), self.n_sampled)

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return (self.n_sampled,)

    def most_cells(self, sizes: Sizes) -> int:
        return math.prod(sorted(sizes)[-self.n_sampled :])

    def worst(self, losses: Losses, n_attributes: int) -> Decimal:
        return total_up(sorted(losses(self.n_sampled))[-self.n_sampled :])

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "attributes": self.n_sampled}

    def __str__(self) -> str:
        return f"sample:{self.n_sampled}"


@dataclass(frozen=True)
class Fill(ViewRule):
    """As many attributes as fit into so many cells: walk all of them in a uniformly random order, take the first
    two, then each one that keeps the product of sizes within `cells`. For jointly randomized views only."""

    kind: ClassVar[str] = "fill"
    cells: int

    def check(self, sizes: Sizes, jointly: bool) -> None:
        if self.cells < 4:
            raise CampaignError(f"view fill:cells needs at least 4 cells, the smallest pair of attributes, got {self.cells}")
        if len(sizes) < 2:
            raise CampaignError("view fill:cells needs at least 2 attributes, got 1")
        if not jointly:
            raise CampaignError("view fill:cells must be randomized jointly; use sample:k to randomize separately")

    def draw(self, sizes: Sizes, randomness: Randomness) -> View:
        return self.walked(randomness.prefix(len(sizes), len(sizes)), sizes)

    def walked(self, order: Sequence[int], sizes: Sizes) -> View:
        taken: list[int] = []
        product = 1
        for position in order:
            if len(taken) < 2 or product * sizes[position] <= self.cells:
                taken.append(position)
                product *= sizes[position]
        return tuple(sorted(taken))

    def covers_together(self, clique: View, sizes: Sizes) -> bool:
        return len(clique) <= 2 or math.prod(sizes[position] for position in clique) <= self.cells

    def can_draw(self, view: View, sizes: Sizes) -> bool:
        """A set of two, or one that fits; and in either case nothing outside would still fit in."""
        product = math.prod(sizes[position] for position in view)
        if len(view) < 2 or (len(view) > 2 and product > self.cells):
            return False
        outside = set(range(len(sizes))) - set(view)
        return all(product * sizes[position] > self.cells for position in outside)

    def views(self, sizes: Sizes) -> Iterator[View]:
        """The walk in domain order first, so that one is found at once. Then grow sets in domain order; a set counts where
        nothing outside it fits any more."""
        first = self.walked(range(len(sizes)), sizes)
        yield first
        for view in self._fitting(sizes):
            if view != first and self.can_draw(view, sizes):
                yield view

    def n_tried(self, sizes: Sizes, most: int) -> int:
        return sum(1 for _ in islice(self._fitting(sizes), most + 1))

    def _fitting(self, sizes: Sizes) -> Iterator[View]:
        """Every set within `cells`, and every set of one or two attributes."""
        pending: list[tuple[View, int]] = [((i,), sizes[i]) for i in range(len(sizes))]
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

    def worst(self, losses: Losses, n_attributes: int) -> Decimal:
        raise CampaignError("view fill:cells must be randomized jointly")

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "cells": self.cells}

    def __str__(self) -> str:
        return f"fill:{self.cells}"


@dataclass(frozen=True)
class Listed(ViewRule):
    """One of the listed sets, with a probability in proportion to its weight."""

    kind: ClassVar[str] = "listed"
    names: tuple[tuple[str, ...], ...]
    weights: tuple[int, ...]
    sets: tuple[View, ...]
    """The same sets as positions."""

    @classmethod
    def of(cls, domain: Domain, weights: Sequence[tuple[Sequence[str], int]]) -> "Listed":
        """Named sets with their weights, in the order given."""
        if (n := sum(len(names) for names, _ in weights)) > MOST_LISTED:
            raise CampaignError(f"view listed may name {MOST_LISTED:,} attributes in all its sets together, got {n:,}")
        if any(len(set(names)) < len(names) for names, _ in weights):
            raise CampaignError("a listed view names the same attribute twice")
        sets = tuple(tuple(sorted(domain.positions(names))) for names, _ in weights)
        in_order = tuple(tuple(domain.names[i] for i in view) for view in sets)
        return cls(in_order, tuple(weight for _, weight in weights), sets)

    def __post_init__(self) -> None:
        if not self.sets:
            raise CampaignError("view listed needs at least one set of attributes")
        if not all(self.sets):
            raise CampaignError("view listed has a set without attributes")
        if len(set(self.sets)) < len(self.sets):
            raise CampaignError("view listed names the same set of attributes twice")
        if any(weight < 1 for weight in self.weights) or sum(self.weights) > MOST_WEIGHT:
            raise CampaignError("view listed needs weights of at least 1 that add up to at most 2^32")

    @cached_property
    def _of_size(self) -> dict[int, list[View]]:
        """Number of attributes -> the views that have so many."""
        found: dict[int, list[View]] = {}
        for view in self.sets:
            found.setdefault(len(view), []).append(view)
        return found

    def check(self, sizes: Sizes, jointly: bool) -> None:
        return

    def draw(self, sizes: Sizes, randomness: Randomness) -> View:
        drawn = randomness.below(sum(self.weights))
        for view, weight in zip(self.sets, self.weights, strict=True):
            if drawn < weight:
                return view
            drawn -= weight
        raise AssertionError("unreachable: the draw is below the sum of the weights")

    def can_draw(self, view: View, sizes: Sizes) -> bool:
        return view in self._different

    @cached_property
    def _different(self) -> frozenset[View]:
        return frozenset(self.sets)

    def covers(self, position: int, view_size: int | None = None) -> bool:
        return view_size in self._sizes_around.get(position, ()) or (view_size is None and position in self._sizes_around)

    @cached_property
    def _sizes_around(self) -> dict[int, set[int]]:
        """Attribute -> how many attributes the views have that hold it."""
        found: dict[int, set[int]] = {}
        for view in self.sets:
            for position in view:
                found.setdefault(position, set()).add(len(view))
        return found

    def views(self, sizes: Sizes) -> Iterator[View]:
        return iter(self.sets)

    def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
        return tuple(sorted(self._of_size))

    def most_cells(self, sizes: Sizes) -> int:
        return max(math.prod(sizes[position] for position in view) for view in self.sets)

    def worst(self, losses: Losses, n_attributes: int) -> Decimal:
        return max(
            total_up([each[position] for position in view])
            for n, views in self._of_size.items()
            for each in (losses(n),)
            for view in views
        )

    def to_json(self) -> dict[str, Json]:
        sets: list[Json] = [
            {"attributes": list(names), "weight": weight} for names, weight in zip(self.names, self.weights, strict=True)
        ]
        return {"kind": self.kind, "sets": sets}

    def __str__(self) -> str:
        return f"listed ({len(self.sets)} sets)"


def view_from_json(members: Members, domain: Domain) -> ViewRule:
    """The rule that a campaign names."""
    kind = members.text("kind")
    rule: ViewRule
    if kind == "all":
        rule = AllAttributes()
    elif kind == "sample":
        rule = Sample(members.integer("attributes"))
    elif kind == "fill":
        rule = Fill(members.integer("cells"))
    elif kind == "listed":
        where = members.path("sets")
        rule = Listed.of(domain, [_listed_set(item, where, i) for i, item in enumerate(members.items("sets"))])
    else:
        raise CampaignError(f"{members.path('kind')} must be one of all, sample, fill, listed")
    members.done()
    return rule


def _listed_set(item: Json, where: str, i: int) -> tuple[tuple[str, ...], int]:
    inner = Members(item, f"{where}[{i}]")
    names, weight = inner.texts("attributes"), inner.integer("weight")
    inner.done()
    return names, weight


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
    raise CampaignError("view must be all, sample:K or fill:CELLS with a whole number, such as sample:2")
