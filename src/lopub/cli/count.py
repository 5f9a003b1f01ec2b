"""`lopub count`: reports to counts that add up."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, say, working
from lopub.collection.batch import Noted, ReportBatch, walk_once, walk_reports
from lopub.collection.counts import Counts, is_counts
from lopub.collection.counts import count as counted
from lopub.contract.campaign import Campaign
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

    A report that is there more than once, in one file or in several, counts once. Counts themselves no longer tell: those of the
    same reports, counted by two calls, count twice.

    With mechanism `direct`, counts give the same estimates of attributes and pairs as the reports; with the others,
    `lopub estimate` takes them with `--method moments`.

    Example: `lopub count campaign.json monday.parquet tuesday.parquet -o counts.parquet`
    """
    if output.suffix not in ("", ".parquet"):
        raise StoreError(f"{output} must end in .parquet: it will hold counts")
    if output.exists() and not force:
        raise StoreError(f"{output} exists already; choose another name or use --force")
    campaign = Campaign.load(campaign_file)
    with working("counting"):
        added = [Counts.load(file, campaign) for file in files if is_counts(file)]
        reports = [file for file in files if not is_counts(file)]
        parts = [*added, *([counted_once(reports, campaign)] if reports else [])]
        total = sum(parts[1:], start=parts[0])
    note_refused(total)
    if not len(total):
        raise TooFewReports(f"no report of campaign {campaign.id[:16]}… is in {', '.join(map(str, files))}")
    total.save(output, force=force)
    say(f"{len(total):,} reports of campaign {campaign.id[:16]}… counted, {len(total.tables):,} tables")
    say(f"written: {output}")


def counted_once(files: list[Path], campaign: Campaign) -> Counts:
    """The counts of all reports in these files. Where a report is there more than once, which only the whole walk can tell, the
    files are walked again without the repetitions."""
    noted = Noted()
    total = counted(noted.noting(_walked(files, campaign)))
    shared = noted.shared()
    return counted(walk_once(_walked(files, campaign), shared)) if len(shared) else total


def _walked(files: list[Path], campaign: Campaign) -> Iterator[ReportBatch]:
    return chain.from_iterable(walk_reports(file, campaign) for file in files)


def read_data(path: Path, campaign: Campaign) -> ReportBatch | Counts:
    """What a file holds: reports, or counts; with a note on what was left out."""
    with working("reading reports"):
        data = Counts.load(path, campaign) if is_counts(path) else ReportBatch.load(path, campaign)
    note_refused(data)
    return data


def note_refused(data: ReportBatch | Counts) -> None:
    for reason, n in sorted(data.refused.items()):
        note(f"note: {n:,} reports were left out ({reason})")
