"""The strongest, weaker and weakest shrunk joints of counts that are spread evenly by noise: each cell is a root of its own.

To maximise sum y log(P + d) + sum c log P with sum P = 1 is, with a multiplier m, to solve y / (P + d) + c / P = m in every cell:
m P^2 + (m d - y - c) P - c d = 0, which has one root that is not negative. The sum of the roots falls as m grows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled_sums, inlined_sums

Vector = NDArray[np.float64]
Matrix = NDArray[Any]

MOST_STEPS = 200
NEAR = 1e-12
"""How far the sum of all cells may be from one before it is made exact."""


@inlined_sums
def likeliest_cells(counts: Vector, offset: float, pseudo: Vector, cells: Vector) -> None:
    """The cells that are likeliest, with prior counts `pseudo`; written to `cells`. Newton's method within a bracket of m."""
    n_cells, seen, prior = len(counts), 0.0, 0.0
    for cell in range(n_cells):
        seen += counts[cell] if counts[cell] > 0 else 0.0
    for cell in range(n_cells):
        prior += pseudo[cell]
    low, high = 0.0, seen + prior
    multiplier, total = prior + seen / (1 + n_cells * offset), 0.0
    if not high > 0:  # nothing is said of any cell
        for cell in range(n_cells):
            cells[cell] = 1.0
        total = float(n_cells)
    for _ in range(MOST_STEPS if high > 0 else 0):
        for cell in range(n_cells):
            linear = multiplier * offset - counts[cell] - pseudo[cell]
            rooted = np.sqrt(linear * linear + 4 * multiplier * pseudo[cell] * offset)
            if linear < 0:
                cells[cell] = (rooted - linear) / (2 * multiplier)
            else:  # the same without taking almost equal numbers from each other
                cells[cell] = (
                    2 * pseudo[cell] * offset / (linear + rooted) if pseudo[cell] > 0 else 0.0
                )
        total, slope = 0.0, 0.0
        for cell in range(n_cells):
            total += cells[cell]
        for cell in range(n_cells):
            steepness = (
                2 * multiplier * cells[cell] + multiplier * offset - counts[cell] - pseudo[cell]
            )
            slope += cells[cell] * (cells[cell] + offset) / steepness if cells[cell] > 0 else 0.0
        if abs(total - 1) <= NEAR:
            break
        if total > 1:
            low = multiplier
        else:
            high = multiplier
        following = multiplier + (total - 1) / slope if slope > 0 else low
        if not low < following < high:
            following = np.sqrt(low * high) if low > 0 else high / 4
        if following == multiplier:
            break
        multiplier = following
    share = 1 / total
    for cell in range(n_cells):
        cells[cell] *= share


@compiled_sums
def fit_strengths(
    counts: Matrix,
    sizes: Vector,
    offset: float,
    prior: Vector,
    strengths: Vector,
    scores: Vector,
    fits: Matrix,
) -> None:
    """For each strength, the fit to all counts, and by how much fits without a fold explain that fold better than the prior does,
    in nats, over all folds. counts: shape (n_folds, cells); sizes: reports of each fold; fits: shape (n_strengths, cells)."""
    n_folds, n_cells = counts.shape
    totals, training, pseudo, cells = (
        np.zeros(n_cells),
        np.empty(n_cells),
        np.empty(n_cells),
        np.empty(n_cells),
    )
    n_reports = 0.0
    for fold in range(n_folds):
        n_reports += sizes[fold]
    for fold in range(n_folds):
        for cell in range(n_cells):
            totals[cell] = totals[cell] + counts[fold, cell]
    for number in range(len(strengths)):
        score = 0.0
        for fold in range(n_folds):
            if 0 < sizes[fold] < n_reports:
                for cell in range(n_cells):
                    training[cell] = totals[cell] - counts[fold, cell]
                for cell in range(n_cells):
                    pseudo[cell] = strengths[number] * (n_reports - sizes[fold]) * prior[cell]
                likeliest_cells(training, offset, pseudo, cells)
                for cell in range(n_cells):
                    score += counts[fold, cell] * np.log(
                        (cells[cell] + offset) / (prior[cell] + offset)
                    )
        scores[number] = score
        for cell in range(n_cells):
            pseudo[cell] = strengths[number] * n_reports * prior[cell]
        likeliest_cells(totals, offset, pseudo, cells)
        for cell in range(n_cells):
            fits[number, cell] = cells[cell]
