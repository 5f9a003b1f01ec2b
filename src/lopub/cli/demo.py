"""`lopub demo`: the whole way on the built-in population."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.campaign.terms import Terms
from lopub.cli.campaign import summary_of
from lopub.cli.console import out, progress_bar, say, table, working
from lopub.cli.encode import encode_to
from lopub.cli.options import OUTPUT, Force, Seed
from lopub.cli.outputs import check_directory, check_file, check_parent
from lopub.cli.publish import print_publication
from lopub.errors import StoreError
from lopub.evaluation import Evaluation, evaluate
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.publication import publish
from lopub.reports.batch import ReportBatch
from lopub.reports.catalogue import ALUMNI


def demo(
    directory: Annotated[
        Path, typer.Option(*OUTPUT, metavar="DIR", help="Where to write the files.")
    ] = Path("demo"),
    people: Annotated[
        int, typer.Option("--people", metavar="N", help="How many people answer.", min=100)
    ] = 50_000,
    seed: Seed = 1,
    force: Force = False,
) -> None:
    """Show the whole way on made-up college alumni: a table, a campaign, a noisy report from each of them, a publication.

    Example: `lopub demo --people 10000`

    More: docs/publishing.md
    """
    table_file, campaign_file, reports_file = (
        directory / name for name in ("people.csv", "campaign.json", "reports.parquet")
    )
    publication_directory = directory / "publication"
    check_parent(directory)
    _make(directory)
    for path in (table_file, campaign_file, reports_file):
        check_file(path, force=force)
    check_directory(publication_directory, mark="manifest.json", force=force)
    dataset = ALUMNI.people(people, seed=seed)
    dataset.save(table_file, force=force)
    say(f"1. {people:,} made-up alumni with {len(dataset.domain)} attributes: {table_file}")
    campaign = make_campaign(
        dataset.domain,
        Terms(name="alumni", title="College alumni"),
        CampaignRequest(epsilon=SUGGESTED_EPSILON),
    )
    campaign.save(campaign_file, force=force)
    say(f"2. A campaign that asks them: {campaign_file}")
    out.print(summary_of(campaign))
    n_reports = encode_to(reports_file, dataset, campaign, seed=seed, force=force)
    say(f"3. {n_reports:,} noisy reports, all that a collector would ever see: {reports_file}")
    with progress_bar("estimating") as progress:
        publication = publish(ReportBatch.load(reports_file), seed=seed, progress=progress)
    publication.save(publication_directory, force=force)
    say(
        f"4. A synthetic table and all estimates, from those reports alone: {publication_directory}"
    )
    print_publication(publication)
    with working("comparing with the truth"):
        scores = evaluate(dataset, publication.synthetic, seed=seed)
    say("5. How good is it? Beside the truth, which only a demo knows:")
    print_scores(scores)
    say(
        f"The synthetic people are in {publication_directory / 'data' / 'synthetic.csv'}; nobody in there exists."
    )


def print_scores(scores: Evaluation) -> None:
    """A short table that a newcomer understands."""
    cells = table(
        "people in the wrong cell",
        "synthetic",
        "independence",
        "ideal",
        right=("synthetic", "independence", "ideal"),
    )
    one, two, *more = scores.ways
    cells.add_row("of one attribute", _percent(one.mean), "", "0 %")
    cells.add_row(
        "of two attributes", _percent(two.mean), _percent(two.product_of_synthetic), "0 %"
    )
    if scores.dependent_mean is not None:
        blind = sum(score.product_of_synthetic for score in scores.dependent) / len(
            scores.dependent
        )
        label = f"of the {len(scores.dependent)} most dependent pairs"
        cells.add_row(label, _percent(scores.dependent_mean), _percent(blind), "0 %")
    for way in more:
        cells.add_row(
            "of three attributes", _percent(way.mean), _percent(way.product_of_synthetic), "0 %"
        )
    cells.add_section()
    for score in scores.classifiers:
        if score.classifier == "svm":
            rates = (score.trained_on_synthetic, score.majority, score.trained_on_real)
            cells.add_row(f"right guesses of {score.target!r}", *(_percent(rate) for rate in rates))
    out.print(cells)
    say(
        "independence: what a table would be off by in which no attribute tells anything about another."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _make(directory: Path) -> None:
    try:
        directory.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make directory {directory}: {error.strerror}") from None
