"""The list of every campaign and draft with its state, found by a word, a page at a time; and the
log of stewards."""

from dataclasses import dataclass

from starlette.responses import Response

from lopub.campaign.schedule import day_of
from lopub.collector.campaigns import Entry, all_campaigns
from lopub.collector.drafts import KeptDraft, all_drafts
from lopub.collector.retention import retention_problem
from lopub.collector.steward_log import actions
from lopub.console.drafts import in_languages, languages_in, read_text
from lopub.console.requests import PageRequest
from lopub.console.responses import page
from lopub.console.routes import get
from lopub.errors import LopubError
from lopub.jobs.queue import jobs_of, subjects_done

A_PAGE = 20
STATES = ("draft", "planned", "open", "closed", "published", "deleted")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the list."""

    id: str
    title: str
    name: str
    state: str
    closes: str
    address: str


def state_of(entry: Entry, published: set[str]) -> str:
    """The state of a campaign: one that opens in December is not open."""
    schedule = entry.campaign.terms.schedule
    if entry.erased is not None:
        return "deleted"
    if entry.closed is not None:
        return "published" if entry.campaign.id in published else "closed"
    return (
        "planned"
        if schedule is not None and str(schedule.opens) > str(day_of(entry.clock()))
        else "open"
    )


def _campaign(entry: Entry, published: set[str]) -> Row:
    terms = entry.campaign.terms
    last = (
        terms.schedule.closes
        if terms.schedule is not None and entry.closed_by_hand in (None, entry.closes)
        else entry.closed_on
    )
    return Row(
        id=entry.campaign.id,
        title=terms.title or terms.name,
        name=terms.name,
        state=state_of(entry, published),
        closes=str(last or ""),
        address=f"/console/campaigns/{entry.campaign.id}",
    )


def _draft(kept: KeptDraft) -> Row:
    try:
        draft = read_text(kept.text)
    except LopubError:
        draft = {}
    title = next(iter(in_languages(draft.get("title"), languages_in(draft)).values()), "")
    name = str(draft.get("name", ""))
    return Row(
        id=kept.id,
        title=title or name,
        name=name,
        state="draft",
        closes="",
        address=f"/console/drafts/{kept.id}",
    )


def show_list(request: PageRequest) -> Response:
    """All campaigns and drafts, or those that are looked for."""
    published = subjects_done(request.store, "publish")
    rows = [_draft(kept) for kept in all_drafts(request.store)]
    rows += [_campaign(entry, published) for entry in all_campaigns(request.store)]
    n_all, word, state = (
        len(rows),
        request.query.get("q", "").strip().casefold(),
        request.query.get("state", ""),
    )
    rows = [
        row
        for row in rows
        if word in f"{row.title} {row.name} {row.id}".casefold() and state in ("", row.state)
    ]
    n_pages = max(1, -(-len(rows) // A_PAGE))
    number = min(max(request.number("page", 1), 1), n_pages)
    shown = rows[(number - 1) * A_PAGE : number * A_PAGE]
    retention = retention_problem(request.store)
    counts = {"n_all": n_all, "n_found": len(rows), "number": number, "n_pages": n_pages}
    return page(
        request,
        "list.html",
        rows=shown,
        retention=retention,
        counts=counts,
        states=STATES,
        word=request.query.get("q", ""),
        state=state,
    )


def show_log(request: PageRequest) -> Response:
    """What stewards did, and the jobs that were asked for."""
    titles = {
        entry.campaign.id: entry.campaign.terms.title or entry.campaign.terms.name
        for entry in all_campaigns(request.store)
    }
    return page(
        request,
        "log.html",
        actions=actions(request.store),
        jobs=jobs_of(request.store),
        titles=titles,
    )


ROUTES = [get("/console", show_list), get("/console/log", show_log)]
