"""Whatever is sent to the console, it answers, and never with a 5xx."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote, urlencode

import pytest
from starlette.routing import Route

from consoles import Console, begun, running_console, send
from lopub.collector.collector import Collector
from lopub.collector.database import store_at
from lopub.console.app import HEADERS, SCREENS, console_app
from lopub.console.desk import Screen

FIELDS = (
    "do", "name", "language", "title.en", "consent.en", "min_reports", "opens", "closes", "new_language", "version", "tab",
    "text", "q0.name", "q0.type", "q0.categories", "q0.rule.place", "q0.rule.json", "q0.bins", "q0.edges", "question", "n",
    "from", "people", "epsilon", "campaign", "typed", "structure", "method", "numbers", "rows", "copies", "seed", "round",
    "counts", "token", "q0.key", "q0.controls", "sure",
)  # fmt: skip
ASKED = ("q", "state", "page", "ask", "people", "epsilon")
SIGN_OUT = "/console/sign-out"
"""Asked without the session's own token: after it there would be nothing left to ask."""
BESIDE = ("/", "/metrics", "/console/static/{name}", "/console/contribute/{name}")
"""What the console answers besides its screens."""
ENDS = re.compile("/(drop|open|close|delete)$")
"""What takes away what the known addresses name."""


def described(csrf: str) -> dict[str, Any]:
    """The console's routes as OpenAPI has them."""
    paths: dict[str, Any] = {}
    for one in (*SCREENS, *(Screen("GET", path, SCREENS[0].show) for path in BESIDE)):
        paths.setdefault(one.path, {})[one.method.lower()] = operation(
            one, "" if one.path == SIGN_OUT else csrf
        )
    return {"openapi": "3.1.0", "info": {"title": "console", "version": "1"}, "paths": paths}


def operation(screen: Screen, csrf: str) -> dict[str, Any]:
    text = {"type": "string"}
    names = re.findall(r"\{(\w+)\}", screen.path)
    found: dict[str, Any] = {"responses": {"default": {"description": "an answer"}}}
    found["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in names
    ]
    if screen.method == "GET":
        found["parameters"] += [{"name": name, "in": "query", "schema": text} for name in ASKED]
        return found
    properties = dict.fromkeys(FIELDS, text) | {"csrf": {"type": "string", "enum": [csrf]}}
    schema = {
        "type": "object",
        "required": ["csrf"],
        "properties": properties,
        "additionalProperties": text,
    }
    found["requestBody"] = {
        "required": True,
        "content": {"application/x-www-form-urlencoded": {"schema": schema}},
    }
    return found


def schemathesis(console: Console, directory: Path, *options: str, settings: str = "") -> int:
    (directory / "console.json").write_text(json.dumps(described(console.csrf())))
    (directory / "schemathesis.toml").write_text(settings)
    command = [
        str(Path(sys.executable).with_name("st")),
        "--config-file",
        "schemathesis.toml",
        "run",
        "console.json",
    ]
    command += [
        "--url",
        console.home,
        "--no-color",
        "--generation-database",
        "none",
        "--checks",
        "not_a_server_error",
    ]
    command += [
        "-H",
        f"Cookie: lopub_console={console.cookie}",
        "--phases",
        "examples,fuzzing",
        *options,
    ]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    found = re.search(r"([\d,]+) generated", done.stdout)
    assert found
    return int(found[1].replace(",", ""))


def test_every_route_of_the_console_is_among_those_that_are_asked(tmp_path: Path):
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    app = console_app(cast(Collector, SimpleNamespace(store=store)), home=tmp_path, public="")
    store.close()
    assert {route.path for route in app.routes if isinstance(route, Route)} == set(
        described("")["paths"]
    )


STRANGE = ("\0", "9" * 400, "[" * 2000, "-\udcff\ud800{{7*7}}'\"<b>\r\n")
"""What nobody fills in."""


def as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def test_the_console_answers_what_nobody_would_fill_in(tmp_path: Path):
    """Every screen, with something strange in every place of its address and of its form."""
    wrong: list[object] = []
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        csrf, draft = console.csrf(), begun(console).rpartition("/")[2]
        campaign = send(console, "known", 3, min_reports=1).rpartition("/")[2]
        places = {"{draft}": draft, "{id}": campaign, "{job}": "1"}
        for screen in (one for one in SCREENS if one.path != SIGN_OUT):
            for text in STRANGE:
                strange = re.sub(r"\{\w+\}", quote(as_utf8(text), safe=""), screen.path)
                known = strange if ENDS.search(screen.path) else filled(screen.path, places)
                for path in {strange, known}:
                    status = sent(console, screen.method, path, text, csrf)
                    if status >= 500 or (path == strange != known and status == 200):
                        wrong.append((screen.method, path, text, status))
        wrong += [line for line in console.errors if "bug" in line or "exception" in line]
        assert wrong == []
        assert f"/console/campaigns/{campaign}" in console.get("/console?q=known")


def filled(path: str, places: dict[str, str]) -> str:
    for blank, text in places.items():
        path = path.replace(blank, text)
    return path.replace("{name}", "x")


def sent(console: Console, method: str, path: str, text: str, csrf: str) -> int:
    """Ask for a screen with the same text in every field; the status of the answer."""
    if method == "GET":
        asked = urlencode(dict.fromkeys(ASKED, as_utf8(text)))
        return console.ask("GET", f"{path}?{asked}").status
    form = urlencode(dict.fromkeys(FIELDS, as_utf8(text)) | {"csrf": csrf.encode()}).encode()
    told = {"Content_Type": "application/x-www-form-urlencoded"}
    return console.ask("POST", path, form, **told).status


@pytest.mark.full
def test_the_console_answers_whatever_it_is_sent(database: str, tmp_path: Path):
    with running_console(database, tmp_path) as console:
        for path in (
            "/console/drafts/%00",
            "/console/drafts/%00/plan",
            "/console/jobs/%00",
            "/console/campaigns/%00",
            "/%00",
        ):
            assert console.ask("GET", path).status == 404, path
        assert console.do("/console/drafts/%00/drop").status == 404
        campaign = send(console, "known", 3, min_reports=1).rpartition("/")[2]
        draft = begun(console).rpartition("/")[2]
        known = (
            f'[parameters]\n"path.id" = "{campaign}"\n"path.draft" = "{draft}"\n"path.job" = "1"\n'
        )
        options = ["--max-examples", "50", "--seed", "1"]
        n_done = schemathesis(
            console, tmp_path, *options, "--exclude-path-regex", ENDS.pattern, settings=known
        )
        n_done += schemathesis(console, tmp_path, *options)
        assert n_done > 100
        assert not [line for line in console.errors if "bug" in line or "exception" in line]
        answer = console.ask("GET", "/console?q=known")
        assert (answer.status, answer.headers["content-security-policy"]) == (
            200,
            HEADERS["Content-Security-Policy"],
        )
        assert f"/console/campaigns/{campaign}" in answer.body.decode()
