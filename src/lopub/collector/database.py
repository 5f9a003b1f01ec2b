"""A database's address becomes its store."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, StoreError

KINDS = "sqlite:///FILE or postgresql://USER@HOST/NAME"
UNESCAPED = (
    "the database's address has an @ too many: in a user's name or a password, write @ as %40, / as"
    " %2F, # as %23 and % as %25"
)
"""Without the address: what of it is the password cannot be told."""


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
        url = make_url(address)
    except (ArgumentError, ValueError):  # the latter where the port is not a number
        raise DomainError("database must be {kinds}", kinds=KINDS) from None
    is_misread = "@" in f"{url.host}{url.database}" or address.count("@") > 1
    if url.drivername != "sqlite" and is_misread:
        raise DomainError(UNESCAPED)
    return url


def _postgres(url: URL, *, create: bool) -> ReportStore:
    try:
        from lopub.collector.postgres_store import PostgresStore  # loads its driver
    except ImportError:
        raise StoreError(
            "PostgreSQL needs psycopg; install it with: pip install 'lopub[service]'"
        ) from None
    return PostgresStore(url, create=create)


def results_directory(given: Path | None, database: str) -> Path:
    """Return where results of jobs are kept: the given directory, or that of the database. Only the
    last directory of its path may be missing: a mistyped path would lead console and worker apart."""
    found = (given or files_of(database)).resolve()
    if found.exists() and not found.is_dir():
        raise StoreError(
            "--files (LOPUB_FILES) must be a directory, and {path} is a file", path=str(found)
        )
    if not found.parent.is_dir():
        raise StoreError(
            "--files (LOPUB_FILES) is {path}, and there is no directory {parent}; make it first",
            path=str(found),
            parent=str(found.parent),
        )
    return found


def files_of(database: str) -> Path:
    """Return where results of jobs are kept by default: beside an SQLite file, or in the working
    directory."""
    _, found, path = database.partition("sqlite:///")
    return Path(f"{path}.files") if found else Path("lopub.files")
