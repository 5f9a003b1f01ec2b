"""`direct`: k-ary randomized response. Keep the answer, or draw a cell uniformly from all K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from lopub.campaign.budget import UNIT, check_odds, float_up, fresh_odds, log_up
from lopub.campaign.canonical import Json, Members
from lopub.campaign.mechanisms.base import (
    Block,
    ByOdds,
    Channel,
    Law,
    by_blocks,
    n_cells,
    odds_at,
    odds_to_json,
    permanent_from_json,
)
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError, Reason, ReportRejected

MOST_LAWS = 1024
"""Numbers of candidates times numbers of blocks, over which a permanent answer is looked at."""


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
    def width(self) -> int:  # type: ignore[override]
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
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_candidates,
            rows=None,
            p=p,
            q=q,
            slope=float_up(loss),
            loss=loss,
        )

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
        """The cell that an output stands for."""
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
    in_short: ClassVar[str] = "a report gives one answer, the true one or any other by chance"
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
        """The channel of any block of so many candidates."""
        return DirectChannel(
            n_candidates,
            self._noise_for(n_blocks),
            self.permanent[n_blocks] if self.permanent else None,
        )

    @property
    def codes_differ_by_block(self) -> bool:
        """Two layers hide more, the more candidates there are."""
        return self.permanent is not None

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        return fresh_odds(whole, below, smallest)

    def losses(self, n_blocks: int, block: Block, channels: Sequence[Channel]) -> list[Decimal]:
        if self.permanent is None:
            return super().losses(n_blocks, block, channels)
        sizes = [channel.n_candidates for channel in channels]
        loss_at = {size: self.sized(size, n_blocks).law().loss for size in set(sizes)}
        return [loss_at[size] for size in sizes]

    def check_codes(self, blocks: Sequence[Block]) -> None:
        """Of two layers, every size of a block has an epsilon of its own, under every number of blocks."""
        n_laws = len(self.noise) * len(set(map(n_cells, blocks)))
        if self.permanent is not None and n_laws > MOST_LAWS:
            raise CampaignError(
                f"a permanent answer over blocks of so many sizes has {n_laws:,} different epsilons, more than the {MOST_LAWS:,}"
                " that a client derives; list views of fewer sizes"
            )

    def width_of(self, n_candidates: int) -> int:
        return 8 * _n_bytes(n_candidates)

    def to_json(self) -> dict[str, Json]:
        below: dict[str, Json] = (
            {} if self.permanent is None else {"permanent": odds_to_json(self.permanent)}
        )
        return super().to_json() | below

    @classmethod
    def from_json(cls, members: Members) -> Self:
        noise = by_blocks(members.mapping("odds", odds_at), members.path("odds"))
        return cls(noise, permanent_from_json(members, odds_at))
