"""What a question can be answered from: reports that cover it, a model of its parts, or a model that somebody published."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopub.inference import ratios
from lopub.inference.answers import How
from lopub.inference.joint import INTERVAL, Probabilities
from lopub.inference.linear import Pooled
from lopub.inference.loglinear import Fitted
from lopub.inference.ratios import Aside, Estimate, fieller

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

    @abstractmethod
    def share(self, weights: Probabilities) -> Estimate:
        """A probability."""

    @abstractmethod
    def share_among(self, both: Probabilities, condition: Probabilities) -> Estimate:
        """A conditional probability."""

    @abstractmethod
    def ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        """Any other ratio of sums, such as a mean."""

    @abstractmethod
    def is_known(self, condition: Probabilities) -> bool:
        """Whether a condition's probability is far enough above zero to be divided by."""


@dataclass(frozen=True, eq=False)
class DirectGrounds(Grounds):
    """From reports that cover all attributes: unbiased, unshrunk."""

    pooled: Pooled
    n_reports: int
    aside: Aside = ratios.NOTHING_ASIDE
    reason: str = ""
    how: ClassVar[How] = "direct"

    @property
    def shares(self) -> Probabilities:
        return self.pooled.chances

    def share(self, weights: Probabilities) -> Estimate:
        return ratios.share(self.pooled, weights)

    def share_among(self, both: Probabilities, condition: Probabilities) -> Estimate:
        return ratios.share_among(self.pooled, both, condition, self.aside)

    def ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        return ratios.ratio(self.pooled, numerator, denominator, self.aside)

    def is_known(self, condition: Probabilities) -> bool:
        return ratios.is_known(self.pooled, condition, self.aside)


@dataclass(frozen=True, eq=False)
class ModelGrounds(Grounds):
    """From parts of the attributes, by maximum entropy: right where pairs show all interaction that there is."""

    fitted: Fitted
    n_reports: int
    reason: str
    how: ClassVar[How] = "model"

    @property
    def shares(self) -> Probabilities:
        return self.fitted.joint

    def _covariance(self, first: Probabilities, other: Probabilities) -> float:
        return float(first.reshape(-1) @ self.fitted.covariance @ other.reshape(-1))

    def share(self, weights: Probabilities) -> Estimate:
        value = float((weights * self.shares).sum())
        return _on_log_odds(value, float(np.sqrt(max(self._covariance(weights, weights), 0.0))))

    def share_among(self, both: Probabilities, condition: Probabilities) -> Estimate:
        found = self.ratio(both, condition)
        return _on_log_odds(found.value, found.standard_error)

    def ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        a, b = float((numerator * self.shares).sum()), float((denominator * self.shares).sum())
        aa, bb = self._covariance(numerator, numerator), self._covariance(denominator, denominator)
        return fieller(a, b, aa, self._covariance(numerator, denominator), bb)

    def is_known(self, condition: Probabilities) -> bool:
        error = np.sqrt(max(self._covariance(condition, condition), 0.0))
        return bool((condition * self.shares).sum() > ratios.LEAST_CONDITION * error)


def _on_log_odds(value: float, error: float) -> Estimate:
    """The interval of a share as its logarithm of odds has it: a model's cells are in proportion to exponentials."""
    inside = min(max(value, TINY), 1 - TINY)
    odds, reach = inside / (1 - inside), float(np.exp(min(INTERVAL * error / (inside * (1 - inside)), MOST_REACH)))
    low, high = odds / reach, odds * reach
    return Estimate(value, error, low / (1 + low), high / (1 + high))


VALID = f"which is valid if no interaction of three attributes is left out; {CONDITIONALS}"


@dataclass(frozen=True, eq=False)
class TreeGrounds(Grounds):
    """From a model that was published without the counts that would say how far it may be off."""

    joint: Probabilities
    n_reports: int
    reason: str
    how: ClassVar[How] = "model"

    @property
    def shares(self) -> Probabilities:
        return self.joint

    def share(self, weights: Probabilities) -> Estimate:
        return _without_interval(float((weights * self.joint).sum()))

    def share_among(self, both: Probabilities, condition: Probabilities) -> Estimate:
        return self.ratio(both, condition)

    def ratio(self, numerator: Probabilities, denominator: Probabilities) -> Estimate:
        return _without_interval(float((numerator * self.joint).sum() / (denominator * self.joint).sum()))

    def is_known(self, condition: Probabilities) -> bool:
        return float((condition * self.joint).sum()) > 0


def _without_interval(value: float) -> Estimate:
    return Estimate(value, np.nan, np.nan, np.nan)
