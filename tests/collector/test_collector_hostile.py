"""Whoever means harm does not keep honest people out: real processes on loopback, no timing."""

import contextlib
import resource
import socket
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

import hostile
import load
from load import Uploaders, uploaded
from lopub.collector.places import ENOUGH, FADING_SECONDS, MOST_CREDIT, NEWCOMER, Credit, Places
from lopub.collector.protocol import (
    GRACE_SECONDS,
    LONGEST_HEAD,
    MOST_UNREAD,
    UNREAD_TURNS,
    Bounded,
    bounded,
)
from servers import Running, running_collector, start_collector

pytestmark = pytest.mark.full
CAMPAIGN = load.campaign()
PLACES = 1024
N_SLOW = 2000
MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory):
    database = f"sqlite:///{tmp_path_factory.mktemp('hostile')}/lopub.db"
    load.opened(database, CAMPAIGN)
    with running_collector(database, environment={"LOPUB_CONNECTIONS": str(PLACES)}) as running:
        yield running


def bodies(n: int, seed: int = 1) -> list[bytes]:
    return load.bodies_of(load.population(CAMPAIGN, n, seed=seed))


def memory(collector: Running) -> int:
    """The most memory that the process ever had, in bytes."""
    lines = Path(f"/proc/{collector.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def connected(collector: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", collector.port), timeout=30)


def raw(collector: Running, data: bytes) -> bytes:
    """Everything that comes back until the collector hangs up."""
    with connected(collector) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


# ---- places


def test_honest_senders_get_through_while_slow_ones_take_every_place(collector: Running):
    """Forbids to refuse whoever comes late: 1,500 slow connections took every place, and nobody else got one."""
    with hostile.attacked(collector.port, hostile.slow(N_SLOW), seconds=0.5):
        done = uploaded(collector.port, CAMPAIGN, bodies(20_000))
        for body in load.bodies_of(
            load.population(CAMPAIGN, 20, seed=3), 1
        ):  # each on a connection of its own, as people come
            path = f"/campaigns/{CAMPAIGN.id}/reports"
            tries = (
                collector.ask("POST", path, body, Content_Type=load.FRAMED_TYPE).status
                for _ in range(10)
            )
            assert 200 in tries  # one that is told to come again does so, as every client does
    assert len(done.acknowledged) == 200


def test_a_phone_at_a_kilobyte_per_second_keeps_its_place(collector: Running):
    request = load.request_of(CAMPAIGN, bodies(60, seed=4)[0])
    assert len(request) > 2000  # so that it takes longer than a newcomer is spared
    with (
        hostile.attacked(collector.port, hostile.slow(N_SLOW), seconds=0.5),
        connected(collector) as phone,
    ):
        for start in range(0, len(request), 100):
            phone.sendall(request[start : start + 100])
            time.sleep(0.1)
        assert load.answer_from(phone)[0] == 200


class Sitting:
    """A connection that is not one."""

    def __init__(self, places: Places, now: float, *, waits_for_us: bool = False) -> None:
        self.credit, self.n_held, self.waits_for_us, self.gave_way = (
            Credit(now),
            0,
            waits_for_us,
            False,
        )
        self.is_cut = False
        self.has_a_place = places.take(self, now)

    def keeps_us_waiting(self) -> bool:
        return not self.waits_for_us

    def give_way(self) -> None:
        self.gave_way = True

    def cut(self) -> None:
        self.is_cut = True


def test_the_idlest_gives_way_first():
    places = Places(3, 100)
    idle, slow, fast = (Sitting(places, 0.0) for _ in range(3))
    slow.credit.add(200, 5.0)
    fast.credit.add(2000, 5.0)
    assert Sitting(places, 6.0).has_a_place
    assert (idle.gave_way, slow.gave_way, fast.gave_way) == (True, False, False)
    assert Sitting(places, 6.0).has_a_place
    assert (slow.gave_way, fast.gave_way) == (True, False)


def test_nobody_gives_way_who_sends_enough_or_waits_for_an_answer():
    places = Places(2, 100)
    served, phone = Sitting(places, 0.0, waits_for_us=True), Sitting(places, 0.0)
    for tenth in range(1, 100):
        phone.credit.add(100, tenth / 10)
    late = Sitting(places, 9.95)
    assert not late.has_a_place
    assert not served.gave_way and not phone.gave_way


def test_nobody_gives_way_while_there_is_room():
    places = Places(10, 100)
    sitting = [Sitting(places, 0.0) for _ in range(9)]
    assert Sitting(places, 1000.0).has_a_place
    assert not any(each.gave_way for each in sitting)


def test_whoever_is_refused_for_want_of_places_is_cut_once_there_are_too_many_of_them():
    places = Places(3, 100)
    refused = [Sitting(places, 0.0) for _ in range(4)]
    for each in refused:
        places.part(each)
    assert [each.is_cut for each in refused] == [True, False, False, False]
    places.leave(refused[1])
    places.part(Sitting(places, 0.0))
    assert not refused[2].is_cut


class Wire:
    """The transport of a connection whose other side reads nothing."""

    def __init__(self, n_unread: int) -> None:
        self.unread, self.closing, self.aborted, self.ended = bytes(n_unread), False, False, False

    def get_extra_info(self, _: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return len(self.unread)

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.unread += data

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True


class Clock:
    """A loop whose time stands still until it is told."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def turn(self) -> None:
        due, self.soon = self.soon, []
        for call in due:
            call()

    def time(self) -> float:
        return 0.0

    def call_later(self, seconds: float, call: Callable[[], None]) -> Mock:
        self.later.append((seconds, call))
        return Mock()


def connected_to(wire: Wire, clock: Clock) -> Bounded:
    protocol = bounded(connections=8, seconds=5)
    connection = protocol(
        uvicorn.Config(Mock(), log_config=None, lifespan="off", ws="none"), ServerState(), {}, clock
    )
    connection.connection_made(wire)
    return connection


def test_whoever_leaves_answers_unread_is_cut_off_when_it_gives_way():
    """Forbids to wait for it: 40 connections stood where 8 are allowed, as each of them had given its place away."""
    wire = Wire(1000)
    connected_to(wire, Clock()).give_way()
    assert wire.aborted and len(wire.unread) == 1000


def test_whoever_does_not_read_why_it_has_to_go_is_cut_off_a_moment_later():
    wire, clock = Wire(0), Clock()
    connected_to(wire, clock).give_way()
    assert b"503" in wire.unread and wire.ended and not wire.aborted
    seconds, cut = clock.later[-1]
    cut()
    assert seconds == GRACE_SECONDS and wire.aborted


def test_a_newcomer_keeps_nobody_waiting_before_it_was_read():
    """Forbids a crowd of newcomers of whom each gives its place to the next, unheard."""
    clock = Clock()
    connection, waited_for = connected_to(Wire(0), clock), []
    for _ in range(UNREAD_TURNS + 1):
        waited_for.append(connection.keeps_us_waiting())
        clock.turn()
    assert waited_for == [False] * UNREAD_TURNS + [True]
    assert not clock.soon


def test_what_comes_behind_an_answered_request_is_still_held():
    """Forbids to forget it with the request before it: whoever sends both at once would use memory that nobody counts."""
    connection = connected_to(Wire(0), Clock())
    behind = Mock(body=bytes(5000), response_complete=False)
    connection._cycles = {Mock(body=bytes(1000), response_complete=True), behind}
    connection.places.hold(connection, 6000, 0.0)
    connection.on_response_complete()
    assert connection.n_held == 5000


def test_a_request_after_a_long_rest_has_no_more_time_than_others():
    """Forbids to wait for the end of the rest, which may be later."""
    clock = Clock()
    connection = connected_to(Wire(0), clock)
    connection._timer = Mock(when=lambda: 30.0)
    connection._arm(3.0)
    assert clock.later[-1][0] == 3.0


def test_a_full_purse_lasts_for_seconds_and_not_for_ever():
    credit = Credit(0.0)
    credit.add(10**9, 0.0)
    assert credit.at(FADING_SECONDS) > ENOUGH > credit.at(2 * FADING_SECONDS)
    assert NEWCOMER < MOST_CREDIT


def test_memory_of_those_who_stopped_half_way_goes_to_those_who_send():
    places = Places(10, 1000)
    stopped, sending = Sitting(places, 0.0), Sitting(places, 0.0)
    assert places.hold(stopped, 800, 0.0)
    sending.credit.add(1, 10.0)
    assert places.hold(sending, 400, 10.0)
    assert stopped.gave_way and not sending.gave_way
    sending.credit.add(4000, 10.0)
    places.leave(stopped)
    assert not places.hold(sending, 700, 10.1)
    places.let_go(sending)
    assert places.hold(sending, 1000, 10.2)


def test_a_system_that_begins_with_few_files_is_asked_for_more(tmp_path: Path):
    """Forbids to stop at the limit that a shell begins with: beyond it nobody could connect for a second at a time."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        collector = start_collector(database, environment={"LOPUB_CONNECTIONS": "300"})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        with contextlib.ExitStack() as held:
            for _ in range(250):
                held.enter_context(connected(collector))
            assert collector.ask("GET", "/health").status == 200
    finally:
        collector.stop()


# ---- memory


ATTACKS: dict[str, Callable[[], list[bytes]]] = {
    "half-open bodies": lambda: hostile.half_open(CAMPAIGN, 200, n_bytes=2 * MEBIBYTE),
    "giant bodies": lambda: hostile.giant(CAMPAIGN, 40, n_bytes=4 * MEBIBYTE),
    "header floods": lambda: hostile.header_floods(400),
    "pipelines": lambda: hostile.pipelines(40),
    "all at once": lambda: [each for attack in list(ATTACKS)[:-1] for each in ATTACKS[attack]()],
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_takes_more_than_64_megabytes(tmp_path: Path, attack: str):
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN)
    with running_collector(database) as collector:
        uploaded(collector.port, CAMPAIGN, bodies(1_000))
        before = memory(collector)
        with hostile.attacked(collector.port, ATTACKS[attack]()):
            uploaded(collector.port, CAMPAIGN, bodies(20_000, seed=2))
        more = memory(collector) - before
    load.note_figures("hostile", attack, megabytes_more_at_most=more / MEBIBYTE)
    assert more <= 64 * MEBIBYTE


# ---- what is refused


def test_a_head_of_too_many_lines_is_refused(collector: Running):
    answer = raw(collector, b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 101 + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"a request's head may have at most 100 lines" in answer


ENDLESS_HEAD = b"GET / HTTP/1.1\r\nX: " + b"x" * LONGEST_HEAD


def test_whoever_is_refused_while_it_sends_can_read_why(collector: Running):
    """Forbids to hang up on somebody who still sends: that resets the connection, and the answer is lost on its way."""
    with connected(collector) as connection:
        connection.sendall(ENDLESS_HEAD)
        for _ in range(5):
            time.sleep(0.1)
            connection.sendall(b"x" * 1000)
        status, *_ = load.answer_from(connection)
        assert status == 413


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1\r\nConnection: close"])
def test_whoever_is_refused_before_its_body_came_can_read_why_and_then_is_done(
    collector: Running, version: str
):
    """Senders that want the connection closed after their request: the answer comes first, the body later."""
    head = f"POST /campaigns/{'0' * 64}/reports {version}\r\nContent-Type: {load.FRAMED_TYPE}\r\nContent-Length: 300000\r\n\r\n"
    with connected(collector) as connection:
        connection.sendall(head.encode())
        time.sleep(0.3)
        for _ in range(3):
            connection.sendall(bytes(100_000))
            time.sleep(0.05)
        status, *_ = load.answer_from(connection)
        assert status == 404 and connection.recv(1) == b""


def test_what_is_not_http_is_told_so(collector: Running):
    answer = raw(collector, b"\x16\x03\x01" + bytes(100_000))
    assert answer.startswith(b"HTTP/1.1 400") and b"this cannot be read as HTTP" in answer


def test_whoever_does_not_stop_to_send_is_cut(collector: Running):
    with connected(collector) as connection:
        connection.sendall(ENDLESS_HEAD)
        time.sleep(0.1)
        with pytest.raises(OSError):
            connection.sendall(bytes(32 * MOST_UNREAD))  # more than lies between here and there


def test_too_many_requests_before_the_first_answer_are_refused(collector: Running):
    assert b"at most 16 requests may come" in raw(collector, b"GET /health HTTP/1.1\r\n\r\n" * 40)


def test_a_few_requests_before_the_first_answer_are_answered(collector: Running):
    with connected(collector) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n" * 10)
        answers = b""
        while answers.count(b'{"status":"alive"}') < 10:
            answers += connection.recv(65536)


def test_a_sender_that_was_cut_comes_again_and_is_counted_once(collector: Running):
    sent = bodies(1_000, seed=5)
    uploaders = Uploaders(collector.port, CAMPAIGN, sent)
    with hostile.attacked(collector.port, hostile.slow(N_SLOW), seconds=0.2):
        uploaders.join()
        uploaded(collector.port, CAMPAIGN, sent)
    assert load.lost_and_doubled(collector.address, CAMPAIGN, sent) == (0, 0)
