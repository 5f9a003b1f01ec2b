"""From reports, or their counts, and a clique to evidence, for every mechanism and view."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lopub.batch import N_FOLDS, Answers, ReportBatch, answers_of, digests_of, folds_of, keep_of, order_of
from lopub.campaign import Campaign
from lopub.counts import Counts, count, count_singly, is_bits
from lopub.errors import NeedsReports
from lopub.estimation.contingency import Contingency
from lopub.estimation.evidence import Evidence, Part
from lopub.estimation.factorised import Factorised, Overlaps, overlaps_of
from lopub.estimation.joint_bits import ALL_FOLDS, JointBits
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.moments import Moments
from lopub.mechanism import Law
from lopub.view import View

CHUNK = 2**16
"""Reports whose bits are spread out at once."""


class Source(Protocol):
    """What estimates are made of: reports, or their counts."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def single_counts(self) -> Counts:
        """At least the counts of attributes, or of whole views: bits are counted much faster without their overlaps."""

    @property
    def moments(self) -> Moments:
        """What the counts say as linear equations."""

    @property
    def views(self) -> tuple[View, ...]:
        """Sets of attributes that some reports cover together; with counts of attributes and pairs, those."""

    def n_covering(self, clique: View) -> int:
        """How many reports cover all of these attributes."""

    def n_touching(self, clique: View) -> int:
        """How many reports cover at least one of these attributes, each counted once."""

    def evidence(self, clique: View) -> Evidence:
        """What is said about the clique. clique: positions in the domain, ascending."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts alone: enough for attributes and pairs with `direct`, for which they hold all that the reports say."""

    counts: Counts

    @property
    def campaign(self) -> Campaign:
        return self.counts.campaign

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(sorted({part for part, _ in self.counts.tables}))

    @property
    def single_counts(self) -> Counts:
        return self.counts

    @cached_property
    def moments(self) -> Moments:
        return Moments(self.counts)

    def n_covering(self, clique: View) -> int:
        return self.counts.n_covering(clique)

    def n_touching(self, clique: View) -> int:
        return self.counts.n_touching(clique)

    def evidence(self, clique: View) -> Evidence:
        if is_bits(self.campaign):
            raise NeedsReports("counts of bits are not enough for a likelihood; give the reports, or use method moments")
        shape = tuple(self.campaign.domain.sizes[position] for position in clique)
        return Evidence(shape, tuple(_counted_parts(self.counts, clique)))


@dataclass(frozen=True, eq=False)
class Reports:
    """A batch with an order of its rows, by SHA-256 of the report ids, so that the order of arrival does not matter."""

    batch: ReportBatch
    folds: NDArray[np.int8]
    """Of every row; ascending along the order: a fold is a range of hashes."""
    order: NDArray[np.int64]

    @classmethod
    def of(cls, batch: ReportBatch) -> "Reports":
        digests = digests_of(batch.ids)
        folds = folds_of(digests)
        if not is_bits(batch.campaign):
            return cls(batch, folds, np.arange(len(batch)))  # only counted, so their order is of no account
        return cls(batch, folds, order_of(batch.ids, digests))

    @property
    def campaign(self) -> Campaign:
        return self.batch.campaign

    @cached_property
    def counts(self) -> Counts:
        return count(self.batch)

    @cached_property
    def single_counts(self) -> Counts:
        needs_all = not is_bits(self.campaign) or "counts" in self.__dict__
        return self.counts if needs_all else count_singly(self.batch)

    @cached_property
    def moments(self) -> Moments:
        return Moments(self.counts)

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(view for view, n in zip(self.batch.views, self.n_of_view, strict=True) if n)

    @cached_property
    def n_of_view(self) -> NDArray[np.int64]:
        """How many reports have each view of the batch."""
        return np.bincount(self.batch.view_index, minlength=len(self.batch.views))

    def n_covering(self, clique: View) -> int:
        return int(self.n_of_view[self._covered[:, list(clique)].all(axis=1)].sum())

    def n_touching(self, clique: View) -> int:
        return int(self.n_of_view[self._covered[:, list(clique)].any(axis=1)].sum())

    @cached_property
    def _covered(self) -> NDArray[np.bool_]:
        """Which view of the batch covers which attribute."""
        covered = np.zeros((len(self.batch.views), len(self.campaign.domain)), dtype=bool)
        for number, view in enumerate(self.batch.views):
            covered[number, list(view)] = True
        return covered

    def evidence(self, clique: View) -> Evidence:
        if not is_bits(self.campaign) and len(clique) <= 2:
            return Counted(self.counts).evidence(clique)
        shape = tuple(self.campaign.domain.sizes[position] for position in clique)
        return Evidence(shape, tuple(sorted(self._parts(clique), key=lambda part: part.axes)))

    def _parts(self, clique: View) -> Iterator[Part]:
        if not is_bits(self.campaign):
            return _direct_parts(self, clique)
        return self.joint_bits.parts(clique) if self.campaign.jointly else _factorised(self, clique)

    @cached_property
    def joint_bits(self) -> JointBits:
        """Where whole views were randomized to bits: what they say together."""
        return JointBits(self)

    def rows_of(self, view_number: int) -> NDArray[np.int64]:
        """The rows of the reports with this view, in order."""
        rows, starts = self._by_view
        return rows[starts[view_number] : starts[view_number + 1]]

    @cached_property
    def _by_view(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        n_views = len(self.batch.views)
        if n_views == 1:
            return self.order, np.array([0, len(self.order)])
        views = self.batch.view_index[self.order]
        by_view = np.argsort(views, kind="stable")
        return self.order[by_view], np.searchsorted(views[by_view], np.arange(n_views + 1))

    def merged(self, rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """How several views' rows, one behind the other, are put into one order."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return np.argsort(place[np.concatenate(rows)], kind="stable")

    def fold_starts(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Where each fold begins among these rows, and where the last one ends."""
        return tuple(np.searchsorted(self.folds[rows], np.arange(N_FOLDS + 1)).tolist())

    @cached_property
    def answers(self) -> Answers:
        return answers_of(self.batch)


def evidence_of(source: Source, clique: View) -> Evidence:
    """What the reports say about the clique. clique: positions in the domain, ascending."""
    return source.evidence(clique)


def _views_by_part(batch: ReportBatch, clique: View) -> dict[View, list[int]]:
    """Covered part of the clique, as axes of it -> the views that cover just that part."""
    found: dict[View, list[int]] = {}
    for number, view in enumerate(batch.views):
        axes = tuple(axis for axis, position in enumerate(clique) if position in view)
        if axes:
            found.setdefault(axes, []).append(number)
    return found


# ---- direct


def _counted_parts(counts: Counts, clique: View) -> Iterator[Part]:
    """An attribute or a pair, from its tables; a report that covers one of the pair alone is in that one's table only."""
    if len(clique) == 1:
        yield from _parts_of(counts.campaign, (0,), clique, _tables(counts, clique))
        return
    both = _tables(counts, clique)
    for axis in (0, 1):
        alone = _tables(counts, (clique[axis],))
        for noise, table in both.items():
            alone[noise] = alone[noise] - table.sum(axis=2 - axis)
        yield from _parts_of(counts.campaign, (axis,), (clique[axis],), alone)
        if axis == 0:
            yield from _parts_of(counts.campaign, (0, 1), clique, both)


def _tables(counts: Counts, part: View) -> dict[int, NDArray[np.int64]]:
    """Noise -> counts, shape (n_folds, *sizes)."""
    return {noise: counts.tables[part, noise].counts for noise in counts.noises(part)}


def _parts_of(campaign: Campaign, axes: View, part: View, tables: dict[int, NDArray[np.int64]]) -> Iterator[Part]:
    """Counts by noise as evidence: one part for all noises jointly, one part a noise separately."""
    used = {noise: table for noise, table in sorted(tables.items()) if table.any()}
    if not used:
        return
    if not campaign.jointly:
        for noise, table in used.items():
            yield Contingency(axes, table, tuple(keep_of(campaign, position, noise) for position in part))
        return
    shape = next(iter(used.values())).shape[1:]
    counts = np.stack([table.reshape(N_FOLDS, -1) for table in used.values()], axis=1)
    yield KeptCell(axes, shape, counts, np.array([keep_of(campaign, part[0], noise) for noise in used]))


def _direct_parts(reports: Reports, clique: View) -> Iterator[Part]:
    """Counts of the answers seen, for each part of the clique that some reports cover."""
    answers, sizes = reports.answers, reports.campaign.domain.sizes
    columns = [answers.values[:, position] for position in clique]
    covered = sum((column >= 0).astype(np.int64) << axis for axis, column in enumerate(columns))
    for code in np.unique(covered):
        axes = tuple(axis for axis in range(len(clique)) if code >> axis & 1)
        if axes:
            rows = np.flatnonzero(covered == code)
            shape = tuple(sizes[clique[axis]] for axis in axes)
            cells = np.ravel_multi_index(tuple(columns[axis][rows] for axis in axes), shape)
            tables = _tables_of(reports, rows, cells, shape)
            yield from _parts_of(reports.campaign, axes, tuple(clique[axis] for axis in axes), tables)


def _tables_of(
    reports: Reports, rows: NDArray[np.int64], cells: NDArray[np.int64], shape: tuple[int, ...]
) -> dict[int, NDArray[np.int64]]:
    """The reports on these rows as counts per (fold, cell), by noise."""
    n_noises, n_cells = len(reports.answers.noises), int(np.prod(shape))
    place = (reports.answers.noise[rows] * N_FOLDS + reports.folds[rows]) * n_cells + cells
    counts = np.bincount(place, minlength=n_noises * N_FOLDS * n_cells).reshape(n_noises, N_FOLDS, *shape)
    return dict(zip(reports.answers.noises, counts, strict=True))


# ---- bits, separately


def _factorised(reports: Reports, clique: View) -> Iterator[Part]:
    batch = reports.batch
    for axes, numbers in _views_by_part(batch, clique).items():
        for n_blocks in sorted({len(batch.views[number]) for number in numbers}):
            chosen = [number for number in numbers if len(batch.views[number]) == n_blocks]
            rows = [reports.rows_of(number) for number in chosen]
            order = reports.merged(rows) if len(rows) > 1 else rows[0][:0]
            tables, slopes = [], []
            for axis in axes:
                places = [(number, batch.views[number].index(clique[axis])) for number in chosen]
                law = batch.channels(chosen[0])[places[0][1]].law()
                parts = [_overlaps_in(batch, number, at, law, own) for (number, at), own in zip(places, rows, strict=True)]
                tables.append(parts[0] if len(parts) == 1 else np.concatenate(parts)[order])
                slopes.append(law.slope)
            starts = reports.fold_starts(rows[0] if len(rows) == 1 else np.concatenate(rows)[order])
            yield Factorised(axes, tuple(tables), tuple(slopes), starts, ALL_FOLDS)


def _overlaps_in(batch: ReportBatch, number: int, at: int, law: Law, rows: NDArray[np.int64]) -> Overlaps:
    """Of one block on these rows of a view; a chunk at a time, because bits spread out take eight times their room."""
    overlaps = np.empty((len(rows), law.n_candidates), dtype=np.uint8)
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        overlaps[start : start + CHUNK] = overlaps_of(batch.block_bits(number, at, chunk), law)
    return overlaps
