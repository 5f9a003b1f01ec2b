"""Dataset x Dataset -> scores, each with its breakdown: how far a synthetic table is from the real one."""

from lopub.evaluation.classifiers import CLASSIFIERS, ClassifierScore
from lopub.evaluation.scores import Edges, Evaluation, evaluate
from lopub.evaluation.tables import SetScore, WayScore

__all__ = ["CLASSIFIERS", "ClassifierScore", "Edges", "Evaluation", "SetScore", "WayScore", "evaluate"]
