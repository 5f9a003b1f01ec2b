"""The embedded store: one SQLite file, for one collector at a time."""

import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite import insert

from lopub.collector.store import Accepted, Kept, Key, ReportStore, StoredReport
from lopub.errors import StoreError, StoreUnavailable

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


class SqliteStore(ReportStore):
    """A file in write-ahead mode, every commit synced."""

    upsert = staticmethod(insert)

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path = path
        self._held: int | None = None
        self._is_new = create and _made(path)
        _check(path, create=create)
        address = URL.create(
            "sqlite", database=f"file:{quote(str(path))}", query={"mode": "rw", "uri": "true"}
        )
        self._writing = _engine(address, writes=True)
        """One connection of its own for all writers, who take turns. Each connection has a cache of pages, which is worthless
        after a commit of another one: whoever reads in between has no part in this one's."""
        super().__init__(_engine(address), f"sqlite:///{path}")
        self._begin()
        self._file = path.stat().st_ino

    def _writer(self) -> Engine:
        if not self._is_there():
            self._dispose()
            raise StoreUnavailable(f"the file of database {self.name} is gone; put it back")
        return self._writing

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

    def _dispose(self) -> None:
        for engine in (self._writing, self._engine):
            engine.dispose()

    def close(self) -> None:
        self._dispose()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def close_unused(self) -> None:
        """Take the file away, too, where this store made it and nobody else can have come to use it meanwhile."""
        self._dispose()
        if self._is_new and self._held is not None:
            for end in ("-wal", "-shm", ".lock", ""):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
        self.close()

    def _insert(self, connection: Connection, rows: Sequence[StoredReport]) -> Accepted:
        statement = "INSERT INTO reports (campaign, hash, slot, content) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        alike: dict[Any, list[StoredReport]] = {}
        for row in rows:
            alike.setdefault((row.campaign, row.slot), []).append(row)
        return {
            key: connection.exec_driver_sql(statement, alike[key]).rowcount for key in sorted(alike)
        }

    def _lookup(self, connection: Connection, rows: Sequence[StoredReport]) -> Kept:
        driver: Any = connection.connection.driver_connection
        statement = "SELECT slot, content FROM reports WHERE campaign = ? AND hash = ?"
        keys: list[Key] = [row[:2] for row in rows]
        return {key: driver.execute(statement, key).fetchone() for key in keys}

    def scrub(self) -> None:
        """Deleted rows are overwritten already; their traces in the log go too."""
        with self._told_apart(), self._turn, self._writing.connect() as connection:
            driver: Any = connection.connection.driver_connection
            is_busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if is_busy:
                raise StoreUnavailable(
                    f"database {self.name} is being read, so its log cannot be emptied yet; try again later"
                )

    def _is_full(self, error: BaseException) -> bool:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_IOERR:
            return shutil.disk_usage(self._path.parent).free < SMALLEST_SPACE
        return bool(code == sqlite3.SQLITE_FULL)

    def _wrong(self, error: BaseException) -> str | None:
        return _WRONG.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)


_WRONG = {
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; choose another file, or a name that is free",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup into a new file",
    sqlite3.SQLITE_READONLY: "can only be read; change the permissions of the file and of its directory",
    sqlite3.SQLITE_PERM: "may not be opened by this user; change the permissions of the file and of its directory",
}


def _made(path: Path) -> bool:
    """Make an empty file, which only its owner can read, where there is none; whether that was so."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except (FileExistsError, PermissionError):
        return False  # `_check` says what is wrong
    except FileNotFoundError:
        raise StoreError(f"there is no directory {path.parent}") from None
    except OSError as error:
        raise StoreError(f"cannot make database {path}: {error.strerror}") from None
    return True


def _check(path: Path, *, create: bool) -> None:
    """Refuse what is not a file that can be written to, before anything is. create: whether it was to be made.

    Only SQLite itself opens the file: to open and close it here would give up the locks that another connection of this process
    has on it (POSIX locks belong to the process), and other processes would then take the store for unused.
    """
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
        by_effective_user = os.access in os.supports_effective_ids
        may_write = os.access(path, os.R_OK | os.W_OK, effective_ids=by_effective_user)
    except FileNotFoundError:
        if create:
            raise StoreError(
                f"database {path} may not be made by this user; change the permissions of {path.parent}"
            ) from None
        raise StoreError(f"there is no database {path}") from None
    except OSError:
        is_directory = may_write = False
    if is_directory:
        raise StoreError(
            f"database {path} is a directory; name a file in it, as in sqlite:///{path / 'lopub.db'}"
        )
    if not may_write:
        raise StoreError(
            f"database {path} may not be read and written by this user; change its permissions"
        )
    try:
        tables = _tables(path)
    except sqlite3.DatabaseError as error:
        wrong = _WRONG.get(error.sqlite_errorcode & 0xFF)
        if wrong is None:
            return  # whatever it is, opening it in earnest will tell
        raise StoreError(f"database {path} {wrong}") from None
    if tables and "alembic_version" not in tables:
        raise StoreError(
            f"database {path} is of another program; choose another file, or a name that is free"
        )


def _tables(path: Path) -> set[str]:
    """The tables of a file, which stays as it is: even to prepare it for our use would change it."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)
    try:
        return {
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    finally:
        connection.close()


def _engine(address: URL, *, writes: bool = False) -> Engine:
    """With the ways of this store. writes: by one connection, whose transactions are alone from their beginning."""
    pool = {"pool_size": 1, "max_overflow": 0} if writes else {}
    engine = create_engine(
        address, hide_parameters=True, connect_args={"check_same_thread": False}, **pool
    )
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_engine` says so
    for name, value in PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
