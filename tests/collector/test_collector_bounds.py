"""What anybody can send without a token stays bounded: the days of reports, the answer of counts, names of withdrawn reports."""

import hashlib
import json
import threading
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

import load
import people
from lopub import Campaign, CampaignRequest, Schedule, Terms, make_campaign
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed
from lopub.campaign.schedule import EPOCH
from lopub.collector import withdrawals
from lopub.collector.campaigns import (
    MOST_SLOTS,
    Entry,
    close_campaign,
    open_campaign,
    tally,
)
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.management import counts_of
from lopub.collector.retention import erase
from lopub.collector.rows import reports
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import StoredReport, Submission
from lopub.errors import Reason, StoreUnavailable
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate
from servers import Postgres, running_collector

CAMPAIGN = people.campaign()
OPENED = 20_000
WORDS = {
    OPENED - 2: "the day 2024-10-02 lies before the campaign's opening, 2024-10-04",
    OPENED + 7: "the day 2024-10-11 has not begun; is the sender's clock right?",
    2**32 - 1: "the day 9999-12-31 has not begun; is the sender's clock right?",
    0: "the day 1970-01-01 lies before the campaign's opening, 2024-10-04",
}


@pytest.fixture
def store(database: str):
    opened = store_at(database)
    yield opened
    opened.close()


@pytest.fixture
def entry(store: ReportStore) -> Entry:
    """A campaign without a schedule, five days after its opening."""
    store.today = lambda: OPENED
    found, _ = open_campaign(store, CAMPAIGN)
    store.today = lambda: OPENED + 5
    return found


# ---- days


@pytest.mark.parametrize(
    ("slot", "is_taken"),
    [
        *((OPENED - 1, True), (OPENED, True), (OPENED + 5, True), (OPENED + 6, True)),
        *((slot, False) for slot in WORDS),
    ],
)
def test_a_report_is_taken_from_the_day_before_the_opening_until_tomorrow(
    entry: Entry, slot: int, is_taken: bool
):
    refusal = entry.refusal_of(slot)
    assert (refusal is None) == is_taken
    if refusal is not None:
        assert (refusal.reason, str(refusal)) == (Reason.SLOT, WORDS[slot])


def test_days_go_on_without_the_entry_being_read_again(store: ReportStore, entry: Entry):
    assert entry.refusal_of(OPENED + 7) is not None
    store.today = lambda: OPENED + 6
    assert entry.refusal_of(OPENED + 7) is None


def test_a_campaign_that_is_opened_once_more_keeps_the_day_of_its_opening(
    store: ReportStore, entry: Entry
):
    again, is_new = open_campaign(store, CAMPAIGN)
    assert (again.opened, is_new) == (OPENED, False)


def test_a_schedule_takes_reports_made_before_it_was_opened_here(store: ReportStore):
    """A campaign file may be in devices before it is opened: the schedule says when reports are made."""
    day = EPOCH + timedelta(days=OPENED)
    terms = Terms(
        name="week",
        schedule=Schedule(opens=day - timedelta(days=7), closes=day + timedelta(days=7)),
    )
    store.today = lambda: OPENED
    entry, _ = open_campaign(store, make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2)))
    taken = [slot for slot in range(OPENED - 7, OPENED + 8) if entry.refusal_of(slot) is None]
    assert taken == list(range(OPENED - 7, OPENED + 2))


def made(target: Campaign, n: int, slot: int | None, seed: int = 1):
    """Simulated reports of a day; of the one that simulation takes where none is named."""
    table = Dataset(target.domain, np.zeros((n, len(target.domain)), dtype=np.uint16))
    return simulate(table, target, seed=seed, slot=slot)


def test_a_file_may_bring_reports_from_before_the_opening_but_none_from_the_future(
    store: ReportStore, entry: Entry
):
    """Whoever owns the database brings the file, often after the fact; simulated reports that name no day carry 1970-01-01."""
    batches = [made(CAMPAIGN, 3, None), made(CAMPAIGN, 2, OPENED - 100, seed=2)]
    batches.append(made(CAMPAIGN, 4, OPENED + 7, seed=3))
    found = import_reports(store, entry, batches)
    assert (found.n_accepted, dict(found.refused)) == (5, {Reason.SLOT: 4})
    assert dict(tally(store, entry).slots) == {0: 3, OPENED - 100: 2}


def test_fakes_with_a_day_each_do_not_grow_the_counts(database: str):
    """404,000 fakes, with a slot each, made the answer 19 MB."""
    load.opened(database, CAMPAIGN)
    token = people.token(database)
    honest = people.reports(CAMPAIGN, 3)
    (pattern,) = people.reports(CAMPAIGN, 1)
    slots = [*range(1000), *range(today() + 2, today() + 1000), *range(2**32 - 1000, 2**32)]
    fakes = [
        pattern[:9] + hashlib.sha256(b"%d" % slot).digest()[:16] + slot.to_bytes(4) + pattern[29:]
        for slot in slots
    ]
    path = f"/campaigns/{CAMPAIGN.id}"
    with running_collector(database) as collector:
        sent = collector.ask("POST", f"{path}/reports", framed(honest), Content_Type=FRAMED_TYPE)
        assert sent.status == 200
        for start in range(0, len(fakes), 500):
            body = framed(fakes[start : start + 500])
            answer = collector.ask("POST", f"{path}/reports", body, Content_Type=FRAMED_TYPE)
            assert answer.status == 422
            assert {each["reason"] for each in answer.json["refused"]} == {"slot"}
        counts = collector.ask("GET", f"{path}/counts", Authorization=f"Bearer {token}")
    assert len(counts.json["slots"]) == 1 and len(counts.body) < 300
    assert counts.json["refused"] == {"slot": len(fakes)}


def test_the_answer_of_counts_lists_so_many_days_and_counts_all(store: ReportStore):
    """A database can have more days than that: of imported reports, or after years."""
    entry, _ = open_campaign(store, CAMPAIGN)
    n = MOST_SLOTS + 500
    rows = [
        StoredReport(entry.number, hashlib.sha256(b"%d" % slot).digest(), slot, b"x")
        for slot in range(n)
    ]
    for start in range(0, n, 1000):
        store.write([Submission(entry.number, rows[start : start + 1000])])
    found = tally(store, entry)
    assert list(found.slots) == list(range(500, n))
    assert (found.n_reports, found.n_earlier) == (n, 500)
    answer = counts_of(entry, found)
    assert len(answer["slots"]) == MOST_SLOTS and answer["reports"] == n
    assert len(json.dumps(answer)) < 300_000


# ---- withdrawals of ids that nobody has


def n_rows(store: ReportStore) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(reports)).scalar_one())


def names(n: int, what: str = "made up") -> list[bytes]:
    return [hashlib.sha256(f"{what} {i}".encode()).digest() for i in range(n)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have a campaign keep few names of reports that have not come."""
    monkeypatch.setattr(withdrawals, "MOST_EARLY", 20)
    return 20


@pytest.mark.parametrize("per_commit", [1, 30])
def test_made_up_ids_grow_a_store_only_so_far(store: ReportStore, few: int, per_commit: int):
    entry, _ = open_campaign(store, CAMPAIGN)
    kept = [StoredReport(entry.number, name, today(), b"x") for name in names(5, "kept")]
    store.write([Submission(entry.number, kept)])
    outcomes = []
    for start in range(0, 90, per_commit):
        asked = names(90)[start : start + per_commit]
        group = [Submission(entry.number, [], withdrawn=[name]) for name in asked]
        outcomes += store.write(group).outcomes
    assert n_rows(store) == 5 + few
    assert sum(outcome.postponed for outcome in outcomes) == 90 - few


def test_a_report_that_is_there_is_withdrawn_however_many_were_made_up(
    store: ReportStore, few: int
):
    entry, _ = open_campaign(store, CAMPAIGN)
    kept = [StoredReport(entry.number, name, today(), b"x") for name in names(5, "kept")]
    store.write([Submission(entry.number, kept)])
    for name in names(90):
        store.write([Submission(entry.number, [], withdrawn=[name])])
    written = store.write([Submission(entry.number, [], withdrawn=[kept[0].hash])])
    assert (written.n_withdrawn, written.outcomes[0].postponed) == (1, False)
    again = store.write([Submission(entry.number, [], withdrawn=[kept[0].hash])])
    assert (again.n_withdrawn, again.outcomes[0].postponed) == (0, False)
    assert tally(store, entry).n_withdrawn == 1


@pytest.mark.parametrize("n_reports", [0, 1, 7])
def test_made_up_ids_do_not_tell_how_many_reports_there_are(
    store: ReportStore, few: int, n_reports: int
):
    """A bound that grows with the reports told their number below min_reports, and when another one came."""
    entry, _ = open_campaign(store, CAMPAIGN)
    rows = [
        StoredReport(entry.number, name, today(), b"x") for name in names(n_reports + 1, "kept")
    ]
    if n_reports:
        store.write([Submission(entry.number, rows[:-1])])
    taken = [
        not store.write([Submission(entry.number, [], withdrawn=[name])]).outcomes[0].postponed
        for name in names(few + 10)
    ]
    assert taken == [True] * few + [False] * 10
    store.write([Submission(entry.number, rows[-1:])])
    late = Submission(entry.number, [], withdrawn=names(1, "late"))
    assert store.write([late]).outcomes[0].postponed


def test_a_withdrawal_that_comes_before_its_report_holds(store: ReportStore):
    """The promise of `lopub withdraw`: a report that is still on its way is refused when it comes."""
    entry, _ = open_campaign(store, CAMPAIGN)
    (name,) = names(1)
    row = StoredReport(entry.number, name, today(), b"x")
    assert store.write([Submission(entry.number, [], withdrawn=[name])]).n_withdrawn == 0
    written = store.write([Submission(entry.number, [row])])
    assert written.outcomes[0].refused == {0: Reason.WITHDRAWN}


def test_a_report_and_its_withdrawal_in_one_group_leave_no_content(store: ReportStore):
    entry, _ = open_campaign(store, CAMPAIGN)
    (name,) = names(1)
    row = StoredReport(entry.number, name, today(), b"x")
    group = [Submission(entry.number, [], withdrawn=[name]), Submission(entry.number, [row])]
    assert store.write(group).n_withdrawn == 1
    with store.reading() as connection:
        assert connection.execute(select(reports.c.slot, reports.c.content)).all() == [(None, None)]


def test_made_up_ids_do_not_bend_the_number_of_withdrawn_reports(store: ReportStore):
    """It is published beside the number of reports."""
    entry, _ = open_campaign(store, CAMPAIGN)
    rows = [StoredReport(entry.number, name, today(), b"x") for name in names(3, "kept")]
    store.write([Submission(entry.number, rows)])
    store.write([Submission(entry.number, [], withdrawn=[*names(50), rows[0].hash])])
    found = tally(store, entry)
    assert (found.n_reports, found.n_withdrawn) == (2, 1)


def test_names_of_withdrawn_reports_go_with_the_reports(store: ReportStore):
    entry, _ = open_campaign(store, CAMPAIGN)
    store.write([Submission(entry.number, [], withdrawn=names(30))])
    erase(store, close_campaign(store, CAMPAIGN.id))
    assert n_rows(store) == 0


def test_a_withdrawal_that_meets_its_report_in_another_collector_holds(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
):
    """Two collectors on one PostgreSQL: the report comes to one while the other looks whether it is there."""
    database = postgres.new_database()
    first, second = store_at(database), store_at(database)
    entry, _ = open_campaign(first, CAMPAIGN)
    (name,) = names(1)
    row = StoredReport(entry.number, name, today(), b"x")
    real = first.lookup

    def meanwhile(connection, rows):
        found = real(connection, rows)
        sender = threading.Thread(target=lambda: second.write([Submission(entry.number, [row])]))
        sender.start()
        sender.join()
        return found

    monkeypatch.setattr(first, "lookup", meanwhile)
    first.write([Submission(entry.number, [], withdrawn=[name])])
    with first.reading() as connection:
        assert connection.execute(select(reports.c.content)).scalars().all() == [None]
        assert second.n_reports(connection, entry.number) == 0
    first.close()
    second.close()


def test_withdrawals_and_reports_of_two_collectors_never_wait_for_each_other(postgres: Postgres):
    """Tallies that are counted twice in a transaction, or names that are not taken in one order, end in deadlocks."""
    database = postgres.new_database()
    stores = [store_at(database), store_at(database)]
    entry, _ = open_campaign(stores[0], CAMPAIGN)
    before, n_rounds = (postgres.directory / "log").read_text(), 150
    start = threading.Barrier(2)
    failed = []

    def send(place: int) -> None:
        for pair in range(n_rounds):
            two = names(2, f"pair {pair}")
            row = StoredReport(entry.number, two[place], OPENED + pair % 2, b"x")
            other = Submission(entry.number, [], withdrawn=[two[1 - place]])
            start.wait()
            try:
                stores[place].write([Submission(entry.number, [row]), other])
            except StoreUnavailable as error:
                failed.append(error)

    threads = [threading.Thread(target=send, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = (postgres.directory / "log").read_text().removeprefix(before)
    assert (failed, log.count("deadlock detected")) == ([], 0)
    with stores[0].reading() as connection:
        contents = connection.execute(select(reports.c.content)).scalars().all()
        assert contents == [None] * 2 * n_rounds
        assert stores[0].n_reports(connection, entry.number) == 0
    for each in stores:
        each.close()


class GivenUp(Exception):
    sqlstate = "40P01"


@pytest.mark.parametrize(("n_times", "is_kept"), [(1, True), (4, True), (5, False)])
def test_a_group_that_the_database_gives_up_is_written_again(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, n_times: int, is_kept: bool
):
    entry, _ = open_campaign(store, CAMPAIGN)
    real, left = store.count, [GivenUp()] * n_times

    def count(*given):
        if left:
            raise OperationalError("", {}, left.pop())
        real(*given)

    monkeypatch.setattr(store, "count", count)
    group = [Submission(entry.number, [StoredReport(entry.number, bytes(32), OPENED, b"x")])]
    if is_kept:
        assert store.write(group).n_accepted == 1
    else:
        with pytest.raises(StoreUnavailable, match="try again later"):
            store.write(group)
    assert n_rows(store) == is_kept


def test_a_withdrawal_that_is_put_off_is_told_to_come_again(tmp_path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN)
    none = (
        "import lopub.collector.withdrawals as w; w.MOST_EARLY = 0;"
        " from lopub.__main__ import main; main()"
    )
    body = json.dumps({"id": base64url(bytes(16))})
    with running_collector(database, program=("-c", none)) as collector:
        path = f"/campaigns/{CAMPAIGN.id}/withdrawals"
        answer = collector.ask("POST", path, body, Content_Type=JSON_TYPE)
    assert (answer.status, answer.json["type"]) == (503, "urn:lopub:problem:busy")
    assert answer.headers["retry-after"]
