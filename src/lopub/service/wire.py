"""From a request's body to checked reports, and from what became of them to the answer."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lopub.campaign import Campaign
from lopub.errors import Reason, ReportRejected
from lopub.report import Report, unframed
from lopub.service.campaigns import Entry
from lopub.service.problems import Kind, Problem
from lopub.service.store import Outcome, Row, Submission

FRAMED = "application/vnd.lopub.reports.v1"
TWINS = "application/json"
DETAILS = {
    Reason.CONFLICT: "another report with the same id is kept already; a retry must resend the same bytes",
    Reason.WITHDRAWN: "the report with this id was withdrawn",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A report that was refused, by its place in the request."""

    index: int
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """The reports of one request. places: where each good one stood in the request."""

    submission: Submission
    places: list[int]
    refusals: list[Refusal]

    @property
    def n_reports(self) -> int:
        return len(self.places) + len(self.refusals)

    def answer(self, outcome: Outcome) -> bytes:
        """What the sender is told: how many came, and which of them were refused."""
        later = [Refusal(self.places[place], reason, DETAILS[reason]) for place, reason in sorted(outcome.refused.items())]
        refused = sorted(self.refusals + later, key=lambda refusal: refusal.index)
        listed = [{"index": each.index, "reason": each.reason, "detail": each.detail} for each in refused]
        return json.dumps({"received": self.n_reports, "refused": listed}).encode()


def arrival_of(body: bytes, media_type: str, entry: Entry, *, most: int) -> Arrival:
    """The reports of a body, each checked; those refused with their reasons."""
    readers = {FRAMED: _from_frames, TWINS: _from_twins}
    places: list[int] = []
    rows: list[Row] = []
    refusals: list[Refusal] = []
    for index, read in enumerate(readers[media_type](body, entry.campaign)):
        if index >= most:
            raise Problem(Kind.TOO_LARGE, f"a request may have at most {most:,} reports; send the others in another one")
        try:
            rows.append(row_of(read(), entry.number))
            places.append(index)
        except ReportRejected as error:
            refusals.append(Refusal(index, error.reason, str(error)))
    if not places and not refusals:
        raise Problem(Kind.MALFORMED, "the body has no report")
    return Arrival(Submission(entry.number, rows, Counter(each.reason for each in refusals)), places, refusals)


def row_of(report: Report, number: int) -> Row:
    """What is kept of a report: not its id, only the hash of it."""
    return Row(number, hashlib.sha256(report.id).digest(), report.slot, report.mask + report.payload)


Read = Callable[[], Report]


def _from_frames(body: bytes, campaign: Campaign) -> Iterator[Read]:
    frames = unframed(body)
    while True:
        try:
            frame = next(frames)
        except StopIteration:
            return
        except ReportRejected as error:
            yield _refused(error)
            return
        yield lambda frame=frame: Report.from_bytes(frame, campaign)  # type: ignore[misc]


def _refused(error: ReportRejected) -> Read:
    def read() -> Report:
        raise error

    return read


def _from_twins(body: bytes, campaign: Campaign) -> Iterator[Read]:
    for twin in _twins(body):
        yield lambda twin=twin: Report.from_members(twin, campaign)  # type: ignore[misc]


def _twins(body: bytes) -> list[Any]:
    try:
        value = json.loads(body.decode(), object_pairs_hook=_members)
    except (ValueError, RecursionError):
        raise Problem(Kind.MALFORMED, "the body is not valid JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise Problem(Kind.MALFORMED, "the body must be one JSON object, each of its members named once")
    if set(value) != {"reports"}:
        return [value]
    if not isinstance(value["reports"], list):
        raise Problem(Kind.MALFORMED, "member reports must be a list of JSON twins")
    return value["reports"]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | None:
    """None where a member is named twice, so that just this object is refused."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else None
