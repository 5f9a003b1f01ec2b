"""How far the frequency tables of a few attributes are apart, set by set."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, fsum, prod

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Domain
from lopub.estimation.joint import Probabilities, avd, mutual_information, product_of
from lopub.reports.dataset import Dataset

MOST_DENSE = 2**18
"""Cells of a table that is held whole; of a larger one just the cells that somebody is in."""


@dataclass(frozen=True, kw_only=True)
class SetScore:
    """One set of attributes: its AVD, what independence would give, and its dependence in nats."""

    names: tuple[str, ...]
    """In domain order."""
    avd: float
    """Between the real and the synthetic table."""
    product_of_real: float
    """AVD of the real table to the product of its own marginals: the best that independence could do, and how dependent
    the attributes are."""
    product_of_synthetic: float
    """AVD of the real table to the product of the synthetic marginals."""
    real_information: float
    """Mutual information in nats (total correlation of three) of the real table."""
    synthetic_information: float


@dataclass(frozen=True, kw_only=True)
class WayScore:
    """The AVD of all tables of k attributes, or of some drawn at random."""

    k: int
    n_possible: int
    """How many sets there are; fewer are scored where that is many."""
    sets: tuple[SetScore, ...]
    """In domain order."""

    @property
    def mean(self) -> float:
        return mean([score.avd for score in self.sets])

    @property
    def worst(self) -> SetScore:
        return max(self.sets, key=lambda score: score.avd)

    @property
    def product_of_real(self) -> float:
        """Mean AVD of the product of the real marginals, over the same sets."""
        return mean([score.product_of_real for score in self.sets])

    @property
    def product_of_synthetic(self) -> float:
        """Mean AVD of the product of the synthetic marginals, over the same sets."""
        return mean([score.product_of_synthetic for score in self.sets])


@dataclass(frozen=True, eq=False)
class Marginals:
    """The one-way frequencies of both tables, one array an attribute."""

    real: tuple[Probabilities, ...]
    synthetic: tuple[Probabilities, ...]


def mean(values: Sequence[float]) -> float:
    """Whatever the order of the values, the same."""
    return fsum(values) / len(values)


def marginals_of(real: Dataset, synthetic: Dataset) -> Marginals:
    """The one-way frequencies of a real and a synthetic table."""
    return Marginals(_one_way(real), _one_way(synthetic))


def _one_way(dataset: Dataset) -> tuple[Probabilities, ...]:
    columns = zip(dataset.codes.T, dataset.domain.sizes, strict=True)
    return tuple(np.bincount(column, minlength=size) / len(dataset) for column, size in columns)


def drawn_sets(
    domain: Domain, k: int, *, most: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """The positions of all sets of k attributes, or of `most` of them drawn at random; sorted.

    Drawn over the names in alphabetical order, so that the order of the attributes does not change which sets are meant.
    """
    alphabetical = domain.positions(sorted(domain.names))
    n_possible = comb(len(domain), k)
    ranks = (
        range(n_possible)
        if n_possible <= most
        else rng.choice(n_possible, most, replace=False).tolist()
    )
    return sorted(
        tuple(sorted(alphabetical[i] for i in subset_of_rank(rank, k, len(domain))))
        for rank in ranks
    )


def subset_of_rank(rank: int, k: int, n: int) -> tuple[int, ...]:
    """The combinatorial number system: rank 0, 1, … to the k-subsets of 0..n-1, largest member first.

    >>> [subset_of_rank(rank, 2, 3) for rank in range(3)]
    [(1, 0), (2, 0), (2, 1)]
    """
    members = []
    for size in range(k, 0, -1):
        member = bisect_right(range(n), rank, key=partial(_n_subsets, size)) - 1
        members.append(member)
        rank -= comb(member, size)
    return tuple(members)


def _n_subsets(size: int, n: int) -> int:
    return comb(n, size)


def set_score(
    real: Dataset, synthetic: Dataset, positions: tuple[int, ...], marginals: Marginals
) -> SetScore:
    """AVD, the baselines and the dependence of one set of attributes."""
    shape = tuple(real.domain.sizes[position] for position in positions)
    ours, theirs, cells = frequencies(
        _cell_numbers(real, positions), _cell_numbers(synthetic, positions), shape
    )
    our_marginals, their_marginals = (
        [table[position] for position in positions]
        for table in (marginals.real, marginals.synthetic)
    )
    return SetScore(
        names=tuple(real.domain.names[position] for position in positions),
        avd=avd(ours, theirs),
        product_of_real=_distance_to_product(ours, _product(our_marginals, cells)),
        product_of_synthetic=_distance_to_product(ours, _product(their_marginals, cells)),
        real_information=mutual_information(ours, our_marginals),
        synthetic_information=mutual_information(theirs, their_marginals),
    )


def _cell_numbers(dataset: Dataset, positions: tuple[int, ...]) -> NDArray[np.int64]:
    """The cell that each record falls into, last attribute fastest."""
    numbers = np.zeros(len(dataset), dtype=np.int64)
    for position in positions:
        numbers *= dataset.domain.sizes[position]
        numbers += dataset.codes[:, position]
    return numbers


Coordinates = tuple[NDArray[np.intp], ...]


def frequencies(
    ours: NDArray[np.int64], theirs: NDArray[np.int64], shape: tuple[int, ...]
) -> tuple[Probabilities, Probabilities, Coordinates | None]:
    """The share of records in each cell, of both tables, and which cells: None is all of them, in order."""
    n_cells, coordinates = prod(shape), None
    if n_cells > MOST_DENSE:
        occupied, numbers = np.unique(np.concatenate((ours, theirs)), return_inverse=True)
        n_cells, coordinates = len(occupied), np.unravel_index(occupied, shape)
        ours, theirs = numbers[: len(ours)], numbers[len(ours) :]
    shares = (np.bincount(numbers, minlength=n_cells) / len(numbers) for numbers in (ours, theirs))
    return next(shares), next(shares), coordinates


def _product(marginals: list[Probabilities], cells: Coordinates | None) -> Probabilities:
    """The product of marginals at these cells."""
    if cells is None:
        return product_of(marginals).reshape(-1)
    taken = [marginal[axis] for marginal, axis in zip(marginals, cells, strict=True)]
    result: Probabilities = np.prod(taken, axis=0)
    return result


def _distance_to_product(shares: Probabilities, product: Probabilities) -> float:
    """AVD; cells that are not listed have a share of zero, and the rest of the product."""
    return float(np.abs(shares - product).sum() + max(0.0, 1 - product.sum())) / 2
