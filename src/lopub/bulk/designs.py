"""Designs: a mechanism, a view and how it is randomized, as a planner compares them."""

import math
from dataclasses import dataclass

from lopub.campaign.canonical import LARGEST_INTEGER
from lopub.campaign.views import Sizes, ViewRule

CELLS_PER_ODDS = 6
"""`fill` takes e^eps / 6 cells, which keeps about six of seven answers."""
FEWEST_CELLS = 4
LARGE = 64
"""Candidates from which a question is better asked alone, unless very many people answer."""
LARGEST_SPELT_OUT = 8192
"""Cells of a block up to which a bit for each of them is sent, unless more is asked for."""


@dataclass(frozen=True)
class Design:
    """A mechanism and a view, and how its attributes are randomized."""

    mechanism: str
    view: ViewRule
    jointly: bool

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.view}, {'jointly' if self.jointly else 'separately'}"


def fill_cells(epsilon: float, share: int = CELLS_PER_ODDS) -> int:
    """e^eps / share, kept within what a campaign file can say."""
    return int(min(math.exp(min(epsilon, 60.0)) / share, LARGEST_INTEGER))


def largest_pair(sizes: Sizes) -> int:
    """Cells of the two largest attributes together, or of the only one."""
    return math.prod(sorted(sizes)[-2:])
