"""The schema: the same tables in SQLite and PostgreSQL. It has no place for who sent a report, or when.

A report's row is named by the SHA-256 of its id, so that the order of the rows says nothing about the order of arrival. A
withdrawn report leaves its name without content: whatever comes later under that name is refused.
"""

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table

SCHEMA = "0003"
"""The version of the schema that this program writes: the newest migration."""

FIRST = frozenset({"campaigns", "reports", "refusals", "tokens"})
"""The tables that every version of the schema has."""
WITHDRAWN = -1
"""Where a tally counts reports that were withdrawn, which have no slot any more."""

metadata = MetaData()

campaigns = Table(
    "campaigns",
    metadata,
    Column("number", Integer, primary_key=True),  # what a report's row carries instead of 32 bytes
    Column("id", LargeBinary(32), nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),  # the canonical bytes
    Column("closed", Integer),  # the day on which somebody closed it, as a slot
    Column("closes", Integer),  # the day at whose end it closes by itself, as a slot; null without a schedule
    Column("erased", Integer),  # the day on which retention deleted the reports
)

reports = Table(
    "reports",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), primary_key=True),  # SHA-256 of the report's id
    Column("slot", BigInteger),
    Column("content", LargeBinary),  # view mask, then payload; null where withdrawn
    sqlite_with_rowid=False,  # a row number would tell the order of arrival
)

tallies = Table(  # kept in the transaction that keeps the reports: to count millions of rows takes seconds
    "tallies",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),  # or WITHDRAWN
    Column("n", BigInteger, nullable=False),
)

refusals = Table(
    "refusals",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("reason", String(16), primary_key=True),
    Column("n", BigInteger, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),  # SHA-256 of the token
    Column("scope", String(16), nullable=False),
    Column("expires", BigInteger, nullable=False),  # Unix seconds
)
