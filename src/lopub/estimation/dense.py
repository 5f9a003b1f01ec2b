"""Dense evidence: jointly randomized bits, one likelihood a report and cell of its view."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Folds
from lopub.joint import Probabilities

BLOCK_REPORTS = 512


@dataclass(frozen=True, eq=False)
class Dense:
    """likelihood: shape (n_reports, cells), a report's likeliest cell has 1; reports in the order of their ids' hashes."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    likelihood: NDArray[np.float32]
    fold_starts: tuple[int, ...]
    folds: tuple[int, ...]

    def within(self, folds: Folds) -> "Dense":
        return Dense(self.axes, self.shape, self.likelihood, self.fold_starts, tuple(sorted(folds)))

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """The likelihoods of the chosen folds' reports."""
        if len(self.folds) == len(self.fold_starts) - 1:
            return self.likelihood
        return np.concatenate([self.likelihood[self.fold_starts[f] : self.fold_starts[f + 1]] for f in self.folds])

    @property
    def n_reports(self) -> int:
        return len(self.rows)

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        precision: type[np.float64] | type[np.float32] = np.float64 if exact else np.float32
        flat: NDArray[Any] = joint.reshape(-1).astype(precision)
        total, ratio = 0.0, np.zeros(len(flat))
        for start in range(0, len(self.rows), BLOCK_REPORTS):  # float32 sums lose digits with every report
            rows: NDArray[Any] = self.rows[start : start + BLOCK_REPORTS].astype(precision, copy=False)
            chances = rows @ flat
            total += float(np.log(chances, dtype=np.float64).sum())
            ratio += (1 / chances) @ rows
        return total, ratio.reshape(self.shape)

    def log_likelihood(self, joint: Probabilities) -> float:
        return float(np.log(self.rows @ joint.reshape(-1).astype(np.float32), dtype=np.float64).sum())

    def information(self, joint: Probabilities) -> Probabilities:
        total = np.zeros((joint.size, joint.size))
        for start in range(0, len(self.rows), BLOCK_REPORTS):
            rows = self.rows[start : start + BLOCK_REPORTS].astype(np.float64)
            scores = rows / (rows @ joint.reshape(-1))[:, None]
            total += scores.T @ scores  # in float64: what the reports hardly tell apart would else be rounding
        return total
