"""Estimation time and AVD of joints of k attributes over f (the paper's Figures of both)."""

import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub.campaign.domain import Clique
from lopub.estimation.joint import Probabilities, avd
from lopub.estimation.maxent import Constraints, maximum_entropy
from lopub.queries import Study
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, count_singly
from lopub.reports.dataset import Dataset
from reproduction.crowds import paper_study
from reproduction.extent import ESTIMATORS, OUR_METHODS, PAPER_METHODS, TABLES, Scale
from reproduction.loops import counting_seconds, loop_seconds
from reproduction.measurements import Cell, Values

NAME = "estimation"


def cells(scale: Scale) -> Iterator[Cell]:
    """The measurements of this experiment, in order."""
    for table in TABLES.values():
        for seed in range(scale.estimation_seeds):
            for flip in scale.flips:
                for k in table.dimensions:
                    for method in (*PAPER_METHODS, *OUR_METHODS):
                        yield Cell(
                            experiment=NAME,
                            table=table.name,
                            seed=seed,
                            x=flip,
                            method=method,
                            k=k,
                            size=scale.sets_a_seed,
                        )


def measured(cell: Cell, directory: Path) -> Values:
    """Mean AVD and seconds a joint; of the paper's methods also with counting, and what plain loops over reports would take."""
    table = TABLES[cell.table]
    records, study = paper_study(cell.table, directory, table.sample, cell.x, cell.seed)
    errors, seconds, loops = [], [], []
    study.marginals, study.counts  # shared by all joints, and by all methods  # noqa: B018
    study.joint_of((0, 1), ESTIMATORS[cell.method])  # what is done once, such as compiling
    for clique in random_sets(len(records.domain), cell.k, cell.size, cell.seed):
        start = time.perf_counter()
        joint, n_evaluations = estimated(
            study, study.domain.positions(names_of(records, clique)), cell.method
        )
        seconds.append(time.perf_counter() - start)
        errors.append(avd(joint, true_joint(records, clique)))
        if cell.method in PAPER_METHODS:
            loops.append(
                looped(
                    study.data,
                    clique,
                    cell.method,
                    n_evaluations,
                    int((joint > 0).sum()),
                    seconds[-1],
                )
            )
    values = {"avd": float(np.mean(errors)), "seconds": float(np.mean(seconds))}
    if not loops:
        return values
    counting = 0.0 if cell.method == "EM_JD" else counted_seconds(study, cell.k)
    return values | {
        "counted_seconds": values["seconds"] + counting,
        "loop_seconds": float(np.mean(loops)),
    }


def looped(
    data: ReportBatch | Counts,
    clique: Clique,
    method: str,
    n_evaluations: int,
    n_kept: int,
    seconds: float,
) -> float:
    """Seconds of a joint, with the paper's loops over reports. Its regression is compiled, as ours is: seconds, of Lasso_JD."""
    if method == "EM_JD":
        return loop_seconds(data, clique, n_evaluations)
    counting = counting_seconds(data, clique)
    return counting + (
        seconds if method == "Lasso_JD" else loop_seconds(data, clique, n_evaluations, n_kept)
    )


def counted_seconds(study: Study, k: int) -> float:
    """What it takes to count the bits of k attributes, compiled."""
    if isinstance(study.data, Counts):
        return 0.0
    start = time.perf_counter()
    count_singly(study.data)
    return (time.perf_counter() - start) * k / len(study.domain)


def estimated(study: Study, clique: Clique, method: str) -> tuple[Probabilities, int]:
    """The joint, and in how many evaluations; `moments` knows pairs, so a larger joint is that of largest entropy. clique: of
    positions in the study."""
    estimator = ESTIMATORS[method]
    if estimator.name == "moments" and len(clique) > 2:
        pairs = {
            axes: study.joint_of((clique[axes[0]], clique[axes[1]]), estimator)
            for axes in combinations(range(len(clique)), 2)
        }
        constraints = Constraints({axes: joint.probabilities for axes, joint in pairs.items()})
        return maximum_entropy([study.marginal(position) for position in clique], constraints), 0
    joint = study.joint_of(clique, estimator)
    return joint.probabilities, joint.fit.n_evaluations or 0


def random_sets(n_attributes: int, k: int, n_sets: int, seed: int) -> list[Clique]:
    """Different sets of k attributes, as many as wanted or as there are."""
    every = list(combinations(range(n_attributes), k))
    rng = np.random.default_rng([k, seed])
    return [every[number] for number in rng.permutation(len(every))[:n_sets]]


def true_joint(records: Dataset, clique: Clique) -> Probabilities:
    """The frequencies of a clique's cells among the records."""
    return records.counts(names_of(records, clique)) / len(records)


def names_of(records: Dataset, clique: Clique) -> list[str]:
    """The names of a clique's attributes."""
    return [records.domain.names[position] for position in clique]
