"""Study: the one door for analysis, from reports or from their counts."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa

from lopub.bulk.support import Support
from lopub.campaign.domain import Clique, Domain, names_of
from lopub.campaign.texts import one_line
from lopub.errors import DomainError, NoiseWarning, TooFewReports, checks_options
from lopub.estimation.basis import Basis, CountsAlone, Reports
from lopub.estimation.blas import one_blas_thread
from lopub.estimation.independence import independence_gain
from lopub.estimation.joint import Fit, JointDistribution, Probabilities, raked
from lopub.estimation.methods import LINEAR, Estimator, check_pairs_only, estimator_of
from lopub.estimation.shrunk import preferred
from lopub.estimation.spread import covariance_from, expected_error
from lopub.queries.answering import answered
from lopub.queries.grounds import Grounds
from lopub.queries.predicates import Question
from lopub.queries.queries import Asking
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, slots_of
from lopub.reports.progress import Progress, silent
from lopub.reports.showing import Shown
from lopub.reports.threads import threads

MOST_CELLS = 2**20
"""Cells of a clique that is estimated as one table."""
MOST_REFINED_CELLS = 5_000
"""Cells of a clique that is fitted to the reports as a whole."""
MOST_COVARIANCE = 1_024
"""Cells of a joint that comes with the covariance of all of them."""
HOPELESS = 0.5
"""Expected AVD (it cannot pass 1) from which an estimate comes with a warning."""


class Study(Asking, Shown):
    """Everything that can be asked of noisy reports, or of their counts. Each marginal is estimated once.

    Attributes are in the order of their names, whatever order the campaign has them in, so that no result depends on the order
    of a table's columns: `domain` lists them so, and positions and cliques refer to it. Names may be given in any order; joints
    come back in that order.

    data: the reports, or their counts, that it was made from. campaign: theirs, with the attributes in its own order.
    """

    def __init__(self, data: ReportBatch | Counts) -> None:
        if not isinstance(data, ReportBatch | Counts):
            raise DomainError(
                f"data must be a ReportBatch or Counts, got {type(data).__name__}; ReportBatch.load and Counts.load read files"
            )
        _refuse_too_few(data)
        _refuse_several_rounds(data)
        self.data = data
        self.campaign = data.campaign
        self.domain = Domain(
            tuple(sorted(data.campaign.domain.attributes, key=lambda attribute: attribute.name))
        )
        self._basis: Basis = CountsAlone(data) if isinstance(data, Counts) else Reports(data)

    def __len__(self) -> int:
        """The number of reports."""
        return len(self.data)

    def __repr__(self) -> str:
        made_of = "reports" if self.has_reports else "counted reports"
        return one_line(
            self,
            repr(self.campaign.terms.name),
            f"{len(self.domain)} attributes",
            f"{len(self):,} {made_of}",
        )

    def to_arrow(self) -> pa.Table:
        """One row per attribute: its candidates, and how many reports cover it."""
        attributes = self.campaign.domain.attributes
        covering = [self._basis.n_covering((position,)) for position in range(len(attributes))]
        names, sizes = (
            [attribute.name for attribute in attributes],
            [attribute.size for attribute in attributes],
        )
        return pa.table({"attribute": names, "candidates": sizes, "n_reports": covering})

    # ---- by name

    def estimate(
        self, names: str | Sequence[str], method: str | Estimator = "shrunk"
    ) -> JointDistribution:
        """The joint of these attributes, in the order given; a single name is one attribute. Its errors are known together, so
        that what is summed up or conditioned on keeps them."""
        clique, estimator = self.clique(names), estimator_of(method)
        with one_blas_thread():
            joint = self._joint_of(clique, estimator)
            return self._with_covariance(joint, self._own(clique), estimator)

    def pairs(
        self,
        names: str | Sequence[str] | None = None,
        method: str | Estimator = "shrunk",
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> dict[tuple[str, str], JointDistribution]:
        """The joints of all pairs of these attributes, in the order given, or of all, in the campaign's; on all cores.
        progress: told after each pair."""
        positions = self._positions(
            self.campaign.domain.names if names is None else names_of(names)
        )
        if names is not None and len(positions) < 2:
            raise DomainError(
                f"names must list at least two attributes to make a pair, got {len(positions)}"
            )
        joints = self.joints(
            list(combinations(positions, 2)), method, workers=workers, progress=progress
        )
        return {(joint.names[0], joint.names[1]): joint for joint in joints}

    def clique(self, names: str | Sequence[str]) -> Clique:
        """The positions of these attributes, in the order given, checked."""
        names = names_of(names)
        if not names:
            raise DomainError("name at least one attribute to estimate")
        positions = self._positions(names)
        cells = int(np.prod([float(self.domain.sizes[position]) for position in positions]))
        if cells > MOST_CELLS:
            raise DomainError(
                f"these {len(names)} attributes have {cells:,} cells together; at most {MOST_CELLS:,} can be estimated at once"
            )
        return positions

    def _positions(self, names: Sequence[str]) -> Clique:
        positions = self.domain.positions(names)
        if len(set(positions)) < len(positions):
            raise DomainError(f"a clique names attribute {_repeated(names)!r} twice")
        return positions

    def check_covered(self, names: Sequence[str]) -> None:
        """Refuse an attribute that no report covers."""
        for name in names:
            if not self.n_covering((self.domain.position(name),)):
                raise TooFewReports(f"no report covers attribute {name!r}")

    def warn_of_noise(self, names: str | Sequence[str]) -> None:
        """Warn where the reports are too noisy to say anything about these attributes together."""
        own = self._own(self.clique(names))
        if not self._basis.n_covering(own) or not self.has_likelihood:
            return
        error = expected_error(self._basis.summary(own))
        if error is not None and error >= HOPELESS:
            about, shown = ", ".join(names_of(names)), min(error, 1.0)
            warnings.warn(
                f"the reports say almost nothing about {about}: the expected AVD is {shown:.2f} of at most 1",
                NoiseWarning,
                stacklevel=4,
            )

    # ---- what there is

    @property
    def has_reports(self) -> bool:
        """Whether the reports themselves can be asked, not their counts alone."""
        return self._basis.has_reports

    @property
    def has_likelihood(self) -> bool:
        """Whether attributes and pairs can be estimated by likelihood; otherwise only with linear methods."""
        return self._basis.has_likelihood

    @property
    def slots(self) -> tuple[int, int] | None:
        """The first and the last slot of the reports; None of counts out of a file that does not tell them."""
        return self._basis.slots

    @property
    def counts(self) -> Counts:
        """The counts of the reports. Their tables have the campaign's positions."""
        return self._basis.counts

    @property
    def single_counts(self) -> Counts:
        """Counts of attributes, or of whole views, at least, which take much less time than all."""
        return self._basis.single_counts

    @property
    def reports_per_pair(self) -> float:
        """How many undisturbed reports an average pair is worth: those about it, each times the square of its signal p - q."""
        d = len(self.domain)
        worth = sum(n * _product_sum(signals) for n, signals in self._basis.signals())
        return worth / max(d * (d - 1) / 2, 1)

    def n_covering(self, clique: Clique) -> int:
        """How many reports cover all attributes of a clique."""
        return self._basis.n_covering(self._own(clique))

    @cached_property
    def support(self) -> Support:
        """What the questionnaire rules out, at this study's positions."""
        return Support(self.domain)

    # ---- single attributes

    @property
    def marginals(self) -> dict[int, Probabilities]:
        """The shares of every attribute's candidates, by position; an attribute that nobody reported is not there."""
        return {
            position: self.marginal(position)
            for position in range(len(self.domain))
            if self.n_covering((position,))
        }

    def marginal(self, position: int) -> Probabilities:
        """The shares of one attribute's candidates. Estimated when it is first asked for."""
        with one_blas_thread():
            return self._basis.marginal(self._place[position])

    def marginal_error(self, position: int) -> Probabilities:
        """The standard errors of the shares of one attribute's candidates."""
        with one_blas_thread():
            return self._basis.marginal_error(self._place[position])

    def marginal_covariance(self, position: int) -> Probabilities:
        """The covariance of the shares of one attribute's candidates."""
        with one_blas_thread():
            return self._basis.marginal_covariance(self._place[position])

    def distribution(self, position: int) -> JointDistribution:
        """One attribute's shares with their standard errors."""
        attribute, fit = (
            self.domain.attributes[position],
            Fit(method="em", n_reports=self.n_covering((position,))),
        )
        self.check_covered((attribute.name,))
        return JointDistribution(
            (attribute,), self.marginal(position), self.marginal_error(position), fit
        )

    # ---- cliques of positions

    def joint_of(self, clique: Clique, method: str | Estimator = "shrunk") -> JointDistribution:
        """The joint of a clique, with its attributes in the clique's order."""
        with one_blas_thread():
            return self._joint_of(clique, estimator_of(method))

    def joints(
        self,
        cliques: Sequence[Clique],
        method: str | Estimator = "shrunk",
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> list[JointDistribution]:
        """The joints of many cliques, on all cores. progress: told after each."""
        estimator, found, told = estimator_of(method), [], progress or silent
        doing = (
            "estimating pairs"
            if all(len(clique) == 2 for clique in cliques)
            else "estimating joints"
        )
        for position in sorted({position for clique in cliques for position in clique}):
            if self.n_covering((position,)):
                self.marginal(position)  # estimated here, once, before the threads ask for it
        with one_blas_thread(), threads(workers) as pool:
            estimator.prepare(self._basis, pool.map)
            for joint in pool.map(lambda clique: self._joint_of(clique, estimator), cliques):
                found.append(joint)
                told(doing, len(found), len(cliques))
        return found

    def gain_bounds(self, pairs: Sequence[Clique]) -> Probabilities:
        """What the held-out gain of each pair of positions cannot exceed, in nats, found without a fit; infinite where only a fit
        can tell. shape (n_pairs,)."""
        with one_blas_thread():
            return self._basis.reader.gain_bounds(self._basis, [self._own(pair) for pair in pairs])

    def refined(
        self, clique: Clique, joint: Probabilities, least_gain: float
    ) -> Probabilities | None:
        """The joint fitted to the reports that cover the whole clique, and shrunk towards what it was. None where no reports can
        be asked about three or more attributes, or where held-out reports do not prefer it by so many nats."""
        own = self._own(clique)
        if (
            len(clique) < 3
            or joint.size > MOST_REFINED_CELLS
            or not self._basis.can_refine(own, joint.size)
        ):
            return None
        axes = [own.index(self._place[position]) for position in clique]
        prior = np.transpose(np.maximum(joint, 1e-12), np.argsort(axes))
        if (mask := self._basis.agreement.mask(own)) is not None:
            prior = np.where(mask, prior, 0.0)
        evidence = self._basis.evidence(own).covering(len(own))
        found = preferred(evidence, prior / prior.sum(), least_gain) if evidence.n_reports else None
        return None if found is None else np.transpose(found, axes)

    # ---- what may be said about a dependence

    def sure_gain(self, pair: Clique, gain: float) -> float:
        """The held-out gain of a pair, less what independence itself gains when it is fitted to the same reports."""
        own = self._own(pair)
        with one_blas_thread():
            return gain - independence_gain(
                self._basis.summary(own).covering(2), self._basis.independent(own)
            )

    # ---- questions

    @property
    def asked_domain(self) -> Domain:
        """The attributes that questions are about, in the campaign's order."""
        return self.campaign.domain

    def found(
        self, asked: Question, contrast: Probabilities, condition: Probabilities | None = None
    ) -> Grounds | str:
        """What the reports say about a question: directly, or else by a model of its parts; or why they say nothing."""
        with one_blas_thread():
            return answered(self._basis, asked, contrast, condition)

    # ---- the campaign's order: nothing outside of here knows it

    @cached_property
    def _place(self) -> Clique:
        """Of every attribute, the campaign's position."""
        return self.campaign.domain.positions(self.domain.names)

    def _own(self, clique: Clique) -> Clique:
        """The campaign's positions of a clique, ascending, as reports and counts are asked."""
        return tuple(sorted(self._place[position] for position in clique))

    def _joint_of(self, clique: Clique, estimator: Estimator) -> JointDistribution:
        names = [self.domain.names[position] for position in clique]
        self.check_covered(names)
        return self._estimated(self._own(clique), estimator).in_order(names)

    def _with_covariance(
        self, joint: JointDistribution, own: Clique, estimator: Estimator
    ) -> JointDistribution:
        """The joint with the covariance of its cells, where it has standard errors and is not too large."""
        if (
            joint.standard_errors is None
            or joint.probabilities.size > MOST_COVARIANCE
            or len(own) == 1
        ):
            return joint
        sorted_joint = joint.in_order([self.campaign.domain.names[position] for position in own])
        information = estimator.information(self._basis, own, sorted_joint.probabilities)
        if information is None:
            return joint
        covariance = covariance_from(information, sorted_joint.probabilities.reshape(-1))
        turned = replace(sorted_joint, covariance=covariance).in_order(joint.names)
        found = copy(
            joint
        )  # its very shares: a joint that is made anew divides them by their sum once more
        object.__setattr__(found, "covariance", turned.covariance)
        return found

    # ---- how a clique is estimated, at the campaign's positions

    def _estimated(self, own: Clique, estimator: Estimator) -> JointDistribution:
        if estimator.name == "product" or (len(own) == 1 and estimator.name == "shrunk"):
            return estimator(self._basis, own)
        self._check_counts_suffice(own, estimator.name)
        if self._basis.n_covering(own) or estimator.name == "lasso":
            return estimator(self._basis, own)
        return self._from_parts(own, estimator)

    def _check_counts_suffice(self, own: Clique, method: str) -> None:
        """Counts of attributes and pairs say nothing of what reports may say about more attributes together."""
        if method == "moments":
            check_pairs_only(self.campaign, own)
        if method not in LINEAR:
            self._basis.check(own)

    def _from_parts(self, own: Clique, estimator: Estimator) -> JointDistribution:
        """No report covers the clique: the joint of largest entropy among those that agree with the parts that are covered."""
        covered = {tuple(p for p in own if p in view) for view in self._basis.views}
        largest = sorted(
            part
            for part in covered
            if part and not any(set(part) < set(other) for other in covered)
        )
        joints = [self._estimated(part, estimator) for part in largest]
        axes = [tuple(own.index(position) for position in part) for part in largest]
        start = self._basis.independent(own)
        fitted = raked(start, axes, [joint.probabilities for joint in joints])
        attributes = tuple(self.campaign.domain.attributes[position] for position in own)
        fit = Fit(method=estimator.name, n_reports=self._basis.n_touching(own), identified=False)
        return JointDistribution(attributes, fitted, None, fit)


def _product_sum(values: Sequence[float]) -> float:
    """The sum of the products of all pairs."""
    return (sum(values) ** 2 - sum(value**2 for value in values)) / 2


def _refuse_too_few(data: ReportBatch | Counts) -> None:
    """Refuse fewer reports than the campaign asks for; how many a round has is not told then."""
    needed, is_round = data.campaign.terms.min_reports, data.campaign.terms.repeat is not None
    if not len(data) and not is_round:
        raise TooFewReports("there are no reports to estimate from")
    if len(data) < max(needed, 1):
        there = "fewer" if is_round else f"{len(data):,}"
        raise TooFewReports(
            f"the campaign asks for at least {needed:,} reports before anything is estimated; there are {there}"
        )


def _refuse_several_rounds(data: ReportBatch | Counts) -> None:
    """A study is of one moment: what is true changes from round to round, and the noise of a permanent answer does not."""
    if data.campaign.terms.repeat is None:
        return
    slots = slots_of(data) if isinstance(data, ReportBatch) else [data.slots]
    if any(each is None or each[0] != each[1] for each in slots):
        raise DomainError(
            "these are reports of several rounds; choose one with --round (ReportBatch.of_round in Python), or put all of them"
            " side by side with `lopub publish --all-rounds`"
        )


def _repeated(names: Sequence[str]) -> str:
    return next(name for name in names if list(names).count(name) > 1)


@checks_options
def estimate(
    data: ReportBatch | Counts, names: str | Sequence[str], method: str | Estimator = "shrunk"
) -> JointDistribution:
    """The joint distribution of some attributes, from noisy reports, or from their counts, alone.

    names: in the order of the result's axes; a single name is one attribute. method: "shrunk" (the default), "em", "moments",
    "product", or the paper's "lasso" and "hybrid"; or an estimator with options of its own, such as `Em(start="product")`.
    """
    study = Study(data)
    study.warn_of_noise(names)
    return study.estimate(names, method)


@checks_options
def estimate_pairs(
    data: ReportBatch | Counts,
    names: Sequence[str] | None = None,
    method: str | Estimator = "shrunk",
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str, str], JointDistribution]:
    """The joints of all pairs of some attributes, or of all. workers: threads, one per core unless given.
    progress: told after each pair."""
    return Study(data).pairs(names, method, workers=workers, progress=progress)
