"""Publications of questionnaires with conditions and lists: nobody whom these rule out, and estimates that use them."""

import os
from functools import cache
from itertools import combinations

import numpy as np
import pytest

import questionnaires
from lopub import Dataset, DomainError, JointDistribution, Listed, ReportBatch, Sample, Study, count, publish, simulate
from lopub.inference.agreement import Agreement
from lopub.laws.questionnaire import contradictions
from lopub.laws.support import Support

FULL = bool(os.environ.get("LOPUB_FULL"))
ROWS = 1_000_000 if FULL else 20_000
N_PEOPLE = 4_000
METHODS = ("shrunk", "em", "moments", "product", "lasso", "hybrid")
PAPER = [("paper", method) for method in (METHODS if FULL else ("em", "product"))]
"""That every method's estimates agree with the questionnaire has a test of its own; records are drawn from them alike."""
JOINTLY = {"epsilon": 4}
SEPARATELY = {"epsilon": 8, "mechanism": "unary", "view": Sample(3), "jointly": False}


@cache
def reports(which: str) -> ReportBatch:
    wish = {"jointly": JOINTLY, "bits jointly": {"epsilon": 2, "mechanism": "subset"}, "separately": SEPARATELY}[which]
    return simulate(questionnaires.people(N_PEOPLE), questionnaires.campaign(**wish), seed=3)


CASES = [
    *(("jointly", "calibrated", "shrunk"), ("bits jointly", "calibrated", "shrunk"), ("separately", "calibrated", "shrunk")),
    *(("separately", *way) for way in PAPER),
    *(("jointly", *way) for way in PAPER if way[1] in ("em", "product")),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("which", "structure", "method"), CASES)
def test_no_synthetic_record_contradicts_the_questionnaire(which, structure, method):
    publication = publish(reports(which), structure=structure, method=method, rows=ROWS, most_cells=500)
    assert contradictions(questionnaires.DOMAIN, publication.synthetic.codes) == {}


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
    study = Study(simulate(questionnaires.people(N_PEOPLE), questionnaires.campaign(mechanism="direct", view=rule), seed=2))
    joint = study.estimate(("job", "hours"))
    assert not joint.fit.identified and joint.probabilities[0, :3].sum() == joint.probabilities[1, 3] == 0
    assert study.estimate("hours").probabilities[3] == pytest.approx(study.estimate("job").probabilities[0], abs=1e-9)


def test_the_share_that_does_not_apply_is_the_share_of_the_false_condition():
    domain = questionnaires.DOMAIN
    study = Study(reports("jointly"))
    shares = {name: study.estimate(name).probabilities for name in domain.names}
    assert shares["hours"][3] == pytest.approx(shares["job"][0], abs=1e-9)
    assert shares["overtime"][4] == pytest.approx(shares["hours"][[0, 3]].sum(), abs=1e-9)
    assert shares["title"][2] == pytest.approx(1 - shares["reads/books"][1], abs=1e-9)
    assert len({round(shares[name][2], 9) for name in domain.names if name.startswith("reads/")}) == 1


def test_a_pair_with_zeros_keeps_its_marginals():
    """Raking with zeros to shares that do not agree would be stuck between them."""
    study = Study(reports("jointly"))
    joint = study.estimate(("hours", "overtime")).probabilities
    assert np.abs(joint.sum(axis=1) - study.estimate("hours").probabilities).max() < 1e-8
    assert np.abs(joint.sum(axis=0) - study.estimate("overtime").probabilities).max() < 1e-8


@pytest.mark.parametrize(("epsilon", "least"), [(2, 0.15), (4, 0.15)])
def test_telling_the_estimator_of_the_condition_lowers_the_error_of_a_question_and_its_condition(epsilon, least, monkeypatch):
    pairs = [("job", "hours"), ("hours", "overtime"), ("overtime", "weekends"), ("age", "weekends"), ("reads/books", "title")]
    truth = questionnaires.people(20_000)
    batch = simulate(truth, questionnaires.campaign(epsilon=epsilon), seed=1)

    def mean_error() -> float:
        study = Study(batch)
        return float(np.mean([study.estimate(pair).avd(truth.counts(pair) / len(truth)) for pair in pairs]))

    told = mean_error()
    monkeypatch.setattr(Agreement, "__bool__", lambda self: False)
    assert told < (1 - least) * mean_error()


def test_a_public_margin_that_holds_people_whom_the_questionnaire_rules_out_is_refused():
    domain = questionnaires.DOMAIN
    even = JointDistribution((domain["job"], domain["hours"]), np.full((2, 4), 1 / 8))
    with pytest.raises(DomainError, match="the public margin of hours and job holds people whom the questionnaire rules out"):
        publish(reports("jointly"), margins=even, rows=10)


def test_a_public_margin_leaves_nobody_where_nobody_can_be():
    domain = questionnaires.DOMAIN
    census = JointDistribution((domain["job"],), np.array([0.5, 0.5]))
    publication = publish(reports("jointly"), margins=census, rows=5_000)
    assert contradictions(domain, publication.synthetic.codes) == {}


def test_records_of_people_go_through_the_client_one_by_one():
    people = questionnaires.people(200)
    assert [people.domain.indices(record) for record in people] == [tuple(row) for row in people.codes.tolist()]


def test_a_table_of_records_comes_back_as_it_was(tmp_path):
    people = questionnaires.people(300)
    for name in ("people.csv", "people.parquet"):
        people.save(tmp_path / name)
        assert (Dataset.load(tmp_path / name, people.domain).codes == people.codes).all()
