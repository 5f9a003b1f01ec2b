"""What `tests/long_run.py`, which is run by hand, takes for growth, on series that were made up."""

import numpy as np
import pytest
from numpy.typing import NDArray

from long_run import NOISE, trend

MINUTES = np.arange(0, 60, 0.12)
"""When an hour's run looks: with every round."""
REPORTS_PER_HOUR = 10_000_000


def share_found(series: list[NDArray[np.float64]]) -> float:
    """Of these series of megabytes, how many are said to grow."""
    return float(np.mean([trend(MINUTES, values)[1] > NOISE for values in series]))


def noise(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(0, 0.1, len(MINUTES))


def slow_noise(rng: np.random.Generator) -> NDArray[np.float64]:
    """What is above its mean stays there for minutes."""
    values = rng.normal(0, 0.1, len(MINUTES))
    for now in range(1, len(values)):
        values[now] += 0.97 * values[now - 1]
    return values


def random_walk(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.cumsum(rng.normal(0, 0.01, len(MINUTES)))


def settling_steps(rng: np.random.Generator) -> NDArray[np.float64]:
    """Steps upwards that become rare: what was needed once is kept."""
    when, megabytes = rng.exponential(8, 20), rng.exponential(0.1, 20)
    return (megabytes * (MINUTES[:, None] > when)).sum(axis=1) + rng.normal(0, 0.02, len(MINUTES))


@pytest.mark.parametrize("quiet", [noise, slow_noise, random_walk, settling_steps])
def test_memory_that_goes_nowhere_is_not_taken_for_growth(quiet):
    """Forbids to judge by distances from a line: these go together for minutes, and nearly every random walk would be growth."""
    rng = np.random.default_rng(1)
    assert share_found([quiet(rng) for _ in range(300)]) <= 0.04


@pytest.mark.parametrize("quiet", [noise, settling_steps])
def test_a_leak_of_a_hundred_bytes_per_thousand_reports_is_found(quiet):
    rng, leak = np.random.default_rng(2), 100 / 1_000 * REPORTS_PER_HOUR / 1e6 * MINUTES / 60
    assert share_found([quiet(rng) + leak for _ in range(100)]) >= 0.8


def test_the_growth_is_told_by_the_hour():
    growth, errors = trend(MINUTES, 70 + 0.5 * MINUTES / 60)
    assert growth == pytest.approx(0.5, rel=0.02) and errors > 100


def test_what_never_changes_does_not_grow():
    assert trend(MINUTES, np.full(len(MINUTES), 20.0)) == (0.0, 0.0)


def test_steps_that_are_all_the_same_are_growth():
    """Forbids to take a standard error of zero for no growth."""
    growth, errors = trend(list(range(61)), [(minute - 10) // 5 for minute in range(61)])
    assert growth == 12 and errors > NOISE
