"""Client: a record becomes a report, here and nowhere else. Standard library only; read it before you trust it.

What it does, in full: check the record against the campaign, draw a view, randomize each block of it with bytes of
the operating system, keep the finished report (never the record), hand it out or send it. Asked again, it hands out the
same bytes: a second draw would let the noise be averaged away. The draws are in `lopub.client.randomizing`; what a campaign that
repeats adds, in `lopub.client.series`; where reports are kept, and how their epsilons add up, in `lopub.client.keeping`; how
bytes travel, in `lopub.client.sending`.
"""

import hashlib
import time
from datetime import date
from decimal import Decimal
from typing import cast

from lopub.campaign.budget import decimal_up, exact_decimal
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Record
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report
from lopub.campaign.schedule import EARLY, EPOCH, LATE, Schedule, day_of, days_in_short
from lopub.campaign.texts import one_line
from lopub.client.keeping import ClientStore, FileStore, keeps_series, keeps_totals
from lopub.client.randomizing import randomized
from lopub.client.sending import PATIENT, Address, Patience, send_report, withdraw_report
from lopub.client.series import RECEIVED, REFUSED, WAITING, WITHDRAWN, Series
from lopub.client.totals import Spent, hold_to
from lopub.errors import CampaignError, EpsilonTooHigh, Reason, ReportRejected, StoreError

SECONDS_A_DAY = 86_400
LAST_SLOT = (date.max - EPOCH).days
CLOCK = "set the clock of this device if it is wrong, and the report is sent when it is next tried"


class Client:
    """One respondent's side of a campaign.

    epsilon_cap: the most that the app lets a campaign reveal, in all its rounds together; a campaign above it is refused before
    anything is asked.
    lifetime_cap: the most that all of the respondent's reports in the store may reveal together; a report that would pass it is
    refused before any noise is drawn; so is that of a later round, if the cap is lower by then. Reports that were deleted or
    withdrawn count on.
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
        if epsilon_cap is not None and campaign.lifetime_loss > exact_decimal(
            epsilon_cap, "epsilon_cap"
        ):
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
            self._series = Series(
                campaign, schedule, schedule.repeat, keeps_series(self._store), self._key
            )
        self._lifetime_cap = (
            None if lifetime_cap is None else exact_decimal(lifetime_cap, "lifetime_cap")
        )
        self._totals = keeps_totals(self._store)
        if self._lifetime_cap is not None and self._totals is None:
            raise CampaignError(
                "lifetime_cap needs a store that keeps totals, as FileStore does; this one has no spent and charge"
            )

    def __repr__(self) -> str:
        total = [f"{self._campaign.lifetime_epsilon:.6g} in all rounds"] if self._series else []
        return one_line(
            self, repr(self._campaign.terms.name), f"epsilon {self._campaign.epsilon:.6g}", *total
        )

    def encode(self, record: Record | None = None) -> Report:
        """The respondent's report: made from this record, or the one that was made before. Questions that do not apply are left
        out of a record; a list is answered with what is ticked.

        Of a campaign that repeats, the report of the present round; refused where this device does not take part in it. In mode
        permanent the first record is the one that counts for ever, and none is needed later.
        """
        if self._series is not None:
            return self._encode_round(self._series, record)
        if (before := self.kept()) is not None:
            self._charge()
            return before
        candidates, slot = self._candidates(record), today(self._campaign)
        self._charge()  # before the noise is drawn: a crash may leave a count without a report, never a report without its count
        made = randomized(self._campaign, candidates, slot=slot, randomness=Randomness())
        kept = self._store.keep(self._key, data := made.to_bytes())
        return (
            made if kept == data else self._reread(kept)
        )  # the one that another process kept first

    def _encode_round(self, series: Series, record: Record | None) -> Report:
        slot = today(self._campaign)
        if slot not in series.slots():
            own = days_in_short([day_of(each) for each in series.slots()])
            raise CampaignError(
                f"this device takes part in the rounds from {own}, and not in the present one, from {day_of(slot)}"
            )
        made = series.report_of(slot)
        candidates = self._candidates(record) if made is None and series.needs_record else ()
        self._charge()
        if made is not None:
            return made
        hold_to(
            self._lifetime_cap, self.spent()
        )  # which charging does not, once a series has begun: what is kept is counted
        return series.make(candidates, slot)

    def _candidates(self, record: Record | None) -> tuple[int, ...]:
        return self._campaign.domain.indices(cast(Record, record))  # which refuses None, too

    def due(self) -> date | None:
        """The day that the next report would carry, where one is to be made now: of a campaign that repeats, the first day of the
        present round. None where it was made, or this device does not take part, or the campaign takes none now."""
        try:
            slot = today(self._campaign)
        except CampaignError:
            return None
        if self._series is None:
            return day_of(slot) if self._store.kept(self._key) is None else None
        missing = slot in self._series.slots() and self._series.report_of(slot) is None
        return day_of(slot) if missing else None

    def rounds(self) -> tuple[date, ...]:
        """The first days of the rounds in which this device takes part, drawn once; none of a campaign that does not repeat."""
        return tuple(map(day_of, self._series.slots())) if self._series else ()

    def next_round(self) -> date | None:
        """The first day of the next round in which this device takes part, after the present one; None where there is none."""
        return next((day for day in self.rounds() if (day - EPOCH).days > _day()), None)

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
        reports = self.reports()
        return reports[-1] if reports else None

    def reports(self) -> tuple[Report, ...]:
        """Every report that was made before, in the order of the rounds; at most one of a campaign that does not repeat."""
        if self._series is not None:
            return tuple(made.report for made in self._series.made())
        data = self._store.kept(self._key)
        return () if data is None else (self._reread(data),)

    def waiting(self) -> tuple[Report, ...]:
        """The reports that `send` would send now. Of a campaign that repeats: all that no collector has answered for, and whose
        rounds still take reports, the earliest first. Of any other, the one that was made, unless it was withdrawn: sending it
        again does no harm."""
        if self._series is None:
            return tuple(report for report in self.reports() if not self._is_withdrawn(report))
        schedule, day = self._series.schedule, _day()
        return tuple(
            report
            for report, fate in self._series.made()
            if fate == WAITING and _takes(schedule, report.slot, day)
        )

    def missed(self) -> tuple[date, ...]:
        """The first days of the rounds whose report was made, but reached no collector while the round took reports."""
        if self._series is None:
            return ()
        schedule, day = self._series.schedule, _day()
        unheard = [report.slot for report, fate in self._series.made() if fate == WAITING]
        return tuple(day_of(slot) for slot in unheard if schedule.is_over(slot, day))

    def spent(self) -> Spent:
        """What the respondent's reports in this store reveal at most, together; each counts from just before it is drawn."""
        if self._totals is None:
            raise CampaignError("this store keeps no totals; FileStore and MemoryStore do")
        return self._totals.spent(self._person)

    def send(
        self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False
    ) -> int:
        """Send the kept report, always the same bytes, until the collector has it; how many attempts it took. Of a campaign that
        repeats, all that are waiting, each until the collector has answered for it once.

        url: the campaign's address, https://host/campaigns/ID. A report that was counted before is a success, too: the
        collector does not tell the two apart. What was withdrawn is not sent: that takes 0 attempts. ReportRejected where it
        refuses a report, TryLater where time runs out.
        """
        address = self._address(url, allow_plain_http)
        self._finished()
        self._charge()  # a report of an earlier version is counted when it is next sent
        refusals, n_attempts = [], 0
        for report in self.waiting():
            try:
                n_attempts += send_report(report.to_bytes(), address, patience)
            except ReportRejected as error:
                refusals.append(self._refused(report, error))
            else:
                self._tell(report, RECEIVED)
        if refusals:
            rest = "; whatever else was waiting has been sent" if n_attempts else ""
            raise ReportRejected(refusals[0].reason, f"{refusals[0]}{rest}")
        return n_attempts

    def _refused(self, report: Report, error: ReportRejected) -> ReportRejected:
        """A refusal in plain words. One because of the day is final where the round is over by both clocks, the collector's and
        the device's; else one of them may be wrong."""
        if self._series is None or error.reason is not Reason.SLOT:
            self._tell(report, WITHDRAWN if error.reason is Reason.WITHDRAWN else REFUSED)
            return error
        named, schedule = (
            f"the report of the round from {day_of(report.slot)}",
            self._series.schedule,
        )
        if error.when == LATE and _day() > schedule.last_day(report.slot):
            self._tell(report, REFUSED)
            said = f"{named} came too late: the collector's days of grace after that round are over"
        elif error.when == EARLY:
            said = f"the collector does not take {named} yet, which has not begun by its clock; {CLOCK}"
        elif _day() <= schedule.last_day(report.slot):
            said = f"the collector does not take {named} today, though that is the present one by this device's clock; {CLOCK}"
        else:
            said = f"the collector does not take {named} today, and does not say that it came too late; {CLOCK}"
        return ReportRejected(error.reason, said, when=error.when)

    def _tell(self, report: Report, fate: str) -> None:
        """Keep what became of a report. Outside a series only a withdrawal is kept, in a note beside the report."""
        if self._series is not None:
            self._series.tell(report, fate)
        elif fate == WITHDRAWN:
            self._store.keep(self._note_on(report), report.id)

    def _is_withdrawn(self, report: Report) -> bool:
        return self._store.kept(self._note_on(report)) == report.id

    def _note_on(self, report: Report) -> str:
        """The key of the note that this very report was withdrawn; another one in its place, after a loss, has its own."""
        return f"{self._key}:{report.id.hex()}"

    def withdraw(
        self, url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False
    ) -> int:
        """Ask the collector to forget the kept report, or those of all rounds so far; how many attempts it took. They stay kept
        here, so that no second one is ever drawn, and are not sent again once the collector has confirmed it. Where this raises,
        nothing is remembered: call it again later. A report of a later round is made only if that is asked for."""
        address = self._address(url, allow_plain_http)
        self._finished()
        n_attempts = 0
        for report in self.reports():
            n_attempts += withdraw_report(report.id, address, patience)
            self._tell(report, WITHDRAWN)
        return n_attempts

    def _charge(self) -> None:
        if self._totals is not None:
            self._totals.charge(
                self._key, self._person, self._campaign.lifetime_loss, self._lifetime_cap
            )

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
            place = (
                self._store.path_of(self._key) if isinstance(self._store, FileStore) else self._key
            )
            raise StoreError(
                f"the kept report {place} is damaged ({error.reason}); restore it, or delete it if it was never sent"
            ) from None


def today(campaign: Campaign) -> int:
    """The slot of this day in UTC, of rounds that of the present one; refuses a day outside the campaign's schedule."""
    day, schedule = _day(), campaign.terms.schedule
    if schedule is None:
        return day
    if (slot := schedule.slot_on(day)) is None:
        raise CampaignError(
            f"campaign {campaign.terms.name!r} takes reports from {schedule.opens} to {schedule.closes}; today is {day_of(day)}"
        )
    return slot


def _day() -> int:
    """This day in UTC, in days since 1970-01-01."""
    day = int(time.time() // SECONDS_A_DAY)
    if not 0 <= day <= LAST_SLOT:
        raise CampaignError(
            f"the clock of this device is not between {EPOCH} and {date.max}; set it, then try again"
        )
    return day


def _takes(schedule: Schedule, slot: int, day: int) -> bool:
    """Whether a collector may take reports of this round today; it may give fewer days of grace."""
    return schedule.has_begun(slot, day) and not schedule.is_over(slot, day)
