"""A store as a source of counts, cut into parts by ranges of the hashes that name its reports."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lopub.campaign.campaign import Campaign
from lopub.collector.batches import blocks_of, refuse_erased
from lopub.collector.campaigns import find_campaign, refused_of, the_campaign, withdrawn_of
from lopub.collector.database import store_at
from lopub.reports.batch import HASH_BYTES, ReportBatch
from lopub.reports.engines.base import N_HASHES, HashRange
from lopub.reports.origin import Origin


@dataclass(frozen=True)
class StorePart:
    """The reports of a campaign whose hashes lie in a range.

    The first part also has the counts of refused and withdrawn ones.
    """

    address: str
    campaign_id: str
    low: bytes
    high: bytes | None
    n_reports: int

    def walk(self) -> Iterator[ReportBatch]:
        store = store_at(self.address, create=False)
        try:
            entry = find_campaign(store, self.campaign_id)
            with store.reading() as connection:
                blocks = blocks_of(store, connection, entry, self.low, self.high)
                if not any(self.low):
                    first = next(blocks)
                    origin = Origin(n_withdrawn=withdrawn_of(connection, entry.number))
                    yield replace(
                        first, refused=refused_of(connection, entry.number), origin=origin
                    )
                yield from blocks
        finally:
            store.close()


class StoreSource:
    """The accepted reports of one campaign, in parts that are read one by one.

    Reports that come in meanwhile may be among them or not.
    """

    def __init__(self, address: str, campaign: Campaign | None = None) -> None:
        self._address = address
        store = store_at(address, create=False)
        try:
            entry = the_campaign(store, campaign)
            refuse_erased(entry)
            self._campaign = entry.campaign
            with store.reading() as connection:
                self._n_reports = store.n_reports(connection, entry.number)
        finally:
            store.close()

    @property
    def campaign(self) -> Campaign:
        return self._campaign

    @cached_property
    def n_reports(self) -> int:
        return self._n_reports

    def parts(self, n: int) -> list[StorePart]:
        lows = [(k * 256**8 // n).to_bytes(8) + bytes(HASH_BYTES - 8) for k in range(n)]
        share = -(-self._n_reports // n)
        ranges = zip(lows, [*lows[1:], None], strict=True)
        return [
            StorePart(self._address, self._campaign.id, low, high, share) for low, high in ranges
        ]

    def within(self, hashes: HashRange) -> list[StorePart]:
        share = -(-self._n_reports * (hashes.stop - hashes.start) // N_HASHES)
        return [StorePart(self._address, self._campaign.id, hashes.low, hashes.high, share)]
