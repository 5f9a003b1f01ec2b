"""The checks of single reports, for many at once: the same reasons, in the same order."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.batch.batch import ReportBatch
from lopub.batch.packed import Packed
from lopub.campaign import Campaign
from lopub.errors import Reason, ReportRejected
from lopub.mechanism import Channel
from lopub.mechanism.direct import DirectChannel
from lopub.report import unpack, view_of
from lopub.view import View

Ok = NDArray[np.bool_]


def checked_batch(
    campaign: Campaign, ids: NDArray[np.uint8], slots: NDArray[np.uint32], masks: NDArray[np.uint8], payloads: Packed
) -> ReportBatch:
    """The well-formed ones among these reports, with the others counted by reason. masks: shape (n, mask_bytes)."""
    refused: Counter[Reason] = Counter()
    kept = np.arange(len(ids))

    def sift(ok: Ok, reason: Reason) -> None:
        nonlocal kept
        if not ok.all():
            refused[reason] += int((~ok).sum())
            kept = kept[ok]

    schedule = campaign.terms.schedule
    if schedule:
        sift((slots >= schedule.slots[0]) & (slots <= schedule.slots[-1]), Reason.SLOT)
    views, view_index = _views(campaign, masks[kept])
    sift(view_index >= 0, Reason.VIEW)
    view_index = view_index[view_index >= 0]
    needed = np.array([campaign.payload_bytes(view) for view in views], dtype=np.int64)
    fits = payloads.lengths[kept] == needed[view_index]
    sift(fits, Reason.LENGTH)
    batch = _assembled(campaign, ids, slots, views, view_index[fits], payloads, kept)
    for check in (_padding, _outputs):
        ok, reason = check(batch)
        if not ok.all():
            refused[reason] += int((~ok).sum())
            batch = batch[ok]
    return replace(batch, refused=dict(refused))


def _assembled(
    campaign: Campaign,
    ids: NDArray[np.uint8],
    slots: NDArray[np.uint32],
    views: tuple[View, ...],
    view_index: NDArray[np.int32],
    payloads: Packed,
    kept: NDArray[np.int64],
) -> ReportBatch:
    everything = len(kept) == len(ids)
    return ReportBatch(
        campaign=campaign,
        ids=ids if everything else ids[kept],
        slots=slots if everything else slots[kept],
        views=views,
        view_index=view_index,
        payloads=payloads if everything else payloads.take(kept),
    )


def _views(campaign: Campaign, masks: NDArray[np.uint8]) -> tuple[tuple[View, ...], NDArray[np.int32]]:
    """The distinct views, in order, and each report's place among them; -1 where the campaign cannot draw it."""
    sizes = campaign.domain.sizes
    if not campaign.view.masked:
        return (tuple(range(len(sizes))),), np.zeros(len(masks), dtype=np.int32)
    distinct, inverse = distinct_rows(masks)
    found = [view_of(row.tobytes()) for row in distinct]
    possible = [bool(view) and view[-1] < len(sizes) and campaign.view.can_draw(view, sizes) for view in found]
    views = tuple(sorted(view for view, ok in zip(found, possible, strict=True) if ok))
    place = {view: i for i, view in enumerate(views)}
    return views, np.array([place.get(view, -1) for view in found], dtype=np.int32)[inverse]


def distinct_rows(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The distinct rows of a byte matrix, and each row's place among them."""
    if rows.shape[1] <= 8:
        wide = np.zeros((len(rows), 8), dtype=np.uint8)
        wide[:, : rows.shape[1]] = rows
        keys, inverse = np.unique(wide.view("<u8").reshape(-1), return_inverse=True)
        return keys.astype("<u8").view(np.uint8).reshape(len(keys), 8)[:, : rows.shape[1]], inverse
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _padding(batch: ReportBatch) -> tuple[Ok, Reason]:
    """Bits behind the last one must be zero."""
    campaign = batch.campaign
    used = np.array([sum(channel.width for channel in campaign.channels(view)) % 8 for view in batch.views], dtype=np.uint8)
    bits_used = used[batch.view_index]
    return (bits_used == 0) | (batch.payloads.last_bytes() >> bits_used == 0), Reason.PADDING


def _outputs(batch: ReportBatch) -> tuple[Ok, Reason]:
    """Every output must be one that its channel can give."""
    ok = np.ones(len(batch), dtype=bool)
    if not len(batch):
        return ok, Reason.RANGE
    sample = batch.channels(0)[0]
    reason = Reason.RANGE if sample.n_ones is None else Reason.WEIGHT
    if batch.campaign.jointly and isinstance(sample, DirectChannel):
        n_cells = np.array([batch.channels(i)[0].n_candidates for i in range(len(batch.views))], dtype=np.uint64)
        return batch.payloads.numbers() < n_cells[batch.view_index], reason
    if batch.campaign.jointly and sample.n_ones is not None:
        sizes = np.array([batch.channels(i)[0].n_ones for i in range(len(batch.views))], dtype=np.int64)
        return batch.payloads.n_ones() == sizes[batch.view_index], reason
    for number in range(len(batch.views)):
        rows = batch.rows_of(number)
        if len(rows):
            ok[rows] = _outputs_of_view(batch.payloads.matrix(rows), batch.channels(number))
    return ok, reason


def _outputs_of_view(payloads: NDArray[np.uint8], channels: tuple[Channel, ...]) -> Ok:
    """payloads: shape (n, bytes), of one view."""
    if all(type(channel).check is Channel.check for channel in channels):
        return np.ones(len(payloads), dtype=bool)
    if isinstance(channels[0], DirectChannel):
        return _numbers_in_range(payloads, channels)
    if channels[0].n_ones is not None:
        bits = np.unpackbits(payloads, axis=1, bitorder="little")
        starts = np.cumsum([0, *(channel.width for channel in channels)])
        weights = [bits[:, starts[i] : starts[i + 1]].sum(axis=1) == channel.n_ones for i, channel in enumerate(channels)]
        right: Ok = np.logical_and.reduce(weights)
        return right
    return np.array([_passes(row.tobytes(), channels) for row in payloads], dtype=bool)


def _numbers_in_range(payloads: NDArray[np.uint8], channels: tuple[Channel, ...]) -> Ok:
    ok, start = np.ones(len(payloads), dtype=bool), 0
    for channel in channels:
        n_bytes = channel.width // 8
        ok &= Packed.from_matrix(payloads[:, start : start + n_bytes]).numbers() < np.uint64(channel.n_candidates)
        start += n_bytes
    return ok


def _passes(payload: bytes, channels: tuple[Channel, ...]) -> bool:
    """One report at a time: for a mechanism that brings a check of its own."""
    try:
        for channel, output in zip(channels, unpack(payload, channels), strict=True):
            channel.check(output)
    except ReportRejected:
        return False
    return True
