"""The campaigns of a store: open, close, list, count, withdraw, erase.

A campaign with a schedule closes by itself at the end of a day that is written down when it is opened: the schedule's last one
and some days of grace; a round, as many days after its own last one. Nothing happens at that moment that could be missed; whoever
looks compares that day with today.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EPOCH, GRACE_DAYS, LATE, day_of
from lopub.collector.rows import WITHDRAWN, campaigns, refusals, reports, tallies
from lopub.collector.store import ReportStore, today
from lopub.errors import CampaignClosed, DomainError, NoCampaign, Reason, TooFewReports

LAST_SLOT = (date.max - EPOCH).days
"""No calendar goes further."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A campaign in a store."""

    number: int
    campaign: Campaign
    closed_by_hand: int | None = None
    """The day, as a slot."""
    closes: int | None = None
    """The day at whose end it closes by itself, as a slot; None without a schedule."""
    erased: int | None = None
    clock: Callable[[], int] = today

    @property
    def closed(self) -> int | None:
        """The last day on which it took reports, as a slot; None while it is open. Asked anew each time: days pass."""
        if self.closed_by_hand is not None:
            return self.closed_by_hand
        return self.closes if self.closes is not None and self.closes < self.clock() else None

    def is_final(self, slot: int | None = None) -> bool:
        """Whether nothing comes in any more: of the campaign, or of one round of it, by its slot."""
        return self.closed is not None or (slot is not None and self.untimely(slot) == LATE)

    def untimely(self, slot: int) -> str:
        """Whether a report of a round comes early or late; empty where it comes at its time. The days of grace are those of the
        campaign's close."""
        schedule = self.campaign.terms.schedule
        if schedule is None or schedule.repeat is None or self.closes is None:
            return ""
        return schedule.untimely(slot, self.clock(), self.closes - schedule.last_slot)

    @property
    def closed_on(self) -> date | None:
        return _day(self.closed)

    @property
    def last_kept(self) -> int | None:
        """The last day on which its reports are kept, as a slot: so many whole days after that of the close as it says. None
        while it is open, or where they are kept until somebody deletes them."""
        days = self.campaign.terms.retention_days
        return self.closed + days if days and self.closed is not None else None

    @property
    def closes_on(self) -> date | None:
        return _day(self.closes)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many reports a campaign has, by slot; how many were refused, by reason; how many withdrawn."""

    slots: Mapping[int, int]
    refused: Mapping[Reason, int]
    n_withdrawn: int

    @property
    def n_reports(self) -> int:
        return sum(self.slots.values())


def day_at(slot: int) -> date:
    """The day of a slot; the last of all calendars where it lies beyond, as a report may say."""
    return day_of(min(slot, LAST_SLOT))


def _day(slot: int | None) -> date | None:
    return None if slot is None else day_at(slot)


def open_campaign(
    store: ReportStore, campaign: Campaign, *, grace_days: int = GRACE_DAYS
) -> tuple[Entry, bool]:
    """The campaign, taking reports from now on; and whether it is new. A closed one stays closed, an open one keeps its day."""
    if not 0 <= grace_days <= GRACE_DAYS:
        raise DomainError(f"grace_days must lie in 0..{GRACE_DAYS}, got {grace_days}")
    schedule = campaign.terms.schedule
    closes = min(schedule.last_slot + grace_days, LAST_SLOT) if schedule else None
    values = {"id": bytes.fromhex(campaign.id), "body": campaign.canonical_bytes, "closes": closes}
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
    """The campaign, taking no more reports; closing it again changes nothing."""
    with store.writing() as connection:
        if _entry(store, connection, campaign_id).closed is None:
            chosen = campaigns.c.id == bytes.fromhex(campaign_id)
            connection.execute(
                update(campaigns)
                .where(chosen, campaigns.c.closed.is_(None))
                .values(closed=store.today())
            )
        return _entry(store, connection, campaign_id)


def find_campaign(store: ReportStore, campaign_id: str) -> Entry:
    """The campaign of this id; NoCampaign where the store has none."""
    with store.reading() as connection:
        return _entry(store, connection, campaign_id)


def all_campaigns(store: ReportStore) -> list[Entry]:
    """Every campaign, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(campaigns)).all()
    entries = [_from_row(store, row) for row in rows]
    return sorted(entries, key=lambda entry: (entry.campaign.terms.name, entry.campaign.id))


def _entry(
    store: ReportStore, connection: Connection, campaign_id: str, campaign: Campaign | None = None
) -> Entry:
    row = connection.execute(
        select(campaigns).where(campaigns.c.id == bytes.fromhex(campaign_id))
    ).one_or_none()
    if row is None:
        raise NoCampaign(f"there is no campaign {campaign_id[:16]}… here")
    return _from_row(store, row, campaign)


@lru_cache(maxsize=1024)
def _read(body: bytes) -> Campaign:
    """A campaign never changes, and to read one takes a millisecond; whoever lists many asks again and again."""
    return Campaign.from_bytes(body)


def _from_row(store: ReportStore, row: Row[Any], campaign: Campaign | None = None) -> Entry:
    return Entry(
        number=row.number,
        campaign=campaign or _read(row.body),
        closed_by_hand=row.closed,
        closes=row.closes,
        erased=row.erased,
        clock=lambda: store.today(),
    )


def _closed(entry: Entry) -> CampaignClosed:
    said = (
        "is closed"
        if entry.closed_by_hand is not None
        else f"is closed since the end of its schedule and grace, {entry.closes_on}"
    )
    return CampaignClosed(f"campaign {entry.campaign.id[:16]}… {said}")


def withdraw(store: ReportStore, entry: Entry, hashed_id: bytes) -> bool:
    """Delete the report with this hash of an id, if it is there, and refuse whatever comes under it later; whether it was not
    withdrawn before."""
    with store.writing() as connection:
        if not store.open_numbers(connection, {entry.number}):
            raise _closed(entry)
        slot = _emptied(store, connection, entry.number, hashed_id)
        if slot != WITHDRAWN:  # as it was before
            changed = {(entry.number, WITHDRAWN): 1} | (
                {} if slot is None else {(entry.number, slot): -1}
            )
            store.count(connection, tallies, changed)
        return slot != WITHDRAWN


def _emptied(
    store: ReportStore, connection: Connection, number: int, hashed_id: bytes
) -> int | None:
    """Leave a name without content; the slot of what it named, None where that was nothing."""
    name = {"campaign": number, "hash": hashed_id}
    empty = store.upsert(reports).values(**name, slot=None, content=None).on_conflict_do_nothing()
    if connection.execute(empty.returning(reports.c.campaign)).first() is not None:
        return None
    named = (reports.c.campaign == number, reports.c.hash == hashed_id)
    slot = connection.execute(select(reports.c.slot).where(*named).with_for_update()).scalar_one()
    connection.execute(update(reports).where(*named).values(slot=None, content=None))
    return WITHDRAWN if slot is None else int(slot)


def tally(store: ReportStore, entry: Entry) -> Tally:
    """What came in; below the campaign's min_reports nothing is shown, nor is a round that has fewer."""
    with store.reading() as connection:
        found = _tally(connection, entry.number)
    needed = entry.campaign.terms.min_reports
    if entry.campaign.terms.repeat is not None:
        found = replace(found, slots={slot: n for slot, n in found.slots.items() if n >= needed})
    if found.n_reports < needed:
        raise TooFewReports(
            f"campaign {entry.campaign.id[:16]}… shows its counts from {needed:,} reports on"
        )
    return found


def hides_a_round(store: ReportStore, entry: Entry) -> bool:
    """Whether a round has reports, but too few to be shown: a total of all rounds would tell how many."""
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
    return Tally(slots=by_slot, refused=refused_of(connection, number), n_withdrawn=n_withdrawn)


def withdrawn_of(connection: Connection, number: int) -> int:
    """How many reports of a campaign were withdrawn."""
    return _tally(connection, number).n_withdrawn


def refused_of(connection: Connection, number: int) -> Mapping[Reason, int]:
    """How many reports of a campaign were refused, by reason."""
    rows = connection.execute(
        select(refusals.c.reason, refusals.c.n).where(refusals.c.campaign == number)
    ).all()
    return {Reason(reason): n for reason, n in sorted(rows)}


def overdue(store: ReportStore) -> Iterator[Entry]:
    """Closed campaigns whose days of retention are over, and that still have their reports. They are not kept at hand: nobody
    will ask for them again."""
    is_closed = or_(campaigns.c.closed.is_not(None), campaigns.c.closes < store.today())
    with store.reading() as connection:
        rows = connection.execute(
            select(campaigns).where(campaigns.c.erased.is_(None), is_closed)
        ).all()
    for row in rows:
        entry = _from_row(store, row, Campaign.from_bytes(row.body))
        if entry.last_kept is not None and store.today() > entry.last_kept:
            yield entry


def erase(store: ReportStore, entry: Entry) -> int:
    """Delete all reports of a campaign for good; how many rows. The counts of refused ones stay.

    It counts as erased once nothing is left in the files either; until then it is tried again.
    """
    with store.writing() as connection:
        n = connection.execute(delete(reports).where(reports.c.campaign == entry.number)).rowcount
        connection.execute(delete(tallies).where(tallies.c.campaign == entry.number))
    store.scrub()
    with store.writing() as connection:
        connection.execute(
            update(campaigns).where(campaigns.c.number == entry.number).values(erased=store.today())
        )
    return n
