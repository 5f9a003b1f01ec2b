"""The tables: the same in SQLite and PostgreSQL. They have no place for who sent a report, or when.

A report's row is named by the SHA-256 of its id. A withdrawn report leaves its name without
content: whatever comes later under that name is refused.

Of the order in which reports arrived, no column tells anything, but the files of a database do
until a campaign is closed. Reports are written in groups, one per commit, each sorted by hash; so
what is kept is which group a report came with, and which group came before which: in PostgreSQL as
the place of a row (`ctid`, and so the order of a dump) and as the number of the transaction that
wrote it (`xmin`); in SQLite only as far as traces within a page tell. Once a campaign is closed,
retention writes its rows anew, all in one transaction and in the order of their hashes
(`ReportStore.rewrite`). What remains then is outside of the tables: the write-ahead log, and
whatever was copied from it or from the files before (replicas, archives, backups of the disk), for
as long as that is kept.
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
)

WITHDRAWN = -1
"""Where a tally counts reports that were kept and then withdrawn, which have no slot any more."""
WITHDRAWN_EARLY = -2
"""Where a tally counts withdrawals of reports that have not come."""

metadata = MetaData()

schema = Table(  # one row: which revision of the tables this is
    "lopub_schema",
    metadata,
    Column("revision", Integer, nullable=False),
)

retention = Table(  # one row
    "retention",
    metadata,
    Column("last_day", Integer, nullable=False),  # the last day that retention saw, as a slot
    Column("deletions", Integer, nullable=False, default=0),  # and campaigns put in order
    Column("scrubbed", Integer, nullable=False, default=0),  # so many left nothing in the files
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("number", Integer, primary_key=True),  # what a report's row carries instead of 32 bytes
    Column("id", LargeBinary(32), nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),  # the canonical bytes
    Column("opened", Integer, nullable=False),  # the day on which it was opened here, as a slot
    Column("closed", Integer),  # the day on which somebody closed it, as a slot
    Column(
        "closes", Integer
    ),  # the day at whose end it closes by itself, as a slot; null without a schedule
    Column("rewritten", Integer),  # the day on which its rows were put in order, after its close
    Column("erased", Integer),  # the day on which its reports were deleted
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

tallies = Table(  # kept with the reports: to count millions of rows takes seconds
    "tallies",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),  # or one of the above
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

sessions = Table(  # who is signed in to the console
    "sessions",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),  # SHA-256 of the cookie
    Column("token", LargeBinary(32), nullable=False),  # SHA-256 of the token
    Column("ends", BigInteger, nullable=False),  # Unix seconds
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
    Column("problem", Text, nullable=False),  # a message as JSON; empty where there is none
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
    Column("text", Text, nullable=False),  # a message as JSON
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
