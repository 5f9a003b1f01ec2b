"""Very many pairs: only those that may be edges are fitted, only the strongest are held, and nothing else changes."""

import csv
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lopub import (
    Boolean,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Fill,
    ReportBatch,
    Sample,
    Study,
    Terms,
    count,
    make_campaign,
    publish,
    simulate,
)
from lopub.estimation.joint import JointDistribution
from lopub.publication import stages
from lopub.publication.render import report_page
from lopub.publication.stages import ROUNDED
from lopub.synthesis.dependence import least_gain

DOMAIN = Domain(tuple(Boolean(name=f"q{i:02}") for i in range(24)))
N_PAIRS = 24 * 23 // 2


@cache
def reports() -> ReportBatch:
    """Two attributes are copies of two others; the rest are independent."""
    codes = (np.random.default_rng(4).random((20_000, 24)) < np.linspace(0.2, 0.8, 24)).astype(
        np.uint16
    )
    codes[:, 7], codes[:, 20] = codes[:, 3], codes[:, 11]
    return simulate(
        Dataset(DOMAIN, codes),
        make_campaign(DOMAIN, Terms(name="wide"), CampaignRequest(epsilon=6)),
        seed=1,
    )


def published_wide(most: int) -> stages.Publication:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stages, "MOST_KEPT_PAIRS", most)
        return publish(reports(), seed=1, rows=500)


@pytest.fixture(scope="module")
def strongest() -> stages.Publication:
    """With two pairs held."""
    return published_wide(2)


@pytest.mark.parametrize("most", [3, pytest.param(40, marks=pytest.mark.full)])
def test_pairs_that_cannot_be_edges_are_not_fitted_and_the_edges_are_the_same(
    monkeypatch: pytest.MonkeyPatch, most: int
):
    fitted: list[tuple[int, ...]] = []
    joint_of = Study._joint_of
    monkeypatch.setattr(
        Study,
        "_joint_of",
        lambda self, clique, way: fitted.append(clique) or joint_of(self, clique, way),
    )
    whole = publish(reports(), seed=1, rows=500)
    assert len(fitted) == N_PAIRS and len(whole.pairs) == N_PAIRS
    fitted.clear()
    wide = published_wide(most)
    assert len(fitted) < N_PAIRS / 4
    assert wide.graph.edges == whole.graph.edges == ((11, 20), (3, 7))
    assert wide.graph.least == whole.graph.least
    assert wide.graph.n_saved == N_PAIRS - len(fitted)
    np.testing.assert_array_equal(wide.synthetic.codes, whole.synthetic.codes)


def test_only_the_strongest_joints_are_held(strongest: stages.Publication):
    wide = strongest
    assert len(wide.pairs) == 2 < len(wide.graph.strengths)
    weakest = min(wide.graph.strengths[pair] for pair in wide.pairs)
    assert all(
        strength <= weakest
        for pair, strength in wide.graph.strengths.items()
        if pair not in wide.pairs
    )


def test_a_publicly_known_pair_is_held_in_any_case(monkeypatch: pytest.MonkeyPatch):
    known = JointDistribution(
        (DOMAIN["q00"], DOMAIN["q01"]), np.array([[0.64, 0.16], [0.158, 0.042]])
    )
    monkeypatch.setattr(stages, "MOST_KEPT_PAIRS", 3)
    wide = publish(reports(), seed=1, rows=500, margins=known)
    assert wide.graph.edges == ((0, 1), (11, 20), (3, 7)) and (0, 1) in wide.pairs


def test_the_package_says_what_it_leaves_out(
    strongest: stages.Publication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(report_page, "MOST_QUESTIONS", 10)
    monkeypatch.setattr(report_page.plots, "MOST_LABELS", 5)
    wide = strongest
    wide.save(tmp_path / "p")
    page = (tmp_path / "p" / "report.html").read_text()
    assert "14 more questions are in estimates/marginals.csv" in page
    assert "20 questions that go with no other so strongly are left out" in page
    rows = list(
        csv.DictReader((tmp_path / "p" / "estimates" / "dependence.csv").read_text().splitlines())
    )
    assert len(rows) == len(wide.graph.strengths)
    assert sum(row["mutual_information"] != "" for row in rows) == 2


@pytest.mark.parametrize(
    ("view", "jointly"),
    [
        (Fill(24), True),
        (Sample(3), True),
        (Sample(2), True),
        (Sample(3), False),
        (Sample(2), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [40, 4000])
def test_no_gain_exceeds_its_bound(view: Fill | Sample, jointly: bool, n: int):
    sizes = (2, 3, 4, 2, 5)
    domain = Domain(
        tuple(
            Categorical(name=f"c{i}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )
    rng = np.random.default_rng(n)
    codes = np.stack([rng.integers(0, size, n) for size in domain.sizes], axis=1)
    codes[:, 3] = codes[:, 0]
    request = CampaignRequest(epsilon=5, mechanism="direct", view=view, jointly=jointly)
    people = Dataset(domain, codes.astype(np.uint16))
    study = Study(count(simulate(people, make_campaign(domain, Terms(name="t"), request), seed=2)))
    pairs = [pair for pair in combinations(range(5), 2) if study.n_covering(pair)]
    gains = [study.joint_of(pair).fit.gain or 0.0 for pair in pairs]
    bounds = study.gain_bounds(pairs)
    assert (bounds >= np.array(gains) - ROUNDED).all()
    assert least_gain(bounds) <= least_gain(gains) + ROUNDED
