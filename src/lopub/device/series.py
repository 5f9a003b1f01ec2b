"""A device in a campaign that repeats: the rounds it drew, the permanent answer it keeps, one report a round.

Standard library only; read it before you trust it. What a series keeps, each under a key of its own, each for good:

    KEY:rounds   the numbers of the rounds in which this device takes part; drawn blindly, before anything is made
    KEY          that the series has begun and is counted; in mode permanent, the noisy answer: a view and its noisy outputs
    KEY:SLOT     the finished report of a round

They are kept in this order, and the first of each stays. So a crash at any moment, a clock that goes back, or a program that
starts again never leads to another choice of rounds, to a second permanent answer, or to two reports of a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lopub.contract.campaign import HEADER_BYTES, Campaign
from lopub.contract.randomness import Randomness
from lopub.contract.report import ID_BYTES, PREFIX, Report, pack
from lopub.contract.schedule import Repeat, Schedule
from lopub.device.keeping import ClientStore
from lopub.device.randomizing import inputs_of, mask_in, randomized
from lopub.errors import ReportRejected, StoreError

ROUND_BYTES = 2
"""Of a round's number among those that are kept."""
BEGUN = b"sampled"
"""What mode sampled keeps at the start: it has no permanent answer."""


@dataclass(frozen=True)
class Series:
    """One respondent's rounds."""

    campaign: Campaign
    schedule: Schedule
    repeat: Repeat
    store: ClientStore
    key: str

    # ---- rounds

    def slots(self) -> tuple[int, ...]:
        """The first days of the rounds in which this device takes part; drawn and kept where they are not yet."""
        found = self.known_slots()
        if found is not None:
            return found
        if self.store.kept(self.key) is not None:
            raise _lost("the rounds that were drawn")
        drawn = b"".join(number.to_bytes(ROUND_BYTES) for number in self.repeat.draw(Randomness()))
        return self._slots_of(self.store.keep(f"{self.key}:rounds", drawn))

    def known_slots(self) -> tuple[int, ...] | None:
        """The same; None where they are not drawn yet."""
        data = self.store.kept(f"{self.key}:rounds")
        return None if data is None else self._slots_of(data)

    def _slots_of(self, data: bytes) -> tuple[int, ...]:
        numbers = [int.from_bytes(data[at : at + ROUND_BYTES]) for at in range(0, len(data), ROUND_BYTES)]
        rising = all(one < next_one for one, next_one in pairwise(numbers))
        if len(data) != ROUND_BYTES * self.repeat.take_part or not rising or numbers[-1] >= self.repeat.rounds:
            raise _lost("the rounds that were drawn")
        return tuple(self.schedule.slots[number] for number in numbers)

    # ---- reports

    def report_key(self, slot: int) -> str:
        """Under which the report of a round is kept."""
        return f"{self.key}:{slot}"

    def made(self) -> list[int]:
        """The rounds, by their first days, of which a report is kept."""
        return [slot for slot in self.known_slots() or () if self.store.kept(self.report_key(slot)) is not None]

    @property
    def has_begun(self) -> bool:
        """Whether it was counted, and, in mode permanent, has its answer."""
        if self.store.kept(self.key) is not None:
            return True
        if self.made():
            raise _lost("what was kept at its start")
        return False

    @property
    def needs_record(self) -> bool:
        """Whether a report is made of the answers, and not of a permanent one."""
        return not (self.repeat.is_permanent and self.has_begun)

    def begin(self, candidates: Sequence[int]) -> None:
        """Keep what is kept at the start, unless it is there already: in mode permanent, the noisy answer."""
        if not self.has_begun:
            permanent = self.repeat.is_permanent
            self.store.keep(self.key, memorized(self.campaign, candidates, Randomness()) if permanent else BEGUN)

    def report(self, candidates: Sequence[int], slot: int) -> Report:
        """A report of this round, with noise of its own; in mode permanent, over the answer that is kept."""
        if not self.repeat.is_permanent:
            return randomized(self.campaign, candidates, slot=slot, randomness=Randomness())
        kept = self.store.kept(self.key)
        if kept is None:
            raise _lost("its permanent answer")
        return refreshed(self.campaign, kept, slot=slot, randomness=Randomness())


def memorized(campaign: Campaign, candidates: Sequence[int], randomness: Randomness) -> bytes:
    """The permanent answer: a view and its blocks' permanent noisy outputs, drawn in this order from one stream."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels, inputs = campaign.channels(view), inputs_of(campaign, view, candidates)
    outputs = [channel.memorized(x, randomness) for channel, x in zip(channels, inputs, strict=True)]
    return mask_in(campaign, view) + pack(outputs, channels)


def refreshed(campaign: Campaign, kept: bytes, *, slot: int, randomness: Randomness) -> Report:
    """A report over a permanent answer: its id, then the fresh noise of each block, drawn in this order from one stream."""
    known = _as_report(campaign, kept, slot)
    report_id = randomness.take(ID_BYTES)
    channels = campaign.channels(known.view(campaign))
    outputs = [channel.refreshed(x, randomness) for channel, x in zip(channels, known.outputs(campaign), strict=True)]
    return Report(campaign=campaign.prefix, id=report_id, slot=slot, mask=known.mask, payload=pack(outputs, channels))


def _as_report(campaign: Campaign, kept: bytes, slot: int) -> Report:
    """The permanent answer, checked as strictly as a report."""
    header = bytes([1]) + campaign.prefix + bytes(ID_BYTES) + slot.to_bytes(HEADER_BYTES - ID_BYTES - PREFIX.stop)
    try:
        return Report.from_bytes(header + kept, campaign)
    except ReportRejected:
        raise _lost("its permanent answer") from None


def _lost(what: str) -> StoreError:
    return StoreError(
        f"the store has reports of this series, but has lost or damaged {what}; restore it from a backup, because drawing it anew"
        " would reveal more than was agreed to"
    )
