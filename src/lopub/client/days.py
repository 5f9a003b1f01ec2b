"""What day it is on this device, and what it means where a collector does not take a report today."""

import time
from datetime import date

from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EARLY, EPOCH, LATE, Schedule, day_of
from lopub.errors import CampaignError, ReportRejected

SECONDS_A_DAY = 86_400
LAST_SLOT = (date.max - EPOCH).days
CLOCK = "set the clock of this device if it is wrong, and the report is sent when it is next tried"


def this_day() -> int:
    """This day in UTC, in days since 1970-01-01."""
    day = int(time.time() // SECONDS_A_DAY)
    if not 0 <= day <= LAST_SLOT:
        raise CampaignError(
            f"the clock of this device is not between {EPOCH} and {date.max}; set it, then try again"
        )
    return day


def today(campaign: Campaign) -> int:
    """The slot of this day, of rounds that of the present one; refuses a day outside the campaign's schedule."""
    day, schedule = this_day(), campaign.terms.schedule
    if schedule is None:
        return day
    if (slot := schedule.slot_on(day)) is None:
        raise CampaignError(
            f"campaign {campaign.terms.name!r} takes reports from {schedule.opens} to {schedule.closes}; today is {day_of(day)}"
        )
    return slot


def refusal_of_day(
    error: ReportRejected, slot: int, schedule: Schedule
) -> tuple[ReportRejected, bool]:
    """A refusal because of the day in plain words, and whether it is final: only where the round, or schedule, is over by both
    clocks, the collector's and the device's; else one of them may be wrong."""
    named = f"the report of the round from {day_of(slot)}" if schedule.repeat else "the report"
    is_over = this_day() > schedule.last_day(slot)
    is_final = error.when == LATE and is_over
    if is_final:
        why = f"{named} came too late: the collector's days of grace after that are over"
    elif error.when == EARLY:
        why = f"the collector does not take {named} yet: it is too early by its clock; {CLOCK}"
    elif not is_over:
        why = f"the collector does not take {named} today, though it is in time by this device's clock; {CLOCK}"
    else:
        why = f"the collector does not take {named} today, and does not say that it came too late; {CLOCK}"
    return ReportRejected(error.reason, why, when=error.when), is_final
