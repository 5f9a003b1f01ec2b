"""What comes out of jobs: an archive that stays in its folder, and files that go when they are of
no more use."""

import os
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from workers import closed_campaign, task_of

from lopub import CampaignRequest, Categorical, Client, Domain, MemoryStore, Terms, make_campaign
from lopub.campaign.campaign import Campaign
from lopub.collector.database import store_at
from lopub.collector.drafts import drop_draft, new_draft
from lopub.collector.store import ReportStore
from lopub.errors import DomainError
from lopub.jobs.publication_job import publish
from lopub.jobs.queue import QueuedJob, State, ask, cancel, claim, end, find_job
from lopub.jobs.result_files import (
    MARK,
    place_of,
    remove_result,
    remove_unused,
    result_at,
    write_archive,
)
from lopub.questionnaire.draft_template import template
from lopub.reports.batch import ReportBatch


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReportStore]:
    opened = store_at(f"sqlite:///{tmp_path}/lopub.db")
    yield opened
    opened.close()


# ---- the archive

CLIMBING = (
    "../../up",
    "/etc/absolute",
    "..\\..\\back",
    "C:\\drive",
    "a/../../../b",
    "\u2025/up",
    "-rf",
    "~/home",
)
"""Names and answers that lead out of a directory where somebody makes a path of them."""


def hostile_campaign() -> Campaign:
    attributes = tuple(Categorical(name=name, values=("../x", "/y", "..\\z")) for name in CLIMBING)
    terms = Terms(
        name="climbing",
        title="../../title",
        description="/etc/passwd",
        licence="../../licence",
        min_reports=1,
    )
    return make_campaign(Domain(attributes), terms, CampaignRequest(epsilon=4))


def test_nothing_in_the_zip_of_a_publication_leads_out_of_its_folder(
    store: ReportStore, tmp_path: Path
):
    campaign = hostile_campaign()
    record = dict.fromkeys(CLIMBING, "..\\z")
    sent = [Client(campaign, store=MemoryStore()).encode(record) for _ in range(200)]
    closed_campaign(store, campaign, ReportBatch.from_reports(sent, campaign))
    result = tmp_path / "result"
    result.mkdir()
    publish(task_of(store, f"sqlite:///{tmp_path}/lopub.db", tmp_path, campaign.id), result)
    assert all(
        path.resolve().is_relative_to(result / "publication")
        for path in (result / "publication").rglob("*")
    )
    with zipfile.ZipFile(result / "publication.zip") as archive:
        for entry in archive.infolist():
            assert is_harmless(entry), entry.filename
        archive.extractall(tmp_path / "elsewhere" / "inner")
    assert [
        path.name for path in (tmp_path / "elsewhere").rglob("*") if "inner" not in path.parts
    ] == []
    assert [path.name for path in (tmp_path / "elsewhere" / "inner").iterdir()] == ["publication"]


def is_harmless(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry, as the archive itself has it, is a plain file within `publication`."""
    name = PurePosixPath(entry.orig_filename)
    is_within = name.parts[0] == "publication" and ".." not in name.parts and not name.is_absolute()
    is_plain = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    return (
        is_within
        and is_plain
        and not any(sign in entry.orig_filename for sign in ("\\", ":", "\0", "//"))
    )


def test_an_entry_that_climbs_is_told_from_one_that_does_not():
    """The check of the test above, on what it is to find."""
    assert is_harmless(zipfile.ZipInfo("publication/data/synthetic.csv"))
    for name in (
        "../x",
        "/publication/x",
        "publication/../../x",
        "publication\\..\\x",
        "C:/x",
        "other/x",
        "publication//x",
    ):
        assert not is_harmless(zipfile.ZipInfo(name)), name
    link = zipfile.ZipInfo("publication/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert not is_harmless(link)


def test_a_link_in_a_publication_is_not_followed_into_the_archive(tmp_path: Path):
    (tmp_path / "secret").write_text("not for others")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inner").write_text("nor this")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a").write_text("a")
    (tmp_path / "p" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "p" / "directory").symlink_to(tmp_path / "outside")
    write_archive(tmp_path / "p", tmp_path / "p.zip")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        assert archive.namelist() == ["p/a"]


def test_an_archive_of_the_same_files_has_the_same_bytes(tmp_path: Path):
    (tmp_path / "p" / "inner").mkdir(parents=True)
    (tmp_path / "p" / "inner" / "b").write_text("b")
    (tmp_path / "p" / "a").write_text("a")
    for name in ("one.zip", "two.zip"):
        write_archive(tmp_path / "p", tmp_path / name)
        os.utime(tmp_path / "p" / "a", (0, 0))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["p/a", "p/inner/b"]


@pytest.mark.parametrize("size", [9_000, 10_000, 10_001, 30_000])
def test_a_file_of_any_size_goes_into_an_archive(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to begin an entry without saying how large it is: beyond 2 GiB, here 10,000 bytes, it
    could not be ended."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10_000)
    (tmp_path / "p").mkdir()
    content = os.urandom(size)
    (tmp_path / "p" / "large").write_bytes(content)
    (tmp_path / "p" / "small").write_bytes(b"s")
    write_archive(tmp_path / "p", tmp_path / "p.zip")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        assert archive.testzip() is None
        assert archive.read("p/large") == content and archive.read("p/small") == b"s"


# ---- files that are of no more use


def done(store: ReportStore, home: Path, kind: str, subject: str = "") -> QueuedJob:
    """A job with a result."""
    asked = ask(store, kind, subject)
    job = claim(store, "one")
    assert job is not None and job.number == asked.number
    end(store, job, "one", State.DONE)
    place_of(home, job).mkdir(parents=True)
    (place_of(home, job) / MARK).write_text("{}")
    return find_job(store, job.number)


def test_files_go_that_are_of_no_more_use_and_no_others(store: ReportStore, tmp_path: Path):
    home = tmp_path / "files"
    kept, gone = (new_draft(store, template(name)) for name in ("kept", "gone"))
    jobs = {kind: done(store, home, kind, "a") for kind in ("publish", "delete", "answer")}
    plans = [done(store, home, "plan", draft.id) for draft in (kept, gone)]
    drop_draft(store, gone.id)
    foreign = home / f"{jobs['answer'].number}-00000000" / "result"
    foreign.mkdir(parents=True)
    (home / "lost+found").mkdir()
    remove_unused(store, home)
    assert [place_of(home, job).exists() for job in plans] == [True, False]
    left = {kind for kind, job in jobs.items() if place_of(home, job).exists()}
    assert left == {"publish", "delete"}
    assert foreign.exists() and (home / "lost+found").exists()


def test_what_a_kill_leaves_of_files_that_go_is_removed_by_the_next(
    store: ReportStore, tmp_path: Path
):
    job = done(store, tmp_path, "publish")
    place_of(tmp_path, job).rename(place_of(tmp_path, job).with_name(".0123456789abcdef.part"))
    remove_unused(store, tmp_path)
    assert not (tmp_path / job.folder).exists()


def test_files_that_were_removed_are_said_to_be(store: ReportStore, tmp_path: Path):
    waiting = ask(store, "publish", "a")
    with pytest.raises(DomainError, match=f"job {waiting.number} has no result"):
        result_at(tmp_path, waiting)
    cancel(store, waiting.number)
    home = tmp_path / "files"
    job = done(store, home, "publish", "a")
    assert result_at(home, job) == place_of(home, job)
    remove_result(home, job)
    remove_result(home, job)
    assert list(home.iterdir()) == []
    told = f"the files of job {job.number} are not in {home}: they were deleted, or its worker"
    with pytest.raises(DomainError, match=re.escape(told)):
        result_at(home, job)
