"""From a batch and a clique to evidence, for every mechanism and view."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lopub.batch import Packed, ReportBatch
from lopub.estimation.contingency import Contingency
from lopub.estimation.dense import Dense
from lopub.estimation.evidence import EVERY_FOLD, N_FOLDS, Evidence, Part
from lopub.estimation.factorised import Factorised, Overlaps
from lopub.estimation.kept_cell import KeptCell
from lopub.mechanism import Channel, Law
from lopub.mechanism.direct import DirectChannel
from lopub.view import View

CHUNK = 2**16
"""Reports whose hashes are made, or whose bits are spread out, at once."""
ALL_FOLDS = tuple(sorted(EVERY_FOLD))


@dataclass(frozen=True, eq=False)
class Reports:
    """A batch with an order of its rows, by SHA-256 of the report ids, so that the order of arrival does not matter."""

    batch: ReportBatch
    folds: NDArray[np.int8]
    """Of every row; ascending along the order: a fold is a range of hashes."""
    order: NDArray[np.int64]

    @classmethod
    def of(cls, batch: ReportBatch) -> "Reports":
        digests = _digests(batch.ids)
        folds = _folds(digests)
        if _is_direct(batch):
            return cls(batch, folds, np.arange(len(batch)))  # only counted, so their order is of no account
        order = np.argsort(digests, kind="stable")
        ordered = digests[order]
        if (ordered[1:] == ordered[:-1]).any():  # fall back to the ids themselves
            order = np.lexsort((*batch.ids.T[::-1], digests))
        return cls(batch, folds, order)

    @cached_property
    def n_of_view(self) -> NDArray[np.int64]:
        """How many reports have each view."""
        return np.bincount(self.batch.view_index, minlength=len(self.batch.views))

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
    def is_direct(self) -> bool:
        return _is_direct(self.batch)

    @cached_property
    def answers(self) -> "Answers":
        return joint_answers(self.batch) if self.batch.campaign.jointly else separate_answers(self.batch)


def _is_direct(batch: ReportBatch) -> bool:
    return bool(batch.views) and isinstance(batch.channels(0)[0], DirectChannel)


def _digests(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first 8 bytes of SHA-256 of each id."""
    digests = np.empty(len(ids), dtype=np.uint64)
    for start in range(0, len(ids), CHUNK):
        data = ids[start : start + CHUNK].tobytes()
        hashes = [hashlib.sha256(data[at : at + 16]).digest()[:8] for at in range(0, len(data), 16)]
        digests[start : start + CHUNK] = np.frombuffer(b"".join(hashes), ">u8")
    return digests


def _folds(digests: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Equal ranges of the hashes' first 32 bits."""
    scaled = digests >> np.uint64(32)
    scaled *= np.uint64(N_FOLDS)
    scaled >>= np.uint64(32)
    return scaled.astype(np.int8)


def evidence_of(reports: Reports, clique: View) -> Evidence:
    """What the reports say about the clique. clique: positions in the domain, ascending."""
    batch = reports.batch
    shape = tuple(batch.campaign.domain.sizes[position] for position in clique)
    make = _direct_parts if reports.is_direct else _dense if batch.campaign.jointly else _factorised
    return Evidence(shape, tuple(sorted(make(reports, clique), key=lambda part: part.axes)))


def _views_by_part(batch: ReportBatch, clique: View) -> dict[View, list[int]]:
    """Covered part of the clique, as axes of it -> the views that cover just that part."""
    found: dict[View, list[int]] = {}
    for number, view in enumerate(batch.views):
        axes = tuple(axis for axis, position in enumerate(clique) if position in view)
        if axes:
            found.setdefault(axes, []).append(number)
    return found


# ---- direct


def _direct_parts(reports: Reports, clique: View) -> Iterator[Part]:
    """Counts of the answers seen, for each part of the clique that some reports cover."""
    answers, sizes = reports.answers, reports.batch.campaign.domain.sizes
    columns = [answers.values[:, position] for position in clique]
    covered = sum((column >= 0).astype(np.int64) << axis for axis, column in enumerate(columns))
    for code in np.unique(covered):
        axes = tuple(axis for axis in range(len(clique)) if code >> axis & 1)
        if axes:
            rows = np.flatnonzero(covered == code)
            shape = tuple(sizes[clique[axis]] for axis in axes)
            cells = np.ravel_multi_index(tuple(columns[axis][rows] for axis in axes), shape)
            yield from _counted(reports, rows, axes, tuple(clique[axis] for axis in axes), shape, cells)


def _counted(
    reports: Reports, rows: NDArray[np.int64], axes: View, part: View, shape: tuple[int, ...], cells: NDArray[np.int64]
) -> Iterator[Part]:
    """The reports on these rows as counts per (fold, noise, cell): one part jointly, one part a noise separately."""
    answers = reports.answers
    n_noises, n_cells = len(answers.keeps), int(np.prod(shape))
    place = (reports.folds[rows].astype(np.int64) * n_noises + answers.noise[rows]) * n_cells + cells
    counts = np.bincount(place, minlength=N_FOLDS * n_noises * n_cells).reshape(N_FOLDS, n_noises, n_cells)
    used = np.flatnonzero(counts.sum(axis=(0, 2)))
    if reports.batch.campaign.jointly:
        yield KeptCell(axes, shape, counts[:, used], np.array([answers.keeps[noise][0] for noise in used]))
        return
    for noise in used:
        keeps = tuple(answers.keeps[noise][position] for position in part)
        yield Contingency(axes, counts[:, noise].reshape(N_FOLDS, *shape), keeps)


@dataclass(frozen=True, eq=False)
class Answers:
    """What `direct` reports say, attribute by attribute.

    values: shape (n, n_attributes), -1 where a report does not cover the attribute. noise: shape (n,), which of `keeps`
    a report was randomized with. keeps: jointly, one keep for each number of cells; separately, one keep an attribute.
    """

    values: NDArray[np.int32]
    noise: NDArray[np.int64]
    keeps: tuple[tuple[float, ...], ...]


def joint_answers(batch: ReportBatch) -> Answers:
    """Jointly randomized: take every report's cell apart, last attribute first."""
    sizes, n = batch.campaign.domain.sizes, len(batch)
    covered = np.ones((n, len(sizes)), dtype=np.uint8)
    if batch.campaign.view.masked:
        covered = np.unpackbits(batch.masks, axis=1, bitorder="little")[:, : len(sizes)]
    values = np.full((n, len(sizes)), -1, dtype=np.int32, order="F")
    rest = batch.cells()
    for position in reversed(range(len(sizes))):
        rows = np.flatnonzero(covered[:, position])
        values[rows, position] = rest[rows] % sizes[position]
        rest[rows] //= sizes[position]
    channels = [_direct(batch.channels(number)[0]) for number in range(len(batch.views))]
    keep_of = {channel.n_candidates: float(channel.keep) for channel in channels}
    distinct = sorted(keep_of)
    place = np.searchsorted(distinct, [channel.n_candidates for channel in channels])
    return Answers(values, place[batch.view_index].astype(np.int64), tuple((keep_of[n_cells],) for n_cells in distinct))


def separate_answers(batch: ReportBatch) -> Answers:
    """Separately randomized: one number an attribute; the noise depends on how many there are."""
    d = len(batch.campaign.domain)
    values = np.full((len(batch), d), -1, dtype=np.int32, order="F")
    lengths = sorted({len(view) for view in batch.views})
    keeps = np.zeros((len(lengths), d))
    for number, view in enumerate(batch.views):
        rows, start = batch.rows_of(number), 0
        data = batch.payloads.matrix(rows)
        for position, channel in zip(view, batch.channels(number), strict=True):
            end = start + channel.width // 8
            values[rows, position] = Packed.from_matrix(data[:, start:end]).numbers()
            keeps[lengths.index(len(view)), position] = float(_direct(channel).keep)
            start = end
    noise = np.array([lengths.index(len(view)) for view in batch.views], dtype=np.int64)[batch.view_index]
    return Answers(values, noise, tuple(tuple(row) for row in keeps.tolist()))


def _direct(channel: Channel) -> DirectChannel:
    if not isinstance(channel, DirectChannel):
        raise TypeError("a direct campaign has direct channels")
    return channel


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


def overlaps_of(bits: NDArray[np.uint8], law: Law) -> Overlaps:
    """How many of each candidate's code bits a report has set. bits: shape (n, n_bits)."""
    if law.rows is None:
        return bits
    overlaps = np.zeros((len(bits), law.n_candidates), dtype=np.uint8)
    columns = np.asfortranarray(bits)
    for candidate, row in enumerate(law.rows):
        for position in row:
            overlaps[:, candidate] += columns[:, position]
    return overlaps


# ---- bits, jointly


def _dense(reports: Reports, clique: View) -> Iterator[Part]:
    """Only views that lie within the clique: the bits of any other also depend on what is outside."""
    batch = reports.batch
    for number, view in enumerate(batch.views):
        if set(view) <= set(clique):
            axes = tuple(clique.index(position) for position in view)
            yield dense_part(reports, number, axes)


def dense_part(reports: Reports, view_number: int, axes: tuple[int, ...]) -> Dense:
    batch = reports.batch
    law = batch.channels(view_number)[0].law()
    rows = reports.rows_of(view_number)
    overlaps = overlaps_of(batch.block_bits(view_number, 0, rows), law).astype(np.int16)
    levels = np.exp(-law.slope * np.arange(law.weight + 1)).astype(np.float32)
    likelihood = levels[overlaps.max(axis=1, keepdims=True) - overlaps]
    shape = tuple(batch.campaign.domain.sizes[position] for position in batch.views[view_number])
    return Dense(axes, shape, likelihood, reports.fold_starts(rows), ALL_FOLDS)
