"""What a run leaves behind: one csv a figure, pictures, claims, the page; and the page again from the csv files alone."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from lopub import __version__
from lopub.errors import StoreError
from lopub.estimation.em import PAPER_TOLERANCE
from lopub.evaluation.classifiers import N_TREES
from lopub.files import whole_file
from reproduction.baselines import N_SETS
from reproduction.claims import claims_csv
from reproduction.classification import PAPER_CELLS
from reproduction.errata import ERRATA
from reproduction.extent import FULL, N_HASHES, SCALES, TABLES, Scale
from reproduction.figures import TITLES, FigureRow, figures, from_csv, rows_of, to_csv
from reproduction.limits import LIMITS
from reproduction.measurements import Cell, Values
from reproduction.measuring import CELLS
from reproduction.privacy import N_DEPENDENT
from reproduction.pruning import NAME as PRUNING
from reproduction.reproduction_page import FOLDER, SCALE, page, picture
from reproduction.sentences import claims

PAGE = "reproduction.md"
CLAIMS, SETTINGS, SLIPS, WORDS = "claims.csv", "settings.csv", "errata.csv", "limits.csv"
CODE = "code"


def refuse_foreign(output: Path, *, force: bool) -> None:
    """A page that no run in this directory has left is not overwritten."""
    if (output / PAGE).exists() and not (output / CELLS).is_dir() and not force:
        raise StoreError(
            f"{output / PAGE} exists already and is of no run in {output}; choose another directory or use --force"
        )


def write_tables(measured: Mapping[Cell, Values], output: Path, scale: Scale = FULL) -> Path:
    """The csv files of the figures that have cells, and of the claims; then everything that is made of them."""
    folder = output / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}") from None
    for figure in figures():
        if rows := rows_of(figure, measured):
            _write(folder / f"{figure.name}.csv", to_csv(rows))
    _write(folder / SETTINGS, _csv(("what", "how"), settings_of(scale).items()))
    return write_page(output)


def remake_page(output: Path) -> Path:
    """The page of a run again, by the texts and verdicts of today, from the csv files of its figures: nothing is measured."""
    path = output / FOLDER / SETTINGS
    if not path.is_file():
        raise StoreError(f"there is no run in {output}: {path} is missing")
    old = _settings_in(path)
    new = settings_of(SCALES.get(old[SCALE], FULL))
    _write(
        path,
        _csv(("what", "how"), (new | {SCALE: old[SCALE], CODE: old.get(CODE, new[CODE])}).items()),
    )
    return write_page(output)


def write_page(output: Path) -> Path:
    """Claims, pictures and the page, from the csv files of figures that are there."""
    folder = output / FOLDER
    tables = tables_in(folder)
    for figure in figures():
        if figure.name in tables and figure.experiment != PRUNING:
            _write(folder / f"{figure.name}.svg", picture(figure, tables[figure.name]))
    found = claims(tables)
    _write(folder / CLAIMS, claims_csv(found))
    _write(folder / SLIPS, _csv(("where", "printed", "right"), (astuple(slip) for slip in ERRATA)))
    _write(folder / WORDS, _csv(("word", "limit"), LIMITS))
    _write(output / PAGE, page(found, tables, _settings_in(folder / SETTINGS)))
    return output / PAGE


def tables_in(folder: Path) -> dict[str, list[FigureRow]]:
    """The figures whose csv files are there."""
    paths = {figure.name: folder / f"{figure.name}.csv" for figure in figures()}
    return {
        name: from_csv(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.is_file()
    }


def _settings_in(path: Path) -> dict[str, str]:
    return dict(list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))[1:])


def settings_of(scale: Scale) -> dict[str, str]:
    """How a run of this scale is made, by what it is about."""
    return {
        SCALE: scale.name,
        CODE: f"lopub {__version__}",
        "errors": "against the frequencies of the records that sent the reports: of the sample, and of all records where privacy"
        " is equal; not against the whole table that a sample is of",
        "sets of k attributes": f"{scale.sets_a_seed} in each of {scale.estimation_seeds} seeds, drawn without repetition in a"
        " seed; means over those that were drawn, not over all: in a full run those of Adult at k = 3 have 10.1 bits of cells on"
        " average, where all triples have 9.9; of TPC-E 9.7 and 9.5",
        "filters": f"m = {_by_table('n_bits')}; h = {N_HASHES}",
        "phi": _by_table("phi"),
        "seeds": f"estimation {scale.estimation_seeds}, identification {scale.identification_seeds}, pruning"
        f" {scale.pruning_seeds}, classification {scale.classification_seeds}, equal privacy and baselines {scale.privacy_seeds};"
        " seed s is 0, 1, ...: records in the order of NumPy's default_rng([2018, s]), sets by default_rng([k, s]), noise by s",
        "samples": "records drawn without replacement, anew for each seed: half of Retail and NLTCS, a tenth of Adult and TPC-E;"
        " dependences and pruning on all of Retail and NLTCS; classifiers are tested on as many other records",
        "equal privacy": f"all records; {scale.pairs_a_seed} random pairs per seed, and the {N_DEPENDENT} (or as many) whose"
        " joint has the largest AVD from the product of its marginals",
        "em at strong noise": "on TPC-E, random pairs by bloom and `em` do not become better with every epsilon: an epsilon that"
        " all attributes share leaves noise, which `em` fits; it starts from uniform joints, and how far from them it"
        " ends differs with epsilon",
        "shrunk beside the others": "`benchmarks/shrinking.py` holds it against the best of `em`, `lasso`, `hybrid` and"
        " `product`, chosen afterwards in each of 60 cells (four tables, f = 0.1 to 0.9, k = 2, 3 and 5, the same sets for all);"
        " `benchmarks/results/shrinking.csv` has every cell",
        "RAPPOR and Fanti's EM": f"the samples of the estimation, {min(N_SETS, scale.pairs_a_seed)} random pairs per seed: so few"
        " that seeds differ less than other pairs would (direct on TPC-E at epsilon 4 has 0.231 on the pairs of a full run, and"
        " 0.191 on all 276, measured apart)",
        "how RAPPOR is decoded": "by `em`, as the others; the paper describes a regression, which does worse: on Adult at epsilon"
        " 8 the same pairs and seeds give 0.072 by `em`, and 0.132 to 0.180 by Lasso, by its alpha and whether divided by its sum"
        " (measured apart)",
        "Algorithm 4 as written": "marginals and pairs have a Lasso each; a pair with people in a cell where a marginal is zero"
        " has infinite information and counts as dependent; other conventions give quite other rates",
        "Lasso_JD": "not Algorithm 2 to the letter: that returns beta/N; here it is divided by its sum, as in its authors' code",
        "alpha of Lasso": "the universal threshold, s sqrt(2 ln cells) times the length of a column over the number of bits;"
        " the paper names none, its authors' code (Get_Rappor.py) takes 0.5 everywhere, of counts",
        "what alpha and dividing do": "measured apart, on the sets and seeds of a full run, k = 2: TPC-E at f = 0.9 has AVD 0.519"
        " as here, 0.351 undivided, 0.379 with the authors' alpha, divided; Adult at 0.9 has 0.308, 0.233, 0.292; Adult at 0.5"
        " has 0.201, 0.183, 0.200",
        "convergence gap": f"{PAPER_TOLERANCE}; by the paper's rule most sets of Adult end after one step at k = 3 and f = 0.9",
        "classifiers": f"a linear SVM on indicators and a forest of {N_TREES} trees; the authors: SVC() and the default forest",
        "cliques of the paper's way": f"at most {PAPER_CELLS} cells, without which it does not end",
        "calibrated": "our structure and `shrunk` on the same Bloom reports",
    }


def _by_table(setting: str) -> str:
    """ "32 on Retail and NLTCS, 128 on Adult and TPC-E"."""
    found: dict[str, list[str]] = {}
    for name, table in TABLES.items():
        found.setdefault(f"{getattr(table, setting):g}", []).append(TITLES[name])
    return ", ".join(f"{value} on {' and '.join(names)}" for value, names in found.items())


def _csv(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    with whole_file(path, force=True) as part:
        part.write_text(text, encoding="utf-8")
