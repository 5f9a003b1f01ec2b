"""Pseudo-counts: what counts of ones say about a clique, as numbers that behave like counts of people with even noise.

A share that is read off counts of ones is unbiased, with variance A + B P. With d = A / B, the number y = (share + d) / B has
equal mean and variance, (P + d) / B, like a count: its log-likelihood is y log(P + d). That is the law of `direct`, which keeps a
cell with probability 1 / (1 + K d) and else draws one of the K uniformly.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.evidence import Folds
from lopub.estimation.joint import Probabilities
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.moments import on_simplex
from lopub.estimation.root_kernels import fit_strengths

STRENGTHS = np.array([30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0])
"""Prior counts as a share of the reports, strongest first, down to none at all."""
MOST_MOVED = 0.5
"""Standard errors by which shrinking may move a marginal's share. An interval of 1.96 then still covers 92 % at worst."""


@dataclass(frozen=True, eq=False)
class PseudoCounts(KeptCell):
    """counts: shape (n_folds, 1, cells), not whole numbers; one that is below zero is noise. reports: of each fold."""

    reports: NDArray[np.int64]
    scale: float
    """Pseudo-counts that a share of one makes."""

    @property
    def n_reports(self) -> int:
        return int(self.reports.sum())

    @property
    def offset(self) -> float:
        """d: what noise adds to every cell's share."""
        keep = float(self.keeps[0])
        return (1 - keep) / keep / int(np.prod(self.shape))

    @property
    def shares(self) -> Probabilities:
        """Of the cells, unbiased and neither kept within 0 and 1 nor made to sum to one."""
        return np.asarray(self._totals[0] / self.scale - self.offset, dtype=np.float64)

    @property
    def variances(self) -> Probabilities:
        """Of these shares."""
        return np.asarray(self._totals[0] / self.scale**2, dtype=np.float64)

    def within(self, folds: Folds) -> "PseudoCounts":
        chosen = sorted(folds)
        return replace(self, counts=self.counts[chosen], reports=self.reports[chosen])

    def step(self, joint: Probabilities, *, exact: bool = False) -> tuple[float, Probabilities]:
        """A cell that was seen less often than noise alone shows it gives nobody away."""
        return KeptCell(self.axes, self.shape, np.maximum(self.counts, 0), self.keeps).step(
            joint, exact=exact
        )


@dataclass(frozen=True, eq=False)
class Averaged:
    """joint: over all strengths and the prior. gain: held-out log-likelihood over the prior, in nats, 0 where that is better.
    strength: the best one; infinite for the prior."""

    joint: Probabilities
    gain: float
    strength: float


def averaged(
    part: PseudoCounts,
    prior: Probabilities,
    *,
    caution: float = 0.0,
    possible: NDArray[np.bool_] | None = None,
) -> Averaged:
    """The prior and the fits of all strengths towards it, each weighted by how well it explains held-out reports.

    caution: nats by which a fit has to explain them better than the prior does to weigh as much. possible: the cells that can be
    above zero; all unless given."""
    cells = slice(None) if possible is None else np.flatnonzero(possible)
    near = prior.reshape(-1)[cells]
    scores, fits = np.empty(len(STRENGTHS)), np.empty((len(STRENGTHS), near.size))
    counts = np.ascontiguousarray(part.counts[:, 0, cells], dtype=np.float64)
    fit_strengths(
        counts, part.reports.astype(np.float64), part.offset, near, STRENGTHS, scores, fits
    )
    evidence = np.append(scores - caution, 0.0)
    weights = np.exp(evidence - evidence.max())
    joint = np.zeros(prior.size)
    joint[cells] = weights @ np.vstack([fits, near]) / weights.sum()
    strength = float(STRENGTHS[scores.argmax()]) if scores.max() > 0 else np.inf
    gain = max(0.0, _log_mean(scores[STRENGTHS <= 1]))
    return Averaged(joint.reshape(prior.shape), gain, strength)


def limited(part: PseudoCounts, found: Averaged) -> Probabilities:
    """The average, with no cell farther from the unshrunk share on the simplex than MOST_MOVED standard errors.

    One strength serves all cells: many small ones may want more of it than a large one can bear, whose interval would then miss
    the truth however many reports there are (limited translation, Efron and Morris 1972)."""
    plain = on_simplex(part.shares)
    spread = np.sqrt((plain + part.offset) / part.scale)
    moved = np.clip(found.joint - plain, -MOST_MOVED * spread, MOST_MOVED * spread)
    up, down = np.maximum(moved, 0), np.maximum(-moved, 0)
    both = min(up.sum(), down.sum())  # as much is given as is taken
    if both <= 0:
        return plain
    return np.asarray(plain + up * (both / up.sum()) - down * (both / down.sum()), dtype=np.float64)


def _log_mean(scores: Probabilities) -> float:
    """Of the likelihoods: what an average of all strengths gains. The best one's own gain is partly luck."""
    best = float(scores.max())
    return best + float(np.log(np.exp(scores - best).mean()))
