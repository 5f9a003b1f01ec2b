"""The routes by which anybody sends and withdraws reports: both end in the writer's next commit.

Nothing of a request but its reports is looked at or kept: not where it came from, not what sent it, not when.
"""

import base64
import hashlib

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response

from lopub.campaign.report import FRAMED_TYPE, ID_BYTES, JSON_TYPE, base64url
from lopub.collector.campaigns import Entry
from lopub.collector.problems import Kind, Problem
from lopub.collector.requests import (
    SMALL_BODY_BYTES,
    body_of,
    collector_of,
    media_type_of,
    member_of,
)
from lopub.collector.submissions import Outcome, Submission
from lopub.collector.wire import arrival_of

OCTETS_TYPE = "application/octet-stream"
"""Framed reports, for programs that know no other name for bytes."""
BODY_BYTES = 256 * 2**10
"""The longest body of reports; deploy/nginx.conf has the same limit."""


class ReportsEndpoint(HTTPEndpoint):
    """`/campaigns/{id}/reports`."""

    async def post(self, request: Request) -> Response:
        """Answer once the reports are durable."""
        collector = collector_of(request)
        entry = await collector.open_entry(request.path_params["id"])
        collector.writer.refuse_if_full()
        body = await body_of(request, FRAMED_TYPE, OCTETS_TYPE, JSON_TYPE, most_bytes=BODY_BYTES)
        arrival = arrival_of(body, entry, framed=media_type_of(request) != JSON_TYPE)
        return arrival.answer(await _written(request, entry, arrival.submission))


class WithdrawalsEndpoint(HTTPEndpoint):
    """`/campaigns/{id}/withdrawals`."""

    async def post(self, request: Request) -> Response:
        """Withdraw a report by its id, while the campaign is open. Whoever has the id may."""
        collector = collector_of(request)
        entry = await collector.open_entry(request.path_params["id"])
        collector.writer.refuse_if_full()
        body = await body_of(request, JSON_TYPE, most_bytes=SMALL_BODY_BYTES)
        hashed_id = hashlib.sha256(_report_id(body)).digest()
        submission = Submission(entry.number, [], withdrawn=[hashed_id])
        outcome = await _written(request, entry, submission)
        if outcome.postponed:
            raise Problem(Kind.BUSY, "this report has not come; ask for its withdrawal again later")
        return Response(status_code=204)


async def _written(request: Request, entry: Entry, submission: Submission) -> Outcome:
    collector = collector_of(request)
    outcome = await collector.writer.write(submission)
    if outcome.closed:
        raise collector.closed(entry)
    return outcome


def _report_id(body: bytes) -> bytes:
    """Return the report's id that a withdrawal names."""
    text = member_of(body, "id")
    try:
        report_id = base64.urlsafe_b64decode(text + "==")
        if len(report_id) == ID_BYTES and base64url(report_id) == text:
            return report_id
    except ValueError:
        pass
    raise Problem(
        Kind.MALFORMED,
        f'a withdrawal is {{"id": …}} with the report\'s {ID_BYTES} bytes of id as base64url',
    )
