"""A worker: takes jobs from the queue, one after the other, and has each done in a process of its
own."""

import logging
import math
import multiprocessing
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from lopub.collector.logs import log_event
from lopub.collector.problems import problem_of
from lopub.collector.store import ReportStore
from lopub.errors import LopubError, StoreError
from lopub.files import make_private_directory
from lopub.jobs.attempt import attempt
from lopub.jobs.deletion import ask_for_certificates
from lopub.jobs.queue import (
    LostJob,
    QueuedJob,
    State,
    claim,
    end,
    free_jobs_of,
    give_back,
    give_up,
    jobs_of,
    message_in,
    renew,
)
from lopub.jobs.result_files import remove_leftovers, remove_unused

IDLE_SECONDS = 0.5
"""Between two looks at the queue; and the longest that the end of an attempt, or a signal, goes
unnoticed."""
RENEW_SECONDS = 1.0
"""Between two renewals of a lease, which also show whether the job is to stop."""
SWEEP_SECONDS = 600.0
"""Between two looks for files that are of no more use, and for certificates that are due."""
AFTER_FAILURE_SECONDS = 2.0
"""Between two tries with a store that is out of reach."""
LAST_TRIES = 3
"""How often a worker that is to end tries to give its job back."""
ORDERLY = (-signal.SIGTERM, -signal.SIGINT)
"""How a process ends that was stopped in order, with all of its group; one that runs out of memory
is killed otherwise."""


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """How an attempt ended, if the worker still held the job: with a result, a failure, or by being
    killed."""

    state: State | None = None
    """What becomes of the job; None where somebody takes it up again."""
    content: Any = None
    was_killed: bool = False

    @property
    def in_a_word(self) -> str:
        """For the log."""
        return str(self.state or ("killed" if self.was_killed else "given back"))


class Worker:
    """One worker. address: of the store's database. home: where results go. name: workers of the
    same name follow each other, so that the next one takes up at once what the last one held."""

    def __init__(self, store: ReportStore, address: str, home: Path, *, name: str = "") -> None:
        self._store, self._address, self._home = store, address, home.resolve()
        self._name = name or secrets.token_hex(8)
        self._is_out_of_reach = False
        try:
            make_private_directory(self._home)
        except OSError as error:
            raise StoreError(
                "cannot make the directory {path}: {reason}",
                path=str(self._home),
                reason=error.strerror or type(error).__name__,
            ) from None

    def run(self, is_over: Callable[[], bool]) -> None:
        """Work until it is over; a job that is under way then goes back to the queue."""
        self._reported(lambda: free_jobs_of(self._store, self._name))
        self._reported(self._remove_leftovers)
        swept = -math.inf
        while not is_over():
            if time.monotonic() - swept >= SWEEP_SECONDS:
                swept = time.monotonic()
                self._reported(lambda: make_private_directory(self._home))
                self._reported(lambda: remove_unused(self._store, self._home))
                self._reported(lambda: ask_for_certificates(self._store))
            if not self._reported(lambda: self._one(is_over)):
                time.sleep(IDLE_SECONDS)
        self._reported(self._remove_leftovers)

    def _remove_leftovers(self) -> None:
        """Remove what is left of jobs that were given up: their last worker was killed, and could
        not do it."""
        for job in jobs_of(self._store):
            if not job.is_under_way:
                remove_leftovers(self._home, job)

    def _reported(self, work: Callable[[], Any]) -> Any:
        """Do something with the store; log what goes wrong, and wait where the store is out of
        reach. Nothing that goes wrong ends the worker: others wait for it."""
        try:
            found = work()
            self._found_store()
            return found
        except LostJob as lost:
            log_event(str(lost))
        except LopubError as error:
            self._missed_store(error)
            time.sleep(AFTER_FAILURE_SECONDS)
        except Exception as error:
            log_event("the worker has a bug, and goes on", problem=type(error).__name__)
            time.sleep(AFTER_FAILURE_SECONDS)
        return None

    def _missed_store(self, error: LopubError) -> None:
        """Log that the store is out of reach, once; the next tries add nothing."""
        if not self._is_out_of_reach:
            problem = problem_of(error).kind.slug
            log_event("the store is out of reach of the worker", logging.ERROR, problem=problem)
        self._is_out_of_reach = True

    def _found_store(self) -> None:
        if self._is_out_of_reach:
            log_event("the store is in reach of the worker again")
        self._is_out_of_reach = False

    def _one(self, is_over: Callable[[], bool]) -> bool:
        """Take a job and see it through; whether there was one."""
        job = claim(self._store, self._name)
        if job is None:
            return False
        make_private_directory(self._home)  # again, if somebody has removed it
        log_event("job begun", job=job.number, kind=job.kind)
        remove_leftovers(self._home, job)
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("spawn").Process(
            target=attempt,
            args=(self._address, self._home, job, theirs),
            name=f"lopub-job-{job.number}",
        )
        process.start()
        theirs.close()
        try:
            ending = self._watched(job, process, ours, is_over)
        finally:
            process.kill()
            process.join()
            ours.close()
            remove_leftovers(self._home, job)
        self._settled(job, ending, is_over)
        log_event("job ended", job=job.number, kind=job.kind, state=ending.in_a_word)
        self._remove_leftovers()
        return True

    def _watched(
        self,
        job: QueuedJob,
        process: BaseProcess,
        pipe: Connection,
        is_over: Callable[[], bool],
    ) -> _Ending:
        """Write down how far an attempt is, and renew the lease, until it ends or is to stop."""
        progress: tuple[str, int, int | None] = ("starting", 0, None)
        tried = -math.inf
        while not is_over():
            if time.monotonic() - tried >= RENEW_SECONDS:  # also where progress never pauses
                tried = time.monotonic()
                if self._renewed(job, progress):
                    return _Ending(state=State.CANCELLED)
            if pipe.poll(IDLE_SECONDS):
                try:
                    kind, content = pipe.recv()
                except EOFError:
                    process.join()
                    was_stopped = is_over() or process.exitcode in ORDERLY
                    return _Ending(was_killed=not was_stopped)
                if kind == "progress":
                    progress = content
                else:
                    state = State.DONE if kind == "done" else State.FAILED
                    return _Ending(state=state, content=content)
        return _Ending()

    def _renewed(self, job: QueuedJob, progress: tuple[str, int, int | None]) -> bool:
        """Renew the lease; whether the job is to stop. A store that is out of reach is asked again
        at the next renewal: until the lease is over nobody else takes the job, and afterwards the
        store says so."""
        try:
            is_to_stop = renew(self._store, job, self._name, *progress)
            self._found_store()
            return is_to_stop
        except LostJob:
            raise
        except LopubError as error:
            self._missed_store(error)
            return False

    def _settled(self, job: QueuedJob, ending: _Ending, is_over: Callable[[], bool]) -> None:
        """Write down how an attempt ended. A store that is out of reach is tried again until it
        says that somebody else has taken the job over, or the worker itself is to end."""
        n_tried = 0
        while True:
            try:
                return self._settle(job, ending)
            except LostJob:
                raise
            except LopubError as error:
                n_tried += 1
                if is_over() and n_tried >= LAST_TRIES:
                    raise
                self._missed_store(error)
                time.sleep(AFTER_FAILURE_SECONDS)

    def _settle(self, job: QueuedJob, ending: _Ending) -> None:
        if ending.was_killed:
            give_up(self._store, job, self._name)
        elif ending.state is None:
            give_back(self._store, job, self._name)
        elif ending.state is State.DONE:
            end(self._store, job, self._name, State.DONE, outcome=ending.content)
        else:
            problem = None if ending.content is None else message_in(ending.content)
            end(self._store, job, self._name, ending.state, problem=problem)
