"""Privacy arithmetic: integers over UNIT, and logarithms that are never rounded down.

A probability is decided in integers, never in floats. An epsilon is a Decimal that is never below the
true value; it becomes a float only for display, rounded up once more.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from lopub.errors import CampaignError

UNIT = 2**32
"""Probabilities and odds are integers over this."""
LARGEST_EPSILON = 200
"""Nothing is hidden long before this; above it a request is a slip of the keyboard."""
SUGGESTED_EPSILON = 4
"""What a new draft is planned with, and examples take, until somebody decides: within the 1.7 to 12 that deployments state."""
WEAK_EPSILON = 8
"""Above this, one report alone can make an observer nearly certain: the guarantee is a bound on paper (PRIVACY.md)."""

UP = Context(prec=120, rounding=ROUND_CEILING)
"""Tells e^200 * 2^32, of 97 digits, from its neighbours."""
BEYOND = Decimal("1." + 117 * "0" + "1")  # covers the half-even rounding of Decimal.ln


@lru_cache(maxsize=1024)
def log_up(ratio: Fraction) -> Decimal:
    """ln(ratio) for a ratio of at least 1, never below the true value, within 1e-115 of it.

    >>> log_up(Fraction(1)) >= 0
    True
    """
    quotient = UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return UP.multiply(UP.ln(quotient), BEYOND)


def total_up(losses: list[Decimal]) -> Decimal:
    """The sum, never below the true value."""
    total = Decimal(0)
    for loss in losses:
        total = UP.add(total, loss)
    return total


def times_up(loss: Decimal, times: int) -> Decimal:
    """loss * times, never below the true value."""
    return UP.multiply(loss, Decimal(times))


def float_up(value: Decimal) -> float:
    """The smallest double that is not below the value."""
    near = float(value)
    return near if Decimal(near) >= value else math.nextafter(near, math.inf)


def decimal_up(value: Decimal, places: int = 6) -> str:
    """The value with so many decimals, rounded up: what people are shown.

    >>> decimal_up(Decimal("8.7888984001"))
    '8.788899'
    """
    return str(UP.quantize(value, Decimal((0, (1,), -places))))


def short_up(value: Decimal, places: int = 3) -> str:
    """The value rounded up to so many decimals, without the zeros at its end.

    >>> short_up(Decimal(20)), short_up(Decimal("2.0001"))
    ('20', '2.001')
    """
    whole, _, decimals = decimal_up(value, places).partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def exact_decimal(budget: float | int | str | Decimal, name: str) -> Decimal:
    """A budget as exactly the number that was given, with all digits of a double; refuses anything but a number above 0."""
    try:
        if isinstance(budget, bool):
            raise TypeError
        value = Decimal(budget)
    except (ArithmeticError, ValueError, TypeError):
        raise CampaignError(f"{name} must be a number above 0") from None
    if not value.is_finite() or value <= 0:
        raise CampaignError(f"{name} must be above 0, got {budget}")
    return value


def flip_loss(change_units: int) -> Decimal:
    """What one differing bit reveals at most: ln((1 - c) / c), the paper's ln((2 - f) / f)."""
    return bit_loss(Fraction(change_units, UNIT))


def bit_loss(change: Fraction) -> Decimal:
    """The loss ln((1 - c) / c) of a bit that is changed with the probability c."""
    return log_up((1 - change) / change)


def composed_change(change_units: int, permanent_units: int | None) -> Fraction:
    """How often a bit differs from the true one that is changed twice, by a permanent layer of noise and by a fresh one over it:
    by one of the two, and not by both. Without a permanent layer, by the fresh one.

    >>> composed_change(UNIT // 4, UNIT // 8), composed_change(UNIT // 4, None)
    (Fraction(5, 16), Fraction(1, 4))
    """
    fresh, permanent = Fraction(change_units, UNIT), Fraction(permanent_units or 0, UNIT)
    return fresh * (1 - permanent) + permanent * (1 - fresh)


def check_change_units(change_units: int) -> int:
    """At 0 nothing would be hidden; at UNIT / 2 nothing would be kept."""
    if not 0 < change_units < UNIT // 2:
        raise CampaignError(f"change_units must lie in 1..{UNIT // 2 - 1}, got {change_units}")
    return change_units


def check_odds(odds: int) -> int:
    """Odds of 1 (A = UNIT) would keep nothing of the answer."""
    if odds <= UNIT:
        raise CampaignError(f"odds must be above {UNIT}, got {odds}")
    if odds.bit_length() > 330:  # e^200 * 2^32 has 321 bits
        raise CampaignError(f"odds must stay below e^{LARGEST_EPSILON} * 2^32")
    return odds
