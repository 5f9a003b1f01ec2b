"""Bits of jointly randomized views: by fold, how many reports there are, and how often each bit was a one."""

from itertools import pairwise
from typing import ClassVar

import numpy as np

from lopub.bulk import VIEW_BITS, bulk_of
from lopub.campaign.campaign import Campaign
from lopub.reports.batch import N_FOLDS, ReportBatch, digests_of, folds_of
from lopub.reports.counts.forms import Form, Integers, Key, Table, Tables

CHUNK = 2**24
"""Bits that are spread out at once, of as many reports as that takes."""


class ViewBits(Form):
    """A key is a whole view; its noise is always 0. The first column stands for a bit that is always one."""

    name: ClassVar[str] = VIEW_BITS
    whole_views: ClassVar[bool] = True

    def tables(self, batch: ReportBatch) -> Tables:
        """The rows are ordered by view and fold, with as little beside the batch as that takes."""
        places = batch.view_index.astype(np.min_scalar_type(N_FOLDS * len(batch.views)))
        places *= N_FOLDS
        places += folds_of(digests_of(batch.ids)).astype(places.dtype)
        bounds = [0, *np.cumsum(np.bincount(places, minlength=N_FOLDS * len(batch.views))).tolist()]
        rows = np.argsort(places, kind="stable")
        for number, view in enumerate(batch.views):
            of_view = bounds[N_FOLDS * number : N_FOLDS * (number + 1) + 1]
            own = [ones_of(batch, number, 0, rows[start:stop]) for start, stop in pairwise(of_view)]
            counts = np.stack([np.append(table.n_reports, table.counts) for table in own])
            yield (view, 0), Table(of_view[-1] - of_view[0], counts)

    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        return (N_FOLDS, 1 + campaign.channels(key[0])[0].law().n_bits)

    def can_have(self, campaign: Campaign, key: Key) -> bool:
        return key[1] == 0 and campaign.view.can_draw(key[0], campaign.domain.sizes)

    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        law = campaign.channels(key[0])[0].law()
        return [float(law.p - law.q)] * len(key[0])

    def holds_all(self, campaign: Campaign) -> bool:
        return bulk_of(campaign.mechanism).counts_tell_cells

    def fits(self, table: Table) -> bool:
        n = table.counts[:, :1]
        return bool(
            table.counts.min() >= 0
            and (table.counts <= n).all()
            and int(n.sum()) == table.n_reports
        )

    def ones(self, table: Table) -> Integers:
        summed: Integers = table.counts[:, 1:].sum(axis=0)
        return summed


def ones_of(batch: ReportBatch, number: int, block: int, rows: Integers | None = None) -> Table:
    """Of one block, in the reports of one view, or in some of them."""
    chosen = batch.rows_of(number) if rows is None else rows
    ones = np.zeros(batch.channels(number)[block].law().n_bits, dtype=np.int64)
    n_at_once = max(1, CHUNK // len(ones))
    for start in range(0, len(chosen), n_at_once):
        ones += batch.block_bits(number, block, chosen[start : start + n_at_once]).sum(
            axis=0, dtype=np.int64
        )
    return Table(len(chosen), ones)
