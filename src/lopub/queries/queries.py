"""Questions to a study: probabilities, means, quantiles and tables, with honest intervals and a word on how they came about."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Attribute, Binned, Domain, IntegerRange
from lopub.errors import DomainError
from lopub.estimation.joint import Probabilities
from lopub.queries.answers import Answer, AnswerTable
from lopub.queries.expressions import Conjunction, parsed
from lopub.queries.grounds import Grounds
from lopub.queries.predicates import Question, position_of, question
from lopub.queries.ratios import Estimate

MOST_TABLE_CELLS = 2_000
"""Of a table, each of which has an interval of its own."""
ROUNDING = 1e-12

Number = Binned | IntegerRange


class Asking(ABC):
    """What can be asked in the language of `expressions`; whoever has shares of cells to tell brings `found`."""

    @property
    @abstractmethod
    def asked_domain(self) -> Domain:
        """The attributes that questions are about, in the campaign's order."""

    @abstractmethod
    def found(
        self, asked: Question, contrast: Probabilities, condition: Probabilities | None = None
    ) -> Grounds | str:
        """The shares of the question's cells, or why there are none. contrast: what the question weighs the cells with.
        condition: those of whom it asks."""

    def probability(self, expression: str, *, given: str | None = None) -> Answer:
        """The share of people of whom an expression holds; with `given`, among those of whom that holds.

        expression, given: such as `income == 'high' and age > 40`; docs/queries.md has the language.
        """
        text, tree = f"P({expression}{_among(given)})", parsed(expression)
        if given is None:
            asked = question([tree], self.asked_domain)
            return self._told(
                text, asked, asked.weights[0], lambda found: found.share(asked.weights[0])
            )
        condition = parsed(given)
        asked = question([Conjunction((tree, condition)), condition], self.asked_domain)
        both, whole = asked.weights
        return self._told(text, asked, both, lambda found: found.share_among(both, whole), whole)

    def mean(self, name: str, *, given: str | None = None) -> Answer:
        """The mean of a number among those who answered; with `given`, among those of whom that holds. A number that is known in
        bins is taken at the middle of its bin; the interval reaches as far as numbers may lie within their bins.
        A mean that noise puts beyond all numbers is given as the nearest of them, as a share below 0 is given as 0."""
        attribute = self._number(name)
        ends = _ends(attribute)
        if not np.isfinite([ends[0][0], ends[1][-1]]).all():
            raise DomainError(
                f"attribute {name!r} has a bin without an end, so its mean cannot be known; ask for a quantile"
            )
        asked, axis, whole = self._among_answered(attribute, given)
        lowest, highest = (whole * _along(asked, axis, _padded(attribute, own)) for own in ends)

        def among(found: Grounds) -> Estimate:
            low, middle, high = (
                found.ratio(side, whole) for side in (lowest, (lowest + highest) / 2, highest)
            )
            value, *bounds = np.clip(
                [middle.value, low.low, high.high], ends[0][0], ends[1][-1]
            ).tolist()
            return Estimate(value, middle.standard_error, *bounds)

        answer = self._told(
            f"mean of {name}{_among(given)}", asked, (lowest + highest) / 2, among, whole
        )
        return _assuming(
            answer,
            attribute,
            f"{name} is in the middle of its bin, on which the interval does not rely",
        )

    def quantile(self, name: str, level: float, *, given: str | None = None) -> Answer:
        """The number that this share of those who answered does not exceed; with `given`, among those of whom that holds. The
        interval holds all bins, or whole numbers, in which the reports do not exclude it (Woodruff 1952)."""
        if not 0 < level < 1:
            raise DomainError(f"level must be above 0 and below 1, got {level:g}")
        attribute = self._number(name)
        asked, axis, whole = self._among_answered(attribute, given)
        numbers = np.arange(attribute.size)
        upto = [
            whole * _along(asked, axis, numbers <= end)
            for end in range(len(attribute.answer_texts) - 1)
        ]

        def among(found: Grounds) -> Estimate:
            return _quantile(
                attribute, level, [found.share_among(weights, whole) for weights in upto]
            )

        middle = upto[len(upto) // 2] if upto else whole
        answer = self._told(
            f"quantile {level:g} of {name}{_among(given)}", asked, middle, among, whole
        )
        return _assuming(
            answer,
            attribute,
            f"{name} is spread evenly within its bins, on which the interval does not rely",
        )

    def table(self, *names: str, given: str | None = None) -> AnswerTable:
        """The share of every combination of answers to some attributes, each with its own interval; with `given`, among those of
        whom that holds."""
        attributes = self._tabled(names)
        asked = question([] if given is None else [parsed(given)], self.asked_domain, names)
        whole = (
            asked.weights[0]
            if given is not None
            else np.ones(tuple(own.n_classes for own in asked.groupings))
        )
        axes = [self._axis(asked, name) for name in names]
        found, cells = self.found(asked, whole, None if given is None else whole), {}
        for numbers in product(*(range(attribute.size) for attribute in attributes)):
            chosen = [
                _along(asked, axis, np.arange(asked.groupings[axis].n_classes) == i)
                for axis, i in zip(axes, numbers, strict=True)
            ]
            values = tuple(
                attribute.texts[i] for attribute, i in zip(attributes, numbers, strict=True)
            )
            text = " and ".join(
                f"{name} == {value!r}" for name, value in zip(names, values, strict=True)
            )
            cells[values] = _cell(
                f"P({text}{_among(given)})",
                asked,
                found,
                whole * np.prod(np.broadcast_arrays(*chosen), axis=0),
                whole,
                given,
            )
        return AnswerTable(tuple(names), given, cells)

    # ---- inner workings

    def _told(
        self,
        text: str,
        asked: Question,
        numerator: Probabilities,
        tell: Callable[[Grounds], Estimate],
        condition: Probabilities | None = None,
    ) -> Answer:
        """What is found, or why not. numerator, condition: what the question is the ratio of, or the former alone."""
        contrast = (
            numerator
            if condition is None
            else numerator - _usual(asked, numerator, condition) * condition
        )
        found = self.found(asked, contrast, condition)
        if isinstance(found, str):
            return _refused(text, asked, found)
        if condition is not None and not found.is_known(condition):
            return _refused(text, asked, _why_unknown(found, condition), found.n_reports)
        told = tell(found)
        return (
            _answer(text, asked, found, told)
            if np.isfinite(told.value)
            else _refused(text, asked, BEYOND, found.n_reports)
        )

    def _axis(self, asked: Question, name: str) -> int:
        return asked.clique.index(position_of(self.asked_domain, name))

    def _number(self, name: str) -> Number:
        attribute = self.asked_domain.attributes[position_of(self.asked_domain, name)]
        if not isinstance(attribute, Number):
            raise DomainError(f"attribute {name!r} is not a number")
        return attribute

    def _tabled(self, names: Sequence[str]) -> list[Attribute]:
        domain = self.asked_domain
        attributes = [domain.attributes[position_of(domain, name)] for name in names]
        cells = int(np.prod([float(attribute.size) for attribute in attributes]))
        if not names or len(set(names)) < len(names):
            raise DomainError("a table needs at least one attribute, and each of them once")
        if cells > MOST_TABLE_CELLS:
            raise DomainError(f"a table may have {MOST_TABLE_CELLS:,} cells, got {cells:,}")
        return attributes

    def _among_answered(
        self, attribute: Number, given: str | None
    ) -> tuple[Question, int, Probabilities]:
        """The question with all answers of an attribute told apart, its axis, and who has the condition and answered."""
        asked = question(
            [] if given is None else [parsed(given)], self.asked_domain, [attribute.name]
        )
        axis, shape = (
            self._axis(asked, attribute.name),
            tuple(own.n_classes for own in asked.groupings),
        )
        whole = np.ones(shape) if given is None else asked.weights[0]
        return (
            asked,
            axis,
            whole * _along(asked, axis, np.arange(attribute.size) < len(attribute.answer_texts)),
        )


TOO_RARE = "the condition's probability is within three standard errors of zero, so that nothing can be said about such people"
BY_THE_RULES = "people kept to the questionnaire, which leaves no other answer"
IMPOSSIBLE = "the questionnaire rules the condition out, so that nobody has it"
CONTRADICTORY = "the condition contradicts itself, so that nobody has it"
BEYOND = "it lies in a bin without an end, of which nothing more is known"


def _why_unknown(found: Grounds, condition: Probabilities) -> str:
    if not condition.any():
        return CONTRADICTORY
    return IMPOSSIBLE if found.rules_out(condition) else TOO_RARE


def _among(given: str | None) -> str:
    return "" if given is None else f" given {given}"


def _usual(asked: Question, numerator: Probabilities, condition: Probabilities) -> float:
    """The ratio if all answers were equally likely."""
    evenly = asked.evenly
    return float((numerator * evenly).sum()) / max(float((condition * evenly).sum()), ROUNDING)


def _along(asked: Question, axis: int, values: NDArray[np.bool_] | Probabilities) -> Probabilities:
    """Values along one axis, which go with all others."""
    others = tuple(other for other in range(len(asked.groupings)) if other != axis)
    return np.expand_dims(np.asarray(values, dtype=np.float64), others)


def _answer(text: str, asked: Question, found: Grounds, told: Estimate) -> Answer:
    low, high, error = (
        None if np.isnan(figure) else float(figure)
        for figure in (told.low, told.high, told.standard_error)
    )
    return Answer(
        question=text,
        estimate=float(told.value),
        low=low,
        high=high,
        standard_error=error,
        n_informative=found.n_reports,
        how=found.how,
        reason=found.reason,
        assumptions=(
            *asked.assumptions,
            *([BY_THE_RULES] if found.possible is not None and told.low == told.high else []),
        ),
    )


def _refused(text: str, asked: Question, reason: str, n_informative: int = 0) -> Answer:
    nothing = dict.fromkeys(("estimate", "low", "high", "standard_error"))
    return Answer(
        question=text,
        **nothing,
        n_informative=n_informative,
        how="refused",
        reason=reason,
        assumptions=asked.assumptions,
    )


def _cell(
    text: str,
    asked: Question,
    found: Grounds | str,
    weights: Probabilities,
    whole: Probabilities,
    given: str | None,
) -> Answer:
    if isinstance(found, str):
        return _refused(text, asked, found)
    if given is None:
        return _answer(text, asked, found, found.share(weights))
    if not found.is_known(whole):
        return _refused(text, asked, _why_unknown(found, whole), found.n_reports)
    return _answer(text, asked, found, found.share_among(weights, whole))


# ---- numbers


def _ends(attribute: Number) -> tuple[Probabilities, Probabilities]:
    """The lower and the upper end of each bin; of a whole number, itself."""
    if isinstance(attribute, Binned):
        return np.array(attribute.bounds[:-1]), np.array(attribute.bounds[1:])
    numbers = np.arange(attribute.minimum, attribute.maximum + 1, dtype=np.float64)
    return numbers, numbers


def _padded(attribute: Number, ends: Probabilities) -> Probabilities:
    """What is no answer counts nowhere."""
    return np.append(ends, np.zeros(attribute.size - len(ends)))


def _assuming(answer: Answer, attribute: Number, what: str) -> Answer:
    return (
        replace(answer, assumptions=(*answer.assumptions, what))
        if isinstance(attribute, Binned)
        else answer
    )


def _quantile(attribute: Number, level: float, upto: Sequence[Estimate]) -> Estimate:
    """From the shares up to each end but the last. Shares that fall, as noisy ones may, are raised to those before them."""
    below, above = _ends(attribute)
    shares = np.maximum.accumulate([0.0, *(one.value for one in upto), 1.0])
    at = min(int(np.searchsorted(shares[1:], level - ROUNDING)), len(below) - 1)
    inside = (level - shares[at]) / max(shares[at + 1] - shares[at], ROUNDING)
    width = above[at] - below[at]
    value = float(below[at] + min(max(inside, 0.0), 1.0) * width) if np.isfinite(width) else np.nan
    if any(np.isnan(one.low) for one in upto):
        return Estimate(value, np.nan, np.nan, np.nan)
    reached = np.array([*(one.high for one in upto), 1.0]) >= level - ROUNDING
    passed = np.array([*(one.low for one in upto), 1.0]) >= level - ROUNDING
    return Estimate(
        value, np.nan, float(below[int(np.argmax(reached))]), float(above[int(np.argmax(passed))])
    )
