"""Bodies of requests, received within bounds of size and time."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from lopub.service.problems import Kind, Problem


async def body_of(request: Request, *, most: int, seconds: float) -> bytes:
    """The whole body; refused where it is too large, or too slow."""
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Problem(Kind.SLOW_BODY, f"the body did not arrive within {seconds} seconds", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Problem(Kind.MALFORMED, "the body ended too early") from None
    return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(Kind.TOO_LARGE, f"a body here may have at most {most:,} bytes")


def media_type_of(request: Request) -> str:
    """The media type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
