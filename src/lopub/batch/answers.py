"""What `direct` reports say, attribute by attribute."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.batch.batch import ReportBatch
from lopub.batch.packed import Packed
from lopub.campaign import Campaign
from lopub.mechanism import Channel
from lopub.mechanism.direct import Direct, DirectChannel


@dataclass(frozen=True, eq=False)
class Answers:
    """values: shape (n, n_attributes), -1 where a report does not cover the attribute. noise: shape (n,), which of `noises` a
    report has. noises: jointly, the number of cells of the view; separately, the number of attributes in it."""

    values: NDArray[np.int32]
    noise: NDArray[np.int64]
    noises: tuple[int, ...]


def answers_of(batch: ReportBatch) -> Answers:
    return _joint_answers(batch) if batch.campaign.jointly else _separate_answers(batch)


MOST_KEPT = 1 - 2.0**-53
"""The largest float below 1. At 1 itself, which a large epsilon would be rounded to, a cell that nobody has could not be seen."""


def keep_of(campaign: Campaign, position: int, noise: int) -> float:
    """The chance that what a report with this noise says of an attribute is kept; jointly, the same for all its attributes."""
    mechanism = campaign.mechanism
    if not isinstance(mechanism, Direct):
        raise TypeError("only mechanism 'direct' keeps answers")
    if campaign.jointly:
        return min(MOST_KEPT, float(DirectChannel(noise, mechanism.noise[1]).keep))
    return min(MOST_KEPT, float(mechanism.channel((campaign.domain.attributes[position],), noise).keep))


def _joint_answers(batch: ReportBatch) -> Answers:
    """Take every report's cell apart, last attribute first."""
    sizes, n = batch.campaign.domain.sizes, len(batch)
    covered = np.ones((n, len(sizes)), dtype=np.uint8)
    if batch.campaign.view.masked:
        covered = np.unpackbits(batch.masks, axis=1, bitorder="little")[:, : len(sizes)]
    values = np.full((n, len(sizes)), -1, dtype=np.int32, order="F")
    rest = batch.cells()
    for position in reversed(range(len(sizes))):
        rows = np.flatnonzero(covered[:, position])
        values[rows, position] = rest[rows] % sizes[position]
        rest[rows] //= sizes[position]
    cells = [_direct(batch.channels(number)[0]).n_candidates for number in range(len(batch.views))]
    noises = sorted(set(cells))
    return Answers(values, np.searchsorted(noises, cells)[batch.view_index].astype(np.int64), tuple(noises))


def _separate_answers(batch: ReportBatch) -> Answers:
    """One number an attribute; the noise depends on how many there are."""
    values = np.full((len(batch), len(batch.campaign.domain)), -1, dtype=np.int32, order="F")
    lengths = [len(view) for view in batch.views]
    for number, view in enumerate(batch.views):
        rows, start = batch.rows_of(number), 0
        data = batch.payloads.matrix(rows)
        for position, channel in zip(view, batch.channels(number), strict=True):
            end = start + channel.width // 8
            values[rows, position] = Packed.from_matrix(data[:, start:end]).numbers()
            start = end
    noises = sorted(set(lengths))
    return Answers(values, np.searchsorted(noises, lengths)[batch.view_index].astype(np.int64), tuple(noises))


def _direct(channel: Channel) -> DirectChannel:
    if not isinstance(channel, DirectChannel):
        raise TypeError("a direct campaign has direct channels")
    return channel
