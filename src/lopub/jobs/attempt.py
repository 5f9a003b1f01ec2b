"""One attempt at a job, in a process of its own: it can be killed at any moment, and leaves a whole
result or none."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from lopub.collector.campaigns import Entry, find_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore
from lopub.errors import LopubError, Message, StoreError
from lopub.files import whole_directory
from lopub.jobs.queue import QueuedJob, text_of
from lopub.jobs.result_files import MARK, outcome_in, place_of, write_outcome
from lopub.reports.progress import Progress

PROGRESS_SECONDS = 0.2
Event = tuple[Literal["progress", "done", "failed"], Any]
"""What an attempt sends to its worker: how far it is, its outcome, or why it failed, as the queue's
text of a message."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a job is about, and what it needs."""

    store: ReportStore
    address: str
    """The address of the store's database."""
    home: Path
    """Where the results of all jobs lie."""
    subject: str
    choices: Mapping[str, Any]
    progress: Progress

    @property
    def entry(self) -> Entry:
        """The campaign that the job is about."""
        return find_campaign(self.store, self.subject)


Function = Callable[[Task, Path], Mapping[str, Any]]
"""What a kind of job does: it fills an empty directory, and returns the outcome."""


def function_of(kind: str) -> Function:
    """What a kind of job does. Loaded here: the process that waits for jobs needs none of it."""
    from lopub.jobs.deletion import delete
    from lopub.jobs.demo import answer
    from lopub.jobs.plan_job import plan
    from lopub.jobs.publication_job import publish

    functions: dict[str, Function] = {
        "publish": publish,
        "plan": plan,
        "delete": delete,
        "answer": answer,
    }
    return functions[kind]


def attempt(address: str, home: Path, job: QueuedJob, pipe: Connection) -> None:
    """Do a job, and send what came out."""
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # of a whole process group: they are the worker's
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        pipe.send(("done", outcome_of(address, home, job, pipe)))
    except LopubError as error:
        pipe.send(("failed", text_of(error.message)))
    except MemoryError:
        pipe.send(("failed", text_of(Message("there is not enough memory for it"))))
    except Exception as error:
        bug = Message("there is a bug: {place}", {"place": _place(error)})
        pipe.send(("failed", text_of(bug)))
    pipe.close()
    os._exit(0)  # as `lopub` itself ends: libraries' threads need not be waited for


def outcome_of(address: str, home: Path, job: QueuedJob, pipe: Connection) -> dict[str, Any]:
    """What a job gave. A result that another attempt left whole is taken as it is, also where that
    one was taken to be dead, and has finished meanwhile."""
    directory = place_of(home, job)
    if (found := outcome_in(directory)) is not None:
        return found
    try:
        return _made(address, home, job, directory, pipe)
    except StoreError:
        if (found := outcome_in(directory)) is None:
            raise
        return found


def _made(
    address: str, home: Path, job: QueuedJob, directory: Path, pipe: Connection
) -> dict[str, Any]:
    store = store_at(address, create=False)
    try:
        task = Task(
            store=store,
            address=address,
            home=home,
            subject=job.subject,
            choices=job.choices,
            progress=_SentProgress(pipe),
        )
        with whole_directory(directory, mark=MARK) as part:
            outcome = dict(function_of(job.kind)(task, part))
            write_outcome(part, outcome)
        return outcome
    finally:
        store.close()


class _SentProgress:
    """Sends progress through a pipe, not more often than anybody looks."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._last = pipe, 0.0

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last >= PROGRESS_SECONDS:
            self._last = now
            self._pipe.send(("progress", (doing, done, total)))


def _end_with_parent() -> None:
    """End with the worker: one that was killed must not leave an attempt behind that goes on with
    its job."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _place(error: BaseException) -> str:
    """Where a bug is: no message, which might hold content."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return f"{type(error).__name__} at an unknown place"
    file = Path(frame.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} in {file}:{frame.tb_lineno}"
