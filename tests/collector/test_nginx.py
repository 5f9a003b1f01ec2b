"""A collector behind the real nginx, with deploy/nginx.conf as it stands."""

import json
import random
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest
from commands import done, lopub

import load
import people
from load import Uploaders, kind_of, lost_and_doubled, note_figures
from lopub import CampaignRequest, Categorical, Domain, Terms, make_campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, framed
from lopub.collector import server
from lopub.collector.database import store_at
from lopub.collector.ingest import BODY_BYTES
from lopub.collector.problems import Kind
from lopub.collector.requests import SMALL_BODY_BYTES
from lopub.collector.server import KEEP_ALIVE_SECONDS
from lopub.collector.tokens import new_token
from lopub.pages.contribution import assets
from proxies import DEPLOY, Nginx, free_port, running_nginx
from sender_load import Load, flood
from servers import Answer, Running, running_collector, start_collector
from slow_senders import slow_senders
from tiers import FULL

CAMPAIGN = people.campaign()
PATH = f"/campaigns/{CAMPAIGN.id}/reports"
CONFIGURATION = (DEPLOY / "nginx.conf").read_text()
CONSOLE_BYTES = 2 * 2**20
N_SLOW = 1_500 if FULL else 40
"""Slow heads, and as many slow bodies."""
N_READERS = 600
"""More than the places of reports in deploy/site/upstreams.conf."""
LONG_VALUES = tuple(f"{i} {'x' * 150}" for i in range(60))
LARGE = make_campaign(
    Domain(tuple(Categorical(name=f"q{k}", values=LONG_VALUES) for k in range(80))),
    Terms(name="large"),
    CampaignRequest(epsilon=2),
)
"""About 800 kB, more than the buffers of nginx and the system hold for one reader."""


@dataclass
class Service:
    """A collector, nginx before it, and what asks them."""

    nginx: Nginx
    collector: Running

    def send(self, report: bytes) -> Answer:
        """Send one report through nginx."""
        return self.nginx.ask("POST", PATH, framed([report]), Content_Type=FRAMED_TYPE)

    def post(self, report: bytes) -> int:
        """Send one report through nginx without TLS; the status."""
        with socket.create_connection(("127.0.0.1", self.nginx.port), timeout=60) as connection:
            connection.sendall(load.request_of(CAMPAIGN, framed([report])))
            return load.answer_from(connection)[0]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector behind nginx, for the tests that stop neither."""
    directory = tmp_path_factory.mktemp("service")
    database = f"sqlite:///{directory}/lopub.db"
    load.opened(database, CAMPAIGN)
    with (
        running_collector(database) as collector,
        running_nginx(directory / "nginx", collector.port) as nginx,
    ):
        yield Service(nginx, collector)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector behind nginx without TLS, with a large campaign, too."""
    directory = tmp_path_factory.mktemp("plain")
    database = f"sqlite:///{directory}/lopub.db"
    load.opened(database, CAMPAIGN, LARGE)
    with (
        running_collector(database) as collector,
        running_nginx(directory / "nginx", collector.port, tls=False) as nginx,
    ):
        yield Service(nginx, collector)


@pytest.fixture(scope="module")
def orphan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """nginx whose collector is down."""
    with running_nginx(tmp_path_factory.mktemp("orphan"), free_port()) as nginx:
        yield nginx


def own_problem(answer: Answer, status: int) -> dict[str, object]:
    """Return the problem document of nginx, which a page of any origin can read."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["access-control-allow-origin"] == "*"
    document: dict[str, object] = answer.json
    assert set(document) == {"type", "title", "status", "detail"}
    assert document["status"] == status
    return document


# ---- what the file says


def limits() -> list[tuple[str, str]]:
    """Return every limit of a body in the file, with the buffer that stands beside it."""
    return re.findall(
        r"client_max_body_size (\w+);\s+client_body_buffer_size (\w+);", CONFIGURATION
    )


def test_every_body_that_nginx_takes_fits_into_its_buffer():
    """A larger one would be written into a file."""
    assert CONFIGURATION.count("client_max_body_size ") == len(limits()) == 4
    assert all(limit == buffer for limit, buffer in limits())


def test_nginx_takes_bodies_as_long_as_collector_and_console_do():
    n_bytes = [f"{SMALL_BODY_BYTES // 1024}k", f"{BODY_BYTES // 1024}k"]
    n_bytes += [f"{LONGEST_FILE // 2**20}m", f"{CONSOLE_BYTES // 2**20}m"]
    assert [limit for limit, _ in limits()] == n_bytes


def test_nginx_gives_up_idle_connections_before_the_collector_does():
    upstreams = (DEPLOY / "site" / "upstreams.conf").read_text()
    seconds = list(map(int, re.findall(r"keepalive_timeout (\d+)s", upstreams)))
    assert len(seconds) == 3 and max(seconds) < KEEP_ALIVE_SECONDS


def test_problems_that_the_collector_knows_have_its_titles():
    titles = {kind.urn: (kind.title, kind.status) for kind in Kind}
    documents = [json.loads(text) for text in re.findall(r"'(\{.*\})';", CONFIGURATION)]
    assert len(documents) == 9
    shared = [document for document in documents if document["type"] in titles]
    assert len(shared) == 6
    for document in shared:
        assert titles[document["type"]] == (document["title"], document["status"])


def test_the_memory_that_the_file_states_is_the_sum_of_its_parts():
    parts = list(map(int, re.findall(r"^#   [+ ] +(\d+) KiB ", CONFIGURATION, re.MULTILINE)))
    (total,) = re.findall(r"= (\d+) KiB, and ([\d,]+) .* hold ([\d.]+) GiB", CONFIGURATION)
    (n_connections,) = re.findall(r"worker_connections (\d+);", CONFIGURATION)
    assert (len(parts), sum(parts)) == (4, int(total[0]))
    assert int(total[1].replace(",", "")) == int(n_connections)
    assert float(total[2]) == round(sum(parts) * int(n_connections) / 2**20, 1)


def test_the_largest_file_of_the_contribution_page_fits_into_the_buffers():
    """Otherwise whoever reads it slowly holds a place at the collector."""
    ((n, kib),) = set(re.findall(r"proxy_buffers (16) (\d+)k;", CONFIGURATION))
    assert max(len(content) for content in assets().values()) < int(n) * int(kib) * 1024


# ---- reports


def test_a_report_through_nginx_is_counted_once(service: Service):
    (report,) = people.reports(CAMPAIGN, 1)
    answers = [service.send(report) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    rows = load.kept_rows(service.collector.address, CAMPAIGN)
    assert [name for name, _ in rows].count(next(iter(load.rows_of([framed([report])])))) == 1


def test_the_largest_body_of_reports_gets_through(service: Service):
    twin = people.twin(people.reports(CAMPAIGN, 1)[0], CAMPAIGN)
    body = twin + " " * (BODY_BYTES - len(twin))
    answer = service.nginx.ask("POST", PATH, body, Content_Type=JSON_TYPE)
    assert (answer.status, answer.json["refused"]) == (200, [])


def test_a_campaign_of_more_than_a_report_may_have_is_opened_through_nginx(service: Service):
    store = store_at(service.collector.address)
    token = new_token(store, scope="manage", days=1)
    store.close()
    other = people.campaign("another")
    answer = service.nginx.ask(
        "PUT",
        f"/campaigns/{other.id}",
        other.canonical_bytes + b" " * BODY_BYTES,
        Content_Type=JSON_TYPE,
        Authorization=f"Bearer {token}",
    )
    assert (answer.status, answer.json["type"]) == (422, "urn:lopub:problem:wrong-campaign")
    answer = service.nginx.ask(
        "PUT",
        f"/campaigns/{other.id}",
        other.canonical_bytes,
        Content_Type=JSON_TYPE,
        Authorization=f"Bearer {token}",
    )
    assert answer.status == 201


def test_a_half_closed_client_gets_its_answer(service: Service):
    """Whoever reads its end as a hang-up stores the report and tells nobody."""
    (report,) = people.reports(CAMPAIGN, 1)
    with service.nginx.connect() as connection:
        connection.sendall(load.request_of(CAMPAIGN, framed([report])))
        with socket.socket(fileno=socket.dup(connection.fileno())) as same:
            same.shutdown(socket.SHUT_WR)
        status, _ = load.answer_from(connection)
    assert status == 200
    kept = dict(load.kept_rows(service.collector.address, CAMPAIGN))
    assert load.rows_of([framed([report])]).items() <= kept.items()


def test_a_preflight_of_a_page_of_another_origin_passes(service: Service):
    answer = service.nginx.ask(
        "OPTIONS",
        PATH,
        Origin="https://town.example",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="content-type",
    )
    assert answer.status in (200, 204)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert "content-type" in answer.headers["access-control-allow-headers"].lower()


def test_the_answers_of_the_collector_pass_as_they_are(service: Service):
    """Status, body and CORS are the same as without nginx."""
    asked = {"Origin": "https://town.example", "Content_Type": "text/plain"}
    through = service.nginx.ask("POST", PATH, b"x", **asked)
    direct = service.collector.ask("POST", PATH, b"x", **asked)
    assert (through.status, through.body) == (direct.status, direct.body) == (415, through.body)
    own = {"server", "date", "connection"}
    assert {name: value for name, value in through.headers.items() if name not in own} == {
        name: value for name, value in direct.headers.items() if name not in own
    }


# ---- what nginx refuses itself


def test_metrics_are_refused_in_every_spelling(service: Service):
    for spelling in ("/metrics", "/metrics?x", "//metrics", "/%6detrics", "/x/../metrics"):
        document = own_problem(service.nginx.ask("GET", spelling), 404)
        assert document["type"] == "urn:lopub:problem:not-found"


def test_an_oversized_body_is_refused_with_a_problem_document(service: Service):
    answer = service.nginx.ask("POST", PATH, b" " * (BODY_BYTES + 1), Content_Type=JSON_TYPE)
    assert own_problem(answer, 413)["type"] == Kind.TOO_LARGE.urn


def test_a_body_in_chunks_is_refused(service: Service):
    """nginx writes a body of small chunks into a file, however short it is."""
    request = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    status, body = answer_to(service.nginx, request.encode() + b"1\r\nx\r\n0\r\n\r\n")
    assert (status, json.loads(body)["type"]) == (411, "urn:lopub:problem:length-required")


def test_what_is_not_http_is_refused_with_a_problem_document(service: Service):
    long = f"GET /{'x' * 9_000} HTTP/1.1\r\nHost: x\r\n\r\n"
    header = f"GET / HTTP/1.1\r\nHost: x\r\nX: {'x' * 9_000}\r\n\r\n"
    for request in (long, header, "NOTHING\r\n\r\n", "GET / HTTP/1.1\r\nHost: x y\r\n\r\n"):
        status, body = answer_to(service.nginx, request.encode())
        assert (status, json.loads(body)["type"]) == (400, "urn:lopub:problem:malformed")


@pytest.mark.parametrize(
    ("line", "status", "slug"),
    [
        ("TRACE / HTTP/1.1", 405, "method-not-allowed"),
        ("CONNECT / HTTP/1.1", 405, "method-not-allowed"),
        ("GET / HTTP/3.0", 400, "malformed"),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: other", 411, "length-required"),
    ],
)
def test_what_nginx_does_not_speak_is_refused_with_a_problem_document(
    service: Service, line: str, status: int, slug: str
):
    found, body = answer_to(service.nginx, f"{line}\r\nHost: x\r\n\r\n".encode())
    assert (found, json.loads(body)["type"]) == (status, f"urn:lopub:problem:{slug}")


def test_without_a_collector_senders_are_told_to_come_again(orphan: Nginx):
    answer = orphan.ask("POST", PATH, b"x", Content_Type=FRAMED_TYPE, Origin="https://a.example")
    assert own_problem(answer, 502)["type"] == "urn:lopub:problem:unreachable"
    assert answer.headers["retry-after"] == "5"
    assert answer.headers["access-control-expose-headers"] == "Retry-After"


def test_a_steward_reads_one_sentence_where_the_console_is_down(orphan: Nginx):
    answer = orphan.ask("GET", "/console", console=True)
    said = b"The console is out of reach; try again in a minute.\n"
    assert (answer.status, answer.body) == (502, said)
    assert answer.headers["content-type"] == "text/plain"


def test_a_steward_reads_one_sentence_where_a_file_is_too_large(orphan: Nginx):
    answer = orphan.ask("POST", "/console/drafts", b"x" * (CONSOLE_BYTES + 1), console=True)
    assert (answer.status, answer.body[:31]) == (413, b"This is more than the console t")


def answer_to(nginx: Nginx, request: bytes) -> tuple[int, bytes]:
    """Send bytes, and return the status and body of what comes back."""
    with nginx.connect() as connection:
        connection.sendall(request)
        return load.answer_from(connection)


# ---- slow senders


def test_slow_senders_keep_nobody_out(service: Service):
    """Each honest report is taken at the first try while all of them trickle."""
    nginx, n = service.nginx, 200
    slow = slow_senders(nginx.port, PATH, heads=N_SLOW, bodies=N_SLOW, trust=nginx.certificate)
    with slow:
        statuses = [service.send(report).status for report in people.reports(CAMPAIGN, n)]
        assert service.collector.is_ready()
    assert statuses == [200] * n


@pytest.mark.parametrize(
    "path", ["/c/lopub.js.map", f"/campaigns/{LARGE.id}"], ids=["file", "campaign"]
)
def test_slow_readers_of_large_answers_keep_no_report_out(plain: Service, path: str):
    """Forbids to give readers the places of reports: whoever does not read what is larger than
    nginx keeps holds one for ten seconds."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as readers:
        for _ in range(N_READERS):
            reader = readers.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            reader.connect(("127.0.0.1", plain.nginx.port))
            reader.sendall(request)
        statuses = [plain.post(report) for report in people.reports(CAMPAIGN, 20)]
        assert plain.collector.is_ready()
    assert statuses == [200] * 20


def test_in_a_flood_no_report_is_lost_of_those_who_come_again(tmp_path: Path):
    """Reports that were acknowledged are kept, whoever sent them, and each once."""
    database, target = f"sqlite:///{tmp_path}/lopub.db", people.campaign("flood")
    load.opened(database, target)
    (template,) = people.reports(target, 1)
    per_second, seconds = (2_000, 60) if FULL else (200, 3)
    with (
        running_collector(database) as collector,
        running_nginx(tmp_path / "nginx", collector.port, tls=False) as nginx,
    ):
        senders = Load(nginx.port, target.id, template, per_request=20, n_senders=0)
        sent = flood(senders, per_second, seconds, after_seconds=1)
    n_kept = len(load.kept_rows(database, target))
    assert sent.given_up == 0
    assert 0 < sent.accepted <= n_kept <= sent.offered + sent.accepted


# ---- without nginx


@pytest.mark.parametrize("host", ["127.0.0.1", "127.7.7.7", "::1", "0.0.0.0", "192.0.2.1", "::"])
def test_only_loopback_needs_no_nginx(host: str):
    listening = Mock(getsockname=Mock(return_value=(host, 8000)))
    assert server.is_loopback(listening) == (host.startswith("127.") or host == "::1")


def test_a_collector_that_others_can_reach_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "serve", lambda app, bound: bound.close())
    monkeypatch.setattr("lopub.collector.logs.log_to_standard_error", lambda: None)
    options = ("--alone", "--port", 0, "--database", f"sqlite:///{tmp_path}/lopub.db")
    assert "nginx" not in done(lopub("serve", *options)).stderr
    monkeypatch.setattr(server, "is_loopback", lambda bound: False)
    (line,) = (line for line in done(lopub("serve", *options)).stderr.splitlines() if "TLS" in line)
    assert "nginx" in line and "docs/operating.md" in line and "slow senders" in line


# ---- killed


def test_a_collector_killed_behind_nginx_loses_nothing(database: str, tmp_path: Path):
    """Nor does it count anything twice, although nginx may hand a report over twice."""
    target, rng = load.campaign(), random.Random(1)
    n_kills, n_reports = (50, 500_000) if FULL else (3, 30_000)
    bodies = load.bodies_of(load.population(target, n_reports, seed=1))
    load.opened(database, target)
    collector = start_collector(database)
    with running_nginx(tmp_path / "nginx", collector.port) as nginx:
        tls = nginx.tls()
        uploaders = Uploaders(
            nginx.port,
            target,
            bodies,
            connect=lambda: nginx.connect(tls=tls),
            later=(502, 503, 504, 507),
        )
        for moment in sorted(rng.sample(range(len(bodies) * 3 // 4), n_kills)):
            uploaders.wait_for(moment)
            assert uploaders.n_running > 0
            collector.stop(signal.SIGKILL)
            collector = start_collector(database, "--port", str(collector.port))
        uploaders.join()
    assert collector.stop() == 0
    lost, doubled = lost_and_doubled(database, target, uploaders.bodies)
    n_acknowledged = len(load.rows_of(uploaders.bodies))
    note_figures(
        "kills through nginx",
        kind_of(database),
        kills=n_kills,
        acknowledged=n_acknowledged,
        lost=lost,
        doubled=doubled,
    )
    assert (n_acknowledged, lost, doubled) == (n_reports, 0, 0)
