"""A dependence as people say it: how often a group gives an answer, and how often all others do."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Attribute, Binned, Boolean, Categorical, Clique, IntegerRange
from lopub.estimation.joint import JointDistribution, Probabilities
from lopub.estimation.linear import Grouping
from lopub.queries.grounds import DirectGrounds
from lopub.queries.predicates import Question
from lopub.queries.queries import Asking
from lopub.queries.ratios import Estimate

ROUNDING = 1e-9
"""By which "more often" goes before "less often" that says the same."""
LEVEL = 0.05
"""How often an interval may miss its share."""
IN, OUT, UNANSWERED = range(3)
"""The classes of a split."""

Codes = tuple[int, ...]


@dataclass(frozen=True)
class AnswerSplit:
    """Some answers of an attribute against all its others; missing ones, and people of whom it was not asked, are neither."""

    attribute: Attribute
    codes: Codes
    """The answers, ascending."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Of the answers."""
        return tuple(self.attribute.texts[code] for code in self.codes)

    @property
    def is_upper(self) -> bool:
        """Whether it is an answer and all above it."""
        return has_order(self.attribute) and self.codes[-1] == n_answers(self.attribute) - 1

    @property
    def classes(self) -> NDArray[np.intp]:
        """Of each candidate, the class."""
        classes = np.full(self.attribute.size, OUT, dtype=np.intp)
        classes[list(self.codes)] = IN
        classes[n_answers(self.attribute) :] = UNANSWERED
        return classes


@dataclass(frozen=True, eq=False)
class Contrast:
    """How often those of a group give an answer, and how often all others do, among those who answered both: who is asked a
    question that applies only to some is no finding.

    Group and answer were chosen because they stand out, so the intervals are wider than those of a question that was asked
    beforehand: 95 % for all groups and answers of the pair that there were to choose from, together (Bonferroni)."""

    group: AnswerSplit
    answer: AnswerSplit
    within: Estimate
    outside: Estimate

    @property
    def difference(self) -> Estimate:
        """By how much the first share exceeds the second. Its bounds are those of the two shares taken apart: the error of a
        difference is at most the sum of the two errors, however these go together, so they hold at least as often."""
        within, outside = self.within, self.outside
        ends = within.low - outside.high, within.high - outside.low
        return Estimate(within.value - outside.value, float("nan"), *ends)

    @property
    def is_clear(self) -> bool:
        """Whether the intervals of the two shares lie apart."""
        return self.within.low > self.outside.high or self.within.high < self.outside.low


def n_answers(attribute: Attribute) -> int:
    """Candidates that are answers: not the missing one, nor that of people who were not asked."""
    return attribute.size - attribute.missing - (attribute.only_if is not None)


def has_order(attribute: Attribute) -> bool:
    """Whether its answers go from less to more."""
    return isinstance(attribute, Binned | IntegerRange) or (
        isinstance(attribute, Categorical) and attribute.is_ordered
    )


def clearest(joint: JointDistribution) -> tuple[AnswerSplit, AnswerSplit] | None:
    """Of a pair: the group and the answer that go together most: the share of people who have both exceeds most what independence
    would give, or falls most short of it. Noise is much the same for rare groups as for frequent ones, so this is what reports
    tell best. Of an ordered attribute a group is all from an answer on, of another one a single answer. None where there is
    nothing to compare."""
    cells = joint.probabilities.copy()
    for axis, attribute in enumerate(joint.attributes):
        np.moveaxis(cells, axis, 0)[n_answers(attribute) :] = 0.0
    groups, answers = (list(_splits(attribute)) for attribute in joint.attributes)
    if not groups or not answers or cells.sum() <= 0:
        return None
    cells = cells / cells.sum()
    rows, columns = (
        np.array([split.classes == IN for split in splits], dtype=np.float64)
        for splits in (groups, answers)
    )
    excess = rows @ cells @ columns.T - np.outer(
        rows @ cells.sum(axis=1), columns @ cells.sum(axis=0)
    )
    more_often_first = np.abs(excess) + ROUNDING * (excess > 0)
    best = np.unravel_index(int(np.argmax(more_often_first)), excess.shape)
    return groups[best[0]], answers[best[1]]


def asked_of(group: AnswerSplit, answer: AnswerSplit, positions: Clique) -> Question:
    """The question that a contrast asks. positions: of the group's attribute and the answer's, ascending. Its weights: the answer
    within the group, the group, the answer outside of it, all outside of it."""
    groupings = tuple(
        Grouping(split.classes, int(split.classes.max()) + 1) for split in (group, answer)
    )
    shape = tuple(grouping.n_classes for grouping in groupings)
    weights = []
    for own in (IN, OUT):
        whole, both = np.zeros(shape), np.zeros(shape)
        whole[own, : OUT + 1] = both[own, IN] = 1.0
        weights += [both, whole]
    return Question(positions, groupings, tuple(weights), ())


def _splits(attribute: Attribute) -> Iterator[AnswerSplit]:
    """The groups that are looked at. One answer of two says it all."""
    n = n_answers(attribute)
    if isinstance(attribute, Boolean):
        yield AnswerSplit(attribute, (attribute.answers.index(True),))
    elif has_order(attribute):
        yield from (AnswerSplit(attribute, tuple(range(start, n))) for start in range(1, n))
    else:
        yield from (AnswerSplit(attribute, (code,)) for code in range(n) if n > 1)


def contrast_of(study: Asking, joint: JointDistribution) -> Contrast | None:
    """The dependence of a pair in a few figures. None where the reports cannot tell these with intervals. joint: of the pair; the
    attribute that is asked first makes the group."""
    domain = study.asked_domain
    names = sorted(joint.names, key=domain.position)
    if (found := clearest(joint.in_order(names))) is None:
        return None
    asked, reach = (
        asked_of(*found, domain.positions(names)),
        deviations(*(split.attribute for split in found)),
    )
    within, outside = (
        _share_among(study, asked, both, whole, reach)
        for both, whole in (asked.weights[:2], asked.weights[2:])
    )
    return None if within is None or outside is None else Contrast(*found, within, outside)


def deviations(first: Attribute, second: Attribute) -> float:
    """Standard errors that an interval reaches, so that it holds for whichever groups of two attributes stand out."""
    n_first, n_second = (
        len(list(_splits(one))) if n_answers(one) > 2 else 1 for one in (first, second)
    )  # of two, one says all
    return NormalDist().inv_cdf(1 - LEVEL / 2 / (n_first * n_second))


def _share_among(
    study: Asking, asked: Question, both: Probabilities, whole: Probabilities, reach: float
) -> Estimate | None:
    """A conditional share, directly from the reports; None where there is no such way or the condition is too rare. reach: of its
    interval, in standard errors."""
    found = study.found(asked, both - whole * (both.sum() / whole.sum()), whole)
    return (
        found.share_among(both, whole, reach)
        if isinstance(found, DirectGrounds) and found.is_known(whole)
        else None
    )
