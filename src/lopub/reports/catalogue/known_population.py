"""A population whose truth is known exactly: attributes that depend on earlier ones by stated tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Attribute, Domain, names_of
from lopub.errors import DomainError
from lopub.reports.dataset import Dataset

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Node:
    """One attribute given its parents. table: shape (*parents' sizes, size); every last axis sums to one."""

    attribute: Attribute
    parents: tuple[str, ...]
    table: Table


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """Nodes in an order in which parents come first; `order` says how the attributes stand in its tables."""

    nodes: tuple[Node, ...]
    order: tuple[str, ...]

    @cached_property
    def domain(self) -> Domain:
        """The attributes, in the order of the tables."""
        by_name = {node.attribute.name: node.attribute for node in self.nodes}
        return Domain(tuple(by_name[name] for name in self.order))

    def people(self, n: int, *, seed: int) -> Dataset:
        """n independent people."""
        if n < 1:
            raise DomainError(f"a population needs at least 1 person, got {n}")
        if seed < 0:
            raise DomainError(f"seed must be at least 0, got {seed}")
        rng = np.random.default_rng(seed)
        drawn: dict[str, NDArray[np.int64]] = {}
        for node in self.nodes:
            cumulative = np.cumsum(node.table, axis=-1)[tuple(drawn[name] for name in node.parents)]
            below = (
                rng.random(n)[:, None]
                > np.broadcast_to(cumulative, (n, node.attribute.size))[:, :-1]
            )
            drawn[node.attribute.name] = below.sum(axis=1)
        return Dataset(
            self.domain, np.stack([drawn[name] for name in self.order], axis=1).astype(np.uint16)
        )

    def joint(self, names: str | Sequence[str]) -> Table:
        """The true joint distribution of these attributes, one axis each: every other attribute summed out."""
        names = names_of(names)
        if not names or len(set(self.domain.positions(names))) < len(names):
            raise DomainError("a joint distribution needs at least one attribute, each named once")
        needed = self._ancestors(set(names))
        axis = {node.attribute.name: i for i, node in enumerate(self.nodes)}
        operands: list[object] = []
        for node in self.nodes:
            if node.attribute.name in needed:
                operands += [
                    node.table,
                    [axis[name] for name in (*node.parents, node.attribute.name)],
                ]
        return np.einsum(*operands, [axis[name] for name in names], optimize="greedy")  # type: ignore[call-overload, no-any-return]

    def _ancestors(self, names: set[str]) -> set[str]:
        needed = set(names)
        for node in reversed(self.nodes):
            if node.attribute.name in needed:
                needed |= set(node.parents)
        return needed
