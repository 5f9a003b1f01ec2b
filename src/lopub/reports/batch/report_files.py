"""Reports in files: Parquet, streamed by row group, or wire bytes behind their lengths."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lopub.bulk.folds import HASH_BYTES
from lopub.bulk.packed import Packed
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import ID_BYTES
from lopub.errors import CampaignError, DomainError, Reason, StoreError
from lopub.files import kind_of, whole_file
from lopub.reports.batch.batch import ReportBatch
from lopub.reports.batch.check import checked_batch
from lopub.reports.batch.framed import (
    batch_of_frames,
    frame_cuts,
    framed_bytes,
    from_frames,
    walk_frames,
)
from lopub.reports.origin import PLAIN, Origin
from lopub.reports.reading import reading

BLOCK_REPORTS = 2**16
"""Reports in a row group, and in a block that is walked."""
SUFFIXES = (".parquet", ".bin", ".reports")
"""What the name of a file of reports may end in, so that nobody takes it for something else."""
BUFFER = 2**20
"""Bytes of a column that are read at once."""
_SNIFFED = 512
_FIELDS = [("slot", pa.uint32()), ("view", pa.binary()), ("payload", pa.binary())]
"""Behind the id, or its hash where a collector kept nothing else of it."""
_COLUMNS = ["id", *(name for name, _ in _FIELDS)]
_SAFE = {"write_page_checksum": True}
_ID, _CAMPAIGN, _ORIGIN = b"lopub.campaign_id", b"lopub.campaign", b"lopub.origin"


def load_reports(path: str | Path, campaign: Campaign | None = None) -> ReportBatch:
    """All reports of a file; those that are refused are counted by reason, the rest kept.

    campaign: the one that the file must be of; a Parquet file brings its own, a framed file needs it.
    """
    return ReportBatch.gathered(walk_reports(path, campaign))


class Stretch(NamedTuple):
    """A part of a file of reports: so many row groups of a Parquet file, or bytes of a framed one."""

    start: int
    stop: int
    n_reports: int


def walk_reports(
    path: str | Path,
    campaign: Campaign | None = None,
    *,
    block: int = BLOCK_REPORTS,
    within: Stretch | None = None,
) -> Iterator[ReportBatch]:
    """The reports of a file in blocks, so that it may be larger than memory; at least one block, if an empty one.

    within: those of a part of the file alone, as `stretches_of` cuts it.
    """
    if _is_parquet(path):
        return _walk_parquet(Path(path), campaign, block, within)
    if campaign is None:
        raise CampaignError(
            f"{path} is not a Parquet file, so it does not say which campaign it is of; give the campaign"
        )
    return _walk_framed(Path(path), campaign, block, within)


def stretches_of(path: str | Path, n_reports: int) -> list[Stretch]:
    """A file cut into parts, in its order, of about so many reports each; not looked into."""
    if not _is_parquet(path):
        return [
            Stretch(at, stop, n)
            for (at, n), (stop, _) in pairwise(frame_cuts(Path(path), n_reports))
        ]
    with _opened(Path(path)) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    found: list[Stretch] = []
    for i, size in enumerate(sizes):
        if found and found[-1].n_reports + size <= n_reports:
            found[-1] = Stretch(found[-1].start, i + 1, found[-1].n_reports + size)
        else:
            found.append(Stretch(i, i + 1, size))
    return found


def campaign_of(path: str | Path) -> Campaign | None:
    """The campaign that a file of reports brings along; a framed one brings none."""
    if not _is_parquet(path):
        return None
    with _opened(Path(path)) as file:
        return _campaign_of(file.schema_arrow, Path(path), None)


def _is_parquet(path: str | Path) -> bool:
    """Whether a file of reports is Parquet, and not framed; one that is neither is refused."""
    try:
        with open(path, "rb") as file:
            head = file.read(_SNIFFED)
    except OSError as error:
        raise StoreError(f"cannot read reports {path}: {error.strerror}") from None
    if head.startswith(b"PAR1"):
        return True
    if other := _other_kind(head):
        raise StoreError(f"{path} is not a file of reports, but {other}")
    if Path(path).suffix == ".parquet":
        raise StoreError(f"{path} is a damaged or cut-off Parquet file")
    return False


def _other_kind(head: bytes) -> str:
    """What a file is that begins so, with the next step; empty where it may be framed reports: their third byte is the version
    of the first one, and no version will ever be a letter."""
    kind = kind_of(head)
    if len(head) < 3 or (head[2] < ord(" ") and kind in ("text", "a binary file")):
        return ""
    return kind + _NEXT.get(kind, "")


_NEXT = {
    "text": "; if it is a table of records, `lopub encode` lets simulated clients report them",
    "a SQLite database": "; to read the reports of a collector, name it as sqlite:///FILE",
    "a gzipped file": "; unpack it first",
}


def save_reports(
    path: str | Path, campaign: Campaign, batches: Iterable[ReportBatch], *, force: bool = False
) -> int:
    """Write batch after batch, whole or not at all; how many reports. Parquet where the name ends in .parquet, wire bytes
    behind their lengths where it ends in .bin or .reports."""
    if Path(path).suffix not in SUFFIXES:
        raise StoreError(
            f"{path} must end in .parquet, or in .bin or .reports for framed wire bytes: it will hold reports"
        )
    write = _write_parquet if str(path).endswith(".parquet") else _write_framed
    with whole_file(Path(path), force=force) as part:
        return write(part, campaign, _of(campaign, batches))


def _of(campaign: Campaign, batches: Iterable[ReportBatch]) -> Iterator[ReportBatch]:
    for batch in batches:
        if batch.campaign.id != campaign.id:
            raise CampaignError(
                f"reports of campaign {batch.campaign.id[:16]}… do not go into a file of {campaign.id[:16]}…"
            )
        yield batch


# ---- Parquet


def _schema(campaign: Campaign, id_bytes: int, origin: Origin) -> pa.Schema:
    metadata = {_ID: campaign.id, _CAMPAIGN: campaign.canonical_bytes}
    told = {} if origin == PLAIN else {_ORIGIN: origin.to_text()}
    return pa.schema([("id", pa.binary(id_bytes)), *_FIELDS], metadata=metadata | told)


def _write_parquet(part: Path, campaign: Campaign, batches: Iterable[ReportBatch]) -> int:
    coming = iter(batches)
    first = next(coming, None)
    id_bytes, origin = (ID_BYTES, PLAIN) if first is None else (first.ids.shape[1], first.origin)
    n_reports, schema = 0, _schema(campaign, id_bytes, origin)
    with pa.parquet.ParquetWriter(
        part, schema, compression="zstd", use_dictionary=["slot", "view"], **_SAFE
    ) as writer:
        for batch in chain([] if first is None else [first], coming):
            n_reports += len(batch)
            for start in range(0, len(batch), BLOCK_REPORTS):
                writer.write_table(
                    _arrow(batch, start, min(start + BLOCK_REPORTS, len(batch)), schema)
                )
    return n_reports


def reports_table(batch: ReportBatch) -> pa.Table:
    """The reports as they stand in Parquet files."""
    return _arrow(batch, 0, len(batch), _schema(batch.campaign, batch.ids.shape[1], batch.origin))


def _arrow(batch: ReportBatch, start: int, stop: int, schema: pa.Schema) -> pa.Table:
    if batch.ids.shape[1] != schema.field("id").type.byte_width:
        raise DomainError(
            "reports out of a collector and reports out of a file cannot be written into one file"
        )
    buffers = [None, pa.py_buffer(np.ascontiguousarray(batch.ids[start:stop]))]
    ids = pa.FixedSizeBinaryArray.from_buffers(schema.field("id").type, stop - start, buffers)
    views = binary_array(Packed.from_matrix(batch.masks[start:stop]))
    payloads = binary_array(batch.payloads[start:stop])
    return pa.table([ids, pa.array(batch.slots[start:stop]), views, payloads], schema=schema)


def binary_array(strings: Packed) -> pa.Array:
    """Strings as an Arrow column."""
    offsets = (strings.offsets - strings.offsets[0]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(strings.bytes_used))]
    return pa.BinaryArray.from_buffers(pa.binary(), len(strings), buffers)


def _opened(path: Path) -> pa.parquet.ParquetFile:
    """buffer_size: of a row group of any size, little is held at once."""
    with reading(path, f"{path} is a damaged or cut-off Parquet file"):
        return pa.parquet.ParquetFile(
            path, page_checksum_verification=True, pre_buffer=False, buffer_size=BUFFER
        )


def fields_of(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    """Name and type of each column; none where a name is not even text."""
    try:
        return [(field.name, field.type) for field in schema]
    except UnicodeDecodeError:
        return []


def _walk_parquet(
    path: Path, campaign: Campaign | None, block: int, within: Stretch | None
) -> Iterator[ReportBatch]:
    with _opened(path) as file:
        own, origin = (
            _campaign_of(file.schema_arrow, path, campaign),
            _origin_of(file.schema_arrow, path),
        )
        groups = list(range(within.start, within.stop)) if within else None
        has_first = within is None or within.start == 0
        try:
            n_walked = 0
            with reading(path, f"{path} is a damaged Parquet file"):
                for rows in file.iter_batches(
                    batch_size=block, row_groups=groups, columns=_COLUMNS, use_threads=False
                ):
                    n_walked += 1
                    yield replace(
                        _from_arrow(rows, own),
                        origin=origin
                        if has_first and n_walked == 1
                        else Origin(origin.is_simulated),
                    )
        finally:
            pa.default_memory_pool().release_unused()  # what was read is let go, or held once more by now
        if not n_walked:
            yield _empty(own)


def _campaign_of(schema: pa.Schema, path: Path, campaign: Campaign | None) -> Campaign:
    """The campaign that a Parquet file names, which must be the given one if one is given."""
    metadata = schema.metadata or {}
    known = [[("id", pa.binary(width)), *_FIELDS] for width in (ID_BYTES, HASH_BYTES)]
    if _ID not in metadata or fields_of(schema) not in known:
        raise StoreError(f"{path} is a Parquet file, but not one of reports")
    named = metadata[_ID].decode(errors="replace")
    if campaign is not None:
        if named != campaign.id:
            raise CampaignError(
                f"{path} holds reports of campaign {named[:16]}…, not of {campaign.id[:16]}…"
            )
        return campaign
    return Campaign.from_bytes(metadata.get(_CAMPAIGN, b""), expected_id=named)


def _origin_of(schema: pa.Schema, path: Path) -> Origin:
    try:
        return Origin.from_text((schema.metadata or {}).get(_ORIGIN))
    except ValueError:
        raise StoreError(
            f"{path} is a Parquet file of reports, but does not say where they come from"
        ) from None


def _from_arrow(rows: pa.RecordBatch, campaign: Campaign) -> ReportBatch:
    columns = {field.name: rows.column(i) for i, field in enumerate(rows.schema)}
    if any(column.null_count for column in columns.values()):
        raise StoreError("a file of reports has a field without a value")
    # Copies: Arrow's buffers are larger than what is in them, and would be held as long as the batch.
    width = columns["id"].type.byte_width
    ids = np.frombuffer(columns["id"].buffers()[1], np.uint8)[width * columns["id"].offset :][
        : width * len(rows)
    ].copy()
    ids = ids.reshape(-1, width)
    masks = strings_of(columns["view"])
    n_bytes = campaign.mask_bytes
    right = masks.lengths == n_bytes
    slots, payloads = (
        columns["slot"].to_numpy(zero_copy_only=False).copy(),
        strings_of(columns["payload"]),
    )
    if right.all():
        return checked_batch(
            campaign, ids, slots, masks.matrix().reshape(len(ids), n_bytes), payloads
        )
    kept = np.flatnonzero(right)
    batch = checked_batch(
        campaign,
        ids[kept],
        slots[kept],
        masks.matrix(kept).reshape(len(kept), n_bytes),
        payloads.take(kept),
    )
    return _with_refused(batch, {Reason.VIEW: int((~right).sum())})


def strings_of(column: pa.Array) -> Packed:
    """The strings of an Arrow column, copied."""
    _, offsets, data = column.buffers()
    starts = np.frombuffer(offsets, np.int32)[
        column.offset : column.offset + len(column) + 1
    ].astype(np.int64)
    if data is None:
        return Packed(np.empty(0, np.uint8), starts)
    return Packed(np.frombuffer(data, np.uint8)[starts[0] : starts[-1]].copy(), starts - starts[0])


# ---- framed wire bytes


def _write_framed(part: Path, campaign: Campaign, batches: Iterable[ReportBatch]) -> int:
    n_reports = 0
    with open(part, "wb") as file:
        for batch in batches:
            n_reports += len(batch)
            file.write(framed_bytes(batch))
    return n_reports


def _walk_framed(
    path: Path, campaign: Campaign, block: int, within: Stretch | None
) -> Iterator[ReportBatch]:
    n_walked = 0
    for frames in walk_frames(path, block, *((within.start, within.stop) if within else ())):
        n_walked += 1
        yield batch_of_frames(frames, campaign)
    if not n_walked:
        yield _empty(campaign)


def _empty(campaign: Campaign) -> ReportBatch:
    return from_frames([], campaign)


def _with_refused(batch: ReportBatch, more: dict[Reason, int] | Counter[Reason]) -> ReportBatch:
    return replace(batch, refused=dict(Counter(batch.refused) + Counter(more)))


__all__ = [
    "BLOCK_REPORTS",
    "Stretch",
    "binary_array",
    "campaign_of",
    "framed_bytes",
    "from_frames",
    "load_reports",
    "save_reports",
    "stretches_of",
    "strings_of",
    "walk_reports",
]
