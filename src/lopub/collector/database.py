"""A database's address becomes its store."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, StoreError

KINDS = "sqlite:///FILE or postgresql://USER@HOST/NAME"


def store_at(address: str, *, create: bool = True) -> ReportStore:
    """The store at an address, its schema up to date. create: whether an SQLite file that is not there is made."""
    url = _parsed(address)
    if url.drivername == "sqlite":
        if not url.database or url.database == ":memory:":
            raise DomainError("database sqlite:// needs a file, as in sqlite:///lopub.db")
        return SqliteStore(Path(url.database), create=create)
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return _postgres(url)
    raise DomainError(f"database must be {KINDS}, got one of kind {url.drivername!r}")


def _parsed(address: str) -> URL:
    try:
        return make_url(address)
    except ArgumentError:
        raise DomainError(f"database must be {KINDS}") from None


def _postgres(url: URL) -> ReportStore:
    try:
        from lopub.collector.postgres_store import PostgresStore  # loads its driver
    except ImportError:
        raise StoreError(
            "PostgreSQL needs psycopg; install it with: pip install 'lopub[service]'"
        ) from None
    return PostgresStore(url)
