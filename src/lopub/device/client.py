"""Client: a record becomes a report, here and nowhere else. Standard library only; read it before you trust it.

What it does, in full: check the record against the campaign, draw a view, randomize each block of it with bytes of
the operating system, keep the finished report (never the record), hand it out or send it. Asked again, it hands out the
same bytes: a second draw would let the noise be averaged away. Where reports are kept, and how their epsilons add up, is in
`lopub.device.keeping`; how bytes travel is in `lopub.device.sending`.
"""

import hashlib
import time
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from lopub.contract.budget import decimal_up, exact_decimal
from lopub.contract.campaign import Campaign
from lopub.contract.domain import Record
from lopub.contract.randomness import Randomness
from lopub.contract.report import ID_BYTES, Report, mask_of, pack
from lopub.contract.terms import EPOCH
from lopub.contract.texts import one_line
from lopub.device.keeping import ClientStore, FileStore, Spent, keeps_totals
from lopub.device.sending import PATIENT, Address, Patience, send_report, withdraw_report
from lopub.errors import CampaignError, EpsilonTooHigh, ReportRejected, StoreError

SECONDS_A_DAY = 86_400
LAST_SLOT = (date.max - EPOCH).days


class Client:
    """One respondent's side of a campaign.

    epsilon_cap: the most that the app lets a campaign reveal; a campaign above it is refused before anything is asked.
    lifetime_cap: the most that all of the respondent's reports in the store may reveal together; a report that would pass it is
    refused before any noise is drawn. Reports that were deleted or withdrawn count on.
    store: where the finished report is kept; files under ~/.lopub/reports unless given.
    respondent: who answers, where several people share a device; only a hash of it is written.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        epsilon_cap: float | str | Decimal | None = None,
        lifetime_cap: float | str | Decimal | None = None,
        store: ClientStore | None = None,
        respondent: str = "self",
    ) -> None:
        if epsilon_cap is not None and campaign.loss > exact_decimal(epsilon_cap, "epsilon_cap"):
            raise EpsilonTooHigh(
                f"campaign {campaign.terms.name!r} has epsilon {decimal_up(campaign.loss)}; this app allows {epsilon_cap}"
            )
        self._campaign = campaign
        self._store: ClientStore = FileStore() if store is None else store
        self._person = hashlib.sha256(respondent.encode(errors="surrogatepass")).hexdigest()[:32]
        self._key = f"{campaign.id}-{self._person}"
        self._lifetime_cap = None if lifetime_cap is None else exact_decimal(lifetime_cap, "lifetime_cap")
        self._totals = keeps_totals(self._store)
        if self._lifetime_cap is not None and self._totals is None:
            raise CampaignError(
                "lifetime_cap needs a store that keeps totals, as FileStore does; this one has no spent and charge"
            )

    def __repr__(self) -> str:
        return one_line(self, repr(self._campaign.terms.name), f"epsilon {self._campaign.epsilon:.6g}")

    def encode(self, record: Record) -> Report:
        """The respondent's report: made from this record, or the one that was made before. Questions that do not apply are left
        out of a record; a list is answered with what is ticked."""
        if (made := self.kept()) is not None:
            self._charge()
            return made
        candidates, slot = self._campaign.domain.indices(record), today(self._campaign)
        self._charge()  # before the noise is drawn: a crash may leave a count without a report, never a report without its count
        report = randomized(self._campaign, candidates, slot=slot, randomness=Randomness())
        data = report.to_bytes()
        kept = self._store.keep(self._key, data)
        return report if kept == data else self._reread(kept)

    def kept(self) -> Report | None:
        """The respondent's report, if it was made before."""
        data = self._store.kept(self._key)
        return None if data is None else self._reread(data)

    def spent(self) -> Spent:
        """What the respondent's reports in this store reveal at most, together; each counts from just before it is drawn."""
        if self._totals is None:
            raise CampaignError("this store keeps no totals; FileStore and MemoryStore do")
        return self._totals.spent(self._person)

    def send(self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False) -> int:
        """Send the kept report, always the same bytes, until the collector has it; how many attempts it took.

        url: the campaign's address, https://host/campaigns/ID. A report that was counted before is a success, too: the
        collector does not tell the two apart. ReportRejected where it refuses the report, TryLater where time runs out.
        """
        address, report = self._address(url, allow_plain_http), self._finished()
        self._charge()  # a report of an earlier version is counted when it is next sent
        return send_report(report.to_bytes(), address, patience)

    def withdraw(self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False) -> int:
        """Ask the collector to forget the kept report; how many attempts it took. It stays kept here, so that no second one
        is ever drawn."""
        address = self._address(url, allow_plain_http)
        return withdraw_report(self._finished().id, address, patience)

    def _charge(self) -> None:
        if self._totals is not None:
            self._totals.charge(self._key, self._person, self._campaign.loss, self._lifetime_cap)

    def _finished(self) -> Report:
        if (report := self.kept()) is None:
            raise StoreError(
                f"no report is kept for campaign {self._campaign.id[:16]}… and this respondent; encode a record first"
            )
        return report

    def _address(self, url: str, allow_plain_http: bool) -> Address:
        address = Address.of(url, allow_plain_http=allow_plain_http)
        if address.campaign_id != self._campaign.id:
            raise CampaignError(
                f"the address is that of campaign {address.campaign_id[:16]}…, this client answers {self._campaign.id[:16]}…"
            )
        return address

    def _reread(self, data: bytes) -> Report:
        try:
            return Report.from_bytes(data, self._campaign)
        except ReportRejected as error:
            place = self._store.path_of(self._key) if isinstance(self._store, FileStore) else self._key
            raise StoreError(
                f"the kept report {place} is damaged ({error.reason}); restore it, or delete it if it was never sent"
            ) from None


def randomized(campaign: Campaign, candidates: Sequence[int], *, slot: int, randomness: Randomness) -> Report:
    """A report for the record: its id, then the view, then each block, drawn in this order from one stream."""
    sizes = campaign.domain.sizes
    report_id = randomness.take(ID_BYTES)
    view = campaign.view.draw(sizes, randomness)
    channels = campaign.channels(view)
    inputs = [cell(view, candidates, sizes)] if campaign.jointly else [candidates[position] for position in view]
    outputs = [channel.randomize(x, randomness) for channel, x in zip(channels, inputs, strict=True)]
    mask = mask_of(view, campaign.mask_bytes) if campaign.view.masked else b""
    return Report(campaign=campaign.prefix, id=report_id, slot=slot, mask=mask, payload=pack(outputs, channels))


def cell(view: Sequence[int], candidates: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of the view's joint value: domain order, last attribute fastest."""
    number = 0
    for position in view:
        number = number * sizes[position] + candidates[position]
    return number


def today(campaign: Campaign) -> int:
    """The slot of this day in UTC; refuses a day outside the campaign's schedule."""
    slot = int(time.time() // SECONDS_A_DAY)
    if not 0 <= slot <= LAST_SLOT:
        raise CampaignError(f"the clock of this device is not between {EPOCH} and {date.max}; set it, then try again")
    schedule = campaign.terms.schedule
    if schedule and slot not in schedule.slots:
        day = EPOCH + timedelta(days=slot)
        raise CampaignError(
            f"campaign {campaign.terms.name!r} takes reports from {schedule.opens} to {schedule.closes}; today is {day}"
        )
    return slot
