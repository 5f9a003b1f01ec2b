"""The reports themselves: those of a campaign as a file, the whole database as a backup, and their
deletion."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from lopub.collector.backup import backup
from lopub.collector.batches import batch_of, refuse_erased
from lopub.collector.campaigns import day_at
from lopub.console.campaign_pages import is_typed
from lopub.console.requests import PageRequest, Refusal
from lopub.console.responses import page, redirect
from lopub.console.routes import get, post
from lopub.files import claimed, make_private_directory, remove_unclaimed
from lopub.jobs.queue import ask, jobs_of

DOWNLOADS = "downloads"
"""The directory, beside the results of jobs, in which files are made that are sent at once."""
BLOCK_BYTES = 2**20


def export(request: PageRequest) -> Response:
    """A campaign's reports as Parquet."""
    entry = request.entry()

    def save(path: Path) -> None:
        batch_of(request.store, entry).save(path)
        refuse_erased(request.entry())  # meanwhile

    return _download(request, save, "reports.parquet", "application/vnd.apache.parquet")


def back_up(request: PageRequest) -> Response:
    """The database in one file, which `lopub restore` reads."""
    return _download(
        request,
        lambda path: backup(request.store, path),
        "lopub.backup",
        "application/octet-stream",
    )


def _download(
    request: PageRequest, save: Callable[[Path], object], name: str, media_type: str
) -> Response:
    """A file that is made whole before its first byte is sent. It has no name on the disk by then,
    so that nothing of it stays here, however this process ends."""
    downloads = request.context.files / DOWNLOADS
    make_private_directory(downloads)
    directory = Path(tempfile.mkdtemp(dir=downloads))
    try:
        with claimed(directory):
            save(directory / name)
            content = (directory / name).open("rb")
    finally:
        shutil.rmtree(directory)
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(os.fstat(content.fileno()).st_size),
    }
    return StreamingResponse(_blocks(content), media_type=media_type, headers=headers)


def remove_abandoned_downloads(files: Path) -> None:
    """Remove what consoles that were killed left half made; what others make now stays."""
    with suppress(FileNotFoundError):
        for directory in (files / DOWNLOADS).iterdir():
            with suppress(OSError):
                remove_unclaimed(directory)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while block := file.read(BLOCK_BYTES):
            yield block


def show_delete(request: PageRequest) -> Response:
    """When reports are deleted by themselves, and how to do it now; afterwards, the certificate."""
    entry = request.entry()
    jobs = jobs_of(request.store, entry.campaign.id, kind="delete", most=1)
    last = entry.last_kept
    return page(
        request,
        "delete.html",
        entry=entry,
        job=jobs[0] if jobs else None,
        days_left=None if last is None else max(0, last - entry.clock()),
        last_day=None if last is None else day_at(last),
    )


def start_delete(request: PageRequest) -> Response:
    """Ask for the deletion, once the id was typed."""
    entry = request.entry()
    back = f"/console/campaigns/{entry.campaign.id}/delete"
    if not is_typed(request.form.get("typed", ""), entry.campaign.id):
        raise Refusal(
            "nothing is deleted: type at least the first 8 digits of the campaign's id", back=back
        )
    if entry.closed is None:
        raise Refusal("close the campaign first: it still takes reports", back=back)
    return redirect(f"/console/jobs/{ask(request.store, 'delete', entry.campaign.id).number}")


ROUTES = [
    get("/console/campaigns/{id}/delete", show_delete),
    post("/console/campaigns/{id}/delete", start_delete, log="deletion asked for"),
    post("/console/campaigns/{id}/export", export, log="reports exported", slow="download"),
    post("/console/backup", back_up, log="database backed up", slow="download"),
]
