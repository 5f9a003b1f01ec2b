"""Smoothing over rounds: levels that borrow from their neighbours in time, where held-out halves of the noise say that it pays.

What happens slowly can be told better from all rounds together. How slowly, nobody knows beforehand, so it is tried out. A level
with a normal error is split into two independent ones (add noise to one, take the same off the other; both have twice the
variance): one half is smoothed, the other one judges. A strength of smoothing is taken where it explains the judging halves
better than no smoothing by LEAST_GAIN nats or more, the rule by which dependences are taken, too. Intervals stay those of the
level itself, because a smoothed one is off where something happens at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.model.dependence import LEAST_GAIN

Levels = NDArray[np.float64]
"""shape (rounds, answers)."""
STEPS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variance of a step from one round to the next that is expected, in variances of a level; 0: nothing changes at all."""
N_SPLITS = 50
FEWEST_ROUNDS = 3
STILL = 1e-6
"""In the place of 0, so that all can be solved alike."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """levels: shape (rounds, answers). step: the variance of a step that was taken, in variances of a level; None where smoothing
    does not pay, and the levels are what they were. gain: in nats, of all judging halves together."""

    levels: Levels
    step: float | None
    gain: float


def smoothed(levels: Levels, errors: Levels, numbers: Sequence[int]) -> Smoothed:
    """Levels of one attribute, smoothed where it pays. errors: their standard errors. numbers: those of the rounds, ascending."""
    nothing = Smoothed(levels, None, 0.0)
    if len(levels) < FEWEST_ROUNDS or not (errors > 0).all():
        return nothing
    variances = [max(step, STILL) * float((errors**2).mean()) for step in STEPS]
    gains = [_gain(levels, errors, numbers, variance) for variance in variances]
    best = int(np.argmax(gains))
    if gains[best] < LEAST_GAIN:
        return nothing
    return Smoothed(_walked(levels, _matrices(errors, numbers, variances[best])), STEPS[best], gains[best])


def _gain(levels: Levels, errors: Levels, numbers: Sequence[int], variance: float) -> float:
    """Nats by which judging halves are better explained by smoothed halves than by plain ones, on average over the splits."""
    rng = np.random.default_rng(1)  # the same splits for every strength, and in every run
    matrices, total = _matrices(np.sqrt(2) * errors, numbers, variance), 0.0
    for _ in range(N_SPLITS):
        noise = errors * rng.standard_normal(levels.shape)
        shown, judging = levels + noise, levels - noise
        total += float((((judging - shown) ** 2 - (judging - _walked(shown, matrices)) ** 2) / (4 * errors**2)).sum())
    return total / N_SPLITS


def _matrices(errors: Levels, numbers: Sequence[int], variance: float) -> Levels:
    """Least squares for levels that walk at random: x with (W + D'D / variance) x = W y, a matrix for each answer. variance: of a
    step from one round to the next. shape (answers, rounds, rounds)."""
    walk = np.diff(np.eye(len(errors)), axis=0) / np.sqrt(np.diff(np.asarray(numbers, dtype=np.float64)))[:, None]
    return np.stack([np.linalg.solve(np.diag(own) + walk.T @ walk / variance, np.diag(own)) for own in 1 / errors.T**2])


def _walked(levels: Levels, matrices: Levels) -> Levels:
    walked: Levels = np.einsum("ats,sa->ta", matrices, levels)
    return walked
