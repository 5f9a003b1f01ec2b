"""The questionnaire's rules, of many records at once: who a question applies to, and which records contradict the rules."""

import numpy as np
from numpy.typing import NDArray

from lopub.contract.condition import Comparison, Condition
from lopub.contract.domain import Domain, Question, TickList

Codes = NDArray[np.uint16]
"""shape (n_records, n_attributes): candidate numbers."""
Rows = NDArray[np.bool_]
"""shape (n_records,)."""


def holding(domain: Domain, condition: Condition, codes: Codes) -> Rows:
    """The records for which a condition holds."""

    def holds(comparison: Comparison) -> Rows:
        column, accepted = codes[:, domain.position(comparison.attribute)], domain.accepted(comparison)
        if isinstance(accepted, range):
            return np.asarray((column >= accepted.start) & (column < accepted.stop))
        return np.isin(column, sorted(accepted))

    return np.asarray(condition.evaluate(holds))


def columns_of(domain: Domain, question: Question) -> list[int]:
    """The positions of a question's attributes."""
    options = question.options if isinstance(question, TickList) else (question,)
    return [domain.position(option.name) for option in options]


def contradictions(domain: Domain, codes: Codes) -> dict[str, Rows]:
    """Question -> the records that contradict what the questionnaire says about it; without those that none contradicts."""
    found: dict[str, Rows] = {}
    for question in domain.questions:
        own = codes[:, columns_of(domain, question)]
        wrong = np.zeros(len(codes), dtype=bool)
        if question.only_if is not None:
            applies = holding(domain, question.only_if, codes)
            wrong |= ((own == question.not_applicable_index) == applies[:, None]).any(axis=1)
        if isinstance(question, TickList):
            wrong |= _badly_ticked(question, own)
        if wrong.any():
            found[question.name] = wrong
    return found


def contradicting(domain: Domain, codes: Codes) -> Rows:
    """The records that contradict the questionnaire."""
    wrong = np.zeros(len(codes), dtype=bool)
    for rows in contradictions(domain, codes).values() if domain.has_rules else ():
        wrong |= rows
    return wrong


def _badly_ticked(ticks: TickList, own: Codes) -> Rows:
    """Lists that are answered in part, or ticked as they must not be. own: shape (n_records, n_options)."""
    answered = own <= 1
    wrong: Rows = (np.where(own > 1, own, 1) != np.where(own[:, :1] > 1, own[:, :1], 1)).any(axis=1)
    n_ticked = (own == 1).sum(axis=1)
    if ticks.none:
        alone = own[:, ticks.values.index(ticks.none)] == 1
        wrong |= (alone & (n_ticked > 1)) | (answered.all(axis=1) & (n_ticked == 0))
    if ticks.most:
        wrong |= n_ticked > ticks.most
    return wrong
