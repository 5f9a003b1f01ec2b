"""How much of a pair's gain independence itself explains.

The gain of a pair is measured against the product of its marginals, which come from all reports. Where a report is one cell of
many, the pair's own reports may know the marginals better than that; a joint that is fitted to them then explains held-out
reports better though nothing depends on anything. So before a dependence is stated as a finding, independent joints are fitted
to the same reports. If they explain held-out reports better than the product does, the marginals are in doubt, and the pair is
asked to beat the best independent joint that there is for all its reports, as in split likelihood ratio tests (Wasserman, Ramdas
and Balakrishnan 2020).
"""

import numpy as np

from lopub.estimation.em import ROUNDING, Map, run_accelerated
from lopub.estimation.evidence import EVERY_FOLD, Evidence
from lopub.estimation.joint import Probabilities, product_of

TOLERANCE = 1e-5
MOST_EVALUATIONS = 300
LEAST_SHARE = 1e-9
"""From which a fit starts, so that it can leave zero."""


def independence_gain(evidence: Evidence, product: Probabilities) -> float:
    """By how much the log-likelihood of a pair's reports is larger under the best independent joint than under a product of
    marginals, in nats; 0 where held-out reports speak for the product. evidence: of the pair."""
    if _held_out_gain(evidence, product) <= 0:
        return 0.0
    return max(
        0.0,
        evidence.log_likelihood(_independent(evidence, product)) - evidence.log_likelihood(product),
    )


def _held_out_gain(evidence: Evidence, product: Probabilities) -> float:
    """That of independent joints, each fitted to the other reports, over the product."""
    gain = 0.0
    for fold in sorted(EVERY_FOLD):
        training, held_out = (
            evidence.within(EVERY_FOLD - {fold}),
            evidence.within(frozenset({fold})),
        )
        if training.n_reports and held_out.n_reports:
            gain += held_out.log_likelihood(
                _independent(training, product)
            ) - held_out.log_likelihood(product)
    return gain


def _independent(evidence: Evidence, product: Probabilities) -> Probabilities:
    """The independent joint under which the reports are most likely: of two fits, as one may end on a lower hill. One starts at
    the product, one halfway to an even joint, away from zeros, which a fit hardly leaves."""
    starts = [np.maximum(product, LEAST_SHARE), (product + 1 / product.size) / 2]
    slack, step = ROUNDING * evidence.n_reports, _step(evidence)
    fits = [
        run_accelerated(
            step, start / start.sum(), tolerance=TOLERANCE, most=MOST_EVALUATIONS, slack=slack
        ).joint
        for start in starts
    ]
    return max(fits, key=evidence.log_likelihood)


def _step(evidence: Evidence) -> Map:
    """An EM step among independent joints: the expected counts' own margins, multiplied."""

    def step(joint: Probabilities) -> tuple[float, Probabilities]:
        value, counts = evidence.step(joint)
        shares = counts / float(counts.sum())
        return value, product_of([shares.sum(axis=1), shares.sum(axis=0)])

    return step
