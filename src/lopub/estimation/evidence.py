"""What a batch says about a clique: parts, each about the attributes of the clique that some reports cover.

Every part offers the same operation: given the joint P of its attributes, the log-likelihood of its reports (up to a
constant) and, for every cell, ratio = sum over reports of likelihood(cell) / sum_c P(c) likelihood(c). The expected cell
counts of an EM step are P * ratio. A report that covers only some attributes leaves the likelihood flat in the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lopub.estimation.joint import Probabilities
from lopub.reports.batch import N_FOLDS

Folds = frozenset[int]
EVERY_FOLD: Folds = frozenset(range(N_FOLDS))


def rows_of_folds(folds: Sequence[int], starts: Sequence[int]) -> tuple[slice, ...]:
    """The rows of these folds, ascending; neighbouring folds make one slice. starts: where each begins, and the last one ends."""
    slices: list[slice] = []
    for fold in folds:
        start, stop = starts[fold], starts[fold + 1]
        if slices and slices[-1].stop == start:
            start = slices.pop().start
        slices.append(slice(start, stop))
    return tuple(slices)


class Part(Protocol):
    """The reports that cover the same attributes of the clique, in one form of evidence."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The clique's axes that these reports are about, ascending."""

    @property
    def n_reports(self) -> int: ...

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        """Log-likelihood, up to a constant, and ratio. joint: of the part's own axes; its zeros are possible. exact: in float64,
        where float32 is the faster way."""

    def log_likelihood(self, joint: Probabilities) -> float:
        """The first of the two alone."""

    def information(self, joint: Probabilities) -> Probabilities | None:
        """Sum over reports, or its expectation, of g g', where g = likelihood / (P likelihood). shape (cells, cells). None where
        that takes too much memory."""

    def within(self, folds: Folds) -> "Part":
        """The same for the reports of some folds."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All parts about one clique. shape: the clique's numbers of candidates."""

    shape: tuple[int, ...]
    parts: tuple[Part, ...]

    @property
    def n_reports(self) -> int:
        return sum(part.n_reports for part in self.parts)

    def within(self, folds: Folds) -> "Evidence":
        return Evidence(self.shape, tuple(part.within(folds) for part in self.parts))

    def covering(self, n_axes: int) -> "Evidence":
        """The parts about at least so many attributes of the clique."""
        return Evidence(self.shape, tuple(part for part in self.parts if len(part.axes) >= n_axes))

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        """Log-likelihood and expected cell counts under the joint: the E-step, and with a division the M-step."""
        total, ratio = 0.0, np.zeros(self.shape)
        for part in self.parts:
            value, part_ratio = part.step(self._margin(joint, part.axes), exact=exact)
            total += value
            ratio += self._spread(part_ratio, part.axes)
        return total, joint * ratio

    def log_likelihood(self, joint: Probabilities) -> float:
        return sum(part.log_likelihood(self._margin(joint, part.axes)) for part in self.parts)

    def information(self, joint: Probabilities) -> Probabilities | None:
        """Over the clique's cells. shape (cells, cells). None where one of the parts has none."""
        cells = int(np.prod(self.shape))
        total = np.zeros((cells, cells))
        for part in self.parts:
            sub = tuple(self.shape[axis] for axis in part.axes)
            place = self._spread(np.arange(np.prod(sub), dtype=np.float64).reshape(sub), part.axes)
            index = np.broadcast_to(place, self.shape).reshape(-1).astype(np.int64)
            own = part.information(self._margin(joint, part.axes))
            if own is None:
                return None
            total += own[np.ix_(index, index)]
        return total

    def _margin(self, joint: Probabilities, axes: tuple[int, ...]) -> Probabilities:
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        return joint.sum(axis=others) if others else joint

    def _spread(self, values: Probabilities, axes: tuple[int, ...]) -> Probabilities:
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        return np.expand_dims(values, others) if others else values
