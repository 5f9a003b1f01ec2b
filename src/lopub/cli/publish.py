"""`lopub publish`: from reports to a synthetic table with all estimates that it rests on."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.campaign.budget import decimal_up
from lopub.campaign.schedule import GRACE_DAYS, day_of
from lopub.cli.console import note, out, print_json, progress_bar, say, table, working
from lopub.cli.options import (
    OUTPUT,
    SEED_HELP,
    AsJson,
    Force,
    Margins,
    Round,
    SourceCampaign,
    Sources,
    Stop,
    language_told,
    refuse_given,
)
from lopub.cli.outputs import check_directory
from lopub.cli.send import rounds_from
from lopub.cli.sources import Sources as Named
from lopub.cli.sources import (
    are_made_up,
    counted,
    is_one_store,
    noted,
    resolved,
    source_of,
)
from lopub.client.days import SECONDS_A_DAY
from lopub.errors import DomainError
from lopub.estimation import METHODS
from lopub.estimation.joint import JointDistribution
from lopub.estimation.methods import stopping
from lopub.pages.figures import lifetime_in_words
from lopub.publication import STRUCTURES, Publication, PublishSettings, publish_rounds
from lopub.publication.render.rounds import MARK
from lopub.publication.rounds import Rounds, rounds_of
from lopub.publication.settings import PHI
from lopub.publication.sources import SourceReports, read_all, read_source
from lopub.publication.summary import notices_of, warnings_of, why_without_strength
from lopub.queries.queries import MOST_TABLE_CELLS
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts
from lopub.reports.engines import LocalEngine
from lopub.reports.origin import Origin
from lopub.synthesis.dependence import Pruning

Output = Annotated[
    Path,
    typer.Option(
        *OUTPUT, metavar="DIR", help="Where to write the publication.", show_default=False
    ),
]
Structure = Annotated[
    str, typer.Option("--structure", metavar="STRUCTURE", help=f"One of {', '.join(STRUCTURES)}.")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="METHOD",
        help=f"One of {', '.join(METHODS)}; structure calibrated takes shrunk only.",
    ),
]
Phi = Annotated[
    float | None,
    typer.Option(
        "--phi",
        metavar="P",
        help=f"With structure paper: dependency degree from which a pair counts as dependent, 0 to 1; {PHI} unless given.",
        show_default=False,
    ),
]
Prune = Annotated[
    str | None,
    typer.Option(
        "--prune",
        metavar="FIND",
        help="With structure paper: skip pairs by entropy, to look for dependence or for independence.",
        show_default=False,
    ),
]
PruneBy = Annotated[
    str | None,
    typer.Option(
        "--prune-by",
        metavar="RANK",
        help="With --prune: by entropy, or by entropy-per-candidate as in its tables, which is the default.",
        show_default=False,
    ),
]
MostCells = Annotated[
    int | None,
    typer.Option(
        "--most-cells",
        metavar="N",
        help="Cells that a clique may have; chosen from the number of reports and the noise unless given.",
        show_default=False,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="N",
        help="Synthetic records to draw; as many as reports unless given.",
        show_default=False,
    ),
]
Copies = Annotated[
    int, typer.Option("--copies", metavar="N", help="How many independent synthetic tables.")
]
Numbers = Annotated[
    str,
    typer.Option(
        "--numbers",
        metavar="HOW",
        help="Binned numbers: label (the bin's) or draw (one inside it).",
    ),
]
AllRounds = Annotated[
    bool,
    typer.Option(
        "--all-rounds",
        help="Of a campaign that repeats: levels in every round and changes between them, instead of a table.",
    ),
]
WITH_ALL_ROUNDS = (
    "sources",
    "output",
    "campaign",
    "language",
    "all_rounds",
    "simulated",
    "as_json",
    "force",
)
"""What --all-rounds goes by."""
NOT_WITH_ALL_ROUNDS = (
    "does not go with --all-rounds, which makes no table and estimates all rounds alike"
)
NoCounts = Annotated[
    bool,
    typer.Option(
        "--no-counts",
        help="Leave out the counts of the reports, from which questions are answered.",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="DAYS",
        help="Leave out reports by their day, or by days such as 2026-03-01..2026-03-04; the page says so. May be repeated.",
        show_default=False,
    ),
]
Simulated = Annotated[
    bool,
    typer.Option(
        "--simulated",
        help="Say on the pages that the reports are simulated, where databases and framed files do not tell.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help=SEED_HELP)]
PageLanguage = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="TAG",
        help="Show the campaign's texts in this language on the pages, such as de; the campaign's own unless given.",
        show_default=False,
    ),
]


def publish(
    context: typer.Context,
    sources: Sources,
    output: Output,
    campaign: SourceCampaign = None,
    structure: Structure = "calibrated",
    method: Method = "shrunk",
    phi: Phi = None,
    prune: Prune = None,
    prune_by: PruneBy = None,
    stop: Stop = None,
    most_cells: MostCells = None,
    rows: Rows = None,
    copies: Copies = 1,
    numbers: Numbers = "label",
    margin: Margins = None,
    seed: Seed = 0,
    language: PageLanguage = None,
    no_counts: NoCounts = False,
    leave_out: LeaveOut = None,
    round_name: Round = None,
    all_rounds: AllRounds = False,
    simulated: Simulated = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Publish a synthetic table, and the estimates that it rests on, from noisy reports alone.

    Example: `lopub publish campaign.json reports.parquet -o publication`
    or `lopub publish campaign.json sqlite:///lopub.db -o publication`

    More: docs/publishing.md, docs/repeating.md on rounds, and docs/commands.md on sources
    """
    if all_rounds:
        refuse_given(context, WITH_ALL_ROUNDS, NOT_WITH_ALL_ROUNDS)
        return publish_all_rounds(
            resolved(sources, campaign),
            output,
            simulated,
            language or "",
            as_json=as_json,
            force=force,
        )
    options: dict[str, Any] = {
        "structure": structure,
        "method": stopping(method, stop),
        "phi": phi,
        "pruning": pruning(prune, prune_by),
        "most_cells": most_cells,
        "rows": rows,
        "copies": copies,
        "numbers": numbers,
        "seed": seed,
        "language": language or "",
        "counts": not no_counts,
        "leave_out": tuple(leave_out or ()),
    }
    settings = PublishSettings(**options)  # refuses before anything is read
    check_directory(output, mark="manifest.json", force=force)
    named = resolved(sources, campaign, round_name)
    reports = read_reports(named, settings, simulated)
    found = noted(reports.data)
    if named.slot is not None and not named.counts:
        note_unfinished(reports.data, [named.slot])
    publication = estimated(reports, settings, margin or ())
    publication.save(output, force=force)
    if told := language_told(publication.wording, [language] if language else []):
        note(told)
    if as_json:
        return print_json(found.described() | described(publication) | {"output": str(output)})
    print_publication(publication)
    say(f"written: {output}; start with {output / 'report.html'}")


def estimated(
    reports: SourceReports, settings: PublishSettings, margin: Sequence[Path]
) -> Publication:
    """All stages, with a bar. margin: files of known shares."""
    with progress_bar("estimating") as progress:
        margins = [JointDistribution.load(path, reports.data.campaign.domain) for path in margin]
        return reports.published(settings, margins=margins, progress=progress)


def publish_all_rounds(
    named: Named, output: Path, simulated: bool, language: str, *, as_json: bool, force: bool
) -> None:
    """Levels in every round, and changes from one to the next. language: of the page."""
    check_directory(output, mark=MARK, force=force)
    rounds_of(named.campaign)
    if named.counts:
        raise DomainError("counts do not tell rounds apart; --all-rounds needs the reports")
    with working("reading reports"):
        batch = read_all(source_of(named), origin=origin_of(named, simulated))
    found = noted(batch)
    with working("estimating"):
        rounds = publish_rounds(batch)
    rounds.save(output, language=language, force=force)
    n_reports = sum(
        rounds.n_reports.values()
    )  # of published rounds: all together would tell how many the others have
    n_levels = {
        "n_rounds": len(rounds.n_reports),
        "n_levels": len(rounds.levels),
        "n_changes": len(rounds.changes),
    }
    note_rounds(rounds)
    if as_json:
        print_json(
            found.described() | {"n_reports": n_reports} | n_levels | {"output": str(output)}
        )
        return
    say(
        f"{len(rounds.n_reports)} rounds, {len(rounds.levels):,} levels, {len(rounds.changes):,} changes"
    )
    say(
        f"epsilon {decimal_up(rounds.campaign.loss)} of one report. {lifetime_in_words(rounds.campaign)}"
    )
    say(f"written: {output}; start with {output / 'report.html'}")


def note_rounds(rounds: Rounds) -> None:
    """Which rounds are left out, which may grow yet, and why there is nothing to see where there is not."""
    least, campaign = rounds.campaign.terms.min_reports, rounds.campaign
    if rounds.left_out:
        days = [day_of(slot) for slot in rounds.left_out]
        note(f"note: fewer than {least:,} reports, and left out: the {rounds_from(days)}")
    note_unfinished(rounds, list(rounds.n_reports))
    if not rounds.levels and len(rounds.too_large) == len(campaign.domain):
        many = f"every question has more than {MOST_TABLE_CELLS:,} answers"
        note(f"warning: there is nothing to show: {many}; publish one round with --round")
    elif not rounds.levels:
        note("warning: there is nothing to show: the reports of no round say enough of any answer")
    elif not rounds.changes:
        note("note: there is no change to show: one round alone has enough reports")


def note_unfinished(data: ReportBatch | Counts | Rounds, slots: Sequence[int]) -> None:
    """That rounds still take reports, as far as the clock knows, unless they are simulated: their figures may change."""
    schedule, day = rounds_of(data.campaign)[0], int(time.time() // SECONDS_A_DAY)
    unfinished = [day_of(slot) for slot in slots if not schedule.is_over(slot, day)]
    if unfinished and not data.origin.is_simulated:
        named = f"the {rounds_from(unfinished)}"
        note(
            f"warning: more reports may come, in the round itself or in {GRACE_DAYS} days of grace after it: {named}"
        )


def read_reports(named: Named, settings: PublishSettings, simulated: bool) -> SourceReports:
    """What the publication is made of: as the console's job reads it; or the counts, where some source has nothing else."""
    origin = origin_of(named, simulated)
    if named.counts:
        counts = counted(named, LocalEngine())
        return SourceReports(data=replace(counts, origin=counts.origin + origin))
    source = source_of(named)
    with progress_bar("reading reports") as progress:
        return read_source(
            source,
            settings,
            slot=named.slot,
            origin=origin,
            trusted_distinct=is_one_store(named),
            progress=progress,
        )


def origin_of(named: Named, simulated: bool) -> Origin:
    """What is known of where the reports come from that they do not say themselves. simulated: whether somebody said so."""
    return Origin(is_simulated=simulated or are_made_up(named))


def pruning(find: str | None, rank: str | None) -> Pruning | None:
    """The options --prune and --prune-by as a setting."""
    if find is not None and find not in ("dependence", "independence"):
        raise DomainError(f"--prune must be dependence or independence, got {find!r}")
    if rank not in (None, "entropy", "entropy-per-candidate"):
        raise DomainError(f"--prune-by must be entropy or entropy-per-candidate, got {rank!r}")
    if find is None and rank is not None:
        raise DomainError("--prune-by says how --prune ranks; give --prune, too")
    if find is None:
        return None
    return Pruning(find=find, rank=(rank or Pruning.rank).replace("-", "_"))  # type: ignore[arg-type]


def described(publication: Publication) -> dict[str, Any]:
    """The result for programs."""
    return {
        "n_rows": len(publication.synthetic),
        "n_edges": len(publication.graph.edges),
        "n_findings": len(publication.findings.stated),
        "n_dropped_edges": len(publication.dropped),
        "cliques": [
            [publication.names[position] for position in clique]
            for clique in publication.model.tree.cliques
        ],
        "largest_misfit": max(publication.model.misfits),
    }


def print_publication(publication: Publication) -> None:
    """What was found, in a few lines."""
    names, graph = publication.names, publication.graph
    if len(names) == 1:
        say(
            f"{publication.n_reports:,} reports, epsilon {decimal_up(publication.campaign.loss)}, one attribute: {names[0]}"
        )
        _say_end(publication)
        return
    say(
        f"{publication.n_reports:,} reports, epsilon {decimal_up(publication.campaign.loss)}: {len(graph.edges)} of"
        f" {graph.n_pairs:,} pairs of attributes depend on each other (by {graph.measure})"
    )
    if graph.n_saved:
        say(f"pruning saved the estimation of {graph.n_saved:,} pairs")
    strongest = table(
        "strongest dependences", graph.measure + ", nats", right=(graph.measure + ", nats",)
    )
    for a, b in graph.edges[:5]:
        strength = graph.strengths.get((a, b))
        shown = (
            why_without_strength(publication, (a, b)) if strength is None else f"{strength:,.4g}"
        )
        strongest.add_row(f"{names[a]} – {names[b]}", shown)
    if graph.edges:
        out.print(strongest)
    else:
        say("no dependence stands out of the noise: the table is made of independent attributes")
    if every := publication.findings.every:
        stated = len(publication.findings.stated)
        say(
            f"{stated} of the {len(every)} that the reports show are sure enough to be stated as findings"
        )
    if publication.dropped:
        shown = ", ".join(f"{names[a]} – {names[b]}" for a, b in publication.dropped[:5])
        more = f" and {len(publication.dropped) - 5} more" if len(publication.dropped) > 5 else ""
        note(f"note: the cap of {publication.most_cells:,} cells left out {shown}{more}")
    cliques = publication.model.tree.cliques
    say(
        f"{len(cliques)} cliques, the largest of {max(joint.size for joint in publication.model.joints):,} cells"
    )
    _say_end(publication)


def _say_end(publication: Publication) -> None:
    """How many records, and what to beware of."""
    copies = f" in each of {len(publication.copies)} tables" if len(publication.copies) > 1 else ""
    say(f"{len(publication.synthetic):,} synthetic records{copies}")
    if in_all := lifetime_in_words(publication.campaign):
        say(in_all)
    for warning in warnings_of(publication):
        note(f"warning: {warning}")
    for notice in notices_of(publication):
        note(f"note: {notice}")
