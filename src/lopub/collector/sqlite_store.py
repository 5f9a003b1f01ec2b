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

from lopub.collector.schema import refuse_foreign
from lopub.collector.store import ReportStore
from lopub.collector.submissions import Inserted, Kept, StoredReport
from lopub.errors import Message, StoreError, StoreUnavailable

PRAGMAS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",  # a commit is on the disk before it is acknowledged
    "secure_delete": "ON",  # what is deleted is overwritten
    "temp_store": "MEMORY",  # no content in temporary files elsewhere
    "busy_timeout": "10000",
    "wal_autocheckpoint": "8192",  # pages: fewer, larger checkpoints than the default
    "journal_size_limit": "67108864",
}
_REWRITING = (
    "INSERT INTO aside SELECT * FROM reports WHERE campaign = ? ORDER BY hash",
    "DELETE FROM reports WHERE campaign = ?",
    "INSERT INTO reports SELECT * FROM aside WHERE campaign = ? ORDER BY rowid",
)
"""Each for every campaign whose rows are put in order."""
SCRUB_MILLISECONDS = 500
"""Readers that are not done with the log by then are not waited for, since writers would wait, too;
retention tries again."""
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
        """One connection of its own for all writers, who take turns. Each connection has a cache of
        pages, which is worthless after a commit of another one: whoever reads in between has no
        part in this one's."""
        super().__init__(_engine(address), f"sqlite:///{path}")
        self._begin(create=create)
        self._file = path.stat().st_ino

    def _writer(self) -> Engine:
        if not self._is_there():
            self._dispose()
            raise StoreUnavailable(
                "the file of database {name} is gone; put it back", name=self.name
            )
        return self._writing

    def _is_there(self) -> bool:
        """Return whether the file is still the one that was opened.

        SQLite itself would go on writing to a deleted one.
        """
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
                "{path} is in use by another collector; stop that one first, or send the reports"
                " to it",
                path=self._path,
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
        """Delete the file, too, where this store made it and nobody else can be using it."""
        self._dispose()
        if self._is_new and self._held is not None:
            for end in ("-wal", "-shm", ".lock", ""):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
        self.close()

    def insert(self, connection: Connection, rows: Sequence[StoredReport]) -> Inserted:
        statement = (
            "INSERT INTO reports (campaign, hash, slot, content) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING"
        )
        alike: dict[Any, list[StoredReport]] = {}
        for row in rows:
            alike.setdefault((row.campaign, row.slot), []).append(row)
        return {
            key: connection.exec_driver_sql(statement, same).rowcount for key, same in alike.items()
        }

    def lookup(self, connection: Connection, rows: Sequence[StoredReport]) -> Kept:
        driver: Any = connection.connection.driver_connection
        statement = "SELECT slot, content FROM reports WHERE campaign = ? AND hash = ?"
        found = ((row[:2], driver.execute(statement, row[:2]).fetchone()) for row in rows)
        return {key: kept for key, kept in found if kept is not None}

    def empty(
        self, connection: Connection, rows: Sequence[StoredReport]
    ) -> Sequence[tuple[int, int]]:
        found = self.lookup(connection, rows)
        full = {key: slot for key, (slot, content) in found.items() if content is not None}
        if full:
            statement = (
                "UPDATE reports SET slot = NULL, content = NULL WHERE campaign = ? AND hash = ?"
            )
            connection.exec_driver_sql(statement, list(full))
        return [(number, slot or 0) for (number, _), slot in full.items()]

    def day_there(self, connection: Connection) -> int:
        return self.today()

    def scrub(self) -> None:
        """Deleted rows are overwritten already; their traces in the log go too.

        Most of the log is copied while others write; they wait only for its end, and not for long
        where a reader holds it.
        """
        with self._as_store_errors(), self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            driver.execute(f"PRAGMA busy_timeout = {SCRUB_MILLISECONDS}")
            try:
                with self._turn:
                    is_busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                driver.execute(f"PRAGMA busy_timeout = {PRAGMAS['busy_timeout']}")
            if is_busy:
                raise StoreUnavailable(
                    "database {name} is being read, so its log cannot be emptied yet;"
                    " try again later",
                    name=self.name,
                )

    def rewrite(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Take the rows out of their pages and put them back in order.

        Not by VACUUM, which would write all that there is into a temporary file elsewhere.
        """
        connection.exec_driver_sql("CREATE TABLE aside (campaign, hash, slot, content)")
        for statement in _REWRITING:
            connection.exec_driver_sql(statement, [(number,) for number in numbers])
        connection.exec_driver_sql("DROP TABLE aside")

    def _is_full(self, error: BaseException) -> bool:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_IOERR:
            return shutil.disk_usage(self._path.parent).free < SMALLEST_SPACE
        return bool(code == sqlite3.SQLITE_FULL)

    def _wrong(self, error: BaseException) -> str | None:
        return _WRONG.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)

    def _outage(self, error: BaseException) -> str:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return _OUTAGES.get(code) or super()._outage(error)


_PERMISSIONS = "change the permissions of the file and of its directory"
_WRONG = {
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; choose another file, or a name that is free",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup into a new file",
    sqlite3.SQLITE_READONLY: f"can only be read; {_PERMISSIONS}",
    sqlite3.SQLITE_PERM: f"may not be opened by this user; {_PERMISSIONS}",
}

_OUTAGES = {
    sqlite3.SQLITE_BUSY: "another program is writing to it",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
}
"""Why a file cannot be used for now."""


def _made(path: Path) -> bool:
    """Make an empty file that only its owner can read, where there is none; whether that was so."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except (FileExistsError, PermissionError):
        return False  # `_check` says what is wrong
    except FileNotFoundError:
        raise StoreError("there is no directory {path}", path=path.parent) from None
    except OSError as error:
        raise StoreError(
            "cannot make database {path}: {reason}", path=path, reason=error.strerror
        ) from None
    return True


def _check(path: Path, *, create: bool) -> None:
    """Refuse what is not a file that can be written to, before anything is.

    create: whether it was to be made. Only SQLite itself opens the file: to open and close it here
    would give up the locks that another connection of this process has on it (POSIX locks belong to
    the process), and other processes would then take the store for unused.
    """
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
        by_effective_user = os.access in os.supports_effective_ids
        may_write = os.access(path, os.R_OK | os.W_OK, effective_ids=by_effective_user)
    except FileNotFoundError:
        if create:
            raise StoreError(
                "database {path} may not be made by this user; change the permissions of"
                " {directory}",
                path=path,
                directory=path.parent,
            ) from None
        raise StoreError("there is no database {path}", path=path) from None
    except OSError:
        is_directory = may_write = False
    if is_directory:
        raise StoreError(
            "database {path} is a directory; name a file in it, as in sqlite:///{file}",
            path=path,
            file=path / "lopub.db",
        )
    if not may_write:
        raise StoreError(
            "database {path} may not be read and written by this user; change its permissions",
            path=path,
        )
    try:
        tables = _tables(path)
    except sqlite3.DatabaseError as error:
        wrong = _WRONG.get(error.sqlite_errorcode & 0xFF)
        if wrong is None:
            return  # whatever it is, opening it will show
        raise StoreError("database {path} {wrong}", path=path, wrong=Message(wrong)) from None
    refuse_foreign(tables, str(path), shared=False)


def _tables(path: Path) -> set[str]:
    """Return the names of a file's tables, and leave the file as it is."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)
    try:
        return {
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    finally:
        connection.close()


def _engine(address: URL, *, writes: bool = False) -> Engine:
    """Make an engine with this store's settings.

    writes: it has one connection, whose transactions lock out other writers from their beginning.
    """
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
