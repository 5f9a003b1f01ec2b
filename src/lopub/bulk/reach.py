"""What one report can say for a cell at most and at least: the reach of a fake.

The debiased frequency of a cell is a weighted mean over reports of x = (<g, bits> - q <g, 1>) / (p - q), where g says how the
bits of a block speak for the cell: a single one where each candidate has a bit of its own; ones at all cells of the view that
add up to it where a view was randomized jointly; a row of the code's pseudo-inverse where candidates share bits.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.codes import reading
from lopub.campaign.mechanisms import Law


@dataclass(frozen=True)
class Reach:
    """What one report can say for a cell. low, high: shape (cells,), or (1,) where all cells are alike. weight: its precision."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: float


@lru_cache(maxsize=4096)
def reach_of_cells(law: Law, n_ones: int | None, part_cells: int) -> Reach:
    """Where each candidate has a bit of its own, and so all cells are alike. n_ones: of every output, where that is fixed."""
    p, q, n_summed = (
        law.p,
        law.q,
        law.n_candidates // part_cells,
    )  # so many cells of the block add up to one
    most = n_summed if n_ones is None else min(n_ones, n_summed)
    least = 0 if n_ones is None else max(0, n_ones - (law.n_candidates - n_summed))
    low, high = (np.array([float((ones - n_summed * q) / (p - q))]) for ones in (least, most))
    return Reach(low, high, float((p - q) ** 2 / (q * (1 - q) * n_summed)))


def reach_of_codes(law: Law, shape: tuple[int, ...], axes: tuple[int, ...]) -> Reach:
    """Where candidates share bits."""
    p, q, own = float(law.p), float(law.q), math.prod(shape[axis] for axis in axes)
    shares = reading(law, shape, axes)
    debiased = shares.sum(axis=1) * q
    low, high = (
        np.minimum(shares, 0).sum(axis=1) - debiased,
        np.maximum(shares, 0).sum(axis=1) - debiased,
    )
    return Reach(
        low / (p - q), high / (p - q), (p - q) ** 2 / (q * (1 - q)) * own / law.n_candidates
    )
