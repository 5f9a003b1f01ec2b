"""One-way marginals from every report that covers the attribute."""

import numpy as np

from lopub.counts import is_bits
from lopub.estimation.build import Reports, Source
from lopub.estimation.em import MOST_EVALUATIONS, ROUNDING, TOLERANCE, em_map, run_accelerated
from lopub.estimation.spread import AT_ZERO, covariance_from
from lopub.joint import Probabilities
from lopub.view import View


def marginals_of(source: Source, positions: View) -> dict[int, Probabilities]:
    """The marginal of each of these attributes; an attribute that no report covers is left out."""
    covered = [position for position in positions if any(position in view for view in source.views)]
    if is_bits(source.campaign) and not isinstance(source, Reports):
        return {position: source.moments.marginal(position) for position in covered}
    if is_bits(source.campaign) and isinstance(source, Reports) and source.campaign.jointly:
        return {position: source.joint_bits.marginals[position] for position in covered}
    return {position: _single(source, position) for position in covered}


def marginal_errors(source: Source, position: int, marginal: Probabilities) -> Probabilities:
    """Standard errors of a marginal; NaN for candidates held at zero."""
    variances = np.diag(marginal_covariance(source, position, marginal))
    return np.where(marginal > AT_ZERO, np.sqrt(np.maximum(variances, 0)), np.nan)


def marginal_covariance(source: Source, position: int, marginal: Probabilities) -> Probabilities:
    """Of a marginal's shares. From counts of jointly randomized bits, and where views have too many cells for their information,
    that of the linear estimate, which is the wider one."""
    if is_bits(source.campaign) and not isinstance(source, Reports):
        information = source.moments.information((position,))
    else:
        information = source.evidence((position,)).information(marginal)
    if information is not None:
        return covariance_from(information, marginal)
    knows = source.campaign.jointly and source.moments.knows((position,))
    linear = source.moments.covariance((position,)) if knows else None
    return linear if linear is not None else np.full((len(marginal),) * 2, np.nan)


def _single(source: Source, position: int) -> Probabilities:
    """Maximum likelihood from all reports that cover the attribute, alone or with others."""
    evidence = source.evidence((position,))
    start = np.full(evidence.shape, 1 / evidence.shape[0])
    slack = ROUNDING * evidence.n_reports
    return run_accelerated(em_map(evidence), start, tolerance=TOLERANCE, most=MOST_EVALUATIONS, slack=slack).joint
