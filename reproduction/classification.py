"""What classifiers learn from the synthetic tables over f, and how long it takes to make those (SVM, forest, overall time)."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lopub.evaluation.classifiers import predicted
from lopub.publication import publish
from lopub.reports.dataset import Dataset
from reproduction.crowds import bloom_reports, held_out, sampled, table_of
from reproduction.extent import ESTIMATORS, PAPER_METHODS, TABLES, Scale
from reproduction.measurements import Cell, Values

NAME = "classification"
OURS = "calibrated"
"""Our structure and estimator, from the same Bloom reports."""
NOT_PRIVATE = "not private"
MAJORITY = "majority"
"""Always the most frequent answer of the training records: what a classifier has to beat to have learned anything."""
PAPER_CELLS = 5_000
"""Cells of the largest clique that the paper's way may have; the paper names no bound, and without one does not end."""


def cells(scale: Scale) -> Iterator[Cell]:
    """The measurements of this experiment, in order."""
    for name in scale.slow_tables:
        for seed in range(scale.classification_seeds):
            for flip in scale.slow_flips:
                for method in (*PAPER_METHODS, OURS):
                    yield Cell(experiment=NAME, table=name, seed=seed, x=flip, method=method)
            for method in (NOT_PRIVATE, MAJORITY):
                yield Cell(experiment=NAME, table=name, seed=seed, x="0", method=method)


def measured(cell: Cell, directory: Path) -> Values:
    """Mean rates on held-out records: SVM over the binary attributes, forest over all; and the seconds of a publication."""
    table, whole = TABLES[cell.table], table_of(cell.table, directory)
    training, test = (part(whole, table.sample, cell.seed) for part in (sampled, held_out))
    if cell.method == NOT_PRIVATE:
        guesses = [1 / size for size in whole.domain.sizes]
        return rates(training, test, cell.seed) | {"guess": float(np.mean(guesses))}
    if cell.method == MAJORITY:
        return majority_rates(training, test)
    reports = bloom_reports(training, table.n_bits, cell.x, cell.seed)
    start = time.perf_counter()
    if cell.method == OURS:
        made = publish(reports, seed=cell.seed)
    else:
        how = ESTIMATORS[cell.method]
        made = publish(
            reports,
            structure="paper",
            method=how,
            phi=table.phi,
            most_cells=PAPER_CELLS,
            seed=cell.seed,
        )
    seconds = time.perf_counter() - start
    return rates(made.synthetic, test, cell.seed) | {"seconds": seconds}


def majority_rates(training: Dataset, test: Dataset) -> dict[str, float]:
    """By classifier, over the same targets as `rates`."""
    names = test.domain.names
    most = {name: int(np.bincount(training.column(name)).argmax()) for name in names}
    right = {name: float((test.column(name) == most[name]).mean()) for name in names}
    binary = [right[name] for name in names if test.domain[name].size == 2]
    return {"svm": float(np.mean(binary)), "random_forest": float(np.mean(list(right.values())))}


def rates(training: Dataset, test: Dataset, seed: int) -> dict[str, float]:
    """By classifier: the share of test records that it predicts right, mean over all targets that it can learn."""
    binary = [name for name in test.domain.names if test.domain[name].size == 2]
    targets = {"svm": binary, "random_forest": list(test.domain.names)}
    return {
        classifier: _rate(classifier, training, test, names, seed)
        for classifier, names in targets.items()
    }


def _rate(
    classifier: str, training: Dataset, test: Dataset, targets: list[str], seed: int
) -> float:
    found = [
        (predicted(classifier, training, test, name, seed=seed) == test.column(name)).mean()
        for name in targets
    ]
    return float(np.mean(found))
