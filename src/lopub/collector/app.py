"""The collector as an application: its routes, its errors as problem documents, and what runs beside them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lopub.collector import management, pages
from lopub.collector.collector import Collector
from lopub.collector.ingest import ReportsEndpoint, WithdrawalsEndpoint
from lopub.collector.problems import Kind, Problem, document, problem_of
from lopub.collector.requests import collector_of
from lopub.errors import LopubError

DAY = 86_400
"""Seconds for which a browser may remember a permission."""


async def _refuse(request: Request, error: Exception) -> Response:
    problem = _problem(error)
    collector_of(request).metrics.count_problem(problem.kind.slug)
    return document(problem)


def _problem(error: Exception) -> Problem:
    if isinstance(error, LopubError):
        return problem_of(error)
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = dict(error.headers or {})
        return Problem(Kind.METHOD_NOT_ALLOWED, "this method is not allowed here", allowed)
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Problem(Kind.NOT_FOUND, "there is nothing at this address")
    if isinstance(error, HTTPException):
        return Problem(Kind.MALFORMED, "the request cannot be read")
    return Problem(Kind.BUG, "the collector has a bug; its log says more")


HANDLERS: dict[Any, Any] = {LopubError: _refuse, HTTPException: _refuse}


def any_origin(method: str) -> list[Middleware]:
    """Return what lets pages of any origin ask a route that looks at nobody: without credentials, by one method.

    All other routes need a token, and give no such permission.
    """
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=["*"],
            allow_methods=[method],
            allow_headers=["Content-Type"],
            expose_headers=["Retry-After"],
            max_age=DAY,
        ),
        Middleware(
            ExceptionMiddleware, handlers=HANDLERS
        ),  # inside, so that refusals can be read, too
    ]


ROUTES = [
    Route("/campaigns/{id}/reports", ReportsEndpoint, middleware=any_origin("POST")),
    Route("/campaigns/{id}/withdrawals", WithdrawalsEndpoint, middleware=any_origin("POST")),
    Route("/campaigns/{id}", management.CampaignEndpoint, middleware=any_origin("GET")),
    Route("/campaigns", management.CampaignsEndpoint),
    Route("/campaigns/{id}/close", management.CloseEndpoint),
    Route("/campaigns/{id}/counts", management.CountsEndpoint),
    Route("/health", management.HealthEndpoint),
    Route("/ready", management.ReadyEndpoint),
    Route("/metrics", management.MetricsEndpoint),
    Route("/openapi.json", pages.DescriptionEndpoint),
    Route("/docs", pages.DocsEndpoint),
    Route("/c/{id}", pages.ContributionEndpoint, middleware=[Middleware(GZipMiddleware)]),
    Route("/", pages.FrontEndpoint),
]


def collector_app(collector: Collector) -> Starlette:
    """Return the collector as an ASGI application; its writer and its retention run as long as it does."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await collector.start()
        yield
        await collector.stop()

    app = Starlette(
        routes=ROUTES,
        exception_handlers={**HANDLERS, Exception: _refuse},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.collector = collector
    return app
