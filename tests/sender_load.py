"""Senders on one event loop: how many reports a service acknowledges, and who had to come again.

A sender that is refused or cut off sends the same bytes again: after a refusal as `Retry-After` says,
after a lost connection in a moment.
"""

import asyncio
import os
import random
import re
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from lopub.campaign.report import FRAMED_TYPE, framed

MOST_CONNECTIONS = 4_000
"""Of a flood, which needs more only where it is answered slowly."""
N_HONEST = 16
"""Senders beside a flood who come again as they are told."""
MOST_TRIES = 100
"""After so many, a report is given up: it was lost."""
LOST_SECONDS = 0.1
"""Until a sender that was cut off comes again."""
NORMAL_SECONDS = 1.0
"""An answer that takes longer is not normal."""
TICK_SECONDS = 0.01


@dataclass(frozen=True)
class Load:
    """Where to send which reports."""

    port: int
    campaign_id: str
    template: bytes
    """A report, whose id is replaced by a new one for every report."""
    per_request: int
    n_senders: int

    def request(self) -> bytes:
        """Return a whole request with new reports."""
        head, tail = self.template[:9], self.template[25:]
        ids = os.urandom(16 * self.per_request)
        reports = [head + ids[i : i + 16] + tail for i in range(0, len(ids), 16)]
        body = framed(reports)
        lines = [f"POST /campaigns/{self.campaign_id}/reports HTTP/1.1", "Host: localhost"]
        lines += [f"Content-Type: {FRAMED_TYPE}", f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body


@dataclass
class Sent:
    """What became of what was sent. Reports, where nothing else is said."""

    accepted: int = 0
    accepted_in_flood: int = 0
    offered: int = 0
    given_up: int = 0
    """By senders who came again as they were told."""
    seconds: list[float] = field(default_factory=list)
    """From the first try of a request to its 200."""
    seconds_to_normal: float = 0.0
    """From the end of a flood until the last honest request that was refused or slow."""

    def milliseconds(self, percent: int) -> float:
        """Return a percentile of how long requests took."""
        if len(self.seconds) < 2:
            return float("nan")
        return 1000 * statistics.quantiles(self.seconds, n=100)[percent - 1]


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._data, self._answer = b"", asyncio.get_running_loop().create_future()
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    async def ask(self, request: bytes) -> tuple[int, float]:
        """Send a request; the status of the answer, and after how many seconds to come again."""
        if not self.is_open:
            raise ConnectionError
        self._data, self._answer = b"", asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return cast(tuple[int, float], await self._answer)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        head = head.lower()
        length = re.search(rb"content-length: (\d+)", head)
        if length and len(body) >= int(length[1]) and not self._answer.done():
            wait = re.search(rb"retry-after: (\d+)", head)
            self._answer.set_result((int(head[9:12]), float(wait[1]) if wait else LOST_SECONDS))
            if b"connection: close" in head:
                self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if not self._answer.done():
            self._answer.set_exception(ConnectionError("the other side hung up"))
            self._answer.exception()  # which may be nobody's concern any more

    def close(self) -> None:
        """Hang up."""
        self.is_open = False
        self._transport.close()


class Senders:
    """All senders of a process, and what became of what they sent."""

    def __init__(self, load: Load) -> None:
        self.load, self.sent = load, Sent()
        self.last_trouble = 0.0
        """When an honest request was last answered after a refusal, or slowly."""
        self._idle: deque[Connection] = deque()
        self._n_connections = 0

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", self.load.port)
        return connection

    async def send_until(self, is_over: Callable[[], bool]) -> None:
        """Be an honest sender: one request after the other, each until it is acknowledged."""
        connection: Connection | None = None
        while not is_over():
            connection = await self._deliver(self.load.request(), connection)
        if connection:
            connection.close()

    async def _deliver(self, request: bytes, connection: Connection | None) -> Connection | None:
        begun = time.perf_counter()
        for n_tries in range(MOST_TRIES):
            try:
                connection = connection or await self._connected()
                status, wait = await connection.ask(request)
            except OSError:
                connection, status, wait = None, 0, LOST_SECONDS
            if status == 200:
                self._accept(time.perf_counter() - begun, n_tries)
                return connection
            if status not in (0, 502, 503, 504, 507):
                raise RuntimeError(f"unexpected answer {status}")
            self.last_trouble = time.perf_counter()
            await asyncio.sleep(wait * random.uniform(1, 2))
        self.sent.given_up += self.load.per_request
        return None

    def _accept(self, seconds: float, n_tries: int) -> None:
        self.sent.accepted += self.load.per_request
        self.sent.seconds.append(seconds)
        if n_tries or seconds > NORMAL_SECONDS:
            self.last_trouble = time.perf_counter()

    async def send_once(self) -> None:
        """Be one of a flood: send a request once, on whichever connection is free."""
        if self._idle:
            connection = self._idle.popleft()
        elif self._n_connections < MOST_CONNECTIONS:
            self._n_connections += 1
            try:
                connection = await self._connected()
            except OSError:
                self._n_connections -= 1
                return
        else:
            return
        self.sent.offered += self.load.per_request
        try:
            status, _ = await connection.ask(self.load.request())
        except OSError:
            status = 0
        if status == 200:
            self.sent.accepted += self.load.per_request
            self.sent.accepted_in_flood += self.load.per_request
        if connection.is_open:
            self._idle.append(connection)
        else:
            self._n_connections -= 1

    async def hang_up(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.popleft().close()
        await asyncio.sleep(TICK_SECONDS)  # a transport closes in the next turns of the loop


def send_steadily(load: Load, seconds: float) -> Sent:
    """Send for so long, by so many senders, each the next request once the last was acknowledged."""

    async def run() -> Sent:
        senders, until = Senders(load), time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(load.n_senders):
                group.create_task(senders.send_until(lambda: time.perf_counter() >= until))
        await senders.hang_up()
        return senders.sent

    return asyncio.run(run())


def flood(load: Load, per_second: float, seconds: float, after_seconds: float = 15) -> Sent:
    """Send so many requests per second, answered or not, with a few honest senders beside them.

    after_seconds: for which honest senders are watched once the flood is over.
    """

    async def run() -> Sent:
        senders = Senders(load)
        end = time.perf_counter() + seconds
        over = end + after_seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(N_HONEST):
                group.create_task(senders.send_until(lambda: time.perf_counter() >= over))
            due = 0.0
            while time.perf_counter() < end:
                due += per_second * TICK_SECONDS
                for _ in range(int(due)):
                    group.create_task(senders.send_once())
                due %= 1
                await asyncio.sleep(TICK_SECONDS)
            end = time.perf_counter()
        await senders.hang_up()
        senders.sent.seconds_to_normal = max(0.0, senders.last_trouble - end)
        return senders.sent

    return asyncio.run(run())
