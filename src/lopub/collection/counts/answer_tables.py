"""Answers: contingency counts of attributes and pairs, by fold. They hold all that such reports say about these."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lopub.collection.batch import N_FOLDS, ReportBatch, digests_of, folds_of
from lopub.collection.counts.columns import add_contingency
from lopub.collection.counts.forms import Form, Integers, Key, Table, Tables
from lopub.contract.campaign import Campaign
from lopub.contract.view import View
from lopub.laws import ANSWERS, bulk_of

CHUNK = 2**16
"""Reports whose answers are spread out at once."""


class AnswerTables(Form):
    """A key's noise is, jointly, the number of cells of the view; separately, the number of attributes in it."""

    name: ClassVar[str] = ANSWERS

    def tables(self, batch: ReportBatch) -> Tables:
        total: dict[Key, Table] = {}
        for start in range(0, len(batch), CHUNK):
            block = batch[start : start + CHUNK] if len(batch) > CHUNK else batch
            for key, table in self._tables_of_chunk(block):
                total[key] = total[key] + table if key in total else table
        yield from sorted(total.items())

    def _tables_of_chunk(self, batch: ReportBatch) -> Tables:
        answers, folds = bulk_of(batch.campaign.mechanism).answers(batch), folds_of(digests_of(batch.ids))
        sizes = np.array(batch.campaign.domain.sizes)
        starts, keys, n_cells = _table_starts(batch, answers.noise, answers.noises, sizes)
        flat = np.zeros(n_cells, dtype=np.int64)
        add_contingency(answers.values, folds, answers.noise, starts, sizes, flat)
        for part, noise, start in keys:
            shape = self.shape(batch.campaign, (part, noise))
            counts = flat[start : start + int(np.prod(shape))].reshape(shape)
            yield (part, noise), Table(int(counts.sum()), counts.copy())

    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        return (N_FOLDS, *(campaign.domain.sizes[position] for position in key[0]))

    def can_have(self, campaign: Campaign, key: Key) -> bool:
        part, noise = key
        if not campaign.jointly:
            return len(part) <= 2 and noise in campaign.mechanism.noise
        sizes = campaign.domain.sizes
        cells = int(np.prod([sizes[position] for position in part]))
        return len(part) <= 2 and 0 < noise <= campaign.view.most_cells(sizes) and noise % cells == 0

    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        part, noise = key
        return [bulk_of(campaign.mechanism).keep(campaign, position, noise) for position in part]

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
