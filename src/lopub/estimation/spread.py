"""How far an estimate may be off: standard errors of cells from the information in the reports.

Why information and not a bootstrap of reports: one pass over the reports instead of hundreds of fits, and it needs no seed.
The covariance of a maximum-likelihood joint is the inverse of the information on the tangent of the simplex, taken over the cells
that are not held at zero. A shrunk joint gets those of the estimate before shrinking: what the reports can tell. Its own spread
would be smaller, but leaves out the bias that shrinking accepts, and intervals from it cover the truth far less often than they
say.
"""

import numpy as np

from lopub.estimation.evidence import Evidence
from lopub.estimation.joint import Probabilities, product_of

MOST_CELLS = 2048
"""Above this the information matrix is not worth its memory, and cells get no standard error."""
AT_ZERO = 1e-5
"""A cell below this is held at zero by the fit; it does not take part in the covariance of the others."""
RIDGE = 1e-9
"""Share of the mean diagonal: keeps directions without information from dividing by zero."""


def standard_errors(evidence: Evidence, joint: Probabilities) -> Probabilities | None:
    """Of every cell; NaN for cells held at zero. None above MOST_CELLS cells."""
    if joint.size > MOST_CELLS:
        return None
    return errors_from(evidence.information(joint), joint)


def covariance_from(information: Probabilities, shares: Probabilities) -> Probabilities:
    """Of the shares; those held at zero have none."""
    support = np.flatnonzero(shares > AT_ZERO)
    covariance = np.zeros_like(information)
    covariance[np.ix_(support, support)] = _constrained_inverse(
        information[np.ix_(support, support)]
    )
    return covariance


def free_covariance(information: Probabilities) -> Probabilities:
    """Of all shares, those that a fit holds at zero included: noisy reports make nothing certain."""
    return _constrained_inverse(information)


def errors_from(information: Probabilities | None, joint: Probabilities) -> Probabilities | None:
    """Of every cell, from an information matrix over the cells; NaN for cells held at zero. None without one."""
    if information is None:
        return None
    flat = joint.reshape(-1)
    variances = np.diag(covariance_from(information, flat))
    return np.where(flat > AT_ZERO, np.sqrt(np.maximum(variances, 0)), np.nan).reshape(joint.shape)


def _constrained_inverse(matrix: Probabilities) -> Probabilities:
    """The inverse on the vectors that sum to zero: what is known once the cells must sum to one."""
    steady = matrix + RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    inverse = np.linalg.inv(steady)
    row = inverse.sum(axis=1)
    result: Probabilities = inverse - np.outer(row, row) / row.sum()
    return result


def product_errors(marginals: list[Probabilities], errors: list[Probabilities]) -> Probabilities:
    """Of a product of independent marginals, by the delta method."""
    variance = np.zeros(tuple(len(marginal) for marginal in marginals))
    for axis, error in enumerate(errors):
        sides = [
            np.nan_to_num(error) if other == axis else marginal
            for other, marginal in enumerate(marginals)
        ]
        variance += product_of(sides) ** 2
    return np.asarray(np.sqrt(variance), dtype=np.float64)


def expected_error(evidence: Evidence) -> float | None:
    """The AVD that maximum likelihood would have if every cell were equally likely and none could be held at zero."""
    cells = int(np.prod(evidence.shape))
    if cells > MOST_CELLS:
        return None
    uniform = np.full(evidence.shape, 1 / cells)
    information = evidence.information(uniform)
    if information is None:
        return None
    variances = np.diag(_constrained_inverse(information))
    return float(np.sqrt(2 / np.pi) * np.sqrt(np.maximum(variances, 0)).sum() / 2)
