"""Each report once, however the source is cut.

A report that stands twice is counted once; of two that differ under one id the first is counted and the other refused. First is
what comes first in the source: by the order of the files as they are named, and then by the place in the file. So neither the
number of parts nor the order in which they are done changes anything.

The first exchange counts every part as it is, and sends the keys of its reports (the first 8 bytes of the SHA-256 of their ids)
to ranges of keys, where those that are met twice are found. Most sources have none, and that is all. Where there are some, a
second exchange sends the reports under such keys, and a few others, to ranges; there the later ones are counted, and taken off.
"""

import math
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.campaign import Campaign
from lopub.errors import DomainError, Reason
from lopub.reports.batch import ReportBatch
from lopub.reports.batch.repeats import Keys, in_sieve, shared_keys, sieve_of, thinned
from lopub.reports.batch.report_files import BLOCK_REPORTS
from lopub.reports.counts import Counts, Slots, Table, count, slots_of, spanned
from lopub.reports.engines.base import Engine, Partition, Sent, Source
from lopub.reports.engines.file_source import campaign_from
from lopub.reports.engines.passing import (
    bytes_of_counts,
    bytes_of_reports,
    counts_of_bytes,
    reports_of_bytes,
)
from lopub.reports.progress import Progress, silent

PART_REPORTS = 2**20
"""Reports of a part, unless somebody says into how many parts a source is cut."""
PARTS_A_WORKER = 4
"""At least, so that workers end at about the same time."""
MOST_SIEVE_BITS = 2**27
"""16 MiB. With more repeated reports than it can tell apart, more reports go through the second exchange, up to all of them."""
RANGE_BYTES = 2**23
"""Of reports that one range of the second exchange has, about; to compare and count them takes ten times as much memory."""
MOST_RANGES = 2**15
SLOTS, NO_SLOTS = struct.Struct(">qq"), (-1, -1)


def count_source(
    source: Source,
    engine: Engine,
    *,
    n_partitions: int | None = None,
    trusted_distinct: bool = False,
    progress: Progress | None = None,
) -> Counts:
    """The counts of all reports of a source, each once; the same on every engine and for every number of parts.

    trusted_distinct: the source itself has every report once, as a store does; nobody looks for repeated ones. progress: told
    in parts.
    """
    told = progress or silent
    if n_partitions is not None and n_partitions < 1:
        raise DomainError(f"n_partitions must be at least 1, got {n_partitions}")
    campaign, n_reports = source.campaign, source.n_reports
    parts = source.parts(n_partitions or _usual_parts(campaign, n_reports, engine.n_workers))
    n_ranges = 0 if trusted_distinct else min(MOST_RANGES, 1 + n_reports // engine.keys_at_once)
    first = engine.exchange(parts, CountParts(campaign.canonical_bytes, n_ranges), told)
    total = counts_of_bytes(first.result, campaign)
    shared = [np.frombuffer(keys, np.uint64) for keys in first.gathered if keys]
    if not shared:
        return total
    sieve = sieve_of(shared, MOST_SIEVE_BITS)
    n_suspects = min(
        n_reports, 3 * sum(map(len, shared)) + int(n_reports * np.bitwise_count(sieve).mean() / 64)
    )
    n_ranges = min(MOST_RANGES, 1 + n_suspects * campaign.longest_report // RANGE_BYTES)
    second = engine.exchange(
        parts, FindRepeats(campaign.canonical_bytes, n_ranges, sieve.tobytes()), told
    )
    found = [Repeats.of_bytes(data, campaign) for data in (second.result, *second.gathered)]
    for repeats in found:
        total = without(total, repeats.counts)
    return replace(total, slots=spanned([slots for repeats in found for slots in repeats.staying]))


def _usual_parts(campaign: Campaign, n_reports: int, n_workers: int) -> int:
    """Into how many parts a source is cut: all workers have some, and none has fewer reports than there are tables to add up."""
    n_tables = math.comb(len(campaign.domain) + 1, 2)
    wanted = max(
        -(-n_reports // PART_REPORTS),
        min(PARTS_A_WORKER * n_workers, -(-n_reports // BLOCK_REPORTS)),
    )
    return max(1, min(wanted, n_reports // n_tables))


@dataclass(frozen=True)
class CountParts:
    """The first exchange. n_ranges: of keys; 0 where nobody looks for repeated reports."""

    doing: ClassVar[str] = "counting"
    campaign_bytes: bytes
    n_ranges: int

    def split(self, part: Partition) -> Sent:
        parcels: dict[int, bytearray] = {}
        counts = count(self._noted(part.walk(), parcels))
        return Sent(
            bytes_of_counts(counts),
            {number: bytes(parcels.pop(number)) for number in sorted(parcels)},
        )

    def _noted(
        self, batches: Iterable[ReportBatch], parcels: dict[int, bytearray]
    ) -> Iterator[ReportBatch]:
        """The batches as they come, while their keys are put into parcels, a million at once: a part has many more where a
        row group of its file does."""
        keys: list[Keys] = []
        for batch in batches:
            yield batch
            if self.n_ranges:
                keys.append(batch.digests)
            if sum(map(len, keys)) >= PART_REPORTS:
                self._put(keys, parcels)
        if keys:
            self._put(keys, parcels)

    def _put(self, parts: list[Keys], parcels: dict[int, bytearray]) -> None:
        """A key that many of these reports share goes out twice, which is enough to be found. parts: emptied."""
        keys = thinned(np.concatenate(parts))
        parts.clear()
        for number, rows in by_range(keys, self.n_ranges):
            parcels.setdefault(number, bytearray()).extend(keys[rows].tobytes())

    def merge(self, results: Sequence[bytes]) -> bytes:
        return _merged(results, campaign_from(self.campaign_bytes))

    def gather(self, parcels: Sequence[bytes]) -> bytes:
        return shared_keys(
            np.concatenate([np.frombuffer(parcel, np.uint64) for parcel in parcels])
        ).tobytes()


@dataclass(frozen=True, eq=False)
class Repeats:
    """The counts of reports that are to be taken off, with how many are refused; and the slots of those that stay: two that
    differ under one id may differ in their slots."""

    counts: Counts
    staying: Sequence[Slots]

    def to_bytes(self) -> bytes:
        """As it is sent."""
        first, last = spanned(self.staying) or NO_SLOTS
        return SLOTS.pack(first, last) + bytes_of_counts(self.counts)

    @staticmethod
    def of_bytes(data: bytes, campaign: Campaign) -> "Repeats":
        """What was sent."""
        first, last = SLOTS.unpack_from(data)
        staying = [] if (first, last) == NO_SLOTS else [(first, last)]
        return Repeats(counts_of_bytes(data[SLOTS.size :], campaign), staying)


@dataclass(frozen=True)
class FindRepeats:
    """The second exchange: what it gives are `Repeats`."""

    doing: ClassVar[str] = "finding repeated reports"
    campaign_bytes: bytes
    n_ranges: int
    sieve: bytes

    def split(self, part: Partition) -> Sent:
        sieve = np.frombuffer(self.sieve, np.uint64)
        staying: list[Slots] = []
        batch = ReportBatch.joined(self._suspects(part.walk(), sieve, staying))
        later, first, same = batch.repeated()
        again, times = later[same], np.ones(len(batch), dtype=np.int64)
        np.add.at(times, first[same], 1)
        times[again] = 0  # they are as many as the first one says
        kept = np.flatnonzero(times)
        parcels = {
            number: bytes_of_reports(batch[kept[rows]], times[kept[rows]])
            for number, rows in by_range(batch.digests[kept], self.n_ranges)
        }
        return Sent(Repeats(count(batch[again]), staying).to_bytes(), parcels)

    def _suspects(
        self, batches: Iterable[ReportBatch], sieve: Keys, staying: list[Slots]
    ) -> Iterator[ReportBatch]:
        """The reports that may be repeated ones; all others stay."""
        for batch in batches:
            suspect = in_sieve(batch.digests, sieve)
            staying += slots_of(batch[~suspect])
            yield batch[suspect]

    def merge(self, results: Sequence[bytes]) -> bytes:
        campaign = campaign_from(self.campaign_bytes)
        parts = [Repeats.of_bytes(result, campaign) for result in results]
        total = sum((part.counts for part in parts[1:]), start=parts[0].counts)
        return Repeats(total, [slots for part in parts for slots in part.staying]).to_bytes()

    def gather(self, parcels: Sequence[bytes]) -> bytes:
        campaign = campaign_from(self.campaign_bytes)
        batches, times = zip(
            *(reports_of_bytes(parcel, campaign) for parcel in parcels), strict=True
        )
        batch, n_times = ReportBatch.joined(iter(batches)), np.concatenate(times)
        later, _, same = batch.repeated()
        conflicts, stays = int(n_times[later[~same]].sum()), np.ones(len(batch), dtype=bool)
        stays[later] = False
        counts = replace(
            count(batch[later]), refused={Reason.CONFLICT: conflicts} if conflicts else {}
        )
        return Repeats(counts, slots_of(batch[stays])).to_bytes()


def by_range(keys: Keys, n_ranges: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The rows of each range of keys that has any, in their order."""
    ranges = ((keys >> np.uint64(32)) * np.uint64(n_ranges) >> np.uint64(32)).astype(np.uint16)
    order = np.argsort(ranges, kind="stable")
    ends = np.cumsum(np.bincount(ranges, minlength=n_ranges))
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if start < end:
            yield number, order[start:end]


def without(counts: Counts, others: Counts) -> Counts:
    """The counts of the reports that are left when others are taken off; those that were refused add up."""
    tables = dict(counts.tables)
    for key, table in others.tables.items():
        tables[key] = Table(
            tables[key].n_reports - table.n_reports, tables[key].counts - table.counts
        )
    return Counts(
        campaign=counts.campaign,
        n_reports=counts.n_reports - others.n_reports,
        tables={key: table for key, table in sorted(tables.items()) if table.n_reports},
        refused=dict(Counter(counts.refused) + Counter(others.refused)),
        n_repeated=counts.n_repeated + others.n_reports - others.refused.get(Reason.CONFLICT, 0),
        origin=counts.origin,
    )


def _merged(results: Sequence[bytes], campaign: Campaign) -> bytes:
    first, *others = (counts_of_bytes(result, campaign) for result in results)
    return bytes_of_counts(sum(others, start=first))
