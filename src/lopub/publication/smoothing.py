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

from lopub.synthesis.dependence import LEAST_GAIN

Levels = NDArray[np.float64]
"""shape (rounds, answers)."""
STEPS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variance of a step from one round to the next that is expected, in variances of a level; 0: nothing changes at all."""
N_SPLITS = 50
MOST_AT_ONCE = 2**21
"""Numbers of all splits that are smoothed together, so that memory does not grow with rounds and answers."""
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
    return Smoothed(_walked(levels, errors, numbers, variances[best]), STEPS[best], gains[best])


def _gain(levels: Levels, errors: Levels, numbers: Sequence[int], variance: float) -> float:
    """Nats by which judging halves are better explained by smoothed halves than by plain ones, on average over the splits."""
    rng = np.random.default_rng(1)  # the same splits for every strength, and in every run
    total, at_once = 0.0, max(1, MOST_AT_ONCE // levels.size)
    for start in range(0, N_SPLITS, at_once):
        noise = errors * rng.standard_normal((min(at_once, N_SPLITS - start), *levels.shape))
        shown, judging = levels + noise, levels - noise
        smooth = _walked(shown, np.sqrt(2) * errors, numbers, variance)
        total += float((((judging - shown) ** 2 - (judging - smooth) ** 2) / (4 * errors**2)).sum())
    return total / N_SPLITS


def _walked(levels: Levels, errors: Levels, numbers: Sequence[int], variance: float) -> Levels:
    """Least squares for levels that walk at random: x with (W + D'D / variance) x = W y, for each answer by itself. The matrix
    has entries beside its diagonal alone, so that it is eliminated in one walk over the rounds and solved in one back.

    levels: shape (..., rounds, answers). variance: of a step from one round to the next."""
    tied = 1 / (np.diff(np.asarray(numbers, dtype=np.float64)) * variance)
    weights = 1 / errors**2
    diagonal, walked = weights.copy(), weights * levels
    diagonal[1:] += tied[:, None]
    diagonal[:-1] += tied[:, None]
    for t, tie in enumerate(tied, start=1):
        factor = tie / diagonal[t - 1]
        diagonal[t] -= tie * factor
        walked[..., t, :] += factor * walked[..., t - 1, :]
    walked[..., -1, :] /= diagonal[-1]
    for t in range(len(tied) - 1, -1, -1):
        walked[..., t, :] = (walked[..., t, :] + tied[t] * walked[..., t + 1, :]) / diagonal[t]
    return walked
