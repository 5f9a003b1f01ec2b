"""Withdrawals within a commit: a report's content is deleted, and its name stays, so that no retry
brings it back.

A withdrawal may come before its report, which is then refused when it comes. Nobody can tell such a
withdrawal from one of an id that somebody made up; so there may be only so many of them, in
proportion to the reports of their campaign.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from lopub.collector.rows import WITHDRAWN, WITHDRAWN_EARLY, tallies
from lopub.collector.submissions import Key, StoredReport, Submission

if TYPE_CHECKING:
    from lopub.collector.store import ReportStore

MOST_EARLY = 10_000
"""A campaign keeps so many names of reports that were withdrawn before they came, and one more for
each report that it has. Thus made-up ids cannot make a store much more than twice as large as the
reports do."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What became of the withdrawals of a group."""

    n_reports: int
    """How many reports lost their content."""
    postponed: frozenset[Key]
    """What was not done: names of reports that have not come, where too many of these are kept
    already."""


def withdraw(
    store: "ReportStore", connection: Connection, group: Sequence[Submission], numbers: set[int]
) -> Withdrawn:
    """Do the withdrawals of a group in its transaction. numbers: the campaigns that are open."""
    rows = _named(group, numbers)
    if not rows:
        return Withdrawn(0, frozenset())
    emptied = list(store.empty(connection, rows))
    known = store.lookup(connection, rows)
    absent = [row for row in rows if row[:2] not in known]
    kept = _within_bounds(store, connection, absent)
    added = store.insert(connection, kept) if kept else {}
    if sum(added.values()) < len(kept):  # another collector has kept a report meanwhile
        emptied += store.empty(connection, kept)
    changed: Counter[tuple[int, int]] = Counter()
    for number, slot in emptied:
        changed[number, WITHDRAWN] += 1
        changed[number, slot] -= 1
    for (number, _), n in added.items():
        changed[number, WITHDRAWN_EARLY] += n
    store.count(connection, tallies, changed)
    postponed = {row[:2] for row in absent} - {row[:2] for row in kept}
    return Withdrawn(len(emptied), frozenset(postponed))


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


def _within_bounds(
    store: "ReportStore", connection: Connection, absent: Sequence[StoredReport]
) -> list[StoredReport]:
    """Return those names of reports that have not come for which their campaign has room."""
    kept: list[StoredReport] = []
    for number in sorted({row.campaign for row in absent}):
        n_early = connection.execute(
            select(func.coalesce(func.sum(tallies.c.n), 0)).where(
                tallies.c.campaign == number, tallies.c.slot == WITHDRAWN_EARLY
            )
        ).scalar_one()
        room = MOST_EARLY + store.n_reports(connection, number) - int(n_early)
        kept += [row for row in absent if row.campaign == number][: max(room, 0)]
    return kept
