"""Vectorised draws of views, with the law of the client's."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.draws import DrawnWords, RandomWords, uniform_below, words
from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import Clique
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, ViewRule
from lopub.campaign.views.walk import Lists, questions_of

N_DRAWN = 20_000
"""Views from which a chance is learnt."""

Mask = NDArray[np.bool_]
"""shape (n, n_attributes): which attributes each report covers."""


Many = Callable[[Any, tuple[int, ...], int, RandomWords], Mask]
"""(rule, sizes, how many reports, random words) -> their views, at once."""
MANY: dict[str, Many] = {}
"""By the rule's kind. A rule that is not here is drawn one report at a time, by its own `draw`."""


def draw_masks(rule: ViewRule, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    """Views of n reports, drawn without looking at any record."""
    return MANY.get(rule.kind, _one_by_one)(rule, sizes, n, source)


def chance_of(rule: ViewRule, sizes: tuple[int, ...], clique: Clique) -> float:
    """The chance that a view holds all of these attributes; as often as among drawn views where nobody can compute it."""
    exact = view_law(rule).coverage(clique, sizes)
    return (
        float(_drawn(rule, sizes)[:, list(clique)].all(axis=1).mean()) if exact is None else exact
    )


@lru_cache(maxsize=8)
def _drawn(rule: ViewRule, sizes: tuple[int, ...]) -> Mask:
    return draw_masks(rule, sizes, N_DRAWN, np.random.PCG64(0))


def _one_by_one(rule: ViewRule, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    randomness, mask = DrawnWords(source), np.zeros((n, len(sizes)), dtype=bool)
    for row in range(n):
        mask[row, list(rule.draw(sizes, randomness))] = True
    return mask


def _random_orders(n: int, d: int, source: RandomWords) -> NDArray[np.int64]:
    """n uniformly random orders of d attributes."""
    return np.argsort(words(source, n, d), axis=1)


def _orders(n: int, d: int, lists: Lists, n_wanted: int, source: RandomWords) -> NDArray[np.int64]:
    """The first so many attributes of n orders."""
    return (
        _walks(n, d, lists, n_wanted, source)
        if lists
        else _random_orders(n, d, source)[:, :n_wanted]
    )


def _walks(n: int, d: int, lists: Lists, n_wanted: int, source: RandomWords) -> NDArray[np.int64]:
    """`walk`, one step for all reports at a time: a question that is left, and the next of its attributes in random order."""
    questions = questions_of(d, lists)
    longest = max(map(len, questions))
    inner = np.full((n, len(questions), longest), -1, dtype=np.int64)
    for number, own in enumerate(questions):
        inner[:, number, : len(own)] = np.array(own)[np.argsort(words(source, n, len(own)), axis=1)]
    left = np.tile(np.array([len(own) for own in questions]), (n, 1))
    taken, rows = np.zeros((n, len(questions)), dtype=np.int64), np.arange(n)
    orders = np.empty((n, n_wanted), dtype=np.int64)
    for step in range(n_wanted):
        nth = uniform_below(source, (left > 0).sum(axis=1))
        chosen = np.argmax(np.cumsum(left > 0, axis=1) > nth[:, None], axis=1)
        orders[:, step] = inner[rows, chosen, taken[rows, chosen]]
        taken[rows, chosen] += 1
        left[rows, chosen] -= 1
    return orders


def _all(rule: AllAttributes, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    return np.ones((n, len(sizes)), dtype=bool)


def _sampled(rule: Sample, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    mask = np.zeros((n, len(sizes)), dtype=bool)
    np.put_along_axis(
        mask, _orders(n, len(sizes), rule.lists, rule.n_sampled, source), True, axis=1
    )
    return mask


def _filled(rule: Fill, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    """The walk of `Fill.draw`, one step for all reports at a time."""
    orders = _orders(n, len(sizes), rule.lists, len(sizes), source)
    size_of = np.array(sizes, dtype=np.int64)
    mask = np.zeros((n, len(sizes)), dtype=bool)
    product = np.ones(n, dtype=np.int64)
    for step in range(len(sizes)):
        position = orders[:, step]
        size = size_of[position]
        # Division instead of multiplication: the product of large sizes could pass 63 bits.
        takes = np.ones(n, dtype=bool) if step < 2 else product <= rule.cells // size
        mask[np.arange(n), position] = takes
        product = np.where(takes, product * size, product)
    return mask


def _listed(rule: Listed, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    sets = np.zeros((len(rule.sets), len(sizes)), dtype=bool)
    for i, view in enumerate(rule.sets):
        sets[i, list(view)] = True
    drawn = uniform_below(source, np.full(n, sum(rule.weights), dtype=np.int64))
    mask: Mask = sets[np.searchsorted(np.cumsum(rule.weights), drawn, side="right")]
    return mask


MANY |= {AllAttributes.kind: _all, Sample.kind: _sampled, Fill.kind: _filled, Listed.kind: _listed}
