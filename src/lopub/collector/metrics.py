"""Counters and gauges for Prometheus: totals of the whole process, none of a campaign or a sender.

A total tells no more than the counts of campaigns do: what is too little to be shown there, of a campaign or of one of its
rounds, is not in it, because it could be found by subtraction. So nothing here counts every report that comes in.
"""

import threading
from collections import Counter
from collections.abc import Iterator

from lopub.campaign.terms import Terms
from lopub.collector.submissions import Written
from lopub.errors import Reason

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PROBLEMS = ("storage-full", "unavailable")


class Metrics:
    """What this process did since it started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.n_replayed = self.n_withdrawals = 0
        self._accepted: Counter[tuple[int, int | None]] = Counter()
        self._terms: dict[int, Terms] = {}
        self.refused: Counter[Reason] = Counter()
        self.failed: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()

    def met(self, number: int, terms: Terms) -> None:
        """Reports may come for this campaign."""
        with self._lock:
            self._terms[number] = terms

    @property
    def n_accepted(self) -> int:
        """Of campaigns, and of rounds, that have min_reports since this process started; at least so many."""
        return sum(
            n for (number, _), n in self._accepted.items() if n >= self._terms[number].min_reports
        )

    def wrote(self, written: Written) -> None:
        """A group of reports was committed."""
        with self._lock:
            for (number, slot), n in written.accepted.items():
                if terms := self._terms.get(
                    number
                ):  # else nobody knows from how many on it may be told
                    self._accepted[number, slot if terms.repeat else None] += n
            self.n_replayed += written.n_replayed
            self.refused.update(written.refused)
            self.n_withdrawals += written.n_withdrawn

    def failed_to_write(self, problem: str) -> None:
        """A group of reports could not be committed."""
        with self._lock:
            self.failed[problem] += 1

    def count_problem(self, problem: str) -> None:
        """A request was answered with a problem document."""
        with self._lock:
            self.problems[problem] += 1

    def text(self, *, n_waiting: int) -> str:
        """All of it in Prometheus' text format."""
        with self._lock:
            return "\n".join(self._lines(n_waiting)) + "\n"

    def _lines(self, n_waiting: int) -> Iterator[str]:
        yield from _described(
            "lopub_reports_total",
            "counter",
            "Reports that were kept, from min_reports on, or came again.",
        )
        yield f'lopub_reports_total{{outcome="accepted"}} {self.n_accepted}'
        yield f'lopub_reports_total{{outcome="replayed"}} {self.n_replayed}'
        yield from _described(
            "lopub_refused_total", "counter", "Reports that were refused, by reason."
        )
        yield from (
            f'lopub_refused_total{{reason="{reason}"}} {self.refused[reason]}' for reason in Reason
        )
        yield from _described(
            "lopub_withdrawals_total", "counter", "Reports that were withdrawn, each once."
        )
        yield f"lopub_withdrawals_total {self.n_withdrawals}"
        yield from _described(
            "lopub_failed_commits_total", "counter", "Commits that the store refused, by problem."
        )
        yield from (
            f'lopub_failed_commits_total{{problem="{problem}"}} {self.failed[problem]}'
            for problem in PROBLEMS
        )
        yield from _described(
            "lopub_problems_total", "counter", "Requests answered with a problem document, by type."
        )
        yield from (
            f'lopub_problems_total{{problem="{name}"}} {n}'
            for name, n in sorted(self.problems.items())
        )
        yield from _described("lopub_waiting_reports", "gauge", "Reports that wait for a commit.")
        yield f"lopub_waiting_reports {n_waiting}"


def _described(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
