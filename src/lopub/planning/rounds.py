"""What rounds cost: with one lifetime epsilon, how far off a share of one round is, and a change from one round to the next."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from lopub.contract.campaign import Campaign
from lopub.contract.domain import Domain
from lopub.contract.schedule import PERMANENT, Schedule
from lopub.contract.terms import Terms
from lopub.errors import CampaignError
from lopub.forecast.outlook import outlook_of
from lopub.forecast.population import Population
from lopub.forecast.request import CampaignRequest, make_campaign
from lopub.forecast.risk import MEAN_DEVIATION
from lopub.laws import bulk_of

TAKE_PART = (1, 2, 4)
"""In how many rounds a device may take part, side by side."""
FRESH = Decimal("0.5")
"""Of lifetime epsilon, epsilon of one report over a permanent answer."""


@dataclass(frozen=True)
class RoundOption:
    """One way to spend a lifetime epsilon. Errors are standard errors of a share, on average over all answers."""

    mode: str
    take_part: int
    epsilon: float
    lifetime_epsilon: float
    n_reports: int
    """Of one round."""
    share_error: float
    change_error: float
    least_change_error: float
    """If the same people take part in both rounds: smaller in mode permanent, whose noise is partly the same in both."""


def round_options(
    domain: Domain, schedule: Schedule, *, people: int, lifetime_epsilon: float, population: Population
) -> Iterator[RoundOption]:
    """Both modes side by side, for these people and this budget."""
    repeat, budget = schedule.repeat, Decimal(str(lifetime_epsilon))
    if repeat is None:
        raise CampaignError("schedule has no rounds to compare")
    for take_part in (m for m in TAKE_PART if m <= repeat.rounds):
        campaign = make_campaign(domain, Terms(name="sampled"), CampaignRequest(epsilon=budget / take_part))
        n_reports = max(people * take_part // repeat.rounds, 1)
        error = _share_error(campaign, n_reports, population)
        each = (campaign.epsilon, campaign.epsilon * take_part, n_reports, error, math.sqrt(2) * error, math.sqrt(2) * error)
        yield RoundOption("sampled", take_part, *each)
    always = replace(repeat, mode=PERMANENT, take_part=repeat.rounds)
    terms = Terms(name="permanent", schedule=replace(schedule, repeat=always), min_reports=max(people, 100))
    kept = make_campaign(domain, terms, CampaignRequest(epsilon=budget * FRESH, lifetime_epsilon=budget))
    error = _share_error(kept, people, population)
    least = math.sqrt(2 * _fresh_variance(kept, error, people))
    yield RoundOption(PERMANENT, repeat.rounds, kept.epsilon, kept.lifetime_epsilon, people, error, math.sqrt(2) * error, least)


def _share_error(campaign: Campaign, n_reports: int, population: Population) -> float:
    """From the expected AVD of every attribute: normal errors, the same for all of its answers."""
    forecast = outlook_of(campaign, population).at(n_reports)
    return float(np.mean(np.asarray(forecast.share_errors) / (MEAN_DEVIATION * np.array(campaign.domain.sizes))))


def _fresh_variance(campaign: Campaign, error: float, people: int) -> float:
    """Of a share's variance, what is drawn anew in every round; on average over all attributes, answers evenly."""
    view = next(campaign.view.views(campaign.domain.sizes))
    found = []
    for channel, size in zip(campaign.channels(view), campaign.domain.sizes, strict=False):
        noise = max(error**2 - (1 / size) * (1 - 1 / size) / people, 0.0)
        found.append(noise * bulk_of(campaign.mechanism).fresh_share(channel, 1 / size, 1 / size))
    return float(np.mean(found))
