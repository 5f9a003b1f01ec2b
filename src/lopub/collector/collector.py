"""Collector: what all routes share, and what happens beside them."""

import asyncio
import logging
import re
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from lopub.campaign.schedule import GRACE_DAYS
from lopub.collector.campaigns import Entry, find_campaign
from lopub.collector.logs import log_event
from lopub.collector.metrics import Metrics
from lopub.collector.retention import sweep
from lopub.collector.store import ReportStore
from lopub.collector.writer import Writer
from lopub.errors import CampaignClosed, DomainError, NoCampaign

MOST_CAMPAIGNS = 256
"""Campaigns that are kept in memory; the others are read again when they are asked for."""
RETENTION_SECONDS = 3600
"""How often campaigns whose retention is over are looked for."""
RETRY_SECONDS = 60
"""How soon they are looked for again where something went wrong."""
STOP_SECONDS = 1.5
"""How long the last commits may take once the process was told to stop and all requests are
answered."""
CAMPAIGN_ID = re.compile(r"[0-9a-f]{64}")
_SITE = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?")


@dataclass(frozen=True, kw_only=True)
class CollectorSettings:
    """What is told to people and browsers, and how long a campaign stays open after its schedule."""

    embed: str = ""
    """Sites whose pages may show the contributor's page in a frame, separated by spaces; empty: none."""
    grace_days: int = GRACE_DAYS
    """Days between the end of a campaign's schedule and its close, for campaigns opened from now on."""

    def __post_init__(self) -> None:
        for site in self.embed.split():
            if not _SITE.fullmatch(site):
                raise DomainError(
                    "--embed (LOPUB_EMBED) must be sites such as https://town.example, separated by"
                    f" spaces, got {site[:80]!r}"
                )
        if not 0 <= self.grace_days <= GRACE_DAYS:
            raise DomainError(
                f"--grace-days (LOPUB_GRACE_DAYS) must lie in 0..{GRACE_DAYS}, got {self.grace_days}"
            )


class Collector:
    """A store with its writer, and the campaigns that it was asked for."""

    def __init__(self, settings: CollectorSettings, store: ReportStore) -> None:
        self.settings, self.store = settings, store
        self.metrics = Metrics()
        self.writer = Writer(store, self.metrics)
        self._known: OrderedDict[str, Entry] = OrderedDict()

    async def start(self) -> None:
        """Begin to write reports, and to delete those whose retention is over."""
        self.writer.start()
        self._retention = asyncio.create_task(self._sweep_now_and_then())

    async def stop(self) -> None:
        """End both, after what waits has been written."""
        self._retention.cancel()
        with suppress(asyncio.CancelledError):
            await self._retention
        await asyncio.to_thread(self.writer.stop, seconds=STOP_SECONDS)

    # ---- campaigns

    async def entry(self, campaign_id: str, *, anew: bool = False) -> Entry:
        """The campaign of this id. Unless read anew, what is known of it may be older than the
        store; the writer looks again."""
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
        """Keep a campaign at hand, in place of the one not used for longest where there are too
        many."""
        self._known[entry.campaign.id] = entry
        self.metrics.met(entry.number, entry.campaign.terms)
        if len(self._known) > MOST_CAMPAIGNS:
            self._known.popitem(last=False)
        return entry

    # ---- retention

    async def _sweep_now_and_then(self) -> None:
        """Delete what retention says, as long as the process runs. Whatever fails is tried
        again."""
        while True:
            is_done = False
            try:
                is_done = await asyncio.to_thread(sweep, self.store)
            except Exception as error:
                log_event(
                    "the store cannot be searched for reports to delete; it will be tried again",
                    logging.ERROR,
                    error=type(error).__name__,
                )
            await asyncio.sleep(RETENTION_SECONDS if is_done else RETRY_SECONDS)
