"""From a question to what is found: directly where reports cover all of its attributes, else by a model of parts of them."""

import math
from itertools import combinations

import numpy as np

from lopub.errors import DomainError, NeedsReports
from lopub.estimation.basis import Basis
from lopub.estimation.joint import Probabilities
from lopub.estimation.linear import Grouping, Groupings, LinearPart, Pooled, merged, pooled
from lopub.estimation.linear_readers import Piece
from lopub.estimation.loglinear import Fitted, fitted
from lopub.queries.grounds import VALID, DirectGrounds, Grounds, ModelGrounds
from lopub.queries.predicates import Question
from lopub.queries.ratios import NOTHING_ASIDE, Aside

FEWEST = 30
"""Reports about all attributes of a question from which it is answered directly: of fewer, no interval can be trusted."""
MOST_MODELLED = 256
"""Cells of classes that a model of parts may have."""


def answered(
    basis: Basis, asked: Question, contrast: Probabilities, condition: Probabilities | None = None
) -> Grounds | str:
    """What is found; or in words why nothing is."""
    names = [basis.domain.names[position] for position in asked.clique]
    for position, name in zip(asked.clique, names, strict=True):
        if not basis.n_covering((position,)):
            return f"no report covers attribute {name!r}"
    parts, why = _covering(basis, asked)
    if sum(part.n_reports for part in parts) >= FEWEST:
        whole = pooled(parts, asked.groupings, contrast)
        beside = next((part.beside for part in parts if part.beside), "")
        return DirectGrounds(
            whole,
            whole.n_reports,
            _aside(basis, asked, whole, condition),
            beside,
            possible_of(basis, asked),
        )
    if len(asked.clique) == 1:
        return why
    return _modelled(basis, asked, why)


def _aside(basis: Basis, asked: Question, whole: Pooled, condition: Probabilities | None) -> Aside:
    """What reports that do not cover the whole question say of its condition, where that is about fewer attributes."""
    if condition is None or not (axes := _varying(condition)) or len(axes) == condition.ndim:
        return NOTHING_ASIDE
    pieces = _pieces(basis, asked, asked.groupings)
    parts = [
        part.onto(at, axes)
        for at, part in pieces
        if set(axes) <= set(at) and len(at) < condition.ndim
    ]
    if sum(part.n_reports for part in parts) < FEWEST:
        return NOTHING_ASIDE
    weights = condition[tuple(slice(None) if axis in axes else 0 for axis in range(condition.ndim))]
    found = pooled(parts, [asked.groupings[axis] for axis in axes], weights)
    own, aside = whole.usual_variance(condition), found.usual_variance(weights)
    weight = own / (own + aside) if own + aside > 0 else 0.0
    return Aside(float((weights * found.shares).sum()), found.covariance(weights, weights), weight)


def _varying(weights: Probabilities) -> tuple[int, ...]:
    """The axes along which weights are not all the same."""
    return tuple(
        axis
        for axis in range(weights.ndim)
        if not np.allclose(weights, np.take(weights, [0], axis))
    )


def _modelled(basis: Basis, asked: Question, why: str) -> Grounds | str:
    """From parts, with answers told apart as far as there is room: an interaction of three that answers do not have may be there
    between classes of them."""
    groupings = _finer(asked.groupings)
    shape = tuple(grouping.n_classes for grouping in groupings)
    if (cells := int(np.prod(shape))) > MOST_MODELLED:
        return f"{why}, and a model that tells {cells:,} combinations of answers apart is too large; it may have {MOST_MODELLED}"
    pieces = _pieces(basis, asked, groupings)
    for pair in combinations(range(len(asked.clique)), 2):
        if basis.n_covering((asked.clique[pair[0]], asked.clique[pair[1]])) and not any(
            set(pair) <= set(at) for at, _ in pieces
        ):
            return why
    whole = fitted(pieces, shape, basis.reader.shared(basis, asked.clique, groupings))
    into = [
        own if finer is not own else _same(own)
        for own, finer in zip(asked.groupings, groupings, strict=True)
    ]
    covariance = merged(whole.covariance.reshape(*shape, *shape), [*into, *into])
    joint = merged(whole.joint, into)
    apart = (
        ""
        if whole.covered
        else " what no report covers together is taken as independent given the rest, and"
    )
    found = Fitted(joint, covariance.reshape(joint.size, joint.size), whole.covered)
    reason = f"{why}, so{apart} pairs are joined by maximum entropy, {VALID}"
    return ModelGrounds(found, basis.n_touching(asked.clique), reason, possible_of(basis, asked))


def possible_of(basis: Basis, asked: Question) -> Probabilities | None:
    """Which cells of classes the questionnaire lets people be in; None where it rules out none."""
    if (mask := basis.agreement.mask(asked.clique)) is None:
        return None
    possible = (merged(mask.astype(np.float64), asked.groupings) > 0).astype(np.float64)
    return None if possible.all() else possible


def _pieces(basis: Basis, asked: Question, groupings: Groupings) -> list[Piece]:
    """What reports say about parts of the question; nothing where their codes do not tell its answers apart."""
    try:
        return list(basis.reader.pieces(basis, asked.clique, groupings))
    except (NeedsReports, DomainError):
        return []


def _finer(groupings: Groupings) -> list[Grouping]:
    """Every answer a class of its own, small attributes first, while the model has room."""
    finer = list(groupings)
    for axis in sorted(range(len(groupings)), key=lambda axis: len(groupings[axis].classes)):
        size = len(groupings[axis].classes)
        if (
            math.prod(own.n_classes for own in finer) // finer[axis].n_classes * size
            <= MOST_MODELLED
        ):
            finer[axis] = Grouping(np.arange(size), size)
    return finer


def _same(grouping: Grouping) -> Grouping:
    return Grouping(np.arange(grouping.n_classes), grouping.n_classes)


def _covering(basis: Basis, asked: Question) -> tuple[list[LinearPart], str]:
    """What reports that cover all attributes say; and why that is not enough, if it is not."""
    try:
        parts = list(basis.reader.linear(basis, asked.clique, asked.groupings))
    except (NeedsReports, DomainError) as error:
        return [], str(error)
    names = ", ".join(basis.domain.names[position] for position in asked.clique)
    if not parts and basis.n_covering(asked.clique):
        return [], f"the bits that reports send do not tell the answers to {names} apart"
    n = sum(part.n_reports for part in parts)
    return (
        parts,
        f"no report covers {names} together" if not n else f"only {n} reports cover {names}",
    )
