"""Jointly randomized views whose cells have a bit each: marginals and joints from counts of ones alone.

The counts of a view give an unbiased share of each of its cells. A clique that a view covers with other attributes is read off by
summing over the others' cells c with weights u(c), where the sum of u(c) P(c) is one. All ones would be the plain sum, noise of
every cell included. If the others were independent of the clique, u = P(c) / (noise of c) would be best. They are as
independent as the view's own interactions are small: with interactions of variance r times the product of the marginals,

    u(c) ~ P(c) / (alpha + beta P P(c) + n r P P(c)),     P the share of a clique's cell,

which goes from the second to the plain sum as reports, or interactions, grow, and so goes to the truth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopub.bulk import bulk_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.estimation.evidence import Part
from lopub.estimation.joint import Probabilities, product_of
from lopub.estimation.pseudo_counts import PseudoCounts, averaged, limited
from lopub.reports.counts import Counts, Table

ROUNDS = 3
"""How often the marginals are estimated, each time with the weights that the ones before give; a fourth time changes little."""
INTERACTION_ROUNDS = 3
LARGEST_OFFSET = 1e3
"""Noise that does not depend on the share at all has an infinite offset; from here on it makes no difference."""

TINY = 1e-300

Marginals = dict[int, Probabilities]


@dataclass(frozen=True, eq=False)
class ViewTable:
    """One view's counts. reports: shape (n_folds,). sums: shape (n_folds, *sizes), over reports, of (bit - q) / (p - q).
    alpha + beta P is the variance of a cell of one report."""

    view: Clique
    reports: Probabilities
    sums: Probabilities
    alpha: float
    beta: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sums.shape[1:]

    @property
    def n_reports(self) -> float:
        return float(self.reports.sum())

    @property
    def shares(self) -> Probabilities:
        """Unbiased; some may be negative."""
        total: Probabilities = self.sums.sum(axis=0)
        return total / self.n_reports


@dataclass(frozen=True, eq=False)
class Reading:
    """How a clique is read off one view: sums, shape (n_folds, cells), and alpha + beta P, the variance of one report."""

    reports: Probabilities
    sums: Probabilities
    alpha: float
    beta: float


class ViewCounts:
    """What counts say; marginals are estimated when they are first asked for."""

    def __init__(self, counts: Counts) -> None:
        self._sizes = counts.campaign.domain.sizes
        self._tables = [
            table_of(counts.campaign, view, table)
            for (view, _), table in sorted(counts.tables.items())
        ]

    @cached_property
    def marginals(self) -> Marginals:
        return self._fitted[0]

    @cached_property
    def _fitted(self) -> tuple[Marginals, dict[Clique, float]]:
        """The marginals, shrunk towards uniform ones, and how strongly each view's attributes interact."""
        positions = sorted({position for table in self._tables for position in table.view})
        uniform = {
            position: np.full(self._sizes[position], 1 / self._sizes[position])
            for position in positions
        }
        marginals, interactions = uniform, {table.view: np.inf for table in self._tables}
        for _ in range(ROUNDS):
            parts = {
                position: self._covering((position,), marginals, interactions)
                for position in positions
            }
            marginals = {
                position: limited(part, averaged(part, uniform[position]))
                for position, part in parts.items()
            }
            interactions = {table.view: interaction(table, marginals) for table in self._tables}
        return marginals, interactions

    def parts(self, clique: Clique) -> Iterator[Part]:
        """One part for all views that cover the clique, and one for each that lies within it."""
        if any(set(clique) <= set(table.view) for table in self._tables):
            yield self._covering(clique, *self._fitted)
        for table in self._tables:
            if set(table.view) < set(clique):
                yield _pooled(
                    tuple(clique.index(p) for p in table.view), table.shape, [_whole(table)]
                )

    def _covering(
        self, clique: Clique, marginals: Marginals, interactions: dict[Clique, float]
    ) -> PseudoCounts:
        covering = [table for table in self._tables if set(clique) <= set(table.view)]
        axes, shape = tuple(range(len(clique))), tuple(self._sizes[p] for p in clique)

        def pooled(plain: float) -> PseudoCounts:
            read = [
                reading(table, clique, marginals, interactions[table.view], plain)
                for table in covering
            ]
            return _pooled(axes, shape, read)

        return pooled(plain_share(pooled(0.0), pooled(1.0)))


def table_of(campaign: Campaign, view: Clique, table: Table) -> ViewTable:
    """A view's counts of ones as unbiased sums."""
    noise = bulk_of(campaign.mechanism).cell_noise(campaign.channels(view)[0].law())
    reports, ones = table.counts[:, 0].astype(np.float64), table.counts[:, 1:]
    sums = (ones - noise.q * reports[:, None]) / (noise.p - noise.q)
    shape = [campaign.domain.sizes[position] for position in view]
    return ViewTable(view, reports, sums.reshape(-1, *shape), noise.alpha, noise.beta)


def interaction(table: ViewTable, marginals: Marginals) -> float:
    """r, where the cells of a view's joint differ from the product of marginals with a variance of r times that product.

    From their squares, less what noise adds to them, weighted by how well each tells; a small r may come out as zero.
    """
    product = product_of([marginals[position] for position in table.view])
    noise = (table.alpha + table.beta * product) / table.n_reports
    excess, found = (table.shares - product) ** 2 - noise, 0.0
    for _ in range(INTERACTION_ROUNDS):
        weights = product / (noise + found * product) ** 2
        found = max(0.0, float((weights * excess).sum() / (weights * product).sum()))
    return found


def plain_share(weighted: PseudoCounts, plain: PseudoCounts) -> float:
    """How far a weighted reading has to go towards the plain one, from 0 to 1.

    The plain one is unbiased. Where the two differ by no more than the noise of the plain one beyond that of the other, nothing
    speaks for a bias of the weighted one; else as much of the difference is taken as noise does not explain (James and Stein).
    """
    difference = plain.shares - weighted.shares
    noise = float((plain.variances - weighted.variances).sum())
    return max(0.0, 1 - max(noise, 0.0) / max(float(difference @ difference), TINY))


def reading(
    table: ViewTable, clique: Clique, marginals: Marginals, interactions: float, plain: float = 0.0
) -> Reading:
    """The clique read off a view that covers it. interactions: r of the view; infinite for the plain sum. plain: how far the
    weights go from those of r towards those of the plain sum."""
    others = [axis for axis, position in enumerate(table.view) if position not in clique]
    if not others:
        return _whole(table)
    chance = product_of([marginals[table.view[axis]] for axis in others]).reshape(-1)
    n, mean = table.n_reports, len(chance) / table.sums[0].size  # of a clique's cell, on average
    weights = np.ones(len(chance))
    if np.isfinite(interactions):
        weights = chance / (table.alpha + (table.beta + n * interactions) * mean * chance)
    weights = (1 - plain) * weights / (weights @ chance) + plain
    squares, spread = float(weights @ weights), float(weights**2 @ chance)
    bias = n * interactions * max(spread - 1, 0.0) if np.isfinite(interactions) else 0.0
    kept = [axis for axis in range(len(table.view)) if axis not in others]
    ordered = np.transpose(table.sums, (0, *(1 + axis for axis in (*kept, *others))))
    sums = ordered.reshape(len(table.reports), -1, len(chance)) @ weights
    return Reading(table.reports, sums, table.alpha * squares, table.beta * spread + bias)


def _whole(table: ViewTable) -> Reading:
    return Reading(
        table.reports, table.sums.reshape(len(table.reports), -1), table.alpha, table.beta
    )


def _pooled(
    axes: tuple[int, ...], shape: tuple[int, ...], readings: Sequence[Reading]
) -> PseudoCounts:
    """All readings of a clique as one, weighted by their precision at an average cell."""
    n_cells = int(np.prod(shape))
    reports, sums = np.zeros_like(readings[0].reports), np.zeros_like(readings[0].sums)
    weighed, alpha, beta = np.zeros_like(reports), 0.0, 0.0
    for own in readings:
        weight, n = 1 / (own.alpha + own.beta / n_cells), float(own.reports.sum())
        sums, weighed, reports = (
            sums + weight * own.sums,
            weighed + weight * own.reports,
            reports + own.reports,
        )
        alpha, beta = alpha + weight**2 * n * own.alpha, beta + weight**2 * n * own.beta
    beta = max(beta, alpha / LARGEST_OFFSET)
    offset = alpha / beta
    counts = float(weighed.sum()) / beta * (sums + offset * weighed[:, None])
    keeps = np.array([1 / (1 + n_cells * offset)])
    scale = float(weighed.sum()) ** 2 / beta
    return PseudoCounts(axes, shape, counts[:, None, :], keeps, reports.astype(np.int64), scale)
