"""The job publishes as the command does: from one store, or the same reports in files, both give
the same publication."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import done, lopub
from workers import CAMPAIGN, closed_campaign, files_in, import_round, task_of, with_closed_campaign

import fakes
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import Repeat, Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore
from lopub.errors import DomainError
from lopub.jobs.publication_job import publish
from lopub.jobs.queue import ask
from lopub.planning.alarms import COVERAGE, DRIFT, MADE, ONES, REPEATS
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.publication import sources
from lopub.reports.dataset import Dataset
from lopub.reports.origin import PLAIN
from lopub.reports.simulation.clients import simulate

DIRECT = fakes.campaign("direct, sample:2, jointly")
UNARY = fakes.campaign("unary, sample:2, jointly")
REPORTS_NEEDED = fakes.campaign("unary, sample:2, separately")


@pytest.fixture
def store(database: str) -> Iterator[ReportStore]:
    opened = store_at(database)
    yield opened
    opened.close()


ONE_STORE = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True
)


def by_job(
    store: ReportStore, address: str, campaign: Campaign, part: Path, **choices: Any
) -> Path:
    """The publication that the job makes."""
    part.mkdir()
    publish(task_of(store, address, part, campaign.id, choices), part)
    return part / "publication"


def by_command(part: Path, *words: object) -> Path:
    """The publication that `lopub publish` makes."""
    done(lopub("publish", *words, "-o", part))
    return part


def manifest_of(publication: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((publication / "manifest.json").read_text())
    return found


# ---- the command and the job


@pytest.mark.parametrize("campaign", [UNARY, REPORTS_NEEDED], ids=["from counts", "from reports"])
def test_the_command_and_the_job_publish_the_same_bytes_of_one_store(
    campaign: Campaign, store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to look for fakes in one of them alone: the manifest's checks and the pages would
    contradict each other."""
    closed_campaign(store, campaign, fakes.mixed(campaign, "copies", 1_500, 0.4, seed=1))
    job = by_job(store, database, campaign, tmp_path / "job", seed=3)
    command = by_command(tmp_path / "command", database, "--seed", 3)
    assert files_in(job) == files_in(command)
    assert set(manifest_of(job)["checks"].values()) == {MADE}
    assert REPEATS in [alarm["kind"] for alarm in manifest_of(job)["alarms"]]
    page = (job / "report.html").read_text()
    assert "Some reports may be fakes." in page and "only their counts were read" not in page


def test_the_same_reports_in_files_are_checked_as_those_of_a_store(
    store: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of many reports, the same ones are drawn wherever they lie, and however they are cut."""
    monkeypatch.setattr(sources, "MOST_CHECKED", 500)
    batch = replace(fakes.mixed(UNARY, "copies", 2_000, 0.4, seed=1), origin=PLAIN)
    closed_campaign(store, UNARY, batch)
    batch.save(tmp_path / "whole.parquet")
    batch[:700].save(tmp_path / "first.bin")
    batch[600:].save(tmp_path / "second.parquet")
    UNARY.save(tmp_path / "campaign.json")
    job = by_job(store, database, UNARY, tmp_path / "job")
    whole = by_command(tmp_path / "of one file", tmp_path / "whole.parquet")
    parts = by_command(
        tmp_path / "of two files",
        tmp_path / "campaign.json",
        tmp_path / "first.bin",
        tmp_path / "second.parquet",
    )
    assert files_in(job) == files_in(whole) == files_in(parts)
    among = manifest_of(job)["checks"][REPEATS]
    assert re.fullmatch(r"made among [3-6]\d\d reports that were drawn", among)
    assert REPEATS in [alarm["kind"] for alarm in manifest_of(job)["alarms"]]


@pytest.mark.parametrize("is_answered", [False, True])
def test_the_command_and_the_job_know_alike_whether_people_were_made_up(
    is_answered: bool, store: ReportStore, database: str, tmp_path: Path
):
    """Forbids that a publication by the command passes made-up people of a demo for real ones."""
    with_closed_campaign(store)
    if is_answered:
        ask(store, "answer", CAMPAIGN.id, {"people": 30, "seed": 1})
    job = by_job(store, database, CAMPAIGN, tmp_path / "job")
    command = by_command(tmp_path / "command", database)
    assert files_in(job) == files_in(command)
    assert manifest_of(command)["reports"]["simulated"] is is_answered


def in_rounds(store: ReportStore, *, days_ago: int) -> tuple[Campaign, Schedule]:
    """An open campaign in rounds of 20 days, with 25 reports in each of the first two."""
    schedule = Schedule.in_rounds(
        day_of(store.today()) - timedelta(days=days_ago),
        Repeat(every_days=20, rounds=6, take_part=2),
    )
    terms = Terms(name="rounds", min_reports=20, schedule=schedule)
    campaign = make_campaign(CAMPAIGN.domain, terms, CampaignRequest(epsilon=4))
    entry, _ = open_campaign(store, campaign)
    answers = Dataset(campaign.domain, np.array([[1, 2]] * 25, dtype=np.int32))
    for slot in schedule.slots[:2]:
        import_round(store, entry, simulate(answers, campaign, seed=slot, slot=slot))
    return campaign, schedule


@ONE_STORE
def test_the_command_and_the_job_publish_the_same_rounds(
    store: ReportStore, database: str, tmp_path: Path
):
    campaign, schedule = in_rounds(store, days_ago=21)
    close_campaign(store, campaign.id)
    every = by_job(store, database, campaign, tmp_path / "job")
    command = by_command(tmp_path / "command", database, "--all-rounds")
    assert files_in(every) == files_in(command)
    slot = schedule.slots[1]
    one = by_job(store, database, campaign, tmp_path / "job of one", round=slot)
    command = by_command(tmp_path / "command for one", database, "--round", day_of(slot))
    assert files_in(one) == files_in(command)


# ---- what is looked for, and said


def test_honest_reports_raise_no_alarm_and_the_report_does_not_say_that_nobody_looked(
    store: ReportStore, database: str, tmp_path: Path
):
    closed_campaign(store, DIRECT, fakes.honest(DIRECT, 1_500, seed=1))
    found = by_job(store, database, DIRECT, tmp_path / "job")
    assert manifest_of(found)["checks"] == {COVERAGE: MADE, ONES: MADE, REPEATS: MADE, DRIFT: MADE}
    assert [alarm for alarm in manifest_of(found)["alarms"] if not alarm["notice"]] == []
    assert "only their counts were read" not in (found / "report.html").read_text()


@ONE_STORE
def test_shares_that_are_known_from_elsewhere_are_kept_and_a_wrong_file_is_refused(
    store: ReportStore, database: str, tmp_path: Path
):
    with_closed_campaign(store)
    first = CAMPAIGN.domain.attributes[0]
    listed = "\n".join(f"{text},{0.5 if i < 2 else 0}" for i, text in enumerate(first.texts))
    known = f"{first.name},probability\n{listed}\n"
    found = by_job(store, database, CAMPAIGN, tmp_path / "one", margins=known)
    assert not (tmp_path / "one" / "margin.csv").exists()
    table = (found / "estimates" / "marginals.csv").read_text()
    assert re.search(rf"^{first.name},{first.texts[0]},0\.5\b", table, re.MULTILINE), table
    wrong = {
        "x,y": "the file of known shares has no column 'probability'",
        f"{first.name},probability\n?,1": "line 2",
    }
    for number, (margins, sentence) in enumerate(wrong.items()):
        with pytest.raises(DomainError, match=sentence):
            by_job(store, database, CAMPAIGN, tmp_path / f"wrong{number}", margins=margins)


@ONE_STORE
def test_one_round_that_is_over_is_published_while_the_campaign_goes_on(
    store: ReportStore, database: str, tmp_path: Path
):
    campaign, schedule = in_rounds(store, days_ago=60)
    task = task_of(store, database, tmp_path, campaign.id, {"round": schedule.slots[0]})
    (tmp_path / "one").mkdir()
    assert publish(task, tmp_path / "one")["n_reports"] == 25
    for choices in ({}, {"round": schedule.slots[3]}):
        with pytest.raises(DomainError, match="close the campaign first"):
            publish(replace(task, choices=choices), tmp_path / "two")


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("made_up", ["", "answered", "chosen"])
def test_a_publication_of_made_up_people_says_that_it_is_a_rehearsal(
    rounds: bool, made_up: str, tmp_path: Path
):
    """Forbids to take the database's word: it keeps reports, and not where they come from."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    campaign = CAMPAIGN
    if rounds:
        campaign, _ = in_rounds(store, days_ago=25)
        close_campaign(store, campaign.id)
    else:
        with_closed_campaign(store)
    if made_up == "answered":
        ask(store, "answer", campaign.id, {"people": 30, "seed": 1})
    chosen = {"simulated": True} if made_up == "chosen" else {}
    found = by_job(store, database, campaign, tmp_path / "job", **chosen)
    mark = json.loads((found / ("rounds.json" if rounds else "manifest.json")).read_text())
    assert (mark if rounds else mark["reports"])["simulated"] is bool(made_up)
    assert ("ehearsal" in (found / "report.html").read_text()) is bool(made_up)
    store.close()
