"""The last day of a campaign with a schedule: its schedule's last day, and the days of grace after it."""

import json
from datetime import date

import sqlalchemy
from alembic import op

revision = "0002"
down_revision = "0001"

GRACE_DAYS = 14
"""What campaigns get that were opened before there was a choice."""


def upgrade() -> None:
    """Add the day on which a campaign closes."""
    op.add_column("campaigns", sqlalchemy.Column("closes", sqlalchemy.Integer))
    connection = op.get_bind()
    campaigns = sqlalchemy.table("campaigns", *map(sqlalchemy.column, ("number", "body", "closes")))
    for number, body in connection.execute(
        sqlalchemy.select(campaigns.c.number, campaigns.c.body)
    ).all():
        schedule = json.loads(bytes(body)).get("schedule")
        if schedule:
            last = (date.fromisoformat(schedule["closes"]) - date(1970, 1, 1)).days + GRACE_DAYS
            closes = min(last, (date.max - date(1970, 1, 1)).days)
            connection.execute(
                campaigns.update().where(campaigns.c.number == number).values(closes=closes)
            )
