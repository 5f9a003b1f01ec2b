"""Dataset x Dataset -> scores, each with its breakdown: how far a synthetic table is from the real one.

`audit` checks a client from outside. Clients are simulated in `reports/simulation`, and designs are tried on made-up people in
`planning`.
"""

from lopub.evaluation.classifiers import CLASSIFIERS, ClassifierScore
from lopub.evaluation.distance import SetScore, WayScore
from lopub.evaluation.scores import Edges, Evaluation, evaluate

__all__ = [
    "CLASSIFIERS",
    "ClassifierScore",
    "Edges",
    "Evaluation",
    "SetScore",
    "WayScore",
    "evaluate",
]
