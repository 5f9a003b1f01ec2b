"""`bloom`: the paper's local transformation. Hash the candidate to h of m bits, then redraw each bit with f.

On a jointly randomized view this is RAPPOR on the product domain.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations, count, product
from typing import ClassVar, Self

from lopub.canonical import Json, Members, integer_at
from lopub.domain import Domain
from lopub.errors import CampaignError
from lopub.exact import UNIT, check_change_units, flip_loss, float_up, times_up
from lopub.mechanism.base import MOST_BITS, Block, Channel, Law, Mechanism, by_blocks, n_cells, units_to_json
from lopub.randomness import Randomness

TAG = b"lopub/bloom/1"
MOST_HASHES = 64
MOST_COMPARED = 256
"""Candidates of a block up to which every two rows are compared; above it the bound on their distance stands for it."""
N_WORDS = 2**32
"""How many values a 32-bit word of a hash can have."""


def positions(salt: str, names: tuple[str, ...], texts: tuple[str, ...], *, n_bits: int, n_hashes: int) -> tuple[int, ...]:
    """The h distinct bit positions of one candidate, in the order in which they are found.

    SHA-256 over the length-prefixed (tag, salt, names, texts, counter) gives eight 32-bit words; the words
    of the last, incomplete multiple of m are thrown away, so that every position is equally likely.

    >>> positions("0", ("gender",), ("F",), n_bits=8, n_hashes=2)
    (1, 4)
    """
    fields = (TAG, salt.encode(), *(name.encode() for name in names), *(text.encode() for text in texts))
    prefix = b"".join(len(part).to_bytes(4) + part for part in fields)
    unbiased = N_WORDS - N_WORDS % n_bits
    found: dict[int, None] = {}
    for counter in count():
        digest = hashlib.sha256(prefix + (4).to_bytes(4) + counter.to_bytes(4)).digest()
        for at in range(0, 32, 4):
            word = int.from_bytes(digest[at : at + 4])
            if word < unbiased:
                found[word % n_bits] = None
            if len(found) == n_hashes:
                return tuple(found)
    raise AssertionError("unreachable: every position turns up sooner or later")


@dataclass(frozen=True)
class BloomChannel(Channel):
    """m bits; each bit of the candidate's filter is changed with probability f / 2."""

    block: Block
    n_bits: int
    n_hashes: int
    change_units: int
    salt: str

    @cached_property
    def n_candidates(self) -> int:  # type: ignore[override]
        return n_cells(self.block)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.n_bits

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The code matrix: one row a candidate, as sorted positions."""
        names = tuple(attribute.name for attribute in self.block)
        cells = product(*(attribute.texts for attribute in self.block))
        return tuple(
            tuple(sorted(positions(self.salt, names, texts, n_bits=self.n_bits, n_hashes=self.n_hashes))) for texts in cells
        )

    @cached_property
    def filters(self) -> tuple[int, ...]:
        """The rows as bit strings."""
        return tuple(sum(1 << position for position in row) for row in self.rows)

    @property
    def distinct(self) -> bool:
        return len(set(self.filters)) == len(self.filters)

    def law(self) -> Law:
        change = Fraction(self.change_units, UNIT)
        bit_loss = flip_loss(self.change_units)
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_bits,
            rows=self.rows,
            p=1 - change,
            q=change,
            slope=float_up(times_up(bit_loss, 2)),
            loss=times_up(bit_loss, self.distance),
        )

    @cached_property
    def distance(self) -> int:
        """The largest Hamming distance of two rows, or where they are too many to compare, a bound on it."""
        return self._largest(combinations(self.filters, 2))

    def loss_of(self, position: int) -> Decimal:
        return times_up(flip_loss(self.change_units), self._largest(self._differing_at(position)))

    def _differing_at(self, position: int) -> Iterator[tuple[int, int]]:
        """Pairs of filters whose candidates differ in one attribute of the block alone."""
        sizes = [attribute.size for attribute in self.block]
        stride = math.prod(sizes[position + 1 :])
        for cell, mine in enumerate(self.filters):
            for later in range(cell // stride % sizes[position] + 1, sizes[position]):
                yield mine, self.filters[cell + (later - cell // stride % sizes[position]) * stride]

    def _largest(self, pairs: Iterator[tuple[int, int]]) -> int:
        bound, largest = 2 * min(self.n_hashes, self.n_bits - self.n_hashes), 0
        if self.n_candidates > MOST_COMPARED:
            return bound
        for one, other in pairs:
            largest = max(largest, (one ^ other).bit_count())
            if largest == bound:  # found almost at once unless the filters are crowded
                break
        return largest

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        return self.filters[candidate] ^ randomness.changes(self.n_bits, self.change_units, UNIT)


@dataclass(frozen=True)
class Bloom(Mechanism):
    """The paper's mechanism. n_bits: one m for every block, or one an attribute in domain order."""

    name: ClassVar[str] = "bloom"
    codes_differ_by_block: ClassVar[bool] = True
    noise: Mapping[int, int] = field(hash=False)
    n_bits: int | Mapping[str, int] = field(hash=False)
    n_hashes: int
    salt: str = "0"

    def __post_init__(self) -> None:
        for units in self.noise.values():
            check_change_units(units)
        lengths = [self.n_bits] if isinstance(self.n_bits, int) else list(self.n_bits.values())
        for n_bits in lengths:
            if not 2 <= n_bits <= MOST_BITS:
                raise CampaignError(f"bits must lie in 2..{MOST_BITS:,}, got {n_bits}")
            if not 1 <= self.n_hashes <= n_bits:
                raise CampaignError(f"hashes must lie in 1..{n_bits}, the number of bits, got {self.n_hashes}")
        if self.n_hashes > MOST_HASHES:
            raise CampaignError(f"hashes must be at most {MOST_HASHES}, got {self.n_hashes}")

    def channel(self, block: Block, n_blocks: int) -> BloomChannel:
        return BloomChannel(block, self._bits_of(block), self.n_hashes, self._noise_for(n_blocks), self.salt)

    def _bits_of(self, block: Block) -> int:
        return self.n_bits if isinstance(self.n_bits, int) else self.n_bits[block[0].name]

    def check(self, block_counts: tuple[int, ...], domain: Domain, jointly: bool) -> None:
        super().check(block_counts, domain, jointly)
        if not isinstance(self.n_bits, int) and (jointly or set(self.n_bits) != set(domain.names)):
            raise CampaignError("bits must be one number where views are randomized jointly, or name every attribute")

    def width_of(self, n_candidates: int) -> int:
        return self.n_bits if isinstance(self.n_bits, int) else max(self.n_bits.values())

    def to_json(self) -> dict[str, Json]:
        bits: Json = self.n_bits if isinstance(self.n_bits, int) else dict(self.n_bits)
        noise = units_to_json(self.noise)
        return {"name": self.name, "bits": bits, "hashes": self.n_hashes, "salt": self.salt, "change_units": noise}

    @classmethod
    def from_json(cls, members: Members) -> Self:
        bits = members.take("bits")
        if isinstance(bits, dict):
            n_bits: int | dict[str, int] = {
                name: integer_at(value, f"{members.path('bits')}.{name}") for name, value in sorted(bits.items())
            }
        else:
            n_bits = integer_at(bits, members.path("bits"))
        noise = by_blocks(members.mapping("change_units", integer_at), members.path("change_units"))
        return cls(noise, n_bits, members.integer("hashes"), members.text("salt"))


def bits_for(false_positive_rate: float, n_candidates: int) -> int:
    """m = ln(1/p) / (ln 2)^2 * |domain|, the paper's equation for the filter's length, rounded up.

    >>> bits_for(0.022, 16)
    128
    """
    return math.ceil(-math.log(_rate(false_positive_rate)) / math.log(2) ** 2 * n_candidates)


def hashes_for(false_positive_rate: float) -> int:
    """h = ln(1/p) / ln 2, the paper's equation for the number of hash functions, rounded to the nearest.

    >>> hashes_for(0.022)
    6
    """
    return max(1, round(-math.log(_rate(false_positive_rate)) / math.log(2)))


def _rate(false_positive_rate: float) -> float:
    if not 0 < false_positive_rate < 1:
        raise CampaignError(f"false_positive_rate must lie between 0 and 1, both excluded, got {false_positive_rate}")
    return false_positive_rate
