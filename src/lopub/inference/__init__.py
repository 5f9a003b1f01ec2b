"""From noisy reports to joint distributions: evidence, EM, and joints that treat noise as noise."""

from lopub.inference.evidence import Evidence
from lopub.inference.methods import METHODS, Estimator
from lopub.inference.study import Study, estimate, estimate_pairs

__all__ = ["METHODS", "Estimator", "Evidence", "Study", "estimate", "estimate_pairs"]
