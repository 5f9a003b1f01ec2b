"""Door: connections that wait at a listening socket while every place is taken, each told to come again by a few system calls.

A connection that is taken into the event loop and refused there costs six times as much, and those who were refused come back
with another one: a collector that spends itself on refusals stays overloaded for as long as the crowd does.
"""

import asyncio
import socket
import time
from collections import deque
from contextlib import suppress

AT_ONCE = 64
"""Connections that are turned away in one turn of the event loop."""
READ_BYTES = 2**16
"""Of what somebody sent who was turned away: hanging up on bytes that nobody read would reset the connection, and the answer with
it."""


class Door:
    """A listening socket, as those come to know it for whom there is no place."""

    def __init__(self, listening: socket.socket, answer: bytes, *, most: int, seconds: float) -> None:
        """answer: what they are told. most: how many may be reading it at a time, and seconds for how long."""
        self._listening, self._answer, self._most, self._seconds = listening, answer, most, seconds
        self._leaving: deque[tuple[float, socket.socket]] = deque()
        self._is_watched = False

    @property
    def n_leaving(self) -> int:
        """How many were told, and may still be reading it."""
        return len(self._leaving)

    def turn_away(self) -> int:
        """Tell whoever waits, up to AT_ONCE; how many there were."""
        for n in range(AT_ONCE):
            try:
                guest, _ = self._listening.accept()
            except OSError:  # nobody waits any more, or the one who did has gone
                return n
            with suppress(OSError):
                guest.setblocking(False)
                guest.send(self._answer)
                guest.shutdown(socket.SHUT_WR)
            self._leaving.append((time.monotonic() + self._seconds, guest))
            if len(self._leaving) > self._most:
                _hang_up(self._leaving.popleft()[1])
            self._watch()
        return AT_ONCE

    def close(self) -> None:
        """Hang up on all who are still leaving."""
        while self._leaving:
            _hang_up(self._leaving.popleft()[1])

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            asyncio.get_running_loop().call_later(self._seconds, self._let_go)

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
