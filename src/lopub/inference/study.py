"""Study: a batch made ready once, and every estimate from it."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lopub.collection.batch import ReportBatch
from lopub.collection.counts import Counts
from lopub.contract.view import View
from lopub.errors import DomainError, NoiseWarning, TooFewReports
from lopub.inference.evidence import Evidence
from lopub.inference.joint import Fit, JointDistribution, Probabilities, product_of, raked
from lopub.inference.marginals import marginal_covariance, marginal_errors
from lopub.inference.methods import LINEAR, METHODS, Estimator, check_pairs_only
from lopub.inference.moments import Moments
from lopub.inference.source import Counted, Reports, Source
from lopub.inference.spread import expected_error

MOST_CELLS = 2**20
"""Cells of a clique that is estimated as one table."""
HOPELESS = 0.5
"""Expected AVD (it cannot pass 1) from which an estimate comes with a warning."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Small matrix products are faster on one thread, and their sums then do not depend on the machine's cores."""
    with threadpool_limits(1, user_api="blas"):
        yield


class Study:
    """Everything that can be asked of a batch, or of counts. Reports are put in order and marginals are estimated once."""

    def __init__(self, data: ReportBatch | Counts) -> None:
        needed = data.campaign.terms.min_reports
        if not len(data):
            raise TooFewReports("there are no reports to estimate from")
        if len(data) < needed:
            raise TooFewReports(
                f"the campaign asks for at least {needed:,} reports before anything is estimated; there are {len(data):,}"
            )
        self.campaign = data.campaign
        self.domain = data.campaign.domain
        self.source: Source = Counted(data) if isinstance(data, Counts) else Reports(data)

    @property
    def counts(self) -> Counts:
        return self.source.counts

    @property
    def single_counts(self) -> Counts:
        """Counts of attributes, or of whole views, at least; see `counts` for all."""
        return self.source.single_counts

    @property
    def moments(self) -> Moments:
        return self.source.moments

    @property
    def marginals(self) -> dict[int, Probabilities]:
        """By position; an attribute that nobody reported is not there."""
        covered = [position for position in range(len(self.domain)) if any(position in view for view in self.source.views)]
        return {position: self.marginal(position) for position in covered}

    def marginal(self, position: int) -> Probabilities:
        """Estimated when it is first asked for."""
        if position not in self._marginals:
            with one_blas_thread():
                self._marginals[position] = self.source.marginal(position)
        return self._marginals[position]

    @cached_property
    def _marginals(self) -> dict[int, Probabilities]:
        return {}

    def marginal_error(self, position: int) -> Probabilities:
        """Standard errors of a marginal."""
        known = self._marginal_errors
        if position not in known:
            known[position] = marginal_errors(self.source, position, self.marginal(position))
        return known[position]

    def marginal_covariance(self, position: int) -> Probabilities:
        """Of the shares of a marginal."""
        return marginal_covariance(self.source, position, self.marginal(position))

    @cached_property
    def _marginal_errors(self) -> dict[int, Probabilities]:
        return {}

    def evidence(self, clique: View) -> Evidence:
        """What the reports say about a clique of positions."""
        return self.source.evidence(clique)

    def summary(self, clique: View) -> Evidence:
        """What `shrunk` goes by: counts where they are enough for it, else the same."""
        return self.source.summary(clique)

    def n_covering(self, clique: View) -> int:
        """How many reports cover all of these attributes."""
        return self.source.n_covering(clique)

    def n_touching(self, clique: View) -> int:
        """How many reports cover at least one of these attributes."""
        return self.source.n_touching(clique)

    def clique(self, names: Sequence[str]) -> View:
        """The positions of these attributes, checked."""
        if not names:
            raise DomainError("name at least one attribute to estimate")
        positions = self.domain.positions(names)
        if len(set(positions)) < len(positions):
            raise DomainError(f"a clique names attribute {_repeated(names)!r} twice")
        cells = int(np.prod([float(self.domain.sizes[position]) for position in positions]))
        if cells > MOST_CELLS:
            raise DomainError(
                f"these {len(names)} attributes have {cells:,} cells together; at most {MOST_CELLS:,} can be estimated at once"
            )
        return tuple(sorted(positions))

    def estimate(self, names: Sequence[str], method: str = "shrunk", **options: Any) -> JointDistribution:
        """The joint of these attributes, in the order given."""
        joint = self.joint_of(self.clique(names), method, **options)
        order = [joint.names.index(name) for name in names]
        errors = None if joint.standard_errors is None else np.transpose(joint.standard_errors, order)
        attributes = tuple(joint.attributes[i] for i in order)
        return JointDistribution(attributes, np.transpose(joint.probabilities, order), errors, joint.fit)

    def joint_of(self, clique: View, method: str = "shrunk", **options: Any) -> JointDistribution:
        """The joint of a clique of positions, in domain order."""
        with one_blas_thread():
            return self._joint_of(clique, method, options)

    def _joint_of(self, clique: View, method: str, options: dict[str, Any]) -> JointDistribution:
        estimator = self._estimator(method)
        for position in clique:
            if not self.n_covering((position,)):
                raise TooFewReports(f"no report covers attribute {self.domain.names[position]!r}")
        if method == "product" or (len(clique) == 1 and method == "shrunk"):
            marginal = METHODS["product"](self, clique)
            return replace(marginal, fit=replace(marginal.fit, method=method))
        self._check_counts_suffice(clique, method)
        if self.n_covering(clique) or method == "lasso":
            return estimator(self, clique, **options)
        return self._from_parts(clique, method, options)

    def _check_counts_suffice(self, clique: View, method: str) -> None:
        """Counts of attributes and pairs say nothing of what reports may say about more attributes together."""
        if method == "moments":
            check_pairs_only(self.campaign, clique)
        if method not in LINEAR:
            self.source.check(clique)

    def _estimator(self, method: str) -> Estimator:
        if method not in METHODS:
            raise DomainError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        return METHODS[method]

    def _from_parts(self, clique: View, method: str, options: dict[str, Any]) -> JointDistribution:
        """No report covers the clique: the joint of largest entropy among those that agree with the parts that are covered."""
        covered = {tuple(p for p in clique if p in view) for view in self.source.views}
        largest = sorted(part for part in covered if part and not any(set(part) < set(other) for other in covered))
        joints = [self._joint_of(part, method, options) for part in largest]
        axes = [tuple(clique.index(position) for position in part) for part in largest]
        start = product_of([self.marginal(position) for position in clique])
        fitted = raked(start, axes, [joint.probabilities for joint in joints])
        attributes = tuple(self.domain.attributes[position] for position in clique)
        fit = Fit(method=method, n_reports=self.n_touching(clique), identified=False)
        return JointDistribution(attributes, fitted, None, fit)

    def warn_of_noise(self, names: Sequence[str]) -> None:
        """Warn where the noise drowns the clique, before anybody believes the estimate."""
        clique = self.clique(names)
        if not self.n_covering(clique) or not self.source.has_likelihood:
            return
        error = expected_error(self.summary(clique))
        if error is not None and error >= HOPELESS:
            about, shown = ", ".join(names), min(error, 1.0)
            warnings.warn(
                f"the reports say almost nothing about {about}: the expected AVD is {shown:.2f} of at most 1",
                NoiseWarning,
                stacklevel=3,
            )

    def pairs(
        self,
        names: Sequence[str] | None = None,
        method: str = "shrunk",
        *,
        workers: int | None = None,
        done: Callable[[int], None] | None = None,
        **options: Any,
    ) -> dict[tuple[str, str], JointDistribution]:
        """The joints of all pairs of these attributes, or of all; on all cores. done: told after each pair how many are."""
        positions = sorted(self.domain.positions(names)) if names is not None else list(range(len(self.domain)))
        cliques = list(combinations(positions, 2))
        joints = self.joints(cliques, method, workers=workers, done=done, **options)
        return {(joint.names[0], joint.names[1]): joint for joint in joints}

    def joints(
        self,
        cliques: Sequence[View],
        method: str = "shrunk",
        *,
        workers: int | None = None,
        done: Callable[[int], None] | None = None,
        **options: Any,
    ) -> list[JointDistribution]:
        """The joints of many cliques of positions, on all cores."""
        self.marginals, self._estimator(method)
        found = []
        with one_blas_thread(), ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            for joint in pool.map(lambda clique: self._joint_of(clique, method, options), cliques):
                found.append(joint)
                if done:
                    done(len(found))
        return found


def _repeated(names: Sequence[str]) -> str:
    return next(name for name in names if list(names).count(name) > 1)


def estimate(data: ReportBatch | Counts, names: Sequence[str], method: str = "shrunk", **options: Any) -> JointDistribution:
    """The joint distribution of some attributes, from noisy reports, or from their counts, alone.

    method: "shrunk" (the default), "em", "moments", "product", or the paper's "lasso" and "hybrid". Options of "em": start
    ("uniform" or "product"), stop ("change" or "paper"), tolerance, most_evaluations, accelerate; of "lasso" and "hybrid": alpha.
    """
    study = Study(data)
    study.warn_of_noise(names)
    return study.estimate(names, method, **options)


def estimate_pairs(
    data: ReportBatch | Counts, names: Sequence[str] | None = None, method: str = "shrunk", **options: Any
) -> dict[tuple[str, str], JointDistribution]:
    """The joints of all pairs of some attributes, or of all, on all cores."""
    return Study(data).pairs(names, method, **options)
