"""HTTP with bounds on connections, on a request's head, on the time it takes to arrive, and on what all requests hold together.

Rests on uvicorn's own protocol, which is not a public interface: pyproject.toml has an upper bound for it.
"""

import asyncio
import math
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from lopub.collector.cors import PERMISSION
from lopub.collector.group_commit import crowded
from lopub.collector.places import Credit, Places
from lopub.collector.problems import Kind, Problem, document

LONGEST_HEAD = 2**15
"""Bytes."""
MOST_HEADERS = 100
MOST_PIPELINED = 16
"""Requests that may come before the first of them is answered."""
MOST_HELD = 12 * 2**20
"""Bytes of requests, of all connections, that are in memory until they are answered."""
MOST_UNHEARD = 2**16
"""Bytes of refusals that somebody leaves unread; it is cut off then: each refusal is longer than what it takes to ask for it."""
MOST_UNREAD = 2**20
"""Bytes that somebody may still send after it was refused; so it is told why, where hanging up would reset the connection."""
UNREAD_TURNS = 3
"""Turns of the event loop after which what a newcomer has sent by then was read. Under load a turn takes a tenth of a second: who
has just come would have to give way before anybody has looked at it, and so would whoever comes instead."""
GRACE_SECONDS = 2.0
"""A body that is late is first refused by its route, with a document; the connection is cut so much later. So is one that
does not read why it is hung up on, or does not stop to send."""


_USUAL = re.compile(
    rb"POST /campaigns/[0-9a-f]{64}/reports HTTP/1\.1(?:\r\n"
    rb"(?i:(?!(?:proxy-)?connection:(?![ \t]*keep-alive[ \t]*(?:\r|$))|expect:|transfer-encoding:|upgrade:))"
    rb"[\w!#$%&'*+.^`|~-]+:[ -~\t]*)*",
    re.ASCII,
)
"""A head of plain lines, none of which changes how the request is read or what comes after it."""
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,9})[ \t]*(?=\r|$)", re.IGNORECASE)


def is_whole_request_with_reports(data: bytes) -> bool:
    """Whether these bytes are one request with reports from its first byte to its last, and nothing about it is unusual."""
    if not data.startswith(b"POST /campaigns/"):
        return False
    head, _, body = data.partition(b"\r\n\r\n")
    return len(head) < LONGEST_HEAD and _length_told(head) == len(body)


@lru_cache(maxsize=64)
def _length_told(head: bytes) -> int | None:
    """The length of the body, as a usual head has it. Most senders send the same head again and again."""
    if head.lower().count(b"\r\ncontent-length:") != 1 or not _USUAL.fullmatch(head):
        return None
    length = _LENGTH.search(head)
    return None if length is None else int(length[1])


class _TurnedAway:
    """A request that was answered before it was looked at, as uvicorn sees it: what is still to come of it is thrown away."""

    response_complete, response_started, more_body, keep_alive = True, True, False, True
    message_event = asyncio.Event()


_AWAY: Any = _TurnedAway()


class _Wire:
    """The transport of a connection as its requests see it: closing it waits for whoever still sends."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write, self.is_closing, self.close = transport.write, transport.is_closing, close


class Bounded(HttpToolsProtocol):
    """One connection, with its bounds."""

    places: Places
    seconds: float
    credit: Credit
    _wire: _Wire
    n_held = 0
    _due = math.inf
    """When the other side has to be done with what it does."""
    _timer: asyncio.TimerHandle | None = None
    """Rings at some time before that; to move a time is cheaper than to set another timer for every request."""
    _cut: asyncio.TimerHandle | None = None
    _cycles: Collection[RequestResponseCycle] = frozenset()
    """Of the requests that are not answered yet."""
    _head_bytes = 0
    _in_request = False
    """Whether some of a request came, and not all of it."""
    _in_head = True
    _n_away = 0
    """Requests that were turned away, of those that came together."""
    _refusal: Problem | None = None
    turns_away: Callable[[], bool]
    """Whether reports are not taken now."""
    lets_by: Callable[[], None]
    """Told of each request with reports that is not turned away."""
    _unread_turns = UNREAD_TURNS
    """Of which so many are left."""
    _may_send = MOST_UNREAD
    _is_parting = False
    """Whether it was told why it has to go."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse one connection too many, if nobody gives way to it; start the clock of the others."""
        super().connection_made(transport)
        now = self.loop.time()
        self.credit, self._wire = Credit(now), _Wire(transport, self._close)
        if not self.places.take(self, now):
            self._end(CROWDED)
        else:
            self._arm()
            self.loop.call_soon(self._turn_is_over)

    def _turn_is_over(self) -> None:
        self._unread_turns -= 1
        if self._unread_turns:
            self.loop.call_soon(self._turn_is_over)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock; leave the place to others."""
        for timer in (self._timer, self._cut):
            if timer is not None:
                timer.cancel()
        self.places.leave(self)
        self._drop_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a head that is too long; start the clock at the first byte of a request."""
        if self._is_parting:
            self._may_send -= len(data)
            if self._may_send < 0:
                self.cut()
            return
        now, self._n_away = self.loop.time(), 0
        self.credit.add(len(data), now)
        if self._is_turned_away_whole(data):
            self._turn_away()
            self._unset_keepalive_if_required()
            self._arm(self.timeout_keep_alive)
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_parting:
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        if self._due == math.inf and is_answered and self._head_bytes:
            self._arm()  # something came that is not yet a request
        if self._in_head and self._head_bytes > LONGEST_HEAD:
            self._end(
                _raw(
                    Problem(
                        Kind.TOO_LARGE, f"a request's head may have at most {LONGEST_HEAD:,} bytes"
                    )
                )
            )
        elif not (is_answered and not self._in_head) and not self.places.hold(self, len(data), now):
            self._end(_FULL)
        if self.cycle is _AWAY:
            self.places.let_go(self)

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP, or has too much of something, is refused; with all that came before it."""
        self._end(
            _raw(self._refusal or Problem(Kind.MALFORMED, "this cannot be read as HTTP")),
            is_for_all=True,
        )

    def on_message_begin(self) -> None:
        """Start the clock of a request."""
        super().on_message_begin()
        self._in_request = True
        if len(self.pipeline) >= MOST_PIPELINED or self._n_away >= MOST_PIPELINED:
            self._refuse(
                f"at most {MOST_PIPELINED} requests may come before the first of them is answered"
            )
        self._arm()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more line of the head."""
        super().on_header(name, value)
        if len(self.headers) > MOST_HEADERS:
            self._refuse(f"a request's head may have at most {MOST_HEADERS} lines")

    def on_headers_complete(self) -> None:
        """What follows is the body, which has bounds of its own."""
        if self._is_turned_away():
            self._turn_away()
        else:
            if self._has_reports():
                self.lets_by()
            super().on_headers_complete()
            self.cycle.transport = self._wire  # type: ignore[assignment]
            self._cycles = {
                cycle
                for cycle in {*self._cycles, self.cycle}
                if cycle is not None and not cycle.response_complete
            }
        self._in_head, self._head_bytes = False, 0

    def on_message_complete(self) -> None:
        """The request came in time."""
        super().on_message_complete()
        self._disarm()
        self._in_request, self._in_head = False, True
        if self.cycle is _AWAY:
            self.on_response_complete()

    def on_response_complete(self) -> None:
        """What the request held is free; what came of those behind it is not."""
        self.places.let_go(self)
        behind = sum(len(cycle.body) for cycle in self._cycles if not cycle.response_complete)
        if behind and not self.places.hold(self, behind, self.loop.time()):
            self._end(_FULL)
        super().on_response_complete()

    def keeps_us_waiting(self) -> bool:
        """Whether it is the other side's turn: to send, or to read its answer."""
        is_answered = self.cycle is None or self.cycle.response_complete
        is_their_turn = (
            is_answered or self.cycle.more_body or self.transport.get_write_buffer_size() > 0
        )
        return is_their_turn and not self._unread_turns and not self._owes_an_earlier_answer()

    def _owes_an_earlier_answer(self) -> bool:
        """Whether a request waits for its answer that came before the one that comes now, or came last."""
        last = None if self._in_request and self._in_head else self.cycle
        return any(not cycle.response_complete and cycle is not last for cycle in self._cycles)

    def _has_reports(self) -> bool:
        return self.url.endswith(b"/reports") and self.parser.get_method() == b"POST"

    def _is_turned_away(self) -> bool:
        """Whether reports come that are not taken now. It is said here, where it takes a tenth of the time that a route would."""
        is_next = self.cycle is None or self.cycle.response_complete
        return (
            is_next
            and self._has_reports()
            and self.parser.should_keep_alive()
            and self.turns_away()
        )

    def _is_turned_away_whole(self, data: bytes) -> bool:
        """The same, of a whole request that came at once, before it is read as HTTP: that halves the time once more."""
        is_next = not self._in_request and (self.cycle is None or self.cycle.response_complete)
        return is_next and is_whole_request_with_reports(data) and self.turns_away()

    def _turn_away(self) -> None:
        """Tell it to come again, on the connection that it has; unless it does not read what it is told."""
        self.cycle, self._n_away = _AWAY, self._n_away + 1
        if self.transport.get_write_buffer_size() > MOST_UNHEARD:
            self.cut()
        elif not self.transport.is_closing():
            self.transport.write(_TURNED_AWAY)

    def give_way(self) -> None:
        """To somebody who sends more. Whoever is not in the middle of an answer is told to come again: a request may be on its
        way that we were too busy to read. Whoever does not read its answers is cut off: it would not read that either."""
        is_answering = (
            self.cycle is not None
            and self.cycle.response_started
            and not self.cycle.response_complete
        )
        if is_answering or self.transport.get_write_buffer_size() > 0:
            self.cut()
        else:
            self._end(CROWDED)

    def _refuse(self, detail: str) -> None:
        """Stop to read in the middle of what came; `send_400_response` says why."""
        self._refusal = Problem(Kind.TOO_LARGE, detail)
        raise ValueError(detail)

    def _arm(self, seconds: float | None = None) -> None:
        seconds = self.seconds + GRACE_SECONDS if seconds is None else seconds
        self._due = self.loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_later(seconds, self._ring)

    def _disarm(self) -> None:
        self._due = math.inf

    def _ring(self) -> None:
        """See whether it is time, and if not, when to look again."""
        self._timer = None
        left = self._due - self.loop.time()
        if left <= 0:
            self._late()
        elif left < math.inf:
            self._timer = self.loop.call_later(left, self._ring)

    def _late(self) -> None:
        """Whoever was answered, and has sent nothing since, is told nothing: it might take that for the answer to a request that
        is on its way."""
        if self._in_head and (self._in_request or self.cycle is None):
            self._end(
                _raw(
                    Problem(
                        Kind.SLOW_BODY, f"the request did not arrive within {self.seconds} seconds"
                    )
                )
            )
        else:
            self._hang_up()

    def _end(self, answer: bytes, *, is_for_all: bool = False) -> None:
        """Say why, and hang up; without a word where it would be taken for the answer to an earlier request, which is not at
        fault. is_for_all: who sent it is."""
        if not self._is_parting and not self.transport.is_closing():
            if is_for_all or not self._owes_an_earlier_answer():
                self.transport.write(answer)
            self._part()

    def _close(self) -> None:
        """Once a request was answered for which the connection was made, or after which it makes no sense."""
        if self._in_head or self._is_parting or self.transport.is_closing():
            self.transport.close()
        else:
            self._part()

    def _part(self) -> None:
        """Hang up once the other side has read all and did so, or after a moment."""
        self._is_parting = True
        self._disarm()
        self._drop_requests()
        self._forget()
        self.transport.write_eof()
        self.flow.resume_reading()
        self._cut = self.loop.call_later(GRACE_SECONDS, self.cut)
        self.places.part(self)

    def _hang_up(self) -> None:
        """Closing waits until all is sent, for ever where the other side does not read: it gets a moment."""
        self.transport.close()
        self._cut = self.loop.call_later(GRACE_SECONDS, self.cut)

    def cut(self) -> None:
        """At once."""
        self.transport.abort()

    def _forget(self) -> None:
        """What came of a request: whoever parts holds no memory for it."""
        for cycle in self._cycles:
            cycle.body = bytearray()
        self.headers, self.scope, self.parser = [], None, None  # type: ignore[assignment]

    def _drop_requests(self) -> None:
        """Nobody waits for their answers; uvicorn tells the last one only, and earlier ones would write to nobody."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()


def bounded(
    *,
    connections: int,
    seconds: float,
    turns_away: Callable[[], bool] = lambda: False,
    lets_by: Callable[[], None] = lambda: None,
) -> type[Bounded]:
    """The protocol with these bounds. turns_away: whether reports are not taken now; lets_by: told of each request with reports
    that is not turned away."""
    told = {"turns_away": staticmethod(turns_away), "lets_by": staticmethod(lets_by)}
    return type(
        "BoundedHere",
        (Bounded,),
        {"places": Places(connections, MOST_HELD), "seconds": seconds, **told},
    )


def _raw(problem: Problem, connection: bytes = b"close") -> bytes:
    """A whole answer, for those who have not got as far as a route; pages of other origins may read it, too."""
    answer: Any = document(problem)
    answer.headers.update(PERMISSION)
    head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
    status = f"HTTP/1.1 {problem.kind.status} {problem.kind.title}\r\n".encode()
    return status + head + b"connection: " + connection + b"\r\n\r\n" + bytes(answer.body)


_TURNED_AWAY = _raw(crowded(), b"keep-alive")
CROWDED = _raw(Problem(Kind.BUSY, "too many connections; come again later"))
"""What is said to whoever finds no place."""
_FULL = _raw(Problem(Kind.BUSY, "too many requests are under way; send the same again later"))
