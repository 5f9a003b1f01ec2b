"""The page of a run, made of its csv files alone: claims, what is better, worse and out of reach, figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from lopub.pages.plots import Line, lines
from lopub.reproduce import baselines, classification, estimation, identification, privacy, pruning
from lopub.reproduce.claims import BETTER, OUT_OF_REACH, WORSE, Claim, Tables
from lopub.reproduce.extent import OUR_METHODS
from lopub.reproduce.figures import Figure, FigureRow, figures

FOLDER = "reproduction"
"""Where csv files and pictures lie, beside the page."""
HEAD = """# The paper's evaluation, reproduced

Made by `lopub reproduce` from the csv files in [{folder}]({folder}): every number here stands in one of them. The paper is
"LoPub: High-Dimensional Crowdsourced Data Publication with Local Differential Privacy". `EM_JD`, `Lasso_JD` and
`Lasso+EM_JD` are its algorithms as it gives them, with its mistakes mended (a bit that agrees with a candidate's filter
counts as agreeing) and its own rule to stop; `em`, `moments` and `shrunk` are ours, `product` multiplies estimated marginals
and knows no dependence at all.

Errors are AVD, half the sum of absolute differences: the share of people in the wrong cell. Bars are standard deviations
over seeds; each seed is another sample of the records and other noise. Times are of one core and differ from run to run.

The tables are not quite the paper's: Adult is, value for value; TPC-E was generated anew, as the paper's file cannot be had;
which baskets of Retail the paper took is not known. See [datasets](datasets.md).
"""
SECTIONS = {
    estimation.NAME: (
        "Joints of k attributes",
        "The paper's samples: half of Retail, a tenth of Adult and TPC-E; Bloom filters with four hashes. `moments` knows"
        " pairs only: its larger joints are those of largest entropy. The plain loop is Algorithm 1 as it is written,"
        " timed on a few reports and scaled.",
    ),
    identification.NAME: (
        "Which attributes depend on each other",
        "Shares of all pairs. True dependences are those of the sample itself at the paper's phi. `shrunk, gain` takes a"
        " pair where held-out reports prefer its joint to independence, whatever phi.",
    ),
    pruning.NAME: (
        "Pruning",
        "From true counts of random samples. Dependences are counted in both directions. On Retail, pruning takes what it"
        " does not look at as dependent, so its loss is negative.",
    ),
    classification.NAME: (
        "Classifiers, and overall time",
        "Trained on the synthetic table, tested on held-out records: SVM on the binary attributes, forest on all."
        " `calibrated` is our structure and estimator on the same Bloom reports; cliques of the paper's way are capped,"
        " without which it does not end.",
    ),
    privacy.NAME: (
        "Equal privacy",
        "Total epsilon of a whole report, everything in it counted, on all records. A trusted server sees the records,"
        " publishes by the same structure and adds Laplace noise to mutual information and clique counts; without noise,"
        " what is left is the model's own error.",
    ),
    baselines.NAME: (
        "RAPPOR and Fanti's EM",
        "Pairs, each collected on its own at the whole epsilon. RAPPOR takes one filter over the product domain, as long"
        " as the two of Fanti's EM together; `direct` sends the noisy cell itself. Bits by the paper's formula are for one"
        " false positive in a hundred.",
    ),
}


def page(claims: Sequence[Claim], tables: Tables) -> str:
    """Markdown; figures that were not run are left out."""
    parts = [HEAD.format(folder=FOLDER), *_sides(claims), _claims_table(claims)]
    for experiment, own in groupby(figures(), key=lambda figure: figure.experiment):
        shown = [figure for figure in own if tables.get(figure.name)]
        if shown:
            title, text = SECTIONS[experiment]
            heading = "" if f"## {title}\n" in "".join(parts) else f"## {title}\n\n{text}\n"
            parts.append(heading + "".join(f"\n{part}" for figure in shown for part in _shown(figure, tables[figure.name])))
    return "\n".join(part for part in parts if part)


def _sides(claims: Sequence[Claim]) -> Iterator[str]:
    """What is worse than the paper says, what is better, and what could not be reproduced."""
    titles = {
        WORSE: "Worse than the paper says",
        BETTER: "Better than the paper says",
        OUT_OF_REACH: "Could not be reproduced, or in part only",
    }
    for side, title in titles.items():
        own = [
            f"- {claim.about}: the paper has {claim.paper}, we {claim.ours}. {claim.why}"
            for claim in claims
            if claim.side == side
        ]
        yield f"## {title}\n\n" + ("\n".join(own) if own else "Nothing that was run.") + "\n"


def _claims_table(claims: Sequence[Claim]) -> str:
    rows = [(claim.about, claim.paper, claim.ours, claim.verdict, claim.why) for claim in claims]
    return "## The paper's claims, one by one\n\n" + markdown(("claim", "paper", "ours", "verdict", "why"), rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _shown(figure: Figure, rows: Sequence[FigureRow]) -> Iterator[str]:
    """Its picture, its csv, and its numbers where they are few."""
    link = f"([csv]({FOLDER}/{figure.name}.csv))"
    if figure.experiment == pruning.NAME:
        named = [replace(row, method=VALUES[row.value]) for row in rows]
        yield f"### {figure.title}\n\nMeans over samples {link}:\n\n{_grid(named, figure.x_label)}"
        return
    yield f"### {figure.title}\n\n![{figure.title}]({FOLDER}/{figure.name}.svg)\n"
    for value in figure.values:
        own = [row for row in rows if row.value == value]
        if own:
            yield f"{VALUES[value]} {link}:\n\n{_grid(own, figure.x_label)}"


VALUES = {
    "avd": "Mean AVD",
    "seconds": "Seconds",
    "loop_seconds": "Seconds, as a plain loop",
    "accurate": "Identified rightly",
    "added": "Added",
    "lost": "Lost",
    "dependences_pruned": "Dependences after pruning",
    "dependences": "Dependences",
    "loss": "Share of dependences lost",
    "pairs_pruned": "Pairs after pruning",
    "pairs": "Pairs",
    "reduction": "Share of comparisons saved",
    "svm": "Share classified rightly",
    "random_forest": "Share classified rightly",
    "guess": "Guessing evenly",
    "random pairs": "Mean AVD of random pairs",
    "dependent pairs": "Mean AVD of the most dependent pairs",
    "bits": "Bits of a report",
    "formula_bits": "Bits by the paper's formula",
}


def _grid(rows: Sequence[FigureRow], x_label: str) -> str:
    """Methods down, the axis across."""
    places = list(dict.fromkeys(row.x for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    found = {(row.method, row.x): row.mean for row in rows}
    return markdown((x_label, *places), [(method, *(found.get((method, x), "") for x in places)) for method in methods])


def picture(figure: Figure, rows: Sequence[FigureRow]) -> str:
    """The figure's first value over its axis. What has one place only, such as a rate without privacy, is drawn across."""
    own = [row for row in rows if row.value == figure.values[0]]
    axis = sorted({float(row.x) for row in own if _is_number(row.x) and not _is_level(row, own)})
    drawn = [_line(method, list(points), axis, own) for method, points in _by_method(own).items()]
    return lines(
        drawn,
        title=figure.title,
        x_label=figure.x_label,
        y_label=figure.y_label,
        logarithmic=figure.logarithmic,
    )


def _by_method(rows: Sequence[FigureRow]) -> Mapping[str, list[FigureRow]]:
    found: dict[str, list[FigureRow]] = {}
    for row in rows:
        name = row.method if _is_number(row.x) else f"{row.method}, {row.x}"
        found.setdefault(name, []).append(row)
    return found


def _line(label: str, points: list[FigureRow], axis: list[float], every: Sequence[FigureRow]) -> Line:
    faint = label in OUR_METHODS[-1:] or "product" in label
    if len(points) == 1 and _is_level(points[0], every) and axis:
        y, spread = float(points[0].mean), float(points[0].spread)
        return Line(label, [axis[0], axis[-1]], [y, y], [spread, spread], faint=True)
    return Line(
        label, [float(row.x) for row in points], [float(row.mean) for row in points], [float(row.spread) for row in points], faint
    )


def _is_level(row: FigureRow, every: Sequence[FigureRow]) -> bool:
    """Whether nothing else was measured at this place of the axis."""
    return not _is_number(row.x) or (
        len({other.x for other in every}) > 1 and all(other.method == row.method for other in every if other.x == row.x)
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
