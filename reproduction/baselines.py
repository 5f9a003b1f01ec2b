"""The systems that the paper compares itself with, on k attributes at equal total epsilon: RAPPOR and Fanti's EM."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes
from lopub.estimation.joint import avd
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.queries import Study
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate
from reproduction.crowds import sampled, table_of
from reproduction.estimation import random_sets, true_joint
from reproduction.extent import N_HASHES, TABLES, Scale
from reproduction.measurements import Cell, Values

NAME = "baselines"
RAPPOR, LONG_RAPPOR, FANTI, DIRECT = (
    "RAPPOR",
    "RAPPOR, formula's length",
    "Fanti et al.",
    "direct, jointly",
)
N_SETS = 10
FALSE_POSITIVES = 0.01
"""p of the paper's formula of the communication cost."""


def cells(scale: Scale) -> Iterator[Cell]:
    """The measurements of this experiment, in order."""
    for name in scale.privacy_tables:
        for seed in range(scale.privacy_seeds):
            for epsilon in scale.epsilons:
                for method in (RAPPOR, LONG_RAPPOR, FANTI, DIRECT):
                    yield Cell(
                        experiment=NAME,
                        table=name,
                        seed=seed,
                        x=epsilon,
                        method=method,
                        k=2,
                        size=min(N_SETS, scale.pairs_a_seed),
                    )


def measured(cell: Cell, directory: Path) -> Values:
    """Mean AVD of pairs, each collected on its own; bits that are sent, and those that the paper's formula counts."""
    table = TABLES[cell.table]
    records = sampled(table_of(cell.table, directory), table.sample, cell.seed)
    errors, sent, formula = [], [], []
    for clique in random_sets(len(records.domain), cell.k, cell.size, cell.seed):
        part = restricted(records, clique)
        campaign = campaign_for(cell.method, part.domain, cell.x, table.n_bits)
        joint = Study(simulate(part, campaign, seed=cell.seed)).estimate(part.domain.names, "em")
        errors.append(avd(joint.probabilities, true_joint(part, tuple(range(cell.k)))))
        sent.append(sum(channel.width for channel in campaign.channels(tuple(range(cell.k)))))
        formula.append(formula_bits(cell.method, part.domain.sizes))
    return {
        "avd": float(np.mean(errors)),
        "bits": float(np.mean(sent)),
        "formula_bits": float(np.mean(formula)),
    }


def restricted(records: Dataset, clique: Clique) -> Dataset:
    """The records with these attributes alone."""
    domain = Domain(tuple(records.domain.attributes[position] for position in clique))
    return Dataset(domain, records.codes[:, list(clique)])


def campaign_for(method: str, domain: Domain, epsilon: str, n_bits: int) -> Campaign:
    """RAPPOR: one filter over the product domain, as long as all of Fanti's together, or as the paper's formula has it."""
    if method == DIRECT:
        request = CampaignRequest(
            epsilon=epsilon, mechanism="direct", view=AllAttributes(), jointly=True
        )
    elif method in (RAPPOR, LONG_RAPPOR):
        bits = (
            n_bits * len(domain)
            if method == RAPPOR
            else math.ceil(formula_bits(method, domain.sizes))
        )
        request = CampaignRequest(
            epsilon=epsilon,
            mechanism="bloom",
            view=AllAttributes(),
            jointly=True,
            n_bits=bits,
            n_hashes=N_HASHES,
        )
    else:
        request = CampaignRequest(
            epsilon=epsilon,
            mechanism="bloom",
            view=AllAttributes(),
            jointly=False,
            n_bits=n_bits,
            n_hashes=N_HASHES,
        )
    return make_campaign(domain, Terms(name="reproduction"), request)


def formula_bits(method: str, sizes: tuple[int, ...]) -> float:
    """ln(1/p) / (ln 2)^2 times the sum of the domains (LoPub), or their product (RAPPOR); `direct` sends the cell's number."""
    cells = math.prod(sizes)
    if method == DIRECT:
        return math.log2(cells)
    return (
        math.log(1 / FALSE_POSITIVES)
        / math.log(2) ** 2
        * (cells if method in (RAPPOR, LONG_RAPPOR) else sum(sizes))
    )
