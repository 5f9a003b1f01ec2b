"""Reports that stand among others more than once: found by their ids, counted once.

A report that came twice is one report. The first under an id is kept, in the order of the file; the same again is left out, and
another one under that id is refused, as a collector does. So the order of a file matters for reports that contradict each other,
and for no others.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled
from lopub.bulk.packed import Packed

Keys = NDArray[np.uint64]
"""The first 8 bytes of ids: they are random, so that hardly two reports share them that do not share all."""

FEW = 2**17
"""So many keys are sorted at once; more are sifted first, which is five times as fast as sorting them."""
BITS_A_KEY = 16
"""Of the sieve: one key in about thirty is sorted though it is met once."""


def keys_of(ids: NDArray[np.uint8]) -> Keys:
    """shape (n,), from ids of shape (n, 16) or (n, 32)."""
    return np.ascontiguousarray(ids[:, :8]).view(np.uint64).reshape(-1)


def shared_keys(keys: Keys) -> Keys:
    """The keys that are there more than once, each once, in order."""
    ordered = np.sort(keys if len(keys) <= FEW else keys[_sifted(keys)])
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _sifted(keys: Keys) -> NDArray[np.bool_]:
    """All keys that are there more than once, and a few others. shape (n,)."""
    n_bits = 1 << (BITS_A_KEY * len(keys)).bit_length()
    met, again = (np.zeros(n_bits // 64, dtype=np.uint64) for _ in range(2))
    _mark(keys, met, again)
    return in_sieve(keys, again)


def sieve_of(parts: Sequence[Keys], most_bits: int) -> Keys:
    """The bits of these keys, in which others may be looked up: all of these are found, and few others unless they are many."""
    n_bits = max(64, min(most_bits, 1 << (BITS_A_KEY * sum(map(len, parts))).bit_length()))
    sieve, again = (np.zeros(n_bits // 64, dtype=np.uint64) for _ in range(2))
    for keys in parts:
        _mark(keys, sieve, again)
    return sieve


def in_sieve(keys: Keys, sieve: Keys) -> NDArray[np.bool_]:
    """Whether each key may be among those that the sieve was made of; false only where it is not."""
    found = np.empty(len(keys), dtype=np.bool_)
    _look_up(keys, sieve, found)
    return found


def thinned(keys: Keys) -> Keys:
    """The keys in another order, each at most twice."""
    shared = shared_keys(keys)
    if not len(shared):
        return keys
    return np.concatenate([keys[~_among(keys, shared)], shared, shared])


@compiled
def _mark(keys: Keys, met: Keys, again: Keys) -> None:
    """Set each key's bit: in `met` at the first time, in `again` at every other."""
    last = np.uint64(64 * len(met) - 1)
    for key in keys:
        at = key & last
        word, bit = at >> np.uint64(6), np.uint64(1) << (at & np.uint64(63))
        if met[word] & bit:
            again[word] |= bit
        else:
            met[word] |= bit


@compiled
def _look_up(keys: Keys, marked: Keys, found: NDArray[np.bool_]) -> None:
    last = np.uint64(64 * len(marked) - 1)
    for i in range(len(keys)):
        at = keys[i] & last
        found[i] = marked[at >> np.uint64(6)] >> (at & np.uint64(63)) & np.uint64(1)


def later_ones(ids: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows whose id an earlier row has, and for each the first row that has it."""
    keys = keys_of(ids)
    shared = shared_keys(keys)
    if not len(shared):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.flatnonzero(_among(keys, shared))
    words = np.ascontiguousarray(ids[rows]).view(np.uint64)
    order = np.lexsort(words.T)  # stable: within an id in the order of the rows
    rows, words = rows[order], words[order]
    begins = np.concatenate([[True], (words[1:] != words[:-1]).any(axis=1)])
    first = rows[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return rows[~begins], first[~begins]


def _among(keys: Keys, shared: Keys) -> NDArray[np.bool_]:
    """Whether each key is one of the shared ones, which are in order and at least one."""
    found: NDArray[np.bool_] = (
        shared[np.minimum(np.searchsorted(shared, keys), len(shared) - 1)] == keys
    )
    return found


def same_strings(
    strings: Packed, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the strings of these rows are those of the others, one by one; none is empty."""
    same: NDArray[np.bool_] = strings.lengths[rows] == strings.lengths[others]
    if same.any():
        mine, theirs = strings.take(rows[same]), strings.take(others[same])
        same[same] = np.logical_and.reduceat(
            mine.bytes_used == theirs.bytes_used, mine.offsets[:-1]
        )
    return same
