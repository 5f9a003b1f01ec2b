"""Made-up campaigns with made-up people, so that the whole product can be seen before anybody is asked."""

from dataclasses import replace
from datetime import date, timedelta

from lopub.collection.catalogue import ALUMNI
from lopub.collection.simulation.clients import simulate
from lopub.contract.budget import SUGGESTED_EPSILON
from lopub.contract.campaign import Campaign
from lopub.contract.schedule import Schedule, day_of
from lopub.contract.terms import Terms
from lopub.forecast.draft_template import template
from lopub.forecast.request import CampaignRequest, make_campaign
from lopub.service.campaigns import close_campaign, open_campaign
from lopub.service.console import drafting
from lopub.service.console.keeping import new_draft, set_goal
from lopub.service.importing import import_reports
from lopub.service.queue import ask
from lopub.service.store import ReportStore

PEOPLE = 6_000
DAYS = 12
"""On which people answer, the last of them today."""
TERMS = Terms(
    name="alumni",
    title="College alumni (made-up people)",
    consent="Your answers are randomized on your own device. Only noise is sent.",
    min_reports=100,
    retention_days=90,
)


def fill(store: ReportStore) -> None:
    """A draft, a campaign that opens in a month, one that goes on, and one that is closed and about to be published."""
    today = day_of(store.today())
    new_draft(store, drafting.written(drafting.read_text(template("work-and-reading", today))))
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
