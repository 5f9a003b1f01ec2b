"""Forecasts for a draft: what so many people at an epsilon will give, by the closed form, and which
questions to ask in bins."""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from lopub.bulk.designs import Design
from lopub.campaign.domain import Domain, TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.terms import Terms
from lopub.collector.drafts import EPSILON, PEOPLE
from lopub.console.drafts import fields_of, read_text
from lopub.console.question_bins import can_bin
from lopub.errors import CampaignError, DomainError
from lopub.planning.design import brief_designs, ranked, ranked_at
from lopub.planning.merging import merges
from lopub.planning.outlook import Forecast, Outlook, outlook
from lopub.planning.population import Population
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the people that are asked for: what fewer or more would give."""


@lru_cache(maxsize=32)
def terms_of(text: str) -> tuple[Population, Terms]:
    """The people that forecasts are about, and the terms; made once for a text, so that a slider
    follows the hand."""
    draft = draft_of(*parsed(text.encode()))
    if draft.mistakes or draft.terms is None:
        raise CampaignError(
            f"the draft has mistakes ({len(draft.mistakes)}); mend them under Write first"
        )
    if draft.terms.repeat is not None and draft.terms.repeat.is_permanent:
        raise DomainError(
            "a campaign in mode permanent is made with `lopub campaign make --lifetime-epsilon`, for now"
        )
    domain = domain_of(draft.questions)
    domain.check_questionnaire()
    return Population.like_surveys(domain), draft.terms


@lru_cache(maxsize=64)
def outlooks(text: str, epsilon: str) -> dict[Design, Outlook]:
    """The usual designs for a draft at an epsilon; how many people there will be does not matter
    yet."""
    population, _ = terms_of(text)
    found = brief_designs(population.domain.sizes, float(epsilon))
    return {design: outlook(design, population, float(epsilon)) for design in found}


def forecasts(text: str, people: int, epsilon: str) -> list[tuple[Design, Forecast]]:
    """The usual designs by the closed form, the best first."""
    return ranked_at(outlooks(text, epsilon).values(), people)


def load_forecasts() -> None:
    """Load what the first forecast of a process has to load, before somebody waits for it."""
    forecasts(template("example"), PEOPLE, EPSILON)


def by_question(domain: Domain, forecast: Forecast) -> list[tuple[str, str, float]]:
    """What is asked, the option of a list, which is a question of its own to people, and the
    expected error of its shares."""
    errors = dict(zip(domain.names, forecast.share_errors.tolist(), strict=True))
    found: list[tuple[str, str, float]] = []
    for one in domain.questions:
        asked = one.question or one.title or one.name
        if isinstance(one, TickList):
            found += [
                (asked, one.labels[value], errors[part.name])
                for value, part in zip(one.values, one.options, strict=True)
            ]
        else:
            found.append((asked, "", errors[one.name]))
    return found


def lifetime_of(terms: Terms, epsilon: str) -> str:
    """Epsilon of all reports of one device, with this one for each."""
    return epsilon if terms.repeat is None else f"{Decimal(epsilon) * terms.repeat.take_part:f}"


def curve_of(best: Outlook, people: int) -> list[tuple[int, float]]:
    """People and expected error of shares."""
    return [
        (n, best.shares_at(n))
        for n in sorted({max(1, math.ceil(factor * people)) for factor in FACTORS})
    ]


@dataclass(frozen=True)
class Advised:
    """A question with many answers, and what fewer would give. can_bin: whether a button can do it."""

    name: str
    place: int
    size: int
    n: int
    before: float
    after: float
    can_bin: bool


def advised(text: str, people: int, epsilon: str) -> list[Advised]:
    """Which questions to ask in bins, by the closed form, the largest gain first."""
    (population, terms), draft = terms_of(text), read_text(text)
    people = max(terms.reports_together(people), 1)
    before = forecasts(text, people, epsilon)[0][1].pairs
    names, sizes = population.domain.names, population.domain.sizes

    def error_with(position: int, n: int) -> float:
        merged = population.merged(position, n)
        return ranked(
            brief_designs(merged.domain.sizes, float(epsilon)),
            merged,
            float(epsilon),
            people=people,
        )[0][1].pairs

    places = {str(field.get("name")): place for place, field in enumerate(fields_of(draft))}
    found = [
        Advised(
            names[p],
            places[names[p]],
            sizes[p],
            one.n_candidates,
            before,
            one.error,
            can_bin(draft, names[p]),
        )
        for one in merges(sizes, before, error_with)
        if names[p := one.position] in places
    ]
    return sorted(found, key=lambda one: one.after)
