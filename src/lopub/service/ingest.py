"""The route that reports come in by: as little as possible between the socket and the commit.

Nothing of a request but its reports is looked at or kept: not where it came from, not what sent it, not when.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lopub.service.bodies import body_of, media_type_of
from lopub.service.collector import Collector
from lopub.service.problems import Kind, Problem
from lopub.service.wire import FRAMED, TWINS, arrival_of

PATH = "/campaigns/{id}/reports"
LONG_BODY = 2**16
"""Bytes. A longer body is read in a thread of its own, so that others need not wait for it."""


def ingest_route(collector: Collector) -> Route:
    """`POST /campaigns/{id}/reports`: answered once the reports are durable."""
    settings = collector.settings

    async def ingest(request: Request) -> Response:
        entry = await collector.open_entry(request.path_params["id"])
        media_type = media_type_of(request)
        if media_type not in (FRAMED, TWINS):
            raise Problem(Kind.MEDIA_TYPE, f"reports come as {FRAMED} or {TWINS}")
        body = await body_of(request, most=settings.body_bytes, seconds=settings.receive_seconds)
        if len(body) > LONG_BODY:
            arrival = await run_in_threadpool(arrival_of, body, media_type, entry, most=settings.request_reports)
        else:
            arrival = arrival_of(body, media_type, entry, most=settings.request_reports)
        outcome = await collector.writer.write(arrival.submission)
        if outcome.closed:
            raise collector.closed(entry)
        return Response(arrival.answer(outcome), media_type="application/json")

    return Route(PATH, ingest, methods=["POST"])
