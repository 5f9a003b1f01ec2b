"""Counting on Dask: a small cluster of processes, and workers that die."""

import gc
import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import crowds
import pytest
from cloudpickle import register_pickle_by_value
from crowds import Faltering, damaged, doubled_files, expected_counts, saved
from distributed import Client, LocalCluster
from test_batch import campaign_of

from lopub.errors import EngineError, StoreError
from lopub.reports.engines import FileSource, Job, Partition, count_source, engine_of
from lopub.reports.engines.base import Exchanged
from lopub.reports.engines.dask_engine import DaskEngine
from lopub.reports.progress import Progress

DIRECT = "direct fill jointly"


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    register_pickle_by_value(crowds)  # workers do not know the directory of the tests
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with DaskEngine.here(2) as engine:
            yield engine


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopub.reports.engines.file_source.BLOCK_REPORTS", 100)


@pytest.mark.parametrize(
    "n_partitions", [7, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 64))]
)
def test_counts_are_those_of_the_plain_way(engine: DaskEngine, n_partitions: int, tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    counts = count_source(FileSource(files, campaign), engine, n_partitions=n_partitions)
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


def test_a_cluster_is_found_by_its_address(engine: DaskEngine, tmp_path: Path):
    campaign = campaign_of("subset sample jointly")
    files = doubled_files(tmp_path, campaign)
    with engine_of("dask", engine.address) as there:
        counts = count_source(FileSource(files, campaign), there, n_partitions=5)
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


def test_a_worker_that_is_killed_halfway_changes_nothing(engine: DaskEngine, tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    source = Faltering(FileSource(files, campaign), tmp_path / "killed", deadly=True)
    counts = count_source(source, engine, n_partitions=7)
    assert (tmp_path / "killed").exists()
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


class Murderous(DaskEngine):
    """One of its workers is killed between the two exchanges, with all that it holds."""

    n_exchanges = 0

    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        self.n_exchanges += 1
        if self.n_exchanges == 2:
            os.kill(next(iter(self._client.run(os.getpid).values())), signal.SIGKILL)
        return super().exchange(parts, job, progress)


@pytest.mark.full
def test_a_worker_that_is_killed_between_the_exchanges_changes_nothing(
    engine: DaskEngine, tmp_path: Path
):
    campaign = campaign_of(DIRECT)
    files, deadly = doubled_files(tmp_path, campaign), Murderous(engine._client)
    counts = count_source(FileSource(files, campaign), deadly, n_partitions=7)
    assert deadly.n_exchanges == 2
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


@pytest.mark.full
def test_a_cluster_whose_workers_do_not_come_back_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lopub.reports.engines.dask_engine.WITHOUT_WORKERS", 1)
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    cluster = LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0")
    with cluster, engine_of("dask", cluster.scheduler_address) as there:
        cluster.scale(0)
        with pytest.raises(
            EngineError, match=r"^engine dask has lost all of its workers, and none came back"
        ):
            count_source(FileSource(files, campaign_of(DIRECT)), there, n_partitions=3)


@pytest.mark.full
def test_a_client_that_could_not_connect_is_gone_before_the_next_one_starts(
    monkeypatch: pytest.MonkeyPatch,
):
    """Collected later, it would close itself while another one starts, and both would wait for one lock for ever."""
    monkeypatch.setattr("lopub.reports.engines.dask_engine.PATIENCE", 1)
    before = {id(each) for each in gc.get_objects() if isinstance(each, Client)}
    gc.disable()
    try:
        with pytest.raises(EngineError, match="cannot be reached"):
            engine_of("dask", "tcp://127.0.0.1:9")
        assert not [
            each for each in gc.get_objects() if isinstance(each, Client) and id(each) not in before
        ]
    finally:
        gc.enable()


def test_a_part_that_cannot_be_read_is_refused_in_the_words_of_a_file(
    engine: DaskEngine, tmp_path: Path
):
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    source = FileSource([damaged(files[0], tmp_path / "bad.parquet")])
    with pytest.raises(StoreError, match=r"bad.parquet is a damaged Parquet file$"):
        count_source(source, engine, n_partitions=7)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", pytest.param("nonsense", marks=pytest.mark.full)]
)
def test_a_cluster_that_cannot_be_reached_is_refused(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lopub.reports.engines.dask_engine.PATIENCE", 1)
    with pytest.raises(
        EngineError,
        match=rf"^engine dask cannot be reached at {address}; is its scheduler running\?$",
    ):
        engine_of("dask", address)


@pytest.mark.full
def test_a_cluster_without_workers_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lopub.reports.engines.dask_engine.PATIENCE", 1)
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(EngineError, match="no workers at"),
    ):
        engine_of("dask", cluster.scheduler_address)
