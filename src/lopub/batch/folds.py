"""Which fold of a cross-validation a report is in, and its place in the order of all: by SHA-256 of its id."""

import hashlib

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
"""Folds of the cross-validation."""
CHUNK = 2**16
"""Ids whose hashes are made at once."""


def digests_of(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first 8 bytes of SHA-256 of each id."""
    digests = np.empty(len(ids), dtype=np.uint64)
    for start in range(0, len(ids), CHUNK):
        data = ids[start : start + CHUNK].tobytes()
        hashes = [hashlib.sha256(data[at : at + 16]).digest()[:8] for at in range(0, len(data), 16)]
        digests[start : start + CHUNK] = np.frombuffer(b"".join(hashes), ">u8")
    return digests


def folds_of(digests: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Equal ranges of the hashes' first 32 bits."""
    scaled = digests >> np.uint64(32)
    scaled *= np.uint64(N_FOLDS)
    scaled >>= np.uint64(32)
    return scaled.astype(np.int8)
