"""Expected errors in closed form: of shares, and of pairs that are shrunk towards independence.

Every formula is a mean over normal noise, cell by cell, with the estimators' own habits: nothing below zero, shares that sum to
one, noise about a pair shrunk as strongly as is best for it. What the choice of that strength from held-out reports costs is
added.

Arrays have a row for each attribute or pair and a column for each cell; `times` says how many cells a column stands for (0:
none)."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lopub.planning.population import Probabilities

STRENGTHS = np.logspace(-8, 1, 13).tolist()
"""Of shrinking: prior people for each person asked, times the noise of a cell over its share under independence."""
CAUTION = 0.5
"""Nats that a dependence has to gain before it is seen (fitted to simulations; the estimator itself weighs all strengths, with a
caution of one nat)."""
MOST_MOVED = 0.5
"""Standard errors by which shares are moved at most that are shrunk towards uniform ones (`estimation.pseudo_counts`). Where
noise drowns them, that takes half of a normal error; where they are far from uniform, it adds as much."""
LEAST_MOVED = 0.3
"""The same at least: strengths that move a share by less than its standard error explain held-out reports as well as none."""
PART = 0.7
"""Of the way to uniform shares that would be best, what an average over strengths goes (fitted to simulations)."""
FALSE_ALARM, FALSE_ALARM_AVERAGED = 0.1, 0.05
"""Of a table of two by two answers without any dependence, the part of its unshrunk noise that is published all the same, because
held-out reports prefer it by chance; less where fits of all strengths are averaged, and the less the more degrees of freedom
there are (fitted to simulations)."""
ROOT_TWO_PI = math.sqrt(2 * math.pi)
MEAN_DEVIATION = 0.5 * math.sqrt(2 / math.pi)
"""Of a normal error, its mean absolute size, halved as AVD halves."""
TINY = 1e-300
SMALLEST = 1e-12
"""Share of a cell, below which nobody is there."""
BISECTIONS = 50
NODES = tuple(NormalDist().inv_cdf((i + 0.5) / 16) * 1.0 for i in range(16))
"""Equally likely normal numbers."""
MOST_WORSE = 2.0
"""Times an error may be what its noise alone would make it."""


@dataclass(frozen=True, eq=False)
class ShareErrors:
    """errors: expected AVD, of each row. variances: of the cells, made smaller as positivity and shrinking make the errors."""

    errors: Probabilities
    variances: Probabilities


@dataclass(frozen=True, eq=False)
class PairErrors:
    """errors: expected AVD, of each row. blind: the same of the product of the estimated shares. bias: what of the error is
    dependence that shrinking took away."""

    errors: Probabilities
    blind: Probabilities
    bias: Probabilities


def deviation(truth: Probabilities, shift: Probabilities, spread: Probabilities) -> Probabilities:
    """E |max(X, 0) - truth|, where X is normal around truth + shift."""
    spread = np.maximum(spread, TINY)
    middle, edge = shift / spread, (truth + shift) / spread
    whole = shift * (2 * _below(middle) - 1) + 2 * spread * _density(middle)
    beyond = spread * _density(edge) - (truth + shift) * _below(
        -edge
    )  # what lies below zero is held there
    return np.asarray(whole - beyond, dtype=np.float64)


def _below(x: Probabilities) -> Probabilities:
    """The chance that a standard normal number lies below."""
    from scipy.special import (
        ndtr,
    )  # loaded here: it takes a moment, and commands that forecast nothing should not wait for it

    return np.asarray(ndtr(x), dtype=np.float64)


def _density(x: Probabilities) -> Probabilities:
    return np.asarray(
        np.exp(-0.5 * np.minimum(np.abs(x), 40.0) ** 2) / ROOT_TWO_PI, dtype=np.float64
    )


def share_errors(
    shares: Probabilities, times: Probabilities, noise: Probabilities, *, shrunk: bool
) -> ShareErrors:
    """Of attributes whose reports have the diagonal noise D / n. An infinite noise: nobody reports the attribute, and every
    candidate is taken to be equally likely."""
    known: NDArray[np.bool_] = np.asarray(np.isfinite(noise).all(axis=1))
    variances = np.where(known[:, None], noise, 0.0)
    variances = variances * (
        1 - variances / np.maximum((variances * times).sum(axis=1, keepdims=True), TINY)
    )
    sizes = times.sum(axis=1, keepdims=True)
    spread = np.sqrt(variances)
    level = _level(shares, times, spread)
    deviations = deviation(shares, level, spread)
    if shrunk:
        deviations = _moved_deviation(shares, times, level, spread)
    errors = 0.5 * (times * deviations).sum(axis=1)
    if shrunk:  # noise that drowns everything would look better than less of it
        errors = np.maximum(errors, _drowned_errors(shares, times, spread))
    errors = np.where(known, errors, 0.5 * (times * np.abs(shares - 1 / sizes)).sum(axis=1))
    plain = MEAN_DEVIATION * (times * spread).sum(axis=1)
    smaller = np.minimum(MOST_WORSE, errors / np.maximum(plain, TINY))
    most = 1 - np.where(times > 0, shares, 1.0).min(axis=1)  # no distribution is farther away
    return ShareErrors(np.minimum(errors, most), variances * smaller[:, None] ** 2)


def _moved_deviation(
    shares: Probabilities, times: Probabilities, level: Probabilities, spread: Probabilities
) -> Probabilities:
    """The mean deviation of shares that are held at zero and then moved towards uniform ones, the more the less noise leaves of
    them, by MOST_MOVED standard errors at most."""
    even, drowned = _drowned(shares, times, spread)
    plain = [np.maximum(shares + level + node * spread, 0.0) for node in NODES]
    moves = [_moved(even - one, PART * drowned, spread) for one in plain]
    up, down = (
        sum((times * np.maximum(sign * move, 0)).sum(axis=1, keepdims=True) for move in moves)
        for sign in (1, -1)
    )
    both = np.minimum(up, down)  # as much is given as is taken
    give, take = both / np.maximum(up, TINY), both / np.maximum(down, TINY)
    found = [
        np.abs(one + np.where(move > 0, give, take) * move - shares)
        for one, move in zip(plain, moves, strict=True)
    ]
    return np.asarray(sum(found) / len(NODES), dtype=np.float64)


def _drowned(
    shares: Probabilities, times: Probabilities, spread: Probabilities
) -> tuple[Probabilities, Probabilities]:
    """The uniform share, and how much of what is seen is noise. shape (rows, 1) each."""
    even = 1 / np.maximum(times.sum(axis=1, keepdims=True), TINY)
    signal, noisy = (
        (times * squares).sum(axis=1, keepdims=True)
        for squares in ((shares - even) ** 2, spread**2)
    )
    return even, np.asarray(noisy / np.maximum(noisy + signal, TINY), dtype=np.float64)


def _drowned_errors(
    shares: Probabilities, times: Probabilities, spread: Probabilities
) -> Probabilities:
    """What is left of the errors where shares are so near to uniform ones, for their noise, that a move there only helps."""
    less = spread * (1 - MOST_MOVED * _drowned(shares, times, spread)[1])
    return np.asarray(
        0.5 * (times * deviation(shares, _level(shares, times, less), less)).sum(axis=1),
        dtype=np.float64,
    )


def _moved(away: Probabilities, part: Probabilities, spread: Probabilities) -> Probabilities:
    """This part of the way, but at least LEAST_MOVED and at most MOST_MOVED standard errors of it."""
    far = np.abs(away)
    return np.sign(away) * np.minimum(
        np.clip(part * far, LEAST_MOVED * spread, MOST_MOVED * spread), far
    )


def _level(shares: Probabilities, times: Probabilities, spread: Probabilities) -> Probabilities:
    """What is taken from every cell so that shares that are held at zero sum to one all the same. shape (rows, 1)."""
    reach = 10 * spread.max(axis=1, keepdims=True) + 1
    low, high = -reach, reach
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        mean = shares + middle
        edge = mean / np.maximum(spread, TINY)
        total = (times * (mean * _below(edge) + spread * _density(edge))).sum(axis=1, keepdims=True)
        low, high = np.where(total > 1, low, middle), np.where(total > 1, middle, high)
    return np.asarray((low + high) / 2, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """What is known of pairs before anybody has answered. truth: their cells; product: those of independent attributes.
    noise: D of one person, infinite where no report covers the pair; own: which part of it a pair's shares do not know better.
    freedom: degrees of freedom, (a - 1) (b - 1), of each row; reach: how far from independence tables with its shares can be.
    averaged: whether fits of all strengths are averaged. unseen: by what dependence is multiplied that no report covers."""

    truth: Probabilities
    product: Probabilities
    times: Probabilities
    noise: Probabilities
    own: Probabilities
    freedom: Probabilities
    reach: Probabilities
    averaged: bool
    unseen: float


def pair_errors(pairs: Pairs, people: float, about_shares: Probabilities) -> PairErrors:
    """Of pairs that are shrunk towards independence and have the estimated shares. about_shares: the variance of their
    product."""
    truth, times = pairs.truth, pairs.times
    covered: NDArray[np.bool_] = np.asarray(np.isfinite(pairs.noise).all(axis=1))
    interaction = truth - pairs.product
    noise = np.where(covered[:, None], pairs.noise, 0.0)
    relative, own = noise / np.maximum(pairs.product, SMALLEST), noise * pairs.own / people
    lost = interaction * np.where(covered, 1.0, pairs.unseen)[:, None]
    blind = _mean_error(truth, times, -lost, about_shares)
    whole = 0.5 * (times * np.abs(lost)).sum(axis=1)
    errors, bias = blind.copy(), whole.copy()
    for strength in STRENGTHS:
        kept = 1 / (1 + strength * relative)
        lost = (kept - 1) * interaction
        found = _mean_error(truth, times, lost, about_shares + kept**2 * own)
        better = covered & (found < errors)
        if better.any():
            errors = np.where(better, found, errors)
            bias = np.where(better, 0.5 * (times * np.abs(lost)).sum(axis=1), bias)
    signal = (times * interaction**2 / np.maximum(noise / people, TINY)).sum(axis=1) * covered
    missed = np.where(covered, _missed(signal, pairs.freedom), 1.0)
    unshrunk = _mean_error(truth, times, np.zeros_like(truth), about_shares + own)
    seldom = (FALSE_ALARM_AVERAGED if pairs.averaged else FALSE_ALARM) / np.maximum(
        pairs.freedom, 1.0
    )
    alarm = covered * seldom * np.clip(unshrunk - blind, 0.0, pairs.reach)
    return PairErrors(
        (1 - missed) * errors + missed * (blind + alarm),
        blind,
        (1 - missed) * bias + missed * whole,
    )


def _missed(signal: Probabilities, freedom: Probabilities) -> Probabilities:
    """The chance that held-out reports do not show a dependence that is there, so that independence is published.

    signal: the sum over cells of squared interactions, each over its noise. Shrunk as is best, such a pair gains signal^2 / 2
    (signal + freedom) nats of held-out log-likelihood on average, with a variance of about twice that.
    """
    gain = signal**2 / (2 * np.maximum(signal + freedom, TINY))
    return _below((CAUTION - gain) / np.sqrt(2 * gain + 0.5))


def _mean_error(
    truth: Probabilities, times: Probabilities, shift: Probabilities, variance: Probabilities
) -> Probabilities:
    return np.asarray(
        0.5 * (times * deviation(truth, shift, np.sqrt(variance))).sum(axis=1), dtype=np.float64
    )
