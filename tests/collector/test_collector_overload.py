"""More than a collector can take: it keeps on taking what it can, and sends the rest away in time."""

import os
import random
import select
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httptools
import pytest

import load
from flood import flooded
from load import Uploaders, note_figures
from lopub.campaign.report import unframed
from lopub.collector.protocol import MOST_PIPELINED, is_whole_request_with_reports
from servers import Running, running_collector

pytestmark = pytest.mark.full
CAMPAIGN = load.campaign()
PATH = f"/campaigns/{CAMPAIGN.id}/reports"
PER_REQUEST = 20
SECONDS = float(os.environ.get("LOPUB_OVERLOAD_SECONDS", "60"))
N_BEFORE = 2_000_000
"""Reports in the store before the flood. Each flood adds another million; in an empty store that alone makes a commit twice as
long, whatever comes: each row then lies on a page of its own."""


def template() -> bytes:
    (report,) = unframed(load.bodies_of(load.population(CAMPAIGN, 1, seed=7))[0])
    return report


def memory(collector: Running) -> int:
    lines = Path(f"/proc/{collector.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def test_three_times_what_it_can_take_leaves_it_working(tmp_path: Path):
    """Generator and server on one core each."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN)
    fill(tmp_path / "lopub.db")
    with running_collector(database) as collector:
        overloaded(collector)


def fill(path: Path, at_once: int = 100_000) -> None:
    """As a collector does, but without content, and without waiting for the disk."""
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA synchronous = OFF")
    store.execute("PRAGMA cache_size = -400000")
    for _ in range(N_BEFORE // at_once):
        rows = sorted((1, os.urandom(32), 20_000, b"") for _ in range(at_once))
        store.execute("BEGIN")
        store.executemany(
            "INSERT INTO reports (campaign, hash, slot, content) VALUES (?, ?, ?, ?)", rows
        )
        store.execute("COMMIT")
    store.close()


def peak_of(taken_at: Callable[[float], float]) -> float:
    """The best of rising rates, each for a few seconds. One that is missed is tried again: the machine may have been busy."""
    peak, rate, n_missed = 0.0, 100.0, 0
    while n_missed < 2:
        taken = taken_at(rate)
        n_missed = n_missed + 1 if taken < 0.9 * rate else 0
        peak, rate = max(peak, taken), rate if n_missed else 1.3 * rate
        time.sleep(2)
    return peak


def overloaded(collector: Running) -> None:
    cores = sorted(os.sched_getaffinity(0))
    collector.keep_to(cores[-1])
    ask = {"per_request": PER_REQUEST, "core": cores[0]}

    def taken_at(rate: float, seconds: float = 5) -> float:
        return (
            flooded(collector.port, CAMPAIGN, template(), rate=rate, seconds=seconds, **ask).n_taken
            / seconds
        )

    peak = peak_of(taken_at)
    before = taken_at(1.2 * peak, 15)
    found = flooded(collector.port, CAMPAIGN, template(), rate=3 * peak, seconds=SECONDS, **ask)
    goodput, started = found.n_taken / SECONDS, time.monotonic() - found.seconds_after
    while not quick(collector):
        assert time.monotonic() - started < 30
    normal_after, most = time.monotonic() - started, memory(collector) / 2**20
    capacity = (
        before + taken_at(1.2 * peak, 15)
    ) / 2  # a machine becomes faster and slower from minute to minute
    note_figures(
        "overload",
        "sqlite",
        seconds=SECONDS,
        peak_requests_per_second=peak,
        capacity_requests_per_second=capacity,
        goodput_ratio=goodput / peak,
        goodput_of_capacity=goodput / capacity,
        answers_503=found.statuses[503],
        hung_up=found.statuses[0],
        unanswered=found.n_unanswered,
        megabytes_most=most,
        normal_after_seconds=normal_after,
    )
    assert {status for status, n in found.statuses.items() if n} <= {
        200,
        503,
    } and found.n_without_retry_after == 0
    assert found.n_unanswered == 0
    assert goodput >= 0.9 * peak
    assert most <= 512
    assert normal_after <= 5


def quick(collector: Running) -> bool:
    """Whether reports are taken within a tenth of a second."""
    started = time.monotonic()
    body = load.bodies_of(load.population(CAMPAIGN, 1, seed=8))[0]
    answer = collector.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=load.FRAMED_TYPE
    )
    return answer.status == 200 and time.monotonic() - started < 0.1


@contextmanager
def crowded_collector(
    directory: Path, *, n_requests: int = 1, **bounds: str
) -> Iterator[tuple[Running, Callable[[], None]]]:
    """A collector whose queue is full, with 100 reports, as long as its store is held; and what lets the store go."""
    database = f"sqlite:///{directory}/lopub.db"
    load.opened(database, CAMPAIGN)
    bounds = bounds or {"LOPUB_QUEUE_REPORTS": "100", "LOPUB_REQUEST_REPORTS": "100"}
    bodies = load.bodies_of(load.population(CAMPAIGN, 100, seed=9), 100 // n_requests)
    with running_collector(database, environment=bounds) as collector:
        held = sqlite3.connect(f"{directory}/lopub.db", isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        waiting = Uploaders(collector.port, CAMPAIGN, bodies, n=n_requests)

        def let_go() -> None:
            if held.in_transaction:
                held.execute("ROLLBACK")
                waiting.join()

        try:
            yield collector, let_go
        finally:
            let_go()
            held.close()
    assert len(load.kept_rows(database, CAMPAIGN)) >= 100


def test_a_body_is_not_waited_for_while_the_queue_is_full(tmp_path: Path):
    """Forbids to read reports that have to come again: what that takes is missing for those that wait."""
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)


def test_whoever_was_sent_away_comes_again_on_the_same_connection(tmp_path: Path):
    """Also where the body comes late and in pieces."""
    (body,) = load.bodies_of(load.population(CAMPAIGN, 50, seed=10))
    request = load.request_of(CAMPAIGN, body)
    head, late = request[: -len(body)], request[-len(body) :]
    with crowded_collector(tmp_path) as (collector, let_go):
        assert answered_without_a_body(collector)
        with socket.create_connection(("127.0.0.1", collector.port), timeout=30) as connection:
            for _ in range(3):
                connection.sendall(head)
                assert load.answer_from(connection)[0] == 503
                connection.sendall(late[:100])
                connection.sendall(late[100:])
            let_go()
            connection.sendall(request)
            assert load.answer_from(connection)[0] == 200


def test_requests_that_wait_leave_places_to_those_who_are_sent_away(tmp_path: Path):
    """Forbids to let them wait until no place is left: then every refusal costs a new connection."""
    with crowded_collector(tmp_path, n_requests=19, LOPUB_CONNECTIONS="20") as (collector, _):
        assert answered_without_a_body(collector)


def test_many_that_come_in_one_moment_are_sent_away_before_they_are_read(tmp_path: Path):
    """Forbids to look only at those who wait already: of a crowd that is read in one turn, nobody does yet, and whoever is
    refused by the route has cost twenty times as much."""
    database, n_places, n_senders = f"sqlite:///{tmp_path}/lopub.db", 80, 60
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, n_senders, seed=13), 1)
    with (
        running_collector(database, environment={"LOPUB_CONNECTIONS": str(n_places)}) as collector,
        ExitStack() as lines,
    ):
        senders = [
            lines.enter_context(socket.create_connection(("127.0.0.1", collector.port), timeout=30))
            for _ in range(n_senders)
        ]
        for sender in senders:  # all are known, and so is the campaign
            sender.sendall(f"GET /campaigns/{CAMPAIGN.id} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert load.answer_from(sender)[0] == 200
        held = sqlite3.connect(tmp_path / "lopub.db", isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        collector.process.send_signal(signal.SIGSTOP)
        for sender, body in zip(senders, bodies, strict=True):
            sender.sendall(load.request_of(CAMPAIGN, body))
        collector.process.send_signal(signal.SIGCONT)
        away, _, _ = select.select(senders, [], [], 5)
        deadline = time.monotonic() + 5
        while len(away) < n_senders - n_places // 2 and time.monotonic() < deadline:
            away, _, _ = select.select(senders, [], [], 0.1)
        answers = [sender.recv(4096) for sender in away]
        held.execute("ROLLBACK")
        taken = [load.answer_from(sender)[0] for sender in senders if sender not in away]
    assert taken == [200] * (n_places // 2)
    assert all(b" 503 " in answer and b"connection: keep-alive" in answer for answer in answers)


def all_from(connection: socket.socket, seconds: float) -> bytes:
    """What comes until nothing more does, or the connection ends."""
    connection.settimeout(seconds)
    found = b""
    with suppress(OSError):
        while part := connection.recv(2**16):
            found += part
    return found


def test_who_asks_a_thousand_times_in_one_packet_is_not_answered_a_thousand_times(tmp_path: Path):
    """Forbids to count only requests that are taken: each refusal is longer than the request."""
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)
        with socket.create_connection(("127.0.0.1", collector.port)) as connection:
            connection.sendall(b"POST /reports HTTP/1.1\r\nContent-Length: 0\r\n\r\n" * 1400)
            answers = all_from(connection, 10)
    assert (
        answers.count(b"HTTP/1.1 503 ") <= MOST_PIPELINED and answers.count(b"HTTP/1.1 413 ") == 1
    )


def send_again_and_again(connection: socket.socket, request: bytes) -> None:
    for _ in range(200_000):
        connection.sendall(request)


def test_who_does_not_read_that_it_has_to_come_again_is_cut_off(tmp_path: Path):
    """Forbids to keep refusals for it without end."""
    request = load.request_of(CAMPAIGN, b"abc")
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)
        line = socket.create_connection(("127.0.0.1", collector.port), timeout=10)
        with line as connection, pytest.raises(ConnectionError):
            send_again_and_again(connection, request)
        assert memory(collector) < 150 * 2**20 and collector.ask("GET", "/health").status == 200


@pytest.mark.parametrize(("method", "status"), [("OPTIONS", 204), ("HEAD", 405), ("GET", 405)])
def test_only_who_brings_reports_is_sent_away(tmp_path: Path, method: str, status: int):
    """A browser that may not ask beforehand learns nothing of when to come again; an answer to HEAD has no body."""
    asking = "Host: x\r\nOrigin: http://x\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type"
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)
        with socket.create_connection(("127.0.0.1", collector.port), timeout=30) as connection:
            connection.sendall(f"{method} {PATH} HTTP/1.1\r\n{asking}\r\n\r\n".encode())
            answer = connection.recv(2**16)
            head, _, body = (answer + all_from(connection, 0.3)).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert bool(body) == (method == "GET")


def test_what_comes_within_a_head_is_part_of_it(tmp_path: Path):
    """Forbids to take it for a request of its own: all answers from then on would belong to others."""
    request = load.request_of(CAMPAIGN, b"abc")
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)
        with socket.create_connection(("127.0.0.1", collector.port), timeout=30) as connection:
            statuses = []
            for part in (
                request + b"GET /health HTTP/1.1\r\nX: ",
                request,
                b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
            ):
                connection.sendall(part)
                statuses.append(load.answer_from(connection)[0])
    assert statuses == [503, 200, 404]


@contextmanager
def waiting_for_a_commit(
    folder: Path, **environment: str
) -> Iterator[tuple[Running, socket.socket]]:
    """A collector whose store is held by somebody, and a connection whose report waits for it."""
    first, second = load.bodies_of(load.population(CAMPAIGN, 2, seed=14), 1)
    database = f"sqlite:///{folder}/lopub.db"
    load.opened(database, CAMPAIGN)
    with running_collector(database, environment=environment) as collector:
        load.uploaded(collector.port, CAMPAIGN, [first])
        held = sqlite3.connect(folder / "lopub.db", isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        with socket.create_connection(("127.0.0.1", collector.port)) as connection:
            connection.sendall(load.request_of(CAMPAIGN, second))
            time.sleep(0.3)
            yield collector, connection
        held.execute("ROLLBACK")


def test_a_late_request_is_not_the_fault_of_the_one_before_it(tmp_path: Path):
    """Forbids to answer an earlier request with what is said of a later one: the earlier one is stored by then."""
    with waiting_for_a_commit(tmp_path, LOPUB_RECEIVE_SECONDS="1") as (_, connection):
        connection.sendall(b"GET /health HT")
        assert all_from(connection, 10) == b""


def test_who_still_waits_when_the_collector_stops_is_told_to_come_again(tmp_path: Path):
    with waiting_for_a_commit(tmp_path) as (collector, connection):
        collector.process.send_signal(signal.SIGTERM)
        assert all_from(connection, 10).startswith(b"HTTP/1.1 503 ")


def test_a_page_of_another_origin_can_read_when_to_come_again(tmp_path: Path):
    (body,) = load.bodies_of(load.population(CAMPAIGN, 50, seed=11))
    with crowded_collector(tmp_path) as (collector, _):
        assert answered_without_a_body(collector)
        answer = collector.ask(
            "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=load.FRAMED_TYPE
        )
    assert answer.status == 503 and answer.json["type"] == "urn:lopub:problem:busy"
    assert (
        answer.headers["retry-after"] == "1"
        and answer.headers["access-control-allow-origin"] == "*"
    )


# ---- sent away before they are read


LINES = [
    *(
        "Host: x",
        "Content-Length: 5",
        "content-length:5",
        "Content-Length: 05",
        "Content-Length: +5",
        "Content-Length: 5, 5",
    ),
    *(
        "Content-Length : 5",
        "Connection: keep-alive",
        "Connection: close",
        "Connection: keep-alive, close",
        "Expect: 100-continue",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Upgrade: h2c",
        " folded",
        "X:\nContent-Length: 5",
        "X: \x7f",
        "X",
    ),
    *("X: \r", "\tX: 1", "X-Content-Length: 5", "Proxy-Connection: close"),
]


class Read:
    """What is read as HTTP: how many whole requests, of which method and address, and whether the connection may stay."""

    def __init__(self, data: bytes) -> None:
        self.n_whole, self.url, self.is_in_one, self.keeps = 0, b"", False, False
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.is_in_one = True

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_headers_complete(self) -> None:
        self.keeps, self.method = self._parser.should_keep_alive(), self._parser.get_method()

    def on_message_complete(self) -> None:
        self.is_in_one, self.n_whole = False, self.n_whole + 1


def is_one_request_with_reports(data: bytes) -> bool:
    try:
        read = Read(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return False
    return (read.n_whole, read.is_in_one, read.keeps, read.method, read.url) == (
        1,
        False,
        True,
        b"POST",
        PATH.encode(),
    )


def test_only_what_is_one_whole_request_is_sent_away_unread():
    """Whatever is taken for one here, a parser of HTTP takes for the same: what comes after it is the next request."""
    rng, n_whole = random.Random(1), 0
    for _ in range(5_000):
        lines = ["Content-Length: 5"] * (rng.random() < 0.5) + rng.choices(
            LINES, k=rng.randrange(4)
        )
        rng.shuffle(lines)
        first = rng.choice(
            [f"POST {PATH} HTTP/1.1"] * 6
            + [f"POST {PATH} HTTP/1.0", f"GET {PATH} HTTP/1.1", f"POST {PATH}?a HTTP/1.1"]
        )
        data = "\r\n".join(
            [first, *lines, "", rng.choice(["12345", "12345", "1234", "123456", ""])]
        ).encode()
        if is_whole_request_with_reports(data):
            n_whole += 1
            assert is_one_request_with_reports(data), data
    assert n_whole > 100


def test_what_an_ordinary_sender_sends_is_sent_away_unread():
    body = load.bodies_of(load.population(CAMPAIGN, 20, seed=12))[0]
    request = load.request_of(CAMPAIGN, body)
    assert is_whole_request_with_reports(request) and is_one_request_with_reports(request)
    assert is_whole_request_with_reports(
        request.replace(b"Host: x", b"Host: x\r\nConnection: keep-alive\r\nAccept: */*")
    )
    assert not is_whole_request_with_reports(request[:-1]) and not is_whole_request_with_reports(
        request + b"x"
    )


def answered_without_a_body(collector: Running) -> bool:
    """Whether a request whose body does not come is sent away; until the queue is full, it is waited for."""
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", collector.port), timeout=0.5) as connection:
            connection.sendall(load.request_of(CAMPAIGN, bytes(1000))[:-1000])
            try:
                return load.answer_from(connection)[0] == 503
            except TimeoutError:
                continue
    return False
