"""The pages in a real browser: no request, no console error, no serious accessibility issue, on a desk and on a phone."""

import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lopub import evaluate, make_campaign, publish, simulate
from lopub.collection.batch import ReportBatch
from lopub.collection.catalogue import ALUMNI
from lopub.collection.dataset import Dataset
from lopub.contract.domain import Binned, Boolean, Categorical, Domain
from lopub.contract.terms import Terms
from lopub.contract.view import Sample
from lopub.evaluation.score_page import write_scorecard
from lopub.forecast.request import CampaignRequest
from lopub.model.dependence import Pruning

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="needs Chromium and ChromeDriver"),
    pytest.mark.xdist_group("browser"),
]
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZES = {"desk": (1280, 900), "tablet": (768, 1000), "phone": (390, 800)}
PAGES = ("publication", "strange", "scores", "wide")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages that people get: a publication, one with hostile texts, and an evaluation."""
    folder = tmp_path_factory.mktemp("pages")
    people = ALUMNI.people(4000, seed=1)
    publication = publish(
        simulate(people, make_campaign(people.domain, Terms(name="alumni"), CampaignRequest(epsilon=6)), seed=1)
    )
    publication.save(folder / "publication")
    write_scorecard(evaluate(people, publication.synthetic, classifiers=False), people, publication.synthetic, folder / "scores")
    strange = strange_people()
    campaign = make_campaign(strange.domain, Terms(name="strange", title="<b>Löhne & 收入</b>"), CampaignRequest(epsilon=6))
    publish(simulate(strange, campaign, seed=1)).save(folder / "strange")
    publish(wide_reports(), structure="paper", method="em", phi=0.96, pruning=Pruning(), rows=300).save(folder / "wide")
    return {name: folder / name / "report.html" for name in PAGES}


def wide_reports() -> ReportBatch:
    """Two hundred questions with long names; eight of them are looked at in pairs."""
    rng = np.random.default_rng(2)
    domain = Domain(tuple(Boolean(name=f"a question with a rather long name, number {i}") for i in range(200)))
    first = rng.integers(0, 2, 800)
    codes = np.stack([np.where(rng.random(800) < 0.9, first, rng.integers(0, 2, 800)) for _ in range(200)], axis=1)
    request = CampaignRequest(epsilon=12, mechanism="direct", view=Sample(4), jointly=True)
    return simulate(Dataset(domain, codes), make_campaign(domain, Terms(name="wide"), request), seed=1)


def strange_people() -> Dataset:
    """Names and values that a page could stumble over."""
    domain = Domain(
        (
            Categorical(name="<script>alert(1)</script>", values=("a&b", 'say "no"', "<i>x</i>")),
            Categorical(name="$x$ 收入 عربى", values=("多", "少"), missing=True),
            Binned(name="height", edges=("1.5", "1.6", "1.7", "2")),
        )
    )
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, 3000)
    return Dataset(domain, np.stack([first, first % 2, rng.integers(0, 3, 3000)], axis=1))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    driver.set_script_timeout(180)  # a page of two hundred questions, on a busy machine
    yield driver
    driver.quit()


def opened(browser: Any, path: Path, size: str) -> Any:
    browser.set_window_size(*SIZES[size])
    for log in ("browser", "performance"):
        browser.get_log(log)  # what came before
    browser.get(path.as_uri())
    return browser


@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_quietly(browser: Any, pages: dict[str, Path], name: str, size: str):
    import json

    opened(browser, pages[name], size)
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]


@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize("name", PAGES)
def test_a_page_does_not_scroll_sideways(browser: Any, pages: dict[str, Path], name: str, size: str):
    opened(browser, pages[name], size)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_accessibility_issue(browser: Any, pages: dict[str, Path], name: str):
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations
    script = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()
    opened(browser, pages[name], "desk")
    browser.execute_script(script)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    serious = [issue for issue in found["violations"] if issue["impact"] in ("serious", "critical")]
    assert not serious, [(issue["id"], issue["nodes"][0]["html"][:200]) for issue in serious]
    assert found["passes"]


def test_hostile_texts_stay_texts(browser: Any, pages: dict[str, Path]):
    opened(browser, pages["strange"], "desk")
    assert browser.execute_script("return document.scripts.length") == 0
    assert "<script>alert(1)</script>" in browser.find_element("tag name", "body").text
    assert browser.find_element("tag name", "h1").text.startswith("<b>Löhne & 收入</b>")


def test_a_page_is_dark_where_the_reader_is(browser: Any, pages: dict[str, Path]):
    def paper(scheme: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    opened(browser, pages["publication"], "desk")
    assert paper("light") == "rgb(255, 255, 255)"
    assert paper("dark") == "rgb(20, 23, 28)"


def test_weak_fields_of_a_heat_map_can_be_seen_on_light_and_on_dark(browser: Any, pages: dict[str, Path]):
    """A field stands out from the paper in both, however weak."""
    opened(browser, pages["publication"], "desk")
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        fields = browser.execute_script(
            "return [...document.querySelectorAll('.heat rect')]"
            ".map(field => [getComputedStyle(field).fill, +field.getAttribute('fill-opacity')])"
        )
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert fields
        for fill, opacity in fields:
            ink, ground = (np.array([int(v) for v in re.findall(r"\d+", colour)[:3]]) for colour in (fill, paper))
            assert np.abs(opacity * (ink - ground)).max() > 15


def test_the_first_printed_page_says_what_came_out(browser: Any, pages: dict[str, Path], tmp_path: Path):
    """Title, findings, use and privacy before the first page break."""
    opened(browser, pages["publication"], "desk")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    browser.set_window_size(794, 1123)  # A4 at 96 dots an inch
    height = browser.execute_script("return document.querySelector('.newpage').getBoundingClientRect().top")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert 300 < height < 1123 - 2 * 38  # margins of a centimetre


def test_marks_of_intervals_stay_within_their_bars(browser: Any, pages: dict[str, Path]):
    opened(browser, pages["publication"], "phone")
    outside = browser.execute_script(
        "return [...document.querySelectorAll('.track b, .hist b')].filter(b => {"
        "const m = b.getBoundingClientRect(), t = b.parentElement.getBoundingClientRect();"
        "return m.width && (m.left < t.left - 3 || m.right > t.right + 3 || m.top < t.top - 3 || m.bottom > t.bottom + 3)"
        "}).length"
    )
    assert outside == 0
