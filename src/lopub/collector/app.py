"""The whole application: ingest on a plain route, the rest with OpenAPI, problems as documents."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp

from lopub.collector.collector import Collector
from lopub.collector.cors import CrossOrigin
from lopub.collector.ingest import PATH, Ingest
from lopub.collector.management import management_app
from lopub.collector.problems import Kind, Problem, document, problem_of
from lopub.collector.taking_part import page_routes
from lopub.errors import LopubError


def app_of(collector: Collector) -> ASGIApp:
    """The collector as an ASGI application, with its writer running as long as it does."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await collector.start()
        yield
        await collector.stop()

    async def told(request: Request, error: Exception) -> Response:
        problem = _problem(error)
        if problem.kind is Kind.METHOD_NOT_ALLOWED:
            problem.headers["Allow"] = ", ".join(_methods(management, request))
        collector.metrics.told(problem.kind.slug)
        return document(problem)

    management = management_app(collector, {LopubError: told, HTTPException: told, Exception: told})
    ingest = Route(PATH, Ingest(collector))
    routes = [ingest, *page_routes(collector)]
    return CrossOrigin(
        Router(routes, redirect_slashes=False, default=management, lifespan=lifespan)
    )


def _methods(management: FastAPI, request: Request) -> list[str]:
    """What may be asked of an address, whichever route answers it."""
    met = [
        route for route in management.routes if route.matches(request.scope)[0] is not Match.NONE
    ]
    return sorted({method for route in met for method in getattr(route, "methods", None) or ()})


def _problem(error: Exception) -> Problem:
    if isinstance(error, LopubError):
        return problem_of(error)
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Problem(Kind.METHOD_NOT_ALLOWED, "this method is not allowed here")
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Problem(Kind.NOT_FOUND, "there is nothing at this address")
    if isinstance(error, HTTPException):
        return Problem(Kind.MALFORMED, "the request cannot be read")
    return Problem(Kind.BUG, "the collector has a bug; its log says more")
