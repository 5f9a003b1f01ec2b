"""A publication: its report, and a box for questions, with every name and every answer exactly as
they are typed."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from lopub.campaign.attribute import Attribute, Boolean, IntegerRange
from lopub.campaign.domain import Domain
from lopub.collector.campaigns import Entry
from lopub.console.publish_pages import last_publication
from lopub.console.requests import PageRequest
from lopub.console.responses import page, result_of
from lopub.console.routes import get
from lopub.errors import LopubError
from lopub.estimation.linear import merged
from lopub.jobs.queue import QueuedJob
from lopub.publication import Publication
from lopub.publication.published_study import study_of
from lopub.queries.expressions import parsed, written
from lopub.queries.predicates import question

MOST_SHOWN = 12
"""Answers of one question; a long list is cut."""
LONGEST_QUESTION = 500


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
    """The share that the report has of what an expression says of one question; None where it is
    about several. The report estimates all questions together, an answer those reports alone that
    speak of it: so the two may differ a little."""
    asked = question([parsed(expression)], publication.campaign.domain)
    if len(asked.clique) != 1:
        return None
    name = publication.campaign.domain.names[asked.clique[0]]
    marginal = next(one for one in publication.marginals if one.names == (name,))
    return float((merged(marginal.probabilities, asked.groupings) * asked.weights[0]).sum())


def show_report(request: PageRequest) -> Response:
    """The report in place, the archive, and a box for questions."""
    entry = request.entry()
    return _report_page(request, entry, last_publication(request.context, entry))


def show_answer(request: PageRequest) -> Response:
    """The same, with the answer to a question. It takes memory, so there is one at a time."""
    entry = request.entry()
    job = last_publication(request.context, entry)
    asked = request.query.get("question", "").strip()[:LONGEST_QUESTION]
    if job is None or not asked:
        return _report_page(request, entry, job)
    try:
        found = Publication.load(result_of(request, job) / "publication")
        answer, reported = study_of(found).probability(asked), share_in_report(found, asked)
    except LopubError as error:
        return _report_page(request, entry, job, asked=asked, problem=error.message)
    return _report_page(request, entry, job, asked=asked, answer=answer, reported=reported)


def _report_page(
    request: PageRequest, entry: Entry, job: QueuedJob | None, **shown: Any
) -> Response:
    blank = {"asked": "", "answer": None, "reported": None, "problem": None}
    names = askables(entry.campaign.domain)
    return page(request, "read.html", entry=entry, job=job, names=names, **blank | shown)


ROUTES = [
    get("/console/campaigns/{id}/read", show_report),
    get("/console/campaigns/{id}/ask", show_answer, slow="question"),
]
