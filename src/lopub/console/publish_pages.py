"""Publish: the choices, with their defaults, and the job that is asked for."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from lopub.collector.campaigns import Entry, day_at, tally
from lopub.console.campaign_list import state_of
from lopub.console.context import Context
from lopub.console.requests import PageRequest, refusing
from lopub.console.responses import page, redirect
from lopub.console.routes import get, post
from lopub.errors import DomainError, TooFewReports
from lopub.estimation import METHODS
from lopub.jobs.queue import QueuedJob, ask, jobs_of, subjects_done
from lopub.jobs.result_files import has_result
from lopub.publication.settings import STRUCTURES, PublishSettings

LONGEST_MARGIN = 2**19


def last_publication(context: Context, entry: Entry) -> QueuedJob | None:
    """The newest job that published the campaign, and whose files are still there."""
    found = jobs_of(context.store, entry.campaign.id, kind="publish")
    return next((job for job in found if has_result(context.files, job)), None)


def rounds_to_publish(context: Context, entry: Entry) -> dict[int, str]:
    """The rounds with enough reports, of which no more come, by the days on which they begin; none
    where nothing repeats."""
    if entry.campaign.terms.repeat is None:
        return {}
    try:
        slots = tally(context.store, entry).slots
    except TooFewReports:
        return {}
    return {slot: str(day_at(slot)) for slot in slots if entry.is_final(slot)}


def show_publish(request: PageRequest) -> Response:
    """The choices, with their defaults; and how the last jobs went."""
    entry = request.entry()
    terms = entry.campaign.terms
    return page(
        request,
        "publish.html",
        entry=entry,
        jobs=[
            (job, _round_of(job.choices))
            for job in jobs_of(request.store, entry.campaign.id, kind="publish", most=10)
        ],
        state=state_of(entry, subjects_done(request.store, "publish")),
        structures=STRUCTURES,
        methods=METHODS,
        languages=(terms.language, *terms.translations),
        rounds=rounds_to_publish(request.context, entry),
        is_published=last_publication(request.context, entry) is not None,
    )


def _round_of(choices: Mapping[str, Any]) -> str:
    slot = choices.get("round")
    return "" if slot is None else str(day_at(int(slot)))


def start_publish(request: PageRequest) -> Response:
    """Ask for a publication; refused at once where it cannot be."""
    entry = request.entry()
    back = f"/console/campaigns/{entry.campaign.id}/publish"
    with refusing(back=back):
        chosen = _round(request, entry)
        if not entry.is_final(chosen.get("round")):
            raise DomainError(
                "close the campaign first: what comes in later would not be in the publication"
            )
        _refuse_too_few(request, entry)
        settings = _settings(request)
        PublishSettings(**settings)  # checks itself
        chosen |= settings | _margin(request) | ({"simulated": True} if request.is_demo else {})
    job = ask(request.store, "publish", entry.campaign.id, chosen)
    return redirect(f"/console/jobs/{job.number}")


def _refuse_too_few(request: PageRequest, entry: Entry) -> None:
    try:
        tally(request.store, entry)
    except TooFewReports:
        raise DomainError("there are not enough reports yet to publish anything") from None


def _settings(request: PageRequest) -> dict[str, Any]:
    """What a form chooses, with the defaults of what it leaves open."""
    words = {"structure": "calibrated", "method": "shrunk", "numbers": "label", "language": ""}
    texts = {name: request.form.get(name, default) for name, default in words.items()}
    numbers = {
        name: request.number(name, default) for name, default in (("copies", 1), ("seed", 0))
    }
    rows = request.number("rows", 0)
    return texts | numbers | ({"rows": rows} if rows else {}) | {"counts": "counts" in request.form}


def _round(request: PageRequest, entry: Entry) -> dict[str, Any]:
    """The round that is chosen, if one is."""
    slot = request.number("round", -1)
    if slot < 0:
        return {}
    if slot not in rounds_to_publish(request.context, entry):
        raise DomainError("this round cannot be published: it is not over, or has too few reports")
    return {"round": slot}


def _margin(request: PageRequest) -> dict[str, str]:
    """Shares that are known from elsewhere, as a file."""
    upload = request.files.get("margins")
    if upload is None:
        return {}
    if len(upload.content) > LONGEST_MARGIN:
        raise DomainError("a file may have at most {n:,} bytes", n=LONGEST_MARGIN)
    try:
        return {"margins": upload.content.decode("utf-8-sig")}
    except UnicodeDecodeError:
        raise DomainError("the file of known shares must be UTF-8 text") from None


ROUTES = [
    get("/console/campaigns/{id}/publish", show_publish),
    post("/console/campaigns/{id}/publish", start_publish, log="publication asked for"),
]
