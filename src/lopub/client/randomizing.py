"""From a record's candidates to a report: the draws, in the order that docs/format.md fixes. Read it before you trust it."""

from collections.abc import Sequence

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES, Report, mask_of, pack


def randomized(
    campaign: Campaign, candidates: Sequence[int], *, slot: int, randomness: Randomness
) -> Report:
    """A report for the record: its id, then the view, then each block, drawn in this order from one stream."""
    report_id = randomness.take(ID_BYTES)
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels, inputs = campaign.channels(view), inputs_of(campaign, view, candidates)
    outputs = [
        channel.randomize(x, randomness) for channel, x in zip(channels, inputs, strict=True)
    ]
    mask, payload = mask_in(campaign, view), pack(outputs, channels)
    return Report(campaign=campaign.prefix, id=report_id, slot=slot, mask=mask, payload=payload)


def mask_in(campaign: Campaign, view: Clique) -> bytes:
    """The view as a report of this campaign says it: not at all, where every report covers everything."""
    return mask_of(view, campaign.mask_bytes) if campaign.view.masked else b""


def inputs_of(campaign: Campaign, view: Clique, candidates: Sequence[int]) -> list[int]:
    """What each block of the view is to randomize: its cell, or its attributes' candidates."""
    if campaign.jointly:
        return [cell(view, candidates, campaign.domain.sizes)]
    return [candidates[position] for position in view]


def cell(view: Sequence[int], candidates: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of the view's joint value: domain order, last attribute fastest."""
    number = 0
    for position in view:
        number = number * sizes[position] + candidates[position]
    return number
