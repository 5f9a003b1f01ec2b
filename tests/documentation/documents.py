"""The blocks of code in a document, and a way to run all blocks of a page in the order in which they stand.

What stands behind the language of a block says what becomes of it:

    ```sh                          run; see `Shell`
    ```python                      run; all blocks of a page share their names
    ```json file=draft.json        written to that file, which later blocks find
    ```text output                 what the block before it prints; `…` stands for anything
    ```sh no-run: why not          left out
"""

import contextlib
import io
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import done, lopub

from lopub.bulk import Bulk
from lopub.campaign.mechanisms import Mechanism
from lopub.campaign.views import ViewRule
from lopub.estimation import METHODS
from tiers import FULL

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```([\w-]+)([^\n`]*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
LONGEST_WAIT = 120
"""Seconds until a page that starts a server is given up."""
FEW_PEOPLE = 2_000
"""Of a demo, unless everything is run at its full size."""


@dataclass(frozen=True)
class Block:
    language: str
    rest: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        return self.rest.removeprefix("file=") if self.rest.startswith("file=") else None

    @property
    def is_output(self) -> bool:
        return self.rest == "output"

    @property
    def reason(self) -> str | None:
        """Why it is not run; empty where no reason is given."""
        return (
            self.rest.removeprefix("no-run").removeprefix(":").strip()
            if self.rest.startswith("no-run")
            else None
        )


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = FENCE.finditer(text)
    return [Block(m[2], m[3].strip(), m[4], text.count("\n", 0, m.start()) + 1) for m in found]


def commands_of(text: str) -> list[str]:
    """The lines of a shell block, continued lines joined, without comments."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = [re.sub(r"(^|\s)#\s.*", "", line).strip() for line in joined.splitlines()]
    return [line for line in lines if line]


def run(page: Path, folder: Path) -> None:
    """Run a page's blocks in a folder, and compare what they print with what the page says they do; but not what follows from a
    demo of fewer people than the page's."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    with contextlib.chdir(folder), registries_as_they_were(), Shell() as shell:
        for block in blocks_of(page):
            where = f"{page.name}:{block.line}"
            if block.reason is not None:
                continue
            if block.file is not None:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.is_output:
                told = f"{where} is not what is printed:\n{printed}"
                assert shell.has_small_demo or fits(block.text, printed), told
            elif block.language == "sh":
                printed = "".join(shell.run(line) for line in commands_of(block.text))
            elif block.language == "python":
                printed = _python(block.text, where, names)


@contextlib.contextmanager
def registries_as_they_were() -> Iterator[None]:
    """What a page adds to the library is gone after it."""
    registries: list[dict[str, Any]] = [Mechanism.known, Bulk.known, ViewRule.known, METHODS]
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


class Shell:
    """Runs line by line what a reader would type: `lopub` in this process, which has everything loaded, `lopub serve … &` beside
    it, and the rest in bash. Ports 8000 and 8001 are others here, so that two pages can be run at once: those that the server
    was given, and before it is started some at which nobody can listen."""

    def __init__(self) -> None:
        self.variables = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.held = [socket.socket(), socket.socket()]
        for one in self.held:
            one.bind(("127.0.0.1", 0))
        self.ports = {
            port: one.getsockname()[1]
            for port, one in zip(("8000", "8001"), self.held, strict=True)
        }
        self.server: subprocess.Popen[str] | None = None
        self.has_small_demo = False

    def __enter__(self) -> "Shell":
        return self

    def __exit__(self, *_: object) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.communicate()
        for one in self.held:
            one.close()

    def run(self, line: str) -> str:
        """What the line prints."""
        if served := re.fullmatch(r"lopub serve (.*) &", line):
            self._serve(re.sub("|".join(self.ports), "0", served[1]))
            return ""
        for port, other in self.ports.items():
            line = line.replace(port, str(other))
        if assigned := re.fullmatch(r"(\w+)=(\$\(.*\)|\S*)", line):
            self.variables[assigned[1]] = self._bash(f"printf %s {assigned[2]}")
        elif line == "kill %1":
            assert self.server is not None, "nothing was started that could be killed"
            self.server.terminate()
        elif line == "wait":
            assert self.server is not None and self.server.wait(LONGEST_WAIT) == 0
        elif line.startswith("lopub demo") and not FULL:
            self.has_small_demo = True
            done(lopub(*shlex.split(line)[1:], "--people", FEW_PEOPLE))
        elif "--engine" in line:  # its workers want a process that is theirs to start again
            return self._bash(line)
        elif plain := re.fullmatch(r"lopub ([^|&;<>]*)(?:> (\S+))?", self._expanded(line)):
            return self._said(done(lopub(*shlex.split(plain[1]))).stdout, plain[2])
        else:
            return self._bash(line)
        return ""

    def _serve(self, options: str) -> None:
        self.server, ports = serving("serve", *shlex.split(options))
        self.ports = dict(zip(self.ports, ports, strict=True))

    def _expanded(self, line: str) -> str:
        return re.sub(r"\$(\w+)", lambda found: self.variables.get(found[1], found[0]), line)

    def _said(self, text: str, file: str | None) -> str:
        if file is None:
            return text
        Path(file).write_text(text, encoding="utf-8")
        return ""

    def _bash(self, line: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", line],
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=LONGEST_WAIT,
        )
        assert ran.returncode == 0, f"{line}: {ran.stdout}{ran.stderr}"
        return ran.stdout


def serving(
    *command: str, environment: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[str], list[int]]:
    """A collector with a console, both told to take any port, and the ports that they took."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lopub", *command],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    said = [process.stdout.readline(), process.stdout.readline()]
    ports = [re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in said]
    assert all(ports), f"{command} did not start: {said}"
    return process, [int(port[1]) for port in ports if port]


def fits(said: str, printed: str) -> bool:
    """Whether a page says what was printed. Spaces at the ends of lines do not count."""
    pattern = re.escape(_trimmed(said)).replace("…", ".*?")
    return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _python(text: str, where: str, names: dict[str, object]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(text, where, "exec"), names)
    return said.getvalue()
