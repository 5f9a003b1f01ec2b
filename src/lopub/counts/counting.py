"""One pass over blocks of reports: their counts."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from lopub.batch import N_FOLDS, ReportBatch, answers_of, digests_of, folds_of
from lopub.campaign import Campaign
from lopub.counts.columns import WORDS, Columns, add_contingency, add_overlaps, lay_columns
from lopub.counts.counts import Counts, Integers, Key, Table, is_bits, shape_of
from lopub.errors import DomainError
from lopub.view import View

CHUNK = 2**16
"""Reports whose answers are spread out at once."""


def count(reports: ReportBatch | Iterable[ReportBatch], *, done: Callable[[int], None] | None = None) -> Counts:
    """The counts of a batch, or of blocks that come one by one, so that they may be more than memory holds.

    done: told after every block how many reports are counted.
    """
    total: Counts | None = None
    for block in [reports] if isinstance(reports, ReportBatch) else reports:
        counted = _counted(block)
        total = counted if total is None else total + counted
        if done:
            done(len(total))
    if total is None:
        raise DomainError("no batches to count")
    return total


def count_singly(batch: ReportBatch) -> Counts:
    """The counts without the overlaps of two bits: of many attributes these take most of the room and of the time."""
    return _counted(batch, overlaps=False)


def _counted(batch: ReportBatch, *, overlaps: bool = True) -> Counts:
    campaign = batch.campaign
    of_bits = _view_ones if campaign.jointly else _overlaps if overlaps else _attribute_ones
    make = of_bits if is_bits(campaign) else _contingency
    tables = {key: table for key, table in make(batch) if table.n_reports}
    return Counts(campaign=campaign, n_reports=len(batch), tables=dict(sorted(tables.items())), refused=dict(batch.refused))


# ---- direct


def _contingency(batch: ReportBatch) -> Iterator[tuple[Key, Table]]:
    total: Counts | None = None
    for start in range(0, len(batch), CHUNK):
        block = batch[start : start + CHUNK] if len(batch) > CHUNK else batch
        part = Counts(campaign=batch.campaign, n_reports=len(block), tables=dict(_contingency_of_chunk(block)))
        total = part if total is None else total + part
    if total is not None:
        yield from total.tables.items()


def _contingency_of_chunk(batch: ReportBatch) -> Iterator[tuple[Key, Table]]:
    answers, folds = answers_of(batch), folds_of(digests_of(batch.ids))
    sizes = np.array(batch.campaign.domain.sizes)
    starts, keys, n_cells = _table_starts(batch, answers.noise, answers.noises, sizes)
    flat = np.zeros(n_cells, dtype=np.int64)
    add_contingency(answers.values, folds, answers.noise, starts, sizes, flat)
    for part, noise, start in keys:
        shape = shape_of(batch.campaign, (part, noise))
        counts = flat[start : start + int(np.prod(shape))].reshape(shape)
        yield (part, noise), Table(int(counts.sum()), counts.copy())


def _table_starts(
    batch: ReportBatch, noise: NDArray[np.int64], noises: tuple[int, ...], sizes: NDArray[np.int64]
) -> tuple[Integers, list[tuple[View, int, int]], int]:
    """Where each table that some view needs begins; the tables as (attributes, noise, start); and the cells of all."""
    covered = np.zeros((len(batch.views), len(sizes)), dtype=np.int64)
    for number, view in enumerate(batch.views):
        covered[number, list(view)] = 1
    starts = np.full((len(noises), len(sizes), len(sizes)), -1, dtype=np.int64)
    keys: list[tuple[View, int, int]] = []
    n_cells = 0
    for index, value in enumerate(noises):
        views = np.unique(batch.view_index[noise == index])
        for a, b in np.argwhere(np.triu(covered[views].T @ covered[views])).tolist():
            starts[index, a, b] = n_cells
            keys.append(((a,) if a == b else (a, b), value, n_cells))
            n_cells += N_FOLDS * int(sizes[a] if a == b else sizes[a] * sizes[b])
    return starts, keys, n_cells


# ---- single bits


def _view_ones(batch: ReportBatch) -> Iterator[tuple[Key, Table]]:
    """Of jointly randomized views."""
    for number, view in enumerate(batch.views):
        yield (view, 0), _ones(batch, number, 0, (view, 0))


def _attribute_ones(batch: ReportBatch) -> Iterator[tuple[Key, Table]]:
    """Of separately randomized attributes."""
    found: dict[Key, Table] = {}
    for number, view in enumerate(batch.views):
        for at, position in enumerate(view):
            key = ((position,), len(view))
            table = _ones(batch, number, at, key)
            found[key] = found[key] + table if key in found else table
    yield from found.items()


def _ones(batch: ReportBatch, number: int, block: int, key: Key) -> Table:
    rows, ones = batch.rows_of(number), np.zeros(shape_of(batch.campaign, key), dtype=np.int64)
    for start in range(0, len(rows), CHUNK):
        ones += batch.block_bits(number, block, rows[start : start + CHUNK]).sum(axis=0, dtype=np.int64)
    return Table(len(rows), ones)


# ---- bits of separately randomized attributes, and their overlaps


def _overlaps(batch: ReportBatch) -> Iterator[tuple[Key, Table]]:
    """For each size of view, the overlaps of all columns; what a report does not cover is zero there, and adds nothing."""
    for noise in sorted({len(view) for view in batch.views}):
        numbers = [number for number, view in enumerate(batch.views) if len(view) == noise]
        starts = _column_starts(batch.campaign, noise)
        together = np.zeros((int(starts[-1]), int(starts[-1])), dtype=np.int64)
        tiles = chain.from_iterable(_tiles(batch, number, starts) for number in numbers)
        _add_tiles(tiles, starts, together)
        n_together = covered_together(batch, numbers)
        for a in range(len(starts) - 1):
            mine = slice(starts[a], starts[a + 1])
            yield ((a,), noise), Table(int(n_together[a, a]), np.diagonal(together)[mine].copy())
        for a, b in combinations(range(len(starts) - 1), 2):
            pair = together[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
            yield ((a, b), noise), Table(int(n_together[a, b]), pair.copy())


def _column_starts(campaign: Campaign, noise: int) -> Integers:
    """Where each attribute's columns begin among all; and where the last one's end."""
    widths = [campaign.mechanism.channel((attribute,), noise).width for attribute in campaign.domain.attributes]
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def covered_together(batch: ReportBatch, numbers: Iterable[int]) -> Integers:
    """How many reports of these views cover each two attributes; on the diagonal, each one. shape (d, d)."""
    d = len(batch.campaign.domain)
    total = np.zeros((d, d), dtype=np.int64)
    for number in numbers:
        view = np.array(batch.views[number])
        total[np.ix_(view, view)] += len(batch.rows_of(number))
    return total


def _tiles(batch: ReportBatch, number: int, starts: Integers) -> Iterator[Columns]:
    """The columns of one view's reports, a few words at a time."""
    view, rows = batch.views[number], batch.rows_of(number)
    places = np.concatenate([np.arange(starts[position], starts[position + 1]) for position in view])
    padded = np.full(8 * batch.campaign.payload_bytes(view), -1, dtype=np.int64)
    padded[: len(places)] = places
    for start in range(0, len(rows), 64 * WORDS):
        data = batch.payloads.matrix(rows[start : start + 64 * WORDS])
        columns = np.zeros((int(starts[-1]), (len(data) + 63) // 64), dtype=np.uint64)
        lay_columns(data, padded, columns, 0)
        yield columns


def _add_tiles(tiles: Iterator[Columns], starts: Integers, together: Integers) -> None:
    """Every core takes some of the columns; none writes where another does."""
    ends = np.repeat(starts[1:], np.diff(starts))
    shares = _equal_shares(ends, os.cpu_count() or 1)
    with ThreadPoolExecutor(len(shares)) as pool:
        for columns in tiles:
            tasks = [pool.submit(add_overlaps, columns, ends, low, high, together) for low, high in shares]
            for task in tasks:
                task.result()


def _equal_shares(ends: Integers, n_shares: int) -> list[tuple[int, int]]:
    """Ranges of columns with about the same number of overlaps right of them."""
    work = np.cumsum(len(ends) - ends + 1)
    cuts = np.searchsorted(work, work[-1] * np.arange(1, n_shares) / n_shares).tolist()
    bounds = [0, *cuts, len(ends)]
    return [(low, high) for low, high in pairwise(bounds) if low < high]
