"""Days and rounds as people name them: what is to be studied, or left out."""

from datetime import date

from lopub.campaign.schedule import EPOCH, Schedule, day_of
from lopub.errors import CampaignError, DomainError


def round_named(schedule: Schedule, text: str) -> int:
    """The slot of the one round whose first day begins so: 2026-11, or 2026-11-02."""
    found = (
        [slot for slot in schedule.slots if text and str(day_of(slot)).startswith(text)]
        if schedule.repeat
        else []
    )
    if len(found) != 1:
        which = f"{len(found)} rounds begin" if found else "no round begins"
        raise CampaignError(
            f"round {text[:40]!r}: {which} so; name one by its first day, such as {day_of((found or schedule.slots)[0])}"
        )
    return found[0]


def days_between(text: str) -> range:
    """The slots of a day such as 2026-03-01, or of all days from one to another, both with them: 2026-03-01..2026-03-04."""
    first, _, last = text.partition("..")
    try:
        slots = [(date.fromisoformat(day) - EPOCH).days for day in (first, last or first)]
    except ValueError:
        raise DomainError(
            f"days are written as 2026-03-01 or 2026-03-01..2026-03-04, got {text!r}"
        ) from None
    if slots[1] < slots[0]:
        raise DomainError(f"of days from one to another the first comes first, got {text!r}")
    return range(slots[0], slots[1] + 1)
