"""Records that keep a questionnaire's rules: as codes of a table, and one by one as people answer them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.questionnaire import Codes, Rows, columns_of, contradictions, holding
from lopub.campaign.domain import NOT_APPLICABLE, Domain, Question, TickList, Value
from lopub.errors import DomainError, all_of

N_ROWS = 3
"""Records that a message names."""


def answered(domain: Domain, cells: Mapping[str, Value]) -> dict[str, Value | Sequence[str]]:
    """A record as it is answered: what does not apply is left out, a list names what is ticked."""
    record: dict[str, Value | Sequence[str]] = {}
    for question in domain.questions:
        first = question.options[0].name if isinstance(question, TickList) else question.name
        if question.only_if is None or cells[first] != NOT_APPLICABLE:
            record[question.name] = cells[first]
            if isinstance(question, TickList) and cells[first] is not None:
                record[question.name] = [
                    option.value for option in question.options if cells[option.name]
                ]
    return record


def ruled(codes: Codes, domain: Domain, where: str) -> Codes:
    """The same records, with "not applicable" where a question that does not apply has no answer; refuses those that
    contradict the questionnaire, by question and record."""
    if not domain.has_rules:
        return codes
    for question in domain.questions:
        if question.only_if is not None and question.not_applicable_index is not None:
            applies, columns = (
                holding(domain, question.only_if, codes),
                columns_of(domain, question),
            )
            empty = (codes[:, columns] == question.missing_index) & ~applies[:, None]
            codes[:, columns] = np.where(empty, question.not_applicable_index, codes[:, columns])
    if wrong := contradictions(domain, codes):
        asked = {question.name: question for question in domain.questions}
        kinds = (
            (name, said, rows)
            for name in wrong
            for said, rows in _kinds(domain, asked[name], codes, wrong[name])
        )
        mistakes = [
            f"{records_named(np.flatnonzero(rows))}: {name!r} {said}" for name, said, rows in kinds
        ]
        raise DomainError(all_of(mistakes, where))
    return codes


def _kinds(
    domain: Domain, question: Question, codes: Codes, wrong: Rows
) -> Iterator[tuple[str, Rows]]:
    """What is wrong with the answers to a question, and in which records; each record is told of once."""
    own = codes[:, columns_of(domain, question)]
    for said, rows in _contradicted(domain, question, codes, own):
        if (held := rows & wrong).any():
            yield said, held
            wrong = wrong & ~held
    if wrong.any():
        yield "is answered in part", wrong


def _contradicted(
    domain: Domain, question: Question, codes: Codes, own: Codes
) -> Iterator[tuple[str, Rows]]:
    if question.only_if is not None:
        absent = (own == question.not_applicable_index).any(axis=1)
        applies = holding(domain, question.only_if, codes)
        yield "is answered, but does not apply", ~applies
        yield "applies, but is not answered", applies & absent
    if isinstance(question, TickList):
        n_ticked = (own == 1).sum(axis=1)
        if question.most:
            yield f"has more than {question.most} ticks", n_ticked > question.most
        if question.none:
            yield f"has {question.none!r} ticked beside others", n_ticked > 1
            yield f"has no tick, not even {question.none!r}", n_ticked == 0


def records_named(rows: NDArray[np.int64]) -> str:
    """The first of these rows as people count, and how many more there are.

    >>> records_named(np.array([1])), records_named(np.array([1, 4])), records_named(np.arange(9))
    ('record 2', 'records 2 and 5', 'records 1, 2, 3 and 6 more')
    """
    first = [f"{row + 1:,}" for row in rows[:N_ROWS].tolist()]
    if len(rows) == 1:
        return f"record {first[0]}"
    if len(rows) > len(first):
        return f"records {', '.join(first)} and {len(rows) - len(first):,} more"
    return f"records {', '.join(first[:-1])} and {first[-1]}"
