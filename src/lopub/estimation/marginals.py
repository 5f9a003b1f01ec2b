"""One-way marginals from every report that covers the attribute."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lopub.counts import is_bits
from lopub.estimation.build import Reports, Source, dense_part
from lopub.estimation.em import MOST_EVALUATIONS, ROUNDING, TOLERANCE, em_map, run_accelerated
from lopub.estimation.evidence import Evidence
from lopub.estimation.moments import Moments
from lopub.estimation.shrunk import shrunk
from lopub.estimation.spread import covariance_from, errors_from, standard_errors
from lopub.joint import Probabilities, raked
from lopub.view import View

ROUNDS = 2
"""How often the views' joints and the marginals are fitted in turn; a third time changes little."""
MOST_SWEEPS = 50
SETTLED = 1e-5
"""Largest change of a marginal at which its EM ends: far below what any number of reports can tell."""


def marginals_of(source: Source, moments: Moments, positions: View) -> dict[int, Probabilities]:
    """The marginal of each of these attributes; an attribute that no report covers is left out."""
    covered = [position for position in positions if any(position in view for view in source.views)]
    if not is_bits(source.campaign):
        return {position: _single(source, position) for position in covered}
    if not isinstance(source, Reports):
        return {position: moments.marginal(position) for position in covered}
    if source.campaign.jointly:
        every = JointBits(source, {position: moments.marginal(position) for position in covered}).marginals()
        return {position: every[position] for position in covered}
    return {position: _single(source, position) for position in covered}


def marginal_errors(source: Source, moments: Moments, position: int, marginal: Probabilities) -> Probabilities:
    """Standard errors of a marginal; NaN for candidates held at zero."""
    if is_bits(source.campaign) and source.campaign.jointly:
        return _linear_errors(source, position, marginal)
    if is_bits(source.campaign) and not isinstance(source, Reports):
        errors = errors_from(moments.information((position,)), marginal)
    else:
        errors = standard_errors(source.evidence((position,)), marginal)
    return np.full(marginal.shape, np.nan) if errors is None else errors


def marginal_covariance(source: Source, moments: Moments, position: int, marginal: Probabilities) -> Probabilities:
    """Of a marginal's shares. Jointly randomized bits: as if the shares' errors were independent."""
    if is_bits(source.campaign) and source.campaign.jointly:
        return np.diag(_linear_errors(source, position, marginal) ** 2)
    if is_bits(source.campaign) and not isinstance(source, Reports):
        information = moments.information((position,))
    else:
        information = source.evidence((position,)).information(marginal)
    return covariance_from(information, marginal) if information is not None else np.full((len(marginal),) * 2, np.nan)


def _linear_errors(source: Source, position: int, marginal: Probabilities) -> Probabilities:
    """Of the unbiased linear estimate from jointly randomized bits, which bounds those of the likelihood fit from above.

    A candidate's row of a view has as many cells as the view's other attributes; each is a one with q, and one of them, where the
    candidate is the true one, with p.
    """
    attributes, precision = source.campaign.domain.attributes, np.zeros(len(marginal))
    for (view, _), table in source.counts.tables.items():
        if position in view:
            law = source.campaign.mechanism.channel(tuple(attributes[p] for p in view), 1).law()
            p, q, n_others = float(law.p), float(law.q), law.n_candidates // len(marginal)
            variance = n_others * q * (1 - q) + marginal * (p * (1 - p) - q * (1 - q)) + (p - q) ** 2 * marginal * (1 - marginal)
            precision += table.n_reports * (p - q) ** 2 / variance
    return np.sqrt(1 / precision)


def _single(source: Source, position: int) -> Probabilities:
    """Maximum likelihood from all reports that cover the attribute, alone or with others."""
    evidence = source.evidence((position,))
    start = np.full(evidence.shape, 1 / evidence.shape[0])
    slack = ROUNDING * evidence.n_reports
    return run_accelerated(em_map(evidence), start, tolerance=TOLERANCE, most=MOST_EVALUATIONS, slack=slack).joint


class JointBits:
    """Marginals where whole views were randomized to bits: the bits of a view depend on all of its attributes, so a product
    of marginals in the E-step would be inconsistent. Each view's own joint is used instead."""

    def __init__(self, reports: Reports, start: dict[int, Probabilities]) -> None:
        self._sizes = reports.campaign.domain.sizes
        numbers = [int(number) for number in np.flatnonzero(reports.n_of_view)]
        self._views = [reports.batch.views[number] for number in numbers]
        self._parts = [dense_part(reports, number, tuple(range(len(reports.batch.views[number])))) for number in numbers]
        self._start = {position: _softened(marginal) for position, marginal in start.items()}

    def marginals(self) -> dict[int, Probabilities]:
        """A start, then in turn: each view's shrunk joint, and the marginals that all views' posteriors add up to."""
        marginals = self._start
        for _ in range(ROUNDS):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                joints = list(pool.map(lambda place, now=marginals: self._joint(place, now), range(len(self._views))))
            marginals = self._refitted(joints, marginals)
        return marginals

    def _joint(self, place: int, marginals: dict[int, Probabilities]) -> Probabilities:
        """One view's own shrunk joint."""
        part = self._parts[place]
        return shrunk(Evidence(part.shape, (part,)), [marginals[position] for position in self._views[place]]).joint

    def _refitted(self, joints: list[Probabilities], marginals: dict[int, Probabilities]) -> dict[int, Probabilities]:
        """EM for the marginals alone: every view's joint keeps its interactions and is raked to the current marginals."""
        for _ in range(MOST_SWEEPS):
            counts = {position: np.zeros(self._sizes[position]) for position in marginals}
            for view, part, joint in zip(self._views, self._parts, joints, strict=True):
                axes = [(axis,) for axis in range(len(view))]
                current = raked(joint, axes, [marginals[position] for position in view], sweeps=10, tolerance=1e-7)
                expected = current * part.step(current)[1]
                for axis, position in enumerate(view):
                    others = tuple(other for other in range(len(view)) if other != axis)
                    counts[position] += expected.sum(axis=others)
            following = {position: count / count.sum() for position, count in counts.items()}
            moved = max(float(np.abs(following[position] - marginals[position]).max()) for position in marginals)
            marginals = following
            if moved < SETTLED:
                break
        return marginals


def _softened(marginal: Probabilities) -> Probabilities:
    """EM cannot bring a zero back: leave every candidate a little."""
    softened: Probabilities = np.maximum(marginal, 1e-4 / len(marginal))
    distribution: Probabilities = softened / softened.sum()
    return distribution
