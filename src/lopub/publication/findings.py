"""Which dependences a publication states as findings, and how it says them.

The model takes a dependence in where that makes better synthetic records: of its edges up to three in ten may be chance
(`synthesis.dependence.FALSE_SHARE`). What people are told as a finding has to be surer: of all that is stated, at most one in
twenty is expected to be chance. The measure is the same gain on held-out reports, less what independence itself would
gain. And it has to be shown: the intervals of its contrast, which come from the reports by another way, lie apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lopub.campaign.domain import Pair
from lopub.estimation.joint import JointDistribution
from lopub.queries import Study
from lopub.queries.contrasts import Contrast, contrast_of
from lopub.reports.progress import Progress
from lopub.synthesis.dependence import DependencyGraph, least_gain

FALSE_STATEMENTS = 0.05
"""Bound on the expected share of findings that are chance."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """A dependence of the model, and whether it is sure enough to be stated."""

    names: tuple[str, str]
    gain: float
    """Held-out gain in nats, less that of independence."""
    is_stated: bool
    contrast: Contrast | None
    """What it looks like; None where the reports cannot tell that with intervals."""


@dataclass(frozen=True, eq=False)
class Dependences:
    """All dependences that were looked for in the reports and taken into the model, surest first."""

    every: tuple[Dependence, ...] = ()
    least: float | None = None
    """The gain from which a dependence is stated; None where that was not measured."""

    @property
    def stated(self) -> tuple[Dependence, ...]:
        """Those that are sure enough."""
        return tuple(one for one in self.every if one.is_stated)


def findings_of(
    study: Study,
    graph: DependencyGraph,
    pairs: Mapping[Pair, JointDistribution],
    progress: Progress,
) -> Dependences:
    """What may be stated. A pair that is publicly known, or that a rule of the questionnaire ties together, is no finding."""
    if graph.least is None:
        return Dependences()
    found = [edge for edge in graph.edges if edge in graph.strengths and edge in pairs]
    gains: dict[Pair, float] = {}
    for n_done, edge in enumerate(found):
        progress("weighing dependences", n_done, len(found))
        gains[edge] = study.sure_gain(edge, graph.strengths[edge])
    others = [0.0] * (graph.n_pairs - len(gains))
    least = least_gain([*gains.values(), *others], FALSE_STATEMENTS)
    order = sorted(gains, key=lambda edge: (-gains[edge], edge))
    every = tuple(_finding(study, edge, gains[edge], least, pairs[edge]) for edge in order)
    return Dependences(every, least)


def _finding(
    study: Study, edge: Pair, gain: float, least: float, joint: JointDistribution
) -> Dependence:
    """Stated where it is sure, and where it can be shown: a gain alone may come from a likelihood with several hills."""
    contrast = contrast_of(study, joint)
    return Dependence(
        (joint.names[0], joint.names[1]),
        gain,
        gain >= least and contrast is not None and contrast.is_clear,
        contrast,
    )
