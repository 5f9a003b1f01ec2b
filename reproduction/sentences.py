"""All sentences of the paper's evaluation that can be tested, in the paper's order."""

from collections.abc import Iterator

from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Categorical, Domain
from lopub.campaign.terms import Terms
from lopub.planning.request import CampaignRequest, make_campaign
from reproduction.claims import Claim, Tables, judged
from reproduction.dependence_claims import claims_of_dependences
from reproduction.estimation_claims import claims_of_estimation
from reproduction.outcome_claims import claims_of_outcomes


def claims(tables: Tables) -> list[Claim]:
    """Those whose figures were run."""
    return [
        *_epsilon(),
        *claims_of_estimation(tables),
        *claims_of_dependences(tables),
        *claims_of_outcomes(tables),
    ]


def _epsilon() -> Iterator[Claim]:
    loss = _paper_campaign().loss
    found = decimal_up(loss, 2)
    yield judged(
        "epsilon of one attribute at f = 0.5, h = 4",
        "8.79",
        found,
        [found == "8.79"],
        f"But per attribute: the fifteen of Adult cost {decimal_up(15 * loss, 1)}, which protects nobody.",
    )


def _paper_campaign() -> Campaign:
    """Two candidates that share no bit, as the bound assumes."""
    domain = Domain((Categorical(name="a", values=("0", "1")),))
    return make_campaign(
        domain, Terms(name="claim"), CampaignRequest(flip_probability="0.5", n_bits=128, n_hashes=4)
    )
