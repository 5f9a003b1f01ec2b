"""What tests look for in a store's file, and what they do to it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def asked(directory: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query of a store's file finds, or changes."""
    with closing(sqlite3.connect(directory / "store.db")) as connection:
        found = connection.execute(query, values).fetchall()
        connection.commit()
    return found


def reports_in(directory: Path) -> list[bytes]:
    """The bytes of all reports that are kept, in no order."""
    if not (directory / "store.db").exists():
        return []
    return [report for (report,) in asked(directory, "SELECT report FROM reports")]


def bytes_of(directory: Path) -> bytes:
    """All that lies in the files of a store, one behind the other."""
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())
