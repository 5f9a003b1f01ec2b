"""`bloom`: the paper's local transformation. Hash the candidate to h of m bits, then redraw each bit with f. On a jointly
randomized view this is RAPPOR on the product domain."""

import hashlib
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count, product
from typing import ClassVar, Self, cast

from lopub.campaign.budget import (
    UNIT,
    bit_loss,
    check_change_units,
    composed_change,
    float_up,
    times_up,
)
from lopub.campaign.canonical import Json, Members, integer_at
from lopub.campaign.domain import Domain
from lopub.campaign.mechanisms.base import (
    MOST_BITS,
    Block,
    Channel,
    Law,
    Mechanism,
    n_cells,
    noise_from_json,
    permanent_from_json,
)
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError

TAG = b"lopub/bloom/1"
Bits = int | Mapping[str, int]
MOST_HASHES = 64
MOST_COMPARED = 256
"""Candidates of a block up to which every two rows are compared; above it, the bound on their distance is used instead."""
N_WORDS = 2**32
"""How many values a 32-bit word of a hash can have."""
MOST_HASHED = 2**18
"""Positions of all codes of a campaign together: cells times hashes. Deriving them takes most of the time of loading it."""
MOST_HASHED_BYTES = 2**25
"""Bytes that go into the first hashes of all cells together."""
_WORDS = struct.Struct(">8I")
MOST_FILTER_BITS = 2**20
"""Where the filters of a block take up more, a client makes the one that it needs."""


def positions(
    salt: str, names: tuple[str, ...], texts: tuple[str, ...], *, n_bits: int, n_hashes: int
) -> tuple[int, ...]:
    """The h distinct bit positions of one candidate, in the order in which they are found.

    SHA-256 over the length-prefixed (tag, salt, names, texts, counter) gives eight 32-bit words; the words
    of the last, incomplete multiple of m are thrown away, so that every position is equally likely.

    >>> positions("0", ("gender",), ("F",), n_bits=8, n_hashes=2)
    (1, 4)
    """
    hashed = hashlib.sha256(_prefixed(TAG, *(part.encode() for part in (salt, *names, *texts))))
    unbiased = N_WORDS - N_WORDS % n_bits
    found: dict[int, None] = {}
    for counter in count():
        last = hashed.copy()
        last.update(_prefixed(counter.to_bytes(4)))
        for word in _WORDS.unpack(last.digest()):
            if word < unbiased:
                found[word % n_bits] = None
                if len(found) == n_hashes:
                    return tuple(found)
    raise AssertionError("unreachable: every position turns up sooner or later")


def _prefixed(*parts: bytes) -> bytes:
    """The parts concatenated, each preceded by its length."""
    return b"".join([len(part).to_bytes(4) + part for part in parts])


@dataclass(frozen=True)
class BloomChannel(Channel):
    """m bits; each bit of the candidate's filter is changed with probability f / 2."""

    block: Block
    n_bits: int
    n_hashes: int
    change_units: int
    salt: str
    permanent: int | None = None
    """Change units of the permanent layer below, where there is one."""

    @cached_property
    def n_candidates(self) -> int:  # type: ignore[override]
        """Cells of the block."""
        return n_cells(self.block)

    @cached_property
    def width(self) -> int:
        """Bits of an output."""
        return self.n_bits

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The code matrix: one row per candidate, as sorted positions."""
        names = tuple(attribute.name for attribute in self.block)
        cells = product(*(attribute.texts for attribute in self.block))
        return tuple(
            tuple(
                sorted(
                    positions(self.salt, names, texts, n_bits=self.n_bits, n_hashes=self.n_hashes)
                )
            )
            for texts in cells
        )

    @cached_property
    def filters(self) -> tuple[int, ...]:
        """The rows as bit strings."""
        return tuple(map(self._made_filter, range(self.n_candidates)))

    @property
    def distinct(self) -> bool:
        return len(set(self.rows)) == len(self.rows)

    @property
    def change(self) -> Fraction:
        """How often a bit is changed, by one layer and not by both."""
        return composed_change(self.change_units, self.permanent)

    def law(self) -> Law:
        change, of_a_bit = self.change, bit_loss(self.change)
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_bits,
            rows=self.rows,
            p=1 - change,
            q=change,
            slope=float_up(times_up(of_a_bit, 2)),
            loss=times_up(of_a_bit, self.distance),
        )

    @cached_property
    def distance(self) -> int:
        """The largest Hamming distance of two rows, or where they are too many to compare, a bound on it."""
        return self._largest((i, range(i + 1, self.n_candidates)) for i in range(self.n_candidates))

    def loss_of(self, position: int) -> Decimal:
        return times_up(bit_loss(self.change), self._largest(self._differing_at(position)))

    def _differing_at(self, position: int) -> Iterator[tuple[int, range]]:
        """Each cell, and the later ones that differ from it in one attribute of the block alone."""
        sizes = [attribute.size for attribute in self.block]
        stride = math.prod(sizes[position + 1 :])
        for cell in range(self.n_candidates):
            later = sizes[position] - 1 - cell // stride % sizes[position]
            yield cell, range(cell + stride, cell + later * stride + 1, stride)

    def _largest(self, pairs: Iterator[tuple[int, range]]) -> int:
        bound, largest = 2 * min(self.n_hashes, self.n_bits - self.n_hashes), 0
        if self.n_candidates > MOST_COMPARED:
            return bound
        used = {
            position: 1 << i
            for i, position in enumerate({position for row in self.rows for position in row})
        }
        filters = [
            sum(used[position] for position in row) for row in self.rows
        ]  # without the positions that nobody has
        for one, others in pairs:
            differing = map(filters[one].__xor__, filters[others.start : others.stop : others.step])
            largest = max(largest, max(map(int.bit_count, differing), default=0))
            if largest == bound:  # found almost at once unless the filters are crowded
                break
        return largest

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        known = (
            self.memorized(candidate, randomness) if self.permanent else self._filter_of(candidate)
        )
        return self.refreshed(known, randomness)

    @cached_property
    def _filter_of(self) -> Callable[[int], int]:
        is_small = self.n_candidates * self.n_bits <= MOST_FILTER_BITS
        return self.filters.__getitem__ if is_small else self._made_filter

    def _made_filter(self, candidate: int) -> int:
        return sum(map((1).__lshift__, self.rows[candidate]))  # the positions are distinct

    def memorized(self, candidate: int, randomness: Randomness) -> int:
        return self._filter_of(candidate) ^ randomness.changes(
            self.n_bits, self.permanent or 0, UNIT
        )

    def refreshed(self, memorized: int, randomness: Randomness) -> int:
        return memorized ^ randomness.changes(self.n_bits, self.change_units, UNIT)


@dataclass(frozen=True)
class Bloom(Mechanism):
    """The paper's mechanism. n_bits: one m for every block, or one per attribute in domain order."""

    name: ClassVar[str] = "bloom"
    in_words: ClassVar[str] = (
        "every value has a Bloom filter, and every bit of it is flipped with a fixed probability"
    )
    keeps_answers: ClassVar[bool] = True
    noise: Mapping[int, int] = field(hash=False)
    n_bits: int | Mapping[str, int] = field(hash=False)
    n_hashes: int
    salt: str = "0"
    permanent: Mapping[int, int] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        for units in (*self.noise.values(), *(self.permanent or {}).values()):
            check_change_units(units)
        lengths = [self.n_bits] if isinstance(self.n_bits, int) else list(self.n_bits.values())
        for n_bits in lengths:
            if not 2 <= n_bits <= MOST_BITS:
                raise CampaignError(f"bits must lie in 2..{MOST_BITS:,}, got {n_bits}")
            if not 1 <= self.n_hashes <= n_bits:
                raise CampaignError(
                    f"hashes must lie in 1..{n_bits}, the number of bits, got {self.n_hashes}"
                )
        if self.n_hashes > MOST_HASHES:
            raise CampaignError(f"hashes must be at most {MOST_HASHES}, got {self.n_hashes}")

    def channel(self, block: Block, n_blocks: int) -> BloomChannel:
        noise, below = self._noise_for(n_blocks), self._permanent_for(n_blocks)
        return BloomChannel(block, self._bits_of(block), self.n_hashes, noise, self.salt, below)

    @property
    def codes_differ_by_block(self) -> bool:
        return True

    def change_at(self, n_blocks: int) -> Fraction:
        """How often a bit is changed in a report of so many blocks, by one layer and not by both."""
        return composed_change(self._noise_for(n_blocks), self._permanent_for(n_blocks))

    def _bits_of(self, block: Block) -> int:
        return self.n_bits if isinstance(self.n_bits, int) else self.n_bits[block[0].name]

    def check(self, block_counts: tuple[int, ...], domain: Domain, jointly: bool) -> None:
        super().check(block_counts, domain, jointly)
        if not isinstance(self.n_bits, int) and (jointly or set(self.n_bits) != set(domain.names)):
            raise CampaignError(
                "bits must be one number where views are randomized jointly, or name every attribute"
            )

    def losses(self, n_blocks: int, block: Block, channels: Sequence[Channel]) -> list[Decimal]:
        distances = [channel.distance for channel in cast(Sequence[BloomChannel], channels)]
        of_a_bit = bit_loss(self.change_at(n_blocks))
        loss_at = {distance: times_up(of_a_bit, distance) for distance in set(distances)}
        return [loss_at[distance] for distance in distances]

    def check_codes(self, blocks: Sequence[Block]) -> None:
        cells = sum(map(n_cells, blocks))
        if (hashed := cells * self.n_hashes) > MOST_HASHED:
            raise CampaignError(
                f"{cells:,} cells with {self.n_hashes} hashes have {hashed:,} positions in their filters, more than the"
                f" {MOST_HASHED:,} that a client derives; use smaller views, fewer candidates or fewer hashes"
            )
        if sum(self._hashed_bytes(blocks)) > MOST_HASHED_BYTES:
            raise CampaignError(
                f"the filters are hashed from more than {MOST_HASHED_BYTES:,} bytes of names and candidates;"
                " use smaller views, shorter texts or a shorter salt"
            )

    def _hashed_bytes(self, blocks: Sequence[Block]) -> Iterator[int]:
        """For each block, the bytes that go into the first hashes of all its cells: parts, and 4 bytes of length each."""
        texts_of: dict[str, int] = {}
        for attribute in {
            attribute.name: attribute for block in blocks for attribute in block
        }.values():
            texts_of[attribute.name] = sum(4 + len(text.encode()) for text in attribute.texts)
        always = len(_prefixed(TAG, self.salt.encode(), bytes(4)))
        for block in blocks:
            cells = n_cells(block)
            names = sum(4 + len(attribute.name.encode()) for attribute in block)
            yield cells * (always + names) + sum(
                cells // attribute.size * texts_of[attribute.name] for attribute in block
            )

    def width_of(self, n_candidates: int) -> int:
        return self.n_bits if isinstance(self.n_bits, int) else max(self.n_bits.values())

    def to_json(self) -> dict[str, Json]:
        bits: Json = self.n_bits if isinstance(self.n_bits, int) else dict(self.n_bits)
        return {
            "name": self.name,
            "bits": bits,
            "hashes": self.n_hashes,
            "salt": self.salt,
            **self._noise_to_json("change_units", int),
        }

    @classmethod
    def from_json(cls, members: Members) -> Self:
        bits, path = members.take("bits"), members.path("bits")
        if isinstance(bits, dict):
            n_bits: Bits = {
                name: integer_at(value, f"{path}.{name}") for name, value in sorted(bits.items())
            }
        else:
            n_bits = integer_at(bits, path)
        noise = noise_from_json(members, "change_units", integer_at)
        return cls(
            noise,
            n_bits,
            members.integer("hashes"),
            members.text("salt"),
            permanent_from_json(members, integer_at),
        )
