"""Where a command writes: asked before any work is done, and by the same rule everywhere.

What exists is refused unless --force is given. The directory that an output goes into must exist: a mistyped path, or a disk that
is not mounted, is refused instead of being made.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from lopub.errors import StoreError
from lopub.files import exists, refuse_taken


def check_file(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless it may be overwritten, or whose directory does not."""
    try:
        if path.exists() and not force:
            raise exists(path, "--force")
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    check_parent(path)


def check_directory(path: Path, *, mark: str, force: bool) -> None:
    """The same of a directory that is written as a whole; an old one is replaced only where it has the file `mark`."""
    refuse_taken(path, mark=mark, force=force, option="--force")
    check_parent(path)


def check_unread(path: Path, read: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, also where --force is given."""
    if path.exists() and any(path.samefile(file) for file in read if file.exists()):
        raise StoreError(
            f"{path} is read by this command, and would be overwritten; choose another name"
        )


def check_parent(path: Path) -> None:
    """Refuse an output whose directory does not exist."""
    if not path.parent.exists():
        raise StoreError(f"cannot write {path}: there is no directory {path.parent}")
    if not path.parent.is_dir():
        raise StoreError(f"cannot write {path}: {path.parent} is not a directory")


def name_of(path: Path) -> str:
    """A campaign's name from a file's.

    >>> name_of(Path("My People (2).csv.gz"))
    'my-people-2'
    """
    stem = path.name.removesuffix(".gz").removesuffix(".csv").lower()
    return re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:100] or "table"
