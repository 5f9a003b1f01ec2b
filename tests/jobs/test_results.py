"""What comes out of jobs: an archive that stays in its folder, signs of fakes that were looked for, and files that go in time."""

import json
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

import fakes
import people
from lopub import CampaignRequest, Categorical, Client, Domain, MemoryStore, Terms, make_campaign
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import Report
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.keeping import drop_draft, new_draft
from lopub.collector.queue import QueuedJob, State, ask, claim, end, find_job
from lopub.collector.store import ReportStore, Submission
from lopub.collector.wire import row_of
from lopub.console import alarming
from lopub.console.results import KEPT_DAYS, place_of, remove_result
from lopub.jobs.deleting import delete
from lopub.jobs.publishing import publish
from lopub.jobs.results import MARK, sweep, write_archive
from lopub.jobs.work import Task
from lopub.planning.alarms import COVERAGE, DRIFT, MADE, ONES, REPEATS
from lopub.questionnaire.draft_template import template
from lopub.reports.batch import ReportBatch
from lopub.reports.progress import silent


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReportStore]:
    opened = store_at(f"sqlite:///{tmp_path}/lopub.db")
    yield opened
    opened.close()


def collected(store: ReportStore, campaign: Campaign, reports: list[Report]) -> None:
    """A closed campaign with these reports."""
    entry, _ = open_campaign(store, campaign)
    store.write([Submission(entry.number, [row_of(report, entry.number) for report in reports])])
    close_campaign(store, campaign.id)


def published(store: ReportStore, campaign: Campaign, part: Path) -> Path:
    part.mkdir()
    address = f"sqlite:///{part.parent}/lopub.db"
    publish(
        Task(
            store=store,
            address=address,
            home=part,
            subject=campaign.id,
            choices={},
            progress=silent,
        ),
        part,
    )
    return part


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
    collected(store, campaign, sent)
    result = published(store, campaign, tmp_path / "result")
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


# ---- signs of fakes

DIRECT = fakes.campaign("direct, sample:2, jointly")
UNARY = fakes.campaign("unary, sample:2, jointly")


def reports_of(batch: ReportBatch) -> list[Report]:
    return [batch.report(i) for i in range(len(batch))]


def manifest_of(result: Path) -> dict:
    return json.loads((result / "publication" / "manifest.json").read_text())


def test_a_publication_looks_for_the_fakes_that_the_page_of_the_running_campaign_looks_for(
    store: ReportStore, tmp_path: Path
):
    """Forbids to leave it to the counts, which say nothing of fakes that repeat each other: Watch would speak of what the report
    does not know."""
    collected(store, UNARY, reports_of(fakes.mixed(UNARY, "copies", 1_500, 0.4, seed=1)))
    result = published(store, UNARY, tmp_path / "one")
    found = manifest_of(result)
    assert found["checks"] == {COVERAGE: MADE, ONES: MADE, REPEATS: MADE, DRIFT: MADE}
    assert REPEATS in [alarm["kind"] for alarm in found["alarms"]]
    page = (result / "publication" / "report.html").read_text()
    assert "Some reports may be fakes." in page and "only their counts were read" not in page


def test_honest_reports_raise_no_alarm_and_the_report_does_not_say_that_nobody_looked(
    store: ReportStore, tmp_path: Path
):
    collected(store, DIRECT, reports_of(fakes.honest(DIRECT, 1_500, seed=1)))
    result = published(store, DIRECT, tmp_path / "one")
    assert set(manifest_of(result)["checks"].values()) == {MADE}
    assert [alarm for alarm in manifest_of(result)["alarms"] if not alarm["notice"]] == []
    assert "only their counts were read" not in (result / "publication" / "report.html").read_text()


def test_of_many_reports_the_same_ones_are_looked_at_each_time(
    store: ReportStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(alarming, "MOST_LOOKED_AT", 300)
    collected(store, DIRECT, reports_of(fakes.honest(DIRECT, 1_200, seed=1)))
    texts = [
        (published(store, DIRECT, tmp_path / name) / "publication.zip").read_bytes()
        for name in ("one", "two")
    ]
    assert texts[0] == texts[1]
    told = manifest_of(tmp_path / "one")["checks"][REPEATS]
    n = int(told.removeprefix("made among ").removesuffix(" reports that were drawn"))
    assert 200 < n < 400


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


def test_files_go_that_are_of_no_more_use_and_no_others(
    store: ReportStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "files"
    kept, gone = (new_draft(store, template(name)) for name in ("kept", "gone"))
    jobs = {
        kind: done(store, home, kind, "a") for kind in ("publish", "export", "delete", "answer")
    }
    jobs["backup"] = done(store, home, "backup")
    plans = [done(store, home, "plan", draft.id) for draft in (kept, gone)]
    drop_draft(store, gone.id)
    foreign = home / f"{jobs['export'].number}-00000000" / "result"
    foreign.mkdir(parents=True)
    (home / "lost+found").mkdir()
    sweep(store, home)
    assert [place_of(home, job).exists() for job in plans] == [True, False]
    assert all(place_of(home, job).exists() for job in jobs.values())
    later = time.time() + (max(KEPT_DAYS.values()) + 1) * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    sweep(store, home)
    assert {kind for kind, job in jobs.items() if place_of(home, job).exists()} == {
        "publish",
        "backup",
        "delete",
    }
    assert foreign.exists() and (home / "lost+found").exists() and place_of(home, plans[0]).exists()


def test_what_a_kill_leaves_of_files_that_go_is_taken_away_by_the_next(
    store: ReportStore, tmp_path: Path
):
    job = done(store, tmp_path, "backup")
    place_of(tmp_path, job).rename(place_of(tmp_path, job).with_name(".0123456789abcdef.part"))
    sweep(store, tmp_path)
    assert not (tmp_path / job.folder).exists()


def test_a_certificate_names_no_backup_that_was_deleted(store: ReportStore, tmp_path: Path):
    campaign = people.campaign()
    collected(
        store, campaign, [Report.from_bytes(data, campaign) for data in people.reports(campaign, 3)]
    )
    stays, goes = done(store, tmp_path, "backup"), done(store, tmp_path, "backup")
    remove_result(tmp_path, goes)
    task = Task(
        store=store, address="", home=tmp_path, subject=campaign.id, choices={}, progress=silent
    )
    assert delete(task, tmp_path)["backups_here"] == [stays.number]
    assert os.listdir(tmp_path / stays.folder) == ["result"]
