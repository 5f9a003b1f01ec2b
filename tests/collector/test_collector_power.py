"""The power goes, or the disk fails: what was acknowledged is there, and the store opens.

A collector under load, on a disk whose journal knows what was synced (`tests/disk`). From one run the disk is cut off at many
moments. What a cut leaves is drawn: unsynced writes kept, torn, dropped, in any order.
"""

import errno
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import disks
import load
from load import Uploaders, note_figures
from lopub.errors import LopubError
from servers import Postgres, running_collector, start_collector
from tiers import FULL

CAMPAIGN = load.campaign()
N_CUTS = 200 if FULL else 12
N_REPORTS = 60_000 if FULL else 4_000


class Watched(Uploaders):
    """Uploaders that note how long the journal was when each body was acknowledged."""

    def __init__(self, port: int, bodies: list[bytes], journal: Path) -> None:
        self.length_at: dict[int, int] = {}
        self._journal = journal
        super().__init__(port, CAMPAIGN, bodies)

    def _is_settled(self, place: int, status: int, answer: bytes) -> bool:
        length = self._journal.stat().st_size
        settled = super()._is_settled(place, status, answer)
        if settled:
            self.length_at[place] = length
        return settled


@dataclass
class Run:
    """What a collector did to its disk, and what it acknowledged when."""

    before: disks.Disk
    journal: Path
    bodies: list[bytes]
    length_at: dict[int, int]

    def acknowledged(self, length: int) -> list[bytes]:
        """The bodies that were acknowledged before the journal had this length."""
        return [self.bodies[place] for place, then in self.length_at.items() if then <= length]


def run_on(
    disk: Path, built: Path, *, n_reports: int, seed: int, fault: str = ""
) -> tuple[Run, Uploaders]:
    """A collector on a watched disk that takes so many reports, then is killed."""
    disk.mkdir()
    load.opened(f"sqlite:///{disk}/lopub.db", CAMPAIGN)
    before, journal = disks.Disk(disk), disk.with_suffix(".log")
    journal.touch()
    bodies = load.bodies_of(load.population(CAMPAIGN, n_reports, seed=seed), 20)
    environment = disks.environment(built, disk, journal, fault)
    collector = start_collector(f"sqlite:///{disk}/lopub.db", environment=environment)
    uploaders = Watched(collector.port, bodies, journal)
    try:
        uploaders.join()
    finally:
        collector.stop(9)
    return Run(before, journal, bodies, uploaders.length_at), uploaders


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler (gcc) for the layer below a disk")
    return disks.layer(tmp_path_factory.mktemp("layer"))


def assert_whole(database: Path, acknowledged: list[bytes]) -> None:
    """That a store opens, is sound, and has what was acknowledged, each report once."""
    lost, doubled = (
        load.lost_and_doubled(f"sqlite:///{database}", CAMPAIGN, acknowledged)
        if acknowledged
        else (0, 0)
    )
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert (lost, doubled) == (0, 0)


def cut_at(run: Run, moments: list[int], directory: Path, *, seed: int) -> int:
    """Cut the disk off when the journal had each of these lengths, ascending; how many reports were looked for at the last."""
    rng, disk, rest, most = random.Random(seed), run.before, disks.changes(run.journal), 0
    upcoming = next(rest, None)
    for number, moment in enumerate(moments):
        while upcoming is not None and upcoming.end <= moment:
            disk.apply(upcoming)
            upcoming = next(rest, None)
        acknowledged = run.acknowledged(moment)
        disk.cut(rng, directory / f"cut{number}")
        assert_whole(directory / f"cut{number}" / "lopub.db", acknowledged)
        most = max(most, 20 * len(acknowledged))
    return most


# ---- the power goes


def test_no_cut_of_the_power_loses_what_was_acknowledged(tmp_path: Path, built: Path):
    run, _ = run_on(tmp_path / "disk", built, n_reports=N_REPORTS, seed=11)
    size, rng = run.journal.stat().st_size, random.Random(11)
    moments = sorted(rng.randrange(size) for _ in range(N_CUTS))
    looked_for = cut_at(run, moments, tmp_path, seed=12)
    note_figures(
        "power-cut",
        "sqlite",
        cuts=N_CUTS,
        opened=N_CUTS,
        lost=0,
        doubled=0,
        acknowledged_most=looked_for,
    )
    assert looked_for >= N_REPORTS // 2


@pytest.mark.full
def test_a_disk_that_forgets_a_sync_is_caught(tmp_path: Path, built: Path):
    """That the test can fail: with the syncs of the log left out, acknowledged reports are lost."""
    run, _ = run_on(tmp_path / "disk", built, n_reports=1_000, seed=13)
    disk, rng = run.before, random.Random(13)
    for change in disks.changes(run.journal):
        if change.kind != "S":
            disk.apply(change)
    for number in range(20):
        disk.cut(rng, tmp_path / f"cut{number}")
        try:
            assert_whole(tmp_path / f"cut{number}" / "lopub.db", run.bodies)
        except (AssertionError, LopubError, sqlite3.DatabaseError):
            return
    pytest.fail("nothing was lost")


@pytest.mark.full
def test_a_collector_starts_on_what_a_cut_left_and_takes_the_rest(tmp_path: Path, built: Path):
    run, _ = run_on(tmp_path / "disk", built, n_reports=2_000, seed=14)
    disk, moment = run.before, run.journal.stat().st_size * 2 // 3
    for change in disks.changes(run.journal):
        if change.end <= moment:
            disk.apply(change)
    disk.cut(random.Random(14), tmp_path / "cut")
    database = f"sqlite:///{tmp_path}/cut/lopub.db"
    with running_collector(database) as collector:
        load.uploaded(collector.port, CAMPAIGN, run.bodies)
    assert load.lost_and_doubled(database, CAMPAIGN, run.bodies) == (0, 0)


@pytest.mark.full
def test_postgresql_stopped_at_once_under_load_loses_nothing_that_was_acknowledged(
    postgres: Postgres,
):
    """Its own recovery, each time. Its disk is not cut: what PostgreSQL syncs, it answers for itself."""
    database, rng = postgres.new_database(), random.Random(15)
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, 200_000, seed=15), 20)
    n_stops = 20
    with running_collector(database) as collector:
        uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
        for stop in range(n_stops):
            uploaders.wait_for(len(bodies) * (stop + 1) // (2 * n_stops))
            time.sleep(rng.uniform(0, 0.02))
            postgres.stop()
            postgres.start()
        uploaders.join()
    lost, doubled = load.lost_and_doubled(database, CAMPAIGN, uploaders.bodies)
    note_figures("power-cut", "postgresql", immediate_stops=n_stops, lost=lost, doubled=doubled)
    assert (lost, doubled) == (0, 0)


# ---- the order of things


N_ACKNOWLEDGED = 10_000
CALL = re.compile(r"^\d+ +(?:(\w+)\(|<\.\.\. (\w+) resumed>)(.*)$")


@pytest.mark.full
def test_no_answer_leaves_before_the_sync_that_covers_it(tmp_path: Path):
    """Of every acknowledged request: after it came, the log was written to, then synced, and only then the answer left."""
    database, trace = f"sqlite:///{tmp_path}/lopub.db", tmp_path / "trace"
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, N_ACKNOWLEDGED, seed=16), 1)
    with running_collector(database) as collector:
        calls = "trace=recvfrom,read,write,writev,sendto,sendmsg,pwrite64,fdatasync,fsync"
        command = [
            "strace",
            "-f",
            "-y",
            "-s",
            "16",
            "-e",
            calls,
            "-o",
            str(trace),
            "-p",
            str(collector.process.pid),
        ]
        watching = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert watching.stderr is not None and "attached" in watching.stderr.readline()
        uploaders = load.uploaded(collector.port, CAMPAIGN, bodies)
        watching.terminate()
        watching.communicate()
    covered, answers = order_of(trace.read_text().splitlines())
    note_figures("order", "sqlite", acknowledged=answers, covered=covered)
    assert len(uploaders.acknowledged) == N_ACKNOWLEDGED
    assert covered == answers >= N_ACKNOWLEDGED


def order_of(lines: list[str]) -> tuple[int, int]:
    """How many answers of 200 left after a write to the log that came after their request, and its sync; and how many left."""
    came: dict[str, int] = {}
    last_write = synced_write = -1
    syncing: dict[str, int] = {}
    reading: dict[str, str] = {}
    covered = answers = 0
    for at, line in enumerate(lines):
        thread, (begun, resumed, rest) = line.split(" ", 1)[0], _call(line)
        if begun in ("recvfrom", "read") and '"POST ' in rest:
            came[_file(rest)] = at
        elif begun in ("recvfrom", "read") and "<unfinished" in rest:
            reading[thread] = _file(rest)
        elif resumed in ("recvfrom", "read") and '"POST ' in rest:
            came[reading[thread]] = at
        elif begun == "pwrite64" and "-wal>" in rest:
            last_write = at
        elif begun in ("fdatasync", "fsync") and "-wal>" in rest:
            syncing[thread] = last_write
        if (begun in ("fdatasync", "fsync") and "= 0" in rest) or (
            resumed in ("fdatasync", "fsync") and "= 0" in rest
        ):
            synced_write = max(synced_write, syncing.pop(thread, -1))
        if (
            begun in ("write", "writev", "sendto", "sendmsg")
            and "HTTP/1.1 200" in rest
            and _file(rest) in came
        ):
            answers += 1
            covered += synced_write > came.pop(_file(rest))
    return covered, answers


def _call(line: str) -> tuple[str, str, str]:
    found = CALL.match(line)
    return (found[1] or "", found[2] or "", found[3]) if found else ("", "", "")


def _file(rest: str) -> str:
    return rest.partition("<")[0]


# ---- the disk fails


FAULTS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "short write": 0}
N_POINTS = int(os.environ.get("LOPUB_POINTS", "50")) if FULL else 1


@pytest.mark.parametrize(
    "fault", ["EIO", *(pytest.param(one, marks=pytest.mark.full) for one in FAULTS if one != "EIO")]
)
def test_no_failure_of_the_disk_loses_what_was_acknowledged(
    tmp_path: Path, built: Path, fault: str
):
    """One change fails: a write, a truncation, a sync, which may have lost what it was to save. Senders of that group are told to
    come again, the collector goes on; and whatever moment the power then goes at, what was acknowledged is there."""
    rng, sent_away = random.Random(fault), 0
    points = sorted(rng.sample(range(8, 400), N_POINTS))
    for point in points:
        directory = tmp_path / str(point)
        directory.mkdir()
        asked = f"{point}:{FAULTS[fault]}"
        run, uploaders = run_on(
            directory / "disk", built, n_reports=3_000 if FULL else 1_500, seed=point, fault=asked
        )
        assert set(uploaders.statuses) <= {200, 503, 507}
        sent_away += uploaders.statuses[503] + uploaders.statuses[507]
        moments = [
            *sorted(rng.randrange(run.journal.stat().st_size) for _ in range(3)),
            run.journal.stat().st_size,
        ]
        cut_at(run, moments, directory, seed=point)
        assert_whole(directory / "disk" / "lopub.db", run.bodies)
    note_figures(
        "failing-disk",
        fault,
        points=N_POINTS,
        clean_restarts=N_POINTS,
        lost=0,
        answers_5xx=sent_away,
    )
    if (
        FULL and FAULTS[fault]
    ):  # a single fault may hit what nobody waits for; half a write is written to its end
        assert sent_away
