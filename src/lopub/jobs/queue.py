"""The queue of jobs: long work that is asked for in a database and done by any worker.

A worker holds a job by a lease that it renews; one that was killed renews nothing, and another
takes the job up again, a few times at most. Leases are measured by the database's clock, whatever
the clocks of the workers' machines show. What a worker writes about a job counts only while it
holds the job, so that each job ends once.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, and_, func, insert, or_, select, text, update

from lopub.collector.logs import log_event
from lopub.collector.rows import job_lines, jobs
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, LopubError, Message

KINDS = ("publish", "plan", "delete", "answer")
LEASE_MS = 10_000
"""A worker that has not renewed its lease for so long is taken to be dead."""
CLOCK_STEP_MS = 2_000
"""How far the database's clock may be set back while a lease runs. A lease that ends later than
that and LEASE_MS from now was written by a clock that was ahead; whoever is
alive renews it within a second."""
MOST_ATTEMPTS = 5
"""A job whose workers die that often is at fault itself: too large for the memory, for one."""
MOST_LINES = 1000
LONGEST_TEXT = 2000
"""Characters of a message."""
CLOCKS = {
    "sqlite": text("SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"),
    "postgresql": text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
}
"""The database's clock in Unix milliseconds, by its kind."""


class State(StrEnum):
    """What a job may be."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class LostJob(LopubError):
    """A job that another worker has taken over, or that has ended."""


class DamagedJob(DomainError):
    """A job that the database does not hold as it was written."""


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
    problem: Message | None
    """Why it failed, in a sentence; None where it did not."""
    asked: int
    ended: int | None

    @property
    def is_under_way(self) -> bool:
        return self.ended is None

    @property
    def folder(self) -> str:
        """The name under which its result lies. Not the number alone: numbers begin anew with a new
        database, and results of an old one may still be there, or those of another database
        beside."""
        asked = json.dumps([self.kind, self.subject, self.choices, self.asked], sort_keys=True)
        return f"{self.number}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def ask(
    store: ReportStore, kind: str, subject: str = "", choices: Mapping[str, Any] | None = None
) -> QueuedJob:
    """A new job; or the one of this kind and subject that is under way."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise DomainError("kind must be one of {known}, got {kind!r}", known=known, kind=kind)
    new = {
        "kind": kind,
        "subject": subject,
        "choices": json.dumps(choices or {}),
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
        asked = _now(connection) // 1000
        connection.execute(
            store.upsert(jobs).values(new | {"asked": asked}).on_conflict_do_nothing()
        )
        under_way = (jobs.c.kind == kind, jobs.c.subject == subject, jobs.c.ended.is_(None))
        return _from_row(connection.execute(select(jobs).where(*under_way)).one())


def find_job(store: ReportStore, number: int) -> QueuedJob:
    """The job of this number."""
    with store.reading() as connection:
        row = connection.execute(select(jobs).where(jobs.c.number == number)).one_or_none()
    if row is None:
        raise DomainError("there is no job {number}", number=number)
    return _from_row(row)


def jobs_of(
    store: ReportStore, subject: str | None = None, *, kind: str | None = None, most: int = 100
) -> list[QueuedJob]:
    """The jobs about a campaign or a draft, or all; the newest first. Damaged ones are left out."""
    chosen = select(jobs).order_by(jobs.c.number.desc()).limit(most)
    chosen = chosen if subject is None else chosen.where(jobs.c.subject == subject)
    chosen = chosen if kind is None else chosen.where(jobs.c.kind == kind)
    with store.reading() as connection:
        return [job for row in connection.execute(chosen) if (job := _undamaged(row)) is not None]


def subjects_done(store: ReportStore, kind: str) -> set[str]:
    """The campaigns, or drafts, for which a job of this kind has been done."""
    chosen = select(jobs.c.subject).where(jobs.c.kind == kind, jobs.c.state == State.DONE)
    with store.reading() as connection:
        return set(connection.scalars(chosen))


def has_made_up_answers(store: ReportStore, campaign_id: str) -> bool:
    """Whether made-up people answered a campaign, which its reports do not say."""
    chosen = select(jobs.c.number).where(jobs.c.subject == campaign_id, jobs.c.kind == "answer")
    with store.reading() as connection:
        return connection.execute(chosen.limit(1)).first() is not None


def lines_of(store: ReportStore, number: int) -> list[tuple[int, Message]]:
    """What happened to a job: when, in Unix seconds, and what."""
    chosen = (
        select(job_lines.c.time, job_lines.c.text)
        .where(job_lines.c.job == number)
        .order_by(job_lines.c.line)
    )
    with store.reading() as connection:
        return [(row[0], message_in(row[1])) for row in connection.execute(chosen)]


def cancel(store: ReportStore, number: int) -> None:
    """End a job that waits, and ask the worker of a running one to stop; one that has ended stays
    as it is."""
    with store.writing() as connection:
        chosen = and_(jobs.c.number == number, jobs.c.ended.is_(None))
        connection.execute(update(jobs).where(chosen).values(to_stop=1))
        _end(connection, and_(chosen, jobs.c.state == State.WAITING), State.CANCELLED)


# ---- for workers


def claim(store: ReportStore, worker: str) -> QueuedJob | None:
    """The oldest job that nobody holds, now held by this worker; None where there is none."""
    with store.reading() as connection:
        any_free = select(jobs.c.number).where(_free(connection)).limit(1)
        if connection.execute(any_free).first() is None:
            return None  # most often: no need to wait for a turn to write
    with store.writing() as connection:
        oldest = select(jobs).where(_free(connection)).order_by(jobs.c.number).limit(1)
        row = connection.execute(oldest.with_for_update(skip_locked=True)).one_or_none()
        if row is None:
            return None
        this = jobs.c.number == row.number
        try:
            _from_row(row)
        except DamagedJob as damaged:
            connection.execute(update(jobs).where(this).values(choices="{}"))
            _end(connection, this, State.FAILED, damaged.message)
            return None
        if row.to_stop:
            _end(connection, this, State.CANCELLED)
            return None
        if row.attempts >= MOST_ATTEMPTS:
            _end(connection, this, State.FAILED, _given_up(row.attempts))
            return None
        taken = {
            "state": State.RUNNING,
            "worker": worker,
            "lease": _now(connection) + LEASE_MS,
            "attempts": row.attempts + 1,
        }
        connection.execute(update(jobs).where(this).values(taken))
        number = {"number": row.attempts + 1}
        begun = Message("attempt {number} begun", number)
        if row.state != State.WAITING:
            begun = Message("attempt {number} begun: the one before was killed", number)
        _add_line(connection, row.number, begun)
        return _from_row(connection.execute(select(jobs).where(this)).one())


def _free(connection: Connection) -> Any:
    """Of jobs: nobody holds it. A state that there is not is nobody's, and is ended by `claim`."""
    now = _now(connection)
    is_over = or_(jobs.c.lease < now, jobs.c.lease > now + LEASE_MS + CLOCK_STEP_MS)
    is_abandoned = and_(jobs.c.state == State.RUNNING, is_over)
    return or_(jobs.c.state == State.WAITING, is_abandoned, jobs.c.state.not_in([*State]))


def _given_up(n_attempts: int) -> Message:
    return Message("its worker died {n} times; is there enough memory for it?", {"n": n_attempts})


def renew(
    store: ReportStore, job: QueuedJob, worker: str, doing: str, done: int, total: int | None
) -> bool:
    """Hold a job for longer, and write down how far it is; whether it is to be cancelled."""
    with store.writing() as connection:
        values = {
            "lease": _now(connection) + LEASE_MS,
            "doing": doing[:200],
            "done": done,
            "total": total,
        }
        renewed = update(jobs).where(_held(job, worker)).values(values).returning(jobs.c.to_stop)
        row = connection.execute(renewed).one_or_none()
        if row is None:
            raise _lost(job)
        return bool(row.to_stop)


def end(
    store: ReportStore,
    job: QueuedJob,
    worker: str,
    state: State,
    *,
    problem: Message | None = None,
    outcome: Mapping[str, Any] | None = None,
) -> None:
    """End a job, once: LostJob where this worker does not hold it any more."""
    with store.writing() as connection:
        _add_line(connection, job.number, problem or Message(str(state)))
        if not _end(connection, _held(job, worker), state, problem, outcome):
            raise _lost(job)  # and the line is undone


def give_back(store: ReportStore, job: QueuedJob, worker: str) -> None:
    """Let a job wait for another worker, as this one is stopped in order: that is not one of the
    deaths after which a job is given up."""
    values = {
        "state": State.WAITING,
        "worker": None,
        "lease": 0,
        "attempts": jobs.c.attempts - 1,
        "doing": "",
        "done": 0,
        "total": None,
    }
    with store.writing() as connection:
        _add_line(connection, job.number, Message("given back: its worker was stopped"))
        if not connection.execute(update(jobs).where(_held(job, worker)).values(values)).rowcount:
            raise _lost(job)


def give_up(store: ReportStore, job: QueuedJob, worker: str) -> None:
    """Free a job whose process died, at once; it is tried again, unless it died too often."""
    with store.writing() as connection:
        _add_line(connection, job.number, Message("its process was killed"))
        if not connection.execute(update(jobs).where(_held(job, worker)).values(lease=0)).rowcount:
            raise _lost(job)


def free_jobs_of(store: ReportStore, worker: str) -> None:
    """Free what a worker of this name held that is known to be dead, without waiting for its lease
    to end."""
    held = and_(jobs.c.worker == worker, jobs.c.ended.is_(None))
    with store.writing() as connection:
        connection.execute(update(jobs).where(held).values(lease=0))


def _held(job: QueuedJob, worker: str) -> Any:
    return and_(jobs.c.number == job.number, jobs.c.worker == worker, jobs.c.ended.is_(None))


def _lost(job: QueuedJob) -> LostJob:
    return LostJob("job {number} was taken over", number=job.number)


def _end(
    connection: Connection,
    chosen: Any,
    state: State,
    problem: Message | None = None,
    outcome: Mapping[str, Any] | None = None,
) -> int:
    values = {
        "state": state,
        "problem": "" if problem is None else text_of(problem),
        "outcome": json.dumps(outcome or {}),
        "ended": _now(connection) // 1000,
        "worker": None,
        "turn": jobs.c.number,
    }
    return connection.execute(update(jobs).where(chosen).values(values)).rowcount


def _add_line(connection: Connection, number: int, line: Message) -> None:
    n = connection.execute(select(func.count()).where(job_lines.c.job == number)).scalar_one()
    if n < MOST_LINES:
        values = {"job": number, "line": n, "time": _now(connection) // 1000, "text": text_of(line)}
        connection.execute(insert(job_lines).values(values))


def _now(connection: Connection) -> int:
    """The database's clock: Unix milliseconds."""
    return int(connection.execute(CLOCKS[connection.dialect.name]).scalar_one())


# ---- messages as text


def text_of(message: Message) -> str:
    """A message as JSON: its template and parameters, dates and the like as text. One that is very
    long, or would not read the same with these, is kept as its finished sentence."""
    members, sentence = _members(message), str(message)
    kept = json.dumps(members, ensure_ascii=False)
    if len(kept) <= LONGEST_TEXT and _sentence_of(members) == sentence:
        return kept
    return json.dumps(_members(Message(sentence[:LONGEST_TEXT])), ensure_ascii=False)


def _members(message: Message) -> dict[str, Any]:
    parameters = {name: _plain(value) for name, value in message.parameters.items()}
    return {"template": message.template, "parameters": parameters}


def _plain(value: object) -> Any:
    if isinstance(value, Message):
        return _members(value)
    return value if type(value) in (str, int, float) else str(value)


def _sentence_of(members: Mapping[str, Any]) -> str | None:
    """None where a text has taken the place of what the template can only format as it was."""
    try:
        return str(_message(members))
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def message_in(text: str) -> Message:
    """The message that a text of the queue holds."""
    return _message(json.loads(text))


def _message(members: Mapping[str, Any]) -> Message:
    parameters = {
        name: _message(value) if isinstance(value, dict) else value
        for name, value in members["parameters"].items()
    }
    return Message(members["template"], parameters)


def _undamaged(row: Row[Any]) -> QueuedJob | None:
    """The job of a row; None where it is damaged, which is logged by its number."""
    try:
        return _from_row(row)
    except DamagedJob:
        log_event("a job is damaged in the database, and is left out", job=row.number)
        return None


def _from_row(row: Row[Any]) -> QueuedJob:
    try:
        return _job_in(row)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise DamagedJob(
            "job {number} is damaged in the database; ask for it again", number=row.number
        ) from None


def _job_in(row: Row[Any]) -> QueuedJob:
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
        problem=message_in(row.problem) if row.problem else None,
        asked=row.asked,
        ended=row.ended,
    )
