"""Fakes that come while a campaign runs are seen while it runs; whoever looks often is not alarmed more often."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import fakes
from consoles import running_console
from lopub.collector.campaigns import Entry, open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore, Submission
from lopub.collector.wire import row_of
from lopub.console import alarming
from lopub.console.alarming import GROWTH, Look, Lookout, drawn_range, look_due, share_of
from lopub.planning.alarms import FALSE_ALARMS, REPEATS
from lopub.reports.batch import ReportBatch

CAMPAIGN = fakes.campaign("subset, sample:2, jointly")


def filled(store: ReportStore, batch: ReportBatch) -> Entry:
    entry, _ = open_campaign(store, CAMPAIGN)
    store.write(
        [
            Submission(
                entry.number, [row_of(batch.report(i), entry.number) for i in range(len(batch))]
            )
        ]
    )
    return entry


def seen(
    store: ReportStore, entry: Entry, n_reports: int, lookout: Lookout, *, number: int
) -> Look:
    until = time.monotonic() + 600
    while (found := lookout.at(store, entry, n_reports)) is None or found.number < number:
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def test_a_look_is_due_whenever_there_are_a_quarter_more():
    assert [look_due(n, 100) for n in (1, 100, 124, 125, 157, 10**6)] == [0, 0, 0, 1, 2, 41]
    assert all(look_due(round(100 * GROWTH**k) + 1, 100) == k for k in range(40))
    assert look_due(5, 0) == 7


def test_all_looks_together_share_one_false_alarm_in_a_hundred():
    shares = [share_of(number) for number in range(100_000)]
    assert FALSE_ALARMS * 0.9999 < sum(shares) < FALSE_ALARMS
    assert all(one > next_one for one, next_one in pairwise(shares[:50]))


def test_of_many_reports_a_range_is_drawn_that_nobody_knows():
    assert drawn_range(alarming.MOST_LOOKED_AT) == (b"", None)
    low, high = drawn_range(4 * alarming.MOST_LOOKED_AT)
    assert high is not None
    width = int.from_bytes(high) - int.from_bytes(low)
    assert width == 2**62 and len({drawn_range(10**6)[0] for _ in range(20)}) == 20


def test_fakes_are_seen_at_the_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(alarming, "REST", 0)  # on a busy machine it would be minutes
    store, lookout = store_at(f"sqlite:///{tmp_path}/lopub.db"), Lookout()
    entry = filled(store, fakes.honest(CAMPAIGN, 1_000, seed=1))
    first = seen(store, entry, 1_000, lookout, number=0)
    assert (first.n_reports, first.alarms) == (1_000, ())
    filled(store, fakes.copies(CAMPAIGN, 400, seed=2))
    assert lookout.at(store, entry, 1_001) is first
    (alarm,) = seen(
        store, entry, 1_400, lookout, number=look_due(1_400, entry.campaign.terms.min_reports)
    ).alarms
    assert alarm.kind == REPEATS
    monkeypatch.setattr(alarming, "MOST_LOOKED_AT", 300)
    drawn = seen(
        store, entry, 2_000, lookout, number=look_due(2_000, entry.campaign.terms.min_reports)
    )
    assert 100 < drawn.n_reports < 350
    store.close()


def test_whoever_has_looked_rests_fifty_times_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to look whenever there are a quarter more: under full load that is all the time, and cost a fifth of the ingest."""
    store, lookout, looks, now = store_at(f"sqlite:///{tmp_path}/lopub.db"), Lookout(), [], [100.0]
    entry = filled(store, fakes.honest(CAMPAIGN, 100, seed=1))

    def slowly(*_: object) -> ReportBatch:
        looks.append(now[0])
        now[0] += 2
        return fakes.honest(CAMPAIGN, 100, seed=1)

    class AtOnce:
        def __init__(
            self, *, target: Callable[..., None], args: tuple[object, ...], **_: object
        ) -> None:
            self.start = lambda: target(*args)

    monkeypatch.setattr(alarming, "looked_at", slowly)
    monkeypatch.setattr(alarming.threading, "Thread", AtOnce)
    monkeypatch.setattr(alarming.time, "monotonic", lambda: now[0])
    for n_reports in range(1_000, 400_000, 1_000):
        lookout.at(store, entry, n_reports)
        now[0] += 1
    assert looks[0] == 100.0 and len(looks) == 4
    assert all(later - earlier >= 2 + 50 * 2 for earlier, later in pairwise(looks))
    store.close()


def test_the_page_of_a_running_campaign_shows_the_alarm(tmp_path: Path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    entry = filled(store, fakes.mixed(CAMPAIGN, "copies", 1_000, 0.3, seed=3))
    store.close()
    with running_console(database, tmp_path) as console:
        until, page = time.monotonic() + 600, ""
        while "fake reports were looked for among" not in page:
            assert time.monotonic() < until, page
            page = console.get(f"/console/campaigns/{entry.campaign.id}/watch")
            time.sleep(0.2)
        assert (
            "Some reports may be fakes." in page
            and "are the same to the last bit as others" in page
        )
        german = console.get(f"/console/campaigns/{entry.campaign.id}/watch", Accept_Language="de")
        assert "Manche Meldungen könnten gefälscht sein." in german
