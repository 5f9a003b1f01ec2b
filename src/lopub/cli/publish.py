"""`lopub publish`: from reports to a synthetic table with all estimates that it rests on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.cli.collect import campaign_id
from lopub.cli.console import note, out, print_json, progress, say, table, working
from lopub.cli.count import note_refused, read_data
from lopub.cli.database import opened
from lopub.collection.batch import ReportBatch
from lopub.collection.counts import Counts
from lopub.contract.budget import decimal_up
from lopub.contract.campaign import Campaign
from lopub.errors import DomainError
from lopub.files import refuse_taken
from lopub.inference import METHODS
from lopub.inference.joint import JointDistribution
from lopub.model.dependence import Pruning
from lopub.release import STRUCTURES, Publication, PublishSettings, published
from lopub.release.stages import PHI, Progress
from lopub.release.summary import warnings_of


def publish(
    named: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Its file; with --from, or its id.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The publication.", show_default=False)],
    reports_file: Annotated[Path | None, typer.Argument(metavar="[REPORTS]", help="Reports, or their counts.")] = None,
    database: Annotated[str | None, typer.Option("--from", metavar="URL", help="Reports of a collector's database.")] = None,
    structure: Annotated[str, typer.Option(metavar="S", help=f"One of {', '.join(STRUCTURES)}.")] = "calibrated",
    method: Annotated[
        str, typer.Option(metavar="M", help=f"One of {', '.join(METHODS)}; with structure calibrated, shrunk.")
    ] = "shrunk",
    phi: Annotated[
        float | None, typer.Option(metavar="P", help=f"Dependency degree of structure paper, 0 to 1; {PHI} unless given.")
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(metavar="FIND", help="Entropy pruning of structure paper: look for dependence or independence."),
    ] = None,
    most_cells: Annotated[
        int | None, typer.Option(metavar="N", help="Cells of the largest clique; from reports and noise unless given.")
    ] = None,
    rows: Annotated[int | None, typer.Option(metavar="N", help="Records to make; as many as reports unless given.")] = None,
    copies: Annotated[int, typer.Option(metavar="N", help="How many independent synthetic tables.")] = 1,
    numbers: Annotated[str, typer.Option(metavar="HOW", help="Binned numbers as the bin's label, or draw one inside.")] = "label",
    margin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Public margin to rake to: csv of attribute(s) and probability. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Same reports and seed, same files.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the publication if it exists.")] = False,
) -> None:
    """Publish a synthetic table, and what it rests on, from noisy reports alone.

    Example: `lopub publish campaign.json reports.parquet -o publication`
    or `lopub publish --from sqlite:///lopub.db campaign.json -o publication`
    """
    options: dict[str, Any] = {
        "structure": structure,
        "method": method,
        "phi": phi,
        "pruning": pruning(prune),
        "most_cells": most_cells,
        "rows": rows,
        "copies": copies,
        "numbers": numbers,
        "seed": seed,
    }
    settings = PublishSettings(**options)  # refuses before anything is read
    refuse_taken(output, mark="manifest.json", force=force)
    data = given(named, reports_file, database)
    margins = [JointDistribution.load(path, data.campaign.domain) for path in margin or ()]
    with stages() as told:
        publication = published(data, settings, progress=told, margins=margins)
    publication.save(output, force=force)
    if as_json:
        print_json(described(publication, output))
    else:
        print_publication(publication)
        say(f"written: {output}; start with {output / 'report.html'}")


def pruning(find: str | None) -> Pruning | None:
    if find is not None and find not in ("dependence", "independence"):
        raise DomainError(f"--prune must be dependence or independence, got {find!r}")
    return None if find is None else Pruning(find=find)  # type: ignore[arg-type]


def given(named: str, reports_file: Path | None, database: str | None) -> ReportBatch | Counts:
    """The reports to publish: of a file, or of a collector's database."""
    if (reports_file is None) == (database is None):
        raise DomainError("give either a file of REPORTS or a database with --from")
    if reports_file is not None:
        return read_data(reports_file, Campaign.load(Path(named)))
    with opened(database or "") as store, working("reading reports"):
        from lopub.service.reading import batch_of, chosen

        batch = batch_of(store, chosen(store, campaign_id(named)))
    note_refused(batch)
    return batch


@contextmanager
def stages() -> Iterator[Progress]:
    """A progress bar that goes from stage to stage, on a terminal only."""
    bar, task = progress("estimating", 1)

    def told(stage: str, done: int, total: int) -> None:
        bar.update(task, description=stage, completed=done, total=total)

    with bar:
        yield told


def described(publication: Publication, output: Path) -> dict[str, Any]:
    """The result for programs."""
    return {
        "directory": str(output),
        "rows": len(publication.synthetic),
        "n_reports": publication.n_reports,
        "edges": len(publication.graph.edges),
        "dropped_edges": len(publication.dropped),
        "cliques": [[publication.names[position] for position in clique] for clique in publication.model.tree.cliques],
        "largest_misfit": max(publication.model.misfits),
    }


def print_publication(publication: Publication) -> None:
    """What was found, in a few lines."""
    names, graph = publication.names, publication.graph
    if len(names) == 1:
        say(f"{publication.n_reports:,} reports, epsilon {decimal_up(publication.campaign.loss)}, one attribute: {names[0]}")
        _say_end(publication)
        return
    say(
        f"{publication.n_reports:,} reports, epsilon {decimal_up(publication.campaign.loss)}: {len(graph.edges)} of"
        f" {graph.n_pairs:,} pairs of attributes depend on each other (by {graph.measure})"
    )
    if graph.n_saved:
        say(f"pruning saved the estimation of {graph.n_saved:,} pairs")
    strongest = table("strongest dependences", graph.measure + ", nats", right=(graph.measure + ", nats",))
    for a, b in graph.edges[:5]:
        strength = graph.strengths.get((a, b))
        strongest.add_row(f"{names[a]} – {names[b]}", "assumed" if strength is None else f"{strength:,.4g}")
    if graph.edges:
        out.print(strongest)
    else:
        say("no dependence stands out of the noise: the table is made of independent attributes")
    if publication.dropped:
        shown = ", ".join(f"{names[a]} – {names[b]}" for a, b in publication.dropped[:5])
        more = f" and {len(publication.dropped) - 5} more" if len(publication.dropped) > 5 else ""
        note(f"note: the cap of {publication.most_cells:,} cells left out {shown}{more}")
    cliques = publication.model.tree.cliques
    say(f"{len(cliques)} cliques, the largest of {max(joint.size for joint in publication.model.joints):,} cells")
    _say_end(publication)


def _say_end(publication: Publication) -> None:
    """How many records, and what to beware of."""
    copies = f" in each of {len(publication.copies)} tables" if len(publication.copies) > 1 else ""
    say(f"{len(publication.synthetic):,} synthetic records{copies}")
    for warning in warnings_of(publication):
        note(f"warning: {warning}")
