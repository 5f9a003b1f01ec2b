"""Where counts suffice, what is published from them is, byte for byte, what is published from the reports. Counts alone do not
show all that fakes do, which the manifest and the page say; where the reports are there, they are looked at, too."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import done, lopub
from test_publication import DOMAIN, LISTED, WISHES, people
from test_publication_files import contents

from lopub import (
    Campaign,
    CampaignRequest,
    Fill,
    PublishSettings,
    ReportBatch,
    Sample,
    Terms,
    count,
    make_campaign,
    publish,
    simulate,
)
from lopub.planning.alarms import COVERAGE, DRIFT, MADE, NO_REPORTS, ONES, REPEATS
from lopub.publication import sources
from lopub.publication.loading import load_publication
from lopub.publication.stages import counts_suffice
from lopub.reports.batch import save_reports

UNCHECKED = "; only their counts were read, so that nobody looked for fakes that repeat each other, or that have too many ones"
SUFFICIENT = {
    "subset-sample-jointly": WISHES["subset-sample-jointly"],
    "unary-all-jointly": WISHES["unary-all-jointly"],
    "direct-sample": WISHES["direct-sample"],
    "direct-sample-jointly": CampaignRequest(epsilon=5, mechanism="direct", view=Sample(2)),
    "hashed-sample-jointly": CampaignRequest(
        epsilon=5, mechanism="hashed", view=Sample(2), jointly=True
    ),
    "subset-listed-jointly": CampaignRequest(
        epsilon=5, mechanism="subset", view=LISTED, jointly=True
    ),
}
INSUFFICIENT = {
    "direct-fill-jointly": CampaignRequest(epsilon=5, mechanism="direct", view=Fill(24)),
    "direct-listed": WISHES["direct-listed"],
    "subset-sample": WISHES["subset-sample"],
    "bloom-all": WISHES["bloom-all"],
    "bloom-jointly": WISHES["bloom-jointly"],
}


def campaign_of(wish: CampaignRequest) -> Campaign:
    return make_campaign(DOMAIN, Terms(name="people"), wish)


def batch_of(wish: CampaignRequest) -> ReportBatch:
    return simulate(people(copied=0.8), campaign_of(wish), seed=1)


def checks(publication: Path) -> dict[str, str]:
    return json.loads((publication / "manifest.json").read_text())["checks"]


def without_checks(publication: Path) -> dict[str, bytes]:
    """The contents, without what is said of checks against fakes."""
    found = {
        name: content.replace(UNCHECKED.encode(), b"")
        for name, content in contents(publication).items()
    }
    manifest = json.loads(found["manifest.json"])
    manifest.pop("checks")
    manifest["files"].pop("report.html")
    return found | {"manifest.json": json.dumps(manifest).encode()}


@pytest.mark.parametrize(
    "name",
    [
        *("subset-sample-jointly", "direct-sample", "hashed-sample-jointly"),
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("unary-all-jointly", "direct-sample-jointly", "subset-listed-jointly")
        ),
    ],
)
def test_the_publication_of_counts_is_that_of_the_reports(name: str, tmp_path: Path):
    batch = batch_of(SUFFICIENT[name])
    assert counts_suffice(batch.campaign, PublishSettings())
    publish(batch, rows=100).save(tmp_path / "reports")
    publish(count(batch), rows=100).save(tmp_path / "counts")
    assert without_checks(tmp_path / "reports") == without_checks(tmp_path / "counts")


@pytest.mark.parametrize("name", INSUFFICIENT)
def test_counts_do_not_suffice_where_reports_say_more(name: str):
    assert not counts_suffice(campaign_of(INSUFFICIENT[name]), PublishSettings())


def test_counts_do_not_suffice_for_the_structure_of_the_paper():
    assert not counts_suffice(
        campaign_of(SUFFICIENT["direct-sample"]), PublishSettings(structure="paper")
    )


def with_repeats(path: Path) -> ReportBatch:
    """Write reports of which some are there twice, or contradict an earlier one on another day: they must not move the days."""
    batch = batch_of(SUFFICIENT["subset-sample-jointly"])
    days = replace(batch, slots=np.arange(20_000, 20_000 + len(batch), dtype=np.uint32))
    wrong = replace(days[:3], ids=days.ids[5:8], slots=np.array([1, 2, 90_000], dtype=np.uint32))
    save_reports(path, batch.campaign, [days, days[10:20], wrong])
    return ReportBatch.load(path)


def test_the_command_publishes_from_counts_what_the_reports_themselves_give(tmp_path: Path):
    """Forbids to leave fakes to the counts, which say nothing of those that repeat each other."""
    publish(with_repeats(tmp_path / "reports.parquet"), rows=100).save(tmp_path / "loaded")
    done(lopub("publish", "reports.parquet", "-o", "streamed", "--rows", "100", cwd=tmp_path))
    assert contents(tmp_path / "loaded") == contents(tmp_path / "streamed")
    assert set(checks(tmp_path / "streamed").values()) == {MADE}


def test_the_command_holds_no_more_reports_than_it_checks_for_fakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    loaded = with_repeats(tmp_path / "reports.parquet")
    publish(loaded, rows=100).save(tmp_path / "loaded")
    held, gathered = [], ReportBatch.gathered

    def noting(batches: Iterator[ReportBatch]) -> ReportBatch:
        held.append(gathered(batches))
        return held[-1]

    monkeypatch.setattr(sources, "MOST_CHECKED", len(loaded) // 4)
    monkeypatch.setattr(ReportBatch, "gathered", noting)
    done(lopub("publish", "reports.parquet", "-o", "streamed", "--rows", "100", cwd=tmp_path))
    assert without_checks(tmp_path / "loaded") == without_checks(tmp_path / "streamed")
    (sample,) = held
    assert len(loaded) // 8 < len(sample) < len(loaded) // 2
    among = f"made among {len(sample):,} reports that were drawn"
    assert checks(tmp_path / "streamed") == {
        COVERAGE: MADE,
        ONES: among,
        REPEATS: among,
        DRIFT: among,
    }


def test_a_publication_of_counts_alone_says_that_nobody_looked_for_most_fakes(tmp_path: Path):
    with_repeats(tmp_path / "reports.parquet")
    done(lopub("count", "reports.parquet", "-o", "counts.parquet", cwd=tmp_path))
    printed = done(
        lopub("publish", "counts.parquet", "-o", "counted", "--rows", "100", cwd=tmp_path)
    )
    not_made = "the checks for ones, repeats, drift were not made: counts alone were read"
    assert not_made in printed.stderr
    assert checks(tmp_path / "counted") == {
        COVERAGE: MADE,
        ONES: NO_REPORTS,
        REPEATS: NO_REPORTS,
        DRIFT: NO_REPORTS,
    }
    assert UNCHECKED in (tmp_path / "counted" / "report.html").read_text()
    assert load_publication(tmp_path / "counted").checks == checks(tmp_path / "counted")
