"""ReportStore: a database of campaigns, reports and counts of refused ones; SQLite or PostgreSQL.

Every report is named by the SHA-256 of its id. The first content under a name stays; the same again
is a replay and counts once; another one is refused. What both kinds of database share is here; each
adds how it inserts, looks up and deletes.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Table, func, or_, select
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnection

from lopub.collector.rows import campaigns, refusals, reports, schema, tallies
from lopub.collector.schema import SCHEMA, prepare
from lopub.collector.submissions import (
    Inserted,
    Kept,
    Key,
    StoredReport,
    Submission,
    Written,
    outcome_of,
    refused_of,
    written_of,
)
from lopub.collector.withdrawals import asked_withdrawals, tallied
from lopub.errors import Message, StorageFull, StoreError, StoreUnavailable

SECONDS_A_DAY = 86_400
GIVEN_UP = ("40001", "40P01")
"""SQLSTATE of a transaction that the database undid because of another one: a serialization
failure, a deadlock. The same may well succeed at once."""
REPETITIONS = 4
"""So often such a transaction is repeated before senders are told to come again."""


def today() -> int:
    """Return this day in UTC, as a slot."""
    return int(time.time() // SECONDS_A_DAY)


class ReportStore(ABC):
    """A database with the collector's tables."""

    upsert: Callable[..., Any]
    """The dialect's own insert, which knows ON CONFLICT."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        """The database's address without its password."""
        self.today: Callable[[], int] = today
        """The clock by which campaigns close."""
        self._engine = engine
        self._turn = threading.Lock()
        """Writers of this process wait for each other here, in order, not in the database."""

    def _begin(self, *, create: bool) -> None:
        """Check the tables, or make them, once everything else is set."""
        try:
            with self._as_store_errors(), self._writer().begin() as connection:
                self._wait_for_others(connection)
                prepare(connection, self.name, self.today(), create=create)
        except BaseException:
            self.close()
            raise

    # ---- what differs

    def _wait_for_others(self, connection: Connection) -> None:  # noqa: B027
        """Let no other process look at the schema until the end of the transaction.

        In SQLite, to write is to be alone.
        """

    @abstractmethod
    def insert(self, connection: Connection, rows: Sequence[StoredReport]) -> Inserted:
        """Insert the rows whose names are free; how many, by campaign and slot."""

    @abstractmethod
    def lookup(self, connection: Connection, rows: Sequence[StoredReport]) -> Kept:
        """Return what is kept under these names, where something is."""

    @abstractmethod
    def empty(
        self, connection: Connection, rows: Sequence[StoredReport]
    ) -> Sequence[tuple[int, int]]:
        """Delete the content under these names, where there is any; its campaigns and slots."""

    @abstractmethod
    def day_there(self, connection: Connection) -> int:
        """Return the day by the clock of the database's machine, as a slot."""

    @abstractmethod
    def scrub(self) -> None:
        """Make what was deleted unreadable in the files too."""

    @abstractmethod
    def rewrite(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Write the rows of closed campaigns anew, so that they do not tell in which order they came.

        Once the files are scrubbed, too, nothing does.
        """

    @abstractmethod
    def _is_full(self, error: BaseException) -> bool:
        """Return whether a driver's error means that there is no space left."""

    @abstractmethod
    def _wrong(self, error: BaseException) -> str | None:
        """Return what an error says is wrong for good, as the end of a sentence.

        None where trying again may help.
        """

    def _outage(self, error: BaseException) -> str:
        """Return in words why a database cannot be used for now."""
        return "it did not do what was asked"

    def hold(self) -> None:  # noqa: B027 (PostgreSQL takes any number of writers)
        """Become the one process that takes reports, where there can only be one."""

    # ---- transactions

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection that sees one state of the database."""
        with self._as_store_errors(), self._reader().connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction; durable when the block is left, undone by an exception."""
        with self._as_store_errors(), self._transaction() as connection:
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._turn, self._writer().begin() as connection:
            self._check_schema(connection)
            yield connection

    def _check_schema(self, connection: Connection) -> None:
        """Refuse to write into tables that a newer program has changed, as in a rolling restart.

        Nor will they change before the end of the transaction.
        """
        found = connection.execute(select(schema.c.revision).with_for_update(read=True)).scalar()
        if found != SCHEMA:
            raise StoreUnavailable(
                "database {name} has revision {found} by now, and this program writes {known};"
                " start the newer LoPub",
                name=self.name,
                found=found,
                known=SCHEMA,
            )

    def _reader(self) -> Engine:
        return self._engine

    def _writer(self) -> Engine:
        return self._engine

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        """Turn the database's errors into ours, without the statements, which hold content."""
        try:
            yield
        except DBAPIError as error:
            if (
                isinstance(error, IntegrityError | ProgrammingError | DataError)
                and self._wrong(error.orig or error) is None
            ):
                raise  # a bug of ours
            raise self.failure(error.orig or error) from None
        except NoConnection:
            raise StoreUnavailable(
                "database {name} has no connection left; try again later", name=self.name
            ) from None

    def failure(self, error: BaseException) -> StoreError:
        """Return a driver's error as one of ours."""
        if self._is_full(error):
            return StorageFull(
                "database {name} has no space left; make room, then the same can be sent again",
                name=self.name,
            )
        if (wrong := self._wrong(error)) is not None:
            return StoreError("database {name} {wrong}", name=self.name, wrong=Message(wrong))
        return StoreUnavailable(
            "database {name} is out of reach ({reason}); try again later",
            name=self.name,
            reason=Message(self._outage(error)),
        )

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def close_unused(self) -> None:
        """Close all connections of a store in which nothing was kept after all."""
        self.close()

    # ---- reports

    def write(self, group: Sequence[Submission]) -> Written:
        """Keep the reports of several requests in one transaction; durable on return.

        Rows go in by their hashes: within a group nothing tells which came first. A transaction
        that the database gives up in favour of another collector's is repeated.
        """
        with self._as_store_errors():
            for _ in range(REPETITIONS):
                try:
                    return self._written(group)
                except DBAPIError as error:
                    if getattr(error.orig, "sqlstate", None) not in GIVEN_UP:
                        raise
            return self._written(group)

    def _written(self, group: Sequence[Submission]) -> Written:
        """Write a group once.

        Every transaction locks in this order: campaigns, names that are new, reports that lose
        their content, tallies, refusals; and within each of these by their keys. So no two wait for
        each other.
        """
        with self._transaction() as connection:
            numbers = self.open_numbers(connection, {submission.campaign for submission in group})
            first: dict[Key, StoredReport] = {}
            for submission in group:
                if submission.campaign in numbers:
                    for row in submission.rows:
                        first.setdefault(row[:2], row)
            asked = asked_withdrawals(self, connection, group, first, numbers)
            rows = sorted([*first.values(), *asked.early])
            inserted = self.insert(connection, rows) if rows else {}
            accepted = {
                (number, slot): n for (number, slot), n in inserted.items() if slot is not None
            }
            kept: dict[Key, Any] = {key: row[2:] for key, row in first.items()}
            if sum(accepted.values()) < len(first):
                kept.update(self.lookup(connection, sorted(first.values())))
            emptied = self.empty(connection, asked.rows) if asked.rows else []
            self.count(connection, tallies, tallied(inserted, emptied))
            outcomes = [
                outcome_of(submission, kept, submission.campaign in numbers, asked.postponed)
                for submission in group
            ]
            refused = refused_of(group, outcomes)
            counted = {(number, str(reason)): n for (number, reason), n in refused.items()}
            self.count(connection, refusals, counted)
        return written_of(group, outcomes, accepted, refused, len(emptied))

    def open_numbers(self, connection: Connection, numbers: set[int]) -> set[int]:
        """Return those of the campaigns that are open; they stay so until the transaction ends."""
        chosen = select(campaigns.c.number).where(
            campaigns.c.number.in_(sorted(numbers)),
            campaigns.c.closed.is_(None),
            campaigns.c.erased.is_(None),
            or_(campaigns.c.closes.is_(None), campaigns.c.closes >= self.today()),
        )
        return set(connection.execute(chosen.with_for_update(read=True)).scalars())

    def count(
        self, connection: Connection, table: Table, added: Mapping[tuple[int, Any], int]
    ) -> None:
        """Add to the counts of a table, in the order of its keys.

        Once per table and transaction: of two transactions that come back to a table, each may wait
        for a row of the other.
        """
        campaign, what = table.primary_key.columns.keys()
        values = [
            {campaign: number, what: key, "n": n} for (number, key), n in sorted(added.items()) if n
        ]
        if values:
            insert = self.upsert(table)
            summed = {"n": table.c.n + insert.excluded.n}
            connection.execute(
                insert.on_conflict_do_update(index_elements=[campaign, what], set_=summed), values
            )

    def n_reports(self, connection: Connection, number: int) -> int:
        """Return how many accepted reports a campaign has."""
        counted = select(func.coalesce(func.sum(tallies.c.n), 0)).where(
            tallies.c.campaign == number, tallies.c.slot >= 0
        )
        return int(connection.execute(counted).scalar_one())

    def rows(
        self, connection: Connection, number: int, low: bytes = b"", high: bytes | None = None
    ) -> Iterator[Sequence[tuple[bytes, int, bytes]]]:
        """Yield a campaign's accepted reports as (hash, slot, content), in blocks, by their hashes.

        Only those whose hashes are at least `low` and below `high`.
        """
        within = [
            reports.c.campaign == number,
            reports.c.content.is_not(None),
            reports.c.hash >= low,
        ]
        if high is not None:
            within.append(reports.c.hash < high)
        chosen = (
            select(reports.c.hash, reports.c.slot, reports.c.content)
            .where(*within)
            .order_by(reports.c.hash)
        )
        streamed = connection.execution_options(stream_results=True, max_row_buffer=2**14).execute(
            chosen
        )
        for block in streamed.partitions(2**14):
            yield [(row[0], row[1], row[2]) for row in block]
