"""What a question can be answered from: reports that cover it, a model of its parts, or a model that somebody published."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopub.estimation.joint import INTERVAL, Probabilities
from lopub.estimation.linear import Pooled
from lopub.estimation.loglinear import Fitted
from lopub.queries import ratios
from lopub.queries.answers import How
from lopub.queries.ratios import Aside, Estimate, fieller

TINY = 1e-9
MOST_REACH = 50.0
"""Of the logarithm of odds: beyond it an interval reaches from 0 to 1."""
CONDITIONALS = "conditional shares from true pairs alone have been off by up to 0.09"


class Grounds(ABC):
    """Shares of cells of classes, and how far sums of them may be off. weights: one for each cell, as a question has them."""

    how: ClassVar[How]

    n_reports: int
    """How many reports speak of it."""
    reason: str
    """What it assumes."""

    @property
    @abstractmethod
    def shares(self) -> Probabilities:
        """Of the cells, none negative."""

    possible: Probabilities | None
    """One for each cell that people can be in, zero for each that the questionnaire rules out; None where it rules out none."""

    def share(self, weights: Probabilities) -> Estimate:
        """A probability."""
        return self._certain(weights, None) or self._share(self._kept(weights))

    def share_among(
        self, both: Probabilities, condition: Probabilities, deviations: float = INTERVAL
    ) -> Estimate:
        """A conditional probability. deviations: standard errors that its interval reaches to either side."""
        return self._certain(both, condition) or self._share_among(
            self._kept(both), self._kept(condition), deviations
        )

    def ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        """Any other ratio of sums, such as a mean."""
        return self._ratio(self._kept(numerator), self._kept(denominator))

    def is_known(self, condition: Probabilities) -> bool:
        """Whether a condition's probability is far enough above zero to be divided by."""
        return self._is_known(self._kept(condition))

    def rules_out(self, condition: Probabilities) -> bool:
        """Whether nobody who keeps to the questionnaire has a condition."""
        return not self._kept(condition).any()

    def _kept(self, weights: Probabilities) -> Probabilities:
        """Without the cells that are ruled out: nobody is in them, so that their estimates are noise."""
        return weights if self.possible is None else weights * self.possible

    def _certain(self, weights: Probabilities, condition: Probabilities | None) -> Estimate | None:
        """The answer where the questionnaire gives it: nobody, or everybody."""
        if self.possible is None:
            return None
        kept, whole = (
            self._kept(weights),
            self._kept(np.ones_like(weights) if condition is None else condition),
        )
        if not kept.any():
            return Estimate(0.0, 0.0, 0.0, 0.0)
        return Estimate(1.0, 0.0, 1.0, 1.0) if np.array_equal(kept, whole) else None

    @abstractmethod
    def _share(self, weights: Probabilities) -> Estimate: ...

    @abstractmethod
    def _share_among(
        self, both: Probabilities, condition: Probabilities, deviations: float
    ) -> Estimate: ...

    @abstractmethod
    def _ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate: ...

    @abstractmethod
    def _is_known(self, condition: Probabilities) -> bool: ...


@dataclass(frozen=True, eq=False)
class DirectGrounds(Grounds):
    """From reports that cover all attributes: unbiased, unshrunk."""

    pooled: Pooled
    n_reports: int
    aside: Aside = ratios.NOTHING_ASIDE
    reason: str = ""
    possible: Probabilities | None = None
    how: ClassVar[How] = "direct"

    @property
    def shares(self) -> Probabilities:
        return self.pooled.chances

    def _share(self, weights: Probabilities) -> Estimate:
        return ratios.share(self.pooled, weights)

    def _share_among(
        self, both: Probabilities, condition: Probabilities, deviations: float
    ) -> Estimate:
        return ratios.share_among(self.pooled, both, condition, self.aside, deviations)

    def _ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        return ratios.ratio(self.pooled, numerator, denominator, self.aside)

    def _is_known(self, condition: Probabilities) -> bool:
        return ratios.is_known(self.pooled, condition, self.aside)


@dataclass(frozen=True, eq=False)
class ModelGrounds(Grounds):
    """From parts of the attributes, by maximum entropy: right where pairs show all interaction that there is."""

    fitted: Fitted
    n_reports: int
    reason: str
    possible: Probabilities | None = None
    how: ClassVar[How] = "model"

    @property
    def shares(self) -> Probabilities:
        return self.fitted.joint

    def _covariance(self, first: Probabilities, other: Probabilities) -> float:
        return float(first.reshape(-1) @ self.fitted.covariance @ other.reshape(-1))

    def _share(self, weights: Probabilities) -> Estimate:
        if self.possible is not None:
            return self._share_among(
                weights, self.possible, INTERVAL
            )  # the model has some mass where nobody can be
        value = float((weights * self.shares).sum())
        return _on_log_odds(
            value, float(np.sqrt(max(self._covariance(weights, weights), 0.0))), INTERVAL
        )

    def _share_among(
        self, both: Probabilities, condition: Probabilities, deviations: float
    ) -> Estimate:
        found = self._ratio(both, condition)
        return _on_log_odds(found.value, found.standard_error, deviations)

    def _ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        a, b = float((numerator * self.shares).sum()), float((denominator * self.shares).sum())
        aa, bb = self._covariance(numerator, numerator), self._covariance(denominator, denominator)
        return fieller(a, b, aa, self._covariance(numerator, denominator), bb)

    def _is_known(self, condition: Probabilities) -> bool:
        error = np.sqrt(max(self._covariance(condition, condition), 0.0))
        return bool((condition * self.shares).sum() > ratios.LEAST_CONDITION * error)


def _on_log_odds(value: float, error: float, deviations: float) -> Estimate:
    """The interval of a share as its logarithm of odds has it: a model's cells are in proportion to exponentials."""
    inside = min(max(value, TINY), 1 - TINY)
    odds, reach = (
        inside / (1 - inside),
        float(np.exp(min(deviations * error / (inside * (1 - inside)), MOST_REACH))),
    )
    low, high = odds / reach, odds * reach
    return Estimate(value, error, low / (1 + low), high / (1 + high))


VALID = f"which is valid if no interaction of three attributes is left out; {CONDITIONALS}"


@dataclass(frozen=True, eq=False)
class TreeGrounds(Grounds):
    """From a model that was published without the counts that would say how far it may be off."""

    joint: Probabilities
    n_reports: int
    reason: str
    possible: Probabilities | None = None
    how: ClassVar[How] = "model"

    @property
    def shares(self) -> Probabilities:
        return self.joint

    def _share(self, weights: Probabilities) -> Estimate:
        return _without_interval(float((weights * self.joint).sum()))

    def _share_among(
        self, both: Probabilities, condition: Probabilities, deviations: float
    ) -> Estimate:
        return self._ratio(both, condition)

    def _ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        return _without_interval(
            float((numerator * self.joint).sum() / (denominator * self.joint).sum())
        )

    def _is_known(self, condition: Probabilities) -> bool:
        return float((condition * self.joint).sum()) > 0


def _without_interval(value: float) -> Estimate:
    return Estimate(value, np.nan, np.nan, np.nan)
