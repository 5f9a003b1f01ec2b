"""A device in a campaign that repeats: the rounds it drew, the permanent answer it keeps, one report a round.

Standard library only; read it before you trust it. What a series keeps:

    KEY:rounds   the numbers of the rounds in which this device takes part; drawn blindly, before anything is made
    KEY          from the first report on, everything: the rounds, in mode permanent the noisy answer, the report of every round
                 that was made, and whether a collector has it; one text, which is replaced as a whole

What counts lies under one key, so no part of it can be lost without the others: it is there as it was, or it is gone. Where it
is gone, and the totals know that it was there, nothing is drawn anew. And it is replaced only by whoever has read what it
replaces. So a crash at any moment, a clock that goes back, a program that starts again or several at once never lead to another
choice of rounds, to a second permanent answer, or to two reports of a round.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES, PREFIX, Report, pack
from lopub.campaign.schedule import Repeat, Schedule
from lopub.client.keeping import SeriesStore
from lopub.client.randomizing import inputs_of, mask_in, randomized
from lopub.errors import ReportRejected, StoreError

ROUND_BYTES = 2
"""Of a round's number among those that are kept before the first report."""
FORMAT = 1
WAITING, RECEIVED, REFUSED, WITHDRAWN = "waiting", "received", "refused", "withdrawn"
"""What became of a report: nothing yet, or what a collector said of it last."""


class MadeReport(NamedTuple):
    """A report, and what became of it."""

    report: Report
    fate: str = WAITING


@dataclass(frozen=True)
class Kept:
    """All that a series keeps from its first report on."""

    rounds: tuple[int, ...]
    """The numbers of the rounds that were drawn."""
    answer: bytes = b""
    """In mode permanent, the noisy answer: a view and its noisy outputs."""
    made: tuple[MadeReport, ...] = ()
    """In the order of their rounds."""

    def of(self, slot: int) -> Report | None:
        """The report of the round with this first day, if it was made."""
        return next((made.report for made in self.made if made.report.slot == slot), None)

    def with_made(self, new: MadeReport) -> "Kept":
        """The same with a report; in the place of the one of its round, if there is one."""
        others = [made for made in self.made if made.report.slot != new.report.slot]
        return replace(self, made=tuple(sorted([*others, new], key=lambda made: made.report.slot)))

    def to_bytes(self) -> bytes:
        """As it is kept."""
        reports = [{"bytes": made.report.to_bytes().hex(), "fate": made.fate} for made in self.made]
        members = {
            "answer": self.answer.hex(),
            "format": FORMAT,
            "reports": reports,
            "rounds": self.rounds,
        }
        return json.dumps(members, indent=1, sort_keys=True).encode()


@dataclass(frozen=True)
class Series:
    """One respondent's rounds."""

    campaign: Campaign
    schedule: Schedule
    repeat: Repeat
    store: SeriesStore
    key: str

    # ---- rounds

    def slots(self) -> tuple[int, ...]:
        """The first days of the rounds in which this device takes part; drawn and kept where they are not yet."""
        return tuple(
            self.schedule.slots[number] for number in self._now(self.store.kept(self.key)).rounds
        )

    def _drawn(self) -> tuple[int, ...]:
        """The numbers of the rounds; of whichever process drew them first. Before the first report nothing was revealed, and a
        draw knows no answer: what is gone or damaged is drawn anew."""
        key = f"{self.key}:rounds"
        data = self.store.kept(key)
        while (rounds := self._rounds_in(data)) is None:
            drawn = b"".join(
                number.to_bytes(ROUND_BYTES) for number in self.repeat.draw(Randomness())
            )
            data = (
                self.store.keep(key, drawn)
                if data is None
                else self.store.exchange(key, data, drawn) or None
            )
        return rounds

    def _rounds_in(self, data: bytes | None) -> tuple[int, ...] | None:
        """As they were kept; None where they are gone or damaged."""
        if data is None or len(data) % ROUND_BYTES:
            return None
        rounds = tuple(
            int.from_bytes(data[at : at + ROUND_BYTES]) for at in range(0, len(data), ROUND_BYTES)
        )
        return rounds if self._are_rounds(rounds) else None

    def _are_rounds(self, numbers: Sequence[int]) -> bool:
        rising = all(one < next_one for one, next_one in pairwise(numbers))
        return (
            len(numbers) == self.repeat.take_part
            and rising
            and 0 <= numbers[0] <= numbers[-1] < self.repeat.rounds
        )

    # ---- reports

    def made(self) -> tuple[MadeReport, ...]:
        """The reports that were made, in the order of their rounds, and what became of each."""
        data = self.store.kept(self.key)
        return self._now(data).made if data is not None or self.store.is_lost(self.key) else ()

    @property
    def has_begun(self) -> bool:
        """Whether it was counted, and, in mode permanent, has its answer."""
        return bool(self.made())

    @property
    def needs_record(self) -> bool:
        """Whether a report is made of the answers, and not of a permanent one."""
        return not (self.repeat.is_permanent and self.has_begun)

    def report_of(self, slot: int) -> Report | None:
        """The report of a round, if it was made."""
        return self._now(self.store.kept(self.key)).of(slot)

    def make(self, candidates: Sequence[int], slot: int) -> Report:
        """The report of this round, made and kept; or the one that another process kept first."""

        def grown(kept: Kept) -> Kept:
            if kept.of(slot) is not None:
                return kept
            if self.repeat.is_permanent and not kept.answer:
                kept = replace(kept, answer=memorized(self.campaign, candidates, Randomness()))
            return kept.with_made(MadeReport(self.report(kept, candidates, slot)))

        return next(report for report, _ in self._replaced(grown).made if report.slot == slot)

    def report(self, kept: Kept, candidates: Sequence[int], slot: int) -> Report:
        """A report of this round, with noise of its own; in mode permanent, over the answer that is kept."""
        if self.repeat.is_permanent:
            return refreshed(self.campaign, kept.answer, slot=slot, randomness=Randomness())
        return randomized(self.campaign, candidates, slot=slot, randomness=Randomness())

    def tell(self, report: Report, fate: str) -> None:
        """Keep what became of a report."""
        self._replaced(lambda kept: kept.with_made(MadeReport(report, fate)))

    # ---- what is kept

    def _replaced(self, change: Callable[[Kept], Kept]) -> Kept:
        """What is kept, changed; begun again from what another process has kept in the meantime, where one has."""
        while True:
            before = self.store.kept(self.key)
            after = change(self._now(before))
            data = after.to_bytes()
            if data == before or self.store.exchange(self.key, before, data) == data:
                return after

    def _now(self, data: bytes | None) -> Kept:
        """What is kept, or what a series begins with; refused where it was kept once, and is gone."""
        if data is not None:
            return self._read(data)
        if self.store.is_lost(self.key):
            raise _lost("what was kept of it")
        return Kept(self._drawn())

    def _read(self, data: bytes) -> Kept:
        """As it was written; whatever else stands in its place is damage."""
        try:
            kept = json.loads(data)
            if kept["format"] != FORMAT:
                raise ValueError
            rounds, answer = (
                tuple(int(number) for number in kept["rounds"]),
                bytes.fromhex(kept["answer"]),
            )
            reports = [(bytes.fromhex(one["bytes"]), str(one["fate"])) for one in kept["reports"]]
            made = tuple(
                MadeReport(Report.from_bytes(report, self.campaign), fate)
                for report, fate in reports
            )
            return self._checked(Kept(rounds, answer, made))
        except (
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # ReportRejected is a ValueError, too
            raise _lost("what was kept of it") from None

    def _checked(self, kept: Kept) -> Kept:
        """The same; ValueError where no series could have kept it."""
        if not self._are_rounds(kept.rounds):
            raise ValueError
        slots = [made.report.slot for made in kept.made]
        own = {self.schedule.slots[number] for number in kept.rounds}
        if not slots or slots != sorted(set(slots)) or not own.issuperset(slots):
            raise ValueError
        if self.repeat.is_permanent:
            _as_report(self.campaign, kept.answer, slots[0])
        return kept


def memorized(campaign: Campaign, candidates: Sequence[int], randomness: Randomness) -> bytes:
    """The permanent answer: a view and its blocks' permanent noisy outputs, drawn in this order from one stream."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels, inputs = campaign.channels(view), inputs_of(campaign, view, candidates)
    outputs = [
        channel.memorized(x, randomness) for channel, x in zip(channels, inputs, strict=True)
    ]
    return mask_in(campaign, view) + pack(outputs, channels)


def refreshed(campaign: Campaign, kept: bytes, *, slot: int, randomness: Randomness) -> Report:
    """A report over a permanent answer: its id, then the fresh noise of each block, drawn in this order from one stream."""
    known = _as_report(campaign, kept, slot)
    report_id = randomness.take(ID_BYTES)
    channels = campaign.channels(known.view(campaign))
    outputs = [
        channel.refreshed(x, randomness)
        for channel, x in zip(channels, known.outputs(campaign), strict=True)
    ]
    return Report(
        campaign=campaign.prefix,
        id=report_id,
        slot=slot,
        mask=known.mask,
        payload=pack(outputs, channels),
    )


def _as_report(campaign: Campaign, kept: bytes, slot: int) -> Report:
    """The permanent answer, checked as strictly as a report."""
    header = (
        bytes([1])
        + campaign.prefix
        + bytes(ID_BYTES)
        + slot.to_bytes(HEADER_BYTES - ID_BYTES - PREFIX.stop)
    )
    try:
        return Report.from_bytes(header + kept, campaign)
    except ReportRejected:
        raise _lost("its permanent answer") from None


def _lost(what: str) -> StoreError:
    return StoreError(
        f"the store has a series of this campaign, but has lost or damaged {what}; restore it from a backup, because drawing it"
        " anew would reveal more than was agreed to"
    )
