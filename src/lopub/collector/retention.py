"""Retention: reports are deleted for good when their days are over, by a clock that is believed.

Deleting cannot be undone, and a clock can be wrong. So the store remembers the last day that
retention saw. A clock that shows a day within a week of it is believed, and takes the last day with
it, never back. While any clock shows another day, nothing is deleted, and `retention_problem` says
so, until the clock is set right or a steward confirms the date. Two clocks are read, the
collector's and that of the machine with the database, and a report goes only when its days are over
by both; so where several collectors share a database, one whose clock is ahead deletes nothing
early.

Every sweep looks for what is there, not for what it remembers: a campaign that was deleted and
still has rows is found again.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    and_,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)

from lopub.campaign.campaign import Campaign
from lopub.collector.campaigns import Entry, day_at, entry_of
from lopub.collector.logs import log_event
from lopub.collector.rows import campaigns, reports, retention, tallies
from lopub.collector.steward_log import record
from lopub.collector.store import ReportStore
from lopub.errors import CampaignError, DomainError, Message

MOST_DAYS = 7
"""So many days a clock may differ from the last day that retention saw. A collector that is off
over a weekend, or for a week, needs nobody; a clock that is a week ahead deletes at most a week
early."""
DOUBTFUL = (
    "no report is deleted: a clock shows {today}, and the last day that retention saw is"
    " {last_day}; set the clock right, or if it is right, run `lopub collect confirm-date`"
)


@dataclass(frozen=True, kw_only=True)
class _Clocks:
    """The days that a store's clocks show, and the last one that retention saw; all as slots."""

    shown: tuple[int, ...]
    last_day: int

    @property
    def day(self) -> int:
        """The earliest day shown: what is over by it is over by all clocks."""
        return min(self.shown)

    @property
    def problem(self) -> Message | None:
        """What is wrong, where a clock cannot be believed."""
        farthest = max(self.shown, key=lambda day: abs(day - self.last_day))
        if abs(farthest - self.last_day) <= MOST_DAYS:
            return None
        days = {"today": day_at(farthest), "last_day": day_at(self.last_day)}
        return Message(DOUBTFUL, days)


def retention_problem(store: ReportStore) -> Message | None:
    """Return why nothing is deleted at present; None where all is well.

    A store without campaigns has nothing to delete.
    """
    with store.reading() as connection:
        if not _has_campaigns(connection):
            return None
        return _clocks(store, connection).problem


def confirm_date(store: ReportStore, day: int, who: str) -> None:
    """Have retention believe the clock, because a steward says that it is right.

    day: the date as the steward knows it, as a slot; refused where the clock shows another. who:
    the steward, for the log.
    """
    if day != store.today():
        raise DomainError(
            "the clock of this machine shows {today} (UTC), not {given}; set it right first",
            today=day_at(store.today()),
            given=day_at(day),
        )
    with store.writing() as connection:
        connection.execute(update(retention).values(last_day=day))
    record(store, who, "date confirmed", str(day_at(day)))


def sweep(store: ReportStore) -> bool:
    """Delete the reports whose retention is over, and put those of closed campaigns in order.

    Returns whether all of it was done; where not, it is to be tried again soon. Each campaign by
    itself: one that fails is logged, never with its content, and keeps no other from being deleted.
    """
    with store.writing() as connection:
        day, problem = _advanced(store, connection)
    if problem is not None:
        log_event(str(problem), logging.WARNING)
        return True
    with store.reading() as connection:
        numbers = connection.execute(_candidates(day)).scalars().all()
    results = [
        _is_done(
            "a campaign's reports cannot be deleted; it will be tried again",
            partial(_delete_if_due, store, number, day),
            campaign=number,
        )
        for number in numbers
    ]
    results.append(
        _is_done(
            "the reports of closed campaigns cannot be put in order yet; it will be tried again",
            partial(_put_in_order, store, day),
        )
    )
    results.append(_is_scrubbed(store))
    return all(results)


def erase(store: ReportStore, entry: Entry) -> int:
    """Delete all reports of a closed campaign for good; how many rows. Counts of refused ones stay.

    Its close is written down first, so that no other collector, by whatever clock, takes reports
    meanwhile. Where something holds what is left of them in the files, a backup for instance, every
    sweep tries again to make that unreadable. While a clock is in doubt, only what somebody closed
    is deleted.
    """
    n = _delete(store, entry)
    _is_scrubbed(store)
    return n


def _delete(store: ReportStore, entry: Entry) -> int:
    if entry.closed is None:
        raise CampaignError("close the campaign first: it still takes reports")
    if entry.closed_by_hand is None and (problem := retention_problem(store)) is not None:
        raise CampaignError(problem.template, **problem.parameters)
    this = campaigns.c.number == entry.number
    with store.writing() as connection:
        _count_deletion(connection)
        closed = func.coalesce(campaigns.c.closed, entry.closed)
        erased = {"closed": closed, "erased": store.today()}
        connection.execute(update(campaigns).where(this).values(erased))
        n = connection.execute(delete(reports).where(reports.c.campaign == entry.number)).rowcount
        connection.execute(delete(tallies).where(tallies.c.campaign == entry.number))
    return n


# ---- what is left in the files


def _count_deletion(connection: Connection) -> None:
    """Note that the files are to be scrubbed. It comes first, as in a sweep: so no two wait for
    each other."""
    connection.execute(update(retention).values(deletions=retention.c.deletions + 1))


def _is_scrubbed(store: ReportStore) -> bool:
    """Return whether nothing of what was deleted is left in the files; log what kept it there."""
    return _is_done(
        "what was deleted cannot be made unreadable in the files yet; it will be tried again",
        partial(_scrub, store),
    )


def _scrub(store: ReportStore) -> None:
    """Make what was deleted unreadable in the files, once; what is deleted meanwhile waits."""
    with store.reading() as connection:
        found = connection.execute(select(retention.c.deletions, retention.c.scrubbed)).one()
    if found.scrubbed == found.deletions:
        return
    store.scrub()
    with store.writing() as connection:
        fewer = retention.c.scrubbed < found.deletions
        connection.execute(update(retention).where(fewer).values(scrubbed=found.deletions))


# ---- days


def _clocks(store: ReportStore, connection: Connection) -> _Clocks:
    last_day = connection.execute(select(retention.c.last_day)).scalar_one()
    return _Clocks(shown=(store.today(), store.day_there(connection)), last_day=last_day)


def _has_campaigns(connection: Connection) -> bool:
    return connection.execute(select(campaigns.c.number).limit(1)).first() is not None


def _advanced(store: ReportStore, connection: Connection) -> tuple[int, Message | None]:
    """Move the last day forward; the day by which to delete, or why nothing may be deleted.

    A store without campaigns follows the clock, whatever it showed before: a first start by a wrong
    clock does no harm.
    """
    connection.execute(select(retention.c.last_day).with_for_update())  # one collector at a time
    clocks = _clocks(store, connection)
    if not _has_campaigns(connection):
        connection.execute(update(retention).values(last_day=clocks.day))
    elif clocks.problem is not None:
        return clocks.day, clocks.problem
    elif clocks.day > clocks.last_day:
        connection.execute(update(retention).values(last_day=clocks.day))
    # a clock that was ahead wrote such a close down: its reports would be kept for too long
    ahead = campaigns.c.closed > clocks.day + MOST_DAYS
    connection.execute(update(campaigns).where(ahead).values(closed=clocks.day))
    return clocks.day, None


# ---- what is due


def _candidates(day: int) -> Select[int]:
    """Select the numbers of closed campaigns with reports to delete, be that now or later."""
    is_closed = or_(campaigns.c.closed.is_not(None), campaigns.c.closes < day)
    has_rows = exists().where(reports.c.campaign == campaigns.c.number)
    not_erased = campaigns.c.erased.is_(None)
    chosen = or_(and_(not_erased, is_closed), and_(not_(not_erased), has_rows))
    return select(campaigns.c.number).where(chosen).order_by(campaigns.c.number)


def is_due(entry: Entry, day: int) -> bool:
    """Whether the reports of a campaign are to be gone on this day. What was deleted once does not
    come back."""
    return entry.erased is not None or (entry.last_kept is not None and day > entry.last_kept)


def _is_done(event: str, work: Callable[[], None], **stated: Any) -> bool:
    """Return whether a piece of work went well; log the kind of error that ended it.

    Whatever it is, other campaigns are due, too.
    """
    try:
        work()
    except Exception as error:
        log_event(event, logging.ERROR, **stated, error=type(error).__name__)
        return False
    return True


def _delete_if_due(store: ReportStore, number: int, day: int) -> None:
    entry = _entry(store, number, day)
    if is_due(entry, day):
        _delete(store, entry)
        log_event("retention is over: reports were deleted", campaign=entry.campaign.id[:16])


def _entry(store: ReportStore, number: int, day: int) -> Entry:
    """Return the campaign of this number, by a clock that stands still.

    It is read here and not kept: nobody will ask for it again.
    """
    with store.reading() as connection:
        row = connection.execute(select(campaigns).where(campaigns.c.number == number)).one()
    return replace(entry_of(store, row, Campaign.from_bytes(row.body)), clock=lambda: day)


def _put_in_order(store: ReportStore, day: int) -> None:
    """Write the rows of closed campaigns anew, once.

    Those that close by themselves wait until no clock can have been ahead. Then their close is
    written down: no clock that goes back opens them again, and nothing is added to ordered rows.
    """
    is_closed = or_(campaigns.c.closed.is_not(None), campaigns.c.closes + MOST_DAYS < day)
    waiting = and_(campaigns.c.rewritten.is_(None), campaigns.c.erased.is_(None), is_closed)
    with store.reading() as connection:
        numbers = connection.execute(select(campaigns.c.number).where(waiting)).scalars().all()
    if not numbers:
        return
    with store.writing() as connection:
        _count_deletion(connection)
        chosen = campaigns.c.number.in_(numbers)
        closed = func.coalesce(campaigns.c.closed, campaigns.c.closes)
        connection.execute(update(campaigns).where(chosen).values(closed=closed, rewritten=day))
        store.rewrite(connection, numbers)
