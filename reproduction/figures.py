"""The paper's figures and tables, and ours: which cells each is made of; as csv, and as a picture."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from reproduction import baselines, classification, estimation, identification, privacy, pruning
from reproduction.extent import TABLES
from reproduction.measurements import Cell, Values

TITLES = {"retail": "Retail", "nltcs": "NLTCS", "adult": "Adult", "tpce": "TPC-E"}
HEAD = ("x", "method", "value", "mean", "spread", "seeds")
TIMES = ("seconds", "counted_seconds", "loop_seconds")


SHAPE = ("attributes", "domain_log2", "domain_bits")
"""Of a whole table, whatever phi."""
Y_LABELS = {
    "seconds": "seconds",
    "accurate": "share of all pairs",
    "added": "share of all pairs",
    "lost": "share of all pairs",
    "svm": "share classified rightly",
    "random_forest": "share classified rightly",
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of the page. values: what it shows of its cells, first the one that is drawn."""

    name: str
    title: str
    experiment: str
    table: str
    values: tuple[str, ...]
    x_label: str
    y_label: str
    k: int = 0
    logarithmic: bool = False

    @property
    def timed(self) -> bool:
        """Whether it shows times, which are never the same twice."""
        return self.values[0] in TIMES


@dataclass(frozen=True)
class FigureRow:
    """One line of a figure's csv: mean and spread over seeds. Numbers are texts, as they are printed everywhere."""

    x: str
    method: str
    value: str
    mean: str
    spread: str
    seeds: str


def figures() -> Iterator[Figure]:
    """All of them, in the order of the page."""
    for table, settings in TABLES.items():
        for k in settings.dimensions:
            yield _estimation(
                table, k, "time", f"Estimation time ({TITLES[table]}, k = {k})", TIMES
            )
    for table, settings in TABLES.items():
        for k in settings.dimensions:
            yield _estimation(
                table, k, "avd", f"Estimation accuracy ({TITLES[table]}, k = {k})", ("avd",)
            )
    for name, title, value in (
        ("identification", "Dependences identified rightly", "accurate"),
        ("identification_added", "Dependences added", "added"),
        ("identification_lost", "Dependences lost", "lost"),
    ):
        for table in TABLES:
            yield _over_f(identification.NAME, table, name, title, (value,))
    for table in TABLES:
        yield Figure(
            name=f"pruning_{table}",
            title=f"Pruning ({TITLES[table]})",
            experiment=pruning.NAME,
            table=table,
            values=(
                "dependences_pruned",
                "dependences",
                "loss",
                "pairs_pruned",
                "pairs",
                "reduction",
                *SHAPE,
            ),
            x_label="phi",
            y_label="dependences",
        )
    for name, title, value in (
        ("svm", "SVM classification rate", "svm"),
        ("forest", "Random forest classification rate", "random_forest"),
        ("overall_time", "Overall time", "seconds"),
    ):
        for table in TABLES:
            values = (value, "guess") if value == "random_forest" else (value,)
            yield _over_f(classification.NAME, table, name, title, values)
    for table in TABLES:
        yield Figure(
            name=f"epsilon_{table}",
            title=f"Equal privacy ({TITLES[table]})",
            experiment=privacy.NAME,
            table=table,
            values=("random pairs", "dependent pairs"),
            x_label="total epsilon",
            y_label="mean AVD of random pairs",
        )
    for table in TABLES:
        yield Figure(
            name=f"baselines_{table}",
            title=f"RAPPOR and Fanti's EM on pairs ({TITLES[table]})",
            experiment=baselines.NAME,
            table=table,
            values=("avd", "bits", "formula_bits"),
            x_label="total epsilon",
            y_label="mean AVD",
        )


def _estimation(table: str, k: int, name: str, title: str, values: tuple[str, ...]) -> Figure:
    return Figure(
        name=f"{name}_{table}_{k}",
        title=title,
        experiment=estimation.NAME,
        table=table,
        values=values,
        x_label="f",
        y_label="seconds per joint" if name == "time" else "mean AVD",
        k=k,
        logarithmic=name == "time",
    )


def _over_f(experiment: str, table: str, name: str, title: str, values: tuple[str, ...]) -> Figure:
    return Figure(
        name=f"{name}_{table}",
        title=f"{title} ({TITLES[table]})",
        experiment=experiment,
        table=table,
        values=values,
        x_label="f",
        y_label=Y_LABELS[values[0]],
        logarithmic=values[0] == "seconds",
    )


def rows_of(figure: Figure, measured: Mapping[Cell, Values]) -> list[FigureRow]:
    """Mean and standard deviation over seeds, in the order in which the cells stand."""
    gathered: dict[tuple[str, str, str], list[float]] = {}
    for cell, values in measured.items():
        if (cell.experiment, cell.table, cell.k) == (
            figure.experiment,
            figure.table,
            figure.k or cell.k,
        ):
            for value in figure.values:
                if value in values:
                    gathered.setdefault((cell.x, cell.method, value), []).append(values[value])
    return [
        FigureRow(
            x,
            method,
            value,
            shown(fmean(found), value),
            shown(stdev(found) if len(found) > 1 else 0.0, value),
            str(len(found)),
        )
        for (x, method, value), found in gathered.items()
    ]


def shown(number: float, value: str) -> str:
    """Four decimals; times with three digits that count; whole numbers of pairs and bits with one decimal."""
    if value in TIMES:
        return f"{number:.3g}"
    return (
        f"{number:.1f}"
        if value
        in (
            "dependences",
            "dependences_pruned",
            "pairs",
            "pairs_pruned",
            "bits",
            "formula_bits",
            *SHAPE,
        )
        else f"{number:.4f}"
    )


def to_csv(rows: Sequence[FigureRow]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(
        [row.x, row.method, row.value, row.mean, row.spread, row.seeds] for row in rows
    )
    return text.getvalue()


def from_csv(text: str) -> list[FigureRow]:
    """The rows that `to_csv` wrote."""
    return [FigureRow(**line) for line in csv.DictReader(io.StringIO(text))]
