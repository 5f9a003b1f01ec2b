"""Estimates: what publication asks of a study, with the attributes in the order of their names.

No result may depend on the order of a table's columns, and ties are broken by position: so all stages from here on work on
the attributes sorted by name, and only the finished table goes back to the campaign's order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopub.batch import keep_of
from lopub.counts import is_bits
from lopub.dependence import LEAST_GAIN, Pair
from lopub.domain import Domain
from lopub.errors import TooFewReports
from lopub.estimation import Reports, Study
from lopub.estimation.moments import law_of
from lopub.estimation.shrunk import chosen_strength, fitted
from lopub.joint import Fit, JointDistribution, Probabilities
from lopub.junction import Clique

MOST_REFINED_CELLS = 5_000
"""Cells of a clique that is fitted to the reports as a whole."""
MOST_WORK = 2e7
"""Reports times cells of such a fit, where every report is looked at in every step."""

Done = Callable[[int, int], None]
"""Told how many of how many pairs are estimated."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """A study, seen through positions in the order of names."""

    study: Study

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

    def _marginal(self, position: int) -> JointDistribution:
        fit = Fit(method="em", n_reports=self.study.n_covering((position,)))
        attribute = self.study.domain.attributes[position]
        return JointDistribution((attribute,), self.study.marginal(position), self.study.marginal_error(position), fit)

    @cached_property
    def reports_per_pair(self) -> float:
        """How many undisturbed reports an average pair is worth: those about it, each times the square of its signal p - q."""
        d = len(self.study.domain)
        worth = sum(n * signal**2 * len(view) * (len(view) - 1) / 2 for view, n, signal in self._views())
        return worth / max(d * (d - 1) / 2, 1)

    def _views(self) -> Iterator[tuple[Clique, int, float]]:
        """Sets of attributes that reports cover, how many do, and their p - q, or that of their first attribute."""
        source, campaign = self.study.source, self.study.campaign
        if isinstance(source, Reports):
            for view, n in zip(source.batch.views, source.n_of_view.tolist(), strict=True):
                law = campaign.channels(view)[0].law()
                yield view, n, float(law.p - law.q)
            return
        for (part, noise), table in source.counts.tables.items():
            if is_bits(campaign):
                law = law_of(campaign, part[0], noise)[0] if not campaign.jointly else campaign.channels(part)[0].law()
                yield part, table.n_reports, float(law.p - law.q)
            else:
                yield part, table.n_reports, keep_of(campaign, part[0], noise)

    def pairs(self, wanted: Sequence[Pair], method: str, done: Done | None = None) -> dict[Pair, JointDistribution]:
        """The joints of these pairs, on all cores."""
        names = [tuple(self.domain.names[place] for place in pair) for pair in wanted]
        told = (lambda n: done(n, len(wanted))) if done else None
        joints = self.study.joints([self._own(pair) for pair in wanted], method, done=told)
        return {pair: _ordered(joint, own) for pair, own, joint in zip(wanted, names, joints, strict=True)}

    def joint(self, clique: Clique, method: str) -> JointDistribution:
        joint = self.study.joint_of(self._own(clique), method)
        return _ordered(joint, [self.domain.names[place] for place in clique])

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
        source, campaign = self.study.source, self.study.campaign
        if not isinstance(source, Reports) or n_cells > MOST_REFINED_CELLS:
            return False
        if not is_bits(campaign):
            return True
        return not campaign.jointly and self.study.n_covering(own) * n_cells <= MOST_WORK

    def _own(self, places: Sequence[int]) -> Clique:
        """The campaign's positions, ascending."""
        return tuple(sorted(self.order[place] for place in places))


def _ordered(joint: JointDistribution, names: Sequence[str]) -> JointDistribution:
    """The same joint with its axes in another order."""
    axes = [joint.names.index(name) for name in names]
    errors = None if joint.standard_errors is None else np.transpose(joint.standard_errors, axes)
    attributes = tuple(joint.attributes[axis] for axis in axes)
    return JointDistribution(attributes, np.transpose(joint.probabilities, axes), errors, joint.fit)
