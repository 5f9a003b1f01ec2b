"""Smoothing over rounds is taken where held-out halves of the noise say that it pays, and then it does."""

import numpy as np
import pytest

from lopub.publication import smoothing
from lopub.publication.smoothing import smoothed

ROUNDS, ERROR = 12, 0.02
TRUTHS = {
    "still": np.tile([0.4, 0.3, 0.2, 0.1], (ROUNDS, 1)),
    "drifting": np.linspace([0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], ROUNDS),
    "at once": np.repeat([[0.4, 0.3, 0.2, 0.1], [0.1, 0.3, 0.2, 0.4]], ROUNDS // 2, axis=0),
    "to and fro": np.tile([[0.5, 0.5], [0.2, 0.8]], (ROUNDS // 2, 1)),
}


def measured(truth: np.ndarray) -> tuple[float, float]:
    """In how many of 40 series smoothing is taken; squared error with it, over that without."""
    rng, taken, errors = np.random.default_rng(3), 0, np.zeros(2)
    for _ in range(40):
        levels = truth + ERROR * rng.standard_normal(truth.shape)
        found = smoothed(levels, np.full(truth.shape, ERROR), range(ROUNDS))
        taken += found.step is not None
        errors += ((found.levels - truth) ** 2).sum(), ((levels - truth) ** 2).sum()
    return taken / 40, errors[0] / errors[1]


@pytest.mark.parametrize(
    ("kind", "most"), [("still", 0.3), ("drifting", 0.6), ("at once", 1.05), ("to and fro", 1.0)]
)
def test_smoothing_lowers_the_error_of_what_happens_slowly_and_leaves_the_rest(kind, most):
    taken, error = measured(TRUTHS[kind])
    assert error <= most
    assert (taken > 0.9) if kind in ("still", "drifting") else kind != "to and fro" or taken == 0


def test_two_rounds_are_not_smoothed():
    levels = np.full((2, 3), 1 / 3)
    assert smoothed(levels, np.full((2, 3), 0.1), range(2)).step is None


def test_smoothing_is_the_least_squares_of_a_random_walk_over_the_days_that_there_are():
    rng, numbers = np.random.default_rng(5), [0, 1, 2, 5, 6, 9]
    errors = rng.uniform(0.01, 0.03, (6, 2))
    levels = 0.3 + errors * rng.standard_normal((6, 2))
    found = smoothing._walked(levels, errors, numbers, 1e-4)
    for answer in range(2):
        walk = np.diff(np.eye(6), axis=0) / np.sqrt(np.diff(numbers))[:, None]
        weights = np.diag(1 / errors[:, answer] ** 2)
        expected = np.linalg.solve(weights + walk.T @ walk / 1e-4, weights @ levels[:, answer])
        assert found[:, answer] == pytest.approx(expected, abs=1e-12)


def test_as_many_rounds_as_there_can_be_are_smoothed():
    """A matrix of all rounds by all rounds for every answer, as it once was, would be solved for hours."""
    rng, errors = np.random.default_rng(6), np.full((4096, 3), 0.02)
    levels = 0.3 + errors * rng.standard_normal((4096, 3))
    found = smoothed(levels, errors, range(4096))
    assert found.step == 0.0 and abs(found.levels - 0.3).max() < 0.002
