"""What each kind of job makes of its task: plans, certificates, answers of made-up people."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from workers import CAMPAIGN, SECONDS, import_round, task_of, with_closed_campaign

from lopub.campaign.schedule import Repeat, Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import close_campaign, find_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.retention import erase
from lopub.collector.store import ReportStore
from lopub.errors import DomainError
from lopub.jobs.deletion import MOST_TRIES, REMAINS, ask_for_certificates, delete
from lopub.jobs.demo import answer
from lopub.jobs.plan_job import plan
from lopub.jobs.queue import State, claim, end, jobs_of
from lopub.jobs.result_files import place_of
from lopub.jobs.worker import Worker
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft_template import template
from lopub.reports.dataset import Dataset
from lopub.reports.simulation.clients import simulate


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReportStore]:
    opened = store_at(f"sqlite:///{tmp_path}/lopub.db")
    yield opened
    opened.close()


# ---- plans


def test_a_plan_is_tried_and_makes_a_campaign(store: ReportStore, tmp_path: Path):
    choices = {"draft": template("work"), "people": 500, "epsilon": 4}
    assert plan(task_of(store, "", tmp_path, "draft", choices), tmp_path)["tried_people"] == 500
    made = json.loads((tmp_path / "campaign.json").read_text())
    assert made["name"] == "work"
    assert (tmp_path / "plan.html").read_text().startswith("<!DOCTYPE html>")


def test_a_draft_in_rounds_is_tried_with_the_people_of_one_round(
    store: ReportStore, tmp_path: Path
):
    repeat = {"every_days": 7, "rounds": 6, "take_part": 3}
    fields = [{"name": name, "type": "boolean"} for name in ("a", "b")]
    schedule = {"opens": "2026-11-02", "repeat": repeat}
    draft = json.dumps({"name": "months", "schedule": schedule, "schema": {"fields": fields}})
    choices = {"draft": draft, "people": 1000, "epsilon": 2}
    assert plan(task_of(store, "", tmp_path, "draft", choices), tmp_path)["tried_people"] == 500
    page = (tmp_path / "plan.html").read_text()
    assert '<h2 id="rounds">What rounds cost</h2>' in page
    assert re.search(r"lifetime epsilon</dt><dd><data value=\"[\d.]+\">6\.000</data>", page)


# ---- deletion


def test_a_deletion_leaves_a_certificate_and_no_reports(store: ReportStore, tmp_path: Path):
    with_closed_campaign(store)
    certificate = delete(task_of(store, "", tmp_path), tmp_path)
    assert certificate == json.loads((tmp_path / "certificate.json").read_text())
    assert certificate == {
        "campaign": CAMPAIGN.id,
        "name": "survey",
        "deleted_on": str(day_of(store.today())),
        "rows_deleted": 60,
        "may_remain": REMAINS,
    }
    assert find_campaign(store, CAMPAIGN.id).erased == store.today()
    assert delete(task_of(store, "", tmp_path), tmp_path)["rows_deleted"] is None


def test_an_open_campaign_is_not_deleted(store: ReportStore, tmp_path: Path):
    open_campaign(store, CAMPAIGN)
    with pytest.raises(DomainError, match="close the campaign first: it still takes reports"):
        delete(task_of(store, "", tmp_path), tmp_path)


def test_a_certificate_has_the_day_of_the_deletion_and_not_its_own(
    store: ReportStore, tmp_path: Path
):
    with_closed_campaign(store)
    erase(store, find_campaign(store, CAMPAIGN.id))
    deleted_on = day_of(store.today())
    later = store.today() + 5
    store.today = lambda: later
    assert delete(task_of(store, "", tmp_path), tmp_path)["deleted_on"] == str(deleted_on)


@pytest.mark.parametrize(("n_few", "stated"), [(0, 20), (3, None), (20, 40)])
def test_a_certificate_does_not_give_away_how_many_reports_a_hidden_round_had(
    n_few: int, stated: int | None, store: ReportStore, tmp_path: Path
):
    schedule = Schedule.in_rounds(
        day_of(store.today()), Repeat(every_days=20, rounds=6, take_part=2)
    )
    terms = Terms(name="rounds", min_reports=20, schedule=schedule)
    campaign = make_campaign(CAMPAIGN.domain, terms, CampaignRequest(epsilon=4))
    entry, _ = open_campaign(store, campaign)
    for slot, n in zip(schedule.slots, (20, n_few), strict=False):
        answers = Dataset(campaign.domain, np.array([[1, 2]] * n, dtype=np.int32).reshape(n, 2))
        if n:
            import_round(store, entry, simulate(answers, campaign, seed=slot, slot=slot))
    close_campaign(store, campaign.id)
    assert delete(task_of(store, "", tmp_path, campaign.id), tmp_path)["rows_deleted"] == stated


def test_a_campaign_that_retention_erased_gets_its_certificate_once(
    store: ReportStore, tmp_path: Path
):
    """Forbids to leave the certificate to the collector, which has no place for it, or to make it
    in two ways."""
    with_closed_campaign(store)
    ask_for_certificates(store)
    assert jobs_of(store) == []
    erase(store, find_campaign(store, CAMPAIGN.id))
    worker = Worker(store, f"sqlite:///{tmp_path}/lopub.db", tmp_path / "files", name="one")
    over = time.monotonic() + SECONDS
    worker.run(
        lambda: time.monotonic() > over or any(not job.is_under_way for job in jobs_of(store))
    )
    (job,) = jobs_of(store, CAMPAIGN.id)
    assert (job.kind, job.state, job.outcome["rows_deleted"]) == ("delete", State.DONE, None)
    assert (place_of(tmp_path / "files", job) / "certificate.json").is_file()
    ask_for_certificates(store)
    assert len(jobs_of(store)) == 1


def test_a_certificate_that_cannot_be_made_is_not_asked_for_without_end(store: ReportStore):
    with_closed_campaign(store)
    erase(store, find_campaign(store, CAMPAIGN.id))
    for _ in range(2 * MOST_TRIES):
        ask_for_certificates(store)
        if (job := claim(store, "one")) is not None:
            end(store, job, "one", State.FAILED)
    assert len(jobs_of(store, CAMPAIGN.id, kind="delete")) == MOST_TRIES


# ---- demos


def test_made_up_people_answer_once_however_often_the_job_is_taken_up(
    store: ReportStore, tmp_path: Path
):
    entry, _ = open_campaign(store, CAMPAIGN)
    task = task_of(store, "", tmp_path, CAMPAIGN.id, {"people": 50, "seed": 9})
    assert answer(task, tmp_path) == {"n_people": 50, "n_new": 50}
    assert answer(task, tmp_path) == {"n_people": 50, "n_new": 0}
    assert tally(store, entry).n_reports == 50
    close_campaign(store, CAMPAIGN.id)
    with pytest.raises(DomainError, match="nobody can answer today"):
        answer(task, tmp_path)
