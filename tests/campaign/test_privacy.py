"""Privacy, exactly: every draw of the real client is tried, and no report reveals more than the campaign states.

Mechanisms with odds draw below numbers as large as UNIT; here UNIT is 2, so that all draws can be tried. Bits that
change are tried as they are, all masks with their exact probabilities. Nothing is estimated in this file.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from operator import eq

import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from every import every
from lopub.campaign import budget as exact
from lopub.campaign.budget import UNIT, decimal_up, float_up, log_up, times_up, total_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.mechanisms import (
    Bloom,
    Channel,
    Direct,
    Hashed,
    Mechanism,
    Subset,
    Unary,
    direct,
    hashed,
    subset,
    unary,
)
from lopub.campaign.mechanisms.bloom import BloomChannel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.mechanisms.hashed import MOST_VALUES, HashedChannel, n_digits_for, n_values_for
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.campaign.mechanisms.unary import OptimizedChannel, SymmetricChannel
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, ViewRule
from lopub.client.noise import randomized
from lopub.errors import CampaignError
from lopub.planning.budgets import (
    change_units_for,
    change_units_of,
    odds_for,
    sampled_up,
    share_decimal,
)
from tiers import FULL

SETTLED = settings(derandomize=True, deadline=None)
PRECISE = Context(prec=220)


def ln(ratio: Fraction, times: int = 1) -> Decimal:
    """So many times the logarithm, to 220 digits: an oracle for logarithms of 50."""
    return PRECISE.multiply(
        PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))), times
    )


@pytest.fixture
def small_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_unit(monkeypatch, 2)


def shrink_unit(monkeypatch: pytest.MonkeyPatch, unit: int) -> None:
    """Odds over this unit. Not in `bloom`: it has no odds, and derives codes with the real one."""
    for home in (exact, direct, hashed, subset, unary):
        monkeypatch.setattr(home, "UNIT", unit)
    monkeypatch.setattr(
        hashed, "n_values_for", n_values_for.__wrapped__
    )  # remembers nothing of another unit


# ---- whole reports

MIDDLE_SALT = "1226"
MECHANISMS = ("bloom", "unary symmetric", "unary optimized", "subset", "direct", "hashed")
VIEWS = ("all", "sample", "fill", "listed")
CASES = [
    (mechanism, view, jointly)
    for mechanism in MECHANISMS
    for view in VIEWS
    for jointly in (True, False)
    if jointly or view != "fill"
]


def each_case(check: Callable[[str, str, bool], None]) -> Callable[[], None]:
    """A check of every case; they run in one process, so that every case is enumerated once."""
    return pytest.mark.slow(pytest.mark.xdist_group("enumerated reports")(every(CASES)(check)))


def sizes_of(mechanism: str, view: str) -> tuple[int, ...]:
    """As large as trying every draw allows: optimized `unary` draws once for every cell."""
    if mechanism == "unary optimized":
        return (2, 2) if view == "all" else (2, 2, 2)
    if view == "all" and mechanism != "bloom" and not FULL:
        return (2, 3)
    return (2, 3, 2)


def rule_of(view: str, sizes: tuple[int, ...]) -> ViewRule:
    """`fill` takes pairs, some of them larger than its 4 cells; `listed` never asks for the last attribute."""
    listed = Listed.of(laws.small_domain(*sizes), [(("a", "b"), 2), (("b",), 1)])
    return {"all": AllAttributes(), "sample": Sample(2), "fill": Fill(4), "listed": listed}[view]


SEPARATE_FILTERS = Bloom(
    {1: UNIT // 4, 2: UNIT // 3, 3: 1_234_567_890}, {"a": 3, "b": 4, "c": 3}, 2, "3"
)
JOINT_FILTERS = Bloom({1: UNIT // 4}, 7, 2, "864")
"""With these salts b differs in more bits than a and c; and b alone, as `listed` has it, in fewer than a with b."""


def mechanism_of(mechanism: str, jointly: bool) -> Mechanism:
    """More blocks, more noise; but optimized `unary` must keep its denominators small."""
    if mechanism == "bloom":
        return JOINT_FILTERS if jointly else SEPARATE_FILTERS
    if mechanism == "unary symmetric":
        return Unary({1: UNIT // 7, 2: UNIT // 5, 3: UNIT // 3}, symmetric=True)
    if mechanism == "unary optimized":
        return Unary({1: 3, 2: 3})
    return {"subset": Subset, "direct": Direct, "hashed": Hashed}[mechanism]({1: 5, 2: 4, 3: 3})


def enumerable(mechanism: str, view: str, jointly: bool) -> Campaign:
    sizes = sizes_of(mechanism, view)
    domain, rule = laws.small_domain(*sizes), rule_of(view, sizes)
    counts = (1,) if jointly else rule.view_sizes(len(sizes))
    every = mechanism_of(mechanism, jointly)
    noise = replace(every, noise={n: every.noise[n] for n in counts})
    return Campaign(
        domain=domain, mechanism=noise, view=rule, jointly=jointly, terms=Terms(name="small")
    )


Law = dict[tuple[bytes, bytes], Fraction]


@dataclass(frozen=True)
class Enumerated:
    """A campaign's stated losses, and the law of the reports of every record."""

    names: tuple[str, ...]
    loss: Decimal
    loss_of: dict[str, Decimal]
    law_of: dict[laws.Record, Law]

    def differing_in(self, name: str) -> Iterator[list[Law]]:
        """The laws of records that differ in this attribute alone."""
        position = self.names.index(name)
        for rest in {record[:position] + record[position + 1 :] for record in self.law_of}:
            yield [
                law
                for record, law in self.law_of.items()
                if record[:position] + record[position + 1 :] == rest
            ]


@cache
def enumerated(mechanism: str, view: str, jointly: bool) -> Enumerated:
    with pytest.MonkeyPatch.context() as patch:
        if mechanism in ("unary optimized", "subset", "direct", "hashed"):
            shrink_unit(patch, 2)
        campaign = enumerable(mechanism, view, jointly)
        loss_of = {name: Decimal(campaign.epsilon_of(name)) for name in campaign.domain.names}
        law_of = {record: report_law(campaign, record) for record in laws.records_of(campaign)}
    return Enumerated(campaign.domain.names, campaign.loss, loss_of, law_of)


def report_law(campaign: Campaign, record: laws.Record) -> Law:
    """The exact law of (mask, payload) on the client's path."""

    def drawn(randomness: laws.Randomness) -> tuple[bytes, bytes]:
        report = randomized(campaign, record, report_id=bytes(16), slot=0, randomness=randomness)
        return report.mask, report.payload

    return laws.distribution(drawn)


def largest_ratio(law_of_each: Iterable[Law]) -> Fraction:
    """The largest likelihood ratio of any report between any two of these laws."""
    each = list(law_of_each)
    likelihoods = [[law.get(report, Fraction(0)) for law in each] for report in set().union(*each)]
    assert all(min(likelihood) > 0 for likelihood in likelihoods), (
        "a report that gives some records away for certain"
    )
    return max(max(likelihood) / min(likelihood) for likelihood in likelihoods)


@each_case
def test_the_probabilities_of_all_reports_add_up_to_one(
    mechanism: str, view: str, jointly: bool
) -> None:
    assert {sum(law.values()) for law in enumerated(mechanism, view, jointly).law_of.values()} == {
        1
    }


@each_case
def test_no_report_tells_two_records_apart_better_than_epsilon(
    mechanism: str, view: str, jointly: bool
) -> None:
    case = enumerated(mechanism, view, jointly)
    assert ln(largest_ratio(case.law_of.values())) <= case.loss


@each_case
def test_epsilon_is_no_larger_than_some_report_makes_it(
    mechanism: str, view: str, jointly: bool
) -> None:
    case = enumerated(mechanism, view, jointly)
    assert case.loss - ln(largest_ratio(case.law_of.values())) < Decimal("1e-12")


@each_case
def test_an_attributes_epsilon_is_what_the_whole_report_reveals_of_it(
    mechanism: str, view: str, jointly: bool
) -> None:
    case = enumerated(mechanism, view, jointly)
    for name in case.names:
        revealed = ln(max(map(largest_ratio, case.differing_in(name))))
        assert 0 <= case.loss_of[name] - revealed < Decimal("1e-12"), name


@pytest.mark.usefixtures("small_unit")
def test_an_attribute_that_no_view_asks_for_reveals_nothing() -> None:
    case = enumerated("direct", "listed", True)
    assert (case.loss_of["c"], max(map(largest_ratio, case.differing_in("c")))) == (0, 1)


# ---- the costliest view is neither the first nor among the last


SETS = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
WHICH: dict[str, slice] = {
    "the first": slice(1),
    "the last three": slice(-3, None),
    "all but the fourth": slice(4, None),
}


def costly_in_the_middle() -> Campaign:
    """Filters of seven views; with this salt two cells of the fourth, and of no other, differ in 8 bits."""
    domain = laws.small_domain(2, 3, 2)
    rule = Listed.of(domain, [(names, 1) for names in SETS])
    return Campaign(
        domain=domain,
        mechanism=Bloom({1: UNIT // 4}, 9, 4, MIDDLE_SALT),
        view=rule,
        jointly=True,
        terms=Terms(name="m"),
    )


@cache
def ratio_of_the_middle() -> Fraction:
    """Found by trying every draw of records that differ in the two attributes of the fourth view."""
    campaign = costly_in_the_middle()
    return largest_ratio(
        [report_law(campaign, record) for record in product(range(2), range(3), (0,))]
    )


def test_epsilon_is_that_of_the_costliest_view_wherever_it_stands() -> None:
    campaign = costly_in_the_middle()
    costs = [channel.law().loss for channel in campaign.coded_channels]
    assert costs.index(max(costs)) == 3 and costs.count(max(costs)) == 1
    assert 0 <= campaign.loss - ln(ratio_of_the_middle()) < Decimal("1e-12")


@pytest.mark.parametrize("which", WHICH)
def test_epsilon_of_some_views_only_is_told_from_what_the_reports_reveal(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything, revealed = costly_in_the_middle().coded_channels, ln(ratio_of_the_middle())
    monkeypatch.setattr(Campaign, "coded_channels", everything[WHICH[which]])
    assert revealed > costly_in_the_middle().loss


# ---- one block: the stated law is the enumerated one


def block_of(*sizes: int) -> tuple[laws.Categorical, ...]:
    return laws.small_domain(*sizes).attributes  # type: ignore[return-value]


FLIPPED: list[Channel] = [
    *(SymmetricChannel(k, units) for k in (2, 3, 5) for units in (1, UNIT // 4, UNIT // 2 - 1)),
    BloomChannel(block_of(3), 6, 2, UNIT // 4, "0"),
    BloomChannel(block_of(2, 2), 7, 3, 987_654_321, "1"),
    BloomChannel(block_of(3), 4, 3, UNIT // 5, "0"),
]
WITH_ODDS: list[tuple[int, Channel]] = [
    *(
        (unit, OptimizedChannel(k, odds))
        for k in (2, 3, 4)
        for unit, odds in ((2, 3), (2, 5), (4, 5))
    ),
    *(
        (unit, SubsetChannel(k, odds))
        for k in (2, 3, 4, 5, 6)
        for unit, odds in ((2, 3), (2, 9), (8, 11))
    ),
    *(
        (unit, DirectChannel(k, odds))
        for k in (2, 3, 7)
        for unit, odds in ((2, 3), (4, 29), (8, 9), (1, 1000))
    ),
    *([(2, DirectChannel(257, 7))] if FULL else []),
    *(
        (unit, HashedChannel(k, odds))
        for k in (2, 3, 4, 5, 9, 10)
        for unit, odds in ((2, 3), (2, 9), (8, 11))
    ),
]


def id_of(part: object) -> str:
    """A short name in the list of tests; a Bloom channel's block would fill the line."""
    return (
        f"over {part}"
        if isinstance(part, int)
        else repr(part).replace(repr(getattr(part, "block", "")), "…")
    )


def shown(case: tuple[int, Channel]) -> str:
    return " ".join(map(id_of, case))


@contextmanager
def over(unit: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        shrink_unit(patch, unit)
        yield


def output_laws(channel: Channel) -> list[dict[int, Fraction]]:
    """For every candidate, the exact law of the output's positions."""
    return [
        laws.distribution(
            lambda randomness, a=a: laws.positions_of(channel, channel.randomize(a, randomness))
        )
        for a in range(channel.n_candidates)
    ]


def rows_of(channel: Channel) -> list[int]:
    """The code matrix as bit strings."""
    law = channel.law()
    rows = law.rows or [(a,) for a in range(law.n_candidates)]
    return [sum(1 << i for i in row) for row in rows]


@every([*((UNIT, channel) for channel in FLIPPED), *WITH_ODDS], shown)
def test_a_block_has_exactly_the_law_that_it_states(unit: int, channel: Channel) -> None:
    check_block(unit, channel)


def check_block(unit: int, channel: Channel) -> None:
    with over(unit):
        each = output_laws(channel)
        check_that_each_bit_is_one_with_exactly_p_or_q(channel, each)
        check_that_log_likelihoods_differ_by_the_slope_times_the_ones_in_common(channel, each)
        check_that_the_loss_is_what_the_outputs_reveal_rounded_up(channel, each)


def check_that_each_bit_is_one_with_exactly_p_or_q(
    channel: Channel, each: list[dict[int, Fraction]]
) -> None:
    law = channel.law()
    for row, outputs in zip(rows_of(channel), each, strict=True):
        rates = [
            sum(p for output, p in outputs.items() if output >> i & 1) for i in range(law.n_bits)
        ]
        assert rates == [law.p if row >> i & 1 else law.q for i in range(law.n_bits)]


def check_that_log_likelihoods_differ_by_the_slope_times_the_ones_in_common(
    channel: Channel, each: list[dict[int, Fraction]]
) -> None:
    """Not by the log-odds of one bit: the slope of `subset` is epsilon."""
    slope, rows = channel.law().slope, rows_of(channel)
    for output, likelihood in each[0].items():
        for row, other in zip(rows, each, strict=True):
            in_common = (output & rows[0]).bit_count() - (output & row).bit_count()
            assert math.isclose(
                math.log(likelihood / other[output]), slope * in_common, rel_tol=0, abs_tol=1e-9
            )


def check_that_the_loss_is_what_the_outputs_reveal_rounded_up(
    channel: Channel, each: list[dict[int, Fraction]]
) -> None:
    assert 0 <= channel.law().loss - ln(largest_ratio(each)) < Decimal("1e-12")


@every("0123456")
def test_an_attribute_of_a_joint_filter_reveals_what_cells_that_differ_in_it_alone_do(
    salt: str,
) -> None:
    """Filters of 2 in 5 bits are crowded: some attribute's cells differ in 2 bits where others differ in 4."""
    channel, sizes = BloomChannel(block_of(2, 3, 2), 5, 2, UNIT // 4, salt), (2, 3, 2)
    law_of = dict(zip(product(*map(range, sizes)), output_laws(channel), strict=True))
    for position, name in enumerate("abc"):
        groups = Enumerated(("a", "b", "c"), channel.law().loss, {}, law_of).differing_in(name)
        assert (
            0 <= channel.loss_of(position) - ln(max(map(largest_ratio, groups))) < Decimal("1e-12")
        )


@SETTLED
@given(k=st.integers(2, 500), odds=st.integers(UNIT + 1, UNIT * 10**9))
def test_odds_fix_the_rates_as_designed(k: int, odds: int) -> None:
    """DESIGN, section 2, with the real unit."""
    a, u = Fraction(odds), Fraction(UNIT)
    w = max(1, (2 * k * UNIT + odds + UNIT) // (2 * (odds + UNIT)))
    p = w * a / (w * a + (k - w) * u)
    expected = {
        DirectChannel: (a / (a + (k - 1) * u), u / (a + (k - 1) * u)),
        OptimizedChannel: (Fraction(1, 2), u / (a + u)),
        SubsetChannel: (p, (p * (w - 1) + (1 - p) * w) / (k - 1)),
    }
    assert {kind: (kind(k, odds).law().p, kind(k, odds).law().q) for kind in expected} == expected
    assert DirectChannel(k, odds).keep == (a - u) / (a + (k - 1) * u)


# ---- local hashing, exactly

SMALL_HASHED = [
    (unit, channel) for unit, channel in WITH_ODDS if isinstance(channel, HashedChannel)
]


@every(SMALL_HASHED, shown)
def test_a_hashed_output_has_exactly_one_of_two_probabilities(
    unit: int, channel: HashedChannel
) -> None:
    check_hashed_outputs(unit, channel)


def check_hashed_outputs(unit: int, channel: HashedChannel) -> None:
    """Every function alike, whoever answers; the cell's own value with A, each other with the unit. So epsilon is ln(A / U)."""
    with over(unit):
        g, t = channel.n_values, channel.n_digits
        ways = g**t * (channel.odds + (g - 1) * unit)
        for x in range(channel.n_candidates):
            law = laws.distribution(
                lambda randomness, x=x: channel.number(channel.randomize(x, randomness))
            )
            functions = product(range(g), repeat=t)  # the highest digit first
            values = [laws.fallen(each[::-1], laws.digits_of(x, g, t), g) for each in functions]
            kept = dict.fromkeys(enumerate(values), channel.odds)
            assert law == {
                f * g + v: Fraction(kept.get((f, v), unit), ways)
                for f in range(g**t)
                for v in range(g)
            }


@every(SMALL_HASHED, shown)
def test_any_two_cells_fall_together_under_exactly_one_function_in_g(
    unit: int, channel: HashedChannel
) -> None:
    check_functions(unit, channel)


def check_functions(unit: int, channel: HashedChannel) -> None:
    with over(unit):
        g, cells = channel.n_values, range(channel.n_candidates)
        images = [
            [channel.value(function, x) for function in range(channel.n_functions)] for x in cells
        ]
    for one, other in product(cells, cells):
        together = sum(a == b for a, b in zip(images[one], images[other], strict=True))
        assert Fraction(together, channel.n_functions) == (1 if one == other else Fraction(1, g))


HASHED_MUTANTS: dict[str, tuple[str, object]] = {
    "another slope": (
        "law",
        lambda channel: replace(LAW_OF(channel), slope=LAW_OF(channel).slope * 1.01),
    ),
    "a loss of what is sent without its function": (
        "law",
        lambda channel: replace(LAW_OF(channel), loss=Decimal("0.1")),
    ),
    "a digit too few": (
        "n_digits",
        property(lambda channel: max(1, n_digits_for(channel.n_candidates, channel.n_values) - 1)),
    ),
    "a composite number of values": ("n_values", property(lambda channel: 4)),
    "one unit of all too many": (
        "all_units",
        property(lambda channel: channel.odds + channel.n_values * exact.UNIT),
    ),
    "a function that depends on the cell": (
        "value",
        lambda channel, function, x: (function + x) % channel.n_values,
    ),
}
LAW_OF = HashedChannel.law


@pytest.mark.usefixtures("small_unit")
@pytest.mark.parametrize("which", HASHED_MUTANTS)
def test_a_hashed_channel_that_is_a_little_wrong_is_told(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashedChannel, *HASHED_MUTANTS[which])
    failed = 0
    for oracle in (check_hashed_outputs, check_functions, check_block):
        try:
            oracle(2, HashedChannel(10, 5))
        except (AssertionError, KeyError):
            failed += 1
    assert failed


@SETTLED
@given(
    k=st.integers(2, 2**20),
    odds=st.integers(UNIT + 1, UNIT * 10**6) | st.integers(UNIT + 1, 2**330 - 1),
)
def test_a_hashed_block_of_any_size_has_a_prime_number_of_values_and_just_enough_digits(
    k: int, odds: int
) -> None:
    channel = HashedChannel(k, odds)
    g, t = channel.n_values, channel.n_digits
    assert all(g % n for n in range(2, g)) and g <= MOST_VALUES
    assert g**t >= k and (t == 1 or g ** (t - 1) < k)
    assert channel.n_numbers == g ** (t + 1) < 2**52  # exact in 64 bits, and in a double
    law = channel.law()
    assert (law.p, law.q) == (Fraction(odds, odds + (g - 1) * UNIT), Fraction(1, g))


PRIMES = [n for n in range(2, 400) if all(n % divisor for divisor in range(2, n))]


@SETTLED
@given(odds=st.integers(UNIT + 1, 300 * UNIT))
def test_no_other_prime_number_of_values_has_a_smaller_variance(odds: int) -> None:
    def variance(g: int) -> Fraction:
        p, q = Fraction(odds, odds + (g - 1) * UNIT), Fraction(1, g)
        return q * (1 - q) / (p - q) ** 2

    assert n_values_for(odds) == min(PRIMES, key=lambda g: (variance(g), g))


@every(
    [
        (UNIT + 1, 2),
        (UNIT + UNIT // 10, 2),
        (2 * UNIT, 3),
        (3 * UNIT, 5),
        (65_518 * UNIT, 65_519),
        (65_520 * UNIT - 1, 65_521),
        (65_520 * UNIT, 65_521),
        (2**330 - 1, 65_521),
    ]
)
def test_the_number_of_values_at_its_ends(odds: int, n_values: int) -> None:
    assert n_values_for(odds) == n_values


@every(
    [
        (2, 2, 1),
        (3, 2, 2),
        (4, 2, 2),
        (5, 2, 3),
        (2, 7, 1),
        (7, 7, 1),
        (8, 7, 2),
        (49, 7, 2),
        (50, 7, 3),
    ]
)
def test_cells_have_as_many_digits_as_the_last_one_needs(k: int, g: int, t: int) -> None:
    assert n_digits_for(k, g) == t


# ---- a wished epsilon

WISHES: list[dict[str, object]] = [
    {"mechanism": mechanism, "view": view, "jointly": jointly}
    for mechanism in ("unary", "subset", "direct", "hashed")
    for view, jointly in (
        (AllAttributes(), False),
        (Sample(2), False),
        (Sample(2), True),
        (Fill(9), True),
    )
] + [
    {"mechanism": "bloom", "view": view, "jointly": jointly, "n_bits": 32, "n_hashes": 4}
    for view, jointly in ((AllAttributes(), False), (Sample(2), False), (Sample(2), True))
]
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8", "16", "24")


def name_of(wish: dict[str, object]) -> str:
    return f"{wish['mechanism']} {wish['view']} {'jointly' if wish['jointly'] else 'separately'}"


@every(product(EPSILONS, WISHES))
def test_a_campaign_reveals_at_most_the_wished_epsilon_but_hardly_less(
    epsilon: str, wish: dict[str, object]
) -> None:
    campaign = laws.small_campaign(3, 4, 2, epsilon=epsilon, **wish)
    assert 0 <= Decimal(epsilon) - campaign.loss < Decimal("1e-6")


@settings(SETTLED, max_examples=40)
@given(epsilon=st.decimals("0.01", "30", places=6), wish=st.sampled_from(WISHES))
def test_no_wish_is_exceeded_by_its_campaign(epsilon: Decimal, wish: dict[str, object]) -> None:
    campaign = laws.small_campaign(3, 4, 2, epsilon=epsilon, **wish)
    assert 0 <= epsilon - campaign.loss < Decimal("1e-6")


@SETTLED
@given(epsilon=st.floats(0.01, 30), mechanism=st.sampled_from(["direct", "subset", "unary"]))
def test_a_wish_given_as_a_float_is_the_decimal_that_was_written(
    epsilon: float, mechanism: str
) -> None:
    campaign = laws.small_campaign(
        3, 4, epsilon=epsilon, mechanism=mechanism, view=AllAttributes(), jointly=True
    )
    assert 0 <= Decimal(str(epsilon)) - campaign.loss < Decimal("1e-6")


# ---- the arithmetic never rounds to the unsafe side

wishes = st.decimals("0.001", "200", places=12)
ratios = st.one_of(
    st.builds(Fraction, st.integers(UNIT, UNIT * 10**12), st.just(UNIT)),
    st.builds(lambda units: Fraction(UNIT - units, units), st.integers(1, UNIT // 2)),
    st.builds(
        lambda n, more: Fraction(n + more, n), st.integers(1, 10**60), st.integers(0, 10**60)
    ),
)


@settings(SETTLED, max_examples=500)
@given(ratio=ratios)
def test_log_up_is_never_below_the_logarithm(ratio: Fraction) -> None:
    """Tempting: a margin added in the thread's own context, whose 28 digits round it away."""
    assert 0 <= log_up(ratio) - ln(ratio) < Decimal("1e-115")


@SETTLED
@given(losses=st.lists(st.decimals(0, 300, places=60), max_size=20), times=st.integers(1, 4096))
def test_sums_are_never_below_the_sum_of_their_parts(losses: list[Decimal], times: int) -> None:
    true = sum(map(Fraction, losses), Fraction(0))
    assert 0 <= Fraction(total_up(losses)) - true < Fraction(1, 10**44)
    assert all(
        0 <= Fraction(times_up(loss, times)) - Fraction(loss) * times < Fraction(1, 10**43)
        for loss in losses
    )


@SETTLED
@given(value=st.decimals("1e-9", "1e6", places=40))
def test_float_up_is_the_smallest_double_that_is_not_below(value: Decimal) -> None:
    near = float_up(value)
    assert Decimal(math.nextafter(near, 0)) < value <= Decimal(near)


@SETTLED
@given(value=st.decimals(0, 1000, places=30))
def test_a_shown_epsilon_is_rounded_up(value: Decimal) -> None:
    assert 0 <= Fraction(decimal_up(value)) - Fraction(value) < Fraction(1, 10**6)


@settings(SETTLED, max_examples=300)
@given(epsilon=wishes, n_blocks=st.integers(1, 50))
def test_odds_for_are_the_largest_that_keep_the_wish(epsilon: Decimal, n_blocks: int) -> None:
    odds = odds_for(epsilon, n_blocks)
    assert ln(Fraction(odds, UNIT), n_blocks) <= epsilon < ln(Fraction(odds + 1, UNIT), n_blocks)


@settings(SETTLED, max_examples=300)
@given(epsilon=wishes, distance=st.integers(1, 200))
def test_change_units_for_are_the_smallest_that_keep_the_wish(
    epsilon: Decimal, distance: int
) -> None:
    units = change_units_for(epsilon, distance)
    assert ln(Fraction(UNIT - units, units), distance) <= epsilon
    assert units == 1 or ln(Fraction(UNIT - units + 1, units - 1), distance) > epsilon


@every([6, 9, 28])
def test_the_decimal_context_of_an_app_changes_nothing(precision: int) -> None:
    """The client runs inside other programs, which set the precision and rounding of their own thread."""

    def figures() -> tuple[object, ...]:
        epsilon = Decimal("2.5")
        losses = [log_up(Fraction(UNIT + 12_345, UNIT)), log_up(Fraction(7, 3))]
        shown = decimal_up(Decimal("131.833474512345"))
        return (
            total_up(losses),
            times_up(losses[0], 3),
            odds_for(epsilon, 3),
            change_units_for(epsilon, 200),
            shown,
        )

    expected = figures()
    with localcontext(Context(prec=precision, rounding=ROUND_FLOOR)):
        assert figures() == expected


@SETTLED
@given(f=st.decimals("0.000001", "0.999999", places=12))
def test_a_flip_probability_is_halved_towards_more_noise(f: Decimal) -> None:
    assert 0 <= Fraction(change_units_of(f), UNIT) - Fraction(f) / 2 < Fraction(1, UNIT)


# ---- somebody else's arithmetic


@every(product(["0.05", "0.25", "0.5", "0.9"], [1, 2, 4, 8]))
def test_opendp_finds_the_same_epsilon_for_the_papers_filters(
    flip_probability: str, n_hashes: int
) -> None:
    """Its randomized response on bit vectors of h ones; it takes the f that our integers stand for."""
    dp.enable_features("contrib")
    campaign = laws.small_campaign(
        9, flip_probability=flip_probability, n_bits=128, n_hashes=n_hashes
    )
    (channel,) = campaign.coded_channels
    assert isinstance(channel, BloomChannel) and channel.distance == 2 * n_hashes
    f = 2 * channel.change_units / UNIT
    vectors = dp.bitvector_domain(max_weight=n_hashes)
    theirs = dp.m.make_randomized_response_bitvec(vectors, dp.discrete_distance(), f=f).map(1)
    assert campaign.epsilon == pytest.approx(theirs, abs=1e-9)


# ---- samples of people


def test_the_loss_of_a_sample_is_never_rounded_down():
    with localcontext(prec=1200):
        for loss, share in product(
            map(Decimal, ("0.001", "4", "131.9", "900")),
            map(Decimal, ("0.001", "0." + 150 * "6", "1")),
        ):
            true = loss if share == 1 else (1 + share * (loss.exp() - 1)).ln()
            assert true <= sampled_up(loss, share) <= true * (1 + Decimal("1e-100"))


def test_the_loss_of_a_sample_is_told_beyond_all_exponents():
    huge, tiny = Decimal(10**8), Decimal("1e-999999999")
    assert huge - 1 < sampled_up(huge, Decimal("0.5")) < huge == sampled_up(huge, Decimal(1))
    assert 0 < sampled_up(Decimal(4), tiny) < Decimal("1e-100")


Outcomes = dict[tuple[int, ...], Fraction]


def reports_of(answers: tuple[int, ...], odds: Fraction, n_candidates: int) -> Outcomes:
    """The chance of every multiset of reports of these people, by randomized response."""
    chances: Outcomes = {}
    for reports in product(range(n_candidates), repeat=len(answers)):
        kept = sum(map(eq, reports, answers))
        outcome = tuple(sorted(reports))
        chances[outcome] = chances.get(outcome, Fraction(0)) + odds**kept / (
            odds + n_candidates - 1
        ) ** len(answers)
    return chances


def mixed(parts: list[tuple[Fraction, Outcomes]]) -> Outcomes:
    """The chances where each of these happens as often as said."""
    total: Outcomes = {}
    for weight, chances in parts:
        for outcome, chance in chances.items():
            total[outcome] = total.get(outcome, Fraction(0)) + weight * chance
    return total


def worst_ratio(
    published: Callable[[tuple[int, ...]], Outcomes], n_people: int, n_candidates: int
) -> Fraction:
    """The largest ratio of an outcome's chances between two tables that differ in the first person's record."""
    worst = Fraction(0)
    for others in product(range(n_candidates), repeat=n_people - 1):
        tables = [published((answer, *others)) for answer in range(n_candidates)]
        worst = max(
            worst,
            *(one[outcome] / two[outcome] for one in tables for two in tables for outcome in one),
        )
    return worst


@pytest.mark.parametrize(
    ("n_people", "n_sampled", "n_candidates"),
    [(2, 1, 2), (4, 1, 3), (4, 2, 2), (4, 3, 2), (5, 2, 2), (3, 3, 2)],
)
@pytest.mark.parametrize("odds", [Fraction(3, 2), Fraction(55)])
def test_a_secret_sample_of_known_size_leaves_what_is_proven(
    n_people: int, n_sampled: int, n_candidates: int, odds: Fraction
):
    """Exactly, and no less: every table, every sample, every outcome of a sample of n of N people."""

    def published(table: tuple[int, ...]) -> Outcomes:
        samples = list(combinations(table, n_sampled))
        return mixed(
            [
                (Fraction(1, len(samples)), reports_of(sample, odds, n_candidates))
                for sample in samples
            ]
        )

    assert worst_ratio(published, n_people, n_candidates) == 1 + Fraction(n_sampled, n_people) * (
        odds - 1
    )


def test_coins_leave_the_whole_loss_where_the_number_of_reports_is_told():
    """Everybody may happen to take part, and then nobody is hidden; given the number, it is a sample of that size."""
    odds, rate, n_people = Fraction(55), Fraction(1, 10), 3

    def published(table: tuple[int, ...]) -> Outcomes:
        samples = [sample for n in range(n_people + 1) for sample in combinations(table, n)]
        chance = [
            rate ** len(sample) * (1 - rate) ** (n_people - len(sample)) for sample in samples
        ]
        return mixed(
            [
                (weight, reports_of(sample, odds, 2))
                for weight, sample in zip(chance, samples, strict=True)
            ]
        )

    assert worst_ratio(published, n_people, 2) == odds > 1 + rate * (odds - 1)
    for n in range(n_people + 1):

        def given(table: tuple[int, ...], n: int = n) -> Outcomes:
            return {
                outcome: chance for outcome, chance in published(table).items() if len(outcome) == n
            }

        assert worst_ratio(given, n_people, 2) == 1 + Fraction(n, n_people) * (odds - 1)


@every(
    [
        "0",
        "-0.1",
        "1.5",
        "1e999999",
        "1e99999999999999999999",
        "nan",
        "snan",
        "inf",
        "-inf",
        "some",
        "",
    ]
)
def test_a_share_of_people_that_cannot_be_is_refused(share: str):
    with pytest.raises(
        CampaignError, match=f"^--sample-rate must lie above 0 and at most 1, got '{share}'$"
    ):
        share_decimal(share, "--sample-rate")
