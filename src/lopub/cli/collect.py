"""`lopub collect`: a collector's campaigns and its date, without HTTP."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EPOCH, GRACE_DAYS, day_of
from lopub.cli.console import tell
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import AsJson, CampaignFile, CampaignFileOrId, Database, Grace
from lopub.errors import DomainError

if TYPE_CHECKING:
    from lopub.collector.campaigns import Entry

People = Annotated[
    int | None,
    typer.Option(
        "--people",
        metavar="N",
        help="For how many people it was planned: the goal that the console shows. Kept once.",
        min=1,
        show_default=False,
    ),
]
app = typer.Typer(
    no_args_is_help=True,
    help="Open, close and list the campaigns of a collector's database, and confirm the date.",
)


@app.command("open")
def open_(
    campaign_file: CampaignFile,
    database: Database = DEFAULT,
    people: People = None,
    grace_days: Grace = GRACE_DAYS,
    as_json: AsJson = False,
) -> None:
    """Open a campaign, so that its collector takes reports.

    A running collector need not be restarted. A campaign with a schedule closes by itself: reports
    that were made within the schedule, and withdrawals, are still taken for some days of grace
    after it. A campaign without a schedule stays open until it is closed.

    Example: `lopub collect open campaign.json --people 5000 --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    campaign = Campaign.load(campaign_file)
    with opened(database, create=True) as store:
        from lopub.collector.campaigns import open_campaign
        from lopub.collector.drafts import goal_of, set_goal
        from lopub.collector.steward_log import BY_COMMAND, record

        entry, is_new = open_campaign(store, campaign, grace_days=grace_days)
        if is_new:
            record(store, BY_COMMAND, "campaign opened", campaign.id)
        if people is not None:
            set_goal(store, entry.number, people)
        goal = goal_of(store, entry.number)
    address, page = f"/campaigns/{campaign.id}", f"/c/{campaign.id}"
    line = f"campaign {campaign.terms.name} {opening(entry)}{'' if is_new else ' (it was already)'}: {address}"
    told = described(entry) | {
        "is_new": is_new,
        "address": address,
        "page": page,
        "planned_for": goal,
    }
    planned = (
        []
        if goal is None
        else [f"planned for {goal:,} people: the console says how far it is from there"]
    )
    tell(told, line, *planned, f"people take part at {page} of the collector", as_json=as_json)


@app.command()
def close(
    campaign: CampaignFileOrId, database: Database = DEFAULT, as_json: AsJson = False
) -> None:
    """Close a campaign for good: it takes no reports and no withdrawals, and its retention begins.

    Example: `lopub collect close campaign.json --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    with opened(database) as store:
        from lopub.collector.campaigns import campaign_named, close_campaign
        from lopub.collector.steward_log import BY_COMMAND, record

        before = campaign_named(store, campaign_id(campaign))
        entry = close_campaign(store, before.campaign.id)
        if before.closed is None:
            record(store, BY_COMMAND, "campaign closed", entry.campaign.id)
    line = f"campaign {entry.campaign.terms.name} is closed since {entry.closed_on}"
    tell(described(entry), line, as_json=as_json)


@app.command("confirm-date")
def confirm_date(
    day: Annotated[
        str,
        typer.Argument(
            metavar="DATE", help="Today's date in UTC, as 2026-11-18.", show_default=False
        ),
    ],
    database: Database = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Confirm the date, so that a collector goes on deleting reports whose retention is over.

    It stops where its clock has jumped: because it is wrong, or because no collector has run for
    more than a week. Look at another clock before you confirm: by a wrong date, reports are deleted
    for good.

    Example: `lopub collect confirm-date 2026-11-18 --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    try:
        slot = (date.fromisoformat(day) - EPOCH).days
    except ValueError:
        raise DomainError("DATE must be a day such as 2026-11-18, got {day!r}", day=day) from None
    with opened(database) as store:
        from lopub.collector.retention import confirm_date as confirmed
        from lopub.collector.steward_log import BY_COMMAND

        confirmed(store, slot, BY_COMMAND)
    line = f"confirmed: today is {day}; a running collector goes on within the hour"
    tell({"confirmed": day}, line, as_json=as_json)


@app.command("list")
def list_campaigns(database: Database = DEFAULT, as_json: AsJson = False) -> None:
    """List the campaigns, each with its number of reports once that may be shown.

    Of a campaign in rounds, the reports of those rounds are counted that have enough.

    Example: `lopub collect list --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    documents, lines = [], []
    with opened(database) as store:
        from lopub.collector.campaigns import all_campaigns, count_to_show

        for entry in all_campaigns(store):
            n_reports, least = count_to_show(store, entry), entry.campaign.terms.min_reports
            documents.append(described(entry) | {"n_reports": n_reports, "min_reports": least})
            shown = _n_reports_shown(n_reports, least)
            in_rounds = (
                " in the rounds that can be shown"
                if n_reports and entry.campaign.terms.repeat
                else ""
            )
            lines.append(
                f"{entry.campaign.id}  {entry.campaign.terms.name}: {state_of(entry)}, {shown}{in_rounds}"
            )
    none = "there is no campaign; `lopub collect open` opens one"
    tell({"campaigns": documents}, *(lines or [none]), as_json=as_json)


def _n_reports_shown(n_reports: int | None, least: int) -> str:
    """As a person would say it.

    >>> [_n_reports_shown(n, 20) for n in (None, 1, 1200)]
    ['below 20 reports', '1 report', '1,200 reports']
    >>> _n_reports_shown(None, 1)
    'no reports'
    """
    if n_reports is None:
        return "no reports" if least <= 1 else f"below {least:,} reports"
    return "1 report" if n_reports == 1 else f"{n_reports:,} reports"


def campaign_id(named: str) -> str:
    """The id of a campaign that is named by its file, or by its id."""
    path = Path(named)
    return Campaign.load(path).id if path.is_file() else named


def open_days(entry: "Entry") -> str:
    """Until when reports can be made, and until when late ones are taken; empty where a campaign
    has no schedule."""
    schedule = entry.campaign.terms.schedule
    if schedule is None or entry.closes_on is None:
        return ""
    late = (
        f" (late reports and withdrawals until {entry.closes_on})"
        if entry.closes_on > schedule.closes
        else ""
    )
    return f" until {schedule.closes}{late}"


def opening(entry: "Entry") -> str:
    """What opening a campaign has come to, on this day of its schedule."""
    schedule, today = entry.campaign.terms.schedule, day_of(entry.clock())
    if schedule is None or schedule.opens <= today <= schedule.closes:
        return f"is open{open_days(entry)}"
    if today > schedule.closes:
        return f"is over since {schedule.closes} (late reports and withdrawals until {entry.closes_on})"
    return f"begins on {schedule.opens}, and is then open{open_days(entry)}"


def state_of(entry: "Entry") -> str:
    """Whether a campaign is open, and the days that matter."""
    state = f"open{open_days(entry)}" if entry.closed is None else f"closed {entry.closed_on}"
    return state if entry.erased is None else f"{state}, reports deleted"


def described(entry: "Entry") -> dict[str, object]:
    """The same for programs. Days are ISO dates, null where there is none."""
    schedule = entry.campaign.terms.schedule
    days = {
        "last_day": schedule and schedule.closes,
        "grace_ends": entry.closes_on,
        "closed_on": entry.closed_on,
    }
    return {
        "campaign": entry.campaign.id,
        "name": entry.campaign.terms.name,
        "state": "open" if entry.closed is None else "closed",
        **{name: None if day is None else str(day) for name, day in days.items()},
        "reports_deleted": entry.erased is not None,
    }
