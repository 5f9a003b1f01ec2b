"""The queue of jobs: long work that is asked for in a database, and done by whichever worker takes it.

A worker holds a job by a lease that it renews; one that was killed renews nothing, and another takes the job up again, a few
times at most. Whatever a worker says of a job counts only while it holds it, so that each job ends once.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, and_, func, insert, or_, select, update

from lopub.collector.rows import job_lines, jobs
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, LopubError

KINDS = ("publish", "plan", "export", "backup", "delete", "answer")
LEASE_MS = 10_000
"""After so long without a word a worker is taken to be dead."""
MOST_ATTEMPTS = 5
"""A job whose workers die that often is at fault itself: too large for the memory, for one."""
MOST_LINES = 1000


class State(StrEnum):
    """What a job may be."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class LostJob(LopubError):
    """A job that another worker has taken over."""


@dataclass(frozen=True, kw_only=True)
class QueuedJob:
    """One piece of work, and how far it is."""

    number: int
    kind: str
    subject: str
    choices: Mapping[str, Any]
    state: State
    attempts: int
    to_stop: bool
    doing: str
    done: int
    total: int | None
    outcome: Mapping[str, Any]
    problem: str
    """Why it failed, in a sentence."""
    asked: int
    ended: int | None

    @property
    def is_under_way(self) -> bool:
        return self.ended is None

    @property
    def folder(self) -> str:
        """The name under which its result lies. Not the number alone: numbers begin anew with a new database, and results of an
        old one may still be there, or those of another database beside."""
        asked = json.dumps([self.kind, self.subject, self.choices, self.asked], sort_keys=True)
        return f"{self.number}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def ask(
    store: ReportStore, kind: str, subject: str = "", choices: Mapping[str, Any] | None = None
) -> QueuedJob:
    """A new job; or the one of this kind and subject that is under way."""
    if kind not in KINDS:
        raise DomainError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    new = {
        "kind": kind,
        "subject": subject,
        "choices": json.dumps(choices or {}),
        "asked": int(time.time()),
    }
    blank = {
        "state": State.WAITING,
        "attempts": 0,
        "lease": 0,
        "to_stop": 0,
        "doing": "",
        "done": 0,
        "outcome": "{}",
        "problem": "",
        "turn": 0,
    }
    with store.writing() as connection:
        connection.execute(store.upsert(jobs).values(new | blank).on_conflict_do_nothing())
        under_way = (jobs.c.kind == kind, jobs.c.subject == subject, jobs.c.ended.is_(None))
        return _from_row(connection.execute(select(jobs).where(*under_way)).one())


def find_job(store: ReportStore, number: int) -> QueuedJob:
    """The job of this number."""
    with store.reading() as connection:
        row = connection.execute(select(jobs).where(jobs.c.number == number)).one_or_none()
    if row is None:
        raise DomainError(f"there is no job {number}")
    return _from_row(row)


def jobs_of(
    store: ReportStore, subject: str | None = None, *, kind: str | None = None, most: int = 100
) -> list[QueuedJob]:
    """The jobs about a campaign or a draft, or all; the newest first."""
    chosen = select(jobs).order_by(jobs.c.number.desc()).limit(most)
    chosen = chosen if subject is None else chosen.where(jobs.c.subject == subject)
    with store.reading() as connection:
        return [
            _from_row(row)
            for row in connection.execute(
                chosen if kind is None else chosen.where(jobs.c.kind == kind)
            )
        ]


def subjects_done(store: ReportStore, kind: str) -> set[str]:
    """What a job of this kind has been done for."""
    with store.reading() as connection:
        return set(
            connection.scalars(
                select(jobs.c.subject).where(jobs.c.kind == kind, jobs.c.state == State.DONE)
            )
        )


def lines_of(store: ReportStore, number: int) -> list[tuple[int, str]]:
    """What was said of a job: when, in Unix seconds, and what."""
    chosen = (
        select(job_lines.c.time, job_lines.c.text)
        .where(job_lines.c.job == number)
        .order_by(job_lines.c.line)
    )
    with store.reading() as connection:
        return [(row[0], row[1]) for row in connection.execute(chosen)]


def cancel(store: ReportStore, number: int) -> None:
    """End a job that waits, and ask the worker of a running one to stop; one that has ended stays as it is."""
    with store.writing() as connection:
        chosen = and_(jobs.c.number == number, jobs.c.ended.is_(None))
        connection.execute(update(jobs).where(chosen).values(to_stop=1))
        _end(connection, and_(chosen, jobs.c.state == State.WAITING), State.CANCELLED)


# ---- for workers


def claim(store: ReportStore, worker: str) -> QueuedJob | None:
    """The oldest job that nobody holds, now held by this worker; None where there is none."""
    now = _now()
    free = or_(
        jobs.c.state == State.WAITING, and_(jobs.c.state == State.RUNNING, jobs.c.lease < now)
    )
    with store.reading() as connection:
        if connection.execute(select(jobs.c.number).where(free).limit(1)).first() is None:
            return None  # most often: no need to wait for a turn to write
    with store.writing() as connection:
        oldest = (
            select(jobs)
            .where(free)
            .order_by(jobs.c.number)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        row = connection.execute(oldest).one_or_none()
        if row is None:
            return None
        this = jobs.c.number == row.number
        if row.to_stop:
            _end(connection, this, State.CANCELLED)
            return None
        if row.attempts >= MOST_ATTEMPTS:
            _end(
                connection,
                this,
                State.FAILED,
                f"its worker died {row.attempts} times; is there enough memory for it?",
            )
            return None
        taken = {
            "state": State.RUNNING,
            "worker": worker,
            "lease": now + LEASE_MS,
            "attempts": row.attempts + 1,
        }
        connection.execute(update(jobs).where(this).values(taken))
        said = "begun" if not row.attempts else "taken up again: its worker had died"
        _say(connection, row.number, f"attempt {row.attempts + 1} {said}")
        return _from_row(connection.execute(select(jobs).where(this)).one())


def let_go(store: ReportStore, worker: str) -> None:
    """Free what a worker of this name held that is known to be dead, without waiting for its lease to end."""
    with store.writing() as connection:
        connection.execute(
            update(jobs).where(jobs.c.worker == worker, jobs.c.ended.is_(None)).values(lease=0)
        )


def renew(
    store: ReportStore, job: QueuedJob, worker: str, doing: str, done: int, total: int | None
) -> None:
    """Hold a job for longer, and say how far it is."""
    values = {"lease": _now() + LEASE_MS, "doing": doing[:200], "done": done, "total": total}
    with store.writing() as connection:
        if not connection.execute(update(jobs).where(_held(job, worker)).values(values)).rowcount:
            raise LostJob(f"job {job.number} was taken over")


def is_to_stop(store: ReportStore, job: QueuedJob) -> bool:
    """Whether somebody asked to cancel a job."""
    return find_job(store, job.number).to_stop


def end(
    store: ReportStore,
    job: QueuedJob,
    worker: str,
    state: State,
    *,
    problem: str = "",
    outcome: Mapping[str, Any] | None = None,
) -> None:
    """End a job, once: LostJob where this worker does not hold it any more."""
    with store.writing() as connection:
        _say(connection, job.number, problem or str(state))
        if not _end(connection, _held(job, worker), state, problem, outcome):
            raise LostJob(f"job {job.number} was taken over")  # and what was said is undone


def say(store: ReportStore, job: QueuedJob, lines: Sequence[str]) -> None:
    """Add to a job's log."""
    with store.writing() as connection:
        for line in lines:
            _say(connection, job.number, line)


def _held(job: QueuedJob, worker: str) -> Any:
    return and_(jobs.c.number == job.number, jobs.c.worker == worker, jobs.c.ended.is_(None))


def _end(
    connection: Connection,
    chosen: Any,
    state: State,
    problem: str = "",
    outcome: Mapping[str, Any] | None = None,
) -> int:
    values = {
        "state": state,
        "problem": problem[:1000],
        "outcome": json.dumps(outcome or {}),
        "ended": _now() // 1000,
    }
    return connection.execute(
        update(jobs).where(chosen).values(values | {"worker": None, "turn": jobs.c.number})
    ).rowcount


def _say(connection: Connection, number: int, line: str) -> None:
    n = connection.execute(select(func.count()).where(job_lines.c.job == number)).scalar_one()
    if n < MOST_LINES:
        connection.execute(
            insert(job_lines).values(job=number, line=n, time=_now() // 1000, text=line[:1000])
        )


def _now() -> int:
    return int(1000 * time.time())


def _from_row(row: Row[Any]) -> QueuedJob:
    return QueuedJob(
        number=row.number,
        kind=row.kind,
        subject=row.subject,
        choices=json.loads(row.choices),
        state=State(row.state),
        attempts=row.attempts,
        to_stop=bool(row.to_stop),
        doing=row.doing,
        done=row.done,
        total=row.total,
        outcome=json.loads(row.outcome),
        problem=row.problem,
        asked=row.asked,
        ended=row.ended,
    )
