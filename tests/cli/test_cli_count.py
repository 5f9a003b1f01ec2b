"""`lopub count` as a user meets it, and `lopub estimate` on what it writes."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import in_a_process, lopub, refused

from lopub import ReportBatch
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.catalogue import ALUMNI
from lopub.reports.counts import Counts, count
from lopub.reports.origin import PLAIN


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with reports of two days, in one file and in two, their campaign, and another campaign."""
    folder = tmp_path_factory.mktemp("collected")
    ALUMNI.people(3_000, seed=1).save(folder / "people.csv")
    columns = ["--columns", "gender,income,home,donates"]
    made = [
        ["campaign", "infer", "people.csv", "-o", "campaign.json", "--epsilon", "8", *columns],
        ["campaign", "infer", "people.csv", "-o", "other.json", "--epsilon", "6", *columns],
        ["encode", "campaign.json", "people.csv", "-o", "reports.parquet", "--seed", "1"],
        ["count", "campaign.json", "reports.parquet", "-o", "counts.parquet"],
    ]
    for command in made:
        assert lopub(*command, cwd=folder).returncode == 0
    batch = ReportBatch.load(folder / "reports.parquet")
    assert batch.campaign.mechanism.name == "direct"
    batch[:1_000].save(folder / "monday.parquet")
    (folder / "tuesday.reports").write_bytes(framed_bytes(batch[1_000:]))
    return folder


def counted(folder: Path, output: Path, *files: str) -> subprocess.CompletedProcess[str]:
    return lopub("count", "campaign.json", *files, "-o", str(output), cwd=folder)


def test_a_fresh_process_writes_the_same_bytes(collected: Path, tmp_path: Path):
    result = in_a_process(
        "count", "campaign.json", "reports.parquet", "-o", str(tmp_path / "c"), cwd=collected
    )
    assert result.returncode == 0
    assert (tmp_path / "c").read_bytes() == (collected / "counts.parquet").read_bytes()


def test_a_fresh_process_refuses_in_one_sentence(collected: Path):
    result = in_a_process(
        "count", "campaign.json", "reports.parquet", "-o", "counts.parquet", cwd=collected
    )
    assert "counts.parquet exists already" in refused(result)


def test_the_file_holds_the_counts_of_the_reports(collected: Path):
    counts = Counts.load(collected / "counts.parquet")
    expected = count(ReportBatch.load(collected / "reports.parquet"))
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
    assert (
        counted(collected, tmp_path / "c", str(tmp_path / "monday"), "tuesday.reports").returncode
        == 0
    )
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
    assert "1 report was left out (length)" in result.stderr
    again = lopub("estimate", "campaign.json", str(tmp_path / "c"), "-a", "home", cwd=collected)
    assert "1 report was left out (length)" in again.stderr


@pytest.mark.parametrize(
    "options",
    [["-a", "income,home"], ["-a", "home", "--json"], ["-a", "gender,donates", "--method", "em"]],
)
def test_an_estimate_from_counts_prints_what_one_from_reports_prints(
    collected: Path, options: list[str]
):
    from_reports, from_counts = (
        lopub("estimate", "campaign.json", file, *options, cwd=collected)
        for file in ("reports.parquet", "counts.parquet")
    )
    assert from_reports.returncode == 0
    assert from_counts.stdout == from_reports.stdout


@pytest.fixture(scope="module")
def bloom(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports and counts of a campaign of Bloom filters."""
    folder, people = tmp_path_factory.mktemp("bloom"), str(collected / "people.csv")
    made = [
        [
            "campaign",
            "infer",
            people,
            "-o",
            "campaign.json",
            "--flip-probability",
            "0.5",
            "--columns",
            "gender,home",
        ],
        ["encode", "campaign.json", people, "-o", "reports.parquet", "--seed", "1"],
        ["count", "campaign.json", "reports.parquet", "-o", "counts.parquet"],
    ]
    for command in made:
        result = lopub(*command, cwd=folder)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.parametrize("method", ["moments", "lasso"])
def test_a_regression_from_counts_of_bits_prints_what_one_from_reports_prints(
    bloom: Path, method: str
):
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
    assert "exists already; choose another name or use --force" in refused(
        counted(collected, tmp_path / "c", "monday.parquet")
    )
    assert (tmp_path / "c").read_text() == "mine"


def test_an_output_that_exists_is_overwritten_with_force(collected: Path, tmp_path: Path):
    (tmp_path / "c").write_text("mine")
    assert (
        lopub(
            "count",
            "campaign.json",
            "monday.parquet",
            "-o",
            str(tmp_path / "c"),
            "--force",
            cwd=collected,
        ).returncode
        == 0
    )
    assert len(Counts.load(tmp_path / "c")) == 1_000


@pytest.mark.parametrize("file", ["reports.parquet", "counts.parquet"])
def test_files_of_another_campaign_are_refused(collected: Path, tmp_path: Path, file: str):
    result = lopub("count", "other.json", file, "-o", str(tmp_path / "c"), cwd=collected)
    assert "not of" in refused(result)
    assert not (tmp_path / "c").exists()


def test_counts_of_another_campaign_are_not_estimated_from(collected: Path):
    assert "not of" in refused(
        lopub("estimate", "other.json", "counts.parquet", "-a", "home", cwd=collected)
    )


def test_counts_of_another_version_are_refused(collected: Path, tmp_path: Path):
    table = pa.parquet.read_table(collected / "counts.parquet")
    metadata = {**table.schema.metadata, b"lopub.counts": b"9"}
    pa.parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "c")
    result = lopub("estimate", "campaign.json", str(tmp_path / "c"), "-a", "home", cwd=collected)
    assert "holds counts of version 9; this program reads version 1" in refused(result)


def test_a_file_that_is_not_there_is_named(collected: Path, tmp_path: Path):
    assert "nothing.parquet" in refused(
        counted(collected, tmp_path / "c", "monday.parquet", "nothing.parquet")
    )
    assert not (tmp_path / "c").exists()


def test_no_file_at_all_is_a_mistake_of_use(collected: Path, tmp_path: Path):
    assert counted(collected, tmp_path / "c").returncode == 2


def test_help_has_an_example():
    shown = lopub("count", "--help").stdout
    assert "lopub count campaign.json monday.parquet tuesday.parquet" in " ".join(shown.split())


def test_a_file_without_any_report_of_the_campaign_is_refused_and_nothing_is_written(
    collected: Path, tmp_path: Path
) -> None:
    """Bytes in place of reports would else become counts of nobody."""
    (tmp_path / "others.bin").write_bytes(b"\x00\x03\x01ab" * 5)
    result = lopub(
        "count",
        "campaign.json",
        str(tmp_path / "others.bin"),
        "-o",
        str(tmp_path / "c.parquet"),
        cwd=collected,
    )
    assert result.returncode == 1
    assert "no report of campaign" in result.stderr
    assert not (tmp_path / "c.parquet").exists()


# ---- sources and engines


def test_a_directory_a_pattern_and_a_parquet_file_need_no_campaign_file(
    collected: Path, tmp_path: Path
):
    folder = tmp_path / "days"
    folder.mkdir()
    batch = ReportBatch.load(collected / "reports.parquet")
    for name, part in (
        ("1.parquet", batch[:900]),
        ("2.parquet", batch[900:2_000]),
        ("3.parquet", batch[1_500:]),
    ):
        part.save(folder / name)
    for number, source in enumerate(
        [[str(folder)], [f"{folder}/*.parquet"], [f"{folder}/{k}.parquet" for k in (1, 2, 3)]]
    ):
        output = tmp_path / f"counts{number}.parquet"
        result = lopub("count", *source, "-o", str(output), "--partitions", "2")
        assert result.returncode == 0, result.stderr
        assert output.read_bytes() == (collected / "counts.parquet").read_bytes()


def test_a_store_is_counted_by_its_address(collected: Path, tmp_path: Path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    campaign = str(collected / "campaign.json")
    assert lopub("collect", "open", campaign, "--database", database).returncode == 0
    assert (
        lopub(
            "import", campaign, str(collected / "reports.parquet"), "--database", database
        ).returncode
        == 0
    )
    result = lopub("count", database, "-o", str(tmp_path / "c"), "--partitions", "3")
    assert result.returncode == 0, result.stderr
    told = replace(
        Counts.load(collected / "counts.parquet"), origin=PLAIN
    )  # a store does not tell where reports are from
    told.save(tmp_path / "told")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "told").read_bytes()


@pytest.mark.full
def test_dask_writes_the_same_bytes(collected: Path, tmp_path: Path):
    result = in_a_process(
        *("count", "campaign.json", "monday.parquet", "tuesday.reports", "--engine", "dask"),
        *("--partitions", "2", "-o", str(tmp_path / "c")),
        cwd=collected,
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "c").read_bytes() == (collected / "counts.parquet").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine", "abacus"], "engine must be one of local, dask, spark, got 'abacus'"),
        (["--engine", "local", "--address", "tcp://a:1"], "engine local has no address"),
        (
            ["--engine", "dask", "--address", "nonsense"],
            "engine dask cannot be reached at nonsense",
        ),
    ],
)
def test_an_engine_that_cannot_be_had_is_refused_and_nothing_is_written(
    collected: Path, tmp_path: Path, options: list[str], words: str
):
    result = lopub(
        "count",
        "campaign.json",
        "monday.parquet",
        "-o",
        str(tmp_path / "c"),
        *options,
        cwd=collected,
    )
    assert words in refused(result)
    assert not (tmp_path / "c").exists()


def test_a_half_written_file_among_others_is_refused_and_nothing_is_written(
    collected: Path, tmp_path: Path
):
    data = (collected / "monday.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(data[: len(data) // 2])
    result = counted(collected, tmp_path / "c", "reports.parquet", str(tmp_path / "half.parquet"))
    assert "half.parquet is a damaged or cut-off Parquet file" in refused(result)
    assert not (tmp_path / "c").exists()
