"""`shrunk` for separately randomized attributes: an average over strengths and priors, weighted by what all pairs together teach.

At strong noise the held-out reports of one pair tell strengths apart by a few nats at most, so that the best of them is a matter
of luck. Many pairs together do tell: how often which strength, towards which prior, explains held-out reports best is learned
from a sample of all pairs (empirical Bayes), and one clique's own gains then weigh on top of that.

There are two priors. One is the product of the marginals. The other leans on the Lasso's joint: it is sparse, so where most
people give one of few combinations of answers, as in surveys of what a person can do, it is nearer to the truth than
independence.

What is averaged is what each fit says about the *people who reported*: their expected cell counts, the E-step at the fit. A prior
of pseudo-counts says what other people would answer; these people's own reports are not to be shrunk away twice.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lopub.contract.domain import Clique, Pair
from lopub.inference.em import Result
from lopub.inference.evidence import EVERY_FOLD, Evidence
from lopub.inference.factorised import Factorised
from lopub.inference.joint import Probabilities, raked
from lopub.inference.lasso import lasso_joint
from lopub.inference.shrunk import MOST_COPIED, TRIAL_TOLERANCE, ShrunkFit, fitted

if TYPE_CHECKING:
    from lopub.inference.basis import Basis

STRENGTHS = (np.inf, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0)
"""Pseudo-counts as a share of the reports: from the prior itself down to none at all."""
LEANING = 0.9
"""How much of the second prior is the Lasso's joint; the rest is independence, so that no cell is ruled out."""
HOPELESS = 12.0
"""Nats below the best at which a fit weighs nothing: a hundred-thousandth."""
MOST_TAUGHT = 30
"""Pairs that the weights are learned from; with twice as many they are the same within a few hundredths."""
MOST_TAUGHT_CELLS = 4096
"""Cells of such a pair: larger ones take long and are seldom what is asked for."""
ROUNDS = 300
"""Of EM over the weights, far more than they need."""
FEW_CELLS = 64
"""Of a clique whose likelihoods are made one table."""
NEGLIGIBLE = 1e-4
"""Weight of a fit that is not made."""

Each = Callable[[Callable[[Pair], "Trials"], Iterable[Pair]], Iterable["Trials"]]
"""`map`, or the same on several cores."""


@dataclass(frozen=True, eq=False)
class Trials:
    """How well fits towards each prior explain held-out reports. gains: in nats over independence, shape (n_priors,
    n_strengths); -inf where a fit is hopeless."""

    evidence: Evidence
    priors: tuple[Probabilities, ...]
    gains: Probabilities

    @property
    def gain(self) -> float:
        """Of the best fit towards independence, 0 where that itself is best."""
        return float(self.gains[0].max())

    @property
    def strength(self) -> float:
        """Of that fit; infinite for independence."""
        return STRENGTHS[int(self.gains[0].argmax())]


@dataclass(frozen=True, eq=False)
class Experience:
    """What the pairs of a study teach about fits to noise like theirs; each pair is tried once."""

    basis: "Basis"
    _taught: dict[Pair, Trials] = field(default_factory=dict)
    _weights: list[Probabilities] = field(default_factory=list)

    def learn(self, each: Each = map) -> None:
        """Once, before the first estimate."""
        if not self._weights:
            pairs = taught_pairs(self.basis)
            self._taught.update(zip(pairs, each(self._tried, pairs), strict=True))
            self._weights.append(learned([trials.gains for trials in self._taught.values()]))

    def shrunk(self, clique: Clique) -> ShrunkFit:
        """The average joint of a clique, raked to the one-way marginals."""
        self.learn()
        trials = self._taught.get((clique[0], clique[1])) if len(clique) == 2 else None
        trials = trials or self._tried(clique)
        fit = averaged(trials, self._weights[0])
        axes, marginals = [(axis,) for axis in range(len(clique))], [self.basis.marginal(position) for position in clique]
        return ShrunkFit(raked(fit.joint, axes, marginals), trials.gain, trials.strength, fit)

    def _tried(self, clique: Clique) -> Trials:
        evidence, independent = handy(self.basis.summary(clique).covering(2)), self.basis.independent(clique)
        gains = [held_out_gains(evidence, independent)]
        leaning = self._leaning(clique, independent)
        ahead = evidence.log_likelihood(leaning) - evidence.log_likelihood(independent)
        if ahead < gains[0].max() - HOPELESS:
            return Trials(evidence, (independent,), np.stack([gains[0], np.full(len(STRENGTHS), -np.inf)]))
        gains.append(ahead + held_out_gains(evidence, leaning))
        return Trials(evidence, (independent, leaning), np.stack(gains))

    def _leaning(self, clique: Clique, independent: Probabilities) -> Probabilities:
        """The second prior, with the marginals of the first and no cell that the questionnaire rules out. Of many joints that fit
        equally well the Lasso takes one by the order of attributes, so that is the order of their names."""
        ordered = tuple(sorted(clique, key=lambda position: self.basis.domain.names[position]))
        lasso = np.transpose(lasso_joint(self.basis.single_counts, ordered), [ordered.index(position) for position in clique])
        mixed = np.where(independent > 0, LEANING * lasso + (1 - LEANING) * independent, 0.0)
        joint = raked(mixed / mixed.sum(), [(axis,) for axis in range(mixed.ndim)], [self.basis.marginal(p) for p in clique])
        return np.where(independent > 0, np.maximum(joint, np.finfo(np.float64).tiny), 0.0)


def taught_pairs(basis: "Basis") -> list[Pair]:
    """At most MOST_TAUGHT pairs, evenly spread over all that some reports cover, in the order of their names: none depends on
    the order of a table's columns."""
    names, sizes = basis.domain.names, basis.domain.sizes
    positions = sorted(range(len(names)), key=lambda position: names[position])
    every = [(min(a, b), max(a, b)) for a, b in combinations(positions, 2)]
    able = [pair for pair in every if sizes[pair[0]] * sizes[pair[1]] <= MOST_TAUGHT_CELLS and basis.n_covering(pair)]
    n = min(len(able), MOST_TAUGHT)
    return [able[number * len(able) // n] for number in range(n)]


def handy(evidence: Evidence) -> Evidence:
    """The evidence as one table where it is small, for which fits are compiled."""
    part = evidence.parts[0] if len(evidence.parts) == 1 else None
    cells = int(np.prod(evidence.shape))
    if (
        isinstance(part, Factorised)
        and part.shape == evidence.shape
        and cells <= FEW_CELLS
        and cells * part.n_reports <= MOST_COPIED
    ):
        return Evidence(evidence.shape, (part.in_one_table(),))
    return evidence


def held_out_gains(evidence: Evidence, prior: Probabilities) -> Probabilities:
    """Of the fits of all strengths, in nats over the prior itself. Once they are hopeless and fall, weaker ones are, too."""
    splits = [(evidence.within(EVERY_FOLD - {fold}), evidence.within(frozenset({fold}))) for fold in sorted(EVERY_FOLD)]
    splits = [(training, held_out) for training, held_out in splits if training.n_reports and held_out.n_reports]
    alone = sum(held_out.log_likelihood(prior) for _, held_out in splits)
    gains, starts = np.full(len(STRENGTHS), -np.inf), [prior] * len(splits)
    gains[0] = 0.0
    for number, strength in enumerate(STRENGTHS[1:], start=1):
        trials = zip(splits, starts, strict=True)
        starts = [fitted(training, prior, strength, at, TRIAL_TOLERANCE).joint for (training, _), at in trials]
        gains[number] = sum(part.log_likelihood(at) for (_, part), at in zip(splits, starts, strict=True)) - alone
        if gains[number] < gains[number - 1] and gains[number] < gains.max() - HOPELESS:
            break
    return gains


def learned(gains: Sequence[Probabilities]) -> Probabilities:
    """How often which strength towards which prior is the right one, by EM over all pairs, as logs; one pair's worth of doubt is
    spread evenly. shape (n_priors, n_strengths)."""
    shape = (2, len(STRENGTHS))
    weights = np.full(shape, 1 / np.prod(shape))
    likelihoods = [np.exp(own - own.max()) for own in gains]
    for _ in range(ROUNDS if likelihoods else 0):
        shares = [weights * own / (weights * own).sum() for own in likelihoods]
        weights = (np.sum(shares, axis=0) + 1 / weights.size) / (len(shares) + 1)
    return np.asarray(np.log(weights), dtype=np.float64)


def averaged(trials: Trials, log_weights: Probabilities) -> Result:
    """What each fit says of the people who reported, weighted by what was learned and by the clique's own gains."""
    scores = trials.gains + log_weights
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    joint, evidence, converged, n_evaluations = np.zeros(trials.evidence.shape), trials.evidence, True, 0
    for prior, own in zip(trials.priors, weights, strict=False):
        start = prior
        for strength, weight in zip(STRENGTHS, own, strict=True):
            if weight < NEGLIGIBLE:
                continue
            if np.isfinite(strength):
                fit = fitted(evidence, prior, strength, start)
                start, converged, n_evaluations = fit.joint, converged and fit.converged, n_evaluations + fit.n_evaluations
            people = evidence.step(start)[1]
            joint += weight * people / people.sum()
    joint /= joint.sum()
    return Result(joint, converged, n_evaluations, (evidence.log_likelihood(joint),))
