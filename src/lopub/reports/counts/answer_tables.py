"""Answers: contingency counts of attributes and pairs, by fold. They hold all that such reports say about these."""

import math
from itertools import chain, combinations, combinations_with_replacement
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import ANSWERS, bulk_of
from lopub.bulk.records import padded_views
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.reports.batch import N_FOLDS, ReportBatch
from lopub.reports.counts.columns import add_cells, add_contingency
from lopub.reports.counts.forms import Form, GrowingTables, Integers, Key, Table, Tables

CHUNK = 2**16
"""Reports whose answers are spread out at once."""
MOST_CELLS = 2**21
"""Of all views that are counted cell by cell: 16 MiB, about what a processor's caches hold."""


class AnswerTables(Form):
    """A key's noise is, jointly, the number of cells of the view; separately, the number of attributes in it."""

    name: ClassVar[str] = ANSWERS

    def tables(self, batch: ReportBatch) -> Tables:
        tally = self.tally(batch.campaign)
        tally.add(batch)
        return tally.tables()

    def tally(self, campaign: Campaign) -> GrowingTables:
        return CellTally(campaign) if campaign.jointly else AnswerTally(campaign)

    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        return (N_FOLDS, *(campaign.domain.sizes[position] for position in key[0]))

    def can_have(self, campaign: Campaign, key: Key) -> bool:
        clique, noise = key
        if not campaign.jointly:
            return len(clique) <= 2 and noise in campaign.mechanism.noise
        sizes = campaign.domain.sizes
        cells = int(np.prod([sizes[position] for position in clique]))
        return (
            len(clique) <= 2 and 0 < noise <= campaign.view.most_cells(sizes) and noise % cells == 0
        )

    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        clique, noise = key
        return [bulk_of(campaign.mechanism).keep(campaign, position, noise) for position in clique]

    def holds_all(self, campaign: Campaign) -> bool:
        return True

    def fits(self, table: Table) -> bool:
        return super().fits(table) and int(table.counts.sum()) == table.n_reports

    def at_least(self, pair: Table, axis: int) -> Integers:
        seen: Integers = pair.counts.sum(axis=2 - axis)
        return seen

    def ones(self, table: Table) -> Integers:
        """An answer is one bit among the candidates' own."""
        seen: Integers = table.counts.sum(axis=0)
        return seen


class AnswerTally(GrowingTables):
    """One array of all cells, in which a table begins where the first report that needs it was met."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._sizes = np.array(campaign.domain.sizes, dtype=np.int64)
        self._noises: dict[int, int] = {}
        self._met: set[tuple[Clique, int]] = set()
        self._starts = np.empty((0, len(self._sizes), len(self._sizes)), dtype=np.int64)
        self._place_of: dict[Key, int] = {}
        self._flat: Integers = np.zeros(0, dtype=np.int64)

    def add(self, batch: ReportBatch) -> None:
        for start in range(0, len(batch), CHUNK):
            self._add_chunk(batch[start : start + CHUNK] if len(batch) > CHUNK else batch)

    def _add_chunk(self, batch: ReportBatch) -> None:
        answers = bulk_of(batch.campaign.mechanism).answers(batch)
        numbers = np.array(
            [self._noises.setdefault(noise, len(self._noises)) for noise in answers.noises],
            dtype=np.int64,
        )
        self._make_room(batch, answers.noise, answers.noises)
        noise, views = numbers[answers.noise], padded_views(batch.views)
        add_contingency(
            answers.values,
            batch.view_index,
            views,
            batch.folds,
            noise,
            self._starts,
            self._sizes,
            self._flat,
        )

    def _make_room(
        self, batch: ReportBatch, noise: NDArray[np.int64], noises: tuple[int, ...]
    ) -> None:
        """Places for the tables of views that were not met before."""
        rows = np.full(len(batch.views), -1, dtype=np.int64)
        rows[batch.view_index] = np.arange(len(batch))
        used = {
            (view, noises[noise[row]])
            for view, row in zip(batch.views, rows.tolist(), strict=True)
            if row >= 0
        }
        if used <= self._met:
            return
        d, n_cells = len(self._sizes), len(self._flat)
        more = np.full((len(self._noises) - len(self._starts), d, d), -1, dtype=np.int64)
        self._starts = np.concatenate([self._starts, more])
        for view, value in sorted(used - self._met):
            for a, b in combinations_with_replacement(view, 2):
                key = ((a,) if a == b else (a, b), value)
                if key not in self._place_of:
                    self._place_of[key] = self._starts[self._noises[value], a, b] = n_cells
                    n_cells += math.prod(FORM.shape(self._campaign, key))
        self._flat = np.concatenate(
            [self._flat, np.zeros(n_cells - len(self._flat), dtype=np.int64)]
        )
        self._met |= used

    def tables(self) -> Tables:
        for key, start in sorted(self._place_of.items()):
            shape = FORM.shape(self._campaign, key)
            counts = self._flat[start : start + math.prod(shape)].reshape(shape)
            yield key, Table(int(counts.sum()), counts.copy())


class CellTally(GrowingTables):
    """Jointly randomized: how often each cell of a view was named, in one step for each report; the tables are sums of that.
    Where views and cells are too many, the reports are counted attribute by attribute."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._starts: dict[Clique, int] = {}
        self._flat: Integers = np.zeros(0, dtype=np.int64)
        self._others = AnswerTally(campaign)

    def add(self, batch: ReportBatch) -> None:
        if not self._make_room(batch.views):
            self._others.add(batch)
            return
        starts = np.array([self._starts[view] for view in batch.views], dtype=np.int64)
        n_cells = np.array([math.prod(self._shape(view)) for view in batch.views], dtype=np.int64)
        for start in range(0, len(batch), CHUNK):
            block = batch[start : start + CHUNK] if len(batch) > CHUNK else batch
            add_cells(block.cells(), block.folds, block.view_index, starts, n_cells, self._flat)

    def _make_room(self, views: tuple[Clique, ...]) -> bool:
        """Whether all of these views have their place now."""
        met = [view for view in views if view not in self._starts]
        ends = np.cumsum(
            [len(self._flat), *(N_FOLDS * math.prod(self._shape(view)) for view in met)],
            dtype=object,
        )
        if ends[-1] > MOST_CELLS:
            return False
        self._starts |= dict(zip(met, ends[:-1].tolist(), strict=True))
        self._flat = (
            np.concatenate([self._flat, np.zeros(ends[-1] - len(self._flat), dtype=np.int64)])
            if met
            else self._flat
        )
        return True

    def _shape(self, view: Clique) -> tuple[int, ...]:
        return tuple(self._campaign.domain.sizes[position] for position in view)

    def tables(self) -> Tables:
        total = dict(self._others.tables())
        for view, start in sorted(self._starts.items()):
            shape = self._shape(view)
            noise = math.prod(shape)
            seen = self._flat[start : start + N_FOLDS * noise].reshape(N_FOLDS, *shape)
            for part in chain(combinations(range(len(view)), 1), combinations(range(len(view)), 2)):
                counts = seen.sum(
                    axis=tuple(1 + axis for axis in range(len(view)) if axis not in part)
                )
                key, table = (
                    (tuple(view[axis] for axis in part), noise),
                    Table(int(counts.sum()), counts),
                )
                total[key] = total[key] + table if key in total else table
        yield from sorted(total.items())


FORM = AnswerTables()
