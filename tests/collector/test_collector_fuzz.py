"""Whatever is sent to a collector, it answers, soon, never with a 5xx, and does not grow."""

import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import load
import people
from load import note_figures
from lopub.campaign.report import FRAMED_TYPE, framed, unframed
from lopub.collector.database import store_at
from lopub.collector.tokens import new_token
from servers import Running, running_collector

pytestmark = pytest.mark.full
CAMPAIGN = people.campaign("fuzz")
JSON = "application/json"
ANSWER_SECONDS = 20
"""Longer than this is a hang: twice the time that a request may take to arrive."""
MEBIBYTE = 2**20
STEADY = 24 * MEBIBYTE
"""How much a process may be larger after the second half of the cases than after the first."""


@pytest.fixture(params=["sqlite", "postgresql"])
def collector(request: pytest.FixtureRequest, tmp_path: Path):
    sqlite = request.param == "sqlite"
    database = (
        f"sqlite:///{tmp_path}/lopub.db"
        if sqlite
        else request.getfixturevalue("postgres").new_database()
    )
    load.opened(database, CAMPAIGN)
    with running_collector(database) as running:
        yield running


def memory(collector: Running, field: str = "VmRSS") -> int:
    """Bytes of the collector's process; VmHWM is the most it ever had."""
    status = Path(f"/proc/{collector.process.pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found
    return 1024 * int(found[1])


def assert_sound(collector: Running) -> None:
    """It runs, has nothing to regret, and still takes a report."""
    assert collector.process.poll() is None
    assert not [line for line in collector.errors if "exception" in line or "bug" in line]
    another = people.campaign("another")
    load.opened(collector.address, another)
    load.uploaded(collector.port, another, [framed(people.reports(another, 1))])


# ---- bodies


def random_bytes(rng: random.Random, _: bytes) -> tuple[str, bytes]:
    return rng.choice((FRAMED_TYPE, JSON)), rng.randbytes(rng.choice((0, 1, 2, 3, 30, 300, 3000)))


def damaged_frames(rng: random.Random, body: bytes) -> tuple[str, bytes]:
    """A good body in which some bytes are others, are gone, or stand twice."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        until = min(len(data), at + rng.randint(1, 40))
        how = rng.randrange(4)
        if how == 0:
            data[at] = rng.randrange(256)
        elif how == 1 and until - at < len(data):
            del data[at:until]
        elif how == 2:
            data[at:at] = data[at:until]
        else:
            data[at:until] = rng.randbytes(until - at)
    return FRAMED_TYPE, bytes(data)


def value(rng: random.Random, depth: int = 0) -> object:
    """Any JSON value, sometimes one that Python's own parser alone would take."""
    numbers = [0, -1, 1, 255, 2**32, 2**64, 10**400, 1e308, float("nan"), float("inf")]
    simple = [None, True, *numbers, "", "AA", "\ud800", "é" * 50, "0" * 16]
    if depth > 3 or rng.random() < 0.6:
        return rng.choice(simple)
    if rng.random() < 0.5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {str(value(rng, 9)): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def damaged_twins(rng: random.Random, body: bytes) -> tuple[str, bytes]:
    """Good twins with members of any value, or without some."""
    twins = [json.loads(people.twin(report, CAMPAIGN)) for report in unframed(body)]
    for twin in twins:
        for name in rng.sample(sorted(twin), rng.randint(0, 3)):
            twin[name] = value(rng)
        if rng.random() < 0.2:
            del twin[rng.choice(sorted(twin))]
    whole = rng.choice((twins[0], {"reports": twins}, {"reports": value(rng)}, value(rng)))
    return JSON, json.dumps(whole).encode()


KINDS: list[Callable[[random.Random, bytes], tuple[str, bytes]]] = [
    random_bytes,
    damaged_frames,
    damaged_twins,
]


def test_no_body_makes_a_5xx_or_a_hang(collector: Running):
    rng, good = random.Random(1), framed(people.reports(CAMPAIGN, 3))
    sizes, statuses, n_cases = [memory(collector)], Counter[int](), 20_000
    started = time.monotonic()
    with socket.create_connection(
        ("127.0.0.1", collector.port), timeout=ANSWER_SECONDS
    ) as connection:
        for number in range(n_cases):
            media_type, body = KINDS[number % 3](rng, good)
            connection.sendall(load.request_of(CAMPAIGN, body, media_type))
            statuses[load.answer_from(connection)[0]] += 1
            if number in (n_cases // 2, n_cases - 1):
                sizes.append(memory(collector))
    note_memory("random-bodies", collector, n_cases, sizes, seconds=time.monotonic() - started)
    assert set(statuses) == {200, 400}
    assert sizes[2] - sizes[1] < STEADY
    assert_sound(collector)


def note_memory(
    test: str, collector: Running, n_cases: int, sizes: list[int], **figures: float
) -> None:
    names = ("megabytes_at_start", "megabytes_after_half", "megabytes_at_end")
    megabytes = {name: round(size / MEBIBYTE, 1) for name, size in zip(names, sizes, strict=True)}
    most = round(memory(collector, "VmHWM") / MEBIBYTE, 1)
    note_figures(
        test,
        load.kind_of(collector.address),
        cases=n_cases,
        **megabytes,
        megabytes_most=most,
        **figures,
    )


def test_large_bodies_at_once_do_not_add_up(collector: Running):
    """Forbids to read long bodies side by side, or to keep an exception whose traceback holds one: 1.6 GB where 0.3 would do."""
    body = b'{"reports": [' + b",".join([b"{}"] * 1_390_000) + b"]}"
    load.uploaded(collector.port, CAMPAIGN, [framed(people.reports(CAMPAIGN, 1))])
    before, statuses = memory(collector), list[int]()

    def send() -> None:
        try:
            statuses.append(
                collector.ask(
                    "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=JSON
                ).status
            )
        except (
            ConnectionResetError,
            BrokenPipeError,
        ):  # told to come again while it was still sending, then cut off
            statuses.append(503)

    senders = [threading.Thread(target=send) for _ in range(12)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert {413} <= set(statuses) <= {413, 503}  # what does not fit beside the others comes again
    most = memory(collector, "VmHWM") - before
    note_figures(
        "large-bodies",
        load.kind_of(collector.address),
        at_once=len(senders),
        megabytes_more_at_most=most / MEBIBYTE,
    )
    assert most < 150 * MEBIBYTE + 2 * len(senders) * len(body)
    assert_sound(collector)


# ---- what is not even HTTP


def damaged_request(rng: random.Random, good: bytes) -> bytes:
    """Bytes for a socket: noise, or a request with a damaged head, a wrong length, or broken chunks."""
    request = load.request_of(CAMPAIGN, good)
    head, _, body = request.partition(b"\r\n\r\n")
    how = rng.randrange(6)
    if how == 0:
        return rng.randbytes(rng.randint(1, 400))
    if how == 1:
        lengths = (b"-1", b"99999999999999999999", b"0x10", b"1, 2", b"", b"4194305", b"\xff")
        return (
            re.sub(rb"Content-Length: \d+", b"Content-Length: " + rng.choice(lengths), head)
            + b"\r\n\r\n"
            + body
        )
    if how == 2:
        head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", head)
        return (
            head
            + b"\r\n\r\n"
            + rng.choice((b"zz", b"-5", b"ffffffffffffffff", b"3\r\nabc"))
            + b"\r\n"
            + rng.randbytes(20)
        )
    if how == 3:
        return head + b"\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    data = bytearray(request if how == 4 else head + b"\r\n\r\n")
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(min(len(data), len(head)))] = rng.randrange(256)
    return bytes(data)


def status_of(collector: Running, data: bytes) -> int:
    """The status of the answer to these bytes with nothing behind them; 0 where there is none but the end of the connection."""
    with socket.create_connection(
        ("127.0.0.1", collector.port), timeout=ANSWER_SECONDS
    ) as connection:
        with suppress(ConnectionError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        try:
            return load.answer_from(connection)[0]
        except ConnectionError:
            return 0


def test_no_bytes_on_a_socket_make_a_5xx_or_a_hang(collector: Running):
    rng, good = random.Random(2), framed(people.reports(CAMPAIGN, 3))
    sizes, n_cases, statuses = [memory(collector)], 10_000, Counter[int]()
    started = time.monotonic()
    for number in range(n_cases):
        statuses[status_of(collector, damaged_request(rng, good))] += 1
        if number in (n_cases // 2, n_cases - 1):
            sizes.append(memory(collector))
    note_memory("random-requests", collector, n_cases, sizes, seconds=time.monotonic() - started)
    assert max(statuses) < 500, statuses
    assert sizes[2] - sizes[1] < STEADY
    assert_sound(collector)


# ---- the whole API, as it is described


def token(collector: Running) -> str:
    store = store_at(collector.address)
    try:
        return new_token(store, scope="manage", days=1)
    finally:
        store.close()


BESIDE = """
# Which bytes are a campaign of which id is more than a schema can say.
[checks]
positive_data_acceptance.enabled = false

# A report that is no report is refused by its place in an answer with status 200.
[[operations]]
include-name = "POST /campaigns/{id}/reports"
checks.negative_data_rejection.enabled = false
"""


def schemathesis(collector: Running, directory: Path, *options: str, settings: str = "") -> int:
    """Requests of every kind against every route of the description; how many cases. None may find a fault."""
    (directory / "schemathesis.toml").write_text(settings + BESIDE)
    command = [
        str(Path(sys.executable).with_name("st")),
        "--config-file",
        "schemathesis.toml",
        "run",
    ]
    command += [
        f"http://127.0.0.1:{collector.port}/openapi.json",
        "--no-color",
        "--generation-database",
        "none",
    ]
    command += ["-H", f"Authorization: Bearer {token(collector)}", *options]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    found = re.search(r"([\d,]+) generated", done.stdout)
    assert found
    return int(found[1].replace(",", ""))


def test_the_api_behaves_as_it_is_described(collector: Running, tmp_path: Path):
    n_cases, sizes = 10_000, [memory(collector)]
    examples = str(n_cases // 20)
    started = time.monotonic()
    known = f'[parameters]\n"path.id" = "{CAMPAIGN.id}"\n'  # reaches what lies behind a campaign that is there, and open
    options = ["--max-examples", examples, "--seed"]
    n_done, seed = (
        schemathesis(
            collector, tmp_path, *options, "1", "--exclude-path-regex", "close", settings=known
        ),
        1,
    )
    sizes.append(memory(collector))
    while n_done < n_cases:
        seed += 1
        n_done += schemathesis(collector, tmp_path, *options, str(seed))
    sizes.append(memory(collector))
    note_memory("schemathesis", collector, n_done, sizes, seconds=time.monotonic() - started)
    assert sizes[2] - sizes[1] < STEADY
    assert_sound(collector)
