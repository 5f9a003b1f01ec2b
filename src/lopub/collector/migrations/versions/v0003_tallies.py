"""Reports counted as they come: by campaign and slot, and those that were withdrawn."""

import sqlalchemy
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the counts, and count what is there."""
    op.create_table(
        "tallies",
        sqlalchemy.Column("campaign", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("slot", sqlalchemy.BigInteger, primary_key=True, autoincrement=False),
        sqlalchemy.Column("n", sqlalchemy.BigInteger, nullable=False),
    )
    op.execute(
        "INSERT INTO tallies (campaign, slot, n)"
        " SELECT campaign, coalesce(slot, -1), count(*) FROM reports GROUP BY campaign, coalesce(slot, -1)"
    )
