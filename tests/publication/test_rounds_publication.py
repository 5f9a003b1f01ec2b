"""What is published of rounds: both epsilons wherever one is told, levels, changes, and what a kept answer means."""

import csv
import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Dataset,
    Domain,
    Repeat,
    ReportBatch,
    Schedule,
    StoreError,
    Terms,
    make_campaign,
    publish,
    publish_rounds,
    simulate_rounds,
)
from lopub.cli import app
from lopub.publication.render.rounds import rounds_html
from lopub.reports.origin import Origin

DOMAIN = Domain((Boolean(name="smokes"), Boolean(name="drinks")))


def reports(mode: str) -> ReportBatch:
    repeat = Repeat(every_days=30, rounds=3, take_part=3, mode=mode)
    terms = Terms(
        name="rounds",
        title="Habits <b>",
        min_reports=100,
        schedule=Schedule.in_rounds(date(2026, 1, 1), repeat),
    )
    lifetime = {"lifetime_epsilon": 3} if mode == "permanent" else {}
    campaign: Campaign = make_campaign(
        DOMAIN, terms, CampaignRequest(epsilon=1.5, mechanism="direct", **lifetime)
    )
    table = Dataset(DOMAIN, np.random.default_rng(1).integers(0, 2, (2000, 2)).astype(np.uint16))
    return simulate_rounds([table] * 3, campaign, seed=1)


REPORTS = {mode: reports(mode) for mode in ("sampled", "permanent")}
TOTAL = {"sampled": 4.5, "permanent": 3.0}


@pytest.mark.parametrize("mode", REPORTS)
def test_both_epsilons_stand_wherever_one_is_told(mode, tmp_path):
    publish(REPORTS[mode].of_round("2026-01-31"), rows=50).save(tmp_path / "out")
    told = {
        path.name: path.read_text()
        for path in (tmp_path / "out").rglob("*")
        if path.suffix in (".md", ".yaml", ".json", ".html")
    }
    sentence = f"have epsilon {TOTAL[mode]:.3f}"
    assert all(sentence in told[name] for name in ("MODEL_CARD.md", "dp-deployment.yaml"))
    assert f"have epsilon {TOTAL[mode]:g}" in re.sub(r"</?data[^>]*>", "", told["report.html"])
    for name, path in (
        ("manifest.json", ("campaign",)),
        ("datapackage.json", ()),
        ("summary.json", ("privacy",)),
    ):
        found = json.loads(told[name])
        for step in path:
            found = found[step]
        assert found["lifetime_epsilon"] == pytest.approx(TOTAL[mode], abs=1e-5)
        assert found["epsilon"] < found["lifetime_epsilon"]


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("mode", REPORTS)
def test_all_rounds_are_written_as_tables_and_a_page(mode, tmp_path):
    found = publish_rounds(REPORTS[mode])
    found.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "campaign.json", "changes.csv", "levels.csv", "report.html", "rounds.json",
    ]  # fmt: skip
    levels, changes = rows(tmp_path / "out" / "levels.csv"), rows(tmp_path / "out" / "changes.csv")
    assert len(levels) == 3 * 4 and len(changes) == 2 * 4
    for row in changes:
        low, narrow, change, wide, high = (
            float(row[key]) for key in ("low", "narrow_low", "change", "narrow_high", "high")
        )
        assert low <= narrow < change < wide <= high
        assert (low < narrow) is (mode == "permanent")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Habits &lt;b&gt;" in page and "<b>" not in page.split("</style>")[1].replace(
        "<body>", ""
    )
    assert ("the answers that people gave at the start" in page) is (mode == "permanent")
    assert f"{TOTAL[mode]:g} of everything a device sends" in re.sub(r"</?data[^>]*>", "", page)
    told = json.loads((tmp_path / "out" / "rounds.json").read_text())
    assert [one["first_day"] for one in told["rounds"]] == [
        "2026-01-01",
        "2026-01-31",
        "2026-03-02",
    ]
    with pytest.raises(StoreError):
        found.save(tmp_path / "out")
    found.save(tmp_path / "out", force=True)


def test_a_crowd_that_does_not_change_is_smoothed_and_a_permanent_one_is_not():
    smoothed = publish_rounds(REPORTS["sampled"])
    assert set(smoothed.smoothing) == set(DOMAIN.names)
    plain = publish_rounds(REPORTS["permanent"])
    assert plain.smoothing == {} and all(
        plain.smooth[level] == level.share for level in plain.levels
    )


def test_the_publication_of_one_round_shows_the_trend_and_links_to_all_rounds(tmp_path):
    REPORTS["sampled"].save(tmp_path / "r.parquet")
    result = CliRunner().invoke(
        app,
        [
            "publish",
            str(tmp_path / "r.parquet"),
            "--round",
            "2026-01-31",
            "-o",
            str(tmp_path / "p"),
        ],
    )
    assert result.exit_code == 0, result.output
    page = (tmp_path / "p" / "report.html").read_text()
    assert page.count('<figure class="trend">') == 2 and '<a href="rounds/report.html">' in page
    linked = set(re.findall(r'<a href="(?!#)([^"]*)"', page))
    there = {
        str(path.relative_to(tmp_path / "p"))
        for path in (tmp_path / "p").rglob("*")
        if path.is_file()
    }
    assert linked == there - {"report.html"} and "rounds/levels.csv" in there
    beside = (tmp_path / "p" / "rounds" / "report.html").read_text()
    assert {
        (tmp_path / "p" / "rounds" / one).resolve().is_file()
        for one in re.findall(r'<a href="(?!#)([^"]*)"', beside)
    } == {True}
    assert (
        "rounds/levels.csv" in json.loads((tmp_path / "p" / "manifest.json").read_text())["files"]
    )


def test_a_round_on_its_own_has_no_trend(tmp_path):
    REPORTS["sampled"].of_round("2026-01-31").save(tmp_path / "r.parquet")
    result = CliRunner().invoke(
        app,
        [
            "publish",
            str(tmp_path / "r.parquet"),
            "--round",
            "2026-01-31",
            "-o",
            str(tmp_path / "p"),
        ],
    )
    assert result.exit_code == 0, result.output
    assert (
        not (tmp_path / "p" / "rounds").exists()
        and "rounds/report.html" not in (tmp_path / "p" / "report.html").read_text()
    )


@pytest.mark.parametrize("mode", REPORTS)
def test_the_page_of_all_rounds_is_marked_as_simulated_in_both_languages(mode):
    rounds = publish_rounds(REPORTS[mode])
    for language, said in (
        ("en", "This is a rehearsal with simulated reports"),
        ("de", "Dies ist eine Probe mit simulierten Meldungen"),
    ):
        assert said in rounds_html(rounds, language).decode()
        assert said not in rounds_html(replace(rounds, origin=Origin()), language).decode()
