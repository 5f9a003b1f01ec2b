"""`lopub evaluate`: how far a synthetic table is from the real one."""

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet
import typer

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Categorical, Domain
from lopub.cli.console import note, out, print_json, progress_bar, say, table, working
from lopub.cli.options import OUTPUT, AsJson, Force, Seed
from lopub.cli.options import Domain as DomainFile
from lopub.cli.outputs import check_directory, check_file
from lopub.errors import DomainError
from lopub.evaluation import Edges, Evaluation, SetScore, WayScore
from lopub.evaluation import evaluate as evaluated
from lopub.evaluation.score_page import MARK, write_scorecard
from lopub.evaluation.score_page import as_json as scores_as_json
from lopub.files import write_whole
from lopub.pages.templating import LANGUAGES
from lopub.reports.catalogue import read_domain_file
from lopub.reports.dataset import Dataset, read_texts
from lopub.reports.infer import domain_of_texts
from lopub.reports.reading import reading

N_WORST = 5
"""Pairs, and edges of a kind, that are printed; the JSON has all."""
WAYS = {1: "one-way", 2: "two-way", 3: "three-way"}
ADVICE = "give --campaign or --domain, so that both tables are read alike"


RealFile = Annotated[
    Path,
    typer.Argument(metavar="REAL", help="The true records: csv or Parquet.", show_default=False),
]
SyntheticFile = Annotated[
    Path,
    typer.Argument(
        metavar="SYNTHETIC", help="The synthetic records: csv or Parquet.", show_default=False
    ),
]
CampaignFile = Annotated[
    Path | None,
    typer.Option(
        "--campaign",
        metavar="CAMPAIGN",
        help="The campaign file whose attributes are compared.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        *OUTPUT,
        metavar="PATH",
        help="Where to write: a directory for a page and all scores, or a .json file for the scores.",
        show_default=False,
    ),
]
Sets = Annotated[
    int,
    typer.Option(
        "--most-sets", metavar="N", help="Compare at most so many sets of three attributes.", min=1
    ),
]
Phi = Annotated[
    float,
    typer.Option(
        "--phi",
        metavar="P",
        help="Dependency degree from which a pair counts as dependent, 0 to 1.",
        min=0,
        max=1,
    ),
]
Targets = Annotated[
    str | None,
    typer.Option(
        "--targets",
        metavar="A,B,…",
        help="What classifiers predict; up to 3 are chosen unless given.",
        show_default=False,
    ),
]
Language = Annotated[
    str,
    typer.Option(
        "--language", metavar="TAG", help=f"Of the page's words: {' or '.join(LANGUAGES)}."
    ),
]
Classifiers = Annotated[
    bool, typer.Option("--classifiers/--no-classifiers", help="Train SVMs and random forests.")
]


def evaluate(
    real_file: RealFile,
    synthetic_file: SyntheticFile,
    campaign_file: CampaignFile = None,
    domain_file: DomainFile = None,
    output: Output = None,
    sets: Sets = 200,
    phi: Phi = 0.2,
    targets: Targets = None,
    classifiers: Classifiers = True,
    language: Language = "en",
    seed: Seed = 0,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Compare a synthetic table with the true one: frequency tables, dependence, and what classifiers learn from it.

    A csv table may hold values or candidate numbers. Without a campaign or a domain file the values are learnt from both tables,
    which must then spell them alike.

    Example: `lopub evaluate people.csv synthetic.csv --campaign campaign.json -o scores.json`

    More: docs/publishing.md
    """
    if campaign_file is not None and domain_file is not None:
        raise typer.BadParameter("give either --campaign or --domain, not both")
    if targets is not None and not classifiers:
        raise typer.BadParameter("--targets has no use with --no-classifiers")
    names = None if targets is None else named(targets)
    if output is not None and output.suffix == ".json":
        check_file(output, force=force)
    elif output is not None:
        check_directory(output, mark=MARK, force=force)
    with working("reading tables"):
        real, synthetic = read_tables(real_file, synthetic_file, campaign_file, domain_file)
    with progress_bar("comparing") as progress:
        scores = evaluated(
            real,
            synthetic,
            most_sets=sets,
            phi=phi,
            targets=names,
            classifiers=classifiers,
            seed=seed,
            progress=progress,
        )
    if output is not None:
        write_scores(scores, real, synthetic, output, language=language, force=force)
    if as_json:
        print_json(scores.to_dict())
        return
    print_scores(scores)
    if output is not None:
        say(f"written: {output}")


def write_scores(
    scores: Evaluation,
    real: Dataset,
    synthetic: Dataset,
    output: Path,
    *,
    language: str,
    force: bool,
) -> None:
    """A file of scores where the name ends in .json, else a directory with a page."""
    if output.suffix == ".json":
        write_whole(output, scores_as_json(scores), force=force)
    else:
        write_scorecard(scores, real, synthetic, output, language=language, force=force)


def named(text: str) -> list[str]:
    """The names in a list with commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise DomainError("targets must name at least one attribute")
    return names


# ---- the tables


def read_tables(
    real: Path, synthetic: Path, campaign: Path | None, domain: Path | None
) -> tuple[Dataset, Dataset]:
    """Both tables in one domain: the campaign's, the domain file's, or the one that both show."""
    if campaign is not None:
        given = Campaign.load(campaign).domain
    elif domain is not None:
        given = read_domain_file(domain)
    else:
        learnt = shared_domain(real, synthetic)
        return read_table(real, learnt, coded=False), read_table(synthetic, learnt, coded=False)
    return read_table(real, given), read_table(synthetic, given)


def read_table(path: Path, domain: Domain, *, coded: bool | None = None) -> Dataset:
    """The records of a csv or Parquet file; Parquet holds values, csv may hold candidate numbers."""
    if not is_parquet(path):
        return Dataset.load(path, domain, coded=coded)
    try:
        return Dataset.from_arrow(parquet_texts(path), domain)
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from None


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does; what cannot be read is left to whoever reads it."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def parquet_texts(path: Path) -> pa.Table:
    """A Parquet file with every column as text, as in a csv file; missing answers are empty."""
    with reading(path, f"{path} is a damaged or cut-off Parquet file"):
        table = pa.parquet.read_table(path)
        names = table.column_names
    columns = {}
    for name in names:
        try:
            columns[name] = table[name].cast(pa.string()).fill_null("")
        except pa.ArrowException:
            raise DomainError(
                f"{path}: column {name!r} of {table[name].type} cannot be compared"
            ) from None
    return pa.table(columns)


def shared_domain(real: Path, synthetic: Path) -> Domain:
    """The domain of the columns that both tables have, in alphabetical order, learnt from their values together."""
    texts = distinct_texts(real), distinct_texts(synthetic)
    names = sorted(texts[0].keys() & texts[1].keys())
    if not names:
        raise DomainError(
            f"{real} and {synthetic} have no column in common; they must name their attributes alike"
        )
    for name in sorted(texts[0].keys() ^ texts[1].keys()):
        note(f"note: column {name!r} is in one table only and is left out")
    both = {name: sorted(texts[0][name] | texts[1][name]) for name in names}
    for name in [name for name in names if len(both[name]) < 2]:
        note(f"note: column {name!r} has a single value and is left out")
        del both[name]
    if not both:
        raise DomainError(
            f"{real} and {synthetic} hold a single value in every column; there is nothing to compare"
        )
    try:
        domain = domain_of_texts(both, order="natural")
    except DomainError as error:
        raise DomainError(f"{error}; or {ADVICE}") from None
    for attribute in domain.attributes:
        if isinstance(attribute, Categorical) and texts[0][attribute.name].isdisjoint(
            texts[1][attribute.name]
        ):
            raise DomainError(
                f"column {attribute.name!r} has no value in common in the two tables; {ADVICE}"
            )
    return domain


def distinct_texts(path: Path) -> dict[str, set[str]]:
    """What stands in each column."""
    texts = parquet_texts(path) if is_parquet(path) else read_texts(path)
    return {name: set(texts[name].unique().to_pylist()) for name in texts.column_names}


# ---- for people


def print_scores(scores: Evaluation) -> None:
    """The sentence, then one table per question."""
    say(summary(scores))
    out.print()
    print_distances(scores)
    if len(scores.ways) > 1:
        print_worst_pairs(scores.ways[1])
        print_edges(scores.edges)
    if scores.classifiers:
        print_classifiers(scores)


def summary(scores: Evaluation) -> str:
    """What a newcomer wants to know."""
    way = scores.ways[min(2, len(scores.ways)) - 1]
    said = f"{WAYS[way.k].capitalize()} tables of the synthetic data are off by {way.mean:.3f} on average"
    if way.k > 1:
        said += f"; independence would be off by {way.product_of_real:.3f}"
    return f"{said}. (AVD: the share of people who would have to change cells; 0 is best, 1 worst.)"


def print_distances(scores: Evaluation) -> None:
    """AVD beside the product of the real and of the synthetic table's own marginals, for each number of attributes."""
    numbers = ("sets", "mean AVD", "largest", "independence", "own product")
    shown = table("tables", *numbers, right=numbers)
    for way in scores.ways:
        sets = (
            f"{len(way.sets):,}"
            if len(way.sets) == way.n_possible
            else f"{len(way.sets):,} of {way.n_possible:,}"
        )
        shown.add_row(WAYS[way.k], sets, *distance_cells(way.sets, way.k))
    if scores.dependent:
        shown.add_row(
            "dependent pairs", f"{len(scores.dependent):,}", *distance_cells(scores.dependent, 2)
        )
    out.print(shown)
    out.print()


def distance_cells(sets: tuple[SetScore, ...], k: int) -> list[str]:
    """Mean and largest AVD, and the mean of both products; these are no news about one attribute."""
    way = WayScore(k=k, n_possible=len(sets), sets=sets)
    products = (
        [f"{way.product_of_real:.4f}", f"{way.product_of_synthetic:.4f}"] if k > 1 else ["-", "-"]
    )
    return [f"{way.mean:.4f}", f"{way.worst.avd:.4f}", *products]


def print_worst_pairs(pairs: WayScore) -> None:
    """The pairs that are furthest off."""
    shown = table("worst pairs", "AVD", "independence", right=("AVD", "independence"))
    for pair in sorted(pairs.sets, key=lambda score: -score.avd)[:N_WORST]:
        shown.add_row(" x ".join(pair.names), f"{pair.avd:.4f}", f"{pair.product_of_real:.4f}")
    out.print(shown)
    out.print()


def print_edges(edges: Edges) -> None:
    """Dependent pairs found, added and lost."""
    shown = table(f"dependent pairs (phi {edges.phi:g})", "number", "which", right=("number",))
    kinds = {"found": edges.found, "added by synthesis": edges.added, "lost": edges.lost}
    for kind, pairs in kinds.items():
        some = ", ".join(" x ".join(pair) for pair in pairs[:N_WORST])
        shown.add_row(kind, f"{len(pairs):,}", some + (", …" if len(pairs) > N_WORST else ""))
    out.print(shown)
    out.print()


def print_classifiers(scores: Evaluation) -> None:
    """Rates on held-out real records."""
    rates = ("from synthetic", "from real", "majority")
    shown = table("predicted right", "learnt by", *rates, right=rates)
    for score in scores.classifiers:
        cells = (score.trained_on_synthetic, score.trained_on_real, score.majority)
        shown.add_row(
            score.target, score.classifier.replace("_", " "), *(f"{rate:.3f}" for rate in cells)
        )
    out.print(shown)
    out.print()
