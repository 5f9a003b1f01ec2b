"""Writer: one thread that gathers whatever waits into one durable commit, and then tells everyone who waited."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from lopub.collector.logs import tell
from lopub.collector.metrics import Metrics
from lopub.collector.problems import Kind, Problem, problem_of
from lopub.collector.store import Outcome, ReportStore, Submission
from lopub.errors import LopubError

GROUP_REPORTS = 8192
"""Reports after which a group is full; what still waits goes into the next."""

NEARLY_FULL = 15 / 16
"""Of the reports that may wait."""
MOSTLY_TAKEN = 1 / 2
"""Of the places, by requests that wait. The others are for those who are told to come again, each on the connection that it has:
where none is left, each of them costs a new connection, and those cost ten times as much. More of them would not be taken faster,
only wait longer."""


def crowded() -> Problem:
    """What is said to whoever cannot be taken now."""
    return Problem(Kind.BUSY, "too many reports wait for a commit; send the same again later")


class _Waiting(NamedTuple):
    submission: Submission
    n_reports: int
    told: "asyncio.Future[Outcome]"


class Writer:
    """A bounded queue in front of a store. Belongs to one event loop, in which `write` is called."""

    def __init__(
        self, store: ReportStore, metrics: Metrics, *, most_waiting: int, connections: int
    ) -> None:
        self._store, self._metrics, self._most_waiting, self._connections = (
            store,
            metrics,
            most_waiting,
            connections,
        )
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._failing = False
        self.n_waiting = 0
        """Reports that wait for a commit, or are being committed."""
        self._n_requests = 0
        """That they came in."""
        self._n_let_by = 0
        """Requests that were let by in this turn of the event loop, and are on their way here."""
        self._thread = threading.Thread(target=self._run, name="lopub-writer", daemon=True)

    def start(self) -> None:
        """Begin to write, in a thread of its own; called inside the event loop that is told of commits."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self, *, seconds: float) -> None:
        """Write what waits, then end; a store that does not answer is not waited for any longer."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(seconds)
        if self._thread.is_alive():
            tell(
                "the store did not answer; what waits was not acknowledged, and will be sent again",
                logging.WARNING,
            )

    def is_crowded(self) -> bool:
        """Whether whoever comes with reports is to be told to come again, before they are read: what is spent on reading them is
        missing for those that wait."""
        n_requests = self._n_requests + self._n_let_by
        return (
            self.n_waiting >= NEARLY_FULL * self._most_waiting
            or n_requests >= MOSTLY_TAKEN * self._connections
        )

    def expect(self) -> None:
        """One more request was let by. A turn of the event loop may read a thousand of them before the first gets here; each that
        has to be refused then has cost twenty times as much as it would have."""
        if not self._n_let_by:
            self._loop.call_soon(self._arrived)
        self._n_let_by += 1

    def _arrived(self) -> None:
        """In the next turn all whose reports are there get here, before anybody else is read."""
        self._n_let_by = 0

    async def write(self, submission: Submission) -> Outcome:
        """What became of a submission, once that is durable."""
        n_reports = max(1, len(submission.rows))
        told: asyncio.Future[Outcome] = self._loop.create_future()
        with self._wake:
            if self._stopping or self.n_waiting + n_reports > self._most_waiting:
                raise crowded()
            self.n_waiting += n_reports
            self._n_requests += 1
            self._queue.append(_Waiting(submission, n_reports, told))
            self._wake.notify()
        return await told

    # ---- the thread

    def _run(self) -> None:
        while group := self._gathered():
            try:
                outcomes: Sequence[Outcome] | LopubError = self._written(
                    [waiting.submission for waiting in group]
                )
            except LopubError as error:
                outcomes = problem_of(error)
            except Exception:
                tell("a commit failed by a bug", logging.ERROR)
                logging.getLogger("lopub.collector").exception("bug")
                outcomes = Problem(Kind.BUG, "the collector has a bug; its log says more")
            self._loop.call_soon_threadsafe(self._tell, group, outcomes)

    def _gathered(self) -> list[_Waiting]:
        """Whatever waits, up to a full group; empty when all is done and the writer is to stop."""
        group: list[_Waiting] = []
        n_reports = 0
        with self._wake:
            while not self._queue and not self._stopping:
                self._wake.wait()
            while self._queue and n_reports < GROUP_REPORTS:
                group.append(self._queue.popleft())
                n_reports += group[-1].n_reports
        return group

    def _written(self, submissions: list[Submission]) -> Sequence[Outcome]:
        try:
            written = self._store.write(submissions)
        except LopubError as error:
            self._metrics.failed_to_write(problem_of(error).kind.slug)
            if not self._failing:
                tell(
                    "the store refuses commits", logging.ERROR, problem=problem_of(error).kind.slug
                )
            self._failing = True
            raise
        if self._failing:
            tell("the store takes commits again")
            self._failing = False
        self._metrics.wrote(written)
        return written.outcomes

    # ---- back in the event loop

    def _tell(self, group: list[_Waiting], outcomes: Sequence[Outcome] | LopubError) -> None:
        with self._wake:
            self.n_waiting -= sum(waiting.n_reports for waiting in group)
            self._n_requests -= len(group)
        for place, waiting in enumerate(group):
            if waiting.told.done():  # whoever waited has gone
                continue
            if isinstance(outcomes, LopubError):
                waiting.told.set_exception(outcomes)
            else:
                waiting.told.set_result(outcomes[place])
