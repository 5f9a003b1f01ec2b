"""Bits of jointly randomized views: how often each was a one."""

from typing import ClassVar

import numpy as np

from lopub.collection.batch import ReportBatch
from lopub.collection.counts.forms import Form, Key, Table, Tables
from lopub.contract.campaign import Campaign
from lopub.laws import VIEW_BITS

CHUNK = 2**26
"""Bits that are spread out at once, of as many reports as that takes."""


class ViewBits(Form):
    """A key is a whole view; its noise is always 0."""

    name: ClassVar[str] = VIEW_BITS
    whole_views: ClassVar[bool] = True

    def tables(self, batch: ReportBatch) -> Tables:
        for number, view in enumerate(batch.views):
            yield (view, 0), ones_of(batch, number, 0)

    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        return (campaign.channels(key[0])[0].law().n_bits,)

    def can_have(self, campaign: Campaign, key: Key) -> bool:
        return key[1] == 0 and campaign.view.can_draw(key[0], campaign.domain.sizes)

    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        law = campaign.channels(key[0])[0].law()
        return [float(law.p - law.q)] * len(key[0])


def ones_of(batch: ReportBatch, number: int, block: int) -> Table:
    """Of one block, in the reports of one view."""
    rows = batch.rows_of(number)
    ones = np.zeros(batch.channels(number)[block].law().n_bits, dtype=np.int64)
    n_at_once = max(1, CHUNK // len(ones))
    for start in range(0, len(rows), n_at_once):
        ones += batch.block_bits(number, block, rows[start : start + n_at_once]).sum(axis=0, dtype=np.int64)
    return Table(len(rows), ones)
