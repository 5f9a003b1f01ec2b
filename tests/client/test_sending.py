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
    Reason,
    ReportRejected,
    StoreError,
    Terms,
    TryLater,
    fetch_campaign,
    make_campaign,
)
from lopub.campaign.report import framed
from lopub.client import sending
from lopub.client.address import Address
from lopub.client.rows import Fate
from lopub.client.sending import wait_after

SENTINEL = "Kaluza-Klein-7f3a9c"
DOMAIN = Domain(
    (Categorical(name="city", values=(SENTINEL, "Oslo", "Rome")), Boolean(name="smoker"))
)
RECORD = {"city": SENTINEL, "smoker": True}
CAMPAIGN = make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(epsilon=2))
QUICK = {"patience": 60, "timeout": 60}
"""Time for an attempt that no load of the machine uses up: how many there are is the peer's doing alone."""
HASTY = {"patience": 60, "timeout": 0.5}
"""Attempts that end although the peer holds them; one that a loaded machine ends is one more."""
BRIEF = {"patience": 0.4, "timeout": 0.2}
ONCE = {"patience": 10, "timeout": 10}
"""With the fixture `once`, one attempt with time enough; the last of many may have none left to find out what is wrong."""

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


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 0.01)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second attempt would come too late."""
    monkeypatch.setattr(sending, "FIRST_WAIT", 1e12)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 1e12)


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
        assert made.send(met.url(), **QUICK) == 3
    assert met.bodies == [framed([report_of(made)])] * 3
    assert len(set(met.requests)) == 1


@every(HOLDS.values())
def test_the_same_bytes_are_sent_again_where_no_answer_comes_in_time(hold):
    made = client()
    with peer(hold, hold, COUNTED) as met:
        assert made.send(met.url(), **HASTY) >= 3
    assert len(met.bodies) >= 3 and set(met.bodies) == {framed([report_of(made)])}
    assert len(set(met.requests)) == 1


def test_a_new_client_sends_the_bytes_of_the_old_one_again():
    store = MemoryStore()
    with peer(answer(503, Retry_After="3600"), COUNTED) as met:
        Client(CAMPAIGN, store=store).encode(RECORD)
        with pytest.raises(TryLater):
            Client(CAMPAIGN, store=store).send(met.url(), **QUICK)
        Client(CAMPAIGN, store=store).encode({"city": "Rome", "smoker": False})
        Client(CAMPAIGN, store=store).send(met.url(), **QUICK)
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
        assert made.send(met.url(), **QUICK) == len(names) + 1
    assert met.bodies == [framed([report_of(made)])] * (len(names) + 1)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_of_a_peer_are_taken_for_an_acknowledgement(garbage):
    with peer(answer(200, garbage)) as met, pytest.raises(LopubRefusals):
        client().send(met.url(), patience=0.01)


LopubRefusals = (TryLater, CollectorError, ReportRejected)


def test_an_answer_that_the_deadline_cuts_off_is_not_taken_for_one_that_ended():
    """Without a length, an answer ends where the connection does: also where the client itself has shut it."""

    def endless(sock: socket.socket) -> None:
        sock.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"received": 1, "refused": []}')
        silent(sock)

    made = client()
    with peer(endless) as met, pytest.raises(TryLater, match="no answer in time"):
        made.send(met.url(), patience=1, timeout=0.3)
    assert len(made.waiting()) == 1


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
        client().send(met.url(), **BRIEF)


def test_a_host_that_nobody_is_at_is_told_in_time(once):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/campaigns/{CAMPAIGN.id}"
        with pytest.raises(
            TryLater,
            match=r"no connection \(Connection refused\), after 1 attempt; try again later",
        ):
            client().send(url, **ONCE)


@every([503, 429])
def test_the_collectors_wish_for_patience_is_obeyed(status):
    waits = []
    with (
        peer(answer(status, Retry_After="1"), COUNTED) as met,
        pytest.MonkeyPatch.context() as patch,
    ):
        wait_by(patch, waits.append)
        assert client().send(met.url(), **QUICK) == 2
    assert len(waits) == 1 and waits[0] >= 1


@pytest.mark.usefixtures("unwaiting")
@every([507, 429])
def test_a_wish_for_more_patience_than_there_is_ends_at_once(status):
    with peer(answer(status, Retry_After="3600")) as met:
        with pytest.raises(
            TryLater, match=f"the collector answers {status}, after 1 attempt; try again later"
        ):
            client().send(met.url(), **QUICK)
        assert len(met.requests) == 1


def test_waits_double_up_to_the_longest_and_are_drawn(monkeypatch):
    monkeypatch.setattr(sending, "FIRST_WAIT", 1)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 8)
    for n_attempts, limit in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (10_000, 8)]:
        waits = [wait_after(n_attempts) for _ in range(200)]
        assert 0 <= min(waits) < limit / 4 and limit * 3 / 4 < max(waits) < limit


@every(product(["patience", "timeout"], [0, -1, float("inf"), float("nan"), True]))
def test_patience_is_a_number_of_seconds(name, value):
    message = f"{name} must be a number of seconds above 0, got {value}"
    with pytest.raises(DomainError, match=message):
        client().send("http://localhost/campaigns/" + ID, **{name: value})


def test_seconds_in_all_and_of_one_exchange_are_plain_numbers():
    with in_time(), peer(silent) as met, pytest.raises(TryLater, match="no answer in time"):
        client().send(met.url(), timeout=0.1, patience=0.3)
    assert len(met.requests) >= 2


def test_all_reports_of_a_send_share_its_seconds(monkeypatch):
    """Else a device that was away for ten rounds would wait ten times as long."""
    ends = []
    monkeypatch.setattr(
        "lopub.client.client.send_report",
        lambda report, address, time_left: ends.append(time_left) or 1,
    )
    made = client()
    monkeypatch.setattr(Client, "waiting", lambda self: self.reports() * 3)
    made.send("http://localhost/campaigns/" + ID)
    assert len(ends) == 3 and len(set(ends)) == 1


# ---- it takes a refusal for what it is


@every(list(Reason))
def test_a_refused_report_is_told_with_its_reason_after_one_attempt(reason):
    with peer(verdict(reason)) as met:
        with pytest.raises(
            ReportRejected, match=f'refuses the report \\({reason}\\): it says "a sentence"'
        ) as refusal:
            client().send(met.url(), **QUICK)
        assert refusal.value.reason is reason
        assert len(met.requests) == 1


def test_a_reason_of_a_newer_collector_is_a_refusal_all_the_same():
    with peer(verdict("moon")) as met:
        with pytest.raises(CollectorError, match="a reason that this program does not know"):
            client().send(met.url(), **QUICK)
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
            client().send(met.url(), **QUICK)
        assert not isinstance(refusal.value, TryLater)
        assert len(met.requests) == 1


@every([301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with peer(COUNTED) as elsewhere, peer(answer(status, Location=elsewhere.url())) as met:
        with pytest.raises(CollectorError, match=f"answers {status}, which points elsewhere"):
            client().send(met.url(), **QUICK)
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
                match=r"no report is kept for campaign .* and this respondent; make one first",
            ):
                verb(Client(CAMPAIGN, store=MemoryStore()), met.url())
        assert met.requests == []


def test_no_error_has_an_answer_in_it():
    for trouble in (answer(404), answer(302), verdict("range"), dropped):
        with peer(trouble) as met, pytest.raises(LopubRefusals) as refusal:
            client().send(met.url(), patience=0.01)
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
    """A wrong id shows where it differs: two ids that begin alike are easily taken for one."""
    for at in (0, 40, 63):
        other = ID[:at] + ("0" if ID[at] != "0" else "1") + ID[at + 1 :]
        with peer(COUNTED) as met:
            with pytest.raises(CampaignError, match=f"differ from digit {at + 1} on, …") as refusal:
                client().send(met.url().replace(ID, other))
            assert met.requests == []
        near = slice(max(0, at - 4), at + 8)
        assert ID[near] in str(refusal.value) and other[near] in str(refusal.value)


# ---- withdrawing


def test_withdrawing_tells_the_reports_id_alone():
    made = client()
    with peer(answer(503), answer(204)) as met:
        assert made.withdraw(met.url(), **QUICK) == 2
    report = made.kept()
    assert report is not None
    padded = json.loads(met.bodies[0])["id"] + "=="
    assert base64.urlsafe_b64decode(padded) == report.id
    assert len(set(met.requests)) == 1
    assert met.requests[0].startswith(b"POST /campaigns/%s/withdrawals HTTP/1.1\r\n" % ID.encode())
    assert b"Content-Type: application/json\r\n" in met.requests[0]


@pytest.mark.parametrize(
    "told",
    [answer(200, b"<html>maintenance</html>"), answer(200), answer(200, b'{"received": 1}')],
)
def test_only_204_confirms_a_withdrawal(told):
    """Forbids to take the page of some proxy for the collector's word."""
    made = client()
    report_of(made)
    with peer(told, answer(204)) as met:
        assert made.withdraw(met.url(), **QUICK) == 2
    assert made.fate is Fate.WITHDRAWN


@pytest.mark.parametrize("body", [b'{"refused": []}', b'{"refused": [], "received": 1}', b"{}"])
def test_a_422_confirms_neither_a_withdrawal_nor_a_report(body):
    made = client()
    report_of(made)
    with peer(answer(422, body), answer(422, body)) as met:
        with pytest.raises(CollectorError):
            made.withdraw(met.url(), **QUICK)
        with pytest.raises(CollectorError):
            made.send(met.url(), **QUICK)
    assert made.fate is Fate.WAITING


def test_an_answer_that_comes_late_does_not_undo_a_withdrawal():
    made = client()
    report_of(made)
    late = made.kept()
    with peer(answer(204)) as met:
        made.withdraw(met.url(), **QUICK)
    made._note(late, Fate.SENT)  # the answer to a request that was under way before
    assert (made.fate, made.sent()) == (Fate.WITHDRAWN, ())


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
        made.withdraw(met.url(), patience=0.2)
    assert len(made.waiting()) == 1


def test_a_report_that_was_withdrawn_elsewhere_is_refused_once_and_not_sent_again():
    made = client()
    verdict = b'{"received": 1, "refused": [{"index": 0, "reason": "withdrawn", "detail": "x"}]}'
    with peer(answer(200, verdict)) as met:
        with pytest.raises(ReportRejected, match="withdrawn"):
            made.send(met.url())
        assert (made.send(met.url()), len(met.requests)) == (0, 1)


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
        assert fetch_campaign(met.url(), **QUICK).id == ID
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
        assert made.send(met.url(host="localhost", scheme="https"), **QUICK) == 2
    assert met.bodies == [framed([report_of(made)])] * 2


@pytest.mark.usefixtures("unwaiting")
def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(secure):
    with peer(COUNTED, context=secure) as met:
        with pytest.raises(CollectorError, match="the certificate of localhost is not trusted"):
            client().send(met.url(host="localhost", scheme="https"), **QUICK)
        assert met.requests == []


def test_a_certificate_of_another_host_is_refused(secure, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with peer(COUNTED, context=secure) as met:
        with pytest.raises(CollectorError, match=r"the certificate of 127\.0\.0\.1 is not trusted"):
            client().send(met.url(scheme="https"), **QUICK)
        assert met.requests == []


def test_a_slow_handshake_ends_in_time():
    """The peer speaks no TLS and says nothing."""
    with in_time(), peer(silent) as met, pytest.raises(TryLater):
        client().send(met.url(host="localhost", scheme="https"), **BRIEF)


def test_a_proxy_that_drips_its_answer_cannot_hold_the_client(monkeypatch):
    """The timeout of a socket begins anew with each byte, so that a byte every second would hold a client for good."""
    with in_time(), peer(dripping(b"HTTP/1.1 200 Connected\r\nX-Slow: ")) as met:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TryLater, match="no answer in time"):
            client().send(f"https://localhost:4433/campaigns/{ID}", **BRIEF)


def test_a_handshake_that_drips_cannot_hold_the_client():
    hello = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03"
    with in_time(), peer(dripping(hello)) as met, pytest.raises(TryLater):
        client().send(met.url(host="localhost", scheme="https"), **BRIEF)


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
        assert made.send(met.url(host="localhost"), **QUICK) == 1
    assert len(waits) == 1 and 0 < waits[0] <= QUICK["timeout"] / 2


def test_a_name_that_no_host_can_have_is_told(once):
    url = f"https://{'a' * 70}.example/campaigns/{ID}"
    with pytest.raises(TryLater, match=r"no connection \(not the name of a host\)"):
        client().send(url, **ONCE)


def test_a_proxy_that_refuses_is_told(monkeypatch, once):
    with peer(answer(407)) as met:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TryLater, match="localhost: the proxy answers 407"):
            client().send(f"https://localhost:4433/campaigns/{ID}", **ONCE)


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
        assert made.send(f"https://localhost:4433/campaigns/{ID}", **QUICK) == 1
    assert met.requests[0].startswith(b"CONNECT localhost:4433 HTTP/1")
    assert ID.encode() not in met.requests[0]
    assert inside[0].endswith(framed([report_of(made)]))


# ---- proxies by other names


@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy"])
def test_a_proxy_for_everything_is_not_gone_past(name, monkeypatch, once):
    """The standard library alone knows no handler of it, and dials the collector itself."""
    for other in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(other, raising=False)
    with peer(COUNTED) as direct, peer(answer(502)) as met:
        monkeypatch.setenv(name, f"http://127.0.0.1:{met.port}")
        with pytest.raises(TryLater, match="the proxy answers 502"):
            client().send(direct.url(host="localhost", scheme="https"), **ONCE)
        assert met.requests[0].startswith(b"CONNECT localhost:") and direct.requests == []


@pytest.mark.parametrize("kind", ["socks5", "socks5h", "socks4"])
def test_a_proxy_that_speaks_something_else_is_refused_in_a_sentence(kind, monkeypatch):
    monkeypatch.delenv("https_proxy", raising=False)
    with peer(COUNTED) as direct:
        monkeypatch.setenv("ALL_PROXY", f"{kind}://127.0.0.1:1080")
        with pytest.raises(CollectorError, match=f"localhost speaks {kind}, which this program"):
            client().send(direct.url(host="localhost", scheme="https"), **QUICK)
        assert direct.requests == []


def test_a_host_that_is_excepted_from_proxies_is_dialled_directly(secure, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "localhost")
    with peer(COUNTED, context=secure) as met:
        assert client().send(met.url(host="localhost", scheme="https"), **QUICK) == 1


def test_a_proxy_is_given_the_name_and_password_that_its_address_has(monkeypatch):
    with peer(answer(502)) as met:
        monkeypatch.setenv("https_proxy", f"http://ada:s%20cret@127.0.0.1:{met.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TryLater):
            client().send(f"https://localhost:4433/campaigns/{ID}", patience=0.5)
    words = base64.b64encode(b"ada:s cret")
    assert b"Proxy-Authorization: Basic " + words + b"\r\n" in met.requests[0]


# ---- consent is the irrevocable step


def test_a_contribution_is_made_kept_sent_and_not_handed_out():
    made = Client(CAMPAIGN, store=MemoryStore())
    with peer(COUNTED) as met:
        outcome = made.contribute(RECORD, met.url(), **QUICK)
    assert (outcome.fate, outcome.why, outcome.reason) == ("sent", "", None)
    (report,) = made.sent()
    assert met.bodies == [framed([report.to_bytes()])] and made.waiting() == ()


def test_a_contribution_that_cannot_be_sent_waits_and_goes_out_as_the_same_bytes():
    made = Client(CAMPAIGN, store=MemoryStore())
    with peer(answer(503, Retry_After="3600"), COUNTED) as met:
        outcome = made.contribute(RECORD, met.url(), **QUICK)
        assert outcome.fate == "waiting" and "the collector answers 503" in outcome.why
        assert made.sent() == ()
        assert made.contribute({"city": "Rome", "smoker": False}, met.url()).fate == "sent"
    assert len(set(met.bodies)) == 1 and len(met.bodies) == 2


def test_a_contribution_is_charged_and_drawn_before_anything_is_sent_and_only_then(monkeypatch):
    """Nobody can go back behind consent: what was agreed to is charged, even where the collector never answers."""
    store = MemoryStore()
    made = Client(CAMPAIGN, store=store)
    drawn = []

    def asked(report, *_):
        drawn.append((report, made.spent(), made.kept().to_bytes()))
        raise TryLater("no answer")

    monkeypatch.setattr("lopub.client.client.send_report", asked)
    outcome = made.contribute(RECORD, f"http://localhost/campaigns/{ID}")
    assert outcome.fate == "waiting" and drawn == [(drawn[0][0], CAMPAIGN.loss, drawn[0][0])]


@every([verdict("slot"), verdict("conflict"), verdict("range")])
def test_a_contribution_that_is_refused_tells_the_reason(refusal):
    made = Client(CAMPAIGN, store=MemoryStore())
    with peer(refusal) as met:
        outcome = made.contribute(RECORD, met.url(), **QUICK)
        assert outcome.fate == "refused" and outcome.reason in list(Reason)
        assert "the collector refuses the report" in outcome.why
        assert made.send(met.url()) == 0 and len(met.requests) == 1


@every([422, 200])
def test_a_request_of_which_every_report_was_refused_tells_the_reason(status):
    body = {"type": "urn:lopub:problem:refused", "status": 422, "title": "Refused"}
    body |= {"received": 1, "refused": [{"index": 0, "reason": "range", "detail": "x"}]}
    with peer(answer(status, json.dumps(body).encode())) as met:
        outcome = Client(CAMPAIGN, store=MemoryStore()).contribute(RECORD, met.url())
    assert (outcome.fate, outcome.reason) == ("refused", Reason.RANGE)


def test_a_closed_campaign_leaves_a_contribution_waiting_with_the_collectors_words():
    with peer(
        answer(409, b'{"type": "urn:lopub:problem:closed", "detail": "it was closed"}')
    ) as met:
        outcome = Client(CAMPAIGN, store=MemoryStore()).contribute(RECORD, met.url(), **QUICK)
    assert outcome.fate == "waiting" and "it was closed" in outcome.why


def test_an_address_of_another_campaign_is_refused_before_anything_is_drawn():
    made = Client(CAMPAIGN, store=MemoryStore())
    for url in ("nonsense", f"https://collector.example/campaigns/{'0' * 64}"):
        with pytest.raises(CampaignError):
            made.contribute(RECORD, url)
    assert made.reports() == () and made.spent() == 0


def test_what_is_cancelled_unseen_stays_charged_and_is_neither_sent_nor_drawn_again(tmp_path):
    store = FileStore(tmp_path / "kept")
    made = Client(CAMPAIGN, store=store)
    with peer(answer(503, Retry_After="3600"), COUNTED) as met:
        made.contribute(RECORD, met.url(), **QUICK)
        (report,) = made.waiting()
        assert (made.cancel(), made.cancel()) == (1, 0)
        for each in (made, Client(CAMPAIGN, store=FileStore(tmp_path / "kept"))):
            assert (each.waiting(), each.sent(), each.send(met.url())) == ((), (), 0)
            outcome = each.contribute(RECORD, met.url())
            assert outcome.fate == "cancelled" and "no second one is made" in outcome.why
            with pytest.raises(CampaignError, match="this report was cancelled: it is not sent"):
                each.encode(RECORD)
            assert (each.spent(), each.reports()) == (CAMPAIGN.loss, (report,))
            assert each.due() is None and not each.needs_record
        assert len(met.requests) == 1


def test_what_was_sent_is_not_cancelled():
    made = client()
    with peer(COUNTED) as met:
        made.send(met.url())
    assert made.cancel() == 0 and made.sent() == made.reports()


def test_no_outcome_report_or_client_shows_the_content_of_a_report():
    made = Client(CAMPAIGN, store=MemoryStore())
    with peer(COUNTED) as met:
        outcome = made.contribute(RECORD, met.url())
    (report,) = made.sent()
    shown = f"{outcome!r} {outcome} {report!r} {report} {made!r} {made} {made._store!r}"
    assert report.id.hex() not in shown and repr(report.payload) not in shown
    assert "payload=" not in shown and "mask=" not in shown


def test_what_waits_is_not_among_what_may_be_shown():
    made = client()
    assert made.sent() == () and len(made.waiting()) == 1
