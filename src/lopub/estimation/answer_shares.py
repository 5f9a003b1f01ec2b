"""The likeliest shares of one attribute's answers, exactly.

A report that covers the attribute, and has one of several keeps, names answer i with probability keep p_i + (1 - keep) / v. The
log-likelihood of counts is a sum of concave functions of one share each, so that at its maximum, under the sum of one, every
share that is not zero has the same slope. That is two searches for a root of a convex, falling function, one inside the other;
Newton's steps come to it from the left, and never pass it. EM goes there, too, but by steps of about keep at a time: where views
have many cells it stops long before, and what the marginals then lack looks like dependence in every pair.
"""

import numpy as np

from lopub.estimation.joint import Probabilities

MOST_STEPS = 200
"""Newton's steps; from far away each doubles a number, near the root each doubles its digits."""
EXACT = 1e-14


def likeliest_shares(counts: Probabilities, keeps: Probabilities) -> Probabilities:
    """The shares under which the counts are most likely. counts: shape (n_keeps, n_answers), some above zero; keeps: shape
    (n_keeps,), above 0 and below 1."""
    offsets = (1 - keeps[:, None]) / (counts.shape[1] * keeps[:, None])
    slope = float(
        (counts / (1 + offsets)).sum(axis=0).max()
    )  # at which one share alone reaches one
    shares = _shares_at(slope, counts, offsets)
    for _ in range(MOST_STEPS):
        excess = float(shares.sum()) - 1
        if excess <= EXACT:
            break
        held = shares > 0
        falls = -1 / _second(shares, counts, offsets)[held]
        slope -= excess / float(falls.sum())
        shares = _shares_at(slope, counts, offsets)
    found: Probabilities = shares / shares.sum()
    return found


def _shares_at(slope: float, counts: Probabilities, offsets: Probabilities) -> Probabilities:
    """For each answer, the share at which its part of the log-likelihood has this slope; zero where it has less throughout."""
    shares = np.zeros(counts.shape[1])
    for _ in range(MOST_STEPS):
        above = (counts / (shares + offsets)).sum(axis=0) - slope
        steps = np.where(
            above > 0, above / np.maximum(_second(shares, counts, offsets), 1e-300), 0.0
        )
        shares += steps
        if (steps <= EXACT * shares).all():
            break
    return shares


def _second(shares: Probabilities, counts: Probabilities, offsets: Probabilities) -> Probabilities:
    """Minus the second derivative of the log-likelihood by each share."""
    found: Probabilities = (counts / (shares + offsets) ** 2).sum(axis=0)
    return found
