"""Code matrices: which bits speak for which candidate, and how candidates are read off bits that they share."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.mechanisms import Law
from lopub.errors import DomainError

MOST_CODE = 2**22
"""Entries of a code matrix that is inverted."""


def code_matrix(law: Law) -> NDArray[np.float64]:
    """C: candidates x bits."""
    if law.rows is None:
        return np.eye(law.n_candidates)
    code = np.zeros((law.n_candidates, law.n_bits))
    np.put_along_axis(code, np.array(law.rows), 1.0, axis=1)
    return code


def code_size(law: Law) -> int:
    """Entries of the matrix; none where every candidate has a bit of its own."""
    return 0 if law.rows is None else law.n_candidates * law.n_bits


@lru_cache(maxsize=4096)
def rank_of(law: Law) -> int:
    """At most as many candidates can be told apart by the means of their bits."""
    return law.n_candidates if law.rows is None else int(np.linalg.matrix_rank(code_matrix(law)))


@lru_cache(maxsize=256)
def reading(law: Law, shape: tuple[int, ...], axes: tuple[int, ...]) -> NDArray[np.float64]:
    """What each debiased bit of a coded block adds to the share of each cell of a part of it. shape: of the block; axes: of the
    part. shape (cells of the part, n_bits)."""
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    summed: NDArray[np.float64] = inverse_code(law).reshape(*shape, law.n_bits).sum(axis=others)
    return summed.reshape(-1, law.n_bits)


@lru_cache(maxsize=16)
def inverse_code(law: Law) -> NDArray[np.float64]:
    """The pseudo-inverse. shape (candidates, bits)."""
    if (size := code_size(law)) > MOST_CODE:
        raise DomainError(
            f"a code of {size:,} bits is too large to be inverted; at most {MOST_CODE:,} are"
        )
    return np.linalg.pinv(code_matrix(law).T).astype(np.float64, copy=False)
