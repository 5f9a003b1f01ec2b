"""A console for tests, in this process or as the real one, and what a browser would send to it."""

import asyncio
import http.client
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlencode

from starlette.types import ASGIApp, Message

import people
from lopub.campaign.report import Report
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at
from lopub.collector.logs import log
from lopub.collector.store import Submission
from lopub.collector.tokens import new_token
from lopub.collector.wire import row_of
from lopub.console.app import console_app
from lopub.console.context import Context
from lopub.jobs.worker import Worker
from servers import Answer

STARTUP_SECONDS = 120
FORM = "application/x-www-form-urlencoded"


@dataclass(kw_only=True)
class Console:
    """A console as somebody with a cookie sees it."""

    address: str
    """Of the database."""
    home: str
    """The console's own address."""
    token: str
    reader: str
    """A token that may only read."""
    cookie: str = ""
    errors: list[str] = field(default_factory=list)
    """What it logged."""

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """A request to the console; `Content_Type` names a header."""
        sent = {"Host": self.home.partition("://")[2]}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", f"lopub_console={self.cookie}")
        return self.sent(method, path, body or b"", sent)

    def sent(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        raise NotImplementedError

    def stranger(self) -> Self:
        """The same console, as somebody who is not signed in."""
        return replace(self, cookie="")

    def get(self, path: str, **headers: str) -> str:
        """The text of a page that must be there."""
        answer = self.ask("GET", path, **headers)
        assert answer.status == 200, (path, answer.status, answer.body[:2000])
        return answer.body.decode()

    def post(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Answer:
        """Send a form, as a page does."""
        headers = {"Content_Type": FORM, "Origin": self.home} | headers
        return self.ask("POST", path, urlencode(form or {}).encode(), **headers)

    def sign_in(self, token: str | None = None) -> Answer:
        answer = self.post("/console/sign-in", {"token": self.token if token is None else token})
        if found := re.search(r"lopub_console=([^;]+)", answer.headers.get("set-cookie", "")):
            self.cookie = found[1]
        return answer


@dataclass(kw_only=True)
class ConsoleHere(Console):
    """A console in this process: everything but sockets and signals."""

    app: ASGIApp
    context: Context
    runner: asyncio.Runner

    def sent(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return self.runner.run(self.answered(method, path, body, headers))

    async def answered(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """What the application answers, called as a server would."""
        raw, _, query = path.partition("?")
        told = {"content-length": str(len(body)), **headers}
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "root_path": "",
            "query_string": query.encode("latin-1"),
            "headers": [
                (name.lower().encode(), value.encode("latin-1")) for name, value in told.items()
            ],
            "server": ("console.test", 80),
        }
        came: list[Message] = []
        parts: list[Message] = [{"type": "http.request", "body": body}]

        async def receive() -> Message:
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            came.append(message)

        await self.app(scope, receive, send)
        found = {name.decode(): value.decode("latin-1") for name, value in came[0]["headers"]}
        content = b"".join(message.get("body", b"") for message in came[1:])
        return Answer(came[0]["status"], content, found)


@dataclass(kw_only=True)
class ConsoleProcess(Console):
    """The console that `lopub serve` starts beside a collector."""

    port: int
    """Of the collector."""
    process: "subprocess.Popen[str]"

    def sent(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return asked(self.home, method, path, body, headers)


def asked(
    home: str, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
) -> Answer:
    """What a server answers, over a connection of its own."""
    connection = http.client.HTTPConnection(home.partition("://")[2], timeout=STARTUP_SECONDS)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, answer.read(), found)
    finally:
        connection.close()


def new_tokens(address: str) -> tuple[str, str]:
    """A token that manages, and one that reads; the database is made where there is none."""
    store = store_at(address)
    try:
        return new_token(store, scope="manage", days=1), new_token(store, scope="read", days=1)
    finally:
        store.close()


@contextmanager
def console_here(address: str, directory: Path, *, is_demo: bool = False) -> Iterator[ConsoleHere]:
    """A console in this process, signed in to manage. Nobody does its jobs, unless `worker_here`
    does."""
    token, reader = new_tokens(address)
    store, errors = store_at(address), list[str]()
    context = Context(
        store=store, files=directory / "files", public="http://collector.test", is_demo=is_demo
    )
    handler = _Lines(errors)
    log.addHandler(handler)
    with asyncio.Runner() as runner:
        console = ConsoleHere(
            address=address,
            home="http://console.test",
            token=token,
            reader=reader,
            errors=errors,
            app=console_app(context),
            context=context,
            runner=runner,
        )
        console.sign_in()
        yield console
    log.removeHandler(handler)
    store.close()


class _Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


@contextmanager
def worker_here(console: Console, directory: Path) -> Iterator[None]:
    """A worker that does the jobs of a console, each in a process of its own."""
    over, store = threading.Event(), store_at(console.address)
    worker = Worker(store, console.address, directory / "files")
    thread = threading.Thread(target=worker.run, args=(over.is_set,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        store.close()


@contextmanager
def running_console(address: str, directory: Path, *options: str) -> Iterator[ConsoleProcess]:
    """`lopub serve` with console and worker, at any free ports, signed in to manage."""
    token, reader = new_tokens(address)
    command = [sys.executable, "-m", "lopub", "serve", "--database", address]
    command += ["--port", "0", "--console-port", "0", *options]
    environment = {**os.environ, "LOPUB_FILES": str(directory / "files")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    ports = [
        int(re.findall(r"http://127.0.0.1:(\d+)", process.stdout.readline())[0]) for _ in range(2)
    ]
    console = ConsoleProcess(
        address=address,
        home=f"http://127.0.0.1:{ports[1]}",
        token=token,
        reader=reader,
        port=ports[0],
        process=process,
    )
    drain = threading.Thread(
        target=lambda: console.errors.extend(process.stderr or ()), daemon=True
    )
    drain.start()
    try:
        console.sign_in()
        yield console
    finally:
        process.terminate()
        process.wait(120)
        drain.join(60)
        process.stdout.close()
        process.stderr.close()


def begun(console: Console, draft: dict | None = None) -> str:
    """A new draft; where it is."""
    answer = console.post("/console/drafts", {"from": "example"})
    assert answer.status == 303, answer.body
    address = answer.headers["location"]
    if draft is not None:
        assert console.post(f"{address}/text", {"text": json.dumps(draft)}).status == 303
    return address


def opened(console: Console, draft: dict) -> str:
    """A campaign of a draft; where it is."""
    answer = console.post(f"{begun(console, draft)}/open")
    assert answer.status == 303, answer.body
    return answer.headers["location"]


def send(console: Console, name: str, n: int, *, min_reports: int) -> str:
    """A campaign with so many reports; where it is."""
    campaign = people.campaign(name, min_reports=min_reports)
    store = store_at(console.address)
    entry, _ = open_campaign(store, campaign)
    rows = [
        row_of(Report.from_bytes(data, campaign), entry.number)
        for data in people.reports(campaign, n)
    ]
    store.write([Submission(entry.number, rows)])
    store.close()
    return f"/console/campaigns/{campaign.id}"
