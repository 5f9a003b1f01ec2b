"""A campaign that was published: read, ask, delete; and how jobs go."""

import threading
from contextlib import suppress

from lopub.collector.campaigns import day_at, find_campaign
from lopub.collector.collector import CAMPAIGN_ID
from lopub.collector.queue import QueuedJob, ask, cancel, find_job, jobs_of, lines_of
from lopub.console.asking import askables, share_in_report
from lopub.console.desk import Answer, Desk, Screen, file, page, refused, result_of, to
from lopub.console.publishing import last_publication
from lopub.console.results import KEPT_DAYS, REMOVABLE, has_result, remove_result
from lopub.console.running import is_typed
from lopub.console.visits import Visit
from lopub.errors import DomainError, LopubError, NoCampaign
from lopub.publication import Publication
from lopub.publication.published_study import study_of

FRAMED = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'"
"""What a published page may do inside the console: be looked at."""
FILES = {
    "publish": {"publication.zip": "application/zip"},
    "plan": {"campaign.json": "application/json"},
    "export": {"reports.parquet": "application/vnd.apache.parquet"},
    "backup": {"lopub.backup": "application/octet-stream"},
    "delete": {"certificate.json": "application/json"},
    "answer": {},
}
"""What can be had of a job's result, by its exact name: nothing else of the disk has an address."""
PAGES = {"publish": "publication/report.html", "plan": "plan.html"}
LONGEST_QUESTION = 500
_asking = threading.Lock()


def show_read(desk: Desk, visit: Visit) -> Answer:
    """The report in place, the archive, and a box for questions."""
    entry = desk.entry(visit)
    job = last_publication(desk, entry)
    asked = visit.query.get("ask", "").strip()[:LONGEST_QUESTION]
    answer, reported, problem = None, None, ""
    if job is not None and asked:
        try:
            with _asking:  # one at a time: questions take memory
                found = Publication.load(result_of(desk, job) / "publication")
                answer, reported = study_of(found).probability(asked), share_in_report(found, asked)
        except LopubError as error:
            problem = str(error)
    return page(
        visit,
        "read.html",
        entry=entry,
        job=job,
        names=askables(entry.campaign.domain),
        asked=asked,
        answer=answer,
        reported=reported,
        problem=problem,
    )


def show_result(desk: Desk, visit: Visit) -> Answer:
    """The page of a result, to be framed; it may run nothing and send nothing."""
    job = find_job(desk.store, visit.number_at("job"))
    if job.kind not in PAGES:
        raise DomainError(f"job {job.number} has no page")
    return file(
        result_of(desk, job) / PAGES[job.kind],
        "text/html",
        headers={"Content-Security-Policy": FRAMED},
    )


def fetch_file(desk: Desk, visit: Visit) -> Answer:
    """A file of a result."""
    job = find_job(desk.store, visit.number_at("job"))
    name = visit.at["name"]
    if name not in FILES[job.kind]:
        raise DomainError("there is no such file")
    if job.kind in ("export", "backup") and not visit.may_manage:
        raise DomainError("reports are for those who manage")
    return file(result_of(desk, job) / name, FILES[job.kind][name], name=name)


def show_delete(desk: Desk, visit: Visit) -> Answer:
    """When reports are deleted by themselves, and how to do it now; afterwards, the certificate."""
    entry = desk.entry(visit)
    jobs = jobs_of(desk.store, entry.campaign.id, kind="delete", most=1)
    last = entry.last_kept
    left = None if last is None else max(0, last - entry.clock())
    day = None if last is None else day_at(last)
    return page(
        visit,
        "delete.html",
        entry=entry,
        job=jobs[0] if jobs else None,
        days_left=left,
        last_day=day,
    )


def start_delete(desk: Desk, visit: Visit) -> Answer:
    """Ask for the deletion, once the id was typed."""
    entry = desk.entry(visit)
    back = f"/console/campaigns/{entry.campaign.id}/delete"
    if not is_typed(visit.form.get("typed", ""), entry.campaign.id):
        return refused(
            visit,
            "nothing is deleted: type at least the first 8 digits of the campaign's id",
            back=back,
        )
    if entry.closed is None:
        return refused(visit, "close the campaign first: it still takes reports", back=back)
    return to(f"/console/jobs/{ask(desk.store, 'delete', entry.campaign.id).number}")


def start_copy(desk: Desk, visit: Visit) -> Answer:
    """Ask for a file of a campaign's reports."""
    return to(f"/console/jobs/{ask(desk.store, 'export', desk.entry(visit).campaign.id).number}")


def start_backup(desk: Desk, visit: Visit) -> Answer:
    """Ask for a backup of the whole database."""
    return to(f"/console/jobs/{ask(desk.store, 'backup').number}")


def show_job(desk: Desk, visit: Visit) -> Answer:
    """How far a job is, what it said, and what came out."""
    job = find_job(desk.store, visit.number_at("job"))
    name = "job_state.html" if visit.is_part else "job.html"
    is_there = has_result(desk.home, job)
    return page(
        visit,
        name,
        job=job,
        title=_title(desk, job),
        lines=lines_of(desk.store, job.number),
        files=sorted(FILES[job.kind]) if is_there else [],
        has_page=is_there and job.kind in PAGES,
        is_there=is_there,
        is_removable=is_there and job.kind in REMOVABLE,
        kept_days=KEPT_DAYS.get(job.kind),
    )


def _title(desk: Desk, job: QueuedJob) -> str:
    """Of the campaign that a job is about; empty where it is about something else, or about none that is here."""
    if CAMPAIGN_ID.fullmatch(job.subject):
        with suppress(NoCampaign):
            terms = find_campaign(desk.store, job.subject).campaign.terms
            return terms.title or terms.name
    return ""


def remove_files(desk: Desk, visit: Visit) -> Answer:
    """Take away the files of a job, which cannot be undone: so somebody says that it is meant."""
    job = find_job(desk.store, visit.number_at("job"))
    back = f"/console/jobs/{job.number}"
    if job.kind not in REMOVABLE:
        return refused(visit, "the files of this job stay", back=back)
    if "sure" not in visit.form:
        return refused(
            visit, "the files stay: tick that they are to be deleted for good", back=back
        )
    result_of(desk, job)
    remove_result(desk.home, job)
    return to(back)


def cancel_job(desk: Desk, visit: Visit) -> Answer:
    """Stop a job."""
    cancel(desk.store, visit.number_at("job"))
    return to(f"/console/jobs/{visit.number_at('job')}")


SCREENS = (
    Screen("GET", "/console/campaigns/{id}/read", show_read),
    Screen("GET", "/console/campaigns/{id}/delete", show_delete),
    Screen(
        "POST",
        "/console/campaigns/{id}/delete",
        start_delete,
        scope="manage",
        what="deletion asked for",
    ),
    Screen(
        "POST",
        "/console/campaigns/{id}/export",
        start_copy,
        scope="manage",
        what="export asked for",
    ),
    Screen(
        "POST", "/console/backup", start_backup, scope="manage", what="backup asked for", makes=True
    ),
    Screen("GET", "/console/jobs/{job}", show_job),
    Screen("POST", "/console/jobs/{job}/cancel", cancel_job, scope="manage", what="job cancelled"),
    Screen(
        "POST", "/console/jobs/{job}/remove", remove_files, scope="manage", what="files deleted"
    ),
    Screen("GET", "/console/jobs/{job}/page", show_result),
    Screen("GET", "/console/jobs/{job}/files/{name}", fetch_file, what="file fetched"),
)
