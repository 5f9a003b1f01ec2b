"""Out of a store: the accepted reports of a campaign as a batch."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from lopub.collector.campaigns import (
    Entry,
    all_campaigns,
    find_campaign,
    refused_of,
    tally,
    withdrawn_of,
)
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, StoreError, TooFewReports
from lopub.reports.batch import HASH_BYTES, Packed, ReportBatch
from lopub.reports.batch.check import checked_batch
from lopub.reports.origin import Origin


def batch_of(store: ReportStore, entry: Entry) -> ReportBatch:
    """The accepted reports in the order of their hashes, with how many were refused; whatever kind the store is of."""
    refuse_erased(entry)
    with store.reading() as connection:
        batch = ReportBatch.gathered(blocks_of(store, connection, entry))
        refused, n_withdrawn = (
            refused_of(connection, entry.number),
            withdrawn_of(connection, entry.number),
        )
    return replace(batch, refused=refused, origin=Origin(n_withdrawn=n_withdrawn))


def refuse_erased(entry: Entry) -> None:
    """Refuse a campaign whose reports were deleted."""
    if entry.erased is not None:
        raise StoreError(
            f"the reports of campaign {entry.campaign.id[:16]}… were deleted at the end of their retention"
        )


def blocks_of(
    store: ReportStore,
    connection: Connection,
    entry: Entry,
    low: bytes = b"",
    high: bytes | None = None,
) -> Iterator[ReportBatch]:
    """The accepted reports in blocks; at least one, if an empty one. low, high: the range of their hashes."""
    n_walked = 0
    for block in store.rows(connection, entry.number, low, high):
        n_walked += 1
        batch = _batch(block, entry)
        if batch.refused:
            raise StoreError(
                f"database {store.name} holds reports that do not fit their campaign; restore a backup"
            )
        yield batch
    if not n_walked:
        yield _batch([], entry)


def _batch(block: Sequence[tuple[bytes, int, bytes]], entry: Entry) -> ReportBatch:
    """Rows as arrays, checked once more: a store is a file that others can write to."""
    n, n_mask = len(block), entry.campaign.mask_bytes
    hashes = np.frombuffer(b"".join(row[0] for row in block), np.uint8).reshape(n, HASH_BYTES)
    masks = np.frombuffer(b"".join(row[2][:n_mask] for row in block), np.uint8).reshape(n, n_mask)
    payloads = np.frombuffer(b"".join(row[2][n_mask:] for row in block), np.uint8)
    lengths = np.array([len(row[2]) - n_mask for row in block], dtype=np.int64)
    slots = np.array([row[1] for row in block], dtype=np.uint32)
    return checked_batch(
        entry.campaign, hashes, slots, masks, Packed.from_lengths(payloads, lengths)
    )


def chosen(store: ReportStore, campaign_id: str) -> Entry:
    """The campaign with this id, or the only one whose id begins so."""
    if len(campaign_id) == 64:
        return find_campaign(store, campaign_id.lower())
    found = [
        entry
        for entry in all_campaigns(store)
        if len(campaign_id) >= 8 and entry.campaign.id.startswith(campaign_id.lower())
    ]
    if len(found) != 1:
        raise DomainError(
            "name one campaign by its file, by its id, or by the first 8 or more digits of its id;"
            " `lopub collect list` shows those there are"
        )
    return found[0]


def count_to_show(store: ReportStore, entry: Entry) -> int | None:
    """How many reports a campaign has; None below its min_reports, where only that may be shown."""
    try:
        return tally(store, entry).n_reports
    except TooFewReports:
        return None
