"""Reports as a file, and the whole database as one. Both hold reports: only their owner can read them."""

from pathlib import Path
from typing import Any

from lopub.collector.backup import backup
from lopub.collector.reading import batch_of
from lopub.errors import DomainError
from lopub.jobs.work import Task


def export(task: Task, part: Path) -> dict[str, Any]:
    """A campaign's reports as Parquet."""
    task.progress("reading reports", 0, None)
    batch = batch_of(task.store, task.entry)
    batch.save(part / "reports.parquet")
    (part / "reports.parquet").chmod(0o600)
    if task.entry.erased is not None:
        raise DomainError("the reports were deleted while they were exported")
    return {"n_reports": len(batch)}


def back_up(task: Task, part: Path) -> dict[str, Any]:
    """The database in one file, which `lopub restore` reads."""
    return {"n_reports": backup(task.store, part / "lopub.backup", progress=task.progress)}
