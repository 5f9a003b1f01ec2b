"""The command line: one file per command. The only place that prints.

Commands load when they are first needed: a collector that was killed must be there again at once, and needs none of the others.
"""

import os
import sys
from typing import Any

import typer

from lopub.cli.commands import COMMANDS, app_of
from lopub.cli.console import refuse, survive_closed_pipes
from lopub.cli.interrupts import take_interrupts
from lopub.errors import LopubError

COMPLETING = "_LOPUB_COMPLETE"
"""What a shell sets in the environment where it asks for completions."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'lopub.cli' has no attribute {name!r}")
    return app_of(COMMANDS)


def run(*, own_process: bool = False) -> None:
    """Run the command line; a user's mistake ends in one sentence, and Ctrl-C in none, never in a traceback.

    own_process: nothing else runs in it, so its streams and signals may be taken over.
    """
    if own_process:
        survive_closed_pipes()
    try:
        app = _app()
        if own_process:
            take_interrupts()
        app(prog_name="lopub")
    except LopubError as error:
        refuse(error)


def _app() -> typer.Typer:
    """The command that is asked for; all of them, where help or completion, or somebody who mistyped, has to see them."""
    asked = sys.argv[1:2]
    if asked in ([], ["--version"]) and COMPLETING not in os.environ:
        return app_of(())
    return app_of(
        asked if set(asked) <= COMMANDS.keys() and COMPLETING not in os.environ else COMMANDS
    )
