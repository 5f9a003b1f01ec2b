"""`lopub import`: a file of reports into a collector's database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, say, working
from lopub.cli.database import DEFAULT, Database, Grace, opened
from lopub.collection.batch import ReportBatch, walk_reports
from lopub.contract.campaign import Campaign
from lopub.contract.terms import GRACE_DAYS


def import_reports(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)],
    reports_file: Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports, Parquet or framed.", show_default=False)],
    database: Database = DEFAULT,
    grace_days: Grace = GRACE_DAYS,
) -> None:
    """Put a file of reports into a collector's database, checked and counted once as if they were sent.

    Opens the campaign if it is not there. An SQLite file must not be in use by a running collector.

    Example: `lopub import campaign.json reports.parquet --database sqlite:///lopub.db`
    """
    campaign = Campaign.load(campaign_file)
    reports: Iterator[ReportBatch] = walk_reports(reports_file, campaign)
    with opened(database, create=True, alone=True) as store, working("importing"):
        from lopub.service.campaigns import open_campaign
        from lopub.service.importing import import_reports as imported

        entry, _ = open_campaign(store, campaign, grace_days=grace_days)
        result = imported(store, entry, reports)
    for reason, n in sorted(result.refused.items()):
        note(f"note: {n:,} reports were refused ({reason})")
    say(f"{result.n_accepted:,} reports of campaign {campaign.id[:16]}… accepted, {result.n_replayed:,} were there already")
