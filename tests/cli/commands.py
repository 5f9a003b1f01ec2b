"""The command line in this process, which has everything loaded, and all its commands, for tests that walk them."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from lopub.cli import run
from lopub.cli.commands import app


def lopub(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a command prints, and its exit code."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    before, code = Path.cwd(), 0
    try:
        sys.argv = ["lopub", *map(str, arguments)]
        os.chdir(cwd or before)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = argv
        os.chdir(before)
    return subprocess.CompletedProcess(list(map(str, arguments)), code, out.getvalue(), err.getvalue())


def done(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert result.returncode == 0, f"{result.args}: {result.stderr}"
    return result


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a refusal, with nothing on standard output."""
    assert result.returncode == 1 and result.stdout == "", f"{result.args}: {result.stdout}{result.stderr}"
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
    return {next(name for name in option.opts if name.startswith("--")): option for option in options}
