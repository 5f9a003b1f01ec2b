"""Retention deletes what it promised, when it promised, by no clock that jumps; whatever fails is tried again."""

import asyncio
import logging
from datetime import date

import pytest
from sqlalchemy import func, insert, select, update
from test_collector_cli import lopub

import people
from load import set_day
from lopub import Campaign, CampaignRequest, ReportBatch, Schedule, Terms, make_campaign
from lopub.campaign.report import Report
from lopub.campaign.schedule import EPOCH, GRACE_DAYS
from lopub.collector import collector as loop
from lopub.collector import retention
from lopub.collector.backup import backup, restore
from lopub.collector.campaigns import (
    all_campaigns,
    close_campaign,
    find_campaign,
    open_campaign,
)
from lopub.collector.collector import Collector, CollectorSettings
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.retention import (
    MOST_DAYS,
    confirm_date,
    erase,
    retention_problem,
    sweep,
)
from lopub.collector.rows import campaigns, reports, tallies
from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.steward_log import actions
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import StoredReport, Submission
from lopub.errors import CampaignClosed, CampaignError, DomainError, StoreUnavailable
from servers import running_collector

OPENS, CLOSES = date(2026, 3, 1), date(2026, 3, 31)
FIRST, LAST = (OPENS - EPOCH).days, (CLOSES - EPOCH).days
KEPT_DAYS = 30
HALF_A_YEAR = 182
SECRET = b"an answer of somebody"


def campaign(name: str = "march") -> Campaign:
    terms = Terms(
        name=name, schedule=Schedule(opens=OPENS, closes=CLOSES), retention_days=KEPT_DAYS
    )
    return make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2))


MARCH = campaign()
ENDS = LAST + GRACE_DAYS + KEPT_DAYS
"""The last day on which the reports of March are kept."""


@pytest.fixture
def store(database: str):
    """A store on the first day of March's schedule, on which retention has looked at it."""
    opened = store_at(database)
    set_day(opened, FIRST)
    confirm_date(opened, FIRST, "test")
    assert sweep(opened)
    yield opened
    opened.close()


def n_rows(store: ReportStore) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(reports)).scalar_one())


def last_day(store: ReportStore) -> int:
    with store.reading() as connection:
        return int(connection.scalars(select(retention.retention.c.last_day)).one())


def with_reports(store: ReportStore, target: Campaign = MARCH, n: int = 3) -> int:
    """Open a campaign with so many reports of this day; its number."""
    entry, _ = open_campaign(store, target)
    rows = [
        StoredReport(entry.number, bytes([entry.number, i]) * 16, store.today(), SECRET)
        for i in range(n)
    ]
    assert store.write([Submission(entry.number, rows)]).n_accepted == n
    return entry.number


def live_until(store: ReportStore, last: int) -> None:
    """Let the days go by, with a sweep on each, as in a collector that runs."""
    for day in range(store.today(), last + 1):
        set_day(store, day)
        assert sweep(store)


# ---- clocks that are wrong


@pytest.mark.parametrize("days", [MOST_DAYS + 1, HALF_A_YEAR, 3_000, 100_000])
def test_a_start_with_a_clock_that_is_ahead_deletes_nothing(store: ReportStore, days: int):
    number = with_reports(store)
    set_day(store, FIRST + days)
    for _ in range(40):  # nor does it come nearer to that day with each look
        sweep(store)
    assert (n_rows(store), last_day(store)) == (3, FIRST)
    set_day(store, FIRST + 1)  # set right again
    assert sweep(store) and retention_problem(store) is None
    row = StoredReport(number, b"n" * 32, FIRST + 1, SECRET)
    assert store.write([Submission(number, [row])]).n_accepted == 1
    found = find_campaign(store, MARCH.id)
    assert (n_rows(store), found.closed, found.erased) == (4, None, None)


def test_a_clock_that_is_ahead_writes_nothing_about_a_campaign(store: ReportStore):
    """Forbids to write down a close, or anything, that the clock alone decided: it would stay when the clock is right again."""
    with_reports(store)
    with store.reading() as connection:
        before = connection.execute(select(campaigns)).all()
    set_day(store, FIRST + HALF_A_YEAR)
    sweep(store)
    assert find_campaign(store, MARCH.id).closed is not None
    with pytest.raises(CampaignClosed):
        open_campaign(store, MARCH)
    with store.reading() as connection:
        assert connection.execute(select(campaigns)).all() == before
    set_day(store, FIRST)
    assert find_campaign(store, MARCH.id).closed is None


def test_a_clock_in_doubt_is_reported_with_both_days(
    store: ReportStore, caplog: pytest.LogCaptureFixture
):
    with_reports(store)
    set_day(store, FIRST + HALF_A_YEAR)
    told = "a clock shows 2026-08-30, and the last day that retention saw is 2026-03-01"
    with caplog.at_level(logging.WARNING, logger="lopub.collector"):
        sweep(store)
    assert told in caplog.text and "`lopub collect confirm-date`" in caplog.text
    problem = retention_problem(store)
    assert problem is not None and told in str(problem)
    assert set(problem.parameters) == {"today", "last_day"}


def test_a_collector_that_was_off_for_two_months_deletes_once_a_steward_confirms(
    store: ReportStore,
):
    with_reports(store)
    live_until(store, ENDS - 30)
    set_day(store, ENDS + 30)
    sweep(store)
    assert n_rows(store) == 3 and retention_problem(store) is not None
    confirm_date(store, ENDS + 30, "a token")
    assert retention_problem(store) is None
    assert sweep(store)
    assert n_rows(store) == 0 and find_campaign(store, MARCH.id).erased == ENDS + 30
    newest = actions(store)[0]
    assert (newest.who, newest.what, newest.subject) == (
        *("a token", "date confirmed"),
        "2026-06-13",
    )


def test_a_collector_that_was_off_for_a_week_needs_nobody(store: ReportStore):
    with_reports(store)
    live_until(store, ENDS - 2)
    set_day(store, ENDS - 2 + MOST_DAYS)
    assert retention_problem(store) is None and sweep(store)
    assert n_rows(store) == 0


def test_a_confirmed_date_must_be_that_of_the_clock(store: ReportStore):
    with_reports(store)
    set_day(store, FIRST + HALF_A_YEAR)
    with pytest.raises(
        DomainError, match=r"shows 2026-08-30 \(UTC\), not 2026-03-01; set it right"
    ):
        confirm_date(store, FIRST, "test")
    assert last_day(store) == FIRST and retention_problem(store) is not None


def test_a_clock_that_is_behind_never_takes_the_last_day_back(store: ReportStore):
    with_reports(store)
    live_until(store, ENDS - 2)
    for days in (1, MOST_DAYS, MOST_DAYS + 1, 400):
        set_day(store, ENDS - 2 - days)
        assert (retention_problem(store) is None) == (days <= MOST_DAYS)
        sweep(store)
        assert (last_day(store), n_rows(store)) == (ENDS - 2, 3)


def test_a_close_by_a_clock_that_is_behind_does_not_shorten_retention(store: ReportStore):
    """A campaign that was closed by a clock of last year was deleted as soon as the clock was right again."""
    with_reports(store, people.campaign("month", retention_days=KEPT_DAYS))
    live_until(store, FIRST + 20)
    set_day(store, FIRST + 20 - 365)
    (entry,) = all_campaigns(store)
    assert close_campaign(store, entry.campaign.id).closed == FIRST + 20
    set_day(store, FIRST + 21)
    assert sweep(store) and n_rows(store) == 3


def test_a_close_by_a_clock_that_was_ahead_does_not_keep_reports_for_longer(store: ReportStore):
    with_reports(store, people.campaign("month", retention_days=KEPT_DAYS))
    (entry,) = all_campaigns(store)
    set_day(store, FIRST + HALF_A_YEAR)
    assert close_campaign(store, entry.campaign.id).closed == FIRST + HALF_A_YEAR
    live_from = FIRST + 2
    set_day(store, live_from)
    assert sweep(store)
    assert find_campaign(store, entry.campaign.id).closed == live_from
    live_until(store, live_from + KEPT_DAYS)
    assert n_rows(store) == 3
    live_until(store, live_from + KEPT_DAYS + 1)
    assert n_rows(store) == 0


def test_a_new_database_needs_nobody_whatever_its_clock_shows(database: str):
    """The first start of all by a wrong clock: until there is a campaign, there is nothing to lose."""
    store = store_at(database)
    for day in (FIRST + 3_000, 0, FIRST):
        set_day(store, day)
        assert retention_problem(store) is None and sweep(store)
        assert last_day(store) == day
    with_reports(store)
    assert retention_problem(store) is None
    store.close()


def test_campaigns_opened_by_a_clock_that_is_ahead_take_reports_when_it_is_right(database: str):
    store = store_at(database)
    set_day(store, FIRST + HALF_A_YEAR)
    assert sweep(store)
    entry, _ = open_campaign(store, people.campaign("month", retention_days=KEPT_DAYS))
    set_day(store, FIRST)
    assert entry.refusal_of(FIRST) is None
    assert retention_problem(store) is not None  # the clock has gone back by half a year
    confirm_date(store, FIRST, "test")
    assert retention_problem(store) is None and last_day(store) == FIRST
    store.close()


@pytest.mark.parametrize("days", [5, HALF_A_YEAR])
def test_of_two_collectors_on_one_database_the_one_that_is_ahead_deletes_nothing_early(
    store: ReportStore, database: str, days: int
):
    """The database's own clock is right, as is one of the collectors'."""
    with_reports(store)
    live_until(store, ENDS - 1)
    ahead = store_at(database)
    ahead.today = lambda: ENDS - 1 + days
    ahead.day_there = store.day_there  # type: ignore[method-assign]
    sweep(ahead)
    assert (n_rows(store), last_day(store)) == (3, ENDS - 1)
    assert (retention_problem(ahead) is None) == (days <= MOST_DAYS)
    assert retention_problem(store) is None
    set_day(store, ENDS + 1)
    assert sweep(store) and n_rows(store) == 0
    ahead.close()


def test_postgresql_tells_the_day_by_its_own_clock(postgres):
    store = store_at(postgres.new_database())
    store.today = lambda: 0
    with store.reading() as connection:
        assert abs(store.day_there(connection) - today()) <= 1
    store.close()


def test_a_restored_backup_brings_its_last_day(store: ReportStore, tmp_path):
    with_reports(store)
    backup(store, tmp_path / "backup")
    new = SqliteStore(tmp_path / "new.db")
    set_day(new, ENDS + 100)
    assert sweep(new)
    restore(tmp_path / "backup", new)
    sweep(new)
    assert (n_rows(new), last_day(new)) == (3, FIRST) and retention_problem(new) is not None
    new.close()


def test_a_served_database_with_a_clock_half_a_year_ahead_keeps_its_reports(tmp_path):
    """The whole program: the clock of a real collector is ahead when it starts."""
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    terms = Terms(
        name="now",
        schedule=Schedule(opens=day_at(today() - 3), closes=day_at(today() + 3)),
        retention_days=KEPT_DAYS,
    )
    target = make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2))
    with_reports(store, target)
    ahead = (
        "import time; real = time.time; time.time = lambda: real() + 182 * 86_400;"
        " from lopub.__main__ import main; main()"
    )
    with running_collector(database, program=("-c", ahead)) as collector:
        assert collector.has_said("no report is deleted: a clock shows")
        ready = collector.ask("GET", "/ready")
        assert ready.status == 200 and "a clock shows" in ready.json["retention"]
    assert n_rows(store) == 3
    assert find_campaign(store, target.id).erased is None
    store.close()


def day_at(slot: int) -> date:
    return date.fromordinal(EPOCH.toordinal() + slot)


def test_a_clock_that_goes_back_opens_no_campaign_whose_rows_are_in_order(store: ReportStore):
    number = with_reports(store)
    live_until(store, LAST + GRACE_DAYS + MOST_DAYS + 1)
    assert find_campaign(store, MARCH.id).closed_by_hand == LAST + GRACE_DAYS
    set_day(store, LAST)
    row = StoredReport(number, b"n" * 32, LAST, SECRET)
    assert store.write([Submission(number, [row])]).outcomes[0].closed
    with pytest.raises(CampaignClosed, match="since the end of its schedule and grace"):
        open_campaign(store, MARCH)
    assert find_campaign(store, MARCH.id).last_kept == ENDS


def test_a_close_by_schedule_is_not_written_down_while_a_clock_may_be_ahead(store: ReportStore):
    with_reports(store)
    live_until(store, LAST + GRACE_DAYS + MOST_DAYS)
    assert find_campaign(store, MARCH.id).closed_by_hand is None


# ---- what is deleted stays deleted, and what is there is found


def test_reports_of_an_erased_campaign_are_refused(store: ReportStore):
    """However its campaign looks by the clock: retention had deleted it by a wrong one, and the reports that came then were never
    published and never deleted."""
    number = with_reports(store)
    with store.writing() as connection:
        connection.execute(update(campaigns).values(erased=FIRST))
    entry = find_campaign(store, MARCH.id)
    assert entry.closed == FIRST
    row = StoredReport(number, b"n" * 32, FIRST, SECRET)
    assert store.write([Submission(number, [row], withdrawn=[row.hash])]).outcomes[0].closed
    batch = ReportBatch.from_reports(
        [Report.from_bytes(data, MARCH) for data in reports_on(FIRST)], MARCH
    )
    with pytest.raises(CampaignClosed, match="takes no more reports"):
        import_reports(store, entry, [batch])
    with pytest.raises(CampaignClosed, match="is closed"):
        open_campaign(store, MARCH)


def reports_on(slot: int) -> list[bytes]:
    from lopub.bulk.view_laws import Repeatable
    from lopub.client.noise import randomized

    made = randomized(
        MARCH, [0, 0], report_id=b"one of 16 bytes.", slot=slot, randomness=Repeatable(b"x")
    )
    return [made.to_bytes()]


def test_what_is_kept_after_all_is_found_by_the_next_sweep(store: ReportStore):
    number = with_reports(store)
    live_until(store, ENDS + 1)
    assert n_rows(store) == 0
    late = {"campaign": number, "hash": b"n" * 32, "slot": FIRST, "content": SECRET}
    with store.writing() as connection:
        connection.execute(insert(reports).values(late))
        connection.execute(insert(tallies).values(campaign=number, slot=FIRST, n=1))
    assert sweep(store)
    assert n_rows(store) == 0
    with store.reading() as connection:
        assert connection.execute(select(tallies)).all() == []


def test_deleting_writes_the_close_down_so_that_no_other_clock_takes_reports(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
):
    """Another collector's clock may be behind: between the deletion and its end, its reports would have come in."""
    number = with_reports(store)
    live_until(store, ENDS)
    outcomes = []

    def written_meanwhile() -> None:
        set_day(store, FIRST)
        row = StoredReport(number, b"n" * 32, FIRST, SECRET)
        outcomes.extend(store.write([Submission(number, [row])]).outcomes)
        set_day(store, ENDS + 1)

    monkeypatch.setattr(store, "scrub", written_meanwhile)
    set_day(store, ENDS + 1)
    assert sweep(store)
    assert outcomes[0].closed and n_rows(store) == 0


def test_an_open_campaign_cannot_be_erased(store: ReportStore):
    with_reports(store)
    with pytest.raises(CampaignError, match="close the campaign first"):
        erase(store, find_campaign(store, MARCH.id))
    assert n_rows(store) == 3


def test_a_campaign_that_only_a_clock_in_doubt_has_closed_cannot_be_erased(store: ReportStore):
    """A steward's job deletes by the same clock as the sweep."""
    with_reports(store)
    set_day(store, FIRST + HALF_A_YEAR)
    entry = find_campaign(store, MARCH.id)
    assert entry.closed is not None
    with pytest.raises(CampaignError, match="no report is deleted: a clock shows"):
        erase(store, entry)
    assert n_rows(store) == 3


# ---- one failure keeps nothing else from being done


def test_an_unreadable_campaign_keeps_no_other_from_being_deleted(
    store: ReportStore, caplog: pytest.LogCaptureFixture
):
    for name in ("first", "second", "third"):
        with_reports(store, campaign(name))
    live_until(store, ENDS)
    (first, *_) = sorted(all_campaigns(store), key=lambda entry: entry.number)
    body = first.campaign.canonical_bytes
    damage(store, first.number, body[:-10])
    set_day(store, ENDS + 1)
    assert not sweep(store)
    assert n_rows(store) == 3
    assert "a campaign's reports cannot be deleted; it will be tried again" in caplog.text
    assert SECRET.decode() not in caplog.text and "march" not in caplog.text
    damage(store, first.number, body)
    assert sweep(store) and n_rows(store) == 0


def damage(store: ReportStore, number: int, body: bytes) -> None:
    with store.writing() as connection:
        chosen = update(campaigns).where(campaigns.c.number == number)
        connection.execute(chosen.values(body=body))


@pytest.mark.parametrize(
    "error", [ValueError(SECRET.decode()), StoreUnavailable("x"), MemoryError(), KeyError("x")]
)
def test_files_that_cannot_be_scrubbed_are_tried_again(
    store: ReportStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
):
    for name in ("first", "second"):
        with_reports(store, campaign(name))
    live_until(store, ENDS)
    set_day(store, ENDS + 1)
    real, calls = store.scrub, []

    def failing_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise error
        real()

    monkeypatch.setattr(store, "scrub", failing_once)
    assert not sweep(store)
    assert [entry.erased for entry in by_number(store)] == [ENDS + 1, ENDS + 1]
    assert SECRET.decode() not in caplog.text
    assert sweep(store) and len(calls) == 2
    assert sweep(store) and len(calls) == 2


def test_a_deletion_beside_a_reader_is_done_at_once_and_leaves_the_files_later(tmp_path):
    """The rows were gone, their number lost, and the campaign was never taken for deleted."""
    path = tmp_path / "lopub.db"
    store = store_at(f"sqlite:///{path}")
    with_reports(store, people.campaign(), n=200)
    entry = close_campaign(store, people.campaign().id)
    log = tmp_path / "lopub.db-wal"
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(reports)).scalar() == 200
        assert erase(store, entry) == 200
        assert find_campaign(store, entry.campaign.id).erased == store.today()
        assert not sweep(store)
        assert SECRET in path.read_bytes() + log.read_bytes()
    assert sweep(store)
    assert SECRET not in path.read_bytes() + log.read_bytes()
    store.close()


def by_number(store: ReportStore):
    return sorted(all_campaigns(store), key=lambda entry: entry.number)


@pytest.mark.parametrize("error", [RuntimeError("x"), StoreUnavailable("x"), MemoryError()])
def test_the_loop_survives_every_error_and_tries_again(
    tmp_path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    """An error that was not ours ended retention for the life of the process."""
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    n_sweeps = 0

    async def scenario() -> None:
        swept = asyncio.Event()
        events = asyncio.get_running_loop()

        def sweeping(_: ReportStore) -> bool:
            nonlocal n_sweeps
            n_sweeps += 1
            if n_sweeps < 3:
                raise error
            events.call_soon_threadsafe(swept.set)
            return True

        monkeypatch.setattr(loop, "sweep", sweeping)
        monkeypatch.setattr(loop, "RETRY_SECONDS", 0)
        collector = Collector(CollectorSettings(), store)
        await collector.start()
        async with asyncio.timeout(60):
            await swept.wait()
        await collector.stop()

    asyncio.run(scenario())
    assert n_sweeps == 3
    store.close()


# ---- the command


def test_the_command_confirms_the_date_of_the_clock_and_no_other(tmp_path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    with_reports(store, people.campaign())
    with store.writing() as connection:
        connection.execute(update(retention.retention).values(last_day=today() - 60))
    assert retention_problem(store) is not None
    given = ["--database", database]
    for day, told in (
        ("2026-01-01", "not 2026-01-01; set it right first"),
        ("tomorrow", "DATE must be a day such as 2026-11-18, got 'tomorrow'"),
    ):
        refused = lopub("collect", "confirm-date", day, *given, directory=tmp_path, code=1)
        assert told in " ".join(refused.split())
    assert retention_problem(store) is not None
    said = lopub("collect", "confirm-date", str(day_at(today())), *given, directory=tmp_path)
    assert f"confirmed: today is {day_at(today())}" in said
    assert retention_problem(store) is None
    assert actions(store)[0].who == "command line"
    store.close()
