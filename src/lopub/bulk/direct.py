"""`direct`, many at once: numbers, and what they say of each attribute."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import ANSWERS, Answers, Bits, Bulk, Channels, Ok, Payloads, ReportArrays
from lopub.bulk.cells import CellNoise, cell_noise
from lopub.bulk.compiling import compiled
from lopub.bulk.designs import FEWEST_CELLS, LARGEST_SPELT_OUT, Design, fill_cells
from lopub.bulk.draws import WORD, RandomWords, chosen, uniform_below, units_of, words
from lopub.bulk.packed import Packed
from lopub.bulk.reach import Reach, reach_of_cells
from lopub.bulk.records import Inputs, Records, padded_views
from lopub.campaign.campaign import Campaign
from lopub.campaign.mechanisms import Channel, Law
from lopub.campaign.mechanisms.direct import Direct, DirectChannel
from lopub.campaign.views import AllAttributes, Fill, Sample, Sizes, ViewRule
from lopub.errors import DomainError

FILL_STEP = 1.5
"""Views that are filled further, and less, are compared in these steps, the same at every epsilon, so that a larger epsilon never
looks worse."""
FILL_SHARES = (2, 24)
"""Of e^eps: the cells of the fullest and the least full view that are compared."""
MOST_KEPT = 1 - 2.0**-53
"""The largest float below 1. At 1 itself, which a large epsilon would be rounded to, a cell that nobody has could not be seen."""


@lru_cache(maxsize=4096)
def kept(channel: DirectChannel) -> float:
    """How often an answer is kept. Remembered: thousands of pairs ask for the same."""
    return min(MOST_KEPT, float(channel.keep))


class DirectBulk(Bulk):
    """One number a block."""

    mechanism: ClassVar[str] = "direct"

    def simulated(self, records: Records, source: RandomWords) -> Packed:
        """Jointly randomized: all views at once, whatever their number of cells."""
        if not records.campaign.jointly:
            return super().simulated(records, source)
        channels = [
            cast(DirectChannel, records.campaign.channels(view)[0]) for view in records.views
        ]
        n_cells = np.array([channel.n_candidates for channel in channels], dtype=np.int64)[
            records.view_index
        ]
        # One threshold a view; WORD itself, for a keep of almost one, does not fit into 64 bits.
        keep = np.array(
            [min(units_of(channel.keep), WORD - 1) for channel in channels], dtype=np.uint64
        )[records.view_index]
        kept = words(source, len(records.codes)) < keep
        numbers = np.where(kept, records.cells(), uniform_below(source, n_cells))
        n_bytes = np.array([channel.n_bytes for channel in channels], dtype=np.int64)[
            records.view_index
        ]
        big_endian = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
        return Packed.from_lengths(big_endian[np.arange(8) >= 8 - n_bytes[:, None]], n_bytes)

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        own = cast(tuple[DirectChannel, ...], channels)
        return np.concatenate(
            [_numbers(channel, x, source) for channel, x in zip(own, inputs, strict=True)], axis=1
        )

    def refreshed(self, channels: Channels, payloads: Payloads, source: RandomWords) -> Payloads:
        fresh = tuple(
            replace(channel, permanent=None)
            for channel in cast(tuple[DirectChannel, ...], channels)
        )
        ends = np.cumsum([channel.n_bytes for channel in fresh]).tolist()
        cells = [
            Packed.from_matrix(payloads[:, end - channel.n_bytes : end]).numbers().astype(np.int64)
            for channel, end in zip(fresh, ends, strict=True)
        ]
        return self.payloads(fresh, cells, source)

    def fresh_share(self, channel: Channel, share: float, sigma: float) -> float:
        """Of an answer that is named or not."""
        own = cast(DirectChannel, channel)
        both, fresh, below = (
            own.keep,
            replace(own, permanent=None).keep,
            DirectChannel(own.n_candidates, own.permanent or 0).keep,
        )
        whole = _spread(float(both), share, sigma)
        return (
            _spread(float(fresh), share * float(below) + (1 - float(below)) * sigma, sigma) / whole
        )

    def possible(self, reports: ReportArrays) -> Ok:
        if not reports.campaign.jointly:
            return super().possible(reports)
        channels = [reports.campaign.channels(view)[0] for view in reports.views]
        n_cells = np.array([channel.n_candidates for channel in channels], dtype=np.uint64)
        in_range: Ok = reports.payloads.numbers() < n_cells[reports.view_index]
        return in_range

    def possible_payloads(self, channels: Channels, payloads: Payloads) -> Ok:
        ok, start = np.ones(len(payloads), dtype=bool), 0
        for channel in channels:
            n_bytes = channel.width // 8
            ok &= Packed.from_matrix(payloads[:, start : start + n_bytes]).numbers() < np.uint64(
                channel.n_candidates
            )
            start += n_bytes
        return ok

    def bits(self, channels: Channels, at: int, payloads: Payloads) -> Bits:
        raise DomainError("mechanism 'direct' sends numbers, not bits; see `cells`")

    def noticeable(
        self, channels: Channels, at: int, payloads: Payloads, most: int
    ) -> Iterator[tuple[str, Bits]]:
        """Whether a block sends this number, for those that are sent most often."""
        start = sum(channel.width for channel in channels[:at]) // 8
        sent = payloads[:, start : start + channels[at].width // 8]
        numbers, which, times = np.unique(sent, axis=0, return_inverse=True, return_counts=True)
        for number in np.argsort(-times, kind="stable")[:most]:
            yield (
                f"number {int.from_bytes(numbers[number].tobytes())}",
                (which.ravel() == number).astype(np.uint8),
            )

    def cells(self, reports: ReportArrays) -> NDArray[np.int64]:
        if not reports.campaign.jointly:
            raise DomainError(
                "only jointly randomized reports of mechanism 'direct' are cells; see `answers`"
            )
        return reports.payloads.numbers().astype(np.int64)  # checked: below 2^62

    def form(self, jointly: bool) -> str:
        return ANSWERS

    def answers(self, reports: ReportArrays) -> Answers:
        return _joint_answers(reports) if reports.campaign.jointly else _separate_answers(reports)

    def keep(self, campaign: Campaign, position: int, noise: int) -> float:
        """Jointly, the same for all attributes."""
        mechanism = cast(Direct, campaign.mechanism)
        if campaign.jointly:
            return kept(mechanism.sized(noise, 1))
        return kept(mechanism.channel((campaign.domain.attributes[position],), noise))

    def cell_noise(self, law: Law) -> CellNoise:
        """One cell is named, never two."""
        return cell_noise(law, 0.0, 0.0)

    def usual_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        if len(sizes) == 1:
            if sizes[0] <= max(
                LARGEST_SPELT_OUT, 3 * math.exp(epsilon)
            ):  # of more cells, one says less than many hashed together
                yield Design(self.mechanism, AllAttributes(), True)
            return
        if (cells := fill_cells(epsilon)) >= FEWEST_CELLS:
            yield Design(self.mechanism, Fill(cells), True)
        yield Design(self.mechanism, Sample(2), True)

    def other_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        if len(sizes) > 1:
            fewest, most = (
                max(FEWEST_CELLS, fill_cells(epsilon, share)) for share in reversed(FILL_SHARES)
            )
            whole = math.prod(map(float, sizes))
            steps = range(
                math.floor(math.log(fewest, FILL_STEP)), math.ceil(math.log(most, FILL_STEP)) + 1
            )
            cells = [round(FILL_STEP**step) for step in steps]
            yield from (
                Design(self.mechanism, Fill(n), True)
                for n in cells
                if FEWEST_CELLS <= n <= FILL_STEP * whole
            )
        if len(sizes) > 2:
            yield Design(self.mechanism, Sample(3), True)

    def usual_view(self, sizes: Sizes, epsilon: float) -> ViewRule:
        return AllAttributes() if len(sizes) == 1 else Fill(max(FEWEST_CELLS, fill_cells(epsilon)))

    def log_likeliest(self, channel: Channel) -> float:
        return math.log(max(channel.law().p, channel.law().q))

    def reach(self, channel: Channel, shape: tuple[int, ...], axes: tuple[int, ...]) -> Reach:
        """The projection of one cell: a one, or none."""
        reach = reach_of_cells(channel.law(), 1, math.prod(shape[axis] for axis in axes))
        return replace(reach, weight=float((channel.law().p - channel.law().q) ** 2))


def _spread(keep: float, share: float, sigma: float) -> float:
    """The variance that noise adds to whether a class is named, where this share of people is in it."""
    inside, outside = keep + (1 - keep) * sigma, (1 - keep) * sigma
    return share * inside * (1 - inside) + (1 - share) * outside * (1 - outside)


def _numbers(channel: DirectChannel, x: NDArray[np.int64], source: RandomWords) -> Payloads:
    kept = chosen(source, len(x), units_of(channel.keep))
    cells = np.where(
        kept, x, uniform_below(source, np.full(len(x), channel.n_candidates, dtype=np.int64))
    )
    return cells.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 8 - channel.n_bytes :]


# ---- what the numbers say, attribute by attribute


def _joint_answers(reports: ReportArrays) -> Answers:
    """Take every report's cell apart."""
    sizes = np.array(reports.campaign.domain.sizes, dtype=np.int64)
    values = np.full((len(reports.view_index), len(sizes)), -1, dtype=np.int32)
    views = padded_views(reports.views)
    _take_apart(DirectBulk().cells(reports), reports.view_index, views, sizes, values)
    inside = np.arange(views.shape[1] - 1) < views[:, :1]
    cells = np.where(inside, sizes[views[:, 1:]], 1).prod(
        axis=1
    )  # below 2^62, as the campaign checks
    noises = np.unique(cells).tolist()
    return Answers(
        values, np.searchsorted(noises, cells)[reports.view_index].astype(np.int64), tuple(noises)
    )


@compiled
def _take_apart(
    cells: NDArray[np.int64],
    view_index: NDArray[np.int32],
    views: NDArray[np.int64],
    sizes: NDArray[np.int64],
    values: NDArray[np.int32],
) -> None:
    """The value of every attribute that is in a report's cell, last attribute first. views: see `padded_views`."""
    for row in range(len(cells)):
        rest, view = np.uint64(cells[row]), views[view_index[row]]
        for place in range(view[0], 0, -1):
            size = np.uint64(sizes[view[place]])
            values[row, view[place]] = rest % size
            rest //= size


def _separate_answers(reports: ReportArrays) -> Answers:
    """One number an attribute; the noise depends on how many there are."""
    values = np.full((len(reports.view_index), len(reports.campaign.domain)), -1, dtype=np.int32)
    lengths = [len(view) for view in reports.views]
    for number, view in enumerate(reports.views):
        rows, start = reports.rows_of(number), 0
        data = reports.payloads.matrix(rows)
        for position, channel in zip(view, reports.campaign.channels(view), strict=True):
            end = start + channel.width // 8
            values[rows, position] = Packed.from_matrix(data[:, start:end]).numbers()
            start = end
    noises = sorted(set(lengths))
    return Answers(
        values, np.searchsorted(noises, lengths)[reports.view_index].astype(np.int64), tuple(noises)
    )
