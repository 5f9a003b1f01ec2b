"""Jobs end once, with a whole result or a clear sentence, whatever happens to their workers."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

import pytest
from workers import (
    CAMPAIGN,
    SECONDS,
    ended,
    files_in,
    start_worker,
    task_of,
    until,
    with_closed_campaign,
    working,
)

from lopub.collector.campaigns import find_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore
from lopub.errors import StoreUnavailable
from lopub.files import whole_directory
from lopub.jobs import worker as worker_module
from lopub.jobs.attempt import Task, outcome_of
from lopub.jobs.publication_job import publish
from lopub.jobs.queue import (
    MOST_ATTEMPTS,
    QueuedJob,
    State,
    ask,
    cancel,
    claim,
    find_job,
    free_jobs_of,
    jobs_of,
    lines_of,
    renew,
)
from lopub.jobs.result_files import MARK, place_of, remove_leftovers, write_outcome
from lopub.jobs.worker import Worker
from lopub.questionnaire.draft_template import template

LONG = {"draft": template("work"), "people": 2_000_000, "epsilon": 4}
"""A plan that takes longer than any test waits for it."""


@pytest.fixture
def store(database: str) -> Iterator[ReportStore]:
    opened = store_at(database)
    yield opened
    opened.close()


@pytest.fixture
def collected(store: ReportStore) -> ReportStore:
    return with_closed_campaign(store)


ONE_STORE = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True
)
"""For what workers do with a queue that other tests try on both kinds of store."""


def lines(store: ReportStore, number: int) -> list[str]:
    return [str(line) for _, line in lines_of(store, number)]


def run_until_ended(store: ReportStore, database: str, home: Path, job: QueuedJob) -> QueuedJob:
    """A job that a worker in this process has done."""
    over = time.monotonic() + SECONDS
    Worker(store, database, home, name="here").run(
        lambda: time.monotonic() > over or not find_job(store, job.number).is_under_way
    )
    return find_job(store, job.number)


# ---- what a worker does


@ONE_STORE
def test_a_worker_publishes_and_deletes(collected: ReportStore, database: str, tmp_path: Path):
    home = tmp_path / "files"
    with working(database, home):
        published = ended(collected, ask(collected, "publish", CAMPAIGN.id, {"seed": 3}))
        assert published.state is State.DONE, published.problem
        deleted = ended(collected, ask(collected, "delete", CAMPAIGN.id))
        assert deleted.state is State.DONE, deleted.problem
    assert (place_of(home, published) / "publication.zip").is_file()
    assert (place_of(home, deleted) / "certificate.json").is_file()
    assert find_campaign(collected, CAMPAIGN.id).erased is not None
    assert lines(collected, published.number) == ["attempt 1 begun", "done"]


@ONE_STORE
def test_what_cannot_be_done_fails_with_its_sentence(
    store: ReportStore, database: str, tmp_path: Path
):
    open_campaign(store, CAMPAIGN)
    with working(database, tmp_path / "files"):
        early, none = ask(store, "publish", CAMPAIGN.id), ask(store, "publish", "0" * 64)
        assert str(ended(store, early).problem).startswith("close the campaign first")
        assert str(ended(store, none).problem) == "there is no campaign 0000000000000000… here"
    assert list((tmp_path / "files").iterdir()) == []


def test_a_running_job_is_cancelled_and_leaves_nothing(tmp_path: Path):
    address = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(address)
    with working(address, tmp_path / "files"):
        job = ask(store, "plan", "draft", LONG)
        until(lambda: find_job(store, job.number).state is State.RUNNING)
        cancel(store, job.number)
        assert ended(store, job).state is State.CANCELLED
    assert list((tmp_path / "files").iterdir()) == []
    store.close()


class Talkative:
    """The pipe of an attempt that sends progress all the time."""

    def poll(self, seconds: float) -> bool:
        time.sleep(0.01)
        return True

    def recv(self) -> tuple[str, tuple[str, int, int]]:
        return "progress", ("counting", 1, 2)


@ONE_STORE
def test_a_job_that_sends_progress_all_the_time_is_cancelled_too(
    store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to look whether a job is to stop only where it has sent nothing for a while."""
    asked = ask(store, "publish")
    worker = Worker(store, database, tmp_path / "files", name="one")
    job = claim(store, "one")
    assert job is not None
    cancel(store, asked.number)
    over = time.monotonic() + SECONDS
    pipe, process = cast(Connection, Talkative()), cast(BaseProcess, None)
    ending = worker._watched(job, process, pipe, lambda: time.monotonic() > over)
    assert ending.state is State.CANCELLED


def test_a_worker_makes_its_directory_again(
    store: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker_module, "SWEEP_SECONDS", 0.01)
    home = tmp_path / "files"
    worker = Worker(store, database, home)
    home.rmdir()
    turns = iter([False, False, True])
    worker.run(lambda: next(turns))
    assert home.is_dir() and home.stat().st_mode & 0o777 == 0o700


def test_no_exception_ends_a_worker(
    store: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to let a bug, or a damaged row, take the worker from all other jobs."""
    n_tried = 0

    def failing_at_first(*arguments: object) -> QueuedJob | None:
        nonlocal n_tried
        n_tried += 1
        if n_tried <= 2:
            raise KeyError("secret")
        return claim(*arguments)  # type: ignore[arg-type]

    lines: list[tuple[str, object]] = []
    monkeypatch.setattr(
        worker_module, "log_event", lambda line, **members: lines.append((line, members))
    )
    monkeypatch.setattr(worker_module, "claim", failing_at_first)
    monkeypatch.setattr(worker_module, "AFTER_FAILURE_SECONDS", 0.01)
    job = run_until_ended(store, database, tmp_path / "files", ask(store, "publish", "0" * 64))
    assert (job.state, job.attempts) == (State.FAILED, 1)
    assert lines[:2] == 2 * [("the worker has a bug, and goes on", {"problem": "KeyError"})]


# ---- leases


def test_a_renewal_that_fails_is_tried_again(
    collected: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to drop a job because the store was out of reach for a moment: nobody else may take
    it before its lease ends."""
    n_tried = 0

    def failing_at_first(*arguments: object) -> bool:
        nonlocal n_tried
        n_tried += 1
        if n_tried <= 2:
            raise StoreUnavailable("out of reach")
        return renew(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(worker_module, "renew", failing_at_first)
    monkeypatch.setattr(worker_module, "RENEW_SECONDS", 0.01)
    asked = ask(collected, "publish", CAMPAIGN.id)
    job = run_until_ended(collected, database, tmp_path / "files", asked)
    assert (job.state, job.attempts, n_tried > 2) == (State.DONE, 1, True), job.problem


def events(log: pytest.LogCaptureFixture) -> list[tuple[str, str, dict[str, object]]]:
    return [
        (one.levelname, one.getMessage(), getattr(one, "stated", {}))
        for one in log.records
        if one.name == "lopub.collector"
    ]


def test_a_worker_logs_when_a_job_begins_and_ends(
    collected: ReportStore, database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "lopub.collector")
    asked = ask(collected, "delete", CAMPAIGN.id)
    job = run_until_ended(collected, database, tmp_path / "files", asked)
    stated: dict[str, object] = {"job": job.number, "kind": "delete"}
    assert [one for one in events(caplog) if one[1].startswith("job ")] == [
        ("INFO", "job begun", stated),
        ("INFO", "job ended", stated | {"state": "done"}),
    ]


def test_a_store_out_of_reach_is_logged_once(
    store: ReportStore,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    """A log that grew by a line every three seconds hid everything else."""
    n_tried = 0

    def failing_at_first(*_: object) -> None:
        nonlocal n_tried
        n_tried += 1
        if n_tried <= 5:
            raise StoreUnavailable("out of reach")

    caplog.set_level("INFO", "lopub.collector")
    monkeypatch.setattr(worker_module, "claim", failing_at_first)
    monkeypatch.setattr(worker_module, "AFTER_FAILURE_SECONDS", 0.01)
    monkeypatch.setattr(worker_module, "IDLE_SECONDS", 0.01)
    Worker(store, database, tmp_path / "files").run(lambda: n_tried > 8)
    assert events(caplog) == [
        ("ERROR", "the store is out of reach of the worker", {"problem": "unavailable"}),
        ("INFO", "the store is in reach of the worker again", {}),
    ]


def test_a_worker_logs_its_start_and_its_stop(tmp_path: Path):
    address = f"sqlite:///{tmp_path}/lopub.db"
    store_at(address).close()
    command = [sys.executable, "-m", "lopub", "worker", "--database", address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    first = json.loads(process.stderr.readline())
    process.terminate()
    _, rest = process.communicate(timeout=SECONDS)
    last = json.loads(rest.splitlines()[-1])
    assert (first["event"], last["event"]) == ("worker started", "worker stopped")


def test_an_end_that_cannot_be_written_down_is_tried_again(
    collected: ReportStore, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    n_tried, end = 0, worker_module.end

    def failing_at_first(*arguments: object, **options: object) -> None:
        nonlocal n_tried
        n_tried += 1
        if n_tried <= 5:
            raise StoreUnavailable("out of reach")
        end(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(worker_module, "end", failing_at_first)
    monkeypatch.setattr(worker_module, "AFTER_FAILURE_SECONDS", 0.01)
    asked = ask(collected, "delete", CAMPAIGN.id)
    job = run_until_ended(collected, database, tmp_path / "files", asked)
    assert (job.state, job.attempts, n_tried) == (State.DONE, 1, 6), job.problem


@ONE_STORE
def test_a_worker_whose_job_was_taken_over_leaves_it(
    store: ReportStore, database: str, tmp_path: Path
):
    ask(store, "publish")
    worker = Worker(store, database, tmp_path / "files", name="slow")
    job = claim(store, "slow")
    assert job is not None
    free_jobs_of(store, "slow")
    assert claim(store, "quick") is not None
    pipe, process = cast(Connection, Talkative()), cast(BaseProcess, None)
    over = time.monotonic() + SECONDS
    with pytest.raises(worker_module.LostJob):
        worker._watched(job, process, pipe, lambda: time.monotonic() > over)


# ---- orderly restarts


@ONE_STORE
def test_a_worker_that_is_stopped_gives_its_job_back_and_leaves_nothing(
    store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to count that as a death, or to leave the job to whoever finds its lease over."""
    home = tmp_path / "files"
    job = ask(store, "plan", "draft", LONG)
    for _ in range(2):
        process = start_worker(database, home)
        until(lambda: find_job(store, job.number).doing not in ("", "starting"))
        process.terminate()
        assert process.wait(SECONDS) == 0
        found = find_job(store, job.number)
        assert (found.state, found.attempts) == (State.WAITING, 0)
        assert list(home.iterdir()) == []
    assert lines(store, job.number) == 2 * [
        "attempt 1 begun",
        "given back: its worker was stopped",
    ]


def test_a_child_ends_with_its_parent_and_gives_its_job_back(tmp_path: Path):
    """Forbids to leave a worker behind where whoever started it was killed."""
    database, home = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "files"
    store = store_at(database)
    job = ask(store, "plan", "draft", LONG)
    words = ["worker", "--child", "--database", database, "--files", str(home)]
    command = [sys.executable, "-m", "lopub", *words]
    started = f"subprocess.Popen({command!r}, stdin=subprocess.PIPE).wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; {started}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: find_job(store, job.number).doing not in ("", "starting"))
    kill(parent)
    until(lambda: find_job(store, job.number).state is State.WAITING)
    assert find_job(store, job.number).attempts == 0
    assert list(home.iterdir()) == []
    store.close()


@pytest.mark.parametrize(
    ("number", "state", "attempts"),
    [
        (signal.SIGTERM, State.WAITING, 0),
        (signal.SIGKILL, State.RUNNING, 1),
    ],
)
def test_an_attempt_that_is_stopped_with_its_group_does_not_count_as_killed(
    number: int, state: State, attempts: int, tmp_path: Path
):
    """Forbids to take an orderly stop of a whole group of processes, as systemd does it, for a lack
    of memory."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    asked = ask(store, "publish")
    worker = Worker(store, database, tmp_path / "files", name="one")
    job = claim(store, "one")
    assert job is not None
    ours, theirs = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=time.sleep, args=(SECONDS,))
    process.start()
    theirs.close()
    os.kill(cast(int, process.pid), number)
    worker._settled(job, worker._watched(job, process, ours, lambda: False), lambda: False)
    found = find_job(store, asked.number)
    assert (found.state, found.attempts) == (state, attempts)
    again = claim(store, "two")
    assert again is not None and again.attempts == attempts + 1
    store.close()


# ---- what is left


def test_what_a_worker_still_writes_is_left_to_it(store: ReportStore, tmp_path: Path):
    """Forbids to remove a part whose worker was only held up: it would get its name, and be half of
    a result."""
    job = ask(store, "publish")
    place = place_of(tmp_path, job)
    with whole_directory(place, mark=MARK) as part:
        (part / "a").write_text("a")
        remove_leftovers(tmp_path, job)
        assert (part / "a").exists()
        write_outcome(part, {})
    (place.parent / ".0123456789abcdef.part").mkdir()
    remove_leftovers(tmp_path, job)
    assert [left.name for left in place.parent.iterdir()] == ["result"]


def test_what_is_left_of_a_job_that_was_given_up_is_removed(
    store: ReportStore, database: str, tmp_path: Path
):
    """Forbids to leave that to the job's own worker, which was killed: nobody claims a job that has
    failed."""
    job = ask(store, "publish")
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
    job = ask(store, "publish")

    def late(task: Task, part: Path) -> dict[str, str]:
        with whole_directory(
            place_of(tmp_path, job), mark=MARK
        ) as other:  # by a worker that was taken to be dead
            write_outcome(other, {"by": "the first"})
        return {"by": "the second"}

    monkeypatch.setattr("lopub.jobs.attempt.function_of", lambda kind: late)
    assert outcome_of(database, tmp_path, job, cast(Connection, Talkative())) == {"by": "the first"}


# ---- killed workers


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
    (tmp_path / "calm").mkdir()
    publish(task_of(store, database, tmp_path), tmp_path / "calm")
    store.close()  # which opened the file a second time: SQLite's locks of the first are gone
    store = store_at(database)
    job = kill_while_writing(store, database, home)
    with working(database, home):
        done = ended(store, job)
        assert done.state is State.DONE, done.problem
    found = lines(store, job.number)
    assert "attempt 2 begun: the one before was killed" in found and found.count("done") == 1
    files = files_in(place_of(home, job))
    assert files.pop(MARK) and files == files_in(tmp_path / "calm")
    assert not list(home.rglob("*.part"))
    store.close()


def expected_files(collected: ReportStore, database: str, home: Path) -> dict[str, str]:
    with working(database, home):
        job = ended(collected, ask(collected, "publish", CAMPAIGN.id))
    return files_in(home / job.folder)


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
            assert lines(collected, job.number).count("done") == 1
        else:
            assert (
                str(job.problem)
                == f"its worker died {MOST_ATTEMPTS} times; is there enough memory for it?"
            )
            assert not place_of(home, job).exists()
    assert not list(home.rglob("*.part"))
    assert {job.state for job in jobs_of(collected, CAMPAIGN.id)} <= {State.DONE, State.FAILED}
