"""Infer a Domain from a table. For backtests: candidates learnt from private rows are themselves a leak."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from lopub.campaign.canonical import decimal_text
from lopub.campaign.domain import (
    INTEGER,
    NUMBER,
    Attribute,
    Binned,
    Boolean,
    Categorical,
    Domain,
    IntegerRange,
    names_of,
)
from lopub.campaign.texts import composed
from lopub.errors import DomainError, checks_options
from lopub.reports.dataset import read_texts

MOST_INFERRED = 256
"""Candidates of an inferred categorical attribute."""
N_BINS = 16
"""As in the paper's datasets; a range of at most twice as many integers is left as it is."""

Order = Literal["appearance", "natural"]

_TRUTH = {"true", "True", "TRUE", "false", "False", "FALSE"}


@checks_options
def infer_domain(
    path: str | Path,
    *,
    columns: str | Sequence[str] | None = None,
    order: Order = "appearance",
    most_candidates: int = MOST_INFERRED,
    n_bins: int = N_BINS,
) -> Domain:
    """The attributes of a csv table: booleans, integers, binned numbers, else categories.

    An empty field makes "missing" a candidate of its own. Categories come in the order of their first appearance, or
    sorted. Numbers get n_bins bins of equal width.
    """
    table = read_texts(path)
    names = list(names_of(columns)) if columns is not None else table.column_names
    for name in names:
        if name not in table.column_names:
            raise DomainError(
                f"{path} has no column {name!r}; its columns are {', '.join(table.column_names[:12])}"
            )
    distinct = {name: table[name].unique().to_pylist() for name in names}
    return domain_of_texts(distinct, order=order, most_candidates=most_candidates, n_bins=n_bins)


def domain_of_texts(
    distinct: Mapping[str, Sequence[str]],
    *,
    order: Order = "appearance",
    most_candidates: int = MOST_INFERRED,
    n_bins: int = N_BINS,
) -> Domain:
    """The same from the different texts of each column."""
    return Domain(
        tuple(
            _inferred(composed(name), texts, order, most_candidates, n_bins)
            for name, texts in distinct.items()
        )
    )


def _inferred(name: str, texts: Sequence[str], order: Order, most: int, n_bins: int) -> Attribute:
    missing = "" in texts
    answers = list(dict.fromkeys(composed(text) for text in texts if text))
    if answers and set(answers) <= _TRUTH:
        return Boolean(name=name, missing=missing)
    if len(answers) + missing < 2:
        raise DomainError(
            f"column {name!r} holds a single value; there is nothing to ask: leave it out with --columns"
        )
    if answers and all(INTEGER.fullmatch(text) for text in answers):
        numbers = [int(text) for text in answers]
        if max(numbers) - min(numbers) < 2 * n_bins:
            return IntegerRange(
                name=name, minimum=min(numbers), maximum=max(numbers), missing=missing
            )
    if (
        answers
        and all(NUMBER.fullmatch(text) for text in answers)
        and not (missing and len(set(map(float, answers))) == 1)
    ):
        return Binned(
            name=name,
            edges=_equal_width([float(text) for text in answers], n_bins, name),
            missing=missing,
        )
    if len(answers) > most:
        raise DomainError(
            f"column {name!r} has {len(answers):,} different values; at most {most:,} can be candidates: leave it out or bin it"
        )
    return Categorical(
        name=name, values=tuple(sorted(answers) if order == "natural" else answers), missing=missing
    )


def _equal_width(numbers: Sequence[float], n_bins: int, name: str) -> tuple[str, ...]:
    low, high = min(numbers), max(numbers)
    if low == high:
        raise DomainError(f"column {name!r} has a single value; there is nothing to ask")
    width = (high - low) / n_bins
    digits = (
        max(0, 2 - math.floor(math.log10(width))) if math.isfinite(width) else 0
    )  # edges that people can read
    inner = (round(low + width * i, digits) for i in range(1, n_bins))
    return tuple(decimal_text(edge, name) for edge in (low, *inner, high))
