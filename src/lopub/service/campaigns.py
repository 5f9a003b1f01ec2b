"""The campaigns of a store: open, close, list, count, withdraw, erase."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, delete, func, select, update

from lopub.campaign import Campaign
from lopub.errors import CampaignClosed, NoCampaign, Reason, TooFewReports
from lopub.service.store import Store
from lopub.service.tables import campaigns, refusals, reports
from lopub.terms import EPOCH

SECONDS_A_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A campaign in a store."""

    number: int
    campaign: Campaign
    closed: int | None = None
    """The day, as a slot."""
    erased: int | None = None

    @property
    def closed_on(self) -> date | None:
        return None if self.closed is None else EPOCH + timedelta(days=self.closed)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many reports a campaign has, by slot; how many were refused, by reason; how many withdrawn."""

    slots: Mapping[int, int]
    refused: Mapping[Reason, int]
    n_withdrawn: int

    @property
    def n_reports(self) -> int:
        return sum(self.slots.values())


def today() -> int:
    """This day in UTC, as a slot."""
    return int(time.time() // SECONDS_A_DAY)


def open_campaign(store: Store, campaign: Campaign) -> tuple[Entry, bool]:
    """The campaign, taking reports from now on; and whether it is new. A closed one stays closed."""
    values = {"id": bytes.fromhex(campaign.id), "body": campaign.canonical_bytes}
    with store.writing() as connection:
        inserted = store.upsert(campaigns).values(values).on_conflict_do_nothing(index_elements=["id"])
        is_new = connection.execute(inserted.returning(campaigns.c.number)).first() is not None
        entry = _entry(connection, campaign.id, campaign)
    if entry.closed is not None:
        raise _closed(campaign.id)
    return entry, is_new


def close_campaign(store: Store, campaign_id: str) -> Entry:
    """The campaign, taking no more reports; closing it again changes nothing."""
    with store.writing() as connection:
        chosen = campaigns.c.id == bytes.fromhex(campaign_id)
        connection.execute(update(campaigns).where(chosen, campaigns.c.closed.is_(None)).values(closed=today()))
        return _entry(connection, campaign_id)


def find_campaign(store: Store, campaign_id: str) -> Entry:
    with store.reading() as connection:
        return _entry(connection, campaign_id)


def all_campaigns(store: Store) -> list[Entry]:
    """Every campaign, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(campaigns)).all()
    entries = [_from_row(row.number, row.body, row.closed, row.erased) for row in rows]
    return sorted(entries, key=lambda entry: (entry.campaign.terms.name, entry.campaign.id))


def _entry(connection: Connection, campaign_id: str, campaign: Campaign | None = None) -> Entry:
    row = connection.execute(select(campaigns).where(campaigns.c.id == bytes.fromhex(campaign_id))).one_or_none()
    if row is None:
        raise NoCampaign(f"there is no campaign {campaign_id[:16]}… here")
    return _from_row(row.number, row.body, row.closed, row.erased, campaign)


def _from_row(number: int, body: bytes, closed: int | None, erased: int | None, campaign: Campaign | None = None) -> Entry:
    return Entry(number=number, campaign=campaign or Campaign.from_bytes(body), closed=closed, erased=erased)


def _closed(campaign_id: str) -> CampaignClosed:
    return CampaignClosed(f"campaign {campaign_id[:16]}… is closed")


def withdraw(store: Store, entry: Entry, hashed_id: bytes) -> None:
    """Delete the report with this hash of an id, if it is there, and refuse whatever comes under it later."""
    name = {"campaign": entry.number, "hash": hashed_id}
    with store.writing() as connection:
        if not store.open_numbers(connection, {entry.number}):
            raise _closed(entry.campaign.id)
        emptied = store.upsert(reports).values(**name, slot=None, content=None)
        connection.execute(
            emptied.on_conflict_do_update(index_elements=["campaign", "hash"], set_={"slot": None, "content": None})
        )


def tally(store: Store, entry: Entry) -> Tally:
    """What came in; below the campaign's min_reports nothing is shown."""
    with store.reading() as connection:
        found = _tally(connection, entry.number)
    needed = entry.campaign.terms.min_reports
    if found.n_reports < needed:
        raise TooFewReports(f"campaign {entry.campaign.id[:16]}… shows its counts from {needed:,} reports on")
    return found


def _tally(connection: Connection, number: int) -> Tally:
    slot, n = reports.c.slot, func.count()
    by_slot = connection.execute(select(slot, n).where(reports.c.campaign == number).group_by(slot).order_by(slot)).all()
    return Tally(
        slots={row[0]: row[1] for row in by_slot if row[0] is not None},
        refused=refused_of(connection, number),
        n_withdrawn=sum(row[1] for row in by_slot if row[0] is None),
    )


def refused_of(connection: Connection, number: int) -> Mapping[Reason, int]:
    """How many reports of a campaign were refused, by reason."""
    rows = connection.execute(select(refusals.c.reason, refusals.c.n).where(refusals.c.campaign == number)).all()
    return {Reason(reason): n for reason, n in sorted(rows)}


def overdue(store: Store, day: int) -> Iterator[Entry]:
    """Closed campaigns whose days of retention are over, and that still have their reports."""
    for entry in all_campaigns(store):
        kept_for = entry.campaign.terms.retention_days
        if kept_for and entry.closed is not None and entry.erased is None and day > entry.closed + kept_for:
            yield entry


def erase(store: Store, entry: Entry) -> int:
    """Delete all reports of a campaign for good; how many rows. The counts of refused ones stay.

    It counts as erased once nothing is left in the files either; until then it is tried again.
    """
    with store.writing() as connection:
        n = connection.execute(delete(reports).where(reports.c.campaign == entry.number)).rowcount
    store.scrub()
    with store.writing() as connection:
        connection.execute(update(campaigns).where(campaigns.c.number == entry.number).values(erased=today()))
    return n
