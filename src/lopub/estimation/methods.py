"""The estimators, behind one protocol. A new one is a function here and a line in METHODS."""

from typing import Literal, Protocol

import numpy as np

from lopub.domain import Domain
from lopub.errors import DomainError
from lopub.estimation import em as expectation
from lopub.estimation.evidence import Evidence
from lopub.estimation.shrunk import shrunk
from lopub.estimation.spread import product_errors, standard_errors
from lopub.joint import Fit, JointDistribution, Probabilities, product_of
from lopub.view import View


class Sources(Protocol):
    """What an estimator may ask for besides the evidence."""

    domain: Domain

    def marginal(self, position: int) -> Probabilities: ...

    def marginal_error(self, position: int) -> Probabilities: ...

    def n_covering(self, clique: View) -> int: ...


class Estimator(Protocol):
    """Evidence about a clique, some of it about the whole clique -> its joint."""

    def __call__(self, sources: Sources, clique: View, evidence: Evidence, /, **options: object) -> JointDistribution: ...


def em(
    sources: Sources,
    clique: View,
    evidence: Evidence,
    /,
    *,
    start: Literal["uniform", "product"] = "uniform",
    stop: expectation.Stop = "change",
    tolerance: float | None = None,
    most_evaluations: int = expectation.MOST_EVALUATIONS,
    accelerate: bool | None = None,
) -> JointDistribution:
    """Maximum likelihood (Algorithm 1, corrected): run to convergence, accelerated unless the paper's stop is asked for."""
    if start not in ("uniform", "product"):
        raise DomainError(f"start must be uniform or product, got {start!r}")
    if stop not in ("change", "paper"):
        raise DomainError(f"stop must be change or paper, got {stop!r}")
    uniform = np.full(evidence.shape, 1 / np.prod(evidence.shape))
    first = uniform if start == "uniform" else product_of([sources.marginal(position) for position in clique])
    gap = tolerance if tolerance is not None else expectation.PAPER_TOLERANCE if stop == "paper" else expectation.TOLERANCE
    step = expectation.em_map(evidence)
    if accelerate if accelerate is not None else stop == "change":
        slack = expectation.ROUNDING * evidence.n_reports
        result = expectation.run_accelerated(step, first, tolerance=gap, most=most_evaluations, slack=slack)
    else:
        result = expectation.run_plain(step, first, stop=stop, tolerance=gap, most=most_evaluations)
    fit = Fit(
        method="em",
        n_reports=evidence.n_reports,
        converged=result.converged,
        n_evaluations=result.n_evaluations,
        trace=result.trace,
    )
    return _joint(sources, clique, result.joint, standard_errors(evidence, result.joint), fit)


def shrink(sources: Sources, clique: View, evidence: Evidence, /) -> JointDistribution:
    """Maximum a posteriori towards the product of marginals, its strength from held-out reports, then raked to the marginals."""
    marginals = [sources.marginal(position) for position in clique]
    about_dependence = evidence.covering(2)
    if len(clique) == 1 or not about_dependence.parts:
        return product(sources, clique, evidence)
    result = shrunk(about_dependence, marginals)
    fit = Fit(
        method="shrunk",
        n_reports=evidence.n_reports,
        converged=result.fit.converged,
        n_evaluations=result.fit.n_evaluations,
        trace=result.fit.trace,
        gain=result.gain,
        strength=result.strength,
    )
    if np.isinf(result.strength):
        return _joint(sources, clique, result.joint, _independent_errors(sources, clique), fit)
    errors = standard_errors(about_dependence, result.joint, product_of(marginals), result.strength)
    return _joint(sources, clique, result.joint, errors, fit)


def product(sources: Sources, clique: View, evidence: Evidence, /) -> JointDistribution:
    """The product of the one-way marginals: what independence would give."""
    joint = product_of([sources.marginal(position) for position in clique])
    fit = Fit(method="product", n_reports=sources.n_covering(clique))
    return _joint(sources, clique, joint, _independent_errors(sources, clique), fit)


def _independent_errors(sources: Sources, clique: View) -> Probabilities:
    marginals = [sources.marginal(position) for position in clique]
    return product_errors(marginals, [sources.marginal_error(position) for position in clique])


def _joint(
    sources: Sources, clique: View, probabilities: Probabilities, errors: Probabilities | None, fit: Fit
) -> JointDistribution:
    return JointDistribution(tuple(sources.domain.attributes[position] for position in clique), probabilities, errors, fit)


METHODS: dict[str, Estimator] = {"shrunk": shrink, "em": em, "product": product}  # type: ignore[dict-item]
