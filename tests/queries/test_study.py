"""Study: one order of attributes, and the same questions whether reports or their counts are asked."""

from functools import cache

import numpy as np
import pytest

import lopub
from lopub import (
    CampaignRequest,
    Categorical,
    Counts,
    Dataset,
    Domain,
    DomainError,
    Fill,
    NeedsReports,
    ReportBatch,
    Sample,
    Study,
    Terms,
    TooFewReports,
    count,
    estimate,
    make_campaign,
    simulate,
)
from lopub.estimation.readers import AnswerReader

SIZES = {"work": 3, "age": 4, "home": 2, "car": 3}
"""Not in the order of their names."""
DOMAIN = Domain(
    tuple(
        Categorical(name=name, values=tuple(f"{name[0]}{k}" for k in range(n)))
        for name, n in SIZES.items()
    )
)
WISHES = {
    "direct-sample": CampaignRequest(epsilon=6, mechanism="direct", view=Sample(2), jointly=False),
    "direct-fill-jointly": CampaignRequest(epsilon=5, mechanism="direct", view=Fill(24)),
    "bloom-all": CampaignRequest(flip_probability=0.3, n_bits=16, n_hashes=2),
    "subset-sample-jointly": CampaignRequest(epsilon=4, mechanism="subset", view=Sample(2)),
}
ANSWERS = ["direct-sample", "direct-fill-jointly", "subset-sample-jointly"]
N = 2000


def people(n: int = N) -> Dataset:
    rng = np.random.default_rng(3)
    work = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    columns = [
        np.where(rng.random(n) < 0.6, work % size, rng.integers(0, size, n))
        for size in list(SIZES.values())[1:]
    ]
    return Dataset(DOMAIN, np.stack([work, *columns], axis=1).astype(np.uint16))


@cache
def batch_of(family: str) -> ReportBatch:
    return simulate(people(), make_campaign(DOMAIN, Terms(name="test"), WISHES[family]), seed=1)


@cache
def studies(family: str) -> tuple[Study, Study]:
    """Of reports, and of their counts."""
    return Study(batch_of(family)), Study(count(batch_of(family)))


# ---- one order


def test_attributes_are_in_the_order_of_their_names():
    study = Study(batch_of("direct-sample"))
    assert study.domain.names == ("age", "car", "home", "work")
    assert study.campaign.domain.names == tuple(SIZES)


@pytest.mark.parametrize("family", WISHES)
def test_the_joint_of_positions_is_that_of_their_names(family: str):
    study = studies(family)[0]
    for names in (("work",), ("age", "work"), ("work", "age"), ("work", "home", "car")):
        clique = study.clique(names)
        assert tuple(study.domain.names[position] for position in clique) == names
        by_position, by_name = study.joint_of(clique), study.estimate(names)
        assert by_position.names == by_name.names == names
        assert by_name.probabilities.shape == tuple(SIZES[name] for name in names)
        np.testing.assert_array_equal(by_position.probabilities, by_name.probabilities)


@pytest.mark.parametrize("family", WISHES)
def test_the_order_of_names_turns_a_joint_and_changes_nothing_else(family: str):
    study = studies(family)[0]
    one, other = study.estimate(("work", "age", "home")), study.estimate(("home", "work", "age"))
    np.testing.assert_allclose(
        one.probabilities, np.moveaxis(other.probabilities, 0, 2), rtol=1e-12
    )
    assert one.fit == other.fit


def test_a_marginal_of_a_position_is_that_of_the_attribute_there():
    study, crowd = Study(batch_of("direct-sample")), people()
    for position, attribute in enumerate(study.domain.attributes):
        truth = crowd.counts((attribute.name,)) / N
        assert np.abs(study.marginal(position) - truth).max() < 0.12
        assert (
            len(study.marginal_error(position))
            == len(study.marginal_covariance(position))
            == attribute.size
        )
        shares = study.distribution(position)
        assert shares.names == (attribute.name,)
        np.testing.assert_allclose(shares.probabilities, study.marginal(position), rtol=1e-12)


def test_pairs_of_names_are_in_the_order_given():
    study = studies("direct-fill-jointly")[0]
    found = study.pairs(("work", "age", "car"))
    assert list(found) == [("work", "age"), ("work", "car"), ("age", "car")]
    for names, joint in found.items():
        np.testing.assert_array_equal(joint.probabilities, study.estimate(names).probabilities)


def test_after_each_joint_it_is_told_how_many_there_are():
    study, told = studies("direct-fill-jointly")[0], list[tuple[str, int, int | None]]()
    study.pairs(("work", "age", "car"), progress=lambda *step: told.append(step))
    study.joints([(0, 1), (2,)], progress=lambda *step: told.append(step))
    assert told[:3] == [("estimating pairs", n, 3) for n in (1, 2, 3)]
    assert told[3:] == [("estimating joints", n, 2) for n in (1, 2)]


def test_all_pairs_are_in_the_order_of_the_campaign():
    assert list(studies("direct-fill-jointly")[0].pairs())[:3] == [
        ("work", "age"),
        ("work", "home"),
        ("work", "car"),
    ]


@pytest.mark.parametrize(
    "ask", [lambda s: s.estimate(("age", "car", "age")), lambda s: s.pairs(("age", "car", "age"))]
)
def test_an_attribute_is_named_once(ask):
    with pytest.raises(DomainError, match="names attribute 'age' twice"):
        ask(studies("direct-sample")[0])


# ---- reports and counts


@pytest.mark.parametrize("family", ANSWERS)
def test_counts_that_suffice_say_what_their_reports_say(family: str):
    reports, counts = studies(family)
    assert len(reports) == len(counts) == N
    assert reports.has_reports and not counts.has_reports
    assert reports.has_likelihood and counts.has_likelihood
    assert reports.reports_per_pair == pytest.approx(counts.reports_per_pair)
    for position in range(len(DOMAIN)):
        np.testing.assert_array_equal(reports.marginal(position), counts.marginal(position))
        np.testing.assert_array_equal(
            reports.marginal_error(position), counts.marginal_error(position)
        )
        np.testing.assert_array_equal(
            reports.marginal_covariance(position), counts.marginal_covariance(position)
        )
    assert reports.marginals.keys() == counts.marginals.keys() == set(range(len(DOMAIN)))
    for names, joint in reports.pairs().items():
        np.testing.assert_array_equal(joint.probabilities, counts.pairs(names)[names].probabilities)
        assert reports.n_covering(reports.clique(names)) == counts.n_covering(counts.clique(names))


@pytest.mark.parametrize("family", ["bloom-all"])
def test_counts_of_bits_answer_the_same_questions_with_linear_methods(family: str):
    reports, counts = studies(family)
    assert reports.has_likelihood and not counts.has_likelihood
    for position in range(len(DOMAIN)):
        assert np.abs(reports.marginal(position) - counts.marginal(position)).max() < 0.1
        assert np.isfinite(counts.distribution(position).standard_errors).all()
    one, other = (study.estimate(("work", "age"), "moments") for study in (reports, counts))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    with pytest.raises(NeedsReports, match="give the reports"):
        counts.estimate(("work", "age"))


@pytest.mark.parametrize("family", WISHES)
def test_counts_know_the_slots_of_their_reports_and_refine_nothing(family: str):
    reports, counts = studies(family)
    assert reports.slots == counts.slots == (0, 0)
    assert counts.refined((0, 1, 2), np.full((4, 3, 2), 1 / 24), 0.0) is None


def test_a_refined_joint_has_the_axes_of_the_clique():
    study = studies("bloom-all")[0]
    names = ("work", "car", "home")
    clique, prior = study.clique(names), study.estimate(names, "product").probabilities
    refined = study.refined(clique, prior, 0.0)
    assert refined is not None and refined.shape == (3, 3, 2)
    truth = people().counts(names) / N
    assert np.abs(refined - truth).sum() < np.abs(prior - truth).sum()
    turned = study.refined(clique[::-1], prior.transpose(), 0.0)
    np.testing.assert_allclose(turned, refined.transpose(), atol=1e-9)
    assert study.refined(clique, prior, 1e9) is None


def test_the_reader_alone_decides_what_counts_can_say(monkeypatch: pytest.MonkeyPatch):
    """Neither the study nor a stage may ask for the form of the counts."""
    counts = count(batch_of("direct-sample"))
    monkeypatch.setattr(AnswerReader, "counts_suffice", lambda self, counts: False)
    monkeypatch.setattr(
        AnswerReader,
        "counted_marginal",
        lambda self, counted, position: np.array([0.5, 0.25, 0.125, 0.125]),
    )
    study = Study(counts)
    assert not study.has_likelihood
    np.testing.assert_array_equal(study.marginal(0), [0.5, 0.25, 0.125, 0.125])
    with pytest.raises(NeedsReports):
        lopub.publish(counts)


# ---- at the door


def test_a_study_shows_what_it_is_made_of():
    reports, counts = studies("direct-sample")
    assert repr(reports) == "Study('test', 4 attributes, 2,000 reports)"
    assert repr(counts) == "Study('test', 4 attributes, 2,000 counted reports)"


def test_a_shortcut_estimates_no_marginal_that_it_does_not_need(monkeypatch: pytest.MonkeyPatch):
    asked = []
    real = AnswerReader.marginal

    def marginal(self: AnswerReader, reports: object, position: int) -> np.ndarray:
        asked.append(position)
        return real(self, reports, position)

    monkeypatch.setattr(AnswerReader, "marginal", marginal)
    estimate(batch_of("direct-sample"), ("work", "home"))
    assert sorted(asked) == [0, 2]


def test_an_attribute_that_no_report_covers_is_refused_by_name():
    batch = batch_of("direct-sample")
    without = [number for number, view in enumerate(batch.views) if 0 not in view]
    study = Study(batch[np.isin(batch.view_index, without)])
    assert set(study.marginals) == {0, 1, 2}
    for ask in (
        lambda: study.estimate(("age", "work")),
        lambda: study.distribution(3),
        lambda: study.check_covered(tuple(SIZES)),
    ):
        with pytest.raises(TooFewReports, match="no report covers attribute 'work'"):
            ask()


def test_nothing_is_estimated_from_no_reports():
    empty = Counts(campaign=batch_of("direct-sample").campaign, n_reports=0, tables={})
    with pytest.raises(TooFewReports, match="there are no reports"):
        Study(empty)


@pytest.mark.parametrize("asked", [Study, lopub.publish, lambda data: estimate(data, "a0")])
def test_what_is_neither_reports_nor_counts_is_refused_by_its_type(asked):
    with pytest.raises(
        DomainError, match=r"^data must be a ReportBatch or Counts, got str; ReportBatch\.load and"
    ):
        asked("reports.parquet")
