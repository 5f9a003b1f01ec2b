"""A campaign with a schedule closes by itself, after days of grace; derived from dates, so that no moment can be missed."""

import json
import sqlite3
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

import people
from load import set_day, withdraw
from lopub import Campaign, CampaignRequest, Schedule, Terms, make_campaign
from lopub.campaign.report import Report
from lopub.campaign.schedule import EPOCH, GRACE_DAYS
from lopub.cli import app
from lopub.collector.backup import backup, restore
from lopub.collector.campaigns import (
    all_campaigns,
    close_campaign,
    find_campaign,
    open_campaign,
    tally,
)
from lopub.collector.collector import CollectorSettings
from lopub.collector.database import store_at
from lopub.collector.retention import confirm_date, sweep
from lopub.collector.rows import reports
from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import StoredReport, Submission
from lopub.collector.tokens import new_token
from lopub.collector.wire import row_of
from lopub.errors import CampaignClosed, DomainError
from servers import running_collector

OPENS, CLOSES = date(2020, 5, 1), date(2020, 5, 31)
LAST = (CLOSES - EPOCH).days
"""The slot of the schedule's last day."""


def campaign(
    closes: date = CLOSES, *, opens: date = OPENS, retention_days: int = 1, name: str = "may"
) -> Campaign:
    terms = Terms(
        name=name, schedule=Schedule(opens=opens, closes=closes), retention_days=retention_days
    )
    return make_campaign(people.DOMAIN, terms, CampaignRequest(epsilon=2))


MAY = campaign()


@pytest.fixture
def store(database: str):
    """A store whose day is the schedule's last one."""
    opened = store_at(database)
    set_day(opened, LAST)
    confirm_date(opened, LAST, "test")
    yield opened
    opened.close()


def rows(number: int, n: int) -> list[StoredReport]:
    """Reports made on the last day of the schedule."""
    return [StoredReport(number, bytes([i + 1]) * 32, LAST, b"\x00") for i in range(n)]


def go_to(store: ReportStore, days_after: int) -> None:
    """So many days after the schedule's last one."""
    set_day(store, LAST + days_after)


@pytest.mark.parametrize("days_after", [0, 1, GRACE_DAYS])
def test_until_the_end_of_the_grace_reports_and_withdrawals_are_taken(
    store: ReportStore, days_after: int
):
    entry, _ = open_campaign(store, MAY)
    go_to(store, days_after)
    assert store.write([Submission(entry.number, rows(entry.number, 2))]).n_accepted == 2
    withdraw(store, entry, rows(entry.number, 2)[0].hash)
    assert (entry.closed, entry.closes_on) == (None, CLOSES + timedelta(days=GRACE_DAYS))
    assert tally(store, entry).n_reports == 1


def test_after_the_grace_it_is_closed_though_nobody_closed_it(store: ReportStore):
    entry, _ = open_campaign(store, MAY)
    store.write([Submission(entry.number, rows(entry.number, 1))])
    go_to(store, GRACE_DAYS + 1)
    assert entry.closed == LAST + GRACE_DAYS  # of an entry that was read while it was open, too
    assert find_campaign(store, MAY.id).closed == LAST + GRACE_DAYS
    assert store.write([Submission(entry.number, rows(entry.number, 2))]).outcomes[0].closed
    with pytest.raises(CampaignClosed, match="is closed"):
        withdraw(store, entry, rows(entry.number, 1)[0].hash)
    with pytest.raises(CampaignClosed, match="is closed since"):
        open_campaign(store, MAY)


def kept(store: ReportStore) -> list[bytes]:
    """The names of all rows that there are."""
    with store.reading() as connection:
        return list(connection.scalars(select(reports.c.hash)))


def live_until(store: ReportStore, days_after: int, *, since: int = 0) -> None:
    """Let the days go by with a sweep on each, as in a collector that runs."""
    for day in range(since, days_after + 1):
        go_to(store, day)
        assert sweep(store)


def test_retention_counts_from_the_end_of_the_grace_and_needs_nobody(store: ReportStore):
    """A schedule that ended in 2020 with `retention_days=1` was kept for ever, because nobody had closed the campaign."""
    entry, _ = open_campaign(store, MAY)
    store.write([Submission(entry.number, rows(entry.number, 3))])
    live_until(store, GRACE_DAYS + 1)
    assert find_campaign(store, MAY.id).erased is None and tally(store, entry).n_reports == 3
    live_until(store, GRACE_DAYS + 2, since=GRACE_DAYS + 2)
    assert find_campaign(store, MAY.id).erased == LAST + GRACE_DAYS + 2
    assert not kept(store)


def test_a_collector_that_was_down_meanwhile_finds_it_closed_and_deletes(database: str):
    before = store_at(database)
    set_day(before, LAST)
    confirm_date(before, LAST, "test")
    entry, _ = open_campaign(before, MAY)
    before.write([Submission(entry.number, rows(entry.number, 3))])
    live_until(before, GRACE_DAYS)
    before.close()
    after = store_at(database)
    go_to(after, GRACE_DAYS + 7)
    assert find_campaign(after, MAY.id).closed == LAST + GRACE_DAYS
    assert sweep(after)
    assert find_campaign(after, MAY.id).erased == LAST + GRACE_DAYS + 7
    after.close()


def test_closing_by_hand_counts_when_it_comes_first(store: ReportStore):
    open_campaign(store, MAY)
    go_to(store, 3)
    assert close_campaign(store, MAY.id).closed == LAST + 3
    go_to(store, 100)
    assert find_campaign(store, MAY.id).closed == LAST + 3


def test_closing_by_hand_what_has_closed_changes_nothing(store: ReportStore):
    open_campaign(store, MAY)
    go_to(store, 100)
    assert close_campaign(store, MAY.id).closed == LAST + GRACE_DAYS


def test_a_campaign_without_a_schedule_stays_open(store: ReportStore):
    entry, _ = open_campaign(store, people.campaign(retention_days=1))
    go_to(store, 100_000)
    sweep(store)
    assert (entry.closed, entry.closes_on) == (None, None)
    assert store.write([Submission(entry.number, rows(entry.number, 1))]).n_accepted == 1


def test_a_campaign_whose_time_is_over_cannot_be_opened(store: ReportStore):
    go_to(store, GRACE_DAYS + 1)
    with pytest.raises(
        CampaignClosed, match="is closed since the end of its schedule and grace, 2020-06-14"
    ):
        open_campaign(store, MAY)
    assert all_campaigns(store) == []


@pytest.mark.parametrize("grace_days", [0, 5])
def test_an_operator_may_give_less_grace_and_it_stays_so(store: ReportStore, grace_days: int):
    open_campaign(store, MAY, grace_days=grace_days)
    assert open_campaign(store, MAY)[0].closes == LAST + grace_days
    go_to(store, grace_days + 1)
    assert find_campaign(store, MAY.id).closed == LAST + grace_days


@pytest.mark.parametrize("grace_days", [-1, GRACE_DAYS + 1])
def test_more_grace_than_people_are_told_is_refused(store: ReportStore, grace_days: int):
    with pytest.raises(DomainError, match=r"grace_days must lie in 0\.\.14"):
        open_campaign(store, MAY, grace_days=grace_days)
    with pytest.raises(DomainError, match=r"grace.days.* must lie in 0\.\.14"):
        CollectorSettings(grace_days=grace_days)


def test_a_schedule_at_the_end_of_all_calendars_is_taken(store: ReportStore):
    entry, _ = open_campaign(store, campaign(date.max))
    assert entry.closes_on == date.max


def test_a_backup_restores_with_its_last_days(database: str, tmp_path: Path):
    source = SqliteStore(tmp_path / "source.db")
    source.today = lambda: LAST
    open_campaign(source, MAY, grace_days=3)
    backup(source, tmp_path / "backup")
    source.close()
    store = store_at(database)
    restore(tmp_path / "backup", store)
    assert find_campaign(store, MAY.id).closes == LAST + 3
    store.close()


def test_the_commands_say_until_when_a_campaign_is_open(tmp_path: Path):
    soon, database = (
        EPOCH + timedelta(days=today()) + timedelta(days=30),
        f"sqlite:///{tmp_path}/lopub.db",
    )
    open_one = campaign(soon, opens=OPENS)
    (tmp_path / "campaign.json").write_bytes(open_one.canonical_bytes)
    given = ["--database", database]
    said = CliRunner().invoke(
        app, ["collect", "open", str(tmp_path / "campaign.json"), *given, "--grace-days", "5"]
    )
    days = f"open until {soon} (late reports and withdrawals until {soon + timedelta(days=5)})"
    assert said.output.startswith(f"campaign may is {days}: /campaigns/")
    assert f"may: {days}" in CliRunner().invoke(app, ["collect", "list", *given]).output
    with sqlite3.connect(tmp_path / "lopub.db") as connection:
        connection.execute("UPDATE campaigns SET closes = ?", [LAST + 5])
    connection.close()
    assert "may: closed 2020-06-05" in CliRunner().invoke(app, ["collect", "list", *given]).output
    assert (
        "may is closed since 2020-06-05"
        in CliRunner().invoke(app, ["collect", "close", open_one.id, *given]).output
    )


def test_over_http_late_reports_are_taken_in_the_grace_and_refused_after_it(tmp_path: Path):
    """The schedule ended a week ago: reports made within it are taken with a grace of two weeks, not with one of two days."""
    database, ended = (
        f"sqlite:///{tmp_path}/lopub.db",
        EPOCH + timedelta(days=today()) - timedelta(days=7),
    )
    late, over = campaign(ended, name="late"), campaign(ended, name="over")
    store = store_at(database)
    open_campaign(store, late)
    store.today = lambda: (ended - EPOCH).days
    open_campaign(store, over, grace_days=2)
    token = {"Authorization": f"Bearer {new_token(store, scope='manage', days=1)}"}
    store.close()
    with running_collector(database) as running:
        answers = {}
        for each in (late, over):
            report = made_on(each, ended)
            sent = running.ask(
                "POST", f"/campaigns/{each.id}/reports", report, Content_Type="application/json"
            )
            taken_back = running.ask(
                "POST",
                f"/campaigns/{each.id}/withdrawals",
                json.dumps({"id": json.loads(report)["id"]}),
                Content_Type="application/json",
            )
            answers[each.terms.name] = (sent.status, taken_back.status)
        assert answers == {"late": (200, 204), "over": (409, 409)}
        listed = {
            each["name"]: each
            for each in running.ask("GET", "/campaigns", **token).json["campaigns"]
        }
        assert (listed["late"]["open"], listed["late"]["closes"]) == (
            True,
            str(ended + timedelta(days=GRACE_DAYS)),
        )
        assert (listed["over"]["open"], listed["over"]["closed"]) == (
            False,
            str(ended + timedelta(days=2)),
        )


def made_on(target: Campaign, day: date) -> str:
    """A report of that day, as a device that was off since then keeps it."""
    (data,) = people.reports(
        campaign(EPOCH + timedelta(days=today()) + timedelta(days=2), name="now"), 1
    )
    report = Report.from_bytes(
        data[:1] + target.prefix + data[9:25] + (day - EPOCH).days.to_bytes(4) + data[29:], target
    )
    assert row_of(report, 1).slot == (day - EPOCH).days
    return report.to_json()
