"""The store: what a device keeps, in one SQLite file. Noisy reports and totals, never an answer.

What lies in it is described in `lopub.client.rows`. Every change is one transaction, so that a crash, a full disk, a second
thread or a second process leaves all of it or nothing. A change is handed out only after it has reached the disk. Reading never
writes, so that what was finished can be read on a disk that is full or cannot be written to. What was deleted is overwritten with
zeros.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock

from lopub.campaign.texts import one_line
from lopub.client.rows import SALT_BYTES, SCHEMA, Rows, keep_salt, lost, new_salt
from lopub.errors import LopubError, StorageFull, StoreError
from lopub.files import make_private_directory, whole_file

BUSY_SECONDS = 60
"""How long one program waits for another one that is writing."""
_DURABLE = "PRAGMA journal_mode=TRUNCATE; PRAGMA secure_delete=ON; PRAGMA synchronous=EXTRA; PRAGMA temp_store=MEMORY;"
"""EXTRA, because with FULL a power cut can undo what was committed just before it."""


class Store(ABC):
    """Where finished reports and their totals are kept. Transactions are short, and no network is waited for within one."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Rows]:
        """All rows as they are at one moment. Writes nothing, and makes nothing where there is no store yet."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Rows]:
        """All rows, for this thread alone. What was changed is kept as a whole at the end, or not at all."""

    def delete_everything(self) -> None:
        """Delete every report and every total, of all respondents. Whoever answers a campaign again makes a second report, and
        the two together reveal up to the sum of their epsilons; so does one that a collector has already."""
        with self.writing() as rows:
            rows.delete_everything()


class MemoryStore(Store):
    """For programs that keep the bytes themselves, and for experiments. Forgets when the process ends."""

    def __init__(self) -> None:
        self._connection, self._lock = _made(":memory:", salt=bytes(SALT_BYTES)), Lock()

    def __repr__(self) -> str:
        with self.reading() as rows:
            return one_line(self, f"{rows.n_reports()} kept")

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        with self._lock, _transaction(self._connection, "BEGIN") as rows:
            yield rows

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        with self._lock, _transaction(self._connection, "BEGIN IMMEDIATE") as rows:
            yield rows


class FileStore(Store):
    """One SQLite file in a directory, both for their owner alone."""

    def __init__(self, directory: str | Path | None = None) -> None:
        """directory: ~/.lopub unless given; nothing is made until something is kept."""
        self._directory = Path(directory).absolute() if directory else Path.home() / ".lopub"
        self.path = self._directory / "store.db"
        self._journal = self._directory / "store.db-journal"

    def __repr__(self) -> str:
        return one_line(self, repr(str(self.path)))

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        with self._refusals("read"):
            if not self._is_there():
                with closing(_made(":memory:", salt=bytes(SALT_BYTES))) as nothing:
                    yield Rows(nothing)
                return
            with closing(self._readable()) as connection, _transaction(connection, "BEGIN") as rows:
                yield rows

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        with self._refusals("write"):
            make_private_directory(self._directory)
            self._close_to_others()
            if not self._is_there():
                self._make()
            with closing(self._connected("rw")) as connection:
                connection.executescript(_DURABLE)
                with _transaction(connection, "BEGIN IMMEDIATE") as rows:
                    yield rows

    def delete_everything(self) -> None:
        """Delete every report and every total, of all respondents."""
        if self._is_there():
            super().delete_everything()

    # ---- the file

    def _connected(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)

    def _is_there(self) -> bool:
        """Whether there is a store. It was made before its journal: where the journal alone is left, the file was lost."""
        if self.path.exists():
            return True
        if self._journal.exists() and not self.path.exists():
            raise lost()
        return False

    def _make(self) -> None:
        """An empty store, whole before it has its name; that of another program where one was faster."""
        try:
            with whole_file(self.path, mode=0o600) as part:
                _made(part, salt=new_salt()).close()
        except StoreError:
            if not self.path.exists():
                raise

    def _readable(self) -> sqlite3.Connection:
        """A connection that cannot write. A change in the middle of which a program was stopped is undone first."""
        with closing(self._connected("ro")) as connection:
            try:
                connection.execute("SELECT count(*) FROM facts")
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_READONLY_ROLLBACK:
                    raise
                with closing(self._connected("rw")) as writing:
                    writing.execute("SELECT count(*) FROM facts")
        return self._connected("ro")

    def _close_to_others(self) -> None:
        """A directory that others may look into is closed to them, if it is a store and nothing else."""
        if not self._directory.stat().st_mode & 0o077:
            return
        names = {path.name for path in self._directory.iterdir()}
        if not all(name.startswith("store.db") or ".part" in name for name in names):
            raise StoreError(
                f"the store {self._directory} is open to other users and holds other files, too; give reports a directory"
                " of their own"
            )
        with suppress(OSError):
            self._directory.chmod(0o700)
        if self._directory.stat().st_mode & 0o077:
            raise StoreError(
                f"the store {self._directory} is open to other users and cannot be closed to them; choose another"
            )

    @contextmanager
    def _refusals(self, verb: str) -> Iterator[None]:
        """What the system or SQLite refuses, in one sentence."""
        try:
            yield
        except LopubError:
            raise
        except (sqlite3.Error, UnicodeError) as error:  # of words in a damaged file
            raise self._refusal(verb, error) from None
        except OSError as error:
            raise StoreError(
                f"cannot {verb} the store {self.path}: {error.strerror or error}"
            ) from None

    def _refusal(self, verb: str, error: Exception) -> StoreError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return StorageFull(f"cannot {verb} the store {self.path}: no space is left on the disk")
        if code == sqlite3.SQLITE_BUSY:
            return StoreError(
                f"the store {self.path} is in use by another program that does not end; try again"
            )
        if verb == "read" and code == sqlite3.SQLITE_READONLY:
            return StoreError(
                f"a program was stopped in the middle of a change to the store {self.path}, which can be undone only where the"
                " disk can be written to"
            )
        if code in _NOT_DAMAGED:
            return StoreError(f"cannot {verb} the store {self.path}: {error}")
        return StoreError(
            f"the store {self.path} is damaged ({error}); restore it from a backup, because a new one would make a second report"
            " of what was reported already"
        )


_NOT_DAMAGED = (
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOLFS),
)
"""What says something about the disk or the system, and nothing about the file."""


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[Rows]:
    connection.execute(begin)
    try:
        yield Rows(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _made(path: str | Path, *, salt: bytes) -> sqlite3.Connection:
    """An empty store at this path, which is a file without a byte, or in memory, where the names need no secret salt."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.executescript(f"BEGIN; {SCHEMA}")
    keep_salt(connection.execute, salt)
    connection.execute("COMMIT")
    return connection
