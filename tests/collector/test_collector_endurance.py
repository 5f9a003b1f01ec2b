"""What a collector acknowledged it keeps, once, whatever happens to it: killed, stopped, out of space, asked again and again.

Real processes, real HTTP, both stores. `test_collector_ingest.py` has a short test of each.
"""

import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import load
from load import Uploaders, kind_of, lost_and_doubled, note_figures, uploaded
from lopub.campaign.report import framed, unframed
from servers import Postgres, Running, running_collector, start_collector

pytestmark = pytest.mark.full
CAMPAIGN = load.campaign()
READY_SECONDS = 3
STOP_SECONDS = 5


def restarted(collector: Running, *, number: int = signal.SIGKILL) -> tuple[Running, float]:
    """The collector ended by a signal and started again, at another port, and after how many seconds it was ready."""
    collector.stop(number)
    started = time.monotonic()
    again = start_collector(collector.address)
    return again, time.monotonic() - started


# ---- killed


def test_sigkill_at_random_moments_loses_nothing_that_was_acknowledged(database: str):
    bodies = load.bodies_of(load.population(CAMPAIGN, 1_000_000, seed=1))
    n_kills, rng = 50, random.Random(1)
    moments = sorted(rng.sample(range(len(bodies) * 3 // 4), n_kills))
    load.opened(database, CAMPAIGN)
    collector, waits = start_collector(database), []
    uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
    for moment in moments:
        uploaders.wait_for(moment)
        time.sleep(rng.uniform(0, 0.02))
        assert uploaders.n_running > 0
        collector, seconds = restarted(collector)
        uploaders.port = collector.port
        waits.append(seconds)
    uploaders.join()
    assert collector.stop() == 0
    lost, doubled = lost_and_doubled(database, CAMPAIGN, uploaders.bodies)
    n_acknowledged = len(load.rows_of(uploaders.bodies))
    note_figures(
        "kills",
        kind_of(database),
        kills=n_kills,
        acknowledged=n_acknowledged,
        lost=lost,
        doubled=doubled,
        ready_seconds_most=max(waits),
        ready_seconds_median=sorted(waits)[n_kills // 2],
    )
    assert (n_acknowledged, lost, doubled) == (1_000_000, 0, 0)
    assert max(waits) <= READY_SECONDS


# ---- asked again


def test_reports_sent_five_times_count_once(database: str):
    """Twice at once, then in sequence, then across a restart, then while the collector is killed."""
    bodies = load.bodies_of(load.population(CAMPAIGN, 200_000, seed=2))
    load.opened(database, CAMPAIGN)
    collector = start_collector(database)
    uploaded(collector.port, CAMPAIGN, [body for body in bodies for _ in range(2)])
    uploaded(collector.port, CAMPAIGN, bodies)
    collector, _ = restarted(collector, number=signal.SIGTERM)
    uploaded(collector.port, CAMPAIGN, bodies)
    uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
    uploaders.wait_for(len(bodies) // 2)
    collector, _ = restarted(collector)
    uploaders.port = collector.port
    uploaders.join()
    n_others, n_refused = 1_000, conflicts(collector, bodies, 1_000)
    assert collector.stop() == 0
    rows = load.kept_rows(database, CAMPAIGN)
    note_figures(
        "repeats",
        kind_of(database),
        sent=5 * 200_000,
        counted=len(rows),
        others=n_others,
        refused=n_refused,
    )
    assert len(rows) == 200_000
    assert dict(rows) == load.rows_of(bodies)
    assert n_refused == n_others


def conflicts(collector: Running, bodies: list[bytes], n: int) -> int:
    """How many of n reports that reuse an id for another body are refused for just that."""
    reports = [report for body in bodies[: -(-n // load.PER_REQUEST)] for report in unframed(body)][
        :n
    ]
    body = framed([report[:25] + (7).to_bytes(4) + report[29:] for report in reports])
    path = f"/campaigns/{CAMPAIGN.id}/reports"
    answer = collector.ask("POST", path, body, Content_Type=load.FRAMED_TYPE)
    assert (answer.status, answer.json["received"]) == (200, n)
    return sum(refusal["reason"] == "conflict" for refusal in answer.json["refused"])


def test_many_bodies_under_one_id_at_once_keep_exactly_one(database: str):
    """Whoever looks first and writes afterwards would let the last one win."""
    (report,) = unframed(load.bodies_of(load.population(CAMPAIGN, 1, seed=3))[0])
    rivals = [report[:25] + slot.to_bytes(4) + report[29:] for slot in range(1_000)]
    load.opened(database, CAMPAIGN)
    with running_collector(database) as collector:
        answers = []
        for start in range(0, len(rivals), load.N_UPLOADERS):
            answers += at_once(
                collector, [framed([each]) for each in rivals[start : start + load.N_UPLOADERS]]
            )
    kept = [rivals[i] for i, answer in enumerate(answers) if json.loads(answer)["refused"] == []]
    assert len(kept) == 1
    assert load.kept_rows(database, CAMPAIGN) == list(load.rows_of([framed(kept)]).items())


def at_once(collector: Running, bodies: list[bytes]) -> list[bytes]:
    """The answers to requests that are all sent before the first answer is read."""
    connections = [
        socket.create_connection(("127.0.0.1", collector.port), timeout=30) for _ in bodies
    ]
    for connection, body in zip(connections, bodies, strict=True):
        connection.sendall(load.request_of(CAMPAIGN, body))
    answers = [load.answer_from(connection) for connection in connections]
    for connection in connections:
        connection.close()
    assert {status for status, _ in answers} == {200}
    return [answer for _, answer in answers]


# ---- told to stop


def test_sigterm_under_load_ends_in_time_and_loses_nothing_that_was_acknowledged(database: str):
    """Also while somebody holds a connection with half a body on it."""
    bodies = load.bodies_of(load.population(CAMPAIGN, 500_000, seed=4), 20)
    load.opened(database, CAMPAIGN)
    n_stops, waits, sent = 10, [], 0
    acknowledged: list[bytes] = []
    for _ in range(n_stops):
        collector = start_collector(database)
        uploaders = Uploaders(
            collector.port, CAMPAIGN, bodies[sent : sent + len(bodies) // n_stops]
        )
        sent += len(bodies) // n_stops
        with half_a_request(collector.port):
            uploaders.wait_for(100)
            started = time.monotonic()
            assert collector.stop() == 0
            waits.append(time.monotonic() - started)
        assert uploaders.n_running > 0
        uploaders.join(give_up=True)
        acknowledged += uploaders.bodies
    lost, doubled = lost_and_doubled(database, CAMPAIGN, acknowledged)
    n_acknowledged = len(load.rows_of(acknowledged))
    note_figures(
        "sigterm",
        kind_of(database),
        stops=n_stops,
        acknowledged=n_acknowledged,
        lost=lost,
        doubled=doubled,
        exit_seconds_most=max(waits),
    )
    assert (lost, doubled) == (0, 0)
    assert max(waits) <= STOP_SECONDS


@contextmanager
def half_a_request(port: int) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(load.request_of(CAMPAIGN, bytes(1000))[:-500])
        yield


# ---- no space


@contextmanager
def small_disk(directory: Path, *, megabytes: int) -> Iterator[Path]:
    """A file system of this size; only where mounts are allowed."""
    if os.getuid() != 0:
        pytest.skip("only root may mount a small file system")
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(directory)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        directory.rmdir()
        pytest.skip("this machine does not allow mounts")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
        directory.rmdir()


@pytest.fixture(params=["sqlite", "postgresql"])
def on_small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A small disk, and the address of a database whose tables are on it."""
    if request.param == "sqlite":
        with small_disk(tmp_path / "disk", megabytes=40) as disk:
            yield disk, f"sqlite:///{disk}/lopub.db"
        return
    cluster: Postgres = request.getfixturevalue("postgres")
    with (
        small_disk(cluster.directory / "disk", megabytes=80) as disk,
        cluster.place(disk) as address,
    ):
        yield disk, address


def test_a_full_disk_loses_nothing_and_space_is_found_again(on_small_disk: tuple[Path, str]):
    disk, database = on_small_disk
    load.opened(database, CAMPAIGN)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize // 2))
    bodies = load.bodies_of(load.population(CAMPAIGN, 1_000_000, seed=5))
    with running_collector(database) as collector:
        uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
        full_after = wait_until_full(uploaders)
        time.sleep(1)  # everyone is sent away, and comes again
        assert collector.process.poll() is None
        n_before, started = len(uploaders.acknowledged), time.monotonic()
        ballast.unlink()
        uploaders.wait_for(n_before + 1, seconds=60)
        again = time.monotonic() - started
        uploaders.join(give_up=True)
        assert collector.is_ready()
    lost, doubled = lost_and_doubled(database, CAMPAIGN, uploaders.bodies)
    n_acknowledged = len(load.rows_of(uploaders.bodies))
    refused = {
        f"answers_{status}": n for status, n in sorted(uploaders.statuses.items()) if status != 200
    }
    note_figures(
        "full-disk",
        kind_of(database),
        acknowledged=n_acknowledged,
        lost=lost,
        doubled=doubled,
        accepts_again_seconds=again,
        **refused,
    )
    assert (lost, doubled) == (0, 0)
    assert full_after < len(bodies)
    assert again <= 5


def wait_until_full(uploaders: Uploaders) -> int:
    """How many bodies were acknowledged before the first was sent away for lack of space."""
    until = time.monotonic() + 120
    while not uploaders.statuses[507] + uploaders.statuses[503]:
        assert time.monotonic() < until and uploaders.n_running and not uploaders.faults, (
            uploaders.faults[:3]
        )
        time.sleep(0.01)
    return len(uploaders.acknowledged)
