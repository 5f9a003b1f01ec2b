"""A collector with its console for tests: a real process, and what a browser would send to it."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import people
from lopub.campaign.report import Report
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import Submission
from lopub.collector.tokens import new_token
from lopub.collector.wire import row_of
from servers import Answer


@dataclass
class Console:
    """A running collector and its console, as somebody with a cookie sees it."""

    address: str
    """Of the database."""
    port: int
    console_port: int
    process: "subprocess.Popen[str]"
    token: str
    reader: str
    """A token that may only read."""
    cookie: str = ""
    errors: list[str] = field(default_factory=list)

    @property
    def home(self) -> str:
        return f"http://127.0.0.1:{self.console_port}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """A request to the console; `Content_Type` names a header."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", f"lopub_console={self.cookie}")
        connection = http.client.HTTPConnection("127.0.0.1", self.console_port, timeout=60)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, answer.read(), found)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> str:
        """The text of a page that must be there."""
        answer = self.ask("GET", path, **headers)
        assert answer.status == 200, (path, answer.status, answer.body[:2000])
        return answer.body.decode()

    def post(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Answer:
        """Send a form, as it is."""
        headers.setdefault("Content_Type", "application/x-www-form-urlencoded")
        return self.ask("POST", path, urlencode(form or {}).encode(), **headers)

    def do(self, path: str, form: Mapping[str, str] | None = None) -> Answer:
        """Send a form with the session's own token, as a page does."""
        return self.post(path, {"csrf": self.csrf(), **(form or {})})

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/console"))
        assert found
        return found[1]

    def sign_in(self, token: str | None = None) -> Answer:
        answer = self.post("/console/sign-in", {"token": self.token if token is None else token})
        if found := re.search(r"lopub_console=([^;]+)", answer.headers.get("set-cookie", "")):
            self.cookie = found[1]
        return answer


@contextmanager
def running_console(address: str, directory: Path, *options: str) -> Iterator[Console]:
    """`lopub serve` with a console on any free port, signed in to manage."""
    store = store_at(address)
    token, reader = new_token(store, scope="manage", days=1), new_token(store, scope="read", days=1)
    store.close()
    command = [
        sys.executable,
        "-m",
        "lopub",
        "serve",
        "--database",
        address,
        "--port",
        "0",
        "--console",
        "127.0.0.1:0",
        *options,
    ]
    environment = {**os.environ, "LOPUB_FILES": str(directory / "files")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    ports = [
        int(re.findall(r"http://127.0.0.1:(\d+)", process.stdout.readline())[0]) for _ in range(2)
    ]
    console = Console(address, *ports, process, token, reader)
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
    answer = console.do("/console/drafts", {"from": "example"})
    assert answer.status == 303
    address = answer.headers["location"]
    if draft is not None:
        assert console.do(f"{address}/text", {"text": json.dumps(draft)}).status == 303
    return address


def opened(console: Console, draft: dict) -> str:
    """A campaign of a draft; where it is."""
    answer = console.do(f"{begun(console, draft)}/open")
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
