"""HTTP with bounds on connections, on the size of a request's head, and on the time a request takes to arrive."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lopub.service.problems import Kind, Problem, document

LONGEST_HEAD = 2**15
"""Bytes."""
GRACE_SECONDS = 2.0
"""A body that is late is first refused by its route, with a document; the connection is cut so much later."""


class Bounded(HttpToolsProtocol):
    """One connection, with its bounds."""

    most_connections: int
    seconds: float
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse one connection too many; start the clock of the others."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._end(Problem(Kind.BUSY, "too many connections; come again later"))
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a head that is too long; start the clock at the first byte of a request."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()  # something came that is not yet a request
        if self._in_head and self._head_bytes > LONGEST_HEAD:
            self._end(Problem(Kind.TOO_LARGE, f"a request's head may have at most {LONGEST_HEAD:,} bytes"))

    def on_message_begin(self) -> None:
        """Start the clock of a request."""
        super().on_message_begin()
        self._arm()

    def on_headers_complete(self) -> None:
        """What follows is the body, which has bounds of its own."""
        super().on_headers_complete()
        self._in_head, self._head_bytes = False, 0

    def on_message_complete(self) -> None:
        """The request came in time."""
        super().on_message_complete()
        self._disarm()
        self._in_head = True

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(self.seconds + GRACE_SECONDS, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        if self._in_head:
            self._end(Problem(Kind.SLOW_BODY, f"the request did not arrive within {self.seconds} seconds"))
        else:
            self.transport.close()

    def _end(self, problem: Problem) -> None:
        """Say why, and hang up."""
        if not self.transport.is_closing():
            self.transport.write(_raw(problem))
            self.transport.close()


def bounded(*, connections: int, seconds: float) -> type[Bounded]:
    """The protocol with these bounds."""
    return type("BoundedHere", (Bounded,), {"most_connections": connections, "seconds": seconds})


def _raw(problem: Problem) -> bytes:
    """A whole answer, for those who have not got as far as a route."""
    answer: Any = document(problem)
    head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
    status = f"HTTP/1.1 {problem.kind.status} {problem.kind.title}\r\n".encode()
    return status + head + b"connection: close\r\n\r\n" + bytes(answer.body)
