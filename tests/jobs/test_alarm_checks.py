"""Fakes that come while a campaign runs are seen while it runs; whoever checks often is not alarmed
more often."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import fakes
from lopub.collector.campaigns import Entry, open_campaign
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.store import ReportStore
from lopub.jobs import alarm_checks
from lopub.jobs.alarm_checks import (
    GROWTH,
    AlarmCheck,
    AlarmChecks,
    check_due,
    drawn_range,
    share_of,
)
from lopub.planning.alarms import FALSE_ALARMS, REPEATS
from lopub.publication.sources import MOST_CHECKED
from lopub.reports.batch import ReportBatch
from lopub.reports.engines import HashRange

CAMPAIGN = fakes.campaign("subset, sample:2, jointly")


def filled(store: ReportStore, batch: ReportBatch) -> Entry:
    entry, _ = open_campaign(store, CAMPAIGN)
    import_reports(store, entry, [batch])
    return entry


def found_by(
    checks: AlarmChecks, store: ReportStore, entry: Entry, n_reports: int, *, number: int
) -> AlarmCheck:
    until = time.monotonic() + 600
    while (found := checks.last(store, entry, n_reports)) is None or found.number < number:
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def test_a_check_is_due_whenever_there_are_a_quarter_more():
    assert [check_due(n, 100) for n in (1, 100, 124, 125, 157, 10**6)] == [0, 0, 0, 1, 2, 41]
    assert all(check_due(round(100 * GROWTH**k) + 1, 100) == k for k in range(40))
    assert check_due(5, 0) == 7


def test_all_checks_together_share_one_false_alarm_in_a_hundred():
    shares = [share_of(number) for number in range(100_000)]
    assert FALSE_ALARMS * 0.9999 < sum(shares) < FALSE_ALARMS
    assert all(one > next_one for one, next_one in pairwise(shares[:50]))


def test_of_many_reports_a_range_is_drawn_that_nobody_knows():
    assert drawn_range(MOST_CHECKED) == HashRange()
    drawn = drawn_range(4 * MOST_CHECKED)
    assert drawn.stop - drawn.start == 2**62
    assert len({drawn_range(10**6).start for _ in range(20)}) == 20


def test_fakes_are_seen_at_the_next_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(alarm_checks, "REST", 0)  # on a busy machine it would be minutes
    store, checks = store_at(f"sqlite:///{tmp_path}/lopub.db"), AlarmChecks()
    entry = filled(store, fakes.honest(CAMPAIGN, 1_000, seed=1))
    first = found_by(checks, store, entry, 1_000, number=0)
    assert (first.n_reports, first.alarms) == (1_000, ())
    filled(store, fakes.copies(CAMPAIGN, 400, seed=2))
    assert checks.last(store, entry, 1_001) is first
    least = entry.campaign.terms.min_reports
    (alarm,) = found_by(checks, store, entry, 1_400, number=check_due(1_400, least)).alarms
    assert alarm.kind == REPEATS
    monkeypatch.setattr(alarm_checks, "MOST_CHECKED", 300)
    drawn = found_by(checks, store, entry, 2_000, number=check_due(2_000, least))
    assert 100 < drawn.n_reports < 350
    store.close()


def test_whoever_has_checked_rests_fifty_times_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to check whenever there are a quarter more: under full load that is all the time, and
    a fifth of the ingest."""
    store, checks = store_at(f"sqlite:///{tmp_path}/lopub.db"), AlarmChecks()
    began, now = list[float](), [100.0]
    entry = filled(store, fakes.honest(CAMPAIGN, 100, seed=1))

    def slowly(*_: object) -> ReportBatch:
        began.append(now[0])
        now[0] += 2
        return fakes.honest(CAMPAIGN, 100, seed=1)

    class AtOnce:
        def __init__(
            self, *, target: Callable[..., None], args: tuple[object, ...], **_: object
        ) -> None:
            self.start = lambda: target(*args)

    monkeypatch.setattr(alarm_checks, "reports_in", slowly)
    monkeypatch.setattr(alarm_checks.threading, "Thread", AtOnce)
    monkeypatch.setattr(alarm_checks.time, "monotonic", lambda: now[0])
    for n_reports in range(1_000, 400_000, 1_000):
        checks.last(store, entry, n_reports)
        now[0] += 1
    assert began[0] == 100.0 and len(began) == 4
    assert all(later - earlier >= 2 + 50 * 2 for earlier, later in pairwise(began))
    store.close()
