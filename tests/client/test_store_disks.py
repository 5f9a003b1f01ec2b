"""A store on a disk that is full, cannot be written to, or loses its power: a sentence, and nothing is lost."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from store_files import reports_in

import disks
from lopub import (
    Boolean,
    CampaignRequest,
    Client,
    Domain,
    FileStore,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.errors import StorageFull
from tiers import FULL

CAMPAIGN = make_campaign(
    Domain((Boolean(name="a"),)), Terms(name="disks"), CampaignRequest(epsilon="1")
)
N_CUTS = 400 if FULL else 60


def client(store: FileStore, respondent: int) -> Client:
    return Client(CAMPAIGN, store=store, respondent=str(respondent))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("no disk of its own can be mounted here")
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk of its own can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Take all space that is left."""
    with open(disk / "filler", "wb", buffering=0) as filler, suppress(OSError):
        for n in (4096, 1):
            with suppress(OSError):
                while True:
                    filler.write(bytes(n))
    return disk / "filler"


def check_all_are_read(store: FileStore, made: list[bytes]) -> None:
    for i, report in enumerate(made):
        own = client(store, i)
        assert own.kept().to_bytes() == own.encode().to_bytes() == report
        assert own.spent() == CAMPAIGN.loss and own.due() is None
        assert len(own.waiting()) == 1 and own.sent() == () and own.missed() == ()


def test_on_a_full_disk_all_finished_reports_are_read_and_none_is_half_made(disk):
    """Reading tried to tidy up, and so nothing could be read where nothing could be written."""
    store = FileStore(disk / "store")
    made = [client(store, i).encode({"a": True}).to_bytes() for i in range(30)]
    filler, refusal = fill(disk), ""
    for i in range(30, 200):
        try:
            made.append(client(store, i).encode({"a": True}).to_bytes())
        except StorageFull as error:
            refusal = str(error)
            break
    assert "cannot write the store" in refusal and "no space is left" in refusal
    check_all_are_read(store, made)
    assert client(store, len(made)).kept() is None and client(store, len(made)).spent() == 0
    filler.unlink()
    made.append(client(store, len(made)).encode({"a": False}).to_bytes())
    check_all_are_read(store, made)


def test_a_store_that_cannot_be_begun_on_a_full_disk_is_begun_later(disk):
    filler, store = fill(disk), FileStore(disk / "store")
    with pytest.raises(StoreError, match=r"cannot write .*: No space left|no space is left"):
        client(store, 0).encode({"a": True})
    assert client(store, 0).kept() is None
    filler.unlink()
    made = [client(store, 0).encode({"a": True}).to_bytes()]
    check_all_are_read(store, made)


def test_a_store_that_may_not_grow_says_so_and_loses_nothing(tmp_path, monkeypatch):
    """The same as on a full disk, for those who are not root."""
    store = FileStore(tmp_path / "store")
    made = [client(store, 0).encode({"a": True}).to_bytes()]
    monkeypatch.setattr(
        "lopub.client.store._DURABLE",
        "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=EXTRA; PRAGMA max_page_count=4",
    )
    with pytest.raises(StorageFull, match="no space is left on the disk"):
        made.extend(client(store, i).encode({"a": True}).to_bytes() for i in range(1, 200))
    check_all_are_read(store, made)
    monkeypatch.undo()
    made.append(client(store, len(made)).encode({"a": False}).to_bytes())
    check_all_are_read(store, made)


def test_on_a_disk_that_cannot_be_written_to_all_finished_reports_are_read(disk):
    store = FileStore(disk / "store")
    made = [client(store, i).encode({"a": True}).to_bytes() for i in range(3)]
    remount(disk, "ro")
    check_all_are_read(store, made)
    for ask in (lambda: client(store, 9).encode({"a": True}), client(store, 0).cancel):
        with pytest.raises(StoreError, match=r"cannot write the store .*/store\.db: "):
            ask()
    assert client(FileStore(disk / "other"), 0).kept() is None
    with pytest.raises(StoreError, match=r"cannot write the store .*Read-only file system"):
        client(FileStore(disk / "other"), 0).encode({"a": True})
    remount(disk, "rw")
    check_all_are_read(store, made)
    assert len(client(store, 0).waiting()) == 1


def cut_short(directory: Path, target: Path) -> None:
    """What lies on the disk when a program is killed in the middle of a change: some pages are written already."""
    connection = sqlite3.connect(directory / "store.db", isolation_level=None)
    with closing(connection):
        connection.execute("PRAGMA cache_size=1")
        connection.execute("PRAGMA cache_spill=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE reports SET report = randomblob(length(report)), fate = 'sent'")
        connection.execute("UPDATE series SET loss = '0.1'")
        connection.execute("CREATE TABLE more AS SELECT randomblob(9000) FROM series")
        target.mkdir(mode=0o700)
        for path in directory.iterdir():
            shutil.copy(path, target)
        connection.execute("ROLLBACK")


def test_a_change_that_was_cut_short_is_undone_before_anything_is_read(tmp_path):
    store = FileStore(tmp_path / "store")
    made = [client(store, i).encode({"a": True}).to_bytes() for i in range(60)]
    cut_short(tmp_path / "store", tmp_path / "cut")
    before = (tmp_path / "store" / "store.db").read_bytes()
    assert (tmp_path / "cut" / "store.db").read_bytes() != before
    assert (tmp_path / "cut" / "store.db-journal").stat().st_size > 0
    check_all_are_read(FileStore(tmp_path / "cut"), made)


def test_a_change_that_was_cut_short_cannot_be_undone_on_a_disk_that_cannot_be_written_to(disk):
    """To read past it would show a report that was never finished; a second one would be drawn later."""
    store = FileStore(disk / "store")
    made = [client(store, i).encode({"a": True}).to_bytes() for i in range(30)]
    cut_short(disk / "store", disk / "cut")
    assert (disk / "cut" / "store.db-journal").stat().st_size > 0
    remount(disk, "ro")
    with pytest.raises(StoreError, match="which can be undone only where the disk can be written"):
        client(FileStore(disk / "cut"), 0).kept()
    remount(disk, "rw")
    fill(disk)
    check_all_are_read(FileStore(disk / "cut"), made)


# ---- the power goes

MAKING = """
import os, sys
from lopub import Campaign, Client, FileStore
store, campaign = FileStore(sys.argv[1]), Campaign.load(sys.argv[2])
for i in range(int(sys.argv[3])):
    client = Client(campaign, store=store, respondent=str(i))
    report = client.encode({"a": True}).to_bytes()
    print(i, report.hex(), os.stat(os.environ["LOPUB_DISK_LOG"]).st_size, flush=True)
    if i % 3 == 0:
        client.cancel()
"""


def test_no_cut_of_the_power_loses_what_was_handed_out(tmp_path):
    """A report that was handed out, and is gone after the power went, would be drawn a second time."""
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler (gcc) for the layer below a disk")
    store, journal, built = tmp_path / "disk", tmp_path / "log", disks.layer(tmp_path)
    CAMPAIGN.save(tmp_path / "campaign.json")
    with FileStore(store).writing():
        pass  # an empty store
    before = disks.Disk(store)
    journal.touch()
    environment = os.environ | disks.environment(built, store, journal)
    command = [sys.executable, "-c", MAKING, str(store), str(tmp_path / "campaign.json"), "40"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    acknowledged = [(int(i), bytes.fromhex(data), int(length)) for i, data, length in lines]
    size, rng = journal.stat().st_size, random.Random(40)
    moments = sorted(rng.randrange(size + 1) for _ in range(N_CUTS))
    rest = disks.changes(journal)
    upcoming, most = next(rest, None), 0
    for number, moment in enumerate(moments):
        while upcoming is not None and upcoming.end <= moment:
            before.apply(upcoming)
            upcoming = next(rest, None)
        before.cut(rng, tmp_path / f"cut{number}")
        kept = FileStore(tmp_path / f"cut{number}")
        handed_out = [(i, report) for i, report, length in acknowledged if length <= moment]
        for i, report in handed_out:
            again = client(kept, i)
            assert again.kept().to_bytes() == report and again.spent() == CAMPAIGN.loss
        made = client(kept, 41).encode({"a": False}).to_bytes()
        assert made in reports_in(tmp_path / f"cut{number}")
        most = max(most, len(handed_out))
    assert most > 20
