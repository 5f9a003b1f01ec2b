"""Reports are counted in the transaction that keeps them: the counts are those of the rows, whatever happens in between."""

import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
import sqlalchemy

import people
from load import withdraw
from lopub.campaign.report import Report
from lopub.collector.campaigns import Entry, close_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.retention import erase
from lopub.collector.rows import WITHDRAWN, WITHDRAWN_EARLY, reports, tallies
from lopub.collector.store import ReportStore
from lopub.collector.submissions import StoredReport, Submission
from lopub.collector.wire import row_of
from lopub.errors import Reason

CAMPAIGN = people.campaign()
WRITER = """
import hashlib, sys
from lopub.collector.campaigns import all_campaigns
from lopub.collector.database import store_at
from lopub.collector.submissions import StoredReport, Submission

store = store_at(sys.argv[1])
(entry,) = all_campaigns(store)
print("writing", flush=True)
for group in range(10**6):
    names = [hashlib.sha256(b"%d" % n).digest() for n in range(50 * group, 50 * group + 80)]
    rows = [StoredReport(entry.number, name, name[0] % 3, b"x") for name in names]
    store.write([Submission(entry.number, rows)])
    store.write([Submission(entry.number, [], withdrawn=[rows[0].hash])])
"""


@pytest.fixture
def store(database: str):
    opened = store_at(database)
    yield opened
    opened.close()


def rows(entry: Entry, n: int) -> list[StoredReport]:
    return [
        row_of(Report.from_bytes(data, CAMPAIGN), entry.number)
        for data in people.reports(CAMPAIGN, n)
    ]


def counted(store: ReportStore) -> dict[int, int]:
    """What the tallies say, by slot; all withdrawals together."""
    found = Counter[int]()
    with store.reading() as connection:
        for slot, n in connection.execute(sqlalchemy.select(tallies.c.slot, tallies.c.n)):
            found[WITHDRAWN if slot == WITHDRAWN_EARLY else slot] += n
    return dict(+found)


def scanned(store: ReportStore) -> dict[int, int]:
    """What the rows say."""
    with store.reading() as connection:
        slots = connection.scalars(sqlalchemy.select(reports.c.slot)).all()
    return dict(Counter(WITHDRAWN if slot is None else slot for slot in slots))


def test_tallies_are_those_of_the_rows_after_replays_conflicts_and_withdrawals(store: ReportStore):
    entry, _ = open_campaign(store, CAMPAIGN)
    kept = [row._replace(slot=20_000 + place % 3) for place, row in enumerate(rows(entry, 30))]
    store.write([Submission(entry.number, kept[:10])])
    store.write([Submission(entry.number, kept[5:20]), Submission(entry.number, kept[15:])])
    store.write([Submission(entry.number, [kept[0]._replace(slot=1)])])
    for place in (0, 1, 1):
        withdraw(store, entry, kept[place].hash)
    withdraw(store, entry, bytes(32))
    withdraw(store, entry, bytes(32))
    store.write([Submission(entry.number, kept)])
    assert counted(store) == scanned(store) == {20_000: 9, 20_001: 9, 20_002: 10, WITHDRAWN: 3}
    assert tally(store, entry).refused == {Reason.CONFLICT: 1, Reason.WITHDRAWN: 2}
    assert tally(store, entry).n_withdrawn == 2  # of the third, no report had come


def test_tallies_go_with_the_reports(store: ReportStore):
    entry, _ = open_campaign(store, CAMPAIGN)
    store.write([Submission(entry.number, rows(entry, 3))])
    erase(store, close_campaign(store, CAMPAIGN.id))
    assert counted(store) == {}


def test_tallies_are_exact_after_the_writer_was_killed(store: ReportStore, database: str):
    open_campaign(store, CAMPAIGN)
    for lines in (3, 11):
        process = subprocess.Popen([sys.executable, "-c", WRITER, database], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        while len(scanned(store)) < 4 or sum(scanned(store).values()) < 100 * lines:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert counted(store) == scanned(store)
