"""How large epsilon is at least, from counts: Clopper-Pearson bounds of two probabilities."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


def lower_probability(hits: Counts, n: int, alpha: float) -> Numbers:
    """Below the true probability with a chance of at least 1 - alpha."""
    from scipy.special import (
        betaincinv,
    )  # takes a while to load, which commands that do not need it need not wait for

    k = hits.astype(float)
    return np.where(hits > 0, betaincinv(np.maximum(k, 1), n - k + 1, alpha), 0.0)


def upper_probability(hits: Counts, n: int, alpha: float) -> Numbers:
    """Above the true probability with a chance of at least 1 - alpha."""
    from scipy.special import betaincinv

    k = hits.astype(float)
    return np.where(hits < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - alpha), 1.0)


def epsilon_below(hits: Counts, n: int, other_hits: Counts, other_n: int, alpha: float) -> Numbers:
    """ln(P(event | one record) / P(event | another)) is not below this, but for a chance of at most alpha for each event."""
    low, high = (
        lower_probability(hits, n, alpha / 2),
        upper_probability(other_hits, other_n, alpha / 2),
    )
    return np.log(np.maximum(low, 1e-300)) - np.log(high)


def agree_too_often(matches: int, n: int, usual_matches: int, usual_n: int, alpha: float) -> bool:
    """Whether two processes say the same more often than two respondents of one process do."""
    usual = upper_probability(np.array([usual_matches]), usual_n, alpha / 2)[0]
    low = lower_probability(np.array([matches]), n, alpha / 2)[0]
    return bool(low > usual)
