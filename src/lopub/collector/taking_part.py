"""The route of the page on which people take part: /c/ID, and the few files beside it. Static, and the same for everybody."""

import gzip
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lopub.collector.collector import Collector
from lopub.collector.problems import problem_of
from lopub.errors import LopubError
from lopub.pages.contribution import (
    HEADERS,
    MEDIA_TYPES,
    assets,
    contribution_page,
    integrity,
    missing_page,
    policy,
)

FRESH = {"Cache-Control": "no-cache"}
"""A browser asks again each time: a page and its files belong together by their hashes."""
GONE = {"Cache-Control": "no-store"}
"""The page itself is not kept, and so not shown again as it was left."""


def page_routes(collector: Collector) -> list[Route]:
    """The page of every campaign, and what all of them share."""
    framed = (
        HEADERS
        | GONE
        | {"Content-Security-Policy": policy(framed=True, sites=collector.settings.embed)}
    )

    async def page(request: Request) -> Response:
        campaign_id = request.path_params["id"]
        if campaign_id in assets():
            return _asset(campaign_id, request)
        try:
            entry = await collector.entry(
                campaign_id, anew=True
            )  # nobody is to answer for a campaign that was closed meanwhile
        except LopubError as error:
            problem = problem_of(error)
            collector.metrics.told(problem.kind.slug)
            return Response(
                missing_page(f"{problem.kind.title}."),
                problem.kind.status,
                media_type="text/html",
                headers=framed,
            )
        address = f"../campaigns/{entry.campaign.id}"
        made = contribution_page(
            entry.campaign, questions=address, collector=address, closed=entry.closed is not None
        )
        return Response(made, media_type="text/html", headers=framed)

    return [Route("/c/{id}", page, methods=["GET"])]


def _asset(name: str, request: Request) -> Response:
    """Packed for whoever takes it packed, as every browser does: a third of the bytes for a phone."""
    is_packed = "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{integrity(name)}{"-gzip" if is_packed else ""}"'
    headers = {**HEADERS, **FRESH, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    media_type = MEDIA_TYPES[name[name.rindex(".") :]]
    if is_packed:
        return Response(
            _packed(name), media_type=media_type, headers={**headers, "Content-Encoding": "gzip"}
        )
    return Response(assets()[name], media_type=media_type, headers=headers)


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(assets()[name], mtime=0)
