"""Records that simulated clients are about to report, each with its view. For experiments only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.report import view_of

Inputs = list[NDArray[np.int64]]
"""One array a block: the candidate of every report."""
Rows = NDArray[np.int64] | slice
MOST_TABLED = 2**16
"""Keys below this, which are all masks of 16 attributes, are looked up in a table, without loading a compiler."""
MOST_MET = 2**12
"""Distinct rows that are numbered without sorting, a power of two: their table stays in the processor's first caches."""


@dataclass(frozen=True, eq=False)
class Records:
    """codes: shape (n, n_attributes), candidate numbers. mask: the same shape, what each record's view covers."""

    campaign: Campaign
    codes: NDArray[np.uint16]
    mask: NDArray[np.bool_]
    views: tuple[Clique, ...]
    view_index: NDArray[np.int32]

    @classmethod
    def of(
        cls, campaign: Campaign, codes: NDArray[np.uint16], mask: NDArray[np.bool_]
    ) -> "Records":
        """Records with the views that were drawn for them. mask: shape (n, attributes), what each view covers."""
        if not campaign.view.masked:
            everything = (tuple(range(len(campaign.domain))),) if len(codes) else ()
            return cls(campaign, codes, mask, everything, np.zeros(len(codes), dtype=np.int32))
        distinct, index = distinct_rows(packed_masks(mask))
        found = [view_of(row.tobytes()) for row in distinct]
        order = sorted(range(len(found)), key=found.__getitem__)
        return cls(
            campaign,
            codes,
            mask,
            tuple(found[i] for i in order),
            np.argsort(order).astype(np.int32)[index],
        )

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> NDArray[np.int64]:
        """Each record's cell in the product domain of its own view."""
        return cell_numbers(self.codes, self.mask, self.campaign.domain.sizes)

    def inputs(self, rows: Rows, view: Clique) -> Inputs:
        """The candidate that goes into each block of a view, for the records on these rows, which have it."""
        if not self.campaign.jointly:
            return [self.codes[:, position][rows].astype(np.int64) for position in view]
        own = self.codes[rows][:, list(view)]
        sizes = tuple(self.campaign.domain.sizes[position] for position in view)
        return [cell_numbers(own, np.ones(own.shape, dtype=bool), sizes)]


def packed_masks(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The rows in bytes, the first bit lowest; filled up to whole bytes first, so that they are packed in one go."""
    whole = np.zeros((len(mask), -(-mask.shape[1] // 8) * 8), dtype=bool)
    whole[:, : mask.shape[1]] = mask
    return np.packbits(whole, bitorder="little").reshape(len(mask), whole.shape[1] // 8)


def cell_numbers(
    codes: NDArray[np.uint16], mask: NDArray[np.bool_], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """Each record's cell in the product domain of what its mask covers: domain order, last attribute fastest."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for position, size in enumerate(sizes):
        numbers = np.where(mask[:, position], numbers * size + codes[:, position], numbers)
    return numbers


def padded_views(views: tuple[Clique, ...]) -> NDArray[np.int64]:
    """For loops that are compiled: a row for each view, with how many attributes it has, and then which."""
    padded = np.zeros((len(views), 1 + max(map(len, views), default=0)), dtype=np.int64)
    for row, view in zip(padded, views, strict=True):
        row[: 1 + len(view)] = (len(view), *view)
    return padded


def distinct_rows(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The distinct rows of a byte matrix, in order, and each row's place among them."""
    if rows.shape[1] > 8:
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, : rows.shape[1]] = rows
    keys, places = distinct_keys(wide.view("<u8").reshape(-1))
    return keys.astype("<u8").view(np.uint8).reshape(len(keys), 8)[:, : rows.shape[1]], places


def distinct_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """What `np.unique` gives, without sorting where few are distinct, as views are."""
    if int(keys.max(initial=0)) < MOST_TABLED:
        met_before, at = np.zeros(MOST_TABLED, dtype=bool), keys.astype(np.intp)
        met_before[at] = True
        return np.flatnonzero(met_before).astype(np.uint64), (np.cumsum(met_before) - 1)[at]
    met, places = np.empty(MOST_MET, dtype=np.uint64), np.empty(len(keys), dtype=np.int64)
    n_met = _number(keys, met, np.full(4 * MOST_MET, -1, dtype=np.int64), places)
    if n_met < 0:
        return np.unique(keys, return_inverse=True)
    order = np.argsort(met[:n_met])
    return met[order], np.argsort(order)[places]


@compiled
def _number(
    keys: NDArray[np.uint64],
    met: NDArray[np.uint64],
    slots: NDArray[np.int64],
    places: NDArray[np.int64],
) -> int:
    """Number the distinct keys as they are met, by a table of slots; how many, or -1 where they are too many for it."""
    n_met, last = 0, np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        key = keys[i]
        slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32) & last
        while slots[slot] >= 0 and met[slots[slot]] != key:
            slot = (slot + np.uint64(1)) & last
        if slots[slot] < 0:
            if n_met == len(met):
                return -1
            slots[slot] = n_met
            met[n_met] = key
            n_met += 1
        places[i] = slots[slot]
    return n_met
