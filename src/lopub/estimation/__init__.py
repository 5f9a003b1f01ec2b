"""From noisy reports to joint distributions: evidence, EM, and joints that treat noise as noise."""

from lopub.estimation.build import Reports, evidence_of
from lopub.estimation.evidence import Evidence
from lopub.estimation.methods import METHODS, Estimator
from lopub.estimation.study import Study, estimate, estimate_pairs

__all__ = ["METHODS", "Estimator", "Evidence", "Reports", "Study", "estimate", "estimate_pairs", "evidence_of"]
