"""`lopub demo`: the whole way, as far as it exists, on the built-in population."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from lopub.batch import ReportBatch
from lopub.catalogue import ALUMNI
from lopub.cli.campaign import print_summary
from lopub.cli.console import out, say, table, working
from lopub.cli.encode import encode_to
from lopub.draft import Wish, make_campaign
from lopub.errors import StoreError
from lopub.estimation import estimate
from lopub.files import exists
from lopub.joint import JointDistribution, interval
from lopub.terms import Terms

DEMO_EPSILON = 4
SHOWN = ("income", "home")


def demo(
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")] = Path("demo"),
    people: Annotated[int, typer.Option(metavar="N", help="How many people answer.", min=1)] = 50_000,
    seed: Annotated[int, typer.Option(metavar="S", help="Same seed, same files.", min=0)] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier demo.")] = False,
) -> None:
    """Walk the way on made-up college alumni: a table, a campaign, a noisy report from everybody.

    Example: `lopub demo --people 10000`
    """
    table_file, campaign_file, reports_file = (directory / name for name in ("people.csv", "campaign.json", "reports.parquet"))
    for path in (table_file, campaign_file, reports_file):
        if path.exists() and not force:
            raise exists(path)
    _make(directory)
    dataset = ALUMNI.people(people, seed=seed)
    dataset.write_csv(table_file, force=force)
    say(f"1. {people:,} made-up alumni with {len(dataset.domain)} attributes: {table_file}")
    campaign = make_campaign(dataset.domain, Terms(name="alumni", title="College alumni"), Wish(epsilon=DEMO_EPSILON))
    campaign.save(campaign_file, force=force)
    say(f"2. A campaign that asks them: {campaign_file}")
    print_summary(campaign)
    n_reports = encode_to(reports_file, dataset, campaign, seed=seed, force=force)
    say(f"3. {n_reports:,} noisy reports, all that a collector would ever see: {reports_file}")
    with working("estimating"):
        joint = estimate(ReportBatch.read(reports_file), SHOWN)
    say(f"4. What the reports say about {' and '.join(SHOWN)}, beside the truth that nobody saw:")
    print_beside_truth(joint)
    say("The way ends here for now: finding dependences and publishing a synthetic table come next.")


def print_beside_truth(joint: JointDistribution) -> None:
    """Every cell of a small joint: estimate, interval, truth."""
    truth = ALUMNI.joint(SHOWN)
    cells = table(*joint.names, "estimate", "95 % interval", "truth", right=("estimate", "95 % interval", "truth"))
    for (values, probability, error), true in zip(joint.rows(), truth.reshape(-1).tolist(), strict=True):
        low, high = interval(probability, error)
        cells.add_row(*values, f"{probability:.3f}", f"{low:.3f} to {high:.3f}", f"{true:.3f}")
    out.print(cells)
    blind = np.abs(truth - np.outer(truth.sum(axis=1), truth.sum(axis=0))).sum() / 2
    say(f"The estimate is off by {joint.avd(truth):.3f} (AVD); whoever took the two for independent would be off by {blind:.3f}.")


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make directory {directory}: {error.strerror}") from None
