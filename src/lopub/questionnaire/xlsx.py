"""Sheets of an xlsx file from a stranger, as rows of texts, within bounds: what is too large, or would run, is refused unread."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from lopub.errors import DomainError, StoreError

LARGEST_FILE = 5 * 2**20
MOST_UNPACKED = 4 * 2**20
"""Bytes of all parts together. A large form has some hundred thousand; five megabytes can unpack to half a gigabyte."""
MOST_PARTS = 200
MOST_SIGNS = 200_000
"""Of the signs < and = in XML: what tags and attributes cost, be they deep, or many, or empty."""
MOST_CHARACTERS = 2 * 2**20
"""Of all cells of a sheet together: many can share one long text."""
MOST_ROWS, MOST_COLUMNS = 5_000, 200
LONGEST_CELL = 4_000

Row = tuple[int, dict[str, str]]
"""The number of a row, as people count, and its cells by the names in the first row; empty cells are left out."""


def read_sheets(path: str | Path, wanted: tuple[str, ...]) -> dict[str, list[Row]]:
    """The rows of the sheets of these names that are there."""
    check_parts(path)
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        raise StoreError(
            "reading xlsx needs openpyxl; install it with: pip install 'lopub[xlsform]'"
        ) from None
    try:
        with open(
            path, "rb"
        ) as file:  # which is closed here: openpyxl leaves one open that it gives up on
            book = load_workbook(file, read_only=True, data_only=False, keep_links=False)
            return {name: _rows(book[name], name) for name in wanted if name in book.sheetnames}
    except DomainError:
        raise
    except Exception:
        # openpyxl raises whatever its parsers do; which, is of no use to anybody
        raise DomainError(f"{path} is a damaged xlsx file") from None


def check_parts(path: str | Path) -> None:
    """Refuse, before anything is unpacked, what is no xlsx file, is too large or holds macros; then what would expand itself."""
    try:
        if Path(path).stat().st_size > LARGEST_FILE:
            raise DomainError(f"{path} is larger than {LARGEST_FILE:,} bytes; no form is")
        with zipfile.ZipFile(path) as archive:
            _check_archive(archive, path)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, DomainError):
            raise
        raise DomainError(f"{path} is not an xlsx file, or a damaged one") from None


def _check_archive(archive: zipfile.ZipFile, path: str | Path) -> None:
    parts = archive.infolist()
    if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > MOST_UNPACKED:
        raise DomainError(
            f"{path} would unpack to more than {MOST_PARTS} parts or {MOST_UNPACKED:,} bytes; no form does"
        )
    names = {part.filename.lower() for part in parts}
    if any("vbaproject" in name or "macrosheets" in name for name in names):
        raise DomainError(f"{path} holds macros; save it without them")
    n_signs = 0
    for part in parts:
        with archive.open(part) as packed:
            content = packed.read(
                part.file_size + 1
            )  # with a bound, also where the size is a lie; then its checksum is wrong
        if not part.filename.lower().endswith((".xml", ".rels")) and content.lstrip()[:1] != b"<":
            continue
        if b"<!" in content.replace(b"<!--", b"").replace(b"<![CDATA[", b"") or content[:2] in (
            b"\xfe\xff",
            b"\xff\xfe",
        ):
            raise DomainError(
                f"{path} holds XML that defines its own entities or has another encoding than UTF-8"
            )
        n_signs += content.count(b"<") + content.count(b"=")
    if n_signs > MOST_SIGNS:
        raise DomainError(
            f"{path} has more than {MOST_SIGNS:,} tags and attributes in its XML; no form has"
        )


class Sheet(Protocol):
    """As much of an openpyxl sheet as is needed."""

    def iter_rows(
        self, *, max_row: int, max_col: int, values_only: bool
    ) -> Iterable[tuple[object, ...]]:
        """The values of every row."""


def _rows(sheet: Sheet, name: str) -> list[Row]:
    """The rows under the first; refuses formulas, and more rows or columns than a form has."""
    rows = sheet.iter_rows(max_row=MOST_ROWS + 1, max_col=MOST_COLUMNS + 1, values_only=True)
    header: list[str] = []
    found: list[Row] = []
    room = MOST_CHARACTERS
    for number, values in enumerate(rows, start=1):
        cells = [_text(value, name, number) for value in values]
        if (room := room - sum(map(len, cells))) < 0:
            raise DomainError(
                f"sheet {name!r} has more than {MOST_CHARACTERS:,} characters in its cells; no form has"
            )
        if number > MOST_ROWS or (len(cells) > MOST_COLUMNS and cells[MOST_COLUMNS]):
            raise DomainError(
                f"sheet {name!r} has more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns; no form has"
            )
        if not header:
            header = [cell.strip() for cell in cells]
        elif any(cells):
            found.append(
                (
                    number,
                    {key: cell for key, cell in zip(header, cells, strict=False) if key and cell},
                )
            )
    return found


def _text(value: object, sheet: str, row: int) -> str:
    """A cell as a text: whole numbers without their point, truth values as xlsforms spell them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text.startswith("=") or type(value).__name__ == "ArrayFormula":
        raise DomainError(
            f"sheet {sheet!r} has a formula in row {row}; save the form with values only"
        )
    if len(text) > LONGEST_CELL:
        raise DomainError(
            f"sheet {sheet!r} has a cell of {len(text):,} characters in row {row}; at most {LONGEST_CELL:,} are read"
        )
    return text
