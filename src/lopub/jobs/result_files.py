"""What came out of jobs, as files: a directory for each, which appears whole or not at all."""

import json
import secrets
import shutil
import zipfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lopub.collector.drafts import all_drafts
from lopub.collector.store import ReportStore
from lopub.errors import DomainError, StoreError
from lopub.files import remove_unclaimed
from lopub.jobs.queue import QueuedJob, State, find_job

MARK = "outcome.json"
"""The file that every result has, and nothing else."""
REMOVABLE = ("publish", "plan")
"""Kinds whose files somebody may remove. A certificate stays."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of everything in an archive: the same files give the same bytes."""


def place_of(home: Path, job: QueuedJob) -> Path:
    """Where the result of a job lies, or will lie. Beside it, in the job's own directory, attempts
    gather what becomes it."""
    return home / job.folder / "result"


def has_result(home: Path, job: QueuedJob) -> bool:
    """Whether there are files that came out of a job."""
    return job.state is State.DONE and place_of(home, job).is_dir()


def result_at(home: Path, job: QueuedJob) -> Path:
    """The directory with what came out of a job."""
    if job.state is not State.DONE:
        raise DomainError("job {number} has no result", number=job.number)
    if not has_result(home, job):
        raise missing_result(home, job)
    return place_of(home, job)


def missing_result(home: Path, job: QueuedJob) -> DomainError:
    """That what came out of a job is not here. Whether it was removed, or never was here, the
    directory does not tell."""
    return DomainError(
        "the files of job {number} are not in {directory}: they were deleted, or its worker keeps"
        " them elsewhere; console and worker must share LOPUB_FILES",
        number=job.number,
        directory=str(home),
    )


def write_outcome(directory: Path, outcome: Mapping[str, Any]) -> None:
    """Write the outcome into the directory of the result."""
    (directory / MARK).write_text(
        json.dumps(outcome, ensure_ascii=False, indent=1), encoding="utf-8"
    )


def outcome_in(directory: Path) -> dict[str, Any] | None:
    """The outcome in a directory, whose result is then whole; None where there is none."""
    try:
        found: dict[str, Any] = json.loads((directory / MARK).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(
            "cannot read the result {directory}: {kind}",
            directory=str(directory),
            kind=type(error).__name__,
        ) from None
    return found


# ---- removal


def remove_result(home: Path, job: QueuedJob) -> None:
    """Remove the files of a job. They lose their name first, so that nobody finds half of them."""
    place = place_of(home, job)
    aside = place.with_name(f".{secrets.token_hex(8)}.part")
    with suppress(FileNotFoundError):
        place.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
        place.parent.rmdir()


def remove_leftovers(home: Path, job: QueuedJob) -> None:
    """Remove what attempts at a job left that were killed. A result stays, and so does what
    somebody still writes: a worker that was taken to be dead may only have been held up, and half
    of what it has must not get a name."""
    place = place_of(home, job)
    if not place.parent.is_dir():
        return
    for left in place.parent.iterdir():
        if left != place:
            with suppress(OSError):
                remove_unclaimed(left)
    with suppress(OSError):
        place.parent.rmdir()  # unless the result is in there


def remove_unused(store: ReportStore, home: Path) -> None:
    """Remove what is of no more use: plans whose draft is gone, and what killed attempts left.
    Publications and certificates stay until somebody removes them, and so does whatever does not
    belong to this database."""
    drafts = {kept.id for kept in all_drafts(store)}
    for directory in sorted(home.iterdir()):
        if (job := _job_at(store, directory)) is None or job.is_under_way:
            continue
        if has_result(home, job) and _is_spent(job, drafts):
            remove_result(home, job)
        remove_leftovers(home, job)


def _job_at(store: ReportStore, directory: Path) -> QueuedJob | None:
    """The job whose results lie in a directory; None where it does not belong to this database."""
    number = directory.name.partition("-")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return None
    with suppress(DomainError):
        job = find_job(store, int(number))
        return job if job.folder == directory.name else None
    return None


def _is_spent(job: QueuedJob, drafts: Collection[str]) -> bool:
    return job.kind == "answer" or (job.kind == "plan" and job.subject not in drafts)


# ---- the archive


def write_archive(directory: Path, archive: Path) -> None:
    """All files of a directory as a zip, in the order of their names; the same files give the same
    bytes. A link is left out: it might lead out of the directory."""
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for file in sorted(
            path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()
        ):
            entry = zipfile.ZipInfo(
                f"{directory.name}/{file.relative_to(directory).as_posix()}", OLDEST
            )
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = file.stat().st_size  # of over 2 GiB, its header is another one
            with file.open("rb") as source, packed.open(entry, "w") as sink:
                shutil.copyfileobj(source, sink, 2**20)
