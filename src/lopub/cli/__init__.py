"""The command line: one file per command. The only place that prints.

Commands load when they are first needed: a collector that was killed must be there again at once, and needs none of the others.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

import typer

from lopub.cli.commands import COMMANDS, app_of
from lopub.cli.console import refuse, survive_closed_pipes
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
            _take_interrupts()
        app(prog_name="lopub")
    except LopubError as error:
        refuse(error)


def _take_interrupts() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt, so that half-written files are taken away. Pressed again, it ends at once."""
    at_once = signal.getsignal(signal.SIGINT)
    if not callable(at_once):
        return  # whoever started the command wants Ctrl-C to be ignored

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, at_once)
        raise KeyboardInterrupt

    def unraisable(what: "sys.UnraisableHookArgs") -> None:
        """An interrupt that came while Python was tidying up an object, and was dropped there, comes again."""
        if what.exc_type is KeyboardInterrupt:
            signal.signal(signal.SIGINT, interrupted)
            signal.raise_signal(signal.SIGINT)
        else:
            sys.__unraisablehook__(what)

    signal.signal(signal.SIGINT, interrupted)
    sys.unraisablehook = unraisable


def _app() -> typer.Typer:
    """The command that is asked for; all of them, where help or completion, or somebody who mistyped, has to see them."""
    asked = sys.argv[1:2]
    if asked in ([], ["--version"]) and COMPLETING not in os.environ:
        return app_of(())
    return app_of(asked if set(asked) <= COMMANDS.keys() and COMPLETING not in os.environ else COMMANDS)
