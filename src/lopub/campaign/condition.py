"""Only-if: when a question applies, as a condition on the answers to earlier ones.

Conditions are public, so a client, a collector and an analyst evaluate them alike. A missing answer, and a question that does not
apply itself, make every comparison false.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar

from lopub.campaign.canonical import Json, Members, integer_at
from lopub.errors import CampaignError

MOST_COMPARISONS = 32
"""In one condition."""
DEEPEST = 8
"""Conditions inside one another, including the comparison."""
LISTED, SINGLE = "oneOf", ("equals", "atLeast", "atMost", "above", "below", "includes")
OPERATORS = (*SINGLE, LISTED)

Answer = str | bool | int
"""What an answer is compared with."""
Leaf = Callable[["Comparison"], Any]
"""Says of one comparison whether it holds: a truth value, or an array of them, one per record."""


class Condition(ABC):
    """When a question applies."""

    @abstractmethod
    def comparisons(self) -> Iterator["Comparison"]:
        """All of them, in order."""

    @abstractmethod
    def evaluate(self, holds: Leaf) -> Any:
        """Whether it holds, where each comparison does or does not."""

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """The member `onlyIf` of a field."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that it looks at, each once."""
        return tuple(dict.fromkeys(one.attribute for one in self.comparisons()))


@dataclass(frozen=True)
class Comparison(Condition):
    """One answer against one value, or a few."""

    field: str
    operator: str
    values: tuple[Answer, ...]
    """One, but for `oneOf`."""

    def __post_init__(self) -> None:
        if not self.values:
            raise CampaignError(f"a condition on {self.field!r} compares with nothing")

    @property
    def attribute(self) -> str:
        """The attribute that it looks at: of a list, the option that is to be ticked."""
        return (
            option_name(self.field, str(self.values[0]))
            if self.operator == "includes"
            else self.field
        )

    def comparisons(self) -> Iterator["Comparison"]:
        yield self

    def evaluate(self, holds: Leaf) -> Any:
        return holds(self)

    def to_json(self) -> dict[str, Json]:
        return {
            "field": self.field,
            self.operator: list(self.values) if self.operator == LISTED else self.values[0],
        }

    def __str__(self) -> str:
        words = {
            "equals": "is",
            LISTED: "is one of",
            "includes": "includes",
            "atLeast": "is at least",
            "atMost": "is at most",
        }
        return f"{self.field} {words.get(self.operator, f'is {self.operator}')} {', '.join(map(_shown, self.values))}"


@dataclass(frozen=True)
class Not(Condition):
    """The opposite."""

    inner: Condition

    def comparisons(self) -> Iterator[Comparison]:
        return self.inner.comparisons()

    def evaluate(self, holds: Leaf) -> Any:
        return self.inner.evaluate(holds) ^ True

    def to_json(self) -> dict[str, Json]:
        return {"not": self.inner.to_json()}

    def __str__(self) -> str:
        return f"not ({self.inner})"


@dataclass(frozen=True)
class Compound(Condition):
    """Conditions of which all, or at least one, must hold."""

    word: ClassVar[str]
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise CampaignError(
                f"a condition with {self.word!r} needs at least 2 parts, got {len(self.parts)}"
            )

    def comparisons(self) -> Iterator[Comparison]:
        for part in self.parts:
            yield from part.comparisons()

    def to_json(self) -> dict[str, Json]:
        return {self.word: [part.to_json() for part in self.parts]}

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({part})" if isinstance(part, Compound) else str(part) for part in self.parts
        )


@dataclass(frozen=True)
class Both(Compound):
    """All of them hold."""

    word: ClassVar[str] = "and"

    def evaluate(self, holds: Leaf) -> Any:
        return reduce(and_, [part.evaluate(holds) for part in self.parts])

    __str__ = Compound.__str__


@dataclass(frozen=True)
class Either(Compound):
    """At least one of them holds."""

    word: ClassVar[str] = "or"

    def evaluate(self, holds: Leaf) -> Any:
        return reduce(or_, [part.evaluate(holds) for part in self.parts])

    __str__ = Compound.__str__


def option_name(field: str, value: str) -> str:
    """The attribute that an option of a list is: its column in tables."""
    return f"{field}/{value}"


def condition_from_json(value: Json, where: str) -> Condition:
    """The condition of a field's member `onlyIf`."""
    condition = _read(value, where, 1)
    if (n := sum(1 for _ in condition.comparisons())) > MOST_COMPARISONS:
        raise CampaignError(f"{where} may have at most {MOST_COMPARISONS} comparisons, got {n}")
    return condition


def _read(value: Json, where: str, depth: int) -> Condition:
    members = Members(value, where)
    if depth > DEEPEST:
        raise CampaignError(f"{where} stands inside more than {DEEPEST - 1} other conditions")
    if "not" in members:
        inner = _read(members.take("not"), members.path("not"), depth + 1)
        members.done()
        return Not(inner)
    for kind in (Both, Either):
        if kind.word in members:
            path = members.path(kind.word)
            parts = tuple(
                _read(item, f"{path}[{i}]", depth + 1)
                for i, item in enumerate(members.items(kind.word))
            )
            members.done()
            return kind(parts)
    return _comparison(members)


def _comparison(members: Members) -> Comparison:
    field = members.text("field")
    given = [operator for operator in OPERATORS if operator in members]
    if len(given) != 1:
        raise CampaignError(
            f"{members.path('')[:-1]} must compare with exactly one of {', '.join(OPERATORS)}"
        )
    operator, where = given[0], members.path(given[0])
    values = members.items(operator) if operator == LISTED else [members.take(operator)]
    members.done()
    return Comparison(field, operator, tuple(_answer(value, where) for value in values))


def _answer(value: Json, where: str) -> Answer:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return integer_at(value, where)
    raise CampaignError(f"{where} must be a text, an integer, or true or false")


def _shown(value: Answer) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
