"""Records that simulated clients are about to report, each with its view. For experiments only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.contract.campaign import Campaign
from lopub.contract.report import view_of
from lopub.contract.view import View

Inputs = list[NDArray[np.int64]]
"""One array a block: the candidate of every report."""


@dataclass(frozen=True, eq=False)
class Records:
    """codes: shape (n, n_attributes), candidate numbers. mask: the same shape, what each record's view covers."""

    campaign: Campaign
    codes: NDArray[np.uint16]
    mask: NDArray[np.bool_]
    views: tuple[View, ...]
    view_index: NDArray[np.int32]

    @classmethod
    def of(cls, campaign: Campaign, codes: NDArray[np.uint16], mask: NDArray[np.bool_]) -> "Records":
        """Records with the views that were drawn for them. mask: shape (n, attributes), what each view covers."""
        distinct, index = distinct_rows(np.packbits(mask, axis=1, bitorder="little"))
        found = [view_of(row.tobytes()) for row in distinct]
        order = sorted(range(len(found)), key=found.__getitem__)
        return cls(campaign, codes, mask, tuple(found[i] for i in order), np.argsort(order).astype(np.int32)[index])

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> NDArray[np.int64]:
        """Each record's cell in the product domain of its own view."""
        return cell_numbers(self.codes, self.mask, self.campaign.domain.sizes)

    def inputs(self, rows: NDArray[np.int64], view: View) -> Inputs:
        """The candidate that goes into each block of a view, for the records on these rows, which have it."""
        own = self.codes[rows][:, list(view)]
        if not self.campaign.jointly:
            return [own[:, place].astype(np.int64) for place in range(len(view))]
        sizes = tuple(self.campaign.domain.sizes[position] for position in view)
        return [cell_numbers(own, np.ones(own.shape, dtype=bool), sizes)]


def cell_numbers(codes: NDArray[np.uint16], mask: NDArray[np.bool_], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Each record's cell in the product domain of what its mask covers: domain order, last attribute fastest."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for position, size in enumerate(sizes):
        numbers = np.where(mask[:, position], numbers * size + codes[:, position], numbers)
    return numbers


def distinct_rows(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The distinct rows of a byte matrix, and each row's place among them."""
    if rows.shape[1] <= 8:
        wide = np.zeros((len(rows), 8), dtype=np.uint8)
        wide[:, : rows.shape[1]] = rows
        keys, inverse = np.unique(wide.view("<u8").reshape(-1), return_inverse=True)
        return keys.astype("<u8").view(np.uint8).reshape(len(keys), 8)[:, : rows.shape[1]], inverse
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)
