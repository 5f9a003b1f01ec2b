"""Counts in files: Parquet, one row per table."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.errors import CampaignError, LopubError, Reason, StoreError
from lopub.files import whole_file
from lopub.reports.batch.report_files import fields_of
from lopub.reports.counts.counts import Counts, Slots
from lopub.reports.counts.forms import Key, Table, form_of
from lopub.reports.origin import PLAIN, Origin
from lopub.reports.reading import reading

VERSION = b"1"
_FIELDS = [
    ("attributes", pa.list_(pa.int32())),
    ("noise", pa.int64()),
    ("n_reports", pa.int64()),
    ("counts", pa.list_(pa.int64())),
]
_VERSION, _ID, _CAMPAIGN = b"lopub.counts", b"lopub.campaign_id", b"lopub.campaign"
_N_REPORTS, _REFUSED, _SLOTS, _ORIGIN = (
    b"lopub.n_reports",
    b"lopub.refused",
    b"lopub.slots",
    b"lopub.origin",
)


def save_counts(counts: Counts, path: str | Path, *, force: bool = False) -> None:
    """Write the counts, whole or not at all; the same counts give the same bytes."""
    refused = {str(reason): counts.refused[reason] for reason in sorted(counts.refused)}
    metadata = {
        _VERSION: VERSION,
        _ID: counts.campaign.id,
        _CAMPAIGN: counts.campaign.canonical_bytes,
        _N_REPORTS: str(counts.n_reports),
        _REFUSED: json.dumps(refused),
        **({} if counts.slots is None else {_SLOTS: json.dumps(counts.slots)}),
        **({} if counts.origin == PLAIN else {_ORIGIN: counts.origin.to_text()}),
    }
    keys = sorted(counts.tables)
    columns = [
        [list(clique) for clique, _ in keys],
        [noise for _, noise in keys],
        [counts.tables[key].n_reports for key in keys],
        [counts.tables[key].counts.reshape(-1) for key in keys],
    ]
    arrays = [pa.array(column, kind) for column, (_, kind) in zip(columns, _FIELDS, strict=True)]
    with whole_file(Path(path), force=force) as part_file:
        table = pa.table(arrays, schema=pa.schema(_FIELDS, metadata=metadata))
        pa.parquet.write_table(table, part_file, compression="zstd", write_page_checksum=True)


def load_counts(path: str | Path, campaign: Campaign | None = None) -> Counts:
    """The counts in a file, checked. campaign: the one that they must be of; the file brings its own."""
    table = _read(Path(path))
    metadata = table.schema.metadata
    named = metadata.get(_ID, b"").decode(errors="replace")
    if campaign is not None and named != campaign.id:
        raise CampaignError(
            f"{path} holds counts of campaign {named[:16]}…, not of {campaign.id[:16]}…"
        )
    own = campaign or Campaign.from_bytes(metadata.get(_CAMPAIGN, b""), expected_id=named)
    try:
        rows = [row for batch in table.to_batches() for row in _rows(batch)]
        tables = dict(_table_of(row, own) for row in rows)
        refused = {Reason(name): n for name, n in json.loads(metadata[_REFUSED]).items()}
        n_reports = int(metadata[_N_REPORTS])
        if not all(type(n) is int and n >= 0 for n in (n_reports, *refused.values())) or len(
            tables
        ) < len(rows):
            raise ValueError("a table twice, or fewer than none")
        _check_together(tables, n_reports, own)
        slots, origin = (
            _slots_of(metadata.get(_SLOTS), n_reports),
            Origin.from_text(metadata.get(_ORIGIN)),
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        LopubError,
    ):
        raise StoreError(
            f"{path} is a file of counts, but its tables do not fit its campaign"
        ) from None
    return Counts(
        campaign=own,
        n_reports=n_reports,
        tables=dict(sorted(tables.items())),
        refused=refused,
        slots=slots,
        origin=origin,
    )


def is_counts(path: str | Path) -> bool:
    """Whether a file holds counts rather than reports."""
    try:
        return _VERSION in (pa.parquet.read_schema(path).metadata or {})
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return False


def _read(path: Path) -> pa.Table:
    with reading(path, f"cannot read counts {path}: no such file, or a damaged one"):
        table = pa.parquet.read_table(path, page_checksum_verification=True)
    version = (table.schema.metadata or {}).get(_VERSION)
    if version is None or fields_of(table.schema) != _FIELDS:
        raise StoreError(f"{path} is a Parquet file, but not one of counts")
    if version != VERSION:
        raise StoreError(
            f"{path} holds counts of version {version.decode(errors='replace')}; this program reads version 1"
        )
    return table


def _rows(batch: pa.RecordBatch) -> list[tuple[Any, int, int, Any]]:
    columns = [batch.column(i) for i in range(4)]
    return [tuple(column[i] for column in columns) for i in range(len(batch))]


def _table_of(row: tuple[Any, Any, Any, Any], campaign: Campaign) -> tuple[Key, Table]:
    clique: Clique = tuple(row[0].as_py())
    key, n_reports = (clique, int(row[1].as_py())), int(row[2].as_py())
    _check_key(key, campaign)
    if row[3].values.null_count or n_reports < 1:
        raise ValueError("a count is missing, or no report stands behind a table")
    form = form_of(campaign)
    counts = (
        row[3]
        .values.to_numpy(zero_copy_only=False)
        .astype(np.int64)
        .reshape(form.shape(campaign, key))
    )
    if not form.fits(table := Table(n_reports, counts)):
        raise ValueError("a table does not fit its number of reports")
    return key, table


def _check_key(key: Key, campaign: Campaign) -> None:
    """Whether a campaign can have such a table."""
    clique = key[0]
    if (
        not clique
        or list(clique) != sorted(set(clique))
        or clique[0] < 0
        or clique[-1] >= len(campaign.domain)
    ):
        raise ValueError("no such attributes")
    if not form_of(campaign).can_have(campaign, key):
        raise ValueError("no report makes such a table")


def _slots_of(told: bytes | None, n_reports: int) -> Slots | None:
    """The first and last slot; None where no report was counted."""
    if told is None:
        return None
    first, last = json.loads(told)
    if (
        type(first) is not int
        or type(last) is not int
        or not 0 <= first <= last < 2**32
        or not n_reports
    ):
        raise ValueError("no such slots")
    return first, last


def _check_together(tables: dict[Key, Table], n_reports: int, campaign: Campaign) -> None:
    """Whether the tables can be of one set of reports."""
    form, totals = form_of(campaign), Counter[Clique]()
    for (clique, noise), table in tables.items():
        totals[clique] += table.n_reports
        if len(clique) == 2 and not form.whole_views:
            for axis in (0, 1):
                single = tables[(clique[axis],), noise]
                if (
                    form.at_least(table, axis) > single.counts
                ).any() or table.n_reports > single.n_reports:
                    raise ValueError("a pair is seen more often than one of its attributes")
    if max(totals.values(), default=0) > n_reports:
        raise ValueError("more reports in the tables than in all")
