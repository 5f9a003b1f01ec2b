"""A plan tried out: simulated people, simulated reports or their counts, the real estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lopub.bulk import bulk_of
from lopub.bulk.designs import Design
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain, Pair
from lopub.campaign.mechanisms import Mechanism
from lopub.campaign.terms import Terms
from lopub.campaign.views import Sizes
from lopub.estimation.joint import Probabilities, avd
from lopub.planning.draws import drawn_counts
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.queries import Study
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, Form
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate

MOST_SIMULATED = 100_000
"""People whose reports are made one by one; of more, counts are drawn."""
MOST_ATTRIBUTES = 100
"""Attributes that a trial can afford."""
MOST_PAIRS = 100
"""Pairs that a trial estimates, evenly picked."""
MOST_CELLS = 10_000
"""Cells of jointly randomized bits that a trial can afford."""
MOST_VIEWS = 5000
"""Views of jointly randomized bits that a trial can afford: their marginals take all of them."""


@dataclass(frozen=True)
class Trial:
    """Mean AVD of what came out, beside the people it came from."""

    n_people: int
    """As many as were asked for, unless they are too many to be simulated."""
    share_error: float
    pair_error: float
    independence_error: float
    """Of the product of the estimated marginals: what a pair estimate must beat."""
    table_error: float
    """Of the pairs of a synthetic table that is published from the reports; not a number where none was."""


def campaign_for(
    design: Design, domain: Domain, epsilon: float, terms: Terms | None = None
) -> Campaign:
    """The campaign that a design makes at this epsilon."""
    request = CampaignRequest(
        epsilon=str(epsilon), mechanism=design.mechanism, view=design.view, jointly=design.jointly
    )
    return make_campaign(domain, terms or Terms(name="plan"), request)


def affordable(design: Design, sizes: Sizes) -> bool:
    """Whether a trial of this design ends in seconds."""
    n_attributes = len(sizes)
    if n_attributes > MOST_ATTRIBUTES:
        return False
    form = Form.known[bulk_of(Mechanism.known[design.mechanism]).form(design.jointly)]
    if not form.whole_views:
        return True
    return (
        n_attributes * (n_attributes - 1) / 2 <= MOST_VIEWS
        and design.view.most_cells(sizes) <= MOST_CELLS
    )


def tried(
    design: Design,
    population: Population,
    *,
    people: int,
    epsilon: float,
    seed: int = 0,
    pairs: Sequence[Pair] | None = None,
    weights: Sequence[float] | None = None,
    with_table: bool = False,
) -> Trial:
    """One trial. pairs: those that are estimated; none are faster, and some of all unless they are named. weights: how much each
    attribute matters. with_table: whether a synthetic table is published and scored, too, which is slower."""
    data, n = collected(campaign_for(design, population.domain, epsilon), population, people, seed)
    study, d = Study(data), len(population.domain)
    place = study.domain.positions(population.domain.names)
    marginals = [_marginal(study, place[p], size) for p, size in enumerate(population.domain.sizes)]
    own = np.ones(d) if weights is None else np.array(weights)
    shares = [avd(found, population.shares[p]) for p, found in enumerate(marginals)]
    chosen = _some(d) if pairs is None else list(pairs)
    asked = [
        (a, b) for a, b in chosen if study.n_covering((place[a],)) and study.n_covering((place[b],))
    ]
    joints = (
        dict(zip(asked, study.joints([(place[a], place[b]) for a, b in asked]), strict=True))
        if asked
        else {}
    )
    truth = {pair: population.joint(pair) for pair in chosen}
    blind = {(a, b): np.outer(marginals[a], marginals[b]) for a, b in chosen}
    found = {pair: joints[pair].probabilities if pair in joints else blind[pair] for pair in chosen}
    table = _published(data, seed) if with_table else None
    made = (
        {} if table is None else {pair: _counted(table, population.domain, pair) for pair in chosen}
    )
    both = [own[a] * own[b] for a, b in chosen]

    def mean(of: dict[Pair, Probabilities]) -> float:
        errors = [avd(of[pair] / of[pair].sum(), truth[pair]) for pair in chosen if pair in of]
        return float(np.average(errors, weights=both)) if errors else float("nan")

    return Trial(n, float(np.average(shares, weights=own)), mean(found), mean(blind), mean(made))


def collected(
    campaign: Campaign, population: Population, people: int, seed: int
) -> tuple[ReportBatch | Counts, int]:
    """What so many people would send, as reports or as counts, and how many they are: fewer where even counts are too many."""
    if (
        people > MOST_SIMULATED
        and (counts := drawn_counts(campaign, population, people, seed)) is not None
    ):
        return counts, people
    n = min(people, MOST_SIMULATED)
    return simulate(population.people(n, seed), campaign, seed=seed), n


def _marginal(study: Study, position: int, size: int) -> Probabilities:
    return study.marginal(position) if study.n_covering((position,)) else np.full(size, 1 / size)


def _published(data: ReportBatch | Counts, seed: int) -> Dataset:
    from lopub.publication import (
        publish,
    )  # which imports from here what is to be expected of a campaign

    return publish(data, seed=seed).synthetic


def _counted(table: Dataset, domain: Domain, pair: Pair) -> Probabilities:
    return table.counts([domain.names[position] for position in pair]).astype(np.float64)


def _some(n_attributes: int) -> list[Pair]:
    every = list(combinations(range(n_attributes), 2))
    return every[:: max(1, -(-len(every) // MOST_PAIRS))]
