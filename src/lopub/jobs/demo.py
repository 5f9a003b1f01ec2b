"""Made-up campaigns with made-up people, who show the whole product before anybody is asked.

Made-up people also answer a campaign of a demo on request, so that it can be watched, closed and
published.
"""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.drafts import new_draft, set_goal
from lopub.collector.imports import import_reports
from lopub.collector.store import ReportStore
from lopub.errors import DomainError
from lopub.jobs.attempt import Task
from lopub.jobs.queue import ask
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed
from lopub.reports.catalogue import ALUMNI
from lopub.reports.simulation.clients import simulate

PEOPLE = 6_000
DAYS = 12
"""On which people answer, the last of them today."""
TERMS = Terms(
    name="alumni",
    title="College alumni (made-up people)",
    consent="Your answers are randomized on your own device, and only the randomized version is sent."
    " It limits how sure anybody can become of what you answered.",
    min_reports=100,
    retention_days=90,
)


def fill(store: ReportStore) -> None:
    """A draft, a campaign that opens in a month, one that goes on, and one that is closed and about
    to be published."""
    today = day_of(store.today())
    draft, _ = parsed(template("work-and-reading", today).encode())
    new_draft(store, json.dumps(draft, ensure_ascii=False, indent=1))
    later = replace(
        TERMS, name="next-month", title="Next month (made-up people)", schedule=_a_month_from(today)
    )
    open_campaign(store, _campaign(later))
    _answered(store, _campaign(TERMS), seed=1)
    closed = _campaign(
        replace(TERMS, name="last-year", title="Last year's alumni (made-up people)")
    )
    _answered(store, closed, seed=2)
    close_campaign(store, closed.id)
    ask(store, "publish", closed.id, {"simulated": True})


def _a_month_from(today: date) -> Schedule:
    return Schedule(opens=today + timedelta(days=30), closes=today + timedelta(days=60))


def _campaign(terms: Terms) -> Campaign:
    return make_campaign(
        ALUMNI.people(1, seed=0).domain, terms, CampaignRequest(epsilon=SUGGESTED_EPSILON)
    )


def _answered(store: ReportStore, campaign: Campaign, *, seed: int) -> None:
    """People answer day by day, more at first."""
    entry, _ = open_campaign(store, campaign)
    set_goal(store, entry.number, 2 * PEOPLE)
    for day in range(DAYS):
        people = ALUMNI.people(
            2 * PEOPLE * (DAYS - day) // (DAYS * (DAYS + 1)), seed=100 * seed + day
        )
        slot = store.today() - DAYS + 1 + day
        import_reports(store, entry, [simulate(people, campaign, seed=100 * seed + day, slot=slot)])


def answer(task: Task, part: Path) -> dict[str, Any]:
    """Let as many people answer as were asked for, of the kind that forecasts assume. The seed
    makes their reports the same ones again where a worker was killed on the way, so that nobody
    counts twice."""
    entry, schedule = task.entry, task.entry.campaign.terms.schedule
    slot = entry.clock() if schedule is None else schedule.slot_on(entry.clock())
    if entry.closed is not None or slot is None:
        raise DomainError("nobody can answer today: the campaign is closed, or has not begun")
    task.progress("making up people", 0, None)
    seed = int(task.choices["seed"])
    people = Population.like_surveys(entry.campaign.domain).people(
        int(task.choices["people"]), seed
    )
    batch = simulate(people, entry.campaign, seed=seed, slot=slot)
    return {"n_people": len(batch), "n_new": import_reports(task.store, entry, [batch]).n_accepted}
