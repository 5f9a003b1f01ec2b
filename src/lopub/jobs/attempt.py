"""One attempt at a job, in a process of its own: it can be stopped at any moment, and leaves a whole result or none."""

import os
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from lopub.collector.database import store_at
from lopub.collector.queue import QueuedJob
from lopub.console.results import place_of
from lopub.errors import LopubError, StoreError
from lopub.files import whole_directory
from lopub.jobs.results import MARK, outcome_in, write_outcome
from lopub.jobs.work import Task, work_of

TELLING_SECONDS = 0.2
Said = tuple[Literal["progress", "done", "refused", "bug"], Any]
"""What an attempt tells its worker."""


def attempt(address: str, home: Path, job: QueuedJob, pipe: Connection) -> None:
    """Do a job, and say what came out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        pipe.send(("done", outcome_of(address, home, job, pipe)))
    except LopubError as error:
        pipe.send(("refused", str(error)))
    except MemoryError:
        pipe.send(("refused", "there is not enough memory for it"))
    except Exception as error:
        pipe.send(("bug", f"{type(error).__name__} in {_place(error)}"))
    pipe.close()
    os._exit(0)  # as `lopub` itself ends: threads of libraries need no farewell


def outcome_of(address: str, home: Path, job: QueuedJob, pipe: Connection) -> dict[str, Any]:
    """What a job gave. A result that another attempt left whole is taken as it is, also where that one was taken to be dead, and
    has finished meanwhile."""
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
            progress=_Telling(pipe),
        )
        with whole_directory(directory, mark=MARK) as part:
            outcome = dict(work_of(job.kind)(task, part))
            write_outcome(part, outcome)
        return outcome
    finally:
        store.close()


class _Telling:
    """Progress through a pipe, not more often than anybody looks."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._last = pipe, 0.0

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last >= TELLING_SECONDS:
            self._last = now
            self._pipe.send(("progress", (doing, done, total)))


def _end_with_parent() -> None:
    """A worker that was killed must not leave somebody behind who goes on with its job."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _place(error: BaseException) -> str:
    """Where a bug is: no message, which might hold content."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return (
        "unknown"
        if frame is None
        else f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
    )
