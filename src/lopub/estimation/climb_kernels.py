"""The whole search for a shrunk joint, compiled: thousands of small cliques would spend their time in calls.

Two forms of evidence as one matrix each: counts of kept cells, shape (n_keeps, cells), with `keeps`; or, where `keeps` is empty,
one likelihood a report and cell, shape (n_reports, cells). Their twins in NumPy are `KeptCell`, `Dense`, `run_accelerated`
and `chosen_strength`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.compiling import compiled_sums
from lopub.estimation.kernels import Vector, mix

Matrix = NDArray[Any]
"""Counts as float64, likelihoods as float32."""

BLOCK_ROWS = 256
"""Reports whose shares are summed as float32 before they go into float64."""


@compiled_sums
def kept_step(totals: Matrix, keeps: Vector, joint: Vector, ratio: Vector) -> float:
    """The log-likelihood of kept cells, and in `ratio` the sum over reports of likelihood / chance."""
    n_cells = len(joint)
    value, spread = 0.0, 0.0
    ratio[:] = 0.0
    for i in range(len(keeps)):
        keep, uniform = keeps[i], (1 - keeps[i]) / n_cells
        for cell in range(n_cells):
            seen = totals[i, cell]
            if seen > 0:
                chance = keep * joint[cell] + uniform
                value += seen * np.log(chance)
                ratio[cell] += keep * (seen / chance)
                spread += uniform * (seen / chance)
    for cell in range(n_cells):
        ratio[cell] += spread
    return value


@compiled_sums
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
                sums[cell] = 0
    for cell in range(n_cells):
        ratio[cell] += sums[cell]
    return float(value + np.log(chances))


@compiled_sums
def step(matrix: Matrix, keeps: Vector, pseudo: Vector, joint: Vector, image: Vector) -> float:
    """Maximum a posteriori: the objective at `joint`, and in `image` the joint after a step. pseudo: prior counts."""
    value = kept_step(matrix, keeps, joint, image) if len(keeps) else dense_step(matrix, joint, image)
    total = 0.0
    for cell in range(len(joint)):
        if pseudo[cell] > 0:
            value += pseudo[cell] * np.log(joint[cell])
        image[cell] = joint[cell] * image[cell] + pseudo[cell]
        total += image[cell]
    for cell in range(len(joint)):
        image[cell] /= total
    return value


@compiled_sums
def climb(
    matrix: Matrix,
    keeps: Vector,
    pseudo: Vector,
    start: Vector,
    tolerance: float,
    slack: float,
    ridge: float,
    floor: float,
    memory: int,
    trace: Vector,
) -> tuple[Vector, bool, int, int]:
    """`run_accelerated`: the joint, whether it converged, evaluations, and how much of `trace` is written. The trace's length is
    the most evaluations."""
    n_cells, most = len(start), len(trace)
    bends, moves, products = np.zeros((memory, n_cells)), np.zeros((memory, n_cells)), np.zeros((memory, memory))
    last_root, last_residual = np.zeros(n_cells), np.zeros(n_cells)
    joint, image, leap, leap_image = start.copy(), np.empty(n_cells), np.empty(n_cells), np.empty(n_cells)
    value = step(matrix, keeps, pseudo, joint, image)
    trace[0] = value
    n_evaluations, n_trace, n_seen = 1, 1, 0
    while n_evaluations < most:
        if np.abs(image - joint).max() <= tolerance:
            return image, True, n_evaluations, n_trace
        root, target = np.sqrt(joint), np.sqrt(image)
        residual = target - root
        n_seen += 1
        leap[:] = image
        if n_seen > 1:
            place, n = (n_seen - 2) % memory, min(n_seen - 1, memory)
            mixed = target - mix(residual, residual - last_residual, root - last_root, place, n, bends, moves, products, ridge)
            mixed = np.maximum(mixed, floor * target) ** 2
            if mixed.sum() > 0:
                leap[:] = mixed / mixed.sum()
        last_root, last_residual = root, residual
        leap_value = step(matrix, keeps, pseudo, leap, leap_image)
        n_evaluations += 1
        if not leap_value > value + slack:
            n_seen = min(n_seen, 1)
        if not leap_value >= value - slack:
            leap[:] = image
            leap_value = step(matrix, keeps, pseudo, leap, leap_image)
            n_evaluations += 1
        joint[:] = leap
        image[:] = leap_image
        value = leap_value
        trace[n_trace] = value
        n_trace += 1
    return image, False, n_evaluations, n_trace


@compiled_sums
def best_strength(
    trainings: Matrix,
    held_outs: Matrix,
    bounds: NDArray[np.int64],
    sizes: Vector,
    keeps: Vector,
    prior: Vector,
    strengths: Vector,
    tolerance: float,
    rounding: float,
    ridge: float,
    floor: float,
    memory: int,
    most: int,
    patience: int,
) -> tuple[int, float, Vector]:
    """`chosen_strength`: which of the strengths, -1 for the prior itself; its gain; and a joint to start from.

    bounds: shape (n_folds, 4), where each fold's training and held-out rows begin and end. sizes: training reports of each.
    """
    n_folds, trace, unused = len(bounds), np.empty(most), np.empty(len(prior))
    nothing = np.zeros(len(prior))
    starts = np.empty((n_folds, len(prior)))
    independent = 0.0
    for fold in range(n_folds):
        starts[fold] = prior
        held_out = held_outs[bounds[fold, 2] : bounds[fold, 3]]
        independent += step(held_out, keeps, nothing, prior, unused)
    best, best_gain, best_start, worse = -1, 0.0, prior.copy(), 0
    for number in range(len(strengths)):
        gain = -independent
        for fold in range(n_folds):
            training = trainings[bounds[fold, 0] : bounds[fold, 1]]
            pseudo, slack = strengths[number] * sizes[fold] * prior, rounding * sizes[fold]
            starts[fold], _, _, _ = climb(training, keeps, pseudo, starts[fold], tolerance, slack, ridge, floor, memory, trace)
            gain += step(held_outs[bounds[fold, 2] : bounds[fold, 3]], keeps, nothing, starts[fold], unused)
        if gain > best_gain:
            best, best_gain, worse = number, gain, 0
            best_start[:] = starts[0]
        elif best >= 0:
            worse += 1
            if worse > patience:
                break
    return best, best_gain, best_start
