"""The store for production: PostgreSQL through psycopg 3; any number of collectors may share it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.dialects.postgresql import insert

from lopub.collector.store import SECONDS_A_DAY, ReportStore
from lopub.collector.submissions import Inserted, Kept, StoredReport

DISK_FULL = "53100"
CONNECTION = {
    "application_name": "lopub",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds: then a silent server is looked for anew
}
READ_ONLY, FORBIDDEN = "25006", "42501"
NO_COLUMN, NO_TABLE = "42703", "42P01"
REFUSALS = {
    r"pg_hba\.conf": "does not let this user in from here; see the server's pg_hba.conf",
    r"failed to resolve host": "names a host that is not known; check the address",
    r"password authentication failed": "refuses this user's password; give the right one",
    r"no password supplied": "asks for a password; give one, in the address or in PGPASSWORD",
    r'database ".*" does not exist': "is not on this server; make it with createdb",
    r'role ".*" (does not exist|is not permitted)': "does not let this user log in; check the name",
    r"invalid port number": "names a port that there is not; a port is a number from 1 to 65535",
    r"invalid sslmode value": "has an sslmode that PostgreSQL does not know; check the address",
    r"invalid connection option": "has an option that PostgreSQL does not know; check the address",
    r"invalid response to SSL|expected authentication": (
        "is not PostgreSQL: another program answers at this port; check the address"
    ),
    r"does not support SSL": "is asked for TLS, which this server does not have; check sslmode",
    r"certificate": "cannot be reached by TLS: a certificate is missing or wrong; check the address",
}
"""Where a connection is refused for good, by what libpq says: it gives no code. Where the server
speaks another language than English, the database is just out of reach."""
OUTAGES = {
    r"Connection refused": "nothing listens at this port",
    r"timeout expired|timed out": "the server did not answer in time",
    r"No route to host|unreachable": "there is no way to this host",
    r"closed the connection": "the server closed the connection",
    r"starting up|shutting down": "the server is starting or stopping",
    r"too many (clients|connections)|connection slots": "the server has no connection left",
}
"""Why it is out of reach for now, by what libpq says."""
LOCK_SECONDS = 4
"""Whoever holds a table for longer is not waited for: senders are told to come again."""
SCHEMA_LOCK = 0x6C6F707562
"""The number of the lock by which one process at a time checks or makes the tables."""


class PostgresStore(ReportStore):
    """A database on a server; every commit is synced there before it is acknowledged."""

    upsert = staticmethod(insert)

    def __init__(self, address: URL, *, create: bool = True) -> None:
        engine = create_engine(
            address.set(drivername="postgresql+psycopg"),
            hide_parameters=True,
            pool_pre_ping=True,  # a connection that was lost is replaced without anybody noticing
            connect_args=CONNECTION,
        )
        event.listen(engine, "connect", _prepare)
        shown = address.difference_update_query(["password", "sslpassword"])
        super().__init__(engine, shown.render_as_string(hide_password=True))
        self._begin(create=create)

    def _wait_for_others(self, connection: Connection) -> None:
        connection.execute(text("SET LOCAL lock_timeout = 0"))  # several may start at once
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})

    def _reader(self) -> Engine:
        return self._engine.execution_options(isolation_level="REPEATABLE READ")

    def insert(self, connection: Connection, rows: Sequence[StoredReport]) -> Inserted:
        statement = (
            "WITH kept AS (INSERT INTO reports (campaign, hash, slot, content)"
            " SELECT * FROM unnest(%b::int[], %b::bytea[], %b::bigint[], %b::bytea[])"
            " ON CONFLICT DO NOTHING RETURNING campaign, slot)"
            " SELECT campaign, slot, count(*) FROM kept GROUP BY campaign, slot"
        )
        return {
            (row[0], row[1]): row[2]
            for row in connection.exec_driver_sql(statement, _columns(rows))
        }

    def lookup(self, connection: Connection, rows: Sequence[StoredReport]) -> Kept:
        statement = (
            "SELECT campaign, hash, slot, content FROM reports"
            " JOIN unnest(%b::int[], %b::bytea[]) AS asked (campaign, hash) USING (campaign, hash)"
        )
        found = connection.exec_driver_sql(statement, _columns(rows)[:2])
        return {(row[0], row[1]): (row[2], row[3]) for row in found}

    def empty(
        self, connection: Connection, rows: Sequence[StoredReport]
    ) -> Sequence[tuple[int, int]]:
        statement = (
            "UPDATE reports SET slot = NULL, content = NULL FROM ("
            " SELECT campaign, hash, slot FROM reports"
            " JOIN unnest(%b::int[], %b::bytea[]) AS asked (campaign, hash) USING (campaign, hash)"
            " WHERE content IS NOT NULL ORDER BY campaign, hash FOR UPDATE OF reports) AS found"
            " WHERE reports.campaign = found.campaign AND reports.hash = found.hash"
            " RETURNING found.campaign, found.slot"
        )
        emptied = connection.exec_driver_sql(statement, _columns(rows)[:2])
        return [(row[0], row[1]) for row in emptied]

    def day_there(self, connection: Connection) -> int:
        now = connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
        return int(now // SECONDS_A_DAY)

    def scrub(self) -> None:
        """Write the table anew, in the order of its keys: without this, deleted rows would stay in
        its pages."""
        with self._as_store_errors(), self._turn, self._engine.connect() as connection:
            autonomous = connection.execution_options(isolation_level="AUTOCOMMIT")
            autonomous.execute(text("CLUSTER reports USING reports_pkey"))
            autonomous.execute(text("ANALYZE reports"))

    def rewrite(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Have one transaction write all the rows, so that they bear its number; `scrub` sorts
        them."""
        connection.exec_driver_sql(
            "UPDATE reports SET content = content WHERE campaign = ANY(%b)", (list(numbers),)
        )

    def _is_full(self, error: BaseException) -> bool:
        return getattr(error, "sqlstate", None) == DISK_FULL

    def _wrong(self, error: BaseException) -> str | None:
        state = getattr(error, "sqlstate", None)
        if state == FORBIDDEN:
            return (
                "does not let this user make or use the collector's tables; make the user the"
                " owner of the database"
            )
        if state == READ_ONLY:
            return "can only be read from; is it a replica? Use the server that it copies"
        if state in (NO_COLUMN, NO_TABLE):
            return (
                "has other tables than this program knows; if a newer LoPub has changed it, start"
                " that one here, too"
            )
        return _meaning(REFUSALS, error) if state is None else None

    def _outage(self, error: BaseException) -> str:
        state = getattr(error, "sqlstate", None)
        found = _meaning(OUTAGES, error) if state is None else None
        return found or super()._outage(error)


def _meaning(sentences: Mapping[str, str], error: BaseException) -> str | None:
    """The sentence for what libpq says; None where there is none."""
    return next((words for said, words in sentences.items() if re.search(said, str(error))), None)


def _columns(rows: Sequence[StoredReport]) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*rows, strict=True))


def _prepare(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    connection.commit()
