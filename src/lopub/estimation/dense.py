"""Dense evidence: jointly randomized bits, one likelihood per report and cell."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Folds, rows_of_folds
from lopub.estimation.joint import Probabilities

BLOCK_REPORTS = 512
"""Reports summed at once: float32 sums lose digits with every report."""

Information = Callable[[Probabilities], Probabilities | None]


@dataclass(frozen=True, eq=False)
class Dense:
    """likelihood: shape (n_reports, cells), a report's likeliest cell has 1; fold after fold, in each by view and hash of the id.

    profile: the information, where attributes outside the clique were summed out and what is known of them is uncertain, too.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    likelihood: NDArray[np.float32]
    fold_starts: tuple[int, ...]
    folds: tuple[int, ...]
    profile: Information | None = None

    def within(self, folds: Folds) -> "Dense":
        return Dense(self.axes, self.shape, self.likelihood, self.fold_starts, tuple(sorted(folds)))

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """The likelihoods of the chosen folds' reports, in one piece."""
        pieces = [self.likelihood[piece] for piece in self._slices]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        return rows_of_folds(self.folds, self.fold_starts)

    @property
    def n_reports(self) -> int:
        return sum(piece.stop - piece.start for piece in self._slices)

    @property
    def size(self) -> int:
        """How many likelihoods there are."""
        return self.n_reports * int(self.likelihood.shape[1])

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        for piece in self._slices:
            for start in range(piece.start, piece.stop, BLOCK_REPORTS):
                yield self.likelihood[start : min(start + BLOCK_REPORTS, piece.stop)]

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        precision: type[np.float64] | type[np.float32] = np.float64 if exact else np.float32
        flat: NDArray[Any] = joint.reshape(-1).astype(precision)
        total, ratio = 0.0, np.zeros(len(flat))
        for block in self._blocks():  # float32 sums lose digits with every report
            rows: NDArray[Any] = block.astype(precision, copy=False)
            chances = rows @ flat
            total += float(np.log(chances, dtype=np.float64).sum())
            ratio += (1 / chances) @ rows
        return total, ratio.reshape(self.shape)

    def log_likelihood(self, joint: Probabilities) -> float:
        flat = joint.reshape(-1).astype(np.float32)
        return float(sum(np.log(rows @ flat, dtype=np.float64).sum() for rows in self._blocks()))

    def information(self, joint: Probabilities) -> Probabilities | None:
        return self.squared_scores(joint) if self.profile is None else self.profile(joint)

    def squared_scores(self, joint: Probabilities) -> Probabilities:
        """The information, were nothing uncertain but the joint."""
        total = np.zeros((joint.size, joint.size))
        for block in self._blocks():
            rows = block.astype(np.float64)
            scores = rows / (rows @ joint.reshape(-1))[:, None]
            total += (
                scores.T @ scores
            )  # in float64: what the reports hardly tell apart would else be rounding
        return total
