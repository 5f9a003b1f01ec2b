"""Alarms come when there are fakes, and hardly ever when there are none."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import fakes
from load import note_figures
from lopub import CampaignRequest, Domain, IntegerRange, Listed, Terms, make_campaign
from lopub.bulk.base import bulk_of
from lopub.campaign.schedule import Repeat, Schedule
from lopub.planning.alarms import (
    COVERAGE,
    DRIFT,
    FALSE_ALARMS,
    MADE,
    ONES,
    REPEATS,
    ROUNDS,
    SHARES,
    Alarm,
    _bit_sums,
    _largest_change,
    alarms_of,
    checks_of,
)
from lopub.planning.coverage import odd_coverage
from lopub.reports.counts import count
from tiers import FULL

N_HONEST = 1000 if FULL else 24


def test_honest_campaigns_hardly_ever_raise_an_alarm():
    """The seeds are fixed: in the short profile nothing comes."""
    alarmed = 0
    for seed in range(N_HONEST):
        target = fakes.campaign(list(fakes.DESIGNS)[seed % len(fakes.DESIGNS)])
        alarmed += any(
            not alarm.is_notice for alarm in alarms_of(fakes.honest(target, 2_000, seed))
        )
    note_figures("alarms", "all", honest_campaigns=N_HONEST, false_alarms=alarmed)
    assert alarmed <= N_HONEST // 50


def test_all_alarms_share_one_false_alarm_in_a_hundred():
    assert FALSE_ALARMS == 0.01
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("design", "kind", "alarm"),
    [
        ("subset, sample:2, jointly", "chosen view", COVERAGE),
        ("unary, sample:2, jointly", "all ones", ONES),
        ("unary, sample:2, separately", "all ones", ONES),
        ("bloom, all, separately", "all ones", ONES),
        ("unary, sample:2, jointly", "copies", REPEATS),
        ("subset, sample:2, jointly", "copies", REPEATS),
        ("bloom, all, separately", "one payload", REPEATS),
    ],
)
def test_fakes_raise_their_alarm(design: str, kind: str, alarm: str):
    batch = fakes.mixed(fakes.campaign(design), kind, 4_000, 0.05, seed=1)
    assert alarm in [each.kind for each in alarms_of(batch)]


@pytest.mark.parametrize("design", fakes.DESIGNS)
def test_liars_who_follow_the_protocol_raise_none(design: str):
    """What no alarm can see."""
    found = alarms_of(fakes.mixed(fakes.campaign(design), "liars", 4_000, 0.2, seed=2))
    assert [each for each in found if not each.is_notice] == []


@pytest.mark.parametrize("design", fakes.DESIGNS)
def test_the_likeliest_output_is_not_met_more_often_than_its_chance(design: str):
    """Of many reports of one answer, none comes more often than a binomial with that chance allows (ten standard deviations)."""
    target = fakes.campaign(design)
    batch = fakes.liars(target, 30_000, seed=3)
    for number in range(min(3, len(batch.views))):
        rows = batch.rows_of(number)
        likeliest = np.exp(
            sum(
                bulk_of(target.mechanism).log_likeliest(channel)
                for channel in batch.channels(number)
            )
        )
        most = np.unique(batch.payloads.matrix(rows), axis=0, return_counts=True)[1].max()
        expected = len(rows) * likeliest
        assert most <= expected + 10 * np.sqrt(expected) + 10


@pytest.mark.parametrize("design", ["unary, sample:2, jointly", "bloom, all, separately"])
def test_the_number_of_ones_follows_its_law(design: str):
    target = fakes.campaign(design)
    batch = fakes.honest(target, 30_000, seed=4)
    bulk, rows = bulk_of(target.mechanism), batch.rows_of(0)
    chances = np.ones(1)
    for channel in batch.channels(0):
        of_block = bulk.ones_chances(channel)
        assert of_block is not None and of_block.sum() == pytest.approx(1)
        chances = np.convolve(chances, of_block)
    ones = np.bitwise_count(batch.payloads.matrix(rows)).sum(axis=1)
    mean = float(chances @ np.arange(len(chances)))
    spread = float(np.sqrt(chances @ (np.arange(len(chances)) - mean) ** 2))
    assert abs(ones.mean() - mean) < 6.5 * spread / np.sqrt(len(rows))
    assert abs(ones.mean() - mean - 0.5) > 6.5 * spread / np.sqrt(len(rows))


@pytest.mark.parametrize(
    "design",
    ["direct, sample:2, jointly", "subset, sample:2, jointly", "hashed, sample:2, jointly"],
)
def test_where_ones_say_nothing_there_is_no_law_of_them(design: str):
    target = fakes.campaign(design)
    assert bulk_of(target.mechanism).ones_chances(target.channels((0, 1))[0]) is None


@pytest.mark.parametrize("sizes", [(40, 40, 3), (1500,)])
def test_large_domains_have_outputs_too_unlikely_for_a_float_and_are_looked_at_all_the_same(
    sizes: tuple[int, ...],
):
    domain = Domain(
        tuple(
            IntegerRange(name=f"q{i}", minimum=0, maximum=size - 1) for i, size in enumerate(sizes)
        )
    )
    target = make_campaign(
        domain, Terms(name="large"), CampaignRequest(epsilon=1, mechanism="subset")
    )
    batch = fakes.honest(target, 400, seed=9)
    assert min(
        bulk_of(target.mechanism).log_likeliest(channel) for channel in batch.channels(0)
    ) < np.log(np.finfo(float).tiny)
    assert alarms_of(batch) == ()
    copied = fakes.ReportBatch.concatenated([batch, fakes.copies(target, 40, seed=10)])
    assert [each.kind for each in alarms_of(copied)] == [REPEATS]


def test_drift_between_days_is_a_notice():
    target = fakes.campaign("unary, sample:2, separately")
    early, late = fakes.honest(target, 8_000, seed=5), fakes.liars(target, 8_000, seed=6)
    slots = np.repeat(np.array([10, 11], dtype=np.uint32), 8_000)
    batch = fakes.replaced_slots(fakes.ReportBatch.concatenated([early, late]), slots)
    assert [(each.kind, each.is_notice) for each in alarms_of(batch)] == [(DRIFT, True)]
    calm = fakes.replaced_slots(fakes.honest(target, 16_000, seed=7), slots)
    assert alarms_of(calm) == ()


def test_rare_bits_of_a_small_half_are_no_drift():
    """The normal law does not hold for them: 8 ones of 150 where 1 % is usual. Bits that are common enough are looked at."""
    early, late = np.array([130, 6500]), np.array([8, 75])
    assert _largest_change(early, late, 13_000, 150) == (pytest.approx(0.0, abs=0.1), 1)
    assert _largest_change(early, np.array([8, 150]), 13_000, 150)[0] > 10
    assert _largest_change(early[:1], late[:1], 13_000, 150) == (0.0, 0)


def test_bits_are_added_up_in_blocks(monkeypatch: pytest.MonkeyPatch):
    batch = fakes.honest(fakes.campaign("unary, sample:2, separately"), 2_000, seed=12)
    rows = batch.rows_of(0)
    monkeypatch.setattr("lopub.planning.alarms.BLOCK", 7)
    expected = np.unpackbits(batch.payloads.matrix(rows), axis=1).sum(axis=0)
    assert len(rows) > 14 and _bit_sums(batch, rows).tolist() == expected.tolist()


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_views_that_devices_keep_are_not_taken_for_fakes(mode: str):
    """The same 50 devices in 20 rounds: where they keep their view, 50 draws look like 1,000."""
    repeat = Repeat(every_days=1, rounds=20, take_part=20, mode=mode)
    terms = Terms(
        name="rounds", min_reports=200, schedule=Schedule.in_rounds(date(2026, 1, 5), repeat)
    )
    names = fakes.DOMAIN.names
    view = Listed.of(fakes.DOMAIN, [(names[:2], 1), (names[2:], 1)])
    wish = CampaignRequest(epsilon=2, mechanism="unary", view=view, jointly=False)
    wish = wish if mode == "sampled" else replace(wish, lifetime_epsilon=5)
    target = make_campaign(fakes.DOMAIN, terms, wish)
    many = fakes.honest(target, 200, seed=11)
    drawn = many[np.tile(np.concatenate([many.rows_of(0)[:32], many.rows_of(1)[:18]]), 20)]
    one = fakes.replaced_slots(drawn, np.full(1000, 20_458, dtype=np.uint32))
    all_rounds = fakes.replaced_slots(
        drawn, np.repeat(np.arange(20_458, 20_478, dtype=np.uint32), 50)
    )
    assert COVERAGE in [each.kind for each in alarms_of(one)] and checks_of(one)[COVERAGE] == MADE
    is_looked_for = mode == "sampled"
    assert [each.kind for each in alarms_of(all_rounds)] == [COVERAGE] * is_looked_for
    assert bool(odd_coverage(all_rounds)) == is_looked_for
    assert checks_of(all_rounds)[COVERAGE] == (MADE if is_looked_for else ROUNDS)
    assert [checks_of(all_rounds)[kind] for kind in (ONES, REPEATS, DRIFT)] == [ROUNDS] * 3


def test_counts_tell_coverage_alone():
    target = fakes.campaign("subset, sample:2, jointly")
    found = alarms_of(count(fakes.mixed(target, "chosen view", 4_000, 0.05, seed=8)))
    assert [each.kind for each in found] == [COVERAGE]


def test_of_repeats_the_largest_excess_is_told():
    """Two reports that are the same are all but impossible here, but hundreds of copies are the news."""
    batch = fakes.mixed(fakes.campaign("subset, sample:2, jointly"), "copies", 4_000, 0.1, seed=1)
    (alarm,) = alarms_of(batch)
    assert alarm.kind == REPEATS and alarm.attributes == () and alarm.observed > 100
    batch = fakes.mixed(
        fakes.campaign("subset, sample:2, jointly"), "one payload", 4_000, 0.1, seed=1
    )
    (alarm,) = [each for each in alarms_of(batch) if each.kind == REPEATS]
    assert alarm.observed > 350


def test_an_alarm_says_what_it_saw():
    assert Alarm(kind=COVERAGE, observed=1200, expected=400.2, attributes=("a", "b")).sentence == (
        "1,200 reports cover a and b, where the campaign's draw gives about 400"
    )
    assert Alarm(kind=REPEATS, observed=12, expected=0.2).sentence == (
        "12 reports repeat the noisy answers of another one, where at most 0 are expected by chance"
    )
    assert Alarm(kind=ONES, observed=12, expected=0.2).to_json() == {
        "kind": "ones",
        "observed": 12,
        "expected": 0.2,
        "attributes": [],
        "notice": False,
    }
