"""The planner: expected errors against simulation, the design, what it needs the other way round, and what it refuses."""

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lopub import CampaignRequest, Population, ReportBatch, Terms, make_campaign, plan, publish, simulate
from lopub.cli import app
from lopub.collection.catalogue import ALUMNI
from lopub.contract.domain import Categorical, Domain
from lopub.contract.view import AllAttributes, Fill, Listed, Sample
from lopub.errors import CampaignError, DomainError, LopubError, TooFewReports
from lopub.forecast.design import designs, ranked, score, spread, usual_designs
from lopub.forecast.expectation import expected
from lopub.inference import Study
from lopub.laws import bulk_of
from lopub.laws.designs import Design
from lopub.planning import epsilon_needed, people_needed


def domain_of(*sizes: int) -> Domain:
    return Domain(tuple(Categorical(name=f"a{i}", values=tuple(map(str, range(size)))) for i, size in enumerate(sizes)))


FOUR = domain_of(4, 5, 6, 3)

# ---- theory


def test_a_subset_of_one_is_worth_what_direct_is():
    """With a large epsilon `subset` draws sets of one: the same mechanism, so the same worth."""
    one, other = (score(Design(name, Sample(2), True), FOUR.sizes, 6) for name in ("subset", "direct"))
    assert one.pair_worths == pytest.approx(other.pair_worths)


@pytest.mark.parametrize("mechanism", ["direct", "unary", "subset"])
def test_the_noise_in_closed_form_is_that_of_the_law(mechanism: str):
    campaign = make_campaign(domain_of(12), Terms(name="t"), CampaignRequest(epsilon=2, mechanism=mechanism))
    law = campaign.channels((0,))[0].law()
    mean = float(law.q + (law.p - law.q) / 12)
    assert bulk_of(campaign.mechanism).noise(campaign.mechanism.sized_law(12, 1)) == pytest.approx(
        mean * (1 - mean) / float(law.p - law.q) ** 2, rel=1e-6
    )


@pytest.mark.parametrize(
    "design",
    [
        Design("direct", Sample(2), True),
        Design("subset", Sample(2), True),
        Design("unary", Sample(2), True),
        Design("subset", Sample(2), False),
        Design("direct", Fill(40), True),
    ],
    ids=str,
)
def test_the_expected_error_of_pairs_is_that_of_simulated_ones(design: Design):
    """Unshrunk, every cell equally likely, enough reports that no cell is held at zero."""
    n, crowd = 40_000, Population.uniform(FOUR)
    wish = CampaignRequest(epsilon=4, mechanism=design.mechanism, view=design.view, jointly=design.jointly)
    people = crowd.people(n, 1)
    study = Study(simulate(people, make_campaign(FOUR, Terms(name="t"), wish), seed=1))
    errors = [
        np.abs(study.joint_of(pair, "em").probabilities - people.counts([FOUR.names[p] for p in pair]) / n).sum() / 2
        for pair in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    ]
    assert score(design, FOUR.sizes, 4).pair_error(n) == pytest.approx(np.mean(errors), rel=0.3)


def test_more_people_and_a_larger_epsilon_lower_every_expected_error():
    for design in designs(FOUR.sizes, 3):
        low, high = score(design, FOUR.sizes, 3), score(design, FOUR.sizes, 4)
        assert low.marginal_error(4000) < low.marginal_error(1000)
        assert high.marginal_error(1000) <= low.marginal_error(1000) + 1e-12


def test_listed_views_have_a_score():
    rule = Listed.of(FOUR, [(("a0", "a1"), 3), (("a2", "a3"), 1)])
    found = score(Design("direct", rule, True), FOUR.sizes, 4)
    assert found.marginal_worths[0] > found.marginal_worths[2] > 0
    assert found.pair_worths.count(0.0) == 4


def test_nothing_is_worth_nothing():
    assert spread(4, 0.0) == math.inf


def test_the_usual_designs_are_among_all():
    for epsilon in (0.5, 4, 12):
        assert {str(one) for one in usual_designs(FOUR.sizes, epsilon)} <= {str(one) for one in designs(FOUR.sizes, epsilon)}


def test_for_single_attributes_one_question_each_is_a_choice():
    best = ranked(designs(FOUR.sizes, 1), FOUR.sizes, 1, goal="marginals")[0]
    assert best.marginal_error(1000) <= min(score(one, FOUR.sizes, 1).marginal_error(1000) for one in designs(FOUR.sizes, 1))


def test_a_finished_campaign_is_expected_to_give_what_its_choice_is():
    campaign = make_campaign(FOUR, Terms(name="t"), CampaignRequest(epsilon=5, mechanism="direct", view=Sample(2)))
    by_choice = score(Design("direct", Sample(2), True), FOUR.sizes, 5)
    assert expected(campaign).pair_error(1000) == pytest.approx(by_choice.pair_error(1000), rel=1e-6)
    bloom = make_campaign(FOUR, Terms(name="t"), CampaignRequest(flip_probability=0.5))
    assert 0 < expected(bloom).marginal_error(10_000) < 0.1


def test_symmetric_unary_noise_is_that_of_its_own_law():
    """Not that of the optimized kind at the same epsilon."""
    campaign = make_campaign(domain_of(10), Terms(name="t"), CampaignRequest(flip_probability=0.5, mechanism="unary"))
    law = campaign.channels((0,))[0].law()
    mean = float(law.q + (law.p - law.q) / 10)
    worth = 1 / (10 * mean * (1 - mean) / float(law.p - law.q) ** 2 + (0 if campaign.jointly else 1 / 10))
    assert expected(campaign).marginal_worths[0] == pytest.approx(worth, rel=1e-6)


# ---- plans


def test_a_plan_takes_the_best_of_those_it_tried():
    found = plan(FOUR, people=3000, epsilon=3)
    tried = [option.trial.pair_error for option in found.options if option.trial is not None]
    assert len(tried) == 3
    assert found.error == tried[0] == min(tried)


def test_before_each_trial_it_is_told_which_design_is_tried():
    told: list[tuple[str, int, int | None]] = []
    found = plan(FOUR, people=300, epsilon=3, progress=lambda *step: told.append(step))
    assert {doing for doing, _, _ in told} == {f"trying {option.design}" for option in found.options if option.trial is not None}
    assert [(n, total) for _, n, total in told] == [(0, 3), (1, 3), (2, 3)]


def test_a_plan_makes_a_campaign_within_its_epsilon():
    found = plan(FOUR, people=3000, epsilon=3)
    campaign = found.campaign(Terms(name="t"))
    assert campaign.epsilon <= 3
    assert (campaign.mechanism.name, campaign.view) == (found.best.design.mechanism, found.best.design.view)


def test_a_plan_is_the_same_every_time():
    one, other = (plan(FOUR, people=2000, epsilon=3, seed=5) for _ in range(2))
    assert one.error == other.error
    assert [str(option.design) for option in one.options] == [str(option.design) for option in other.options]


def test_the_error_that_a_plan_predicts_on_a_table_is_what_comes_out():
    people = ALUMNI.people(6000, seed=1)
    found = plan(people.domain, people=6000, epsilon=6, population=Population.of_table(people))
    study = Study(simulate(people, found.campaign(Terms(name="t")), seed=99))
    errors = [joint.avd(people.counts(names) / 6000) for names, joint in study.pairs().items()]
    assert found.error == pytest.approx(np.mean(errors), rel=0.2)


def test_a_plan_for_a_table_predicts_the_error_of_the_table_that_is_published():
    table = ALUMNI.people(6000, seed=1)
    found = plan(table.domain, people=6000, epsilon=6, goal="table", population=Population.of_table(table), n_tried=1)
    published = publish(simulate(table, found.campaign(Terms(name="t")), seed=5), seed=5).synthetic
    pairs = list(combinations(table.domain.names, 2))
    error = np.mean([np.abs(published.counts(pair) - table.counts(pair)).sum() / 2 / len(table) for pair in pairs])
    assert error / found.error == pytest.approx(1, abs=0.3)
    assert found.error != found.best.error("pairs", 6000)


def test_twice_the_people_is_better_and_half_the_epsilon_worse():
    found = plan(FOUR, people=3000, epsilon=3)
    assert found.error_with(people=2) < found.error < found.error_with(epsilon=0.5)


def test_curves_fall_with_people_and_with_epsilon():
    found = plan(FOUR, people=3000, epsilon=3)
    for of in ("people", "epsilon"):
        values, errors = zip(*found.curve(of), strict=True)
        assert list(values) == sorted(values)
        assert list(errors) == sorted(errors, reverse=True)
    assert (3000, found.error) in found.curve("people")


def test_noise_that_drowns_every_dependence_is_told_beforehand():
    assert plan(FOUR, people=100, epsilon=0.2).independence_wins
    assert not plan(FOUR, people=20_000, epsilon=6).independence_wins


def test_on_a_table_the_trial_decides_whether_independence_wins():
    people = ALUMNI.people(4000, seed=1)
    crowd = Population.of_table(people)
    assert plan(people.domain, people=300, epsilon=0.5, population=crowd).independence_wins
    assert not plan(people.domain, people=20_000, epsilon=8, population=crowd).independence_wins


def test_attributes_that_matter_more_weigh_more():
    """Large attributes have larger errors: what is asked for alone decides what is expected."""
    sizes = domain_of(2, 2, 30, 30)
    light, heavy = (
        plan(sizes, people=3000, epsilon=3, weights=dict.fromkeys(names, 0.0)) for names in (("a2", "a3"), ("a0", "a1"))
    )
    assert light.error < heavy.error
    assert light.best.score.marginal_error(3000) < heavy.best.score.marginal_error(3000)


def test_weights_that_cannot_be_are_refused():
    for weights in ({"a0": -1.0}, {"a0": float("nan")}, dict.fromkeys(FOUR.names, 0.0)):
        with pytest.raises(DomainError, match="weights must not be negative"):
            plan(FOUR, people=100, epsilon=1, weights=weights)
    with pytest.raises(DomainError, match="there is no attribute 'b'"):
        plan(FOUR, people=100, epsilon=1, weights={"b": 1.0})


def test_one_attribute_can_be_planned():
    found = plan(domain_of(7), people=1000, epsilon=1)
    assert found.best.design.view == AllAttributes()
    assert 0 < found.error < 1
    assert not found.independence_wins


def test_people_needed_reach_the_wanted_error():
    people = people_needed(FOUR, epsilon=4, error=0.05)
    assert plan(FOUR, people=people, epsilon=4).error == pytest.approx(0.05, rel=0.35)


def test_epsilon_needed_reaches_the_wanted_error():
    epsilon = epsilon_needed(FOUR, people=5000, error=0.05)
    assert plan(FOUR, people=5000, epsilon=epsilon).error == pytest.approx(0.05, rel=0.35)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plan(FOUR, people=10, epsilon=0), CampaignError, "epsilon must be above 0, got 0"),
        (lambda: plan(FOUR, people=10, epsilon=-1), CampaignError, "epsilon must be above 0, got -1"),
        (lambda: plan(FOUR, people=0, epsilon=1), TooFewReports, "people must be at least 1, got 0"),
        (
            lambda: plan(FOUR, people=10, epsilon=1, goal="fame"),
            DomainError,
            "goal must be one of pairs, marginals, table, got 'fame'",
        ),
        (lambda: people_needed(FOUR, epsilon=1, error=0), DomainError, "error must lie between 0 and 1, got 0"),
        (lambda: epsilon_needed(FOUR, people=50, error=1e-6), TooFewReports, "the nearest is"),
        (lambda: Population.with_shares(FOUR, {"a0": [1.0]}), DomainError, "shares of attribute 'a0' must be 4 numbers"),
    ],
)
def test_what_cannot_be_planned_is_refused(call, error: type[LopubError], words: str):
    with pytest.raises(error, match=words):
        call()


# ---- the command line


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "draft.json"
    make_campaign(FOUR, Terms(name="t", min_reports=50), CampaignRequest(epsilon=1)).save(path)
    return path


def run(*arguments: object):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_the_command_prints_a_plan_and_writes_the_campaign(draft: Path, tmp_path: Path):
    result = run(draft, "--people", 3000, "--epsilon", 4, "-o", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    assert "twice the people" in result.output
    batch = simulate(Population.uniform(FOUR).people(100, 1), _campaign(tmp_path / "c.json"), seed=1)
    assert isinstance(batch, ReportBatch)


def _campaign(path: Path):
    from lopub import Campaign

    return Campaign.load(path)


def test_the_command_speaks_json(draft: Path):
    found = json.loads(run(draft, "--people", 3000, "--epsilon", 4, "--json").output)
    assert found["options"][0]["tried"]["pairs"] == found["error"]


def test_two_of_three_must_be_given(draft: Path):
    assert run(draft, "--people", 3000).exit_code == 2
    assert run(draft, "--people", 3000, "--epsilon", 1, "--error", 0.1).exit_code == 2


def test_fewer_people_than_the_campaign_asks_for_are_refused(draft: Path):
    result = run(draft, "--people", 20, "--epsilon", 4)
    assert isinstance(result.exception, TooFewReports)
    assert "at least 50 reports" in str(result.exception)
