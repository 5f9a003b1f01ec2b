"""Withdrawals within a commit: a report's content is deleted, and its name stays, so that no retry
brings it back.

A withdrawal may come before its report, which is then refused when it comes. Nobody can tell such a
withdrawal from one of an id that somebody made up; so there may be only so many of them. How many
does not depend on the reports of their campaign: whoever makes up ids until one is put off would
learn how many reports there are, and when another one comes.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from lopub.collector.rows import WITHDRAWN, WITHDRAWN_EARLY, tallies
from lopub.collector.submissions import Inserted, Key, StoredReport, Submission

if TYPE_CHECKING:
    from lopub.collector.store import ReportStore

MOST_EARLY = 100_000
"""A campaign keeps so many names of reports that were withdrawn before they came, some 10 MB."""


@dataclass(frozen=True, slots=True)
class AskedWithdrawals:
    """What a group withdraws."""

    rows: Sequence[StoredReport] = ()
    """Names without content, sorted."""
    early: Sequence[StoredReport] = ()
    """Those of them that are to be kept, since no report has come under them."""
    postponed: frozenset[Key] = frozenset()
    """What is not done: names of reports that have not come, where too many of these are kept
    already."""


def asked_withdrawals(
    store: "ReportStore",
    connection: Connection,
    group: Sequence[Submission],
    brought: Collection[Key],
    numbers: set[int],
) -> AskedWithdrawals:
    """Return what a group withdraws.

    brought: names of the reports that the group brings; numbers: the campaigns that are open.
    """
    rows = _named(group, numbers)
    if not rows:
        return AskedWithdrawals()
    known = store.lookup(connection, rows)
    absent = [row for row in rows if row[:2] not in known and row[:2] not in brought]
    early = _within_bounds(connection, absent)
    postponed = {row[:2] for row in absent} - {row[:2] for row in early}
    return AskedWithdrawals(rows, early, frozenset(postponed))


def tallied(
    inserted: Inserted, emptied: Sequence[tuple[int, int]]
) -> Mapping[tuple[int, int], int]:
    """Return what a commit adds to the tallies, by campaign and slot.

    emptied: campaigns and slots of the reports that lost their content.
    """
    added: Counter[tuple[int, int]] = Counter()
    for (number, slot), n in inserted.items():
        added[number, WITHDRAWN_EARLY if slot is None else slot] += n
    for number, slot in emptied:
        added[number, WITHDRAWN] += 1
        added[number, slot] -= 1
    return added


def _named(group: Sequence[Submission], numbers: set[int]) -> list[StoredReport]:
    """Return the rows that stand for what a group withdraws: names without content, sorted."""
    return sorted(
        {
            StoredReport(submission.campaign, name, None, None)
            for submission in group
            if submission.campaign in numbers
            for name in submission.withdrawn
        }
    )


def _within_bounds(connection: Connection, absent: Sequence[StoredReport]) -> list[StoredReport]:
    """Return those names of reports that have not come for which their campaign has room."""
    kept: list[StoredReport] = []
    for number in sorted({row.campaign for row in absent}):
        n_early = connection.execute(
            select(func.coalesce(func.sum(tallies.c.n), 0)).where(
                tallies.c.campaign == number, tallies.c.slot == WITHDRAWN_EARLY
            )
        ).scalar_one()
        room = MOST_EARLY - int(n_early)
        kept += [row for row in absent if row.campaign == number][: max(room, 0)]
    return kept
