"""From a request's body to checked reports, and from what became of them to the answer."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse, Response

from lopub.campaign.report import Report, unframed
from lopub.collector.campaigns import Entry
from lopub.collector.problems import Kind, Problem
from lopub.collector.submissions import Outcome, StoredReport, Submission
from lopub.errors import Reason, ReportRejected
from lopub.files import members_once

MOST_REPORTS = 4096
"""In one request."""
DETAILS = {
    Reason.CONFLICT: "another report with the same id is kept already; a retry must resend the same bytes",
    Reason.WITHDRAWN: "the report with this id was withdrawn",
}


@dataclass(frozen=True, slots=True)
class RefusedReport:
    """A report that was refused, by its place in the request. when: of a round's, whether it came early or late."""

    index: int
    reason: Reason
    detail: str
    when: str = ""

    def to_json(self) -> dict[str, int | str]:
        """As the sender is told."""
        members: dict[str, int | str] = {
            "index": self.index,
            "reason": self.reason,
            "detail": self.detail,
        }
        return members | ({"when": self.when} if self.when else {})


@dataclass(frozen=True, slots=True)
class Arrival:
    """The reports of one request. places: where each good one stood in the request."""

    submission: Submission
    places: list[int]
    refusals: list[RefusedReport]

    @property
    def n_reports(self) -> int:
        return len(self.places) + len(self.refusals)

    def answer(self, outcome: Outcome) -> Response:
        """What the sender is answered: how many came, and which of them were refused; a problem where all were."""
        later = [
            RefusedReport(self.places[place], reason, DETAILS[reason])
            for place, reason in outcome.refused.items()
        ]
        refused = sorted(self.refusals + later, key=lambda refusal: refusal.index)
        members = {"received": self.n_reports, "refused": [each.to_json() for each in refused]}
        if len(refused) < self.n_reports:
            return JSONResponse(members)
        detail = f"none of {self.n_reports:,} reports was taken; `refused` says why"
        raise Problem(Kind.REFUSED, detail, members=members)


def arrival_of(body: bytes, entry: Entry, *, framed: bool) -> Arrival:
    """The reports of a body, each checked; those refused with their reasons. framed: as bytes, not as JSON."""
    items: Iterator[Any] = _frames(body) if framed else iter(_twins(body))
    read = Report.from_bytes if framed else Report.from_members
    places: list[int] = []
    rows: list[StoredReport] = []
    refusals: list[RefusedReport] = []
    for index, item in enumerate(items):
        if index >= MOST_REPORTS:
            raise Problem(
                Kind.TOO_LARGE,
                f"a request may have at most {MOST_REPORTS:,} reports; send the others in another one",
            )
        try:
            if isinstance(item, ReportRejected):
                raise item
            rows.append(row_of(_in_time(read(item, entry.campaign), entry), entry.number))
            places.append(index)
        except ReportRejected as error:
            refusals.append(RefusedReport(index, error.reason, str(error), error.when))
    if not places and not refusals:
        raise Problem(Kind.MALFORMED, "the body has no report")
    refused = Counter(each.reason for each in refusals) if refusals else {}
    return Arrival(Submission(entry.number, rows, refused), places, refusals)


def _in_time(report: Report, entry: Entry) -> Report:
    if refusal := entry.refusal_of(report.slot):
        raise refusal
    return report


def row_of(report: Report, number: int) -> StoredReport:
    """What is kept of a report: not its id, only the hash of it."""
    return StoredReport(
        number, hashlib.sha256(report.id).digest(), report.slot, report.mask + report.payload
    )


def _frames(body: bytes) -> Iterator[bytes | ReportRejected]:
    """The reports of a body, and at its end what is wrong with it, if something is."""
    try:
        yield from unframed(body)
    except ReportRejected as error:
        yield error


def _twins(body: bytes) -> list[Any]:
    try:
        value = json.loads(body.decode(), object_pairs_hook=_members)
    except (ValueError, RecursionError):
        raise Problem(Kind.MALFORMED, "the body is not valid JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise Problem(
            Kind.MALFORMED, "the body must be one JSON object, each of its members named once"
        )
    if set(value) != {"reports"}:
        return [value]
    if not isinstance(value["reports"], list):
        raise Problem(Kind.MALFORMED, "member reports must be a list of JSON twins")
    return value["reports"]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | None:
    """None where a member is named twice, so that just this object is refused."""
    try:
        return members_once(pairs)
    except ValueError:
        return None
