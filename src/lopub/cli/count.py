"""`lopub count`: reports to counts that add up."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import tell, working
from lopub.cli.options import OUTPUT, AsJson, Force, SourceCampaign
from lopub.cli.options import Sources as Words
from lopub.cli.outputs import check_file
from lopub.cli.sources import Found, batch_in_databases, note_left_out, resolved
from lopub.collection.batch import Noted, ReportBatch, walk_once, walk_reports
from lopub.collection.counts import Counts
from lopub.collection.counts import count as counted
from lopub.contract.campaign import Campaign
from lopub.errors import StoreError, TooFewReports


def count(
    sources: Words,
    output: Annotated[
        Path, typer.Option(*OUTPUT, metavar="FILE", help="Where to write the counts, as Parquet.", show_default=False)
    ],
    campaign: SourceCampaign = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Reduce reports to integer counts, in one pass and little memory; the counts of several days or machines add up.

    A report that is there more than once, in one file or in several, is counted once. Counts no longer tell: if two files of
    counts hold the same reports, these count twice.

    With mechanism `direct`, counts give the same estimates of attributes and pairs as the reports; with the others,
    `lopub estimate` takes them with `--method moments`.

    Example: `lopub count campaign.json monday.parquet tuesday.parquet -o counts.parquet`

    More: docs/estimation.md, and docs/commands.md on sources
    """
    if output.suffix not in ("", ".parquet"):
        raise StoreError(f"{output} must end in .parquet: it will hold counts")
    check_file(output, force=force)
    named = resolved(sources, campaign)
    with working("counting"):
        parts = [Counts.load(file, named.campaign) for file in named.counts]
        if (kept := batch_in_databases(named)) is not None:
            parts.append(counted(kept))
        in_files, n_repeated = counted_once(named.reports, named.campaign)
        total = sum(parts, start=in_files)
    note_left_out(total.refused, n_repeated)
    if not len(total):
        raise TooFewReports(f"no report of campaign {named.campaign.id[:16]}… is in these sources")
    total.save(output, force=force)
    document = Found(data=total, n_repeated=n_repeated).described() | {"n_tables": len(total.tables), "output": str(output)}
    line = f"{len(total):,} reports of campaign {named.campaign.id[:16]}… counted, {len(total.tables):,} tables"
    tell(document, line, f"written: {output}", as_json=as_json)


def counted_once(files: Sequence[Path], campaign: Campaign) -> tuple[Counts, int]:
    """The counts of all reports in these files, and how many repeated ones were left out. Where a report is there more than once,
    which only the whole walk can tell, the files are walked again without the repetitions."""
    if not files:
        return Counts(campaign=campaign, n_reports=0, tables={}), 0
    noted = Noted()
    total = counted(noted.noting(_walked(files, campaign)))
    shared = noted.shared()
    if not len(shared):
        return total, 0
    once = counted(walk_once(_walked(files, campaign), shared))
    return once, len(total) + sum(total.refused.values()) - len(once) - sum(once.refused.values())


def _walked(files: Sequence[Path], campaign: Campaign) -> Iterator[ReportBatch]:
    return chain.from_iterable(walk_reports(file, campaign) for file in files)
