"""Vectorised draws of views, with the law of the client's."""

import numpy as np
from numpy.typing import NDArray

from lopub.simulation.draws import words
from lopub.view import Fill, Listed, Sample, ViewRule

Mask = NDArray[np.bool_]
"""shape (n, n_attributes): which attributes each report covers."""


def draw_masks(rule: ViewRule, sizes: tuple[int, ...], n: int, rng: np.random.Generator) -> Mask:
    """Views of n reports, drawn without looking at any record."""
    if isinstance(rule, Sample):
        return _sampled(rule.n_sampled, len(sizes), n, rng)
    if isinstance(rule, Fill):
        return _filled(rule.cells, sizes, n, rng)
    if isinstance(rule, Listed):
        return _listed(rule, len(sizes), n, rng)
    return np.ones((n, len(sizes)), dtype=bool)


def _random_orders(n: int, d: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n uniformly random orders of d attributes."""
    return np.argsort(words(rng, n, d), axis=1)


def _sampled(size: int, d: int, n: int, rng: np.random.Generator) -> Mask:
    mask = np.zeros((n, d), dtype=bool)
    np.put_along_axis(mask, _random_orders(n, d, rng)[:, :size], True, axis=1)
    return mask


def _filled(cells: int, sizes: tuple[int, ...], n: int, rng: np.random.Generator) -> Mask:
    """The walk of `Fill.draw`, one step for all reports at a time."""
    orders = _random_orders(n, len(sizes), rng)
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


def _listed(rule: Listed, d: int, n: int, rng: np.random.Generator) -> Mask:
    sets = np.zeros((len(rule.sets), d), dtype=bool)
    for i, view in enumerate(rule.sets):
        sets[i, list(view)] = True
    drawn = rng.integers(0, sum(rule.weights), size=n)
    mask: Mask = sets[np.searchsorted(np.cumsum(rule.weights), drawn, side="right")]
    return mask
