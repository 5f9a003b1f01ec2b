"""An open campaign: where people answer it, how it goes, and its close."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.wording import Wording
from lopub.collector.campaigns import Entry, Tally, close_campaign, day_at, tally
from lopub.collector.keeping import goal_of
from lopub.collector.queue import ask, subjects_done
from lopub.console.alarming import Look
from lopub.console.charts import bars
from lopub.console.desk import Answer, Desk, Screen, html, page, refused, rendered, to
from lopub.console.listing import state_of
from lopub.console.qr import qr_svg
from lopub.console.visits import Visit
from lopub.errors import TooFewReports
from lopub.pages.templating import page_language
from lopub.planning.outlook import Outlook, outlook_of

SHOWN_DAYS = 60
MOST_MADE_UP = 100_000


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What may be shown of a campaign that has enough reports."""

    n_reports: int
    days: tuple[tuple[str, int], ...]
    refused: Mapping[str, int]
    n_withdrawn: int
    error: float
    """Expected, of shares, with what there is; of a campaign that repeats, in the last round that can be shown."""
    goal: int | None
    """Reports that were planned for; of a campaign that repeats, those of one round."""
    goal_error: float | None
    days_left: int | None
    """Until the goal is reached at this pace."""
    look: Look | None
    """For fakes; None before the first one has ended."""


@lru_cache(maxsize=64)
def _outlook(campaign: Campaign) -> Outlook:
    return outlook_of(campaign)


def watched(desk: Desk, entry: Entry) -> Watched | None:
    """None below the campaign's min_reports: then nothing is shown."""
    try:
        found = tally(desk.store, entry)
    except TooFewReports:
        return None
    terms, at = entry.campaign.terms, _outlook(entry.campaign)
    people = goal_of(desk.store, entry.number)
    goal = None if people is None else max(terms.reports_together(people), 1)
    n_studied = found.n_reports if terms.repeat is None else list(found.slots.values())[-1]
    return Watched(
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
        else desk.lookout.at(desk.store, entry, found.n_reports),
    )


def _days_left(found: Tally, goal: int, today: int) -> int | None:
    """At the pace since the first report; None where there is none."""
    if found.n_reports >= goal:
        return 0
    n_days = today - min(found.slots) + 1
    return None if n_days < 1 else -(-(goal - found.n_reports) * n_days // found.n_reports)


def _context(desk: Desk, visit: Visit, entry: Entry) -> dict[str, Any]:
    campaign = entry.campaign
    return {
        "entry": entry,
        "campaign": campaign,
        "wording": Wording.of(campaign, visit.languages),
        "state": state_of(entry, subjects_done(desk.store, "publish")),
        "address": f"{desk.public}/c/{campaign.id}",
        "epsilon": f"{Decimal(decimal_up(campaign.loss)).normalize():f}",
        "lifetime": f"{Decimal(decimal_up(campaign.lifetime_loss)).normalize():f}",
    }


def show_campaign(desk: Desk, visit: Visit) -> Answer:
    """Where people answer, and how it goes."""
    entry = desk.entry(visit)
    context = _context(desk, visit, entry)
    code = qr_svg(str(context["address"]), str(context["address"]))
    found = watched(desk, entry)
    chart = "" if found is None else bars(found.days)
    return page(
        visit,
        "campaign.html",
        **context,
        code=code,
        watched=found,
        chart=chart,
        public=desk.public,
        sites=desk.collector.settings.embed,
        is_demo=desk.is_demo,
    )


def show_watch(desk: Desk, visit: Visit) -> Answer:
    """How it goes, alone: the part of the page that is asked for again and again, by everybody who watches; nothing in it depends
    on who asks but its language."""

    def made() -> bytes:
        entry = desk.entry(visit)
        found = watched(desk, entry)
        chart = "" if found is None else bars(found.days)
        return rendered(
            visit, "watch.html", **_context(desk, visit, entry), watched=found, chart=chart
        )

    return html(desk.moments.of(_moment(visit), made))


def watch_at_hand(desk: Desk, visit: Visit) -> Answer | None:
    """How it went a moment ago."""
    found = desk.moments.at_hand(_moment(visit))
    return None if found is None else html(found)


def _moment(visit: Visit) -> tuple[str, str]:
    return visit.at["id"], page_language(visit.languages)


def show_poster(desk: Desk, visit: Visit) -> Answer:
    """A sheet to print and put up."""
    context = _context(desk, visit, desk.entry(visit))
    return page(
        visit,
        "poster.html",
        **context,
        code=qr_svg(str(context["address"]), str(context["address"])),
    )


def answer(desk: Desk, visit: Visit) -> Answer:
    """Let made-up people answer, in a demo, where everybody is made up."""
    entry = desk.entry(visit)
    back = f"/console/campaigns/{entry.campaign.id}"
    if not desk.is_demo:
        return refused(visit, "only in a demo do made-up people answer", status=403, back=back)
    people = visit.number("people", 0)
    if not 1 <= people <= MOST_MADE_UP:
        return refused(
            visit,
            f"say how many people answer: a whole number from 1 to {MOST_MADE_UP:,}",
            back=back,
        )
    choices = {"people": people, "seed": secrets.randbelow(2**31)}
    return to(f"/console/jobs/{ask(desk.store, 'answer', entry.campaign.id, choices).number}")


def close(desk: Desk, visit: Visit) -> Answer:
    """Close a campaign, which cannot be undone: so its id is typed, at least its first digits."""
    entry = desk.entry(visit)
    back = f"/console/campaigns/{entry.campaign.id}"
    if not is_typed(visit.form.get("typed", ""), entry.campaign.id):
        return refused(
            visit,
            "the campaign stays open: type at least the first 8 digits of its id to close it",
            back=back,
        )
    desk.collector.remember(close_campaign(desk.store, entry.campaign.id))
    return to(back)


def is_typed(text: str, campaign_id: str) -> bool:
    """Whether somebody typed the id of this campaign, or 8 or more of its first digits."""
    typed = text.strip().lower()
    return len(typed) >= 8 and campaign_id.startswith(typed)


SCREENS = (
    Screen("GET", "/console/campaigns/{id}", show_campaign),
    Screen("GET", "/console/campaigns/{id}/watch", show_watch, at_hand=watch_at_hand),
    Screen("GET", "/console/campaigns/{id}/poster", show_poster),
    Screen(
        "POST",
        "/console/campaigns/{id}/answer",
        answer,
        scope="manage",
        what="made-up people asked",
    ),
    Screen("POST", "/console/campaigns/{id}/close", close, scope="manage", what="campaign closed"),
)
