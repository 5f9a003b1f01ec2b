"""A campaign that is closed, jobs about it, and workers in processes of their own, for the tests of
jobs."""

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import update

import people
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import Report
from lopub.collector.campaigns import Entry, close_campaign, open_campaign
from lopub.collector.imports import import_reports
from lopub.collector.rows import jobs
from lopub.collector.store import ReportStore
from lopub.jobs.attempt import Task
from lopub.jobs.queue import LEASE_MS, QueuedJob, find_job
from lopub.reports.batch import ReportBatch
from lopub.reports.progress import silent

CAMPAIGN = people.campaign()
SECONDS = 600
"""How long anything here may take before a test gives up; nothing is compared with it."""


def closed_campaign(store: ReportStore, campaign: Campaign, batch: ReportBatch) -> None:
    """Open a campaign with these reports, and close it."""
    entry, _ = open_campaign(store, campaign)
    import_reports(store, entry, [batch])
    close_campaign(store, campaign.id)


def import_round(store: ReportStore, entry: Entry, batch: ReportBatch) -> None:
    """Import the reports of one round on its first day."""
    today, first_day = store.today, int(batch.slots[0])
    store.today = lambda: first_day
    import_reports(store, entry, [batch])
    store.today = today


def with_closed_campaign(store: ReportStore) -> ReportStore:
    """A store with a closed campaign of 60 reports."""
    found = [Report.from_bytes(data, CAMPAIGN) for data in people.reports(CAMPAIGN, 60)]
    closed_campaign(store, CAMPAIGN, ReportBatch.from_reports(found, CAMPAIGN))
    return store


def task_of(
    store: ReportStore,
    address: str,
    home: Path,
    subject: str = CAMPAIGN.id,
    choices: Mapping[str, Any] | None = None,
) -> Task:
    """What a job needs that nobody waits for."""
    return Task(
        store=store,
        address=address,
        home=home,
        subject=subject,
        choices=choices or {},
        progress=silent,
    )


def let_lease_end(store: ReportStore, job: QueuedJob, *, late_ms: int = LEASE_MS + 1) -> None:
    """As if a worker had been silent for longer than its lease; or, where it is late by less than
    nothing, as if the clock had been ahead."""
    with store.writing() as connection:
        late = jobs.c.lease - late_ms
        connection.execute(update(jobs).where(jobs.c.number == job.number).values(lease=late))


def start_worker(database: str, home: Path, name: str = "test") -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "lopub", "worker", "--database", database]
    return subprocess.Popen(
        [*command, "--files", str(home), "--name", name],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def working(database: str, home: Path) -> Iterator[None]:
    """While the block runs, a worker does the jobs of a database."""
    process = start_worker(database, home)
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0


def until(holds: Callable[[], bool], *, every: float = 0.05) -> None:
    """Wait until something holds."""
    over = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < over
        time.sleep(every)


def ended(store: ReportStore, job: QueuedJob) -> QueuedJob:
    """A job once it has ended."""
    until(lambda: not find_job(store, job.number).is_under_way)
    return find_job(store, job.number)


def files_in(directory: Path) -> dict[str, str]:
    """Every file with the hash of its bytes."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
    }
