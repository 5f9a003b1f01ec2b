"""What a steward may expect of a campaign: its errors, and what fakes can do, each in one line."""

from lopub.contract.campaign import Campaign
from lopub.forecast.design import PEOPLE as CHOICE_PEOPLE
from lopub.forecast.outlook import outlook_of
from lopub.forecast.poisoning import most_exposed

REFERENCE_PEOPLE = 10_000

__all__ = ["CHOICE_PEOPLE", "REFERENCE_PEOPLE", "expected_error", "exposure"]


def expected_error(campaign: Campaign, people: int | None, *, chosen: bool) -> str:
    """What to expect of people like those of surveys, by the model that `lopub plan` goes by. chosen: whether the choice was just
    made."""
    n = people or REFERENCE_PEOPLE
    forecast = outlook_of(campaign).at(n)
    said = f"off by {forecast.shares:.3f} on average with {n:,} people"
    pairs = f", pairs by {forecast.pairs:.3f}" if len(campaign.domain) > 1 else ""
    choice = f"; the choice is for {CHOICE_PEOPLE:,} people" if chosen and people is None else ""
    own = "; --people N takes your own number" if people is None else ""
    return f"shares of an attribute {said}{pairs} (AVD, of people like those of surveys; see `lopub plan`){choice}{own}"


def exposure(campaign: Campaign) -> str | None:
    """How far fake reports can move a share, in one line; None where that takes too long to find out."""
    n_fake = REFERENCE_PEOPLE // 100
    worst = most_exposed(campaign, n_reports=REFERENCE_PEOPLE - n_fake, n_fake=n_fake)
    if worst is None:
        return None
    return f"1 % fake reports can move a share of {worst[0]} by at most {min(1.0, worst[1]):.3f}, and no other by more"
