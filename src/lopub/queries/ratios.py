"""Estimates with 95 % intervals: of a weighted sum of shares, and of the ratio of two such sums from the same reports.

Intervals hold all values that the reports do not refute: their distance from the estimate is taken in standard errors *at that
value*, not at the estimate (Wilson; for ratios Fieller). Where reports are many this is the delta method, covariance included;
where they are few, or a share is near 0 or 1, it still covers, and it does not leave 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial

from lopub.estimation.joint import INTERVAL, Probabilities
from lopub.estimation.linear import Pooled

LEAST_CONDITION = 3.0
"""Standard errors that the probability of a condition must be above zero."""
TINY = 1e-12
ROUNDING = 1e-9
"""Imaginary part of a root that is taken for a real one."""
SQUARED = INTERVAL**2
X = Polynomial([0.0, 1.0])


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and its 95 % interval."""

    value: float
    standard_error: float
    low: float
    high: float


def share(pooled: Pooled, weights: Probabilities) -> Estimate:
    """The share of people of which something holds. weights: of every cell, how much of it that is."""
    if weights.min() == weights.max():  # of all people, or of none, whatever they answered
        return Estimate(float(weights.min()), 0.0, float(weights.min()), float(weights.max()))
    found, second = float((weights * pooled.shares).sum()), pooled.second(weights, weights)
    inside, outside = _mean(second, pooled, weights), _mean(second, pooled, 1 - weights)
    return _between(found, 1.0, Polynomial([outside, inside - outside, -pooled.inverse]))


@dataclass(frozen=True)
class Aside:
    """What reports that do not cover the whole question say of its condition: a probability, its variance, and the weight that it
    gets beside what the other reports say of it."""

    value: float = 0.0
    variance: float = 0.0
    weight: float = 0.0


NOTHING_ASIDE = Aside()


def share_among(
    pooled: Pooled,
    both: Probabilities,
    condition: Probabilities,
    aside: Aside = NOTHING_ASIDE,
    deviations: float = INTERVAL,
) -> Estimate:
    """P(something given a condition). both: of every cell, how much has the condition and the thing; condition: the former.
    deviations: standard errors that the interval reaches to either side."""
    a, b = _sides(pooled, both, condition, aside)
    usual, part = _usual(pooled, both, condition), aside.weight
    seconds = [
        pooled.second(both, both),
        pooled.second(both, condition),
        pooled.second(condition, condition),
    ]
    # The variance of a - x b if x were true: each second moment among those with both, with the condition alone, and without it,
    # in the shares that x gives.
    among = [
        [_mean(second, pooled, cells) for second in seconds]
        for cells in (both, condition - both, 1 - condition)
    ]
    known, taken = min(max(b, 0.0), 1.0), usual * part
    yes, no, rest = (_second(moments, taken, 1 - part) for moments in among)
    variance = (
        known * (no + X * (yes - no))
        + (1 - known) * rest
        - pooled.inverse * known**2 * _squared(taken, part)
    )
    return _between(a, b, variance + part**2 * aside.variance * _squared(usual, 1.0), deviations)


def ratio(
    pooled: Pooled,
    numerator: Probabilities,
    denominator: Probabilities,
    aside: Aside = NOTHING_ASIDE,
) -> Estimate:
    """A ratio of any two weighted sums, such as a mean among those who have a condition (Fieller 1954)."""
    a, b = _sides(pooled, numerator, denominator, aside)
    usual, part = _usual(pooled, numerator, denominator), aside.weight
    first, other = numerator - usual * part * denominator, (1 - part) * denominator
    alone = part**2 * aside.variance
    aa, bb = (
        pooled.covariance(first, first) + usual**2 * alone,
        pooled.covariance(other, other) + alone,
    )
    return fieller(a, b, aa, pooled.covariance(first, other) + usual * alone, bb)


def _usual(pooled: Pooled, numerator: Probabilities, denominator: Probabilities) -> float:
    """The ratio if all candidates were equally likely."""
    return float(
        (numerator * pooled.evenly).sum() / max(float((denominator * pooled.evenly).sum()), TINY)
    )


def _sides(
    pooled: Pooled, numerator: Probabilities, denominator: Probabilities, aside: Aside
) -> tuple[float, float]:
    """Numerator and denominator of a ratio. What is said aside of the condition goes into the latter, and in the usual ratio into
    the former, because the reports about the whole question err in both alike."""
    own = float((denominator * pooled.shares).sum())
    moved = aside.weight * (aside.value - own)
    return float((numerator * pooled.shares).sum()) + _usual(
        pooled, numerator, denominator
    ) * moved, own + moved


def fieller(a: float, b: float, aa: float, ab: float, bb: float) -> Estimate:
    """a / b from their estimates, variances and covariance; b must be well above zero."""
    value = a / b
    lead, middle = b * b - SQUARED * bb, a * b - SQUARED * ab
    root = np.sqrt(max(middle**2 - lead * (a * a - SQUARED * aa), 0.0))
    error = float(np.sqrt(max(aa - 2 * value * ab + value**2 * bb, 0.0))) / b
    return Estimate(value, error, (middle - root) / lead, (middle + root) / lead)


def is_known(pooled: Pooled, condition: Probabilities, aside: Aside = NOTHING_ASIDE) -> bool:
    """Whether the probability of a condition is far enough above zero to be divided by."""
    part = aside.weight
    value = (1 - part) * float((condition * pooled.shares).sum()) + part * aside.value
    variance = (1 - part) ** 2 * max(
        pooled.covariance(condition, condition), 0.0
    ) + part**2 * aside.variance
    return bool(value > LEAST_CONDITION * np.sqrt(variance))


def _mean(values: Probabilities, pooled: Pooled, weights: Probabilities) -> float:
    """Among people in these cells; where the reports show none of them, all candidates count equally."""
    within = weights * np.maximum(pooled.chances, TINY * pooled.evenly)
    total = float(within.sum())
    return float((values * within).sum()) / total if total > 0 else 0.0


def _between(
    numerator: float, denominator: float, variance: Polynomial, deviations: float = INTERVAL
) -> Estimate:
    """A share that is a ratio. variance: of numerator - x denominator, if x were the share. The interval holds all shares that
    are not refuted; where noise has carried the ratio so far out of 0 to 1 that all are, those near the end that it passed."""
    value = min(max(numerator / denominator, 0.0), 1.0)
    ends = _unrefuted(_squared(numerator, denominator) - deviations**2 * variance)
    if ends is None:
        ends = _unrefuted(
            _squared(denominator * value, denominator) - deviations**2 * variance
        ) or (value, value)
    error = float(np.sqrt(max(float(variance(value)), 0.0))) / denominator
    return Estimate(value, error, min(ends[0], value), max(ends[1], value))


def _second(moments: Sequence[float], at: float, slope: float) -> Polynomial:
    """The second moment of t - y s, with y = at + slope x. moments: of t t, of t s, and of s s."""
    one, two, three = moments
    return Polynomial(
        [one - 2 * at * two + at**2 * three, 2 * slope * (at * three - two), slope**2 * three]
    )


def _squared(numerator: float, denominator: float) -> Polynomial:
    """(numerator - x denominator) squared."""
    return Polynomial([numerator**2, -2 * numerator * denominator, denominator**2])


def _unrefuted(excess: Polynomial) -> tuple[float, float] | None:
    """The least and the largest share at which a polynomial is not positive."""
    found = np.asarray(excess.roots(), dtype=np.complex128)
    roots = found.real[
        (np.abs(found.imag) < ROUNDING) & (found.real > 0) & (found.real < 1)
    ].tolist()
    places = [0.0, *sorted(roots), 1.0]
    inside = [(low, high) for low, high in pairwise(places) if excess((low + high) / 2) <= 0]
    return (inside[0][0], inside[-1][1]) if inside else None
