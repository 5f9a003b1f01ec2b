"""Factorised evidence: separately randomized attributes. One likelihood table an attribute; never one of all cells.

The clique's axes are split into two halves; a step is two matrix products a block of reports.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.mechanisms import Law
from lopub.estimation.evidence import Folds, rows_of_folds
from lopub.estimation.joint import Probabilities
from lopub.estimation.kernels import weigh

BLOCK_REPORTS = 3072
"""Reports multiplied at once: two halves' blocks stay in the processor's cache."""
MOST_TABLE_BYTES = 2**29
"""Likelihood tables up to this size are kept as floats; larger ones are made of the overlap counts block by block."""
TINY = 1e-150
"""Probabilities on their way to zero that count as zero: products with them would be too small for fast arithmetic."""

Overlaps = NDArray[np.uint8]
"""How many of a candidate's code bits a report has set. shape (n_reports, n_candidates)."""


@dataclass(frozen=True, eq=False)
class Factorised:
    """overlaps: one table an axis; slopes: of each axis, log-likelihood per overlapping bit.

    rows: where the folds begin and end among the reports, which are in the order of their ids' hashes.
    """

    axes: tuple[int, ...]
    overlaps: tuple[Overlaps, ...]
    slopes: tuple[float, ...]
    fold_starts: tuple[int, ...]
    folds: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(table.shape[1] for table in self.overlaps)

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        return rows_of_folds(self.folds, self.fold_starts)

    @property
    def n_reports(self) -> int:
        return sum(part.stop - part.start for part in self._slices)

    def within(self, folds: Folds) -> "Factorised":
        chosen = Factorised(
            self.axes, self.overlaps, self.slopes, self.fold_starts, tuple(sorted(folds))
        )
        chosen.__dict__["_tables"] = self._tables  # the tables are of all reports
        return chosen

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], ...] | None:
        if sum(4 * table.size for table in self.overlaps) > MOST_TABLE_BYTES:
            return None
        return tuple(
            likelihood_of(table, slope)
            for table, slope in zip(self.overlaps, self.slopes, strict=True)
        )

    def _blocks(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """The likelihoods of both halves' cells, block by block. shapes (n, cells of the half)."""
        for part in self._slices:
            for start in range(part.start, part.stop, BLOCK_REPORTS):
                rows = slice(start, min(start + BLOCK_REPORTS, part.stop))
                tables = self._tables or ()
                factors = [t[rows] for t in tables] or [
                    likelihood_of(table[rows], slope)
                    for table, slope in zip(self.overlaps, self.slopes, strict=True)
                ]
                yield (
                    _crossed(factors[: self._split], len(factors[0])),
                    _crossed(factors[self._split :], len(factors[0])),
                )

    @cached_property
    def _split(self) -> int:
        """How many axes the first half has: as evenly as possible by cells."""
        sizes = np.log(self.shape)
        return 1 + int(
            np.argmin([abs(sizes[:i].sum() - sizes[i:].sum()) for i in range(1, len(sizes) + 1)])
        )

    def _halves(self, joint: Probabilities) -> NDArray[np.float32]:
        rows = int(np.prod(self.shape[: self._split]))
        return joint.reshape(rows, -1).astype(np.float32)

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        halves = self._halves(joint)
        if exact:
            return self._exact_step(joint.reshape(halves.shape))
        total, ratio = 0.0, np.zeros(halves.shape)
        room = np.zeros(
            (BLOCK_REPORTS, halves.shape[1]), dtype=np.float32
        )  # a product may look at what it overwrites
        for first, second in self._blocks():
            work = np.matmul(first, halves, out=room[: len(first)])
            total += weigh(work, second)
            ratio += first.T @ work
        return total, ratio.reshape(joint.shape)

    def _exact_step(self, halves: Probabilities) -> tuple[float, Probabilities]:
        """In float64, for the last few steps of a fit."""
        halves = np.where(halves > TINY, halves, 0.0)
        total, ratio = 0.0, np.zeros(halves.shape)
        room = np.zeros((BLOCK_REPORTS, halves.shape[1]))
        for first, second in self._blocks():
            rows = first.astype(np.float64)
            work = np.matmul(rows, halves, out=room[: len(first)])
            total += weigh(work, second.astype(np.float64))
            ratio += rows.T @ work
        return total, ratio.reshape(self.shape)

    def log_likelihood(self, joint: Probabilities) -> float:
        halves = self._halves(joint)
        chances = (
            np.einsum("ij,ij->i", first @ halves, second) for first, second in self._blocks()
        )
        return float(sum(np.log(block, dtype=np.float64).sum() for block in chances))

    def information(self, joint: Probabilities) -> Probabilities:
        halves, cells = self._halves(joint), int(joint.size)
        total = np.zeros((cells, cells))
        for first, second in self._blocks():
            chances = np.einsum("ij,ij->i", first @ halves, second)
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # only of cells at zero, which have no standard error
                scores = _crossed([first, second / chances[:, None]], len(first))
                total += scores.T @ scores
        return total


def likelihood_of(overlaps: Overlaps, slope: float) -> NDArray[np.float32]:
    """Likelihoods, scaled so that a report's likeliest candidate has 1."""
    levels = np.exp(-slope * np.arange(256)).astype(np.float32)
    table: NDArray[np.float32] = levels[overlaps.max(axis=1, keepdims=True) - overlaps]
    return table


def _crossed(tables: Sequence[NDArray[np.float32]], n: int) -> NDArray[np.float32]:
    """Row by row, the products of all combinations of columns, the last table fastest; ones where there is no table."""
    if not tables:
        return np.ones((n, 1), dtype=np.float32)
    crossed = tables[0]
    for table in tables[1:]:
        crossed = (crossed[:, :, None] * table[:, None, :]).reshape(n, -1)
    return crossed


def overlaps_of(bits: NDArray[np.uint8], law: Law) -> Overlaps:
    """How many of each candidate's code bits a report has set. bits: shape (n, n_bits)."""
    if law.rows is None:
        return bits
    overlaps = np.zeros((len(bits), law.n_candidates), dtype=np.uint8)
    columns = np.asfortranarray(bits)
    for candidate, row in enumerate(law.rows):
        for position in row:
            overlaps[:, candidate] += columns[:, position]
    return overlaps
