"""What all commands share: where they print, and how a refusal looks."""

import io
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from lopub.errors import LopubError, LopubWarning, StoreError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


class _Outlet(io.FileIO):
    """Standard output or error. Once nobody reads on, or it is full, what is written goes nowhere."""

    _closed_off = False

    def write(self, data: "Buffer", /) -> int:
        if not self._closed_off:
            try:
                return super().write(data)
            except OSError as error:
                self._closed_off = True
                if not isinstance(error, BrokenPipeError):
                    name = {1: "output", 2: "error"}.get(self.fileno(), "stream")
                    raise StoreError(f"cannot write to standard {name}: {error.strerror}") from None
        return memoryview(data).nbytes


def survive_closed_pipes() -> None:
    """`lopub … | head` is no mistake: the command goes on, writes the files that it was asked for, and ends as it would have."""
    sys.stdout, sys.stderr = _surviving(sys.stdout), _surviving(sys.stderr)


def _surviving(stream: TextIO) -> TextIO:
    """The same stream to whoever prints. One without a file behind it, as in tests, or none at all is left as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


out = Console(soft_wrap=False, highlight=False)
err = Console(stderr=True, highlight=False, soft_wrap=True)


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
