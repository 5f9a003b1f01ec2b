"""What may be asked, and in which order: attributes with their candidates, and the questionnaire's public rules about records."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from lopub.campaign.attribute import (
    INTEGER,
    MOST_CANDIDATES,
    NOT_APPLICABLE,
    Accepted,
    Attribute,
    Boolean,
    Categorical,
    IntegerRange,
    Value,
    few,
)
from lopub.campaign.binned import Binned
from lopub.campaign.canonical import NUMBER, Json
from lopub.campaign.condition import Comparison, Condition
from lopub.campaign.dated import Dated
from lopub.campaign.texts import html_table, one_line
from lopub.campaign.tick_list import ListOption, TickList
from lopub.errors import CampaignError, DomainError, all_of

Clique = tuple[int, ...]
"""Some attributes by their positions, ascending: what a report covers, an estimate is about, a tree joins."""
Pair = tuple[int, int]
"""A clique of two."""
Question = Attribute | TickList
"""What is asked at once: one attribute, or a list with one attribute per option."""
Record = Mapping[str, Value | Sequence[str]]
"""Question -> answer: a value, None for none, of a list the values that are ticked."""
MOST_ATTRIBUTES = 4096
MOST_CANDIDATES_IN_ALL = 2**18
"""Candidates of all attributes together."""


@dataclass(frozen=True)
class Domain:
    """All attributes, in order."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise DomainError(
                f"a domain needs 1 to {MOST_ATTRIBUTES:,} attributes, got {len(self.attributes)}"
            )
        if len(self._position_of) < len(self.attributes):
            twice = tuple(repr(name) for name, n in Counter(self.names).items() if n > 1)
            raise DomainError(f"a domain lists the same attribute twice: {few(twice)}")
        if (n := sum(self.sizes)) > MOST_CANDIDATES_IN_ALL:
            raise DomainError(
                f"a domain's attributes may have {MOST_CANDIDATES_IN_ALL:,} candidates in all, got {n:,}; use bins"
            )

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

    def _repr_html_(self) -> str:
        rows = (
            (a.name, a.title, a.type, f"{a.size:,}", "yes" if a.missing else "no")
            for a in self.attributes
        )
        return html_table(("attribute", "title", "type", "candidates", "may be missing"), rows)

    def position(self, name: str) -> int:
        """Where the attribute stands; refuses a name that is not there."""
        if name not in self._position_of:
            raise DomainError(
                f"there is no attribute {name!r}; the {len(self)} attributes are {few(self.names)}"
            )
        return self._position_of[name]

    def positions(self, names: str | Iterable[str]) -> tuple[int, ...]:
        """Where the attributes stand; a bare string is one name."""
        return tuple(self.position(name) for name in names_of(names))

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of this name; refuses a name that is not there."""
        return self.attributes[self.position(name)]

    # ---- questions: what attributes have to do with each other

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What is asked, in order; a list stands where its first option does."""
        return tuple(
            dict.fromkeys(a.of_list if isinstance(a, ListOption) else a for a in self.attributes)
        )

    @cached_property
    def lists(self) -> tuple[Clique, ...]:
        """The positions of every list's options, in order."""
        return tuple(
            self.positions(o.name for o in one.options)
            for one in self.questions
            if isinstance(one, TickList)
        )

    @cached_property
    def has_rules(self) -> bool:
        """Whether there are conditions or lists, which relate attributes to one another."""
        return any(isinstance(one, TickList) or one.only_if is not None for one in self.questions)

    def accepted(self, comparison: Comparison) -> Accepted:
        """The candidates of its attribute for which a comparison holds."""
        key = (comparison, *map(type, comparison.values))  # 1 and true are equal to Python
        if key not in self._accepted:
            self._accepted[key] = self[comparison.attribute].accepted(comparison)
        return self._accepted[key]

    @cached_property
    def _accepted(self) -> dict[tuple[object, ...], Accepted]:
        return {}

    def following(self, position: int) -> Clique:
        """The attribute, the rest of its list, and all that applies or not because of these: what may differ with it."""
        if not self.has_rules:
            return (position,)
        return tuple(place for place in range(len(self)) if self._followers[position] >> place & 1)

    @cached_property
    def _followers(self) -> dict[int, int]:
        """From the last question to the first, each with its own followers and theirs; sets as the bits of integers."""
        found: dict[int, int] = {}
        readers: dict[str, int] = {}
        for question in reversed(self.questions):
            options = question.options if isinstance(question, TickList) else (question,)
            own = self.positions(option.name for option in options)
            every = sum(1 << position for position in own)
            for option in options:
                every |= readers.get(option.name, 0)
            found.update(dict.fromkeys(own, every))
            for name in question.only_if.attributes if question.only_if else ():
                readers[name] = readers.get(name, 0) | every
        return found

    def check_questionnaire(self) -> None:
        """Refuse conditions on anything but earlier answers, or on answers that are not there, and lists that are torn apart."""
        for _, mistake in self.questionnaire_mistakes():
            raise CampaignError(mistake)

    def questionnaire_mistakes(self) -> Iterator[tuple[str, str]]:
        """(question, what is wrong) of every condition, and of lists."""
        seen: set[str] = set()
        names = Counter(question.name for question in self.questions)
        for question in self.questions:
            for comparison in question.only_if.comparisons() if question.only_if else ():
                if (mistake := self._comparison_mistake(comparison, seen)) is not None:
                    yield question.name, f"the condition of {question.name!r}{mistake}"
            own = question.options if isinstance(question, TickList) else (question,)
            if tuple(self.attributes[len(seen) : len(seen) + len(own)]) != own:
                yield (
                    question.name,
                    f"list {question.name!r} must stand with all its options in order, and only there",
                )
            seen.update(one.name for one in own)
            if isinstance(question, TickList) and (
                question.name in self or names[question.name] > 1
            ):
                yield question.name, f"list {question.name!r} has the name of another question"

    def _comparison_mistake(self, comparison: Comparison, seen: set[str]) -> str | None:
        if comparison.attribute not in seen:
            why = (
                "does not stand before it"
                if comparison.attribute in self
                else "is not asked, or has no such option"
            )
            lists = {one.name for one in self.questions if isinstance(one, TickList)}
            if comparison.operator != "includes" and comparison.field in lists:
                why = "is a list, of which one option can be asked, by includes"
            return f" looks at {comparison.field!r}, which {why}"
        if comparison.operator == "includes" and not isinstance(comparison.values[0], str):
            return f" asks whether {comparison.field!r} includes something that is not a text"
        try:
            self.accepted(comparison)
        except DomainError as error:
            return f": {error}"
        return None

    # ---- records

    def indices(self, record: Record) -> tuple[int, ...]:
        """The record as candidate numbers, in order. It must answer every question and no other, but for those that do not apply:
        these may be left out, and must not be answered."""
        if not isinstance(record, Mapping):
            raise DomainError(
                f"a record must map attributes to answers, got {type(record).__name__}"
            )
        if not self.has_rules and record.keys() == self._position_of.keys():
            answers = cast(Mapping[str, Value], record)
            with suppress(DomainError):  # reported below, with whatever else is wrong
                return tuple(
                    [attribute.index(answers[attribute.name]) for attribute in self.attributes]
                )
        codes: dict[str, int] = {}
        if mistakes := self._mistakes(record, codes):
            raise DomainError(all_of(mistakes, "the record"))
        return tuple(codes[name] for name in self.names)

    def _mistakes(self, record: Record, codes: dict[str, int]) -> list[str]:
        """All that keeps a record from being one of this domain, question by question; never an answer. codes: filled."""
        found = []
        for question in self.questions:
            try:
                own = self._answered(question, record, codes)
            except DomainError as error:
                found.append(str(error))
                continue
            names = (
                [o.name for o in question.options]
                if isinstance(question, TickList)
                else [question.name]
            )
            codes.update(zip(names, own, strict=True) if own else ())
        asked = {question.name for question in self.questions}
        if n_unknown := sum(
            name not in asked for name in record
        ):  # not named: one may be an answer in the wrong place
            keys = "a key" if n_unknown == 1 else f"{n_unknown} keys"
            names_asked = few(tuple(question.name for question in self.questions))
            found.append(
                f"the record has {keys} that the campaign does not ask for; it asks for {names_asked}"
            )
        return found

    def _answered(
        self, question: Question, record: Record, codes: Mapping[str, int]
    ) -> tuple[int, ...]:
        """The candidates of a question's attributes; none where an answer that decides whether it applies is wrong itself."""
        answer, what = (
            record.get(question.name),
            "list" if isinstance(question, TickList) else "attribute",
        )
        n_attributes = len(question.values) if isinstance(question, TickList) else 1
        if question.only_if is not None and question.not_applicable_index is not None:
            if any(name not in codes for name in question.only_if.attributes):
                return ()
            if not self.holds(question.only_if, codes):
                if answer is not None:
                    raise DomainError(
                        f"{what} {question.name!r} is answered, but does not apply to this record"
                    )
                return (question.not_applicable_index,) * n_attributes
            if answer == NOT_APPLICABLE:
                raise DomainError(f"{what} {question.name!r} applies to this record")
        if question.name not in record:
            next_step = (
                "; give null (None in Python) for no answer"
                if question.missing
                else ", which must be answered"
            )
            raise DomainError(f"the record lacks {what} {question.name!r}{next_step}")
        return (
            question.indices(answer)
            if isinstance(question, TickList)
            else (question.index(cast(Value, answer)),)
        )

    def holds(self, condition: Condition, codes: Mapping[str, int]) -> bool:
        """Whether a condition holds for a record. codes: attribute -> candidate."""
        return bool(condition.evaluate(lambda one: codes[one.attribute] in self.accepted(one)))

    def to_json(self) -> dict[str, Json]:
        """The Table Schema."""
        return {"fields": [question.to_json() for question in self.questions]}


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
    "NOT_APPLICABLE",
    "NUMBER",
    "Attribute",
    "Binned",
    "Boolean",
    "Categorical",
    "Dated",
    "Domain",
    "IntegerRange",
    "ListOption",
    "Question",
    "Record",
    "TickList",
    "Value",
    "names_of",
]
