"""Which fold of a cross-validation a report is in, and its place in the order of all: by SHA-256 of its id."""

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.hashing import sha256_of

N_FOLDS = 5
"""Folds of the cross-validation."""
HASH_BYTES = 32
CHUNK = 2**16
"""Ids whose hashes are made at once."""


def hashes_of(ids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """SHA-256 of each id; ids of which only that is known, 32 bytes each, are what is asked for already. shape (n, 32)."""
    if ids.shape[1] == HASH_BYTES:
        return ids
    hashes = np.empty((len(ids), HASH_BYTES), dtype=np.uint8)
    sha256_of(np.ascontiguousarray(ids), hashes)
    return hashes


def digests_of(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first 8 bytes of SHA-256 of each id."""
    digests = np.empty(len(ids), dtype=np.uint64)
    for start in range(0, len(ids), CHUNK):
        first = np.ascontiguousarray(hashes_of(ids[start : start + CHUNK])[:, :8])
        digests[start : start + CHUNK] = first.view(">u8").reshape(-1)
    return digests


def order_of(ids: NDArray[np.uint8], digests: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The rows in the order of the hashes of their ids; whole hashes are compared where the digests are not enough."""
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.lexsort(hashes_of(ids).T[::-1])
    return order


def folds_of(digests: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Equal ranges of the hashes' first 32 bits."""
    scaled = digests >> np.uint64(32)
    scaled *= np.uint64(N_FOLDS)
    scaled >>= np.uint64(32)
    return scaled.astype(np.int8)
