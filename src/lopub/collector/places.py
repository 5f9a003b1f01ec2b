"""Who gives way when a server's places, or the memory for unfinished requests, run short: whoever sent least of late.

Nobody is hurried while there is room. A phone that sends a kilobyte per second keeps its place; a connection that trickles, that
stopped half way, or that is kept open for later, gives its place to whoever comes.
"""

import heapq
import math
from typing import Protocol

NEWCOMER, MOST_CREDIT, ENOUGH = 1024.0, 4096.0, 1000.0
"""Bytes: what a new connection has to its credit, the most one can have, and with how many nobody has to give way."""
FADING_SECONDS = 2.0
"""After so long, a byte sent counts for 1/e of one sent now."""
AGAIN_SECONDS = 0.02
"""If nobody had to give way, it is not asked again for so long: asking a thousand connections takes half a millisecond."""
AT_ONCE = 32
"""One in so many gives way at a time, for the same reason."""


class Credit:
    """The bytes that a connection sent, fading."""

    __slots__ = ("_bytes", "_since")

    def __init__(self, now: float) -> None:
        self._bytes, self._since = NEWCOMER, now

    def at(self, now: float) -> float:
        """What is left of it."""
        return self._bytes * math.exp((self._since - now) / FADING_SECONDS)

    def add(self, n_bytes: int, now: float) -> None:
        """More bytes came."""
        self._bytes, self._since = min(self.at(now) + n_bytes, MOST_CREDIT), now


class Guest(Protocol):
    """A connection, as it looks from here."""

    credit: Credit
    n_held: int
    """Bytes of its request that are in memory."""

    def keeps_us_waiting(self) -> bool:
        """Whether it is the other side's turn: to send, or to read its answer."""

    def give_way(self) -> None:
        """Say so, and hang up."""

    def cut(self) -> None:
        """Hang up at once."""


class Places:
    """The places of one server, and the bytes of requests that are in memory."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes, self._n_bytes, self._n_coming = most, most_bytes, 0, 0
        self._taken: set[Guest] = set()
        self._parting: dict[Guest, None] = {}
        self._look_again = 0.0

    def expect(self, now: float) -> bool:
        """Whether there is a place for somebody who comes now, or somebody gave way; it is kept until it is taken."""
        has_room = self._has_room(now)
        self._n_coming += has_room
        return has_room

    def give_up(self) -> None:
        """One who was expected does not come."""
        self._n_coming = max(0, self._n_coming - 1)

    def take(self, guest: Guest, now: float) -> bool:
        """Whether there is a place, or somebody gave way."""
        self._n_coming = max(0, self._n_coming - 1)  # where nobody is expected, everybody asks here
        if not self._has_room(now):
            return False
        self._taken.add(guest)
        return True

    def _has_room(self, now: float) -> bool:
        if len(self._taken) + self._n_coming >= self._most:
            self._make_room(now, 1 + self._most // AT_ONCE)
        return len(self._taken) + self._n_coming < self._most

    def leave(self, guest: Guest) -> None:
        """The place is free, and the memory."""
        self.let_go(guest)
        self._taken.discard(guest)
        self._parting.pop(guest, None)

    def part(self, guest: Guest) -> None:
        """It was told to go, and has no place any more. It may still be read from, until it has read why; or until there are as
        many of them as places: then the first of them is cut."""
        self.let_go(guest)
        self._taken.discard(guest)
        self._parting[guest] = None
        if len(self._parting) > self._most:
            first = next(iter(self._parting))
            del self._parting[first]
            first.cut()

    def hold(self, guest: Guest, n_bytes: int, now: float) -> bool:
        """Whether there is memory for so many more bytes, or somebody gave way."""
        guest.n_held += n_bytes
        self._n_bytes += n_bytes
        return self._n_bytes <= self._most_bytes or self._make_room(now, 1, holding=True) > 0

    def let_go(self, guest: Guest) -> None:
        """The request was answered."""
        self._n_bytes -= guest.n_held
        guest.n_held = 0

    def _make_room(self, now: float, wanted: int, *, holding: bool = False) -> int:
        """Let those with the least credit give way; how many did."""
        if now < self._look_again:
            return 0
        waited_for = (
            guest
            for guest in self._taken
            if guest.keeps_us_waiting() and (guest.n_held or not holding)
        )
        least = heapq.nsmallest(
            wanted, ((guest.credit.at(now), id(guest), guest) for guest in waited_for)
        )
        leaving = [guest for credit, _, guest in least if credit < ENOUGH]
        for guest in leaving:
            self._taken.discard(guest)  # its memory is free once the connection is gone
            guest.give_way()
        if not leaving:
            self._look_again = now + AGAIN_SECONDS
        return len(leaving)
