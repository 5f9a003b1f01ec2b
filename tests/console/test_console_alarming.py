"""Fakes that come while a campaign runs are seen on its page while it runs."""

import time
from pathlib import Path

import fakes
from consoles import console_here
from lopub.collector.campaigns import Entry, open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore
from lopub.collector.submissions import Submission
from lopub.collector.wire import row_of
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


def test_the_page_of_a_running_campaign_shows_the_alarm(tmp_path: Path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    store = store_at(database)
    entry = filled(store, fakes.mixed(CAMPAIGN, "copies", 1_000, 0.3, seed=3))
    store.close()
    with console_here(database, tmp_path) as console:
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
