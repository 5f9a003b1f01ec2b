"""`lopub encode`: many simulated clients."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EPOCH
from lopub.cli.console import note, progress_bar, tell
from lopub.cli.options import OUTPUT, SEED_HELP, AsJson, CampaignFile, Force
from lopub.cli.outputs import check_file, check_unread
from lopub.client.days import today
from lopub.errors import DomainError
from lopub.pages.figures import lifetime_in_words
from lopub.reports.batch import ReportBatch, save_reports
from lopub.reports.dataset import Dataset
from lopub.reports.progress import Progress
from lopub.reports.simulation import simulate_blocks

EXPERIMENT = (
    "note: simulated clients are for experiments; real people's answers must be randomized on their own devices,"
    " not from a table that somebody holds."
)
SEEDED = "Seeded noise can be taken off again by whoever knows or guesses the seed; these reports protect nobody."

UNTOLD = "note: framed wire bytes do not tell that they are simulated, as a .parquet file does; publish them with --simulated."


def encode(
    campaign_file: CampaignFile,
    table_file: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="The records: a csv file, gzipped or not.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            *OUTPUT,
            metavar="FILE",
            help="Where to write the reports: .parquet, or .bin or .reports for framed wire bytes.",
            show_default=False,
        ),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="S",
            help=f"{SEED_HELP} Random unless given. Report ids follow from it, so give each table a seed of its own.",
        ),
    ] = None,
    coded: Annotated[
        bool | None,
        typer.Option(
            "--codes/--values",
            help="Whether the table holds candidate numbers or values; found out unless given.",
            show_default=False,
        ),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option(
            "--day",
            metavar="DAY",
            help="The day on the reports, such as 2026-11-18, or today. A collector takes reports over"
            " HTTP only from the day before the campaign's opening on; `lopub import` takes older"
            " ones, too. Unless given: the first day of the schedule, or 1970-01-01 for none.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Simulate one client per record of a table. For experiments only: a real client runs on a person's own device.

    Example: `lopub encode campaign.json people.csv -o reports.parquet --seed 1`

    More: docs/estimation.md
    """
    check_file(output, force=force)
    check_unread(output, [table_file, campaign_file])
    campaign = Campaign.load(campaign_file)
    dataset = Dataset.load(table_file, campaign.domain, coded=coded)
    n_reports = encode_to(
        output, dataset, campaign, seed=seed, slot=slot_on(campaign, day), force=force
    )
    note(EXPERIMENT if seed is None else f"{EXPERIMENT} {SEEDED}")
    if output.suffix != ".parquet":
        note(UNTOLD)
    document = {
        "campaign": campaign.id,
        "epsilon": campaign.epsilon,
        "n_reports": n_reports,
        "seed": seed,
        "output": str(output),
    } | ({"lifetime_epsilon": campaign.lifetime_epsilon} if campaign.terms.repeat else {})
    line = f"{n_reports:,} reports of campaign {campaign.id[:16]}…  epsilon {decimal_up(campaign.loss)}"
    tell(
        document,
        line,
        *filter(None, [lifetime_in_words(campaign)]),
        f"written: {output}",
        as_json=as_json,
    )


def slot_on(campaign: Campaign, day: str | None) -> int | None:
    """Return what reports carry that are made on a day, given as text; None where none is given."""
    if day is None:
        return None
    if day == "today":
        return today(campaign)
    try:
        slot = (date.fromisoformat(day) - EPOCH).days
    except ValueError:
        raise DomainError(
            "--day must be a day such as 2026-11-18, or today, got {day!r}", day=day
        ) from None
    schedule = campaign.terms.schedule
    in_round = schedule.slot_on(slot) if schedule else None
    return slot if in_round is None else in_round


def encode_to(
    output: Path,
    dataset: Dataset,
    campaign: Campaign,
    *,
    seed: int | None,
    slot: int | None = None,
    force: bool,
) -> int:
    """Simulate and write, block by block, with a progress bar; how many reports."""

    def shown(progress: Progress) -> Iterator[ReportBatch]:
        n_done = 0
        progress("encoding", n_done, len(dataset))
        for block in simulate_blocks(dataset, campaign, seed=seed, slot=slot):
            yield block
            n_done += len(block)
            progress("encoding", n_done, len(dataset))

    with progress_bar("encoding") as progress:
        return save_reports(output, campaign, shown(progress), force=force)
