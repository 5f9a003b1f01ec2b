"""The page of a run, made of its csv files alone: claims, what is better, worse and out of reach, figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from lopub.pages.plots import Line, lines
from reproduction import baselines, classification, estimation, identification, privacy, pruning
from reproduction.claims import (
    AGREES,
    BETTER,
    DIFFERS,
    OTHERWISE,
    OUT_OF_REACH,
    PARTLY,
    UNDECIDED,
    WORSE,
    Claim,
    Tables,
)
from reproduction.errata import ERRATA
from reproduction.extent import FULL, OUR_METHODS, QUICK
from reproduction.figures import Figure, FigureRow, figures
from reproduction.limits import LIMITS

SCALE = "scale"
FOLDER = "reproduction"
"""Where csv files and pictures lie, beside the page."""
HEAD = """# The paper's evaluation, reproduced
{note}
Made by `python -m reproduction` from the csv files in [{folder}]({folder}): every number here stands in one of them. The paper is
"LoPub: High-Dimensional Crowdsourced Data Publication with Local Differential Privacy". `EM_JD`, `Lasso_JD` and
`Lasso+EM_JD` are its algorithms with its mistakes mended (a bit that agrees with a candidate's filter counts as agreeing) and
its own rule to stop; Lasso is brought to sum to one and has an alpha of ours: "How it was run" tells what that does. `em`,
`moments` and `shrunk` are ours, `product` multiplies estimated marginals and knows no dependence at all.

Errors are AVD, half the sum of absolute differences: the share of people in the wrong cell, against the frequencies of the very
records that sent the reports. Bars are standard deviations over seeds; each seed is another sample of the records and other
noise. Figures are means over the sets of attributes that were drawn, not over all. Times are of one core and differ from run to
run. Every verdict has the number of its seeds beside it, and is made by the limits under "What counts as agreeing".

The tables are not quite the paper's: Adult is, value for value; TPC-E was generated anew, as the paper's file cannot be had;
which baskets of Retail the paper took is not known. What the paper reports of its Retail fits another table: NLTCS, the file
`data/Data4-coarse.dat` of its authors' own code (the public repository IoTDATALab/Python_LoPub), so every claim about Retail is
judged on both. "The NLTCS (National Long Term Care Study) is sponsored by the National Institute of Aging and conducted by the
Duke University Center for Demographic Studies under Grant No. `U01AG007198`." It may not be passed on; `lopub data nltcs --from
FILE` prepares a copy that you have. `docs/datasets.md` tells of all four tables, `docs/theorems.md` of the paper's theorems and
of its table of comparison.
"""
QUICK_NOTE = """
> **A quick run**: a small part of everything, with few sets and seeds. Its verdicts are not to be quoted; they need a run
> without `--quick`.
"""
MIXED = "mixed"
MIXED_NOTE = """
> **Of more than one run**: NLTCS was measured after the rest, on a machine that was busy with other work, and without `shrunk`
> and `calibrated`. On the other tables, what our own estimators have (`shrunk`, `calibrated`, `planned`, and `em` at equal
> privacy on Retail and Adult) is of earlier versions; `docs/estimation.md` tells of today's `shrunk`.
> Of times, compare only those of one table and one estimator. The history of the csv files (`git log` of their folder) tells
> which version measured what.
"""
SCALE_TEXTS = {
    FULL.name: "full: all that this table tells",
    QUICK.name: "quick: a small part of everything",
    MIXED: "several full runs at different times, by more than one version of the estimators: see the note at the top",
}
NOTES = {QUICK.name: QUICK_NOTE, MIXED: MIXED_NOTE}
"""What a page says above everything else, by the scale of its run; nothing of a full one in one piece."""
SECTIONS = {
    estimation.NAME: (
        "Joints of k attributes",
        "The paper's samples: half of Retail and NLTCS, a tenth of Adult and TPC-E; Bloom filters with four hashes. Errors are"
        " against the sample, means over the sets that were drawn. `moments` knows"
        " pairs only: its larger joints are those of largest entropy. Plain loops go over reports, bits and candidates as the"
        " paper's algorithms are written, timed on a few reports and scaled; the regression is compiled either way.",
    ),
    identification.NAME: (
        "Which attributes depend on each other",
        "Shares of all pairs. True dependences are those of the sample itself at the paper's phi. `shrunk, gain` takes a"
        " pair where held-out reports prefer its joint to independence, whatever phi. `Algorithm 4 as written` compares a pair"
        " with marginals that have a Lasso of their own, and takes it as dependent where it has people in a cell that those rule"
        " out: its information is then infinite.",
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
        "Total epsilon of a whole report, everything in it counted, on all records, and errors against all of them. Below, the"
        " baselines see a sample, so that the two are not to be compared with each other. A trusted server sees the records,"
        " publishes by the same structure and adds Laplace noise to mutual information and clique counts; without noise,"
        " what is left is the model's own error. Of the paper's structure that is not small, nor is it always the smallest: noise"
        " also changes which pairs pass the threshold. It is the paper's way with central noise, and no rival to tools that were"
        " made for a trusted server: `docs/comparison.md` has one.",
    ),
    baselines.NAME: (
        "RAPPOR and Fanti's EM",
        "Pairs, each collected on its own at the whole epsilon, from the samples of the estimation. RAPPOR takes one filter over"
        " the product domain, as long as the two of Fanti's EM together, or as the formula has it; `direct` sends the noisy cell"
        " itself. All are decoded by `em`, RAPPOR too, which does better than the regression that the paper describes. Bits by"
        " the paper's formula are for one false positive in a hundred.",
    ),
}


def page(claims: Sequence[Claim], tables: Tables, settings: Mapping[str, str]) -> str:
    """Markdown; figures that were not run are left out. settings: how the run was made, by what it is about."""
    note = NOTES.get(settings.get(SCALE, ""), "")
    parts = [
        HEAD.format(folder=FOLDER, note=note),
        _summary(claims),
        *_sides(claims),
        _claims_table(claims),
        _limits(),
        _settings(settings),
        _errata(),
    ]
    for experiment, own in groupby(figures(), key=lambda figure: figure.experiment):
        shown = [figure for figure in own if tables.get(figure.name)]
        if shown:
            title, text = SECTIONS[experiment]
            heading = "" if f"## {title}\n" in "".join(parts) else f"## {title}\n\n{text}\n"
            parts.append(
                heading
                + "".join(
                    f"\n{part}" for figure in shown for part in _shown(figure, tables[figure.name])
                )
            )
    return "\n".join(part for part in parts if part)


def _limits() -> str:
    return "## What counts as agreeing\n\n" + markdown(("word", "limit"), LIMITS)


def _settings(settings: Mapping[str, str]) -> str:
    told = {
        what: SCALE_TEXTS.get(how, how) if what == SCALE else how for what, how in settings.items()
    }
    return "## How it was run\n\n" + markdown(("what", "how"), list(told.items()))


def _errata() -> str:
    rows = [(slip.where, slip.printed, slip.right) for slip in ERRATA]
    return "## Slips of the paper\n\n" + markdown(("where", "printed", "right"), rows)


def _summary(claims: Sequence[Claim]) -> str:
    """How many verdicts there are of each kind."""
    n_of = Counter(claim.verdict for claim in claims)
    told = f"{n_of[AGREES]} agree, {n_of[PARTLY]} hold in part, {n_of[DIFFERS]} differ, {n_of[UNDECIDED]} are undecided"
    return (
        f"**Of {len(claims)} claims, {told}.** What is behind each verdict comes first, then all claims in one table.\n"
        if claims
        else ""
    )


def _sides(claims: Sequence[Claim]) -> Iterator[str]:
    """What is worse than the paper says, what is better, what is neither, and what could not be reproduced or decided."""
    titles = {
        WORSE: "Worse than the paper says",
        BETTER: "Better than the paper says",
        OTHERWISE: "Otherwise than the paper says, neither better nor worse",
        OUT_OF_REACH: "Could not be reproduced, or in part only",
        UNDECIDED: "Undecided with so few seeds",
    }
    for side, title in titles.items():
        own = [
            f"- {claim.about}. Paper: {claim.paper}. Here: {claim.ours}. {claim.why}"
            for claim in claims
            if claim.side == side
        ]
        yield f"## {title}\n\n" + ("\n".join(own) if own else "Nothing that was run.") + "\n"


def _claims_table(claims: Sequence[Claim]) -> str:
    rows = [
        (claim.about, claim.paper, claim.ours, claim.verdict, claim.held, claim.seeds, claim.why)
        for claim in claims
    ]
    head = ("claim", "paper", "ours", "verdict", "holds in", "seeds", "why")
    return "## The paper's claims, one by one\n\n" + markdown(head, rows)


BAR = "\\|"
"""One that does not end a cell."""


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return (
        "\n".join(
            [*lines, *(f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in rows)]
        )
        + "\n"
    )


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
    "counted_seconds": "Seconds, counting included",
    "loop_seconds": "Seconds, with the paper's plain loops over reports",
    "accurate": "Identified rightly",
    "added": "Added",
    "lost": "Lost",
    "dependences_pruned": "Dependences after pruning",
    "dependences": "Dependences",
    "loss": "Share of dependences lost",
    "pairs_pruned": "Pairs after pruning",
    "attributes": "Attributes",
    "domain_log2": "Cells of the domain, as a power of two",
    "domain_bits": "Bits of the attributes, each rounded up",
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
    return markdown(
        (x_label, *places),
        [(method, *(found.get((method, x), "") for x in places)) for method in methods],
    )


def picture(figure: Figure, rows: Sequence[FigureRow]) -> str:
    """The figure's first value over its axis, in panels where there would be too many lines in one; of times, plain loops beside
    the rest. What has one place only, such as a rate without privacy, is drawn across."""
    own = [row for row in rows if row.value == figure.values[0]]
    loops = [row for row in rows if row.value == "loop_seconds"]
    axis = sorted({float(row.x) for row in own if _is_number(row.x) and not _is_level(row)})
    drawn = {
        method: _line(method, list(points), axis) for method, points in _by_method(own).items()
    }
    beside = [method for method in drawn if method.startswith(("planned", "trusted"))]
    panels = (
        {"mechanisms": [line for method, line in drawn.items() if method not in beside]}
        if beside
        else {"": list(drawn.values())}
    )
    if beside:
        panels["planned, and a trusted server"] = [drawn[method] for method in beside]
    if loops:
        panels = {"compiled": list(drawn.values())}
        panels["plain loops"] = [
            _line(method, list(points), axis) for method, points in _by_method(loops).items()
        ]
    return lines(
        panels,
        title=figure.title,
        x_label=AXES.get(figure.x_label, figure.x_label),
        y_label=figure.y_label,
        logarithmic=figure.logarithmic,
        from_zero=figure.experiment != classification.NAME,
    )


AXES = {"f": "f, probability that a bit is redrawn", "phi": "phi, dependency degree"}


def _by_method(rows: Sequence[FigureRow]) -> Mapping[str, list[FigureRow]]:
    found: dict[str, list[FigureRow]] = {}
    for row in rows:
        name = row.method if _is_number(row.x) else f"{row.method}, {row.x}"
        found.setdefault(name, []).append(row)
    return found


def _line(label: str, points: list[FigureRow], axis: list[float]) -> Line:
    faint = label in OUR_METHODS[-1:] or "product" in label
    if len(points) == 1 and _is_level(points[0]) and axis:
        y, spread = float(points[0].mean), float(points[0].spread)
        return Line(label, [axis[0], axis[-1]], [y, y], [spread, spread], faint=True)
    return Line(
        label,
        [float(row.x) for row in points],
        [float(row.mean) for row in points],
        [float(row.spread) for row in points],
        faint,
    )


def _is_level(row: FigureRow) -> bool:
    """Whether it is of no place on the axis: without privacy, or without noise."""
    return not _is_number(row.x) or float(row.x) == 0


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
