"""`bloom`, many at once."""

from fractions import Fraction
from typing import ClassVar, cast

from lopub.bulk.base import Bulk, Channels, Payloads
from lopub.bulk.draws import RandomWords
from lopub.bulk.flips import flipped, fresh_share, refreshed
from lopub.bulk.outputs import Chances, log_likeliest_of_independent_bits, ones_of_independent_bits
from lopub.bulk.records import Inputs
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.bloom import BloomChannel


class BloomBulk(Bulk):
    """Filters whose bits are all changed with one probability."""

    mechanism: ClassVar[str] = "bloom"

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        own = cast(tuple[BloomChannel, ...], channels)
        return flipped(
            [c.filters for c in own], [c.width for c in own], own[0].change, inputs, source
        )

    def refreshed(self, channels: Channels, payloads: Payloads, source: RandomWords) -> Payloads:
        return refreshed(channels, payloads, _fresh(channels[0]), source)

    def fresh_share(self, channel: Channel, share: float, sigma: float) -> float:
        return fresh_share(_fresh(channel), cast(BloomChannel, channel).change)

    def ones_chances(self, channel: Channel) -> Chances:
        return ones_of_independent_bits(channel.law())

    def log_likeliest(self, channel: Channel) -> float:
        return log_likeliest_of_independent_bits(channel.law())


def _fresh(channel: Channel) -> Fraction:
    return Fraction(cast(BloomChannel, channel).change_units, UNIT)
