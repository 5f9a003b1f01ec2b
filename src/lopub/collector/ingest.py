"""The route that reports come in by: as little as possible between the socket and the commit.

Nothing of a request but its reports is looked at or kept: not where it came from, not what sent it, not when.
"""

import asyncio

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE
from lopub.collector.bodies import body_of, media_type_of
from lopub.collector.collector import Collector
from lopub.collector.group_commit import crowded
from lopub.collector.problems import Kind, Problem, document, problem_of
from lopub.collector.wire import arrival_of
from lopub.errors import LopubError

PATH = "/campaigns/{id}/reports"
LONG_BODY = 2**16
"""Bytes. A longer body is read in a thread of its own, so that short ones need not wait for it; one at a time, because what a
body of JSON becomes while it is read is many times its size."""


class Ingest:
    """`POST /campaigns/{id}/reports`: answered once the reports are durable."""

    def __init__(self, collector: Collector) -> None:
        self._collector, self._settings = collector, collector.settings
        self._reading = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As a plain ASGI application: Starlette finds it, and then stands aside."""
        try:
            if scope["method"] != "POST":
                raise Problem(Kind.METHOD_NOT_ALLOWED, "reports come by POST", {"Allow": "POST"})
            response = Response(await self._answer(scope, receive), media_type=JSON_TYPE)
        except asyncio.CancelledError:  # the collector stops, and waits no longer for the store
            response = document(crowded())
        except LopubError as error:
            problem = problem_of(error).with_traceback(
                None
            )  # which would hold the body until cycles are collected
            self._collector.metrics.told(problem.kind.slug)
            response = document(problem)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        entry = await self._collector.open_entry(scope["path_params"]["id"])
        media_type = media_type_of(scope)
        if media_type not in (FRAMED_TYPE, JSON_TYPE):
            raise Problem(Kind.MEDIA_TYPE, f"reports come as {FRAMED_TYPE} or {JSON_TYPE}")
        if self._collector.writer.is_crowded():
            raise crowded()
        most = self._settings.request_reports
        body = await body_of(
            scope, receive, most=self._settings.body_bytes, seconds=self._settings.receive_seconds
        )
        if len(body) > LONG_BODY:
            async with self._reading:
                arrival = await run_in_threadpool(arrival_of, body, media_type, entry, most=most)
        else:
            arrival = arrival_of(body, media_type, entry, most=most)
        outcome = await self._collector.writer.write(arrival.submission)
        if outcome.closed:
            raise self._collector.closed(entry)
        return arrival.answer(outcome)
