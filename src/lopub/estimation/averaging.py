"""`shrunk` for separately randomized attributes: an average over strengths, weighted by what all pairs together teach.

At strong noise the held-out reports of one pair tell strengths apart by a few nats at most, so that the best of them is a matter
of luck. Many pairs together do tell: how often which strength explains held-out reports best is learned from a sample of all
pairs (empirical Bayes), and a clique's own held-out reports weigh on top of that.

A fit is judged as it is used: raked to the marginals. Unraked, it would be blamed for the noise of its own margins, of which
raking leaves nothing, and two answers that depend on each other would be taken for independent.

What is averaged is what a fit says about the *people who reported*: their expected cell counts, the E-step at the fit, and that
of independence just as that of the others. Pseudo-counts of the prior say what other people would answer; at weak noise, what
these people answered is known better than that: 4,000 of them in 4,096 cells are far from any product, whatever they depend on.
Where views are samples, few of all people report about a clique; the others are like the fit, not like those few.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lopub.campaign.domain import Clique, Pair
from lopub.estimation.em import MOST_EVALUATIONS, TOLERANCE, Result, em_map, settled
from lopub.estimation.evidence import EVERY_FOLD, Evidence
from lopub.estimation.joint import Probabilities, raked
from lopub.estimation.shrunk import FINISH, TRIAL_TOLERANCE, ShrunkFit, fitted
from lopub.estimation.tallied import tallied

if TYPE_CHECKING:
    from lopub.estimation.basis import Basis

STRENGTHS = (np.inf, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.0)
"""Pseudo-counts as a share of the reports: from independence itself down to none at all."""
TRUST = 0.5
"""By which held-out gains are multiplied before they weigh: those of fits to the same four fifths of the reports go up and down
together, and the luckiest of a dozen would win too often."""
DOUBT = 1.0
"""Pairs' worth of what is believed before any pair is seen: each strength half as likely as the next stronger one. Where no
report tells them apart, the stronger one is the safer."""
MOST_TAUGHT = 30
"""Pairs that the weights are learned from."""
MOST_TAUGHT_REPORTS = 500_000
"""Reports about all of them; many reports of one pair do not need the other pairs."""
MOST_TAUGHT_CELLS = 1024
"""Cells of such a pair: larger ones take long."""
ROUNDS = 300
"""Of EM over the weights, far more than they need."""
HOPELESS = 12.0
"""Nats below the best at which a fit that falls behind is not followed any further."""
NEGLIGIBLE = 0.01
"""Weight of a fit that is not made."""
SWEEPS = 20
"""Of raking a fit that is only compared."""

Each = Callable[[Callable[[Pair], "Gains"], Iterable[Pair]], Iterable["Gains"]]
"""`map`, or the same on several cores."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Of the fits of all strengths, in nats over independence; -inf where a fit is hopeless. raked: as they are used; plain: as
    they come, which is what a dependence is judged by. shape (n_strengths,)."""

    raked: Probabilities
    plain: Probabilities


@dataclass(frozen=True, eq=False)
class Experience:
    """What the pairs of a study teach about fits to noise like theirs; each pair is tried once."""

    basis: "Basis"
    _taught: dict[Pair, Gains] = field(default_factory=dict)
    _weights: list[Probabilities] = field(default_factory=list)

    def learn(self, each: Each = map) -> None:
        """Once, before the first estimate."""
        if not self._weights:
            pairs = taught_pairs(self.basis)
            self._taught.update(zip(pairs, each(self._tried, pairs), strict=True))
            self._weights.append(learned([gains.raked for gains in self._taught.values()]))

    def shrunk(self, clique: Clique) -> ShrunkFit:
        """The average joint of a clique, raked to the one-way marginals."""
        self.learn()
        own = self._taught.get((clique[0], clique[1])) if len(clique) == 2 else None
        gains = own or self._tried(clique)
        weights = weights_of(gains, self._weights[0] if own is None else self._others(own))
        evidence = self._evidence(clique)
        share = evidence.n_reports / self.basis.n_covering(())
        fit = averaged(
            evidence, self.basis.independent(clique), self._marginals(clique), weights, share
        )
        return ShrunkFit(fit.joint, float(gains.plain.max()), STRENGTHS[int(weights.argmax())], fit)

    def _others(self, own: Gains) -> Probabilities:
        """What all other pairs teach: what a pair says counts once, and a lucky one does not vouch for itself."""
        return learned([gains.raked for gains in self._taught.values() if gains is not own])

    def _tried(self, clique: Clique) -> Gains:
        return held_out_gains(
            self._evidence(clique), self.basis.independent(clique), self._marginals(clique)
        )

    def _evidence(self, clique: Clique) -> Evidence:
        return tallied(self.basis.summary(clique).covering(2))

    def _marginals(self, clique: Clique) -> list[Probabilities]:
        return [self.basis.marginal(position) for position in clique]


def taught_pairs(basis: "Basis") -> list[Pair]:
    """At most MOST_TAUGHT pairs, evenly spread over all that some reports cover, in the order of their names: none depends on
    the order of a table's columns."""
    names, sizes = basis.domain.names, basis.domain.sizes
    positions = sorted(range(len(names)), key=lambda position: names[position])
    every = [(min(a, b), max(a, b)) for a, b in combinations(positions, 2)]
    able = [
        pair
        for pair in every
        if sizes[pair[0]] * sizes[pair[1]] <= MOST_TAUGHT_CELLS and basis.n_covering(pair)
    ]
    if not able:
        return []
    room = MOST_TAUGHT_REPORTS // max(basis.n_covering(pair) for pair in able)
    n = min(len(able), MOST_TAUGHT, max(1, room))
    return [able[number * len(able) // n] for number in range(n)]


def held_out_gains(
    evidence: Evidence, prior: Probabilities, marginals: Sequence[Probabilities]
) -> Gains:
    """Of every strength. Once fits are hopeless and fall, those of less strength are, too."""
    splits = [
        (evidence.within(EVERY_FOLD - {fold}), evidence.within(frozenset({fold})))
        for fold in sorted(EVERY_FOLD)
    ]
    splits = [
        (training, held_out)
        for training, held_out in splits
        if training.n_reports and held_out.n_reports
    ]
    alone = sum(held_out.log_likelihood(prior) for _, held_out in splits)
    found, starts = (
        Gains(*(np.full(len(STRENGTHS), -np.inf) for _ in range(2))),
        [prior] * len(splits),
    )
    found.raked[0] = found.plain[0] = 0.0
    for number, strength in enumerate(STRENGTHS[1:] if splits else (), start=1):
        trials = zip(splits, starts, strict=True)
        starts = [
            fitted(training, prior, strength, at, TRIAL_TOLERANCE).joint
            for (training, _), at in trials
        ]
        found.plain[number] = _explained(splits, starts) - alone
        found.raked[number] = (
            _explained(splits, [_raked(joint, marginals, SWEEPS) for joint in starts]) - alone
        )
        if _is_hopeless(found.raked[: number + 1]) and _is_hopeless(found.plain[: number + 1]):
            break
    return found


def _explained(
    splits: Sequence[tuple[Evidence, Evidence]], joints: Sequence[Probabilities]
) -> float:
    return sum(
        held_out.log_likelihood(joint) for (_, held_out), joint in zip(splits, joints, strict=True)
    )


def _is_hopeless(gains: Probabilities) -> bool:
    return bool(gains[-1] < gains[-2] and gains[-1] < gains.max() - HOPELESS)


def learned(gains: Sequence[Probabilities]) -> Probabilities:
    """How often which strength is the right one, by EM over all pairs. gains: of each pair. shape (n_strengths,)."""
    weights = 0.5 ** np.arange(len(STRENGTHS))
    weights /= weights.sum()
    doubt = DOUBT * weights
    likelihoods = np.array([_likelihoods(own) for own in gains]).reshape(-1, len(STRENGTHS))
    for _ in range(ROUNDS if gains else 0):
        shares = weights * likelihoods
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (shares.sum(axis=0) + doubt) / (len(gains) + DOUBT)
    return np.asarray(weights, dtype=np.float64)


def _likelihoods(gains: Probabilities) -> Probabilities:
    """As far as they are trusted, up to a factor."""
    return np.asarray(np.exp(TRUST * (gains - gains.max())), dtype=np.float64)


def weights_of(gains: Gains, weights: Probabilities) -> Probabilities:
    """Of a clique's fits: what was learned, times what its own held-out reports say; nothing of what is negligible."""
    own = weights * _likelihoods(gains.raked)
    own = np.where(own >= NEGLIGIBLE * own.sum(), own, 0.0)
    return np.asarray(own / own.sum(), dtype=np.float64)


def averaged(
    evidence: Evidence,
    prior: Probabilities,
    marginals: Sequence[Probabilities],
    weights: Probabilities,
    share: float = 1.0,
) -> Result:
    """What the fits of all strengths to all reports say about all people, each raked, with these weights. share: of the people,
    how many these reports are of; the others are as the fit says."""
    joint, start, converged, n_evaluations = np.zeros(prior.shape), prior, True, 0
    for strength, weight in zip(STRENGTHS, weights, strict=True):
        if weight > 0:
            fit = _fit(evidence, prior, strength, start)
            start, converged, n_evaluations = (
                fit.joint,
                converged and fit.converged,
                n_evaluations + fit.n_evaluations,
            )
            reported = evidence.step(fit.joint, exact=True)[1]
            people = (
                reported / reported.sum()
                if share == 1
                else share * reported / reported.sum() + (1 - share) * fit.joint
            )
            joint = joint + weight * _raked(people, marginals)
    return Result(joint, converged, n_evaluations, (evidence.log_likelihood(joint),))


def _fit(evidence: Evidence, prior: Probabilities, strength: float, start: Probabilities) -> Result:
    """To all reports; at infinite strength the prior itself."""
    if np.isinf(strength):
        return Result(prior, True, 0, ())
    exact = em_map(evidence, prior, strength, exact=True)
    return settled(
        exact,
        fitted(evidence, prior, strength, start),
        tolerance=TOLERANCE,
        most=MOST_EVALUATIONS,
        finish=FINISH,
    )


def _raked(
    joint: Probabilities, marginals: Sequence[Probabilities], sweeps: int = 100
) -> Probabilities:
    return raked(joint, [(axis,) for axis in range(joint.ndim)], marginals, sweeps=sweeps)
