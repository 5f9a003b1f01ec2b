"""What all commands share: where they print, what may reach a terminal, and how a refusal looks."""

import io
import json
import os
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from lopub.errors import LopubError, LopubWarning, StoreError
from lopub.reports.progress import Progress

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
"""Signs without a width that honest texts have, too: hyphenation, joiners, marks of direction. They are left out."""


def plain(text: str) -> str:
    """Words of a campaign, a collector or a file, safe to show: nothing that moves the cursor, turns the direction of writing
    around, or hides. Every such sign becomes a visible one; line ends stay.

    >>> plain("a\\x1b[2Jb\\u202ec\\u00a0d\\u200b")
    'a�[2Jb�c d'
    """
    return text if text.isprintable() else "".join(map(_plain_sign, text))


def _plain_sign(sign: str) -> str:
    if sign.isprintable() or sign == "\n":
        return sign
    if sign in INVISIBLE:
        return ""
    return (
        " " if sign == "\t" or unicodedata.category(sign) == "Zs" else "\N{REPLACEMENT CHARACTER}"
    )


def one_line(text: str) -> str:
    """Safe to show, and without line ends, so that nobody's words can pass for a line of ours."""
    return " ".join(plain(text).split())


class _Console(Console):
    """Shows every text as it is: no markup, no emoji codes, no sign that is not plain, whoever wrote it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text), **(options | {"markup": False, "emoji": False}))


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
    """`lopub … | head` is no mistake: the command goes on, writes the files that it was asked for, and ends as it would have. Nor
    is a terminal that does not know a sign, which is then shown by its number, or a standard input that was closed."""
    sys.stdout, sys.stderr = _surviving(sys.stdout), _surviving(sys.stderr)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as the process lives


def _surviving(stream: TextIO) -> TextIO:
    """The same stream to whoever prints. One without a file behind it, as in tests, or none at all is left as it is."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):
        return stream
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(descriptor, "wb", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


LINE_SECONDS = 10
"""Between two lines that tell how far work is, where there is no terminal."""

out = _Console(soft_wrap=False)
err = _Console(stderr=True, soft_wrap=True)


def count_of_reports(n: int) -> str:
    """A number of reports for people.

    >>> count_of_reports(1), count_of_reports(2000)
    ('1 report', '2,000 reports')
    """
    return f"{n:,} report{'' if n == 1 else 's'}"


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A plain table; the columns named in `right` hold numbers."""
    result = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for column in columns:
        result.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return result


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document on standard output, where nothing else may stand then; signs that are not plain are escaped."""
    text = json.dumps(document, ensure_ascii=not _takes_all_signs(sys.stdout), indent=2)
    print(
        "".join(
            sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text
        )
    )


def _takes_all_signs(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().startswith("utf")


def say(text: str) -> None:
    """A line for people; never broken in the middle of a path."""
    out.print(text, soft_wrap=True)


def tell(document: Mapping[str, object], *lines: str, as_json: bool) -> None:
    """What a command ends with: one JSON document for programs, or lines for people."""
    if as_json:
        print_json(document)
    else:
        for line in lines:
            say(line)


def note(text: str) -> None:
    """Something worth knowing, on standard error, so that piped output stays clean."""
    err.print(text)


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
    with noted_warnings(), err.status(Text(plain(title))):
        yield


def refuse(error: LopubError) -> NoReturn:
    """One sentence, or a list of mistakes, exit code 1, no traceback. Only the list itself may begin new lines."""
    sentence, *mistakes = str(error).split("\n- ")
    err.print("\n- ".join([f"lopub: {one_line(sentence)}", *map(one_line, mistakes)]))
    sys.exit(1)


class _Lines:
    """Progress where there is no terminal: a line when LINE_SECONDS have passed since the last one."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def tell(self, what: str, done: int, total: int | None) -> None:
        if time.monotonic() - self._last >= LINE_SECONDS:
            self._last = time.monotonic()
            note(one_line(what) if total is None else f"{one_line(what)}: {done:,} of {total:,}")


@contextmanager
def progress_bar(title: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """A bar on standard error for anything that can take over a second; where that is no terminal, a line every ten seconds. It
    has the title until it is told what is being done, and begins anew whenever that is something else."""
    if not err.is_terminal:
        yield _Lines().tell
        return
    amounts: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()] if in_bytes else [MofNCompleteColumn()]
    )
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *amounts,
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=err, transient=True)
    doing, task = title, bar.add_task(one_line(title), total=None)

    def told(what: str, done: int, total: int | None) -> None:
        nonlocal doing, task
        if what != doing:
            bar.remove_task(task)
            doing, task = what, bar.add_task(one_line(what), total=None)
        bar.update(task, completed=done, total=total)

    with bar:
        yield told
