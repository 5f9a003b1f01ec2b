"""Made-up campaigns with made-up people, so that the whole product can be seen before anybody is asked."""

from dataclasses import replace
from datetime import date, timedelta

from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.importing import import_reports
from lopub.collector.keeping import new_draft, set_goal
from lopub.collector.queue import ask
from lopub.collector.store import ReportStore
from lopub.console import drafting
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft_template import template
from lopub.reports.catalogue import ALUMNI
from lopub.reports.simulation.clients import simulate

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
