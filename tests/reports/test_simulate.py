"""Simulated clients obey the law of real ones, and a seed means the same bytes everywhere."""

import contextlib
import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import laws
from lopub.bulk import Bulk, bulk_of, direct, draws, flips, hashed, records, subset, unary, views
from lopub.bulk.bit_kernels import MOST_PLANES, fill_bernoulli, lay_codes
from lopub.bulk.draws import WORD, RandomWords, bernoulli_words, random_subsets, uniform_below
from lopub.campaign.budget import UNIT
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Boolean, Domain, IntegerRange
from lopub.campaign.mechanisms import Block, Channel, Hashed, Law, Mechanism
from lopub.campaign.mechanisms.bloom import BloomChannel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.mechanisms.unary import SymmetricChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report, pack, unframed
from lopub.campaign.schedule import Schedule
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, ViewRule
from lopub.client.noise import cell
from lopub.errors import CampaignError, ReportRejected
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import BLOCK_REPORTS, clients, simulate, simulate_blocks

SEED = 20_180_301
MECHANISMS: dict[str, dict[str, object]] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 6, "n_hashes": 2},
    "symmetric": {"flip_probability": "0.5", "mechanism": "unary"},
    "optimized": {"epsilon": 1, "mechanism": "unary"},
    "subset": {"epsilon": 1, "mechanism": "subset"},
    "direct": {"epsilon": "1.5", "mechanism": "direct"},
    "hashed": {"epsilon": "1.5", "mechanism": "hashed"},
}
SIZES = (3, 3, 2)
LISTED = Listed.of(laws.small_domain(*SIZES), [(("a", "b"), 3), (("b", "c"), 2), (("c",), 2)])
FILLED = Fill(8)
"""The pair of the two larger attributes passes 8 cells: it is drawn because the first two always are."""
TWO_RECORDS = [(0, 0, 0), (1, 2, 1)]
"""They differ in every answer."""


def wished(name: str, *sizes: int, **more: object) -> Campaign:
    return laws.small_campaign(*sizes, **{"view": AllAttributes(), **MECHANISMS[name], **more})


def simulated(campaign: Campaign, record: laws.Record, n: int) -> list[bytes]:
    """Wire bytes of n people with the same record; other records, other seeds."""
    dataset = Dataset(campaign.domain, np.tile(np.array(record, dtype=np.uint16), (n, 1)))
    seed = SEED + sum(100**i * candidate for i, candidate in enumerate(record))
    return list(unframed(framed_bytes(simulate(dataset, campaign, seed=seed))))


def mixed(domain: Domain, n: int) -> Dataset:
    """Records of all kinds."""
    return Dataset(
        domain,
        np.random.default_rng(SEED)
        .integers(0, domain.sizes, size=(n, len(domain)))
        .astype(np.uint16),
    )


# ---- the simulation obeys the law of the client


def each_view(views: dict[str, ViewRule]) -> pytest.MarkDecorator:
    """Every mechanism with the first of these views, `direct` with the others; the rest in full."""
    first, *_ = views
    return pytest.mark.parametrize(
        ("name", "view"),
        [
            pytest.param(
                name,
                view,
                id=f"{name}-{called}",
                marks=() if called == first or name == "direct" else pytest.mark.full,
            )
            for name in MECHANISMS
            for called, view in views.items()
        ],
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_position_of_a_jointly_randomized_report_has_the_stated_rate(name: str) -> None:
    assert laws.violations(simulated, wished(name, 2, 3, jointly=True)) == []


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_position_of_a_separately_randomized_report_has_the_stated_rate(name: str) -> None:
    assert laws.violations(simulated, wished(name, *SIZES, jointly=False)) == []


@each_view({"sample": Sample(2), "listed": LISTED, "fill": FILLED})
def test_a_jointly_randomized_view_is_drawn_by_its_rule_whatever_the_answers(
    name: str, view: ViewRule
) -> None:
    assert (
        laws.violations(
            simulated, wished(name, *SIZES, view=view, jointly=True), records=TWO_RECORDS
        )
        == []
    )


@each_view({"sample": Sample(2), "listed": LISTED})
def test_a_separately_randomized_view_is_drawn_by_its_rule_whatever_the_answers(
    name: str, view: ViewRule
) -> None:
    assert (
        laws.violations(
            simulated, wished(name, *SIZES, view=view, jointly=False), records=TWO_RECORDS
        )
        == []
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_single_attribute_is_randomized_by_the_law(name: str) -> None:
    assert laws.violations(simulated, wished(name, 4, jointly=False)) == []


@pytest.mark.parametrize("view", [Sample(1), Sample(3), Fill(6), Fill(24)], ids=str)
def test_views_of_five_attributes_are_drawn_by_their_rule(view: ViewRule) -> None:
    campaign = wished("direct", 2, 3, 2, 4, 3, view=view, jointly=True)
    law = laws.view_law(campaign)
    n = int(max(laws.reports_to_refuse_neighbours(rate) for rate in law.values()))
    tally = laws.tallied(campaign, simulated(campaign, (1, 2, 0, 3, 1), n))
    assert laws.view_violations(campaign, tally) == []


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_of_one_report_says_nothing_about_the_next(name: str) -> None:
    """Two neighbours agree in a bit as often as two strangers; of `direct`, the low bit of the number stands for it, and of
    `hashed` whether cell 0, which falls on 0 under every function, falls on the value sent."""
    campaign = wished(name, 4, jointly=False)
    law = campaign.channels((0,))[0].law()
    rate = law.p if name != "direct" else law.p + law.q  # cells 0 and 2 are even
    wires = simulated(campaign, (0,), 40_000)
    ones = [
        wire[-1] % law.q.denominator == 0 if name == "hashed" else wire[-1] & 1 ^ (name == "direct")
        for wire in wires
    ]
    agreement = rate * rate + (1 - rate) * (1 - rate)
    for lag in (1, 2, 64):
        pairs = [
            (ones[i], ones[i + lag])
            for start in range(0, len(ones) - 2 * lag, 2 * lag)
            for i in range(start, start + lag)
        ]
        equal = sum(one == other for one, other in pairs)
        assert laws.rate_violations(f"lag {lag}", equal, len(pairs), agreement) == []


# ---- without a seed, all randomness is the operating system's


@pytest.fixture
def urandom(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """Stands in for the operating system, so that what passes once passes always; NumPy's generators are out of reach."""
    stream = random.Random(SEED)
    monkeypatch.setattr(os, "urandom", stream.randbytes)
    monkeypatch.delattr(np.random, "SFC64")
    monkeypatch.setattr(draws, "SFC64", Path)  # which nothing can be drawn from
    monkeypatch.delattr(np.random, "SeedSequence")
    return stream


def unseeded(campaign: Campaign, record: laws.Record, n: int) -> list[bytes]:
    dataset = Dataset(campaign.domain, np.tile(np.array(record, dtype=np.uint16), (n, 1)))
    return list(unframed(framed_bytes(simulate(dataset, campaign))))


@pytest.mark.parametrize("jointly", [True, False], ids=["jointly", "separately"])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.usefixtures("urandom")
def test_an_unseeded_simulation_obeys_the_law(name: str, jointly: bool) -> None:
    assert laws.violations(unseeded, wished(name, 2, 3, jointly=jointly)) == []


@pytest.mark.parametrize("view", [Sample(2), LISTED, FILLED], ids=["sample", "listed", "fill"])
@pytest.mark.usefixtures("urandom")
def test_an_unseeded_simulation_draws_views_by_their_rule(view: ViewRule) -> None:
    assert (
        laws.violations(
            unseeded, wished("direct", *SIZES, view=view, jointly=True), records=TWO_RECORDS
        )
        == []
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_two_unseeded_simulations_have_neither_ids_nor_noise_in_common(name: str) -> None:
    campaign = wished(name, *SIZES, jointly=False)
    one, other = (simulate(mixed(campaign.domain, 300), campaign) for _ in range(2))
    assert not {row.tobytes() for row in one.ids} & {row.tobytes() for row in other.ids}
    assert one.payloads.bytes_used.tobytes() != other.payloads.bytes_used.tobytes()


# ---- an id tells nothing about the noise


@pytest.mark.parametrize("number", [0, 1, 7])
def test_no_word_of_an_id_is_an_output_of_the_stream_that_draws_the_noise(number: int) -> None:
    """Eight outputs in a row give the state of such a stream away, and with it the noise of every report."""
    noise = set(clients.noise_source(SEED, number).random_raw(200_000).tolist())
    assert not noise & set(
        clients.report_ids(5000, SEED, number).view(np.uint64).reshape(-1).tolist()
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_is_the_same_whatever_the_ids(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = wished(name, *SIZES, view=Sample(2), jointly=True)
    dataset = mixed(campaign.domain, 300)
    usual = simulate(dataset, campaign, seed=SEED)
    monkeypatch.setattr(
        clients,
        "report_ids",
        lambda n, seed, number: np.arange(2 * n).view(np.uint8).reshape(n, 16),
    )
    numbered = simulate(dataset, campaign, seed=SEED)
    assert usual.view_index.tolist() == numbered.view_index.tolist()
    assert usual.payloads.bytes_used.tobytes() == numbered.payloads.bytes_used.tobytes()
    assert usual.ids.tolist() != numbered.ids.tolist()


def test_ids_depend_on_seed_and_block_but_not_on_how_many_follow() -> None:
    ids = clients.report_ids(100, 1, 0)
    assert clients.report_ids(40, 1, 0).tolist() == ids[:40].tolist()
    for other in (
        clients.report_ids(100, 2, 0),
        clients.report_ids(100, 1, 1),
        clients.report_ids(100, 11, 0),
    ):
        assert not (ids == other).all(axis=1).any()


# ---- the harness catches a simulation that is a little wrong

Patch = tuple[object, str, Any]
BERNOULLI, WORDS, UNIFORM, DIGITS, BLOCK, IDS = (
    draws.bernoulli_words,
    draws.words,
    draws.uniform_below,
    hashed._digits,
    clients._block,
    clients.report_ids,
)


def f_used_for_half_of_f(source: RandomWords, n_words: int, units: int) -> np.ndarray:
    return BERNOULLI(source, n_words, 2 * units)


def one_position_left_bare(source: RandomWords, n_words: int, units: int) -> np.ndarray:
    return BERNOULLI(source, n_words, units) & ~np.uint64(1 << 3)


def one_word_of_noise_for_everybody(source: RandomWords, n_words: int, units: int) -> np.ndarray:
    return np.repeat(BERNOULLI(source, 1, units), n_words)


def neighbouring_bits_changed_together(source: RandomWords, n_words: int, units: int) -> np.ndarray:
    """Each bit alone has the stated rate."""
    even = BERNOULLI(source, n_words, units) & np.uint64(0x5555555555555555)
    return even | even << np.uint64(1)


def ones_never_turned_to_zero(
    payload: np.ndarray, codes: np.ndarray, inputs: np.ndarray, first: int
) -> None:
    payload[:, first : first + codes.shape[1]] |= codes[inputs]


def every_code_is_the_first(
    payload: np.ndarray, codes: np.ndarray, inputs: np.ndarray, first: int
) -> None:
    payload[:, first : first + codes.shape[1]] ^= codes[0]


def keep_of_one_cell_too_many(channel: DirectChannel) -> Fraction:
    return Fraction(channel.kept_units, channel.all_units + UNIT)


def the_last_cell_never_drawn(source: RandomWords, high: np.ndarray) -> np.ndarray:
    return UNIFORM(source, high - 1)


def true_cell_never_dropped(source: RandomWords, n: int, units: int) -> np.ndarray:
    return np.ones(n, dtype=bool)


def others_drawn_in_a_row(source: RandomWords, n: int, size: int, n_cells: int) -> np.ndarray:
    """Each other cell alone is held as often as it should be."""
    start = UNIFORM(source, np.full(n, n_cells))[:, None]
    return (((np.arange(n_cells) - start) % n_cells) < size).astype(np.uint8)


def coin_missing(source: RandomWords, *shape: int) -> np.ndarray:
    """The true bit is always a one."""
    return WORDS(source, *shape) | np.uint64(1 << 63)


def chosen_by_an_answer(
    codes: np.ndarray, campaign: Campaign, slot: int, ids: np.ndarray, source: RandomWords
) -> ReportBatch:
    """Who answers 1 first, and got a view without that attribute, draws once more."""
    first, second = (
        BLOCK(codes, campaign, slot, ids, source),
        BLOCK(codes, campaign, slot, ids ^ 1, source),
    )
    covers = np.array([0 in view for view in first.views])[first.view_index]
    again = (codes[:, 0] == 1) & ~covers
    return ReportBatch.concatenated([first, second])[np.arange(len(codes)) + len(codes) * again]


def biased_to_the_first_attributes(n: int, d: int, source: RandomWords) -> np.ndarray:
    """Too few random bits: ties go to the first."""
    return np.argsort(WORDS(source, n, d) >> np.uint64(61), axis=1, kind="stable")


def without_the_first_two_rule(
    rule: Fill, sizes: tuple[int, ...], n: int, source: RandomWords
) -> np.ndarray:
    orders, mask = (
        np.argsort(WORDS(source, n, len(sizes)), axis=1),
        np.zeros((n, len(sizes)), dtype=bool),
    )
    room = np.full(n, rule.cells)
    for position in orders.T:
        size = np.array(sizes)[position]
        mask[np.arange(n), position] = size <= room
        room = np.where(size <= room, room // size, room)
    return mask


def weights_forgotten(
    rule: Listed, sizes: tuple[int, ...], n: int, source: RandomWords
) -> np.ndarray:
    sets = np.array([[position in view for position in range(len(sizes))] for view in rule.sets])
    return sets[UNIFORM(source, np.full(n, len(rule.sets)))]


def first_attribute_fastest(
    codes: np.ndarray, mask: np.ndarray, sizes: tuple[int, ...]
) -> np.ndarray:
    columns = [codes[:, place].astype(np.int64) for place in range(len(sizes))]
    return np.sum(
        [column * np.prod(sizes[:i], dtype=np.int64) for i, column in enumerate(columns)], axis=0
    )


def one_function_for_all(source: RandomWords, high: np.ndarray) -> np.ndarray:
    """Values that are not kept are moved as they should be."""
    return UNIFORM(source, high) if high[0] < 4 else np.full(len(high), 5)


def a_function_or_a_value_missing(source: RandomWords, high: np.ndarray) -> np.ndarray:
    return UNIFORM(source, high - 1)


def the_highest_digit_left_out(numbers: np.ndarray, channel: HashedChannel) -> np.ndarray:
    digits = DIGITS(numbers, channel)
    digits[:, -1] = 0
    return digits


def the_first_digit_last(numbers: np.ndarray, channel: HashedChannel) -> np.ndarray:
    """Of every second number asked for only: the function's are those of another one."""
    LAST_FIRST.append(len(LAST_FIRST))
    return DIGITS(numbers, channel)[:, :: (-1) ** len(LAST_FIRST)]


LAST_FIRST: list[int] = []


def kept_more_often(source: RandomWords, n: int, units: int) -> np.ndarray:
    """Values that are not kept include the one that was to be kept."""
    return draws.chosen(source, n, units + (WORD - units) // 3)


def ids_that_come_back(n: int, seed: int | None, number: int) -> np.ndarray:
    return IDS((n + 1) // 2, seed, number)[np.arange(n) // 2]


def half_of_the_id_constant(n: int, seed: int | None, number: int) -> np.ndarray:
    return IDS(n, seed, number) & np.repeat(np.array([255, 0], dtype=np.uint8), 8)


MUTANTS: list[tuple[str, Patch, dict[str, object]]] = [
    ("bloom", (flips, "bernoulli_words", f_used_for_half_of_f), {}),
    ("bloom", (flips, "bernoulli_words", one_position_left_bare), {}),
    ("bloom", (flips, "bernoulli_words", neighbouring_bits_changed_together), {}),
    ("symmetric", (flips, "bernoulli_words", one_word_of_noise_for_everybody), {}),
    ("bloom", (flips, "lay_codes", ones_never_turned_to_zero), {}),
    ("symmetric", (flips, "lay_codes", ones_never_turned_to_zero), {}),
    ("symmetric", (flips, "lay_codes", every_code_is_the_first), {}),
    ("optimized", (unary, "bernoulli_words", f_used_for_half_of_f), {}),
    ("optimized", (unary, "words", coin_missing), {}),
    ("direct", (DirectChannel, "keep", property(keep_of_one_cell_too_many)), {"epsilon": 4}),
    (
        "direct",
        (DirectChannel, "keep", property(keep_of_one_cell_too_many)),
        {"epsilon": 4, "jointly": True, "view": Sample(2)},
    ),
    ("direct", (direct, "uniform_below", the_last_cell_never_drawn), {}),
    (
        "direct",
        (direct, "uniform_below", the_last_cell_never_drawn),
        {"jointly": True, "view": Sample(2)},
    ),
    ("subset", (subset, "chosen", true_cell_never_dropped), {}),
    (
        "subset",
        (subset, "random_subsets", others_drawn_in_a_row),
        {"jointly": True, "view": Sample(2)},
    ),
    (
        "subset",
        (records, "cell_numbers", first_attribute_fastest),
        {"jointly": True, "view": Sample(2)},
    ),
    ("hashed", (hashed, "chosen", true_cell_never_dropped), {}),
    ("hashed", (hashed, "chosen", kept_more_often), {}),
    (
        "hashed",
        (hashed, "uniform_below", one_function_for_all),
        {"jointly": True, "view": Sample(2)},
    ),
    (
        "hashed",
        (hashed, "uniform_below", a_function_or_a_value_missing),
        {"jointly": True, "view": Sample(2)},
    ),
    (
        "hashed",
        (hashed, "_digits", the_highest_digit_left_out),
        {"jointly": True, "view": Sample(2)},
    ),
    ("hashed", (hashed, "_digits", the_first_digit_last), {"jointly": True, "view": Sample(2)}),
    ("direct", (clients, "_block", chosen_by_an_answer), {"view": Sample(2)}),
    ("direct", (views, "_random_orders", biased_to_the_first_attributes), {"view": Sample(2)}),
    ("direct", (views.MANY, "fill", without_the_first_two_rule), {"view": FILLED, "jointly": True}),
    ("direct", (views.MANY, "listed", weights_forgotten), {"view": LISTED}),
    ("direct", (clients, "report_ids", ids_that_come_back), {}),
    ("direct", (clients, "report_ids", half_of_the_id_constant), {}),
]


def name_of(part: object) -> str:
    """A mutant's name in the list of tests: what it does."""
    if not isinstance(part, tuple):
        return "" if isinstance(part, dict) else str(part)
    replacement = part[2].fget if isinstance(part[2], property) else part[2]
    return str(replacement.__name__)


@pytest.mark.parametrize(("name", "patch", "more"), MUTANTS, ids=name_of)
def test_the_law_refuses(
    name: str, patch: Patch, more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = wished(name, *SIZES, **{"jointly": False, **more})
    n = laws.enough_reports(campaign, TWO_RECORDS)
    (monkeypatch.setitem if isinstance(patch[0], dict) else monkeypatch.setattr)(*patch)
    assert laws.refuses(simulated, campaign, records=TWO_RECORDS, n=n)


# ---- with hardly any noise, each report shows its own record

QUIET = {"epsilon": 60, "jointly": True}
ONE_IN_FOUR_BILLION = {"flip_probability": "0.0000000004"}
"""Two of 2^32: no bit of these few thousand reports is changed."""


def reports_in(batch: ReportBatch) -> list[Report]:
    return [
        Report.from_bytes(batch.report(i).to_bytes(), batch.campaign) for i in range(len(batch))
    ]


def inputs_of(campaign: Campaign, view: tuple[int, ...], record: list[int]) -> list[int]:
    return (
        [cell(view, record, campaign.domain.sizes)]
        if campaign.jointly
        else [record[position] for position in view]
    )


def code_of(channel: Channel, candidate: int) -> int:
    """The output without noise."""
    if isinstance(channel, DirectChannel):
        return channel.output(candidate)
    return channel.filters[candidate] if isinstance(channel, BloomChannel) else 1 << candidate


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6", "15"])
@pytest.mark.parametrize("jointly", [True, False], ids=["jointly", "separately"])
def test_a_hashed_reports_bits_are_the_cells_that_its_own_channel_sends_there(
    epsilon: str, jointly: bool
) -> None:
    """One by one; with g from 2 up to the largest, and so from one digit to many."""
    campaign = laws.small_campaign(
        30, 17, 2, epsilon=epsilon, mechanism="hashed", view=Sample(2), jointly=jointly
    )
    batch = simulate(mixed(campaign.domain, 60), campaign, seed=SEED)
    bulk = bulk_of(campaign.mechanism)
    for report in reports_in(batch):
        channels = campaign.channels(report.view(campaign))
        payload = np.frombuffer(report.payload, np.uint8)[None]
        expected = []
        for at, (channel, output) in enumerate(
            zip(channels, report.outputs(campaign), strict=True)
        ):
            assert isinstance(channel, HashedChannel)
            function, sent = divmod(channel.number(output), channel.n_values)
            expected.append(
                [channel.value(function, x) == sent for x in range(channel.n_candidates)]
            )
            assert bulk.bits(channels, at, payload)[0].tolist() == expected[-1]
        assert np.array_equal(
            bulk.law_bits(channels, payload)[0],
            np.packbits(np.concatenate(expected), bitorder="little"),
        )


@pytest.mark.parametrize("cells_at_once", [1, 100, 7 * 510])
def test_hashed_reports_are_read_the_same_however_many_at_once(
    cells_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = laws.small_campaign(
        30, 17, epsilon=1, mechanism="hashed", view=AllAttributes(), jointly=True
    )
    batch = simulate(mixed(campaign.domain, 60), campaign, seed=SEED)
    expected = batch.block_bits(0, 0)
    monkeypatch.setattr(hashed, "CELLS_AT_ONCE", cells_at_once)
    assert np.array_equal(batch.block_bits(0, 0), expected)


@pytest.mark.parametrize(
    ("k", "odds"),
    [(3, UNIT + 1), (300, 3 * UNIT), (65_521, 2**329), (2**20, UNIT + 1), (2**20, 2**329)],
)
def test_a_hashed_number_is_possible_up_to_the_last(k: int, odds: int) -> None:
    """One by one, and many at once."""
    channel = HashedChannel(k, odds)
    numbers = [0, channel.n_numbers - 1, channel.n_numbers, 256**channel.n_bytes - 1]
    passed: list[int] = []
    for number in numbers:
        with contextlib.suppress(ReportRejected):
            channel.check(channel.output(number))
            passed.append(number)
    rows = np.frombuffer(
        b"".join(pack([channel.output(number)], [channel]) for number in numbers), np.uint8
    )
    together = bulk_of(Hashed).possible_payloads((channel,), rows.reshape(len(numbers), -1))
    assert (
        passed
        == [number for number, ok in zip(numbers, together, strict=True) if ok]
        == numbers[:2]
    )


WIDE = Domain(
    tuple(
        IntegerRange(name=f"a{i}", minimum=1, maximum=size)
        for i, size in enumerate((37, 2, 63, 64, 65, 3, 130))
    )
)
"""Blocks that begin and end anywhere within a 64-bit word, or fill several."""
WIDE_VIEWS = {
    "all": AllAttributes(),
    "sample": Sample(3),
    "listed": Listed.of(WIDE, [(("a0", "a6"), 1), (("a2",), 1)]),
}
QUIETLY: dict[str, dict[str, object]] = {
    "bloom": {**ONE_IN_FOUR_BILLION, "n_bits": 37, "n_hashes": 3},
    "symmetric": {**ONE_IN_FOUR_BILLION, "mechanism": "unary"},
    "subset": {"epsilon": 200, "mechanism": "subset"},
    "direct": {"epsilon": 200, "mechanism": "direct"},
}


@pytest.mark.parametrize("view", WIDE_VIEWS)
@pytest.mark.parametrize("name", QUIETLY)
def test_without_noise_every_block_of_a_report_is_the_code_of_its_own_record(
    name: str, view: str
) -> None:
    wish = CampaignRequest(**QUIETLY[name], view=WIDE_VIEWS[view], jointly=False)  # type: ignore[arg-type]
    campaign = make_campaign(WIDE, Terms(name="wide"), wish)
    dataset = mixed(WIDE, 300)
    for report, record in zip(
        reports_in(simulate(dataset, campaign, seed=SEED)), dataset.codes.tolist(), strict=True
    ):
        seen = report.view(campaign)
        channels = campaign.channels(seen)
        outputs = [
            code_of(channel, x)
            for channel, x in zip(channels, inputs_of(campaign, seen, record), strict=True)
        ]
        assert report.payload == pack(outputs, channels)


@pytest.mark.parametrize("mechanism", ["direct", "subset"])
@pytest.mark.parametrize(
    "view", [AllAttributes(), Sample(2), FILLED, LISTED], ids=["all", "sample", "fill", "listed"]
)
def test_without_noise_a_jointly_randomized_report_is_the_cell_of_its_own_record(
    mechanism: str, view: ViewRule
) -> None:
    campaign = laws.small_campaign(*SIZES, **{**QUIET, "mechanism": mechanism, "view": view})
    dataset = mixed(campaign.domain, 500)
    for report, record in zip(
        reports_in(simulate(dataset, campaign, seed=SEED)), dataset.codes.tolist(), strict=True
    ):
        seen = report.view(campaign)
        (channel,) = campaign.channels(seen)
        assert report.outputs(campaign) == (code_of(channel, cell(seen, record, SIZES)),)


def test_without_noise_the_true_bit_of_optimized_unary_is_a_coin_and_the_others_are_zeros() -> None:
    campaign = make_campaign(
        WIDE,
        Terms(name="wide"),
        CampaignRequest(epsilon=200, mechanism="unary", view=AllAttributes(), jointly=False),
    )
    dataset = mixed(WIDE, 400)
    coins = []
    for report, record in zip(
        reports_in(simulate(dataset, campaign, seed=SEED)), dataset.codes.tolist(), strict=True
    ):
        for output, candidate in zip(report.outputs(campaign), record, strict=True):
            assert output & ~(1 << candidate) == 0
            coins.append(output >> candidate)
    assert laws.fits(sum(coins), len(coins), 0.5)


BINARY = Domain(tuple(Boolean(name=f"q{i}") for i in range(200)))


def test_two_hundred_attributes_are_filled_with_views_that_a_client_could_draw() -> None:
    campaign = make_campaign(
        BINARY,
        Terms(name="many"),
        CampaignRequest(epsilon=60, mechanism="direct", view=Fill(2**10), jointly=True),
    )
    dataset = mixed(BINARY, 400)
    batch = simulate(dataset, campaign, seed=SEED)
    assert all(
        len(view) == 10 and campaign.view.can_draw(view, BINARY.sizes) for view in batch.views
    )
    views_of = [batch.views[number] for number in batch.view_index]
    cells = [
        cell(view, record, BINARY.sizes)
        for view, record in zip(views_of, dataset.codes.tolist(), strict=True)
    ]
    assert batch.cells().tolist() == cells


def test_a_campaign_that_fills_two_hundred_attributes_is_made_without_trying_every_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Epsilon 24 alone asks for it: e^24 / 6 cells are 32 binary attributes, and 2^32 sets would be looked at."""
    looks = iter(range(1000))
    can_draw = Fill.can_draw
    monkeypatch.setattr(
        Fill, "can_draw", lambda *arguments: next(looks) >= 0 and can_draw(*arguments)
    )
    assert (
        str(make_campaign(BINARY, Terms(name="many"), CampaignRequest(epsilon=24)).view)
        == "fill:4414853688"
    )


def test_sixty_attributes_in_one_cell_are_numbered_exactly() -> None:
    """2^60 cells: more than a double could tell apart."""
    domain = Domain(BINARY.attributes[:60])
    campaign = make_campaign(
        domain,
        Terms(name="huge"),
        CampaignRequest(epsilon=100, mechanism="direct", view=AllAttributes(), jointly=True),
    )
    dataset = mixed(domain, 200)
    cells = [cell(range(60), record, domain.sizes) for record in dataset.codes.tolist()]
    assert simulate(dataset, campaign, seed=SEED).cells().tolist() == cells


# ---- kernels and their plain twins

UNITS = [
    1 << 63,
    1 << 62,
    3 << 62,
    5 << 61,
    1 << 32,
    0x2AAAAAAB << 32,
    1,
    WORD - 1,
    0x0123456789ABCDEF,
    0,
]


def plain_bernoulli(pool: list[int], n_words: int, units: int) -> list[int]:
    """A bit is one where the number of its position is below `units`. A drawn plane says where numbers differ from
    `units`; planes are drawn, highest first, until every position differs somewhere or `units` has no ones left."""
    result, drawn = [], iter(pool)
    for _ in range(n_words):
        planes: list[int] = []
        equal = WORD - 1
        while equal and (units << len(planes)) % WORD:
            planes.append(next(drawn))
            equal &= ~planes[-1]
        numbers = [
            sum((plane >> i & 1) << (63 - j) for j, plane in enumerate(planes)) ^ units
            for i in range(64)
        ]
        result.append(sum((number < units) << i for i, number in enumerate(numbers)))
    return result


def pool_of(n: int) -> np.ndarray:
    return np.random.SFC64(SEED).random_raw(n)


@pytest.mark.parametrize("units", UNITS, ids=hex)
def test_the_bernoulli_kernel_gives_the_words_of_its_plain_twin(units: int) -> None:
    result, pool = np.empty(50, dtype=np.uint64), pool_of(50 * MOST_PLANES)
    assert fill_bernoulli(result, np.uint64(units), pool) == 50
    assert result.tolist() == plain_bernoulli(pool.tolist(), 50, units)


def test_the_bernoulli_kernel_begins_no_word_that_its_pool_might_not_suffice_for() -> None:
    """Were a word that outlasts the pool drawn again, words that need few planes would be favoured."""
    result, pool = np.zeros(50, dtype=np.uint64), pool_of(4 * MOST_PLANES)
    n_filled = fill_bernoulli(result, np.uint64(0x0123456789ABCDEF), pool)
    plain = plain_bernoulli([*pool.tolist(), *[0] * 4000], 50, 0x0123456789ABCDEF)
    assert (
        4 <= n_filled < 50
        and result[:n_filled].tolist() == plain[:n_filled]
        and not result[n_filled:].any()
    )
    assert fill_bernoulli(result, np.uint64(1), pool[: MOST_PLANES - 1]) == 0


@pytest.mark.parametrize("units", UNITS, ids=hex)
def test_pools_one_behind_the_other_use_every_random_word_once(
    units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were a pool used twice, noise would repeat."""
    monkeypatch.setattr(draws, "_POOL", 100)
    source, pools = np.random.SFC64(SEED), []

    class Remembered:
        def random_raw(self, size: int, /) -> np.ndarray:
            pools.append(source.random_raw(size))
            return pools[-1]

    found = bernoulli_words(Remembered(), 70, units).tolist()
    expected: list[int] = []
    for pool in pools:
        part = np.empty(70 - len(expected), dtype=np.uint64)
        n_filled = fill_bernoulli(part, np.uint64(units), pool)
        expected += plain_bernoulli(pool.tolist(), n_filled, units)
    assert found == expected


@pytest.mark.parametrize("units", UNITS, ids=hex)
@pytest.mark.parametrize(("n", "pool"), [(0, 100), (1, 100), (70, 64), (70, 100), (9_000, 2**15)])
def test_seeded_words_are_those_that_are_drawn_ahead(
    units: int, n: int, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the generator stands where it would stand: what is drawn next is the same, too."""
    monkeypatch.setattr(draws, "_POOL", pool)
    seeded, behind = np.random.SFC64(SEED), np.random.SFC64(SEED)
    ahead = SimpleNamespace(random_raw=behind.random_raw)
    assert bernoulli_words(seeded, n, units).tolist() == bernoulli_words(ahead, n, units).tolist()
    assert seeded.random_raw(3).tolist() == behind.random_raw(3).tolist()


def test_the_bernoulli_kernel_runs_the_same_without_its_compiler() -> None:
    results = [np.empty(40, dtype=np.uint64) for _ in range(2)]
    fill_bernoulli(results[0], np.uint64(3 << 61), pool_of(4000))
    fill_bernoulli.__wrapped__(results[1], np.uint64(3 << 61), pool_of(4000))
    assert np.array_equal(*results)


@pytest.mark.parametrize("units", [1 << 63, 1 << 62, 0x2AAAAAAB << 32, 1 << 58])
def test_every_bit_of_a_bernoulli_word_is_one_at_the_stated_rate(units: int) -> None:
    n = 60_000
    words = bernoulli_words(np.random.SFC64(SEED), n, units)
    ones = np.unpackbits(words.view(np.uint8).reshape(n, 8), axis=1, bitorder="little").sum(axis=0)
    rate = Fraction(units, WORD)
    assert all(
        laws.rate_violations(f"bit {i}", int(count), n, rate) == [] for i, count in enumerate(ones)
    )


@pytest.mark.parametrize("high", [1, 2, 3, 5, 8])
def test_every_number_below_a_bound_is_equally_likely(high: int) -> None:
    n = 60_000
    drawn = uniform_below(np.random.SFC64(SEED), np.full(n, high, dtype=np.int64))
    counts = np.bincount(drawn, minlength=high)
    assert len(counts) == high
    assert all(
        laws.rate_violations(str(i), int(count), n, Fraction(1, high)) == []
        for i, count in enumerate(counts)
    )


def test_numbers_below_large_and_different_bounds_stay_below_their_own() -> None:
    high = np.array([1, 2**31 + 1, 2**32, 2**62 + 1, 2**63 - 1] * 2000, dtype=np.int64)
    drawn = uniform_below(np.random.SFC64(SEED), high)
    assert ((drawn >= 0) & (drawn < high)).all()
    upper_half = (drawn >= high // 2).reshape(-1, 5).sum(axis=0).tolist()
    assert upper_half[0] == 2000 and all(laws.fits(count, 2000, 0.5) for count in upper_half[1:])


@pytest.mark.parametrize(("n_words", "first"), [(1, 0), (1, 2), (2, 0), (2, 1), (3, 0)])
def test_laying_codes_is_an_exclusive_or_of_whole_rows(n_words: int, first: int) -> None:
    rng = np.random.default_rng(SEED)
    payload = rng.integers(0, WORD, size=(200, 3), dtype=np.uint64)
    codes = rng.integers(0, WORD, size=(7, n_words), dtype=np.uint64)
    inputs = rng.integers(0, 7, size=200)
    expected = payload.copy()
    expected[:, first : first + n_words] ^= codes[inputs]
    lay_codes(payload, codes, inputs, first)
    assert np.array_equal(payload, expected)


@pytest.mark.parametrize(("size", "n_cells"), [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4), (2, 5)])
def test_every_subset_is_equally_likely(size: int, n_cells: int) -> None:
    n = 30_000
    drawn = random_subsets(np.random.SFC64(SEED), n, size, n_cells)
    possible = [bits for bits in product((0, 1), repeat=n_cells) if sum(bits) == size]
    counts = [int((drawn == bits).all(axis=1).sum()) for bits in possible]
    assert sum(counts) == n
    assert all(
        laws.rate_violations(str(bits), count, n, Fraction(1, len(possible))) == []
        for bits, count in zip(possible, counts, strict=True)
    )


# ---- a seed means the same bytes

SOME = {
    "bloom": ("bloom", AllAttributes(), False),
    "subset": ("subset", Sample(2), True),
    "optimized": ("optimized", LISTED, False),
    "fill": ("direct", FILLED, True),
    "direct": ("direct", Sample(2), False),
    "hashed": ("hashed", Sample(2), True),
}


def some_campaign(name: str) -> Campaign:
    mechanism, view, jointly = SOME[name]
    return wished(mechanism, *SIZES, view=view, jointly=jointly)


def digest_of_everything() -> str:
    """Of all reports of all these campaigns, more than a block each."""
    digest = hashlib.sha256()
    for name in SOME:
        campaign = some_campaign(name)
        digest.update(
            framed_bytes(simulate(mixed(campaign.domain, BLOCK_REPORTS + 50), campaign, seed=SEED))
        )
    return digest.hexdigest()


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1", "NUMBA_NUM_THREADS": "1"},
        pytest.param({"PYTHONHASHSEED": "2", "NUMBA_NUM_THREADS": "2"}, marks=pytest.mark.full),
    ],
)
def test_a_seed_means_the_same_bytes_in_every_process(environment: dict[str, str]) -> None:
    command = [
        sys.executable,
        "-c",
        "import test_simulate; print(test_simulate.digest_of_everything())",
    ]
    options: dict[str, Any] = {
        "cwd": Path(__file__).parent,
        "env": {**os.environ, **environment, "PYTHONPATH": str(Path(__file__).parents[1])},
    }
    result = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    assert result.stdout.strip() == digest_of_everything()


@pytest.mark.parametrize("name", SOME)
def test_another_seed_means_other_bytes_in_every_report(name: str) -> None:
    campaign = some_campaign(name)
    dataset = mixed(campaign.domain, 100)
    one, other = (simulate(dataset, campaign, seed=seed) for seed in (1, 2))
    assert not (one.ids == other.ids).all(axis=1).any()
    assert framed_bytes(one) == framed_bytes(simulate(dataset, campaign, seed=1))
    assert any(one.report(i).payload != other.report(i).payload for i in range(100))


@pytest.mark.parametrize("name", SOME)
def test_blocks_one_behind_the_other_are_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "BLOCK_REPORTS", 64)
    campaign = some_campaign(name)
    dataset = mixed(campaign.domain, 150)
    parts = list(simulate_blocks(dataset, campaign, seed=SEED))
    assert [len(part) for part in parts] == [64, 64, 22]
    assert b"".join(framed_bytes(part) for part in parts) == framed_bytes(
        simulate(dataset, campaign, seed=SEED)
    )


@pytest.mark.parametrize("name", SOME)
def test_the_first_block_does_not_depend_on_how_many_people_follow(name: str) -> None:
    campaign = some_campaign(name)
    more = simulate(mixed(campaign.domain, BLOCK_REPORTS + 50), campaign, seed=SEED)
    exactly = simulate(mixed(campaign.domain, BLOCK_REPORTS), campaign, seed=SEED)
    assert framed_bytes(more[:BLOCK_REPORTS]) == framed_bytes(exactly)


def test_two_blocks_do_not_share_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "BLOCK_REPORTS", 64)
    campaign = some_campaign("bloom")
    dataset = Dataset(campaign.domain, np.zeros((128, 3), dtype=np.uint16))
    first, second = simulate_blocks(dataset, campaign, seed=SEED)
    assert not (first.ids == second.ids).all(axis=1).any()
    assert first.payloads.bytes_used.tolist() != second.payloads.bytes_used.tolist()


# ---- what goes in


@pytest.mark.parametrize("name", SOME)
def test_nobody_answers_and_nobody_reports(name: str) -> None:
    campaign = some_campaign(name)
    batch = simulate(mixed(campaign.domain, 0), campaign, seed=SEED)
    assert len(batch) == 0 and framed_bytes(batch) == b""


@pytest.mark.parametrize("name", SOME)
def test_a_single_person_makes_a_single_report(name: str) -> None:
    campaign = some_campaign(name)
    (report,) = reports_in(simulate(mixed(campaign.domain, 1), campaign, seed=SEED))
    assert report.slot == 0


def scheduled_campaign() -> Campaign:
    """Slots 10 to 30."""
    schedule = Schedule(opens=date(1970, 1, 11), closes=date(1970, 1, 31))
    return make_campaign(
        laws.small_domain(*SIZES), Terms(name="days", schedule=schedule), CampaignRequest(epsilon=4)
    )


def test_reports_carry_the_first_day_of_the_schedule_unless_told() -> None:
    campaign = scheduled_campaign()
    dataset = mixed(campaign.domain, 5)
    assert simulate(dataset, campaign, seed=SEED).slots.tolist() == [10] * 5
    assert simulate(dataset, campaign, seed=SEED, slot=12).slots.tolist() == [12] * 5


@pytest.mark.parametrize("slot", [9, -1, 2**32])
def test_a_day_outside_the_schedule_is_refused(slot: int) -> None:
    campaign = scheduled_campaign()
    with pytest.raises(CampaignError, match="slot"):
        simulate(mixed(campaign.domain, 5), campaign, seed=SEED, slot=slot)


def test_a_dataset_of_another_domain_is_refused() -> None:
    with pytest.raises(
        CampaignError, match=r"^the dataset's attributes are not those of the campaign$"
    ):
        simulate(mixed(laws.small_domain(3, 2, 3), 5), some_campaign("bloom"), seed=SEED)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(CampaignError, match=r"^seed must be at least 0, got -1$"):
        simulate(mixed(laws.small_domain(*SIZES), 5), some_campaign("bloom"), seed=-1)


# ---- a mechanism that nobody has vectorised


class OwnChannel(Channel):
    """Symmetric unary by another hand, with one more bit, which is always a coin."""

    def __init__(self, n_candidates: int, change_units: int) -> None:
        self.n_candidates = n_candidates
        self._twin = SymmetricChannel(n_candidates, change_units)

    @property
    def width(self) -> int:
        return self.n_candidates + 1

    def law(self) -> Law:
        return self._twin.law()

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        return (
            self._twin.randomize(candidate, randomness) | randomness.below(2) << self.n_candidates
        )


@pytest.fixture
def own_mechanism() -> Iterator[Callable[[int], Mechanism]]:
    """A mechanism that exists during one test."""

    class Own(Mechanism):
        name = "own"

        def __init__(self, n_blocks: int) -> None:
            self.noise = {n_blocks: UNIT // 4}

        def channel(self, block: Block, n_blocks: int) -> Channel:
            return OwnChannel(
                int(np.prod([attribute.size for attribute in block])), self._noise_for(n_blocks)
            )

        def width_of(self, n_candidates: int) -> int:
            return n_candidates + 1

        def to_json(self) -> dict[str, Any]:
            return {"name": self.name}

        @classmethod
        def from_json(cls, members: object) -> "Own":
            raise NotImplementedError

    class OwnBulk(Bulk):
        mechanism = "own"

    yield Own
    del Mechanism.known["own"], Bulk.known["own"]


@pytest.mark.parametrize("jointly", [True, False])
def test_a_bare_mechanism_is_simulated_by_its_own_randomizer(
    own_mechanism: Callable[[int], Mechanism], jointly: bool
) -> None:
    campaign = Campaign(
        domain=laws.small_domain(3, 2),
        mechanism=own_mechanism(1 if jointly else 2),
        view=AllAttributes(),
        jointly=jointly,
        terms=Terms(name="own"),
    )
    n = laws.reports_to_refuse_neighbours(Fraction(1, 4))
    for record in [(0, 0), (2, 1)]:
        wires = simulated(campaign, record, n)
        reports = [Report.from_bytes(wire, campaign).outputs(campaign) for wire in wires]
        for block, channel in enumerate(campaign.channels((0, 1))):
            candidate = inputs_of(campaign, (0, 1), list(record))[block]
            for bit in range(channel.width):
                rate = (
                    Fraction(1, 2)
                    if bit == channel.n_candidates
                    else Fraction(3 if bit == candidate else 1, 4)
                )
                count = sum(outputs[block] >> bit & 1 for outputs in reports)
                assert laws.fits(count, n, rate) and not any(
                    laws.fits(count, n, other) for other in laws.neighbours(rate)
                )


def test_a_bare_mechanism_gives_the_same_bytes_for_the_same_seed(
    own_mechanism: Callable[[int], Mechanism],
) -> None:
    domain = laws.small_domain(3, 2)
    campaign = Campaign(
        domain=domain,
        mechanism=own_mechanism(2),
        view=AllAttributes(),
        jointly=False,
        terms=Terms(name="own"),
    )
    one, other, another = (
        framed_bytes(simulate(mixed(domain, 50), campaign, seed=seed)) for seed in (1, 1, 2)
    )
    assert one == other != another
