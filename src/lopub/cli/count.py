"""`lopub count`: reports to counts that add up."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, progress, say, working
from lopub.collection.batch import ReportBatch
from lopub.collection.counts import Counts, is_counts, load_counts
from lopub.collection.engines import ENGINES, Engine, FileSource, Several, Source, count_source, engine_of, report_files
from lopub.contract.campaign import Campaign
from lopub.errors import StoreError, TooFewReports
from lopub.files import kind_of


def count(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[CAMPAIGN] SOURCE…",
            help="Files of reports or of counts, directories or patterns of them, or addresses of collectors' databases; before"
            " them the campaign file, which framed files need and others may do without.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The counts, as Parquet.", show_default=False)],
    engine: Annotated[str, typer.Option(metavar="NAME", help=f"Where to count: {', '.join(ENGINES)}.")] = "local",
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A cluster's address; without it one is started here.", show_default=False),
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Parts that the sources are cut into.", show_default=False)
    ] = None,
    trusted_distinct: Annotated[
        bool, typer.Option("--trusted-distinct", help="Do not look for repeated reports: the sources have none.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Reduce reports to integer counts, in one pass and little memory; counts of several days or machines add up.

    A report that is there more than once, in one file or in several, counts once. Of two that differ under one id the first
    counts, in the order of the sources as they are named, and the other is refused. Counts themselves no longer tell: those of
    the same reports, counted by two calls, count twice.

    With mechanism `direct`, counts give the same estimates of attributes and pairs as the reports; with the others,
    `lopub estimate` takes them with `--method moments`.

    The counts are the same bytes on every engine and for every number of parts.

    Example: `lopub count campaign.json monday.parquet tuesday.parquet -o counts.parquet`
    """
    if output.suffix not in ("", ".parquet"):
        raise StoreError(f"{output} must end in .parquet: it will hold counts")
    if output.exists() and not force:
        raise StoreError(f"{output} exists already; choose another name or use --force")
    campaign, names = _campaign_first(sources)
    if not names:
        raise typer.BadParameter("name at least one source of reports", param_hint="SOURCE")
    added, source = _resolved(names, campaign)
    parts = list(added)
    if source is not None:
        with engine_of(engine, address) as chosen:
            parts.append(_counted(source, chosen, partitions, trusted_distinct or _is_store(names)))
    total = sum(parts[1:], start=parts[0])
    note_refused(total)
    if not len(total):
        raise TooFewReports(f"no report of campaign {total.campaign.id[:16]}… is in {', '.join(names)}")
    total.save(output, force=force)
    say(f"{len(total):,} reports of campaign {total.campaign.id[:16]}… counted, {len(total.tables):,} tables")
    say(f"written: {output}")


def _campaign_first(names: Sequence[str]) -> tuple[Campaign | None, list[str]]:
    """The campaign, where the first name is that of its file, and the names of the sources."""
    first = Path(names[0])
    if not first.is_file():
        return None, list(names)
    with open(first, "rb") as file:
        is_campaign = kind_of(file.read(512)) == "JSON"
    return (Campaign.load(first), list(names[1:])) if is_campaign else (None, list(names))


def _is_address(name: str) -> bool:
    return "://" in name


def _is_store(names: Sequence[str]) -> bool:
    """Whether all there is comes out of one store, which has every report once."""
    return len(names) == 1 and _is_address(names[0])


def _resolved(names: Sequence[str], campaign: Campaign | None) -> tuple[list[Counts], Source | None]:
    """The counts among the files; and all sources of reports as one, in their order, or none."""
    added: list[Counts] = []
    found: list[Source | list[Path]] = []
    for is_address, some in groupby(names, _is_address):
        if is_address:
            found += [_store(name, campaign) for name in some]
        else:
            files = report_files(list(some))
            added += [load_counts(file, campaign) for file in files if is_counts(file)]
            found.append([file for file in files if not is_counts(file)])
    if campaign is None and added:
        campaign = added[0].campaign
    if campaign is None:
        campaign = next((each.campaign for each in found if not isinstance(each, list)), None)
    sources = [FileSource(each, campaign) if isinstance(each, list) else each for each in found if each != []]
    return added, Several(sources) if sources else None


def _store(address: str, campaign: Campaign | None) -> Source:
    from lopub.cli.database import refuse_without_service

    refuse_without_service()
    from lopub.service.source import StoreSource  # loads SQLAlchemy

    return StoreSource(address, campaign)


def _counted(source: Source, engine: Engine, partitions: int | None, trusted_distinct: bool) -> Counts:
    bar, task = progress("counting", total=1)
    with bar:
        return count_source(
            source,
            engine,
            n_partitions=partitions,
            trusted_distinct=trusted_distinct,
            done=lambda n_done, n: bar.update(task, completed=n_done, total=n),
        )


def read_data(path: Path, campaign: Campaign) -> ReportBatch | Counts:
    """What a file holds: reports, or counts; with a note on what was left out."""
    with working("reading reports"):
        data = load_counts(path, campaign) if is_counts(path) else ReportBatch.read(path, campaign)
    note_refused(data)
    return data


def note_refused(data: ReportBatch | Counts) -> None:
    for reason, n in sorted(data.refused.items()):
        note(f"note: {n:,} reports were left out ({reason})")
