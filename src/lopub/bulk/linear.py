"""Linear readings: what one report says about classes of a block's candidates, unbiased, and how far that scatters.

With a class k for every candidate, u is a vector with one entry per class and E[u | candidate] = e_k, the unit vector of the
candidate's own class. Its second moments are

    E[u u' | candidate of class k] = e_k e_k' + noise + gamma (e_k - sigma)(e_k - sigma)',

sigma being the share of candidates in each class. The entries of u always sum to one, which takes out the noise that all
candidates have in common: a class and what is not in it are read off the same report with the same error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.cells import cell_noise
from lopub.bulk.codes import code_matrix, inverse_code, rank_of
from lopub.campaign.mechanisms import Law
from lopub.errors import DomainError

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]
"""Of every candidate, the number of its class. shape (n_candidates,)."""

EXACT = 1e-6
"""Largest error of a class's expected reading that is taken for rounding."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """The second moments of a reading. noise: shape (classes, classes); sigma: shape (classes,), sums to one."""

    noise: Floats
    gamma: float
    sigma: Floats

    def merged(self, classes: Classes, n_classes: int) -> "Scatter":
        """Of coarser classes. classes: of every class, the coarser one that it goes into."""
        into = one_hot(classes, n_classes)
        return Scatter(into @ self.noise @ into.T, self.gamma, into @ self.sigma)

    def second(self, first: Floats, other: Floats) -> Floats:
        """E[t s | class] for every class, where t and s weigh the classes of one reading so. shape (classes,)."""
        both, same = np.outer(first, other), first * other
        along, across = self.sigma @ both, both @ self.sigma
        apart: Floats = same - along - across + self.sigma @ along
        return same + (self.noise.reshape(-1) @ both.reshape(-1)) + self.gamma * apart


@dataclass(frozen=True, eq=False)
class ClassReading:
    """u = offset + gather @ bits. gather: shape (classes, n_bits)."""

    gather: Floats
    offset: Floats
    scatter: Scatter

    def rows(self, bits: NDArray[np.uint8]) -> Floats:
        """u of every report. bits: shape (n, n_bits). shape (n, classes)."""
        read = bits.astype(np.float32) @ self.gather.T.astype(np.float32)
        return read.astype(np.float64) + self.offset


def kept_scatter(keep: float, sigma: Floats) -> Scatter:
    """Of an answer that is kept with this chance, else drawn uniformly: u = (e_seen - (1 - keep) sigma) / keep."""
    noise = (1 - keep) / keep**2 * (np.diag(sigma) - np.outer(sigma, sigma))
    return Scatter(noise, 1 / keep - 1, sigma)


def own_bit_scatter(law: Law, n_ones: int | None, sigma: Floats) -> Scatter:
    """Where each candidate has a bit of its own. n_ones: of every output, where that is fixed."""
    p, q, k = float(law.p), float(law.q), law.n_candidates
    with_own, without = p * q, q * q
    if n_ones is not None:
        with_own = p * (n_ones - 1) / max(k - 1, 1)
        without = (p * (n_ones - 1) * (n_ones - 2) + (1 - p) * n_ones * (n_ones - 1)) / max(
            (k - 1) * (k - 2), 1
        )
    cell = cell_noise(law, with_own, without)
    return Scatter(cell.alpha * k * (np.diag(sigma) - np.outer(sigma, sigma)), cell.beta - 1, sigma)


def own_bit_shares(law: Law, ones: Floats, classes: Classes, sigma: Floats) -> Floats:
    """The mean of u over reports. ones: the share of reports that have each bit. shape (classes,)."""
    p, q, k = float(law.p), float(law.q), law.n_candidates
    seen = np.bincount(classes, weights=ones, minlength=len(sigma)) - q * k * sigma
    shares: Floats = sigma + (seen - sigma * (ones.sum() - q * k)) / (p - q)
    return shares


def own_bit_reading(law: Law, classes: Classes, scatter: Scatter) -> ClassReading:
    """The same for reports one by one."""
    sigma, p, q = scatter.sigma, float(law.p), float(law.q)
    gather = (one_hot(classes, len(sigma)) - sigma[:, None]) / (p - q)
    return ClassReading(gather, sigma - q * gather.sum(axis=1), scatter)


def coded_reading(law: Law, classes: Classes, n_classes: int) -> ClassReading:
    """Where candidates share bits: of all unbiased readings the one with the least noise, if all bits are equally noisy.

    Refused where the code does not tell the classes apart.
    """
    inverse, p, q = inverse_code(law), float(law.p), float(law.q)
    whole, wanted = inverse.sum(axis=0), one_hot(classes, n_classes)
    shares = wanted @ inverse
    constant = shares @ whole / (whole @ whole)
    gather = shares - np.outer(constant, whole)
    code = code_matrix(law)
    if (
        rank_of(law) < law.n_candidates
        and np.abs(gather @ code.T + constant[:, None] - wanted).max() > EXACT
    ):
        raise DomainError(
            f"the code of {law.n_candidates:,} cells has rank {rank_of(law):,} and does not tell these apart"
        )
    spread = q * (1 - q) + (p * (1 - p) - q * (1 - q)) * code.mean(axis=0)
    scatter = Scatter(
        (gather * spread) @ gather.T / (p - q) ** 2, 0.0, class_shares(classes, n_classes)
    )
    return ClassReading(gather / (p - q), constant - q * gather.sum(axis=1) / (p - q), scatter)


def one_hot(classes: Classes, n_classes: int) -> Floats:
    """Which candidate is in which class. shape (classes, candidates)."""
    return np.equal.outer(np.arange(n_classes), classes).astype(np.float64)


def class_shares(classes: Classes, n_classes: int) -> Floats:
    """sigma: the share of the candidates in each class."""
    return np.bincount(classes, minlength=n_classes) / len(classes)
