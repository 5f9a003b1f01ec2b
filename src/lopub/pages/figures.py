"""Epsilons, and how often a campaign asks, in words for people."""

from decimal import Decimal

from lopub.campaign.budget import BEYOND, UP, WEAK_EPSILON, decimal_up, short_up
from lopub.campaign.campaign import Campaign

LARGEST_SHOWN = 14
"""Above this epsilon a factor e^epsilon is shown as a power of ten."""


def factor_up(loss: Decimal, places: int = 1) -> str:
    """e^loss, the factor by which a report shifts odds at most, for people to read: rounded up, never below the true value.

    >>> factor_up(Decimal(1)), factor_up(Decimal("0.04")), factor_up(Decimal(8)), factor_up(Decimal(20))
    ('2.8', '1.1', '2,981.0', '10^9')
    """
    factor = UP.multiply(UP.exp(loss), BEYOND)
    return (
        f"{Decimal(decimal_up(factor, places)):,}"
        if loss <= LARGEST_SHOWN
        else f"10^{factor.adjusted() + 1}"
    )


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


def lifetime_in_words(campaign: Campaign) -> str:
    """What everything that a device ever sends reveals at most; empty where that is one report."""
    repeat = campaign.terms.repeat
    if repeat is None:
        return ""
    total = f"have epsilon {decimal_up(campaign.lifetime_loss, 3)}"
    if repeat.is_permanent:
        return (
            f"All reports of one device together, in however many rounds, {total}: each adds fresh noise over the same noisy"
            " answer, which is drawn once, from the first answers, and kept."
        )
    return (
        f"All reports of one device together, at most {repeat.take_part} in {repeat.rounds} rounds, {total}, whatever was"
        " answered in each of them."
    )


def rounds_in_words(campaign: Campaign) -> str:
    """In which rounds a campaign repeats, and how often a device takes part, behind its days; empty where it does not repeat."""
    repeat = campaign.terms.repeat
    if repeat is None:
        return ""
    days = "every day" if repeat.every_days == 1 else f"every {repeat.every_days} days"
    return f", {days} in {repeat.rounds} rounds; a device takes part in {repeat.take_part} ({repeat.mode})"


def weakness(campaign: Campaign) -> str:
    """One plain sentence about an epsilon that protects on paper only, of everything that a device ever sends; empty where none
    is due."""
    return epsilon_warning(
        campaign.lifetime_loss,
        "all reports of one device" if campaign.terms.repeat else "one report",
    )
