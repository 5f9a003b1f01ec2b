"""From noisy reports to joint distributions: evidence, EM, and joints that treat noise as noise.

Analysts come in through `queries.Study`, which holds reports or counts and asks these modules.
"""

from lopub.estimation.evidence import Evidence
from lopub.estimation.methods import (
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
    "estimator_of",
]
