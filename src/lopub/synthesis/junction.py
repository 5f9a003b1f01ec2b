"""Triangulation -> JunctionTree: cliques, separators, order (Algorithm 4, the last two lines).

Attributes are their positions in the domain. Inside, a set of them is the bits of one integer: fast, and always walked in
ascending order, so that no result depends on a hash or on the order in which edges are given.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from lopub.campaign.domain import Clique, Pair
from lopub.campaign.views import Sizes
from lopub.errors import DomainError


@dataclass(frozen=True)
class JunctionTree:
    """Cliques with running intersection: what a clique shares with all cliques before it, its parent holds."""

    cliques: tuple[Clique, ...]
    """Each behind its parent, one component behind the other."""
    parents: tuple[int | None, ...]
    """The place of each clique's earlier neighbour; None for the first of a component."""

    def __post_init__(self) -> None:
        if not self.cliques or len(self.parents) != len(self.cliques):
            raise DomainError(
                f"a junction tree needs a parent or None a clique, got {len(self.parents)} for {len(self.cliques)}"
            )
        seen: set[int] = set()
        for place, clique in enumerate(self.cliques):
            if not clique or clique[0] < 0 or any(low >= high for low, high in pairwise(clique)):
                raise DomainError(
                    f"clique {place} must be ascending positions of attributes, got {clique}"
                )
            self._check_parent(place, seen)
            seen.update(clique)

    def _check_parent(self, place: int, seen: set[int]) -> None:
        parent, shared = self.parents[place], seen.intersection(self.cliques[place])
        if parent is not None and not 0 <= parent < place:
            raise DomainError(f"the parent of clique {place} must stand before it, got {parent}")
        if parent is not None and not shared:
            raise DomainError(f"clique {place} shares no attribute with its parent {parent}")
        if not shared <= set(() if parent is None else self.cliques[parent]):
            raise DomainError(
                f"clique {place} shares attributes with earlier cliques that its parent {parent} does not hold"
            )
        if len(shared) == len(self.cliques[place]):
            raise DomainError(f"clique {place} adds no attribute to those of its parent {parent}")

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent; nothing for the first of a component."""
        return tuple(
            ()
            if parent is None
            else tuple(position for position in clique if position in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def components(self) -> tuple[Clique, ...]:
        """The attributes of each connected part, in the order of their cliques."""
        parts: list[set[int]] = []
        place_of: list[int] = []
        for clique, parent in zip(self.cliques, self.parents, strict=True):
            place_of.append(len(parts) if parent is None else place_of[parent])
            if parent is None:
                parts.append(set())
            parts[place_of[-1]].update(clique)
        return tuple(tuple(sorted(part)) for part in parts)

    def most_cells(self, sizes: Sizes) -> int:
        """The cells of the largest clique joint."""
        return max(math.prod(sizes[position] for position in clique) for clique in self.cliques)


def triangulated(sizes: Sizes, edges: Iterable[Pair]) -> tuple[Clique, ...]:
    """The maximal cliques, in ascending order, of the graph made chordal by min-fill elimination.

    Ties go to the clique with fewer cells, then to the earlier attribute. An attribute without edges is its own clique.

    >>> triangulated([2, 2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (0, 3)])
    ((0, 1, 3), (1, 2, 3), (4,))
    """
    return _maximal(_elimination(_graph(sizes, edges)))


def junction_tree(sizes: Sizes, edges: Iterable[Pair]) -> JunctionTree:
    """The tree of the triangulated graph's cliques that has the largest separators (Algorithm 4, lines 14-15)."""
    return _spanned(triangulated(sizes, edges), sizes)


def capped(sizes: Sizes, strengths: Mapping[Pair, float], *, most_cells: int) -> "GrowingGraph":
    """The graph of these edges, strongest first, less those that would take a clique past the cap: its `refused`."""
    graph = GrowingGraph(sizes, most_cells)
    for a, b in sorted(strengths, key=lambda edge: (-strengths[edge], *sorted(edge))):
        graph.offer(a, b)
    return graph


class GrowingGraph:
    """A graph that takes edges as long as no clique of its triangulation has more than most_cells cells.

    Each component keeps its elimination, with what was left of the graph before every step. A new edge leaves alone all
    steps before the first that eliminates one of its ends; only from there on is the component eliminated anew.
    """

    def __init__(self, sizes: Sizes, most_cells: int) -> None:
        if most_cells < max(sizes):
            raise DomainError(
                f"most_cells must be at least {max(sizes)}, the candidates of the largest of {len(sizes)} attributes, "
                f"got {most_cells}"
            )
        self.sizes = tuple(sizes)
        self.most_cells = most_cells
        self._edges: list[Pair] = []
        self._refused: list[Pair] = []
        self._filled = [1 << position for position in range(len(sizes))]
        """Of each attribute, those that share a clique with it, itself among them."""
        self._steps = [
            _elimination(_Remainder(self.sizes, [position])) for position in range(len(sizes))
        ]
        """The elimination of each attribute's component: one list that all its attributes share."""

    @property
    def edges(self) -> tuple[Pair, ...]:
        """Those accepted, in order of offer."""
        return tuple(self._edges)

    @property
    def refused(self) -> tuple[Pair, ...]:
        """Those not accepted, in order of offer."""
        return tuple(self._refused)

    def offer(self, a: int, b: int) -> bool:
        """Whether the edge fits in; it then belongs to the graph. One that is there already fits."""
        edge = _checked((a, b), len(self.sizes))
        if self._steps[a][0].before.joined(a, b):
            return True
        fits = self._fits(*edge)
        (self._edges if fits else self._refused).append(edge)
        return fits

    def tree(self) -> JunctionTree:
        """The junction tree of the graph as triangulated now."""
        firsts = [
            steps for position, steps in enumerate(self._steps) if steps[0].attribute == position
        ]
        return _spanned(_maximal([step for steps in firsts for step in steps]), self.sizes)

    def _fits(self, a: int, b: int) -> bool:
        if self.sizes[a] * self.sizes[b] > self.most_cells:
            return False
        if self._steps[a] is not self._steps[b]:
            self._bridge(a, b)
            return True
        if not self._filled[a] >> b & 1:
            return self._rearranged(a, b)
        _join(self._steps[a], a, b)
        return True

    def _rearranged(self, a: int, b: int) -> bool:
        """Add an edge inside a component, if the steps from its first end on can be taken anew within the cap."""
        steps = self._steps[a]
        first = next(place for place, step in enumerate(steps) if step.attribute in (a, b))
        remainder = steps[first].before.copy()
        remainder.join(a, b)
        anew = _elimination(remainder, self.most_cells)
        if not anew:
            return False
        _join(steps[:first], a, b)
        steps[first:] = anew
        self._settle(steps)
        return True

    def _bridge(self, a: int, b: int) -> None:
        """Add an edge between two components. Always possible: where min-fill passes the cap, keep what was filled in."""
        remainder = self._steps[a][0].before.united(self._steps[b][0].before)
        remainder.join(a, b)
        steps = _elimination(remainder, self.most_cells) or _elimination(
            self._as_filled(remainder, a, b)
        )
        self._settle(steps)

    def _as_filled(self, remainder: "_Remainder", a: int, b: int) -> "_Remainder":
        """The chordal graph of both components and the edge: eliminating it fills in nothing more."""
        attributes = sorted(remainder.neighbours)
        filled = _Remainder(self.sizes, attributes)
        for low, high in [
            (u, w) for u in attributes for w in _members(self._filled[u]) if u < w
        ] + [(a, b)]:
            filled.join(low, high)
        return filled

    def _settle(self, steps: "list[_Step]") -> None:
        """Make these the steps of their component."""
        for step in steps:
            self._steps[step.attribute] = steps
            self._filled[step.attribute] = 0
        for step in steps:
            for position in _members(step.clique):
                self._filled[position] |= step.clique


# ---- elimination


class _Remainder:
    """What is left of a graph under elimination; of each attribute that is left: its neighbours, ..."""

    __slots__ = ("cells", "missing", "neighbours", "sizes")

    def __init__(self, sizes: Sizes, attributes: Iterable[int]) -> None:
        self.sizes = sizes
        self.neighbours = dict.fromkeys(attributes, 0)
        self.missing = dict.fromkeys(self.neighbours, 0)
        """... how many pairs of neighbours are not joined: what its elimination would fill in, ..."""
        self.cells = {position: sizes[position] for position in self.neighbours}
        """... and the cells of the clique that its elimination would make."""

    def copy(self) -> "_Remainder":
        twin = _Remainder(self.sizes, ())
        twin.neighbours, twin.missing, twin.cells = (
            self.neighbours.copy(),
            self.missing.copy(),
            self.cells.copy(),
        )
        return twin

    def united(self, other: "_Remainder") -> "_Remainder":
        """Both graphs side by side."""
        both = self.copy()
        both.neighbours |= other.neighbours
        both.missing |= other.missing
        both.cells |= other.cells
        return both

    def joined(self, a: int, b: int) -> bool:
        return bool(self.neighbours[a] >> b & 1)

    def join(self, a: int, b: int) -> None:
        """Add an edge: their common neighbours miss one pair less, the ends miss each other's other neighbours."""
        of_a, of_b = self.neighbours[a], self.neighbours[b]
        common = of_a & of_b
        missing = self.missing
        for position in _members(common):
            missing[position] -= 1
        missing[a] += (of_a ^ common).bit_count()
        missing[b] += (of_b ^ common).bit_count()
        self.neighbours[a], self.neighbours[b] = of_a | 1 << b, of_b | 1 << a
        self.cells[a] *= self.sizes[b]
        self.cells[b] *= self.sizes[a]

    def least(self) -> int:
        """The attribute to eliminate next: least fill, then fewest cells, then first."""
        fill = min(self.missing.values())
        return min(
            [
                (self.cells[position], position)
                for position, missing in self.missing.items()
                if missing == fill
            ]
        )[1]

    def eliminate(self, attribute: int) -> int:
        """Take an attribute out and join its neighbours to each other; returns the clique of them all, as bits."""
        neighbours = self.neighbours.pop(attribute)
        clique = neighbours | 1 << attribute
        del self.cells[attribute]
        for position in _members(neighbours):
            rest = self.neighbours[position] ^ 1 << attribute
            self.neighbours[position] = rest
            self.missing[position] -= (rest & ~clique).bit_count()
            self.cells[position] //= self.sizes[attribute]
        if self.missing.pop(attribute):
            self._complete(neighbours)
        return clique

    def _complete(self, attributes: int) -> None:
        for low in _members(attributes):
            strangers = attributes & ~self.neighbours[low] & -(2 << low)
            for high in _members(strangers):
                self.join(low, high)


class _Step(NamedTuple):
    """One elimination: which attribute, the clique that it makes (bits), and what was left before."""

    attribute: int
    clique: int
    before: _Remainder


def _elimination(remainder: _Remainder, most_cells: float = math.inf) -> list[_Step]:
    """All steps of min-fill elimination; none if one of their cliques has more than most_cells cells."""
    steps = []
    while remainder.neighbours:
        attribute = remainder.least()
        if remainder.cells[attribute] > most_cells:
            return []
        after = remainder.copy()
        steps.append(_Step(attribute, after.eliminate(attribute), remainder))
        remainder = after
    return steps


def _join(steps: Iterable[_Step], a: int, b: int) -> None:
    """Add an edge, which some clique of the elimination holds or will hold, to what was left before each step."""
    for step in steps:
        if step.before.joined(a, b):
            return
        step.before.join(a, b)


def _graph(sizes: Sizes, edges: Iterable[Pair]) -> _Remainder:
    """The whole graph, before any elimination."""
    graph = _Remainder(sizes, range(len(sizes)))
    for low, high in sorted({_checked(edge, len(sizes)) for edge in edges}):
        graph.join(low, high)
    return graph


def _checked(edge: Pair, n_attributes: int) -> Pair:
    """The edge in ascending order."""
    low, high = sorted(edge)
    if not 0 <= low < high < n_attributes:
        raise DomainError(
            f"an edge joins two of the positions 0 to {n_attributes - 1}, got {edge[0]} and {edge[1]}"
        )
    return low, high


@lru_cache(maxsize=2**16)
def _members(attributes: int) -> Clique:
    """The positions of the bits. Remembered, since one elimination after the other meets the same neighbours."""
    positions = []
    while attributes:
        lowest = attributes & -attributes
        positions.append(lowest.bit_length() - 1)
        attributes ^= lowest
    return tuple(positions)


# ---- cliques and their tree


def _maximal(steps: Sequence[_Step]) -> tuple[Clique, ...]:
    """The cliques that no other one holds, ascending. Only an earlier step's clique can hold a later one's."""
    kept: list[int] = []
    for step in steps:
        if all(step.clique & ~earlier for earlier in kept):
            kept.append(step.clique)
    return tuple(sorted(_members(clique) for clique in kept))


def _spanned(cliques: Sequence[Clique], sizes: Sizes) -> JunctionTree:
    """The maximum spanning tree by separators, grown from each component's first clique (Prim).

    The larger separator goes first, by attributes and then by cells; then the earlier parent, then the earlier clique.
    """
    links = [UNLINKED] * len(cliques)
    waiting = list(range(len(cliques)))
    order: list[int] = []
    while waiting:
        clique = min(waiting, key=lambda other: (links[other], other))
        waiting.remove(clique)
        order.append(clique)
        for other in waiting:
            links[other] = min(links[other], _link(clique, other, cliques, sizes))
    parents = [links[clique].parent for clique in order]
    return JunctionTree(
        tuple(cliques[clique] for clique in order),
        tuple(None if parent < 0 else order.index(parent) for parent in parents),
    )


class _Link(NamedTuple):
    """How one clique hangs on a parent; the least is the best."""

    attributes: int
    """Those of the separator, negative."""
    cells: int
    """Those of the separator, negative."""
    parent: int


UNLINKED = _Link(0, 0, -1)
"""Shares nothing: behind every link."""


def _link(parent: int, clique: int, cliques: Sequence[Clique], sizes: Sizes) -> _Link:
    shared = [position for position in cliques[clique] if position in cliques[parent]]
    return (
        _Link(-len(shared), -math.prod(sizes[position] for position in shared), parent)
        if shared
        else UNLINKED
    )
