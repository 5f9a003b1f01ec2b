"""Vectorised draws with the law of the client's, from a stream of random words.

NumPy's bit generators are such streams: repeatable, and no more than that, since whoever sees enough of their output can
compute the rest. `OperatingSystem` is the stream whose output tells nothing about the rest.
"""

import os
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.random import SFC64
from numpy.typing import NDArray

from lopub.bulk.bit_kernels import MOST_PLANES, fill_bernoulli, fill_bernoulli_seeded
from lopub.campaign.randomness import Randomness

WORD = 2**64
"""Probabilities here are integers over this: within 2^-64 of the client's exact ones, and equal where those are over 2^32."""
_POOL = 2**15
"""Words drawn ahead for the Bernoulli kernel: they stay in the processor's cache."""
_PLANES_PER_WORD = 9
"""A little more than the kernel needs on average."""


class RandomWords(Protocol):
    """A stream of uniformly random 64-bit words; every NumPy bit generator is one."""

    def random_raw(self, size: int, /) -> NDArray[np.uint64]:
        """The next words of the stream."""


class OperatingSystem:
    """The stream of the operating system, as a real client draws from it."""

    def random_raw(self, size: int, /) -> NDArray[np.uint64]:
        """Fresh words; no seed leads to them."""
        return np.frombuffer(os.urandom(8 * size), np.uint64)


def words(source: RandomWords, *shape: int) -> NDArray[np.uint64]:
    """Uniformly random 64-bit words."""
    return source.random_raw(int(np.prod(shape))).reshape(shape)


def units_of(probability: Fraction) -> int:
    """The probability in units of 1 / WORD, rounded down."""
    return probability.numerator * WORD // probability.denominator


def bernoulli_words(source: RandomWords, n_words: int, units: int) -> NDArray[np.uint64]:
    """n_words words whose bits are one with probability units / WORD, independently."""
    result = np.empty(n_words, dtype=np.uint64)
    if isinstance(source, SFC64):  # the same words, in half the time
        state = source.state
        fill_bernoulli_seeded(
            result, np.uint64(units), state["state"]["state"], _POOL, _PLANES_PER_WORD
        )
        source.state = state
        return result
    n_filled = 0
    while n_filled < n_words:
        pool = words(source, min(_POOL, _PLANES_PER_WORD * (n_words - n_filled) + MOST_PLANES))
        n_filled += fill_bernoulli(result[n_filled:], np.uint64(units), pool)
    return result


def uniform_below(source: RandomWords, high: NDArray[np.int64]) -> NDArray[np.int64]:
    """A uniform integer in 0..high-1 for each: as many bits as high - 1 has, drawn again where they are not below high."""
    mask = high.astype(np.uint64) - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    drawn = (words(source, len(high)) & mask).astype(np.int64)
    while len(again := np.flatnonzero(drawn >= high)):
        drawn[again] = (words(source, len(again)) & mask[again]).astype(np.int64)
    return drawn


def chosen(source: RandomWords, n: int, units: int) -> NDArray[np.bool_]:
    """n independent events of probability units / WORD."""
    if units >= WORD:
        return np.ones(n, dtype=bool)
    return words(source, n) < np.uint64(units)


def random_subsets(source: RandomWords, n: int, size: int, n_cells: int) -> NDArray[np.uint8]:
    """n uniformly random subsets of `size` among n_cells cells, as 0/1 rows. shape (n, n_cells). Floyd's method."""
    taken = np.zeros((n, n_cells), dtype=np.uint8)
    rows = np.arange(n)
    for last in range(n_cells - size, n_cells):
        drawn = uniform_below(source, np.full(n, last + 1, dtype=np.int64))
        drawn = np.where(taken[rows, drawn] == 1, last, drawn)
        taken[rows, drawn] = 1
    return taken


class DrawnWords(Randomness):
    """The client's own draws, fed from a stream of words."""

    def __init__(self, source: RandomWords) -> None:
        self._source = source

    def take(self, n_bytes: int) -> bytes:
        return words(self._source, (n_bytes + 7) // 8).tobytes()[:n_bytes]
