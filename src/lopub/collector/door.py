"""Door: where connections come in. Whoever waits is let in while there are places, and otherwise told to come again.

An event loop takes one connection per turn, and under load a turn takes a tenth of a second: a crowd would wait until the system
forgets it. Here all who wait are looked at in each turn. Those for whom there is no place are told so by a few system calls: one
that is taken into the event loop and refused there costs six times as much, and it comes back with a connection that is new
again, so that a collector which spends itself on refusals stays overloaded for as long as the crowd does.
"""

import asyncio
import errno
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from lopub.collector.logs import tell
from lopub.collector.places import Places

AT_ONCE = 256
"""Connections that are looked at in one turn of the event loop."""
READ_BYTES = 2**16
"""Of what somebody sent who was turned away: hanging up on bytes that nobody read would reset the connection, and the answer with
it."""
PAUSE_SECONDS = 0.5
"""Where the system gives no more open files, it is not asked again for so long."""
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Door:
    """A listening socket, and whoever was turned away from it and still reads why."""

    def __init__(
        self, listening: socket.socket, places: Places, answer: bytes, *, most: int, seconds: float
    ) -> None:
        """answer: what those are told for whom there is no place. most: how many may be reading it, and seconds for how long."""
        self._listening, self._places, self._answer, self._most, self._seconds = (
            listening,
            places,
            answer,
            most,
            seconds,
        )
        self._leaving: deque[tuple[float, socket.socket]] = deque()
        self._coming: set[asyncio.Task[object]] = set()
        self._is_watched = False

    @property
    def n_leaving(self) -> int:
        """How many were told, and may still be reading it."""
        return len(self._leaving)

    def open(self, protocol: Callable[[], asyncio.Protocol]) -> "Door":
        """Let people in, each with a protocol of its own; inside the event loop."""
        self._loop, self._protocol = asyncio.get_running_loop(), protocol
        self._loop.add_reader(self._listening.fileno(), self._look)
        return self

    def close(self) -> None:
        """Let nobody in any more, and hang up on all who are leaving."""
        self._loop.remove_reader(self._listening.fileno())
        while self._leaving:
            _hang_up(self._leaving.popleft()[1])

    async def wait_closed(self) -> None:
        """There is nothing to wait for."""

    def _look(self) -> None:
        """Let in, or turn away, whoever waits."""
        for _ in range(AT_ONCE):
            try:
                guest, _ = self._listening.accept()
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._pause()
                return  # nobody waits any more, or the one who did has gone
            guest.setblocking(False)
            if self._places.expect(self._loop.time()):
                self._let_in(guest)
            else:
                self._turn_away(guest)

    def _let_in(self, guest: socket.socket) -> None:
        task: asyncio.Task[object] = self._loop.create_task(
            self._loop.connect_accepted_socket(self._protocol, guest)
        )
        self._coming.add(task)
        task.add_done_callback(partial(self._came, guest))

    def _came(self, guest: socket.socket, task: asyncio.Task[object]) -> None:
        self._coming.discard(task)
        if task.cancelled() or task.exception() is not None:  # it went away before it was in
            guest.close()
            self._places.give_up()

    def _turn_away(self, guest: socket.socket) -> None:
        with suppress(OSError):
            guest.send(self._answer)
            guest.shutdown(socket.SHUT_WR)
        self._leaving.append((time.monotonic() + self._seconds, guest))
        if len(self._leaving) > self._most:
            _hang_up(self._leaving.popleft()[1])
        self._watch()

    def _pause(self) -> None:
        tell("no more open files; nobody is let in for a moment")
        self._loop.remove_reader(self._listening.fileno())
        self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.add_reader(self._listening.fileno(), self._look)

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(self._seconds, self._let_go)

    def _let_go(self) -> None:
        """Hang up on those whose time is over, and look again while there are others."""
        self._is_watched = False
        while self._leaving and self._leaving[0][0] <= time.monotonic():
            _hang_up(self._leaving.popleft()[1])
        if self._leaving:
            self._watch()


def _hang_up(guest: socket.socket) -> None:
    with suppress(OSError):
        guest.recv(READ_BYTES)
    guest.close()
