"""One question with its candidates.

An attribute turns an answer into the number of a candidate and back. The kinds here: `Categorical`, `Boolean`, `IntegerRange`;
`Binned`, `Dated` and the options of a `TickList` have files of their own. Behind the answers come, each where there is one, the
candidate of a missing answer and that of a question that does not apply.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from lopub.campaign.canonical import LARGEST_INTEGER, Json, without_empty
from lopub.campaign.condition import LISTED, Comparison, Condition
from lopub.campaign.texts import check_text, check_texts, composed, one_line
from lopub.errors import CampaignError, DomainError

MOST_CANDIDATES = 2**16
"""Candidates of one attribute. More would be a text or an identifier, about which no survey of this kind can learn."""
LONGEST_SHOWN = 40  # characters of a candidate in a message

NOT_APPLICABLE = "(not applicable)"
"""The text, in tables, of a question that does not apply."""

Value = str | bool | int | float | None
"""An answer, or None for no answer."""
Accepted = range | frozenset[int]
"""Candidates for which a comparison holds."""

INTEGER = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_TRUE = ("true", "True", "TRUE", "1")  # the spellings that Table Schema lists for a boolean
_FALSE = ("false", "False", "FALSE", "0")


@dataclass(frozen=True, kw_only=True, repr=False)
class Attribute(ABC):
    """One question with its candidates, in order: the answers, then a missing one, if allowed, then "not applicable", where the
    question applies only if a condition holds."""

    type: ClassVar[str]

    name: str
    missing: bool = False
    """Whether "no answer" is a candidate of its own; otherwise a record without the answer is refused."""
    title: str = ""
    question: str = ""
    description: str = ""
    only_if: Condition | None = None
    """When the question applies; None: always."""

    def __post_init__(self) -> None:
        check_text(self.name, "an attribute's name", CampaignError)
        n = self.size
        if n < 2:
            raise DomainError(
                f"attribute {self.name!r} has {n} candidates; with fewer than 2 there is nothing to ask"
            )
        if n > MOST_CANDIDATES:
            raise DomainError(
                f"attribute {self.name!r} has {n:,} candidates; at most {MOST_CANDIDATES:,} are allowed: use bins"
            )

    def __repr__(self) -> str:
        return one_line(self, repr(self.name), f"{self.size} candidates")

    @property
    @abstractmethod
    def answers(self) -> tuple[Value, ...]:
        """The candidates except the missing one, as values."""

    @property
    @abstractmethod
    def answer_texts(self) -> tuple[str, ...]:
        """The candidates except the missing one, as the texts that stand in tables and are hashed."""

    @abstractmethod
    def _answer_index(self, value: Value) -> int:
        """The number of the candidate; value is not None."""

    @abstractmethod
    def _parsed(self, text: str) -> Value:
        """The answer that a non-empty text in a table means."""

    @cached_property
    def candidates(self) -> tuple[Value, ...]:
        """The answers in order; then None for a missing one and NOT_APPLICABLE, each where there is such a candidate."""
        return (
            self.answers
            + ((None,) if self.missing else ())
            + ((NOT_APPLICABLE,) if self.only_if else ())
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """One text per candidate; the missing one is the empty text."""
        return (
            self.answer_texts
            + (("",) if self.missing else ())
            + ((NOT_APPLICABLE,) if self.only_if else ())
        )

    @property
    def size(self) -> int:
        """How many candidates there are, those that are no answers included."""
        return self._n_answers + self.missing + (self.only_if is not None)

    @property
    def missing_index(self) -> int | None:
        """The candidate of a missing answer, where there is one."""
        return self._n_answers if self.missing else None

    @property
    def not_applicable_index(self) -> int | None:
        """The candidate of a question that does not apply, where there is one."""
        return self.size - 1 if self.only_if else None

    @property
    def _n_answers(self) -> int:
        return len(self.answer_texts)

    @property
    def ordered(self) -> bool:
        """Whether the order of the candidates means something."""
        return True

    def index(self, value: Value) -> int:
        """The number of the candidate that this answer, or NOT_APPLICABLE, is."""
        if self.only_if is not None and value == NOT_APPLICABLE:
            return self.size - 1
        if value is not None:
            return self._answer_index(value)
        if not self.missing:
            raise DomainError(
                f"attribute {self.name!r} has no answer, and the campaign does not take a missing one"
            )
        return self._n_answers

    def parse(self, text: str) -> Value:
        """The answer that a text in a table means; the empty text is no answer."""
        if text == NOT_APPLICABLE and self.only_if:
            return text
        return None if text == "" else self._parsed(text)

    # ---- comparisons in conditions; what a campaign compares with is public

    def accepted(self, comparison: Comparison) -> Accepted:
        """The candidates for which a comparison holds; never those that are no answers."""
        if comparison.operator in ("equals", LISTED):
            return frozenset(self._compared(value) for value in comparison.values)
        return self._side(comparison.operator, comparison.values[0])

    def _compared(self, value: Value) -> int:
        return self._answer_index(value)

    def _side(self, operator: str, value: Value) -> range:
        """The answers on one side of a value."""
        if operator == "includes" or not self.ordered:
            wanted = (
                "a list of options"
                if operator == "includes"
                else "ordered answers, numbers or dates"
            )
            raise DomainError(
                f"attribute {self.name!r} cannot be compared by {operator}, which needs {wanted}"
            )
        at = self._compared(value)
        starts = {"atLeast": at, "above": at + 1}
        ends = {"atMost": at + 1, "below": at}
        return range(starts.get(operator, 0), ends.get(operator, self._n_answers))

    def _unlisted(self) -> DomainError:
        allowed = few(
            tuple(
                text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
                for text in self.answer_texts
            )
        )
        return DomainError(
            f"attribute {self.name!r} does not list this value ({self.size} candidates): it takes {allowed}"
        )

    def _wrong_type(self, wanted: str, value: object) -> DomainError:
        return DomainError(f"attribute {self.name!r} takes {wanted}, got {type(value).__name__}")

    def to_json(self) -> dict[str, Json]:
        """The Table Schema field."""
        texts: dict[str, Json] = {
            "title": self.title,
            "question": self.question,
            "description": self.description,
        }
        constraints: dict[str, Json] = {"required": not self.missing, **self._constraints()}
        common = without_empty(texts)
        if self.only_if is not None:
            common["onlyIf"] = self.only_if.to_json()
        return {
            "name": self.name,
            "type": self.type,
            "constraints": constraints,
            **common,
            **self._members(),
        }

    def _constraints(self) -> dict[str, Json]:
        return {}

    def _members(self) -> dict[str, Json]:
        return {}


@dataclass(frozen=True, kw_only=True, repr=False)
class Categorical(Attribute):
    """A choice among listed texts."""

    type: ClassVar[str] = "string"
    values: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What people are shown instead of the value, where the two differ."""
    is_ordered: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            raise DomainError(f"attribute {self.name!r} needs a list of values, got one text")
        check_texts(self.values, f"a value of attribute {self.name!r}", DomainError)
        different = set(self.values)
        if len(different) < len(self.values):
            raise DomainError(f"attribute {self.name!r} lists the same candidate twice")
        if self.only_if and NOT_APPLICABLE in different:
            raise DomainError(
                f"attribute {self.name!r} applies only to some, so that no answer may be {NOT_APPLICABLE!r}"
            )
        if not self.labels.keys() <= different:
            raise DomainError(
                f"attribute {self.name!r} has a label for a value that it does not list"
            )
        object.__setattr__(
            self, "labels", {value: self.labels.get(value, value) for value in self.values}
        )
        super().__post_init__()

    @property
    def answers(self) -> tuple[Value, ...]:
        return self.values

    @property
    def answer_texts(self) -> tuple[str, ...]:
        return self.values

    @property
    def ordered(self) -> bool:
        return self.is_ordered

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {value: i for i, value in enumerate(self.values)}

    def _answer_index(self, value: Value) -> int:
        if not isinstance(value, str):
            raise self._wrong_type("a text", value)
        return self._compared(value if value in self._index_of else composed(value))

    def _compared(self, value: Value) -> int:
        """The candidate with just this text: conditions must mean the same on every device."""
        if not isinstance(value, str) or value not in self._index_of:
            raise self._unlisted()
        return self._index_of[value]

    def _parsed(self, text: str) -> Value:
        return text

    def _constraints(self) -> dict[str, Json]:
        return {"enum": list(self.values)}

    def _members(self) -> dict[str, Json]:
        categories: list[Json] = [
            {"value": value, "label": self.labels[value]} for value in self.values
        ]
        return {"categories": categories, "categoriesOrdered": self.is_ordered}


@dataclass(frozen=True, kw_only=True, repr=False)
class Boolean(Attribute):
    """No or yes, in this order."""

    type: ClassVar[str] = "boolean"

    @property
    def answers(self) -> tuple[Value, ...]:
        return (False, True)

    @property
    def answer_texts(self) -> tuple[str, ...]:
        return ("false", "true")

    @property
    def ordered(self) -> bool:
        return False

    def _answer_index(self, value: Value) -> int:
        if not isinstance(value, bool):
            raise self._wrong_type("true or false", value)
        return int(value)

    def _parsed(self, text: str) -> Value:
        if text not in _TRUE + _FALSE:
            raise self._unlisted()
        return text in _TRUE


@dataclass(frozen=True, kw_only=True, repr=False)
class IntegerRange(Attribute):
    """An integer from minimum to maximum, each one a candidate."""

    type: ClassVar[str] = "integer"
    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        if not all(
            isinstance(bound, int) and not isinstance(bound, bool)
            for bound in (self.minimum, self.maximum)
        ):
            raise DomainError(f"attribute {self.name!r} needs an integer as minimum and as maximum")
        if self.minimum > self.maximum:
            raise DomainError(
                f"attribute {self.name!r} has the minimum {self.minimum} above the maximum {self.maximum}"
            )
        if self.maximum - self.minimum >= MOST_CANDIDATES:  # before the candidates are listed
            raise DomainError(
                f"attribute {self.name!r} spans more than {MOST_CANDIDATES:,} integers; use bin edges instead"
            )
        if max(abs(self.minimum), abs(self.maximum)) > LARGEST_INTEGER:
            raise DomainError(
                f"attribute {self.name!r} must have integers within {LARGEST_INTEGER} of zero"
            )
        super().__post_init__()

    @property
    def answers(self) -> tuple[Value, ...]:
        return tuple(range(self.minimum, self.maximum + 1))

    @property
    def answer_texts(self) -> tuple[str, ...]:
        return tuple(str(i) for i in range(self.minimum, self.maximum + 1))

    @property
    def _n_answers(self) -> int:
        return max(0, self.maximum - self.minimum + 1)

    def _answer_index(self, value: Value) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong_type("an integer", value)
        if not self.minimum <= value <= self.maximum:
            span = f"from {self.minimum} to {self.maximum}"
            raise DomainError(f"attribute {self.name!r} takes integers {span}; this one is outside")
        return value - self.minimum

    def _parsed(self, text: str) -> Value:
        if not INTEGER.fullmatch(text):
            raise DomainError(f"attribute {self.name!r} takes an integer; this text is not one")
        return int(text)

    def _constraints(self) -> dict[str, Json]:
        return {"minimum": self.minimum, "maximum": self.maximum}


def few(names: tuple[str, ...]) -> str:
    """The first names, for a message."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
