"""What a finished campaign is expected to give, in closed form."""

from lopub.contract.campaign import Campaign
from lopub.forecast.design import Score, score_of
from lopub.laws.designs import Design


def expected(campaign: Campaign) -> Score:
    """The score of a campaign, from the laws of its own noise, were every answer equally likely."""
    design = Design(campaign.mechanism.name, campaign.view, campaign.jointly)
    return score_of(design, campaign.domain.sizes, campaign.mechanism.sized_law)
