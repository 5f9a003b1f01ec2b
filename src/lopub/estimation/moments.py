"""`moments`: regression on debiased bits and their co-occurrences, whitened, under the simplex. Counts are all it needs.

A report's debiased bits u = (bits - q) / (p - q) of one attribute have the mean C_a given candidate a, and across separately
randomized attributes they are independent given the record, so E[u v'] = C' P C: the mean of u v' over reports is linear
in the joint P. (The paper's Lasso sees the means of u and of v alone, which say nothing about dependence.) With a bit that is
always one put before u and v, the means of single bits are part of the same equations. Noise is taken account of by the second
moments S = E[u u'] of either side: the covariance of u v' is S x S less a matrix of rank one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lopub.bulk import bulk_of
from lopub.bulk.codes import code_matrix, rank_of, reading
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel, Law
from lopub.errors import DomainError
from lopub.estimation.joint import Probabilities, product_of, raked
from lopub.reports.counts import Counts, form_of

ROUNDS = 2
"""How often a marginal is estimated with the weights that the one before gave."""
MOST_STEPS = 5000
SETTLED = 1e-8
"""Largest change of a cell at which a projected descent has converged."""


@dataclass(frozen=True, eq=False)
class Lens:
    """How one attribute's debiased bits, after a one, are seen. gather: shape (size, 1 + n_bits), whitens and adds up what
    speaks for each candidate; square: shape (size, size), what gather makes of the code itself."""

    gather: Probabilities
    square: Probabilities


def lens_of(law: Law, n_ones: int | None, marginal: Probabilities) -> Lens:
    """How co-occurrences of bits are read as cells, where the marginal is about this."""
    code = np.concatenate([np.ones((law.n_candidates, 1)), code_matrix(law)], axis=1)
    gather = code @ np.linalg.pinv(_second_moments(law, n_ones, marginal), hermitian=True)
    return Lens(gather, gather @ code.T)


def _second_moments(law: Law, n_ones: int | None, marginal: Probabilities) -> Probabilities:
    """E[u u'] of a one and the debiased bits. n_ones: how many bits of a report are ones, where that is fixed."""
    p, q, code = float(law.p), float(law.q), code_matrix(law)
    means = marginal @ code
    both = (code.T * marginal) @ code  # independent given the candidate
    if (
        n_ones is not None
    ):  # one bit among the candidates' own: the others share what is left of n_ones
        k = law.n_candidates
        with_own = p * (n_ones - 1) / max(k - 1, 1)
        without = (p * (n_ones - 1) * (n_ones - 2) + (1 - p) * n_ones * (n_ones - 1)) / max(
            (k - 1) * (k - 2), 1
        )
        seen = without + (with_own - without) * np.add.outer(means, means)
        ones = q + (p - q) * means
        both = (seen - q * np.add.outer(ones, ones) + q * q) / (p - q) ** 2
    variances = (q * (1 - q) + means * (p * (1 - p) - q * (1 - q))) / (p - q) ** 2
    np.fill_diagonal(both, variances + means)
    return np.block([[np.ones((1, 1)), means[None, :]], [means[:, None], both]])


class MomentEquations:
    """What counts say about attributes and pairs, each marginal estimated once."""

    def __init__(self, counts: Counts) -> None:
        self._counts, self._campaign = counts, counts.campaign
        self._marginals: dict[int, Probabilities] = {}
        self._lenses: dict[tuple[int, int], Lens] = {}
        self._readings: dict[tuple[Clique, Clique], Probabilities] = {}

    def marginal(self, position: int) -> Probabilities:
        """The shares of one attribute's candidates."""
        if position not in self._marginals:
            self._marginals[position] = self._estimated((position,))
        return self._marginals[position]

    def joint(self, clique: Clique) -> Probabilities:
        """Of one or two attributes; of more where whole views were randomized to bits and one covers the clique."""
        if len(clique) == 1:
            return self.marginal(clique[0])
        if not self._campaign.jointly:
            return self._of_pair(clique)
        cells = on_simplex(self._linear(clique))
        axes = [(axis,) for axis in range(len(clique))]
        start = np.maximum(cells, 1e-9)  # raking cannot bring a zero back
        return raked(start / start.sum(), axes, [self.marginal(position) for position in clique])

    def information(self, clique: Clique) -> Probabilities | None:
        """Of a separately randomized attribute or pair, over its cells: the inverse of the covariance of the regression."""
        if self._campaign.jointly:
            return None
        total = np.zeros((1, 1))
        for noise in self._counts.noises(clique):
            squares = [self._lens(position, noise).square for position in clique]
            whole = squares[0] if len(squares) == 1 else np.kron(squares[0], squares[1])
            total = total + self._counts.tables[clique, noise].n_reports * whole
        return total

    def _estimated(self, clique: Clique) -> Probabilities:
        if self._campaign.jointly:
            return on_simplex(self._linear(clique))
        self._check_distinct(clique, self._counts.noises(clique)[0])
        position = clique[0]
        size = self._campaign.domain.sizes[position]
        marginal = np.full(size, 1 / size)
        for _ in range(ROUNDS):
            square, right = np.zeros((size, size)), np.zeros(size)
            for noise in self._counts.noises(clique):
                law, n_ones = law_of(self._campaign, position, noise)
                lens, n = (
                    lens_of(law, n_ones, marginal),
                    self._counts.tables[clique, noise].n_reports,
                )
                square += n * lens.square
                right += n * lens.gather @ self._debiased(position, noise)
            marginal = _descended([(square, np.ones((1, 1)))], right[:, None], marginal[:, None])[
                :, 0
            ]
        return marginal

    def _of_pair(self, pair: Clique) -> Probabilities:
        a, b = pair
        squares, right = (
            [],
            np.zeros((self._campaign.domain.sizes[a], self._campaign.domain.sizes[b])),
        )
        for noise in self._counts.noises(pair):
            first, second, n = (
                self._lens(a, noise),
                self._lens(b, noise),
                self._counts.tables[pair, noise].n_reports,
            )
            squares.append((n * first.square, second.square))
            right += n * first.gather @ self._co_occurrences(a, b, noise) @ second.gather.T
        return _descended(squares, right, product_of([self.marginal(a), self.marginal(b)]))

    def _lens(self, position: int, noise: int) -> Lens:
        if (position, noise) not in self._lenses:
            law, n_ones = law_of(self._campaign, position, noise)
            self._lenses[position, noise] = lens_of(law, n_ones, self.marginal(position))
        return self._lenses[position, noise]

    def _ones(self, clique: Clique, noise: int) -> Probabilities:
        """The share of reports in which each bit, or each two, are ones; an answer is a single one."""
        table = self._counts.tables[clique, noise]
        return form_of(self._campaign).ones(table) / table.n_reports

    def _debiased(self, position: int, noise: int) -> Probabilities:
        """The mean of u, after a one (Algorithm 2, line 4)."""
        law, _ = law_of(self._campaign, position, noise)
        return np.concatenate(
            [[1.0], (self._ones((position,), noise) - float(law.q)) / float(law.p - law.q)]
        )

    def _co_occurrences(self, a: int, b: int, noise: int) -> Probabilities:
        """The mean of u v', both after a one."""
        first, second = self._debiased(a, noise), self._debiased(b, noise)
        laws = [law_of(self._campaign, position, noise)[0] for position in (a, b)]
        (p, q), (r, s) = ((float(law.p), float(law.q)) for law in laws)
        ones_a, ones_b = self._ones((a,), noise), self._ones((b,), noise)
        both = self._ones((a, b), noise) - s * ones_a[:, None] - q * ones_b[None, :] + q * s
        return np.block(
            [[np.ones((1, 1)), second[None, 1:]], [first[1:, None], both / ((p - q) * (r - s))]]
        )

    # ---- jointly randomized: unbiased linear estimates

    def knows(self, clique: Clique) -> bool:
        """Whether the bits that are counted tell the cells of some view that covers the clique apart."""
        return bool(self._readable(clique))

    def covariance(self, clique: Clique) -> Probabilities | None:
        """Of the linear estimate of jointly randomized cells once they sum to one. None of separately randomized ones."""
        if not self._campaign.jointly:
            return None
        shares = (
            self.marginal(clique[0]) if len(clique) == 1 else on_simplex(self._linear(clique))
        ).reshape(-1)
        total, weights = np.zeros((len(shares), len(shares))), 0.0
        for weight, n, noise in self._noises(clique, shares):
            total += weight**2 * (np.diag(shares) - np.outer(shares, shares) + noise) / n
            weights += weight
        centred = np.eye(len(shares)) - 1 / len(shares)  # the simplex takes the same off every cell
        covariance: Probabilities = centred @ total @ centred / weights**2
        return covariance

    def _linear(self, clique: Clique) -> Probabilities:
        """The unbiased estimate of each noise or view, averaged by precision. Cells may be negative."""
        total, weights = np.zeros(tuple(self._campaign.domain.sizes[p] for p in clique)), 0.0
        estimates = (
            self._of_views(clique)
            if form_of(self._campaign).whole_views
            else self._of_cells(clique)
        )
        for weight, cells in estimates:
            total, weights = total + weight * cells, weights + weight
        return total / weights

    def _of_cells(self, clique: Clique) -> Iterator[tuple[float, Probabilities]]:
        for noise in self._counts.noises(clique):
            keep, ones = (
                bulk_of(self._campaign.mechanism).keep(self._campaign, clique[0], noise),
                self._ones(clique, noise),
            )
            yield (
                self._counts.tables[clique, noise].n_reports * keep**2,
                (ones - (1 - keep) / ones.size) / keep,
            )

    def _of_views(self, clique: Clique) -> Iterator[tuple[float, Probabilities]]:
        sizes = self._campaign.domain.sizes
        for view in self._chosen(clique):
            law = self._channel(view).law()
            debiased = (self._ones(view, 0) - float(law.q)) / float(law.p - law.q)
            if law.rows is None:
                others = tuple(axis for axis, position in enumerate(view) if position not in clique)
                cells = debiased.reshape([sizes[position] for position in view]).sum(axis=others)
            else:
                cells = (self._reading(view, clique) @ debiased).reshape(
                    [sizes[position] for position in clique]
                )
            yield self._weight(view, clique), cells

    def _noises(
        self, clique: Clique, shares: Probabilities
    ) -> Iterator[tuple[float, int, Probabilities]]:
        """Weight, reports, and the covariance that the noise adds, of each estimate. shares: of the clique's cells."""
        if not form_of(self._campaign).whole_views:
            for noise in self._counts.noises(clique):
                keep, n = (
                    bulk_of(self._campaign.mechanism).keep(self._campaign, clique[0], noise),
                    self._counts.tables[clique, noise].n_reports,
                )
                seen = keep * shares + (1 - keep) / len(shares)
                noisy = np.diag(seen) - np.outer(seen, seen)
                yield n * keep**2, n, noisy / keep**2 - np.diag(shares) + np.outer(shares, shares)
            return
        for view in self._chosen(clique):
            channel, n = self._channel(view), self._counts.tables[view, 0].n_reports
            if channel.law().rows is None:
                yield self._weight(view, clique), n, _own_bit_noise(channel, shares)
            else:
                read = self._reading(view, clique)
                yield (
                    self._weight(view, clique),
                    n,
                    _code_noise(channel.law(), read, self._ones(view, 0)),
                )

    def _weight(self, view: Clique, clique: Clique) -> float:
        """Reports times the precision of one of a cell's bits, over how many are summed."""
        law, sizes = self._channel(view).law(), self._campaign.domain.sizes
        n_summed = law.n_candidates / np.prod([sizes[position] for position in clique])
        return (
            self._counts.tables[view, 0].n_reports
            * float((law.p - law.q) ** 2 / (law.q * (1 - law.q)))
            / float(n_summed)
        )

    def _chosen(self, clique: Clique) -> list[Clique]:
        """The covering views whose codes tell their cells apart; refused where there are none."""
        if not (readable := self._readable(clique)):
            self._check_distinct(self._covering(clique)[0], 1)
        return readable

    def _readable(self, clique: Clique) -> list[Clique]:
        return [view for view in self._covering(clique) if not indistinct(self._campaign, view, 1)]

    def _covering(self, clique: Clique) -> list[Clique]:
        return [
            view
            for view in sorted({found for found, _ in self._counts.tables})
            if set(clique) <= set(view)
        ]

    def _check_distinct(self, block: Clique, n_blocks: int) -> None:
        if refused := indistinct(self._campaign, block, n_blocks):
            raise DomainError(
                f"method moments {refused}; give the reports to em or shrunk, or take more bits"
            )

    def _reading(self, view: Clique, clique: Clique) -> Probabilities:
        if (view, clique) not in self._readings:
            shape = tuple(self._campaign.domain.sizes[position] for position in view)
            axes = tuple(view.index(position) for position in clique)
            self._readings[view, clique] = reading(self._channel(view).law(), shape, axes)
        return self._readings[view, clique]

    def _channel(self, view: Clique) -> Channel:
        return self._campaign.channels(view)[0]


def law_of(campaign: Campaign, position: int, noise: int) -> tuple[Law, int | None]:
    """The law of a separately randomized attribute, and how many bits are ones, where that is fixed."""
    channel = campaign.mechanism.channel((campaign.domain.attributes[position],), noise)
    return channel.law(), channel.n_ones


def indistinct(campaign: Campaign, block: Clique, n_blocks: int) -> str | None:
    """What counts of a block's bits cannot do, and why, where they do not tell its candidates apart; None where they do.

    Where the block's code has a lower rank than the block has candidates, many joints give the same expected bits, and least
    squares would choose among them for reasons that have nothing to do with people. The likelihood of whole reports still tells.
    """
    attributes = tuple(campaign.domain.attributes[position] for position in block)
    law = campaign.mechanism.channel(attributes, n_blocks).law()
    if (rank := rank_of(law)) == law.n_candidates:
        return None
    names = ", ".join(attribute.name for attribute in attributes)
    return f"cannot tell the {law.n_candidates:,} cells of {names} apart, because their code has rank {rank:,}"


def _code_noise(law: Law, read: Probabilities, ones: Probabilities) -> Probabilities:
    """The covariance that randomizing one report's bits adds to the estimate of cells that are read off a code, on average over
    people: given the answer, bits are independent. read: see `reading`; ones: the share of reports that have each bit."""
    p, q = float(law.p), float(law.q)
    own = np.clip((ones - q) / (p - q), 0, 1)
    noise: Probabilities = (read * (q * (1 - q) + own * (p * (1 - p) - q * (1 - q)))) @ read.T
    return noise / (p - q) ** 2


def _own_bit_noise(channel: Channel, shares: Probabilities) -> Probabilities:
    """The same where each of the block's cells has a bit of its own, and the clique's cells are sums of n of them.

    Where the number of ones is fixed, the chance that two bits are both ones differs from the product of theirs by g, and by
    g + c if one of them is the answer's own.
    """
    law, n_ones = channel.law(), channel.n_ones
    p, q, k, n = float(law.p), float(law.q), law.n_candidates, law.n_candidates / len(shares)
    g = c = 0.0
    if n_ones is not None:
        g = (p * (n_ones - 1) * (n_ones - 2) + (1 - p) * n_ones * (n_ones - 1)) / max(
            (k - 1) * (k - 2), 1
        ) - q * q
        c = p * (n_ones - 1) / max(k - 1, 1) - p * q - g
    diagonal = n * (q * (1 - q) - g) + shares * (p * (1 - p) - q * (1 - q) - 2 * c)
    noise: Probabilities = n * n * g + n * c * np.add.outer(shares, shares) + np.diag(diagonal)
    return noise / (p - q) ** 2


def on_simplex(values: Probabilities) -> Probabilities:
    """The nearest distribution, by Euclid: subtract one number from all and cut at zero."""
    flat = values.reshape(-1)
    descending = np.sort(flat)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(flat) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    nearest: Probabilities = np.maximum(values - excess[last], 0)
    return nearest


def _descended(
    squares: list[tuple[Probabilities, Probabilities]], right: Probabilities, start: Probabilities
) -> Probabilities:
    """The distribution P that minimises sum of tr(P' A P B) / 2 - tr(P' right): projected descent with momentum, which starts
    anew where it would climb (Beck and Teboulle 2009; O'Donoghue and Candes 2015)."""
    slowest = sum(float(np.linalg.eigvalsh(a)[-1] * np.linalg.eigvalsh(b)[-1]) for a, b in squares)
    here, ahead, momentum = start, start, 1.0
    for _ in range(MOST_STEPS):
        slope = sum((a @ ahead @ b for a, b in squares), -right)
        following = on_simplex(ahead - slope / slowest)
        if float(np.vdot(ahead - following, following - here)) > 0:
            momentum = 1.0
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / grown * (following - here)
        moved = float(np.abs(following - here).max())
        here, momentum = following, grown
        if moved < SETTLED:
            break
    return here
