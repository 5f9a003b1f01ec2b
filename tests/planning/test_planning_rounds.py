"""What `lopub plan` says about rounds is what simulated rounds come to."""

from datetime import date

import numpy as np
import pytest

from lopub import Categorical, Dataset, Domain, Repeat, Schedule, Terms, make_campaign, publish_rounds, simulate_rounds
from lopub.forecast.population import Population
from lopub.forecast.request import CampaignRequest
from lopub.planning.rounds import round_options

DOMAIN = Domain((Categorical(name="answer", values=tuple("abcd")),))
PEOPLE, ROUNDS = 12_000, 4
SCHEDULE = Schedule.in_rounds(date(2026, 1, 1), Repeat(every_days=30, rounds=ROUNDS, take_part=2))
OPTIONS = {
    (one.mode, one.take_part): one
    for one in round_options(DOMAIN, SCHEDULE, people=PEOPLE, lifetime_epsilon=2, population=Population.like_surveys(DOMAIN))
}


def test_both_modes_stand_side_by_side_with_one_lifetime_epsilon():
    assert list(OPTIONS) == [("sampled", 1), ("sampled", 2), ("sampled", 4), ("permanent", 4)]
    assert all(one.lifetime_epsilon == pytest.approx(2, abs=1e-6) for one in OPTIONS.values())
    assert [one.n_reports for one in OPTIONS.values()] == [3000, 6000, 12000, 12000]


def test_fewer_reports_with_less_noise_each_tell_more():
    errors = [OPTIONS["sampled", m].share_error for m in (1, 2, 4)]
    assert errors == sorted(errors)


@pytest.mark.parametrize(("mode", "take_part"), [("sampled", 2), ("permanent", 4)])
def test_the_errors_that_are_planned_are_those_that_come_out(mode, take_part):
    one = OPTIONS[mode, take_part]
    repeat = Repeat(every_days=30, rounds=ROUNDS, take_part=take_part, mode=mode)
    terms = Terms(name="rounds", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat))
    kept = {"lifetime_epsilon": 2} if mode == "permanent" else {}
    campaign = make_campaign(DOMAIN, terms, CampaignRequest(epsilon=2 / take_part if mode == "sampled" else 1, **kept))
    table = Dataset(DOMAIN, np.random.default_rng(1).integers(0, 4, (PEOPLE, 1)).astype(np.uint16))
    found = publish_rounds(simulate_rounds([table] * ROUNDS, campaign, seed=1))
    assert one.share_error == pytest.approx(np.mean([level.standard_error for level in found.levels]), rel=0.3)
    assert one.change_error == pytest.approx(np.mean([change.standard_error for change in found.changes]), rel=0.3)
    assert one.least_change_error == pytest.approx(np.mean([change.least_error for change in found.changes]), rel=0.3)
