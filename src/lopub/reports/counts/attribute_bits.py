"""Bits of separately randomized attributes: how often each was a one, and each two of different attributes together."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, pairwise
from typing import ClassVar

import numpy as np

from lopub.bulk import ATTRIBUTE_BITS, bulk_of
from lopub.campaign.campaign import Campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.counts.columns import WORDS, Columns, add_overlaps, lay_columns
from lopub.reports.counts.forms import Form, GrowingTables, Integers, Key, Table, Tables
from lopub.reports.counts.view_bits import ones_of
from lopub.reports.threads import threads

MOST_PUBLISHED_BITS = 2_048
"""Of all attributes together: the overlaps of so many are 4 million numbers."""


class AttributeBits(Form):
    """A key's noise is the number of attributes in the view."""

    name: ClassVar[str] = ATTRIBUTE_BITS

    def tables(self, batch: ReportBatch) -> Tables:
        tally = self.tally(batch.campaign)
        tally.add(batch)
        return tally.tables()

    def tally(self, campaign: Campaign) -> GrowingTables:
        return OverlapTally(campaign)

    def single_tables(self, batch: ReportBatch) -> Tables:
        found: dict[Key, Table] = {}
        for number, view in enumerate(batch.views):
            for at, position in enumerate(view):
                key, table = ((position,), len(view)), ones_of(batch, number, at)
                found[key] = found[key] + table if key in found else table
        yield from found.items()

    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        return tuple(campaign.channel_at(position, key[1]).law().n_bits for position in key[0])

    def can_have(self, campaign: Campaign, key: Key) -> bool:
        return len(key[0]) <= 2 and key[1] in campaign.mechanism.noise

    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        laws = [campaign.channel_at(position, key[1]).law() for position in key[0]]
        return [float(law.p - law.q) for law in laws]

    def can_be_published(self, campaign: Campaign) -> bool:
        return all(
            int(_column_starts(campaign, noise)[-1]) <= MOST_PUBLISHED_BITS
            for noise in campaign.mechanism.noise
        )

    def at_least(self, pair: Table, axis: int) -> Integers:
        seen: Integers = pair.counts.max(axis=1 - axis)
        return seen


class OverlapTally(GrowingTables):
    """For each size of view, the overlaps of all columns; what a report does not cover is zero there, and adds nothing."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._overlaps: dict[int, Integers] = {}
        self._n_together: dict[int, Integers] = {}

    def add(self, batch: ReportBatch) -> None:
        for noise in sorted({len(view) for view in batch.views}):
            numbers = [number for number, view in enumerate(batch.views) if len(view) == noise]
            starts, n_together = (
                _column_starts(self._campaign, noise),
                covered_together(batch, numbers),
            )
            if noise not in self._overlaps:
                self._overlaps[noise] = np.zeros((int(starts[-1]), int(starts[-1])), dtype=np.int64)
                self._n_together[noise] = np.zeros_like(n_together)
            tiles = chain.from_iterable(_tiles(batch, number, starts) for number in numbers)
            _add_tiles(tiles, starts, self._overlaps[noise])
            self._n_together[noise] += n_together

    def tables(self) -> Tables:
        for noise, together in sorted(self._overlaps.items()):
            starts, n_together = _column_starts(self._campaign, noise), self._n_together[noise]
            for a in range(len(starts) - 1):
                mine = slice(starts[a], starts[a + 1])
                yield (
                    ((a,), noise),
                    Table(int(n_together[a, a]), np.diagonal(together)[mine].copy()),
                )
            for a, b in combinations(range(len(starts) - 1), 2):
                pair = together[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
                yield ((a, b), noise), Table(int(n_together[a, b]), pair.copy())


def _column_starts(campaign: Campaign, noise: int) -> Integers:
    """Where each attribute's columns begin among all; and where the last one's end."""
    widths = [
        campaign.channel_at(position, noise).law().n_bits
        for position in range(len(campaign.domain))
    ]
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
    places = np.concatenate(
        [np.arange(starts[position], starts[position + 1]) for position in view]
    )
    padded = np.full(-(-len(places) // 8) * 8, -1, dtype=np.int64)
    padded[: len(places)] = places
    bulk, channels = bulk_of(batch.campaign.mechanism), batch.channels(number)
    for start in range(0, len(rows), 64 * WORDS):
        data = bulk.law_bits(channels, batch.payloads.matrix(rows[start : start + 64 * WORDS]))
        columns = np.zeros((int(starts[-1]), (len(data) + 63) // 64), dtype=np.uint64)
        lay_columns(data, padded, columns, 0)
        yield columns


def _add_tiles(tiles: Iterator[Columns], starts: Integers, together: Integers) -> None:
    """Every core takes some of the columns; none writes where another does."""
    ends = np.repeat(starts[1:], np.diff(starts))
    shares = _equal_shares(ends, os.cpu_count() or 1)
    with threads(len(shares)) as pool:
        for columns in tiles:
            tasks = [
                pool.submit(add_overlaps, columns, ends, low, high, together)
                for low, high in shares
            ]
            for task in tasks:
                task.result()


def _equal_shares(ends: Integers, n_shares: int) -> list[tuple[int, int]]:
    """Ranges of columns with about the same number of overlaps right of them."""
    work = np.cumsum(len(ends) - ends + 1)
    cuts = np.searchsorted(work, work[-1] * np.arange(1, n_shares) / n_shares).tolist()
    bounds = [0, *cuts, len(ends)]
    return [(low, high) for low, high in pairwise(bounds) if low < high]
