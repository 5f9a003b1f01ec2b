"""Numbers in bins. Which bins, the campaign decides, never the data."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from lopub.campaign.attribute import Attribute, Value, few
from lopub.campaign.canonical import NUMBER, Json, decimal_text
from lopub.errors import DomainError

BELOW, ABOVE = "-inf", "inf"
"""The outer edges of open-ended bins."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Binned(Attribute):
    """A number in one of the bins (edge, next edge], the lowest edge included.

    edges: canonical decimals (`decimal_text`), each the shortest name of a binary double, so that comparing
    doubles is exact and every language sorts a number into the same bin. The first may be `-inf` and the last `inf`: the outer
    bins are then open-ended.
    """

    type: ClassVar[str] = "number"
    edges: tuple[str, ...]
    clamp: bool = False
    """Whether a number outside counts as the nearest edge; otherwise it is refused."""

    def __post_init__(self) -> None:
        if len(self.edges) < 2:
            raise DomainError(
                f"attribute {self.name!r} needs at least 2 bin edges, got {len(self.edges)}"
            )
        object.__setattr__(self, "edges", tuple(_edge_text(edge, self.name) for edge in self.edges))
        if self.clamp and self.is_open:
            raise DomainError(
                f"attribute {self.name!r} has an open-ended bin, which takes every number; it cannot clamp, too"
            )
        if any(low >= high for low, high in zip(self.bounds, self.bounds[1:], strict=False)):
            raise DomainError(
                f"attribute {self.name!r} has bin edges out of order; each must be above the one before"
            )
        super().__post_init__()

    @cached_property
    def bounds(self) -> tuple[float, ...]:
        """The edges as doubles."""
        return tuple(float(edge) for edge in self.edges)

    @property
    def is_open(self) -> bool:
        """Whether the first or the last bin has no end."""
        return BELOW in self.edges or ABOVE in self.edges

    @property
    def answers(self) -> tuple[Value, ...]:
        return self.answer_texts

    def _compared(self, value: Value) -> int:
        if value not in self._place_of_text:
            raise DomainError(
                f"attribute {self.name!r} is binned, so that only its bins can be named: {few(self.answer_texts)}"
            )
        return self._place_of_text[str(value)]

    @cached_property
    def _place_of_text(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.answer_texts)}

    @cached_property
    def _place_of_inner_edge(self) -> dict[str, int]:
        return {edge: place for place, edge in enumerate(self.edges[1:-1], start=1)}

    def _side(self, operator: str, value: Value) -> range:
        """Bins are closed on the right, so `above` and `atMost` an edge can be decided, and `below` cannot."""
        if operator not in ("above", "atMost") or value not in self._place_of_inner_edge:
            raise DomainError(
                f"attribute {self.name!r} is binned and can only be compared by above or atMost,"
                f" at one of its inner bin edges ({few(self.edges[1:-1]) or 'none'})"
            )
        at = self._place_of_inner_edge[str(value)]
        return range(at) if operator == "atMost" else range(at, self._n_answers)

    @cached_property
    def answer_texts(self) -> tuple[str, ...]:
        pairs = list(zip(self.edges, self.edges[1:], strict=False))
        first = "(" if self.edges[0] == BELOW else "["
        texts = [f"{'(' if i else first}{low}, {high}]" for i, (low, high) in enumerate(pairs)]
        return (*texts[:-1], f"{texts[-1][:-1]})" if self.edges[-1] == ABOVE else texts[-1])

    def _answer_index(self, value: Value) -> int:
        if isinstance(value, str):
            if value not in self._place_of_text:
                raise self._wrong_type("a number or one of its bins", value)
            return self._place_of_text[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong_type("a number", value)
        low, high = self.bounds[0], self.bounds[-1]
        if value != value or (
            not self.clamp and not low <= value <= high
        ):  # the first: not a number
            span = f"from {self.edges[0]} to {self.edges[-1]}"
            raise DomainError(f"attribute {self.name!r} takes numbers {span}; this one is outside")
        return bisect_left(self.bounds, min(max(value, low), high), 1) - 1

    @property
    def _n_answers(self) -> int:
        return len(self.edges) - 1

    def _parsed(self, text: str) -> Value:
        if text[0] in "[(":
            return text
        if not NUMBER.fullmatch(text):
            raise DomainError(f"attribute {self.name!r} takes a number; this text is not one")
        return float(text)

    def _constraints(self) -> dict[str, Json]:
        outer = {"minimum": self.edges[0], "maximum": self.edges[-1]}
        return (
            {}
            if self.clamp
            else {key: edge for key, edge in outer.items() if edge not in (BELOW, ABOVE)}
        )

    def _members(self) -> dict[str, Json]:
        return {"bins": {"edges": list(self.edges), "clamp": self.clamp}}


def _edge_text(edge: str, name: str) -> str:
    """An edge in its canonical spelling; whether an infinite one is first or last is checked by their order."""
    return edge if edge in (BELOW, ABOVE) else decimal_text(edge, name)
