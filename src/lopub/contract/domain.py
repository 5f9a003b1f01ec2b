"""What may be asked, and in which order: attributes with their candidates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from lopub.contract.attribute import (
    INTEGER,
    MOST_CANDIDATES,
    NUMBER,
    Attribute,
    Binned,
    Boolean,
    Categorical,
    IntegerRange,
    Value,
    few,
)
from lopub.contract.canonical import Json
from lopub.contract.texts import one_line
from lopub.errors import DomainError, all_of

Clique = tuple[int, ...]
"""Some attributes by their positions, ascending: what a report covers, an estimate is about, a tree joins."""
Pair = tuple[int, int]
"""A clique of two."""
MOST_ATTRIBUTES = 4096
MOST_CANDIDATES_IN_ALL = 2**18
"""Candidates of all attributes together."""


@dataclass(frozen=True)
class Domain:
    """All attributes, in order."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise DomainError(f"a domain needs 1 to {MOST_ATTRIBUTES:,} attributes, got {len(self.attributes)}")
        if len(self._position_of) < len(self.attributes):
            twice = tuple(repr(name) for name, n in Counter(self.names).items() if n > 1)
            raise DomainError(f"a domain lists the same attribute twice: {few(twice)}")
        if (n := sum(self.sizes)) > MOST_CANDIDATES_IN_ALL:
            raise DomainError(f"a domain's attributes may have {MOST_CANDIDATES_IN_ALL:,} candidates in all, got {n:,}; use bins")

    @cached_property
    def _position_of(self) -> dict[str, int]:
        return {attribute.name: i for i, attribute in enumerate(self.attributes)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many candidates each attribute has, in order."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        """The attributes, in order."""
        return iter(self.attributes)

    def __contains__(self, wanted: object) -> bool:
        """Whether there is an attribute of this name, or this attribute."""
        return wanted in self._position_of if isinstance(wanted, str) else wanted in self.attributes

    def __repr__(self) -> str:
        return one_line(self, f"{len(self)} attributes: {few(self.names)}")

    def position(self, name: str) -> int:
        """Where the attribute stands; refuses a name that is not there."""
        if name not in self._position_of:
            raise DomainError(f"there is no attribute {name!r}; the {len(self)} attributes are {few(self.names)}")
        return self._position_of[name]

    def positions(self, names: str | Iterable[str]) -> tuple[int, ...]:
        """Where the attributes stand; a bare string is one name."""
        return tuple(self.position(name) for name in names_of(names))

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of this name; refuses a name that is not there."""
        return self.attributes[self.position(name)]

    def indices(self, record: Mapping[str, Value]) -> tuple[int, ...]:
        """The record as candidate numbers, in order; it must answer every attribute and no other."""
        if not isinstance(record, Mapping):
            raise DomainError(f"a record must map attributes to answers, got {type(record).__name__}")
        with suppress(DomainError):  # said below, with whatever else is wrong
            if len(record) == len(self) and all(name in record for name in self.names):
                return tuple([attribute.index(record[attribute.name]) for attribute in self.attributes])
        raise DomainError(all_of(self._mistakes(record), "the record"))

    def _mistakes(self, record: Mapping[str, Value]) -> list[str]:
        """All that keeps a record from being one of this domain, attribute by attribute; never an answer."""
        found = []
        for attribute in self.attributes:
            if attribute.name not in record:
                next_step = "; give null (None in Python) for no answer" if attribute.missing else ", which must be answered"
                found.append(f"the record lacks attribute {attribute.name!r}{next_step}")
                continue
            try:
                attribute.index(record[attribute.name])
            except DomainError as error:
                found.append(str(error))
        if n_unknown := sum(
            name not in self._position_of for name in record
        ):  # not named: one may be an answer in the wrong place
            keys = "a key" if n_unknown == 1 else f"{n_unknown} keys"
            found.append(f"the record has {keys} that the campaign does not ask for; it asks for {few(self.names)}")
        return found

    def to_json(self) -> dict[str, Json]:
        """The Table Schema."""
        return {"fields": [attribute.to_json() for attribute in self.attributes]}


def names_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """A list of names as a tuple; a bare string is one name, not its letters.

    >>> names_of("age"), names_of(["age", "income"])
    (('age',), ('age', 'income'))
    """
    return (names,) if isinstance(names, str) else tuple(names)


__all__ = [
    "INTEGER",
    "MOST_ATTRIBUTES",
    "MOST_CANDIDATES",
    "NUMBER",
    "Attribute",
    "Binned",
    "Boolean",
    "Categorical",
    "Domain",
    "IntegerRange",
    "Value",
    "names_of",
]
