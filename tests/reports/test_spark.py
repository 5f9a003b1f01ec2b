"""Counting on Spark: a session on this machine, and tasks that fail once."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import crowds
import pytest
from crowds import Faltering, damaged, doubled_files, expected_counts, saved
from pyspark.cloudpickle import register_pickle_by_value
from test_batch import campaign_of

from lopub.errors import EngineError, StoreError
from lopub.reports.engines import FileSource, count_source, engine_of
from lopub.reports.engines.spark_engine import SparkEngine

DIRECT = "direct fill jointly"
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[SparkEngine]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    register_pickle_by_value(crowds)  # workers do not know the directory of the tests
    with SparkEngine.at(None) as engine:
        yield engine


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopub.reports.engines.file_source.BLOCK_REPORTS", 100)


@pytest.mark.parametrize(
    "n_partitions", [3, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 64))]
)
def test_counts_are_those_of_the_plain_way(engine: SparkEngine, n_partitions: int, tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    counts = count_source(FileSource(files, campaign), engine, n_partitions=n_partitions)
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


@pytest.mark.full
def test_the_active_session_is_taken_and_not_stopped(engine: SparkEngine, tmp_path: Path):
    campaign = campaign_of("subset sample jointly")
    files = doubled_files(tmp_path, campaign)
    for _ in range(2):
        with engine_of("spark") as active:
            counts = count_source(FileSource(files, campaign), active, n_partitions=3)
        assert saved(counts, tmp_path / "c") == saved(
            expected_counts(files, campaign), tmp_path / "d"
        )


@pytest.mark.full
def test_a_task_that_fails_once_changes_nothing(engine: SparkEngine, tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    source = Faltering(FileSource(files, campaign), tmp_path / "failed", deadly=False)
    counts = count_source(source, engine, n_partitions=7)
    assert (tmp_path / "failed").exists()
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


def test_a_part_that_cannot_be_read_is_refused_in_the_words_of_a_file(
    engine: SparkEngine, tmp_path: Path
):
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    source = FileSource([damaged(files[0], tmp_path / "bad.parquet")])
    with pytest.raises(StoreError, match=r"bad.parquet is a damaged Parquet file$"):
        count_source(source, engine, n_partitions=7)


@pytest.mark.full
def test_progress_ends_with_all_parts(engine: SparkEngine, tmp_path: Path):
    campaign, told = campaign_of(DIRECT), []
    source = FileSource(doubled_files(tmp_path, campaign)[2:])
    count_source(source, engine, n_partitions=2, progress=lambda *n: told.append(n))
    assert told[0] == ("counting", 0, 2) and ("counting", 2, 2) in told
    assert told[-1] == ("finding repeated reports", 2, 2)


def test_a_master_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch):
    def nobody(address: str | None) -> None:
        raise ValueError("no such master")

    monkeypatch.setattr("lopub.reports.engines.spark_engine._built", nobody)
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    with pytest.raises(
        EngineError, match=r"^engine spark cannot be reached at nonsense; is its master running\?$"
    ):
        engine_of("spark", "nonsense")


def test_a_machine_without_java_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        EngineError, match=r"^engine spark needs Java 17 or newer, in PATH or in JAVA_HOME$"
    ):
        engine_of("spark", "local[1]")


@pytest.mark.parametrize(
    "address",
    [
        "spark://127.0.0.1:9",
        "spark://127.0.0.1:9,127.0.0.1:10",
        pytest.param("spark://nowhere", marks=pytest.mark.full),  # a name server is asked
    ],
)
def test_a_master_that_nobody_listens_at_is_refused_before_java_starts(
    address: str, monkeypatch: pytest.MonkeyPatch
):
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("lopub.reports.engines.spark_engine._built", started)
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    with pytest.raises(
        EngineError,
        match=rf"^engine spark cannot be reached at {address}; is its master running\?$",
    ):
        engine_of("spark", address)
