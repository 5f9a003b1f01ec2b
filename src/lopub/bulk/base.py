"""The NumPy half of a mechanism: many reports made, checked and read at once, and what a report is worth.

`Bulk` serves any mechanism, one report at a time, by the channel's own `randomize` and `check`. A mechanism's own file
overrides what can be done faster. It is found by the mechanism's name, here and nowhere else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.cells import CellNoise
from lopub.bulk.designs import Design
from lopub.bulk.draws import DrawnWords, RandomWords
from lopub.bulk.linear import Classes, Scatter, own_bit_scatter
from lopub.bulk.outputs import Chances
from lopub.bulk.packed import Packed
from lopub.bulk.reach import Reach, reach_of_cells, reach_of_codes
from lopub.bulk.records import Inputs, Records, Rows
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel, Law, Mechanism
from lopub.campaign.report import pack, unpack
from lopub.campaign.views import AllAttributes, Sample, Sizes, ViewRule
from lopub.errors import CampaignError, DomainError, Reason, ReportRejected

ANSWERS, VIEW_BITS, ATTRIBUTE_BITS = "answers", "bits of views", "bits of attributes"
"""The forms in which reports are counted."""
Channels = tuple[Channel, ...]
"""The blocks of one view, in the order in which they stand in a payload."""
Payloads = NDArray[np.uint8]
"""shape (n, bytes): reports of one view."""
Bits = NDArray[np.uint8]
"""shape (n, bits), each 0 or 1."""
Ok = NDArray[np.bool_]


class ReportArrays(Protocol):
    """Many reports of one campaign; a ReportBatch is this."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def views(self) -> tuple[Clique, ...]: ...

    @property
    def view_index(self) -> NDArray[np.int32]: ...

    @property
    def payloads(self) -> Packed: ...

    def rows_of(self, view_number: int) -> NDArray[np.int64]:
        """The rows of the reports that cover this view."""


@dataclass(frozen=True, eq=False)
class Answers:
    """values: shape (n, n_attributes), -1 where a report does not cover the attribute. noise: shape (n,), which of `noises` a
    report has. noises: jointly, the number of cells of the view; separately, the number of attributes in it."""

    values: NDArray[np.int32]
    noise: NDArray[np.int64]
    noises: tuple[int, ...]


class Bulk:
    """A mechanism at work on many reports. Stateless; everything that a campaign fixes comes with its channels."""

    mechanism: ClassVar[str] = ""
    known: ClassVar[dict[str, "Bulk"]] = {}
    refusal: ClassVar[Reason] = Reason.RANGE
    """Why an output that no candidate can give is refused."""
    counts_tell_cells: ClassVar[bool] = False
    """Whether each cell of a jointly randomized block has a bit of its own, so that joints are read off counts of ones."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "mechanism" in vars(cls):
            Bulk.known[cls.mechanism] = cls()

    # ---- making

    def simulated(self, records: Records, source: RandomWords) -> Packed:
        """The payloads of many reports: one view after the other, then back in the order of the records."""
        if not records.views:
            return Packed.from_matrix(np.empty((0, 0), dtype=np.uint8))
        if len(records.views) == 1:
            return self._simulated_view(records, slice(None), records.views[0], source)
        order = np.argsort(records.view_index, kind="stable")
        starts = np.searchsorted(records.view_index[order], np.arange(len(records.views) + 1))
        rows = (order[start:stop] for start, stop in pairwise(starts))
        parts = [
            self._simulated_view(records, own, view, source)
            for own, view in zip(rows, records.views, strict=True)
        ]
        return Packed.joined(parts).take(np.argsort(order, kind="stable"))

    def _simulated_view(
        self, records: Records, rows: Rows, view: Clique, source: RandomWords
    ) -> Packed:
        channels, inputs = records.campaign.channels(view), records.inputs(rows, view)
        return Packed.from_matrix(self.payloads(channels, inputs, source))

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        """The payloads of reports that all have these blocks."""
        randomness = DrawnWords(source)
        rows = [
            pack(
                [
                    c.randomize(int(x), randomness)
                    for c, x in zip(channels, candidates, strict=True)
                ],
                channels,
            )
            for candidates in zip(*inputs, strict=True)
        ]
        n_bytes = (sum(channel.width for channel in channels) + 7) // 8
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), n_bytes)

    def refreshed(self, channels: Channels, payloads: Payloads, source: RandomWords) -> Payloads:
        """Permanent noisy answers with the fresh noise of one round over them."""
        randomness = DrawnWords(source)
        rows = [
            pack(
                [
                    c.refreshed(z, randomness)
                    for c, z in zip(channels, unpack(row.tobytes(), channels), strict=True)
                ],
                channels,
            )
            for row in payloads
        ]
        return np.frombuffer(b"".join(rows), np.uint8).reshape(payloads.shape)

    def fresh_share(self, channel: Channel, share: float, sigma: float) -> float:
        """How much of the variance of a report's noise is fresh in every round; the rest is in the permanent answer, and stays.
        share: of the people with an answer, or a class of them; sigma: of the block's candidates that are of that class."""
        raise DomainError(f"mechanism {self.mechanism!r} keeps no permanent answer")

    # ---- checking

    def possible(self, reports: ReportArrays) -> Ok:
        """Which reports have outputs that their channels can give."""
        ok = np.ones(len(reports.payloads), dtype=bool)
        for number, view in enumerate(reports.views):
            rows = reports.rows_of(number)
            if len(rows):
                ok[rows] = self.possible_payloads(
                    reports.campaign.channels(view), reports.payloads.matrix(rows)
                )
        return ok

    def possible_payloads(self, channels: Channels, payloads: Payloads) -> Ok:
        """The same of reports that all have these blocks."""
        if all(type(channel).check is Channel.check for channel in channels):
            return np.ones(len(payloads), dtype=bool)
        return np.array([_passes(row.tobytes(), channels) for row in payloads], dtype=bool)

    # ---- reading

    def bits(self, channels: Channels, at: int, payloads: Payloads) -> Bits:
        """What the reports of one view say in one block, as the bits that its law speaks of."""
        start = sum(channel.width for channel in channels[:at])
        stop = start + channels[at].width
        bits = np.unpackbits(payloads[:, start // 8 : (stop + 7) // 8], axis=1, bitorder="little")
        return bits[:, start % 8 : start % 8 + stop - start]

    def noticeable(
        self, channels: Channels, at: int, payloads: Payloads, most: int
    ) -> Iterator[tuple[str, Bits]]:
        """What can be seen in one block of the reports of one view, by name: at most so many columns of 0 and 1 of a kind."""
        bits = self.bits(channels, at, payloads)
        return ((f"bit {i}", bits[:, i]) for i in range(min(bits.shape[1], most)))

    def law_bits(self, channels: Channels, payloads: Payloads) -> Payloads:
        """The bits that the blocks' laws speak of, one behind the other: the payload itself, where these are what is sent."""
        return payloads

    def cells(self, reports: ReportArrays) -> NDArray[np.int64]:
        """The cell that each report names in the product domain of its own view."""
        raise DomainError(f"reports of mechanism {self.mechanism!r} are not cells; see `bits`")

    # ---- what is counted, and said of single answers

    def form(self, jointly: bool) -> str:
        """In which form reports are counted."""
        return VIEW_BITS if jointly else ATTRIBUTE_BITS

    def answers(self, reports: ReportArrays) -> Answers:
        """What reports say, attribute by attribute, where they name answers."""
        raise DomainError(f"mechanism {self.mechanism!r} sends bits, not answers; see `bits`")

    def keep(self, campaign: Campaign, position: int, noise: int) -> float:
        """The chance that what a report with this noise says of an attribute is kept, where reports name answers."""
        raise DomainError(f"mechanism {self.mechanism!r} sends bits, which are not kept as a whole")

    def cell_noise(self, law: Law) -> CellNoise:
        """How far the share of a cell may be off that is read off the reports of one block. Where a candidate has several bits
        that it shares with others: as on average."""
        return CellNoise(float(law.p), float(law.q), self.noise(law), 0.0)

    def class_scatter(
        self, channel: Channel, classes: Classes, sigma: NDArray[np.float64]
    ) -> Scatter:
        """How far one report's reading of classes of a block's candidates scatters, where each candidate has a bit of its own."""
        return own_bit_scatter(channel.law(), channel.n_ones, sigma)

    # ---- planning

    def usual_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        """Those among which a campaign is made unless more is asked; none by default."""
        return iter(())

    def other_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        """Those that a planner compares beside them."""
        return iter(())

    def usual_view(self, sizes: Sizes, epsilon: float) -> ViewRule:
        """The view where the mechanism is named and the view is not."""
        return AllAttributes() if len(sizes) == 1 else Sample(2)

    def noise(self, law: Law) -> float:
        """v: the variance of a debiased bit of one report, all candidates equally likely; averaged over the bits of a code."""
        p, q = float(law.p), float(law.q)
        mean = q + (p - q) * law.weight / law.n_bits
        return mean * (1 - mean) / (p - q) ** 2 / law.weight if p > q else math.inf

    # ---- fakes

    def ones_chances(self, channel: Channel) -> Chances | None:
        """The chance of every number of ones of an output, the same for all candidates; None where that says nothing."""
        return None

    def log_likeliest(self, channel: Channel) -> float:
        """The logarithm of the chance of the likeliest output of any candidate, or something above it."""
        return 0.0

    def reach(self, channel: Channel, shape: tuple[int, ...], axes: tuple[int, ...]) -> Reach:
        """What one output of a block can say for the cells of some of its attributes. shape: of the block; axes: of the part."""
        if channel.law().rows is None:
            return reach_of_cells(
                channel.law(), channel.n_ones, math.prod(shape[axis] for axis in axes)
            )
        return reach_of_codes(channel.law(), shape, axes)


def bulk_of(mechanism: Mechanism | type[Mechanism]) -> Bulk:
    """The NumPy half of a mechanism; its file in this package, or whoever adds a mechanism, defines it."""
    if mechanism.name not in Bulk.known:
        raise CampaignError(
            f"mechanism {mechanism.name!r} has no NumPy half; subclass lopub.bulk.base.Bulk for it"
        )
    return Bulk.known[mechanism.name]


def _passes(payload: bytes, channels: Channels) -> bool:
    try:
        for channel, output in zip(channels, unpack(payload, channels), strict=True):
            channel.check(output)
    except ReportRejected:
        return False
    return True
