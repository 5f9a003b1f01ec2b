"""Bodies of requests, received within bounds of size and time."""

import asyncio

from starlette.types import Receive, Scope

from lopub.collector.problems import Kind, Problem


async def body_of(scope: Scope, receive: Receive, *, most: int, seconds: float) -> bytes:
    """The whole body; refused where it is too large, or too slow."""
    if _header(scope, b"content-encoding").lower() not in (b"", b"identity"):
        raise Problem(Kind.MEDIA_TYPE, "a body here comes as it is, without Content-Encoding")
    length = _header(scope, b"content-length")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(Kind.MALFORMED, "the body ended too early")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Problem(
            Kind.SLOW_BODY,
            f"the body did not arrive within {seconds} seconds",
            {"Connection": "close"},
        ) from None


def _too_large(most: int) -> Problem:
    return Problem(Kind.TOO_LARGE, f"a body here may have at most {most:,} bytes")


def media_type_of(scope: Scope) -> str:
    """The media type without its parameters."""
    return _header(scope, b"content-type").partition(b";")[0].strip().lower().decode("latin-1")


def _header(scope: Scope, name: bytes) -> bytes:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"")
