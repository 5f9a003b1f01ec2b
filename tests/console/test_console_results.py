"""What came out of a campaign, as its steward sees it: hostile texts stay texts, names are words, files can be taken away."""

import html
import io
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from consoles import Console, begun, console_here, opened, worker_here
from lopub.collector.campaigns import all_campaigns, close_campaign, find_campaign
from lopub.collector.database import store_at
from lopub.collector.imports import _rows
from lopub.collector.store import Submission
from lopub.collector.studies import open_study
from lopub.console.report_pages import askables, share_in_report
from lopub.jobs.queue import QueuedJob, State, ask, find_job, jobs_of
from lopub.jobs.result_files import place_of
from lopub.pages.templating import LANGUAGES
from lopub.publication import Publication
from lopub.queries.expressions import written
from lopub.reports.dataset import Dataset
from lopub.reports.simulation.clients import simulate

SECONDS = 300
SCRIPT = "<script>alert(1)</script>"
HOSTILE = {
    "name": "climbing",
    "language": "en",
    "title": {"en": f"../../{SCRIPT}", "de": SCRIPT},
    "description": {"en": SCRIPT, "de": SCRIPT},
    "consent": {"en": SCRIPT, "de": SCRIPT},
    "min_reports": 3,
    "licence": SCRIPT,
    "schema": {
        "fields": [
            {"name": f"../../{SCRIPT}", "type": "string", "question": {"en": SCRIPT, "de": SCRIPT},
             "categories": [{"value": f"/etc/{SCRIPT}", "label": {"en": SCRIPT, "de": SCRIPT}}, "..\\..\\b"]},
            {"name": "question-2", "type": "boolean", "question": {"en": "Do you smoke?", "de": SCRIPT}},
        ]
    },
}  # fmt: skip


@dataclass
class Published:
    """A campaign with hostile texts that was published."""

    console: Console
    campaign: str
    files: Path
    job: QueuedJob

    @property
    def home(self) -> str:
        return f"/console/campaigns/{self.campaign}"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    directory = tmp_path_factory.mktemp("console")
    with (
        console_here(f"sqlite:///{directory}/lopub.db", directory) as console,
        worker_here(console, directory),
    ):
        campaign = opened(console, HOSTILE).rpartition("/")[2]
        store = store_at(console.address)
        entry = find_campaign(store, campaign)
        codes = np.array([[i % 2, i % 3 % 2] for i in range(400)], dtype=np.int32)
        batch = simulate(
            Dataset(entry.campaign.domain, codes), entry.campaign, seed=1, slot=store.today()
        )
        store.write([Submission(entry.number, _rows(batch, entry.number))])
        close_campaign(store, campaign)
        job = ask(store, "publish", campaign)
        yield Published(console, campaign, directory / "files", ended(console, job.number))
        store.close()


def ended(console: Console, number: int) -> QueuedJob:
    store, over = store_at(console.address), time.monotonic() + SECONDS
    try:
        while (found := find_job(store, number)).is_under_way:
            assert time.monotonic() < over
            time.sleep(0.1)
        assert found.state is State.DONE, found.problem
        return found
    finally:
        store.close()


def test_a_script_in_any_text_of_a_campaign_stays_a_text_in_its_publication(published: Published):
    pages = [
        f"{published.home}/read",
        f"/console/jobs/{published.job.number}",
        f"/console/jobs/{published.job.number}/page",
    ]
    for path in pages:
        for language in LANGUAGES:
            page = published.console.get(path, Accept_Language=language)
            assert SCRIPT not in page and "alert(1)" not in html_without_texts(page), path


def html_without_texts(page: str) -> str:
    """What is left of a page without its texts and the values of its attributes: tags alone."""
    return " ".join(re.sub(r'"[^"]*"', "", tag) for tag in re.findall(r"<[^>]*>", page))


def test_the_zip_that_is_fetched_stays_in_its_folder_whatever_the_names_are(published: Published):
    answer = published.console.ask(
        "GET", f"/console/jobs/{published.job.number}/files/publication.zip"
    )
    assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
    assert 'filename="publication.zip"' in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        names = [entry.orig_filename for entry in archive.infolist()]
    assert "publication/report.html" in names
    for name in names:
        assert (
            name.startswith("publication/")
            and not {"..", ""} & set(name.split("/"))
            and "\\" not in name
        ), name


def test_a_question_that_nobody_named_has_its_words_for_a_name_in_the_report(published: Published):
    page = html.unescape(published.console.get(f"{published.home}/read"))
    assert "<code>do_you_smoke</code>" in page and "question-2" not in page
    header = (
        (place_of(published.files, published.job) / "publication/data/synthetic.csv")
        .read_text()
        .splitlines()[0]
    )
    assert "do_you_smoke" in header and "question-2" not in header


def test_the_page_says_who_can_see_a_publication_and_how_others_can(published: Published):
    page = published.console.get(f"{published.home}/read")
    assert (
        "So far only those who sign in here can see it." in page
        and "readers begin with report.html" in page
    )


def test_an_answer_stands_beside_what_the_report_says_of_the_same(published: Published):
    """Forbids to show one of the two alone: they are estimates of one share, and may differ."""
    page = html.unescape(
        published.console.get(f"{published.home}/ask?question=do_you_smoke+%3D%3D+true")
    )
    directory = place_of(published.files, published.job) / "publication"
    publication = Publication.load(directory)
    reported = share_in_report(publication, "do_you_smoke == true")
    assert reported is not None
    shown = dict(
        re.findall(r"<dt>(?:<code>)?([^<]*)(?:</code>)?</dt><dd><data[^>]*>([\d.]+)", page)
    )
    assert abs(float(shown["The same share in the report"]) - 100 * reported) < 0.06
    (found,) = (value for key, value in shown.items() if "do_you_smoke" in key)
    answered = open_study(directory).probability("do_you_smoke == true").estimate
    assert answered is not None and abs(float(found) - 100 * answered) < 0.06
    assert ("Two estimates of the same share" in page) == (
        found != shown["The same share in the report"]
    )


def test_the_share_in_the_report_is_that_of_its_table(published: Published):
    publication = Publication.load(place_of(published.files, published.job) / "publication")
    for one in askables(publication.campaign.domain):
        (marginal,) = (each for each in publication.marginals if written(each.names[0]) == one.name)
        found = [share_in_report(publication, f"{one.name} == {value}") for value in one.values]
        assert found == pytest.approx(list(marginal.probabilities))
        assert share_in_report(
            publication, f"{one.name} == {one.values[0]} and do_you_smoke == true"
        ) is None or (one.name == "do_you_smoke")


def test_files_of_a_job_go_where_somebody_says_that_it_is_meant(published: Published):
    console, store = published.console, store_at(published.console.address)
    job = ended(console, ask(store, "publish", published.campaign, {"seed": 7}).number)
    place, page = place_of(published.files, job), f"/console/jobs/{job.number}"
    told = console.post(f"{page}/remove")
    assert (
        told.status == 400
        and b"tick that they are to be deleted for good" in told.body
        and place.is_dir()
    )
    console.sign_in(console.reader)
    assert console.post(f"{page}/remove", {"sure": "1"}).status == 403 and place.is_dir()
    console.sign_in()
    assert f'src="{page}/page"' in console.get(f"{published.home}/read")
    assert console.post(f"{page}/remove", {"sure": "1"}).status == 303
    assert not place.parent.exists()
    missing = f"the files of job {job.number} are not in {published.files}: they were deleted, or"
    shown = console.get(page)
    assert missing in shown and "share LOPUB_FILES" in shown and "publication.zip" not in shown
    for gone in (f"{page}/page", f"{page}/files/publication.zip"):
        answer = console.ask("GET", gone)
        assert answer.status == 404 and missing in answer.body.decode()
    assert f'src="/console/jobs/{published.job.number}/page"' in console.get(
        f"{published.home}/read"
    )  # the one before
    assert "files deleted" in console.get("/console/log")
    assert console.post(f"{page}/remove", {"sure": "1"}).status == 404
    store.close()


def test_a_certificate_cannot_be_taken_away(published: Published):
    console, store = published.console, store_at(published.console.address)
    (other,) = (one for one in [opened(console, HOSTILE | {"name": "short"})])
    close_campaign(store, other.rpartition("/")[2])
    job = ended(console, ask(store, "delete", other.rpartition("/")[2]).number)
    assert console.post(f"/console/jobs/{job.number}/remove", {"sure": "1"}).status == 400
    assert place_of(published.files, job).is_dir()
    store.close()


def test_a_plan_whose_files_are_gone_is_made_again(published: Published):
    console, store = published.console, store_at(published.console.address)
    draft = begun(console, HOSTILE | {"name": "planned"})
    console.post(f"{draft}/plan", {"people": "500", "epsilon": "4", "do": "try"})
    (job,) = jobs_of(store, draft.rpartition("/")[2], kind="plan")
    ended(console, job.number)
    assert console.post(f"/console/jobs/{job.number}/remove", {"sure": "1"}).status == 303
    assert console.post(f"{draft}/open").status == 303
    names = [
        entry.campaign.domain.names
        for entry in all_campaigns(store)
        if entry.campaign.terms.name == "planned"
    ]
    assert names == [(f"../../{SCRIPT}", "do_you_smoke")]
    store.close()


def test_many_questions_have_a_list_to_jump_from(published: Published):
    console = published.console
    fields = [
        {"name": f"question-{i}", "type": "boolean", "question": f"Number {i}?"}
        for i in range(1, 61)
    ]
    fields[41]["type"] = "integer"  # without an end, which is a mistake
    page = console.get(begun(console, {"name": "many", "schema": {"fields": fields}}))
    jump = re.search(r'<ol class="jump">(.*?)</ol>', page, re.DOTALL)
    assert jump
    assert re.findall(r'<a href="#q(\d+)">Number (\d+)\?</a>', jump[1]) == [
        (str(i), str(i + 1)) for i in range(60)
    ]
    assert '<a href="#q41">Question 42</a>' in page
    few = console.get(begun(console, {"name": "few", "schema": {"fields": fields[:5]}}))
    assert '<ol class="jump">' not in few
