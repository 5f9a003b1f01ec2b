"""A job is asked for once, held by one worker at a time by the database's clock, and ends once."""

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from workers import let_lease_end

from lopub.collector.database import store_at
from lopub.collector.rows import jobs
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, Message
from lopub.jobs.queue import (
    LEASE_MS,
    MOST_ATTEMPTS,
    DamagedJob,
    LostJob,
    State,
    ask,
    cancel,
    claim,
    end,
    find_job,
    free_jobs_of,
    give_back,
    give_up,
    has_made_up_answers,
    jobs_of,
    lines_of,
    renew,
    subjects_done,
)


@pytest.fixture
def store(database: str) -> Iterator[ReportStore]:
    opened = store_at(database)
    yield opened
    opened.close()


def lines(store: ReportStore, number: int) -> list[str]:
    return [str(line) for _, line in lines_of(store, number)]


def test_whoever_asks_twice_gets_one_job(store: ReportStore):
    first, again, other = (
        ask(store, "publish", "a"),
        ask(store, "publish", "a"),
        ask(store, "plan", "a"),
    )
    assert first.number == again.number != other.number
    cancel(store, first.number)
    assert ask(store, "publish", "a").number not in (first.number, other.number)
    with pytest.raises(
        DomainError, match="kind must be one of publish, plan, delete, answer, got 'dance'"
    ):
        ask(store, "dance")


def test_a_job_is_held_by_one_worker_until_its_lease_ends(store: ReportStore):
    asked = ask(store, "publish")
    held = claim(store, "first")
    assert held is not None
    assert (held.number, held.state, held.attempts) == (asked.number, State.RUNNING, 1)
    assert claim(store, "second") is None
    let_lease_end(store, held)
    again = claim(store, "second")
    assert again is not None and (again.number, again.attempts) == (asked.number, 2)
    with pytest.raises(LostJob, match=f"job {asked.number} was taken over"):
        renew(store, held, "first", "on", 1, 2)
    with pytest.raises(LostJob):
        end(store, held, "first", State.DONE, outcome={"by": "first"})
    end(store, again, "second", State.DONE, outcome={"by": "second"})
    found = find_job(store, asked.number)
    assert (found.state, found.outcome) == (State.DONE, {"by": "second"})
    assert lines(store, asked.number) == [
        "attempt 1 begun",
        "attempt 2 begun: the one before was killed",
        "done",
    ]


@pytest.mark.parametrize("hours", [-1_000, 1_000])
def test_a_worker_whose_clock_is_wrong_takes_no_job_from_another(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, hours: int
):
    """Forbids to compare leases with the clock of the worker's machine."""
    now = time.time()
    ask(store, "publish")
    held = claim(store, "right")
    assert held is not None
    monkeypatch.setattr(time, "time", lambda: now + 3600 * hours)
    assert claim(store, "wrong") is None
    renew(store, held, "right", "on", 1, 2)


@pytest.mark.parametrize("hours", [-1_000, 1_000])
def test_a_worker_whose_clock_is_wrong_loses_no_job(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, hours: int
):
    """Forbids to write down the end of a lease by the clock of the worker's machine: it would be
    over at once, or never."""
    now = time.time()
    ask(store, "publish")
    monkeypatch.setattr(time, "time", lambda: now + 3600 * hours)
    held = claim(store, "wrong")
    assert held is not None
    renew(store, held, "wrong", "on", 1, 2)
    monkeypatch.setattr(time, "time", lambda: now)
    assert claim(store, "right") is None
    let_lease_end(store, held)
    taken = claim(store, "right")
    assert taken is not None and taken.number == held.number


def test_a_lease_is_as_long_as_it_says_by_the_clock_of_the_database(store: ReportStore):
    ask(store, "publish")
    before = time.time()
    held = claim(store, "one")
    assert held is not None and abs(held.asked - before) < 60  # both are this machine's clock
    with store.reading() as connection:
        lease = connection.execute(jobs.select()).one().lease
    assert 1000 * before < lease - LEASE_MS + 60_000 < 1000 * time.time() + 120_000


@pytest.mark.parametrize(("ahead_ms", "is_free"), [(0, False), (3_000, True), (10**10, True)])
def test_a_lease_of_a_clock_that_was_ahead_holds_no_job(
    store: ReportStore, ahead_ms: int, is_free: bool
):
    """Forbids to wait until the lease ends: the job would be stuck for as long as the clock was
    ahead."""
    ask(store, "publish")
    held = claim(store, "killed")
    assert held is not None
    let_lease_end(store, held, late_ms=-ahead_ms)
    assert (claim(store, "another") is not None) == is_free


DAMAGES: list[dict[str, object]] = [
    {"choices": "{"},
    {"state": "odd"},
    {"problem": "x"},
    {"problem": '{"template": "x"}'},
    {"problem": '{"template": "x", "parameters": 1}'},
]


def damage(store: ReportStore, number: int, values: dict[str, object]) -> None:
    with store.writing() as connection:
        connection.execute(jobs.update().where(jobs.c.number == number).values(values))


@pytest.mark.parametrize("values", DAMAGES, ids=str)
def test_a_damaged_job_fails_alone(store: ReportStore, values: dict[str, object]):
    """Forbids that one bad row keeps workers from every other job."""
    bad, good = ask(store, "publish", "a"), ask(store, "publish", "b")
    damage(store, bad.number, values)
    assert [job.number for job in jobs_of(store)] == [good.number]
    assert claim(store, "one") is None
    found = find_job(store, bad.number)
    assert (found.state, found.is_under_way) == (State.FAILED, False)
    assert str(found.problem) == (f"job {bad.number} is damaged in the database; ask for it again")
    held = claim(store, "one")
    assert held is not None and held.number == good.number


def test_a_damaged_job_that_has_ended_is_left_out(store: ReportStore):
    bad = ask(store, "answer", "a")
    cancel(store, bad.number)
    damage(store, bad.number, {"problem": "x"})
    assert jobs_of(store) == [] and claim(store, "one") is None
    assert has_made_up_answers(store, "a")
    with pytest.raises(DamagedJob, match=f"job {bad.number} is damaged"):
        find_job(store, bad.number)


def test_renewing_says_whether_the_job_is_to_stop(store: ReportStore):
    asked = ask(store, "publish")
    job = claim(store, "one")
    assert job is not None
    assert renew(store, job, "one", "counting", 1, 2) is False
    found = find_job(store, asked.number)
    assert (found.doing, found.done, found.total) == ("counting", 1, 2)
    cancel(store, asked.number)
    assert renew(store, job, "one", "counting", 2, None) is True


def test_a_job_ends_once(store: ReportStore):
    ask(store, "publish")
    job = claim(store, "one")
    assert job is not None
    end(store, job, "one", State.FAILED, problem=Message("no"))
    with pytest.raises(LostJob):
        end(store, job, "one", State.DONE)
    cancel(store, job.number)
    found = find_job(store, job.number)
    assert (found.state, str(found.problem)) == (State.FAILED, "no")


def test_a_job_whose_workers_keep_dying_fails_with_a_sentence(store: ReportStore):
    asked = ask(store, "publish")
    for _ in range(MOST_ATTEMPTS):
        job = claim(store, "frail")
        assert job is not None
        give_up(store, job, "frail")
    assert claim(store, "frail") is None
    found = find_job(store, asked.number)
    assert found.state is State.FAILED
    assert str(found.problem) == "its worker died 5 times; is there enough memory for it?"


def test_a_job_that_is_given_back_in_order_is_not_given_up(store: ReportStore):
    """Forbids to count a restart of the service as one of the deaths after which a job fails."""
    asked = ask(store, "publish")
    for _ in range(2 * MOST_ATTEMPTS):
        job = claim(store, "restarted")
        assert job is not None and job.attempts == 1
        give_back(store, job, "restarted")
        found = find_job(store, asked.number)
        assert (found.state, found.attempts) == (State.WAITING, 0)
    assert lines(store, asked.number)[:3] == [
        "attempt 1 begun",
        "given back: its worker was stopped",
        "attempt 1 begun",
    ]


def test_a_job_that_another_has_taken_over_is_not_given_back(store: ReportStore):
    ask(store, "publish")
    job = claim(store, "slow")
    assert job is not None
    free_jobs_of(store, "slow")
    assert claim(store, "quick") is not None
    for leave in (give_back, give_up):
        with pytest.raises(LostJob):
            leave(store, job, "slow")
    assert lines(store, job.number) == [
        "attempt 1 begun",
        "attempt 2 begun: the one before was killed",
    ]


def test_a_waiting_job_is_cancelled_at_once_and_a_dead_one_when_it_is_found(store: ReportStore):
    waiting = ask(store, "publish")
    cancel(store, waiting.number)
    assert find_job(store, waiting.number).state is State.CANCELLED
    dead = ask(store, "publish")
    claim(store, "one")
    cancel(store, dead.number)
    assert find_job(store, dead.number).state is State.RUNNING
    free_jobs_of(store, "one")
    assert claim(store, "two") is None
    assert find_job(store, dead.number).state is State.CANCELLED


def test_what_was_done_is_known_by_its_subject(store: ReportStore):
    assert not has_made_up_answers(store, "a")
    ask(store, "answer", "a")
    assert has_made_up_answers(store, "a") and not has_made_up_answers(store, "b")
    assert subjects_done(store, "answer") == set()
    job = claim(store, "one")
    assert job is not None
    end(store, job, "one", State.DONE)
    assert subjects_done(store, "answer") == {"a"}
    assert [found.number for found in jobs_of(store, "a", kind="answer")] == [job.number]


@pytest.mark.parametrize(
    "message",
    [
        Message("there is no job {number}", {"number": 7}),
        Message("{n:,} reports of {share:.1%}", {"n": 12_345, "share": 0.25}),
        Message("{what}: {text!r}", {"what": Message("in {file}", {"file": "a"}), "text": "é\0"}),
        Message("braces {} and {all}"),
    ],
)
def test_a_problem_keeps_its_template_and_what_its_blanks_stand_for(
    store: ReportStore, message: Message
):
    """Forbids to keep the English sentence alone, which no page could show in another language."""
    ask(store, "publish")
    job = claim(store, "one")
    assert job is not None
    end(store, job, "one", State.FAILED, problem=message)
    assert find_job(store, job.number).problem == message
    assert lines_of(store, job.number)[-1][1] == message


def test_a_day_in_a_problem_is_kept_as_its_text(store: ReportStore):
    ask(store, "publish")
    job = claim(store, "one")
    assert job is not None
    problem = Message("over since {day}", {"day": date(2026, 11, 2)})
    end(store, job, "one", State.FAILED, problem=problem)
    assert find_job(store, job.number).problem == Message("over since {day}", {"day": "2026-11-02"})


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (Message("on {day:%d.%m.}", {"day": date(2026, 11, 2)}), "on 02.11."),
        (Message("{text}", {"text": "x" * 5_000}), "x" * 2_000),
    ],
)
def test_a_problem_that_cannot_be_kept_in_parts_is_kept_as_a_sentence(
    store: ReportStore, message: Message, sentence: str
):
    ask(store, "publish")
    job = claim(store, "one")
    assert job is not None
    end(store, job, "one", State.FAILED, problem=message)
    assert find_job(store, job.number).problem == Message(sentence)


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
