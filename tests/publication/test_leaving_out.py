"""Reports are left out by days, on request alone, and what is published says so."""

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import fakes
from lopub import DomainError, Publication, publish
from lopub.errors import NeedsReports
from lopub.publication.summary import notices_of
from lopub.reports.counts import count
from lopub.reports.days import days_between

FIRST = (date(2026, 3, 1) - date(1970, 1, 1)).days
DAYS = ("2026-03-02..2026-03-03", "2026-03-05")


@pytest.fixture(scope="module")
def reports() -> fakes.ReportBatch:
    batch = fakes.honest(fakes.campaign("subset, sample:2, jointly"), 1_500, seed=1)
    return fakes.replaced_slots(batch, np.arange(FIRST, FIRST + 1_500, dtype=np.uint32) % 5 + FIRST)


@pytest.fixture(scope="module")
def publication(reports: fakes.ReportBatch) -> Publication:
    return publish(reports, leave_out=DAYS, rows=100)


def test_the_rest_is_published_as_if_there_were_nothing_else(
    reports: fakes.ReportBatch, publication: Publication
):
    kept = publish(reports[np.isin(reports.slots, [FIRST, FIRST + 3])], rows=100)
    assert (publication.n_reports, publication.n_left_out, kept.n_left_out) == (600, 900, 0)
    for one, other in zip(publication.marginals, kept.marginals, strict=True):
        assert np.array_equal(one.probabilities, other.probabilities)


def test_the_rule_stands_in_the_manifest_and_on_the_page(publication: Publication, tmp_path: Path):
    publication.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["reports"]["left_out"] == 900 and manifest["settings"]["leave_out"] == list(
        DAYS
    )
    assert (
        "of 2026-03-02..2026-03-03, 2026-03-05 were left out"
        in (tmp_path / "out" / "report.html").read_text()
    )
    assert (
        "900 reports of 2026-03-02..2026-03-03, 2026-03-05 were left out, as was asked for"
        in notices_of(publication)
    )
    again = Publication.load(tmp_path / "out")
    assert (again.n_left_out, again.settings.leave_out) == (900, DAYS)


def test_counts_do_not_tell_days(reports: fakes.ReportBatch):
    with pytest.raises(
        NeedsReports, match="counts do not tell days apart; leave_out needs the reports"
    ):
        publish(count(reports), leave_out=DAYS)


@pytest.mark.parametrize(
    ("text", "said"),
    [("yesterday", "days are written as"), ("2026-03-05..2026-03-04", "the first comes first")],
)
def test_what_is_not_days_is_refused(reports: fakes.ReportBatch, text: str, said: str):
    with pytest.raises(DomainError, match=said):
        publish(reports, leave_out=(text,))


def test_days_are_counted_with_the_first_and_the_last():
    assert days_between("1970-01-01..1970-01-03") == range(3)
    assert days_between("1970-01-02") == range(1, 2)
