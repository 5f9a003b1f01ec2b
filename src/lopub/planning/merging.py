"""Questions with many answers: into how many bins to take them together, and what is won by it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lopub.campaign.views import Sizes

MOST_LARGE = 3
"""Questions that are looked at, the largest first."""
LARGE = 10
"""Answers from which a question may be worth binning."""
BINS = (24, 12, 8)
"""Fewer would merge answers that hardly anybody would merge."""
ENOUGH = 0.95
"""A merge is advised where the error falls below this share of what it is."""
MOST_OF_IT = 0.8
"""The most bins are advised that still have this share of what the fewest would gain."""


@dataclass(frozen=True)
class Merge:
    """The answers of one attribute in so many bins; error: what is expected then."""

    position: int
    n_candidates: int
    error: float


def merges(sizes: Sizes, error: float, error_with: Callable[[int, int], float]) -> Iterator[Merge]:
    """What is worth merging. error: as it is; error_with: of an attribute in so many bins."""
    largest = sorted(
        (p for p in range(len(sizes)) if sizes[p] >= LARGE), key=lambda p: (-sizes[p], p)
    )[:MOST_LARGE]
    for position in largest:
        errors = {n: error_with(position, n) for n in BINS if n <= sizes[position] * 2 / 3}
        if not errors or min(errors.values()) > ENOUGH * error:
            continue
        least = min(errors.values())
        n = next(n for n in errors if error - errors[n] >= MOST_OF_IT * (error - least))
        yield Merge(position, n, errors[n])
