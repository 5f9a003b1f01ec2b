"""Publish: the choices, with their defaults, and the job that is asked for."""

from collections.abc import Mapping
from typing import Any

from lopub.collector.campaigns import Entry, day_at, tally
from lopub.collector.queue import QueuedJob, ask, jobs_of, subjects_done
from lopub.console.desk import Answer, Desk, Screen, page, refused, to
from lopub.console.listing import state_of
from lopub.console.results import has_result
from lopub.console.visits import Visit
from lopub.errors import DomainError, LopubError, TooFewReports
from lopub.estimation import METHODS
from lopub.publication.settings import STRUCTURES, PublishSettings

LONGEST_MARGIN = 2**19


def last_publication(desk: Desk, entry: Entry) -> QueuedJob | None:
    """The newest job that published the campaign, and whose files are still there."""
    found = jobs_of(desk.store, entry.campaign.id, kind="publish")
    return next((job for job in found if has_result(desk.home, job)), None)


def rounds_to_publish(desk: Desk, entry: Entry) -> dict[int, str]:
    """The rounds with enough reports, of which no more come, by the days on which they begin; none where nothing repeats."""
    if entry.campaign.terms.repeat is None:
        return {}
    try:
        slots = tally(desk.store, entry).slots
    except TooFewReports:
        return {}
    return {slot: str(day_at(slot)) for slot in slots if entry.is_final(slot)}


def show_publish(desk: Desk, visit: Visit) -> Answer:
    """The choices, with their defaults; and how the last jobs went."""
    entry = desk.entry(visit)
    terms = entry.campaign.terms
    return page(
        visit,
        "publish.html",
        entry=entry,
        jobs=[
            (job, _round_of(job.choices))
            for job in jobs_of(desk.store, entry.campaign.id, kind="publish", most=10)
        ],
        state=state_of(entry, subjects_done(desk.store, "publish")),
        structures=STRUCTURES,
        methods=METHODS,
        languages=(terms.language, *terms.translations),
        rounds=rounds_to_publish(desk, entry),
        is_published=last_publication(desk, entry) is not None,
        is_demo=desk.is_demo,
    )


def _round_of(choices: Mapping[str, Any]) -> str:
    slot = choices.get("round")
    return "" if slot is None else str(day_at(int(slot)))


def start_publish(desk: Desk, visit: Visit) -> Answer:
    """Ask for a publication; refused at once where it cannot be."""
    entry = desk.entry(visit)
    back = f"/console/campaigns/{entry.campaign.id}/publish"
    try:
        chosen = _round(desk, visit, entry)
        if not entry.is_final(chosen.get("round")):
            raise DomainError(
                "close the campaign first: what comes in later would not be in the publication"
            )
        tally(desk.store, entry)
        settings = _settings(visit)
        PublishSettings(**settings)  # checks itself
        chosen |= settings | _margin(visit) | ({"simulated": True} if desk.is_demo else {})
    except TooFewReports:
        return refused(visit, "there are not enough reports yet to publish anything", back=back)
    except LopubError as error:
        return refused(visit, str(error), back=back)
    return to(f"/console/jobs/{ask(desk.store, 'publish', entry.campaign.id, chosen).number}")


def _settings(visit: Visit) -> dict[str, Any]:
    """What a form chooses, with the defaults of what it leaves open."""
    words = {"structure": "calibrated", "method": "shrunk", "numbers": "label", "language": ""}
    texts = {name: visit.form.get(name, default) for name, default in words.items()}
    numbers = {name: visit.number(name, default) for name, default in (("copies", 1), ("seed", 0))}
    rows = visit.number("rows", 0)
    return texts | numbers | ({"rows": rows} if rows else {}) | {"counts": "counts" in visit.form}


def _round(desk: Desk, visit: Visit, entry: Entry) -> dict[str, Any]:
    """The round that is chosen, if one is."""
    slot = visit.number("round", -1)
    if slot < 0:
        return {}
    if slot not in rounds_to_publish(desk, entry):
        raise DomainError("this round cannot be published: it is not over, or has too few reports")
    return {"round": slot}


def _margin(visit: Visit) -> dict[str, str]:
    """Shares that are known from elsewhere, as a file."""
    upload = visit.files.get("margins")
    if upload is None:
        return {}
    if len(upload.content) > LONGEST_MARGIN:
        raise DomainError(f"a file may have at most {LONGEST_MARGIN:,} bytes")
    try:
        return {"margins": upload.content.decode("utf-8-sig")}
    except UnicodeDecodeError:
        raise DomainError("the file of known shares must be UTF-8 text") from None


SCREENS = (
    Screen("GET", "/console/campaigns/{id}/publish", show_publish),
    Screen(
        "POST",
        "/console/campaigns/{id}/publish",
        start_publish,
        scope="manage",
        what="publication asked for",
    ),
)
