"""`lopub encode`: many simulated clients."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, progress, say
from lopub.collection.batch import ReportBatch, save_reports
from lopub.collection.dataset import Dataset
from lopub.collection.simulation import simulate_blocks
from lopub.contract.budget import decimal_up
from lopub.contract.campaign import Campaign
from lopub.errors import StoreError

EXPERIMENT = (
    "note: simulated clients are for experiments; real people's answers must be randomized on their own devices,"
    " not from a table that somebody holds."
)
SEEDED = "Seeded noise can be taken off again by whoever knows or guesses the seed; these reports protect nobody."


def encode(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)],
    table_file: Annotated[Path, typer.Argument(metavar="TABLE", help="The records: a csv file.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Reports: Parquet if it ends so.", show_default=False)
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="S",
            help="For a repeatable experiment; random unless given. Report ids follow from it: one seed, one table.",
        ),
    ] = None,
    coded: Annotated[
        bool | None,
        typer.Option("--codes/--values", help="What the table holds; found out unless said.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Let one simulated client report each record of a table. For experiments only: a real client runs on a person's own device.

    Example: `lopub encode campaign.json people.csv -o reports.parquet --seed 1`
    """
    campaign = Campaign.load(campaign_file)
    if output.exists() and not force:
        raise StoreError(f"{output} exists already; choose another name or use --force")
    dataset = Dataset.load(table_file, campaign.domain, coded=coded)
    n_reports = encode_to(output, dataset, campaign, seed=seed, force=force)
    note(EXPERIMENT if seed is None else f"{EXPERIMENT} {SEEDED}")
    say(f"{n_reports:,} reports of campaign {campaign.id[:16]}…  epsilon {decimal_up(campaign.loss)}")
    say(f"written: {output}")


def encode_to(output: Path, dataset: Dataset, campaign: Campaign, *, seed: int | None, force: bool) -> int:
    """Simulate and write, block by block, with a progress bar; how many reports."""
    bar, task = progress("encoding", len(dataset))

    def shown() -> Iterator[ReportBatch]:
        for block in simulate_blocks(dataset, campaign, seed=seed):
            yield block
            bar.advance(task, len(block))

    with bar:
        return save_reports(output, campaign, shown(), force=force)
