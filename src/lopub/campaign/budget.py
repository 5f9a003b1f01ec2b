"""Privacy arithmetic: integers over UNIT, and logarithms that are rounded to the safe side.

A probability is decided in integers, never in floats. An epsilon is a Decimal that is never below the
true value; it becomes a float only for display, rounded up once more.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from lopub.errors import CampaignError

UNIT = 2**32
"""Probabilities and odds are integers over this."""

LARGEST_EPSILON = 200
"""Nothing is hidden long before this; above it a request is a slip of the keyboard."""

LARGEST_SHOWN = 14
"""Above this epsilon a factor e^epsilon is told as a power of ten."""
SUGGESTED_EPSILON = 4
"""What a new draft is planned with, and examples take, until somebody decides: within the 1.7 to 12 that deployments state."""
WEAK_EPSILON = 8
"""Above this, one report alone can make an observer nearly certain: the guarantee is a bound on paper (PRIVACY.md)."""

_UP = Context(
    prec=120, rounding=ROUND_CEILING
)  # tells e^200 * 2^32, of 97 digits, from its neighbours
_DOWN = Context(prec=150, rounding=ROUND_FLOOR)  # e^200 * 2^32 has 97 digits
_BEYOND = Decimal("1." + 117 * "0" + "1")  # covers the half-even rounding of Decimal.ln


@lru_cache(maxsize=1024)
def log_up(ratio: Fraction) -> Decimal:
    """ln(ratio) for a ratio of at least 1, never below the true value, within 1e-115 of it.

    >>> log_up(Fraction(1)) >= 0
    True
    """
    quotient = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return _UP.multiply(_UP.ln(quotient), _BEYOND)


def total_up(losses: list[Decimal]) -> Decimal:
    """The sum, never below the true value."""
    total = Decimal(0)
    for loss in losses:
        total = _UP.add(total, loss)
    return total


def times_up(loss: Decimal, times: int) -> Decimal:
    """loss * times, never below the true value."""
    return _UP.multiply(loss, Decimal(times))


def sampled_up(loss: Decimal, share: Decimal) -> Decimal:
    """ln(1 + share (e^loss - 1)), never below the true value: what is left of a loss where those who take part are this share of
    all people, drawn in secret, for somebody who cannot tell whom. The collector can, and so is held to the loss itself.

    >>> decimal_up(sampled_up(Decimal(4), Decimal("0.1")), 3)
    '1.850'
    """
    inverse = _UP.next_plus(
        _UP.exp(loss.copy_negate())
    )  # e^loss itself may be beyond all exponents; this is then a hair above 0
    kept = _UP.add(share, _UP.multiply(_UP.subtract(Decimal(1), share), inverse))
    return min(loss, _UP.add(loss, _UP.next_plus(_UP.ln(kept))))


def factor_up(loss: Decimal, places: int = 1) -> str:
    """e^loss, the factor by which a report shifts odds at most, for people to read: rounded up, never below the true value.

    >>> factor_up(Decimal(1)), factor_up(Decimal("0.04")), factor_up(Decimal(8)), factor_up(Decimal(20))
    ('2.8', '1.1', '2,981.0', '10^9')
    """
    factor = _UP.multiply(_UP.exp(loss), _BEYOND)
    return (
        f"{Decimal(decimal_up(factor, places)):,}"
        if loss <= LARGEST_SHOWN
        else f"10^{factor.adjusted() + 1}"
    )


def float_up(value: Decimal) -> float:
    """The smallest double that is not below the value."""
    near = float(value)
    return near if Decimal(near) >= value else math.nextafter(near, math.inf)


def decimal_up(value: Decimal, places: int = 6) -> str:
    """The value with so many decimals, rounded up: what people are shown.

    >>> decimal_up(Decimal("8.7888984001"))
    '8.788899'
    """
    return str(_UP.quantize(value, Decimal((0, (1,), -places))))


def thousandths_up(value: Decimal) -> str:
    """The value with three decimals, rounded up; below a thousandth with three digits, or it would look like another.

    >>> thousandths_up(Decimal("8.7888984001")), thousandths_up(Decimal("0.00039999"))
    ('8.789', '0.000400')
    """
    return (
        f"{Decimal(decimal_up(value, 3 if value >= Decimal('0.001') else 2 - value.adjusted())):f}"
    )


def epsilon_warning(epsilon: Decimal | float, of: str = "one report") -> str:
    """One plain sentence about an epsilon that protects on paper only; empty where none is due.

    >>> epsilon_warning(8)
    ''
    >>> epsilon_warning(Decimal("8.0001"))
    'epsilon 8.001 is above 8: one report can make an observer nearly certain of the answers behind it'
    """
    value = Decimal(epsilon)
    if value <= WEAK_EPSILON:
        return ""
    loss = f"epsilon {short_up(value)} is above {WEAK_EPSILON}"
    return f"{loss}: {of} can make an observer nearly certain of the answers behind it"


def short_up(value: Decimal, places: int = 3) -> str:
    """The value rounded up to so many decimals, without the zeros at its end.

    >>> short_up(Decimal(20)), short_up(Decimal("2.0001"))
    ('20', '2.001')
    """
    whole, _, decimals = decimal_up(value, places).partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def exact_decimal(budget: float | int | str | Decimal, name: str) -> Decimal:
    """A budget as the very number that was given: of a double, all its digits; refuses what is no budget."""
    try:
        if isinstance(budget, bool):
            raise TypeError
        value = Decimal(budget)
    except (ArithmeticError, ValueError, TypeError):
        raise CampaignError(f"{name} must be a number above 0") from None
    if not value.is_finite() or value <= 0:
        raise CampaignError(f"{name} must be above 0, got {budget}")
    return value


def share_decimal(share: str, name: str) -> Decimal:
    """A share of people as the very number that was written, however long or small; refuses what is none."""
    try:
        value = Decimal(share)
    except ArithmeticError:
        value = Decimal("nan")
    if not value.is_finite() or not 0 < value <= 1:
        raise CampaignError(f"{name} must lie above 0 and at most 1, got {share[:40]!r}")
    return value


def epsilon_decimal(epsilon: float | int | str | Decimal) -> Decimal:
    """A requested epsilon as the exact decimal that was written; refuses what is no budget."""
    try:
        value = epsilon if isinstance(epsilon, Decimal) else Decimal(str(epsilon))
    except ArithmeticError:
        raise CampaignError("epsilon must be a number above 0") from None
    if not value.is_finite() or not 0 < value <= LARGEST_EPSILON:
        raise CampaignError(f"epsilon must be above 0 and at most {LARGEST_EPSILON}, got {epsilon}")
    return value


def odds_for(epsilon: Decimal, n_blocks: int) -> int:
    """The largest odds A with ln(A / UNIT) <= epsilon / n_blocks: floor(e^(epsilon / n_blocks) * UNIT)."""
    share = _DOWN.divide(epsilon, Decimal(n_blocks))
    odds = int(_DOWN.multiply(_DOWN.exp(share), Decimal(UNIT)))
    # exp() rounds half to even: at 150 digits it can only be a hair above; step back if it is.
    while times_up(log_up(Fraction(odds, UNIT)), n_blocks) > epsilon and odds > UNIT:
        odds -= 1
    if odds <= UNIT:
        raise CampaignError(
            f"epsilon {epsilon} over {n_blocks} blocks leaves nothing of the answers; raise epsilon or ask less in a report"
        )
    return odds


def change_units_for(epsilon: Decimal, distance: int) -> int:
    """The smallest change probability, in units of 1 / UNIT, with distance * ln((1 - c) / c) <= epsilon.

    distance: how many bits two reports' codes differ in at most, over the whole report.
    """
    share = _DOWN.divide(epsilon, Decimal(distance))
    odds = _DOWN.exp(share)
    units = int(_DOWN.divide(Decimal(UNIT), _DOWN.add(odds, Decimal(1)))) + 1
    while units > 1 and times_up(flip_loss(units - 1), distance) <= epsilon:
        units -= 1
    while units < UNIT // 2 and times_up(flip_loss(units), distance) > epsilon:
        units += 1
    if units >= UNIT // 2:
        raise CampaignError(
            f"epsilon {epsilon} over {distance} bits leaves nothing of the answers; raise epsilon or ask less"
        )
    return units


def flip_loss(change_units: int) -> Decimal:
    """What one differing bit reveals at most: ln((1 - c) / c), the paper's ln((2 - f) / f)."""
    return bit_loss(Fraction(change_units, UNIT))


def bit_loss(change: Fraction) -> Decimal:
    """The same of a bit that is changed with this probability."""
    return log_up((1 - change) / change)


def composed_change(change_units: int, permanent_units: int | None) -> Fraction:
    """How often a bit differs from the true one that is changed twice, by a permanent layer of noise and by a fresh one over it:
    by one of the two, and not by both. Without a permanent layer, by the fresh one.

    >>> composed_change(UNIT // 4, UNIT // 8), composed_change(UNIT // 4, None)
    (Fraction(5, 16), Fraction(1, 4))
    """
    fresh, permanent = Fraction(change_units, UNIT), Fraction(permanent_units or 0, UNIT)
    return fresh * (1 - permanent) + permanent * (1 - fresh)


def fresh_change_units(change_units: int, permanent_units: int) -> int:
    """The smallest fresh noise that, over the permanent one, changes a bit at least so often as change_units say."""
    if change_units <= permanent_units:
        raise CampaignError(
            "a report must reveal less than the permanent answer: give an epsilon below lifetime_epsilon"
        )
    return check_change_units(
        -(-(change_units - permanent_units) * UNIT // (UNIT - 2 * permanent_units))
    )


def fresh_odds(odds: int, permanent_odds: int, n_candidates: int) -> int:
    """The largest odds of fresh k-ary randomized response that, over the permanent one, give reports at most these odds.

    Over permanent odds of 1 + a, fresh odds of 1 + b compose to 1 + a b / (a + b + K).
    """
    if odds >= permanent_odds:
        raise CampaignError(
            "a report must reveal less than the permanent answer: give an epsilon below lifetime_epsilon"
        )
    kept = (odds - UNIT) * (permanent_odds - UNIT + n_candidates * UNIT) // (permanent_odds - odds)
    return check_odds(UNIT + kept)


def change_units_of(flip_probability: float | str | Decimal) -> int:
    """The paper's f, halved into units of 1 / UNIT and rounded up: towards more noise."""
    try:
        f = Fraction(str(flip_probability))
    except (ValueError, ArithmeticError):
        raise CampaignError(
            "flip_probability must be a number between 0 and 1, both excluded"
        ) from None
    if not 0 < f < 1:
        raise CampaignError(
            f"flip_probability must lie between 0 and 1, both excluded, got {flip_probability}"
        )
    return check_change_units(math.ceil(f * UNIT / 2))


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
