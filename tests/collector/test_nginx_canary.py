"""Canaries through nginx: what could tell who took part is in none of nginx's files or logs.

Files that are gone by the time one looks would not be found, so nginx's system calls are watched,
too: once it has started, it opens nothing for writing.
"""

import random
import re
import shutil
import time
from pathlib import Path

import pytest
from test_collector_canary import (
    CAMPAIGN,
    CLOSED,
    SECRET,
    Person,
    canaries,
    files_below,
    found,
    requests_of,
)

import load
from load import note_figures
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE
from lopub.collector.campaigns import close_campaign
from lopub.collector.database import store_at
from lopub.collector.ingest import BODY_BYTES
from proxies import Nginx, running_nginx
from servers import running_collector
from tiers import FULL

PLACES = (Path("/var/lib/nginx"), Path("/var/log/nginx"), Path("/var/cache/nginx"))
"""Where nginx writes unless it is told otherwise."""
REPORTS = f"/campaigns/{CAMPAIGN.id}/reports"


def take_part(nginx: Nginx, person: Person) -> None:
    """Do all that a person does, right and wrong, and what only nginx answers."""
    nginx.source = person.source
    for method, path, body, media_type, allowed in requests_of(person):
        answer = nginx.ask(method, path, body, **person.telling(media_type))
        assert answer.status in {*allowed, 422}, (method, path, answer.body)
    telling = person.telling(FRAMED_TYPE)
    large = person.record + b" " * (BODY_BYTES - len(person.record))
    assert nginx.ask("POST", REPORTS, large, **person.telling(JSON_TYPE)).status == 422
    assert nginx.ask("POST", REPORTS, large + b" ", **telling).status == 413
    assert nginx.ask("GET", f"/metrics?{SECRET}", **telling).status == 404
    with nginx.connect() as connection:  # not HTTP at all
        connection.sendall(f"{SECRET} {person.answer} {person.report.hex()}\r\n\r\n".encode())
        connection.recv(1000)
    with nginx.connect() as connection:  # in chunks, each of one byte
        head = f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        connection.sendall(f"{head}Cookie: {SECRET}\r\n\r\n".encode())
        assert load.answer_from(connection)[0] == 411
    with nginx.connect() as connection:  # gone half way
        connection.sendall(load.request_of(CAMPAIGN, person.report)[:-1])


def test_no_canary_is_found_in_what_nginx_writes(tmp_path: Path):
    begun = time.time_ns()
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN, CLOSED)
    store = store_at(database)
    close_campaign(store, CLOSED.id)
    store.close()
    crowd = [Person(number) for number in range(1_000 if FULL else 12)]
    with (
        running_collector(database) as collector,
        running_nginx(tmp_path / "nginx", collector.port) as nginx,
    ):
        log_before = nginx.log
        for person in random.Random(1).sample(crowd, len(crowd)):
            take_part(nginx, person)
        collector.stop()
        assert nginx.ask("POST", REPORTS, b"x", **crowd[0].telling(FRAMED_TYPE)).status == 502
        assert nginx.log == log_before  # so no time of day, either
    contents = files_below(tmp_path, *PLACES, since=begun)
    contents["the collector's log"] = "".join(collector.errors).encode()
    hits = {kind: found(contents, spellings) for kind, spellings in canaries().items()}
    note_figures(
        "canaries through nginx",
        "sqlite",
        people=len(crowd),
        files=len(contents),
        **{f"hits_{kind}": len(names) for kind, names in hits.items()},
    )
    assert not any(hits.values()), hits
    assert b"start worker process" in contents[str(tmp_path / "nginx" / "nginx.log")]


def test_nginx_opens_nothing_for_writing_once_it_has_started(tmp_path: Path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    database, calls = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "calls"
    load.opened(database, CAMPAIGN, CLOSED)
    store = store_at(database)
    close_campaign(store, CLOSED.id)
    store.close()
    watching = ("strace", "-f", "-qq", "-e", "trace=open,openat,creat,rename", "-o", str(calls))
    with (
        running_collector(database) as collector,
        running_nginx(tmp_path / "nginx", collector.port, prefix=watching) as nginx,
    ):
        before = calls.read_text()
        for number in range(4):
            take_part(nginx, Person(number))
        after = calls.read_text().removeprefix(before)
    assert re.search(r"/dev/null.*O_WRONLY", before)  # so writing would have been seen
    assert not re.findall(r".*(?:O_WRONLY|O_RDWR|creat|rename).*", after)
