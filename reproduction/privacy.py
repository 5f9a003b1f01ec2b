"""Mechanisms and views at equal total epsilon, and what a trusted server would publish."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Mechanism
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Sample
from lopub.estimation.joint import Probabilities, avd, product_of
from lopub.planning.makers import maker_of
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.publication import publish
from lopub.queries import Study
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate
from reproduction.crowds import order_of, table_of
from reproduction.estimation import names_of, random_sets, true_joint
from reproduction.extent import N_HASHES, TABLES, Scale
from reproduction.measurements import Cell, Values
from reproduction.trusted import STRUCTURES, trusted_table

NAME = "privacy"
N_DEPENDENT = 12
NO_NOISE = "no noise"
LARGEST_FILL = 2**40
"""Cells of a view that `fill` may have: a number that a report can hold."""


def cells(scale: Scale) -> Iterator[Cell]:
    """The measurements of this experiment, in order."""
    for name in scale.privacy_tables:
        for seed in range(scale.privacy_seeds):
            for epsilon in scale.epsilons:
                for method in (*scale.setups, "trusted server, paper"):
                    yield _cell(scale, name, seed, epsilon, method)
            for structure in STRUCTURES:  # what is left without any noise is the model's own error
                yield _cell(scale, name, seed, NO_NOISE, f"trusted server, {structure}")


def _cell(scale: Scale, table: str, seed: int, epsilon: str, method: str) -> Cell:
    size = scale.pairs_a_seed * 10**9 + min(scale.most_rows, 10**9 - 1)
    return Cell(experiment=NAME, table=table, seed=seed, x=epsilon, method=method, size=size)


def measured(cell: Cell, directory: Path) -> Values:
    """Mean AVD of random pairs and of the most dependent ones."""
    n_pairs, most_rows = divmod(cell.size, 10**9)
    table = table_of(cell.table, directory)
    records = table[np.sort(order_of(table, cell.seed)[:most_rows])]
    random = random_sets(len(records.domain), 2, n_pairs, cell.seed)
    dependent = most_dependent(cell.table, directory)[:n_pairs]
    wanted = sorted({*random, *dependent})
    found = dict(zip(wanted, _joints(cell, records, wanted), strict=True))
    errors = {pair: avd(joint, true_joint(records, pair)) for pair, joint in found.items()}
    return {
        "random pairs": float(np.mean([errors[pair] for pair in random])),
        "dependent pairs": float(np.mean([errors[pair] for pair in dependent])),
    }


@lru_cache(maxsize=3)
def most_dependent(name: str, directory: Path) -> tuple[Clique, ...]:
    """The pairs whose joint is furthest from the product of its marginals."""
    table = table_of(name, directory)
    joints = {pair: true_joint(table, pair) for pair in combinations(range(len(table.domain)), 2)}
    distance = {
        pair: avd(joint, product_of([joint.sum(axis=1), joint.sum(axis=0)]))
        for pair, joint in joints.items()
    }
    return tuple(sorted(joints, key=lambda pair: (-distance[pair], pair))[:N_DEPENDENT])


def _joints(cell: Cell, records: Dataset, pairs: list[Clique]) -> list[Probabilities]:
    if cell.method.startswith("trusted"):
        epsilon = None if cell.x == NO_NOISE else float(cell.x)
        table = trusted_table(
            records, structure=cell.method.rpartition(" ")[2], epsilon=epsilon, seed=cell.seed
        )
        return [true_joint(table, pair) for pair in pairs]
    *_, how = cell.method.split(", ")
    request = request_for(cell.method, cell.x, TABLES[cell.table].n_bits)
    reports = simulate(
        records, make_campaign(records.domain, Terms(name="reproduction"), request), seed=cell.seed
    )
    if how == "table":
        table = publish(reports, seed=cell.seed).synthetic
        return [true_joint(table, pair) for pair in pairs]
    study = Study(reports)
    joints = study.joints(
        [study.domain.positions(names_of(records, pair)) for pair in pairs], how, workers=1
    )
    return [joint.probabilities for joint in joints]


def request_for(setup: str, epsilon: str, n_bits: int) -> CampaignRequest:
    """ "subset, sample:2 jointly, shrunk" -> what to ask of `make_campaign`; "planned" leaves the choice to it."""
    mechanism, *rest = setup.split(", ")
    if mechanism == "planned":
        return CampaignRequest(epsilon=epsilon)
    view, _, how = rest[0].partition(" ")
    cells = min(LARGEST_FILL, max(4, int(np.exp(float(epsilon)) / 6)))
    rules = {"all": AllAttributes(), "sample:2": Sample(2), "fill": Fill(cells)}
    filters = (
        {"n_bits": n_bits, "n_hashes": N_HASHES}
        if maker_of(Mechanism.known[mechanism]).takes_filters
        else {}
    )
    return CampaignRequest(
        epsilon=epsilon, mechanism=mechanism, view=rules[view], jointly=how == "jointly", **filters
    )
