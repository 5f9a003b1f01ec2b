"""What came out of jobs, as files: where it lies, whether it is still there, and how it is taken away."""

import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from lopub.collector.queue import QueuedJob, State
from lopub.errors import DomainError

REMOVABLE = ("publish", "plan", "export", "backup")
"""Kinds whose files somebody may take away. A certificate stays."""
KEPT_DAYS = {"export": 30, "answer": 1}
"""How long files are kept that are only a step to something else. An export holds reports: nobody should find an old one."""


def place_of(home: Path, job: QueuedJob) -> Path:
    """Where the result of a job lies, or will lie. Beside it, in the job's own directory, attempts gather what becomes it."""
    return home / job.folder / "result"


def has_result(home: Path, job: QueuedJob) -> bool:
    """Whether there are files that came out of a job."""
    return job.state is State.DONE and place_of(home, job).is_dir()


def result_at(home: Path, job: QueuedJob) -> Path:
    """The directory with what came out of a job."""
    if job.state is not State.DONE:
        raise DomainError(f"job {job.number} has no result")
    if not has_result(home, job):
        raise DomainError(f"the files of job {job.number} were deleted")
    return place_of(home, job)


def remove_result(home: Path, job: QueuedJob) -> None:
    """Take the files of a job away. They lose their name first, so that nobody finds half of them."""
    place = place_of(home, job)
    aside = place.with_name(f".{secrets.token_hex(8)}.part")
    with suppress(FileNotFoundError):
        place.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
        place.parent.rmdir()
