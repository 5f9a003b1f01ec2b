"""`lopub collect`: open, close and list a collector's campaigns, without HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import say
from lopub.cli.database import DEFAULT, Database, Grace, opened
from lopub.contract.campaign import Campaign
from lopub.contract.terms import GRACE_DAYS

app = typer.Typer(no_args_is_help=True, help="The campaigns of a collector's database.")


@app.command("open")
def open_(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)],
    database: Database = DEFAULT,
    grace_days: Grace = GRACE_DAYS,
) -> None:
    """Open a campaign: from now on its collector takes reports. A running collector need not be stopped.

    With a schedule it closes by itself, some days of grace after its last day; without one it stays open until it is closed.

    Example: `lopub collect open campaign.json --database sqlite:///lopub.db`
    """
    campaign = Campaign.load(campaign_file)
    with opened(database, create=True) as store:
        from lopub.service.campaigns import open_campaign

        entry, is_new = open_campaign(store, campaign, grace_days=grace_days)
    until = "" if entry.closes_on is None else f" until {entry.closes_on}"
    say(f"campaign {campaign.terms.name} is open{until}{'' if is_new else ' (it was already)'}: /campaigns/{campaign.id}")


@app.command()
def close(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Its file, or its id.", show_default=False)],
    database: Database = DEFAULT,
) -> None:
    """Close a campaign for good: no more reports, no more withdrawals; its retention begins.

    Example: `lopub collect close campaign.json --database sqlite:///lopub.db`
    """
    with opened(database) as store:
        from lopub.service.campaigns import close_campaign
        from lopub.service.reading import chosen

        entry = close_campaign(store, chosen(store, campaign_id(campaign)).campaign.id)
    say(f"campaign {entry.campaign.terms.name} is closed since {entry.closed_on}")


@app.command("list")
def list_campaigns(database: Database = DEFAULT) -> None:
    """List the campaigns, with the number of their reports where that may be shown.

    Example: `lopub collect list --database sqlite:///lopub.db`
    """
    with opened(database) as store:
        from lopub.service.campaigns import all_campaigns
        from lopub.service.reading import shown_count

        entries = all_campaigns(store)
        for entry in entries:
            until = "" if entry.closes_on is None else f" until {entry.closes_on}"
            state = f"open{until}" if entry.closed is None else f"closed {entry.closed_on}"
            state = state if entry.erased is None else f"{state}, reports deleted"
            say(f"{entry.campaign.id}  {entry.campaign.terms.name}: {state}, {shown_count(store, entry)} reports")
    if not entries:
        say("there is no campaign; `lopub collect open` opens one")


def campaign_id(named: str) -> str:
    """The id of a campaign that is named by its file, or by its id."""
    path = Path(named)
    return Campaign.load(path).id if path.is_file() else named
