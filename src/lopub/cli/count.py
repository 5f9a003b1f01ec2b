"""`lopub count`: reports to counts that add up."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import tell
from lopub.cli.options import OUTPUT, AsJson, Force, From, Round, SomeSources, SourceCampaign
from lopub.cli.outputs import check_file, check_unread
from lopub.cli.sources import Found, counted, note_left_out, resolved
from lopub.errors import DomainError, StoreError, TooFewReports
from lopub.reports.engines import ENGINES, LocalEngine, engine_of


def count(
    output: Annotated[
        Path,
        typer.Option(
            *OUTPUT,
            metavar="FILE",
            help="Where to write the counts, as Parquet.",
            show_default=False,
        ),
    ],
    sources: SomeSources = None,
    more: From = None,
    campaign: SourceCampaign = None,
    round_name: Round = None,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help=f"Where to count: {', '.join(ENGINES)}.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of a running cluster; without it, one is started here.",
            show_default=False,
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many parts to cut the sources into; chosen unless given.",
            show_default=False,
        ),
    ] = None,
    trusted_distinct: Annotated[
        bool,
        typer.Option(
            "--trusted-distinct",
            help="Do not look for repeated reports, because the sources have none.",
        ),
    ] = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Reduce reports to integer counts, in one pass and little memory; the counts of several days or machines add up.

    A report that is there more than once, in one file or in several, is counted once. Of two that differ under one id, the
    first is counted, in the order in which the sources are named, and the other is refused. Counts no longer tell: if two files
    of counts hold the same reports, these count twice.

    The counts are the same bytes on every engine and for every number of parts.

    Example: `lopub count campaign.json monday.parquet tuesday.parquet -o counts.parquet`

    More: docs/scaling.md, and docs/commands.md on sources
    """
    if output.suffix not in ("", ".parquet"):
        raise StoreError(f"{output} must end in .parquet: it will hold counts")
    check_file(output, force=force)
    named = resolved([*(sources or ()), *(more or ())], campaign, round_name)
    check_unread(output, (*named.reports, *named.counts))
    with (
        engine_of(engine, address) if named.reports or named.databases else LocalEngine() as chosen
    ):
        total = counted(named, chosen, n_partitions=partitions, trusted_distinct=trusted_distinct)
    note_left_out(total.refused, total.n_repeated)
    if not len(total):
        raise TooFewReports(f"no report of campaign {named.campaign.id[:16]}… is in these sources")
    if total.campaign.terms.repeat is not None and (
        total.slots is None or total.slots[0] != total.slots[1]
    ):
        raise DomainError(
            "these are reports of several rounds, which counts do not tell apart; choose one with --round"
        )
    total.save(output, force=force)
    found = Found(data=total, n_repeated=total.n_repeated)
    line = f"{len(total):,} reports of campaign {named.campaign.id[:16]}… counted, {len(total.tables):,} tables"
    document = found.described() | {"n_tables": len(total.tables), "output": str(output)}
    tell(document, line, f"written: {output}", as_json=as_json)
