"""The command line: one file per command. The only place that prints.

Commands load when they are first needed: a collector that was killed must be there again at once, and needs none of the others.
"""

import sys
from typing import Any

import typer

from lopub.cli.console import refuse, silence_broken_pipe
from lopub.errors import LopubError


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'lopub.cli' has no attribute {name!r}")
    from lopub.cli.commands import app

    return app


def run() -> None:
    """Run the command line; a user's mistake ends in one sentence, never in a traceback."""
    try:
        _app()(prog_name="lopub")
    except LopubError as error:
        refuse(error)
    except BrokenPipeError:
        silence_broken_pipe()


def _app() -> typer.Typer:
    """All commands; or `serve` alone, where that is what is asked for."""
    if sys.argv[1:2] == ["serve"]:
        from lopub.cli.serve import alone

        return alone
    from lopub.cli.commands import app

    return app
