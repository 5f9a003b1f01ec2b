"""ReportStore: where a collector keeps campaigns, reports and counts of refused ones; SQLite or PostgreSQL, one schema.

Every report is named by the SHA-256 of its id. The first content under a name stays; the same again is a replay and counts
once; another one is refused. What the two kinds share is here; each brings its way to insert, to look up and to erase.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, func, or_, select
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnection

from lopub.collector.migrating import bring_up_to_date
from lopub.collector.rows import (
    SCHEMA,
    WITHDRAWN,
    campaigns,
    refusals,
    reports,
    schema_version,
    tallies,
)
from lopub.errors import Reason, StorageFull, StoreError, StoreUnavailable

SECONDS_A_DAY = 86_400


def today() -> int:
    """This day in UTC, as a slot."""
    return int(time.time() // SECONDS_A_DAY)


class StoredReport(NamedTuple):
    """One report as it is kept."""

    campaign: int
    """The campaign's number in this store."""
    hash: bytes
    """SHA-256 of the report's id."""
    slot: int | None
    content: bytes | None
    """View mask, then payload; None where the report was withdrawn."""


Accepted = Mapping[tuple[int, int], int]
"""How many new reports, by campaign and slot."""
Key = tuple[int, bytes]
Kept = Mapping[Key, tuple[int | None, bytes | None]]


@dataclass(frozen=True, slots=True)
class Submission:
    """What one request brings: checked reports of one campaign, and how many others it refused."""

    campaign: int
    rows: Sequence[StoredReport]
    refused: Mapping[Reason, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a submission's rows: those refused, by their place; all others are kept, now or before."""

    refused: Mapping[int, Reason] = field(default_factory=dict)
    closed: bool = False
    """Nothing was kept: the campaign is closed."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group of submissions, in their order, once it is durable."""

    outcomes: Sequence[Outcome]
    n_replayed: int
    refused: Mapping[Reason, int]
    accepted: Accepted
    """How many are new, by campaign and slot."""

    @property
    def n_accepted(self) -> int:
        return sum(self.accepted.values())


class ReportStore(ABC):
    """A database with the collector's schema."""

    upsert: Callable[..., Any]
    """The dialect's own insert, which knows ON CONFLICT."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        """The database's address without its password."""
        self.today: Callable[[], int] = today
        """The clock by which campaigns close."""
        self._engine = engine
        self._turn = (
            threading.Lock()
        )  # writers of this process wait for each other here, in order, not in the database

    def _begin(self) -> None:
        """Bring the schema up to date, once everything else is set."""
        try:
            with self._told_apart(), self._writer().begin() as connection:
                self._wait_for_others(connection)
                bring_up_to_date(connection)
        except BaseException:
            self.close()
            raise

    # ---- what differs

    def _wait_for_others(self, connection: Connection) -> None:  # noqa: B027 (in SQLite, to write is to be alone)
        """Let no other process look at the schema meanwhile."""

    @abstractmethod
    def _insert(self, connection: Connection, rows: Sequence[StoredReport]) -> Accepted:
        """Insert the rows whose names are not taken; how many, by campaign and slot."""

    @abstractmethod
    def _lookup(self, connection: Connection, rows: Sequence[StoredReport]) -> Kept:
        """What is kept under the names of these rows."""

    @abstractmethod
    def scrub(self) -> None:
        """Make what was deleted unreadable in the files too."""

    @abstractmethod
    def _is_full(self, error: BaseException) -> bool:
        """Whether a driver's error means that there is no space left."""

    @abstractmethod
    def _wrong(self, error: BaseException) -> str | None:
        """What a driver's error says is wrong for good, as the end of a sentence; None where trying again may help."""

    def hold(self) -> None:  # noqa: B027 (PostgreSQL takes any number of writers)
        """Become the one process that takes reports, where there can only be one."""

    # ---- transactions

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database."""
        with self._told_apart(), self._reader().connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction; durable when the block is left, or undone by an exception."""
        with self._told_apart(), self._turn, self._writer().begin() as connection:
            self._check_schema(connection)
            yield connection

    def _check_schema(self, connection: Connection) -> None:
        """Refuse to write into what a newer program has migrated since, as beside a rolling restart; nor will it be migrated
        until the end of the transaction."""
        found = connection.execute(
            select(schema_version.c.version_num).with_for_update(read=True)
        ).scalar()
        if found != SCHEMA:
            raise StoreUnavailable(
                f"database {self.name} has schema {found} by now, and this program writes {SCHEMA}; start the newer LoPub"
            )

    def _reader(self) -> Engine:
        return self._engine

    def _writer(self) -> Engine:
        return self._engine

    @contextmanager
    def _told_apart(self) -> Iterator[None]:
        """Failures of the database as errors of ours: without statements, which hold content."""
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
                f"database {self.name} has no connection left; try again later"
            ) from None

    def failure(self, error: BaseException) -> StoreError:
        """A driver's error as one of ours."""
        if self._is_full(error):
            return StorageFull(
                f"database {self.name} has no space left; make room, then the same can be sent again"
            )
        if (wrong := self._wrong(error)) is not None:
            return StoreError(f"database {self.name} {wrong}")
        return StoreUnavailable(
            f"database {self.name} is out of reach ({type(error).__name__}); try again later"
        )

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def close_unused(self) -> None:
        """The same for a store in which nothing was kept after all."""
        self.close()

    # ---- reports

    def write(self, group: Sequence[Submission]) -> Written:
        """Keep the reports of several requests in one transaction; durable on return.

        Rows go in by their hashes, so that nothing tells which of them came first.
        """
        with self.writing() as connection:
            numbers = self.open_numbers(connection, {submission.campaign for submission in group})
            first: dict[Key, StoredReport] = {}
            for submission in group:
                if submission.campaign in numbers:
                    for row in submission.rows:
                        first.setdefault(row[:2], row)
            rows = sorted(first.values())
            accepted = self._insert(connection, rows) if rows else {}
            kept: dict[Key, Any] = {key: row[2:] for key, row in first.items()}
            if sum(accepted.values()) < len(rows):
                kept.update(self._lookup(connection, rows))
            outcomes = [
                _outcome(submission, kept, submission.campaign in numbers) for submission in group
            ]
            refused = _refused(group, outcomes)
            self.count(connection, tallies, accepted)
            self.count(
                connection,
                refusals,
                {(number, str(reason)): n for (number, reason), n in refused.items()},
            )
        return _written(group, outcomes, accepted, refused)

    def open_numbers(self, connection: Connection, numbers: set[int]) -> set[int]:
        """Those of the campaigns that are open; they stay so until the end of the transaction."""
        chosen = select(campaigns.c.number).where(
            campaigns.c.number.in_(sorted(numbers)),
            campaigns.c.closed.is_(None),
            or_(campaigns.c.closes.is_(None), campaigns.c.closes >= self.today()),
        )
        return set(connection.execute(chosen.with_for_update(read=True)).scalars())

    def count(
        self, connection: Connection, table: Table, added: Mapping[tuple[int, Any], int]
    ) -> None:
        """Add to the counts of a table, by its keys. In their order, so that no two transactions wait for each other."""
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
        """How many accepted reports a campaign has."""
        counted = select(func.coalesce(func.sum(tallies.c.n), 0)).where(
            tallies.c.campaign == number, tallies.c.slot != WITHDRAWN
        )
        return int(connection.execute(counted).scalar_one())

    def rows(
        self, connection: Connection, number: int, low: bytes = b"", high: bytes | None = None
    ) -> Iterator[Sequence[tuple[bytes, int, bytes]]]:
        """The accepted reports of a campaign as (hash, slot, content), in blocks, in the order of their hashes; or those whose
        hashes are at least `low` and below `high`."""
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


def _outcome(submission: Submission, kept: Kept, is_open: bool) -> Outcome:
    if not is_open:
        return Outcome(closed=True)
    refused: dict[int, Reason] = {}
    for place, row in enumerate(submission.rows):
        slot_and_content = kept[row[:2]]
        if slot_and_content != row[2:]:
            refused[place] = Reason.WITHDRAWN if slot_and_content[1] is None else Reason.CONFLICT
    return Outcome(refused)


def _refused(
    group: Sequence[Submission], outcomes: Sequence[Outcome]
) -> Counter[tuple[int, Reason]]:
    """How many are to be counted, by campaign and reason; a closed campaign's counts are final."""
    counted: Counter[tuple[int, Reason]] = Counter()
    for submission, outcome in zip(group, outcomes, strict=True):
        if not outcome.closed and (submission.refused or outcome.refused):
            counted.update(
                {(submission.campaign, reason): n for reason, n in submission.refused.items()}
            )
            counted.update((submission.campaign, reason) for reason in outcome.refused.values())
    return counted


def _written(
    group: Sequence[Submission],
    outcomes: Sequence[Outcome],
    accepted: Accepted,
    refused: Counter[tuple[int, Reason]],
) -> Written:
    by_reason: Counter[Reason] = Counter()
    for (_, reason), n in refused.items():
        by_reason[reason] += n
    n_kept = sum(
        len(submission.rows) - len(outcome.refused)
        for submission, outcome in zip(group, outcomes, strict=True)
        if not outcome.closed
    )
    return Written(outcomes, n_kept - sum(accepted.values()), by_reason, accepted)
