"""`lopub count` as a user meets it, and `lopub estimate` on what it writes."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from test_cli import lopub as in_a_process
from test_cli import refused

from lopub import ReportBatch
from lopub.cli import run
from lopub.collection.batch.storage import framed_bytes
from lopub.collection.catalogue import ALUMNI
from lopub.collection.counts import Counts, count


def lopub(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in this process, which has everything loaded; a fresh one takes a second."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    before, code = Path.cwd(), 0
    try:
        sys.argv = ["lopub", *arguments]
        os.chdir(cwd or before)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = argv
        os.chdir(before)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with reports of two days, in one file and in two, their campaign, and another campaign."""
    folder = tmp_path_factory.mktemp("collected")
    ALUMNI.people(3_000, seed=1).write_csv(folder / "people.csv")
    columns = ["--columns", "gender,income,home,donates"]
    made = [
        ["campaign", "infer", "people.csv", "-o", "campaign.json", "--epsilon", "8", *columns],
        ["campaign", "infer", "people.csv", "-o", "other.json", "--epsilon", "6", *columns],
        ["encode", "campaign.json", "people.csv", "-o", "reports.parquet", "--seed", "1"],
        ["count", "campaign.json", "reports.parquet", "-o", "counts.parquet"],
    ]
    for command in made:
        assert lopub(*command, cwd=folder).returncode == 0
    batch = ReportBatch.read(folder / "reports.parquet")
    assert batch.campaign.mechanism.name == "direct"
    batch[:1_000].write(folder / "monday.parquet")
    (folder / "tuesday.reports").write_bytes(framed_bytes(batch[1_000:]))
    return folder


def counted(folder: Path, output: Path, *files: str) -> subprocess.CompletedProcess[str]:
    return lopub("count", "campaign.json", *files, "-o", str(output), cwd=folder)


def test_a_fresh_process_writes_the_same_bytes(collected: Path, tmp_path: Path):
    result = in_a_process("count", "campaign.json", "reports.parquet", "-o", str(tmp_path / "c"), cwd=collected)
    assert result.returncode == 0
    assert (tmp_path / "c").read_bytes() == (collected / "counts.parquet").read_bytes()


def test_a_fresh_process_refuses_in_one_sentence(collected: Path):
    result = in_a_process("count", "campaign.json", "reports.parquet", "-o", "counts.parquet", cwd=collected)
    assert "counts.parquet exists already" in refused(result)


def test_the_file_holds_the_counts_of_the_reports(collected: Path):
    counts = Counts.load(collected / "counts.parquet")
    expected = count(ReportBatch.read(collected / "reports.parquet"))
    assert len(counts) == 3_000
    assert {key: table.counts.tolist() for key, table in counts.tables.items()} == {
        key: table.counts.tolist() for key, table in expected.tables.items()
    }


def test_files_of_reports_are_added_up(collected: Path, tmp_path: Path):
    result = counted(collected, tmp_path / "c", "tuesday.reports", "monday.parquet")
    assert result.returncode == 0
    assert (tmp_path / "c").read_bytes() == (collected / "counts.parquet").read_bytes()


def test_files_of_counts_are_added_to_files_of_reports(collected: Path, tmp_path: Path):
    assert counted(collected, tmp_path / "monday", "monday.parquet").returncode == 0
    assert counted(collected, tmp_path / "c", str(tmp_path / "monday"), "tuesday.reports").returncode == 0
    assert (tmp_path / "c").read_bytes() == (collected / "counts.parquet").read_bytes()


def test_it_says_how_many_reports_of_which_campaign_it_counted(collected: Path, tmp_path: Path):
    shown = counted(collected, tmp_path / "c", "monday.parquet").stdout
    campaign = Counts.load(tmp_path / "c").campaign
    assert f"1,000 reports of campaign {campaign.id[:16]}… counted" in shown
    assert "written:" in shown


def test_reports_that_are_left_out_are_counted_by_reason(collected: Path, tmp_path: Path):
    (tmp_path / "broken").write_bytes((collected / "tuesday.reports").read_bytes() + b"\x00\x03abc")
    result = counted(collected, tmp_path / "c", str(tmp_path / "broken"))
    assert result.returncode == 0
    assert "1 reports were left out (length)" in result.stderr
    again = lopub("estimate", "campaign.json", str(tmp_path / "c"), "-a", "home", cwd=collected)
    assert "1 reports were left out (length)" in again.stderr


@pytest.mark.parametrize("options", [["-a", "income,home"], ["-a", "home", "--json"], ["-a", "gender,donates", "--method", "em"]])
def test_an_estimate_from_counts_prints_what_one_from_reports_prints(collected: Path, options: list[str]):
    from_reports, from_counts = (
        lopub("estimate", "campaign.json", file, *options, cwd=collected) for file in ("reports.parquet", "counts.parquet")
    )
    assert from_reports.returncode == 0
    assert from_counts.stdout == from_reports.stdout


@pytest.fixture(scope="module")
def bloom(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports and counts of a campaign of Bloom filters."""
    folder, people = tmp_path_factory.mktemp("bloom"), str(collected / "people.csv")
    made = [
        ["campaign", "infer", people, "-o", "campaign.json", "--flip-probability", "0.5", "--columns", "gender,home"],
        ["encode", "campaign.json", people, "-o", "reports.parquet", "--seed", "1"],
        ["count", "campaign.json", "reports.parquet", "-o", "counts.parquet"],
    ]
    for command in made:
        result = lopub(*command, cwd=folder)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.parametrize("method", ["moments", "lasso"])
def test_a_regression_from_counts_of_bits_prints_what_one_from_reports_prints(bloom: Path, method: str):
    from_reports, from_counts = (
        lopub("estimate", "campaign.json", file, "-a", "gender,home", "--method", method, cwd=bloom)
        for file in ("reports.parquet", "counts.parquet")
    )
    assert from_reports.returncode == 0
    assert from_counts.stdout == from_reports.stdout


def test_a_likelihood_from_counts_of_bits_says_what_to_do(bloom: Path):
    result = lopub("estimate", "campaign.json", "counts.parquet", "-a", "gender,home", cwd=bloom)
    assert "give the reports, or use method moments" in refused(result)


# ---- mistakes


def test_an_output_that_exists_is_refused_without_force(collected: Path, tmp_path: Path):
    (tmp_path / "c").write_text("mine")
    assert "exists already; choose another name or use --force" in refused(counted(collected, tmp_path / "c", "monday.parquet"))
    assert (tmp_path / "c").read_text() == "mine"


def test_an_output_that_exists_is_overwritten_with_force(collected: Path, tmp_path: Path):
    (tmp_path / "c").write_text("mine")
    assert lopub("count", "campaign.json", "monday.parquet", "-o", str(tmp_path / "c"), "--force", cwd=collected).returncode == 0
    assert len(Counts.load(tmp_path / "c")) == 1_000


@pytest.mark.parametrize("file", ["reports.parquet", "counts.parquet"])
def test_files_of_another_campaign_are_refused(collected: Path, tmp_path: Path, file: str):
    result = lopub("count", "other.json", file, "-o", str(tmp_path / "c"), cwd=collected)
    assert "not of" in refused(result)
    assert not (tmp_path / "c").exists()


def test_counts_of_another_campaign_are_not_estimated_from(collected: Path):
    assert "not of" in refused(lopub("estimate", "other.json", "counts.parquet", "-a", "home", cwd=collected))


def test_counts_of_another_version_are_refused(collected: Path, tmp_path: Path):
    table = pa.parquet.read_table(collected / "counts.parquet")
    metadata = {**table.schema.metadata, b"lopub.counts": b"9"}
    pa.parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "c")
    result = lopub("estimate", "campaign.json", str(tmp_path / "c"), "-a", "home", cwd=collected)
    assert "holds counts of version 9; this program reads version 2" in refused(result)


def test_a_file_that_is_not_there_is_named(collected: Path, tmp_path: Path):
    assert "nothing.parquet" in refused(counted(collected, tmp_path / "c", "monday.parquet", "nothing.parquet"))
    assert not (tmp_path / "c").exists()


def test_no_file_at_all_is_a_mistake_of_use(collected: Path, tmp_path: Path):
    assert counted(collected, tmp_path / "c").returncode == 2


def test_help_has_an_example():
    shown = lopub("count", "--help").stdout
    assert "lopub count campaign.json monday.parquet tuesday.parquet" in " ".join(shown.split())


def test_a_file_without_any_report_of_the_campaign_is_refused_and_nothing_is_written(collected: Path, tmp_path: Path) -> None:
    """Bytes in place of reports would else become counts of nobody."""
    (tmp_path / "others.bin").write_bytes(b"\x00\x03\x01ab" * 5)
    result = lopub("count", "campaign.json", str(tmp_path / "others.bin"), "-o", str(tmp_path / "c.parquet"), cwd=collected)
    assert result.returncode == 1
    assert "no report of campaign" in result.stderr
    assert not (tmp_path / "c.parquet").exists()
