"""A report arrives once, as the same bytes, whatever the other side does; and nothing but the report is told.

The peer is a real server on the loopback interface that reads a whole request and then behaves as its script says.
"""

import base64
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every import every
from lopub import (
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Client,
    CollectorError,
    Domain,
    DomainError,
    FileStore,
    MemoryStore,
    Patience,
    Reason,
    ReportRejected,
    StoreError,
    Terms,
    TryLater,
    fetch_campaign,
    make_campaign,
)
from lopub.campaign.report import framed
from lopub.client.keeping import NO_TIME
from lopub.client.sending import Address

SENTINEL = "Kaluza-Klein-7f3a9c"
DOMAIN = Domain(
    (Categorical(name="city", values=(SENTINEL, "Oslo", "Rome")), Boolean(name="smoker"))
)
RECORD = {"city": SENTINEL, "smoker": True}
CAMPAIGN = make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(epsilon=2))
QUICK = Patience(seconds=60, attempt=60, first_wait=0.001, longest_wait=0.01)
"""Short waits, and time for an attempt that no load of the machine uses up: how many there are is the peer's doing alone."""
HASTY = Patience(seconds=60, attempt=0.5, first_wait=0.001, longest_wait=0.01)
"""Attempts that end although the peer holds them; one that a loaded machine ends is one more."""
BRIEF = Patience(seconds=0.4, attempt=0.2, first_wait=0.001, longest_wait=0.02)
ONCE = Patience(seconds=10, attempt=10, first_wait=1e12, longest_wait=1e12)
"""One attempt with time enough; the last of many may have none left to find out what is wrong."""

HELD = 240
"""Seconds for which a peer tries to hold the client; it is free where it ends in half of them, on the slowest machine."""

Behaviour = Callable[[socket.socket], None]


def answer(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} Words", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda sock: sock.sendall("\r\n".join([*lines, "", ""]).encode() + body)


def raw(data: bytes) -> Behaviour:
    return lambda sock: sock.sendall(data)


def dropped(sock: socket.socket) -> None:
    """The request was read, perhaps even counted; the connection ends without a word."""


def silent(sock: socket.socket) -> None:
    sock.recv(1)  # until the other side has had enough


def dripping(head: bytes) -> Behaviour:
    """Each byte well within any timeout for a byte, and far too many of them."""

    def behave(sock: socket.socket) -> None:
        sock.sendall(head)
        for _ in range(int(HELD / 0.02)):
            sock.sendall(b"x")
            time.sleep(0.02)

    return behave


def verdict(reason: str, detail: str = "a sentence") -> Behaviour:
    return answer(
        200,
        json.dumps(
            {"received": 1, "refused": [{"index": 0, "reason": reason, "detail": detail}]}
        ).encode(),
    )


COUNTED = answer(200, b'{"received": 1, "refused": []}')


class Peer:
    """A server that plays its script, one behaviour a connection, the last one for ever; and keeps what it was sent."""

    def __init__(self, *script: Behaviour, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self._script, self._context, self._lock = script, context, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._meet, args=(sock,), daemon=True).start()

    def _meet(self, sock: socket.socket) -> None:
        with suppress(OSError), sock:
            sock.settimeout(HELD)
            if self._context:
                sock = self._context.wrap_socket(sock, server_side=True)
            with sock:
                request = received(sock)
                with self._lock:
                    self.requests.append(request)
                    behaviour = self._script[min(len(self.requests), len(self._script)) - 1]
                behaviour(sock)

    def url(
        self, campaign: Campaign = CAMPAIGN, host: str = "127.0.0.1", scheme: str = "http"
    ) -> str:
        return f"{scheme}://{host}:{self.port}/campaigns/{campaign.id}"

    @property
    def bodies(self) -> list[bytes]:
        return [request.partition(b"\r\n\r\n")[2] for request in self.requests]

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(timeout=5)


def received(sock: socket.socket) -> bytes:
    """One whole request."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += fresh(sock)
    head = data.partition(b"\r\n\r\n")[0].lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(data) < len(head) + 4 + length:
        data += fresh(sock)
    return data


def fresh(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise ConnectionError
    return data


@contextmanager
def in_time() -> Iterator[None]:
    """The client is not held."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < HELD / 2


def wait_by(patch: pytest.MonkeyPatch, sleep: Callable[[float], None]) -> None:
    """Let the client alone wait so: peers of earlier tests may still be at it."""
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    patch.setattr("lopub.client.sending.time", clock)


@pytest.fixture
def unwaiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits before another attempt."""

    def refuse(seconds: float) -> None:
        raise AssertionError(f"{seconds} s were waited")

    wait_by(monkeypatch, refuse)


@contextmanager
def peer(*script: Behaviour, context: ssl.SSLContext | None = None) -> Iterator[Peer]:
    met = Peer(*script, context=context)
    try:
        yield met
    finally:
        met.close()


def client() -> Client:
    """One that has made its report."""
    made = Client(CAMPAIGN, store=MemoryStore())
    made.encode(RECORD)
    return made


def report_of(made: Client) -> bytes:
    report = made.kept()
    assert report is not None
    return report.to_bytes()


# ---- it arrives


def test_the_kept_report_arrives_framed():
    made = client()
    with peer(COUNTED) as met:
        assert made.send(met.url()) == 1
    assert met.bodies == [framed([report_of(made)])]
    assert met.requests[0].startswith(
        b"POST /campaigns/%s/reports HTTP/1.1\r\n" % CAMPAIGN.id.encode()
    )


def test_a_request_tells_nothing_but_the_report():
    with peer(COUNTED) as met:
        client().send(met.url())
    head = met.requests[0].partition(b"\r\n\r\n")[0].decode()
    headers = {line.partition(":")[0].lower() for line in head.split("\r\n")[1:]}
    assert headers == {
        "host",
        "accept-encoding",
        "content-length",
        "user-agent",
        "connection",
        "content-type",
    }
    assert "User-Agent: lopub\r\n" in head + "\r\n"
    assert "Content-Type: application/vnd.lopub.reports.v1\r\n" in head + "\r\n"
    assert SENTINEL.encode() not in met.requests[0]


def test_two_peoples_requests_differ_in_the_body_alone():
    with peer(COUNTED) as met:
        client().send(met.url())
        client().send(met.url())
    one, other = (request.partition(b"\r\n\r\n")[0] for request in met.requests)
    assert one == other


@every(["1.0", "1.1"])
def test_an_answer_that_comes_in_pieces_from_a_server_that_hangs_up_is_read_to_its_end(version):
    """The tempting socket wrapper closes when the head says `Connection: close`, and loses a body that is still on its way."""

    def pieces(sock: socket.socket) -> None:
        for piece in (
            f"HTTP/{version} 200 OK\r\nConnection: close\r\nContent-Le",
            "ngth: 30\r\n\r\n",
            '{"received": 1',
            ', "refused": []}',
        ):
            sock.sendall(piece.encode())
            time.sleep(0.02)

    with peer(pieces) as met:
        assert client().send(met.url()) == 1


HOLDS = {"silent": silent, "dripping": dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ")}
TROUBLES = {
    "dropped": dropped,
    "503": answer(503),
    "408": answer(408, b'{"type": "urn:lopub:problem:too-slow", "title": "Too slow"}'),
    "425": answer(425),
    "429": answer(429, Retry_After="0"),
    "507": answer(507),
    "500": answer(500, b"Internal Server Error"),
    "502": answer(502, b"<html>"),
    "asked to wait": answer(503, Retry_After="0"),
    "asked with a date": answer(503, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
    "not HTTP": raw(b"\x16\x03\x01 what is this\r\n\r\n"),
    "no status": raw(b"HTTP/1.1 abc\r\n\r\n"),
    "head cut off": raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "body cut off": raw(b'HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{"received": 1,'),
    "chunk cut off": raw(
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1e\r\n{"received":'
    ),
    "bad chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "huge": answer(200, b" " * 70_000 + b'{"received": 1, "refused": []}'),
    "huge head": raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"x" * 70_000 + b"\r\n\r\n"),
    "many headers": raw(b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 200 + b"\r\n"),
    "a portal's page": answer(200, b"<html>please log in</html>"),
    "not UTF-8": answer(200, b"\xff\xfe"),
    "a list": answer(200, b"[]"),
    "nested": answer(200, b"[" * 60_000),
    "nothing received": answer(200, b'{"received": 0, "refused": []}'),
    "no word of refusals": answer(200, b'{"received": 1}'),
    "a truth for a number": answer(200, b'{"received": true, "refused": []}'),
    "another one refused": answer(
        200, b'{"received": 1, "refused": [{"index": 3, "reason": "range"}]}'
    ),
    "no content": answer(204),
    "accepted only": answer(202, b'{"received": 1, "refused": []}'),
}


@every(TROUBLES.values())
def test_the_same_bytes_are_sent_again_after_an_answer_that_cannot_be_relied_on(trouble):
    made = client()
    with peer(trouble, trouble, COUNTED) as met:
        assert made.send(met.url(), patience=QUICK) == 3
    assert met.bodies == [framed([report_of(made)])] * 3
    assert len(set(met.requests)) == 1


@every(HOLDS.values())
def test_the_same_bytes_are_sent_again_where_no_answer_comes_in_time(hold):
    made = client()
    with peer(hold, hold, COUNTED) as met:
        assert made.send(met.url(), patience=HASTY) >= 3
    assert len(met.bodies) >= 3 and set(met.bodies) == {framed([report_of(made)])}
    assert len(set(met.requests)) == 1


def test_a_new_client_sends_the_bytes_of_the_old_one_again():
    store = MemoryStore()
    with peer(answer(503, Retry_After="3600"), COUNTED) as met:
        Client(CAMPAIGN, store=store).encode(RECORD)
        with pytest.raises(TryLater):
            Client(CAMPAIGN, store=store).send(met.url(), patience=QUICK)
        Client(CAMPAIGN, store=store).encode({"city": "Rome", "smoker": False})
        Client(CAMPAIGN, store=store).send(met.url(), patience=QUICK)
    assert len(met.bodies) == 2 and len(set(met.bodies)) == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["dropped", "503", "507", "500", "body cut off", "a portal's page", "not HTTP"]
        ),
        max_size=6,
    )
)
def test_any_run_of_troubles_ends_in_one_report(names):
    made = client()
    with peer(*(TROUBLES[name] for name in names), COUNTED) as met:
        assert made.send(met.url(), patience=QUICK) == len(names) + 1
    assert met.bodies == [framed([report_of(made)])] * (len(names) + 1)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_of_a_peer_are_taken_for_an_acknowledgement(garbage):
    with peer(answer(200, garbage)) as met, pytest.raises(LopubRefusals):
        client().send(met.url(), patience=Patience(seconds=0.01, first_wait=0.001))


LopubRefusals = (TryLater, CollectorError, ReportRejected)

# ---- it gives up in time


@pytest.mark.parametrize(
    "name",
    [
        "dropped",
        "silent",
        "dripping",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("503", "408", "429", "huge")),
        pytest.param("a portal's page", marks=pytest.mark.full),
    ],
)
def test_all_attempts_together_end_in_time(name):
    with (
        in_time(),
        peer((TROUBLES | HOLDS)[name]) as met,
        pytest.raises(TryLater, match=r"127\.0\.0\.1: .*, after \d+ attempts?; try again later"),
    ):
        client().send(met.url(), patience=BRIEF)


def test_a_host_that_nobody_is_at_is_told_in_time():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/campaigns/{CAMPAIGN.id}"
        with pytest.raises(
            TryLater,
            match=r"no connection \(Connection refused\), after 1 attempt; try again later",
        ):
            client().send(url, patience=ONCE)


@every([503, 429])
def test_the_collectors_wish_for_patience_is_obeyed(status):
    waits = []
    with (
        peer(answer(status, Retry_After="1"), COUNTED) as met,
        pytest.MonkeyPatch.context() as patch,
    ):
        wait_by(patch, waits.append)
        assert client().send(met.url(), patience=QUICK) == 2
    assert len(waits) == 1 and waits[0] >= 1


@pytest.mark.usefixtures("unwaiting")
@every([507, 429])
def test_a_wish_for_more_patience_than_there_is_ends_at_once(status):
    with peer(answer(status, Retry_After="3600")) as met:
        with pytest.raises(
            TryLater, match=f"the collector answers {status}, after 1 attempt; try again later"
        ):
            client().send(met.url(), patience=QUICK)
        assert len(met.requests) == 1


def test_waits_double_up_to_the_longest_and_are_drawn():
    patience = Patience(first_wait=1, longest_wait=8)
    for n_attempts, limit in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (10_000, 8)]:
        waits = [patience.wait(n_attempts) for _ in range(200)]
        assert 0 <= min(waits) < limit / 4 and limit * 3 / 4 < max(waits) < limit


@every(
    product(
        ["seconds", "attempt", "first_wait", "longest_wait"], [0, -1, float("inf"), float("nan")]
    )
)
def test_patience_is_a_number_of_seconds(name, value):
    with pytest.raises(
        DomainError, match=f"{name} must be a number of seconds above 0, got {value}"
    ):
        Patience(**{name: value})


# ---- it takes a refusal for what it is


@every(list(Reason))
def test_a_refused_report_is_told_with_its_reason_after_one_attempt(reason):
    with peer(verdict(reason)) as met:
        with pytest.raises(
            ReportRejected, match=f'refuses the report \\({reason}\\): it says "a sentence"'
        ) as refusal:
            client().send(met.url(), patience=QUICK)
        assert refusal.value.reason is reason
        assert len(met.requests) == 1


def test_a_reason_of_a_newer_collector_is_a_refusal_all_the_same():
    with peer(verdict("moon")) as met:
        with pytest.raises(CollectorError, match="a reason that this program does not know"):
            client().send(met.url(), patience=QUICK)
        assert len(met.requests) == 1


@every([400, 401, 403, 404, 405, 407, 409, 410, 413, 415, 422, 424, 426, 428, 431, 499])
def test_a_refused_request_is_not_sent_again(status):
    problem = {
        "type": "urn:lopub:problem:closed",
        "title": "Closed",
        "detail": "the campaign is closed",
    }
    with peer(answer(status, json.dumps(problem).encode(), Retry_After="0")) as met:
        with pytest.raises(
            CollectorError, match=f'with {status} \\(closed\\): it says "the campaign is closed"'
        ) as refusal:
            client().send(met.url(), patience=QUICK)
        assert not isinstance(refusal.value, TryLater)
        assert len(met.requests) == 1


@every([301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with peer(COUNTED) as elsewhere, peer(answer(status, Location=elsewhere.url())) as met:
        with pytest.raises(CollectorError, match=f"answers {status}, which points elsewhere"):
            client().send(met.url(), patience=QUICK)
        assert (len(met.requests), len(elsewhere.requests)) == (1, 0)


def test_a_collectors_words_cannot_move_the_cursor_or_fill_the_screen():
    body = json.dumps({"type": "\x1b[2J", "detail": "\x1b[31mred\n" + "x" * 5000}).encode()
    with peer(answer(404, body)) as met, pytest.raises(CollectorError) as refusal:
        client().send(met.url())
    assert str(refusal.value).isprintable() and len(str(refusal.value)) < 300


@every([b"", b"no", b"[]", b'{"type": 3, "detail": 4}'])
def test_a_refusal_without_a_problem_document_is_told_by_its_status(body):
    with peer(answer(404, body)) as met, pytest.raises(CollectorError, match=r"with 404( \(3\))?$"):
        client().send(met.url())


def test_a_report_must_be_made_before_it_is_sent():
    with peer(COUNTED) as met:
        for verb in (Client.send, Client.withdraw):
            with pytest.raises(
                StoreError,
                match=r"no report is kept for campaign .* and this respondent; encode a record first",
            ):
                verb(Client(CAMPAIGN, store=MemoryStore()), met.url())
        assert met.requests == []


def test_no_error_has_an_answer_in_it():
    for trouble in (answer(404), answer(302), verdict("range"), dropped):
        with peer(trouble) as met, pytest.raises(LopubRefusals) as refusal:
            client().send(met.url(), patience=Patience(seconds=0.01))
        assert SENTINEL not in repr(refusal.value) and refusal.value.__cause__ is None


# ---- the address


ID = CAMPAIGN.id


@every(
    [
        f"https://collector.example/campaigns/{ID}",
        f"https://collector.example:8443/campaigns/{ID}/",
        f"https://collector.example/surveys/2026/campaigns/{ID}",
        f"https://[2001:db8::1]/campaigns/{ID}",
        f"http://127.0.0.1:8000/campaigns/{ID}",
        f"http://127.8.9.1/campaigns/{ID}",
        f"http://localhost:8000/campaigns/{ID}",
        f"http://[::1]:8000/campaigns/{ID}",
    ]
)
def test_an_address_names_its_campaign(url):
    address = Address.of(url)
    assert address.campaign_id == ID and address.path.endswith(f"/campaigns/{ID}")


@every(
    [
        "",
        "collector.example",
        f"ftp://collector.example/campaigns/{ID}",
        f"https://collector.example/campaigns/{ID[:-1]}",
        f"https://collector.example/campaigns/{ID.upper()}" if ID.upper() != ID else "",
        f"https://collector.example/campaigns/{ID}?person=ada",
        f"https://collector.example/campaigns/{ID}#ada",
        f"https://ada@collector.example/campaigns/{ID}",
        f"https://ada:secret@collector.example/campaigns/{ID}",
        f"https://collector.example/campaigns/{ID}/reports",
        f"https://collector.example:0/campaigns/{ID}",
        f"https://collector.example:65536/campaigns/{ID}",
        f"https://collector.example/a b/campaigns/{ID}",
        f"https://collector.example/\r\nX: y/campaigns/{ID}",
        f"https://collector.example/campaigns/{ID}\n",
        f"https:///campaigns/{ID}",
    ]
)
def test_what_is_no_address_of_a_campaign_is_refused(url):
    with pytest.raises(
        CampaignError, match="must look like https://host/campaigns/ and the 64 digits of its id"
    ):
        Address.of(url)


@every(
    [
        "collector.example",
        "localhost.example",
        "10.0.0.1",
        "0.0.0.0",
        "[fe80::1]",
        "128.0.0.1",
        "127.0.0.1.example",
    ]
)
def test_plain_http_is_refused_unless_it_is_wished_for_or_stays_on_this_machine(host):
    url = f"http://{host}/campaigns/{ID}"
    with pytest.raises(CampaignError, match="must begin with https://"):
        client().send(url)
    with pytest.raises(CampaignError, match="must begin with https://"):
        fetch_campaign(url)
    assert not Address.of(url, allow_plain_http=True).secure


def test_a_report_is_not_sent_to_another_campaign():
    with peer(COUNTED) as met:
        with pytest.raises(
            CampaignError,
            match=r"the address is that of campaign 0000000000000000…, this client answers",
        ):
            client().send(met.url().replace(ID, "0" * 64))
        assert met.requests == []


# ---- withdrawing


def test_withdrawing_tells_the_reports_id_alone():
    made = client()
    with peer(answer(503), answer(204)) as met:
        assert made.withdraw(met.url(), patience=QUICK) == 2
    report = made.kept()
    assert report is not None
    padded = json.loads(met.bodies[0])["id"] + "=="
    assert base64.urlsafe_b64decode(padded) == report.id
    assert len(set(met.requests)) == 1
    assert met.requests[0].startswith(b"POST /campaigns/%s/withdrawals HTTP/1.1\r\n" % ID.encode())
    assert b"Content-Type: application/json\r\n" in met.requests[0]


def test_a_withdrawn_report_stays_kept_so_that_no_second_one_is_drawn():
    made = client()
    before = report_of(made)
    with peer(answer(204)) as met:
        made.withdraw(met.url())
    assert made.encode(RECORD).to_bytes() == before


@pytest.mark.parametrize("lasts", [False, True])
def test_what_was_withdrawn_is_not_sent_again_by_this_program_or_the_next(tmp_path, lasts):
    store = FileStore(tmp_path / "reports") if lasts else MemoryStore()
    made = Client(CAMPAIGN, store=store)
    before = made.encode(RECORD).to_bytes()
    spent = made.spent()
    with peer(answer(204)) as met:
        made.withdraw(met.url())
        for each in (
            made,
            Client(CAMPAIGN, store=FileStore(tmp_path / "reports") if lasts else store),
        ):
            assert (each.waiting(), each.send(met.url()), each.spent()) == ((), 0, spent)
            assert report_of(each) == before and not each.needs_record
        assert len(met.requests) == 1
    other = Client(CAMPAIGN, store=store, respondent="other")
    assert (other.encode(RECORD),) == other.waiting()


def test_a_withdrawal_that_did_not_arrive_is_not_remembered():
    made = client()
    with peer(answer(503)) as met, pytest.raises(TryLater):
        made.withdraw(met.url(), patience=replace(QUICK, seconds=0.2))
    assert len(made.waiting()) == 1


def test_a_report_that_was_withdrawn_elsewhere_is_refused_once_and_not_sent_again():
    made = client()
    verdict = b'{"received": 1, "refused": [{"index": 0, "reason": "withdrawn", "detail": "x"}]}'
    with peer(answer(200, verdict)) as met:
        with pytest.raises(ReportRejected, match="withdrawn"):
            made.send(met.url())
        assert (made.send(met.url()), len(met.requests)) == (0, 1)


def test_the_note_of_a_withdrawal_survives_a_crash_and_keeps_the_store_private(
    tmp_path, monkeypatch
):
    made = Client(CAMPAIGN, store=FileStore(tmp_path))
    made.encode(RECORD)
    with peer(answer(204)) as met, monkeypatch.context() as crash:
        crash.setattr("lopub.client.keeping.FileStore._finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            made.withdraw(met.url())
    assert Client(CAMPAIGN, store=FileStore(tmp_path)).waiting() == ()
    [note] = tmp_path.glob("*.withdrawn")
    assert (note.stat().st_mode & 0o777, int(note.stat().st_mtime)) == (0o600, NO_TIME)
    tmp_path.chmod(0o755)
    assert (
        Client(CAMPAIGN, store=FileStore(tmp_path)).waiting() == ()
    )  # the note is a file of the store, and no stranger's
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_report_after_a_loss_is_not_taken_for_the_one_that_was_withdrawn(tmp_path):
    made = Client(CAMPAIGN, store=FileStore(tmp_path))
    made.encode(RECORD)
    with peer(answer(204)) as met:
        made.withdraw(met.url())
    [report] = [path for path in tmp_path.iterdir() if len(path.name) == 64]
    report.unlink()
    assert made.waiting() == ()
    assert (made.encode(RECORD),) == made.waiting()


def test_a_closed_campaign_takes_no_withdrawal():
    problem = b'{"type": "urn:lopub:problem:closed", "detail": "it was closed"}'
    with (
        peer(answer(409, problem)) as met,
        pytest.raises(CollectorError, match=r'409 \(closed\): it says "it was closed"'),
    ):
        client().withdraw(met.url())


# ---- fetching a campaign


def test_a_fetched_campaign_is_the_one_that_the_address_names():
    with peer(dropped, answer(200, CAMPAIGN.canonical_bytes)) as met:
        assert fetch_campaign(met.url(), patience=QUICK).id == ID
    assert met.requests[0].startswith(b"GET /campaigns/%s HTTP/1.1\r\n" % ID.encode())


def test_another_campaign_at_the_address_is_refused():
    other = make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(epsilon=20))
    with peer(answer(200, other.canonical_bytes)) as met:
        with pytest.raises(
            CampaignError, match="its bytes were changed, or it is another campaign"
        ):
            fetch_campaign(met.url())
        assert len(met.requests) == 1


def test_an_unknown_campaign_is_told():
    body = b'{"type": "urn:lopub:problem:unknown-campaign", "title": "Unknown campaign"}'
    with (
        peer(answer(404, body)) as met,
        pytest.raises(
            CollectorError,
            match=r'refuses this request with 404 \(unknown-campaign\): it says "Unknown campaign"',
        ),
    ):
        fetch_campaign(met.url())


# ---- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of localhost, signed by itself; key and certificate in one file."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    command += [
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        "-",
        "-out",
        "-",
    ]
    try:
        path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl")
    return path


@pytest.fixture
def secure(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


def test_a_trusted_certificate_is_good_enough(secure, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    made = client()
    with peer(dropped, COUNTED, context=secure) as met:
        assert made.send(met.url(host="localhost", scheme="https"), patience=QUICK) == 2
    assert met.bodies == [framed([report_of(made)])] * 2


@pytest.mark.usefixtures("unwaiting")
def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(secure):
    with peer(COUNTED, context=secure) as met:
        with pytest.raises(CollectorError, match="the certificate of localhost is not trusted"):
            client().send(met.url(host="localhost", scheme="https"), patience=QUICK)
        assert met.requests == []


def test_a_certificate_of_another_host_is_refused(secure, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with peer(COUNTED, context=secure) as met:
        with pytest.raises(CollectorError, match=r"the certificate of 127\.0\.0\.1 is not trusted"):
            client().send(met.url(scheme="https"), patience=QUICK)
        assert met.requests == []


def test_a_slow_handshake_ends_in_time():
    """The peer speaks no TLS and says nothing."""
    with in_time(), peer(silent) as met, pytest.raises(TryLater):
        client().send(met.url(host="localhost", scheme="https"), patience=BRIEF)


def test_a_proxy_that_drips_its_answer_cannot_hold_the_client(monkeypatch):
    """The timeout of a socket begins anew with each byte, so that a byte every second would hold a client for good."""
    with in_time(), peer(dripping(b"HTTP/1.1 200 Connected\r\nX-Slow: ")) as met:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TryLater, match="no answer in time"):
            client().send(f"https://localhost:4433/campaigns/{ID}", patience=BRIEF)


def test_a_handshake_that_drips_cannot_hold_the_client():
    hello = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03"
    with in_time(), peer(dripping(hello)) as met, pytest.raises(TryLater):
        client().send(met.url(host="localhost", scheme="https"), patience=BRIEF)


def test_a_search_for_the_host_that_does_not_end_cannot_hold_the_client(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(
        "socket.getaddrinfo", lambda *arguments, **options: list(range(not ended.wait(HELD)))
    )
    try:
        with in_time(), pytest.raises(TryLater, match=r"collector\.example: no answer in time"):
            client().send(f"https://collector.example/campaigns/{ID}", patience=BRIEF)
    finally:
        ended.set()


def test_an_address_that_nobody_answers_at_leaves_time_for_the_next(monkeypatch):
    """A host with an unreachable first address is reached at its second, within one attempt."""
    made, real, deaf, waits = client(), socket.getaddrinfo, ("127.0.0.1", 1), []

    class Dialling(socket.socket):
        def connect(self, target: tuple[str, int]) -> None:
            if target == deaf:
                waits.append(self.gettimeout())
                raise TimeoutError
            super().connect(target)

    def both(*arguments: object, **options: object) -> list[object]:
        return [
            *real(*deaf, type=socket.SOCK_STREAM),
            *real("127.0.0.1", met.port, type=socket.SOCK_STREAM),
        ]

    with peer(COUNTED) as met:
        monkeypatch.setattr("socket.getaddrinfo", both)
        monkeypatch.setattr("socket.socket", Dialling)
        assert made.send(met.url(host="localhost"), patience=QUICK) == 1
    assert len(waits) == 1 and 0 < waits[0] <= QUICK.attempt / 2


def test_a_name_that_no_host_can_have_is_told():
    url = f"https://{'a' * 70}.example/campaigns/{ID}"
    with pytest.raises(TryLater, match=r"no connection \(not the name of a host\)"):
        client().send(url, patience=ONCE)


def test_a_proxy_that_refuses_is_told(monkeypatch):
    with peer(answer(407)) as met:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TryLater, match="localhost: the proxy answers 407"):
            client().send(f"https://localhost:4433/campaigns/{ID}", patience=ONCE)


@every(
    [
        ("https://collector.example", "collector.example"),
        ("https://collector.example:443", "collector.example"),
        ("https://collector.example:80", "collector.example:80"),
        ("https://[2001:db8::1]:8443", "[2001:db8::1]:8443"),
        ("http://localhost", "localhost"),
        ("http://localhost:443", "localhost:443"),
    ]
)
def test_a_request_names_the_host_as_the_address_does(url, header):
    assert Address.of(f"{url}/campaigns/{ID}").host_header == header


def test_a_proxy_sees_the_host_alone(secure, certificate, monkeypatch):
    """CONNECT, then TLS with the collector itself inside."""

    def tunnel(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        with secure.wrap_socket(sock, server_side=True) as inner:
            inside.append(received(inner))
            COUNTED(inner)

    inside: list[bytes] = []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    made = client()
    with peer(tunnel) as met:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        assert made.send(f"https://localhost:4433/campaigns/{ID}", patience=QUICK) == 1
    assert met.requests[0].startswith(b"CONNECT localhost:4433 HTTP/1")
    assert ID.encode() not in met.requests[0]
    assert inside[0].endswith(framed([report_of(made)]))
