"""`lopub count`: reports to counts that add up."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.batch import ReportBatch, walk_reports
from lopub.campaign import Campaign
from lopub.cli.console import note, say, working
from lopub.counts import Counts, is_counts, load_counts
from lopub.counts import count as counted
from lopub.errors import StoreError, TooFewReports


def count(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Files of reports, or of counts, to add up.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The counts, as Parquet.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Reduce reports to integer counts, in one pass and little memory; counts of several days or machines add up.

    With mechanism `direct`, counts give the same estimates of attributes and pairs as the reports; with the others,
    `lopub estimate` takes them with `--method moments`.

    Example: `lopub count campaign.json monday.parquet tuesday.parquet -o counts.parquet`
    """
    if output.exists() and not force:
        raise StoreError(f"{output} exists already; choose another name or use --force")
    campaign = Campaign.load(campaign_file)
    with working("counting"):
        parts = [load_counts(file, campaign) if is_counts(file) else counted(walk_reports(file, campaign)) for file in files]
        total = sum(parts[1:], start=parts[0])
    note_refused(total)
    if not len(total):
        raise TooFewReports(f"no report of campaign {campaign.id[:16]}… is in {', '.join(map(str, files))}")
    total.save(output, force=force)
    say(f"{len(total):,} reports of campaign {campaign.id[:16]}… counted, {len(total.tables):,} tables")
    say(f"written: {output}")


def read_data(path: Path, campaign: Campaign) -> ReportBatch | Counts:
    """What a file holds: reports, or counts; with a note on what was left out."""
    with working("reading reports"):
        data = load_counts(path, campaign) if is_counts(path) else ReportBatch.read(path, campaign)
    note_refused(data)
    return data


def note_refused(data: ReportBatch | Counts) -> None:
    for reason, n in sorted(data.refused.items()):
        note(f"note: {n:,} reports were left out ({reason})")
