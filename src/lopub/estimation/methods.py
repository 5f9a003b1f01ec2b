"""The estimators: each a small frozen class whose fields are its options. A new one is a class here and a line in METHODS."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.errors import DomainError, checks_options
from lopub.estimation import em as expectation
from lopub.estimation.averaging import Each
from lopub.estimation.basis import Basis
from lopub.estimation.evidence import Evidence
from lopub.estimation.joint import Fit, JointDistribution, Probabilities
from lopub.estimation.lasso import lasso_joint
from lopub.estimation.shrunk import shrunk
from lopub.estimation.spread import MOST_CELLS, errors_from, product_errors, standard_errors
from lopub.reports.counts import form_of
from lopub.reports.showing import changed_fields

Option = str | int | float | bool | None
"""What an option of an estimator can be; files name it so."""


@dataclass(frozen=True)
class Estimator(ABC):
    """How the joint of a clique is estimated: called with the reports, or counts, and a clique that some of them cover."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint of the clique. clique: positions in the domain, ascending."""

    def prepare(self, basis: Basis, each: Each) -> None:
        """What has to be known once before the first estimate. each: `map`, or the same on several cores."""
        return

    def information(
        self, basis: Basis, clique: Clique, joint: Probabilities
    ) -> Probabilities | None:
        """About the cells of its joint, from which all their errors follow; None where it has none."""
        return None

    @property
    def options(self) -> dict[str, Option]:
        """The options that differ from their defaults, by name."""
        return changed_fields(self)


@dataclass(frozen=True, kw_only=True)
class _Climbing(Estimator):
    """EM from a first joint."""

    stop: expectation.Stop = "change"
    """When to end: once no cell changes any more, or as the paper's Algorithm 1 does, which is sooner."""
    tolerance: float | None = None
    """The change below which to end; None: the default of the chosen stop."""
    most_evaluations: int = expectation.MOST_EVALUATIONS
    """Evaluations of the EM map after which to give up."""
    accelerate: bool | None = None
    """Whether to take larger steps than EM's own; None: unless the paper's stop is asked for."""

    def __post_init__(self) -> None:
        if self.stop not in ("change", "paper"):
            raise DomainError(f"stop must be change or paper, got {self.stop!r}")
        if self.tolerance is not None and not self.tolerance > 0:
            raise DomainError(f"tolerance must be above 0, got {self.tolerance:g}")
        if self.most_evaluations < 1:
            raise DomainError(f"most_evaluations must be at least 1, got {self.most_evaluations}")

    @property
    def _gap(self) -> float:
        usual = expectation.PAPER_TOLERANCE if self.stop == "paper" else expectation.TOLERANCE
        return usual if self.tolerance is None else self.tolerance

    def _climbed(self, evidence: Evidence, first: Probabilities) -> expectation.Result:
        step, most = expectation.em_map(evidence), self.most_evaluations
        if self.accelerate if self.accelerate is not None else self.stop == "change":
            slack, patience = expectation.ROUNDING * evidence.n_reports, expectation.STALLED
            return expectation.run_accelerated(
                step, first, tolerance=self._gap, most=most, slack=slack, patience=patience
            )
        return expectation.run_plain(step, first, stop=self.stop, tolerance=self._gap, most=most)

    def information(
        self, basis: Basis, clique: Clique, joint: Probabilities
    ) -> Probabilities | None:
        return basis.evidence(clique).information(joint)

    def _converged(self, basis: Basis, clique: Clique, first: Probabilities) -> JointDistribution:
        """EM from a first joint; where that is zero, so is the result."""
        evidence = basis.evidence(clique)
        result = self._climbed(evidence, first)
        if self.stop == "change":
            exact = expectation.em_map(evidence, exact=True)
            result = expectation.settled(
                exact, result, tolerance=self._gap, most=self.most_evaluations
            )
        fit = Fit(
            method=self.name,
            n_reports=evidence.n_reports,
            converged=result.converged,
            n_evaluations=result.n_evaluations,
            trace=result.trace,
        )
        return _joint(basis, clique, result.joint, standard_errors(evidence, result.joint), fit)


@checks_options
@dataclass(frozen=True, kw_only=True)
class Em(_Climbing):
    """Maximum likelihood (Algorithm 1, corrected): run to convergence, accelerated unless the paper's stop is asked for."""

    name: ClassVar[str] = "em"
    start: Literal["uniform", "product"] = "uniform"
    """Where to begin: every cell equally likely, or the product of the marginals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in ("uniform", "product"):
            raise DomainError(f"start must be uniform or product, got {self.start!r}")

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint under which the reports are most likely."""
        if self.start == "product":
            return self._converged(basis, clique, basis.independent(clique))
        sizes = [basis.domain.sizes[position] for position in clique]
        return self._converged(
            basis, clique, _possible(basis, clique, np.full(sizes, 1 / np.prod(sizes)))
        )


@checks_options
@dataclass(frozen=True, kw_only=True)
class Shrunk(Estimator):
    """Maximum a posteriori towards the product of marginals, its strength from held-out reports, then raked to the marginals."""

    name: ClassVar[str] = "shrunk"

    def prepare(self, basis: Basis, each: Each) -> None:
        if basis.reader.averages and basis.has_reports:
            basis.experience.learn(each)

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The shrunk joint; of a single attribute, its marginal."""
        if len(clique) == 1:
            marginal = Product()(basis, clique)
            return replace(marginal, fit=replace(marginal.fit, method=self.name))
        marginals = [basis.marginal(position) for position in clique]
        evidence = basis.summary(clique)
        about_dependence = evidence.covering(2)
        if basis.reader.averages:
            result = basis.experience.shrunk(clique)
        else:
            result = shrunk(
                about_dependence, marginals, basis.independent(clique), basis.agreement.mask(clique)
            )
        fit = Fit(
            method=self.name,
            n_reports=evidence.n_reports,
            converged=result.fit.converged,
            n_evaluations=result.fit.n_evaluations,
            trace=result.fit.trace,
            gain=result.gain,
            strength=result.strength,
        )
        # The errors before shrinking: what the reports can tell. A spread of the shrunk joint would leave out its bias.
        joint = basis.conformed(clique, result.joint)
        return _joint(basis, clique, joint, standard_errors(about_dependence, joint), fit)

    def information(
        self, basis: Basis, clique: Clique, joint: Probabilities
    ) -> Probabilities | None:
        return basis.summary(clique).covering(2).information(joint)


@checks_options
@dataclass(frozen=True, kw_only=True)
class Product(Estimator):
    """The product of the one-way marginals: what independence would give."""

    name: ClassVar[str] = "product"

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint of independent attributes."""
        joint = basis.independent(clique)
        fit = Fit(method=self.name, n_reports=basis.n_touching(clique))
        return _joint(basis, clique, joint, _independent_errors(basis, clique), fit)


@checks_options
@dataclass(frozen=True, kw_only=True)
class Moments(Estimator):
    """Regression on debiased co-occurrences of bits, whitened, under the simplex; from counts alone. One or two attributes; more
    where a whole view that covers them was randomized to bits. Its intervals leave out what the simplex adds."""

    name: ClassVar[str] = "moments"

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint on the simplex that is nearest to what the counts say."""
        joint = (
            basis.conformed(clique, basis.moments.joint(clique))
            if len(clique) > 1
            else basis.moments.joint(clique)
        )
        fit = Fit(method=self.name, n_reports=basis.n_covering(clique))
        small = joint.size <= MOST_CELLS
        return _joint(
            basis,
            clique,
            joint,
            errors_from(basis.moments.information(clique), joint) if small else None,
            fit,
        )

    def information(
        self, basis: Basis, clique: Clique, joint: Probabilities
    ) -> Probabilities | None:
        return basis.moments.information(clique)


@checks_options
@dataclass(frozen=True, kw_only=True)
class Lasso(Estimator):
    """Algorithm 2, faithful. It cannot see dependence: on the 12 most dependent pairs of Adult (f = 0.5) it is off by 0.396 on
    average, where the product of marginals is off by 0.289; `Moments` is the regression that works. No standard errors."""

    name: ClassVar[str] = "lasso"
    alpha: float | None = None
    """The penalty; None: the universal threshold."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint that the regression keeps."""
        joint = _possible(
            basis, clique, lasso_joint(basis.single_counts, clique, self.alpha, method=self.name)
        )
        n_reports = min(basis.n_covering((position,)) for position in clique)
        return _joint(basis, clique, joint, None, Fit(method=self.name, n_reports=n_reports))


@checks_options
@dataclass(frozen=True, kw_only=True)
class Hybrid(_Climbing):
    """Algorithm 3: EM from the Lasso's joint and on its support. A cell that the Lasso drops never returns, so on the 12 most
    dependent pairs of Adult (f = 0.5) it ends at 0.049 where `Em` ends at 0.015."""

    name: ClassVar[str] = "hybrid"
    alpha: float | None = None
    """The penalty of the Lasso; None: the universal threshold."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_alpha(self.alpha)

    def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
        """The joint under which the reports are most likely, among those on the Lasso's support."""
        first = _possible(
            basis, clique, lasso_joint(basis.single_counts, clique, self.alpha, method=self.name)
        )
        return self._converged(basis, clique, first)


METHODS: dict[str, type[Estimator]] = {
    kind.name: kind for kind in (Shrunk, Em, Moments, Product, Lasso, Hybrid)
}
"""By the names that people give them; without arguments, each has its usual options."""
LINEAR = frozenset({"moments", "lasso"})
"""Methods that read a clique off any counts about it, as linear equations."""


def estimator_of(method: str | Estimator) -> Estimator:
    """The estimator that is given, or that has this name."""
    if isinstance(method, Estimator):
        return method
    if not isinstance(method, str):
        raise DomainError(
            f"method must be a name, or an estimator such as Em(), got {type(method).__name__}"
        )
    if method not in METHODS:
        raise DomainError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[method]()


def stopping(method: str, stop: str | None) -> Estimator:
    """The estimator of this name, ending by this rule; None: by its usual one."""
    estimator = estimator_of(method)
    if stop is None:
        return estimator
    rules: dict[str, expectation.Stop] = {"change": "change", "paper": "paper"}
    if stop not in rules:
        raise DomainError(f"stop must be {' or '.join(rules)}, got {stop!r}")
    if not isinstance(estimator, _Climbing):
        raise DomainError(f"stop is a choice of methods em and hybrid, not of {method}")
    return replace(estimator, stop=rules[stop])


def check_pairs_only(campaign: Campaign, clique: Clique) -> None:
    """Refuse more than two attributes to `moments`, except where whole views were randomized to bits."""
    if len(clique) > 2 and not form_of(campaign).whole_views:
        raise DomainError(
            f"method moments knows co-occurrences of two attributes, got {len(clique)}; use shrunk or em"
        )


def _check_alpha(alpha: float | None) -> None:
    if alpha is not None and not alpha >= 0:
        raise DomainError(f"alpha must not be negative, got {alpha:g}")


def _independent_errors(basis: Basis, clique: Clique) -> Probabilities:
    marginals = [basis.marginal(position) for position in clique]
    return product_errors(marginals, [basis.marginal_error(position) for position in clique])


def _possible(basis: Basis, clique: Clique, joint: Probabilities) -> Probabilities:
    """The joint without the cells that the questionnaire rules out; where nothing of it is left, near independence."""
    mask = basis.agreement.mask(clique)
    if mask is None:
        return joint
    kept = np.where(mask, joint, 0.0)
    return (
        np.asarray(kept / kept.sum(), dtype=np.float64)
        if kept.sum() > 0
        else basis.independent(clique)
    )


def _joint(
    basis: Basis,
    clique: Clique,
    probabilities: Probabilities,
    errors: Probabilities | None,
    fit: Fit,
) -> JointDistribution:
    return JointDistribution(
        tuple(basis.domain.attributes[position] for position in clique), probabilities, errors, fit
    )
