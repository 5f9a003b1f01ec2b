"""A plan tried out: simulated people, simulated reports, the real estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lopub.collection.counts import Form
from lopub.collection.dataset import Dataset
from lopub.collection.simulation import simulate
from lopub.contract.campaign import Campaign
from lopub.contract.mechanism import Mechanism
from lopub.contract.terms import Terms
from lopub.forecast.request import CampaignRequest, make_campaign
from lopub.inference import Study
from lopub.inference.joint import Probabilities, avd
from lopub.laws import bulk_of
from lopub.laws.designs import Design
from lopub.planning.population import Population
from lopub.release import publish

MOST_TRIED = 100_000
"""People of a trial; with more, errors are scaled down from there."""
MOST_ATTRIBUTES = 200
"""Attributes that a trial can afford; plans for more go by theory alone."""
MOST_PAIRS = 150
"""Pairs that a trial estimates, evenly picked."""
MOST_VIEWS = 400
"""Views of jointly randomized bits that a trial can afford: their marginals take all of them."""


@dataclass(frozen=True)
class Trial:
    """Mean AVD of what came out, beside the people it came from."""

    n_people: int
    marginal_error: float
    pair_error: float
    independence_error: float
    """Of the product of the estimated marginals: what a pair estimate must beat."""
    table_error: float
    """Of the pairs of a synthetic table that is published from the reports; not a number where none was."""


def campaign_for(design: Design, population: Population, epsilon: float, terms: Terms | None = None) -> Campaign:
    """The campaign that a design makes at this epsilon."""
    request = CampaignRequest(epsilon=str(epsilon), mechanism=design.mechanism, view=design.view, jointly=design.jointly)
    return make_campaign(population.domain, terms or Terms(name="plan"), request)


def affordable(design: Design, n_attributes: int) -> bool:
    """Whether a trial of this design ends in seconds."""
    if n_attributes > MOST_ATTRIBUTES:
        return False
    form = Form.known[bulk_of(Mechanism.known[design.mechanism]).form(design.jointly)]
    return not form.whole_views or n_attributes * (n_attributes - 1) / 2 <= MOST_VIEWS


def tried(
    design: Design,
    population: Population,
    *,
    people: int,
    epsilon: float,
    seed: int = 0,
    most_pairs: int = MOST_PAIRS,
    weights: Sequence[float] | None = None,
    with_table: bool = False,
) -> Trial:
    """One trial. most_pairs: 0 leaves pairs out, which is faster. weights: how much each attribute matters.
    with_table: whether a synthetic table is published and scored, too, which is slower."""
    n = min(people, MOST_TRIED)
    crowd = population.people(n, seed)
    reports = simulate(crowd, campaign_for(design, population, epsilon), seed=seed)
    study = Study(reports)
    d = len(population.domain)
    place = study.domain.positions(population.domain.names)
    covered = [position for position in range(d) if study.n_covering((place[position],))]
    marginals = [
        study.marginal(place[p]) if p in covered else np.full(size, 1 / size) for p, size in enumerate(population.domain.sizes)
    ]
    own = np.ones(d) if weights is None else np.array(weights)
    marginal = float(np.average([avd(share, _shares(crowd, (p,))) for p, share in enumerate(marginals)], weights=own))
    every = list(combinations(covered, 2))
    chosen = every[:: max(1, -(-len(every) // most_pairs))] if most_pairs else []
    joints = study.joints([(place[a], place[b]) for a, b in chosen]) if chosen else []
    truth = [_shares(crowd, pair) for pair in chosen]
    pair = [avd(joint.probabilities, true) for joint, true in zip(joints, truth, strict=True)]
    blind = [avd(np.outer(marginals[a], marginals[b]), true) for (a, b), true in zip(chosen, truth, strict=True)]
    table = publish(reports, seed=seed).synthetic if with_table else None
    made = [avd(_shares(table, pair), true) for pair, true in zip(chosen, truth, strict=True)] if table is not None else []
    both = [own[a] * own[b] for a, b in chosen]
    scale = float(np.sqrt(n / people))
    return Trial(n, marginal * scale, _mean(pair, both) * scale, _mean(blind, both), _mean(made, both) * scale)


def _mean(errors: list[float], weights: list[float]) -> float:
    return float(np.average(errors, weights=weights)) if errors else float("nan")


def _shares(crowd: Dataset, clique: tuple[int, ...]) -> Probabilities:
    return crowd.counts([crowd.domain.names[position] for position in clique]) / len(crowd)
