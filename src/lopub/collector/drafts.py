"""Drafts of campaigns, and the number of people that a campaign was planned for."""

import hashlib
import re
import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.collector.rows import drafts, goals
from lopub.collector.store import ReportStore
from lopub.errors import DomainError

PEOPLE, EPSILON = 5_000, str(SUGGESTED_EPSILON)
"""What a new draft is planned for."""
MOST_DRAFTS = 1000
_ID = re.compile("[0-9a-f]{16}")


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
        """A name of the text: a form that is sent back says which text it was made from."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def new_draft(
    store: ReportStore, text: str, *, people: int = PEOPLE, epsilon: str = EPSILON
) -> KeptDraft:
    """Keep a text as a new draft."""
    kept = KeptDraft(
        id=secrets.token_hex(8), text=text, people=people, epsilon=epsilon, changed=int(time.time())
    )
    with store.writing() as connection:
        if connection.execute(select(func.count()).select_from(drafts)).scalar_one() >= MOST_DRAFTS:
            raise DomainError("there are {n:,} drafts already; delete some", n=MOST_DRAFTS)
        connection.execute(insert(drafts).values(vars(kept)))
    return kept


def find_draft(store: ReportStore, draft_id: str) -> KeptDraft:
    """Return the draft of this id. Text that is not an id is never looked up: PostgreSQL takes none
    with a NUL."""
    row = None
    if _ID.fullmatch(draft_id):
        with store.reading() as connection:
            row = connection.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    if row is None:
        raise DomainError("there is no such draft; it may have been opened or deleted")
    return _draft(row)


def all_drafts(store: ReportStore) -> list[KeptDraft]:
    """Return every draft, the last changed first."""
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
    """Replace a draft's text; None, and nothing done, where somebody has changed it meanwhile."""
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
    """Return for how many people a campaign was planned; None where nobody said."""
    with store.reading() as connection:
        return connection.execute(
            select(goals.c.people).where(goals.c.campaign == number)
        ).scalar_one_or_none()


def _draft(row: Row[Any]) -> KeptDraft:
    return KeptDraft(
        id=row.id, text=row.text, people=row.people, epsilon=row.epsilon, changed=row.changed
    )
