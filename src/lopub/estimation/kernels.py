"""The loop over reports that a factorised step takes, in one pass instead of NumPy's four."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled_sums

Real = TypeVar("Real", np.float32, np.float64)


@compiled_sums
def weigh(work: NDArray[Real], second: NDArray[Real]) -> float:
    """Row by row: chance = work . second, then work = second / chance. Returns the sum of the chances' logarithms.

    One pass over what would be four. A logarithm serves many rows: chances, at most 1, are multiplied until the product is small;
    being sums of products of float32 numbers, they cannot take it from there to zero in one go.
    """
    total, chances = 0.0, 1.0
    for row in range(len(work)):
        mine, theirs = work[row], second[row]
        chance = np.float32(0)
        for column in range(len(mine)):
            chance += mine[column] * theirs[column]
        share = np.float32(1) / chance
        for column in range(len(mine)):
            mine[column] = theirs[column] * share
        chances *= np.float64(chance)
        if chances < 1e-200:
            total += np.log(chances)
            chances = 1.0
    return float(total + np.log(chances))
