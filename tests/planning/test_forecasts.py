"""The model of error: what it gets right where it was once wrong, and which figures of a plan fall with people and epsilon."""

from itertools import pairwise

import numpy as np
import pytest

from lopub import CampaignRequest, Population, Terms, make_campaign, plan, simulate
from lopub.bulk.designs import Design
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Categorical, Domain
from lopub.campaign.views import AllAttributes, Fill, Sample
from lopub.planning.design import error_of
from lopub.planning.draws import drawn_counts
from lopub.planning.mixed import FEWEST_OF_PAIR, mixed_designs
from lopub.planning.outlook import UNSEEN, crowd_of, outlook
from lopub.planning.planner import planner_of
from lopub.planning.trial import affordable, tried
from lopub.queries import Study
from tiers import FULL


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


SIXTEEN = domain_of(*(2,) * 16)


@pytest.mark.parametrize("goal", ["pairs", "shares"])
@pytest.mark.parametrize("of", ["people", "epsilon"])
def test_both_figures_of_a_curve_fall(goal: str, of: str):
    rng = np.random.default_rng([len(goal), len(of)])
    for _ in range(20 if FULL else 1):
        domain = domain_of(
            *(int(size) for size in np.exp(rng.uniform(np.log(2), np.log(60), rng.integers(2, 6))))
        )
        crowd = Population.like_surveys(domain, dependence="strong")
        people, epsilon = int(np.exp(rng.uniform(6, 14))), float(np.exp(rng.uniform(-1, 2)))
        found = plan(domain, people=people, epsilon=epsilon, goal=goal, population=crowd)
        for curve in (found.curve(of), found.curve_beside(of)):
            errors = [error for _, error in curve]
            assert all(later <= earlier + 1e-12 for earlier, later in pairwise(errors))


def test_shares_beside_the_goal_do_not_rise_where_another_design_becomes_best():
    """Thirty by thirty answers that hang together strongly: with more people pairs are asked, which is worse for shares."""
    domain = domain_of(30, 30)
    found = plan(
        domain,
        people=20_000,
        epsilon=2,
        population=Population.like_surveys(domain, dependence="strong"),
    )
    errors = [error for _, error in found.curve_beside("people")]
    assert errors == sorted(errors, reverse=True)
    assert dict(found.curve_beside("people"))[found.people] == found.best.forecast.shares


def test_views_that_are_drawn_alike_have_the_same_forecast():
    """Where every question has two answers, a view of eight cells is one of three questions."""
    crowd = Population.like_surveys(SIXTEEN)
    filled, sampled = (
        outlook(Design("direct", view, True), crowd, 4).at(15_000) for view in (Fill(8), Sample(3))
    )
    assert filled.pairs == pytest.approx(sampled.pairs, rel=0.005)
    assert filled.shares == pytest.approx(sampled.shares, rel=0.005)


def test_shares_alone_are_those_of_the_whole_forecast():
    crowd = Population.like_surveys(domain_of(3, 12, 2, 40))
    for view in (AllAttributes(), Sample(2)):
        found = outlook(Design("direct", view, False), crowd, 2)
        assert [found.shares_at(n) for n in (1, 300, 10**6)] == [
            found.at(n).shares for n in (1, 300, 10**6)
        ]


def test_dependence_that_no_report_covers_counts_more_where_nobody_knows_it():
    crowd = Population.like_surveys(SIXTEEN)
    alone = outlook(Design("subset", Sample(1), True), crowd, 4).at(10**9)
    assert alone.pairs == pytest.approx(UNSEEN * np.mean(crowd_of(crowd).independence), rel=0.01)
    table = Population.of_table(crowd.people(5000, 1))
    known = outlook(Design("subset", Sample(1), True), table, 4).at(10**9)
    assert known.pairs == pytest.approx(np.mean(crowd_of(table).independence), rel=0.01)


def test_dependence_that_is_published_by_chance_is_part_of_the_forecast():
    crowd = Population.like_surveys(SIXTEEN, dependence="none")
    for mechanism in ("subset", "direct"):
        forecast = outlook(Design(mechanism, Sample(2), True), crowd, 1).at(15_000)
        assert 1.02 * forecast.blind < forecast.pairs < 1.3 * forecast.blind


@pytest.mark.slow
@pytest.mark.parametrize(
    "share", [0.02, *(pytest.param(share, marks=pytest.mark.full) for share in (0.5, 0.001))]
)
def test_shares_of_a_skewed_question_are_forecast(share: float):
    """Shrinking towards uniform shares helps where they are nearly so, and costs where nearly everybody gives one answer."""
    domain = domain_of(2, 3)
    crowd = Population.with_shares(
        domain, {"a0": [1 - share, share], "a1": [0.5, 0.3, 0.2]}, dependence="none"
    )
    design = Design("subset", AllAttributes(), True)
    trials = [tried(design, crowd, people=2000, epsilon=1, seed=seed) for seed in range(40)]
    forecast = outlook(design, crowd, 1).at(2000)
    assert forecast.shares == pytest.approx(
        np.mean([trial.share_error for trial in trials]), rel=0.25
    )
    assert forecast.pairs == pytest.approx(
        np.mean([trial.pair_error for trial in trials]), rel=0.25
    )


def test_errors_fall_where_noise_drowns_a_question_of_a_thousand_answers():
    """Shares that are all but uniform because nothing is seen must not look better than those of which something is."""
    made = planner_of(domain_of(2, 1000))
    errors = [made.error(people, 2.0) for people in (60, 500, 1000, 2000, 4000, 30_000)]
    assert errors == sorted(errors, reverse=True)
    assert made.error(500, 4.0) <= made.error(500, 2.0) <= made.error(500, 1.0)


@pytest.mark.parametrize("mechanism", ["unary", "hashed"])
def test_counts_that_are_drawn_vary_as_reports_do_where_one_cell_holds_nearly_everybody(
    mechanism: str,
):
    domain = domain_of(2, 2)
    campaign = make_campaign(
        domain, Terms(name="t"), CampaignRequest(epsilon=2, mechanism=mechanism, jointly=True)
    )
    crowd = Population.with_shares(
        domain, {"a0": [0.999, 0.001], "a1": [0.999, 0.001]}, dependence="none"
    )
    drawn = np.array([_ones(drawn_counts(campaign, crowd, 2000, seed)) for seed in range(200)])
    made = np.array(
        [
            _ones(Study(simulate(crowd.people(2000, seed), campaign, seed=seed)).counts)
            for seed in range(200)
        ]
    )
    assert drawn[:, 0].std() == pytest.approx(made[:, 0].std(), rel=0.25)
    assert drawn[:, 0].mean() == pytest.approx(made[:, 0].mean(), rel=0.02)


def _ones(counts) -> np.ndarray:
    table = counts.tables[(0, 1), 0].counts.sum(axis=0)
    return table[1:] if len(table) == 5 else table.reshape(-1)


def test_few_people_are_not_spared_for_single_questions():
    fewest = {people for _, people in mixed_designs(SIXTEEN, 4, (1.0,) * 16)}
    assert min(fewest) == FEWEST_OF_PAIR * 120 / 0.75
    found = plan(SIXTEEN, people=15_000, epsilon=1)
    assert all("one question" not in option.label(SIXTEEN.sizes) for option in found.options)


def test_questions_with_thousands_of_answers_are_not_tried_together():
    assert not affordable(Design("hashed", Sample(2), True), (5000, 3))
    assert affordable(Design("hashed", Sample(1), True), (5000, 3))
    assert affordable(Design("direct", Fill(10**9), True), (5000, 3))


# ---- people who keep a questionnaire's rules


def ruled() -> Domain:
    whether = Categorical(name="works", values=("no", "yes"))
    job = Categorical(
        name="job", values=("a", "b", "c"), only_if=Comparison("works", "equals", ("yes",))
    )
    return Domain((whether, job, *domain_of(40, 30).attributes))


def test_answers_that_no_rule_ties_to_each_other_keep_their_closed_form():
    crowd = Population.like_surveys(ruled())
    assert [crowd.has_closed_form(pair) for pair in ((0, 1), (0, 2), (1, 3), (2, 3))] == [
        False,
        True,
        True,
        True,
    ]
    assert crowd.joint((0, 1))[0, :3].sum() == 0  # who does not work has no job
    plain = Population.like_surveys(domain_of(2, 3, 40, 30))
    assert np.abs(crowd.joint((2, 3)) - plain.joint((2, 3))).max() < 0.002
    assert error_of(plan(ruled(), people=10_000, epsilon=4).best.forecast, "pairs") > 0


@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (2, 5, 0, 3, 1, 4)])
def test_the_order_of_questions_hardly_matters(order: tuple[int, ...]):
    """Within 3 %: views of `fill` are drawn a little differently in another order."""
    questions = [
        Categorical(name=f"q{i}", values=tuple(map(str, range(size))))
        for i, size in enumerate((2, 3, 4, 6, 10, 20))
    ]
    one, other = (
        plan(Domain(tuple(own)), people=20_000, epsilon=6, n_tried=0).best.forecast
        for own in (questions, [questions[i] for i in order])
    )
    assert other.pairs == pytest.approx(one.pairs, rel=0.03)
    assert other.shares == pytest.approx(one.shares, rel=0.03)
