"""The checks of single reports, for many at once: the same reasons, in the same order."""

from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.bulk.packed import Packed
from lopub.bulk.records import distinct_rows
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.report import view_of
from lopub.errors import Reason
from lopub.reports.batch.batch import ReportBatch

Ok = NDArray[np.bool_]


def checked_batch(
    campaign: Campaign,
    ids: NDArray[np.uint8],
    slots: NDArray[np.uint32],
    masks: NDArray[np.uint8],
    payloads: Packed,
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
        first, last, step = schedule.slots[0], schedule.slots[-1], schedule.slots.step
        sift(
            (slots >= first) & (slots <= last) & ((slots - np.uint32(first)) % step == 0),
            Reason.SLOT,
        )
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
    views: tuple[Clique, ...],
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


def _views(
    campaign: Campaign, masks: NDArray[np.uint8]
) -> tuple[tuple[Clique, ...], NDArray[np.int32]]:
    """The distinct views, in order, and each report's place among them; -1 where the campaign cannot draw it."""
    sizes = campaign.domain.sizes
    if not campaign.view.masked:
        return (tuple(range(len(sizes))),), np.zeros(len(masks), dtype=np.int32)
    distinct, inverse = distinct_rows(masks)
    found = [view_of(row.tobytes()) for row in distinct]
    possible = [
        bool(view) and view[-1] < len(sizes) and campaign.view.can_draw(view, sizes)
        for view in found
    ]
    views = tuple(sorted(view for view, ok in zip(found, possible, strict=True) if ok))
    place = {view: i for i, view in enumerate(views)}
    return views, np.array([place.get(view, -1) for view in found], dtype=np.int32)[inverse]


def _padding(batch: ReportBatch) -> tuple[Ok, Reason]:
    """Bits behind the last one must be zero."""
    campaign = batch.campaign
    used = np.array(
        [sum(channel.width for channel in campaign.channels(view)) % 8 for view in batch.views],
        dtype=np.uint8,
    )
    if not used.any():
        return np.ones(len(batch), dtype=bool), Reason.PADDING
    bits_used = used[batch.view_index]
    return (bits_used == 0) | (batch.payloads.last_bytes() >> bits_used == 0), Reason.PADDING


def _outputs(batch: ReportBatch) -> tuple[Ok, Reason]:
    """Every output must be one that its channel can give."""
    bulk = bulk_of(batch.campaign.mechanism)
    return bulk.possible(batch), bulk.refusal
