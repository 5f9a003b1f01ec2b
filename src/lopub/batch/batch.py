"""ReportBatch: many reports as packed arrays with their views."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lopub.batch.packed import Packed
from lopub.campaign import Campaign
from lopub.errors import DomainError, Reason
from lopub.mechanism import Channel
from lopub.mechanism.direct import DirectChannel
from lopub.report import Report, mask_of
from lopub.view import View


@dataclass(frozen=True, eq=False)
class BlockBits:
    """The bits of one block in all reports that carry it. rows: which reports; bits: shape (len(rows), width), 0 or 1."""

    rows: NDArray[np.int64]
    bits: NDArray[np.uint8]


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportBatch:
    """Well-formed reports of one campaign, in the order in which they came.

    ids: shape (n, 16). slots: shape (n,). view_index: shape (n,), each report's place in `views`.
    refused: how many reports were left out on reading, by reason.
    """

    campaign: Campaign
    ids: NDArray[np.uint8]
    slots: NDArray[np.uint32]
    views: tuple[View, ...]
    view_index: NDArray[np.int32]
    payloads: Packed
    refused: Mapping[Reason, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def read(path: str | Path, campaign: Campaign | None = None) -> "ReportBatch":
        """All reports of a file, Parquet or framed; see `read_reports`."""
        from lopub.batch.files import read_reports  # the files know the batch, not the other way round

        return read_reports(path, campaign)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the reports: Parquet where the name ends in .parquet, framed wire bytes elsewhere."""
        from lopub.batch.files import write_reports

        write_reports(path, self.campaign, [self], force=force)

    def __getitem__(self, rows: slice | NDArray[Any]) -> "ReportBatch":
        """Some of the reports; the count of refused ones stays with the whole."""
        chosen = np.arange(len(self))[rows]
        return ReportBatch(
            campaign=self.campaign,
            ids=self.ids[chosen],
            slots=self.slots[chosen],
            views=self.views,
            view_index=self.view_index[chosen],
            payloads=self.payloads.take(chosen),
        )

    @classmethod
    def concatenated(cls, batches: Sequence["ReportBatch"]) -> Self:
        """The reports of several batches of one campaign, one batch behind the other."""
        if not batches:
            raise DomainError("no batches to concatenate")
        campaign = batches[0].campaign
        if any(batch.campaign.id != campaign.id for batch in batches):
            raise DomainError("batches of different campaigns cannot be concatenated")
        views = tuple(sorted({view for batch in batches for view in batch.views}))
        place = {view: i for i, view in enumerate(views)}
        moved = [np.array([place[view] for view in batch.views], dtype=np.int32)[batch.view_index] for batch in batches]
        return cls(
            campaign=campaign,
            ids=np.concatenate([batch.ids for batch in batches]),
            slots=np.concatenate([batch.slots for batch in batches]),
            views=views,
            view_index=np.concatenate(moved),
            payloads=Packed.joined([batch.payloads for batch in batches]),
            refused=sum((Counter(batch.refused) for batch in batches), Counter()),
        )

    @classmethod
    def from_reports(cls, reports: Sequence[Report], campaign: Campaign) -> Self:
        """A batch of single reports, as the client makes them."""
        found = [report.view(campaign) for report in reports]
        views = tuple(sorted(set(found)))
        place = {view: i for i, view in enumerate(views)}
        payloads = b"".join(report.payload for report in reports)
        return cls(
            campaign=campaign,
            ids=np.frombuffer(b"".join(report.id for report in reports), np.uint8).reshape(len(reports), 16),
            slots=np.array([report.slot for report in reports], dtype=np.uint32),
            views=views,
            view_index=np.array([place[view] for view in found], dtype=np.int32),
            payloads=Packed.from_lengths(
                np.frombuffer(payloads, np.uint8), np.array([len(report.payload) for report in reports], dtype=np.int64)
            ),
        )

    # ---- single reports

    @cached_property
    def masks(self) -> NDArray[np.uint8]:
        """The view masks. shape (n, mask_bytes)."""
        n_bytes = self.campaign.mask_bytes
        distinct = b"".join(mask_of(view, n_bytes) for view in self.views) if n_bytes else b""
        table = np.frombuffer(distinct, np.uint8).reshape(len(self.views), n_bytes)
        masks: NDArray[np.uint8] = table[self.view_index]
        return masks

    def report(self, i: int) -> Report:
        return Report(
            campaign=self.campaign.prefix,
            id=self.ids[i].tobytes(),
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
        return self.campaign.channels(self.views[view_number])

    def view_bits(self, view_number: int) -> NDArray[np.uint8]:
        """The whole payloads of one view's reports as bits. shape (n, 8 * payload bytes)."""
        return np.unpackbits(self.payloads.matrix(self.rows_of(view_number)), axis=1, bitorder="little")

    def bits(self, block: str | Sequence[str]) -> BlockBits:
        """The bits of an attribute (randomized separately) or of a view (jointly), in every report that carries it."""
        names = (block,) if isinstance(block, str) else tuple(block)
        positions = tuple(sorted(self.campaign.domain.positions(names)))
        carried = [(number, at) for number, at in self._places(positions)]
        if not carried:
            raise DomainError(f"no report carries {', '.join(names)} as one block")
        rows = [self.rows_of(number) for number, _ in carried]
        bits = [self._block_bits(number, at) for number, at in carried]
        order = np.argsort(np.concatenate(rows), kind="stable")
        return BlockBits(np.concatenate(rows)[order], np.concatenate(bits)[order])

    def _places(self, positions: View) -> list[tuple[int, int]]:
        """(view, place of the block in it) wherever these attributes are one block."""
        if self.campaign.jointly:
            return [(number, 0) for number, view in enumerate(self.views) if view == positions]
        if len(positions) != 1:
            return []
        return [(number, view.index(positions[0])) for number, view in enumerate(self.views) if positions[0] in view]

    def _block_bits(self, view_number: int, at: int) -> NDArray[np.uint8]:
        channels = self.channels(view_number)
        if isinstance(channels[at], DirectChannel):
            raise DomainError("mechanism 'direct' sends numbers, not bits; see `cells`")
        start = sum(channel.width for channel in channels[:at])
        return self.view_bits(view_number)[:, start : start + channels[at].width]

    def cells(self) -> NDArray[np.int64]:
        """The numbers of jointly randomized `direct` reports: each the cell of its own view."""
        return self.payloads.numbers()
