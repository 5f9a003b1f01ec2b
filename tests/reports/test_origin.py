"""Simulated reports and withdrawn ones are told of, all the way to the page."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lopub import (
    CampaignRequest,
    Counts,
    ReportBatch,
    Terms,
    count,
    make_campaign,
    publish,
    simulate,
)
from lopub.errors import StoreError
from lopub.reports.catalogue import ALUMNI
from lopub.reports.origin import PLAIN, Origin


@pytest.fixture(scope="module")
def batch() -> ReportBatch:
    people = ALUMNI.people(1500, seed=1)
    return simulate(
        people,
        make_campaign(people.domain, Terms(name="alumni"), CampaignRequest(epsilon=6)),
        seed=1,
    )


def test_origins_add_up():
    assert Origin(False, 2) + Origin(True, 3) == Origin(True, 5)
    assert PLAIN + PLAIN == PLAIN


def test_simulated_reports_say_so_in_files_and_counts(batch: ReportBatch, tmp_path: Path):
    assert batch.origin.is_simulated
    batch.save(tmp_path / "reports.parquet")
    loaded = ReportBatch.load(tmp_path / "reports.parquet")
    assert loaded.origin == batch.origin
    counts = count(loaded)
    counts.save(tmp_path / "counts.parquet")
    assert Counts.load(tmp_path / "counts.parquet").origin == batch.origin
    assert (counts + counts).origin.is_simulated


def test_other_reports_say_nothing_and_keep_their_bytes(batch: ReportBatch, tmp_path: Path):
    from dataclasses import replace

    replace(batch, origin=PLAIN).save(tmp_path / "reports.parquet")
    assert b"lopub.origin" not in (pq.read_schema(tmp_path / "reports.parquet").metadata or {})
    assert ReportBatch.load(tmp_path / "reports.parquet").origin == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"{}",
        b'{"is_simulated": 1, "n_withdrawn": 0}',
        b'{"is_simulated": true, "n_withdrawn": -1}',
        b"{",
    ],
)
def test_a_damaged_origin_is_refused(batch: ReportBatch, tmp_path: Path, text: bytes):
    with pytest.raises(ValueError):
        Origin.from_text(text)
    batch[:5].save(tmp_path / "reports.parquet")
    table = pq.read_table(tmp_path / "reports.parquet")
    pq.write_table(
        table.replace_schema_metadata({**table.schema.metadata, b"lopub.origin": text}),
        tmp_path / "bad.parquet",
    )
    with pytest.raises(StoreError, match="does not say where they come from"):
        ReportBatch.load(tmp_path / "bad.parquet")


def test_the_page_and_the_manifest_say_what_was_simulated_and_withdrawn(
    batch: ReportBatch, tmp_path: Path
):
    from dataclasses import replace

    for origin, simulated, withdrawn in (
        (Origin(True, 0), True, False),
        (Origin(False, 17), False, True),
    ):
        publication = publish(replace(batch, origin=origin), rows=100)
        folder = tmp_path / str(simulated)
        publication.save(folder)
        page = (folder / "report.html").read_text()
        assert ("This is a rehearsal with simulated reports" in page) is simulated
        assert ("were withdrawn by those who had sent them" in page) is withdrawn
        assert type(publication).load(folder).origin == origin
