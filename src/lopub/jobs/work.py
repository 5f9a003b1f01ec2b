"""What jobs do: one function per kind, from a task and an empty directory to an outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopub.collector.campaigns import Entry, find_campaign
from lopub.collector.store import ReportStore
from lopub.reports.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a job is about, and what it needs."""

    store: ReportStore
    address: str
    """Of the store's database."""
    home: Path
    """Where the results of all jobs lie."""
    subject: str
    choices: Mapping[str, Any]
    progress: Progress

    @property
    def entry(self) -> Entry:
        """The campaign that it is about."""
        return find_campaign(self.store, self.subject)


Work = Callable[[Task, Path], Mapping[str, Any]]
"""Fills a directory, and says what came out."""


def work_of(kind: str) -> Work:
    """What a kind of job does. Loaded here: the process that waits for jobs needs none of it."""
    from lopub.jobs.answering import answer
    from lopub.jobs.copying import back_up, export
    from lopub.jobs.deleting import delete
    from lopub.jobs.publishing import publish
    from lopub.jobs.trying import plan

    works: dict[str, Work] = {
        "publish": publish,
        "plan": plan,
        "export": export,
        "backup": back_up,
        "delete": delete,
    }
    works["answer"] = answer
    return works[kind]
