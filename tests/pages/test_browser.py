"""The pages in a real browser, of 3 to 200 attributes, on a desk, a tablet, a phone and paper, light and dark: nothing clipped,
no request, no message in the console, no finding of axe. LOPUB_FULL=1 lets axe look at the large pages, too, in every setting."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import questionnaires
from lopub import (
    Publication,
    Repeat,
    Schedule,
    evaluate,
    make_campaign,
    plan,
    publish,
    publish_rounds,
    simulate,
    simulate_rounds,
)
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Binned, Boolean, Categorical, Domain, TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.terms import Terms, Translation
from lopub.campaign.views import Sample
from lopub.evaluation.score_page import write_scorecard
from lopub.planning.advice import advice
from lopub.planning.plan_page import plan_page
from lopub.planning.request import CampaignRequest
from lopub.publication.render.report_page import report_html
from lopub.reports.batch import ReportBatch
from lopub.reports.catalogue import ALUMNI
from lopub.reports.dataset import Dataset
from lopub.reports.origin import Origin
from lopub.synthesis.dependence import Pruning

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs Chromium and ChromeDriver"
    ),
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
PAPER = (718, 1000)
"""A4 within its margins."""
SMALL = ("strange", "arabic", "scores", "plan", "rounds")
LARGE = ("publication", "fifteen", "sixty", "wide")
PAGES = (*SMALL, "texts", *LARGE)
FULL = os.environ.get("LOPUB_FULL") == "1"
CLIPPED = """
const hidden = e => !e.getClientRects().length || e.closest('.unseen');
const seen = [...document.querySelectorAll('body *')].filter(e =>
  [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && !hidden(e));
const out = seen.filter(e => {
  const own = e.getBoundingClientRect(), svg = e.closest('svg'), within = svg && svg.getBoundingClientRect();
  if (svg) return e.tagName === 'text' && (own.left < within.left - 3 || own.right > within.right + 3
    || own.top < within.top - 3 || own.bottom > within.bottom + 3);
  return !(arguments[0] && e.closest('.wide')) && (own.left < -1 || own.right > innerWidth + 1);
});
const scrolled = [...document.querySelectorAll('.question > .wide')].filter(e => !hidden(e) && e.scrollWidth > e.clientWidth + 1);
return [...out, ...scrolled].map(e => e.outerHTML.slice(0, 120));
"""
"""Texts that lie outside of the page or of their picture, and questions of which one must scroll to see all. arguments[0]:
whether other tables and pictures may be scrolled."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages that people get: publications of 3, 15, 60 and 200 attributes, one of them with hostile texts and one in Arabic,
    an evaluation, a plan, all rounds of a campaign."""
    folder = tmp_path_factory.mktemp("pages")
    people = ALUMNI.people(4000, seed=1)
    publication = publish(
        simulate(
            people,
            make_campaign(people.domain, Terms(name="alumni"), CampaignRequest(epsilon=6)),
            seed=1,
        )
    )
    publication.save(folder / "publication")
    write_scorecard(
        evaluate(people, publication.synthetic, classifiers=False),
        people,
        publication.synthetic,
        folder / "scores",
    )
    strange = strange_people()
    campaign = make_campaign(
        strange.domain,
        Terms(name="strange", title="<b>Löhne & 收入</b>"),
        CampaignRequest(epsilon=6),
    )
    publish(simulate(strange, campaign, seed=1)).save(folder / "strange")
    publish(fifteen_reports(), rows=300).save(folder / "fifteen")
    publish(arabic_reports(), rows=300, language="ar").save(folder / "arabic")
    for name, n in (("sixty", 60), ("wide", 200)):
        pruned = publish(
            wide_reports(n), structure="paper", method="em", phi=0.96, pruning=Pruning(), rows=300
        )
        pruned.save(folder / name)
    (folder / "texts").mkdir()
    (folder / "texts" / "report.html").write_bytes(report_html(with_long_texts(publication)))
    publish_rounds(reports_in_rounds()).save(folder / "rounds")
    found = plan(strange.domain, people=5000, epsilon=4.0)
    (folder / "plan").mkdir()
    (folder / "plan" / "report.html").write_bytes(plan_page(found, advice(found)))
    return {name: folder / name / "report.html" for name in PAGES}


def with_long_texts(publication: Publication) -> Publication:
    """The same, of people who were asked at length, and in German, which takes more room."""
    campaign = publication.campaign
    asked = [
        replace(one, title=f"{one.name}, and whatever one may think of it " * 3)
        for one in campaign.domain.attributes
    ]
    terms = replace(campaign.terms, description="Everybody who lives here was invited. " * 12)
    settings = replace(publication.settings, language="de")
    changed = replace(campaign, domain=Domain(tuple(asked)), terms=terms)
    return replace(publication, campaign=changed, settings=settings, origin=Origin(True, 12))


def fifteen_reports() -> ReportBatch:
    """A questionnaire with conditions, a list, an order and numbers."""
    asked = questionnaires.people(3000)
    more = [Boolean(name=f"more{i}", title=f"One more question, number {i}") for i in range(3)]
    domain = domain_of((*questionnaires.DOMAIN.questions, *more))
    codes = np.column_stack(
        [asked.codes, np.random.default_rng(1).integers(0, 2, (3000, 3))]
    ).astype(np.uint16)
    return simulate(
        Dataset(domain, codes),
        make_campaign(domain, Terms(name="survey"), CampaignRequest(epsilon=6)),
        seed=1,
    )


def arabic_reports() -> ReportBatch:
    """English texts with an Arabic translation: in the frame of the page, which is English, they run from right to left."""
    tea = Categorical(
        name="tea", values=("g", "b"), labels={"g": "green", "b": "black"}, question="Which tea?"
    )
    cups = Categorical(
        name="cups",
        values=("few", "some", "many"),
        is_ordered=True,
        only_if=Comparison("tea", "equals", ("b",)),
        question="How many?",
    )
    adds = TickList(name="adds", values=("milk", "sugar"), question="With what?")
    arabic = Translation(
        title="الشاي في الصباح (2026)",
        titles={"tea": "الشاي", "cups": "عدد الأكواب", "adds": "إضافات"},
        questions={"tea": "أي شاي تشرب؟", "cups": "كم كوبا (في اليوم)؟", "adds": "مع ماذا؟"},
        labels={
            "tea": {"g": "أخضر", "b": "أسود"},
            "adds": {"milk": "حليب", "sugar": "سكر"},
            "cups": {"few": "قليل", "many": "كثير"},
        },
    )
    domain = domain_of((tea, cups, adds))
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 3000)
    ticks = (rng.random((3000, 2)) < 0.2 + 0.6 * first[:, None]).astype(int)
    codes = np.column_stack([first, np.where(first, rng.integers(0, 3, 3000), 3), ticks]).astype(
        np.uint16
    )
    terms = Terms(name="tea", title="Tea", translations={"ar": arabic})
    return simulate(
        Dataset(domain, codes), make_campaign(domain, terms, CampaignRequest(epsilon=6)), seed=1
    )


def reports_in_rounds() -> ReportBatch:
    """Three rounds."""
    domain = Domain(
        (
            Boolean(name="smokes", question="Do you smoke?"),
            Categorical(name="sport", values=("never", "often")),
        )
    )
    repeat = Repeat(every_days=30, rounds=3, take_part=3, mode="permanent")
    terms = Terms(
        name="rounds",
        title="Habits",
        min_reports=100,
        schedule=Schedule.in_rounds(date(2026, 1, 1), repeat),
    )
    request = CampaignRequest(epsilon=1.5, mechanism="direct", lifetime_epsilon=3)
    table = Dataset(domain, np.random.default_rng(1).integers(0, 2, (1000, 2)).astype(np.uint16))
    return simulate_rounds([table] * 3, make_campaign(domain, terms, request), seed=1)


def wide_reports(n: int) -> ReportBatch:
    """Many questions with long names; eight of them are looked at in pairs."""
    rng = np.random.default_rng(2)
    domain = Domain(
        tuple(Boolean(name=f"a question with a rather long name, number {i}") for i in range(n))
    )
    first = rng.integers(0, 2, 800)
    codes = np.stack(
        [np.where(rng.random(800) < 0.9, first, rng.integers(0, 2, 800)) for _ in range(n)], axis=1
    )
    request = CampaignRequest(epsilon=12, mechanism="direct", view=Sample(4), jointly=True)
    return simulate(
        Dataset(domain, codes), make_campaign(domain, Terms(name="wide"), request), seed=1
    )


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
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=DRIVER)
    )
    driver.set_script_timeout(900)  # axe on a page of two hundred questions, on a busy machine
    driver.command_executor.client_config.timeout = 900
    yield driver
    driver.quit()


def opened(browser: Any, path: Path, size: str, scheme: str = "light", medium: str = "") -> Any:
    width, height = PAPER if medium else SIZES[size]
    screen = {
        "width": width,
        "height": height,
        "deviceScaleFactor": 1,
        "mobile": False,
    }  # a window would not be as narrow
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})
    for log in ("browser", "performance"):
        browser.get_log(log)  # what came before
    browser.get(path.as_uri())
    return browser


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_quietly(browser: Any, pages: dict[str, Path], name: str):
    opened(browser, pages[name], "desk")
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]


@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize("name", PAGES)
def test_nothing_on_a_page_is_clipped(browser: Any, pages: dict[str, Path], name: str, size: str):
    opened(browser, pages[name], size)
    assert browser.execute_script("return innerWidth") == SIZES[size][0]
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.execute_script(CLIPPED, True) == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_on_paper_is_clipped(browser: Any, pages: dict[str, Path], name: str):
    """Nobody can scroll there."""
    opened(browser, pages[name], "", medium="print")
    assert browser.execute_script(CLIPPED, False) == []


SETTINGS = [
    ("desk", "light"),
    ("phone", "dark"),
    *([("desk", "dark"), ("tablet", "light"), ("phone", "light")] if FULL else []),
]


@pytest.mark.parametrize(("size", "scheme"), SETTINGS)
@pytest.mark.parametrize("name", [*SMALL, *(LARGE if FULL else ())])
def test_axe_finds_nothing(browser: Any, pages: dict[str, Path], name: str, size: str, scheme: str):
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations
    script = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()
    opened(browser, pages[name], size, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    browser.execute_script(script)
    found = browser.execute_async_script(
        "axe.run({resultTypes: ['violations', 'passes']}).then(arguments[0])"
    )
    assert not found["violations"], [
        (issue["id"], issue["nodes"][0]["html"][:200]) for issue in found["violations"]
    ]
    assert found["passes"]


def test_arabic_texts_do_not_turn_the_words_around_them(browser: Any, pages: dict[str, Path]):
    """In "Asked only if “tea” is “black”", what comes first in the text stands left of what comes later, though it is Arabic."""
    opened(browser, pages["arabic"], "desk")
    places = browser.execute_script("""
        const p = [...document.querySelectorAll('.question p')].find(p => p.textContent.includes('Asked only if'));
        const node = p.firstChild, left = text => {
          const range = document.createRange(), at = node.textContent.indexOf(text);
          range.setStart(node, at); range.setEnd(node, at + text.length);
          return range.getBoundingClientRect().left;
        };
        return ['Asked', 'الشاي', ' is ', 'أسود'].map(left)""")
    assert places == sorted(places) and len(set(places)) == 4
    quoted = browser.execute_script("""
        return [...document.querySelectorAll('.findings li')].filter(one => one.textContent.startsWith('People who answered'))
          .map(one => ['strong', 'bdi'].map(name => one.querySelector(name).getClientRects()[0].left))""")
    assert quoted and all(answer < question for answer, question in quoted)


def test_hostile_texts_stay_texts(browser: Any, pages: dict[str, Path]):
    opened(browser, pages["strange"], "desk")
    assert browser.execute_script("return document.scripts.length") == 0
    assert "<script>alert(1)</script>" in browser.find_element("tag name", "body").text
    assert browser.find_element("tag name", "h1").text == "Rehearsal: <b>Löhne & 收入</b>"


def test_a_page_is_dark_where_the_reader_is(browser: Any, pages: dict[str, Path]):
    def paper(scheme: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    opened(browser, pages["publication"], "desk")
    assert paper("light") == "rgb(255, 255, 255)"
    assert paper("dark") == "rgb(20, 23, 28)"


def test_weak_fields_of_a_heat_map_can_be_seen_on_light_and_on_dark(
    browser: Any, pages: dict[str, Path]
):
    """A field stands out from the paper in both, however weak."""
    opened(browser, pages["publication"], "desk")
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        fields = browser.execute_script(
            "return [...document.querySelectorAll('.heat rect')]"
            ".map(field => [getComputedStyle(field).fill, +field.getAttribute('fill-opacity')])"
        )
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert fields
        for fill, opacity in fields:
            ink, ground = (
                np.array([int(v) for v in re.findall(r"\d+", colour)[:3]])
                for colour in (fill, paper)
            )
            assert np.abs(opacity * (ink - ground)).max() > 15


@pytest.mark.parametrize("paper", [(718, 1045), (739, 979)], ids=["A4", "Letter"])
@pytest.mark.parametrize("name", ["strange", "arabic", "texts", *LARGE])
def test_the_first_printed_page_says_what_came_out(
    browser: Any, pages: dict[str, Path], name: str, paper: tuple[int, int]
):
    """Title, findings, use and privacy before the first page break, at 96 dots an inch, within margins of a centimetre."""
    opened(browser, pages[name], "", medium="print")
    width, height = paper
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    end = browser.execute_script(
        "return document.getElementById('use').parentElement.getBoundingClientRect().bottom"
    )
    assert 300 < end < height
    assert browser.execute_script(
        "return [...document.querySelectorAll('.findings li')].some(one => one.offsetHeight)"
    )


def test_marks_of_intervals_stay_within_their_bars(browser: Any, pages: dict[str, Path]):
    opened(browser, pages["publication"], "phone")
    outside = browser.execute_script(
        "return [...document.querySelectorAll('.track b, .hist b')].filter(b => {"
        "const m = b.getBoundingClientRect(), t = b.parentElement.getBoundingClientRect();"
        "return m.width && (m.left < t.left - 3 || m.right > t.right + 3 || m.top < t.top - 3 || m.bottom > t.bottom + 3)"
        "}).length"
    )
    assert outside == 0
