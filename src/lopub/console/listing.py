"""The first screen: every campaign and draft with its state, found by a word, a page at a time."""

from dataclasses import dataclass

from lopub.campaign.schedule import day_of
from lopub.collector.campaigns import Entry, all_campaigns
from lopub.collector.keeping import KeptDraft, actions, all_drafts
from lopub.collector.queue import jobs_of, subjects_done
from lopub.console.desk import Answer, Desk, Screen, page
from lopub.console.drafting import in_languages, languages_in, read_text
from lopub.console.visits import Visit
from lopub.errors import LopubError

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
    """What a campaign is at: one that opens in December is not open."""
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
        if terms.schedule is not None and entry.closed_by_hand is None
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


def show_list(desk: Desk, visit: Visit) -> Answer:
    """All campaigns and drafts, or those that are looked for."""
    published = subjects_done(desk.store, "publish")
    rows = [_draft(kept) for kept in all_drafts(desk.store)]
    rows += [_campaign(entry, published) for entry in all_campaigns(desk.store)]
    n_all, word, state = (
        len(rows),
        visit.query.get("q", "").strip().casefold(),
        visit.query.get("state", ""),
    )
    rows = [
        row
        for row in rows
        if word in f"{row.title} {row.name} {row.id}".casefold() and state in ("", row.state)
    ]
    n_pages = max(1, -(-len(rows) // A_PAGE))
    number = min(max(visit.number("page", 1), 1), n_pages)
    shown = rows[(number - 1) * A_PAGE : number * A_PAGE]
    counts = {"n_all": n_all, "n_found": len(rows), "number": number, "n_pages": n_pages}
    return page(
        visit,
        "list.html",
        rows=shown,
        counts=counts,
        states=STATES,
        word=visit.query.get("q", ""),
        state=state,
    )


def show_log(desk: Desk, visit: Visit) -> Answer:
    """What stewards did, and the jobs that were asked for."""
    titles = {
        entry.campaign.id: entry.campaign.terms.title or entry.campaign.terms.name
        for entry in all_campaigns(desk.store)
    }
    return page(
        visit, "log.html", actions=actions(desk.store), jobs=jobs_of(desk.store), titles=titles
    )


SCREENS = (Screen("GET", "/console", show_list), Screen("GET", "/console/log", show_log))
