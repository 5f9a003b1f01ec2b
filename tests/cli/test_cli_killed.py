"""Commands that are killed, interrupted, or run out of disk or memory: a whole result or none; leftovers go at the next run."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fakes
from load import FULL, note_figures

pytestmark = pytest.mark.skipif(not FULL, reason="takes minutes; LOPUB_FULL=1 runs it")
N_MOMENTS = int(os.environ.get("LOPUB_MOMENTS", "25"))
"""Of each command."""
COMMANDS = {
    "publish": ("campaign.json", "reports.parquet", "-o", "out", "--force", "--seed", "1"),
    "count": ("campaign.json", "reports.parquet", "-o", "out", "--force"),
    "export": ("campaign.json", "sqlite:///lopub.db", "-o", "out.parquet", "--force"),
    "plan": ("campaign.json", "--people", "2000", "--epsilon", "2", "-o", "out.json", "--force"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("killed")
    target = fakes.campaign("subset, sample:2, jointly")
    target.save(directory / "campaign.json")
    fakes.honest(target, 3_000, seed=1).save(directory / "reports.parquet")
    run("import", directory, "campaign.json", "reports.parquet", "--database", "sqlite:///lopub.db").wait()
    return directory


def run(command: str, directory: Path, *arguments: str, limit: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    whole = [sys.executable, "-m", "lopub", command, *arguments]
    return subprocess.Popen(whole, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)


def small_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (400 * 2**20, 400 * 2**20))


def clear(directory: Path) -> None:
    for path in sorted(directory.glob("out*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def results(directory: Path) -> dict[str, bytes]:
    found = [path for top in sorted(directory.glob("out*")) for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    return {str(path.relative_to(directory)): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_leaves_a_whole_result_or_none(files: Path, command: str):
    arguments, rng = COMMANDS[command], random.Random(command)
    clear(files)
    started = time.monotonic()
    assert run(command, files, *arguments).wait() == 0
    seconds, whole = time.monotonic() - started, results(files)
    assert whole
    for moment in range(N_MOMENTS):
        clear(files)
        how = moment % 4
        process = run(command, files, *arguments, limit=(None, None, small_disk, little_memory)[how])
        if how < 2:
            time.sleep(rng.uniform(0.3, 1.1) * seconds)
            process.send_signal((signal.SIGKILL, signal.SIGINT)[how])
        process.wait()
        assert results(files) in ({}, whole)
    for leftover in files.glob(".*.part"):
        os.utime(leftover, (0, 0))
    assert run(command, files, *arguments).wait() == 0
    assert results(files) == whole
    assert list(files.glob(".*.part*")) == []
    note_figures("killed", command, moments=N_MOMENTS, halves=0)
