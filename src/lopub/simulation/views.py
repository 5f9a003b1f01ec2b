"""Vectorised draws of views, with the law of the client's."""

import numpy as np
from numpy.typing import NDArray

from lopub.simulation.draws import RandomWords, uniform_below, words
from lopub.view import Fill, Listed, Sample, ViewRule

Mask = NDArray[np.bool_]
"""shape (n, n_attributes): which attributes each report covers."""


def draw_masks(rule: ViewRule, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    """Views of n reports, drawn without looking at any record."""
    if isinstance(rule, Sample):
        return _sampled(rule.n_sampled, len(sizes), n, source)
    if isinstance(rule, Fill):
        return _filled(rule.cells, sizes, n, source)
    if isinstance(rule, Listed):
        return _listed(rule, len(sizes), n, source)
    return np.ones((n, len(sizes)), dtype=bool)


def _random_orders(n: int, d: int, source: RandomWords) -> NDArray[np.int64]:
    """n uniformly random orders of d attributes."""
    return np.argsort(words(source, n, d), axis=1)


def _sampled(size: int, d: int, n: int, source: RandomWords) -> Mask:
    mask = np.zeros((n, d), dtype=bool)
    np.put_along_axis(mask, _random_orders(n, d, source)[:, :size], True, axis=1)
    return mask


def _filled(cells: int, sizes: tuple[int, ...], n: int, source: RandomWords) -> Mask:
    """The walk of `Fill.draw`, one step for all reports at a time."""
    orders = _random_orders(n, len(sizes), source)
    size_of = np.array(sizes, dtype=np.int64)
    mask = np.zeros((n, len(sizes)), dtype=bool)
    product = np.ones(n, dtype=np.int64)
    for step in range(len(sizes)):
        position = orders[:, step]
        size = size_of[position]
        # Division instead of multiplication: the product of large sizes could pass 63 bits.
        takes = np.ones(n, dtype=bool) if step < 2 else product <= cells // size
        mask[np.arange(n), position] = takes
        product = np.where(takes, product * size, product)
    return mask


def _listed(rule: Listed, d: int, n: int, source: RandomWords) -> Mask:
    sets = np.zeros((len(rule.sets), d), dtype=bool)
    for i, view in enumerate(rule.sets):
        sets[i, list(view)] = True
    drawn = uniform_below(source, np.full(n, sum(rule.weights), dtype=np.int64))
    mask: Mask = sets[np.searchsorted(np.cumsum(rule.weights), drawn, side="right")]
    return mask
