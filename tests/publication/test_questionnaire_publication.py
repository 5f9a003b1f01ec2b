"""Publications of questionnaires with conditions and lists: nobody whom these rule out, and estimates that use them."""

from functools import cache
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest

import questionnaires
from lopub import (
    Binned,
    Boolean,
    CampaignRequest,
    Dataset,
    DomainError,
    JointDistribution,
    Listed,
    ReportBatch,
    Sample,
    Study,
    Terms,
    count,
    make_campaign,
    publish,
    simulate,
)
from lopub.bulk.questionnaire import contradictions
from lopub.bulk.support import Support
from lopub.campaign.condition import Both, Comparison, Not
from lopub.campaign.domain import TickList
from lopub.campaign.fields import domain_of
from lopub.estimation.agreement import Agreement
from lopub.planning.population import Population
from lopub.publication.margins import Margins
from tiers import FULL

ROWS = 1_000_000 if FULL else 20_000
N_PEOPLE = 4_000
METHODS = ("shrunk", "em", "moments", "product", "lasso", "hybrid")
JOINTLY = {"epsilon": 4}
SEPARATELY = {"epsilon": 8, "mechanism": "unary", "view": Sample(3), "jointly": False}


@cache
def reports(which: str) -> ReportBatch:
    wish = {
        "jointly": JOINTLY,
        "bits jointly": {"epsilon": 2, "mechanism": "subset"},
        "separately": SEPARATELY,
    }[which]
    return simulate(questionnaires.people(N_PEOPLE), questionnaires.campaign(**wish), seed=3)


CASES = [
    *(("jointly", "calibrated", "shrunk"), ("bits jointly", "calibrated", "shrunk")),
    ("separately", "paper", "product"),
    *(
        pytest.param(*way, marks=pytest.mark.full)
        for way in (
            ("separately", "calibrated", "shrunk"),
            *(("separately", "paper", method) for method in METHODS if method != "product"),
            *(("jointly", "paper", method) for method in ("em", "product")),
        )
    ),
]
"""That every method's estimates agree with the questionnaire has a test of its own; records are drawn from them alike."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("which", "structure", "method"), CASES)
def test_no_synthetic_record_contradicts_the_questionnaire(which, structure, method):
    publication = publish(
        reports(which), structure=structure, method=method, rows=ROWS, most_cells=500
    )
    assert contradictions(questionnaires.DOMAIN, publication.synthetic.codes) == {}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_estimate_is_zero_where_nobody_can_be(method):
    study, domain = Study(reports("separately")), questionnaires.DOMAIN
    support, names = Support(domain), domain.names
    for pair in combinations(range(len(domain)), 2):
        mask = support.mask(pair)
        if mask is not None:
            joint = study.estimate([names[position] for position in pair], method)
            assert joint.probabilities[~mask].sum() == 0, joint.names


def test_counts_alone_give_estimates_that_agree_with_the_questionnaire():
    study = Study(count(reports("jointly")))
    joint = study.estimate(("job", "hours")).probabilities
    assert joint[0, :3].sum() == joint[1, 3] == 0


def test_leaving_out_what_contradicts_does_not_move_the_shares_of_a_list():
    """Without more care, leaving out records with too many ticks moves a share by 0.035 here."""
    publication = publish(reports("jointly"), rows=20_000)
    for estimate in (one for one in publication.marginals if one.names[0].startswith("reads/")):
        made = publication.synthetic.counts(estimate.names) / len(publication.synthetic)
        assert np.abs(made - estimate.probabilities).max() < 0.01, estimate.names


def test_shares_agree_where_no_report_covers_a_question_with_its_condition():
    domain = questionnaires.DOMAIN
    rule = Listed.of(domain, [(name, 1) for name in domain.names])
    study = Study(
        simulate(
            questionnaires.people(N_PEOPLE),
            questionnaires.campaign(mechanism="direct", view=rule),
            seed=2,
        )
    )
    joint = study.estimate(("job", "hours"))
    assert (
        not joint.fit.identified
        and joint.probabilities[0, :3].sum() == joint.probabilities[1, 3] == 0
    )
    assert study.estimate("hours").probabilities[3] == pytest.approx(
        study.estimate("job").probabilities[0], abs=1e-9
    )


def test_the_share_that_does_not_apply_is_the_share_of_the_false_condition():
    domain = questionnaires.DOMAIN
    study = Study(reports("jointly"))
    shares = {name: study.estimate(name).probabilities for name in domain.names}
    assert shares["hours"][3] == pytest.approx(shares["job"][0], abs=1e-9)
    assert shares["overtime"][4] == pytest.approx(shares["hours"][[0, 3]].sum(), abs=1e-9)
    assert shares["title"][2] == pytest.approx(1 - shares["reads/books"][1], abs=1e-9)
    assert (
        len({round(shares[name][2], 9) for name in domain.names if name.startswith("reads/")}) == 1
    )


def test_a_pair_with_zeros_keeps_its_marginals():
    """Raking with zeros to shares that do not agree would be stuck between them."""
    study = Study(reports("jointly"))
    joint = study.estimate(("hours", "overtime")).probabilities
    assert np.abs(joint.sum(axis=1) - study.estimate("hours").probabilities).max() < 1e-8
    assert np.abs(joint.sum(axis=0) - study.estimate("overtime").probabilities).max() < 1e-8


@pytest.mark.parametrize(("epsilon", "least"), [(2, 0.15), (4, 0.15)])
def test_telling_the_estimator_of_the_condition_lowers_the_error_of_a_question_and_its_condition(
    epsilon, least, monkeypatch
):
    pairs = [
        ("job", "hours"),
        ("hours", "overtime"),
        ("overtime", "weekends"),
        ("age", "weekends"),
        ("reads/books", "title"),
    ]
    truth = questionnaires.people(20_000)
    batch = simulate(truth, questionnaires.campaign(epsilon=epsilon), seed=1)

    def mean_error() -> float:
        study = Study(batch)
        return float(
            np.mean([study.estimate(pair).avd(truth.counts(pair) / len(truth)) for pair in pairs])
        )

    told = mean_error()
    monkeypatch.setattr(Agreement, "__bool__", lambda self: False)
    assert told < (1 - least) * mean_error()


def test_a_public_margin_that_holds_people_whom_the_questionnaire_rules_out_is_refused():
    domain = questionnaires.DOMAIN
    even = JointDistribution((domain["job"], domain["hours"]), np.full((2, 4), 1 / 8))
    with pytest.raises(
        DomainError,
        match="the public margin of hours and job holds people whom the questionnaire rules out",
    ):
        publish(reports("jointly"), margins=even, rows=10)


@pytest.mark.parametrize("structure", ["calibrated", pytest.param("paper", marks=pytest.mark.full)])
def test_shares_of_what_follows_agree_with_a_public_margin_of_the_condition(structure):
    """0.35 of the people have no job; the census says half of them."""
    domain = questionnaires.DOMAIN
    census = JointDistribution((domain["job"],), np.array([0.5, 0.5]))
    publication = publish(
        reports("jointly"), margins=census, rows=5_000, structure=structure, method="shrunk"
    )
    shares = dict(
        zip(publication.names, (one.probabilities for one in publication.marginals), strict=True)
    )
    assert shares["hours"][3] == pytest.approx(0.5, abs=1e-9)
    assert shares["overtime"][4] == pytest.approx(shares["hours"][[0, 3]].sum(), abs=1e-6)
    made = {name: publication.synthetic.counts((name,)) / 5_000 for name in ("job", "hours")}
    assert made["hours"][3] == made["job"][0] == pytest.approx(0.5, abs=0.01)
    assert contradictions(domain, publication.synthetic.codes) == {}


def test_a_public_margin_of_what_follows_moves_the_condition():
    domain = questionnaires.DOMAIN
    known = JointDistribution((domain["overtime"],), np.array([0.1, 0.1, 0.05, 0.05, 0.7]))
    hours = Margins.of([known], domain).agreeing(jointly_told()).moved["hours"]
    assert hours[[0, 3]].sum() == pytest.approx(0.7, abs=1e-6)


@cache
def jointly_told() -> Study:
    return Study(reports("jointly"))


CONTRADICTING = {
    "a question answered by more people than it applies to": {
        "job": [0.7, 0.3],
        "hours": [0.3, 0.2, 0.1, 0.4],
    },
    "at the ends of a chain": {"job": [0.6, 0.4], "overtime": [0.3, 0.3, 0.1, 0.1, 0.2]},
    "more ticks than a list takes": {
        f"reads/{option}": [0.1, 0.8, 0.1]
        for option in ("books", "papers", "blogs", "comics", "letters")
    },
    "none of these together with others": {
        "reads/nothing": [0.2, 0.7, 0.1],
        "reads/books": [0.3, 0.6, 0.1],
    },
}


@pytest.mark.parametrize("which", CONTRADICTING)
def test_public_margins_that_the_questionnaire_cannot_have_together_are_refused(which):
    domain = questionnaires.DOMAIN
    margins = [
        JointDistribution((domain[name],), np.array(shares))
        for name, shares in CONTRADICTING[which].items()
    ]
    with pytest.raises(
        DomainError, match="contradict the questionnaire: nobody who keeps its rules about"
    ):
        Margins.of(margins, domain).agreeing(jointly_told())
    with pytest.raises(DomainError, match=r"the given shares of .* contradict the questionnaire"):
        Population.with_shares(domain, CONTRADICTING[which])


def test_a_reference_population_keeps_given_shares_and_the_questionnaire():
    domain = questionnaires.DOMAIN
    population = Population.with_shares(domain, {"hours": [0.1, 0.2, 0.2, 0.5]}, dependence="none")
    assert population.shares[domain.position("hours")] == pytest.approx(
        [0.1, 0.2, 0.2, 0.5], abs=0.01
    )
    assert population.shares[domain.position("job")][0] == pytest.approx(0.5, abs=0.01)


def test_estimates_of_zero_that_contradict_the_questionnaire_end_in_a_compromise():
    """At epsilon 0.1 two hundred people say little: nobody seems to tick b, and everybody to answer what only b leads to."""
    ticks = TickList(name="l", values=("a", "b", "c"), most=1)
    x = Boolean(name="x", only_if=Comparison("l", "includes", ("a",)))
    y = Boolean(
        name="y",
        only_if=Both(
            (Comparison("l", "includes", ("b",)), Not(Comparison("x", "equals", (True,))))
        ),
    )
    domain = domain_of((ticks, x, y))
    shares = dict(
        enumerate(
            np.array(own)
            for own in ([0.5, 0.5], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
        )
    )
    agreed = Agreement(domain).agreed(shares, lambda position: np.zeros((1, 1)))
    assert all(own.min() >= 0 and own.sum() == pytest.approx(1) for own in agreed.values())
    assert Agreement(domain).contradiction(agreed, [4]) == ()


def test_drawn_numbers_tell_what_does_not_apply_from_no_answer(tmp_path):
    hours = Binned(
        name="hours",
        edges=("0", "20", "40"),
        missing=True,
        only_if=Comparison("job", "equals", (True,)),
    )
    domain = domain_of((Boolean(name="job"), hours))
    people = Dataset(domain, np.array([[1, 0], [1, 1], [1, 2], [0, 3]] * 500, dtype=np.uint16))
    campaign = make_campaign(domain, Terms(name="draw"), CampaignRequest(epsilon=6))
    publish(simulate(people, campaign, seed=1), numbers="draw").save(tmp_path / "out")
    for name in ("synthetic.csv", "synthetic.parquet"):
        found = Dataset.load(tmp_path / "out" / "data" / name, domain)
        assert set(found.codes[:, 1].tolist()) == {0, 1, 2, 3}
        assert contradictions(domain, found.codes) == {}
    cells = pq.read_table(tmp_path / "out" / "data" / "synthetic.parquet")["hours"].to_pylist()
    assert "(not applicable)" in cells and None in cells
    assert all(0 < float(cell) <= 40 for cell in cells if cell not in (None, "(not applicable)"))


def test_records_of_people_go_through_the_client_one_by_one():
    people = questionnaires.people(200)
    assert [people.domain.indices(record) for record in people] == [
        tuple(row) for row in people.codes.tolist()
    ]


def test_a_table_of_records_comes_back_as_it_was(tmp_path):
    people = questionnaires.people(300)
    for name in ("people.csv", "people.parquet"):
        people.save(tmp_path / name)
        assert (Dataset.load(tmp_path / name, people.domain).codes == people.codes).all()
