"""What rounds cost: with one lifetime epsilon, how far off a share of one round is, and a change from one round to the next."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

import numpy as np

from lopub.bulk import bulk_of
from lopub.campaign.budget import decimal_up, exact_decimal
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain
from lopub.campaign.mechanisms import Mechanism
from lopub.campaign.schedule import PERMANENT, SAMPLED, Schedule
from lopub.campaign.terms import Terms
from lopub.errors import CampaignError
from lopub.planning.makers import maker_of
from lopub.planning.outlook import Forecast, outlook_of
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.planning.risk import MEAN_DEVIATION

TAKE_PART = (1, 2, 4)
"""In how many rounds a device may take part, side by side."""
FRESH = Decimal("0.5")
"""Of lifetime epsilon, epsilon of one report over a permanent answer."""
MOST_KEPT_CELLS = 256
"""Combined answers of all questions, up to which it is tried to randomize them as one: a kept one of many is a name."""


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
    is_own: bool
    """Whether it is what the schedule itself says."""


@dataclass(frozen=True)
class KeptOption:
    """One way to keep a permanent answer, and what to expect of a round."""

    campaign: Campaign
    forecast: Forecast

    @property
    def label(self) -> str:
        """As a table says it."""
        how = "jointly" if self.campaign.jointly else "separately"
        return f"{self.campaign.mechanism.name}, {self.campaign.view}, {how}"


def round_options(
    domain: Domain,
    schedule: Schedule,
    *,
    people: int,
    lifetime_epsilon: float,
    population: Population,
    kept: Campaign | None = None,
) -> Iterator[RoundOption]:
    """Both modes side by side, for these people and this budget; what the schedule itself says among them. kept: a campaign with
    this budget that keeps a permanent answer; a usual one, whose reports have FRESH of the budget, unless given."""
    repeat, budget = schedule.repeat, Decimal(str(lifetime_epsilon))
    if repeat is None:
        raise CampaignError("schedule has no rounds to compare")
    own = {repeat.take_part} if not repeat.is_permanent else set()
    for take_part in sorted(own | {m for m in TAKE_PART if m <= repeat.rounds}):
        campaign = make_campaign(
            domain, Terms(name="sampled"), CampaignRequest(epsilon=budget / take_part)
        )
        n_reports = max(replace(repeat, take_part=take_part).reports_a_round(people), 1)
        error = _share_error(campaign, n_reports, population)
        each = (
            campaign.epsilon,
            campaign.epsilon * take_part,
            n_reports,
            error,
            math.sqrt(2) * error,
            math.sqrt(2) * error,
        )
        yield RoundOption(SAMPLED, take_part, *each, take_part in own)
    own = {repeat.take_part} if repeat.is_permanent else set()
    if kept is None:
        always = replace(repeat, mode=PERMANENT, take_part=repeat.rounds)
        terms = Terms(
            name="permanent",
            schedule=replace(schedule, repeat=always),
        )
        kept = make_campaign(
            domain, terms, CampaignRequest(epsilon=budget * FRESH, lifetime_epsilon=budget)
        )
    for take_part in sorted(own | {repeat.rounds}):
        n_reports = max(replace(repeat, take_part=take_part).reports_a_round(people), 1)
        error = _share_error(kept, n_reports, population)
        errors = (
            error,
            math.sqrt(2) * error,
            math.sqrt(2 * _fresh_variance(kept, error, n_reports)),
        )
        yield RoundOption(
            PERMANENT,
            take_part,
            kept.epsilon,
            kept.lifetime_epsilon,
            n_reports,
            *errors,
            take_part in own,
        )


def options_of(campaign: Campaign, *, people: int, population: Population) -> list[RoundOption]:
    """What rounds cost with the lifetime epsilon of this campaign, in both modes; nothing where it does not repeat."""
    schedule, total = campaign.terms.schedule, round(campaign.lifetime_epsilon, 6)
    if schedule is None or schedule.repeat is None:
        return []
    kept, crowd = campaign if schedule.repeat.is_permanent else None, population
    return list(
        round_options(
            campaign.domain,
            schedule,
            people=people,
            lifetime_epsilon=total,
            population=crowd,
            kept=kept,
        )
    )


def kept_options(
    domain: Domain,
    terms: Terms,
    *,
    people: int,
    epsilon: float,
    lifetime_epsilon: float,
    population: Population,
    goal: str,
) -> list[KeptOption]:
    """Ways to keep a permanent answer, the best for this goal first. epsilon: of one report."""
    if terms.repeat is None:
        raise CampaignError("terms have no rounds to plan")
    n_reports, found = max(terms.repeat.reports_a_round(people), 1), []
    asked = CampaignRequest(epsilon=str(epsilon), lifetime_epsilon=str(lifetime_epsilon))
    jointly = (
        [False, True] if len(domain) > 1 and math.prod(domain.sizes) <= MOST_KEPT_CELLS else [None]
    )
    for mechanism, one in product(kept_mechanisms(), jointly):
        campaign = make_campaign(domain, terms, replace(asked, mechanism=mechanism, jointly=one))
        found.append(KeptOption(campaign, outlook_of(campaign, population).at(n_reports)))
    return sorted(
        found,
        key=lambda option: option.forecast.shares if goal == "shares" else option.forecast.pairs,
    )


def kept_mechanisms() -> list[str]:
    """Those that can keep a permanent answer, and whose bits nobody has to choose."""
    return sorted(
        name
        for name, kind in Mechanism.known.items()
        if kind.keeps_answers and not maker_of(kind).takes_filters
    )


def epsilon_up(epsilon: float) -> str:
    """As it is told everywhere: rounded up, but for what a float adds to a number of six decimals.

    >>> epsilon_up(0.8960897), epsilon_up(1.0000000000000002)
    ('0.897', '1.000')
    """
    return decimal_up(exact_decimal(f"{epsilon:.9f}", "epsilon"), 3)


def _share_error(campaign: Campaign, n_reports: int, population: Population) -> float:
    """From the expected AVD of every attribute: normal errors, the same for all of its answers."""
    forecast = outlook_of(campaign, population).at(n_reports)
    return float(
        np.mean(
            np.asarray(forecast.share_errors) / (MEAN_DEVIATION * np.array(campaign.domain.sizes))
        )
    )


def _fresh_variance(campaign: Campaign, error: float, people: int) -> float:
    """Of a share's variance, what is drawn anew in every round; on average over all attributes, answers evenly."""
    view = next(campaign.view.views(campaign.domain.sizes))
    channels, found = campaign.channels(view), []
    for place, position in enumerate(view):
        channel, size = channels[0 if campaign.jointly else place], campaign.domain.sizes[position]
        noise = max(error**2 - (1 / size) * (1 - 1 / size) / people, 0.0)
        found.append(noise * bulk_of(campaign.mechanism).fresh_share(channel, 1 / size, 1 / size))
    return float(np.mean(found))
