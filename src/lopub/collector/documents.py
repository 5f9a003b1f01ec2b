"""What the management routes answer with."""

from collections.abc import Mapping

from pydantic import BaseModel

from lopub.collector.campaigns import Entry, Tally, day_at


class CampaignState(BaseModel):
    """A campaign in this collector."""

    id: str
    name: str
    min_reports: int
    open: bool
    closed: str | None
    """The day, in UTC, from which its retention counts."""
    closes: str | None
    """The day, in UTC, at whose end it closes by itself: the last of its days of grace; null without a schedule."""
    erased: bool
    """Whether its reports were deleted at the end of their retention."""


class Campaigns(BaseModel):
    """All campaigns of a collector."""

    campaigns: list[CampaignState]


class SlotCount(BaseModel):
    """How many reports came with one slot."""

    day: str
    """In UTC, such as 2026-05-31; of a campaign that repeats, the first day of the round."""
    slot: int
    """The same in days since 1970-01-01, as reports have it."""
    reports: int


class Tallied(BaseModel):
    """What came in for a campaign."""

    id: str
    reports: int
    slots: list[SlotCount]
    refused: Mapping[str, int]
    withdrawn: int


def state_of(entry: Entry) -> CampaignState:
    """What a collector tells about a campaign."""
    terms, day = entry.campaign.terms, entry.closed_on
    return CampaignState(
        id=entry.campaign.id,
        name=terms.name,
        min_reports=terms.min_reports,
        open=day is None,
        closed=None if day is None else str(day),
        closes=None if entry.closes_on is None else str(entry.closes_on),
        erased=entry.erased is not None,
    )


def tallied(entry: Entry, tally: Tally) -> Tallied:
    """What a collector tells about a campaign's reports."""
    return Tallied(
        id=entry.campaign.id,
        reports=tally.n_reports,
        slots=[
            SlotCount(day=str(day_at(slot)), slot=slot, reports=n)
            for slot, n in tally.slots.items()
        ],
        refused={str(reason): n for reason, n in tally.refused.items()},
        withdrawn=tally.n_withdrawn,
    )
