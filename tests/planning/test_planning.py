"""The planner: what it chooses, what it needs the other way round, its advice, and what it refuses."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lopub import (
    CampaignRequest,
    Population,
    ReportBatch,
    Terms,
    make_campaign,
    plan,
    publish,
    simulate,
)
from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import Categorical, Domain
from lopub.campaign.views import AllAttributes, Listed
from lopub.cli import app
from lopub.errors import CampaignError, DomainError, LopubError, TooFewReports
from lopub.planning.advice import advice
from lopub.planning.design import error_of
from lopub.planning.draws import drawn_counts
from lopub.planning.outlook import ACCURACY, UNSEEN, outlook_of
from lopub.planning.planner import AS_GOOD, NEAR, epsilon_needed, people_needed, planner_of
from lopub.planning.trial import campaign_for, tried
from lopub.queries import Study
from lopub.questionnaire.draft import draft_from_file
from lopub.reports.catalogue import ALUMNI
from tiers import FULL


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


FOUR = domain_of(4, 5, 6, 3)
LARGE = domain_of(44, 3, 2, 4)

# ---- plans


def test_a_plan_takes_the_best_forecast_of_all_designs():
    found = plan(FOUR, people=3000, epsilon=3)
    errors = [option.error("pairs") for option in found.options]
    assert found.error == min(errors)
    assert errors[0] <= AS_GOOD * found.error


def test_of_designs_that_are_as_good_the_one_that_sees_most_dependence_is_taken():
    found = plan(domain_of(*(2,) * 8), people=10_000, epsilon=4)
    able = [option for option in found.options if option.error("pairs") <= AS_GOOD * found.error]
    assert len(able) > 1
    assert found.best.forecast.bias == min(option.forecast.bias for option in able)


def test_of_those_that_were_tried_the_best_tried_wins():
    found = plan(FOUR, people=3000, epsilon=3, n_tried=3)
    tries = [option.trial.pair_error for option in found.options if option.trial is not None]
    assert len(tries) == 3 and tries == sorted(tries)
    assert [option.trial is not None for option in found.options][:3] == [True] * 3


def test_it_is_told_what_is_being_done():
    told: list[tuple[str, int, int | None]] = []
    found = plan(FOUR, people=300, epsilon=3, n_tried=1, progress=lambda *step: told.append(step))
    n = len(found.options)
    assert [step for step in told if step[0] == "comparing designs"] == [
        ("comparing designs", i, n) for i in range(n)
    ]
    assert told[-1] == (f"trying {found.best.design}", 0, 1)


def test_a_plan_makes_a_campaign_within_its_epsilon():
    found = plan(FOUR, people=3000, epsilon=3)
    campaign = found.campaign(Terms(name="t"))
    assert campaign.epsilon <= 3
    assert (campaign.mechanism.name, campaign.view) == (
        found.best.design.mechanism,
        found.best.design.view,
    )


def test_a_plan_is_the_same_every_time():
    one, other = (plan(FOUR, people=2000, epsilon=3, n_tried=1, seed=5) for _ in range(2))
    assert one.error == other.error
    assert [(str(option.design), repr(option.trial)) for option in one.options] == [
        (str(option.design), repr(option.trial)) for option in other.options
    ]


@pytest.mark.parametrize("epsilon", [1, 6])
def test_the_error_that_a_plan_predicts_on_a_table_is_what_comes_out(epsilon: float):
    people = ALUMNI.people(6000, seed=1)
    found = plan(
        people.domain, people=6000, epsilon=epsilon, population=Population.of_table(people)
    )
    study = Study(simulate(people, found.campaign(Terms(name="t")), seed=99))
    errors = [joint.avd(people.counts(names) / 6000) for names, joint in study.pairs().items()]
    assert found.error == pytest.approx(np.mean(errors), rel=ACCURACY)


def test_a_plan_for_a_table_predicts_the_error_of_the_table_that_is_published():
    table = ALUMNI.people(6000, seed=1)
    found = plan(
        table.domain,
        people=6000,
        epsilon=6,
        goal="table",
        population=Population.of_table(table),
        n_tried=1,
    )
    published = publish(simulate(table, found.campaign(Terms(name="t")), seed=5), seed=5).synthetic
    errors = [
        np.abs(published.counts(pair) - table.counts(pair)).sum() / 2 / len(table)
        for pair in [
            (a, b) for i, a in enumerate(table.domain.names) for b in table.domain.names[i + 1 :]
        ]
    ]
    trial = found.best.trial
    assert trial is not None and trial.table_error == pytest.approx(np.mean(errors), rel=0.15)
    assert found.error == pytest.approx(np.mean(errors), rel=ACCURACY)


# ---- one model: all figures of a plan agree


@pytest.mark.parametrize(
    ("people", "epsilon", "goal"),
    [
        (400, 0.5, "pairs"),
        (200_000, 3.0, "shares"),
        (3000, 12.0, "pairs"),
        pytest.param(400, 0.5, "shares", marks=pytest.mark.full),
        pytest.param(200_000, 3.0, "pairs", marks=pytest.mark.full),
        pytest.param(3000, 12.0, "shares", marks=pytest.mark.full),
    ],
)
def test_what_if_lines_are_what_a_plan_for_them_says(goal: str, people: int, epsilon: float):
    found = plan(LARGE, people=people, epsilon=epsilon, goal=goal)
    assert (
        found.error_with(people=2)
        == plan(LARGE, people=2 * people, epsilon=epsilon, goal=goal).error
    )
    assert (
        found.error_with(epsilon=0.5)
        == plan(LARGE, people=people, epsilon=epsilon / 2, goal=goal).error
    )
    assert (
        dict(found.curve("people"))[people] == dict(found.curve("epsilon"))[epsilon] == found.error
    )


@pytest.mark.parametrize("sizes", [(4, 5, 6, 3), (44, 3, 2, 4), (500, 500), (7,)])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 9.0])
def test_a_plan_and_the_campaign_that_it_makes_agree(sizes: tuple[int, ...], epsilon: float):
    found = plan(domain_of(*sizes), people=10_000, epsilon=epsilon)
    shown = outlook_of(found.campaign(Terms(name="t"))).at(10_000)
    assert error_of(shown, found.goal) == pytest.approx(found.error, rel=0.02)
    assert shown.shares == pytest.approx(found.best.forecast.shares, rel=0.02)
    assert shown.pairs >= shown.shares  # a pair cannot be nearer than its own shares


def test_a_plan_of_a_questionnaire_with_rules_and_lists_agrees_with_its_campaign(tmp_path: Path):
    fields = [
        {"name": "age", "type": "integer", "constraints": {"minimum": 1, "maximum": 40}},
        {"name": "retired", "type": "boolean", "onlyIf": {"field": "age", "atLeast": 30}},
        {"name": "uses", "type": "list", "categories": list("abcdef"), "atMost": 3},
        {"name": "region", "type": "string", "categories": ["n", "s"]},
    ]
    (tmp_path / "draft.json").write_text(
        json.dumps({"name": "rules", "schema": {"fields": fields}})
    )
    domain, terms = draft_from_file(tmp_path / "draft.json")
    found = plan(domain, people=10_000, epsilon=4, n_tried=1)
    shown = outlook_of(found.campaign(terms)).at(10_000)
    assert shown.pairs == pytest.approx(found.error, rel=0.02)
    trial = found.best.trial
    assert trial is not None and trial.pair_error == pytest.approx(found.error, rel=0.5)
    assert (
        found.spread["weak"] <= found.spread["strong"]
        and next(one.question for one in advice(found)) == "age"
    )


@pytest.mark.parametrize("goal", ["pairs", "shares"])
@pytest.mark.parametrize("dependence", ["none", "weak", "usual", "strong"])
def test_errors_fall_with_people_and_with_epsilon(goal: str, dependence: str):
    rng = np.random.default_rng([len(dependence), len(goal)])
    for _ in range(40 if FULL else 1):
        domain = domain_of(
            *(int(size) for size in np.exp(rng.uniform(np.log(2), np.log(300), rng.integers(2, 9))))
        )
        made = planner_of(
            domain, goal=goal, population=Population.like_surveys(domain, dependence=dependence)
        )
        people, epsilon = int(np.exp(rng.uniform(5, 16))), float(np.exp(rng.uniform(-1, 3)))
        more, larger = int(people * rng.uniform(1.01, 3)), epsilon * float(rng.uniform(1.01, 3))
        here = made.error(people, epsilon)
        assert made.error(more, epsilon) <= here + 1e-12
        assert made.error(people, larger) <= here + 1e-12
        assert 0 < here <= 1


def test_noise_that_drowns_every_dependence_is_told_beforehand():
    drowned = plan(FOUR, people=100, epsilon=0.2)
    assert drowned.independence_wins
    assert [one.kind for one in advice(drowned)][-1] == "dependence"
    assert not plan(FOUR, people=20_000, epsilon=6).independence_wins


def test_on_a_table_its_own_dependence_decides_whether_independence_wins():
    people = ALUMNI.people(4000, seed=1)
    crowd = Population.of_table(people)
    assert plan(people.domain, people=300, epsilon=0.5, population=crowd).independence_wins
    assert not plan(people.domain, people=20_000, epsilon=8, population=crowd).independence_wins
    assert plan(people.domain, people=300, epsilon=0.5, population=crowd).spread == {}


def test_a_plan_says_how_much_hangs_on_dependence():
    spread = plan(FOUR, people=3000, epsilon=2).spread
    assert spread["weak"] < spread["usual"] < spread["strong"]


def test_attributes_that_matter_more_weigh_more():
    """Large attributes have larger errors: what is asked for alone decides what is expected."""
    sizes = domain_of(2, 2, 30, 30)
    light, heavy = (
        plan(sizes, people=3000, epsilon=3, weights=dict.fromkeys(names, 0.0))
        for names in (("a2", "a3"), ("a0", "a1"))
    )
    assert light.error < heavy.error
    assert light.best.forecast.shares < heavy.best.forecast.shares


def test_what_matters_more_is_asked_more_often_where_that_is_better():
    wide = domain_of(*(5,) * 12)
    found = plan(wide, people=20_000, epsilon=4, weights={"a0": 20.0, "a1": 20.0})
    rule = found.best.design.view
    assert isinstance(rule, Listed)
    weights = dict(zip(rule.sets, rule.weights, strict=True))
    assert weights[(0, 1)] > 4 * weights[(2, 3)]


def test_many_people_some_of_whom_are_asked_one_question_is_a_design():
    found = plan(LARGE, people=10_000, epsilon=4)
    labels = [option.label(LARGE.sizes) for option in found.options]
    assert any("25 % one question, 75 % two" in label for label in labels)


def test_one_large_question_is_asked_alone():
    found = plan(domain_of(500, 500), people=10_000, epsilon=4)
    assert view_law(found.best.design.view).n_alike(2) == 1


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


# ---- what is needed


@pytest.mark.parametrize("error", [0.3, 0.03])
def test_people_needed_are_the_fewest_that_reach_the_wanted_error(error: float):
    people = people_needed(LARGE, epsilon=4, error=error)
    assert plan(LARGE, people=people, epsilon=4).error <= error
    assert plan(LARGE, people=math.floor(people / NEAR**2), epsilon=4).error > error


@pytest.mark.parametrize("error", [0.3, 0.05])
def test_the_epsilon_needed_is_the_smallest_that_reaches_the_wanted_error(error: float):
    epsilon = epsilon_needed(LARGE, people=3000, error=error)
    assert plan(LARGE, people=3000, epsilon=epsilon).error <= error
    assert plan(LARGE, people=3000, epsilon=round(epsilon / NEAR**2, 4)).error > error


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plan(FOUR, people=10, epsilon=0), CampaignError, "epsilon must be above 0, got 0"),
        (
            lambda: plan(FOUR, people=10, epsilon=-1),
            CampaignError,
            "epsilon must be above 0, got -1",
        ),
        (
            lambda: plan(FOUR, people=0, epsilon=1),
            TooFewReports,
            "people must be at least 1, got 0",
        ),
        (
            lambda: plan(FOUR, people=10, epsilon=1, goal="fame"),
            DomainError,
            "goal must be one of pairs, shares, table, got 'fame'",
        ),
        (
            lambda: people_needed(FOUR, epsilon=1, error=0),
            DomainError,
            "error must lie between 0 and 1, got 0",
        ),
        (
            lambda: epsilon_needed(FOUR, people=50, error=1e-6),
            TooFewReports,
            "the nearest is .* fewer questions",
        ),
        (
            lambda: Population.with_shares(FOUR, {"a0": [1.0]}),
            DomainError,
            "shares of attribute 'a0' must be 4 numbers",
        ),
        (
            lambda: Population.with_shares(FOUR, {"b": [1.0]}),
            DomainError,
            "there is no attribute 'b'",
        ),
        (
            lambda: Population.like_surveys(FOUR, dependence="huge"),
            DomainError,
            "dependence must be one of none, weak, usual, strong, got 'huge'",
        ),
        (
            lambda: plan(FOUR, people=10, epsilon=1, population=Population.uniform(LARGE)),
            DomainError,
            "the population has other attributes than the questions",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(call, error: type[LopubError], words: str):
    with pytest.raises(error, match=words):
        call()


# ---- trials


@pytest.mark.parametrize("mechanism", ["subset", "direct", "unary"])
def test_counts_that_are_drawn_have_the_law_of_counts_that_are_made_of_reports(mechanism: str):
    """Means and variances of every count, over many draws of both."""
    domain = domain_of(3, 4)
    campaign = make_campaign(
        domain, Terms(name="t"), CampaignRequest(epsilon=2, mechanism=mechanism, jointly=True)
    )
    crowd, n = Population.like_surveys(domain, dependence="strong"), 3000
    drawn = np.array([_flat(drawn_counts(campaign, crowd, n, seed)) for seed in range(300)])
    made = np.array(
        [
            _flat(Study(simulate(crowd.people(n, seed), campaign, seed=seed)).counts)
            for seed in range(300)
        ]
    )
    spread = made.std(axis=0)
    assert np.abs(drawn.mean(axis=0) - made.mean(axis=0)).max() < 6 * (spread / np.sqrt(150)).max()
    assert drawn.std(axis=0).sum() == pytest.approx(spread.sum(), rel=0.1)


def _flat(counts) -> np.ndarray:
    return np.concatenate(
        [table.counts.sum(axis=0).reshape(-1) for _, table in sorted(counts.tables.items())]
    )


@pytest.mark.parametrize("view", ["sample:2", "fill:30"])
def test_a_hundred_million_people_are_tried_as_forecast(view: str):
    found = plan(FOUR, people=10**8, epsilon=4)
    option = next(
        one
        for one in found.options
        if view.split(":")[0] in str(one.design.view) and one.design.jointly
    )
    trials = [
        tried(option.design, found.population, people=10**8, epsilon=4, seed=seed)
        for seed in range(8)
    ]
    assert {trial.n_people for trial in trials} == {10**8}
    assert option.forecast.pairs == pytest.approx(
        np.mean([trial.pair_error for trial in trials]), rel=ACCURACY
    )
    assert option.forecast.shares == pytest.approx(
        np.mean([trial.share_error for trial in trials]), rel=ACCURACY
    )


def test_what_no_report_covers_stays_off_however_many_people_there_are():
    found = plan(FOUR, people=10**8, epsilon=4)
    single = next(
        option for option in found.options if view_law(option.design.view).n_alike(4) == 1
    )
    trial = tried(single.design, found.population, people=10**8, epsilon=4)
    assert single.forecast.pairs == pytest.approx(UNSEEN * trial.pair_error, rel=0.02)
    assert single.forecast.pairs > 100 * single.forecast.shares


def test_where_counts_cannot_be_drawn_fewer_people_are_tried_and_that_is_said():
    apart = next(
        option
        for option in plan(FOUR, people=10**6, epsilon=4).options
        if not option.design.jointly
    )
    assert (
        drawn_counts(campaign_for(apart.design, FOUR, 4), Population.uniform(FOUR), 10**6, 0)
        is None
    )
    assert (
        tried(apart.design, Population.uniform(FOUR), people=10**6, epsilon=4, pairs=[]).n_people
        == 100_000
    )


# ---- advice


def test_a_large_question_is_advised_to_be_binned_with_what_that_gains():
    found = plan(LARGE, people=10_000, epsilon=4)
    first = advice(found)[0]
    assert (first.kind, first.question) == ("bin", "a0") and first.n_candidates is not None
    assert f"from {found.error:.3f} to {first.error:.3f}" in first.text
    binned = plan(domain_of(first.n_candidates, 3, 2, 4), people=10_000, epsilon=4).error
    assert first.error == pytest.approx(
        binned, rel=0.1
    )  # the binned shares are nearly those of a question with so many answers


def test_a_large_epsilon_comes_with_advice():
    found = plan(FOUR, people=1000, epsilon=9)
    assert advice(found)[-1].kind == "epsilon"
    assert f"{plan(FOUR, people=1000, epsilon=8).error:.3f}" in advice(found)[-1].text


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
    batch = simulate(
        Population.uniform(FOUR).people(100, 1), _campaign(tmp_path / "c.json"), seed=1
    )
    assert isinstance(batch, ReportBatch)


def _campaign(path: Path):
    from lopub import Campaign

    return Campaign.load(path)


def test_the_command_speaks_json(draft: Path):
    found = json.loads(run(draft, "--people", 3000, "--epsilon", 4, "--json").stdout)
    assert found["options"][0]["expected"]["pairs"] == pytest.approx(found["error"], rel=0.02)
    assert found["options"][0]["tried"]["pairs"] == pytest.approx(found["error"], rel=0.5)
    assert found["error_by_dependence"]["usual"] == pytest.approx(
        found["options"][0]["expected"]["pairs"]
    )


def test_two_of_three_must_be_given(draft: Path):
    assert run(draft, "--people", 3000).exit_code == 2
    assert run(draft, "--people", 3000, "--epsilon", 1, "--error", 0.1).exit_code == 2


def test_fewer_people_than_the_campaign_asks_for_are_refused(draft: Path):
    result = run(draft, "--people", 20, "--epsilon", 4)
    assert isinstance(result.exception, TooFewReports)
    assert "at least 50 reports" in str(result.exception)


@pytest.mark.slow
def test_the_page_shows_the_figures_of_the_plan(draft: Path, tmp_path: Path):
    result = run(draft, "--people", 3000, "--epsilon", 4, "--html", tmp_path / "p.html", "--json")
    assert result.exit_code == 0, result.output
    found, page = json.loads(result.stdout), (tmp_path / "p.html").read_text()
    figures = [found["error"], found["smallest_share"], *found["error_by_dependence"].values()]
    figures += [point["error"] for curve in found["curves"].values() for point in curve]
    assert [value for value in figures if f'<data value="{value!r}">' not in page] == []
    assert (
        run(draft, "--people", 3000, "--epsilon", 4, "--html", tmp_path / "p.html").exception
        is not None
    )  # it is there


def test_the_least_epsilon_is_what_the_command_gives(draft: Path):
    found = json.loads(run(draft, "--people", 3000, "--error", 0.1, "--json").stdout)
    assert found["error"] <= 0.1
    assert found["epsilon"] == epsilon_needed(FOUR, people=3000, error=0.1)


def test_important_attributes_are_weighted(draft: Path):
    plain, weighted = (
        json.loads(
            run(draft, "--people", 3000, "--epsilon", 2, "--goal", "shares", "--json", *more).stdout
        )
        for more in ([], ["--important", "a2"])
    )
    assert weighted["error"] > plain["error"]  # a2 is the largest
    assert isinstance(
        run(draft, "--people", 3000, "--epsilon", 2, "--important", "b").exception, DomainError
    )


def test_margins_that_contradict_each_other_are_refused(draft: Path, tmp_path: Path):
    for name, first in (("one", 0.7), ("two", 0.1)):
        rows = [f"{i},{first if i == 0 else (1 - first) / 3}" for i in range(4)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a0,probability", *rows]) + "\n")
    margins = ["--margin", tmp_path / "one.csv", "--margin", tmp_path / "two.csv"]
    result = run(draft, "--people", 3000, "--epsilon", 4, *margins)
    assert isinstance(
        result.exception, DomainError
    ) and "different shares of attribute 'a0'" in str(result.exception)
    assert run(draft, "--people", 3000, "--epsilon", 4, *margins[:2], "--try", 0).exit_code == 0


def test_a_table_that_lacks_a_question_is_refused(draft: Path, tmp_path: Path):
    (tmp_path / "t.csv").write_text("a0,a1,a2\n0,0,0\n")
    result = run(draft, "--people", 3000, "--epsilon", 4, "--table", tmp_path / "t.csv")
    assert isinstance(result.exception, LopubError) and "a3" in str(result.exception)
