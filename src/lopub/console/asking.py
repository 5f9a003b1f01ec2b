"""What can be asked of a publication: every name and every answer exactly as they are typed; and what its report says."""

from dataclasses import dataclass

from lopub.campaign.attribute import Attribute, Boolean, IntegerRange
from lopub.campaign.domain import Domain
from lopub.estimation.linear import merged
from lopub.publication import Publication
from lopub.queries.expressions import parsed, written
from lopub.queries.predicates import question

MOST_SHOWN = 12
"""Answers of one question; a long list is cut."""


@dataclass(frozen=True)
class Askable:
    """A name to ask with, and what it can be compared with."""

    name: str
    values: tuple[str, ...]
    is_cut: bool
    """Whether there are more answers than these."""

    @property
    def example(self) -> str:
        return f"{self.name} == {self.values[0]}"


def askables(domain: Domain) -> list[Askable]:
    """Every question of a domain, as it is asked for."""
    return [_askable(attribute) for attribute in domain.attributes]


def _askable(attribute: Attribute) -> Askable:
    values = tuple(_value(attribute, text) for text in attribute.texts[:MOST_SHOWN])
    return Askable(written(attribute.name), values, attribute.size > MOST_SHOWN)


def _value(attribute: Attribute, text: str) -> str:
    if not text:
        return "null"
    if isinstance(attribute, Boolean | IntegerRange) and text in attribute.answer_texts:
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def share_in_report(publication: Publication, expression: str) -> float | None:
    """The share that the report has of what an expression says of one question; None where it is about several. The report
    estimates all questions together, an answer those reports alone that speak of it: so the two may differ a little."""
    asked = question([parsed(expression)], publication.campaign.domain)
    if len(asked.clique) != 1:
        return None
    name = publication.campaign.domain.names[asked.clique[0]]
    marginal = next(one for one in publication.marginals if one.names == (name,))
    return float((merged(marginal.probabilities, asked.groupings) * asked.weights[0]).sum())
