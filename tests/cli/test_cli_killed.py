"""Commands that are killed, interrupted, or run out of disk or memory: a whole result or none; leftovers go at the next run."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fakes
from load import note_figures
from lopub.collector.campaigns import close_campaign
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore
from lopub.jobs.queue import QueuedJob, State, ask, find_job, jobs_of
from lopub.jobs.result_files import place_of

pytestmark = pytest.mark.full
N_MOMENTS = int(os.environ.get("LOPUB_MOMENTS", "100"))
"""Of each command: a quarter of them killed, interrupted, out of disk, out of memory."""
SEED = os.environ.get("LOPUB_SEED", "")
"""Of the moments, where they are run in several parts."""
CAMPAIGN = fakes.campaign("subset, sample:2, jointly")
COMMANDS = {
    "publish": ("campaign.json", "reports.parquet", "-o", "out", "--force", "--seed", "1"),
    "count": ("campaign.json", "reports.parquet", "-o", "out", "--force"),
    "export": ("campaign.json", "sqlite:///lopub.db", "-o", "out.parquet", "--force"),
    "plan": ("campaign.json", "--people", "2000", "--epsilon", "2", "-o", "out.json", "--force"),
}
DATABASE = "sqlite:///lopub.db"
MEGABYTE = 2**20
MOST_SECONDS = 300
"""How long anything here may take before a test gives up; nothing is compared with it."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("killed")
    CAMPAIGN.save(directory / "campaign.json")
    fakes.honest(CAMPAIGN, 3_000, seed=1).save(directory / "reports.parquet")
    assert (
        run("import", directory, "campaign.json", "reports.parquet", "--database", DATABASE).wait()
        == 0
    )
    return directory


Limit = tuple[int, int]
"""Which resource, and how much of it."""


def run(
    command: str, directory: Path, *arguments: str, limit: Limit | None = None
) -> subprocess.Popen[bytes]:
    whole = [sys.executable, "-m", "lopub", command, *arguments]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        whole, cwd=directory, stdout=nowhere, stderr=nowhere, preexec_fn=lambda: prepared(limit)
    )


def prepared(limit: Limit | None) -> None:
    """As a command is started from a terminal; what runs in the background of a shell script would not hear Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if limit:
        resource.setrlimit(limit[0], (limit[1], limit[1]))


def limit_of(how: int, rng: random.Random, largest: int) -> Limit | None:
    """For the third and fourth way to fail: a disk on which no file grows beyond some size, up to that of the largest; less
    memory than is needed, which runs out at any time from the start to the end."""
    if how == 2:
        return resource.RLIMIT_FSIZE, int(largest ** rng.random())
    return (resource.RLIMIT_AS, rng.randrange(50, 1500) * MEGABYTE) if how == 3 else None


def clear(directory: Path) -> None:
    for path in sorted(directory.glob("out*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def results(directory: Path, pattern: str = "out*") -> dict[str, bytes]:
    tops = sorted(directory.glob(pattern))
    found = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    return {str(path.relative_to(directory)): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_leaves_a_whole_result_or_none(files: Path, command: str):
    arguments, rng, n_whole = COMMANDS[command], random.Random(command + SEED), 0
    clear(files)
    assert run(command, files, *arguments).wait() == 0  # the first one compiles
    clear(files)
    started = time.monotonic()
    assert run(command, files, *arguments).wait() == 0
    seconds, whole = time.monotonic() - started, results(files)
    assert whole
    for moment in range(N_MOMENTS):
        clear(files)
        process = run(
            command,
            files,
            *arguments,
            limit=limit_of(moment % 4, rng, max(map(len, whole.values()))),
        )
        if moment % 4 < 2:
            time.sleep(rng.uniform(0.1, 1.1) * seconds)
            process.send_signal((signal.SIGKILL, signal.SIGINT)[moment % 4])
        process.wait(MOST_SECONDS)
        assert results(files) in ({}, whole)
        n_whole += bool(results(files))
    for leftover in files.glob(".*.part"):
        os.utime(leftover, (0, 0))
    assert run(command, files, *arguments).wait() == 0
    assert results(files) == whole
    assert list(files.glob(".*.part*")) == []
    assert n_whole < N_MOMENTS  # or nothing was cut short
    note_figures(
        "killed", command, moments=N_MOMENTS, whole=n_whole, none=N_MOMENTS - n_whole, halves=0
    )


# ---- jobs


@pytest.fixture
def store(files: Path) -> Iterator[ReportStore]:
    opened = store_at(f"sqlite:///{files}/lopub.db")
    yield opened
    opened.close()


def ended(store: ReportStore, job: QueuedJob) -> QueuedJob:
    over = time.monotonic() + MOST_SECONDS
    while find_job(store, job.number).is_under_way:
        assert time.monotonic() < over
        time.sleep(0.05)
    return find_job(store, job.number)


def worker(files: Path, limit: Limit | None = None) -> subprocess.Popen[bytes]:
    return run(
        "worker", files, "--database", DATABASE, "--files", "jobs", "--name", "w", limit=limit
    )


def done_calmly(store: ReportStore, files: Path) -> QueuedJob:
    """Whatever waits, done by a worker that nothing happens to; the newest."""
    process = worker(files)
    newest = ended(store, ask(store, "publish", CAMPAIGN.id))
    process.terminate()
    assert process.wait(MOST_SECONDS) == 0
    return newest


def test_a_worker_leaves_whole_results_of_jobs_or_none(files: Path, store: ReportStore):
    rng = random.Random("jobs" + SEED)
    close_campaign(store, CAMPAIGN.id)
    started, first = time.monotonic(), done_calmly(store, files)
    seconds, whole = time.monotonic() - started, results(place_of(files / "jobs", first), "*")
    assert first.state is State.DONE and whole
    largest = max(
        *(len(content) for content in whole.values()), (files / "lopub.db").stat().st_size
    )
    for moment in range(N_MOMENTS):
        ask(store, "publish", CAMPAIGN.id)
        process = worker(files, limit_of(moment % 4, rng, largest))
        time.sleep(rng.uniform(0.1, 1.1) * seconds)
        process.send_signal(signal.SIGINT if moment % 4 == 1 else signal.SIGKILL)
        process.wait(MOST_SECONDS)
    done_calmly(store, files)
    found = jobs_of(store, CAMPAIGN.id, kind="publish", most=10 * N_MOMENTS)
    for job in found:
        assert job.state in (State.DONE, State.FAILED)
        assert results(place_of(files / "jobs", job), "*") == (
            whole if job.state is State.DONE else {}
        )
        assert bool(job.problem) == (job.state is State.FAILED)
    assert list((files / "jobs").rglob("*.part*")) == []
    n_done = sum(job.state is State.DONE for job in found)
    note_figures(
        "killed",
        "jobs",
        moments=N_MOMENTS,
        jobs=len(found),
        done=n_done,
        failed=len(found) - n_done,
        halves=0,
    )
