"""Jobs: long work that is asked for here and done by workers, with what they say of it."""

import sqlalchemy
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the jobs and their lines."""
    op.create_table(
        "jobs",
        sqlalchemy.Column("number", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("kind", sqlalchemy.String(16), nullable=False),
        sqlalchemy.Column("subject", sqlalchemy.String(64), nullable=False),
        sqlalchemy.Column("choices", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("state", sqlalchemy.String(16), nullable=False),
        sqlalchemy.Column("attempts", sqlalchemy.Integer, nullable=False),
        sqlalchemy.Column("worker", sqlalchemy.String(32)),
        sqlalchemy.Column("lease", sqlalchemy.BigInteger, nullable=False),
        sqlalchemy.Column("to_stop", sqlalchemy.Integer, nullable=False),
        sqlalchemy.Column("doing", sqlalchemy.String(200), nullable=False),
        sqlalchemy.Column("done", sqlalchemy.BigInteger, nullable=False),
        sqlalchemy.Column("total", sqlalchemy.BigInteger),
        sqlalchemy.Column("outcome", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("problem", sqlalchemy.String(1000), nullable=False),
        sqlalchemy.Column("asked", sqlalchemy.BigInteger, nullable=False),
        sqlalchemy.Column("ended", sqlalchemy.BigInteger),
        sqlalchemy.Column("turn", sqlalchemy.Integer, nullable=False),
        sqlalchemy.UniqueConstraint("kind", "subject", "turn"),
    )
    op.create_table(
        "job_lines",
        sqlalchemy.Column("job", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("line", sqlalchemy.Integer, primary_key=True, autoincrement=False),
        sqlalchemy.Column("time", sqlalchemy.BigInteger, nullable=False),
        sqlalchemy.Column("text", sqlalchemy.String(1000), nullable=False),
    )
