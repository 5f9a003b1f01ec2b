"""Dataset: coded records with their Domain, for experiments; csv, Parquet and Arrow in and out.

Raw values pass through here, so messages name the row and the attribute, never the value.
"""

import contextlib
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from html import escape
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from lopub.campaign.attribute import few
from lopub.campaign.domain import NOT_APPLICABLE, Attribute, Domain, Value
from lopub.campaign.texts import one_line
from lopub.errors import DomainError, StoreError, all_of
from lopub.files import kind_of, whole_file
from lopub.reports.reading import reading
from lopub.reports.ruled import answered, records_named, ruled
from lopub.reports.showing import Shown

Codes = NDArray[np.uint16]
LINES_AT_ONCE = 2**14
"""Records that are texts at once while a csv table is written."""
ROW_GROUP = 2**17
"""Records in a row group of a Parquet file."""
ENDINGS = (".csv", ".csv.gz", ".parquet")
"""What the name of a file of records may end in."""
CSV_STYLE = pa.csv.WriteOptions(quoting_style="needed")
ARROW_TYPES = {"boolean": pa.bool_(), "integer": pa.int64()}
"""By type of the Table Schema. A binned number is its bin's text."""
NO_HEADER = "its first line must name the attributes"


@dataclass(frozen=True, eq=False)
class Dataset(Shown):
    """Records as candidate numbers. codes: shape (n_records, n_attributes), column-major."""

    domain: Domain
    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.domain):
            raise DomainError(
                f"codes must have {len(self.domain)} columns, one per attribute, got shape {self.codes.shape}"
            )
        if not np.issubdtype(self.codes.dtype, np.integer):
            raise DomainError(f"codes must be integers, got an array of {self.codes.dtype}")
        for attribute, column in zip(self.domain.attributes, self.codes.T, strict=True):
            if len(column) and not 0 <= int(column.min()) <= int(column.max()) < attribute.size:
                raise DomainError(
                    f"attribute {attribute.name!r} has {attribute.size} candidates; a record names another one"
                )
        codes = np.asfortranarray(
            self.codes, dtype=np.uint16
        ).view()  # a view: the owner may still write
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | NDArray[Any]) -> "Dataset":
        """Some of the records."""
        return Dataset(self.domain, self.codes[rows])

    def __iter__(self) -> Iterator[dict[str, Value | Sequence[str]]]:
        """The records one by one, each as a mapping from attributes to answers, as `Client.encode` takes it."""
        candidates = [(attribute.name, attribute.candidates) for attribute in self.domain]
        for row in self.codes:
            cells = {name: own[code] for (name, own), code in zip(candidates, row, strict=True)}
            yield answered(self.domain, cells) if self.domain.has_rules else cells

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{len(self):,} records",
            f"{len(self.domain)} attributes: {few(self.domain.names)}",
        )

    def blocks(self, n: int) -> Iterator["Dataset"]:
        """The records in parts of so many, one after the other; at least one part, if an empty one."""
        return (self[start : start + n] for start in range(0, max(1, len(self)), n))

    def column(self, name: str) -> NDArray[np.uint16]:
        """The candidate numbers of one attribute. shape (n_records,)."""
        return self.codes[:, self.domain.position(name)]

    def counts(self, names: str | Sequence[str]) -> NDArray[np.int64]:
        """How many records fall into each cell of these attributes; one axis per attribute."""
        positions = self.domain.positions(names)
        shape = tuple(self.domain.sizes[position] for position in positions)
        cells = np.ravel_multi_index(
            tuple(self.codes[:, position] for position in positions), shape
        )
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    # ---- in

    @classmethod
    def load(cls, path: str | Path, domain: Domain, *, coded: bool | None = None) -> Self:
        """The records of a file: Parquet where its name ends in .parquet, otherwise csv, gzipped or not. Columns that the domain
        does not name are left out.

        coded: whether the table holds candidate numbers instead of values. None: it holds values, unless it is a csv table in
        which some column has none of its attribute's values while every column has candidate numbers.
        """
        is_parquet = str(path).endswith(".parquet")
        table = _read_parquet(path) if is_parquet else read_texts(path)
        missing = [name for name in domain.names if name not in table.column_names]
        if missing:
            # Without a single name that fits, the first line of a csv table may be somebody's record.
            told = is_parquet or len(missing) < len(domain)
            listed = f"its columns are {_some(table.column_names)}" if told else NO_HEADER
            raise DomainError(f"{path} has no column {_some(list(map(repr, missing)))}; {listed}")
        columns = [table[name] for name in domain.names]
        if coded is None:
            coded = not is_parquet and looks_coded(columns, domain)
        read = _code_of_value if coded else _index_of_value if is_parquet else _index_of_text
        return cls(domain, ruled(_coded(columns, domain, read, str(path)), domain, str(path)))

    @classmethod
    def from_arrow(cls, table: Any, domain: Domain) -> Self:
        """The records of any Arrow table, or pandas or polars frame, by the Arrow interface; nulls are missing answers."""
        try:
            arrow = pa.table(table)
        except (TypeError, ValueError, pa.ArrowException):
            raise DomainError("this object offers no Arrow table (no __arrow_c_stream__)") from None
        for name in domain.names:
            if name not in arrow.column_names:
                raise DomainError(f"the table has no column {name!r}")
        codes = _coded([arrow[name] for name in domain.names], domain, _index_of_value, "the table")
        return cls(domain, ruled(codes, domain, "the table"))

    # ---- out

    def to_arrow(self) -> pa.Table:
        """The records as texts, one dictionary-encoded column per attribute; missing answers are null."""
        return pa.table(
            {
                a.name: _decoded_column(self.codes[:, i], a)
                for i, a in enumerate(self.domain.attributes)
            }
        )

    def _repr_html_(self) -> str:
        """Never an answer: whose records these are, nobody knows here."""
        return f"<pre>{escape(repr(self))}</pre>"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the records, whole or not at all: as texts where the name ends in .csv or .csv.gz, with types where it ends in
        .parquet. An existing file is refused unless forced."""
        if not str(path).endswith(ENDINGS):
            raise StoreError(
                f"{path} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}: it will hold a table of records"
            )
        with whole_file(Path(path), force=force) as part, open(part, "wb") as file:
            if str(path).endswith(".parquet"):
                write_parquet(
                    file, (typed(block.to_arrow(), self.domain) for block in self.blocks(ROW_GROUP))
                )
            elif str(path).endswith(".gz"):
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
                    write_csv(packed, (block._texts() for block in self.blocks(LINES_AT_ONCE)))
            else:
                write_csv(file, (block._texts() for block in self.blocks(LINES_AT_ONCE)))

    def _texts(self) -> pa.Table:
        """The records as plain texts; a missing answer is the empty one."""
        texts = {a.name: pa.array(a.texts, pa.string()) for a in self.domain}
        return pa.table(
            {
                name: own.take(pa.array(self.codes[:, i]))
                for i, (name, own) in enumerate(texts.items())
            }
        )


def _some(names: Sequence[str], most: int = 12) -> str:
    """The first few; how many more there are.

    >>> _some(["a", "b", "c"], most=2)
    'a, b … (3 in all)'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} … ({len(names)} in all)"


def write_csv(file: IO[bytes] | gzip.GzipFile, tables: Iterator[pa.Table]) -> None:
    """One table behind the other, under one header; at least one."""
    first = next(tables)
    with pa.csv.CSVWriter(file, first.schema, write_options=CSV_STYLE) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def write_parquet(file: IO[bytes], tables: Iterator[pa.Table]) -> None:
    """The same as Parquet; each table becomes a row group."""
    first = next(tables)
    with pa.parquet.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def typed(table: pa.Table, domain: Domain) -> pa.Table:
    """A table of texts for Parquet, which knows types: booleans and integers as such, no answer as null. A question that applies
    only to some stays a text, which can say so."""
    for place, attribute in enumerate(domain):
        if attribute.type in ARROW_TYPES and attribute.only_if is None:
            column = table.column(place).combine_chunks()
            values = pa.array(attribute.answers, ARROW_TYPES[attribute.type])
            table = table.set_column(place, attribute.name, values.take(column.indices))
    return table


def _read_parquet(path: str | Path) -> pa.Table:
    with reading(path, f"{path} is not a Parquet file, or a damaged one"), open(path, "rb") as file:
        table = pa.parquet.read_table(file)
        return table.rename_columns(
            table.column_names
        )  # as they are; but in a damaged file they are not text


def read_texts(path: str | Path) -> pa.Table:
    """A csv file, gzipped or not, with every column as text; refuses what is not a table."""
    data = _unpacked(path).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise DomainError(f"{path} is empty")
    kind = kind_of(data)
    if kind in ("a Parquet file", "a SQLite database") or (
        kind == "JSON" and data.rstrip().endswith((b"}", b"]"))
    ):
        raise DomainError(f"{path} is not a csv table, but {kind}")
    if (wrong := _first_wrong_byte(data)) is not None:
        line = data[:wrong].count(b"\n") + 1
        raise DomainError(
            f"{path} is not UTF-8 text: line {line} has a byte that is not; save it as UTF-8"
        )
    data = data if data.endswith((b"\n", b"\r")) else data + b"\n"
    names = _header(data, path)
    ragged: list[pa.csv.InvalidRow] = []

    def remember(row: pa.csv.InvalidRow) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = pa.csv.read_csv(
            _stream(data),
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(
                newlines_in_values=b'"' in data,
                invalid_row_handler=remember,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise DomainError(f"{path} is not a csv table; is a quotation mark left open?") from None
    if ragged:
        line = _line_of_ragged_row(data, len(names)) or ragged[0].number
        raise DomainError(
            f"{path}: line {line} has {ragged[0].actual_columns} fields, the header has {len(names)}"
        )
    if not len(table):
        raise DomainError(f"{path} has a header but no records")
    return table


def _stream(data: bytes) -> pa.BufferReader:
    """Bytes to read, held by Arrow itself: its threads let go of them when they like, and of a Python object they could not do so
    while Python ends without aborting the process."""
    held = pa.allocate_buffer(len(data))
    memoryview(held).cast("B")[:] = data
    return pa.BufferReader(held)


def _line_of_ragged_row(data: bytes, n_columns: int) -> int | None:
    """pyarrow counts records; people look for lines, which quoted line ends and empty lines shift."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""))
    with contextlib.suppress(csv.Error):
        return next((reader.line_num for row in reader if row and len(row) != n_columns), None)
    return None


def _first_wrong_byte(data: bytes) -> int | None:
    """Found apart, so that the error, which holds the whole file, is behind no other."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _unpacked(path: str | Path) -> bytes:
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise StoreError(f"{path} is a damaged gzip file") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None


def _header(data: bytes, path: str | Path) -> list[str]:
    first = data.split(b"\n", 1)[0].rstrip(b"\r") + b"\n"
    try:
        names = pa.csv.read_csv(_stream(first)).column_names
    except pa.ArrowInvalid:
        raise DomainError(f"{path} has no readable header line") from None
    for name in names:
        if not name:
            raise DomainError(f"{path} has a column without a name")
        if names.count(name) > 1:
            raise DomainError(f"{path} has two columns named {name!r}")
    return list(names)


def looks_coded(columns: Sequence[pa.ChunkedArray], domain: Domain) -> bool:
    """Whether every column holds candidate numbers, and at least one holds a text that is none of its values."""
    pairs = [
        (column.unique().to_pylist(), attribute)
        for column, attribute in zip(columns, domain.attributes, strict=True)
    ]
    if not all(_fits(texts, attribute, _code_of_text) for texts, attribute in pairs):
        return False
    return not all(_fits(texts, attribute, _index_of_text) for texts, attribute in pairs)


Read = Callable[[Attribute, Any], int]


def _index_of_text(attribute: Attribute, text: str) -> int:
    return _index(attribute, attribute.parse(text))


def _index(attribute: Attribute, value: Value) -> int:
    """No answer to a question that may not apply, and must be answered if it does, stands for "not applicable" until the rules
    are looked at."""
    unanswered = value is None and attribute.only_if is not None and not attribute.missing
    return attribute.index(NOT_APPLICABLE if unanswered else value)


def _index_of_value(attribute: Attribute, value: Any) -> int:
    """A value as frames hold it: texts may stand for anything, and numbers and booleans for texts."""
    if isinstance(value, date | time):  # a datetime is a date
        value = (
            value.isoformat(timespec="seconds")
            if isinstance(value, datetime | time)
            else value.isoformat()
        )
    if isinstance(value, str):
        return _index_of_text(attribute, value)
    if attribute.type == "string" and value is not None:
        return _index_of_text(attribute, str(value))
    if attribute.type == "integer" and isinstance(value, float) and value.is_integer():
        return attribute.index(int(value))
    return _index(attribute, value)


def _code_of_text(attribute: Attribute, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 8 and int(text) < attribute.size):
        raise DomainError(
            f"attribute {attribute.name!r} takes candidate numbers below {attribute.size}; this text is not one"
        )
    return int(text)


def _code_of_value(attribute: Attribute, value: Any) -> int:
    """A candidate number as frames hold it."""
    return _code_of_text(attribute, str(value))


def _fits(texts: Sequence[str], attribute: Attribute, read: Read) -> bool:
    try:
        for text in texts:
            read(attribute, text)
    except DomainError:
        return False
    return True


def _coded(columns: Sequence[pa.ChunkedArray], domain: Domain, read: Read, where: str) -> Codes:
    """All columns as candidate numbers. Whatever is outside the domain is told at once, by attribute and record."""
    coded, mistakes = [], []
    for column, attribute in zip(columns, domain.attributes, strict=True):
        codes, wrong = _coded_column(column, attribute, read)
        coded.append(codes)
        mistakes += wrong
    if mistakes:
        raise DomainError(all_of(mistakes, where))
    return np.asfortranarray(np.stack(coded, axis=1))


def _coded_column(
    column: pa.ChunkedArray, attribute: Attribute, read: Read
) -> tuple[NDArray[np.uint16], list[str]]:
    """Look every distinct value up once; and what is wrong with which records."""
    if pa.types.is_dictionary(column.type):  # its own dictionary may hold what no record says
        column = column.cast(column.type.value_type)
    try:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise DomainError(
            f"attribute {attribute.name!r} cannot be read from a column of {column.type}"
        ) from None
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    lookup = np.zeros(len(encoded.dictionary), dtype=np.uint16)
    wrong: dict[str, list[int]] = {}
    for i, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            lookup[i] = read(attribute, value)
        except DomainError as error:
            wrong.setdefault(str(error), []).append(i)
    mistakes = [
        f"{records_named(np.flatnonzero(np.isin(indices, which)))}: {text}"
        for text, which in wrong.items()
    ]
    return lookup[indices], mistakes


def _decoded_column(codes: NDArray[np.uint16], attribute: Attribute) -> pa.DictionaryArray:
    """Missing answers are null; "not applicable" is a text of its own, behind the answers."""
    missing = codes == attribute.missing_index if attribute.missing else None
    texts, places = attribute.answer_texts, codes.astype(np.int32)
    if attribute.only_if is not None:
        places = np.where(codes == attribute.not_applicable_index, len(texts), places).astype(
            np.int32
        )
        texts = (*texts, NOT_APPLICABLE)
    return pa.DictionaryArray.from_arrays(
        pa.array(places, mask=missing), pa.array(texts, pa.string()), ordered=attribute.ordered
    )
