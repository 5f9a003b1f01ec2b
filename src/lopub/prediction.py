"""What a finished campaign is expected to give, in closed form."""

from lopub.campaign import Campaign
from lopub.choice import Choice, Score, noise, score_of
from lopub.domain import Categorical
from lopub.mechanism import Bloom, Law, Unary

TWO = Categorical(name="two", values=("0", "1"))


def expected(campaign: Campaign) -> Score:
    """The score of a campaign, from the laws of its own noise, were every answer equally likely."""
    choice = Choice(campaign.mechanism.name, campaign.view, campaign.jointly)
    return score_of(choice, campaign.domain.sizes, lambda n_cells, n_blocks: _noise(campaign, n_cells, n_blocks))


def _noise(campaign: Campaign, n_cells: int, n_blocks: int) -> float:
    """v of a block of so many candidates."""
    mechanism = campaign.mechanism
    if isinstance(mechanism, Bloom):
        law = campaign.coded_channels[0].law()  # the noise is the same for all filters of one view size
        return _of_bits(law, law.n_bits)
    law = mechanism.channel((TWO,), n_blocks).law()
    if isinstance(mechanism, Unary):  # its p and q are the same for every number of candidates
        return _of_bits(law, n_cells)
    return noise(mechanism.name, n_cells, law.slope)  # the slope is the block's epsilon, whatever its candidates


def _of_bits(law: Law, n_bits: int) -> float:
    """From p and q; the h bits of a candidate's filter are averaged over."""
    p, q = float(law.p), float(law.q)
    mean = q + (p - q) * law.weight / n_bits
    return mean * (1 - mean) / (p - q) ** 2 / law.weight
