"""Pages of a collector: what it is, how programs ask it, and the page on which people take part."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE
from lopub.collector.collector import Collector
from lopub.collector.problems import problem_of
from lopub.collector.requests import collector_of
from lopub.errors import LopubError
from lopub.pages import contribution

TEMPLATES = Path(__file__).parent / "templates"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_REPORTS, _JSON = (f"-H 'Content-Type: {kind}'" for kind in (FRAMED_TYPE, JSON_TYPE))
BODIES = {
    ("put", "/campaigns/{id}"): f"--data-binary @campaign.json {_JSON}",
    ("post", "/campaigns/{id}/reports"): f"--data-binary @reports.bin {_REPORTS}",
    ("post", "/campaigns/{id}/withdrawals"): f"""-d '{{"id": "REPORT"}}' {_JSON}""",
    ("post", "/campaigns/{id}/close"): f"""-d '{{"id": "ID"}}' {_JSON}""",
}
"""What a command sends where there is something to send."""


@dataclass(frozen=True)
class Described:
    """A route as the page shows it."""

    method: str
    path: str
    text: str
    command: str
    answers: Mapping[str, str]


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI document, which tests hold against the routes."""
    document: dict[str, Any] = json.loads((Path(__file__).parent / "openapi.json").read_text())
    return document


class DescriptionEndpoint(HTTPEndpoint):
    """`/openapi.json`."""

    async def get(self, request: Request) -> Response:
        """The description for programs."""
        return JSONResponse(description())


class FrontEndpoint(HTTPEndpoint):
    """`/`."""

    async def get(self, request: Request) -> Response:
        """What this address is."""
        return await run_in_threadpool(_page, "front.html")


class DocsEndpoint(HTTPEndpoint):
    """`/docs`."""

    async def get(self, request: Request) -> Response:
        """Every route, with a command that asks it."""
        routes = sorted(
            described_routes(description()), key=lambda route: (route.path, route.method)
        )
        return await run_in_threadpool(_page, "docs.html", routes=routes)


def _page(template: str, **context: Any) -> Response:
    from lopub.pages.templating import rendered  # loads Jinja, which a restart should not wait for

    return Response(
        rendered(template, TEMPLATES, "en", **context), media_type="text/html", headers=HEADERS
    )


def described_routes(description: Mapping[str, Any]) -> Iterator[Described]:
    """The routes of an OpenAPI description."""
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            answers = {
                status: _resolved(answer, description)["description"]
                for status, answer in operation["responses"].items()
            }
            yield Described(
                method.upper(),
                path,
                operation.get("description", ""),
                command_of(method, path, operation),
                answers,
            )


def _resolved(part: Mapping[str, Any], description: Mapping[str, Any]) -> Any:
    """What a part of the description stands for: itself, unless it refers to another."""
    if "$ref" not in part:
        return part
    found: Any = description
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def command_of(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """How curl asks a route. ID and TOKEN stand for what only the reader knows."""
    parts = [
        "curl",
        *([] if method == "get" else [f"-X {method.upper()}"]),
        f"https://COLLECTOR{path.replace('{id}', 'ID')}",
    ]
    if operation.get("security"):
        parts.append("-H 'Authorization: Bearer TOKEN'")
    return " ".join([*parts, *([body] if (body := BODIES.get((method, path))) else [])])


# ---- the page on which people take part: static, and the same for everybody

FRESH = {"Cache-Control": "no-cache"}
"""A browser asks again each time: a page and its files belong together by their hashes."""
GONE = {"Cache-Control": "no-store"}
"""The page itself is not kept, and so not shown again as it was left."""


class ContributionEndpoint(HTTPEndpoint):
    """`/c/{id}`: the page of a campaign, or a file that all such pages share."""

    async def get(self, request: Request) -> Response:
        """The page; a campaign that is not here has a page that says so."""
        collector, name = collector_of(request), request.path_params["id"]
        if name in contribution.assets():
            return _asset(name, request)
        try:
            return await _contribution(collector, name)
        except LopubError as error:
            problem = problem_of(error)
            collector.metrics.count_problem(problem.kind.slug)
            text = contribution.missing_page(f"{problem.kind.title}.")
            return _framed(collector, text, problem.kind.status)


async def _contribution(collector: Collector, campaign_id: str) -> Response:
    # read anew: nobody is to answer for a campaign that was closed meanwhile
    entry = await collector.entry(campaign_id, anew=True)
    address = f"../campaigns/{entry.campaign.id}"
    text = contribution.contribution_page(
        entry.campaign, questions=address, collector=address, closed=entry.closed is not None
    )
    return _framed(collector, text)


def _framed(collector: Collector, text: str | bytes, status: int = 200) -> Response:
    policy = contribution.policy(framed=True, sites=collector.settings.embed)
    headers = {**contribution.HEADERS, **GONE, "Content-Security-Policy": policy}
    return Response(text, status, media_type="text/html", headers=headers)


def _asset(name: str, request: Request) -> Response:
    tag = f'W/"{contribution.integrity(name)}"'  # weak: the same for whoever takes it packed
    headers = {**contribution.HEADERS, **FRESH, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    media_type = contribution.MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(contribution.assets()[name], media_type=media_type, headers=headers)
