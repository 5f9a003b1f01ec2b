"""Where the results of jobs lie: a directory for each, which appears whole or not at all."""

import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lopub.errors import StoreError
from lopub.files import remove_unclaimed
from lopub.service.queue import QueuedJob

MARK = "outcome.json"
"""The file that every result has, and nothing else."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of everything in an archive: the same files give the same bytes."""


def place_of(home: Path, job: QueuedJob) -> Path:
    """Where the result of a job lies, or will lie. Beside it, in the job's own directory, attempts gather what becomes it."""
    return home / job.folder / "result"


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


def write_outcome(directory: Path, outcome: Mapping[str, Any]) -> None:
    """Say what came out, in the directory that holds it."""
    (directory / MARK).write_text(json.dumps(outcome, ensure_ascii=False, indent=1), encoding="utf-8")


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
    """All files of a directory as a zip, in the order of their names; the same files give the same bytes."""
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for file in sorted(path for path in directory.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{directory.name}/{file.relative_to(directory).as_posix()}", OLDEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with file.open("rb") as source, packed.open(entry, "w") as sink:
                while block := source.read(2**20):
                    sink.write(block)
