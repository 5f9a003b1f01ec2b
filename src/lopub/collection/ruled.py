"""Records that keep a questionnaire's rules: as codes of a table, and one by one as people answer them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lopub.contract.domain import NOT_APPLICABLE, Domain, TickList, Value
from lopub.errors import DomainError, all_of
from lopub.laws.questionnaire import Codes, columns_of, contradictions, holding

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
                record[question.name] = [option.value for option in question.options if cells[option.name]]
    return record


def ruled(codes: Codes, domain: Domain, where: str) -> Codes:
    """The same records, with "not applicable" where a question that does not apply has no answer; refuses those that
    contradict the questionnaire, by question and record."""
    if not domain.has_rules:
        return codes
    for question in domain.questions:
        if question.only_if is not None and question.not_applicable_index is not None:
            applies, columns = holding(domain, question.only_if, codes), columns_of(domain, question)
            empty = (codes[:, columns] == question.missing_index) & ~applies[:, None]
            codes[:, columns] = np.where(empty, question.not_applicable_index, codes[:, columns])
    if wrong := contradictions(domain, codes):
        said = "is answered where it does not apply, is not where it does, or is ticked as it must not be"
        mistakes = [f"{records_named(np.flatnonzero(rows))}: {name!r} {said}" for name, rows in wrong.items()]
        raise DomainError(all_of(mistakes, where))
    return codes


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
