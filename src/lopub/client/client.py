"""Client: a record becomes a report, here and nowhere else. Standard library only; read it before you trust it.

What it does, in full: check the record against the campaign, draw a view, randomize each block of it with bytes of
the operating system (`noise`; what a campaign that repeats adds, `rounds`), keep the finished report and its epsilon, never the
record (`store`, `rows`), hand it out or send it (`sending`). Asked again, it hands out the same bytes: a second draw would let
the noise be averaged away.

Consent is the irrevocable step. Whoever looks at the noisy report first and then decides whether to send it breaks epsilon
completely: a "no" that was sent then proves a "yes". So `contribute` makes, keeps and sends in one go, and returns no report.
"""

import hashlib
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple, cast

from lopub.campaign.budget import decimal_up, exact_decimal
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Record
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report
from lopub.campaign.schedule import day_of, days_in_short
from lopub.campaign.texts import one_line
from lopub.client.address import Address
from lopub.client.days import refusal_of_day, this_day, today
from lopub.client.noise import new_id, randomized
from lopub.client.rounds import DeviceRounds
from lopub.client.rows import ContributionOutcome, Fate, Rows, lost
from lopub.client.sending import Patience, send_report, withdraw_report
from lopub.client.store import FileStore, Store
from lopub.errors import (
    CampaignError,
    CollectorError,
    EpsilonTooHigh,
    Reason,
    ReportRejected,
    StoreError,
)

INVITED = "this version cannot take part in campaigns that need an invitation"
CANCELLED = "this report was cancelled: it is not sent, and no second one is made in its place"


class MadeReport(NamedTuple):
    """A report that was made, and what became of it."""

    report: Report
    fate: Fate
    name: bytes
    """Of its row in the store."""


class Client:
    """One respondent's side of a campaign.

    epsilon_cap: the most that the app lets a campaign reveal, in all its rounds together; a campaign above it is refused before
    anything is asked.
    lifetime_cap: the most that all of the respondent's reports in the store may reveal together; a report that would pass it is
    refused before any noise is drawn; so is that of a later round, if the cap is lower by then. Reports that were cancelled or
    withdrawn count on.
    store: where the finished report is kept; the file ~/.lopub/store.db unless given.
    respondent: who answers, where several people share a device; only a hash of it is written.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        epsilon_cap: float | str | Decimal | None = None,
        lifetime_cap: float | str | Decimal | None = None,
        store: Store | None = None,
        respondent: str = "self",
    ) -> None:
        if campaign.terms.admission is not None:
            raise CampaignError(INVITED)
        self._campaign = campaign
        self._rounds = DeviceRounds.of(campaign)
        if epsilon_cap is not None and campaign.lifetime_loss > exact_decimal(
            epsilon_cap, "epsilon_cap"
        ):
            in_all = " in all its rounds together" if self._rounds else ""
            raise EpsilonTooHigh(
                f"campaign {campaign.terms.name!r} has epsilon {decimal_up(campaign.lifetime_loss)}{in_all};"
                f" this app allows {epsilon_cap}"
            )
        self._lifetime_cap = (
            None if lifetime_cap is None else exact_decimal(lifetime_cap, "lifetime_cap")
        )
        self._store = FileStore() if store is None else store
        self._person = hashlib.sha256(respondent.encode(errors="surrogatepass")).hexdigest()
        self._key = f"{campaign.id}-{self._person}"

    def __repr__(self) -> str:
        total = [f"{self._campaign.lifetime_epsilon:.6g} in all rounds"] if self._rounds else []
        return one_line(
            self, repr(self._campaign.terms.name), f"epsilon {self._campaign.epsilon:.6g}", *total
        )

    # ---- making a report

    def contribute(
        self,
        record: Record | None,
        url: str,
        *,
        timeout: float = 10.0,
        patience: float = 60.0,
        allow_plain_http: bool = False,
    ) -> ContributionOutcome:
        """Make the respondent's report, keep it, and send it with whatever else is waiting. To be called once the respondent has
        agreed, which cannot be taken back: nobody sees the report before it is sent.

        record: questions that do not apply are left out; a list is answered with what is ticked. None where no answers are
        needed, because a report or a permanent answer is kept.
        url, timeout, patience: as in `send`. Where the collector is out of reach or refuses the request, the outcome is waiting.
        """
        address, time_left = self._address(url, allow_plain_http), Patience(timeout, patience)
        report = self._made(record).report
        try:
            _, refusals = self._send_waiting(address, time_left)
        except CollectorError as error:
            return self._outcome(report, str(error), None)
        refusal = refusals.get(report.id)
        return self._outcome(report, str(refusal or ""), refusal.reason if refusal else None)

    def encode(self, record: Record | None = None) -> Report:
        """The respondent's report, for apps that send it in another way: made from this record, or the one that was made before.
        Call it after the respondent has agreed, and do not show the report before a collector has it: whoever decides by what it
        says whether to send it can reveal the answer completely.

        Of a campaign that repeats, the report of the present round; refused where this device does not take part in it. In mode
        permanent the first record is the one that counts for ever, and none is needed later.
        """
        report, fate, _ = self._made(record)
        if fate is Fate.CANCELLED:
            raise CampaignError(CANCELLED)
        return report

    def _made(self, record: Record | None) -> MadeReport:
        """The present report, kept: the one that was made before, or a new one."""
        before = self._all()
        if before and self._rounds is None:
            return before[0]  # whatever day it is
        slot = self._present_round() if self._rounds else today(self._campaign)
        if (made := self._of_round(before, slot)) is not None:
            return made
        candidates: tuple[int, ...] = ()
        if self._needs_record(before):
            candidates = self._campaign.domain.indices(cast(Record, record))  # refuses None, too
        with self._store.writing() as rows:
            faster = self._of_round(self._all_in(rows), slot)  # another thread, or process
            return faster or self._drawn(rows, candidates, slot)

    def _drawn(self, rows: Rows, candidates: Sequence[int], slot: int) -> MadeReport:
        """A new report: charged, then drawn, then kept, all within one transaction."""
        if rows.series(self._key) is None:
            if self._rounds:
                raise lost()
            rows.begin(self._key, self._person)
        rows.charge(self._key, self._campaign.lifetime_loss)
        if self._lifetime_cap is not None:
            rows.hold_to(self._lifetime_cap, self._person)
        if self._rounds is None:
            report = randomized(
                self._campaign, candidates, report_id=new_id(), slot=slot, randomness=Randomness()
            )
        else:
            report = self._rounds.report(rows, self._key, candidates, slot)
        name = rows.keep_report(self._key, slot if self._rounds else 0, report.to_bytes())
        return MadeReport(report, Fate.WAITING, name)

    def _present_round(self) -> int:
        slot = today(self._campaign)
        if slot not in (slots := self._slots()):
            own = days_in_short([day_of(each) for each in slots])
            raise CampaignError(
                f"this device takes part in the rounds from {own}, and not in the present one, from {day_of(slot)}"
            )
        return slot

    # ---- what is kept

    def _all(self) -> tuple[MadeReport, ...]:
        """Every report that was made, in the order of the rounds."""
        with self._store.reading() as rows:
            return self._all_in(rows)

    def _all_in(self, rows: Rows) -> tuple[MadeReport, ...]:
        if (series := rows.series(self._key)) is None:
            return ()
        try:
            made = [
                MadeReport(Report.from_bytes(data, self._campaign), fate, name)
                for name, data, fate in series.reports
            ]
        except ReportRejected:
            raise lost() from None
        if self._rounds:
            self._rounds.check(series.rounds, series.answer, [each.report for each in made])
        return tuple(sorted(made, key=lambda each: each.report.slot))

    def _of_round(self, made: Sequence[MadeReport], slot: int) -> MadeReport | None:
        """The report of a round, if it was made; of a campaign that does not repeat, its only one."""
        return next(
            (each for each in made if self._rounds is None or each.report.slot == slot), None
        )

    def _slots(self) -> tuple[int, ...]:
        """The first days of the rounds in which this device takes part; drawn and kept where they are not yet."""
        if self._rounds is None:
            return ()
        with self._store.reading() as rows:
            series = rows.series(self._key)
        if series is None:
            with self._store.writing() as rows:
                series = rows.series(self._key)  # of another thread or process, which was faster
                series = series or rows.begin(self._key, self._person, self._rounds.draw())
        return self._rounds.slots(series.rounds)

    def due(self) -> date | None:
        """The day that the next report would carry, where one is to be made now: of a campaign that repeats, the first day of the
        present round. None where it was made, or this device does not take part, or the campaign takes none now."""
        made = self._all()
        try:
            slot = today(self._campaign)
        except CampaignError:
            return None
        takes_part = self._rounds is None or slot in self._slots()
        return day_of(slot) if takes_part and self._of_round(made, slot) is None else None

    def rounds(self) -> tuple[date, ...]:
        """The first days of the rounds in which this device takes part, drawn once; none of a campaign that does not repeat."""
        return tuple(map(day_of, self._slots()))

    def next_round(self) -> date | None:
        """The first day of the next round in which this device takes part, after the present one; None where there is none."""
        return next((day_of(slot) for slot in self._slots() if slot > this_day()), None)

    @property
    def has_begun(self) -> bool:
        """Whether this campaign is counted in what the store has spent: a report was made."""
        return bool(self._all())

    @property
    def needs_record(self) -> bool:
        """Whether the next report is made of answers: not where one is kept for good, or a permanent answer is."""
        return self._needs_record(self._all())

    def _needs_record(self, made: Sequence[MadeReport]) -> bool:
        return not made or bool(self._rounds and not self._rounds.repeat.is_permanent)

    def reports(self) -> tuple[Report, ...]:
        """Every report that was made before, in the order of the rounds; at most one of a campaign that does not repeat. Do not
        show those that are still waiting."""
        return tuple(each.report for each in self._all())

    def kept(self) -> Report | None:
        """The respondent's report, if it was made before; of a campaign that repeats, that of the latest round."""
        return next(reversed(self.reports()), None)

    def sent(self) -> tuple[Report, ...]:
        """The reports that a collector has acknowledged, and was not asked to forget: what may be shown."""
        return tuple(report for report, fate, _ in self._all() if fate is Fate.SENT)

    @property
    def fate(self) -> Fate | None:
        """What became of the latest report; None where none was made."""
        return next((each.fate for each in reversed(self._all())), None)

    def waiting(self) -> tuple[Report, ...]:
        """The reports that `send` would send now, the earliest first: all that no collector has answered for, and whose rounds
        still take reports."""
        day = this_day()
        waits = [report for report, fate, _ in self._all() if fate is Fate.WAITING]
        return tuple(
            report
            for report in waits
            if self._rounds is None or self._rounds.takes(report.slot, day)
        )

    def missed(self) -> tuple[date, ...]:
        """The first days of the rounds whose report was made, but reached no collector while the round took reports."""
        if self._rounds is None:
            return ()
        day, is_over = this_day(), self._rounds.schedule.is_over
        waits = [report.slot for report, fate, _ in self._all() if fate is Fate.WAITING]
        return tuple(day_of(slot) for slot in waits if is_over(slot, day))

    def spent(self) -> Decimal:
        """What the respondent's reports in this store reveal at most, together; each counts from just before it is drawn."""
        with self._store.reading() as rows:
            return rows.spent(self._person)

    # ---- sending

    def send(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        patience: float = 60.0,
        allow_plain_http: bool = False,
    ) -> int:
        """Send what is waiting, always the same bytes, until the collector has answered for it; how many attempts it took.

        url: the campaign's address, https://host/campaigns/ID. A report that was counted before is a success, too: the
        collector does not tell the two apart. What was sent, withdrawn or cancelled is not sent: that takes 0 attempts.
        timeout: seconds of one exchange with the collector, the search for its name excepted.
        patience: seconds in all, waits between the attempts included.
        ReportRejected where a report is refused, TryLater where time runs out.
        """
        address, time_left = self._address(url, allow_plain_http), Patience(timeout, patience)
        self._refuse_none()
        n_attempts, refusals = self._send_waiting(address, time_left)
        if refusals:
            first = next(iter(refusals.values()))
            rest = "; whatever else was waiting has been sent" if n_attempts else ""
            raise ReportRejected(first.reason, f"{first}{rest}")
        return n_attempts

    def _send_waiting(
        self, address: Address, time_left: Patience
    ) -> tuple[int, dict[bytes, ReportRejected]]:
        """Send each report by itself, as a request of several would show that they are one device's; the attempts that were
        successful in the end, and the refusals by the reports' ids."""
        refusals, n_attempts = {}, 0
        for report in self.waiting():
            if report not in self.waiting():
                continue  # cancelled meanwhile, by another thread or process
            try:
                n_attempts += send_report(report.to_bytes(), address, time_left)
            except ReportRejected as error:
                refusals[report.id] = self._refused(report, error)
            else:
                self._note(report, Fate.SENT)
        return n_attempts, refusals

    def _refused(self, report: Report, error: ReportRejected) -> ReportRejected:
        """A refusal in plain words, kept where it is final."""
        refusal, is_final = error, True
        if error.reason is Reason.SLOT and (schedule := self._campaign.terms.schedule):
            refusal, is_final = refusal_of_day(error, report.slot, schedule)
        if is_final:
            is_gone = error.reason is Reason.WITHDRAWN
            self._note(report, Fate.WITHDRAWN if is_gone else Fate.REFUSED)
        return refusal

    def cancel(self) -> int:
        """Never send what is waiting; how many reports that were. They stay charged, and no others are drawn in their place. To
        be decided without looking at them. One that was on its way when its time ran out may have arrived: `withdraw` makes
        sure."""
        with self._store.writing() as rows:
            waits = [each for each in self._all_in(rows) if each.fate is Fate.WAITING]
            for each in waits:
                rows.set_fate(self._key, each.name, Fate.CANCELLED)
        return len(waits)

    def withdraw(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        patience: float = 60.0,
        allow_plain_http: bool = False,
    ) -> int:
        """Ask the collector to forget the report, or those of all rounds so far; how many attempts it took. They stay kept here,
        so that no second one is ever drawn, and are not sent again once the collector has confirmed it. Where this raises, call
        it again later. A report of a later round is made only if that is asked for. To be decided without looking at the
        report, which the collector has seen."""
        address, time_left = self._address(url, allow_plain_http), Patience(timeout, patience)
        self._refuse_none()
        n_attempts = 0
        for report in self.reports():
            n_attempts += withdraw_report(report.id, address, time_left)
            self._note(report, Fate.WITHDRAWN)
        return n_attempts

    def _note(self, report: Report, fate: Fate) -> None:
        """Keep what became of a report. An answer that comes late does not undo a withdrawal."""
        with self._store.writing() as rows:
            for each in self._all_in(rows):
                is_settled = each.fate in (Fate.WITHDRAWN, Fate.REFUSED)
                if each.report.id == report.id and (fate is Fate.WITHDRAWN or not is_settled):
                    rows.set_fate(self._key, each.name, fate)

    def _outcome(self, report: Report, why: str, reason: Reason | None) -> ContributionOutcome:
        fate = next((each.fate for each in self._all() if each.report.id == report.id), None)
        if fate is None:
            raise lost()
        if fate is Fate.CANCELLED:
            why = CANCELLED
        return ContributionOutcome(fate, "" if fate is Fate.SENT else why, reason)

    def _refuse_none(self) -> None:
        if not self._all():
            raise StoreError(
                f"no report is kept for campaign {self._campaign.id[:16]}… and this respondent; make one first"
            )

    def _address(self, url: str, allow_plain_http: bool) -> Address:
        address = Address.of(url, allow_plain_http=allow_plain_http)
        address.check(self._campaign.id)
        return address
