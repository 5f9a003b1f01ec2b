"""What can be seen in a report: events over its length, day, view, id and blocks, one column each.

Nobody knows beforehand where a client leaks, so the columns are many; which of them tell two records apart is found on one
half of the reports and tested on the other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.report import ID, SLOT, Report
from lopub.errors import ReportRejected

Column = NDArray[np.bool_]
MOST_VALUES = 40
"""Different views, lengths, days or reasons that are looked at one by one."""
MOST_BITS = 64
"""Bits of one block."""
MOST_COLUMNS = 500


@dataclass(frozen=True)
class Events:
    """names: of the columns. seen: shape (n_reports, n_columns). n_plain: how many of them are not about what blocks say."""

    names: tuple[str, ...]
    seen: Column
    n_plain: int
    refused: Counter[str]
    """Reason -> reports that break the format."""


def events_of(campaign: Campaign, wires: Sequence[bytes]) -> Events:
    """The columns of these reports."""
    reports, reasons = _read(campaign, wires)
    columns: dict[str, Column] = {}
    plain: dict[str, Sequence[object]] = {
        "length": [len(wire) for wire in wires],
        "day": [int.from_bytes(wire[SLOT]) for wire in wires],
        "refused for": reasons,
        "view": [wire[HEADER_BYTES : HEADER_BYTES + campaign.mask_bytes].hex() for wire in wires],
    }
    for what, values in plain.items():
        columns |= _values(what, values)
    ids = np.array([np.frombuffer(wire[ID].ljust(16, b"\0"), np.uint8) for wire in wires])
    columns |= {
        f"id bit {i}": bit for i, bit in enumerate(np.unpackbits(ids, axis=1).T.astype(bool))
    }
    n_plain = len(columns)
    columns |= _blocks(campaign, reports, MOST_COLUMNS)
    return Events(
        tuple(columns),
        np.column_stack(list(columns.values())),
        n_plain,
        Counter(r for r in reasons if r),
    )


def _read(campaign: Campaign, wires: Sequence[bytes]) -> tuple[list[Report | None], list[str]]:
    reports: list[Report | None] = []
    reasons: list[str] = []
    for wire in wires:
        try:
            reports.append(Report.from_bytes(wire, campaign))
            reasons.append("")
        except ReportRejected as refused:
            reports.append(None)
            reasons.append(str(refused.reason))
    return reports, reasons


def _values(what: str, values: Sequence[object]) -> dict[str, Column]:
    """One column for each of the commonest values; none where there is only one."""
    common = [value for value, _ in Counter(values).most_common(MOST_VALUES)]
    if len(common) < 2:
        return {}
    return {
        f"{what} {value or 'nothing'}": np.array([one == value for one in values])
        for value in common
    }


def _blocks(campaign: Campaign, reports: Sequence[Report | None], most: int) -> dict[str, Column]:
    """For each bit of a block, whether it is one, and whether it is zero where the report covers the block at all."""
    rows_of: dict[Clique, list[int]] = {}
    for row, report in enumerate(reports):
        if report is not None:
            rows_of.setdefault(report.view(campaign), []).append(row)
    found: dict[str, Column] = {}
    for view in sorted(rows_of, key=lambda one: -len(rows_of[one]))[:MOST_VALUES]:
        rows = np.array(rows_of[view])
        payloads = np.array([np.frombuffer(_payload(reports[row]), np.uint8) for row in rows])
        for label, bits in _bits(campaign, view, payloads):
            for value in (0, 1):
                name = f"{label} is {value}"
                if name not in found and len(found) >= most:
                    continue
                found.setdefault(name, np.zeros(len(reports), dtype=bool))[rows] |= bits == value
    return found


def _payload(report: Report | None) -> bytes:
    assert report is not None  # noqa: S101 -- rows of a view are those of good reports
    return report.payload


def _bits(
    campaign: Campaign, view: Clique, payloads: NDArray[np.uint8]
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """What can be seen in each block. Separately, an attribute's block is the same in every view."""
    channels, bulk, names = (
        campaign.channels(view),
        bulk_of(campaign.mechanism),
        campaign.domain.names,
    )
    for at in range(len(channels)):
        block = f"block {'+'.join(names[i] for i in view) if campaign.jointly else names[view[at]]}"
        yield from (
            (f"{block} {what}", seen)
            for what, seen in bulk.noticeable(channels, at, payloads, MOST_BITS)
        )


def scores(seen: Column, weights: NDArray[np.float64], step: int = 20_000) -> NDArray[np.float64]:
    """The sum of the weights of what was seen in each report."""
    parts = [
        seen[start : start + step].astype(np.float32) @ weights.astype(np.float32)
        for start in range(0, len(seen), step)
    ]
    return np.concatenate(parts).astype(float) if parts else np.empty(0)
