"""The rounds of a campaign that repeats, as one device takes part in them.

Which rounds these are is drawn blindly, before anything is made, and kept. A crash, a clock that goes back, a program that starts
again or several at once never lead to another choice of rounds, to a second permanent answer, or to two reports of a round:
whatever is kept was kept in one transaction, and where something of it is lost, nothing is drawn anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lopub.campaign.campaign import Campaign
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report
from lopub.campaign.schedule import Repeat, Schedule
from lopub.client.noise import as_report, memorized, new_id, randomized, refreshed
from lopub.client.rows import Rows, lost
from lopub.errors import ReportRejected

NUMBER_BYTES = 2
"""Of a round's number, as it is kept."""


@dataclass(frozen=True)
class DeviceRounds:
    """The rounds of a campaign, and how a report of one of them is made."""

    campaign: Campaign
    schedule: Schedule
    repeat: Repeat

    @classmethod
    def of(cls, campaign: Campaign) -> "DeviceRounds | None":
        """Those of a campaign that repeats; None for any other one."""
        schedule = campaign.terms.schedule
        if schedule is None or schedule.repeat is None:
            return None
        return cls(campaign, schedule, schedule.repeat)

    def draw(self) -> bytes:
        """The numbers of the rounds in which a device takes part, as they are kept. The draw knows no answer."""
        return b"".join(number.to_bytes(NUMBER_BYTES) for number in self.repeat.draw(Randomness()))

    def slots(self, kept: bytes) -> tuple[int, ...]:
        """The first days of the rounds that were drawn."""
        numbers = [
            int.from_bytes(kept[at : at + NUMBER_BYTES]) for at in range(0, len(kept), NUMBER_BYTES)
        ]
        rising = all(one < next_one for one, next_one in pairwise(numbers))
        is_whole = len(kept) == NUMBER_BYTES * self.repeat.take_part
        if not (is_whole and rising and numbers[-1] < self.repeat.rounds):
            raise lost()
        return tuple(self.schedule.slots[number] for number in numbers)

    def report(self, rows: Rows, key: str, candidates: Sequence[int], slot: int) -> Report:
        """A report of this round, with noise of its own; in mode permanent, over the noisy answer that is kept."""
        if not self.repeat.is_permanent:
            return randomized(
                self.campaign, candidates, report_id=new_id(), slot=slot, randomness=Randomness()
            )
        report_id, series = new_id(), rows.series(key)
        if series is None:
            raise lost()
        answer = series.answer
        if not answer:
            answer = memorized(self.campaign, candidates, Randomness())
            rows.keep_answer(key, answer)
        return refreshed(
            self.campaign, answer, report_id=report_id, slot=slot, randomness=Randomness()
        )

    def check(self, kept: bytes, answer: bytes, reports: Sequence[Report]) -> None:
        """Refuse what no device could have kept."""
        slots = [report.slot for report in reports]
        if len(set(slots)) < len(slots) or not set(self.slots(kept)).issuperset(slots):
            raise lost()
        if slots and self.repeat.is_permanent:
            try:
                known = as_report(self.campaign, answer, slots[0])
            except ReportRejected:
                raise lost() from None
            if any(report.mask != known.mask for report in reports):
                raise lost()

    def takes(self, slot: int, day: int) -> bool:
        """Whether a collector may take reports of this round on this day; it may give fewer days of grace."""
        return not self.schedule.untimely(slot, day)
