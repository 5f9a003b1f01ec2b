"""What a classifier learns from the synthetic table, tested on real records, against one that learnt from real ones."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Domain
from lopub.reports.dataset import Dataset

CLASSIFIERS = ("svm", "random_forest")
MOST_ROWS = 20_000
"""Records to train on, and to test on; more would take minutes and move the rates by less than their own error."""
HELD_OUT = 0.2
LEAST_RECORDS = 5
"""Real records: one to test on, the rest to train on."""
N_TREES = 50


@dataclass(frozen=True, kw_only=True)
class ClassifierScore:
    """The share of held-out real records whose target is predicted right, from 0 to 1.

    Nothing is held out of the synthetic table: one that copies real records has an unfair advantage here.
    """

    target: str
    classifier: str
    trained_on_synthetic: float
    trained_on_real: float
    majority: float
    """Of the constant prediction: the most frequent candidate among the real records that are not held out."""


def held_out(real: Dataset, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
    """(training, test): the real records parted at random, at most MOST_ROWS of each."""
    order = rng.permutation(len(real))
    n_test = max(1, round(HELD_OUT * len(real)))
    return real[order[n_test:][:MOST_ROWS]], real[order[:n_test][:MOST_ROWS]]


def thinned(dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """At most MOST_ROWS records, drawn at random."""
    return dataset[np.sort(rng.permutation(len(dataset))[:MOST_ROWS])]


def target_scores(
    training: Dataset,
    test: Dataset,
    synthetic: Dataset,
    target: str,
    *,
    seed: int,
    advance: Callable[[], None],
) -> tuple[ClassifierScore, ...]:
    """Each classifier, trained on synthetic and on real records, and tested on the same held-out ones."""
    truth = test.column(target)
    scores = []
    for classifier in CLASSIFIERS:
        rates = []
        for source in (synthetic, training):
            rates.append(_rate(predicted(classifier, source, test, target, seed=seed), truth))
            advance()
        scores.append(
            ClassifierScore(
                target=target,
                classifier=classifier,
                trained_on_synthetic=rates[0],
                trained_on_real=rates[1],
                majority=_rate(_constant(training, test, target), truth),
            )
        )
    return tuple(scores)


def predicted(
    classifier: str, training: Dataset, test: Dataset, target: str, *, seed: int
) -> NDArray[Any]:
    """The target of each test record by all other attributes; constant where there is nothing to learn from."""
    labels = training.column(target)
    features = [name for name in sorted(training.domain.names) if name != target]
    if not features or labels.min() == labels.max():
        return _constant(training, test, target)
    model = _model(classifier, training.domain, features, seed)
    columns = training.domain.positions(features)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a fit that stops early is still a fit, and the rate says how good
        model.fit(training.codes[:, columns], labels)
        result: NDArray[Any] = model.predict(test.codes[:, columns])
    return result


def _model(classifier: str, domain: Domain, features: list[str], seed: int) -> Any:
    """An untrained model. Linear SVM: one indicator a candidate; forest: candidate numbers, which trees can split."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import LinearSVC

    if classifier == "random_forest":
        return RandomForestClassifier(
            n_estimators=N_TREES, random_state=seed, n_jobs=1
        )  # with more, ties fall by chance
    indicators = OneHotEncoder(
        categories=[np.arange(domain[name].size) for name in features], dtype=np.float64
    )
    return make_pipeline(indicators, LinearSVC(dual="auto", random_state=seed))


def _constant(training: Dataset, test: Dataset, target: str) -> NDArray[Any]:
    """The most frequent candidate, for everybody; the first of several."""
    return np.full(len(test), np.bincount(training.column(target)).argmax())


def _rate(guesses: NDArray[Any], truth: NDArray[Any]) -> float:
    return float((guesses == truth).mean())
