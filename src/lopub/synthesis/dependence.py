"""Which attributes depend on each other: DependencyGraph, the paper's way (Algorithms 4 and 5) or by held-out gain."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from lopub.campaign.domain import Pair
from lopub.errors import DomainError, checks_options
from lopub.estimation.joint import Probabilities, entropy, mutual_information

LEAST_GAIN = 3.0
"""Nats of held-out log-likelihood over independence below which two attributes never count as dependent."""
FALSE_SHARE = 0.3
"""Bound on the share of false edges that is aimed at. Independent pairs stay well below it: their gain passes t nats in 0.25 to
0.65 of the e^-t that the bound allows for (measured on independent binary tables, 9 to 110 reports per pair)."""


@dataclass(frozen=True)
class DependencyGraph:
    """Which pairs are taken to depend on each other, and how strongly."""

    n_attributes: int
    measure: Literal["mutual information", "held-out gain"]
    edges: tuple[Pair, ...]
    """Publicly known pairs, then strongest first; pairs that were assumed and not looked at come last."""
    strengths: Mapping[Pair, float]
    """In nats, of every pair that was looked at."""
    least: float | None = None
    """The held-out gain from which a pair became an edge; None by mutual information, where each pair has its own threshold."""

    n_known: int = 0
    """Edges in any case, which were not measured."""

    @property
    def n_pairs(self) -> int:
        return self.n_attributes * (self.n_attributes - 1) // 2

    @property
    def n_saved(self) -> int:
        """Pairs that pruning kept from being estimated."""
        return self.n_pairs - len(self.strengths) - self.n_known


@checks_options
@dataclass(frozen=True)
class Pruning:
    """Which attributes' pairs are looked at (Algorithm 5); all other pairs are decided without.

    find: "dependence" looks among the attributes of most entropy and takes the rest as independent, for tables with larger
    domains; "independence" looks among those of least entropy and takes the rest as dependent, for binary tables. rank and
    rounding: the paper's text, tables and algorithm differ, so both are offered: its text ranks by entropy per candidate, its
    algorithm by entropy; its algorithm floors the number of attributes, its tables fit rounding half up. Unless told otherwise,
    both are as in its tables.
    """

    find: Literal["dependence", "independence"] = "dependence"
    rank: Literal["entropy", "entropy_per_candidate"] = "entropy_per_candidate"
    rounding: Literal["half_up", "floor"] = "half_up"

    def __post_init__(self) -> None:
        choices = {
            "find": ("dependence", "independence"),
            "rank": ("entropy", "entropy_per_candidate"),
            "rounding": ("half_up", "floor"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise DomainError(
                    f"{name} must be {' or '.join(allowed)}, got {getattr(self, name)!r}"
                )

    def kept(self, marginals: Sequence[Probabilities], phi: float) -> tuple[int, ...]:
        """The attributes whose pairs are looked at, ascending."""
        check_phi(phi)
        wanted = len(marginals) * (1 - phi)
        n_kept = (
            math.floor(wanted + 0.5 + 1e-9)
            if self.rounding == "half_up"
            else math.floor(wanted + 1e-9)
        )
        values = [
            entropy(marginal) / (len(marginal) if self.rank == "entropy_per_candidate" else 1)
            for marginal in marginals
        ]
        sign = -1 if self.find == "dependence" else 1
        ranked = sorted(
            range(len(marginals)), key=lambda position: (sign * values[position], position)
        )
        return tuple(sorted(ranked[:n_kept]))


def threshold(size: int, other_size: int, phi: float) -> float:
    """tau = min(|A| - 1, |B| - 1) phi^2 / 2, in nats."""
    return min(size - 1, other_size - 1) * phi**2 / 2


def check_phi(phi: float) -> None:
    """Refuse a dependency degree outside 0..1."""
    if not 0 <= phi <= 1:
        raise DomainError(f"phi must lie in 0..1, got {phi:g}")


def pairs_to_check(
    marginals: Sequence[Probabilities], phi: float, pruning: Pruning | None = None
) -> list[Pair]:
    """The pairs whose joint has to be estimated: all of them, or those that pruning leaves."""
    check_phi(phi)
    return list(
        combinations(range(len(marginals)) if pruning is None else pruning.kept(marginals, phi), 2)
    )


def paper_graph(
    sizes: Sequence[int],
    joints: Mapping[Pair, Probabilities],
    phi: float,
    pruning: Pruning | None = None,
    *,
    known: Sequence[Pair] = (),
) -> DependencyGraph:
    """Algorithm 4: an edge where the mutual information reaches its threshold. joints: of the pairs to check. known: edges in
    any case, because their joint is public knowledge."""
    check_phi(phi)
    strengths = {
        pair: mutual_information(joint) for pair, joint in joints.items() if pair not in known
    }
    found = [
        pair
        for pair, value in strengths.items()
        if value >= threshold(sizes[pair[0]], sizes[pair[1]], phi)
    ]
    assumed = []
    if pruning is not None and pruning.find == "independence":
        assumed = [
            pair
            for pair in combinations(range(len(sizes)), 2)
            if pair not in strengths and pair not in known
        ]
    edges = (*known, *_strongest_first(found, strengths), *assumed)
    return DependencyGraph(len(sizes), "mutual information", edges, strengths, n_known=len(known))


def gain_graph(
    n_attributes: int,
    gains: Mapping[Pair, float],
    *,
    known: Sequence[Pair] = (),
    n_ruled_out: int = 0,
) -> DependencyGraph:
    """An edge where held-out reports are explained better than by independence, by `least_gain`. known: edges in any case.
    n_ruled_out: pairs that were looked at, too, and whose gain is too small without a fit."""
    least = least_gain([*gains.values(), *[0.0] * n_ruled_out])
    found = [pair for pair, gain in gains.items() if gain >= least]
    edges = (*known, *_strongest_first(found, gains))
    return DependencyGraph(
        n_attributes, "held-out gain", edges, dict(gains), least, n_known=len(known)
    )


def least_gain(gains: Collection[float], false_share: float = FALSE_SHARE) -> float:
    """The gain from which pairs count as dependent: 3 nats, or more where so many pairs were looked at that chance alone would
    bring many of them that far.

    If two attributes are independent, e^gain on held-out reports is at most 1 on average. The largest k of m gains are then
    taken, k as large as possible, if each is at least log(m / (k false_share)): the rule for e-values of Wang and Ramdas (2022),
    which bounds the share of false ones. It asks for more where there is little to be found and for 3 nats where there is much.
    """
    descending = np.sort(np.fromiter(gains, dtype=np.float64, count=len(gains)))[::-1]
    asked = np.maximum(
        LEAST_GAIN, np.log(len(descending) / (false_share * np.arange(1, len(descending) + 1)))
    )
    reached = np.flatnonzero(descending >= asked)
    last = reached[-1] if len(reached) else 0
    return float(asked[last]) if len(asked) else LEAST_GAIN


def _strongest_first(pairs: Sequence[Pair], strengths: Mapping[Pair, float]) -> tuple[Pair, ...]:
    return tuple(sorted(pairs, key=lambda pair: (-strengths[pair], pair)))
