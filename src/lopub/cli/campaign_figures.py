"""What a steward may expect of a campaign: terms, errors, what fakes can do, and what a sample hides, each in one line."""

from decimal import Decimal
from typing import Any

from lopub.campaign.budget import decimal_up, float_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.terms import Terms
from lopub.pages.figures import rounds_in_words, weakness
from lopub.planning.budgets import sampled_up
from lopub.planning.design import PEOPLE as CHOICE_PEOPLE
from lopub.planning.outlook import outlook_of
from lopub.planning.poisoning import most_exposed
from lopub.planning.request import CampaignRequest

REFERENCE_PEOPLE = 10_000
NEAR = Decimal("0.98")
"""Of the epsilon that was asked for: what is below it is told."""

__all__ = [
    "CHOICE_PEOPLE", "REFERENCE_PEOPLE", "below_wish", "described", "expected_error", "exposure", "sample_in_words",
    "terms_in_words", "terms_of", "warnings_of",
]  # fmt: skip


def expected_error(campaign: Campaign, people: int | None, *, chosen: bool) -> str:
    """What to expect of people like those of surveys, by the model that `lopub plan` goes by. chosen: whether the choice was just
    made."""
    n, repeat = people or REFERENCE_PEOPLE, campaign.terms.repeat
    reports = max(campaign.terms.reports_together(n), 1)
    forecast = outlook_of(campaign).at(reports)
    in_rounds = "" if repeat is None else f", {reports:,} of them in a round"
    said = f"off by {forecast.shares:.3f} on average with {n:,} people{in_rounds}"
    pairs = f", pairs by {forecast.pairs:.3f}" if len(campaign.domain) > 1 else ""
    crowd = "people" if repeat is None else "reports a round"
    choice = f"; the choice is for {CHOICE_PEOPLE:,} {crowd}" if chosen and people is None else ""
    own = "; --people N takes your own number" if people is None else ""
    return f"shares of an attribute {said}{pairs} (AVD, of people like those of surveys; see `lopub plan`){choice}{own}"


def below_wish(campaign: Campaign, request: CampaignRequest) -> list[str]:
    """That a report has more noise than was asked for, where the difference matters."""
    has_two_layers = campaign.mechanism.permanent is not None
    if request.epsilon is None or not has_two_layers or campaign.loss > request.budget * NEAR:
        return []
    return [
        f"note: one report has epsilon {decimal_up(campaign.loss, 3)}, not the {request.budget:f} that was asked for: two layers"
        " of noise hide more, the more answers a question has, and the question with the fewest decides for all; raise --epsilon,"
        " or take --mechanism unary, which has no such difference"
    ]


def exposure(campaign: Campaign) -> str | None:
    """How far fake reports can move a share, in one line; None where that takes too long to find out."""
    n_fake = REFERENCE_PEOPLE // 100
    worst = most_exposed(campaign, n_reports=REFERENCE_PEOPLE - n_fake, n_fake=n_fake)
    if worst is None:
        return None
    return f"1 % fake reports can move a share of {worst[0]} by at most {min(1.0, worst[1]):.3f}, and no other by more"


def sample_in_words(campaign: Campaign, share: Decimal) -> str:
    """What a secret sample leaves to readers, on what conditions, and that it leaves everything to the collector."""
    once, ever = (
        (", once for all rounds", " of all reports of one device")
        if campaign.terms.repeat
        else ("", "")
    )
    left, whole = (
        decimal_up(sampled_up(campaign.lifetime_loss, share)),
        decimal_up(campaign.lifetime_loss),
    )
    return (
        f"epsilon {left}{ever} for readers of what is published, if those who send are a share of {share} of the people, drawn at"
        f" random and in secret{once}: the size of the sample may be known, who is in it may not; {whole} for the collector, as"
        " without a sample, because it sees who sent"
    )


def terms_of(terms: Terms) -> dict[str, Any]:
    """On which terms people are asked, beside how few reports are shown; null where nothing is said."""
    schedule = terms.schedule
    return {
        "title": terms.title or None,
        "consent": terms.consent or None,
        "languages": [terms.language, *terms.translations],
        "opens": None if schedule is None else str(schedule.opens),
        "closes": None if schedule is None else str(schedule.closes),
        "retention_days": terms.retention_days or None,
        "licence": terms.licence or None,
    }


def terms_in_words(campaign: Campaign) -> dict[str, str]:
    """The same for people: what they were promised, or that nothing was said."""
    terms, schedule = campaign.terms, campaign.terms.schedule
    kept = f"reports are deleted {terms.retention_days:,} days after the close"
    return {
        "consent": terms.consent or "says nothing",
        "schedule": "open until somebody closes it"
        if schedule is None
        else f"{schedule.opens} to {schedule.closes}{rounds_in_words(campaign)}",
        "retention": kept
        if terms.retention_days
        else "reports are kept until somebody deletes them",
        **({"licence": terms.licence} if terms.licence else {}),
    }


def described(campaign: Campaign) -> dict[str, Any]:
    """What `show` shows, for programs."""
    return {
        "campaign": campaign.id,
        "name": campaign.terms.name,
        "epsilon": campaign.epsilon,
        "lifetime_epsilon": campaign.lifetime_epsilon,
        "mechanism": campaign.mechanism.to_json(),
        "view": str(campaign.view),
        "randomize": "jointly" if campaign.jointly else "separately",
        "longest_report_bytes": campaign.longest_report,
        "min_reports": campaign.terms.min_reports,
        **terms_of(campaign.terms),
        "warnings": warnings_of(campaign),
        "attributes": [
            {
                "name": a.name,
                "type": a.type,
                "candidates": list(a.texts),
                "epsilon": campaign.epsilon_of(a.name),
                "lifetime_epsilon": float_up(campaign.lifetime_loss_of(a.name)),
            }
            for a in campaign.domain.attributes
        ],
    }


def warnings_of(campaign: Campaign) -> list[str]:
    """What a steward should know before people are asked."""
    return [text for text in [weakness(campaign)] if text]
