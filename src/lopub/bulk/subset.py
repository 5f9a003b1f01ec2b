"""`subset`, many at once."""

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import Bits, Bulk, Channels, Ok, Payloads, ReportArrays
from lopub.bulk.cells import CellNoise, cell_noise
from lopub.bulk.designs import LARGE, LARGEST_SPELT_OUT, Design, largest_pair
from lopub.bulk.draws import RandomWords, chosen, random_subsets, units_of
from lopub.bulk.outputs import log_likeliest_subset
from lopub.bulk.records import Inputs
from lopub.campaign.mechanisms import Channel, Law
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.campaign.views import AllAttributes, Sample, Sizes
from lopub.errors import Reason

MOST_NAMED = 3
"""Cells up to which a subset always has one member: that is `direct`, whose reports are shorter."""
SAMPLED = (2, 3, 5, 8, 12)
"""Attributes that a report may cover where they are randomized separately."""


class SubsetBulk(Bulk):
    """Bits of which a fixed number are ones."""

    mechanism: ClassVar[str] = "subset"
    counts_tell_cells: ClassVar[bool] = True
    refusal: ClassVar[Reason] = Reason.WEIGHT

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        own = cast(tuple[SubsetChannel, ...], channels)
        bits = [_subsets(channel, x, source) for channel, x in zip(own, inputs, strict=True)]
        return np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")

    def usual_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        if MOST_NAMED < largest_pair(sizes) <= LARGEST_SPELT_OUT:
            yield Design(self.mechanism, self.usual_view(sizes, epsilon), True)
        if len(sizes) > 1 and LARGE < max(sizes) <= LARGEST_SPELT_OUT:
            yield Design(self.mechanism, Sample(1), True)

    def other_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        """One attribute a person; or several, each with its share of the budget."""
        if len(sizes) > 1:
            if max(sizes) <= LARGEST_SPELT_OUT:
                yield Design(self.mechanism, Sample(1), True)
            yield from (Design(self.mechanism, Sample(n), False) for n in SAMPLED if n < len(sizes))
            yield Design(self.mechanism, AllAttributes(), False)

    def possible(self, reports: ReportArrays) -> Ok:
        if not reports.campaign.jointly or not len(reports.payloads):
            return super().possible(reports)
        sizes = np.array(
            [reports.campaign.channels(view)[0].n_ones for view in reports.views], dtype=np.int64
        )
        right: Ok = reports.payloads.n_ones() == sizes[reports.view_index]
        return right

    def possible_payloads(self, channels: Channels, payloads: Payloads) -> Ok:
        weights = [
            self.bits(channels, at, payloads).sum(axis=1) == channel.n_ones
            for at, channel in enumerate(channels)
        ]
        right: Ok = np.logical_and.reduce(weights)
        return right

    def cell_noise(self, law: Law) -> CellNoise:
        """The other ones are a draw without putting back: w - 1 of the K - 1 others, or w where the true cell is not held."""
        k, p = law.n_candidates, float(law.p)
        w = round(law.p + (k - 1) * law.q)
        with_own = p * (w - 1) / max(k - 1, 1)
        without = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / max((k - 1) * (k - 2), 1)
        return cell_noise(law, with_own, without)

    def log_likeliest(self, channel: Channel) -> float:
        return log_likeliest_subset(channel.law(), cast(SubsetChannel, channel).n_ones)


def _subsets(channel: SubsetChannel, x: NDArray[np.int64], source: RandomWords) -> Bits:
    """w of the other cells where the true one is not held, w - 1 and the true one where it is."""
    held = chosen(source, len(x), units_of(channel.law().p))
    bits = np.zeros((len(x), channel.n_candidates), dtype=np.uint8)
    for rows, size in (
        (np.flatnonzero(held), channel.subset_size - 1),
        (np.flatnonzero(~held), channel.subset_size),
    ):
        others = random_subsets(source, len(rows), size, channel.n_candidates - 1)
        is_other = np.ones((len(rows), channel.n_candidates), dtype=bool)
        is_other[np.arange(len(rows)), x[rows]] = False
        part = np.zeros((len(rows), channel.n_candidates), dtype=np.uint8)
        part[is_other] = others.reshape(-1)
        bits[rows] = part
    bits[held, x[held]] = 1
    return bits
