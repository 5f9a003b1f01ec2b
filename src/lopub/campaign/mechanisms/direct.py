"""`direct`: k-ary randomized response. Keep the answer, or draw a cell uniformly from all K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from lopub.campaign.budget import UNIT, check_odds, log_up
from lopub.campaign.canonical import Members
from lopub.campaign.mechanisms.base import (
    Block,
    ByOdds,
    Channel,
    Law,
    identity_law,
    n_cells,
    noise_from_json,
    odds_at,
    permanent_from_json,
)
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError, Reason, ReportRejected

MOST_LAWS = 1024
"""Different sizes of blocks times numbers of blocks, for each of which a client derives an epsilon."""


def _n_bytes(n_candidates: int) -> int:
    """Whole bytes that hold every number below n_candidates."""
    return ((n_candidates - 1).bit_length() + 7) // 8


@dataclass(frozen=True)
class DirectChannel(Channel):
    """One number below K, sent in as many whole bytes as K - 1 needs."""

    n_candidates: int
    odds: int
    permanent: int | None = None
    """Odds of the permanent layer below, where there is one."""

    @cached_property
    def n_bytes(self) -> int:
        """Whole bytes of an output."""
        return _n_bytes(self.n_candidates)

    @cached_property
    def width(self) -> int:
        """Bits of an output."""
        return 8 * self.n_bytes

    @property
    def n_ones(self) -> int:
        """As bits, one per candidate: the cell that is sent."""
        return 1

    @cached_property
    def kept_units(self) -> int:
        """Of `all_units` equally likely draws, how many keep the answer."""
        return self.odds - UNIT

    @cached_property
    def all_units(self) -> int:
        """Equally likely draws."""
        return self.odds + (self.n_candidates - 1) * UNIT

    @property
    def keep(self) -> Fraction:
        """(e^eps - 1) / (e^eps + K - 1); over a permanent layer, an answer is kept that both keep."""
        return Fraction(self.kept_units, self.all_units) * (
            self._below.keep if self.permanent else 1
        )

    @property
    def _below(self) -> "DirectChannel":
        return DirectChannel(self.n_candidates, self.permanent or 0)

    def law(self) -> Law:
        p, q = Fraction(self.odds, self.all_units), Fraction(UNIT, self.all_units)
        if self.permanent:  # through every cell that may be kept
            below, others = self._below.law(), self.n_candidates - 1
            p, q = (
                below.p * p + others * below.q * q,
                below.p * q + below.q * p + (others - 1) * below.q * q,
            )
        loss = log_up(p / q)
        return identity_law(self.n_candidates, p, q, loss)

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        known = self.memorized(candidate, randomness) if self.permanent else self.output(candidate)
        return self.refreshed(known, randomness)

    def memorized(self, candidate: int, randomness: Randomness) -> int:
        return self._below.randomize(candidate, randomness)

    def refreshed(self, memorized: int, randomness: Randomness) -> int:
        drawn = randomness.below(self.all_units)
        uniform = (drawn - self.kept_units) // UNIT  # 0..K-1 where the answer is not kept
        return (self.output(max(uniform, 0)), memorized)[drawn < self.kept_units]

    def output(self, cell: int) -> int:
        """The cell as an output: its big-endian bytes, read little-endian."""
        return int.from_bytes(cell.to_bytes(self.n_bytes), "little")

    def cell(self, output: int) -> int:
        """The cell of an output."""
        return int.from_bytes(output.to_bytes(self.n_bytes, "little"))

    def check(self, output: int) -> None:
        if self.cell(output) >= self.n_candidates:
            raise ReportRejected(
                Reason.RANGE, f"a number is not below the {self.n_candidates} cells of its block"
            )


@dataclass(frozen=True)
class Direct(ByOdds):
    """k-ary randomized response with odds A / UNIT = e^eps."""

    name: ClassVar[str] = "direct"
    in_words: ClassVar[str] = (
        "the true value with a fixed probability, else one drawn uniformly (k-ary randomized response)"
    )
    keeps_answers: ClassVar[bool] = True
    largest_block: ClassVar[int] = 2**62
    noise: Mapping[int, int] = field(hash=False)
    permanent: Mapping[int, int] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for odds in (self.permanent or {}).values():
            check_odds(odds)

    def channel(self, block: Block, n_blocks: int) -> DirectChannel:
        return self.sized(n_cells(block), n_blocks)

    def sized(self, n_candidates: int, n_blocks: int) -> DirectChannel:
        """The channel of any block with this many candidates."""
        return DirectChannel(
            n_candidates,
            self._noise_for(n_blocks),
            self._permanent_for(n_blocks),
        )

    @property
    def codes_differ_by_block(self) -> bool:
        """Two layers hide more, the more candidates there are."""
        return self.permanent is not None

    def losses(self, n_blocks: int, block: Block, channels: Sequence[Channel]) -> list[Decimal]:
        if self.permanent is None:
            return super().losses(n_blocks, block, channels)
        sizes = [channel.n_candidates for channel in channels]
        loss_at = {size: self.sized(size, n_blocks).law().loss for size in set(sizes)}
        return [loss_at[size] for size in sizes]

    def check_codes(self, blocks: Sequence[Block]) -> None:
        """With two layers, each size of a block has its own epsilon for each number of blocks."""
        n_laws = len(self.noise) * len(set(map(n_cells, blocks)))
        if self.permanent is not None and n_laws > MOST_LAWS:
            raise CampaignError(
                f"a permanent answer over blocks of so many sizes has {n_laws:,} different epsilons, more than the {MOST_LAWS:,}"
                " that a client derives; list views of fewer sizes"
            )

    def width_of(self, n_candidates: int) -> int:
        return 8 * _n_bytes(n_candidates)

    @classmethod
    def from_json(cls, members: Members) -> Self:
        noise = noise_from_json(members, "odds", odds_at)
        return cls(noise, permanent_from_json(members, odds_at))
