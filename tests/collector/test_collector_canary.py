"""Canaries: whatever could tell who took part is sent along, and is then nowhere: not in files, logs, metrics or backups.

All canaries of a kind begin alike, so that one search finds any of them. What must be there, hashes, is looked for too:
a search that finds nothing because it looks into nothing would be no evidence.
"""

import base64
import hashlib
import json
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from test_collector_cli import lopub

import load
import people
from load import note_figures
from lopub import (
    Binned,
    Boolean,
    CampaignRequest,
    Client,
    Domain,
    MemoryStore,
    Terms,
    make_campaign,
)
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed
from lopub.collector.database import store_at
from lopub.collector.tokens import new_token
from servers import Postgres, Running, running_collector
from tiers import FULL

AGENT, SECRET = "canary-agent-c0ffee", "canary-header-c0ffee"
ANSWER = "73219.44717"
"""How every answer that was given begins; the campaign itself knows only bins."""
ID = bytes.fromhex("c0ffee5eed0ddba11fee1dea")
"""How every id that is drawn here begins: twelve of its sixteen bytes."""
NETWORK, FORWARDED = "127.77.", "203.0.113."
"""Where requests come from, and where they say that they come from."""
DOMAIN = Domain((Binned(name="income", edges=(0.0, 50_000.0, 100_000.0)), Boolean(name="smoker")))
CAMPAIGN = make_campaign(DOMAIN, Terms(name="canary"), CampaignRequest(epsilon=2))
CLOSED = make_campaign(DOMAIN, Terms(name="closed"), CampaignRequest(epsilon=2))


def canaries() -> dict[str, list[bytes]]:
    """What must not be found, by its kind, in every spelling."""
    number = float(ANSWER + "1")
    ids = [
        ID,
        ID.hex().encode(),
        ID.hex().upper().encode(),
        base64url(ID).encode(),
        base64.b64encode(ID),
    ]
    return {
        "agent": [AGENT.encode(), AGENT.encode().hex().encode()],
        "header": [SECRET.encode()],
        "address": [NETWORK.encode(), FORWARDED.encode()],
        "id": ids,
        "answer": [
            ANSWER.encode(),
            ANSWER.encode().hex().encode(),
            struct.pack("<d", number),
            struct.pack(">d", number),
        ],
    }


@dataclass
class Person:
    """Somebody whose every trace is a canary."""

    number: int
    answer: str = field(init=False)
    report: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.answer = f"{ANSWER}{1 if self.number == 0 else self.number}"
        client = Client(CAMPAIGN, store=MemoryStore())
        made = client.encode(
            {"income": float(self.answer), "smoker": self.number % 2 == 0}
        ).to_bytes()
        self.report = made[:9] + ID + self.number.to_bytes(4) + made[25:]

    @property
    def record(self) -> bytes:
        """What must never be sent, sent by mistake."""
        return json.dumps({"income": float(self.answer), "smoker": True, "name": SECRET}).encode()

    def telling(self, media_type: str) -> dict[str, str]:
        """Headers that tell who it is."""
        address = f"{FORWARDED}{self.number % 256}"
        return {
            "Content_Type": media_type,
            "User_Agent": f"{AGENT}-{self.number}",
            "X_Forwarded_For": address,
            "Forwarded": f"for={address}",
            "Cookie": f"{SECRET}={self.number}",
            "Referer": f"https://x/{SECRET}?{ANSWER}",
        }

    @property
    def source(self) -> str:
        return f"{NETWORK}{self.number // 250}.{self.number % 250 + 1}"


def requests_of(person: Person) -> Iterator[tuple[str, str, bytes, str, set[int]]]:
    """All that a person does, right and wrong: method, path, body, media type, what it may be answered with."""
    path, report = f"/campaigns/{CAMPAIGN.id}", person.report
    withdrawal = json.dumps({"id": base64url(report[9:25])}).encode()
    query = f"?answer={person.answer}&id={report[9:25].hex()}&{SECRET}"
    yield "POST", f"{path}/reports", framed([report]), FRAMED_TYPE, {200}
    yield (
        "POST",
        f"{path}/reports{query}",
        framed([report, people.with_another_slot(report)]),
        FRAMED_TYPE,
        {200},
    )
    yield "POST", f"{path}/reports", people.twin(report, CAMPAIGN).encode(), JSON_TYPE, {200}
    yield "POST", f"{path}/reports", framed([report[:-1], person.record]), FRAMED_TYPE, {422}
    yield "POST", f"{path}/reports", person.record, JSON_TYPE, {422}
    yield "POST", f"{path}/reports", person.record[:-1], JSON_TYPE, {400}
    yield "POST", f"{path}/reports", person.record, f"text/{SECRET}", {415}
    yield "POST", f"/campaigns/{person.answer}/reports", framed([report]), FRAMED_TYPE, {404}
    yield "POST", f"/campaigns/{CLOSED.id}/reports", framed([report]), FRAMED_TYPE, {409}
    yield "POST", f"{path}/withdrawals", person.record, JSON_TYPE, {400}
    yield "PUT", path, person.record, JSON_TYPE, {401}
    yield "GET", f"/{SECRET}/{person.answer}{query}", b"", JSON_TYPE, {404}
    if person.number % 4 == 0:
        yield "POST", f"{path}/withdrawals", withdrawal, JSON_TYPE, {204}
        yield "POST", f"{path}/reports", framed([report]), FRAMED_TYPE, {422}


def take_part(collector: Running, person: Person) -> None:
    collector.source = person.source
    for method, path, body, media_type, allowed in requests_of(person):
        answer = collector.ask(method, path, body, **person.telling(media_type))
        assert answer.status in allowed, (method, path, answer.body)
    with socket.create_connection(
        ("127.0.0.1", collector.port), timeout=10, source_address=(person.source, 0)
    ) as connection:
        connection.sendall(
            f"{SECRET} {person.answer} {person.report.hex()}\r\n\r\n".encode()
        )  # not HTTP at all
        connection.recv(1000)


def manage(collector: Running, directory: Path, token: str) -> bytes:
    """What a steward does in the meantime, clumsily; the metrics and the answers about the campaign."""
    collector.source = f"{NETWORK}200.1"
    headers = {"Authorization": f"Bearer {token}", "User_Agent": AGENT}
    wrong = json.dumps({"schema": SECRET, "answer": ANSWER}).encode()
    assert (
        collector.ask(
            "PUT", f"/campaigns/{CAMPAIGN.id}", wrong, Content_Type=JSON_TYPE, **headers
        ).status
        == 422
    )
    assert (
        collector.ask(
            "GET", "/campaigns", Authorization=f"Bearer {SECRET}", User_Agent=AGENT
        ).status
        == 401
    )
    lopub("backup", "--database", collector.address, "-o", "online.backup", directory=directory)
    paths = [
        "/metrics",
        "/campaigns",
        f"/campaigns/{CAMPAIGN.id}/counts",
        "/ready",
        "/openapi.json",
    ]
    return b"".join(collector.ask("GET", path, **headers).body for path in paths)


def files_below(*directories: Path, since: int = 0) -> dict[str, bytes]:
    """Everything that lies there and was written since, by its path."""
    found: dict[str, bytes] = {}
    for path in (path for directory in directories for path in sorted(directory.rglob("*"))):
        with suppress(FileNotFoundError):  # PostgreSQL removes some while others are read
            if path.is_file() and path.stat().st_mtime_ns >= since:
                found[str(path)] = path.read_bytes()
    return found


@pytest.fixture
def place(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[Path]:
    """Where the files of the database, and whatever else is written, lie."""
    (tmp_path / "begun").touch()
    if database.startswith("sqlite"):
        return [tmp_path]
    cluster: Postgres = request.getfixturevalue("postgres")
    return [tmp_path, cluster.directory]


def everything(
    database: str, place: list[Path], request: pytest.FixtureRequest
) -> dict[str, bytes]:
    """All files as they are now; of PostgreSQL also what a dump says."""
    if database.startswith("sqlite"):
        return files_below(*place)
    cluster: Postgres = request.getfixturevalue("postgres")
    cluster.sql("CHECKPOINT")
    since = (place[0] / "begun").stat().st_mtime_ns  # other tests had a hundred databases here
    return {**files_below(*place, since=since), "dump": cluster.dump(database)}


def found(contents: dict[str, bytes], spellings: list[bytes]) -> list[str]:
    return [
        name
        for name, content in contents.items()
        if any(spelling in content for spelling in spellings)
    ]


def test_no_canary_is_found_anywhere(
    database: str, place: list[Path], tmp_path: Path, request: pytest.FixtureRequest
):
    load.opened(database, CAMPAIGN, CLOSED)
    lopub("collect", "close", CLOSED.id, "--database", database, directory=tmp_path)
    crowd = [Person(number) for number in range(1_000 if FULL else 12)]
    store = store_at(database)
    token = new_token(store, scope="manage", days=1)
    store.close()
    with running_collector(database) as collector:
        for person in random.Random(1).sample(crowd, len(crowd)):
            take_part(collector, person)
        said = manage(collector, tmp_path, token)
        contents = {
            f"running {name}": content
            for name, content in everything(database, place, request).items()
        }
    contents |= everything(database, place, request)
    contents |= {"answers and metrics": said, "log": "".join(collector.errors).encode()}
    hits = {kind: found(contents, spellings) for kind, spellings in canaries().items()}
    note_figures(
        "canaries",
        load.kind_of(database),
        people=len(crowd),
        files=len(contents),
        megabytes=sum(map(len, contents.values())) / 1e6,
        **{f"hits_{kind}": len(names) for kind, names in hits.items()},
    )
    assert not any(hits.values()), hits
    assert found(contents, [token.encode()]) == []
    assert_search_sees(contents, crowd, tmp_path)


def assert_search_sees(contents: dict[str, bytes], crowd: list[Person], directory: Path) -> None:
    """The hash of an id is in the database and in the backup, and the log has lines: so the search looked into them."""
    kept = next(person for person in crowd if person.number % 4)
    hashed = hashlib.sha256(kept.report[9:25]).digest()
    seen = found(contents, [hashed, hashed.hex().encode()])
    assert str(directory / "online.backup") in seen
    assert any("running" in name for name in seen)
    assert len(seen) >= 3
    assert b"Invalid HTTP" in contents["log"]
    assert b"lopub_refused_total" in contents["answers and metrics"]
