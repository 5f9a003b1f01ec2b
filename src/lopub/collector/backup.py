"""Backups: one SQLite file with the collector's schema, of whichever store; restored into either kind.

Rows are written in the order of their keys, so that a backup tells no more than the store. Behind the SQLite file stands the
SHA-256 of all that comes before, so that no damage goes unnoticed; SQLite itself does not look there.
"""

import hashlib
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, select

from lopub.collector.rows import (
    FIRST,
    audit,
    campaigns,
    drafts,
    goals,
    refusals,
    reports,
    tallies,
    tokens,
)
from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore
from lopub.errors import StoreError
from lopub.files import sha256_of, whole_file
from lopub.reports.progress import Progress, silent

BLOCK = 2**14
TABLES = (campaigns, reports, tallies, refusals, tokens, drafts, goals, audit)
"""All but the jobs: their results lie in files, and are not restored with them."""
SEAL = b"LOPUBSUM"
"""Before the SHA-256."""
PAGE_BYTES = 512
"""Every SQLite file is a multiple of this."""
SEAL_BYTES = len(SEAL) + 32
SEALED = 0x4C6F5075
"""The application id of a backup that has a seal; those of older versions have neither."""


def backup(
    store: ReportStore, path: Path, *, force: bool = False, progress: Progress | None = None
) -> int:
    """Write one state of a store to a file that only its owner can read, while the collector goes on; how many reports."""
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
    """One file, without its log beside it."""
    connection = sqlite3.connect(part)
    try:
        connection.execute(f"PRAGMA application_id = {SEALED}")
        connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        connection.close()
    for leftover in ("-wal", "-shm"):
        Path(f"{part}{leftover}").unlink(missing_ok=True)


def _seal(part: Path) -> None:
    digest = bytes.fromhex(sha256_of(part))
    with part.open("ab") as file:
        file.write(SEAL + digest)


def _is_as_written(path: Path, application_id: int) -> bool:
    """Whether a backup has the seal that it should have."""
    size = path.stat().st_size
    if size % PAGE_BYTES != SEAL_BYTES:
        return size % PAGE_BYTES == 0 and application_id != SEALED  # of an older version
    digest, left = hashlib.sha256(), size - SEAL_BYTES
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        return file.read() == SEAL + digest.digest()


def restore(path: Path, store: ReportStore, *, progress: Progress | None = None) -> int:
    """Fill an empty store from a backup, an older one too; how many reports. All or nothing; the backup stays as it is."""
    _check(path)
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(shutil.copy(path, Path(directory) / "backup.db"))
        source = SqliteStore(copy, create=False)
        try:
            with source.reading() as state, store.writing() as sink:
                if sink.execute(select(func.count()).select_from(campaigns)).scalar():
                    raise StoreError(
                        f"database {store.name} has campaigns already; restore into an empty one"
                    )
                return _filled(state, sink, progress or silent)
        finally:
            source.close()


def _filled(source: Connection, sink: Connection, progress: Progress) -> int:
    n_reports = _copy(source, sink, progress)
    if (
        sink.dialect.name == "postgresql"
    ):  # numbers were given, not drawn: the next one drawn must be a new one
        for table in (campaigns, audit):
            last = select(func.coalesce(func.max(table.c.number), 0) + 1).scalar_subquery()
            sink.execute(select(func.setval(f"{table.name}_number_seq", last, False)))
    return n_reports


def _check(path: Path) -> None:
    """Refuse what is no backup, or a damaged one, before anything is written."""
    damaged = StoreError(f"{path} is not a backup of a collector, or is damaged")
    try:
        if not path.is_file():
            raise StoreError(f"there is no backup {path}")
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise damaged
            (application_id,) = connection.execute("PRAGMA application_id").fetchone()
            tables = {
                row[0]
                for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        raise damaged from None
    if not tables >= FIRST or not _is_as_written(path, application_id):
        raise damaged


def _copy(source: Connection, sink: Connection, progress: Progress) -> int:
    """All tables; how many reports."""
    n_reports = 0
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
