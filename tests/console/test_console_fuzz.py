"""Whatever is sent to the console, it answers, and never with a 5xx."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from starlette.routing import Route

from consoles import FORM, Console, begun, console_here, running_console, send
from lopub.console.app import BESIDE, HEADERS, PAGES
from lopub.console.routes import PageRoute

FIELDS = (
    "do", "name", "language", "title.en", "consent.en", "min_reports", "opens", "closes", "new_language", "version", "tab",
    "text", "q0.name", "q0.type", "q0.categories", "q0.rule.place", "q0.rule.json", "q0.bins", "q0.edges", "question", "n",
    "from", "people", "epsilon", "campaign", "typed", "structure", "method", "numbers", "rows", "copies", "seed", "round",
    "counts", "token", "q0.key", "q0.controls", "sure",
)  # fmt: skip
ASKED = ("q", "state", "page", "question", "people", "epsilon")
SIGN_OUT = "/console/sign-out"
"""Not asked: after it there would be nothing left to ask."""
ENDS = re.compile("/(drop|open|close|delete)$")
"""What takes away what the known addresses name."""


def described() -> dict[str, Any]:
    """The console's routes as OpenAPI has them."""
    paths: dict[str, Any] = {}
    for one in (*PAGES, *BESIDE):
        if one.path != SIGN_OUT:
            paths.setdefault(one.path, {})[method_of(one).lower()] = operation(one)
    return {"openapi": "3.1.0", "info": {"title": "console", "version": "1"}, "paths": paths}


def method_of(route: Route) -> str:
    return "POST" if "POST" in (route.methods or ()) else "GET"


def operation(route: Route) -> dict[str, Any]:
    text = {"type": "string"}
    names = re.findall(r"\{(\w+)\}", route.path)
    found: dict[str, Any] = {"responses": {"default": {"description": "an answer"}}}
    found["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in names
    ]
    if method_of(route) == "GET":
        found["parameters"] += [{"name": name, "in": "query", "schema": text} for name in ASKED]
        return found
    schema = {
        "type": "object",
        "properties": dict.fromkeys(FIELDS, text),
        "additionalProperties": text,
    }
    found["requestBody"] = {"required": True, "content": {FORM: {"schema": schema}}}
    return found


def schemathesis(console: Console, directory: Path, *options: str, settings: str = "") -> int:
    (directory / "console.json").write_text(json.dumps(described()))
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


STRANGE = ("\0", "9" * 400, "[" * 2000, "-\udcff\ud800{{7*7}}'\"<b>\r\n")
"""What nobody fills in."""


def as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def test_the_console_answers_what_nobody_would_fill_in(tmp_path: Path):
    """Every page, with something strange in every place of its address and of its form."""
    wrong: list[object] = []
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        draft = begun(console).rpartition("/")[2]
        campaign = send(console, "known", 3, min_reports=1).rpartition("/")[2]
        places = {"{draft}": draft, "{id}": campaign, "{job}": "1"}
        for route in (one for one in PAGES if one.path != SIGN_OUT):
            for text in STRANGE:
                strange = re.sub(r"\{\w+\}", quote(as_utf8(text), safe=""), route.path)
                known = strange if ENDS.search(route.path) else filled(route.path, places)
                for path in {strange, known}:
                    status = sent(console, route, path, text)
                    if status >= 500 or (path == strange != known and status == 200):
                        wrong.append((route.methods, path, text, status))
        wrong += [line for line in console.errors if "bug" in line or "exception" in line]
        assert wrong == []
        assert f"/console/campaigns/{campaign}" in console.get("/console?q=known")


def filled(path: str, places: dict[str, str]) -> str:
    for blank, text in places.items():
        path = path.replace(blank, text)
    return path.replace("{name}", "x")


def sent(console: Console, route: PageRoute, path: str, text: str) -> int:
    """Ask for a page with the same text in every field; the status of the answer."""
    if method_of(route) == "GET":
        asked = urlencode(dict.fromkeys(ASKED, as_utf8(text)))
        return console.ask("GET", f"{path}?{asked}").status
    form = urlencode(dict.fromkeys(FIELDS, as_utf8(text))).encode()
    return console.ask("POST", path, form, Content_Type=FORM).status


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
        assert console.post("/console/drafts/%00/drop").status == 404
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
