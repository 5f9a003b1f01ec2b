"""A store as a source of counts, cut by ranges of hashes, alone or beside files."""

from pathlib import Path

import pytest

import people
from lopub.campaign.report import Report, framed
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import find_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.source import StoreSource
from lopub.collector.submissions import Submission
from lopub.collector.wire import row_of
from lopub.errors import DomainError, NoCampaign, Reason
from lopub.reports.batch.report_files import from_frames
from lopub.reports.counts import count
from lopub.reports.engines import FileSource, LocalEngine, Several, count_source
from lopub.reports.engines.passing import bytes_of_counts

CAMPAIGN = people.campaign()


@pytest.fixture
def wires(database: str) -> list[bytes]:
    """The reports of a store, which also refused some."""
    store, data = store_at(database), people.reports(CAMPAIGN, 60)
    number = open_campaign(store, CAMPAIGN)[0].number
    rows = [row_of(Report.from_bytes(each, CAMPAIGN), number) for each in data]
    store.write([Submission(number, rows, {Reason.RANGE: 3})])
    store.close()
    return data


@pytest.mark.parametrize(
    ("n_partitions", "trusted"),
    [
        (7, False),
        *(
            pytest.param(n_partitions, trusted, marks=pytest.mark.full)
            for n_partitions in (1, 7, 64)
            for trusted in (True, False)
            if (n_partitions, trusted) != (7, False)
        ),
    ],
)
def test_counts_of_a_store_are_those_of_its_reports(
    database: str, wires: list[bytes], n_partitions: int, trusted: bool
):
    counts = count_source(
        StoreSource(database), LocalEngine(2), n_partitions=n_partitions, trusted_distinct=trusted
    )
    store = store_at(database)
    expected = count(batch_of(store, find_campaign(store, CAMPAIGN.id)))
    store.close()
    assert bytes_of_counts(counts) == bytes_of_counts(expected)
    assert len(counts) == len(wires) and counts.refused == {Reason.RANGE: 3}


def test_a_report_in_a_store_and_in_a_file_counts_once(
    database: str, wires: list[bytes], tmp_path: Path
):
    (tmp_path / "r.reports").write_bytes(framed(wires[20:30] + people.reports(CAMPAIGN, 5)))
    several = Several(
        [StoreSource(database, CAMPAIGN), FileSource([tmp_path / "r.reports"], CAMPAIGN)]
    )
    assert len(count_source(several, LocalEngine(1), n_partitions=4)) == len(wires) + 5


def test_an_empty_campaign_has_counts_of_nobody(database: str):
    store = store_at(database)
    open_campaign(store, CAMPAIGN)
    store.close()
    counts = count_source(StoreSource(database), LocalEngine(1), n_partitions=3)
    assert bytes_of_counts(counts) == bytes_of_counts(count(from_frames([], CAMPAIGN)))


def test_a_store_of_two_campaigns_asks_for_one(database: str, wires: list[bytes]):
    store = store_at(database)
    open_campaign(store, people.campaign(min_reports=5))
    store.close()
    with pytest.raises(DomainError, match="has 2 campaigns; name one by its file"):
        StoreSource(database)
    assert StoreSource(database, CAMPAIGN).n_reports == len(wires)


def test_a_campaign_that_a_store_does_not_have_is_refused(database: str, wires: list[bytes]):
    with pytest.raises(NoCampaign, match="there is no campaign"):
        StoreSource(database, people.campaign(min_reports=7))
