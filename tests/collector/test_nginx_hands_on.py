"""What nginx hands on to a collector and a console, as seen by a server that only listens."""

import http.server
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

import load
from lopub.collector.problems import Kind
from proxies import DEPLOY, Nginx, running_nginx

PATH = "/campaigns/x/reports"
SECRETS = {
    "User_Agent": "canary-agent",
    "Cookie": "canary-cookie",
    "Referer": "https://canary.example",
    "X_Forwarded_For": "203.0.113.7",
    "X_Real_IP": "203.0.113.7",
    "Forwarded": "for=203.0.113.7",
    "Via": "canary-via",
    "Accept_Language": "canary-language",
    "DNT": "1",
    "X_Canary": "canary",
}
"""What senders say about themselves."""
HANDED_ON = {
    "host",
    "content-type",
    "content-length",
    "content-encoding",
    "authorization",
    "origin",
    "accept-encoding",
    "access-control-request-method",
    "access-control-request-headers",
    "if-none-match",
}
"""What a collector needs."""


@dataclass
class Listener:
    """A server that takes every request, and remembers what it was told."""

    port: int = 0
    n_connections: int = 0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Until then, requests for /held are not answered."""

    def wait_for(self, n: int) -> None:
        """Wait until so many requests have come."""
        until = time.monotonic() + 60
        while len(self.requests) < n:
            assert time.monotonic() < until, self.requests
            time.sleep(0.01)


@pytest.fixture(scope="module")
def listening() -> Iterator[Listener]:
    """A listener for all tests of this file."""
    listener = Listener()
    server = _Server(("127.0.0.1", 0), _handler(listener))
    listener.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield listener
    server.shutdown()
    server.server_close()


@pytest.fixture
def listener(listening: Listener) -> Listener:
    """The listener, which has heard nothing yet."""
    listening.requests.clear()
    return listening


@pytest.fixture(scope="module")
def nginx(listening: Listener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """nginx, with the listener as its collector and as its console."""
    directory = tmp_path_factory.mktemp("nginx")
    with running_nginx(directory, listening.port, console_upstream=listening.port) as running:
        yield running


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


def _handler(listener: Listener) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            listener.n_connections += 1

        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            listener.requests.append((self.path, headers, body))
            if self.path == "/held":
                listener.released.wait(60)
            status = 503 if self.path == "/busy" else 200
            self.send_response(status)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = do_PUT = do_OPTIONS = _take  # noqa: N815 - as the library asks

        def log_message(self, format: str, *arguments: object) -> None:
            """Log nothing."""

    return Handler


def test_nothing_about_senders_is_handed_to_the_collector(nginx: Nginx, listener: Listener):
    asked = {
        "Content_Type": "application/json",
        "Origin": "https://town.example",
        "Authorization": "Bearer x",
        "Content_Encoding": "gzip",
        "Access_Control_Request_Method": "POST",
        "Access_Control_Request_Headers": "content-type",
        "If_None_Match": "x",
    }
    nginx.ask("POST", PATH, b"x", **SECRETS, **asked)
    nginx.ask("GET", "/c/x", **SECRETS)
    (_, headers, body), (_, fewer, _) = listener.requests
    assert (set(headers), body) == (HANDED_ON, b"x")
    assert set(fewer) == {"host", "accept-encoding"}


def test_the_console_is_told_its_own_address_and_no_senders(nginx: Nginx, listener: Listener):
    """Forms are taken from that host and scheme only."""
    nginx.ask("POST", "/console/x", b"x", console=True, **SECRETS)
    (_, headers, _) = listener.requests[0]
    assert headers["host"] == f"localhost:{nginx.console_port}"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["cookie"] == SECRETS["Cookie"]
    assert not {"x-forwarded-for", "x-real-ip", "forwarded"} & set(headers)


def test_connections_to_the_collector_are_kept(nginx: Nginx, listener: Listener):
    before = listener.n_connections
    for _ in range(20):
        assert nginx.ask("POST", PATH, b"x").status == 200
    assert listener.n_connections - before <= 1


def test_a_body_reaches_the_collector_when_it_is_whole(nginx: Nginx, listener: Listener):
    with nginx.connect() as connection:
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
        connection.sendall(head.encode() + b"abc")
        assert nginx.ask("GET", "/other").status == 200
        assert [path for path, _, _ in listener.requests] == ["/other"]
        connection.sendall(b"d")
        listener.wait_for(2)
    assert listener.requests[1][2] == b"abcd"


def test_a_report_whose_sender_is_gone_reaches_the_collector(nginx: Nginx, listener: Listener):
    with nginx.connect() as connection:
        request = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd"
        connection.sendall(request.encode())
    listener.wait_for(1)
    assert listener.requests[0][2] == b"abcd"


def test_a_refusal_by_the_collector_passes_as_it_is(nginx: Nginx, listener: Listener):
    answer = nginx.ask("GET", "/busy")
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (503, b"{}", "1")


def test_large_bodies_are_few_at_a_time(nginx: Nginx, listener: Listener):
    """Campaigns may have 4 MiB: so only sixteen of them hold memory, and those who ask for a campaign are not counted."""
    head = b"PUT /campaigns/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n"
    head += b"Authorization: Bearer x\r\n\r\nx"
    held = [nginx.connect() for _ in range(16)]
    try:
        for connection in held:
            connection.sendall(head)
        answer = _refused_at_last(nginx)
        assert answer == ("urn:lopub:problem:busy", "1", "*")
        assert nginx.ask("GET", "/campaigns/x").status == 200
        assert nginx.ask("POST", PATH, b"x").status == 200
    finally:
        for connection in held:
            connection.close()


@pytest.mark.parametrize("method", ["PUT", "POST", "GET"])
def test_large_bodies_without_a_token_take_no_place(nginx: Nginx, listener: Listener, method: str):
    """Forbids to read such a body first: sixteen strangers would keep stewards from opening
    campaigns."""
    head = f"{method} /campaigns/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\nx"
    held = [nginx.connect() for _ in range(17)]
    try:
        for connection in held:
            connection.sendall(head.encode())
        for connection in held:
            status, body = load.answer_from(connection)
            assert (status, json.loads(body)["type"]) == (401, Kind.UNAUTHORIZED.urn)
        answer = nginx.ask("PUT", "/campaigns/x", b"x", Authorization="Bearer x")
        assert answer.status == 200
    finally:
        for connection in held:
            connection.close()


def _refused_at_last(nginx: Nginx) -> tuple[str, str, str]:
    """Ask until nginx has read the heads of all others, and refuses."""
    until = time.monotonic() + 60
    while True:
        answer = nginx.ask("PUT", "/campaigns/x", b"x", Authorization="Bearer x")
        if answer.status == 503:
            headers = answer.headers
            return (
                answer.json["type"],
                headers["retry-after"],
                headers["access-control-allow-origin"],
            )
        assert time.monotonic() < until


@pytest.mark.parametrize(("method", "place"), [("POST", 0), ("GET", 1)])
def test_a_collector_is_given_so_many_requests_at_a_time(
    nginx: Nginx, listener: Listener, method: str, place: int
):
    """Without a bound, thousands wait for it, and honest senders with them."""
    upstreams = (DEPLOY / "site" / "upstreams.conf").read_text()
    n = int(re.findall(r"max_conns=(\d+);", upstreams)[place])
    listener.released.clear()
    held = [nginx.connect() for _ in range(n)]
    try:
        for connection in held:
            connection.sendall(f"{method} /held HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        listener.wait_for(n)
        answer = nginx.ask(method, "/another")
        assert (answer.status, answer.json["type"]) == (503, "urn:lopub:problem:busy")
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["access-control-allow-origin"] == "*"
        listener.released.set()
        assert {load.answer_from(connection)[0] for connection in held} == {200}
    finally:
        listener.released.set()
        for connection in held:
            connection.close()
    assert nginx.ask(method, "/another").status == 200
