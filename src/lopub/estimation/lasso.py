"""Algorithm 2 of the paper, faithful: a positive Lasso of debiased bit sums on the candidates' concatenated filters.

**It cannot see dependence.** y stacks the bit sums of single attributes, which depend on the marginals alone; the candidate
matrix of k attributes with v candidates each has rank k (v - 1) + 1 at most, for v^k cells, so among the joints with the same
marginals the Lasso picks a sparse one for reasons that have nothing to do with the data (the paper's own example: rank 4, 6
cells). On the 12 most dependent pairs of Adult it is off by more than the product of marginals, however little noise there
is: see `docs/estimation.md`. `moments` is the regression that works.

The choice of alpha, of which the paper says nothing: the universal threshold. y is taken in shares of reports, whose noise has
the standard deviation s of a debiased bit; alpha = s sqrt(2 ln cells) times the length of a column, over the number of bits, is
what the largest of that many pure-noise correlations would reach.
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from lopub.bulk.codes import code_matrix
from lopub.campaign.domain import Clique
from lopub.errors import DomainError
from lopub.estimation.joint import Probabilities
from lopub.estimation.moments import law_of
from lopub.reports.counts import AttributeBits, Counts, form_of

if TYPE_CHECKING:
    from scipy import sparse

MOST_SWEEPS = 10_000
TOLERANCE = 1e-6


def lasso_joint(
    counts: Counts, clique: Clique, alpha: float | None = None, *, method: str = "lasso"
) -> Probabilities:
    """beta / N, brought to sum to one; uniform where the Lasso drops every cell. alpha: None for the universal threshold."""
    from sklearn.exceptions import ConvergenceWarning  # takes a second to load
    from sklearn.linear_model import Lasso

    if not isinstance(form_of(counts.campaign), AttributeBits):
        raise DomainError(
            f"method {method} regresses bits of separately randomized attributes, as bloom sends them; use moments"
        )
    shape = tuple(counts.campaign.domain.sizes[position] for position in clique)
    sides = [debiased_bits(counts, position) for position in clique]
    debiased = np.concatenate([share for share, _ in sides])
    matrix = candidate_matrix(counts, clique)
    if alpha is None:
        spread = float(np.mean([error for _, error in sides]))
        weight = float(np.sqrt(matrix[:, 0].sum()))
        alpha = spread * np.sqrt(2 * np.log(np.prod(shape))) * weight / len(debiased)
    model = Lasso(
        alpha=alpha, positive=True, fit_intercept=False, max_iter=MOST_SWEEPS, tol=TOLERANCE
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix, debiased)
    cells = np.asarray(model.coef_, dtype=np.float64).reshape(shape)
    return cells / cells.sum() if cells.sum() > 0 else np.full(shape, 1 / np.prod(shape))


def debiased_bits(counts: Counts, position: int) -> tuple[Probabilities, float]:
    """y of one attribute in shares of reports (Algorithm 2, line 4), averaged over noises by precision; its standard error."""
    total, weights = np.zeros(1), 0.0
    for noise in counts.noises((position,)):
        law, _ = law_of(counts.campaign, position, noise)
        table = counts.tables[(position,), noise]
        precision = table.n_reports * float((law.p - law.q) ** 2 / (law.q * (1 - law.q)))
        total = total + precision * (table.counts / table.n_reports - float(law.q)) / float(
            law.p - law.q
        )
        weights += precision
    return total / weights, float(1 / np.sqrt(weights))


def candidate_matrix(counts: Counts, clique: Clique) -> "sparse.csc_array":
    """M: one column a cell, the concatenated filters of its candidates. shape (all bits, cells); sparse, h k ones a column."""
    from scipy import sparse

    campaign = counts.campaign
    codes = [code_matrix(law_of(campaign, p, counts.noises((p,))[0])[0]) for p in clique]
    cells = np.indices([len(code) for code in codes]).reshape(len(codes), -1)
    blocks = [sparse.csc_array(code.T)[:, own] for code, own in zip(codes, cells, strict=True)]
    return sparse.csc_array(sparse.vstack(blocks, format="csc"))
