"""The loops of a fit that NumPy would take in many passes."""

import numpy as np
from numpy.typing import NDArray

from lopub.compiling import compiled, compiled_sums

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled_sums
def weigh(work: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Row by row: chance = work . second, then work = second / chance. Returns the sum of the chances' logarithms.

    One pass over what would be four. A logarithm serves many rows: chances, at most 1, are multiplied until the product is small;
    being float32 numbers, they cannot take it from there to zero in one go.
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


@compiled
def solve(square: Matrix, right: Vector) -> None:
    """Solve square x = right for a few unknowns; right becomes x, square is overwritten. square: symmetric, positive definite."""
    n = len(right)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                square[i, j] -= square[i, k] * square[j, k]
            square[i, j] /= square[j, j]
            square[i, i] -= square[i, j] ** 2
        square[i, i] = np.sqrt(square[i, i])
        for k in range(i):
            right[i] -= square[i, k] * right[k]
        right[i] /= square[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= square[k, i] * right[k]
        right[i] /= square[i, i]


@compiled_sums
def mix(
    residual: Vector, bend: Vector, step: Vector, place: int, n: int, bends: Matrix, moves: Matrix, products: Matrix, ridge: float
) -> Vector:
    """Remember a bend and its move at a place among n, and return the combination of all n moves whose bends come nearest to the
    residual. products: of each two bends, kept from call to call. ridge: added to the squares, as a share of their sum."""
    for cell in range(len(bend)):
        bends[place, cell] = bend[cell]
        moves[place, cell] = step[cell] + bend[cell]
    for other in range(n):
        total = 0.0
        for cell in range(len(bend)):
            total += bends[other, cell] * bend[cell]
        products[place, other] = products[other, place] = total
    combined = np.zeros(len(residual))
    spread = 0.0
    for i in range(n):
        spread += products[i, i]
    if spread <= 0:
        return combined
    square, weights = products[:n, :n].copy(), np.zeros(n)
    for i in range(n):
        square[i, i] += ridge * spread
        for cell in range(len(residual)):
            weights[i] += bends[i, cell] * residual[cell]
    solve(square, weights)
    for i in range(n):
        for cell in range(len(residual)):
            combined[cell] += weights[i] * moves[i, cell]
    return combined
