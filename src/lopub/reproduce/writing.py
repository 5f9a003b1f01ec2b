"""What a run leaves behind: one csv a figure, pictures, claims, the page; and the page again from the csv files alone."""

from collections.abc import Mapping
from pathlib import Path

from lopub.errors import StoreError
from lopub.files import whole_file
from lopub.reproduce.claims import claims, claims_csv, claims_from_csv
from lopub.reproduce.figures import figures, from_csv, rows_of, to_csv
from lopub.reproduce.measurements import Cell, Values
from lopub.reproduce.measuring import CELLS
from lopub.reproduce.pruning import NAME as PRUNING
from lopub.reproduce.reproduction_page import FOLDER, page, picture

PAGE = "reproduction.md"
CLAIMS = "claims.csv"


def refuse_foreign(output: Path, *, force: bool) -> None:
    """A page that no run in this directory has left is not overwritten."""
    if (output / PAGE).exists() and not (output / CELLS).is_dir() and not force:
        raise StoreError(f"{output / PAGE} exists already and is of no run in {output}; choose another directory or use --force")


def write_tables(measured: Mapping[Cell, Values], output: Path) -> Path:
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
    _write(output / PAGE, page(found, tables))
    return output / PAGE


def _write(path: Path, text: str) -> None:
    with whole_file(path, force=True) as part:
        part.write_text(text, encoding="utf-8")
