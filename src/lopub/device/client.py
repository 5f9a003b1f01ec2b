"""Client: a record becomes a report, here and nowhere else. Standard library only; read it before you trust it.

What it does, in full: check the record against the campaign, draw a view, randomize each block of it with bytes of
the operating system, keep the finished report (never the record), hand it out or send it. Asked again, it hands out the
same bytes: a second draw would let the noise be averaged away. The draws are in `lopub.device.randomizing`; what a campaign that
repeats adds, in `lopub.device.series`; where reports are kept, and how their epsilons add up, in `lopub.device.keeping`; how
bytes travel, in `lopub.device.sending`.
"""

import hashlib
import time
from datetime import date
from decimal import Decimal
from typing import cast

from lopub.contract.budget import decimal_up, exact_decimal
from lopub.contract.campaign import Campaign
from lopub.contract.domain import Record
from lopub.contract.randomness import Randomness
from lopub.contract.report import Report
from lopub.contract.schedule import EPOCH, day_of
from lopub.contract.texts import one_line
from lopub.device.keeping import ClientStore, FileStore, Spent, keeps_totals
from lopub.device.randomizing import randomized
from lopub.device.sending import PATIENT, Address, Patience, send_report, withdraw_report
from lopub.device.series import Series
from lopub.errors import CampaignError, EpsilonTooHigh, ReportRejected, StoreError

SECONDS_A_DAY = 86_400
LAST_SLOT = (date.max - EPOCH).days


class Client:
    """One respondent's side of a campaign.

    epsilon_cap: the most that the app lets a campaign reveal, in all its rounds together; a campaign above it is refused before
    anything is asked.
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
        if epsilon_cap is not None and campaign.lifetime_loss > exact_decimal(epsilon_cap, "epsilon_cap"):
            in_all = " in all its rounds together" if campaign.terms.repeat else ""
            raise EpsilonTooHigh(
                f"campaign {campaign.terms.name!r} has epsilon {decimal_up(campaign.lifetime_loss)}{in_all};"
                f" this app allows {epsilon_cap}"
            )
        self._campaign = campaign
        self._store: ClientStore = FileStore() if store is None else store
        self._person = hashlib.sha256(respondent.encode(errors="surrogatepass")).hexdigest()[:32]
        self._key = f"{campaign.id}-{self._person}"
        schedule = campaign.terms.schedule
        self._series: Series | None = None
        if schedule is not None and schedule.repeat is not None:
            self._series = Series(campaign, schedule, schedule.repeat, self._store, self._key)
        self._lifetime_cap = None if lifetime_cap is None else exact_decimal(lifetime_cap, "lifetime_cap")
        self._totals = keeps_totals(self._store)
        if self._lifetime_cap is not None and self._totals is None:
            raise CampaignError(
                "lifetime_cap needs a store that keeps totals, as FileStore does; this one has no spent and charge"
            )

    def __repr__(self) -> str:
        total = [f"{self._campaign.lifetime_epsilon:.6g} in all rounds"] if self._series else []
        return one_line(self, repr(self._campaign.terms.name), f"epsilon {self._campaign.epsilon:.6g}", *total)

    def encode(self, record: Record | None = None) -> Report:
        """The respondent's report: made from this record, or the one that was made before. Questions that do not apply are left
        out of a record; a list is answered with what is ticked.

        Of a campaign that repeats, the report of the present round; refused where this device does not take part in it. In mode
        permanent the first record is the one that counts for ever, and none is needed later.
        """
        if self._series is not None:
            return self._encode_round(self._series, record)
        if (made := self.kept()) is not None:
            self._charge()
            return made
        candidates, slot = self._candidates(record), today(self._campaign)
        self._charge()  # before the noise is drawn: a crash may leave a count without a report, never a report without its count
        return self._first(self._key, randomized(self._campaign, candidates, slot=slot, randomness=Randomness()))

    def _encode_round(self, series: Series, record: Record | None) -> Report:
        slot = today(self._campaign)
        if slot not in series.slots():
            own = ", ".join(str(day_of(each)) for each in series.slots())
            raise CampaignError(
                f"this device takes part in the rounds from {own}, and not in the present one, from {day_of(slot)}"
            )
        if (made := self._kept_under(series.report_key(slot))) is not None:
            self._charge()
            return made
        candidates = self._candidates(record) if series.needs_record else ()
        self._charge()
        series.begin(candidates)
        return self._first(series.report_key(slot), series.report(candidates, slot))

    def _candidates(self, record: Record | None) -> tuple[int, ...]:
        return self._campaign.domain.indices(cast(Record, record))  # which refuses None, too

    def _first(self, key: str, report: Report) -> Report:
        """The report, kept; or the one that another process kept first."""
        data = report.to_bytes()
        kept = self._store.keep(key, data)
        return report if kept == data else self._reread(kept, key)

    def due(self) -> date | None:
        """The day that the next report would carry, where one is to be made now: of a campaign that repeats, the first day of the
        present round. None where it was made, or this device does not take part, or the campaign takes none now."""
        try:
            slot = today(self._campaign)
        except CampaignError:
            return None
        if self._series is None:
            return day_of(slot) if self._store.kept(self._key) is None else None
        missing = slot in self._series.slots() and self._store.kept(self._series.report_key(slot)) is None
        return day_of(slot) if missing else None

    def rounds(self) -> tuple[date, ...]:
        """The first days of the rounds in which this device takes part, drawn once; none of a campaign that does not repeat."""
        return tuple(map(day_of, self._series.slots())) if self._series else ()

    @property
    def has_begun(self) -> bool:
        """Whether this campaign is counted in what the store has spent: a report is kept, or a series has begun."""
        return self._series.has_begun if self._series else self._store.kept(self._key) is not None

    @property
    def needs_record(self) -> bool:
        """Whether the next report is made of answers: not where one is kept for good, or a permanent answer is."""
        return self._series.needs_record if self._series else not self.has_begun

    def kept(self) -> Report | None:
        """The respondent's report, if it was made before; of a campaign that repeats, that of the latest round."""
        reports = self._all_kept()
        return reports[-1] if reports else None

    def _all_kept(self) -> list[Report]:
        keys = [self._series.report_key(slot) for slot in self._series.made()] if self._series else [self._key]
        return [report for report in map(self._kept_under, keys) if report is not None]

    def _kept_under(self, key: str) -> Report | None:
        data = self._store.kept(key)
        return None if data is None else self._reread(data, key)

    def spent(self) -> Spent:
        """What the respondent's reports in this store reveal at most, together; each counts from just before it is drawn."""
        if self._totals is None:
            raise CampaignError("this store keeps no totals; FileStore and MemoryStore do")
        return self._totals.spent(self._person)

    def send(self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False) -> int:
        """Send the kept report, always the same bytes, until the collector has it; how many attempts it took. Of a campaign that
        repeats, that of the latest round.

        url: the campaign's address, https://host/campaigns/ID. A report that was counted before is a success, too: the
        collector does not tell the two apart. ReportRejected where it refuses the report, TryLater where time runs out.
        """
        address, report = self._address(url, allow_plain_http), self._finished()
        self._charge()  # a report of an earlier version is counted when it is next sent
        return send_report(report.to_bytes(), address, patience)

    def withdraw(self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False) -> int:
        """Ask the collector to forget the kept report, or those of all rounds; how many attempts it took. They stay kept here, so
        that no second one is ever drawn."""
        address = self._address(url, allow_plain_http)
        self._finished()
        return sum(withdraw_report(report.id, address, patience) for report in self._all_kept())

    def _charge(self) -> None:
        if self._totals is not None:
            self._totals.charge(self._key, self._person, self._campaign.lifetime_loss, self._lifetime_cap)

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

    def _reread(self, data: bytes, key: str) -> Report:
        try:
            return Report.from_bytes(data, self._campaign)
        except ReportRejected as error:
            place = self._store.path_of(key) if isinstance(self._store, FileStore) else key
            raise StoreError(
                f"the kept report {place} is damaged ({error.reason}); restore it, or delete it if it was never sent"
            ) from None


def today(campaign: Campaign) -> int:
    """The slot of this day in UTC, of rounds that of the present one; refuses a day outside the campaign's schedule."""
    day = int(time.time() // SECONDS_A_DAY)
    if not 0 <= day <= LAST_SLOT:
        raise CampaignError(f"the clock of this device is not between {EPOCH} and {date.max}; set it, then try again")
    schedule = campaign.terms.schedule
    if schedule is None:
        return day
    if (slot := schedule.slot_on(day)) is None:
        raise CampaignError(
            f"campaign {campaign.terms.name!r} takes reports from {schedule.opens} to {schedule.closes}; today is {day_of(day)}"
        )
    return slot
