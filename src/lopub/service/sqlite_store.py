"""The embedded store: one SQLite file, for one collector at a time."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite import insert

from lopub.errors import StoreError, StoreUnavailable
from lopub.service.store import Kept, Key, Row, Store

PRAGMAS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",  # a commit is on the disk before it is acknowledged
    "secure_delete": "ON",  # what is deleted is overwritten
    "busy_timeout": "10000",
    "wal_autocheckpoint": "8192",  # pages: fewer, larger checkpoints than the default
    "journal_size_limit": "67108864",
}
SMALLEST_SPACE = 2**20
"""Bytes. With less free, a failed read or write is put down to the disk being full."""


class SqliteStore(Store):
    """A file in write-ahead mode, every commit synced."""

    upsert = staticmethod(insert)

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path = path
        self._held: int | None = None
        if create:
            _make(path)
        elif not path.is_file():
            raise StoreError(f"there is no database {path}")
        address = URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "rw", "uri": "true"})
        engine = create_engine(address, hide_parameters=True, connect_args={"check_same_thread": False})
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        super().__init__(engine, f"sqlite:///{path}")
        self._begin()
        self._file = path.stat().st_ino

    def _writer(self) -> Engine:
        if not self._is_there():
            self._engine.dispose()
            raise StoreUnavailable(f"the file of database {self.name} is gone; put it back")
        return self._engine.execution_options(lopub_writes=True)

    def _is_there(self) -> bool:
        """Whether the file is still the one that was opened: SQLite itself would go on writing to a deleted one."""
        try:
            return not hasattr(self, "_file") or self._path.stat().st_ino == self._file
        except OSError:
            return False

    def hold(self) -> None:
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise StoreError(
                f"{self._path} is in use by another collector; stop that one first, or send the reports to it"
            ) from None
        self._held = lock

    def close(self) -> None:
        super().close()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _insert(self, connection: Connection, rows: Sequence[Row]) -> int:
        statement = "INSERT INTO reports (campaign, hash, slot, content) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return connection.exec_driver_sql(statement, rows).rowcount

    def _lookup(self, connection: Connection, rows: Sequence[Row]) -> Kept:
        driver: Any = connection.connection.driver_connection
        statement = "SELECT slot, content FROM reports WHERE campaign = ? AND hash = ?"
        keys: list[Key] = [row[:2] for row in rows]
        return {key: driver.execute(statement, key).fetchone() for key in keys}

    def scrub(self) -> None:
        """Deleted rows are overwritten already; their traces in the log go too."""
        with self._told_apart(), self._turn, self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            is_busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if is_busy:
                raise StoreUnavailable(f"database {self.name} is being read, so its log cannot be emptied yet; try again later")

    def _is_full(self, error: BaseException) -> bool:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_IOERR:
            return shutil.disk_usage(self._path.parent).free < SMALLEST_SPACE
        return bool(code == sqlite3.SQLITE_FULL)


def _make(path: Path) -> None:
    """An empty file that only its owner can read, unless there is one."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"cannot open database {path}: {error.strerror}") from None


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, in `_begin`
    for name, value in PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("lopub_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
