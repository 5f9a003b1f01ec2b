"""Packed columns: one bit a report, 64 reports a word. How often two bits are both ones is a popcount of two columns' overlap."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled, instruction

Columns = NDArray[np.uint64]
"""shape (n_bits, n_words)."""
WORDS = 64
"""Words of a column that are counted at once: all columns of 2,000 bits stay in the processor's second cache."""


def _popcount(_context: Any, word: Any) -> Any:
    """The processor's own instruction, as numba wants it described."""
    from numba import types

    def body(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), body


ones: Callable[[np.uint64], np.uint64] = instruction(_popcount)
"""How many bits of a word are set."""


@compiled
def lay_columns(
    rows: NDArray[np.uint8], places: NDArray[np.int64], columns: Columns, first: int
) -> None:
    """Turn reports' bytes into columns from word `first` on. rows: shape (n_reports, n_bytes); places: of each bit, its column,
    or -1 for padding. Eight reports' bytes make an 8 x 8 square of bits, which three exchanges turn over."""
    n_reports, n_bytes = rows.shape
    for eight in range(0, n_reports, 8):
        word, shift = first + eight // 64, np.uint64(eight % 64)
        n_here = min(8, n_reports - eight)
        for byte in range(n_bytes):
            square = np.uint64(0)
            for i in range(n_here):
                square |= np.uint64(rows[eight + i, byte]) << np.uint64(8 * i)
            swap = (square ^ (square >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
            square ^= swap ^ (swap << np.uint64(7))
            swap = (square ^ (square >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
            square ^= swap ^ (swap << np.uint64(14))
            swap = (square ^ (square >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
            square ^= swap ^ (swap << np.uint64(28))
            for bit in range(8):
                place = places[8 * byte + bit]
                if place >= 0:
                    columns[place, word] |= (
                        (square >> np.uint64(8 * bit)) & np.uint64(0xFF)
                    ) << shift


@compiled
def add_overlaps(
    columns: Columns, ends: NDArray[np.int64], low: int, high: int, together: NDArray[np.int64]
) -> None:
    """Add to `together`, for the columns from low to high, their ones on the diagonal and, right of it, how often each has a one
    together with a column of a later attribute. ends: of each column, where its attribute's columns end."""
    n_bits, n_words = columns.shape
    for i in range(low, high):
        mine = columns[i]
        alone = np.uint64(0)
        for word in range(n_words):
            alone += ones(mine[word])
        together[i, i] += np.int64(alone)
        j = ends[i]
        while j + 4 <= n_bits:
            a, b, c, d = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            sum_a, sum_b, sum_c, sum_d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for word in range(n_words):
                bits = mine[word]
                sum_a += ones(bits & a[word])
                sum_b += ones(bits & b[word])
                sum_c += ones(bits & c[word])
                sum_d += ones(bits & d[word])
            together[i, j] += np.int64(sum_a)
            together[i, j + 1] += np.int64(sum_b)
            together[i, j + 2] += np.int64(sum_c)
            together[i, j + 3] += np.int64(sum_d)
            j += 4
        while j < n_bits:
            theirs, both = columns[j], np.uint64(0)
            for word in range(n_words):
                both += ones(mine[word] & theirs[word])
            together[i, j] += np.int64(both)
            j += 1


@compiled
def add_contingency(
    values: NDArray[np.int32],
    view_index: NDArray[np.int32],
    views: NDArray[np.int64],
    folds: NDArray[np.int8],
    noise: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    flat: NDArray[np.int64],
) -> None:
    """Count every report in the tables of its attributes and of their pairs. views: see `padded_views`; starts: shape (n_noises,
    d, d), where in `flat` the table (fold, cells) of two attributes begins, or of one on the diagonal."""
    for row in range(len(values)):
        start, view = starts[noise[row]], views[view_index[row]]
        for i in range(1, view[0] + 1):
            a = view[i]
            place = folds[row] * sizes[a] + values[row, a]
            flat[start[a, a] + place] += 1
            for k in range(i + 1, view[0] + 1):
                b = view[k]
                flat[start[a, b] + place * sizes[b] + values[row, b]] += 1


@compiled
def add_cells(
    cells: NDArray[np.int64],
    folds: NDArray[np.int8],
    view_index: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_cells: NDArray[np.int64],
    flat: NDArray[np.int64],
) -> None:
    """Count every report's cell. starts, n_cells: of each view, where in `flat` its table (fold, cell) begins, and its cells."""
    for row in range(len(cells)):
        view = view_index[row]
        flat[starts[view] + folds[row] * n_cells[view] + cells[row]] += 1
