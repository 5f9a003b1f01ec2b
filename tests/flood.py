"""An open loop: so many requests per second, whether or not the earlier ones were answered; in a process of its own."""

import asyncio
import multiprocessing
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias, cast

from lopub.campaign.campaign import Campaign
from lopub.campaign.report import FRAMED_TYPE, framed

PATIENCE_SECONDS = 15
"""How long answers are waited for once the last request is sent."""


@dataclass
class Flooded:
    """What became of a flood."""

    statuses: Counter[int] = field(default_factory=Counter)
    """0: the connection ended without an answer."""
    n_without_retry_after: int = 0
    """Of those that were sent away."""
    n_taken: int = 0
    """Answered with 200 before the time was over."""
    n_unanswered: int = 0
    """Still without an answer a while after that."""
    seconds_after: float = 0.0
    """How long the last answers took, once the last request was sent."""


Answer: TypeAlias = "multiprocessing.Queue[Flooded]"


class _Line(asyncio.Protocol):
    """A connection for one request at a time."""

    def __init__(self, found: Flooded, free: "list[_Line]") -> None:
        self._found, self._free, self._answer, self._waits = found, free, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes) -> None:
        self._waits = True
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(b"}"):
            return
        if not self._waits:  # told to go, between two requests
            self._leave()
            return
        status = int(self._answer[9:12])
        self._found.statuses[status] += 1
        self._found.n_without_retry_after += (
            status == 503 and b"retry-after: " not in self._answer.lower()
        )
        hangs_up = b"connection: close" in self._answer.lower()
        self._answer, self._waits = b"", False
        if hangs_up:
            self._leave()
        else:
            self._free.append(self)

    def _leave(self) -> None:
        if self in self._free:
            self._free.remove(self)
        self._transport.close()

    def eof_received(self) -> None:
        if self in self._free:
            self._free.remove(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._found.statuses[0] += self._waits
        self._waits = False
        if self in self._free:
            self._free.remove(self)


async def _flood(port: int, requests: Iterator[bytes], rate: float, seconds: float) -> Flooded:
    loop, found, free = asyncio.get_running_loop(), Flooded(), list[_Line]()
    started, n = time.monotonic(), 0
    opening: set[asyncio.Task[None]] = set()
    number = count()

    async def on_a_new_line(request: bytes) -> None:
        try:
            own = (
                f"127.0.0.{2 + next(number) % 250}",
                0,
            )  # one address alone has too few ports for a minute of new connections
            _, line = await loop.create_connection(
                lambda: _Line(found, free), "127.0.0.1", port, local_addr=own
            )
            line.ask(request)
        except OSError:
            found.statuses[0] += 1

    while (passed := time.monotonic() - started) < seconds:
        while n < passed * rate:
            n += 1
            if free:
                free.pop().ask(next(requests))
            else:
                task = loop.create_task(on_a_new_line(next(requests)))
                opening.add(task)
                task.add_done_callback(opening.discard)
        await asyncio.sleep(0.002)
    found.n_taken, over = found.statuses[200], time.monotonic()
    while found.statuses.total() < n and found.seconds_after < PATIENCE_SECONDS:
        await asyncio.sleep(0.05)
        found.seconds_after = time.monotonic() - over
    found.n_unanswered = n - found.statuses.total()
    return found


def allow_files(wanted: int = 100_000) -> None:
    """As many connections as a minute's flood may open: at its own limit it would count what it did not send as not answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # only root may have more than the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), max(hard, wanted)))


def _run(
    port: int,
    target: bytes,
    template: bytes,
    per_request: int,
    rate: float,
    seconds: float,
    answer: Answer,
    core: int,
) -> None:
    os.sched_setaffinity(0, {core})
    allow_files()
    campaign = Campaign.from_bytes(target)

    def fresh() -> bytes:
        body = framed([template[:9] + os.urandom(16) + template[25:] for _ in range(per_request)])
        line = f"POST /campaigns/{campaign.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {FRAMED_TYPE}"
        return f"{line}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    async def told() -> None:
        answer.put(await _flood(port, iter(fresh, b""), rate, seconds))
        await asyncio.sleep(60)  # until the process is ended, with all connections

    asyncio.run(told())


def flooded(
    port: int,
    campaign: Campaign,
    template: bytes,
    *,
    rate: float,
    seconds: float,
    per_request: int = 20,
    core: int = 0,
) -> Flooded:
    """So many requests per second, for so long."""
    context = multiprocessing.get_context("fork")
    answer: Answer = context.Queue()
    arguments = (port, campaign.canonical_bytes, template, per_request, rate, seconds, answer, core)
    process = context.Process(target=_run, args=arguments, daemon=True)
    process.start()
    found = answer.get(timeout=seconds + 60)
    process.kill()
    process.join()
    return found
