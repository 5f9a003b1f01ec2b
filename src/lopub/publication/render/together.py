"""What goes together, as it is said to people: the findings in words, and with what each question goes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lopub.campaign.domain import ListOption
from lopub.publication.findings import Dependence
from lopub.publication.render.questions import Spoken
from lopub.queries.ratios import Estimate


@dataclass(frozen=True)
class FindingShown:
    """A dependence in words: an answer, a group, and how often that group and all others give it."""

    first: str
    second: str
    gain: float
    is_stated: bool
    answer: str = ""
    answered: str = ""
    """The question that has the answer."""
    group: str = ""
    grouped: str = ""
    """The question that makes the group."""
    within: Estimate | None = None
    outside: Estimate | None = None
    difference: Estimate | None = None

    @property
    def is_more(self) -> bool:
        """Whether the group gives the answer more often."""
        return (
            self.within is not None
            and self.outside is not None
            and self.within.value > self.outside.value
        )


@dataclass(frozen=True)
class Company:
    """What a question goes together with, as sentences quote it; those that are stated with the number of their finding."""

    sure: list[tuple[str, int]] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)


def finding_shown(asked: Spoken, one: Dependence) -> FindingShown:
    """A dependence with the questionnaire's texts."""
    first, second = map(asked.quoted, one.names)
    if (contrast := one.contrast) is None:
        return FindingShown(first, second, one.gain, one.is_stated)
    group, answer = contrast.group, contrast.answer
    return FindingShown(
        first,
        second,
        one.gain,
        one.is_stated,
        answer=asked.described(answer),
        answered=asked.quoted(answer.attribute.name),
        group=asked.described(group),
        grouped=asked.quoted(group.attribute.name),
        within=contrast.within,
        outside=contrast.outside,
        difference=contrast.difference,
    )


def company_of(asked: Spoken, every: Sequence[Dependence]) -> dict[str, Company]:
    """By the name of a question; a list has that of all its options. every: surest first, as findings are numbered."""
    found: dict[str, Company] = {}
    stated = [one.names for one in every if one.is_stated]
    for one in every:
        for own, other in (one.names, one.names[::-1]):
            company, title = found.setdefault(_question(asked, own), Company()), asked.quoted(other)
            if one.is_stated:
                company.sure.append((title, stated.index(one.names) + 1))
            elif title not in company.unsure:
                company.unsure.append(title)
    return found


def _question(asked: Spoken, name: str) -> str:
    """The question that an attribute belongs to."""
    attribute = asked.campaign.domain[name]
    return attribute.of_list.name if isinstance(attribute, ListOption) else name
