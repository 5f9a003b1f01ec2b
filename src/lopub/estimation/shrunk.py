"""The default estimator: noise treated as noise. MAP-EM towards the product of marginals, its strength from held-out reports."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.climb_kernels import Folds, best_strength, climb
from lopub.estimation.dense import Dense
from lopub.estimation.em import (
    MOST_EVALUATIONS,
    ROUNDING,
    TOLERANCE,
    Result,
    em_map,
    run_accelerated,
    settled,
)
from lopub.estimation.evidence import EVERY_FOLD, Evidence
from lopub.estimation.joint import Probabilities, product_of, raked
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.pseudo_counts import STRENGTHS as AVERAGED_STRENGTHS
from lopub.estimation.pseudo_counts import PseudoCounts, averaged

STRENGTHS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0)
"""Pseudo-counts as a share of the reports, strongest first, down to none at all."""
PATIENCE = 2
"""How many weaker strengths in a row may be worse than one that beat the product, before the search ends."""
MOST_COPIED = 2**22
"""Likelihoods that the compiled search may copy for its folds; with more, a step takes longer than a call anyway."""
TRIAL_TOLERANCE = 1e-5
"""Of the fits that are only compared on held-out reports: their log-likelihood settles sooner than their cells."""

CAUTION = 1.0
"""Nats by which an exact fit has to explain held-out reports better than independence to weigh as much: of a dozen fits to noise,
one or the other gains a little by chance."""
FINISH = 40
"""Exact evaluations of the chosen fit, at most: a tenth of what the search for the strength takes."""


@dataclass(frozen=True, eq=False)
class ShrunkFit:
    """joint: raked to the marginals. gain: held-out log-likelihood over the product, in nats, 0 where the product is best."""

    joint: Probabilities
    gain: float
    strength: float
    fit: Result


def shrunk(
    evidence: Evidence,
    marginals: Sequence[Probabilities],
    prior: Probabilities | None = None,
    possible: NDArray[np.bool_] | None = None,
) -> ShrunkFit:
    """The joint with the best held-out strength, fitted to all reports, then raked to the one-way marginals.

    The marginals come from more reports than the joint, so they are the better known part; raking keeps what the joint
    adds to them and drops its noise about them. prior: what to shrink towards, with zeros in cells that are not possible; the
    product of the marginals unless given.
    """
    prior = product_of(marginals) if prior is None else prior
    part = _compiled(evidence)
    if isinstance(part, PseudoCounts):
        return _averaged(part, prior, marginals, possible)
    strength, gain, start = chosen_strength(evidence, prior)
    if np.isinf(strength):
        value = evidence.log_likelihood(prior)
        return ShrunkFit(prior, 0.0, strength, Result(prior, True, 0, (value,)))
    exact = em_map(evidence, prior, strength, exact=True)
    found = fitted(evidence, prior, strength, start)
    fit = settled(exact, found, tolerance=TOLERANCE, most=MOST_EVALUATIONS, finish=FINISH)
    return ShrunkFit(_with_marginals(fit.joint, marginals), gain, strength, fit)


def _averaged(
    part: PseudoCounts,
    prior: Probabilities,
    marginals: Sequence[Probabilities],
    possible: NDArray[np.bool_] | None,
) -> ShrunkFit:
    """The same of pseudo-counts, whose fits are exact: averaged over the strengths."""
    found = averaged(part, prior, caution=CAUTION, possible=possible)
    fit = Result(found.joint, True, len(AVERAGED_STRENGTHS), (part.log_likelihood(found.joint),))
    return ShrunkFit(_with_marginals(found.joint, marginals), found.gain, found.strength, fit)


def _with_marginals(joint: Probabilities, marginals: Sequence[Probabilities]) -> Probabilities:
    return raked(joint, [(axis,) for axis in range(joint.ndim)], marginals)


def chosen_strength(evidence: Evidence, prior: Probabilities) -> tuple[float, float, Probabilities]:
    """The strength with the best log-likelihood on held-out reports, its gain over the prior, and a joint to start from."""
    if (part := _compiled(evidence)) is not None:
        return _chosen(part, prior)
    splits = [
        (evidence.within(EVERY_FOLD - {fold}), evidence.within(frozenset({fold})))
        for fold in sorted(EVERY_FOLD)
    ]
    splits = [
        (training, held_out)
        for training, held_out in splits
        if training.n_reports and held_out.n_reports
    ]
    independent = sum(held_out.log_likelihood(prior) for _, held_out in splits)
    best, best_gain, best_start, worse = np.inf, 0.0, prior, 0
    starts = [prior] * len(splits)
    for strength in STRENGTHS:
        trials = zip(splits, starts, strict=True)
        starts = [
            fitted(training, prior, strength, at, TRIAL_TOLERANCE).joint
            for (training, _), at in trials
        ]
        gain = (
            sum(
                held_out.log_likelihood(joint)
                for (_, held_out), joint in zip(splits, starts, strict=True)
            )
            - independent
        )
        if gain > best_gain:
            best, best_gain, best_start, worse = strength, gain, starts[0], 0
        elif best < np.inf and (worse := worse + 1) > PATIENCE:
            break
    return best, best_gain, best_start


def fitted(
    evidence: Evidence,
    prior: Probabilities,
    strength: float,
    start: Probabilities,
    tolerance: float = TOLERANCE,
) -> Result:
    """Maximum a posteriori, run to convergence. start: with no zeros where the prior has none."""
    if (part := _compiled(evidence)) is not None:
        return _climbed(part, prior, strength, start, tolerance)
    slack = ROUNDING * evidence.n_reports
    step = em_map(evidence, prior, strength)
    return run_accelerated(step, start, tolerance=tolerance, most=MOST_EVALUATIONS, slack=slack)


def preferred(evidence: Evidence, prior: Probabilities, least_gain: float) -> Probabilities | None:
    """The joint fitted to the reports and shrunk towards the prior; None where held-out reports do not prefer it by so much."""
    strength, gain, start = chosen_strength(evidence, prior)
    return None if gain < least_gain else fitted(evidence, prior, strength, start).joint


# ---- the same, compiled, where the evidence is a single matrix


def _compiled(evidence: Evidence) -> KeptCell | Dense | None:
    """The one part of an evidence that is nothing else, in a form that the compiled search knows."""
    part = evidence.parts[0] if len(evidence.parts) == 1 else None
    if isinstance(part, Dense) and part.size > MOST_COPIED:
        return None
    return (
        part
        if isinstance(part, KeptCell | Dense) and len(part.axes) == len(evidence.shape)
        else None
    )


def _matrix(part: KeptCell | Dense) -> tuple[Probabilities | NDArray[np.float32], Probabilities]:
    """The matrix and the keeps of a part."""
    if isinstance(part, Dense):
        return np.ascontiguousarray(part.rows), np.zeros(0)
    return part.counts.sum(axis=0, dtype=np.float64), part.keeps


def _chosen(part: KeptCell | Dense, prior: Probabilities) -> tuple[float, float, Probabilities]:
    folds = [
        fold
        for fold in sorted(EVERY_FOLD)
        if 0 < part.within(frozenset({fold})).n_reports < part.n_reports
    ]
    if not folds:
        return np.inf, 0.0, prior
    keeps, strengths, trace = _matrix(part)[1], np.array(STRENGTHS), np.empty(MOST_EVALUATIONS)
    number, gain, start = best_strength(
        _folds(part, folds), keeps, prior.reshape(-1), strengths, TRIAL_TOLERANCE, PATIENCE, trace
    )
    return (STRENGTHS[number] if number >= 0 else np.inf), gain, start.reshape(prior.shape)


def _folds(part: KeptCell | Dense, folds: Sequence[int]) -> Folds:
    """Each of these folds held out in turn."""
    held_outs = [_matrix(part.within(frozenset({fold})))[0] for fold in folds]
    training_parts = [part.within(EVERY_FOLD - {fold}) for fold in folds]
    trainings = [_matrix(training)[0] for training in training_parts]
    ends = [
        np.cumsum([0, *(len(rows) for rows in matrices)]) for matrices in (trainings, held_outs)
    ]
    bounds = np.stack([ends[0][:-1], ends[0][1:], ends[1][:-1], ends[1][1:]], axis=1)
    sizes = np.array([float(training.n_reports) for training in training_parts])
    return Folds(
        np.concatenate(trainings), np.concatenate(held_outs), bounds, sizes, ROUNDING * sizes
    )


def _climbed(
    part: KeptCell | Dense,
    prior: Probabilities,
    strength: float,
    start: Probabilities,
    tolerance: float,
) -> Result:
    matrix, keeps = _matrix(part)
    pseudo, slack = strength * part.n_reports * prior.reshape(-1), ROUNDING * part.n_reports
    trace = np.empty(MOST_EVALUATIONS)
    joint, converged, n_evaluations, n_trace = climb(
        matrix, keeps, pseudo, start.reshape(-1), tolerance, slack, trace
    )
    return Result(
        joint.reshape(prior.shape),
        bool(converged),
        int(n_evaluations),
        tuple(trace[:n_trace].tolist()),
    )
