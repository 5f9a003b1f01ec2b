"""The campaigns of a store: open, close, find, list and count them.

A campaign with a schedule closes by itself at the end of a day that is written down when it is
opened: the schedule's last one and some days of grace; a round, as many days after its own last
one. Nothing is written at that moment, which could be missed, or come by a wrong clock: whoever
looks compares that day with today. Retention writes it down eight days later.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, select, update

from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EARLY, EARLY_DAYS, EPOCH, GRACE_DAYS, LATE, day_of
from lopub.collector.rows import (
    WITHDRAWN,
    WITHDRAWN_EARLY,
    campaigns,
    refusals,
    retention,
    tallies,
)
from lopub.collector.store import ReportStore, today
from lopub.errors import (
    CampaignClosed,
    CampaignError,
    DomainError,
    NoCampaign,
    Reason,
    ReportRejected,
    TooFewReports,
)

LAST_SLOT = (date.max - EPOCH).days
"""No calendar goes further."""
SHORTEST_START = 8
"""Digits of an id that name a campaign."""
_ID = re.compile("[0-9a-f]{64}")
MOST_SLOTS = 4096
"""Days, or rounds, that a tally lists: as many as a campaign can have rounds."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A campaign in a store."""

    number: int
    campaign: Campaign
    opened: int
    """The day on which it was opened here, as a slot."""
    closed_by_hand: int | None = None
    """The day, as a slot; once retention has written it down, that of a close by schedule."""
    closes: int | None = None
    """The day at whose end it closes by itself, as a slot; None without a schedule."""
    erased: int | None = None
    """The day on which its reports were deleted, as a slot; from then on it takes none."""
    clock: Callable[[], int] = today

    @property
    def closed(self) -> int | None:
        """Return the last day on which it took reports, as a slot; None while it is open.

        Asked anew each time: days pass.
        """
        if self.closed_by_hand is not None:
            return self.closed_by_hand
        if self.closes is not None and self.closes < self.clock():
            return self.closes
        return self.erased

    def is_final(self, slot: int | None = None) -> bool:
        """Return whether no more reports come: of the campaign, or of one of its rounds."""
        return self.closed is not None or (slot is not None and self.untimely(slot) == LATE)

    def untimely(self, slot: int) -> str:
        """Return whether a report comes EARLY or LATE; empty where it comes in time.

        EARLY: on a day, or in a round, that has not begun. LATE: after a round and its days of
        grace, which are those of the campaign's close.
        """
        schedule, day = self.campaign.terms.schedule, self.clock()
        if slot > day + EARLY_DAYS:
            return EARLY
        if schedule is None or schedule.repeat is None or self.closes is None:
            return ""
        return schedule.untimely(slot, day, self.closes - schedule.last_slot)

    def refusal_of(self, slot: int, *, imported: bool = False) -> ReportRejected | None:
        """Return why a report with this slot is refused today; None where it is taken.

        A campaign without a schedule takes no report from before its opening. imported: the owner
        of the database brings the report, which may be older than the campaign's opening in this
        database.
        """
        what = "the round from" if self.campaign.terms.repeat is not None else "the day"
        when, named = self.untimely(slot), f"{what} {day_at(slot)}"
        if when == EARLY:
            said = f"{named} has not begun; is the sender's clock right?"
        elif when == LATE:
            said = f"{named} is over, and so are its days of grace"
        elif not imported and slot < self._first_slot:
            said = f"{named} lies before the campaign's opening, {day_at(self.opened)}"
        else:
            return None
        return ReportRejected(Reason.SLOT, said, when=when)

    @property
    def _first_slot(self) -> int:
        """Return the first day of which reports are taken; with a schedule, that one decides.

        A clock that was ahead at the opening wrote down a day in the future: then today counts.
        """
        if self.campaign.terms.schedule is not None:
            return 0
        return min(self.opened, self.clock()) - EARLY_DAYS

    @property
    def closed_on(self) -> date | None:
        return _day(self.closed)

    @property
    def last_kept(self) -> int | None:
        """Return the last day on which its reports are kept, as a slot.

        That is so many whole days after its close as it says; None while it is open, or where its
        reports are kept until somebody deletes them.
        """
        days = self.campaign.terms.retention_days
        return self.closed + days if days and self.closed is not None else None

    @property
    def closes_on(self) -> date | None:
        return _day(self.closes)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts of a campaign's reports: by slot, of those refused by reason, of those withdrawn."""

    slots: Mapping[int, int]
    """The last MOST_SLOTS of them, in their order."""
    refused: Mapping[Reason, int]
    n_withdrawn: int
    """Reports that had been kept; not withdrawals of ids under which none had come, which anybody
    can make up."""
    n_earlier: int = 0
    """Reports with an earlier slot than those listed."""

    @property
    def n_reports(self) -> int:
        return sum(self.slots.values()) + self.n_earlier


def day_at(slot: int) -> date:
    """Return the day of a slot; the last one of all calendars where it lies beyond."""
    return day_of(min(slot, LAST_SLOT))


def _day(slot: int | None) -> date | None:
    return None if slot is None else day_at(slot)


def open_campaign(
    store: ReportStore, campaign: Campaign, *, grace_days: int = GRACE_DAYS
) -> tuple[Entry, bool]:
    """Open a campaign for reports; its entry, and whether it is new.

    A closed one stays closed, and is refused; an open one keeps its days.
    """
    if not 0 <= grace_days <= GRACE_DAYS:
        raise DomainError(
            "grace_days must lie in 0..{most}, got {given}", most=GRACE_DAYS, given=grace_days
        )
    if campaign.terms.admission is not None:
        raise CampaignError("this version cannot open campaigns that need an invitation")
    schedule = campaign.terms.schedule
    closes = min(schedule.last_slot + grace_days, LAST_SLOT) if schedule else None
    values = {
        "id": bytes.fromhex(campaign.id),
        "body": campaign.canonical_bytes,
        "opened": store.today(),
        "closes": closes,
    }
    with store.writing() as connection:
        inserted = (
            store.upsert(campaigns).values(values).on_conflict_do_nothing(index_elements=["id"])
        )
        is_new = connection.execute(inserted.returning(campaigns.c.number)).first() is not None
        entry = _entry(store, connection, campaign.id, campaign)
        if entry.closed is not None:
            raise _closed(entry)  # and what was inserted is undone
    return entry, is_new


def close_campaign(store: ReportStore, campaign_id: str) -> Entry:
    """Close a campaign for good; its entry. Closing it again changes nothing.

    Its retention counts from today, or from the last day that retention saw: a clock that is behind
    does not shorten it.
    """
    with store.writing() as connection:
        if _entry(store, connection, campaign_id).closed is None:
            chosen = campaigns.c.id == bytes.fromhex(campaign_id)
            last_day = connection.execute(select(retention.c.last_day)).scalar_one()
            connection.execute(
                update(campaigns)
                .where(chosen, campaigns.c.closed.is_(None))
                .values(closed=max(store.today(), last_day))
            )
        return _entry(store, connection, campaign_id)


def find_campaign(store: ReportStore, campaign_id: str) -> Entry:
    """Return the campaign of this id; NoCampaign where the store has none."""
    with store.reading() as connection:
        return _entry(store, connection, campaign_id)


def all_campaigns(store: ReportStore) -> list[Entry]:
    """Return every campaign, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(campaigns)).all()
    entries = [entry_of(store, row) for row in rows]
    return sorted(entries, key=lambda entry: (entry.campaign.terms.name, entry.campaign.id))


def campaign_named(store: ReportStore, id_or_start: str) -> Entry:
    """Return the campaign with this id, or the only one whose id begins so."""
    start = id_or_start.lower()
    if _ID.fullmatch(start):
        return find_campaign(store, start)
    found = [entry for entry in all_campaigns(store) if entry.campaign.id.startswith(start)]
    if len(start) < SHORTEST_START or len(found) != 1:
        raise DomainError(
            "name one campaign by its file, by its id, or by the first {n} or more digits of its"
            " id; `lopub collect list` shows those there are",
            n=SHORTEST_START,
        )
    return found[0]


def the_campaign(store: ReportStore, campaign: Campaign | None) -> Entry:
    """Return this campaign's entry; where none is given, that of the only one there is."""
    if campaign is not None:
        return find_campaign(store, campaign.id)
    found = all_campaigns(store)
    if len(found) != 1:
        raise DomainError(
            "database {name} has {n} campaigns; name one by its file", name=store.name, n=len(found)
        )
    return found[0]


def _entry(
    store: ReportStore, connection: Connection, campaign_id: str, campaign: Campaign | None = None
) -> Entry:
    row = connection.execute(
        select(campaigns).where(campaigns.c.id == bytes.fromhex(campaign_id))
    ).one_or_none()
    if row is None:
        raise NoCampaign("there is no campaign {id}… here", id=campaign_id[:16])
    return entry_of(store, row, campaign)


@lru_cache(maxsize=1024)
def _read(body: bytes) -> Campaign:
    """Read a campaign; once, since it never changes and reading takes a millisecond."""
    return Campaign.from_bytes(body)


def entry_of(store: ReportStore, row: Row[Any], campaign: Campaign | None = None) -> Entry:
    """Return the entry of a row. campaign: the one in its body, if that has been read already."""
    return Entry(
        number=row.number,
        campaign=campaign or _read(row.body),
        opened=row.opened,
        closed_by_hand=row.closed,
        closes=row.closes,
        erased=row.erased,
        clock=lambda: store.today(),
    )


def _closed(entry: Entry) -> CampaignClosed:
    if entry.closed_by_hand not in (None, entry.closes) or entry.closes_on is None:
        return CampaignClosed("campaign {id}… is closed", id=entry.campaign.id[:16])
    return CampaignClosed(
        "campaign {id}… is closed since the end of its schedule and grace, {day}",
        id=entry.campaign.id[:16],
        day=entry.closes_on,
    )


def tally(store: ReportStore, entry: Entry) -> Tally:
    """Return what came in; TooFewReports below the campaign's min_reports.

    A round that has fewer is left out.
    """
    with store.reading() as connection:
        found = _tally(connection, entry.number)
    needed = entry.campaign.terms.min_reports
    if entry.campaign.terms.repeat is not None:
        found = replace(found, slots={slot: n for slot, n in found.slots.items() if n >= needed})
    if found.n_reports < needed:
        raise TooFewReports(
            "campaign {id}… shows its counts from {needed:,} reports on",
            id=entry.campaign.id[:16],
            needed=needed,
        )
    return found


def count_to_show(store: ReportStore, entry: Entry) -> int | None:
    """Return how many reports a campaign has; None where they are too few to be shown."""
    try:
        return tally(store, entry).n_reports
    except TooFewReports:
        return None


def hides_a_round(store: ReportStore, entry: Entry) -> bool:
    """Return whether a round has too few reports to be shown: a total would tell how many."""
    if entry.campaign.terms.repeat is None:
        return False
    with store.reading() as connection:
        return any(
            n < entry.campaign.terms.min_reports
            for n in _tally(connection, entry.number).slots.values()
        )


def _tally(connection: Connection, number: int) -> Tally:
    slot = tallies.c.slot
    counted = connection.execute(
        select(slot, tallies.c.n).where(tallies.c.campaign == number).order_by(slot)
    ).all()
    by_slot = {row[0]: row[1] for row in counted if row[1]}
    n_withdrawn = by_slot.pop(WITHDRAWN, 0)
    by_slot.pop(WITHDRAWN_EARLY, None)
    earlier, listed = list(by_slot)[:-MOST_SLOTS], list(by_slot)[-MOST_SLOTS:]
    return Tally(
        slots={slot: by_slot[slot] for slot in listed},
        refused=refused_of(connection, number),
        n_withdrawn=n_withdrawn,
        n_earlier=sum(by_slot[slot] for slot in earlier),
    )


def withdrawn_of(connection: Connection, number: int) -> int:
    """Return how many reports of a campaign were withdrawn."""
    return _tally(connection, number).n_withdrawn


def refused_of(connection: Connection, number: int) -> Mapping[Reason, int]:
    """Return how many reports of a campaign were refused, by reason."""
    rows = connection.execute(
        select(refusals.c.reason, refusals.c.n).where(refusals.c.campaign == number)
    ).all()
    return {Reason(reason): n for reason, n in sorted(rows)}
