"""A database's address becomes its store."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, StoreError

KINDS = "sqlite:///FILE or postgresql://USER@HOST/NAME"


def store_at(address: str, *, create: bool = True) -> ReportStore:
    """Return the store at an address. create: whether a file that is not there is made, and tables
    in an empty database."""
    url = _parsed(address)
    if url.drivername == "sqlite":
        if not url.database or url.database == ":memory:":
            raise DomainError("database sqlite:// needs a file, as in sqlite:///lopub.db")
        return SqliteStore(Path(url.database), create=create)
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return _postgres(url, create=create)
    raise DomainError(
        "database must be {kinds}, got one of kind {kind!r}", kinds=KINDS, kind=url.drivername
    )


def _parsed(address: str) -> URL:
    try:
        return make_url(address)
    except ArgumentError:
        raise DomainError("database must be {kinds}", kinds=KINDS) from None


def _postgres(url: URL, *, create: bool) -> ReportStore:
    try:
        from lopub.collector.postgres_store import PostgresStore  # loads its driver
    except ImportError:
        raise StoreError(
            "PostgreSQL needs psycopg; install it with: pip install 'lopub[service]'"
        ) from None
    return PostgresStore(url, create=create)


def files_of(database: str) -> Path:
    """Return where results of jobs are kept by default: beside an SQLite file, or in the working
    directory."""
    _, found, path = database.partition("sqlite:///")
    return Path(f"{path}.files") if found else Path("lopub.files")
