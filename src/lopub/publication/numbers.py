"""Means and quantiles of numeric attributes, with intervals, from their estimated marginals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.domain import Attribute, Binned, IntegerRange
from lopub.joint import INTERVAL, Probabilities

QUANTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


@dataclass(frozen=True)
class Statistic:
    """One figure about one numeric attribute, among those who answered. low, high: its 95 % interval."""

    attribute: str
    name: str
    value: float
    low: float
    high: float


def statistics_of(attribute: Attribute, marginal: Probabilities, covariance: Probabilities) -> list[Statistic]:
    """Mean and quartiles; nothing for an attribute that is no number, or has but two.

    A number is known to its bin: the mean takes the middle of each, and quantiles run evenly through it.
    """
    if not isinstance(attribute, Binned | IntegerRange) or len(attribute.answers) < 3:
        return []
    edges = _edges(attribute)
    n_answers = len(edges) - 1
    answered = float(marginal[:n_answers].sum())
    if answered <= 0:
        return []
    shares = marginal[:n_answers] / answered
    middles = (edges[:-1] + edges[1:]) / 2
    mean = float(shares @ middles)
    slope = (middles - mean) / answered  # of a ratio: the share of those who answered is itself estimated
    error = _error(slope, covariance)
    low, high = max(mean - INTERVAL * error, float(middles[0])), min(mean + INTERVAL * error, float(middles[-1]))
    found = [Statistic(attribute.name, "mean", mean, low, high)]
    for name, level in QUANTILES.items():
        found.append(_quantile(attribute, name, level, shares, edges, covariance, answered))
    return found


def _quantile(
    attribute: Attribute,
    name: str,
    level: float,
    shares: Probabilities,
    edges: Probabilities,
    covariance: Probabilities,
    answered: float,
) -> Statistic:
    """Its interval: where the share below passes the level, less and more what that share may be off by (Woodruff 1952)."""
    whole = isinstance(attribute, IntegerRange)
    at = min(int(np.searchsorted(np.cumsum(shares), level)), len(shares) - 1)
    below = (np.arange(len(shares)) <= at) / answered
    reach = INTERVAL * _error(below - level / answered, covariance)
    value, low, high = (_inverse(shares, edges, at_level, whole) for at_level in (level, level - reach, level + reach))
    return Statistic(attribute.name, name, value, low, high)


def _inverse(shares: Probabilities, edges: Probabilities, level: float, whole: bool) -> float:
    """Where the share below passes a level: within a bin evenly; of whole numbers, the first that does."""
    upto = np.concatenate([[0.0], np.cumsum(shares)])
    level = min(max(level, 0.0), 1.0)
    if whole:
        return float(edges[min(int(np.searchsorted(upto[1:], level - 1e-12)), len(shares) - 1)] + 0.5)
    return float(np.interp(level, upto, edges))


def _error(weights: Probabilities, covariance: Probabilities) -> float:
    n = len(weights)
    return float(np.sqrt(max(float(weights @ covariance[:n, :n] @ weights), 0.0)))


def _edges(attribute: Binned | IntegerRange) -> Probabilities:
    """The bins' edges; whole numbers stand in the middle of bins of width one."""
    if isinstance(attribute, Binned):
        return np.array(attribute.bounds)
    return np.arange(attribute.minimum, attribute.maximum + 2, dtype=np.float64) - 0.5


def drawn(attribute: Binned, codes: NDArray[np.uint16], rng: np.random.Generator) -> Probabilities:
    """A number inside each record's bin, evenly; NaN where the answer is missing."""
    bounds = np.array(attribute.bounds)
    n_bins = len(bounds) - 1
    answered = codes < n_bins
    bins = np.where(answered, codes, 0).astype(np.int64)
    low, high = bounds[bins], bounds[bins + 1]
    digits = max(0, int(np.ceil(3 - np.log10(np.diff(bounds).min()))))
    values = np.round(high - rng.random(len(codes)) * (high - low), digits)  # the lower edge belongs to the bin below
    inside = np.clip(values, np.nextafter(low, high), high)
    return np.where(answered, inside, np.nan)
