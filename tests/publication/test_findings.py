"""What a publication states: dependences that are hardly chance, and no others."""

import csv
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lopub import CampaignRequest, Publication, Terms, make_campaign, publish, simulate
from lopub.campaign.domain import Boolean, Categorical, Domain
from lopub.campaign.views import AllAttributes
from lopub.estimation.independence import independence_gain
from lopub.publication import findings
from lopub.publication.findings import FALSE_STATEMENTS, findings_of
from lopub.queries import Study
from lopub.queries.contrasts import contrast_of, deviations
from lopub.queries.ratios import Estimate
from lopub.reports.dataset import Dataset
from lopub.reports.progress import silent
from lopub.synthesis.dependence import gain_graph, least_gain


def table_of(columns: list[np.ndarray]) -> Dataset:
    sizes = [int(column.max()) + 1 for column in columns]
    domain = Domain(
        tuple(
            Categorical(name=f"q{i}", values=tuple(f"v{v}" for v in range(k)))
            for i, k in enumerate(sizes)
        )
    )
    return Dataset(domain, np.stack(columns, axis=1))


def skewed(seed: int, n: int = 20_000) -> Dataset:
    """Independent people of whom nearly all give the first answers."""
    rng = np.random.default_rng(seed)
    return table_of([rng.choice(4, n, p=[0.97, 0.01, 0.01, 0.01]) for _ in range(6)])


def study_of(table: Dataset, **request: object) -> Study:
    campaign = make_campaign(table.domain, Terms(name="t"), CampaignRequest(**request))
    return Study(simulate(table, campaign, seed=7))


ALL_AT_ONCE = {"epsilon": 6, "mechanism": "direct", "view": AllAttributes(), "jointly": True}


def test_marginals_that_a_pair_knows_better_are_no_finding():
    """One cell for all attributes, nearly all people in it: a pair's reports know its shares better than those of single
    attributes do, and gain a lot, though nothing depends on anything."""
    study = study_of(skewed(1), **ALL_AT_ONCE)
    wanted = list(combinations(range(6), 2))
    pairs = dict(zip(wanted, study.joints(wanted), strict=True))
    gains = {pair: joint.fit.gain or 0.0 for pair, joint in pairs.items()}
    graph = gain_graph(6, gains)
    least = least_gain([*gains.values()], FALSE_STATEMENTS)
    assert sum(gain >= least for gain in gains.values()) >= 3  # they would be stated
    found = findings_of(study, graph, pairs, silent)
    assert len(found.every) == len(graph.edges)
    assert found.least is not None
    assert all(
        one.gain < found.least for one in found.every
    )  # by the gain alone, before anything has to be shown
    assert not found.stated


def test_a_dependence_loses_little_to_independence():
    rng = np.random.default_rng(3)
    first = rng.choice(4, 20_000, p=[0.97, 0.01, 0.01, 0.01])
    second = np.where(
        rng.random(20_000) < 0.7, first, rng.choice(4, 20_000, p=[0.97, 0.01, 0.01, 0.01])
    )
    study = study_of(table_of([first, second, rng.integers(0, 3, 20_000)]), **ALL_AT_ONCE)
    gain = study.joint_of((0, 1)).fit.gain
    assert gain is not None and gain > 20
    assert 20 < study.sure_gain((0, 1), gain) < gain


def test_independence_never_gains_less_than_nothing():
    study = study_of(skewed(2, n=300), epsilon=1)
    for pair in combinations(range(6), 2):
        own = study._own(pair)
        assert (
            independence_gain(study._basis.summary(own).covering(2), study._basis.independent(own))
            >= 0
        )


def test_the_rule_for_statements_asks_more_than_that_of_the_model():
    """The k largest of m are stated if each reaches log(m / (k 0.05)), k as large as can be; by hand."""
    gains = [9.0, 6.2, 5.0, *[0.0] * 42]
    assert least_gain(gains) == pytest.approx(math.log(45 / (3 * 0.3)))  # 3.9: all three
    assert least_gain(gains, FALSE_STATEMENTS) == pytest.approx(
        math.log(45 / (2 * 0.05))
    )  # 6.1; three would need 5.7
    assert least_gain(gains[1:], FALSE_STATEMENTS) == pytest.approx(
        math.log(44 / 0.05)
    )  # 6.8: none


def pair_people(n: int = 6_000) -> Dataset:
    """q0 and q1 go together, q2 and q3 are for themselves."""
    rng = np.random.default_rng(4)
    first = rng.integers(0, 3, n)
    return table_of(
        [
            first,
            np.where(rng.random(n) < 0.6, first, rng.integers(0, 3, n)),
            rng.integers(0, 2, n),
            rng.integers(0, 4, n),
        ]
    )


@pytest.fixture(scope="module")
def published() -> Publication:
    return publish(study_of(pair_people(), epsilon=6).data, seed=1)


def test_what_is_stated_is_what_there_is(published: Publication):
    assert [one.names for one in published.findings.stated] == [("q0", "q1")]
    contrast = published.findings.stated[0].contrast
    assert contrast is not None
    codes = pair_people().codes
    group, answer = (
        np.isin(codes[:, 0], contrast.group.codes),
        np.isin(codes[:, 1], contrast.answer.codes),
    )
    assert contrast.within.low < answer[group].mean() < contrast.within.high
    assert contrast.outside.low < answer[~group].mean() < contrast.outside.high


@pytest.mark.parametrize("shown", [None, (0.2, 0.5), (0.4, 0.6)])
def test_what_cannot_be_shown_is_not_stated(
    monkeypatch: pytest.MonkeyPatch, shown: tuple[float, float] | None
):
    """However large its gain: without a contrast, or where the intervals of its two shares overlap on either side."""
    study = study_of(pair_people(), epsilon=6)
    pairs = {(0, 1): study.joint_of((0, 1))}
    graph = gain_graph(4, {(0, 1): pairs[0, 1].fit.gain or 0.0})
    contrast = contrast_of(study, pairs[0, 1])
    assert (
        contrast is not None
        and contrast.is_clear
        and findings_of(study, graph, pairs, silent).stated
    )
    unclear = (
        None
        if shown is None
        else replace(
            contrast, within=Estimate(0.45, 0.1, *shown), outside=Estimate(0.45, 0.1, 0.3, 0.5)
        )
    )
    monkeypatch.setattr(findings, "contrast_of", lambda study, joint: unclear)
    found = findings_of(study, graph, pairs, silent)
    assert found.least is not None and found.every[0].gain > found.least and not found.stated


def test_findings_are_in_a_file_and_come_back(published: Publication, tmp_path: Path):
    published.save(tmp_path / "p")
    rows = list(
        csv.DictReader((tmp_path / "p" / "estimates" / "findings.csv").read_text().splitlines())
    )
    assert rows[0]["attribute_1"] == "q0" and rows[0]["stated"] == "yes"
    loaded = Publication.load(tmp_path / "p").findings
    assert loaded.least == published.findings.least
    for one, other in zip(loaded.every, published.findings.every, strict=True):
        assert (one.names, one.gain, one.is_stated) == (other.names, other.gain, other.is_stated)
        assert (one.contrast is None) == (other.contrast is None)
        if one.contrast and other.contrast:
            assert (one.contrast.group, one.contrast.answer) == (
                other.contrast.group,
                other.contrast.answer,
            )
            assert one.contrast.within.low == other.contrast.within.low


def test_a_publication_without_findings_still_loads(published: Publication, tmp_path: Path):
    published.save(tmp_path / "p")
    (tmp_path / "p" / "estimates" / "findings.csv").unlink()
    assert Publication.load(tmp_path / "p").findings.every == ()


def test_the_rule_of_the_paper_states_nothing(tmp_path: Path):
    found = publish(study_of(pair_people(), epsilon=6).data, structure="paper", method="em", seed=1)
    assert found.graph.edges and not found.findings.every and found.findings.least is None
    found.save(tmp_path / "p")
    assert "So nothing is stated about it here" in (tmp_path / "p" / "report.html").read_text()


def test_intervals_of_a_contrast_allow_for_all_groups_that_there_were_to_choose_from():
    """Those of a question that was asked beforehand would be too narrow for what was chosen because it stands out."""
    study = study_of(pair_people(), epsilon=6)
    contrast = contrast_of(study, study.joint_of((0, 1)))
    assert contrast is not None
    assert deviations(contrast.group.attribute, contrast.answer.attribute) == pytest.approx(
        2.7729, abs=1e-4
    )  # 0.025 / 9
    one, other = contrast.group.texts[0], contrast.answer.texts[0]
    asked = study.probability(f"q1 == '{other}'", given=f"q0 == '{one}'")
    assert asked.low is not None and asked.high is not None
    assert contrast.within.value == pytest.approx(asked.estimate)
    assert contrast.within.high - contrast.within.low == pytest.approx(
        (asked.high - asked.low) * 2.7729 / 1.96, rel=0.02
    )


def test_a_contrast_of_two_questions_with_two_answers_has_the_usual_interval():
    assert deviations(
        Boolean(name="a"), Categorical(name="b", values=("no", "yes"))
    ) == pytest.approx(1.96, abs=1e-3)
