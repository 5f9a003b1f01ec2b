"""What routes read of a request: its body within bounds, a member of JSON, and whether a token allows it."""

import asyncio
import json

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from lopub.collector.collector import Collector
from lopub.collector.problems import Kind, Problem
from lopub.collector.tokens import grant_of

RECEIVE_SECONDS = 10
"""How long a body may take to arrive. A proxy before the collector hands over whole bodies."""
SMALL_BODY_BYTES = 4096
"""The longest body that only names something."""


def collector_of(request: Request) -> Collector:
    """Return the collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector


async def body_of(request: Request, *media_types: str, most_bytes: int) -> bytes:
    """Return the whole body; refused where it is of another type, too large or too slow."""
    _check_type(request, media_types)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most_bytes:
        raise _too_large(most_bytes)
    try:
        async with asyncio.timeout(RECEIVE_SECONDS):
            return await _received(request, most_bytes)
    except TimeoutError:
        raise Problem(
            Kind.SLOW_BODY,
            f"the body did not arrive within {RECEIVE_SECONDS} seconds",
            {"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise Problem(Kind.MALFORMED, "the body ended too early") from None


def _check_type(request: Request, media_types: tuple[str, ...]) -> None:
    if request.headers.get("content-encoding", "").lower() not in ("", "identity"):
        raise Problem(Kind.MEDIA_TYPE, "a body must come as it is, without Content-Encoding")
    if media_types and media_type_of(request) not in media_types:
        raise Problem(Kind.MEDIA_TYPE, f"the Content-Type must be {' or '.join(media_types)}")


async def _received(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    return bytes(body)


def _too_large(most_bytes: int) -> Problem:
    return Problem(Kind.TOO_LARGE, f"a body here may have at most {most_bytes:,} bytes")


def media_type_of(request: Request) -> str:
    """Return the media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def member_of(body: bytes, name: str) -> str:
    """Return a text member of a JSON object; empty where there is none."""
    try:
        found = json.loads(body.decode())[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


async def authorized(request: Request, scope: str) -> str:
    """Return the name of the token that a request brings; refused unless it has this scope."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    grant = None
    if kind.lower() == "bearer":
        grant = await run_in_threadpool(grant_of, collector_of(request).store, token.strip())
    if grant is None or grant.expired:
        wrong = "the token has expired" if grant else "this needs a token that the collector knows"
        raise Problem(Kind.UNAUTHORIZED, f"{wrong}; `lopub token new` makes one")
    if not grant.allows(scope):
        raise Problem(
            Kind.FORBIDDEN,
            f"this needs a token of scope {scope}, and this one has scope {grant.scope}",
        )
    return grant.name
