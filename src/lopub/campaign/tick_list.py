"""Tick all that apply: one question with several answers, and one yes or no attribute for each of its options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from lopub.campaign.attribute import Accepted, Boolean, Value, few
from lopub.campaign.canonical import Json, without_empty
from lopub.campaign.condition import Comparison, Condition, option_name
from lopub.campaign.texts import check_text, check_texts, composed, one_line
from lopub.errors import CampaignError, DomainError

MOST_OPTIONS = 64
NO, YES = 0, 1
"""Candidates of an option."""


@dataclass(frozen=True, kw_only=True)
class TickList:
    """One question of which any number of options can be ticked. A list that is not answered is missing in every option."""

    type: ClassVar[str] = "list"

    name: str
    values: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    most: int = 0
    """How many may be ticked at most; 0: any number."""
    none: str = ""
    """The option that says "none of these": it stands alone, and somebody to whom no other applies ticks it. Empty: there is
    none, and no tick at all is an answer."""
    missing: bool = False
    title: str = ""
    question: str = ""
    description: str = ""
    only_if: Condition | None = None

    def __repr__(self) -> str:
        return one_line(self, repr(self.name), f"{len(self.values)} options")

    def __post_init__(self) -> None:
        check_text(self.name, "a list's name", CampaignError)
        check_texts(self.values, f"an option of list {self.name!r}", DomainError)
        if not 2 <= len(self.values) <= MOST_OPTIONS:
            raise DomainError(
                f"list {self.name!r} must have 2 to {MOST_OPTIONS} options, got {len(self.values)}"
            )
        if len(set(self.values)) < len(self.values):
            raise DomainError(f"list {self.name!r} has the same option twice")
        if not self.labels.keys() <= set(self.values):
            raise DomainError(f"list {self.name!r} has a label for an option that it does not have")
        if self.none and self.none not in self.values:
            raise DomainError(f"list {self.name!r} must name one of its own options as none")
        n_others = len(self.values) - bool(self.none)
        if self.most and not 1 <= self.most < n_others:
            raise DomainError(
                f"list {self.name!r} must allow at most 1 to {n_others - 1} ticks, or any number"
            )
        object.__setattr__(
            self, "labels", {value: self.labels.get(value, value) for value in self.values}
        )

    @cached_property
    def options(self) -> tuple["ListOption", ...]:
        """The attributes, in order."""
        return tuple(ListOption.of(self, value) for value in self.values)

    @property
    def texts(self) -> tuple[str, ...]:
        """What translations may label: the options, and those candidates of theirs that are no answers."""
        return self.values + self.options[0].texts[2:]

    @property
    def missing_index(self) -> int | None:
        """The candidate of every option where the list is not answered."""
        return self.options[0].missing_index

    @property
    def not_applicable_index(self) -> int | None:
        """The candidate of every option where the list does not apply."""
        return self.options[0].not_applicable_index

    def indices(self, answer: object) -> tuple[int, ...]:
        """The candidates of the options, in order, of an answer: the ticked values, or None."""
        if answer is None:
            if self.missing_index is None:
                raise DomainError(
                    f"list {self.name!r} has no answer, and the campaign does not take a missing one"
                )
            return (self.missing_index,) * len(self.values)
        if not isinstance(answer, list | tuple) or not all(
            isinstance(value, str) for value in answer
        ):
            raise DomainError(f"list {self.name!r} takes a list of its options, as texts")
        ticked = [value if value in self._place_of else composed(value) for value in answer]
        if not all(value in self._place_of for value in ticked):
            raise DomainError(
                f"list {self.name!r} does not have this option ({len(self.values)} options): {few(self.values)}"
            )
        if len(set(ticked)) < len(ticked):
            raise DomainError(f"list {self.name!r} has the same option ticked twice")
        codes = tuple(int(value in ticked) for value in self.values)
        if (mistake := self.mistake(codes)) is not None:
            raise DomainError(f"list {self.name!r} {mistake}")
        return codes

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {value: i for i, value in enumerate(self.values)}

    def mistake(self, codes: tuple[int, ...]) -> str | None:
        """What is wrong with these ticks; None where nothing is. codes: of an answered list, 0 or 1 for each option."""
        n_ticked = sum(codes)
        if self.none and n_ticked == 0:
            return f"needs at least one tick; {self.none!r} is for none of the others"
        if self.none and n_ticked > 1 and codes[self._place_of[self.none]]:
            return "has an option that stands alone ticked together with others"
        if self.most and n_ticked > self.most:
            return f"takes at most {self.most} ticks"
        return None

    def to_json(self) -> dict[str, Json]:
        """The Table Schema field."""
        constraints: dict[str, Json] = {"required": not self.missing}
        if self.most:
            constraints["maxLength"] = self.most
        texts: dict[str, Json] = {
            "title": self.title,
            "question": self.question,
            "description": self.description,
            "none": self.none,
        }
        categories: list[Json] = [
            {"value": value, "label": self.labels[value]} for value in self.values
        ]
        members: dict[str, Json] = {
            "name": self.name,
            "type": self.type,
            "constraints": constraints,
            "categories": categories,
        }
        if self.only_if is not None:
            members["onlyIf"] = self.only_if.to_json()
        return members | without_empty(texts)


@dataclass(frozen=True, kw_only=True, repr=False)
class ListOption(Boolean):
    """Whether one option of a list is ticked."""

    of_list: TickList
    value: str

    @classmethod
    def of(cls, ticks: TickList, value: str) -> "ListOption":
        """The attribute of an option, named by list and option."""
        return cls(
            name=option_name(ticks.name, value),
            missing=ticks.missing,
            title=ticks.labels[value],
            question=ticks.question,
            only_if=ticks.only_if,
            of_list=ticks,
            value=value,
        )

    def accepted(self, comparison: Comparison) -> Accepted:
        """The ticked option, and nothing else."""
        return (
            frozenset({YES}) if comparison.operator == "includes" else super().accepted(comparison)
        )

    def _compared(self, value: Value) -> int:
        raise DomainError(f"list {self.of_list.name!r} can only be compared by includes")
