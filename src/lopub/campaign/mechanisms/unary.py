"""`unary`: one bit per candidate. Symmetric (every bit redrawn alike) or optimized (ones kept with 1/2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from lopub.campaign.budget import (
    UNIT,
    bit_loss,
    check_change_units,
    check_odds,
    composed_change,
    log_up,
    times_up,
)
from lopub.campaign.canonical import Json, Members, integer_at
from lopub.campaign.mechanisms.base import (
    Block,
    Channel,
    Law,
    Mechanism,
    identity_law,
    n_cells,
    noise_from_json,
    odds_at,
    permanent_from_json,
)
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError


@dataclass(frozen=True)
class SymmetricChannel(Channel):
    """K bits, each changed with the same probability, whatever it is."""

    n_candidates: int
    change_units: int
    permanent: int | None = None
    """Change units of the permanent layer below, where there is one."""

    @property
    def change(self) -> Fraction:
        """How often a bit is changed, by one layer and not by both."""
        return composed_change(self.change_units, self.permanent)

    def law(self) -> Law:
        change = self.change
        loss = times_up(bit_loss(change), 2)
        return identity_law(self.n_candidates, 1 - change, change, loss)

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        known = self.memorized(candidate, randomness) if self.permanent else 1 << candidate
        return self.refreshed(known, randomness)

    def memorized(self, candidate: int, randomness: Randomness) -> int:
        return 1 << candidate ^ randomness.changes(self.n_candidates, self.permanent or 0, UNIT)

    def refreshed(self, memorized: int, randomness: Randomness) -> int:
        return memorized ^ randomness.changes(self.n_candidates, self.change_units, UNIT)


@dataclass(frozen=True)
class OptimizedChannel(Channel):
    """K bits: the true one is a fair coin, the others are ones with probability q = 1 / (e^eps + 1)."""

    n_candidates: int
    odds: int

    def law(self) -> Law:
        loss = log_up(Fraction(self.odds, UNIT))
        return identity_law(
            self.n_candidates, Fraction(1, 2), Fraction(UNIT, self.odds + UNIT), loss
        )

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        """One coin, then a draw for every position; the true position's draw gives way to the coin."""
        coin = randomness.below(2)
        total = self.odds + UNIT
        noise = sum((randomness.below(total) < UNIT) << i for i in range(self.n_candidates))
        return noise & ~(1 << candidate) | coin << candidate


@dataclass(frozen=True)
class Unary(Mechanism):
    """Unary encoding. noise: odds A (optimized), or change_units c (symmetric)."""

    name: ClassVar[str] = "unary"
    in_words: ClassVar[str] = (
        "one bit for every candidate value, each flipped with a fixed probability (unary encoding)"
    )
    keeps_answers: ClassVar[bool] = True
    noise: Mapping[int, int] = field(hash=False)
    symmetric: bool = False
    permanent: Mapping[int, int] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        for value in self.noise.values():
            check_change_units(value) if self.symmetric else check_odds(value)
        for units in (self.permanent or {}).values():
            check_change_units(units)

    def channel(self, block: Block, n_blocks: int) -> Channel:
        noise = self._noise_for(n_blocks)
        if not self.symmetric:
            return OptimizedChannel(n_cells(block), noise)
        return SymmetricChannel(n_cells(block), noise, self._permanent_for(n_blocks))

    @property
    def takes_permanent(self) -> bool:
        return self.symmetric

    def to_json(self) -> dict[str, Json]:
        variant = "symmetric" if self.symmetric else "optimized"
        noise = (
            self._noise_to_json("change_units", int)
            if self.symmetric
            else self._noise_to_json("odds", str)
        )
        return {"name": self.name, "variant": variant, **noise}

    @classmethod
    def from_json(cls, members: Members) -> Self:
        variant = members.text("variant")
        if variant == "symmetric":
            noise = noise_from_json(members, "change_units", integer_at)
            return cls(noise, True, permanent_from_json(members, integer_at))
        if variant == "optimized":
            return cls(noise_from_json(members, "odds", odds_at))
        raise CampaignError(f"{members.path('variant')} must be symmetric or optimized")
