"""Simulated rounds: the client's law, intervals that hold, and no more found by linking or averaging than is stated."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lopub import (
    CampaignError,
    Dataset,
    DomainError,
    Listed,
    Study,
    TooFewReports,
    count,
    publish_rounds,
    simulate_rounds,
)
from lopub.reports.simulation.rounds import drawn_rounds
from tiers import FULL

PEOPLE, ROUNDS, REPEATS = (20_000, 12, 4) if FULL else (8_000, 6, 2)


def figures() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "rounds.py"
    spec = importlib.util.spec_from_file_location("rounds_figures", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FIGURES = figures()
MODES = {
    "sampled": FIGURES.campaign_of("sampled", take_part=2, rounds=ROUNDS),
    "permanent": FIGURES.campaign_of("permanent", take_part=ROUNDS, rounds=ROUNDS),
}


def test_every_choice_of_rounds_is_equally_likely():
    found = drawn_rounds(12_000, 4, 2, seed=1)
    assert (found.sum(axis=1) == 2).all()
    numbers = np.unique(found @ np.array([1, 2, 4, 8]), return_counts=True)[1]
    assert len(numbers) == 6 and (np.abs(numbers - 2000) < 6.2 * np.sqrt(12_000 * 5 / 36)).all()


@pytest.mark.parametrize("mode", MODES)
def test_levels_and_changes_lie_in_their_intervals_as_often_as_stated(mode):
    found = FIGURES.coverage(MODES[mode], PEOPLE, ROUNDS, REPEATS, seed=4, drift=0.2)
    low, high = (
        (0.90, 0.98) if FULL else (0.70, 1.0)
    )  # of so few intervals, no fewer are held by chance than one time in 10^9
    assert low <= found.levels <= high
    assert low <= found.changes <= (high if mode == "sampled" else 1)
    assert low <= found.narrow_changes <= high  # everybody stayed in these rounds
    assert (found.least_error < found.change_error) is (mode == "permanent")


@pytest.mark.parametrize("mechanism", ["direct", "unary", "bloom"])
def test_what_is_fresh_in_a_change_is_what_two_rounds_of_the_same_people_differ_by(mechanism):
    """The standard deviation of a change over many simulations, beside the least error that is stated."""
    campaign = FIGURES.campaign_of("permanent", take_part=2, rounds=2, mechanism=mechanism)
    table = Dataset(
        campaign.domain, np.repeat(np.arange(4, dtype=np.uint16), (800, 600, 400, 200))[:, None]
    )
    changes, least = [], []
    for seed in range(30):
        found = publish_rounds(simulate_rounds([table, table], campaign, seed=seed))
        changes += [change.change / change.least_error for change in found.changes]
        least += [change.least_error / change.standard_error for change in found.changes]
    assert max(least) < 1
    assert 0.8 < np.std(changes) < 1.2


def test_a_permanent_device_says_the_same_underneath_and_sampled_ones_do_not():
    table = Dataset(FIGURES.DOMAIN, np.zeros((4000, 1), dtype=np.uint16))
    agreeing = {}
    for mode in ("sampled", "permanent"):
        campaign = FIGURES.campaign_of(mode, take_part=2, rounds=2)
        batch = simulate_rounds([table, table], campaign, seed=3)
        first, second = (
            batch.of_round(slot).payloads.numbers() for slot in campaign.terms.schedule.slots
        )
        law = campaign.channels((0,))[0].law()
        independent = float(law.p) ** 2 + 3 * float(law.q) ** 2
        agreeing[mode] = (first == second).mean() - independent
    assert abs(agreeing["sampled"]) < 6.2 * 0.5 / np.sqrt(4000)
    assert agreeing["permanent"] > 6.2 * 0.5 / np.sqrt(4000)


def test_averaging_finds_no_more_than_lifetime_epsilon_allows():
    for campaign in (
        FIGURES.campaign_of("permanent", take_part=12),
        FIGURES.campaign_of("sampled", take_part=2),
    ):
        right, most = FIGURES.averaged(campaign, 5_000, 11)
        assert right <= most + 6.2 * np.sqrt(most * (1 - most) / 5_000)


def test_averaging_over_more_rounds_of_a_permanent_answer_stops_at_that_answer():
    few, many = (
        FIGURES.averaged(FIGURES.campaign_of("permanent", take_part=m, rounds=40), 5_000, 12)[0]
        for m in (12, 40)
    )
    kept = float(
        FIGURES.campaign_of("permanent", take_part=12)
        .mechanism.permanent_layer()
        .sized(4, 1)
        .law()
        .p
    )
    assert few - 0.02 < many < kept + 6.2 * np.sqrt(kept * (1 - kept) / 5_000)


def test_sampled_devices_are_linked_by_chance_and_wide_permanent_bits_are_a_fingerprint():
    found = {}
    for mode in ("sampled", "permanent"):
        own = FIGURES.campaign_of(
            mode, take_part=2, rounds=2, mechanism="unary", domain=FIGURES.WIDE
        )
        codes = np.random.default_rng(3).integers(256, size=300).astype(np.uint16)
        batch = simulate_rounds([Dataset(FIGURES.WIDE, codes[:, None])] * 2, own, seed=5)
        found[mode], chance = FIGURES.linked(batch, *own.terms.schedule.slots, seed=7)
    assert found["sampled"] < chance + 0.05
    assert found["permanent"] > 0.8


def test_reports_of_several_rounds_are_not_studied_as_one():
    tables = [Dataset(FIGURES.DOMAIN, np.zeros((100 * ROUNDS, 1), dtype=np.uint16))] * ROUNDS
    batch = simulate_rounds(tables, MODES["sampled"], seed=1)
    for data in (batch, count(batch)):
        with pytest.raises(DomainError, match="these are reports of several rounds; choose one"):
            Study(data)
    one = batch.of_round("2026-01-01")
    assert len(Study(one)) == len(Study(count(one))) == (one.slots == batch.slots.min()).sum()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2027", "no round begins so; name one by its first day, such as 2026-01-01"),
        ("2026", r"\d+ rounds begin so"),
        ("", "no round"),
    ],
)
def test_a_round_is_named_by_its_first_day(name, message):
    tables = [Dataset(FIGURES.DOMAIN, np.zeros((400, 1), dtype=np.uint16))] * ROUNDS
    with pytest.raises(CampaignError, match=message):
        simulate_rounds(tables, MODES["sampled"], seed=1).of_round(name)


def test_a_round_with_too_few_reports_is_left_out_and_named():
    campaign = MODES["permanent"]
    tables = [Dataset(FIGURES.DOMAIN, np.zeros((400, 1), dtype=np.uint16))] * ROUNDS
    batch = simulate_rounds(tables, campaign, seed=1)
    slots = campaign.terms.schedule.slots
    thin = batch[(batch.slots != slots[1]) | (np.arange(len(batch)) % 8 == 0)]
    found = publish_rounds(thin)
    assert found.left_out == (slots[1],)
    assert {(change.first, change.second) for change in found.changes} >= {(slots[0], slots[2])}
    with pytest.raises(TooFewReports, match="no round has the 100 reports"):
        publish_rounds(batch[:50])


def test_histories_must_be_of_the_same_people_in_every_round():
    with pytest.raises(
        CampaignError, match=f"histories must be {ROUNDS} tables of the same people, got 1"
    ):
        simulate_rounds(
            [Dataset(FIGURES.DOMAIN, np.zeros((4, 1), dtype=np.uint16))], MODES["sampled"], seed=1
        )


@pytest.mark.parametrize("mechanism", ["direct", "unary", "bloom"])
@pytest.mark.parametrize("jointly", [True, False])
def test_simulated_permanent_rounds_of_listed_views_say_the_true_shares(mechanism, jointly):
    from datetime import date

    from lopub import (
        Boolean,
        CampaignRequest,
        Categorical,
        Domain,
        Repeat,
        Schedule,
        Terms,
        make_campaign,
    )

    domain = Domain((Categorical(name="a", values=tuple("xyz")), Boolean(name="b")))
    view = Listed.of(domain, [(("a",), 1), (("a", "b"), 1)])
    repeat = Repeat(every_days=1, rounds=3, take_part=3, mode="permanent")
    terms = Terms(
        name="listed", min_reports=200, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    wish = CampaignRequest(
        epsilon=2, lifetime_epsilon=5, mechanism=mechanism, view=view, jointly=jointly
    )
    campaign = make_campaign(domain, terms, wish)
    codes = np.random.default_rng(1).choice(3, 6000, p=[0.5, 0.3, 0.2])
    table = Dataset(domain, np.column_stack([codes, codes > 0]).astype(np.uint16))
    study = Study(simulate_rounds([table] * 3, campaign, seed=2).of_round("2026-01-03"))
    for (value,), answer in study.table("a").cells.items():
        assert (
            abs(answer.estimate - {"x": 0.5, "y": 0.3, "z": 0.2}[value])
            < 6.2 * answer.standard_error
        )
