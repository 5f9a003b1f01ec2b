"""What the reports of a store reveal together: every draw of noise is written down before it is made, and counts for good.

Standard library only; read it before you trust it.
"""

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

from lopub.campaign.budget import short_up
from lopub.errors import EpsilonTooHigh, StoreError

MOST_EPSILON, LONGEST_EPSILON = 10**10, 200
"""Of a kept draw: far above what any campaign reveals, and longer than it is ever written."""

_EXACT = Context(prec=500, rounding=ROUND_CEILING)
"""An epsilon has some 120 digits; sums of them are exact, so that neither their number nor their order matters."""
_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Spent:
    """What one respondent's reports in one store reveal at most, together."""

    epsilon: Decimal
    n_unknown: int = 0
    """Reports that are not in it: they were made before stores kept totals, and do not say their epsilon themselves."""


class Draw(NamedTuple):
    """One draw of noise, of which a store knows only hashes."""

    report: str
    person: str
    loss: Decimal
    finished: bool = False
    """Whether a report was kept for it. One that was not is still to be made, or was lost in a crash before anybody saw it."""


def total_of(draws: tuple[Draw, ...], person: str) -> Decimal:
    """What one person's draws reveal at most, together."""
    total = Decimal(0)
    for draw in draws:
        total = _EXACT.add(total, draw.loss if draw.person == person else Decimal(0))
    return total


def charged(
    draws: tuple[Draw, ...], new: Draw, *, cap: Decimal | None, kept: bool, n_unknown: int
) -> tuple[Draw, ...]:
    """The draws with one more, unless that one is there already."""
    mine = [draw for draw in draws if draw.report == new.report]
    if kept:
        return finished(draws if mine else (*draws, new), new.report)
    after = draws if mine and not all(draw.finished for draw in mine) else (*draws, new)
    if cap is not None:
        hold_to(cap, Spent(total_of(after, new.person), n_unknown))
    return after


def hold_to(cap: Decimal | None, spent: Spent) -> None:
    """Refuse to draw where what is spent then, with the draw itself, passes the cap or cannot be compared with it."""
    if cap is not None and spent.n_unknown:
        raise StoreError(
            f"the store keeps {spent.n_unknown} report{'s' if spent.n_unknown > 1 else ''} from before totals were kept, so a"
            " lifetime_cap cannot be held to; send them once more, which counts them, or move them elsewhere"
        )
    if cap is not None and spent.epsilon > cap:
        raise EpsilonTooHigh(
            f"this report would bring the epsilon of everything sent from this store to {short_up(spent.epsilon, 6)};"
            f" the lifetime_cap is {cap}"
        )


def finished(draws: tuple[Draw, ...], report: str) -> tuple[Draw, ...]:
    """The draws, with that a report was kept for these."""
    return tuple([Draw(*draw[:3], True) if draw.report == report else draw for draw in draws])


def is_finished(draws: tuple[Draw, ...], report: str) -> bool:
    """Whether a report was ever kept under this name."""
    return any(draw.report == report and draw.finished for draw in draws)


def draw_of(members: dict[str, object]) -> Draw:
    """As it was written; whatever else stands in its place is damage."""
    report, person, epsilon, finished = (
        members[key] for key in ("report", "person", "epsilon", "finished")
    )
    if not (
        isinstance(report, str)
        and isinstance(person, str)
        and isinstance(epsilon, str)
        and isinstance(finished, bool)
    ):
        raise TypeError
    loss = Decimal(epsilon)
    if (
        not all(map(_NAME.fullmatch, (report, person)))
        or not 0 < loss <= MOST_EPSILON
        or len(epsilon) > LONGEST_EPSILON
    ):
        raise ValueError
    return Draw(report, person, loss, finished)
