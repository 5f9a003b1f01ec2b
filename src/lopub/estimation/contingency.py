"""Evidence from counts of answers that were each randomized separately by `direct`.

What is seen of an attribute is its candidate with keep, else any, so the chance of a combination of answers is the joint
with every axis smeared in the same way: counts of combinations are all that matters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Folds
from lopub.estimation.joint import Probabilities


@dataclass(frozen=True, eq=False)
class Contingency:
    """counts: shape (n_folds, *sizes). keeps: one an axis."""

    axes: tuple[int, ...]
    counts: NDArray[np.int64]
    keeps: tuple[float, ...]

    @property
    def n_reports(self) -> int:
        return int(self.counts.sum())

    def within(self, folds: Folds) -> "Contingency":
        return Contingency(self.axes, self.counts[sorted(folds)], self.keeps)

    def _smeared(self, values: Probabilities) -> Probabilities:
        """Every axis kept with its keep, else uniform. The same matrix both ways: it is symmetric."""
        for axis, keep in enumerate(self.keeps):
            values = keep * values + (1 - keep) * values.mean(axis=axis, keepdims=True)
        return values

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        chances, totals = self._smeared(joint), self.counts.sum(axis=0)
        return float((totals * np.log(chances)).sum()), self._smeared(totals / chances)

    def log_likelihood(self, joint: Probabilities) -> float:
        return float((self.counts.sum(axis=0) * np.log(self._smeared(joint))).sum())

    def information(self, joint: Probabilities) -> Probabilities:
        cells = joint.size
        smear = np.ones((1, 1))
        for keep, size in zip(self.keeps, joint.shape, strict=True):
            smear = np.kron(smear, keep * np.eye(size) + (1 - keep) / size)
        weights = (self.n_reports / self._smeared(joint)).reshape(
            cells
        )  # as many as expected saw each combination
        result: Probabilities = smear.T @ (weights[:, None] * smear)
        return result
