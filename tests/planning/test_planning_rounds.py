"""What `lopub plan` says about rounds is what simulated rounds come to."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from lopub import (
    Categorical,
    Dataset,
    Domain,
    Repeat,
    Schedule,
    Terms,
    make_campaign,
    publish_rounds,
    simulate_rounds,
)
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest
from lopub.planning.rounds import kept_options, round_options

DOMAIN = Domain((Categorical(name="answer", values=tuple("abcd")),))
PEOPLE, ROUNDS = 12_000, 4
SCHEDULE = Schedule.in_rounds(date(2026, 1, 1), Repeat(every_days=30, rounds=ROUNDS, take_part=2))
OPTIONS = {
    (one.mode, one.take_part): one
    for one in round_options(
        DOMAIN,
        SCHEDULE,
        people=PEOPLE,
        lifetime_epsilon=2,
        population=Population.like_surveys(DOMAIN),
    )
}


def test_both_modes_stand_side_by_side_with_one_lifetime_epsilon():
    assert list(OPTIONS) == [("sampled", 1), ("sampled", 2), ("sampled", 4), ("permanent", 4)]
    assert all(one.lifetime_epsilon == pytest.approx(2, abs=1e-6) for one in OPTIONS.values())
    assert [one.n_reports for one in OPTIONS.values()] == [3000, 6000, 12000, 12000]


def test_what_the_schedule_says_stands_among_the_others_and_is_marked():
    own = [key for key, one in OPTIONS.items() if one.is_own]
    assert own == [("sampled", 2)]
    odd = replace(SCHEDULE.repeat, take_part=3)
    question = {
        "people": PEOPLE,
        "lifetime_epsilon": 2,
        "population": Population.like_surveys(DOMAIN),
    }
    found = list(round_options(DOMAIN, replace(SCHEDULE, repeat=odd), **question))
    assert [(one.take_part, one.is_own) for one in found] == [
        (1, False),
        (2, False),
        (3, True),
        (4, False),
        (4, False),
    ]


@pytest.mark.parametrize("take_part", [2, 4])
def test_ways_to_keep_an_answer_are_compared_for_the_people_of_a_round(take_part):
    repeat = Repeat(every_days=30, rounds=ROUNDS, take_part=take_part, mode="permanent")
    terms = Terms(
        name="kept", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    domain = Domain((*DOMAIN.attributes, Categorical(name="other", values=("x", "y"))))
    question = {"population": Population.like_surveys(domain), "goal": "pairs"}
    found = kept_options(domain, terms, people=PEOPLE, epsilon=1, lifetime_epsilon=2, **question)
    assert len(found) == 4 and {one.forecast.people for one in found} == {
        PEOPLE * take_part // ROUNDS
    }
    assert [one.forecast.pairs for one in found] == sorted(one.forecast.pairs for one in found)
    assert all(one.campaign.lifetime_epsilon == pytest.approx(2, abs=1e-6) for one in found)
    kept = found[0].campaign
    options = list(
        round_options(
            domain,
            terms.schedule,
            people=PEOPLE,
            lifetime_epsilon=2,
            population=question["population"],
            kept=kept,
        )
    )
    assert [(one.mode, one.take_part) for one in options if one.is_own] == [
        ("permanent", take_part)
    ]
    assert next(one for one in options if one.is_own).epsilon == kept.epsilon


def test_people_and_reports_of_a_round_agree():
    repeat = Repeat(every_days=1, rounds=12, take_part=5)
    assert [repeat.reports_a_round(people) for people in (0, 12, 13, 24)] == [0, 5, 5, 10]
    assert all(
        repeat.reports_a_round(repeat.people_for(n))
        >= n
        > repeat.reports_a_round(repeat.people_for(n) - 1)
        for n in range(1, 50)
    )


def test_fewer_reports_with_less_noise_each_tell_more():
    errors = [OPTIONS["sampled", m].share_error for m in (1, 2, 4)]
    assert errors == sorted(errors)


@pytest.mark.parametrize(("mode", "take_part"), [("sampled", 2), ("permanent", 4)])
def test_the_errors_that_are_planned_are_those_that_come_out(mode, take_part):
    one = OPTIONS[mode, take_part]
    repeat = Repeat(every_days=30, rounds=ROUNDS, take_part=take_part, mode=mode)
    terms = Terms(
        name="rounds", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    kept = {"lifetime_epsilon": 2} if mode == "permanent" else {}
    campaign = make_campaign(
        DOMAIN, terms, CampaignRequest(epsilon=2 / take_part if mode == "sampled" else 1, **kept)
    )
    table = Dataset(DOMAIN, np.random.default_rng(1).integers(0, 4, (PEOPLE, 1)).astype(np.uint16))
    found = publish_rounds(simulate_rounds([table] * ROUNDS, campaign, seed=1))
    assert one.share_error == pytest.approx(
        np.mean([level.standard_error for level in found.levels]), rel=0.3
    )
    assert one.change_error == pytest.approx(
        np.mean([change.standard_error for change in found.changes]), rel=0.3
    )
    assert one.least_change_error == pytest.approx(
        np.mean([change.least_error for change in found.changes]), rel=0.3
    )
