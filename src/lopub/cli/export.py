"""`lopub export`: the reports of a collector's database, as a file."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import tell
from lopub.cli.options import OUTPUT, AsJson, Force, From, Round, SomeSources, SourceCampaign
from lopub.cli.outputs import check_file, check_unread
from lopub.cli.sources import read, resolved
from lopub.errors import DomainError, StoreError
from lopub.reports.batch import ReportBatch


def export(
    output: Annotated[
        Path,
        typer.Option(
            *OUTPUT,
            metavar="FILE",
            help="Where to write the reports, as Parquet.",
            show_default=False,
        ),
    ],
    sources: SomeSources = None,
    more: From = None,
    campaign: SourceCampaign = None,
    round_name: Round = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Write the reports of a database into a file, which all commands read that read reports.

    A collector keeps only the hashes of report ids, and so does the file: it cannot be imported or
    sent again.

    Example: `lopub export --from sqlite:///lopub.db -o reports.parquet`

    More: docs/operating.md, and docs/commands.md on sources
    """
    if output.suffix not in ("", ".parquet"):
        raise StoreError(f"{output} must end in .parquet: it will hold reports")
    check_file(output, force=force)
    named = resolved([*(sources or ()), *(more or ())], campaign, round_name)
    check_unread(output, (*named.reports, *named.counts))
    found = read(named)
    if not isinstance(found.data, ReportBatch):
        raise DomainError("counts no longer hold the reports, so these cannot be exported")
    found.data.save(output, force=force)
    line = f"{len(found.data):,} reports of campaign {found.campaign.id[:16]}… exported"
    tell(found.described() | {"output": str(output)}, line, f"written: {output}", as_json=as_json)
