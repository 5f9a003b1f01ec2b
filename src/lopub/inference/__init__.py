"""From noisy reports to joint distributions: evidence, EM, and joints that treat noise as noise."""

from lopub.inference.evidence import Evidence
from lopub.inference.methods import (
    METHODS,
    Em,
    Estimator,
    Hybrid,
    Lasso,
    Moments,
    Product,
    Shrunk,
    estimator_of,
)
from lopub.inference.study import Study, estimate, estimate_pairs

__all__ = [
    "METHODS",
    "Em",
    "Estimator",
    "Evidence",
    "Hybrid",
    "Lasso",
    "Moments",
    "Product",
    "Shrunk",
    "Study",
    "estimate",
    "estimate_pairs",
    "estimator_of",
]
