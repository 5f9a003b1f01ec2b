"""Many clients at once: views, then blocks, then packed payloads."""

import hashlib
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lopub.batch import Packed, ReportBatch
from lopub.batch.check import distinct_rows
from lopub.campaign import Campaign
from lopub.dataset import Dataset
from lopub.errors import CampaignError
from lopub.mechanism import Channel
from lopub.mechanism.direct import DirectChannel
from lopub.report import ID_BYTES, view_of
from lopub.simulation.blocks import payload_matrix
from lopub.simulation.draws import WORD, OperatingSystem, RandomWords, uniform_below, units_of, words
from lopub.simulation.views import draw_masks
from lopub.view import View

BLOCK_REPORTS = 2**16
"""Reports that share one stream. Part of what a seed means: another number would give other bytes."""


def simulate(dataset: Dataset, campaign: Campaign, *, seed: int | None = None, slot: int | None = None) -> ReportBatch:
    """One report for each record. For experiments: the records of real people are randomized on their own devices.

    seed: same dataset, campaign and seed, same bytes, on any machine and in any blocks; but whoever knows the seed, or guesses
    it, can take the noise off again. None: all randomness comes from the operating system.
    slot: the day on the reports; by default the first day of the campaign's schedule, or 0.
    """
    return ReportBatch.joined(simulate_blocks(dataset, campaign, seed=seed, slot=slot))


def simulate_blocks(
    dataset: Dataset, campaign: Campaign, *, seed: int | None = None, slot: int | None = None
) -> Iterator[ReportBatch]:
    """The same, a block of reports at a time; each block has a stream of its own, keyed by seed and number."""
    if dataset.domain != campaign.domain:
        raise CampaignError("the dataset's attributes are not those of the campaign")
    if seed is not None and seed < 0:
        raise CampaignError(f"seed must be at least 0, got {seed}")
    if slot is None:
        slot = campaign.terms.schedule.slots[0] if campaign.terms.schedule else 0
    days = campaign.terms.schedule.slots if campaign.terms.schedule else range(2**32)
    if slot not in days:
        raise CampaignError(f"slot must lie in {days[0]}..{days[-1]}, got {slot}")
    for number, start in enumerate(range(0, max(len(dataset), 1), BLOCK_REPORTS)):
        codes = dataset.codes[start : start + BLOCK_REPORTS]
        yield _block(codes, campaign, slot, report_ids(len(codes), seed, number), noise_source(seed, number))


def noise_source(seed: int | None, number: int) -> RandomWords:
    """The stream that a block's views and noise are drawn from."""
    if seed is None:
        return OperatingSystem()
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(number,)))


def report_ids(n: int, seed: int | None, number: int) -> NDArray[np.uint8]:
    """The ids of a block's reports, which everybody sees. shape (n, 16).

    Never from the stream of the noise, whose state eight words give away: seeded ids are a one-way hash of seed and number.
    """
    if seed is None:
        drawn = os.urandom(ID_BYTES * n)
    else:
        drawn = hashlib.shake_256(b"lopub simulated report ids, seed %d, block %d" % (seed, number)).digest(ID_BYTES * n)
    return np.frombuffer(drawn, np.uint8).reshape(n, ID_BYTES)


def _block(codes: NDArray[np.uint16], campaign: Campaign, slot: int, ids: NDArray[np.uint8], source: RandomWords) -> ReportBatch:
    n = len(codes)
    mask = draw_masks(campaign.view, campaign.domain.sizes, n, source)
    distinct, index = distinct_rows(np.packbits(mask, axis=1, bitorder="little"))
    found = [view_of(row.tobytes()) for row in distinct]
    order = sorted(range(len(found)), key=found.__getitem__)
    view_index = np.argsort(order).astype(np.int32)[index]
    views = tuple(found[i] for i in order)
    direct = campaign.jointly and isinstance(campaign.channels(views[0])[0] if views else None, DirectChannel)
    payloads = (_joint_numbers if direct else _payloads)(codes, mask, views, view_index, campaign, source)
    slots = np.full(n, slot, dtype=np.uint32)
    return ReportBatch(campaign=campaign, ids=ids, slots=slots, views=views, view_index=view_index, payloads=payloads)


def _joint_numbers(
    codes: NDArray[np.uint16],
    mask: NDArray[np.bool_],
    views: tuple[View, ...],
    view_index: NDArray[np.int32],
    campaign: Campaign,
    source: RandomWords,
) -> Packed:
    """Jointly randomized `direct`: all views at once, whatever their number of cells."""
    channels = [_direct(campaign.channels(view)[0]) for view in views]
    n_cells = np.array([channel.n_candidates for channel in channels], dtype=np.int64)[view_index]
    # One threshold a view; WORD itself, for a keep of almost one, does not fit into 64 bits.
    keep = np.array([min(units_of(channel.keep), WORD - 1) for channel in channels], dtype=np.uint64)[view_index]
    kept = words(source, len(codes)) < keep
    numbers = np.where(kept, cell_numbers(codes, mask, campaign.domain.sizes), uniform_below(source, n_cells))
    n_bytes = np.array([channel.n_bytes for channel in channels], dtype=np.int64)[view_index]
    big_endian = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    return Packed.from_lengths(big_endian[np.arange(8) >= 8 - n_bytes[:, None]], n_bytes)


def _direct(channel: Channel) -> DirectChannel:
    if not isinstance(channel, DirectChannel):
        raise TypeError("a direct campaign has direct channels")
    return channel


def cell_numbers(codes: NDArray[np.uint16], mask: NDArray[np.bool_], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Each record's cell in the product domain of its own view: domain order, last attribute fastest."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for position, size in enumerate(sizes):
        numbers = np.where(mask[:, position], numbers * size + codes[:, position], numbers)
    return numbers


def _payloads(
    codes: NDArray[np.uint16],
    mask: NDArray[np.bool_],
    views: tuple[View, ...],
    view_index: NDArray[np.int32],
    campaign: Campaign,
    source: RandomWords,
) -> Packed:
    """Every other mechanism: one view after the other, then back in the order of the records."""
    order = np.argsort(view_index, kind="stable")
    starts = np.searchsorted(view_index[order], np.arange(len(views) + 1))
    parts = []
    for number, view in enumerate(views):
        rows = order[starts[number] : starts[number + 1]]
        inputs = _inputs(codes[rows], view, campaign)
        parts.append(Packed.from_matrix(payload_matrix(campaign.channels(view), inputs, source)))
    if not parts:
        return Packed.from_matrix(np.empty((0, 0), dtype=np.uint8))
    return parts[0] if len(parts) == 1 else Packed.joined(parts).take(np.argsort(order, kind="stable"))


def _inputs(codes: NDArray[np.uint16], view: View, campaign: Campaign) -> list[NDArray[np.int64]]:
    """The candidate that goes into each block of the view, for every record."""
    if not campaign.jointly:
        return [codes[:, position].astype(np.int64) for position in view]
    sizes = tuple(campaign.domain.sizes[position] for position in view)
    return [cell_numbers(codes[:, list(view)], np.ones((len(codes), len(view)), dtype=bool), sizes)]


__all__ = ["BLOCK_REPORTS", "cell_numbers", "simulate", "simulate_blocks"]
