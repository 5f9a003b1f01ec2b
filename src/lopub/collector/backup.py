"""Backups: one SQLite file with the tables of a store of either kind, to restore into either.

Rows are written in the order of their keys, by one transaction: a backup tells nothing of the order
in which reports came. Behind the SQLite file stands the SHA-256 of all that comes before, so that
no damage goes unnoticed; SQLite itself does not look there.
"""

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, create_engine, func, select

from lopub.collector.rows import (
    audit,
    campaigns,
    drafts,
    goals,
    refusals,
    reports,
    retention,
    tallies,
    tokens,
)
from lopub.collector.schema import OWN, refuse_foreign, refuse_revision
from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore
from lopub.errors import StoreError
from lopub.files import sha256_of, whole_file
from lopub.reports.progress import Progress, silent

BLOCK = 2**14
TABLES = (retention, campaigns, reports, tallies, refusals, tokens, drafts, goals, audit)
"""All but sessions and jobs: the results of jobs lie in files, and are not restored with them."""
USED = TABLES[1:]
"""Every database has a last day of retention; where there is more, somebody has used it."""
SEAL = b"LOPUBSUM"
"""Before the SHA-256."""
SEAL_BYTES = len(SEAL) + 32


def backup(
    store: ReportStore, path: Path, *, force: bool = False, progress: Progress | None = None
) -> int:
    """Write one state of a store to a file that only its owner can read; how many reports.

    The collector goes on meanwhile.
    """
    with whole_file(path, force=force, mode=0o600) as part:
        target = SqliteStore(part)
        try:
            with store.reading() as source, target.writing() as sink:
                copied = _copy(source, sink, progress or silent)
        finally:
            target.close()
        _settled(part)
        _seal(part)
    return copied


def _settled(part: Path) -> None:
    """Make one file of a database, without its log beside it."""
    connection = sqlite3.connect(part)
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        connection.close()
    for leftover in ("-wal", "-shm"):
        Path(f"{part}{leftover}").unlink(missing_ok=True)


def _seal(part: Path) -> None:
    digest = bytes.fromhex(sha256_of(part))
    with part.open("ab") as file:
        file.write(SEAL + digest)


def _is_as_written(path: Path) -> bool:
    """Return whether a backup has the seal that it should have."""
    digest, left = hashlib.sha256(), path.stat().st_size - SEAL_BYTES
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        return file.read() == SEAL + digest.digest()


def restore(path: Path, store: ReportStore, *, progress: Progress | None = None) -> int:
    """Fill an empty store from a backup, all or nothing; how many reports.

    The backup stays as it is. The last day that retention saw comes with it: after a backup that is
    older than a week, a steward has to confirm the date.
    """
    _check(path)
    source = create_engine("sqlite://", creator=lambda: _opened(path), hide_parameters=True)
    try:
        with source.connect() as state, store.writing() as sink:
            if any(sink.execute(select(table).limit(1)).first() for table in USED):
                raise StoreError(
                    "database {name} has been used already; restore into a new one",
                    name=store.name,
                )
            return _filled(state, sink, progress or silent)
    finally:
        source.dispose()


def _opened(path: Path) -> sqlite3.Connection:
    """Open a backup where it lies: nothing is written, neither beside it nor as a copy elsewhere,
    which would outlast a restore that is killed."""
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def _filled(source: Connection, sink: Connection, progress: Progress) -> int:
    n_reports = _copy(source, sink, progress)
    if sink.dialect.name == "postgresql":  # the next number drawn must be above those copied
        for table in (campaigns, audit):
            last = select(func.coalesce(func.max(table.c.number), 0) + 1).scalar_subquery()
            sink.execute(select(func.setval(f"{table.name}_number_seq", last, False)))
    return n_reports


def _check(path: Path) -> None:
    """Refuse a file that is not a backup, is damaged, or is of another LoPub."""
    if not path.is_file():
        raise StoreError("there is no backup {path}", path=path)
    damaged = StoreError("{path} is not a backup of a collector, or is damaged", path=path)
    try:
        connection = _opened(path)
        try:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise damaged
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {row[0] for row in names}
            refuse_foreign(tables, str(path), shared=False)
            if OWN not in tables:
                raise damaged
            (revision,) = connection.execute("SELECT revision FROM lopub_schema").fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        raise damaged from None
    if not _is_as_written(path):
        raise damaged
    refuse_revision(revision, str(path))


def _copy(source: Connection, sink: Connection, progress: Progress) -> int:
    """Copy all tables; how many reports."""
    n_reports = 0
    sink.execute(retention.delete())  # an empty store has a last day, too
    for table in TABLES:
        n_rows = 0
        for block in _blocks(source, table):
            sink.execute(table.insert(), block)
            n_reports += sum(row["content"] is not None for row in block) if table is reports else 0
            n_rows += len(block)
            progress(f"copying {table.name}", n_rows, None)
    return n_reports


def _blocks(source: Connection, table: Table) -> Any:
    chosen = select(table).order_by(*table.primary_key.columns)
    rows = source.execution_options(stream_results=True, max_row_buffer=BLOCK).execute(chosen)
    for block in rows.mappings().partitions(BLOCK):
        yield [dict(row) for row in block]
