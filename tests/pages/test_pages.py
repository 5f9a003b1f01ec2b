"""What a page says is what the files beside it say; plots and pages are the same bytes for the same numbers."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lopub import (
    Boolean,
    Domain,
    Publication,
    Repeat,
    Schedule,
    evaluate,
    make_campaign,
    publish,
    publish_rounds,
    simulate,
    simulate_rounds,
)
from lopub.campaign.terms import Terms
from lopub.evaluation.score_page import scorecard_html, write_scorecard
from lopub.pages import drawing, plots
from lopub.planning.request import CampaignRequest
from lopub.publication.render.report_page import report_html
from lopub.reports.catalogue import ALUMNI
from lopub.reports.dataset import Dataset
from shown_numbers import numbers_in, numbers_on


@pytest.fixture(scope="module")
def people() -> Dataset:
    return ALUMNI.people(3000, seed=1)


def published(people: Dataset, wish: CampaignRequest, **settings: Any):
    return publish(
        simulate(people, make_campaign(people.domain, Terms(name="alumni"), wish), seed=1),
        **settings,
    )


DIRECT = CampaignRequest(epsilon=6)


@pytest.fixture(scope="module")
def publication(people: Dataset) -> Publication:
    return published(people, DIRECT)


@pytest.fixture(scope="module")
def folder(publication: Publication, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, as files."""
    place = tmp_path_factory.mktemp("publication") / "p"
    publication.save(place)
    return place


def test_every_number_on_the_report_is_in_a_file(folder: Path):
    assert strange_numbers(folder, least=200) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "wish",
    [CampaignRequest(epsilon=3), CampaignRequest(flip_probability=0.5)],
    ids=["subset", "bloom"],
)
def test_every_number_on_the_report_of_another_mechanism_is_in_a_file(
    people: Dataset, wish: CampaignRequest, tmp_path: Path
):
    published(people, wish).save(tmp_path / "p")
    assert strange_numbers(tmp_path / "p", least=200) == []


def strange_numbers(folder: Path, *, least: int) -> list[float]:
    """Those on a page, which shows more than so many, that are in no file beside it."""
    shown, known = numbers_on((folder / "report.html").read_bytes()), numbers_in(folder)
    assert len(shown) > least
    return [value for value in shown if value not in known]


def test_every_number_on_the_papers_report_is_in_a_file(people: Dataset, tmp_path: Path):
    published(
        people, CampaignRequest(epsilon=6), structure="paper", method="em", most_cells=200
    ).save(tmp_path / "p")
    assert strange_numbers(tmp_path / "p", least=0) == []


def test_every_number_on_the_scorecard_is_in_a_file(people: Dataset, tmp_path: Path):
    synthetic = ALUMNI.people(2000, seed=2)
    write_scorecard(evaluate(people, synthetic), people, synthetic, tmp_path / "s")
    assert strange_numbers(tmp_path / "s", least=100) == []


def test_no_number_stands_on_a_page_unmarked_in_a_table(folder: Path):
    """A cell that is a number alone must carry its exact value."""
    page = (folder / "report.html").read_text()
    body = page[: page.index('id="sample"')]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", body)
    assert not [cell for cell in cells if re.fullmatch(r"-?[\d.,]+( %)?", cell)]


def test_the_same_numbers_give_the_same_page(people: Dataset, publication: Publication):
    assert report_html(published(people, DIRECT)) == report_html(publication)
    scores = evaluate(people, people, classifiers=False)
    assert scorecard_html(scores, people, people) == scorecard_html(scores, people, people)


def test_a_page_holds_no_script_and_no_address(folder: Path):
    page = (folder / "report.html").read_text()
    assert "<script" not in page
    addresses = re.findall(r'(?:src|href)="(?!#|data:,)([^"]*)"', page)
    assert addresses and not [
        one for one in addresses if re.search(r"^/|//|:|\.\.", one)
    ]  # files beside it


def test_every_file_that_a_page_links_to_is_there_and_every_file_is_linked(folder: Path):
    linked = set(re.findall(r'<a href="(?!#)([^"]*)"', (folder / "report.html").read_text()))
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert linked == there - {"report.html"}


def test_a_report_without_dependence_says_so():
    rng = np.random.default_rng(1)
    people = ALUMNI.people(600, seed=1)
    shuffled = Dataset(
        people.domain, np.stack([rng.permutation(column) for column in people.codes.T], axis=1)
    )
    page = report_html(published(shuffled, CampaignRequest(epsilon=1))).decode()
    assert "Independence would have done as well" in page


# ---- plots


def test_two_pictures_on_a_page_share_no_id():
    values = np.array([[np.nan, 0.5], [0.5, np.nan]])
    pictures = [
        plots.heat_map(values, ["a", "b"], name=name, description="d", scale="s")
        for name in ("one", "two")
    ]
    ids = [set(re.findall(r'id="([^"]+)"', picture)) for picture in pictures]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_a_picture_is_described_and_wears_the_pages_colours():
    picture = plots.graph(["a", "b", "c"], {(0, 1): 2.0}, name="g", description='three "things"')
    assert 'aria-label="three &quot;things&quot;"' in picture
    assert "var(--ink)" in picture
    assert "#010101" not in picture


def test_labels_that_fonts_or_formulas_would_stumble_over_are_drawn():
    values = np.array([[np.nan, 0.5], [0.5, np.nan]])
    for label in ("$x$", "收入", "عربى", "a" * 300, "<b>", "100 %", "\\alpha", "_{x}"):
        for picture in (
            plots.heat_map(values, [label, "b"], name="h", description="d", scale="s"),
            plots.graph([label, "b"], {(0, 1): 1.0}, name="g", description="d"),
        ):
            assert picture.startswith("<svg"), label
            assert "<b>" not in picture, label


def test_neighbours_stand_beside_each_other_on_the_circle():
    assert drawing._round_order(4, {(0, 2): 5.0, (1, 2): 1.0}) == [0, 2, 1, 3]


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_every_number_on_the_page_of_all_rounds_is_in_a_file(mode: str, tmp_path: Path):
    domain = Domain((Boolean(name="smokes"), Boolean(name="drinks")))
    repeat = Repeat(every_days=30, rounds=3, take_part=2, mode=mode)
    terms = Terms(
        name="rounds", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    lifetime = {"lifetime_epsilon": 3} if mode == "permanent" else {}
    campaign = make_campaign(
        domain, terms, CampaignRequest(epsilon=1.5, mechanism="direct", **lifetime)
    )
    table = Dataset(domain, np.random.default_rng(1).integers(0, 2, (1000, 2)).astype(np.uint16))
    publish_rounds(simulate_rounds([table] * 3, campaign, seed=1)).save(tmp_path / "r")
    assert strange_numbers(tmp_path / "r", least=50) == []
