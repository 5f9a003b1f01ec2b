"""A campaign's reports are deleted for good, with what jobs copied of them; a certificate says so, and names what may remain."""

import json
import shutil
from pathlib import Path
from typing import Any

from lopub.campaign.schedule import day_of
from lopub.collector.campaigns import erase, hides_a_round
from lopub.collector.queue import jobs_of
from lopub.console.results import has_result
from lopub.errors import DomainError
from lopub.jobs.work import Task

REMAINS = [
    "copies of what was published before",
    "backups of the database, and copies of exported reports, that were taken elsewhere",
    "the database's own write-ahead log, replicas and dumps, until they are recycled",
    "snapshots and backups of the disk",
]
"""What a deletion cannot reach. Backups that the collector made itself are not among it: they are named apart, by their jobs."""
MOST_COPIES = 1_000_000
"""Exports and backups that are looked for: all of them."""


def delete(task: Task, part: Path) -> dict[str, Any]:
    """Delete the reports of a closed campaign; doing it again changes nothing."""
    entry = task.entry
    if entry.closed is None:
        raise DomainError("close the campaign first: it still takes reports")
    task.progress("deleting reports", 0, None)
    is_told = not hides_a_round(task.store, entry)
    n_rows = (
        erase(task.store, entry) if entry.erased is None else 0
    )  # by itself, at the end of its retention, or by an attempt
    n_exports = _without_exports(task)
    made = jobs_of(task.store, kind="backup", most=MOST_COPIES)
    certificate = {
        "campaign": entry.campaign.id,
        "name": entry.campaign.terms.name,
        "deleted_on": str(day_of(task.store.today())),
        "rows_deleted": n_rows
        if is_told and n_rows >= entry.campaign.terms.min_reports
        else None,  # fewer are not told
        "exports_deleted": n_exports,
        "backups_here": sorted(job.number for job in made if has_result(task.home, job)),
        "may_remain": REMAINS,
    }
    (part / "certificate.json").write_text(
        json.dumps(certificate, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    return certificate


def _without_exports(task: Task) -> int:
    """Take away the files of reports that jobs made; how many."""
    n = 0
    for job in jobs_of(task.store, task.subject, kind="export", most=MOST_COPIES):
        directory = task.home / job.folder
        n += directory.is_dir()
        while directory.is_dir():  # another worker may be about to give an export its name
            shutil.rmtree(directory, ignore_errors=True)
    return n
