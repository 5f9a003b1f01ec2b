"""When reports are made: once within some days, or again and again in rounds.

A report carries a slot: a day, or the first day of its round. Two modes keep what rounds reveal together within a bound that
holds for any two histories of answers. `sampled`: a device takes part in a few rounds, drawn blindly, each with noise of its own,
and all of it costs so many reports. `permanent`: a noisy answer is drawn once, and every round adds noise over that same one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from lopub.campaign.canonical import Json, Members
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError

EPOCH = date(1970, 1, 1)
"""Slot 0."""
GRACE_DAYS = 14
"""Days after the schedule's last one, or after a round's, in which a collector still takes what was made within it; withdrawals,
too, until the campaign closes. Two weeks: a device that was switched off over a holiday can still send what it keeps. A collector
may give fewer, but not more, so that people can be told when their reports will be deleted at the latest."""
EARLY_DAYS = 1
"""Days before a round's first one from which on a collector takes its reports: a device whose clock is fast, or shows the local
time for that of UTC, is less than a day ahead."""
EARLY, LATE = "early", "late"
"""When a report came that a collector does not take with this slot: before its round, or after it and the days of grace."""
SAMPLED, PERMANENT = "sampled", "permanent"
MOST_ROUNDS, LONGEST_ROUND = 4096, 366
ONCE = "once"
NO_REPEAT = f"schedule.repeat must be {ONCE}, or an object that says in which rounds"
MOST_DAYS = 6
"""Days that one sentence names."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """Consecutive rounds of `every_days` each; a device takes part in some of them."""

    every_days: int
    rounds: int
    take_part: int
    """In how many rounds a device takes part, at most; it draws them before the first one."""
    mode: str = SAMPLED

    def __post_init__(self) -> None:
        if not 1 <= self.every_days <= LONGEST_ROUND:
            raise CampaignError(
                f"schedule.repeat.every_days must lie in 1..{LONGEST_ROUND}, got {self.every_days}"
            )
        if not 2 <= self.rounds <= MOST_ROUNDS:
            raise CampaignError(
                f"schedule.repeat.rounds must lie in 2..{MOST_ROUNDS:,}, got {self.rounds}"
            )
        if not 1 <= self.take_part <= self.rounds:
            raise CampaignError(
                f"schedule.repeat.take_part must lie in 1..{self.rounds}, the number of rounds, got {self.take_part}"
            )
        if self.mode not in (SAMPLED, PERMANENT):
            raise CampaignError(
                f"schedule.repeat.mode must be {SAMPLED} or {PERMANENT}, got {self.mode[:40]!r}"
            )

    @property
    def is_permanent(self) -> bool:
        """Whether one noisy answer is kept and goes on being used."""
        return self.mode == PERMANENT

    @property
    def n_days(self) -> int:
        """Days of all rounds together."""
        return self.every_days * self.rounds

    def reports_a_round(self, people: int) -> int:
        """How many of this many people take part in one round, on average."""
        return people * self.take_part // self.rounds

    def people_for(self, reports: int) -> int:
        """How many people it takes for this many reports per round."""
        return -(-reports * self.rounds // self.take_part)

    def draw(self, randomness: Randomness) -> tuple[int, ...]:
        """The numbers of the rounds in which a device takes part, ascending; every choice is equally likely."""
        return tuple(sorted(randomness.prefix(self.rounds, self.take_part)))

    def to_json(self) -> dict[str, Json]:
        """The member `repeat` of a schedule."""
        return {
            "every_days": self.every_days,
            "mode": self.mode,
            "rounds": self.rounds,
            "take_part": self.take_part,
        }


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The first and the last day on which a report may be made, and whether that is so in rounds."""

    opens: date
    closes: date
    repeat: Repeat | None = None

    def __post_init__(self) -> None:
        if self.closes < self.opens:
            raise CampaignError(
                f"schedule.closes must not be before schedule.opens, got {self.closes} before {self.opens}"
            )
        if self.opens < EPOCH:
            raise CampaignError(f"schedule.opens must not be before {EPOCH}, got {self.opens}")
        if (
            self.repeat
            and self.closes.toordinal() != self.opens.toordinal() + self.repeat.n_days - 1
        ):
            raise CampaignError(
                f"schedule.closes must be the last day of the last round, {self.repeat.n_days:,} days from schedule.opens on,"
                f" got {self.closes}"
            )

    @classmethod
    def in_rounds(cls, opens: date, repeat: Repeat) -> "Schedule":
        """The schedule of rounds that begin on this day."""
        if opens.toordinal() + repeat.n_days - 1 > date.max.toordinal():
            raise CampaignError(
                f"schedule.repeat must end by {date.max}; its {repeat.n_days:,} days do not"
            )
        return cls(opens=opens, closes=opens + timedelta(days=repeat.n_days - 1), repeat=repeat)

    @property
    def slots(self) -> range:
        """What a report may carry, in days since 1970-01-01: every day, or the first day of every round."""
        step = self.repeat.every_days if self.repeat else 1
        return range((self.opens - EPOCH).days, self.last_slot + 1, step)

    @property
    def last_slot(self) -> int:
        """The last day, in days since 1970-01-01."""
        return (self.closes - EPOCH).days

    def slot_on(self, day: int) -> int | None:
        """What a report carries that is made on this day, itself in days since 1970-01-01; None outside the schedule."""
        if not self.slots[0] <= day <= self.last_slot:
            return None
        return day - (day - self.slots[0]) % self.slots.step

    def last_day(self, slot: int) -> int:
        """The last day on which reports with this slot are made: of rounds, the round's, else the schedule's."""
        return slot + self.repeat.every_days - 1 if self.repeat else self.last_slot

    def has_begun(self, slot: int, day: int) -> bool:
        """Whether reports with this slot are taken on this day already: of rounds, from shortly before the first day on."""
        return self.repeat is None or slot - EARLY_DAYS <= day

    def is_over(self, slot: int, day: int, grace_days: int = GRACE_DAYS) -> bool:
        """Whether reports with this slot are no longer taken on this day, which is after their last one and the days of grace."""
        return day > self.last_day(slot) + grace_days

    def untimely(self, slot: int, day: int, grace_days: int = GRACE_DAYS) -> str:
        """Whether a report with this slot comes EARLY or LATE on this day; empty where it comes in time."""
        if not self.has_begun(slot, day):
            return EARLY
        return LATE if self.is_over(slot, day, grace_days) else ""

    def to_json(self) -> dict[str, Json]:
        """The member `schedule` of a campaign."""
        repeat: Json = self.repeat.to_json() if self.repeat else ONCE
        return {"opens": str(self.opens), "closes": str(self.closes), "repeat": repeat}


def day_of(slot: int) -> date:
    """The day with this slot."""
    return EPOCH + timedelta(days=slot)


def days_in_short(days: Sequence[date]) -> str:
    """Days in a sentence: the first few, and how many more.

    >>> days_in_short([date(2026, 11, 1 + i) for i in range(9)])
    '2026-11-01, 2026-11-02, 2026-11-03, 2026-11-04, 2026-11-05, 2026-11-06 and 3 more'
    """
    more = f" and {len(days) - MOST_DAYS:,} more" if len(days) > MOST_DAYS else ""
    return ", ".join(map(str, days[:MOST_DAYS])) + more


def schedule_from_json(members: Members) -> Schedule:
    """The schedule of a campaign, or of a draft."""
    opens, closes = (day_at(members.text(key), members.path(key)) for key in ("opens", "closes"))
    value = members.take("repeat") if "repeat" in members else ONCE
    repeat = (
        repeat_from_json(Members(value, members.path("repeat")))
        if isinstance(value, dict)
        else None
    )
    if repeat is None and value != ONCE:
        raise CampaignError(NO_REPEAT)
    members.done()
    return Schedule(opens=opens, closes=closes, repeat=repeat)


def repeat_from_json(members: Members) -> Repeat:
    """The member `repeat` of a schedule, where it is an object."""
    numbers = {key: members.integer(key) for key in ("every_days", "rounds", "take_part")}
    mode = members.text("mode")
    members.done()
    return Repeat(**numbers, mode=mode)


def day_at(text: str, where: str) -> date:
    """A day, which is written as a text."""
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise CampaignError(f"{where} must be a day such as 2026-05-31") from None
