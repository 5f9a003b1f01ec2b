"""The first schema: campaigns, reports, refusals, tokens."""

import sqlalchemy
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "campaigns",
        sqlalchemy.Column("number", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("id", sqlalchemy.LargeBinary(32), nullable=False, unique=True),
        sqlalchemy.Column("body", sqlalchemy.LargeBinary, nullable=False),
        sqlalchemy.Column("closed", sqlalchemy.Integer),
        sqlalchemy.Column("erased", sqlalchemy.Integer),
    )
    op.create_table(
        "reports",
        sqlalchemy.Column("campaign", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("hash", sqlalchemy.LargeBinary(32), primary_key=True),
        sqlalchemy.Column("slot", sqlalchemy.BigInteger),
        sqlalchemy.Column("content", sqlalchemy.LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "refusals",
        sqlalchemy.Column("campaign", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("reason", sqlalchemy.String(16), primary_key=True),
        sqlalchemy.Column("n", sqlalchemy.BigInteger, nullable=False),
    )
    op.create_table(
        "tokens",
        sqlalchemy.Column("hash", sqlalchemy.LargeBinary(32), primary_key=True),
        sqlalchemy.Column("scope", sqlalchemy.String(16), nullable=False),
        sqlalchemy.Column("expires", sqlalchemy.BigInteger, nullable=False),
    )
