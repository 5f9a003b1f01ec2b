"""Where the results of jobs lie: a directory for each, which appears whole or not at all."""

import json
import time
import zipfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lopub.collector.keeping import all_drafts
from lopub.collector.queue import QueuedJob, find_job
from lopub.collector.store import ReportStore
from lopub.console.results import KEPT_DAYS, has_result, place_of, remove_result
from lopub.errors import DomainError, StoreError
from lopub.files import remove_unclaimed

MARK = "outcome.json"
"""The file that every result has, and nothing else."""
SECONDS_A_DAY = 86_400
OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of everything in an archive: the same files give the same bytes."""


def tidy(home: Path, job: QueuedJob) -> None:
    """Take away what attempts at a job left that were stopped. A result stays, and so does what somebody still writes: a worker
    that was taken to be dead may only have been held up, and half of what it has must not get a name."""
    place = place_of(home, job)
    if not place.parent.is_dir():
        return
    for left in place.parent.iterdir():
        if left != place:
            with suppress(OSError):
                remove_unclaimed(left)
    with suppress(OSError):
        place.parent.rmdir()  # unless the result is in there


def sweep(store: ReportStore, home: Path) -> None:
    """Take away what is of no more use: a plan whose draft is gone, an export that is old, answers that were made up.
    Publications, backups and certificates stay until somebody takes them away, and so does whatever is not of this database."""
    drafts = {kept.id for kept in all_drafts(store)}
    for directory in sorted(home.iterdir()):
        if (job := _job_at(store, directory)) is None or job.is_under_way:
            continue
        if has_result(home, job) and _is_spent(job, drafts):
            remove_result(home, job)
        tidy(home, job)


def _job_at(store: ReportStore, directory: Path) -> QueuedJob | None:
    """The job whose results lie in a directory; None where it is not one of this database."""
    number = directory.name.partition("-")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return None
    with suppress(DomainError):
        job = find_job(store, int(number))
        return job if job.folder == directory.name else None
    return None


def _is_spent(job: QueuedJob, drafts: Collection[str]) -> bool:
    if job.kind == "plan":
        return job.subject not in drafts
    days = KEPT_DAYS.get(job.kind)
    return (
        days is not None
        and job.ended is not None
        and time.time() - job.ended > days * SECONDS_A_DAY
    )


def write_outcome(directory: Path, outcome: Mapping[str, Any]) -> None:
    """Say what came out, in the directory that holds it."""
    (directory / MARK).write_text(
        json.dumps(outcome, ensure_ascii=False, indent=1), encoding="utf-8"
    )


def outcome_in(directory: Path) -> dict[str, Any] | None:
    """What came out, where a result is there, which is then whole; None where there is none."""
    try:
        found: dict[str, Any] = json.loads((directory / MARK).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read the result {directory}: {type(error).__name__}") from None
    return found


def write_archive(directory: Path, archive: Path) -> None:
    """All files of a directory as a zip, in the order of their names; the same files give the same bytes. A link is left out: it
    might lead to something that is not of the directory."""
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for file in sorted(
            path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()
        ):
            entry = zipfile.ZipInfo(
                f"{directory.name}/{file.relative_to(directory).as_posix()}", OLDEST
            )
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with file.open("rb") as source, packed.open(entry, "w") as sink:
                while block := source.read(2**20):
                    sink.write(block)
