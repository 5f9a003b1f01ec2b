"""`lopub demo`: the whole way, as far as it exists, on the built-in population."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.catalogue import ALUMNI
from lopub.cli.campaign import print_summary
from lopub.cli.console import say
from lopub.cli.encode import encode_to
from lopub.draft import Wish, make_campaign
from lopub.errors import StoreError
from lopub.terms import Terms

DEMO_EPSILON = 4


def demo(
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")] = Path("demo"),
    people: Annotated[int, typer.Option(metavar="N", help="How many people answer.", min=1)] = 50_000,
    seed: Annotated[int, typer.Option(metavar="S", help="Same seed, same files.", min=0)] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier demo.")] = False,
) -> None:
    """Walk the way on made-up college alumni: a table, a campaign, a noisy report from everybody.

    Example: `lopub demo --people 10000`
    """
    _make(directory)
    dataset = ALUMNI.people(people, seed=seed)
    table_file, campaign_file, reports_file = (directory / name for name in ("people.csv", "campaign.json", "reports.parquet"))
    dataset.write_csv(table_file, force=force)
    say(f"1. {people:,} made-up alumni with {len(dataset.domain)} attributes: {table_file}")
    campaign = make_campaign(dataset.domain, Terms(name="alumni", title="College alumni"), Wish(epsilon=DEMO_EPSILON))
    campaign.save(campaign_file, force=force)
    say(f"2. A campaign that asks them: {campaign_file}")
    print_summary(campaign)
    n_reports = encode_to(reports_file, dataset, campaign, seed=seed, force=force)
    say(f"3. {n_reports:,} noisy reports, all that a collector would ever see: {reports_file}")
    say("The way ends here for now: estimating joint distributions and publishing a synthetic table come next.")


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make directory {directory}: {error.strerror}") from None
