"""`direct`: k-ary randomized response. Keep the answer, or draw a cell uniformly from all K."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from lopub.contract.budget import UNIT, float_up, log_up
from lopub.contract.mechanism.base import Block, ByOdds, Channel, Law, n_cells
from lopub.contract.randomness import Randomness
from lopub.errors import Reason, ReportRejected


def _n_bytes(n_candidates: int) -> int:
    """Whole bytes that hold every number below n_candidates."""
    return ((n_candidates - 1).bit_length() + 7) // 8


@dataclass(frozen=True)
class DirectChannel(Channel):
    """One number below K, sent in as many whole bytes as K - 1 needs."""

    n_candidates: int
    odds: int

    @property
    def n_bytes(self) -> int:
        """Whole bytes of an output."""
        return _n_bytes(self.n_candidates)

    @property
    def width(self) -> int:  # type: ignore[override]
        """Bits of an output."""
        return 8 * self.n_bytes

    @property
    def n_ones(self) -> int:
        """As bits, one per candidate: the cell that is sent."""
        return 1

    @property
    def kept_units(self) -> int:
        """Of `all_units` equally likely draws, how many keep the answer."""
        return self.odds - UNIT

    @property
    def all_units(self) -> int:
        """Equally likely draws."""
        return self.odds + (self.n_candidates - 1) * UNIT

    @property
    def keep(self) -> Fraction:
        """(e^eps - 1) / (e^eps + K - 1)."""
        return Fraction(self.kept_units, self.all_units)

    def law(self) -> Law:
        q = Fraction(UNIT, self.all_units)
        loss = log_up(Fraction(self.odds, UNIT))
        p = Fraction(self.odds, self.all_units)
        return Law(n_candidates=self.n_candidates, n_bits=self.n_candidates, rows=None, p=p, q=q, slope=float_up(loss), loss=loss)

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        drawn = randomness.below(self.all_units)
        uniform = (drawn - self.kept_units) // UNIT  # 0..K-1 where the answer is not kept
        return self.output((uniform, candidate)[drawn < self.kept_units])

    def output(self, cell: int) -> int:
        """The cell as an output: its big-endian bytes, read little-endian."""
        return int.from_bytes(cell.to_bytes(self.n_bytes), "little")

    def cell(self, output: int) -> int:
        """The cell that an output stands for."""
        return int.from_bytes(output.to_bytes(self.n_bytes, "little"))

    def check(self, output: int) -> None:
        if self.cell(output) >= self.n_candidates:
            raise ReportRejected(Reason.RANGE, f"a number is not below the {self.n_candidates} cells of its block")


@dataclass(frozen=True)
class Direct(ByOdds):
    """k-ary randomized response with odds A / UNIT = e^eps."""

    name: ClassVar[str] = "direct"
    in_words: ClassVar[str] = "the true value with a fixed probability, else one drawn uniformly (k-ary randomized response)"
    largest_block: ClassVar[int] = 2**62
    noise: Mapping[int, int] = field(hash=False)

    def channel(self, block: Block, n_blocks: int) -> DirectChannel:
        return DirectChannel(n_cells(block), self._noise_for(n_blocks))

    def width_of(self, n_candidates: int) -> int:
        return 8 * _n_bytes(n_candidates)
