"""`hashed`: local hashing for large domains. A random linear function sends the cell to one of g values, which is randomized.

A cell is written with t digits in base g, a prime, and a function is t coefficients: h(x) = sum of a_i x_i mod g. Two different
cells differ in a digit, so over all g^t functions they fall on the same value with probability exactly 1 / g. The function says
nothing about the answer; the value is kept with odds e^eps against each other one, as in `direct`. A report is a few bytes,
however many cells there are.

Three cells whose digits lie on one line are not independent: where K <= g all do, and `direct` is the better mechanism.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from lopub.campaign.budget import UNIT, log_up
from lopub.campaign.mechanisms.base import Block, ByOdds, Channel, Law, identity_law, n_cells
from lopub.campaign.randomness import Randomness
from lopub.errors import Reason, ReportRejected

MOST_VALUES = 65521
"""The largest g: the largest prime below 2^16. With blocks of at most 2^20 cells every number stays below 2^52, as g^(t - 1) < K
makes g^(t + 1) < K g^2: exact in 64 bits, and in a double."""


@lru_cache(maxsize=256)
def n_values_for(odds: int) -> int:
    """g: of the two primes around odds / UNIT + 1, the one with the smaller variance; the smaller prime where they are equal.

    The variance of an estimated frequency is in proportion to (A - U + g U)^2 / (g - 1), with A the odds and U the unit.

    >>> n_values_for(3 * UNIT), n_values_for(100 * UNIT)
    (5, 101)
    """
    best = odds // UNIT + 1
    if best >= MOST_VALUES:
        return MOST_VALUES
    low = next(n for n in range(best, 1, -1) if _is_prime(n))
    high = next(n for n in range(best + 1, MOST_VALUES + 1) if _is_prime(n))
    kept = odds - UNIT
    return (
        low
        if (kept + low * UNIT) ** 2 * (high - 1) <= (kept + high * UNIT) ** 2 * (low - 1)
        else high
    )


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % divisor for divisor in range(2, math.isqrt(n) + 1))


def n_digits_for(n_candidates: int, n_values: int) -> int:
    """t: how many digits in base g the cells need."""
    n_digits, room = 1, n_values
    while room < n_candidates:
        n_digits, room = n_digits + 1, room * n_values
    return n_digits


def _n_bytes(n_numbers: int) -> int:
    """Whole bytes that hold every number below n_numbers."""
    return ((n_numbers - 1).bit_length() + 7) // 8


@dataclass(frozen=True)
class HashedChannel(Channel):
    """One number below g^(t + 1): the function's number times g, plus the value; in as many whole bytes as that needs."""

    n_candidates: int
    odds: int

    @cached_property
    def n_values(self) -> int:
        """g, the values of a hash function."""
        return n_values_for(self.odds)

    @cached_property
    def n_digits(self) -> int:
        """t, the digits of a cell in base g."""
        return n_digits_for(self.n_candidates, self.n_values)

    @property
    def n_functions(self) -> int:
        """g^t, the hash functions."""
        return int(self.n_values**self.n_digits)

    @property
    def n_numbers(self) -> int:
        """Pairs of a function and a value."""
        return self.n_functions * self.n_values

    @cached_property
    def n_bytes(self) -> int:
        """Whole bytes of an output."""
        return _n_bytes(self.n_numbers)

    @property
    def width(self) -> int:
        """Bits of an output."""
        return 8 * self.n_bytes

    @property
    def all_units(self) -> int:
        """Equally likely draws of the value's noise, of which the first `odds` keep it, and each other value has UNIT."""
        return self.odds + (self.n_values - 1) * UNIT

    def law(self) -> Law:
        """As bits, one per cell: whether the cell falls on the value that was sent; the true one with p, any other with 1 / g."""
        loss = log_up(Fraction(self.odds, UNIT))
        return identity_law(
            self.n_candidates, Fraction(self.odds, self.all_units), Fraction(1, self.n_values), loss
        )

    def value(self, function: int, candidate: int) -> int:
        """h(x): the digits of the function's number times those of the cell, least significant first, summed mod g."""
        total = 0
        for _ in range(self.n_digits):
            function, coefficient = divmod(function, self.n_values)
            candidate, digit = divmod(candidate, self.n_values)
            total += coefficient * digit
        return total % self.n_values

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        """A function, then a draw that keeps its value or moves it to one of the others."""
        function = randomness.below(self.n_functions)
        drawn = randomness.below(self.all_units)
        moved = max(0, (drawn - self.odds) // UNIT + 1)  # 0 where the value is kept, else 1..g-1
        sent = (self.value(function, candidate) + moved) % self.n_values
        return self.output(function * self.n_values + sent)

    def output(self, number: int) -> int:
        """The number as an output: its big-endian bytes, read little-endian."""
        return int.from_bytes(number.to_bytes(self.n_bytes), "little")

    def number(self, output: int) -> int:
        """The number of an output."""
        return int.from_bytes(output.to_bytes(self.n_bytes, "little"))

    def check(self, output: int) -> None:
        if self.number(output) >= self.n_numbers:
            raise ReportRejected(
                Reason.RANGE,
                f"a number is not below the {self.n_numbers} functions and values of its block",
            )


@dataclass(frozen=True)
class Hashed(ByOdds):
    """Local hashing with odds A / UNIT = e^eps."""

    name: ClassVar[str] = "hashed"
    in_words: ClassVar[str] = (
        "the value's image under a random function, kept with a fixed probability (local hashing)"
    )
    largest_block: ClassVar[int] = 2**20
    noise: Mapping[int, int] = field(hash=False)

    def channel(self, block: Block, n_blocks: int) -> HashedChannel:
        return HashedChannel(n_cells(block), self._noise_for(n_blocks))

    def width_of(self, n_candidates: int) -> int:
        """Exact where all reports have as many blocks; else a bound for every g up to the largest, found without trying each."""
        most = max(self.noise.values())
        if len(self.noise) == 1:
            return HashedChannel(n_candidates, most).width
        return 8 * _n_bytes(n_candidates * n_values_for(most) ** 2)

    def most_width(self, channel: Channel) -> int:
        """With fewer values there may be more digits, and so more bytes."""
        return self.width_of(channel.n_candidates)
