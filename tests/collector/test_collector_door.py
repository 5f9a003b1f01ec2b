"""Those who come while every place is taken: each is told so, at little cost, and reads it; others are let in at once."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import Mock

import pytest

from lopub.collector.door import AT_ONCE, PAUSE_SECONDS, Door
from lopub.collector.places import Places

pytestmark = pytest.mark.full
ANSWER = b"HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}"


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as bound:
        bound.setblocking(False)
        yield bound


def guests(bound: socket.socket, n: int, sent: bytes = b"") -> list[socket.socket]:
    connections = [socket.create_connection(bound.getsockname(), timeout=5) for _ in range(n)]
    for connection in connections:
        connection.sendall(sent)
    return connections


def read_to_the_end(connection: socket.socket) -> bytes:
    """A reset would raise."""
    with connection:
        return b"".join(iter(lambda: connection.recv(4096), b""))


class Greeting(asyncio.Protocol):
    """Takes a place, and says hello."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        assert self._places.take(Mock(), 0.0)
        transport.write(b"hello")
        transport.close()


def opened(
    bound: socket.socket, *, places: int = 0, most: int = 100, seconds: float = 60.0
) -> Door:
    """A door with so many places behind it."""
    free = Places(places, 2**20)
    return Door(bound, free, ANSWER, most=most, seconds=seconds).open(lambda: Greeting(free))


def looked(bound: socket.socket, see: Callable[[Door], Awaitable[None]], **bounds: float) -> None:
    async def look() -> None:
        door = opened(bound, **bounds)  # type: ignore[arg-type]
        try:
            await see(door)
        finally:
            door.close()
            await door.wait_closed()

    asyncio.run(look())


def test_everybody_who_waits_is_told_and_reads_it_whole():
    """Also who has sent a whole request by then; forbids to reset the connection before the answer is read."""
    with listening() as bound:
        waiting = guests(
            bound, 20, b"POST / HTTP/1.1\r\ncontent-length: 30000\r\n\r\n" + bytes(30_000)
        )

        async def a_moment(door: Door) -> None:
            await asyncio.sleep(0.2)
            assert door.n_leaving == 0  # by now

        looked(bound, a_moment, seconds=0.05)
        assert [read_to_the_end(connection) for connection in waiting] == [ANSWER] * 20


def test_as_many_are_let_in_as_there_are_places_and_the_others_are_told():
    """Also where all come in one turn, before the first of them has its place."""
    with listening() as bound:
        waiting = guests(bound, 10)

        async def a_moment(door: Door) -> None:
            await asyncio.sleep(0.1)
            assert door.n_leaving == 7

        looked(bound, a_moment, places=3)
        assert (
            sorted(read_to_the_end(connection) for connection in waiting)
            == [ANSWER] * 7 + [b"hello"] * 3
        )


def test_a_place_is_kept_for_one_who_comes_and_is_free_again_if_it_does_not():
    places = Places(2, 2**20)
    assert places.expect(0.0) and places.expect(0.0) and not places.expect(0.0)
    places.give_up()
    assert places.expect(0.0) and not places.expect(0.0)
    assert places.take(Mock(), 0.0) and places.take(Mock(), 0.0) and not places.take(Mock(), 0.0)


def test_whoever_goes_away_before_it_is_in_leaves_its_place():
    """Forbids to keep a place for somebody who never comes: after as many as there are places, nobody would be let in."""

    def fail() -> asyncio.Protocol:
        raise OSError(errno.ECONNRESET, "gone")

    async def look(bound: socket.socket) -> Places:
        places = Places(3, 2**20)
        door = Door(bound, places, ANSWER, most=100, seconds=60.0).open(fail)
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await asyncio.sleep(0.1)
        door.close()
        return places

    with listening() as bound:
        waiting = guests(bound, 3)
        places = asyncio.run(look(bound))
        for connection in waiting:
            connection.close()
    assert all(places.expect(0.0) for _ in range(3))


def test_so_many_in_a_turn_and_no_more():
    """Forbids to keep those who have a place waiting for as long as others come."""
    with listening() as bound:
        waiting = guests(bound, AT_ONCE + 5)

        async def turns(door: Door) -> None:
            seen = [0]
            while seen[-1] < AT_ONCE + 5:
                await asyncio.sleep(0)
                seen.append(door.n_leaving)
            assert max(after - before for before, after in pairwise(seen)) == AT_ONCE

        looked(bound, turns, most=1000)
        for connection in waiting:
            connection.close()


def test_as_many_as_may_leave_keep_their_connection_and_the_first_is_hung_up_on():
    with listening() as bound:
        waiting = guests(bound, 10)

        async def a_moment(door: Door) -> None:
            await asyncio.sleep(0.05)
            assert door.n_leaving == 4

        looked(bound, a_moment, most=4)
        for connection in waiting:
            connection.close()


def test_without_open_files_it_waits_for_a_moment_and_goes_on():
    """Forbids to ask the system again and again, which would take a whole core."""
    with listening() as bound:
        listens = Mock(wraps=bound)
        listens.accept.side_effect = OSError(errno.EMFILE, "none")
        waiting = guests(bound, 1)

        async def out_of_files(door: Door) -> None:
            await asyncio.sleep(PAUSE_SECONDS / 2)
            assert listens.accept.call_count == 1
            listens.accept.side_effect = bound.accept
            await asyncio.sleep(PAUSE_SECONDS)
            assert door.n_leaving == 1

        looked(listens, out_of_files)
        waiting[0].close()
