"""From a record's candidates to a report: every draw of noise, in the order that docs/format.md fixes.

Nothing here reads a clock, a file or a setting. Each stream of randomness is handed in and used once; the report's id comes from
a stream of its own, which was read before the answers are looked at.
"""

from collections.abc import Sequence

from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES, PREFIX, VERSION, Report, mask_of, pack


def new_id() -> bytes:
    """The id of a report, from a stream of its own."""
    return Randomness().take(ID_BYTES)


def randomized(
    campaign: Campaign,
    candidates: Sequence[int],
    *,
    report_id: bytes,
    slot: int,
    randomness: Randomness,
) -> Report:
    """A report of the record: the view, then each block, drawn in this order from one stream."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels, inputs = campaign.channels(view), inputs_of(campaign, view, candidates)
    outputs = [
        channel.randomize(x, randomness) for channel, x in zip(channels, inputs, strict=True)
    ]
    mask, payload = mask_in(campaign, view), pack(outputs, channels)
    return Report(campaign=campaign.prefix, id=report_id, slot=slot, mask=mask, payload=payload)


# ---- mode permanent: noise over noise


def memorized(campaign: Campaign, candidates: Sequence[int], randomness: Randomness) -> bytes:
    """The permanent answer: a view and its blocks' permanent noisy outputs, drawn in this order from one stream."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels, inputs = campaign.channels(view), inputs_of(campaign, view, candidates)
    outputs = [
        channel.memorized(x, randomness) for channel, x in zip(channels, inputs, strict=True)
    ]
    return mask_in(campaign, view) + pack(outputs, channels)


def refreshed(
    campaign: Campaign, answer: bytes, *, report_id: bytes, slot: int, randomness: Randomness
) -> Report:
    """A report over a permanent answer: the fresh noise of each block, in order, from one stream."""
    known = as_report(campaign, answer, slot)
    channels = campaign.channels(known.view(campaign))
    outputs = [
        channel.refreshed(x, randomness)
        for channel, x in zip(channels, known.outputs(campaign), strict=True)
    ]
    payload = pack(outputs, channels)
    return Report(
        campaign=campaign.prefix, id=report_id, slot=slot, mask=known.mask, payload=payload
    )


def as_report(campaign: Campaign, answer: bytes, slot: int) -> Report:
    """A permanent answer behind the header of a report, checked as strictly as one; else ReportRejected."""
    header = bytes([VERSION]) + campaign.prefix + bytes(ID_BYTES)
    day = slot.to_bytes(HEADER_BYTES - ID_BYTES - PREFIX.stop)
    return Report.from_bytes(header + day + answer, campaign)


# ---- views and cells


def mask_in(campaign: Campaign, view: Clique) -> bytes:
    """The view as a report of this campaign writes it: not at all where every report covers everything."""
    return mask_of(view, campaign.mask_bytes) if campaign.view.masked else b""


def inputs_of(campaign: Campaign, view: Clique, candidates: Sequence[int]) -> list[int]:
    """What each block of the view randomizes: its cell, or its attributes' candidates."""
    if campaign.jointly:
        return [cell(view, candidates, campaign.domain.sizes)]
    return [candidates[position] for position in view]


def cell(view: Sequence[int], candidates: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of the view's joint value: domain order, last attribute fastest."""
    number = 0
    for position in view:
        number = number * sizes[position] + candidates[position]
    return number
