"""Pairs of separately randomized attributes from counts, where reports cover other sets of attributes than the pair, too.

With u = c + x and v = d + y the readings of two attributes, c and d their offsets (see `bulk.linear`), u v' is the share of each
cell. Counts hold the mean of x y' over the n reports that cover both, but the mean of x only over all n_a that cover the one, and
that of y over all n_b that cover the other. Views are drawn without looking at answers, so all of these are unbiased, and so is

    c d' + mean_a(x) d' + c mean_b(y)' + mean(x y').

A report that covers both says (x + r_b c)(y + r_a d)' / n up to a constant, with r_a = n / n_a and r_b = n / n_b; one that covers
one alone adds x d' / n_a or c y' / n_b. Reports are independent of each other, which gives the variance.
"""

from dataclasses import dataclass

import numpy as np

from lopub.bulk.linear import Scatter
from lopub.estimation.joint import Probabilities
from lopub.estimation.linear import LinearPart


@dataclass(frozen=True, eq=False)
class PairedPart(LinearPart):
    """What counts say about a pair. kept: of the reports that cover each attribute, the share that covers both. offsets: of the
    readings."""

    kept: tuple[float, float] = (1.0, 1.0)
    offsets: tuple[Probabilities, ...] = ()

    def second(self, first: Probabilities, other: Probabilities) -> Probabilities:
        """As of other parts: with these for the cells of people, their mean less the product of the means of what is asked is n
        times the covariance. Means of what each group of reports says are taken at the shares that were found."""
        found = self._covariance_of(first, other)
        return found + float((first * self.shares).sum()) * float((other * self.shares).sum())

    def _covariance_of(self, first: Probabilities, other: Probabilities) -> Probabilities:
        """For every cell of people, what it adds to n times the covariance, and the products of means taken off."""
        (a, b), shares = self.kept, self.shares
        one, two = (_Reading.of(*own) for own in zip(self.scatters, self.offsets, strict=True))
        crossed = np.einsum(
            "kl,KL,ikK,jlL->ij", first, other, one.moved(b), two.moved(a), optimize=True
        )
        means = [
            np.einsum("kl,ik,jl->ij", weights, one.mean + b * one.offset, two.mean + a * two.offset)
            for weights in (first, other)
        ]
        total: Probabilities = crossed - float((shares * means[0]).sum()) * float(
            (shares * means[1]).sum()
        )
        for axis, (reading, beside, kept) in enumerate(((one, two, a), (two, one, b))):
            sides = [
                np.tensordot(beside.offset, weights, (0, 1 - axis)) for weights in (first, other)
            ]
            alone = np.einsum("k,K,ikK->i", sides[0], sides[1], reading.moved(0.0), optimize=True)
            margin = shares.sum(axis=1 - axis)
            apart = float(margin @ (reading.mean @ sides[0])) * float(
                margin @ (reading.mean @ sides[1])
            )
            total = total + kept * (1 - kept) * np.expand_dims(alone - apart, 1 - axis)
        return total

    def covariance(self, chances: Probabilities) -> Probabilities:
        size = chances.size
        units = np.eye(size).reshape(size, *chances.shape)
        rows = [
            [float((chances * self._covariance_of(one, other)).sum()) for other in units]
            for one in units
        ]
        return np.array(rows) / self.n_reports


@dataclass(frozen=True, eq=False)
class _Reading:
    """x of one attribute. mean: E[x | class], squares: E[x x' | class]; the class comes first."""

    offset: Probabilities
    mean: Probabilities
    squares: Probabilities

    @staticmethod
    def of(scatter: Scatter, offset: Probabilities) -> "_Reading":
        own = np.eye(len(offset))
        mean, apart = own - offset, own - scatter.sigma
        squares = (
            scatter.noise
            + mean[:, :, None] * mean[:, None, :]
            + scatter.gamma * apart[:, :, None] * apart[:, None, :]
        )
        return _Reading(offset, mean, squares)

    def moved(self, by: float) -> Probabilities:
        """E[(x + by offset)(x + by offset)' | class]."""
        cross = by * self.mean[:, :, None] * self.offset
        found: Probabilities = (
            self.squares
            + cross
            + np.swapaxes(cross, 1, 2)
            + by**2 * np.outer(self.offset, self.offset)
        )
        return found
