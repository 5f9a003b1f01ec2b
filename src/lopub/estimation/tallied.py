"""Tallied evidence: reports about few cells, of which many say the same, so that each kind of them is looked at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Evidence, Folds
from lopub.estimation.factorised import Factorised, Overlaps
from lopub.estimation.joint import Probabilities

FEW_CELLS = 64
"""Of a clique whose reports are tallied: with more cells hardly two reports say the same."""
MOST_LIKELIHOODS = 2**22
"""Kinds of reports times cells; a larger table takes longer than the factors of it."""
MOST_KINDS = 2**62
"""That can be told apart by one number."""


@dataclass(frozen=True, eq=False)
class TalliedEvidence:
    """likelihood: shape (n_kinds, cells), a report's likeliest cell has 1; tallies: how many reports of each fold are of each
    kind, shape (n_folds, n_kinds)."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    likelihood: Probabilities
    tallies: NDArray[np.int64]

    @property
    def n_reports(self) -> int:
        return int(self.tallies.sum())

    @cached_property
    def _weights(self) -> Probabilities:
        return np.asarray(self.tallies.sum(axis=0), dtype=np.float64)

    def within(self, folds: Folds) -> "TalliedEvidence":
        return replace(self, tallies=self.tallies[sorted(folds)])

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        """Always in float64."""
        chances = self.likelihood @ joint.reshape(-1)
        ratio = (self._weights / chances) @ self.likelihood
        return float(self._weights @ np.log(chances)), ratio.reshape(self.shape)

    def log_likelihood(self, joint: Probabilities) -> float:
        return float(self._weights @ np.log(self.likelihood @ joint.reshape(-1)))

    def information(self, joint: Probabilities) -> Probabilities:
        scores = self.likelihood / (self.likelihood @ joint.reshape(-1))[:, None]
        return np.asarray(scores.T @ (scores * self._weights[:, None]), dtype=np.float64)


def tallied(evidence: Evidence) -> Evidence:
    """The same evidence, with its factorised parts tallied where that makes them smaller."""
    return Evidence(
        evidence.shape,
        tuple(_tallied(p) if isinstance(p, Factorised) else p for p in evidence.parts),
    )


def _tallied(part: Factorised) -> Factorised | TalliedEvidence:
    cells, numbers = (
        int(np.prod(part.shape)),
        _numbered(part.overlaps) if np.prod(part.shape) <= FEW_CELLS else None,
    )
    if numbers is None:
        return part
    _, first, kinds = np.unique(numbers, return_index=True, return_inverse=True)
    if len(first) * cells > MOST_LIKELIHOODS:
        return part
    tallies = [
        np.bincount(kinds[start:stop], minlength=len(first))
        for start, stop in pairwise(part.fold_starts)
    ]
    likelihood = np.ones((len(first), 1))
    for table, slope in zip(part.overlaps, part.slopes, strict=True):
        own = np.exp(slope * (_ahead(table[first]) - np.ptp(table[first], axis=1)[:, None]))
        likelihood = (likelihood[:, :, None] * own[:, None, :]).reshape(len(first), -1)
    return TalliedEvidence(part.axes, part.shape, likelihood, np.stack(tallies)[list(part.folds)])


def _numbered(tables: Sequence[Overlaps]) -> NDArray[np.int64] | None:
    """One number for all reports that say the same; None where there are too many kinds."""
    numbers, n_kinds = np.zeros(len(tables[0]), dtype=np.int64), 1
    for table in tables:
        ahead = _ahead(table)
        base = int(ahead.max(initial=0)) + 1
        n_kinds *= base ** ahead.shape[1]
        if n_kinds > MOST_KINDS:
            return None
        for column in ahead.T:
            numbers = numbers * base + column
    return numbers


def _ahead(table: Overlaps) -> NDArray[np.int64]:
    """By how many bits each candidate is ahead of the last one: all that a report says."""
    return np.asarray(table.astype(np.int64) - table.min(axis=1, keepdims=True), dtype=np.int64)
