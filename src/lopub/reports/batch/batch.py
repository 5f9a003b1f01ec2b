"""ReportBatch: many reports as packed arrays with their views."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.bulk.folds import digests_of, folds_of
from lopub.bulk.packed import Packed
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique, names_of
from lopub.campaign.mechanisms import Channel
from lopub.campaign.report import ID_BYTES, Report, mask_of
from lopub.campaign.texts import html_table, one_line
from lopub.errors import CampaignError, DomainError, Reason
from lopub.reports.batch.repeats import later_ones, same_strings
from lopub.reports.days import days_between, round_named
from lopub.reports.origin import PLAIN, Origin
from lopub.reports.showing import MOST_SHOWN, Shown


@dataclass(frozen=True, eq=False)
class BlockBits:
    """The bits of one block in all reports that carry it. rows: which reports; bits: shape (len(rows), width), 0 or 1."""

    rows: NDArray[np.int64]
    bits: NDArray[np.uint8]


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportBatch(Shown):
    """Well-formed reports of one campaign, in the order in which they came.

    ids: shape (n, 16); or (n, 32), their SHA-256, where a collector kept nothing else of them. slots: shape (n,).
    view_index: shape (n,), each report's place in `views`.
    refused: how many reports were left out on reading, by reason. n_repeated: how many because the same report was there already.
    origin: what readers should know of where they come from.
    """

    campaign: Campaign
    ids: NDArray[np.uint8]
    slots: NDArray[np.uint32]
    views: tuple[Clique, ...]
    view_index: NDArray[np.int32]
    payloads: Packed
    refused: Mapping[Reason, int] = field(default_factory=dict)
    n_repeated: int = 0
    origin: Origin = PLAIN

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        refused = sum(self.refused.values())
        facts = [
            repr(self.campaign.terms.name),
            f"{len(self):,} reports",
            f"{len(self.views):,} views",
        ]
        return one_line(self, *facts, *([f"{refused:,} refused"] if refused else []))

    def to_arrow(self) -> pa.Table:
        """One row per report, as in Parquet files: id, slot, view and payload, the bytes that were sent."""
        from lopub.reports.batch.report_files import (
            reports_table,
        )  # the files know the batch, not the other way round

        return reports_table(self)

    def _repr_html_(self) -> str:
        """How many reports cover what; bytes say nothing to people."""
        names, largest = (
            self.campaign.domain.names,
            Counter(self.view_index.tolist()).most_common(MOST_SHOWN),
        )
        rows = [
            (", ".join(names[position] for position in self.views[number]), f"{n:,}")
            for number, n in largest
        ]
        return html_table((repr(self),), ()) + html_table(("view", "reports"), rows)

    @staticmethod
    def load(path: str | Path, campaign: Campaign | None = None) -> "ReportBatch":
        """All reports of a file, Parquet or framed; those that are refused are counted by reason.

        campaign: the one that the file must be of; a Parquet file brings its own, a framed file needs it.
        """
        from lopub.reports.batch.report_files import load_reports

        return load_reports(path, campaign)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the reports: Parquet where the name ends in .parquet, framed wire bytes where it ends in .bin or .reports."""
        from lopub.reports.batch.report_files import save_reports

        save_reports(path, self.campaign, [self], force=force)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Self:
        """Some of the reports; the count of refused ones stays with the whole."""
        return type(self)(
            campaign=self.campaign,
            ids=self.ids[rows],
            slots=self.slots[rows],
            views=self.views,
            view_index=self.view_index[rows],
            payloads=self.payloads[rows],
            origin=Origin(self.origin.is_simulated),
        )

    def of_round(self, name: str | int) -> Self:
        """The reports of one round of a campaign that repeats. name: the first day of the round, or how it begins, such as
        2026-11; or its slot."""
        schedule = self.campaign.terms.schedule
        if schedule is None or schedule.repeat is None:
            raise CampaignError(f"campaign {self.campaign.terms.name!r} has no rounds")
        slot = round_named(schedule, name) if isinstance(name, str) else name
        return self.only(self.slots == slot)

    def without(self, days: Sequence[str]) -> Self:
        """All but the reports of some days, such as 2026-03-01 or 2026-03-01..2026-03-04."""
        return (
            self.only(~np.isin(self.slots, [slot for each in days for slot in days_between(each)]))
            if days
            else self
        )

    def only(self, rows: NDArray[np.bool_]) -> Self:
        """Some of the reports; what is known of all stays known. rows: shape (n_reports,)."""
        return replace(
            self[rows], refused=self.refused, n_repeated=self.n_repeated, origin=self.origin
        )

    @classmethod
    def concatenated(cls, batches: Sequence["ReportBatch"]) -> Self:
        """The reports of several batches of one campaign, one batch behind the other; each once, see `repeats`."""
        if not batches:
            raise DomainError("no batches to concatenate")
        return cls.gathered(iter(batches))

    @classmethod
    def gathered(cls, batches: Iterator["ReportBatch"]) -> Self:
        """The reports of batches that come one by one; each once."""
        return cls.joined(batches)._once()

    @classmethod
    def joined(cls, batches: Iterator["ReportBatch"]) -> Self:
        """The reports of batches as they come, repeated ones too; each batch is let go before the next one comes."""
        first = next(batches)
        campaign, refused, n_repeated = first.campaign, Counter(first.refused), first.n_repeated
        origin = first.origin
        ids, slots = GrowingColumn(first.ids), GrowingColumn(first.slots)
        data, lengths = (
            GrowingColumn(first.payloads.bytes_used),
            GrowingColumn(first.payloads.lengths.astype(np.int32)),
        )
        place = {view: i for i, view in enumerate(first.views)}
        view_index = GrowingColumn(first.view_index)
        for batch in batches:
            if batch.campaign.id != campaign.id:
                raise DomainError("batches of different campaigns cannot be concatenated")
            if batch.ids.shape[1] != ids.rows.shape[1]:
                raise DomainError(
                    "reports out of a collector and reports out of a file cannot be concatenated"
                )
            refused += Counter(batch.refused)
            n_repeated += batch.n_repeated
            origin += batch.origin
            ids.add(batch.ids)
            slots.add(batch.slots)
            data.add(batch.payloads.bytes_used)
            lengths.add(batch.payloads.lengths)
            numbers = np.array(
                [place.setdefault(view, len(place)) for view in batch.views], dtype=np.int32
            )
            view_index.add(numbers[batch.view_index])
        views = tuple(sorted(place))
        rank = {view: i for i, view in enumerate(views)}
        return cls(
            campaign=campaign,
            ids=ids.rows,
            slots=slots.rows,
            views=views,
            view_index=np.array([rank[view] for view in place], dtype=np.int32)[view_index.rows],
            payloads=Packed.from_lengths(data.rows, lengths.rows),
            refused=refused,
            n_repeated=n_repeated,
            origin=origin,
        )

    @classmethod
    def from_reports(cls, reports: Sequence[Report], campaign: Campaign) -> Self:
        """A batch of single reports, as the client makes them; each once, see `repeats`."""
        found = [report.view(campaign) for report in reports]
        views = tuple(sorted(set(found)))
        place = {view: i for i, view in enumerate(views)}
        payloads = b"".join(report.payload for report in reports)
        whole = cls(
            campaign=campaign,
            ids=np.frombuffer(b"".join(report.id for report in reports), np.uint8).reshape(
                len(reports), 16
            ),
            slots=np.array([report.slot for report in reports], dtype=np.uint32),
            views=views,
            view_index=np.array([place[view] for view in found], dtype=np.int32),
            payloads=Packed.from_lengths(
                np.frombuffer(payloads, np.uint8),
                np.array([len(report.payload) for report in reports], dtype=np.int64),
            ),
        )
        return whole._once()

    def repeated(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """The rows whose id an earlier row has; for each the first row that has it; and whether the two are the same report."""
        later, first = later_ones(self.ids)
        same = (self.slots[later] == self.slots[first]) & (
            self.view_index[later] == self.view_index[first]
        )
        same[same] = same_strings(self.payloads, later[same], first[same])
        return later, first, same

    def _once(self) -> Self:
        """Each report once: of those under one id the first; others than that are refused."""
        later, _, same = self.repeated()
        if not len(later):
            return self
        kept = np.ones(len(self), dtype=bool)
        kept[later] = False
        refused = Counter(self.refused) + Counter({Reason.CONFLICT: int((~same).sum())})
        n_repeated = self.n_repeated + int(same.sum())
        return replace(self[kept], refused=dict(refused), n_repeated=n_repeated, origin=self.origin)

    # ---- hashes of ids

    @cached_property
    def digests(self) -> NDArray[np.uint64]:
        """The first 8 bytes of SHA-256 of each report's id. shape (n,)."""
        return digests_of(self.ids)

    @property
    def folds(self) -> NDArray[np.int8]:
        """The fold of a cross-validation that each report is in. shape (n,)."""
        return folds_of(self.digests)

    # ---- single reports

    @cached_property
    def masks(self) -> NDArray[np.uint8]:
        """The view masks. shape (n, mask_bytes)."""
        n_bytes = self.campaign.mask_bytes
        distinct = b"".join(mask_of(view, n_bytes) for view in self.views) if n_bytes else b""
        table = np.frombuffer(distinct, np.uint8).reshape(len(self.views), n_bytes)
        masks: NDArray[np.uint8] = table[self.view_index]
        return masks

    @property
    def whole_ids(self) -> NDArray[np.uint8]:
        """The ids themselves; refused where only their hashes are known. shape (n, 16)."""
        if self.ids.shape[1] != ID_BYTES:
            raise DomainError(
                "a collector keeps only the hashes of report ids, so its reports cannot be written out as reports"
            )
        return self.ids

    def report(self, i: int) -> Report:
        """The report at this place."""
        return Report(
            campaign=self.campaign.prefix,
            id=self.whole_ids[i].tobytes(),
            slot=int(self.slots[i]),
            mask=self.masks[i].tobytes(),
            payload=self.payloads.string(i),
        )

    # ---- blocks

    @cached_property
    def _by_view(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All rows, ordered by view and then by place; and where each view begins among them."""
        order = np.argsort(self.view_index, kind="stable")
        return order, np.searchsorted(self.view_index[order], np.arange(len(self.views) + 1))

    def rows_of(self, view_number: int) -> NDArray[np.int64]:
        """The rows of the reports with this view, ascending."""
        order, starts = self._by_view
        return order[starts[view_number] : starts[view_number + 1]]

    def channels(self, view_number: int) -> tuple[Channel, ...]:
        """The blocks of the reports with this view."""
        return self.campaign.channels(self.views[view_number])

    def block_bits(
        self, view_number: int, at: int, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """The bits of one block in the reports of a view, or in some of them. shape (n, width)."""
        channels = self.channels(view_number)
        matrix = self.payloads.matrix(self.rows_of(view_number) if rows is None else rows)
        matrix = matrix.reshape(-1, self.campaign.payload_bytes(self.views[view_number]))
        return bulk_of(self.campaign.mechanism).bits(channels, at, matrix)

    def bits(self, block: str | Sequence[str]) -> BlockBits:
        """The bits of an attribute (randomized separately) or of a view (jointly), in every report that carries it. block: its
        name, or the view's names. The result has `rows`, the reports these are, and `bits`, a row of zeros and ones for each."""
        names = names_of(block)
        positions = tuple(sorted(self.campaign.domain.positions(names)))
        carried = [(number, at) for number, at in self._places(positions)]
        if not carried:
            raise DomainError(f"no report carries {', '.join(names)} as one block")
        rows = [self.rows_of(number) for number, _ in carried]
        bits = [self.block_bits(number, at) for number, at in carried]
        order = np.argsort(np.concatenate(rows), kind="stable")
        return BlockBits(np.concatenate(rows)[order], np.concatenate(bits)[order])

    def _places(self, positions: Clique) -> list[tuple[int, int]]:
        """(view, place of the block in it) wherever these attributes are one block."""
        if self.campaign.jointly:
            return [(number, 0) for number, view in enumerate(self.views) if view == positions]
        if len(positions) != 1:
            return []
        return [
            (number, view.index(positions[0]))
            for number, view in enumerate(self.views)
            if positions[0] in view
        ]

    def cells(self) -> NDArray[np.int64]:
        """The numbers of jointly randomized `direct` reports: each the cell of its own view."""
        return bulk_of(self.campaign.mechanism).cells(self)


class GrowingColumn:
    """An array that grows at its end. The system moves a large one without copying it, so that nothing is held twice.

    The first rows are copied when the first others come: most batches are the only ones.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows, self._is_own = rows, False

    def add(self, rows: NDArray[Any]) -> None:
        """Put more rows behind those that there are."""
        if not self._is_own:
            self.rows, self._is_own = self.rows.copy(), True
        n = len(self.rows)
        self.rows.resize((n + len(rows), *self.rows.shape[1:]), refcheck=False)
        self.rows[n:] = rows
