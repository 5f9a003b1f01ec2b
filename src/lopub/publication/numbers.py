"""Means and quantiles of numeric attributes, with intervals: as questions give them, else from their estimated marginals."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Attribute, Binned, IntegerRange
from lopub.estimation.joint import INTERVAL, Probabilities
from lopub.queries.queries import Asking

QUANTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
ROUNDING = 1e-12
"""Of sums of shares."""
LEAST_APART = 10_000
"""From here on thousands are set apart."""
EXACT_DIGITS, MOST_DIGITS = 4, 12
"""Digits after the point: where an interval has no width, and at most."""
UNEVEN = 1_000
"""A side of an interval that is so many times shorter than the other need not be told from nothing."""


@dataclass(frozen=True)
class Statistic:
    """One figure about one numeric attribute, among those who answered. low, high: its 95 % interval."""

    attribute: str
    name: str
    value: float
    low: float
    high: float


def statistics_of(
    attribute: Attribute, marginal: Probabilities, covariance: Probabilities
) -> list[Statistic]:
    """Mean and quartiles; nothing for an attribute that is no number, or has but two.

    Of a binned number only the bin is known. An estimate takes it to lie anywhere in its bin, evenly; an interval does not rely
    on that, and reaches as far as the numbers may lie in their bins.
    """
    if not isinstance(attribute, Binned | IntegerRange) or len(attribute.answers) < 3:
        return []
    below, above = _ends(attribute)
    answered = float(marginal[: len(below)].sum())
    if answered <= 0:
        return []
    shares = Shares(
        marginal[: len(below)] / answered, covariance[: len(below), : len(below)] / answered**2
    )
    quantiles = [
        _quantile(attribute.name, name, level, shares, below, above)
        for name, level in QUANTILES.items()
    ]
    if np.isinf(below[0]) or np.isinf(
        above[-1]
    ):  # a mean, and a quantile in an open-ended bin, could be any number
        return [row for row in quantiles if np.isfinite([row.value, row.low, row.high]).all()]
    return [_mean(attribute.name, shares, below, above), *quantiles]


def as_asked(rows: Iterable[Statistic], study: Asking) -> Iterator[Statistic]:
    """The same figures as whoever asks the study for them is answered. Nothing is shrunk in these, whereas marginals may be:
    nearer to even shares than people are, they move means with them. A row stays as it is where the study has no answer, and goes
    where that answer's interval has no end."""
    for row in rows:
        level = QUANTILES.get(row.name)
        answer = (
            study.mean(row.attribute) if level is None else study.quantile(row.attribute, level)
        )
        if answer.estimate is None or answer.interval is None:
            yield row
        elif np.isfinite(answer.interval).all():
            yield Statistic(row.attribute, row.name, answer.estimate, *answer.interval)


@dataclass(frozen=True, eq=False)
class Shares:
    """Of the answers among those who answered. covariance: of the answers' shares among all, over the square of the share of
    those who answered; that this is itself estimated is taken into account by `error`."""

    values: Probabilities
    covariance: Probabilities

    def error(self, weights: Probabilities, value: float) -> float:
        """Of the weighted sum of the shares, where it has this value; infinite where nothing is known. By the delta method: it
        is a ratio, of the weighted sum among all and of the share of those who answered."""
        slope = weights - value
        variance = float(slope @ self.covariance @ slope)
        return np.inf if np.isnan(variance) else float(np.sqrt(max(variance, 0.0)))


def _mean(attribute: str, shares: Shares, below: Probabilities, above: Probabilities) -> Statistic:
    """The middle of each bin; its interval: all numbers at the lower ends of their bins, to all at the upper ends."""
    lowest, highest = float(shares.values @ below), float(shares.values @ above)
    low = max(lowest - INTERVAL * shares.error(below, lowest), float(below[0]))
    high = min(highest + INTERVAL * shares.error(above, highest), float(above[-1]))
    return Statistic(attribute, "mean", (lowest + highest) / 2, low, high)


def _quantile(
    attribute: str,
    name: str,
    level: float,
    shares: Shares,
    below: Probabilities,
    above: Probabilities,
) -> Statistic:
    """Where the share up to there passes a level. Its interval (Woodruff 1952): all bins, or whole numbers, of which the reports
    do not exclude that the level is passed in them, by the standard error of the share up to each end of theirs."""
    n = len(shares.values)
    upto = np.concatenate([[0.0], np.cumsum(shares.values[:-1]), [1.0]])
    inner = [shares.error((np.arange(n) < end).astype(np.float64), level) for end in range(1, n)]
    reach = INTERVAL * np.array(
        [0.0, *inner, 0.0]
    )  # nobody is below the first bin, and everybody up to the last
    at = int(np.searchsorted(upto[1:], level - ROUNDING))
    inside = (level - upto[at]) / max(upto[at + 1] - upto[at], ROUNDING)
    value = float(below[at] + min(max(inside, 0.0), 1.0) * (above[at] - below[at]))
    first = int(np.argmax(upto[1:] + reach[1:] >= level - ROUNDING))
    last = n - 1 - int(np.argmax((upto[:-1] - reach[:-1] <= level + ROUNDING)[::-1]))
    return Statistic(attribute, name, value, float(below[first]), float(above[last]))


def shown_form(row: Statistic) -> str:
    """How the figures of a statistic are printed: with two digits of what the interval reaches to either side, so that its ends
    can be told from the estimate. Thousands are set apart from 10,000 on: most numbers of four digits are years.

    >>> row = Statistic("year", "mean", 2023.871, 2023.812, 2023.93)
    >>> f"{row.value:{shown_form(row)}}"
    '2023.871'
    """
    figures = (row.value, row.low, row.high)
    comma = "," if max(abs(figure) for figure in figures) >= LEAST_APART else ""
    if all(float(figure).is_integer() for figure in figures):
        return f"{comma}.0f"
    reached = [side for side in (row.value - row.low, row.high - row.value) if side > 0]
    least = max(min(reached), max(reached) / UNEVEN) if reached else 0
    digits = 1 - int(np.floor(np.log10(least))) if least else EXACT_DIGITS
    return f"{comma}.{min(max(digits, 0), MOST_DIGITS)}f"


def _ends(attribute: Binned | IntegerRange) -> tuple[Probabilities, Probabilities]:
    """The lower and the upper end of each bin; of a whole number, itself."""
    if isinstance(attribute, Binned):
        return np.array(attribute.bounds[:-1]), np.array(attribute.bounds[1:])
    numbers = np.arange(attribute.minimum, attribute.maximum + 1, dtype=np.float64)
    return numbers, numbers


def drawn(attribute: Binned, codes: NDArray[np.uint16], rng: np.random.Generator) -> Probabilities:
    """A number inside each record's bin, evenly; NaN where the answer is missing. In an open-ended bin: its one edge."""
    edges = np.array(attribute.bounds)
    bounds = np.clip(edges, edges[np.isfinite(edges)].min(), edges[np.isfinite(edges)].max())
    n_bins = len(bounds) - 1
    answered = codes < n_bins
    bins = np.where(answered, codes, 0).astype(np.int64)
    low, high = bounds[bins], bounds[bins + 1]
    digits = max(0, int(np.ceil(3 - np.log10(np.diff(edges).min()))))
    values = np.round(
        high - rng.random(len(codes)) * (high - low), digits
    )  # the lower edge belongs to the bin below
    inside = np.clip(values, np.nextafter(low, high), high)
    return np.where(answered, inside, np.nan)
