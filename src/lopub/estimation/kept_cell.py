"""Kept-cell evidence: `direct` on a jointly randomized view. Integer counts; a step costs cells, not reports.

A report of a view with K cells keeps its cell with probability keep, else draws one of the K uniformly; so does its projection
on any part of the view. The reports about the same attributes reduce to counts per (fold, K, cell).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Folds
from lopub.estimation.joint import Probabilities


@dataclass(frozen=True, eq=False)
class KeptCell:
    """counts: shape (n_folds, n_keeps, cells); keeps: shape (n_keeps,), the keep of each K."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    counts: NDArray[np.int64] | Probabilities
    keeps: Probabilities

    @property
    def n_reports(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _totals(self) -> Probabilities:
        totals: Probabilities = self.counts.sum(axis=0, dtype=np.float64)
        return totals

    def within(self, folds: Folds) -> "KeptCell":
        return KeptCell(self.axes, self.shape, self.counts[sorted(folds)], self.keeps)

    def _chances(self, joint: Probabilities) -> Probabilities:
        """The probability of seeing each cell, for each K. shape (n_keeps, cells)."""
        flat = joint.reshape(-1)
        uniform = (1 - self.keeps) / flat.size
        chances: Probabilities = np.multiply.outer(self.keeps, flat) + uniform[:, None]
        return chances

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        chances, totals = self._chances(joint), self._totals
        seen = totals / chances
        spread = ((1 - self.keeps) * seen.sum(axis=1)).sum() / joint.size
        ratio = self.keeps @ seen + spread
        return float((totals * np.log(chances)).sum()), ratio.reshape(self.shape)

    def log_likelihood(self, joint: Probabilities) -> float:
        return float((self._totals * np.log(self._chances(joint))).sum())

    def information(self, joint: Probabilities) -> Probabilities:
        """g of a report that saw cell y: ((1 - keep) / cells + keep [x = y]) / chance(y); as many reports as expected saw it, so
        that a cell which nobody happened to see is not taken for one that nothing can be known of."""
        weights = self._totals.sum(axis=1, keepdims=True) / self._chances(joint)
        flat = (1 - self.keeps) / joint.size
        crossed = (self.keeps * flat) @ weights
        total = (flat**2 @ weights).sum() + crossed[:, None] + crossed[None, :]
        total[np.diag_indices(joint.size)] += self.keeps**2 @ weights
        result: Probabilities = total
        return result
