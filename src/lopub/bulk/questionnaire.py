"""The questionnaire's rules, of many records at once: who a question applies to, and which records contradict the rules."""

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.condition import Comparison, Condition
from lopub.campaign.domain import Domain, Question, TickList

Codes = NDArray[np.uint16]
"""shape (n_records, n_attributes): candidate numbers."""
Rows = NDArray[np.bool_]
"""shape (n_records,)."""


def holding(domain: Domain, condition: Condition, codes: Codes) -> Rows:
    """The records for which a condition holds."""

    def holds(comparison: Comparison) -> Rows:
        column, accepted = (
            codes[:, domain.position(comparison.attribute)],
            domain.accepted(comparison),
        )
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


def conformed(domain: Domain, codes: Codes) -> Codes:
    """Records as near to these as the questionnaire lets them be: what does not apply is not answered, what applies is, and lists
    are ticked as they may be. For made-up people, whose answers were drawn one by one."""
    codes = np.array(codes, order="F")
    for question in domain.questions:
        columns = columns_of(domain, question)
        if isinstance(question, TickList):
            codes[:, columns] = _well_ticked(question, codes[:, columns])
        if question.only_if is not None and question.not_applicable_index is not None:
            applies, absent = (
                holding(domain, question.only_if, codes)[:, None],
                question.not_applicable_index,
            )
            some = np.arange(len(codes), dtype=np.uint16)[:, None] % np.uint16(
                absent
            )  # any answer, in turn
            answered = np.where(
                codes[:, columns] == absent,
                some if len(columns) == 1 else codes[:, columns],
                codes[:, columns],
            )
            codes[:, columns] = np.where(applies, answered, absent)
    return codes


def _well_ticked(ticks: TickList, own: Codes) -> Codes:
    """All options missing where the first is, at most so many ticks, and none where there is no other."""
    first, answers = own[:, :1], np.where(own > 1, 0, own)
    if ticks.none:
        answers[:, ticks.values.index(ticks.none)] = 0
    if ticks.most:
        answers = np.where(np.cumsum(answers, axis=1) > ticks.most, 0, answers)
    if ticks.none:
        answers[:, ticks.values.index(ticks.none)] = answers.sum(axis=1) == 0
    absent = first == ticks.missing_index if ticks.missing else np.zeros_like(first, dtype=bool)
    return np.asarray(np.where(absent, first, answers), dtype=np.uint16)


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
