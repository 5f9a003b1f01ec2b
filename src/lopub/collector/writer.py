"""Writer: one thread that gathers whatever waits into one durable commit, and answers everyone who waited.

Its queue is the one place that decides about overload: where it is full, senders are told to come again.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from lopub.collector.logs import log_event
from lopub.collector.metrics import Metrics
from lopub.collector.problems import Kind, Problem, problem_of
from lopub.collector.store import ReportStore
from lopub.collector.submissions import Outcome, Submission
from lopub.errors import LopubError

GROUP_REPORTS = 8192
"""Reports after which a group is full; what still waits goes into the next."""
MOST_WAITING = 2 * GROUP_REPORTS
"""Reports and withdrawals that may wait: one group that is being committed, and one that is gathered. More would not be
taken faster, only wait longer."""
UNREADY_SECONDS = 10.0
"""How long a failed commit keeps the collector from being ready; then the next report finds out."""


def busy() -> Problem:
    """Return what is answered to whoever cannot be taken now."""
    return Problem(Kind.BUSY, "too many reports wait for a commit; send the same again later")


class _Waiting(NamedTuple):
    submission: Submission
    size: int
    outcome: "asyncio.Future[Outcome]"


class Writer:
    """A bounded queue in front of a store. Belongs to one event loop, in which `write` is called."""

    def __init__(
        self, store: ReportStore, metrics: Metrics, *, most_waiting: int = MOST_WAITING
    ) -> None:
        self._store, self._metrics, self._most_waiting = store, metrics, most_waiting
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._failure: tuple[float, Problem] | None = None
        self.n_waiting = 0
        """Reports and withdrawals that wait for a commit, or are being committed."""
        self._thread = threading.Thread(target=self._run, name="lopub-writer", daemon=True)

    def start(self) -> None:
        """Begin to write, in a thread of its own; called inside the event loop that waits for commits."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self, *, seconds: float) -> None:
        """Write what waits, then end; a store that does not answer is not waited for any longer."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(seconds)
        if self._thread.is_alive():
            log_event(
                "the store did not answer; what waits was not acknowledged, and will be sent again",
                logging.WARNING,
            )

    def refuse_if_full(self) -> None:
        """Refuse a sender before its body is read, where nothing more may wait."""
        if self._stopping or self.n_waiting >= self._most_waiting:
            raise busy()

    def refuse_if_failing(self) -> None:
        """Refuse to be called ready while commits fail."""
        if self._failure is not None:
            failed_at, problem = self._failure
            if time.monotonic() - failed_at < UNREADY_SECONDS:
                raise Problem(problem.kind, str(problem))

    async def write(self, submission: Submission) -> Outcome:
        """Return what became of a submission, once that is durable."""
        size = max(1, len(submission.rows))
        waiting = _Waiting(submission, size, self._loop.create_future())
        with self._wake:
            if self._stopping or (self.n_waiting and self.n_waiting + size > self._most_waiting):
                raise busy()
            self.n_waiting += size
            self._queue.append(waiting)
            self._wake.notify()
        return await waiting.outcome

    # ---- the thread

    def _run(self) -> None:
        while group := self._gathered():
            outcomes = self._committed([waiting.submission for waiting in group])
            self._loop.call_soon_threadsafe(self._answer, group, outcomes)

    def _gathered(self) -> list[_Waiting]:
        """Whatever waits, up to a full group; empty when all is done and the writer is to stop."""
        group: list[_Waiting] = []
        size = 0
        with self._wake:
            while not self._queue and not self._stopping:
                self._wake.wait()
            while self._queue and size < GROUP_REPORTS:
                group.append(self._queue.popleft())
                size += group[-1].size
        return group

    def _committed(self, submissions: list[Submission]) -> Sequence[Outcome] | Problem:
        try:
            written = self._store.write(submissions)
        except LopubError as error:
            return self._failed(problem_of(error))
        except Exception:
            logging.getLogger("lopub.collector").exception("a commit failed by a bug")
            return self._failed(Problem(Kind.BUG, "the collector has a bug; its log says more"))
        if self._failure is not None:
            log_event("the store takes commits again")
            self._failure = None
        self._metrics.wrote(written)
        return written.outcomes

    def _failed(self, problem: Problem) -> Problem:
        self._metrics.failed_to_write(problem.kind.slug)
        if self._failure is None:
            log_event("the store refuses commits", logging.ERROR, problem=problem.kind.slug)
        self._failure = (time.monotonic(), problem)
        return problem

    # ---- back in the event loop

    def _answer(self, group: list[_Waiting], outcomes: Sequence[Outcome] | Problem) -> None:
        with self._wake:
            self.n_waiting -= sum(waiting.size for waiting in group)
        for place, waiting in enumerate(group):
            if waiting.outcome.done():  # whoever waited has gone
                continue
            if isinstance(outcomes, Problem):
                waiting.outcome.set_exception(outcomes)
            else:
                waiting.outcome.set_result(outcomes[place])
