"""Counts and reports as bytes, between the processes of one run. Files for keeping are written elsewhere."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lopub.bulk.folds import hashes_of
from lopub.campaign.campaign import Campaign
from lopub.errors import Reason
from lopub.reports.batch import HASH_BYTES, Packed, ReportBatch
from lopub.reports.batch.check import checked_batch
from lopub.reports.batch.report_files import binary_array, strings_of
from lopub.reports.counts import Counts, Table, form_of
from lopub.reports.origin import Origin

_COUNTS = [
    ("part", pa.list_(pa.int32())),
    ("noise", pa.int64()),
    ("n_reports", pa.int64()),
    ("cells", pa.large_list(pa.int64())),
]
_REPORTS = [
    ("hash", pa.binary()),
    ("slot", pa.uint32()),
    ("view", pa.binary()),
    ("payload", pa.binary()),
    ("times", pa.int64()),
]


def bytes_of_counts(counts: Counts) -> bytes:
    """The same counts give the same bytes."""
    tables = sorted(counts.tables.items())
    columns: list[list[Any]] = [
        [list(part) for (part, _), _ in tables],
        [noise for (_, noise), _ in tables],
        [table.n_reports for _, table in tables],
        [table.counts.reshape(-1) for _, table in tables],
    ]
    refused = {str(reason): n for reason, n in sorted(counts.refused.items())}
    metadata = {
        "n_reports": str(counts.n_reports),
        "refused": json.dumps(refused),
        "slots": json.dumps(counts.slots),
        "origin": counts.origin.to_text(),
    }
    arrays = [pa.array(column, kind) for column, (_, kind) in zip(columns, _COUNTS, strict=True)]
    return _written(pa.record_batch(arrays, schema=pa.schema(_COUNTS, metadata=metadata)))


def counts_of_bytes(data: bytes, campaign: Campaign) -> Counts:
    """The counts that were sent."""
    rows = _read(data)
    form, metadata = form_of(campaign), rows.schema.metadata
    tables = {}
    for part, noise, n_reports, cells in zip(*rows.columns, strict=True):
        key = (tuple(part.as_py()), noise.as_py())
        counts = cells.values.to_numpy().reshape(form.shape(campaign, key))
        tables[key] = Table(n_reports.as_py(), counts)
    refused = {Reason(reason): n for reason, n in json.loads(metadata[b"refused"]).items()}
    slots = json.loads(metadata[b"slots"])
    return Counts(
        campaign=campaign,
        n_reports=int(metadata[b"n_reports"]),
        tables=tables,
        refused=refused,
        slots=None if slots is None else (slots[0], slots[1]),
        origin=Origin.from_text(metadata[b"origin"]),
    )


def bytes_of_reports(batch: ReportBatch, times: NDArray[np.int64]) -> bytes:
    """Reports named by the hashes of their ids, as those out of a store are, too. times: how often each stands there."""
    columns = [
        binary_array(Packed.from_matrix(hashes_of(batch.ids))),
        pa.array(batch.slots),
        binary_array(Packed.from_matrix(batch.masks)),
        binary_array(batch.payloads),
        pa.array(times),
    ]
    return _written(pa.record_batch(columns, schema=pa.schema(_REPORTS)))


def reports_of_bytes(data: bytes, campaign: Campaign) -> tuple[ReportBatch, NDArray[np.int64]]:
    """The reports that were sent, and how often each stands there."""
    hashes, slots, masks, payloads, times = _read(data).columns
    n, n_mask = len(times), campaign.mask_bytes
    batch = checked_batch(
        campaign,
        strings_of(hashes).data.reshape(n, HASH_BYTES),
        slots.to_numpy(),
        strings_of(masks).data.reshape(n, n_mask),
        strings_of(payloads),
    )
    return batch, times.to_numpy()


def _written(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _read(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
