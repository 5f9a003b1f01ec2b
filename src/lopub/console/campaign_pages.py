"""An open campaign: where people answer it, how it goes, and its close."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from starlette.responses import Response

from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.collector.campaigns import Entry, Tally, close_campaign, day_at, tally
from lopub.collector.drafts import goal_of
from lopub.collector.steward_log import record
from lopub.console.campaign_list import state_of
from lopub.console.context import Context
from lopub.console.pictures import bars, qr_code
from lopub.console.requests import PageRequest, Refusal
from lopub.console.responses import page, redirect
from lopub.console.routes import get, post
from lopub.errors import TooFewReports
from lopub.jobs.alarm_checks import AlarmCheck
from lopub.jobs.queue import ask, subjects_done
from lopub.pages.wording import Wording
from lopub.planning.outlook import Outlook, outlook_of

SHOWN_DAYS = 60
MOST_MADE_UP = 100_000


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """What may be shown of a campaign that has enough reports."""

    n_reports: int
    days: tuple[tuple[str, int], ...]
    refused: Mapping[str, int]
    n_withdrawn: int
    error: float
    """Expected, of shares, with what there is; of a campaign that repeats, in the last round that
    can be shown."""
    goal: int | None
    """Reports that were planned for; of a campaign that repeats, those of one round."""
    goal_error: float | None
    days_left: int | None
    """Until the goal is reached at this pace."""
    look: AlarmCheck | None
    """For fakes; None before the first one has ended."""


@lru_cache(maxsize=64)
def _outlook(campaign: Campaign) -> Outlook:
    return outlook_of(campaign)


def progress_of(context: Context, entry: Entry) -> CampaignProgress | None:
    """None below the campaign's min_reports: then nothing is shown."""
    try:
        found = tally(context.store, entry)
    except TooFewReports:
        return None
    terms, at = entry.campaign.terms, _outlook(entry.campaign)
    people = goal_of(context.store, entry.number)
    goal = None if people is None else max(terms.reports_together(people), 1)
    n_studied = found.n_reports if terms.repeat is None else list(found.slots.values())[-1]
    return CampaignProgress(
        n_reports=found.n_reports,
        days=tuple((str(day_at(slot)), n) for slot, n in list(found.slots.items())[-SHOWN_DAYS:]),
        refused={str(reason): n for reason, n in found.refused.items()},
        n_withdrawn=found.n_withdrawn,
        error=at.shares_at(n_studied),
        goal=goal,
        goal_error=None if goal is None else at.shares_at(goal),
        days_left=None if goal is None or terms.repeat else _days_left(found, goal, entry.clock()),
        look=None
        if terms.repeat or entry.erased is not None
        else context.alarm_checks.last(context.store, entry, found.n_reports),
    )


def _days_left(found: Tally, goal: int, today: int) -> int | None:
    """At the pace since the first report; None where there is none."""
    if found.n_reports >= goal:
        return 0
    n_days = today - min(found.slots) + 1
    return None if n_days < 1 else -(-(goal - found.n_reports) * n_days // found.n_reports)


def _shown(request: PageRequest, entry: Entry) -> dict[str, Any]:
    campaign = entry.campaign
    return {
        "entry": entry,
        "campaign": campaign,
        "wording": Wording.of(campaign, request.languages),
        "state": state_of(entry, subjects_done(request.store, "publish")),
        "address": f"{request.context.public}/c/{campaign.id}",
        "is_here_only": request.context.is_here_only,
        "epsilon": f"{Decimal(decimal_up(campaign.loss)).normalize():f}",
        "lifetime": f"{Decimal(decimal_up(campaign.lifetime_loss)).normalize():f}",
    }


def show_campaign(request: PageRequest) -> Response:
    """Where people answer, and how it goes."""
    entry = request.entry()
    shown = _shown(request, entry) | _progress(request.context, entry)
    public, sites = request.context.public, request.context.embed
    return page(
        request,
        "campaign.html",
        **shown,
        code=qr_code(shown["address"]),
        public=public,
        sites=sites,
    )


def show_progress(request: PageRequest) -> Response:
    """How it goes, alone: the part of the page that is asked for again and again, by everybody who
    watches."""
    entry = request.entry()
    return page(
        request, "watch.html", **_shown(request, entry), **_progress(request.context, entry)
    )


def _progress(context: Context, entry: Entry) -> dict[str, Any]:
    found = progress_of(context, entry)
    return {"progress": found, "chart": "" if found is None else bars(found.days)}


def show_poster(request: PageRequest) -> Response:
    """A sheet to print and put up."""
    shown = _shown(request, request.entry())
    return page(request, "poster.html", **shown, code=qr_code(shown["address"]))


def answer(request: PageRequest) -> Response:
    """Let made-up people answer, in a demo, where everybody is made up."""
    entry = request.entry()
    back = f"/console/campaigns/{entry.campaign.id}"
    if not request.is_demo:
        raise Refusal("only in a demo do made-up people answer", status=403, back=back)
    people = request.number("people", 0)
    if not 1 <= people <= MOST_MADE_UP:
        raise Refusal(
            "say how many people answer: a whole number from 1 to {most:,}",
            most=MOST_MADE_UP,
            back=back,
        )
    choices = {"people": people, "seed": secrets.randbelow(2**31)}
    job = ask(request.store, "answer", entry.campaign.id, choices)
    return redirect(f"/console/jobs/{job.number}")


def close(request: PageRequest) -> Response:
    """Close a campaign, which cannot be undone: so its id is typed, at least its first digits."""
    entry = request.entry()
    back = f"/console/campaigns/{entry.campaign.id}"
    if not is_typed(request.form.get("typed", ""), entry.campaign.id):
        raise Refusal(
            "the campaign stays open: type at least the first 8 digits of its id to close it",
            back=back,
        )
    if entry.closed is None:
        close_campaign(request.store, entry.campaign.id)
        record(request.store, request.who, "campaign closed", entry.campaign.id)
    return redirect(back)


def is_typed(text: str, campaign_id: str) -> bool:
    """Whether somebody typed the id of this campaign, or 8 or more of its first digits."""
    typed = text.strip().lower()
    return len(typed) >= 8 and campaign_id.startswith(typed)


ROUTES = [
    get("/console/campaigns/{id}", show_campaign),
    get("/console/campaigns/{id}/watch", show_progress),
    get("/console/campaigns/{id}/poster", show_poster),
    post("/console/campaigns/{id}/answer", answer, log="made-up people asked"),
    post("/console/campaigns/{id}/close", close),
]
