"""Those who wait at the door while every place is taken: each is told so, at little cost, and reads it."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from lopub.service.door import AT_ONCE, Door

ANSWER = b"HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}"


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as bound:
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


async def turned_away(door: Door, *, seconds: float = 0.0) -> int:
    n = door.turn_away()
    await asyncio.sleep(seconds)
    return n


def test_everybody_who_waits_is_told_and_reads_it_whole():
    """Also who has sent a whole request by then; forbids to reset the connection before the answer is read."""
    with listening() as bound:
        waiting = guests(bound, 20, b"POST / HTTP/1.1\r\ncontent-length: 30000\r\n\r\n" + bytes(30_000))
        door = Door(bound, ANSWER, most=100, seconds=0.05)
        assert asyncio.run(turned_away(door, seconds=0.2)) == 20
        assert [read_to_the_end(connection) for connection in waiting] == [ANSWER] * 20


def test_so_many_at_once_and_no_more():
    """Forbids to keep those who have a place waiting for as long as others come."""
    with listening() as bound:
        waiting = guests(bound, AT_ONCE + 5)
        door = Door(bound, ANSWER, most=1000, seconds=60)

        async def twice() -> tuple[int, int, int]:
            return door.turn_away(), door.turn_away(), door.turn_away()

        assert asyncio.run(twice()) == (AT_ONCE, 5, 0)
        door.close()
        assert [read_to_the_end(connection) for connection in waiting] == [ANSWER] * len(waiting)


def test_as_many_as_may_leave_keep_their_connection_and_the_first_is_hung_up_on():
    with listening() as bound:
        waiting = guests(bound, 10)
        door = Door(bound, ANSWER, most=4, seconds=60)
        asyncio.run(turned_away(door))
        assert door.n_leaving == 4
        door.close()
        assert door.n_leaving == 0
        for connection in waiting:
            connection.close()


def test_whoever_does_not_go_is_hung_up_on_after_a_while():
    with listening() as bound:
        waiting = guests(bound, 3)
        door = Door(bound, ANSWER, most=100, seconds=0.05)

        async def in_two_groups() -> list[int]:
            door.turn_away()
            await asyncio.sleep(0.03)
            waiting.extend(guests(bound, 2))
            door.turn_away()
            counts = [door.n_leaving]
            await asyncio.sleep(0.2)
            return [*counts, door.n_leaving]

        assert asyncio.run(in_two_groups()) == [5, 0]
        for connection in waiting:
            connection.close()
