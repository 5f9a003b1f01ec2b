"""A worker: takes jobs from the queue, one after the other, and has each done in a process of its own."""

import math
import multiprocessing
import secrets
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lopub.collector.logs import tell
from lopub.collector.queue import (
    LostJob,
    QueuedJob,
    State,
    claim,
    end,
    is_to_stop,
    jobs_of,
    let_go,
    renew,
    say,
)
from lopub.collector.store import ReportStore
from lopub.errors import LopubError
from lopub.files import make_private_directory
from lopub.jobs.attempt import attempt
from lopub.jobs.results import sweep, tidy

IDLE_SECONDS = 0.5
"""Between two looks at the queue, and between two looks whether a job is to stop."""
RENEW_SECONDS = 2.0
SWEEP_SECONDS = 3600.0
"""Between two looks for results that are of no more use."""
AFTER_FAILURE_SECONDS = 2.0
"""Between two looks at a store that is out of reach."""


class Worker:
    """One worker. address: of the store's database. home: where results go. name: those of the same name follow each other, so
    that the next one takes up at once what the last one held."""

    def __init__(self, store: ReportStore, address: str, home: Path, *, name: str = "") -> None:
        self._store, self._address, self._home = store, address, home.resolve()
        self._name = name or secrets.token_hex(8)
        make_private_directory(self._home)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Work until it is over; a job that is under way then goes back to the queue."""
        self._patiently(lambda: let_go(self._store, self._name))
        self._patiently(self._tidy_ended)
        swept = -math.inf
        while not is_over():
            if time.monotonic() - swept >= SWEEP_SECONDS:
                swept = time.monotonic()
                self._patiently(lambda: sweep(self._store, self._home))
            if not self._patiently(lambda: self._one(is_over)):
                time.sleep(IDLE_SECONDS)
        self._patiently(self._tidy_ended)

    def _tidy_ended(self) -> None:
        """Take away what is left of jobs that were given up: their last worker was killed, and could not do it."""
        for job in jobs_of(self._store):
            if not job.is_under_way:
                tidy(self._home, job)

    def _patiently(self, work: Callable[[], Any]) -> Any:
        """Do something with the store; one that is out of reach is waited for."""
        try:
            return work()
        except LostJob as lost:
            tell(str(lost))
        except LopubError as error:
            tell("the store is out of reach of the worker", problem=type(error).__name__)
            time.sleep(AFTER_FAILURE_SECONDS)
        return None

    def _one(self, is_over: Callable[[], bool]) -> bool:
        """Take a job and see it through; whether there was one."""
        job = claim(self._store, self._name)
        if job is None:
            return False
        tidy(self._home, job)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=attempt,
            args=(self._address, self._home, job, theirs),
            name=f"lopub-job-{job.number}",
        )
        process.start()
        theirs.close()
        try:
            self._watched(job, ours, is_over)
        finally:
            process.kill()
            process.join()
            ours.close()
            tidy(self._home, job)
        self._tidy_ended()
        return True

    def _watched(self, job: QueuedJob, pipe: Connection, is_over: Callable[[], bool]) -> None:
        """Pass on what an attempt says, and renew the lease, until it ends or is to stop."""
        state: tuple[str, int, int | None] = ("starting", 0, None)
        told, renewed = state, time.monotonic()
        looked = renewed
        while not is_over():
            if (
                time.monotonic() - looked >= IDLE_SECONDS
            ):  # also where an attempt has something to say all the time
                looked = time.monotonic()
                if is_to_stop(self._store, job):
                    end(self._store, job, self._name, State.CANCELLED)
                    return
            if pipe.poll(IDLE_SECONDS):
                try:
                    kind, content = pipe.recv()
                except EOFError:
                    self._died(job)
                    return
                if kind != "progress":
                    self._ended(job, kind, content)
                    return
                state = content
            if time.monotonic() - renewed >= (IDLE_SECONDS if state != told else RENEW_SECONDS):
                renew(self._store, job, self._name, *state)
                told, renewed = state, time.monotonic()
        let_go(self._store, self._name)

    def _ended(self, job: QueuedJob, kind: str, content: Any) -> None:
        if kind == "done":
            end(self._store, job, self._name, State.DONE, outcome=content)
            return
        problem = f"there is a bug: {content}" if kind == "bug" else content
        end(self._store, job, self._name, State.FAILED, problem=problem)

    def _died(self, job: QueuedJob) -> None:
        """The process ended without a word: killed, most often for want of memory. It is tried again."""
        say(self._store, job, ["its process ended without a word; it is tried again"])
        let_go(self._store, self._name)
