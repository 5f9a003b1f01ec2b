"""How far one-way marginals may be off."""

import numpy as np

from lopub.inference.joint import Probabilities
from lopub.inference.source import Source
from lopub.inference.spread import free_covariance


def marginal_errors(source: Source, position: int, marginal: Probabilities) -> Probabilities:
    """Standard errors of a marginal, of candidates that the fit holds at zero, too."""
    variances = np.diag(marginal_covariance(source, position, marginal))
    return np.asarray(np.sqrt(np.maximum(variances, 0)), dtype=np.float64)


def marginal_covariance(source: Source, position: int, marginal: Probabilities) -> Probabilities:
    """Of a marginal's shares. From counts of jointly randomized bits, and where views have too many cells for their information,
    that of the linear estimate, which is the wider one."""
    if not source.has_likelihood:
        information = source.moments.information((position,))
    else:
        information = source.summary((position,)).information(marginal)
    if information is not None:
        return free_covariance(information)
    knows = source.campaign.jointly and source.moments.knows((position,))
    linear = source.moments.covariance((position,)) if knows else None
    return linear if linear is not None else np.full((len(marginal),) * 2, np.nan)
