"""Estimates: what publication asks of a study, with the attributes in the order of their names.

No result may depend on the order of a table's columns, and ties are broken by position: so all stages from here on work on
the attributes sorted by name, and only the finished table goes back to the campaign's order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lopub.collection.counts import form_of
from lopub.contract.domain import Binned, Domain, IntegerRange
from lopub.errors import TooFewReports
from lopub.inference import Reports, Study
from lopub.inference.joint import Fit, JointDistribution, Probabilities, raked
from lopub.inference.readers import reader_of
from lopub.inference.shrunk import chosen_strength, fitted
from lopub.model.dependence import LEAST_GAIN, Pair
from lopub.model.junction import Clique
from lopub.release.margins import Margins
from lopub.release.numbers import Statistic, statistics_of

MOST_REFINED_CELLS = 5_000
"""Cells of a clique that is fitted to the reports as a whole."""

Done = Callable[[int, int], None]
"""Told how many of how many pairs are estimated."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """A study, seen through positions in the order of names."""

    study: Study
    margins: Margins

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The campaign's position of each attribute here."""
        return tuple(sorted(range(len(self.study.domain)), key=lambda position: self.study.domain.names[position]))

    @cached_property
    def domain(self) -> Domain:
        return Domain(tuple(self.study.domain.attributes[position] for position in self.order))

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.domain.sizes

    @cached_property
    def marginals(self) -> list[JointDistribution]:
        for position, name in enumerate(self.study.domain.names):
            if not self.study.n_covering((position,)):
                raise TooFewReports(f"no report covers attribute {name!r}")
        return [self._marginal(position) for position in self.order]

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Means and quantiles of all numeric attributes."""
        found: list[Statistic] = []
        for position, marginal in zip(self.order, self.marginals, strict=True):
            attribute, shares = marginal.attributes[0], marginal.probabilities
            known = self.margins.marginal(attribute.name) is not None
            if isinstance(attribute, Binned | IntegerRange):
                covariance = np.zeros((len(shares),) * 2) if known else self.study.marginal_covariance(position)
                found += statistics_of(attribute, shares, covariance)
        return tuple(found)

    def _marginal(self, position: int) -> JointDistribution:
        known = self.margins.marginal(self.study.domain.names[position])
        if known is not None:
            return known
        fit = Fit(method="em", n_reports=self.study.n_covering((position,)))
        attribute = self.study.domain.attributes[position]
        return JointDistribution((attribute,), self.study.marginal(position), self.study.marginal_error(position), fit)

    @cached_property
    def reports_per_pair(self) -> float:
        """How many undisturbed reports an average pair is worth: those about it, each times the square of its signal p - q."""
        d = len(self.study.domain)
        worth = sum(n * _product_sum(signals) for n, signals in self._signals())
        return worth / max(d * (d - 1) / 2, 1)

    def _signals(self) -> Iterator[tuple[int, list[float]]]:
        """For sets of attributes that reports cover: how many do, and p - q of each attribute."""
        source, campaign = self.study.source, self.study.campaign
        if isinstance(source, Reports):
            for view, n in zip(source.batch.views, source.n_of_view.tolist(), strict=True):
                laws = [channel.law() for channel in campaign.channels(view)]
                yield n, [float(law.p - law.q) for law in laws] * (len(view) if campaign.jointly else 1)
            return
        for (part, noise), table in source.counts.tables.items():
            yield table.n_reports, form_of(campaign).signals(campaign, (part, noise))

    def pairs(
        self, wanted: Sequence[Pair], method: str, done: Done | None = None, **options: Any
    ) -> dict[Pair, JointDistribution]:
        """The joints of these pairs, on all cores."""
        names = [tuple(self.domain.names[place] for place in pair) for pair in wanted]
        told = (lambda n: done(n, len(wanted))) if done else None
        joints = self.study.joints([self._own(pair) for pair in wanted], method, done=told, **options)
        found = {pair: _ordered(joint, own) for pair, own, joint in zip(wanted, names, joints, strict=True)}
        return {pair: self._with_margins(pair, joint) for pair, joint in found.items()} if self.margins.known else found

    def _with_margins(self, pair: Pair, joint: JointDistribution) -> JointDistribution:
        """The pair that is known, or the estimated one raked to what is known of its attributes."""
        known = self.margins.pair(joint.names)
        if known is not None:
            return replace(joint, probabilities=known, standard_errors=np.zeros(known.shape), fit=Fit(method="given"))
        if not any(self.margins.marginal(name) for name in joint.names):
            return joint
        marginals = [self.marginals[place].probabilities for place in pair]
        return replace(joint, probabilities=raked(np.maximum(joint.probabilities, 1e-12), [(0,), (1,)], marginals))

    def joint(self, clique: Clique, method: str, **options: Any) -> JointDistribution:
        """The joint of a clique, raked to what is known of its attributes."""
        joint = _ordered(
            self.study.joint_of(self._own(clique), method, **options), [self.domain.names[place] for place in clique]
        )
        known = self.margins.within(joint.names)
        if not known:
            return joint
        start = np.maximum(joint.probabilities, 1e-12)
        return replace(joint, probabilities=raked(start / start.sum(), list(known), list(known.values())), standard_errors=None)

    def refined(self, clique: Clique, joint: Probabilities) -> Probabilities | None:
        """The clique's joint fitted to reports that cover three or more of its attributes, shrunk towards what its pairs imply;
        None where no reports can be asked, or they do not prefer it."""
        own = self._own(clique)
        if len(clique) < 3 or not self._can_refine(own, joint.size):
            return None
        axes = [own.index(self.order[place]) for place in clique]
        prior = np.transpose(np.maximum(joint, 1e-12), np.argsort(axes))
        prior = prior / prior.sum()
        evidence = self.study.evidence(own).covering(len(own))
        if not evidence.n_reports:
            return None
        strength, gain, start = chosen_strength(evidence, prior)
        if gain < LEAST_GAIN:
            return None
        return np.transpose(fitted(evidence, prior, strength, start).joint, axes)

    def _can_refine(self, own: Clique, n_cells: int) -> bool:
        if not isinstance(self.study.source, Reports) or n_cells > MOST_REFINED_CELLS:
            return False
        return reader_of(self.study.campaign).can_refine(self.study.n_covering(own), n_cells)

    def _own(self, places: Sequence[int]) -> Clique:
        """The campaign's positions, ascending."""
        return tuple(sorted(self.order[place] for place in places))


def _product_sum(values: Sequence[float]) -> float:
    """The sum of the products of all pairs."""
    return (sum(values) ** 2 - sum(value**2 for value in values)) / 2


def _ordered(joint: JointDistribution, names: Sequence[str]) -> JointDistribution:
    """The same joint with its axes in another order."""
    axes = [joint.names.index(name) for name in names]
    errors = None if joint.standard_errors is None else np.transpose(joint.standard_errors, axes)
    attributes = tuple(joint.attributes[axis] for axis in axes)
    return JointDistribution(attributes, np.transpose(joint.probabilities, axes), errors, joint.fit)
