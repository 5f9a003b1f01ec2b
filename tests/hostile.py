"""Clients that mean harm, in a process of their own: slow ones that come back, bodies that stop half way, floods of headers."""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lopub.campaign.campaign import Campaign
from lopub.campaign.report import FRAMED_TYPE


async def _one(port: int, beginning: bytes, seconds: float) -> None:
    """A connection that sends a beginning, then a byte at a time; once it is cut it comes back."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(seconds)
            continue
        try:
            writer.write(beginning)
            while True:
                await asyncio.sleep(seconds)
                writer.write(b"x")
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()


async def _all(port: int, beginnings: Sequence[bytes], seconds: float) -> None:
    await asyncio.gather(*(_one(port, beginning, seconds) for beginning in beginnings))


def _run(port: int, beginnings: Sequence[bytes], seconds: float) -> None:
    asyncio.run(_all(port, beginnings, seconds))


@contextmanager
def attacked(port: int, beginnings: Sequence[bytes], *, seconds: float = 1.0) -> Iterator[None]:
    """While so many connections, each with its beginning, send a byte at a time, and come back when they are cut."""
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(port, list(beginnings), seconds), daemon=True
    )
    process.start()
    time.sleep(1)  # until all have connected
    try:
        yield
    finally:
        process.kill()
        process.join()


def slow(n: int) -> list[bytes]:
    """Connections that send next to nothing."""
    return [b"POST /campaigns/"] * n


def half_open(campaign: Campaign, n: int, *, n_bytes: int) -> list[bytes]:
    """Bodies that stop half way."""
    return [_head(campaign, 2 * n_bytes) + bytes(n_bytes)] * n


def giant(campaign: Campaign, n: int, *, n_bytes: int) -> list[bytes]:
    """Bodies that are larger than anything that is taken, said and unsaid."""
    line = f"POST /campaigns/{campaign.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {FRAMED_TYPE}\r\n"
    chunked = f"{line}Transfer-Encoding: chunked\r\n\r\n{n_bytes:x}\r\n".encode() + bytes(n_bytes)
    return [_head(campaign, 10**12) + bytes(n_bytes), chunked] * (n // 2)


def header_floods(n: int) -> list[bytes]:
    """Heads of many short lines, or of one long one, that do not end."""
    many = b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 6000
    return [many, b"GET / HTTP/1.1\r\nX: " + b"x" * 30_000] * (n // 2)


def pipelines(n: int) -> list[bytes]:
    """Thousands of requests at once, before the first is answered."""
    return [b"GET /health HTTP/1.1\r\n\r\n" * 5000] * n


def _head(campaign: Campaign, length: int) -> bytes:
    line = f"POST /campaigns/{campaign.id}/reports HTTP/1.1"
    return f"{line}\r\nHost: x\r\nContent-Type: {FRAMED_TYPE}\r\nContent-Length: {length}\r\n\r\n".encode()
