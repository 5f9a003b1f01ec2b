"""Jobs: how far they are, what they said, and what came out of them."""

from contextlib import suppress
from pathlib import Path

from starlette.responses import Response

from lopub.collector.campaigns import find_campaign
from lopub.console.requests import PageRequest, Refusal, refusing
from lopub.console.responses import file, page, redirect, result_of
from lopub.console.routes import get, post
from lopub.errors import LopubError
from lopub.jobs.queue import QueuedJob, cancel, lines_of
from lopub.jobs.result_files import REMOVABLE, has_result, missing_result, remove_result

FRAMED = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'"
"""What a published page may do inside the console: be looked at."""
FILES = {
    "publish": {"publication.zip": "application/zip"},
    "plan": {"campaign.json": "application/json"},
    "delete": {"certificate.json": "application/json"},
}
"""What can be had of a job's result, by its exact name: nothing else of the disk has an address."""
PAGES = {"publish": "publication/report.html", "plan": "plan.html"}
ABOUT_CAMPAIGNS = ("publish", "delete", "answer")
"""Kinds of jobs whose subject is a campaign."""


def show_job(request: PageRequest) -> Response:
    """How far a job is, what it said, and what came out."""
    job = request.job()
    is_there = has_result(request.context.files, job)
    return page(
        request,
        "job_state.html" if request.is_part else "job.html",
        job=job,
        title=_title(request, job),
        lines=lines_of(request.store, job.number),
        files=sorted(FILES.get(job.kind, ())) if is_there else [],
        has_page=is_there and job.kind in PAGES,
        is_there=is_there,
        files_missing=missing_result(request.context.files, job),
        is_removable=is_there and job.kind in REMOVABLE,
    )


def _title(request: PageRequest, job: QueuedJob) -> str:
    """The title of the campaign that a job is about; empty where it is about something else, or
    about none that is here."""
    if job.kind in ABOUT_CAMPAIGNS:
        with suppress(LopubError):
            terms = find_campaign(request.store, job.subject).campaign.terms
            return terms.title or terms.name
    return ""


def show_result(request: PageRequest) -> Response:
    """The page of a result, to be framed; it may run nothing and send nothing."""
    job = request.job()
    if job.kind not in PAGES:
        raise Refusal("job {number} has no page", number=job.number, status=404)
    path = _result_file(request, job, PAGES[job.kind])
    return file(path, "text/html", headers={"Content-Security-Policy": FRAMED})


def fetch_file(request: PageRequest) -> Response:
    """A file of a result."""
    job, name = request.job(), request.names["name"]
    if name not in FILES.get(job.kind, ()):
        raise Refusal("there is no such file", status=404)
    return file(_result_file(request, job, name), FILES[job.kind][name], name=name)


def _result_file(request: PageRequest, job: QueuedJob, name: str) -> Path:
    with refusing(status=404):
        return result_of(request, job) / name


def remove_files(request: PageRequest) -> Response:
    """Take away the files of a job, which cannot be undone: so somebody says that it is meant."""
    job = request.job()
    back = f"/console/jobs/{job.number}"
    if job.kind not in REMOVABLE:
        raise Refusal("the files of this job stay", back=back)
    if "sure" not in request.form:
        raise Refusal("the files stay: tick that they are to be deleted for good", back=back)
    _result_file(request, job, "")
    remove_result(request.context.files, job)
    return redirect(back)


def cancel_job(request: PageRequest) -> Response:
    """Stop a job."""
    job = request.job()
    cancel(request.store, job.number)
    return redirect(f"/console/jobs/{job.number}")


ROUTES = [
    get("/console/jobs/{job}", show_job),
    post("/console/jobs/{job}/cancel", cancel_job, log="job cancelled"),
    post("/console/jobs/{job}/remove", remove_files, log="files deleted"),
    get("/console/jobs/{job}/page", show_result),
    get("/console/jobs/{job}/files/{name}", fetch_file, log="file fetched"),
]
