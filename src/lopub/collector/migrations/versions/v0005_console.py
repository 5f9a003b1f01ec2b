"""What the console keeps: drafts, for how many people a campaign was planned, and what stewards did."""

import sqlalchemy
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the three tables."""
    op.create_table(
        "drafts",
        sqlalchemy.Column("id", sqlalchemy.String(32), primary_key=True),
        sqlalchemy.Column("text", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("people", sqlalchemy.Integer, nullable=False),
        sqlalchemy.Column("epsilon", sqlalchemy.String(20), nullable=False),
        sqlalchemy.Column("changed", sqlalchemy.BigInteger, nullable=False),
    )
    op.create_table(
        "goals",
        sqlalchemy.Column("campaign", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("people", sqlalchemy.Integer, nullable=False),
    )
    op.create_table(
        "audit",
        sqlalchemy.Column("number", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("time", sqlalchemy.BigInteger, nullable=False),
        sqlalchemy.Column("who", sqlalchemy.String(16), nullable=False),
        sqlalchemy.Column("what", sqlalchemy.String(40), nullable=False),
        sqlalchemy.Column("subject", sqlalchemy.String(64), nullable=False),
    )
