"""One-way marginals from every report that covers the attribute."""

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.build import Reports, dense_part, evidence_of
from lopub.estimation.em import MOST_EVALUATIONS, ROUNDING, TOLERANCE, em_map, run_accelerated
from lopub.estimation.evidence import Evidence
from lopub.estimation.shrunk import shrunk
from lopub.estimation.spread import standard_errors
from lopub.joint import Probabilities, raked
from lopub.mechanism import Law
from lopub.view import View

ROUNDS = 2
"""How often the views' joints and the marginals are fitted in turn; a third time changes little."""
MOST_SWEEPS = 50
SETTLED = 1e-5
"""Largest change of a marginal at which its EM ends: far below what any number of reports can tell."""


def marginals_of(reports: Reports, positions: View) -> dict[int, Probabilities]:
    """The marginal of each of these attributes; an attribute that no report covers is left out."""
    covered = [position for position in positions if any(position in view for view in _views_met(reports))]
    if reports.batch.campaign.jointly and not reports.is_direct:
        every = JointBits(reports).marginals()
        return {position: every[position] for position in covered}
    return {position: _single(reports, position) for position in covered}


def marginal_errors(reports: Reports, position: int, marginal: Probabilities) -> Probabilities:
    """Standard errors of a marginal; NaN for candidates held at zero."""
    if reports.batch.campaign.jointly and not reports.is_direct:
        return _linear_errors(reports, position, marginal)
    errors = standard_errors(evidence_of(reports, (position,)), marginal)
    return np.full(marginal.shape, np.nan) if errors is None else errors


def _linear_errors(reports: Reports, position: int, marginal: Probabilities) -> Probabilities:
    """Of the unbiased linear estimate from jointly randomized bits, which bounds those of the likelihood fit from above.

    A candidate's row of a view has as many cells as the view's other attributes; each is a one with q, and one of them, where the
    candidate is the true one, with p.
    """
    batch, precision = reports.batch, np.zeros(len(marginal))
    for number, view in enumerate(batch.views):
        n = int(reports.n_of_view[number])
        if position in view and n:
            law = batch.channels(number)[0].law()
            p, q, n_others = float(law.p), float(law.q), law.n_candidates // len(marginal)
            variance = n_others * q * (1 - q) + marginal * (p * (1 - p) - q * (1 - q)) + (p - q) ** 2 * marginal * (1 - marginal)
            precision += n * (p - q) ** 2 / variance
    return np.sqrt(1 / precision)


def _views_met(reports: Reports) -> list[View]:
    return [view for view, n in zip(reports.batch.views, reports.n_of_view, strict=True) if n]


def _single(reports: Reports, position: int) -> Probabilities:
    """Maximum likelihood from all reports that cover the attribute, alone or with others."""
    evidence = evidence_of(reports, (position,))
    start = np.full(evidence.shape, 1 / evidence.shape[0])
    slack = ROUNDING * evidence.n_reports
    return run_accelerated(em_map(evidence), start, tolerance=TOLERANCE, most=MOST_EVALUATIONS, slack=slack).joint


class JointBits:
    """Marginals where whole views were randomized to bits: the bits of a view depend on all of its attributes, so a product
    of marginals in the E-step would be inconsistent. Each view's own joint is used instead."""

    def __init__(self, reports: Reports) -> None:
        self._sizes = reports.batch.campaign.domain.sizes
        numbers = [int(number) for number in np.flatnonzero(reports.n_of_view)]
        self._views = [reports.batch.views[number] for number in numbers]
        self._parts = [dense_part(reports, number, tuple(range(len(reports.batch.views[number])))) for number in numbers]
        self._start = _linear_start(reports, numbers, self._sizes)

    def marginals(self) -> dict[int, Probabilities]:
        """Linear start, then in turn: each view's shrunk joint, and the marginals that all views' posteriors add up to."""
        marginals = self._start
        for _ in range(ROUNDS):
            joints = [
                shrunk(Evidence(part.shape, (part,)), [marginals[position] for position in view]).joint
                for view, part in zip(self._views, self._parts, strict=True)
            ]
            marginals = self._refitted(joints, marginals)
        return marginals

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


def _linear_start(reports: Reports, numbers: list[int], sizes: tuple[int, ...]) -> dict[int, Probabilities]:
    """The expected bits are linear in the view's joint: debias them, sum out the other attributes, and average over views by
    their precision. Unbiased, so consistent; then brought back to the simplex."""
    sums: dict[int, Probabilities] = {}
    weights: dict[int, float] = {}
    batch = reports.batch
    for number in numbers:
        view, law = batch.views[number], batch.channels(number)[0].law()
        shape = tuple(sizes[position] for position in view)
        frequencies = _debiased(batch.block_bits(number, 0), law).reshape(shape)
        precision = int(reports.n_of_view[number]) * float((law.p - law.q) ** 2 / (law.q * (1 - law.q)))
        for axis, position in enumerate(view):
            others = tuple(other for other in range(len(view)) if other != axis)
            weight = precision * shape[axis] / law.n_candidates
            sums[position] = sums.get(position, np.zeros(shape[axis])) + weight * frequencies.sum(axis=others)
            weights[position] = weights.get(position, 0.0) + weight
    return {position: on_simplex(sums[position] / weights[position]) for position in sums}


def _debiased(bits: NDArray[np.uint8], law: Law) -> Probabilities:
    """Unbiased frequencies of a block's candidates; by least squares where candidates share bits."""
    debiased = (bits.sum(axis=0, dtype=np.float64) / len(bits) - float(law.q)) / float(law.p - law.q)
    if law.rows is None:
        return np.asarray(debiased, dtype=np.float64)
    code = np.zeros((law.n_candidates, law.n_bits))
    for candidate, row in enumerate(law.rows):
        code[candidate, list(row)] = 1
    solution: Probabilities = np.linalg.lstsq(code.T, debiased, rcond=None)[0]
    return solution


def on_simplex(values: Probabilities) -> Probabilities:
    """The nearest distribution, by Euclid: subtract one number from all and cut at zero."""
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    cut = np.maximum(values - excess[last], 0)
    # EM cannot bring a zero back: leave every candidate a little.
    softened: Probabilities = np.maximum(cut, 1e-4 / len(values))
    distribution: Probabilities = softened / softened.sum()
    return distribution
