"""What a run leaves behind: one csv a figure, pictures, claims, the page; and the page again from the csv files alone."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from lopub.errors import StoreError
from lopub.evaluation.classifiers import N_TREES
from lopub.files import whole_file
from lopub.inference.em import PAPER_TOLERANCE
from lopub.reproduce.claims import claims_csv, claims_from_csv
from lopub.reproduce.classification import PAPER_CELLS
from lopub.reproduce.errata import ERRATA
from lopub.reproduce.extent import FULL, Scale
from lopub.reproduce.figures import figures, from_csv, rows_of, to_csv
from lopub.reproduce.measurements import Cell, Values
from lopub.reproduce.measuring import CELLS
from lopub.reproduce.pruning import NAME as PRUNING
from lopub.reproduce.reproduction_page import FOLDER, SCALE, page, picture
from lopub.reproduce.sentences import claims

PAGE = "reproduction.md"
CLAIMS, SETTINGS, SLIPS = "claims.csv", "settings.csv", "errata.csv"


def refuse_foreign(output: Path, *, force: bool) -> None:
    """A page that no run in this directory has left is not overwritten."""
    if (output / PAGE).exists() and not (output / CELLS).is_dir() and not force:
        raise StoreError(f"{output / PAGE} exists already and is of no run in {output}; choose another directory or use --force")


def write_tables(measured: Mapping[Cell, Values], output: Path, scale: Scale = FULL) -> Path:
    """The csv files of the figures that have cells, and of the claims; then everything that is made of them."""
    folder = output / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}") from None
    tables = {figure.name: rows for figure in figures() if (rows := rows_of(figure, measured))}
    for name, rows in tables.items():
        _write(folder / f"{name}.csv", to_csv(rows))
    _write(folder / CLAIMS, claims_csv(claims(tables)))
    _write(folder / SETTINGS, _csv(("what", "how"), settings_of(scale).items()))
    _write(folder / SLIPS, _csv(("where", "printed", "right"), (astuple(slip) for slip in ERRATA)))
    return write_page(output)


def write_page(output: Path) -> Path:
    """The pictures and the page, from the csv files that are there."""
    folder = output / FOLDER
    tables = {}
    for figure in figures():
        path = folder / f"{figure.name}.csv"
        if path.is_file():
            tables[figure.name] = from_csv(path.read_text(encoding="utf-8"))
            if figure.experiment != PRUNING:
                _write(folder / f"{figure.name}.svg", picture(figure, tables[figure.name]))
    found = claims_from_csv((folder / CLAIMS).read_text(encoding="utf-8"))
    settings = dict(list(csv.reader(io.StringIO((folder / SETTINGS).read_text(encoding="utf-8"))))[1:])
    _write(output / PAGE, page(found, tables, settings))
    return output / PAGE


def settings_of(scale: Scale) -> dict[str, str]:
    """How a run of this scale is made, by what it is about."""
    return {
        SCALE: scale.name,
        "sets of k attributes": f"{scale.sets_a_seed} in each of {scale.estimation_seeds} seeds, drawn without repetition",
        "seeds": f"estimation {scale.estimation_seeds}, identification {scale.identification_seeds}, pruning"
        f" {scale.pruning_seeds}, classification {scale.classification_seeds}, equal privacy and baselines {scale.privacy_seeds}",
        "samples": "records drawn without replacement, anew for each seed: half of Retail and NLTCS, a tenth of Adult and TPC-E;"
        " dependences and pruning on all of Retail and NLTCS; classifiers are tested on as many other records",
        "alpha of Lasso": "the universal threshold, s sqrt(2 ln cells) times the length of a column over the number of bits;"
        " the paper names none, its authors' code (Get_Rappor.py) takes 0.5 everywhere",
        "convergence gap": f"{PAPER_TOLERANCE}; by the paper's rule most sets of Adult end after one step at k = 3 and f = 0.9",
        "classifiers": f"a linear SVM on indicators and a forest of {N_TREES} trees; the authors: SVC() and the default forest",
        "cliques of the paper's way": f"at most {PAPER_CELLS} cells, without which it does not end",
        "calibrated": "our structure and `shrunk` on the same Bloom reports",
    }


def _csv(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    with whole_file(path, force=True) as part:
        part.write_text(text, encoding="utf-8")
