"""Unbiased, linear, unshrunk: what reports say about classes of answers, with the covariance that this has.

A question looks at some attributes, and at each of them only as far as it tells answers apart: their *classes*. Every group of
reports with the same noise that covers all of the attributes gives the share of each cell of classes as a mean of something
linear in what was sent (`bulk.linear`). The shares of several groups are averaged with weights that the campaign and the numbers
of reports fix, never what was found, so that the average is unbiased. The variance of any weighted sum of cells is that
of one report, people and noise together, which the shares themselves give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.linear import Classes, Scatter
from lopub.estimation.joint import Probabilities, product_of
from lopub.estimation.moments import on_simplex

LEAST_VARIANCE = 1e-12
"""A question that holds of every cell, or of none, has no variance; reports count equally then."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Classes of the answers to one attribute. classes: of every candidate, the number of its class."""

    classes: Classes
    n_classes: int

    @property
    def sigma(self) -> Probabilities:
        """The share of the candidates in each class."""
        return np.bincount(self.classes, minlength=self.n_classes) / len(self.classes)

    def merge(self, table: Probabilities, axis: int) -> Probabilities:
        """The sums over the candidates of each class, along an axis."""
        moved = np.moveaxis(table, axis, 0)
        summed = np.zeros((self.n_classes, *moved.shape[1:]))
        np.add.at(summed, self.classes, moved)
        return np.moveaxis(summed, 0, axis)


Groupings = Sequence[Grouping]
"""One for each attribute of a clique, in its order."""


def merged(table: NDArray[np.int64] | Probabilities, groupings: Groupings) -> Probabilities:
    """A table over candidates as one over classes."""
    return reduce(
        lambda found, place: groupings[place].merge(found, place),
        range(len(groupings)),
        np.asarray(table, np.float64),
    )


def cells_of(groupings: Groupings) -> Classes:
    """Of every cell of candidates, the number of its cell of classes; last attribute fastest."""
    cells = np.zeros(1, dtype=np.intp)
    for grouping in groupings:
        cells = (cells[:, None] * grouping.n_classes + grouping.classes).reshape(-1)
    return cells


@dataclass(frozen=True, eq=False)
class LinearPart:
    """What one group of reports says. shares: unbiased, shape (classes of each attribute); some may be negative.
    scatters: of one reading of all attributes together, or of one reading for each, independent given the record."""

    n_reports: int
    shares: Probabilities
    scatters: tuple[Scatter, ...]
    beside: str = ""
    """What else it rests on than the reports that cover all attributes."""

    def second(self, first: Probabilities, other: Probabilities) -> Probabilities:
        """E[t s | cell] for every cell of classes, where t and s weigh the cells of one report's reading so."""
        if len(self.scatters) == 1:
            return (
                self.scatters[0].second(first.reshape(-1), other.reshape(-1)).reshape(first.shape)
            )
        both, n = np.multiply.outer(first, other), len(self.scatters)
        for axis, scatter in enumerate(
            self.scatters
        ):  # the axes before are cells already; those of `other` begin at n
            both = np.moveaxis(_contracted(both, scatter, axis, n), 0, axis)
        return both

    def onto(self, axes: tuple[int, ...], kept: tuple[int, ...]) -> "LinearPart":
        """The same about some of its attributes. axes: of the attributes that it is about; kept: those that stay, ascending."""
        others = tuple(place for place, axis in enumerate(axes) if axis not in kept)
        shares = self.shares.sum(axis=others)
        if len(self.scatters) > 1 or not others:
            left = [scatter for place, scatter in enumerate(self.scatters) if place not in others]
            return LinearPart(self.n_reports, shares, tuple(left if others else self.scatters))
        cells = np.indices(self.shares.shape).reshape(len(axes), -1)
        places = np.ravel_multi_index(
            [cells[place] for place in range(len(axes)) if place not in others], shares.shape
        )
        return LinearPart(self.n_reports, shares, (self.scatters[0].merged(places, shares.size),))

    def covariance(self, chances: Probabilities) -> Probabilities:
        """Of the shares of all cells, in one line, if these were the chances of people to be in each. shape (cells, cells)."""
        flat = chances.reshape(-1)
        if len(self.scatters) == 1:
            total, sigma = np.diag(flat) + self.scatters[0].noise, self.scatters[0].sigma
            crossed = np.outer(flat, sigma)
            total += self.scatters[0].gamma * (
                np.diag(flat) - crossed - crossed.T + np.outer(sigma, sigma)
            )
        else:
            total = self._crossed(chances)
        return (total - np.outer(flat, flat)) / self.n_reports

    def _crossed(self, chances: Probabilities) -> Probabilities:
        """E[u u'] of readings that are independent given the record."""
        total = chances
        for scatter in self.scatters:
            own = np.eye(len(scatter.sigma))
            apart = own - scatter.sigma
            cubes = (
                own[:, :, None] * own[:, None, :]
                + scatter.noise
                + scatter.gamma * apart[:, :, None] * apart[:, None, :]
            )
            total = np.tensordot(total, cubes, (0, 0))
        n = len(self.scatters)
        return np.transpose(total, [*range(0, 2 * n, 2), *range(1, 2 * n, 2)]).reshape(
            chances.size, chances.size
        )


def _contracted(both: Probabilities, scatter: Scatter, axis: int, other: int) -> Probabilities:
    """An axis of the one and the same of the other become one of cells, which comes first."""
    moved = np.moveaxis(both, (axis, other), (0, 1))
    diagonal = np.moveaxis(np.diagonal(moved, axis1=0, axis2=1), -1, 0)
    along, across = (
        np.tensordot(scatter.sigma, moved, (0, 0)),
        np.tensordot(scatter.sigma, moved, (0, 1)),
    )
    centred = diagonal - along - across + np.tensordot(scatter.sigma, along, (0, 0))
    cells: Probabilities = (
        diagonal + np.tensordot(scatter.noise, moved, 2) + scatter.gamma * centred
    )
    return cells


@dataclass(frozen=True, eq=False)
class Pooled:
    """All parts as one. shares: unbiased. chances: the nearest distribution, for variances alone. evenly: the share of candidates
    in each cell. inverse: the sum of squared weights over reports."""

    n_reports: int
    shares: Probabilities
    evenly: Probabilities
    inverse: float
    parts: tuple[LinearPart, ...]
    weights: tuple[float, ...]

    @cached_property
    def chances(self) -> Probabilities:
        return on_simplex(self.shares)

    def second(self, first: Probabilities, other: Probabilities) -> Probabilities:
        """What each cell of people adds to the second moment of two weighted sums of the shares."""
        total = np.zeros(self.shares.shape)
        for part, weight in zip(self.parts, self.weights, strict=True):
            total += weight**2 / part.n_reports * part.second(first, other)
        return total

    def usual_variance(self, weights: Probabilities) -> float:
        """Of a weighted sum of the shares, if all candidates were equally likely."""
        mean = float((weights * self.evenly).sum())
        return float((self.evenly * self.second(weights, weights)).sum()) - self.inverse * mean**2

    def covariance(self, first: Probabilities, other: Probabilities) -> float:
        """Of two weighted sums of the shares."""
        chances = self.chances
        mean, others = float((first * chances).sum()), float((other * chances).sum())
        return float((chances * self.second(first, other)).sum()) - self.inverse * mean * others


def pooled(parts: Sequence[LinearPart], groupings: Groupings, asked: Probabilities) -> Pooled:
    """The parts, weighted by their precision about what is asked if every candidate were equally likely."""
    evenly = product_of([grouping.sigma for grouping in groupings])
    mean = float((asked * evenly).sum())
    variances = [float((evenly * part.second(asked, asked)).sum()) - mean**2 for part in parts]
    precise = [
        part.n_reports / max(v, LEAST_VARIANCE) for part, v in zip(parts, variances, strict=True)
    ]
    weights = tuple(weight / sum(precise) for weight in precise)
    shares = sum(
        (weight * part.shares for weight, part in zip(weights, parts, strict=True)),
        np.zeros(evenly.shape),
    )
    inverse = sum(weight**2 / part.n_reports for weight, part in zip(weights, parts, strict=True))
    return Pooled(
        sum(part.n_reports for part in parts), shares, evenly, inverse, tuple(parts), weights
    )
