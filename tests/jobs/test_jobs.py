"""Jobs end once, with a whole result or a clear sentence, whatever happens to their workers."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import people
from lopub.campaign.report import Report
from lopub.campaign.schedule import Repeat, Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import (
    Entry,
    close_campaign,
    erase,
    find_campaign,
    open_campaign,
    tally,
)
from lopub.collector.collector import erase_overdue
from lopub.collector.database import store_at
from lopub.collector.importing import _rows
from lopub.collector.queue import (
    LEASE_MS,
    MOST_ATTEMPTS,
    LostJob,
    QueuedJob,
    State,
    ask,
    cancel,
    claim,
    end,
    find_job,
    jobs_of,
    let_go,
    lines_of,
    renew,
)
from lopub.collector.reading import batch_of
from lopub.collector.store import ReportStore, Submission
from lopub.collector.wire import row_of
from lopub.console.results import place_of
from lopub.errors import DomainError
from lopub.files import whole_directory
from lopub.jobs.answering import answer
from lopub.jobs.attempt import outcome_of
from lopub.jobs.copying import export
from lopub.jobs.deleting import delete
from lopub.jobs.publishing import publish
from lopub.jobs.results import MARK, tidy, write_archive, write_outcome
from lopub.jobs.trying import plan
from lopub.jobs.work import Task
from lopub.jobs.worker import Worker
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft_template import template
from lopub.reports.batch import ReportBatch
from lopub.reports.dataset import Dataset
from lopub.reports.progress import silent
from lopub.reports.simulation.clients import simulate

CAMPAIGN = people.campaign()
SECONDS = 600
"""How long anything here may take before a test gives up; nothing is compared with it."""


@pytest.fixture
def store(database: str) -> Iterator[ReportStore]:
    opened = store_at(database)
    yield opened
    opened.close()


@pytest.fixture
def collected(store: ReportStore) -> ReportStore:
    return with_closed_campaign(store)


def with_closed_campaign(store: ReportStore) -> ReportStore:
    """A store with a closed campaign of 60 reports."""
    entry, _ = open_campaign(store, CAMPAIGN)
    rows = [
        row_of(Report.from_bytes(data, CAMPAIGN), entry.number)
        for data in people.reports(CAMPAIGN, 60)
    ]
    store.write([Submission(entry.number, rows)])
    close_campaign(store, CAMPAIGN.id)
    return store


ONE_STORE = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True
)
"""For what workers do with a queue that other tests try on both kinds of store."""


def start_worker(database: str, home: Path, name: str = "test") -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "lopub",
        "worker",
        "--database",
        database,
        "--files",
        str(home),
        "--name",
        name,
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def working(database: str, home: Path) -> Iterator[None]:
    process = start_worker(database, home)
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0


def until(holds: Callable[[], bool], *, every: float = 0.05) -> None:
    over = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < over
        time.sleep(every)


def ended(store: ReportStore, job: QueuedJob) -> QueuedJob:
    until(lambda: not find_job(store, job.number).is_under_way)
    return find_job(store, job.number)


def files_in(directory: Path) -> dict[str, str]:
    """Every file with the hash of its bytes."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
    }


# ---- the queue


def test_whoever_asks_twice_gets_one_job(store: ReportStore):
    first, again, other = (
        ask(store, "publish", "a"),
        ask(store, "publish", "a"),
        ask(store, "export", "a"),
    )
    assert first.number == again.number != other.number
    cancel(store, first.number)
    assert ask(store, "publish", "a").number not in (first.number, other.number)
    with pytest.raises(
        DomainError,
        match="kind must be one of publish, plan, export, backup, delete, answer, got 'dance'",
    ):
        ask(store, "dance")


def test_a_job_is_held_by_one_worker_until_its_lease_ends(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)  # a lease is short for a busy machine
    asked = ask(store, "backup")
    held = claim(store, "first")
    assert held is not None and (held.number, held.state, held.attempts) == (
        asked.number,
        State.RUNNING,
        1,
    )
    assert claim(store, "second") is None
    monkeypatch.setattr(time, "time", lambda: now + LEASE_MS / 1000 + 1)
    again = claim(store, "second")
    assert again is not None and (again.number, again.attempts) == (asked.number, 2)
    with pytest.raises(LostJob, match=f"job {asked.number} was taken over"):
        renew(store, held, "first", "on", 1, 2)
    with pytest.raises(LostJob):
        end(store, held, "first", State.DONE, outcome={"by": "first"})
    end(store, again, "second", State.DONE, outcome={"by": "second"})
    found = find_job(store, asked.number)
    assert (found.state, found.outcome) == (State.DONE, {"by": "second"})
    said = [text for _, text in lines_of(store, asked.number)]
    assert said == ["attempt 1 begun", "attempt 2 taken up again: its worker had died", "done"]


def test_a_job_ends_once(store: ReportStore):
    ask(store, "backup")
    job = claim(store, "one")
    assert job is not None
    end(store, job, "one", State.FAILED, problem="no")
    with pytest.raises(LostJob):
        end(store, job, "one", State.DONE)
    cancel(store, job.number)
    assert find_job(store, job.number).state is State.FAILED


def test_a_job_whose_workers_keep_dying_fails_with_a_sentence(store: ReportStore):
    job = ask(store, "backup")
    for _ in range(MOST_ATTEMPTS):
        assert claim(store, "frail") is not None
        let_go(store, "frail")
    assert claim(store, "frail") is None
    found = find_job(store, job.number)
    assert found.state is State.FAILED
    assert found.problem == "its worker died 5 times; is there enough memory for it?"


def test_a_waiting_job_is_cancelled_at_once_and_a_dead_one_when_it_is_found(store: ReportStore):
    waiting = ask(store, "backup")
    cancel(store, waiting.number)
    assert find_job(store, waiting.number).state is State.CANCELLED
    dead = ask(store, "backup")
    claim(store, "one")
    cancel(store, dead.number)
    assert find_job(store, dead.number).state is State.RUNNING
    let_go(store, "one")
    assert claim(store, "two") is None
    assert find_job(store, dead.number).state is State.CANCELLED


# ---- workers


@ONE_STORE
def test_a_worker_publishes_exports_backs_up_and_deletes(
    collected: ReportStore, database: str, tmp_path: Path
):
    home = tmp_path / "files"
    with working(database, home):
        published, exported = (
            ask(collected, "publish", CAMPAIGN.id, {"seed": 3}),
            ask(collected, "export", CAMPAIGN.id),
        )
        saved = ask(collected, "backup")
        for job in (published, exported, saved):
            assert ended(collected, job).state is State.DONE, find_job(
                collected, job.number
            ).problem
        assert len(ReportBatch.load(place_of(home, exported) / "reports.parquet")) == 60
        result = place_of(home, published)
        manifest = json.loads((result / "publication" / "manifest.json").read_text())
        assert (manifest["reports"]["accepted"], manifest["settings"]["seed"]) == (60, 3)
        with zipfile.ZipFile(result / "publication.zip") as archive:
            assert (
                archive.read("publication/report.html")
                == (result / "publication" / "report.html").read_bytes()
            )
        deleted = ended(collected, ask(collected, "delete", CAMPAIGN.id))
    assert deleted.state is State.DONE, deleted.problem
    assert (deleted.outcome["rows_deleted"], deleted.outcome["exports_deleted"]) == (60, 1)
    assert deleted.outcome["backups_here"] == [saved.number]
    assert not any("this service made" in text for text in deleted.outcome["may_remain"])
    assert find_campaign(collected, CAMPAIGN.id).erased is not None
    assert not (home / exported.folder).exists()
    assert (result / "publication").is_dir()
    assert (place_of(home, saved) / "lopub.backup").stat().st_mode & 0o077 == 0


def test_a_plan_is_tried_and_makes_a_campaign(tmp_path: Path):
    address = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(address)
    choices = {"draft": template("work"), "people": 500, "epsilon": 4}
    task = Task(
        store=store,
        address=address,
        home=tmp_path,
        subject="draft",
        choices=choices,
        progress=silent,
    )
    assert plan(task, tmp_path)["tried_people"] == 500
    made = json.loads((tmp_path / "campaign.json").read_text())
    assert made["name"] == "work"
    assert (tmp_path / "plan.html").read_text().startswith("<!DOCTYPE html>")
    store.close()


@ONE_STORE
def test_shares_that_are_known_from_elsewhere_are_kept_and_a_wrong_file_is_told(
    collected: ReportStore, database: str, tmp_path: Path
):
    first = CAMPAIGN.domain.attributes[0]
    listed = "\n".join(f"{text},{0.5 if i < 2 else 0}" for i, text in enumerate(first.texts))
    choices = {"margins": f"{first.name},probability\n{listed}\n"}
    task = Task(
        store=collected,
        address=database,
        home=tmp_path,
        subject=CAMPAIGN.id,
        choices=choices,
        progress=silent,
    )
    (tmp_path / "one").mkdir()
    assert publish(task, tmp_path / "one")["n_reports"] == 60
    assert not (tmp_path / "one" / "margin.csv").exists()
    table = (tmp_path / "one" / "publication" / "estimates" / "marginals.csv").read_text()
    assert re.search(rf"^{first.name},{first.texts[0]},0\.5\b", table, re.MULTILINE), table
    for wrong, sentence in {
        "x,y": "the file of known shares has no column 'probability'",
        f"{first.name},probability\n?,1": "line 2",
    }.items():
        with pytest.raises(DomainError, match=sentence):
            publish(replace(task, choices={"margins": wrong}), tmp_path / "one")


@ONE_STORE
def test_one_round_that_is_over_is_published_while_the_campaign_goes_on(
    store: ReportStore, database: str, tmp_path: Path
):
    schedule = Schedule.in_rounds(
        day_of(store.today()) - timedelta(days=60), Repeat(every_days=20, rounds=6, take_part=2)
    )
    campaign = make_campaign(
        CAMPAIGN.domain,
        Terms(name="rounds", min_reports=20, schedule=schedule),
        CampaignRequest(epsilon=4),
    )
    entry, _ = open_campaign(store, campaign)
    over, now = schedule.slots[0], schedule.slots[3]
    answers = Dataset(campaign.domain, np.array([[1, 2]] * 20, dtype=np.int32))
    for slot in (over, now):
        store.write(
            [
                Submission(
                    entry.number,
                    _rows(simulate(answers, campaign, seed=slot, slot=slot), entry.number),
                )
            ]
        )
    task = Task(
        store=store,
        address=database,
        home=tmp_path,
        subject=campaign.id,
        choices={"round": over},
        progress=silent,
    )
    (tmp_path / "one").mkdir()
    assert publish(task, tmp_path / "one")["n_reports"] == 20
    for choices in ({}, {"round": now}):
        with pytest.raises(DomainError, match="close the campaign first"):
            publish(replace(task, choices=choices), tmp_path / "two")


@pytest.mark.parametrize(("n_few", "told"), [(0, 20), (3, None), (20, 40)])
def test_a_certificate_does_not_tell_how_many_reports_a_hidden_round_had(
    n_few, told, store, database: str, tmp_path: Path
):
    schedule = Schedule.in_rounds(
        day_of(store.today()), Repeat(every_days=20, rounds=6, take_part=2)
    )
    campaign = make_campaign(
        CAMPAIGN.domain,
        Terms(name="rounds", min_reports=20, schedule=schedule),
        CampaignRequest(epsilon=4),
    )
    entry, _ = open_campaign(store, campaign)
    for slot, n in zip(schedule.slots, (20, n_few), strict=False):
        answers = Dataset(campaign.domain, np.array([[1, 2]] * n, dtype=np.int32).reshape(n, 2))
        store.write(
            [
                Submission(
                    entry.number,
                    _rows(simulate(answers, campaign, seed=slot, slot=slot), entry.number),
                )
            ]
        )
    close_campaign(store, campaign.id)
    task = Task(
        store=store,
        address=database,
        home=tmp_path,
        subject=campaign.id,
        choices={},
        progress=silent,
    )
    assert delete(task, tmp_path)["rows_deleted"] == told


@ONE_STORE
def test_a_draft_in_rounds_is_tried_with_the_people_of_one_round(
    store: ReportStore, database: str, tmp_path: Path
):
    repeat = {"every_days": 7, "rounds": 6, "take_part": 3}
    draft = json.dumps({"name": "months", "schedule": {"opens": "2026-11-02", "repeat": repeat}, "schema": {"fields": [
        {"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]}})  # fmt: skip
    choices = {"draft": draft, "people": 1000, "epsilon": 2}
    task = Task(
        store=store,
        address=database,
        home=tmp_path,
        subject="draft",
        choices=choices,
        progress=silent,
    )
    assert plan(task, tmp_path)["tried_people"] == 500
    page = (tmp_path / "plan.html").read_text()
    assert '<h2 id="rounds">What rounds cost</h2>' in page
    assert re.search(r"lifetime epsilon</dt><dd><data value=\"[\d.]+\">6\.000</data>", page)


def test_made_up_people_answer_once_however_often_the_job_is_taken_up(
    store: ReportStore, database: str, tmp_path: Path
):
    entry, _ = open_campaign(store, CAMPAIGN)
    choices = {"people": 50, "seed": 9}
    task = Task(
        store=store,
        address=database,
        home=tmp_path,
        subject=CAMPAIGN.id,
        choices=choices,
        progress=silent,
    )
    assert answer(task, tmp_path) == {"n_people": 50, "n_new": 50}
    assert answer(task, tmp_path) == {"n_people": 50, "n_new": 0}
    assert tally(store, entry).n_reports == 50
    close_campaign(store, CAMPAIGN.id)
    with pytest.raises(DomainError, match="nobody can answer today"):
        answer(task, tmp_path)


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("made_up", ["", "answered", "chosen"])
def test_a_publication_of_made_up_people_says_that_it_is_a_rehearsal(
    rounds, made_up, tmp_path: Path
):
    """Forbids to take the database's word: it keeps reports, and not where they come from."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    schedule = Schedule.in_rounds(
        day_of(store.today()) - timedelta(days=25), Repeat(every_days=20, rounds=2, take_part=2)
    )
    terms = Terms(name="whose", min_reports=20, schedule=schedule if rounds else None)
    campaign = make_campaign(CAMPAIGN.domain, terms, CampaignRequest(epsilon=4))
    entry, _ = open_campaign(store, campaign)
    answers = Dataset(campaign.domain, np.array([[1, 2]] * 30, dtype=np.int32))
    for slot in schedule.slots[:2] if rounds else (entry.clock(),):
        store.write(
            [
                Submission(
                    entry.number,
                    _rows(simulate(answers, campaign, seed=slot, slot=slot), entry.number),
                )
            ]
        )
    if made_up == "answered":
        ask(store, "answer", campaign.id, {"people": 30, "seed": 1})
    close_campaign(store, campaign.id)
    choices = {"simulated": True} if made_up == "chosen" else {}
    publish(
        Task(
            store=store,
            address=database,
            home=tmp_path,
            subject=campaign.id,
            choices=choices,
            progress=silent,
        ),
        tmp_path,
    )
    page = (tmp_path / "publication" / "report.html").read_text()
    mark = json.loads(
        (tmp_path / "publication" / ("rounds.json" if rounds else "manifest.json")).read_text()
    )
    assert (mark if rounds else mark["reports"])["simulated"] is bool(made_up)
    assert ("ehearsal" in page) is bool(made_up)
    store.close()


@ONE_STORE
def test_what_cannot_be_done_fails_with_its_sentence(
    store: ReportStore, database: str, tmp_path: Path
):
    open_campaign(store, CAMPAIGN)
    with working(database, tmp_path / "files"):
        early, none = ask(store, "publish", CAMPAIGN.id), ask(store, "export", "0" * 64)
        assert ended(store, early).problem.startswith("close the campaign first")
        assert ended(store, none).problem == "there is no campaign 0000000000000000… here"
    assert list((tmp_path / "files").iterdir()) == []


def test_a_running_job_is_cancelled_and_leaves_nothing(tmp_path: Path):
    address = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(address)
    with working(address, tmp_path / "files"):
        job = ask(
            store, "plan", "draft", {"draft": template("work"), "people": 2_000_000, "epsilon": 4}
        )
        until(lambda: find_job(store, job.number).state is State.RUNNING)
        cancel(store, job.number)
        assert ended(store, job).state is State.CANCELLED
    assert list((tmp_path / "files").iterdir()) == []
    store.close()


class Talkative:
    """An attempt that has something to say all the time."""

    def poll(self, seconds: float) -> bool:
        time.sleep(0.01)
        return True

    def recv(self) -> tuple[str, tuple[str, int, int]]:
        return "progress", ("counting", 1, 2)


@ONE_STORE
def test_a_job_that_talks_all_the_time_is_cancelled_too(
    store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to look whether a job is to stop only where it has said nothing for a while."""
    asked = ask(store, "backup")
    worker = Worker(store, database, tmp_path / "files", name="one")
    job = claim(store, "one")
    assert job is not None
    cancel(store, asked.number)
    over = time.monotonic() + SECONDS
    worker._watched(job, cast(Connection, Talkative()), lambda: time.monotonic() > over)
    assert find_job(store, asked.number).state is State.CANCELLED


def test_what_a_worker_still_writes_is_left_to_it(store: ReportStore, tmp_path: Path):
    """Forbids to remove a part whose worker was only held up: it would get its name, and be half of a result."""
    job = ask(store, "backup")
    place = place_of(tmp_path, job)
    with whole_directory(place, mark=MARK) as part:
        (part / "a").write_text("a")
        tidy(tmp_path, job)
        assert (part / "a").exists()
        write_outcome(part, {})
    (place.parent / ".0123456789abcdef.part").mkdir()
    tidy(tmp_path, job)
    assert [left.name for left in place.parent.iterdir()] == ["result"]


def test_what_is_left_of_a_job_that_was_given_up_is_taken_away(
    store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to leave that to the job's own worker, which was killed: nobody claims a job that has failed."""
    job = ask(store, "backup")
    left = place_of(tmp_path, job).with_name(".0123456789abcdef.part")
    left.mkdir(parents=True)
    worker = Worker(store, database, tmp_path, name="another")
    worker.run(lambda: True)
    assert left.exists()  # somebody may be about to take it up
    cancel(store, job.number)
    worker.run(lambda: True)
    assert not left.parent.exists()


def test_a_result_that_came_while_it_was_made_again_is_taken(
    store: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    job = ask(store, "backup")

    def late(task: Task, part: Path) -> dict[str, str]:
        with whole_directory(
            place_of(tmp_path, job), mark=MARK
        ) as other:  # by a worker that was taken to be dead
            write_outcome(other, {"by": "the first"})
        return {"by": "the second"}

    monkeypatch.setattr("lopub.jobs.attempt.work_of", lambda kind: late)
    assert outcome_of(database, tmp_path, job, cast(Connection, Talkative())) == {"by": "the first"}


def test_results_of_another_database_are_not_taken_for_ones_own(tmp_path: Path):
    """Forbids to find a result by the number of its job: a new database begins with 1 again."""
    folders = set()
    for name, subject in (("old", "a"), ("new", "b")):
        store = store_at(f"sqlite:///{tmp_path}/{name}.db")
        job = ask(store, "publish", subject)
        store.close()
        assert job.number == 1
        folders.add(job.folder)
    assert len(folders) == 2


def test_an_export_during_which_the_reports_were_deleted_is_none(
    collected: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    task = Task(
        store=collected,
        address=database,
        home=tmp_path,
        subject=CAMPAIGN.id,
        choices={},
        progress=silent,
    )
    batch = batch_of(collected, task.entry)

    def slowly(store: ReportStore, entry: Entry) -> ReportBatch:
        erase(store, entry)
        return batch

    monkeypatch.setattr("lopub.jobs.copying.batch_of", slowly)
    with pytest.raises(DomainError, match="the reports were deleted while they were exported"):
        export(task, tmp_path)


def test_at_the_end_of_its_retention_a_campaigns_exports_go_too_and_there_is_a_certificate(
    collected: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to delete the rows alone: an export is a copy of them."""
    exported = ask(collected, "export", CAMPAIGN.id)
    place_of(tmp_path, exported).mkdir(parents=True)
    entry = find_campaign(collected, CAMPAIGN.id)
    monkeypatch.setattr("lopub.collector.collector.overdue", lambda store: [entry])
    erase_overdue(collected)
    (job,) = jobs_of(collected, CAMPAIGN.id, kind="delete")
    (tmp_path / "part").mkdir()
    task = Task(
        store=collected,
        address=database,
        home=tmp_path,
        subject=job.subject,
        choices={},
        progress=silent,
    )
    certificate = delete(task, tmp_path / "part")
    assert (
        certificate["campaign"],
        certificate["rows_deleted"],
        certificate["exports_deleted"],
    ) == (CAMPAIGN.id, None, 1)
    assert not place_of(tmp_path, exported).exists()


def expected_files(collected: ReportStore, database: str, home: Path) -> dict[str, str]:
    with working(database, home):
        job = ended(collected, ask(collected, "publish", CAMPAIGN.id))
    return files_in(home / job.folder)


def kill(worker: "subprocess.Popen[bytes]") -> None:
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()


def kill_while_writing(store: ReportStore, database: str, home: Path) -> QueuedJob:
    """A job whose worker was killed once its result had begun; nobody has taken it up again."""
    over = time.monotonic() + SECONDS
    while time.monotonic() < over:
        job = ask(store, "publish", CAMPAIGN.id)
        worker = start_worker(database, home)
        try:
            until(
                lambda job=job: (
                    any(home.rglob("*.part")) or not find_job(store, job.number).is_under_way
                ),
                every=0.002,
            )
        finally:
            kill(worker)
        if find_job(store, job.number).is_under_way:  # or it was done before anybody saw it
            return job
    raise AssertionError("every job was done before its worker could be killed")


def test_a_job_whose_worker_was_killed_is_taken_up_and_gives_the_same_bytes_once(tmp_path: Path):
    database, home = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "files"
    store = with_closed_campaign(store_at(database))
    calm = Task(
        store=store,
        address=database,
        home=tmp_path,
        subject=CAMPAIGN.id,
        choices={},
        progress=silent,
    )
    (tmp_path / "calm").mkdir()
    publish(calm, tmp_path / "calm")
    store.close()  # which opened the file a second time: SQLite's locks of the first are gone
    store = store_at(database)
    job = kill_while_writing(store, database, home)
    with working(database, home):
        assert ended(store, job).state is State.DONE, find_job(store, job.number).problem
    said = [text for _, text in lines_of(store, job.number)]
    assert "attempt 2 taken up again: its worker had died" in said and said.count("done") == 1
    found = files_in(place_of(home, job))
    assert found.pop(MARK) and found == files_in(tmp_path / "calm")
    assert not list(home.rglob("*.part"))
    store.close()


def kill_and_publish(
    store: ReportStore, database: str, home: Path, *, n_publications: int, n_kills: int
) -> list[QueuedJob]:
    """Publish again and again, and kill the worker at moments drawn from a fixed seed.

    Gives every job as it ended.
    """
    rng = random.Random(7)
    found: list[QueuedJob] = []
    worker = start_worker(database, home)
    kills = n_kills
    while len(found) < n_publications:
        job = ask(store, "publish", CAMPAIGN.id)
        while find_job(store, job.number).is_under_way:
            pause = rng.uniform(0.1, 6.0)
            over = time.monotonic() + pause
            while time.monotonic() < over and find_job(store, job.number).is_under_way:
                time.sleep(0.02)
            if kills and find_job(store, job.number).is_under_way:
                kills -= 1
                kill(worker)
                worker = start_worker(database, home)
        found.append(find_job(store, job.number))
    worker.terminate()
    worker.wait(SECONDS)
    return found


@pytest.mark.full
@pytest.mark.parametrize(("n_publications", "n_kills"), [(1, 2), (20, 50)])
def test_killed_workers_publish_each_time_the_same_bytes_once_or_fail_clearly(
    collected: ReportStore, database: str, tmp_path: Path, n_publications: int, n_kills: int
):
    expected = expected_files(collected, database, tmp_path / "calm")
    home = tmp_path / "files"
    jobs = kill_and_publish(
        collected, database, home, n_publications=n_publications, n_kills=n_kills
    )
    assert len({job.number for job in jobs}) == n_publications
    for job in jobs:
        if job.state is State.DONE:
            assert files_in(home / job.folder) == expected
            assert [text for _, text in lines_of(collected, job.number)].count("done") == 1
        else:
            assert (
                job.problem
                == f"its worker died {MOST_ATTEMPTS} times; is there enough memory for it?"
            )
            assert not place_of(home, job).exists()
    assert not list(home.rglob("*.part"))
    assert {job.state for job in jobs_of(collected, CAMPAIGN.id)} <= {State.DONE, State.FAILED}


def test_an_archive_of_the_same_files_has_the_same_bytes(tmp_path: Path):
    (tmp_path / "p" / "inner").mkdir(parents=True)
    (tmp_path / "p" / "inner" / "b").write_text("b")
    (tmp_path / "p" / "a").write_text("a")
    for name in ("one.zip", "two.zip"):
        write_archive(tmp_path / "p", tmp_path / name)
        os.utime(tmp_path / "p" / "a", (0, 0))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["p/a", "p/inner/b"]
