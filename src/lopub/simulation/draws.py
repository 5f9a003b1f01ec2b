"""Vectorised draws with the law of the client's, from a seeded generator."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lopub.simulation.kernels import fill_bernoulli

WORD = 2**64
"""Probabilities here are integers over this: within 2^-64 of the client's exact ones, and equal where those are over 2^32."""


def words(rng: np.random.Generator, *shape: int) -> NDArray[np.uint64]:
    """Uniformly random 64-bit words."""
    raw: NDArray[np.uint64] = rng.bit_generator.random_raw(int(np.prod(shape))).reshape(shape)
    return raw


def units_of(probability: Fraction) -> int:
    """The probability in units of 1 / WORD, rounded down."""
    return probability.numerator * WORD // probability.denominator


def bernoulli_words(rng: np.random.Generator, n_words: int, units: int) -> NDArray[np.uint64]:
    """n_words words whose bits are one with probability units / WORD, independently."""
    result = np.empty(n_words, dtype=np.uint64)
    generator = rng.bit_generator
    state = generator.state  # of an SFC64: the kernel draws on where the generator stands
    fill_bernoulli(result, np.uint64(units), state["state"]["state"])
    generator.state = state
    return result


def uniform_below(rng: np.random.Generator, high: NDArray[np.int64]) -> NDArray[np.int64]:
    """A uniform integer in 0..high-1 for each."""
    return rng.integers(0, high, dtype=np.int64)


def chosen(rng: np.random.Generator, n: int, units: int) -> NDArray[np.bool_]:
    """n independent events of probability units / WORD."""
    if units >= WORD:
        return np.ones(n, dtype=bool)
    return words(rng, n) < np.uint64(units)


def random_subsets(rng: np.random.Generator, n: int, size: int, n_cells: int) -> NDArray[np.uint8]:
    """n uniformly random subsets of `size` among n_cells cells, as 0/1 rows. shape (n, n_cells). Floyd's method."""
    taken = np.zeros((n, n_cells), dtype=np.uint8)
    rows = np.arange(n)
    for last in range(n_cells - size, n_cells):
        drawn = rng.integers(0, last + 1, size=n)
        drawn = np.where(taken[rows, drawn] == 1, last, drawn)
        taken[rows, drawn] = 1
    return taken
