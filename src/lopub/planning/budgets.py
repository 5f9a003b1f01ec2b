"""Budgets that are asked for, and the integers that keep them: what the maker of a campaign computes, in exact arithmetic.

A device computes the other way, from integers to an epsilon (`campaign.budget`).
"""

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from lopub.campaign.budget import (
    LARGEST_EPSILON,
    UNIT,
    UP,
    check_change_units,
    check_odds,
    flip_loss,
    log_up,
    times_up,
)
from lopub.errors import CampaignError

_DOWN = Context(prec=150, rounding=ROUND_FLOOR)  # e^200 * 2^32 has 97 digits


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


def share_decimal(share: str, name: str) -> Decimal:
    """A share of people as the very number that was written, however long or small; refuses what is none."""
    try:
        value = Decimal(share)
    except ArithmeticError:
        value = Decimal("nan")
    if not value.is_finite() or not 0 < value <= 1:
        raise CampaignError(f"{name} must lie above 0 and at most 1, got {share[:40]!r}")
    return value


def sampled_up(loss: Decimal, share: Decimal) -> Decimal:
    """ln(1 + share (e^loss - 1)), never below the true value: what is left of a loss where those who take part are this share of
    all people, drawn in secret, for somebody who cannot tell whom. The collector can, and so is held to the loss itself.

    >>> from lopub.campaign.budget import decimal_up
    >>> decimal_up(sampled_up(Decimal(4), Decimal("0.1")), 3)
    '1.850'
    """
    inverse = UP.next_plus(
        UP.exp(loss.copy_negate())
    )  # e^loss itself may be beyond all exponents; this is then a hair above 0
    kept = UP.add(share, UP.multiply(UP.subtract(Decimal(1), share), inverse))
    return min(loss, UP.add(loss, UP.next_plus(UP.ln(kept))))
