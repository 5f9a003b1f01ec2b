"""The browser client, as tests reach it: its folder, its builds, and a Node process that does what Python asks for."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from lopub.campaign.campaign import Campaign

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "js"
SHIPPED = ROOT / "src" / "lopub" / "pages" / "client"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not (FOLDER / "node_modules").exists(),
    reason="needs Node, and `npm ci` in clients/js",
)


def node(*arguments: str | Path, lines: Iterable[str] = ()) -> str:
    """What a script of ours prints."""
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [NODE or "node", *map(str, arguments)],
        input=given,
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@cache
def build_for_tests() -> Path:
    """The build whose random bytes are handed in; once for each process of the tests."""
    path = Path(mkdtemp(prefix="lopub-js-")) / "testing.js"
    node("build.mjs", "--testing", path)
    return path


def agreeing(questions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the browser client says to each of these."""
    for line in node(
        "test/agree.mjs", build_for_tests(), lines=map(json.dumps, questions)
    ).splitlines():
        yield json.loads(line)


def responses(campaign: Campaign, records: Iterable[dict[str, Any]], folder: Path) -> list[bytes]:
    """Reports of the shipped bundle, each of a new respondent."""
    path = folder / f"{campaign.id[:16]}.json"
    path.write_bytes(campaign.canonical_bytes)
    printed = node("test/respond.mjs", path, lines=map(json.dumps, records))
    return [bytes.fromhex(line) for line in printed.splitlines()]
