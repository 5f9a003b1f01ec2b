"""The command line in this process, which has everything loaded, or in one of its own; and all its commands, for tests that walk
them."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.main import get_command

from lopub.cli import app, run

Result = subprocess.CompletedProcess[str]


def lopub(
    *arguments: object, cwd: Path | None = None, given: str = "", **environment: object
) -> Result:
    """What a command prints, and its exit code. given: what it finds on standard input."""
    words, out, err, code = list(map(str, arguments)), io.StringIO(), io.StringIO(), 0
    given_bytes = io.TextIOWrapper(io.BytesIO(given.encode()))
    streams = patch.multiple(sys, argv=["lopub", *words], stdin=given_bytes, stdout=out, stderr=err)
    variables = patch.dict(os.environ, {name: str(value) for name, value in environment.items()})
    with contextlib.chdir(cwd or Path.cwd()), variables, streams:
        try:
            run()
        except SystemExit as end:
            code = int(end.code or 0)
    return Result(words, code, out.getvalue(), err.getvalue())


def in_a_process(*arguments: object, **options: Any) -> Result:
    """The same in a process of its own, which takes half a second to start: for what only such a one can show. options: as for
    `subprocess.run`."""
    command = [sys.executable, "-m", "lopub", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def done(result: Result) -> Result:
    assert result.returncode == 0, f"{result.args}: {result.stderr}"
    return result


def refused(result: Result) -> str:
    """The one sentence of a refusal, whatever was printed before it, as it stands on standard error."""
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("lopub: ") and result.stderr.count("\n") == 1
    return result.stderr


def refusal(result: Result) -> str:
    """The one sentence of a refusal, with nothing on standard output."""
    assert result.returncode == 1 and result.stdout == "", (
        f"{result.args}: {result.stdout}{result.stderr}"
    )
    assert result.stderr.startswith("lopub: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("lopub: ").rstrip("\n")


def all_commands() -> dict[str, Any]:
    """Every command that does something, by its name without `lopub`."""
    return dict(_within(get_command(app), ""))


def _within(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if (inner := getattr(command, "commands", None)) is None:
        yield name.strip(), command
        return
    for key, value in inner.items():
        yield from _within(value, f"{name} {key}")


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command, by the first of their long names."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    return {
        next(name for name in option.opts if name.startswith("--")): option for option in options
    }
