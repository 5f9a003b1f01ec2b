"""Spreadsheets made to hurt whoever opens them.

Run as a script, each is read in a process of its own, and one JSON line is printed: what came of it, seconds of CPU time, and MiB
of memory.
"""

import json
import os
import resource
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lopub.errors import LopubError
from lopub.questionnaire.xlsform import draft_from_xlsform

Parts = dict[str, bytes]
HOSTILE: dict[str, Callable[[], Parts]] = {}
"""Name -> the parts of the file."""
TYPES = (
    b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    b'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    b'<Override PartName="/xl/workbook.xml"'
    b' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    b'<Override PartName="/xl/worksheets/sheet1.xml"'
    b' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
    b'<Override PartName="/xl/sharedStrings.xml"'
    b' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
)
OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%b</Relationships>'


def hostile(make: Callable[[], Parts]) -> Callable[[], Parts]:
    HOSTILE[make.__name__] = make
    return make


def book(rows: bytes, strings: bytes = b"") -> Parts:
    """A workbook with one sheet `survey` of these rows, and these shared strings."""
    sheet = b'<sheets><sheet name="survey" sheetId="1" r:id="rId1"/></sheets>'
    return {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS
        % (b'<Relationship Id="rId1" Type="%b/officeDocument" Target="xl/workbook.xml"/>' % OFFICE),
        "xl/workbook.xml": b'<workbook xmlns="%b" xmlns:r="%b">%b</workbook>'
        % (MAIN, OFFICE, sheet),
        "xl/_rels/workbook.xml.rels": RELATIONS
        % (
            b'<Relationship Id="rId1" Type="%b/worksheet" Target="worksheets/sheet1.xml"/>' % OFFICE
            + b'<Relationship Id="rId2" Type="%b/sharedStrings" Target="sharedStrings.xml"/>'
            % OFFICE
        ),
        "xl/worksheets/sheet1.xml": b'<worksheet xmlns="%b"><sheetData>%b</sheetData></worksheet>'
        % (MAIN, rows),
        "xl/sharedStrings.xml": b'<sst xmlns="%b">%b</sst>' % (MAIN, strings),
    }


def inline(*texts: str) -> bytes:
    cells = b"".join(b'<c t="inlineStr"><is><t>%b</t></is></c>' % text.encode() for text in texts)
    return b"<row>%b</row>" % cells


def head(n_columns: int) -> bytes:
    return inline(*("type", "name", "label"), *(f"c{i}" for i in range(3, n_columns)))


# ---- what is tried


@hostile
def a_bomb_of_half_a_gigabyte() -> Parts:
    return {**book(head(3)), "xl/media/image.xml": bytes(5 * 10**8)}


@hostile
def a_thousand_parts() -> Parts:
    return {**book(head(3)), **{f"xl/media/{i}.xml": b"<a/>" for i in range(1000)}}


@hostile
def macros() -> Parts:
    return {**book(head(3)), "xl/vbaProject.bin": b"x"}


@hostile
def entities_that_grow() -> Parts:
    laughs = b"".join(b'<!ENTITY l%d "%b">' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 10))
    return {
        **book(head(3)),
        "xl/sharedStrings.xml": b'<!DOCTYPE x [<!ENTITY l0 "ha">%b]><sst>&l9;</sst>' % laughs,
    }


@hostile
def formulas() -> Parts:
    formula = b'<row><c t="str"><f>HYPERLINK("http://example.org")</f><v>note</v></c></row>'
    return book(head(3) + formula * 20_000)


@hostile
def a_million_rows() -> Parts:
    return book(head(3) + inline("note") * 1_000_000)


@hostile
def a_million_empty_rows_in_few_bytes() -> Parts:
    return book(head(3) + b"<row/>" * 600_000)


@hostile
def a_row_with_a_very_large_number() -> Parts:
    return book(head(3) + b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


@hostile
def columns_without_end() -> Parts:
    return book(b"<row>" + b"<c><v>1</v></c>" * 250_000 + b"</row>")


@hostile
def deep_xml() -> Parts:
    return book(head(3) + b"<a>" * 550_000 + b"</a>" * 550_000)


@hostile
def xml_as_deep_as_may_be() -> Parts:
    return book(head(3) + b"<a>" * 95_000 + b"</a>" * 95_000)


@hostile
def deep_shared_strings() -> Parts:
    return book(head(3), b"<si>" * 400_000 + b"</si>" * 400_000)


@hostile
def one_shared_string_in_every_cell() -> Parts:
    """Cells that each stand for four thousand characters: more than a hundred megabytes."""
    row = b"<row>" + b'<c t="s"><v>0</v></c>' * 200 + b"</row>"
    return book(head(200) + row * 150, b'<si><t xml:space="preserve"> %b</t></si>' % (b"x" * 3_990))


@hostile
def half_a_million_shared_strings() -> Parts:
    return book(head(3), b"<si><t/></si>" * 280_000)


@hostile
def a_cell_of_three_megabytes() -> Parts:
    return book(head(3) + inline("x" * 3_000_000))


@hostile
def a_number_of_a_million_digits() -> Parts:
    return book(head(3) + b"<row><c><v>%b</v></c></row>" % (b"9" * 1_000_000))


@hostile
def attributes_without_end() -> Parts:
    return book(head(3) + b"<row %b/>" % b" ".join(b'a%d="1"' % i for i in range(190_000)))


@hostile
def a_size_that_is_a_lie() -> Parts:
    """The directory says ten bytes; what is packed has a hundred million."""
    return {**book(head(3)), "xl/lie.xml": bytes(10**8)}


def written(path: Path, name: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for part, content in HOSTILE[name]().items():
            packed.writestr(part, content)
    if name == "a_size_that_is_a_lie":
        data, true = path.read_bytes(), struct.pack("<I", 10**8)
        path.write_bytes(data.replace(true, struct.pack("<I", 10)))
    return path


# ---- measuring


def outcome(path: Path) -> str:
    try:
        draft_from_xlsform(path)
    except LopubError as error:
        return f"refused: {error}".replace(str(path), "FILE")
    return "read"


def measured(path: Path) -> dict[str, Any]:
    """In a process of its own, which has what reads spreadsheets loaded already."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        before = time.process_time()
        found = {"outcome": outcome(path)[:300], "seconds": time.process_time() - before}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(writing, json.dumps({**found, "mebibytes": peak}).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told: dict[str, Any] = json.loads(pipe.read() or b'{"outcome": "died"}')
    os.waitpid(child, 0)
    return told


def every(folder: Path) -> Iterator[dict[str, Any]]:
    for name in HOSTILE:
        if not (child := os.fork()):  # so that what makes the file leaves no memory behind
            written(folder / f"{name}.xlsx", name)
            os._exit(0)
        os.waitpid(child, 0)
        yield {"name": name, **measured(folder / f"{name}.xlsx")}


if __name__ == "__main__":
    import openpyxl  # noqa: F401 (loaded here, once, before any process is measured)

    with tempfile.TemporaryDirectory() as made:
        for line in every(Path(made)):
            print(json.dumps(line), flush=True)
            sys.stdout.flush()
