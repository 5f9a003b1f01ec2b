"""What all commands share: where they print, and how a refusal looks."""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from lopub.errors import LopubError, LopubWarning


class _Console(Console):
    """Rich's own console ends with exit code 1 where nobody reads on; `lopub … | head` is no mistake."""

    def on_broken_pipe(self) -> None:
        silence_broken_pipe()


out = _Console(soft_wrap=False, highlight=False)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A plain table; the columns named in `right` hold numbers."""
    result = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for column in columns:
        result.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return result


def print_json(value: Any) -> None:
    """Machine-readable, and nothing else, on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def say(text: str) -> None:
    """A line for people; never broken in the middle of a path."""
    out.print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Something worth knowing, on standard error, so that piped output stays clean."""
    err.print(text, markup=False)


@contextmanager
def noted_warnings() -> Iterator[None]:
    """LoPub's warnings become notes at the end of something that succeeds."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LopubWarning)
        yield
    for warning in caught:
        note(f"warning: {warning.message}")


@contextmanager
def working(title: str) -> Iterator[None]:
    """A sign of life on a terminal while something takes its time; LoPub's warnings become notes at its end."""
    with noted_warnings(), err.status(title):
        yield


def refuse(error: LopubError) -> NoReturn:
    """One sentence, exit code 1, no traceback."""
    err.print(f"lopub: {error}", markup=False)
    sys.exit(1)


def progress(title: str, total: int) -> tuple[Progress, TaskID]:
    """A progress bar on standard error, for anything that can take over a second; shown on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    return bar, bar.add_task(title, total=total)


def silence_broken_pipe() -> NoReturn:
    """`lopub … | head` is no mistake."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
