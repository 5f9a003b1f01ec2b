"""What a finished campaign is expected to give, in closed form."""

from lopub.campaign import Campaign
from lopub.choice import Choice, Score, score_of
from lopub.domain import Categorical
from lopub.mechanism import Bloom, Law


def expected(campaign: Campaign) -> Score:
    """The score of a campaign, from the laws of its own noise, were every answer equally likely."""
    choice = Choice(campaign.mechanism.name, campaign.view, campaign.jointly)
    return score_of(choice, campaign.domain.sizes, lambda n_cells, n_blocks: _noise(campaign, n_cells, n_blocks))


def _noise(campaign: Campaign, n_cells: int, n_blocks: int) -> float:
    """v of a block of so many candidates; a Bloom filter's h bits are averaged over."""
    mechanism = campaign.mechanism
    if isinstance(mechanism, Bloom):
        law = campaign.coded_channels[0].law()  # the noise is the same for all filters of one view size
        return _of_law(law, n_bits=law.n_bits)
    stand_in = Categorical(name="x", values=tuple(map(str, range(2))))
    channel = mechanism.channel((stand_in,), n_blocks)
    return _resized(channel.law(), mechanism.name, n_cells)


def _of_law(law: Law, n_bits: int) -> float:
    p, q = float(law.p), float(law.q)
    mean = q + (p - q) * law.weight / n_bits
    return mean * (1 - mean) / (p - q) ** 2 / law.weight


def _resized(law: Law, mechanism: str, n_cells: int) -> float:
    """The closed form at the block's own epsilon, which a block of two candidates tells as well as any."""
    from lopub.choice import noise

    return noise(mechanism, n_cells, law.slope)
