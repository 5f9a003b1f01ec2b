"""How likely outputs are as a whole, whatever the answer behind them: how many ones they have, and the likeliest of all."""

import math

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.mechanisms import Law

Chances = NDArray[np.float64]


def ones_of_independent_bits(law: Law) -> Chances:
    """The chance of every number of ones, where each bit is drawn by itself: those of a code with p, the others with q.
    shape (n_bits + 1,)."""
    return np.convolve(
        _binomial(law.weight, float(law.p)), _binomial(law.n_bits - law.weight, float(law.q))
    )


def log_likeliest_of_independent_bits(law: Law) -> float:
    """The logarithm of the chance of the likeliest output, where each bit is drawn by itself."""
    p, q = float(law.p), float(law.q)
    return law.weight * math.log(max(p, 1 - p)) + (law.n_bits - law.weight) * math.log(
        max(q, 1 - q)
    )


def log_likeliest_subset(law: Law, n_ones: int) -> float:
    """The same, where an output is one of all subsets of so many candidates: those with the own one are equally likely, as are
    the others."""
    p, others = float(law.p), law.n_candidates - 1
    holding = math.log(p) - log_ways(others, n_ones - 1)
    return (
        max(holding, math.log1p(-p) - log_ways(others, n_ones))
        if n_ones <= others and p < 1
        else holding
    )


def log_ways(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _binomial(n: int, chance: float) -> Chances:
    from scipy.special import (
        gammaln,
        xlog1py,
        xlogy,
    )  # not before it is needed: it takes long to load

    k = np.arange(n + 1)
    log_chances = (
        gammaln(n + 1)
        - gammaln(k + 1)
        - gammaln(n - k + 1)
        + xlogy(k, chance)
        + xlog1py(n - k, -chance)
    )
    chances: Chances = np.exp(log_chances)
    return chances
