"""`subset`: report a random w-subset of the K cells that favours the true one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from lopub.campaign.budget import UNIT, log_up
from lopub.campaign.mechanisms.base import Block, ByOdds, Channel, Law, identity_law, n_cells
from lopub.campaign.randomness import Randomness
from lopub.errors import Reason, ReportRejected


@dataclass(frozen=True)
class SubsetChannel(Channel):
    """K bits of which exactly `subset_size` are ones."""

    n_candidates: int
    odds: int

    @property
    def subset_size(self) -> int:
        """w, the integer nearest to K / (e^eps + 1), at least 1."""
        total = self.odds + UNIT
        return max(1, (2 * self.n_candidates * UNIT + total) // (2 * total))

    @property
    def n_ones(self) -> int:
        return self.subset_size

    @property
    def holding_units(self) -> int:
        """Of `all_units` equally likely draws, how many give a subset that holds the true cell."""
        return self.subset_size * self.odds

    @property
    def all_units(self) -> int:
        """Equally likely draws."""
        return self.holding_units + (self.n_candidates - self.subset_size) * UNIT

    def law(self) -> Law:
        return self._law

    @cached_property
    def _law(self) -> Law:
        w, others = self.subset_size, self.n_candidates - 1
        p = Fraction(self.holding_units, self.all_units)
        q = (p * (w - 1) + (1 - p) * w) / others
        loss = log_up(Fraction(self.odds, UNIT))
        return identity_law(self.n_candidates, p, q, loss)

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        """w other cells are always drawn; the last of them gives way where the true one is held."""
        held = randomness.below(self.all_units) < self.holding_units
        drawn = randomness.prefix(self.n_candidates - 1, self.subset_size)
        cells = [cell + (cell >= candidate) for cell in drawn]
        cells[-1] = (cells[-1], candidate)[held]
        return sum(1 << cell for cell in cells)

    def check(self, output: int) -> None:
        if output.bit_count() != self.subset_size:
            raise ReportRejected(
                Reason.WEIGHT,
                f"a block has {output.bit_count()} ones, this campaign's blocks have {self.subset_size}",
            )


@dataclass(frozen=True)
class Subset(ByOdds):
    """Subset selection with odds A / UNIT = e^eps."""

    name: ClassVar[str] = "subset"
    in_words: ClassVar[str] = (
        "a random set of candidate values, of fixed size, more likely to hold the true one (subset selection)"
    )
    noise: Mapping[int, int] = field(hash=False)

    def channel(self, block: Block, n_blocks: int) -> SubsetChannel:
        return SubsetChannel(n_cells(block), self._noise_for(n_blocks))
