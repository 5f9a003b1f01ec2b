"""`hashed`, many at once."""

import math
from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import Bits, Bulk, Channels, Ok, Payloads
from lopub.bulk.cells import CellNoise, independent_noise
from lopub.bulk.designs import LARGEST_SPELT_OUT, Design, largest_pair
from lopub.bulk.draws import RandomWords, chosen, uniform_below, units_of
from lopub.bulk.linear import Classes, Scatter, own_bit_scatter
from lopub.bulk.packed import Packed
from lopub.bulk.records import Inputs
from lopub.campaign.mechanisms import Channel, Law
from lopub.campaign.mechanisms.hashed import Hashed, HashedChannel
from lopub.campaign.views import Sample, Sizes

Numbers = NDArray[np.int64]
CELLS_AT_ONCE = 2**22
"""Values of cells that are held at once while reports are read: 16 MiB."""
MOST_NOTICED_CELLS = 4096
"""Cells of a block up to which it is looked at which of them fall on the value that was sent."""
MOST_TYPICAL = 40
"""Hash functions of one kind that stand for all of it."""


class HashedBulk(Bulk):
    """A function's number and a value, in one number a block."""

    mechanism: ClassVar[str] = "hashed"
    counts_tell_cells: ClassVar[bool] = True

    def usual_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        """Where a bit for every cell would be too much."""
        if LARGEST_SPELT_OUT < largest_pair(sizes) <= Hashed.largest_block:
            yield Design(self.mechanism, self.usual_view(sizes, epsilon), True)

    def other_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
        """One attribute a person, where one of them is large."""
        if (
            len(sizes) > 1
            and largest_pair(sizes) > LARGEST_SPELT_OUT
            and max(sizes) <= Hashed.largest_block
        ):
            yield Design(self.mechanism, Sample(1), True)

    def payloads(self, channels: Channels, inputs: Inputs, source: RandomWords) -> Payloads:
        own = cast(tuple[HashedChannel, ...], channels)
        return np.concatenate(
            [_sent(channel, x, source) for channel, x in zip(own, inputs, strict=True)], axis=1
        )

    def possible_payloads(self, channels: Channels, payloads: Payloads) -> Ok:
        own = cast(tuple[HashedChannel, ...], channels)
        right = [self.numbers(own, at, payloads) < c.n_numbers for at, c in enumerate(own)]
        in_range: Ok = np.logical_and.reduce(right)
        return in_range

    def bits(self, channels: Channels, at: int, payloads: Payloads) -> Bits:
        """Whether each cell falls on the value that was sent."""
        channel = cast(HashedChannel, channels[at])
        functions, sent = np.divmod(self.numbers(channels, at, payloads), channel.n_values)
        coefficients, rows = (
            _digits(functions, channel),
            max(1, CELLS_AT_ONCE // channel.n_candidates),
        )
        bits: Bits = np.empty((len(sent), channel.n_candidates), dtype=np.uint8)
        for start in range(0, len(sent), rows):
            chunk = slice(start, start + rows)
            bits[chunk] = _fallen(coefficients[chunk], channel) == sent[chunk, None]
        return bits

    def noticeable(
        self, channels: Channels, at: int, payloads: Payloads, most: int
    ) -> Iterator[tuple[str, Bits]]:
        """The bits that the law speaks of, where they are few, and those that are sent."""
        if channels[at].n_candidates <= MOST_NOTICED_CELLS:
            yield from super().noticeable(channels, at, payloads, most)
        sent = super().bits(channels, at, payloads)
        yield from ((f"sent bit {i}", sent[:, i]) for i in range(min(sent.shape[1], most)))

    def law_bits(self, channels: Channels, payloads: Payloads) -> Payloads:
        own = [self.bits(channels, at, payloads) for at in range(len(channels))]
        return np.packbits(np.concatenate(own, axis=1), axis=1, bitorder="little")

    def cell_noise(self, law: Law) -> CellNoise:
        """Two cells fall on the sent value independently of each other, unless they and the true cell lie on one line."""
        return independent_noise(law)

    def log_likeliest(self, channel: Channel) -> float:
        """Every function is equally likely, and of its values the kept one is likeliest."""
        return math.log(channel.law().p) - math.log(cast(HashedChannel, channel).n_functions)

    def class_scatter(
        self, channel: Channel, classes: Classes, sigma: NDArray[np.float64]
    ) -> Scatter:
        """Cells on one line with the true one fall together, so that which cells make up a class matters: the second moments are
        averaged over functions, all cells equally likely."""
        own, usual = cast(HashedChannel, channel), own_bit_scatter(channel.law(), None, sigma)
        p, q = float(own.law().p), float(own.law().q)
        other = (1 - p) / (own.n_values - 1)
        total = np.zeros_like(usual.noise)
        for coefficients, weight in _typical_functions(own):
            seen = np.zeros((len(sigma), own.n_values))
            np.add.at(seen, (classes, _fallen(coefficients[None, :], own)[0]), 1.0)
            centred = seen - np.outer(sigma, seen.sum(axis=0))
            total += (
                weight
                * (centred * ((p - other) * seen.sum(axis=0) / own.n_candidates + other))
                @ centred.T
            )
        between = np.diag(sigma) - np.outer(sigma, sigma)
        return Scatter(total / (p - q) ** 2 - (1 + usual.gamma) * between, usual.gamma, sigma)

    def numbers(self, channels: Channels, at: int, payloads: Payloads) -> Numbers:
        """What was sent in one block."""
        start = sum(channel.width for channel in channels[:at]) // 8
        return (
            Packed.from_matrix(payloads[:, start : start + channels[at].width // 8])
            .numbers()
            .astype(np.int64)
        )


def _typical_functions(channel: HashedChannel) -> Iterator[tuple[Numbers, float]]:
    """Functions with the share of all that each stands for. By how many of the lowest digits they leave out, because those
    that leave out many are few and send whole ranges of cells to one value; a multiple of a function parts cells in the same way.
    The function that leaves out all digits tells nothing."""
    g, t, rng = channel.n_values, channel.n_digits, np.random.default_rng(0)
    for left_out in range(t):
        n_kinds = g ** (t - left_out - 1)
        chosen_kinds = (
            np.arange(n_kinds)
            if n_kinds <= MOST_TYPICAL
            else rng.choice(n_kinds, MOST_TYPICAL, replace=False)
        )
        for kind in chosen_kinds:
            higher = kind // g ** np.arange(t - left_out - 1, dtype=np.int64) % g
            yield (
                np.concatenate([np.zeros(left_out, np.int64), [1], higher]),
                (g - 1) * n_kinds / g**t / len(chosen_kinds),
            )


def _sent(channel: HashedChannel, x: Numbers, source: RandomWords) -> Payloads:
    functions = uniform_below(source, np.full(len(x), channel.n_functions, dtype=np.int64))
    values = (_digits(functions, channel) * _digits(x, channel)).sum(axis=1) % channel.n_values
    kept = chosen(source, len(x), units_of(channel.law().p))
    moved = 1 + uniform_below(source, np.full(len(x), channel.n_values - 1, dtype=np.int64))
    numbers = functions * channel.n_values + np.where(
        kept, values, (values + moved) % channel.n_values
    )
    sent: Payloads = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 8 - channel.n_bytes :]
    return sent


def _digits(numbers: Numbers, channel: HashedChannel) -> Numbers:
    """In base g, least significant first. shape (n, t)."""
    powers = channel.n_values ** np.arange(channel.n_digits, dtype=np.int64)
    return numbers[:, None] // powers % channel.n_values


def _fallen(coefficients: Numbers, channel: HashedChannel) -> NDArray[np.int32]:
    """The value that each cell falls on, one digit after the other. coefficients: shape (n, t). shape (n, K)."""
    n, g = len(coefficients), channel.n_values
    values = np.zeros((n, 1), dtype=np.int32)
    for coefficient in coefficients.T:
        n_used = min(
            g, -(-channel.n_candidates // values.shape[1])
        )  # of the highest digit, only those that some cell has
        steps = (coefficient[:, None] * np.arange(n_used) % g).astype(np.int32)
        values = steps[:, :, None] + values[:, None, :]
        values = (values - g * (values >= g).astype(np.int32)).reshape(n, -1)
    return values[:, : channel.n_candidates]
