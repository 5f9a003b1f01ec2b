"""What the console keeps in the store: drafts, goals, and what was done by whom."""

import hashlib
import re
import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.collector.rows import audit, drafts, goals
from lopub.collector.store import ReportStore
from lopub.errors import DomainError

PEOPLE, EPSILON = 5_000, str(SUGGESTED_EPSILON)
"""What a new draft is planned for."""
MOST_DRAFTS = 1000
_ID = re.compile("[0-9a-f]{16}")
SHOWN_ACTIONS = 200
BY_COMMAND = "command line"
"""Who did something without a token, on the machine itself."""


@dataclass(frozen=True, kw_only=True)
class KeptDraft:
    """A draft in the store."""

    id: str
    text: str
    people: int
    epsilon: str
    changed: int

    @property
    def version(self) -> str:
        """A name of the text, for forms: whoever saves says which text the form was made of."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that somebody did."""

    time: int
    who: str
    what: str
    subject: str


def new_draft(
    store: ReportStore, text: str, *, people: int = PEOPLE, epsilon: str = EPSILON
) -> KeptDraft:
    """Keep a text as a new draft."""
    kept = KeptDraft(
        id=secrets.token_hex(8), text=text, people=people, epsilon=epsilon, changed=int(time.time())
    )
    with store.writing() as connection:
        if connection.execute(select(func.count()).select_from(drafts)).scalar_one() >= MOST_DRAFTS:
            raise DomainError(f"there are {MOST_DRAFTS:,} drafts already; delete some")
        connection.execute(insert(drafts).values(vars(kept)))
    return kept


def find_draft(store: ReportStore, draft_id: str) -> KeptDraft:
    """The draft of this id. Whatever else an address has there is not asked for: PostgreSQL takes no text with a NUL."""
    row = None
    if _ID.fullmatch(draft_id):
        with store.reading() as connection:
            row = connection.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    if row is None:
        raise DomainError("there is no such draft; it may have been opened or deleted")
    return _draft(row)


def all_drafts(store: ReportStore) -> list[KeptDraft]:
    """Every draft, the last changed first."""
    with store.reading() as connection:
        return [
            _draft(row)
            for row in connection.execute(
                select(drafts).order_by(drafts.c.changed.desc(), drafts.c.id)
            )
        ]


def keep_plan(store: ReportStore, draft_id: str, *, people: int, epsilon: str) -> None:
    """Keep for how many people, and with which epsilon, a draft is planned."""
    values = {"people": people, "epsilon": epsilon, "changed": int(time.time())}
    with store.writing() as connection:
        connection.execute(update(drafts).where(drafts.c.id == draft_id).values(values))


def keep_text(store: ReportStore, kept: KeptDraft, text: str) -> KeptDraft | None:
    """Keep another text of a draft; None where it is not as it was found any more: then it stays."""
    new = replace(kept, text=text, changed=int(time.time()))
    as_found = (drafts.c.id == kept.id, drafts.c.text == kept.text)
    with store.writing() as connection:
        n = connection.execute(
            update(drafts).where(*as_found).values(text=text, changed=new.changed)
        ).rowcount
    return new if n else None


def drop_draft(store: ReportStore, draft_id: str) -> None:
    """Forget a draft; one that is gone already stays so."""
    with store.writing() as connection:
        connection.execute(delete(drafts).where(drafts.c.id == draft_id))


def set_goal(store: ReportStore, number: int, people: int) -> None:
    """Write down for how many people a campaign was planned."""
    with store.writing() as connection:
        connection.execute(
            store.upsert(goals).values(campaign=number, people=people).on_conflict_do_nothing()
        )


def goal_of(store: ReportStore, number: int) -> int | None:
    """For how many people a campaign was planned; None where nobody said."""
    with store.reading() as connection:
        return connection.execute(
            select(goals.c.people).where(goals.c.campaign == number)
        ).scalar_one_or_none()


def record(store: ReportStore, who: str, what: str, subject: str = "") -> None:
    """Write down that something was done."""
    with store.writing() as connection:
        connection.execute(
            insert(audit).values(
                time=int(time.time()), who=who, what=what[:40], subject=subject[:64]
            )
        )


def actions(store: ReportStore) -> list[Action]:
    """What was done last, the newest first."""
    with store.reading() as connection:
        rows = connection.execute(
            select(audit).order_by(audit.c.number.desc()).limit(SHOWN_ACTIONS)
        ).all()
    return [Action(time=row.time, who=row.who, what=row.what, subject=row.subject) for row in rows]


def _draft(row: Row[Any]) -> KeptDraft:
    return KeptDraft(
        id=row.id, text=row.text, people=row.people, epsilon=row.epsilon, changed=row.changed
    )
