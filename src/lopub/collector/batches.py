"""The accepted reports of a campaign, out of a store, as one batch or in blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from lopub.collector.campaigns import Entry, refused_of, withdrawn_of
from lopub.collector.store import ReportStore
from lopub.errors import StoreError
from lopub.reports.batch import HASH_BYTES, Packed, ReportBatch
from lopub.reports.batch.check import checked_batch
from lopub.reports.origin import Origin


def batch_of(store: ReportStore, entry: Entry) -> ReportBatch:
    """Return the accepted reports in the order of their hashes, with how many were refused."""
    refuse_erased(entry)
    with store.reading() as connection:
        batch = ReportBatch.gathered(blocks_of(store, connection, entry))
        refused = refused_of(connection, entry.number)
        n_withdrawn = withdrawn_of(connection, entry.number)
    return replace(batch, refused=refused, origin=Origin(n_withdrawn=n_withdrawn))


def refuse_erased(entry: Entry) -> None:
    """Refuse a campaign whose reports were deleted."""
    if entry.erased is not None:
        raise StoreError(
            "the reports of campaign {id}… were deleted at the end of their retention",
            id=entry.campaign.id[:16],
        )


def blocks_of(
    store: ReportStore,
    connection: Connection,
    entry: Entry,
    low: bytes = b"",
    high: bytes | None = None,
) -> Iterator[ReportBatch]:
    """Yield the accepted reports in blocks, at least one, which may be empty.

    low, high: the range of their hashes.
    """
    n_walked = 0
    for block in store.rows(connection, entry.number, low, high):
        n_walked += 1
        batch = _batch(block, entry)
        if batch.refused:
            raise StoreError(
                "database {name} holds reports that do not fit their campaign; restore a backup",
                name=store.name,
            )
        yield batch
    if not n_walked:
        yield _batch([], entry)


def _batch(block: Sequence[tuple[bytes, int, bytes]], entry: Entry) -> ReportBatch:
    """Return rows as arrays, checked once more: a store is a file that others can write to."""
    n, n_mask = len(block), entry.campaign.mask_bytes
    hashes = np.frombuffer(b"".join(row[0] for row in block), np.uint8).reshape(n, HASH_BYTES)
    masks = np.frombuffer(b"".join(row[2][:n_mask] for row in block), np.uint8).reshape(n, n_mask)
    payloads = np.frombuffer(b"".join(row[2][n_mask:] for row in block), np.uint8)
    lengths = np.array([len(row[2]) - n_mask for row in block], dtype=np.int64)
    slots = np.array([row[1] for row in block], dtype=np.uint32)
    return checked_batch(
        entry.campaign, hashes, slots, masks, Packed.from_lengths(payloads, lengths)
    )
