"""What rounds reveal together, enumerated exactly over all pairs of histories: never above what a campaign states.

The laws are derived here once more, from the integers of the campaign and in rationals, not from the program's channels.
"""

import math
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import combinations, product

import pytest

from every import every
from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Domain,
    Repeat,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.budget import UNIT, log_up, times_up

Outputs = tuple[int, ...]


def campaign_of(
    size: int, rounds: int, take_part: int, mode: str, mechanism: str = "direct"
) -> Campaign:
    repeat = Repeat(every_days=7, rounds=rounds, take_part=take_part, mode=mode)
    terms = Terms(
        name="rounds", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    domain = Domain((Categorical(name="answer", values=tuple("abcd"[:size])),))
    lifetime = {"lifetime_epsilon": "1.5"} if mode == "permanent" else {}
    filters = {"n_bits": 4, "n_hashes": 2} if mechanism == "bloom" else {}
    wish = CampaignRequest(
        epsilon="0.75",
        mechanism=mechanism,
        view=AllAttributes(),
        jointly=True,
        **lifetime,
        **filters,
    )
    return make_campaign(domain, terms, wish)


# ---- one layer, from its integer


def direct_law(size: int, odds: int) -> list[list[Fraction]]:
    """Row x: the chance of every output."""
    whole = odds + (size - 1) * UNIT
    return [[Fraction(odds if x == y else UNIT, whole) for y in range(size)] for x in range(size)]


def bits_law(codes: list[int], width: int, units: int) -> list[list[Fraction]]:
    change = Fraction(units, UNIT)
    return [
        [
            change ** (code ^ y).bit_count() * (1 - change) ** (width - (code ^ y).bit_count())
            for y in range(2**width)
        ]
        for code in codes
    ]


def layers(campaign: Campaign) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Answer -> permanent output; permanent output -> what a report says."""
    spelt, (size,) = campaign.mechanism.to_json(), campaign.domain.sizes
    if "odds" in spelt:
        return direct_law(size, int(spelt["permanent"]["1"])), direct_law(
            size, int(spelt["odds"]["1"])
        )
    (channel,) = campaign.channels((0,))
    width = channel.width
    codes = (
        [1 << x for x in range(size)]
        if spelt["name"] == "unary"
        else [sum(1 << i for i in row) for row in channel.rows]
    )
    return bits_law(codes, width, spelt["permanent"]["1"]), bits_law(
        list(range(2**width)), width, spelt["change_units"]["1"]
    )


# ---- sampled


def sampled_likelihoods(
    campaign: Campaign,
) -> dict[Outputs, dict[tuple[Outputs, Outputs], Fraction]]:
    """History -> chance of everything that is ever seen: the rounds, and what the report of each says."""
    repeat, (size,) = campaign.terms.repeat, campaign.domain.sizes
    law = direct_law(size, int(campaign.mechanism.to_json()["odds"]["1"]))
    choices = list(combinations(range(repeat.rounds), repeat.take_part))
    seen: dict[Outputs, dict[tuple[Outputs, Outputs], Fraction]] = {}
    for history in product(range(size), repeat=repeat.rounds):
        seen[history] = {}
        for chosen in choices:
            for outputs in product(range(size), repeat=repeat.take_part):
                chance = Fraction(1, len(choices))
                for number, y in zip(chosen, outputs, strict=True):
                    chance *= law[history[number]][y]
                seen[history][chosen, outputs] = chance
    return seen


def largest_ratio(seen: dict[Outputs, dict[tuple[Outputs, Outputs], Fraction]]) -> Fraction:
    """Over all pairs of histories and everything that can be seen."""
    worst = {
        outcome: (
            max(row[outcome] for row in seen.values()),
            min(row[outcome] for row in seen.values()),
        )
        for outcome in next(iter(seen.values()))
    }
    return max(most / least for most, least in worst.values())


@every(
    [
        (2, 2, 1),
        (2, 3, 2),
        (2, 4, 2),
        (2, 4, 4),
        (3, 3, 2),
        (3, 4, 2),
        (4, 2, 2),
        (4, 3, 2),
        (4, 4, 1),
        (4, 4, 2),
    ]
)
def test_sampled_rounds_reveal_exactly_so_many_reports_for_any_two_histories(
    size, rounds, take_part
):
    campaign = campaign_of(size, rounds, take_part, "sampled")
    seen = sampled_likelihoods(campaign)
    assert all(sum(row.values()) == 1 for row in seen.values())
    odds = Fraction(int(campaign.mechanism.to_json()["odds"]["1"]), UNIT)
    assert largest_ratio(seen) == odds**take_part
    assert campaign.lifetime_loss == times_up(campaign.loss, take_part)
    assert campaign.loss == log_up(odds)


# ---- permanent


def permanent_likelihoods(campaign: Campaign) -> Iterator[tuple[Outputs, list[Fraction]]]:
    """What the reports of a device's rounds say -> its chance for every first answer. The rounds are drawn blindly, and what is
    answered in later ones does not matter: any two histories are two first answers."""
    below, above = layers(campaign)
    for outputs in product(range(len(above[0])), repeat=campaign.terms.repeat.take_part):
        kept = [Fraction(1)] * len(above)
        for y in outputs:
            kept = [chance * above[z][y] for z, chance in enumerate(kept)]
        yield (
            outputs,
            [sum(p * chance for p, chance in zip(row, kept, strict=True)) for row in below],
        )


CASES = [("direct", size, m) for size in (2, 3, 4) for m in (1, 2, 3, 4)]
CASES += [
    ("unary", 2, 1),
    ("unary", 2, 3),
    ("unary", 3, 1),
    ("unary", 3, 2),
    ("bloom", 2, 2),
    ("bloom", 3, 1),
]


@every(CASES)
def test_permanent_rounds_never_reveal_more_than_the_answer_that_is_kept(
    mechanism, size, take_part
):
    campaign = campaign_of(size, 4, take_part, "permanent", mechanism)
    found = [chances for _, chances in permanent_likelihoods(campaign)]
    assert all(sum(column) == 1 for column in zip(*found, strict=True))
    worst = max(max(chances) / min(chances) for chances in found)
    below, _ = layers(campaign)
    permanent = max(max(column) / min(column) for column in zip(*below, strict=True))
    assert 1 < worst < permanent  # for ever: the more rounds, the nearer
    assert (
        log_up(permanent) <= campaign.lifetime_loss < log_up(permanent * Fraction(10**9 + 1, 10**9))
    )
    if take_part == 1:  # what one report reveals is stated exactly
        assert log_up(worst) <= campaign.loss < log_up(worst * Fraction(10**9 + 1, 10**9))
    else:
        assert campaign.loss < log_up(worst) < campaign.lifetime_loss


@every(product([2, 3, 4], [1, 2, 3, 4]))
def test_all_histories_of_a_permanent_device_are_told_apart_by_the_first_answer_alone(
    size, take_part
):
    """By brute force over histories, rounds and outputs, as an observer sees them; in integers over one denominator."""
    campaign = campaign_of(size, 4, take_part, "permanent")
    spelt, cells = campaign.mechanism.to_json(), range(size)
    below, above = (
        [[int(spelt[key]["1"]) if x == y else UNIT for y in cells] for x in cells]
        for key in ("permanent", "odds")
    )
    kept = {
        ys: [math.prod(above[z][y] for y in ys) for z in cells]
        for ys in product(cells, repeat=take_part)
    }
    choices = list(combinations(range(4), take_part))
    whole = len(choices) * sum(below[0]) * sum(above[0]) ** take_part
    most: dict[tuple[Outputs, Outputs], int] = {}
    least: dict[tuple[Outputs, Outputs], int] = {}
    for history in product(cells, repeat=4):
        total = 0
        for chosen, (outputs, row) in product(choices, kept.items()):
            chance = sum(p * q for p, q in zip(below[history[chosen[0]]], row, strict=True))
            total, seen = total + chance, (chosen, outputs)
            most[seen], least[seen] = (
                max(most.get(seen, chance), chance),
                min(least.get(seen, chance), chance),
            )
        assert total == whole
    worst = log_up(max(Fraction(most[seen], least[seen]) for seen in most))
    assert (
        worst <= campaign.loss if take_part == 1 else campaign.loss < worst < campaign.lifetime_loss
    )


def bit_ratios(campaign: Campaign) -> tuple[Fraction, Fraction]:
    """How much likelier a one of the code makes what the reports say of its bit than a zero does, at most; and the reverse."""
    spelt = campaign.mechanism.to_json()
    below, above = (Fraction(spelt[key]["1"], UNIT) for key in ("permanent", "change_units"))
    ratios = []
    for said in product((0, 1), repeat=campaign.terms.repeat.take_part):
        over = [math.prod(above if y != z else 1 - above for y in said) for z in (0, 1)]
        zero, one = ((1 - below) * over[bit] + below * over[1 - bit] for bit in (0, 1))
        ratios.append(one / zero)
    return max(ratios), 1 / min(ratios)


@every(product(["unary", "bloom"], [2, 3, 4], [1, 2, 3, 4]))
def test_permanent_bits_never_reveal_more_than_the_answer_that_is_kept(mechanism, size, take_part):
    """Bits are independent, so that the worst that can be said of all of them is the worst of each: exact, and quick for four
    rounds of any code. Where it can be enumerated whole, it is the same."""
    campaign = campaign_of(size, 4, take_part, "permanent", mechanism)
    (channel,) = campaign.channels((0,))
    codes = (
        [1 << x for x in range(size)]
        if mechanism == "unary"
        else [sum(1 << i for i in row) for row in channel.rows]
    )
    up, down = bit_ratios(campaign)
    worst = max(
        up ** (a & ~b).bit_count() * down ** (b & ~a).bit_count()
        for a, b in product(codes, repeat=2)
    )
    if (mechanism, size, take_part) in CASES:
        assert worst == max(
            max(chances) / min(chances) for _, chances in permanent_likelihoods(campaign)
        )
    assert (
        log_up(worst) <= campaign.loss if take_part == 1 else log_up(worst) < campaign.lifetime_loss
    )


def test_two_layers_compose_to_the_stated_odds_which_fall_with_the_number_of_candidates():
    ratios = []
    for size in (2, 3, 4):
        campaign = campaign_of(size, 4, 1, "permanent")
        spelt = campaign.mechanism.to_json()
        a, b = (Fraction(int(spelt[key]["1"]), UNIT) - 1 for key in ("odds", "permanent"))
        assert campaign.loss == log_up(1 + a * b / (a + b + size))
        ratios.append(1 + a * b / (a + b + size))
    fixed = [1 + a * b / (a + b + size) for size in (2, 3, 4)]
    assert fixed == sorted(fixed, reverse=True)


def test_noise_that_is_memorized_for_each_answer_would_not_be_bounded_by_the_number_of_changes():
    """Why a permanent answer does not follow its owner: six rounds, permanent 1, fresh 4, at most one change each."""

    def kept(epsilon: float) -> list[list[float]]:
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        return [[p, 1 - p], [1 - p, p]]

    below, above = kept(1.0), kept(4.0)

    def chance(history: tuple[int, ...], outputs: tuple[int, ...]) -> float:
        total = 0.0
        for memory in product(range(2), repeat=2):
            one = math.prod(below[x][memory[x]] for x in set(history))
            one *= math.prod(0.5 for x in range(2) if x not in history)
            total += one * math.prod(
                above[memory[x]][y] for x, y in zip(history, outputs, strict=True)
            )
        return total

    histories = [(x,) * t + (1 - x,) * (6 - t) for x in range(2) for t in range(1, 7)]
    losses = {
        (h, g): max(math.log(chance(h, y) / chance(g, y)) for y in product(range(2), repeat=6))
        for h in histories
        for g in histories
    }
    together = max(
        loss
        for (h, g), loss in losses.items()
        if [x != y for x, y in zip(h, g, strict=True)] in ([True] * 6, [False] * 6)
    )
    assert together == pytest.approx(2.0, abs=0.01)
    assert max(losses.values()) > 11
