"""Ingest over real HTTP: what is acknowledged is durable, what is refused says why, and bad requests are sent away."""

import gzip
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import load
import people
from load import Uploaders, lost_and_doubled, uploaded
from lopub import Campaign
from lopub.campaign.report import base64url, framed
from lopub.collector.campaigns import close_campaign, find_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.wire import MOST_REPORTS
from lopub.collector.writer import MOST_WAITING
from servers import Answer, Postgres, Running, running_collector, start_collector

CAMPAIGN = people.campaign()
SCHEDULED = people.campaign("scheduled", scheduled=True)
CLOSED = people.campaign("closed")
FRAMED = "application/vnd.lopub.reports.v1"
JSON = "application/json"


def open_all(database: str) -> None:
    store = store_at(database)
    for each in (CAMPAIGN, SCHEDULED, CLOSED):
        open_campaign(store, each)
    close_campaign(store, CLOSED.id)
    store.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def collector(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """One on each kind of store."""
    database = (
        f"sqlite:///{tmp_path_factory.mktemp('store')}/lopub.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database()
    )
    open_all(database)
    with running_collector(database) as running:
        yield running


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory):
    """A collector in SQLite, for what does not depend on the store."""
    database = f"sqlite:///{tmp_path_factory.mktemp('embedded')}/lopub.db"
    open_all(database)
    with running_collector(database) as running:
        yield running


IMPATIENT = """
import lopub.collector.requests

lopub.collector.requests.RECEIVE_SECONDS = 1
from lopub.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory):
    """A collector that waits for a second, in SQLite."""
    database = f"sqlite:///{tmp_path_factory.mktemp('impatient')}/lopub.db"
    open_all(database)
    with running_collector(database, program=("-c", IMPATIENT)) as running:
        yield running


def send(collector: Running, data: list[bytes], target: Campaign = CAMPAIGN) -> Answer:
    return collector.ask(
        "POST", f"/campaigns/{target.id}/reports", framed(data), Content_Type=FRAMED
    )


def kept(database: str) -> int:
    store = store_at(database)
    try:
        return tally(store, find_campaign(store, CAMPAIGN.id)).n_reports
    finally:
        store.close()


def assert_problem(answer: Answer, status: int, name: str, sentence: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status, answer.json["status"], answer.json["type"]) == (
        status,
        status,
        f"urn:lopub:problem:{name}",
    )
    assert sentence in answer.json["detail"]
    assert ("retry-after" in answer.headers) == (status in (503, 507))


# ---- reports


def test_reports_are_kept_once_and_only_refused_ones_are_listed(collector: Running):
    data = people.reports(CAMPAIGN, 5)
    answer = send(collector, data)
    assert (answer.status, answer.json) == (200, {"received": 5, "refused": []})
    before = kept(collector.address)
    conflicting = people.with_another_slot(data[1])
    mixed = [data[0], conflicting, b"\x02" + data[2][1:], b"short", *people.reports(CAMPAIGN, 1)]
    answer = send(collector, mixed)
    assert answer.status == 200
    assert answer.json["received"] == 5
    assert [(each["index"], each["reason"]) for each in answer.json["refused"]] == [
        (1, "conflict"),
        (2, "version"),
        (3, "length"),
    ]
    assert "another report with the same id is kept already" in answer.json["refused"][0]["detail"]
    assert kept(collector.address) == before + 1 >= 6


def test_a_body_that_ends_within_a_report_refuses_just_that_report(embedded: Running):
    data = people.reports(CAMPAIGN, 2)
    body = framed(data)[:-3]
    answer = embedded.ask("POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=FRAMED)
    assert (answer.status, answer.json["received"]) == (200, 2)
    assert [(each["index"], each["reason"]) for each in answer.json["refused"]] == [(1, "length")]


def test_twins_are_as_good_as_bytes(embedded: Running):
    data = people.reports(CAMPAIGN, 3)
    twins = [json.loads(people.twin(each, CAMPAIGN)) for each in data]
    path = f"/campaigns/{CAMPAIGN.id}/reports"
    assert embedded.ask("POST", path, json.dumps(twins[0]), Content_Type=JSON).json == {
        "received": 1,
        "refused": [],
    }
    twice = json.dumps(twins[1])[:-1] + ', "slot": 1}'
    first, again, damaged = map(json.dumps, (twins[0], twins[1], twins[2] | {"payload": "!"}))
    body = f'{{"reports": [{first}, {twice}, 7, {damaged}, {again}]}}'
    answer = embedded.ask("POST", path, body, Content_Type=f"{JSON}; charset=utf-8")
    assert [(each["index"], each["reason"]) for each in answer.json["refused"]] == [
        (1, "json"),
        (2, "json"),
        (3, "json"),
    ]
    assert send(embedded, data[:2]).json == {"received": 2, "refused": []}


def test_a_report_outside_the_schedule_is_refused(embedded: Running):
    (report,) = people.reports(SCHEDULED, 1)
    late = report[:25] + (2**31).to_bytes(4) + report[29:]
    answer = send(embedded, [late], SCHEDULED)
    assert answer.json["refused"][0]["reason"] == "slot"


def test_a_withdrawn_report_is_refused_when_it_comes_again(collector: Running):
    data = people.reports(CAMPAIGN, 2)
    send(collector, data[:1])
    for each in (data[0], data[0], data[1]):
        body = json.dumps({"id": base64url(each[9:25])})
        answer = collector.ask(
            "POST", f"/campaigns/{CAMPAIGN.id}/withdrawals", body, Content_Type=JSON
        )
        assert (answer.status, answer.body) == (204, b"")
    answer = send(collector, data)
    assert [(each["index"], each["reason"]) for each in answer.json["refused"]] == [
        (0, "withdrawn"),
        (1, "withdrawn"),
    ]


# ---- requests that are refused as a whole


def test_an_unknown_campaign_is_refused(embedded: Running):
    assert_problem(
        send(embedded, [b"x"], people.campaign("unknown")),
        404,
        "unknown-campaign",
        "there is no campaign",
    )
    answer = embedded.ask("POST", "/campaigns/nonsense/reports", b"x", Content_Type=FRAMED)
    assert_problem(answer, 404, "unknown-campaign", "64 hexadecimal digits")


def test_a_closed_campaign_is_refused(embedded: Running):
    assert_problem(
        send(embedded, people.reports(CLOSED, 1), CLOSED),
        409,
        "closed",
        "is closed; it takes no more reports",
    )
    body = json.dumps({"id": base64url(bytes(16))})
    answer = embedded.ask("POST", f"/campaigns/{CLOSED.id}/withdrawals", body, Content_Type=JSON)
    assert_problem(answer, 409, "closed", "is closed")


@pytest.mark.parametrize("chunked", [True, False])
def test_an_oversized_body_is_refused(embedded: Running, chunked: bool):
    body = bytes(300_000)
    sent = (body[i : i + 1000] for i in range(0, len(body), 1000)) if chunked else body
    answer = embedded.ask("POST", f"/campaigns/{CAMPAIGN.id}/reports", sent, Content_Type=FRAMED)  # type: ignore[arg-type]
    assert_problem(answer, 413, "too-large", "a body here may have at most 262,144 bytes")


def test_too_many_reports_in_a_request_are_refused(embedded: Running):
    assert_problem(send(embedded, [b"x"] * 4097), 413, "too-large", "at most 4,096 reports")


@pytest.mark.parametrize("media_type", ["text/plain", ""])
def test_another_media_type_is_refused(embedded: Running, media_type: str):
    answer = embedded.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/reports", b"x", Content_Type=media_type
    )
    assert_problem(answer, 415, "media-type", f"the Content-Type must be {FRAMED} or application/")


def test_framed_reports_may_come_as_plain_octets(embedded: Running):
    body, octets = framed(people.reports(CAMPAIGN, 2)), "application/octet-stream"
    answer = embedded.ask("POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=octets)
    assert (answer.status, answer.json) == (200, {"received": 2, "refused": []})


def test_a_request_none_of_whose_reports_is_taken_is_refused_with_the_reasons(embedded: Running):
    """Forbids to answer 200: users of `raise_for_status()` would believe that they were counted."""
    answer = send(embedded, [b"short", b"\x02" + people.reports(CAMPAIGN, 1)[0][1:]])
    assert_problem(answer, 422, "refused", "none of 2 reports was taken")
    assert answer.json["received"] == 2
    assert [each["reason"] for each in answer.json["refused"]] == ["length", "version"]
    empty = embedded.ask("POST", f"/campaigns/{CAMPAIGN.id}/reports", "{}", Content_Type=JSON)
    assert_problem(empty, 422, "refused", "none of 1 reports was taken")


def test_reports_that_are_all_known_are_acknowledged_again(embedded: Running):
    data = people.reports(CAMPAIGN, 2)
    assert [send(embedded, data).status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize(
    ("media_type", "body", "sentence"),
    [
        (FRAMED, b"", "the body has no report"),
        (JSON, b'{"reports": []}', "the body has no report"),
        (JSON, b"{", "not valid JSON"),
        (JSON, b"\xff", "not valid JSON"),
        (JSON, b"[" * 15_000, "not valid JSON"),
        (JSON, b"[]", "must be one JSON object"),
        (JSON, b'{"reports": 1, "reports": 2}', "each of its members named once"),
        (JSON, b'{"reports": 1}', "must be a list"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    embedded: Running, media_type: str, body: bytes, sentence: str
):
    answer = embedded.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=media_type
    )
    assert_problem(answer, 400, "malformed", sentence)


def test_a_compressed_body_is_not_inflated(embedded: Running):
    path, bomb = f"/campaigns/{CAMPAIGN.id}/reports", gzip.compress(bytes(2**24))
    answer = embedded.ask("POST", path, bomb, Content_Type=FRAMED, Content_Encoding="gzip")
    sentence = "a body must come as it is, without Content-Encoding"
    assert_problem(answer, 415, "media-type", sentence)


def test_another_method_is_refused(embedded: Running):
    answer = embedded.ask("GET", f"/campaigns/{CAMPAIGN.id}/reports")
    assert_problem(answer, 405, "method-not-allowed", "this method is not allowed here")
    assert answer.headers["allow"] == "POST"


def raw(collector: Running, data: bytes, *, seconds: float = 60) -> bytes:
    """Everything that comes back until the collector hangs up."""
    with socket.create_connection(("127.0.0.1", collector.port), timeout=seconds) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_a_slow_body_is_refused_and_hung_up_on(impatient: Running):
    head = f"POST /campaigns/{CAMPAIGN.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {FRAMED}\r\nContent-Length: 100\r\n\r\n"
    answer = raw(impatient, head.encode() + b"too little")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"urn:lopub:problem:slow-body" in answer
    assert b"the body did not arrive within 1 seconds" in answer


def test_random_bytes_never_make_a_5xx(embedded: Running):
    for seed in range(60):
        body = os.urandom(seed * 7)
        for media_type in (FRAMED, JSON):
            answer = embedded.ask(
                "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=media_type
            )
            assert answer.status in (400, 422)


# ---- what the process does


SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


@pytest.mark.parametrize(
    ("database", "name"),
    [
        ("sqlite", "SIGTERM"),
        pytest.param("postgresql", "SIGTERM", marks=pytest.mark.full),
        ("sqlite", "SIGKILL"),
        ("postgresql", "SIGKILL"),
    ],
    indirect=["database"],
)
def test_a_signal_under_load_loses_nothing_that_was_acknowledged(database: str, name: str):
    """Told to stop, it finishes what it has, and exits with 0. What was on its way comes again, and counts once."""
    open_all(database)
    bodies = load.bodies_of(load.population(CAMPAIGN, 4_000, seed=1), 20)
    collector = start_collector(database)
    uploaders = Uploaders(collector.port, CAMPAIGN, bodies * 1000)  # never done before the signal
    uploaders.wait_for(50)
    assert collector.stop(SIGNALS[name]) == (0 if name == "SIGTERM" else -signal.SIGKILL)
    uploaders.join(give_up=True)
    assert lost_and_doubled(database, CAMPAIGN, uploaders.bodies) == (0, 0)
    with running_collector(database) as again:
        uploaded(again.port, CAMPAIGN, bodies)
    assert lost_and_doubled(database, CAMPAIGN, bodies) == (0, 0)
    assert kept(database) == 4_000


HELD = """
import os, time
from pathlib import Path
from lopub.collector.sqlite_store import SqliteStore

def write(self, submissions, write=SqliteStore.write):
    while Path(os.environ["HELD"]).exists():
        time.sleep(0.01)
    return write(self, submissions)

SqliteStore.write = write
from lopub.__main__ import main
main()
"""
"""A collector whose commits take as long as a file is there."""


def wait_for(happened: Callable[[], bool], *, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_more_reports_than_may_wait_are_sent_away_for_a_while(tmp_path: Path):
    """While a commit takes its time, so many reports may wait, and the next are told to come again."""
    database, held = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "held"
    open_all(database)
    bodies = load.bodies_of(load.population(CAMPAIGN, MOST_WAITING + 1, seed=3), MOST_REPORTS)
    with running_collector(
        database, environment={"HELD": str(held)}, program=("-c", HELD)
    ) as collector:
        token = people.token(database)
        held.touch()
        answers: list[Answer] = []

        def post(body: bytes) -> Answer:
            path = f"/campaigns/{CAMPAIGN.id}/reports"
            return collector.ask("POST", path, body, Content_Type=FRAMED)

        def n_waiting() -> int:
            lines = collector.ask("GET", "/metrics", Authorization=f"Bearer {token}").body
            return int(lines.partition(b"\nlopub_waiting_reports ")[2])

        senders = [
            threading.Thread(target=lambda body=body: answers.append(post(body)))  # type: ignore[misc]
            for body in bodies[:-1]
        ]
        for sender in senders:
            sender.start()
        wait_for(lambda: n_waiting() == MOST_WAITING)
        late = "too many reports wait for a commit; send the same again later"
        assert_problem(post(bodies[-1]), 503, "busy", late)
        withdrawal = json.dumps({"id": base64url(bytes(16))})
        path = f"/campaigns/{CAMPAIGN.id}/withdrawals"
        assert_problem(
            collector.ask("POST", path, withdrawal, Content_Type=JSON), 503, "busy", late
        )
        held.unlink()
        for sender in senders:
            sender.join()
        assert {answer.status for answer in answers} == {200}
        assert post(bodies[-1]).json == {"received": 1, "refused": []}
    assert kept(database) == MOST_WAITING + 1


def test_a_collector_whose_commits_fail_is_not_ready(tmp_path: Path):
    """Forbids to ask the store whether it can be read: a full one can."""
    database, ballast = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "ballast"
    open_all(database)
    ballast.touch()
    n_pages = os.path.getsize(tmp_path / "lopub.db") // 4096
    environment = {"BALLAST": str(ballast), "PAGES": str(n_pages)}
    with running_collector(
        database, environment=environment, program=("-c", FULL_DISK)
    ) as collector:
        body = load.bodies_of(load.population(CAMPAIGN, 4000, seed=2), 4000)[0]
        path = f"/campaigns/{CAMPAIGN.id}/reports"
        assert collector.ask("POST", path, body, Content_Type=FRAMED).status == 507
        assert_problem(collector.ask("GET", "/ready"), 507, "storage-full", "no space left")
        ballast.unlink()
        assert collector.ask("POST", path, body, Content_Type=FRAMED).status == 200
        assert collector.is_ready()


def test_a_second_collector_on_the_same_file_is_refused(embedded: Running):
    with pytest.raises(RuntimeError, match="is in use by another collector; stop that one first"):
        start_collector(embedded.address)


def test_a_database_that_goes_away_is_told_and_found_again(postgres: Postgres):
    database = postgres.new_database()
    open_all(database)
    data = people.reports(CAMPAIGN, 3)
    with running_collector(database) as collector:
        assert send(collector, data[:1]).status == 200
        postgres.stop()
        try:
            assert_problem(
                send(collector, data[1:2]), 503, "unavailable", "send the same again later"
            )
            assert_problem(
                collector.ask("GET", "/ready"), 503, "unavailable", "cannot reach its store"
            )
            assert collector.ask("GET", "/health").status == 200
        finally:
            postgres.start()
        wait_for(lambda: send(collector, data).status == 200)
        assert collector.is_ready()
    assert kept(database) == 3


FULL_DISK = """
import os
from pathlib import Path
from lopub.collector.sqlite_store import SqliteStore

def write(self, submissions, write=SqliteStore.write):
    most = os.environ["PAGES"] if Path(os.environ["BALLAST"]).exists() else 1_000_000
    with self.writing() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")
    return write(self, submissions)

SqliteStore.write = write
from lopub.__main__ import main
main()
"""
"""A collector whose store has so many pages and no more, as long as a file is there."""


def test_a_full_store_is_told_and_reports_are_taken_again_when_there_is_space(tmp_path: Path):
    database, ballast = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "ballast"
    open_all(database)
    ballast.touch()
    bodies = load.bodies_of(load.population(CAMPAIGN, 5_000, seed=2), 20)
    n_pages = os.path.getsize(tmp_path / "lopub.db") // 4096 + 20
    environment = {"BALLAST": str(ballast), "PAGES": str(n_pages)}
    with running_collector(
        database, environment=environment, program=("-c", FULL_DISK)
    ) as collector:
        uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
        wait_for(lambda: uploaders.statuses[507] > 0)
        assert collector.has_said("the store refuses commits")
        ballast.unlink()
        uploaders.join()
        assert collector.has_said("the store takes commits again")
    assert set(uploaders.statuses) == {200, 507}
    assert lost_and_doubled(database, CAMPAIGN, bodies) == (0, 0)


@pytest.mark.full
@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small file system")
def test_a_full_disk_is_told_and_reports_are_taken_again_when_there_is_space(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this machine does not allow mounts")
    try:
        database = f"sqlite:///{disk}/lopub.db"
        open_all(database)
        (template,) = people.reports(CAMPAIGN, 1)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1_500_000))
        acknowledged: list[bytes] = []
        with running_collector(database) as collector:
            for i in range(2000):
                data = [people.with_another_id(template, 50 * i + j) for j in range(50)]
                answer = send(collector, data)
                if answer.status != 200:
                    break
                acknowledged += data
            assert_problem(answer, 507, "storage-full", "has no space left")
            assert collector.process.poll() is None
            ballast.unlink()
            until = time.monotonic() + 60
            while send(collector, data).status != 200:
                assert time.monotonic() < until
            assert send(collector, acknowledged[:4000]).json == {
                "received": len(acknowledged[:4000]),
                "refused": [],
            }
            assert collector.has_said("the store refuses commits")
            assert collector.has_said("the store takes commits again")
        assert kept(database) == len(acknowledged) + 50
    finally:
        subprocess.run(["umount", str(disk)], check=False)
