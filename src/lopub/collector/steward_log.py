"""The log of what stewards did: by command, over HTTP and in the console. It holds nothing of who
sends reports."""

import time
from dataclasses import dataclass

from sqlalchemy import insert, select

from lopub.collector.rows import audit
from lopub.collector.store import ReportStore

MOST_SHOWN = 200
BY_COMMAND = "command line"
"""Who did something without a token, on the machine itself."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that a steward did."""

    time: int
    """Unix seconds."""
    who: str
    """The name of a token, or BY_COMMAND."""
    what: str
    subject: str
    """The id of a campaign or of a draft, where it was about one."""


def record(store: ReportStore, who: str, what: str, subject: str = "") -> None:
    """Write down that something was done."""
    with store.writing() as connection:
        connection.execute(
            insert(audit).values(
                time=int(time.time()), who=who, what=what[:40], subject=subject[:64]
            )
        )


def actions(store: ReportStore) -> list[Action]:
    """Return what was done last, the newest first."""
    newest = select(audit).order_by(audit.c.number.desc()).limit(MOST_SHOWN)
    with store.reading() as connection:
        rows = connection.execute(newest).all()
    return [Action(time=row.time, who=row.who, what=row.what, subject=row.subject) for row in rows]
