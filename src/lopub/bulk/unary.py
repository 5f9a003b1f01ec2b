"""`unary`, many at once."""

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import Bits, Bulk, Channels, Payloads
from lopub.bulk.cells import CellNoise, independent_noise
from lopub.bulk.designs import LARGEST_SPELT_OUT, Design, largest_pair
from lopub.bulk.draws import RandomWords, bernoulli_words, units_of, words
from lopub.bulk.flips import flipped, fresh_share, refreshed
from lopub.bulk.outputs import Chances, log_likeliest_of_independent_bits, ones_of_independent_bits
from lopub.bulk.records import Inputs
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Channel, Law
from lopub.campaign.mechanisms.unary import OptimizedChannel, SymmetricChannel
from lopub.campaign.views import Sizes


class UnaryBulk(Bulk):
    """One bit a candidate, in either variant."""

    mechanism: ClassVar[str] = "unary"
    counts_tell_cells: ClassVar[bool] = True

    def other_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        if largest_pair(sizes) <= LARGEST_SPELT_OUT:
            yield Design(self.mechanism, self.usual_view(sizes, epsilon), True)

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        if isinstance(channels[0], SymmetricChannel):
            codes = [[1 << i for i in range(channel.n_candidates)] for channel in channels]
            return flipped(
                codes, [channel.width for channel in channels], channels[0].change, inputs, source
            )
        own = cast(tuple[OptimizedChannel, ...], channels)
        bits = [_optimized(channel, x, source) for channel, x in zip(own, inputs, strict=True)]
        return np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")

    def refreshed(self, channels: Channels, payloads: Payloads, source: RandomWords) -> Payloads:
        return refreshed(channels, payloads, _fresh(channels[0]), source)

    def fresh_share(self, channel: Channel, share: float, sigma: float) -> float:
        return fresh_share(_fresh(channel), cast(SymmetricChannel, channel).change)

    def cell_noise(self, law: Law) -> CellNoise:
        return independent_noise(law)

    def ones_chances(self, channel: Channel) -> Chances:
        return ones_of_independent_bits(channel.law())

    def log_likeliest(self, channel: Channel) -> float:
        return log_likeliest_of_independent_bits(channel.law())


def _fresh(channel: Channel) -> Fraction:
    return Fraction(cast(SymmetricChannel, channel).change_units, UNIT)


def _optimized(channel: OptimizedChannel, x: NDArray[np.int64], source: RandomWords) -> Bits:
    """Every bit a one with q, the true one a fair coin."""
    n = len(x)
    n_words = (n * channel.width + 63) // 64
    noise = (
        bernoulli_words(source, n_words, units_of(channel.law().q))
        .astype("<u8", copy=False)
        .view(np.uint8)
    )
    bits = np.unpackbits(noise, bitorder="little")[: n * channel.width].reshape(n, channel.width)
    bits[np.arange(n), x] = words(source, n) >> np.uint64(63)
    return bits
