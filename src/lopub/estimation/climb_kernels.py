"""The whole search for a shrunk joint, compiled: thousands of small cliques would spend their time in calls.

With only the steps compiled, all pairs of Adult (marginals aside) took 1.3 (`direct`) and 1.2 (`subset`) times the CPU time.
Two forms of evidence are one matrix each: counts of kept cells, shape (n_keeps, cells), with `keeps`; or, where `keeps` is empty,
one likelihood per report and cell, shape (n_reports, cells). Their twins in NumPy are `KeptCell`, `Dense`, `run_accelerated`
and `chosen_strength`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled_sums, inlined_sums

Vector = NDArray[np.float64]
Matrix = NDArray[Any]
"""Counts as float64, likelihoods as float32."""

BLOCK_ROWS = 256
"""Reports whose shares are summed as float32 before they go into float64."""

MEMORY = 10
"""EM steps that an accelerated one looks back on."""
RIDGE = 1e-10
"""Keeps their mixture's equations solvable once the steps point the same way."""
FLOOR = 0.1
"""A leap leaves a cell's root at least this share of what the EM step would."""


class Folds(NamedTuple):
    """Trainings and held-out reports of all folds, each one matrix under the other.

    bounds: shape (n_folds, 4), where each fold's training and held-out rows begin and end. sizes: training reports of each;
    slacks: how far their log-likelihood may fall by rounding alone.
    """

    trainings: Matrix
    held_outs: Matrix
    bounds: NDArray[np.int64]
    sizes: Vector
    slacks: Vector


Past = tuple[Vector, Vector, Matrix, Matrix, Matrix]
"""What a search remembers, in square roots of probabilities: its last joint; the residual there, which is where EM leads, less
that joint; bends and moves, shape (MEMORY, cells), by which residuals and joints changed; the products of each two bends."""


@inlined_sums
def kept_step(totals: Matrix, keeps: Vector, joint: Vector, ratio: Vector) -> float:
    """The log-likelihood of kept cells, and in `ratio` the sum over reports of likelihood / chance."""
    n_cells = len(joint)
    shares, value, spread = np.empty(n_cells), 0.0, 0.0
    ratio[:] = 0.0
    for i in range(len(keeps)):
        keep, uniform = keeps[i], (1 - keeps[i]) / n_cells
        for cell in range(n_cells):
            if totals[i, cell] > 0:
                value += totals[i, cell] * np.log(keep * joint[cell] + uniform)
        for cell in range(n_cells):
            shares[cell] = (
                totals[i, cell] / (keep * joint[cell] + uniform) if totals[i, cell] > 0 else 0.0
            )
        seen = 0.0
        for cell in range(n_cells):
            seen += shares[cell]
        spread += uniform * seen
        for cell in range(n_cells):
            ratio[cell] += keep * shares[cell]
    for cell in range(n_cells):
        ratio[cell] += spread
    return value


@inlined_sums
def dense_step(likelihood: Matrix, joint: Vector, ratio: Vector) -> float:
    """The same of reports with one likelihood a cell. Chances, at most 1, are multiplied until their product is small."""
    n_cells = len(joint)
    weights, sums = joint.astype(np.float32), np.zeros(n_cells, dtype=np.float32)
    value, chances = 0.0, 1.0
    ratio[:] = 0.0
    for row in range(len(likelihood)):
        mine = likelihood[row]
        chance = np.float32(0)
        for cell in range(n_cells):
            chance += mine[cell] * weights[cell]
        share = np.float32(1) / chance
        for cell in range(n_cells):
            sums[cell] += share * mine[cell]
        chances *= np.float64(chance)
        if chances < 1e-200:
            value += np.log(chances)
            chances = 1.0
        if (row + 1) % BLOCK_ROWS == 0:
            for cell in range(n_cells):
                ratio[cell] += sums[cell]
            sums[:] = 0
    for cell in range(n_cells):
        ratio[cell] += sums[cell]
    return float(value + np.log(chances))


@inlined_sums
def step(matrix: Matrix, keeps: Vector, pseudo: Vector, joint: Vector, image: Vector) -> float:
    """Maximum a posteriori: the objective at `joint`, and in `image` the joint after a step. pseudo: prior counts."""
    value = (
        kept_step(matrix, keeps, joint, image) if len(keeps) else dense_step(matrix, joint, image)
    )
    for cell in range(len(joint)):
        if pseudo[cell] > 0:
            value += pseudo[cell] * np.log(joint[cell])
    for cell in range(len(joint)):
        image[cell] = joint[cell] * image[cell] + pseudo[cell]
    total = 0.0
    for cell in range(len(joint)):
        total += image[cell]
    share = 1 / total
    for cell in range(len(joint)):
        image[cell] *= share
    return value


@inlined_sums
def solve(square: Matrix, right: Vector) -> None:
    """Solve square x = right for a few unknowns; right becomes x, square is overwritten. square: symmetric, positive definite."""
    n = len(right)
    for i in range(n):
        diagonal, entry = square[i, i], right[i]
        for j in range(i):
            product = square[i, j]
            for k in range(j):
                product -= square[i, k] * square[j, k]
            square[i, j] = product / square[j, j]
        for k in range(i):
            diagonal -= square[i, k] * square[i, k]
        for k in range(i):
            entry -= square[i, k] * right[k]
        square[i, i] = np.sqrt(diagonal)
        right[i] = entry / square[i, i]
    for i in range(n - 1, -1, -1):
        entry = right[i]
        for k in range(i + 1, n):
            entry -= square[k, i] * right[k]
        right[i] = entry / square[i, i]


@inlined_sums
def mix(
    residual: Vector,
    bend: Vector,
    step: Vector,
    place: int,
    n: int,
    bends: Matrix,
    moves: Matrix,
    products: Matrix,
    ridge: float,
) -> Vector:
    """Remember a bend and its move at a place among n, and return the combination of all n moves whose bends come nearest to the
    residual. products: of each two bends, kept from call to call. ridge: added to the squares, as a share of their sum."""
    for cell in range(len(bend)):
        bends[place, cell] = bend[cell]
        moves[place, cell] = step[cell] + bend[cell]
    for other in range(n):
        product = 0.0
        for cell in range(len(bend)):
            product += bends[other, cell] * bend[cell]
        products[place, other] = products[other, place] = product
    combined, spread = np.zeros(len(residual)), 0.0
    for i in range(n):
        spread += products[i, i]
    if spread > 0:
        square, weights = products[:n, :n].copy(), np.zeros(n)
        for i in range(n):
            square[i, i] += ridge * spread
            product = 0.0
            for cell in range(len(residual)):
                product += bends[i, cell] * residual[cell]
            weights[i] = product
        solve(square, weights)
        for i in range(n):
            for cell in range(len(residual)):
                combined[cell] += weights[i] * moves[i, cell]
    return combined


@inlined_sums
def extrapolate(leap: Vector, image: Vector, past: Past, n_seen: int) -> None:
    """Remember the EM step from `leap` to `image`, the search's n-th, and put into `leap` where all that are remembered point to;
    the image itself while there is one alone."""
    root, residual, bends, moves, products = past
    n_cells = len(leap)
    bend, move = np.empty(n_cells), np.empty(n_cells)
    for cell in range(n_cells):
        move[cell] = np.sqrt(leap[cell]) - root[cell]
        root[cell] = np.sqrt(leap[cell])
    for cell in range(n_cells):
        bend[cell] = np.sqrt(image[cell]) - root[cell] - residual[cell]
        residual[cell] = np.sqrt(image[cell]) - root[cell]
    leap[:] = image
    if n_seen > 1:
        place, n = (n_seen - 2) % MEMORY, min(n_seen - 1, MEMORY)
        combined = mix(residual, bend, move, place, n, bends, moves, products, RIDGE)
        for cell in range(n_cells):  # a root cannot be negative
            mixed = max(
                root[cell] + residual[cell] - combined[cell], FLOOR * (root[cell] + residual[cell])
            )
            leap[cell] = mixed * mixed
        total = 0.0
        for cell in range(n_cells):
            total += leap[cell]
        share = 1 / total
        for cell in range(n_cells):
            leap[cell] = leap[cell] * share if total > 0 else image[cell]


@inlined_sums
def farthest(joint: Vector, image: Vector) -> float:
    """The largest change of a cell."""
    gap = 0.0
    for cell in range(len(joint)):
        change = abs(image[cell] - joint[cell])
        gap = gap if change <= gap else change
    return gap


@inlined_sums
def climb(
    matrix: Matrix,
    keeps: Vector,
    pseudo: Vector,
    start: Vector,
    tolerance: float,
    slack: float,
    trace: Vector,
) -> tuple[Vector, bool, int, int]:
    """`run_accelerated`: the joint, whether it converged, evaluations, and how much of `trace` is written. The trace's length is
    the most evaluations.

    The step, which is most of the code, is written once: a refused leap goes round again with the plain EM step in its place.
    """
    n_cells = len(start)
    bends, moves, products = (
        np.zeros((MEMORY, n_cells)),
        np.zeros((MEMORY, n_cells)),
        np.zeros((MEMORY, MEMORY)),
    )
    past = (np.zeros(n_cells), np.zeros(n_cells), bends, moves, products)
    image, leap, leap_image = np.empty(n_cells), start.copy(), np.empty(n_cells)
    value, n_evaluations, n_trace, n_seen = -np.inf, 0, 0, 0
    refused, converged = False, False
    while n_evaluations < len(trace) and not converged:
        leap_value = step(matrix, keeps, pseudo, leap, leap_image)
        n_evaluations += 1
        if n_trace and not leap_value > value + slack:
            n_seen = min(n_seen, 1)
        if n_trace and not refused and not leap_value >= value - slack:
            refused = True
            leap[:] = image
            continue
        refused, value = False, leap_value
        trace[n_trace] = value
        n_trace += 1
        n_seen += 1
        converged = farthest(leap, leap_image) <= tolerance
        image[:] = leap_image
        if not converged:
            extrapolate(leap, image, past, n_seen)
    return image, converged, n_evaluations, n_trace


@inlined_sums
def explained(folds: Folds, fold: int, keeps: Vector, joint: Vector) -> float:
    """The log-likelihood of a fold's held-out reports."""
    begin, end = folds.bounds[fold, 2], folds.bounds[fold, 3]
    return step(
        folds.held_outs[begin:end], keeps, np.zeros(len(joint)), joint, np.empty(len(joint))
    )


@inlined_sums
def trained(
    folds: Folds,
    fold: int,
    keeps: Vector,
    pseudo: Vector,
    start: Vector,
    tolerance: float,
    trace: Vector,
) -> Vector:
    """The joint of a fold's training reports."""
    begin, end = folds.bounds[fold, 0], folds.bounds[fold, 1]
    return climb(
        folds.trainings[begin:end], keeps, pseudo, start, tolerance, folds.slacks[fold], trace
    )[0]


@compiled_sums
def best_strength(
    folds: Folds,
    keeps: Vector,
    prior: Vector,
    strengths: Vector,
    tolerance: float,
    patience: int,
    trace: Vector,
) -> tuple[int, float, Vector]:
    """`chosen_strength`: which of the strengths, -1 for the prior itself; its gain; and a joint to start from. trace: room
    for as many evaluations as a fit may take."""
    n_folds, n_cells, independent = len(folds.bounds), len(prior), 0.0
    starts, pseudo = np.empty((n_folds, n_cells)), np.empty(n_cells)
    starts[:] = prior
    best, best_gain, best_start, worse = -1, 0.0, prior.copy(), 0
    for number in range(-1, len(strengths)):  # first the prior itself
        found = 0.0
        for fold in range(n_folds):
            if number >= 0:
                for cell in range(n_cells):
                    pseudo[cell] = strengths[number] * folds.sizes[fold] * prior[cell]
                starts[fold] = trained(folds, fold, keeps, pseudo, starts[fold], tolerance, trace)
            found += explained(folds, fold, keeps, starts[fold])
        if number < 0:
            independent = found
        elif found - independent > best_gain:
            best, best_gain, worse = number, found - independent, 0
            best_start[:] = starts[0]
        elif best >= 0:
            worse += 1
            if worse > patience:
                break
    return best, best_gain, best_start
