"""`bloom`, many at once."""

from typing import ClassVar, cast

from lopub.contract.mechanism.bloom import BloomChannel
from lopub.laws.base import Bulk, Channels, Payloads
from lopub.laws.draws import RandomWords
from lopub.laws.flips import flipped
from lopub.laws.records import Inputs


class BloomBulk(Bulk):
    """Filters whose bits are all changed with one probability."""

    mechanism: ClassVar[str] = "bloom"

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        own = cast(tuple[BloomChannel, ...], channels)
        return flipped([c.filters for c in own], [c.width for c in own], own[0].change, inputs, source)
