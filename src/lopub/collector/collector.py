"""Collector: what all routes share, and what happens beside them."""

import asyncio
import ctypes
import re
from collections import OrderedDict
from contextlib import suppress

from starlette.concurrency import run_in_threadpool

from lopub.collector.campaigns import Entry, erase, find_campaign, overdue
from lopub.collector.group_commit import Writer
from lopub.collector.logs import tell
from lopub.collector.metrics import Metrics
from lopub.collector.problems import Kind
from lopub.collector.queue import ask
from lopub.collector.settings import CollectorSettings
from lopub.collector.store import ReportStore
from lopub.errors import CampaignClosed, LopubError, NoCampaign

MOST_CAMPAIGNS = 256
"""Campaigns that are kept in memory; the others are read again when they are asked for."""
RETENTION_SECONDS = 3600
"""How often campaigns whose retention is over are looked for."""
MEMORY_SECONDS = 60
"""How often free memory is handed back, which takes a few milliseconds."""
STOP_SECONDS = 1.5
"""How long the last commits may take once the process was told to stop and all requests are answered."""
CAMPAIGN_ID = re.compile(r"[0-9a-f]{64}")


class Collector:
    """A store with its writer, and the campaigns that it was asked for."""

    def __init__(self, settings: CollectorSettings, store: ReportStore) -> None:
        self.settings, self.store = settings, store
        self.metrics = Metrics()
        self.writer = Writer(
            store,
            self.metrics,
            most_waiting=settings.queue_reports,
            connections=settings.connections,
        )
        self._known: OrderedDict[str, Entry] = OrderedDict()

    async def start(self) -> None:
        """Begin to write reports, to delete those whose retention is over, and to give free memory back."""
        self.writer.start()
        self._beside = [
            asyncio.create_task(work) for work in (self._keep_promises(), _keep_memory_small())
        ]

    async def stop(self) -> None:
        """End all three, after what waits has been written."""
        for task in self._beside:
            task.cancel()
        for task in self._beside:
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(self.writer.stop, seconds=STOP_SECONDS)

    def turns_away(self) -> bool:
        """Whether whoever comes with reports has to come again; which is counted."""
        if not self.writer.is_crowded():
            return False
        self.metrics.told(Kind.BUSY.slug)
        return True

    # ---- campaigns

    async def entry(self, campaign_id: str, *, anew: bool = False) -> Entry:
        """The campaign of this id. Unless read anew, what is known of it may be older than the store; the writer looks again."""
        if not anew and (known := self._known.get(campaign_id)):
            self._known.move_to_end(campaign_id)
            return known
        if not CAMPAIGN_ID.fullmatch(campaign_id):
            raise NoCampaign(
                "a campaign is named by the 64 hexadecimal digits of its id, small letters"
            )
        return self.remember(await run_in_threadpool(find_campaign, self.store, campaign_id))

    async def open_entry(self, campaign_id: str) -> Entry:
        """The campaign of this id; CampaignClosed where it takes no more reports."""
        entry = await self.entry(campaign_id)
        if entry.closed is not None:
            raise self.closed(entry)
        return entry

    def closed(self, entry: Entry) -> CampaignClosed:
        """That the campaign is closed; what was known of it is forgotten."""
        if entry.closed is None:
            self._known.pop(entry.campaign.id, None)
        return CampaignClosed(
            f"campaign {entry.campaign.id[:16]}… is closed; it takes no more reports or withdrawals"
        )

    def remember(self, entry: Entry) -> Entry:
        """Keep a campaign at hand, in place of the one not used for longest where there are too many."""
        self._known[entry.campaign.id] = entry
        self.metrics.met(entry.number, entry.campaign.terms)
        if len(self._known) > MOST_CAMPAIGNS:
            self._known.popitem(last=False)
        return entry

    # ---- retention

    async def _keep_promises(self) -> None:
        """Delete, for good, the reports of campaigns whose retention is over; now and then, as long as the process runs."""
        while True:
            try:
                await asyncio.to_thread(erase_overdue, self.store)
            except LopubError:
                tell("the store cannot be searched for reports to delete; it will be tried again")
            await asyncio.sleep(RETENTION_SECONDS)


async def _keep_memory_small() -> None:
    """Keep no memory that is not used, as long as the process runs."""
    while True:
        await asyncio.to_thread(give_memory_back)
        await asyncio.sleep(MEMORY_SECONDS)


def erase_overdue(store: ReportStore) -> None:
    """Delete the reports of all campaigns whose retention is over, and log that; not how many, which may be too few to show. What
    was exported of them, and the certificate, is left to a worker."""
    for entry in overdue(store):
        erase(store, entry)
        ask(
            store, "delete", entry.campaign.id
        )  # after it: a worker that erased at the same time could be in its way
        tell("retention is over: reports were deleted", campaign=entry.campaign.id[:16])


def give_memory_back() -> None:
    """Hand what is free between blocks in use back to the system, where the C library is glibc. By itself it gives back only what
    is free at the end, so that a process keeps what a burst once took, and grows with every larger one."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, or none to be asked
        ctypes.CDLL(None).malloc_trim(0)
