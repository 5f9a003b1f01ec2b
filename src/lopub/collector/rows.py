"""The schema: the same tables in SQLite and PostgreSQL. It has no place for who sent a report, or when.

A report's row is named by the SHA-256 of its id, so that the order of the rows says nothing about the order of arrival. A
withdrawn report leaves its name without content: whatever comes later under that name is refused.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    column,
    table,
)

SCHEMA = "0005"
"""The version of the schema that this program writes: the newest migration."""

FIRST = frozenset({"campaigns", "reports", "refusals", "tokens"})
"""The tables that every version of the schema has."""
WITHDRAWN = -1
"""Where a tally counts reports that were withdrawn, which have no slot any more."""

metadata = MetaData()

schema_version = table("alembic_version", column("version_num"))
"""Which Alembic keeps."""

campaigns = Table(
    "campaigns",
    metadata,
    Column("number", Integer, primary_key=True),  # what a report's row carries instead of 32 bytes
    Column("id", LargeBinary(32), nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),  # the canonical bytes
    Column("closed", Integer),  # the day on which somebody closed it, as a slot
    Column(
        "closes", Integer
    ),  # the day at whose end it closes by itself, as a slot; null without a schedule
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

jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column(
        "subject", String(64), nullable=False
    ),  # the id of a campaign or of a draft; empty where it is about the whole store
    Column("choices", Text, nullable=False),  # JSON
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("worker", String(32)),  # who has it now
    Column(
        "lease", BigInteger, nullable=False
    ),  # Unix milliseconds until which nobody else takes it
    Column("to_stop", Integer, nullable=False),  # 1: somebody asked to cancel it
    Column("doing", String(200), nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("outcome", Text, nullable=False),  # JSON
    Column("problem", String(1000), nullable=False),
    Column("asked", BigInteger, nullable=False),  # Unix seconds
    Column("ended", BigInteger),
    Column("turn", Integer, nullable=False),  # 0 while it is under way, then its number
    UniqueConstraint(
        "kind", "subject", "turn"
    ),  # whoever asks twice for the same thing gets it once
)

job_lines = Table(
    "job_lines",
    metadata,
    Column("job", Integer, primary_key=True, autoincrement=False),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),  # Unix seconds
    Column("text", String(1000), nullable=False),
)

drafts = Table(
    "drafts",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("text", Text, nullable=False),  # JSON
    Column("people", Integer, nullable=False),  # for whom it is planned
    Column("epsilon", String(20), nullable=False),
    Column("changed", BigInteger, nullable=False),  # Unix seconds
)

goals = Table(  # how many people a campaign was planned for
    "goals",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("people", Integer, nullable=False),
)

audit = Table(  # what stewards did; nothing of who sends reports
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("time", BigInteger, nullable=False),  # Unix seconds
    Column("who", String(16), nullable=False),  # the name of a token
    Column("what", String(40), nullable=False),
    Column("subject", String(64), nullable=False),
)
