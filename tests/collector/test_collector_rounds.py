"""Slots are rounds: late reports of a round are refused after its grace, and each round is counted by itself."""

from datetime import date, timedelta

import pytest

import people
from load import withdraw
from lopub import (
    Campaign,
    CampaignRequest,
    Repeat,
    Report,
    ReportBatch,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.report import framed
from lopub.campaign.schedule import EARLY_DAYS, EPOCH, GRACE_DAYS
from lopub.collector.campaigns import find_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.metrics import Metrics
from lopub.collector.submissions import StoredReport, Submission
from lopub.collector.wire import arrival_of
from lopub.errors import Reason, TooFewReports

OPENS = date(2020, 5, 1)
REPEAT = Repeat(every_days=7, rounds=4, take_part=2)
FIRST = (OPENS - EPOCH).days


def campaign(min_reports: int = 1) -> Campaign:
    terms = Terms(
        name="weekly", schedule=Schedule.in_rounds(OPENS, REPEAT), min_reports=min_reports
    )
    return make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2))


WEEKLY = campaign()


@pytest.fixture
def store(database: str):
    opened = store_at(database)
    opened.today = lambda: FIRST
    yield opened
    opened.close()


def report(slot: int, number: int = 0) -> bytes:
    from lopub.bulk.view_laws import Repeatable
    from lopub.client.noise import randomized

    source = Repeatable(b"%d" % number)
    made = randomized(
        WEEKLY,
        [0] * len(WEEKLY.domain),
        report_id=source.take(16),
        slot=slot,
        randomness=source,
    )
    return made.to_bytes()


@pytest.mark.parametrize("grace", [0, 3, GRACE_DAYS])
@pytest.mark.parametrize("number", [0, 2])
def test_a_report_of_a_round_is_taken_until_the_end_of_its_grace_and_then_refused(
    store, grace, number
):
    entry, _ = open_campaign(store, WEEKLY, grace_days=grace)
    slot = FIRST + 7 * number
    for days_after, reasons in ((0, []), (6 + grace, []), (7 + grace, [Reason.SLOT])):
        store.today = lambda days_after=days_after: slot + days_after
        arrived = arrival_of(framed([report(slot)]), entry, framed=True)
        assert [refusal.reason for refusal in arrived.refusals] == reasons
        assert len(arrived.submission.rows) == 1 - len(reasons)
    assert "is over, and so are its days of grace" in arrived.refusals[0].detail
    assert arrived.refusals[0].to_json()["when"] == "late"


@pytest.mark.parametrize("number", [1, 3])
def test_a_report_of_a_round_that_has_not_begun_is_refused_until_the_day_before(store, number):
    entry, _ = open_campaign(store, WEEKLY)
    slot = FIRST + 7 * number
    for days_before, reasons in (
        (7, [Reason.SLOT]),
        (EARLY_DAYS + 1, [Reason.SLOT]),
        (EARLY_DAYS, []),
        (0, []),
    ):
        store.today = lambda days_before=days_before: slot - days_before
        arrived = arrival_of(framed([report(slot)]), entry, framed=True)
        assert [refusal.reason for refusal in arrived.refusals] == reasons
        assert all(
            "has not begun; is the sender's clock right?" in refusal.detail
            for refusal in arrived.refusals
        )
        assert all(refusal.to_json()["when"] == "early" for refusal in arrived.refusals)


def test_a_campaign_that_is_asked_once_takes_any_day_of_its_schedule_until_tomorrow(store):
    terms = Terms(name="once", schedule=Schedule(opens=OPENS, closes=OPENS + timedelta(days=27)))
    entry, _ = open_campaign(store, make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2)))
    store.today = lambda: FIRST + 26
    assert [entry.untimely(slot) for slot in (FIRST, FIRST + 27)] == ["", ""]
    store.today = lambda: FIRST + 25
    assert entry.untimely(FIRST + 27) == "early"


def test_files_are_imported_with_the_reports_that_come_at_their_time_and_no_other(store):
    entry, _ = open_campaign(store, WEEKLY, grace_days=3)
    store.today = lambda: (
        FIRST + 7 * 2 - 2
    )  # the grace of the first round is over, the third begins in two days
    made = [
        report(FIRST + 7 * number, 10 * number + n)
        for number in range(4)
        for n in range(2 + number)
    ]
    batch = ReportBatch.from_reports([Report.from_bytes(data, WEEKLY) for data in made], WEEKLY)
    found = import_reports(store, entry, [batch])
    assert (found.n_accepted, dict(found.refused)) == (3, {Reason.SLOT: 2 + 4 + 5})
    assert dict(tally(store, entry).slots) == {FIRST + 7: 3}
    assert tally(store, entry).refused == {Reason.SLOT: 11}


def test_a_collector_that_starts_again_refuses_late_reports_as_before(database):
    first = store_at(database)
    first.today = lambda: FIRST
    open_campaign(first, WEEKLY, grace_days=2)
    first.close()
    again = store_at(database)
    again.today = lambda: FIRST + 6 + 3
    assert find_campaign(again, WEEKLY.id).untimely(FIRST)
    again.today = lambda: FIRST + 6 + 2
    assert not find_campaign(again, WEEKLY.id).untimely(FIRST)
    again.close()


def test_the_campaign_closes_after_the_grace_of_its_last_round(store):
    entry, _ = open_campaign(store, WEEKLY)
    assert entry.closes_on == OPENS + timedelta(days=4 * 7 - 1 + GRACE_DAYS)


def test_a_slot_inside_a_round_is_refused(store):
    entry, _ = open_campaign(store, WEEKLY)
    good = Report.from_bytes(report(FIRST), WEEKLY).to_bytes()
    arrived = arrival_of(
        framed([good[:25] + (FIRST + 1).to_bytes(4) + good[29:]]), entry, framed=True
    )
    assert [refusal.reason for refusal in arrived.refusals] == [Reason.SLOT]


def told(metrics: Metrics, name: str) -> int:
    (line,) = [line for line in metrics.text(n_waiting=0).splitlines() if line.startswith(name)]
    return int(line.rpartition(" ")[2])


@pytest.mark.parametrize("n_hidden", [0, 1, 2])
def test_no_total_of_the_process_tells_how_many_reports_a_hidden_round_has(store, n_hidden):
    entry, _ = open_campaign(store, campaign(min_reports=3))
    metrics = Metrics()
    metrics.met(entry.number, entry.campaign.terms)
    before = metrics.text(n_waiting=0)
    for slot, n in ((FIRST, n_hidden), (FIRST + 7, 5)):
        for i in range(n):  # one by one, as they come
            row = StoredReport(entry.number, bytes([slot % 256, i]) * 16, slot, b"\x00")
            metrics.wrote(store.write([Submission(entry.number, [row])]))
        if slot == FIRST:
            assert metrics.text(n_waiting=0) == before
    assert (
        told(metrics, 'lopub_reports_total{outcome="accepted"}')
        == tally(store, entry).n_reports
        == 5
    )


def test_reports_that_come_again_in_one_group_are_not_taken_for_new_ones(store):
    entry, _ = open_campaign(store, campaign(min_reports=3))
    metrics = Metrics()
    metrics.met(entry.number, entry.campaign.terms)
    rows = [
        StoredReport(entry.number, bytes([i]) * 32, FIRST + 7 * (i % 2), b"\x00") for i in range(4)
    ]
    for _ in range(3):
        metrics.wrote(store.write([Submission(entry.number, rows)]))
    assert told(metrics, 'lopub_reports_total{outcome="accepted"}') == 0
    assert told(metrics, 'lopub_reports_total{outcome="replayed"}') == 8


def test_counts_show_the_rounds_that_have_enough_reports_and_no_other(store):
    strict = campaign(min_reports=3)
    entry, _ = open_campaign(store, strict)

    def rows(slot: int, n: int, start: int) -> list[StoredReport]:
        return [
            StoredReport(entry.number, bytes([start + i]) * 32, slot, b"\x00") for i in range(n)
        ]

    store.write([Submission(entry.number, rows(FIRST, 2, 1) + rows(FIRST + 7, 2, 10))])
    with pytest.raises(TooFewReports, match="shows its counts from 3 reports on"):
        tally(store, entry)
    store.write([Submission(entry.number, rows(FIRST + 7, 3, 20))])
    found = tally(store, entry)
    assert (dict(found.slots), found.n_reports) == ({FIRST + 7: 5}, 5)


def test_a_withdrawal_that_is_asked_for_again_is_none(store):
    entry, _ = open_campaign(store, WEEKLY)
    rows = [StoredReport(entry.number, bytes([i]) * 32, FIRST, b"\x00") for i in (1, 2)]
    store.write([Submission(entry.number, rows)])
    told = [withdraw(store, entry, bytes([i]) * 32) for i in (1, 2, 1, 2)]
    assert told == [True, True, False, False]
