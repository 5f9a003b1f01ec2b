"""`unary`: one bit a candidate. Symmetric (every bit redrawn alike) or optimized (ones kept with 1/2)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self

from lopub.campaign.budget import (
    UNIT,
    bit_loss,
    change_units_for,
    change_units_of,
    check_change_units,
    check_odds,
    composed_change,
    float_up,
    fresh_change_units,
    log_up,
    odds_for,
    times_up,
)
from lopub.campaign.canonical import Json, Members, integer_at
from lopub.campaign.mechanisms.base import (
    Asked,
    Block,
    Channel,
    Law,
    MadeCampaign,
    Mechanism,
    by_blocks,
    n_cells,
    odds_at,
    odds_to_json,
    permanent_from_json,
    units_to_json,
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
    def width(self) -> int:  # type: ignore[override]
        """Bits of an output."""
        return self.n_candidates

    @property
    def change(self) -> Fraction:
        """How often a bit is changed, by one layer and not by both."""
        return composed_change(self.change_units, self.permanent)

    def law(self) -> Law:
        change = self.change
        loss = times_up(bit_loss(change), 2)
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_candidates,
            rows=None,
            p=1 - change,
            q=change,
            slope=float_up(loss),
            loss=loss,
        )

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

    @property
    def width(self) -> int:  # type: ignore[override]
        """Bits of an output."""
        return self.n_candidates

    def law(self) -> Law:
        loss = log_up(Fraction(self.odds, UNIT))
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_candidates,
            rows=None,
            p=Fraction(1, 2),
            q=Fraction(UNIT, self.odds + UNIT),
            slope=float_up(loss),
            loss=loss,
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
    in_short: ClassVar[str] = "a report says yes or no to every answer, often wrongly"
    keeps_answers: ClassVar[bool] = True
    takes_flips: ClassVar[bool] = True
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
        return SymmetricChannel(
            n_cells(block), noise, self.permanent[n_blocks] if self.permanent else None
        )

    @property
    def takes_permanent(self) -> bool:
        return self.symmetric

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        return fresh_change_units(whole, below)

    @classmethod
    def made(
        cls,
        asked: Asked,
        n_blocks: tuple[int, ...],
        sizes: Mapping[str, int],
        build: Callable[[Self], MadeCampaign],
    ) -> MadeCampaign:
        """Symmetric from the paper's f, and below a permanent layer; else optimized, from an epsilon."""
        if asked.keeps_an_answer:
            return build(
                cls({n: change_units_for(asked.budget, 2 * n) for n in n_blocks}, symmetric=True)
            )
        if asked.flip_probability is not None:
            return build(
                cls(
                    dict.fromkeys(n_blocks, change_units_of(asked.flip_probability)), symmetric=True
                )
            )
        return build(cls.for_epsilon(asked.budget, n_blocks))

    @classmethod
    def for_epsilon(cls, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Self:
        return cls({n: odds_for(epsilon, n) for n in n_blocks})

    def to_json(self) -> dict[str, Json]:
        if self.symmetric:
            told: dict[str, Json] = {
                "name": self.name,
                "variant": "symmetric",
                "change_units": units_to_json(self.noise),
            }
            return (
                told
                if self.permanent is None
                else told | {"permanent": units_to_json(self.permanent)}
            )
        return {"name": self.name, "variant": "optimized", "odds": odds_to_json(self.noise)}

    @classmethod
    def from_json(cls, members: Members) -> Self:
        variant = members.text("variant")
        if variant == "symmetric":
            noise = by_blocks(
                members.mapping("change_units", integer_at), members.path("change_units")
            )
            return cls(noise, True, permanent_from_json(members, integer_at))
        if variant == "optimized":
            return cls(by_blocks(members.mapping("odds", odds_at), members.path("odds")))
        raise CampaignError(f"{members.path('variant')} must be symmetric or optimized")
