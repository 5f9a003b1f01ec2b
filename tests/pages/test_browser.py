"""The pages in a real browser: nothing clipped, no request, no message in the console, no finding of axe.

The gate opens each kind of page once, on a phone, and lays it out on paper. LOPUB_FULL=1 takes pages of 3 to 200 attributes, on a
desk, a tablet, a phone and paper, light and dark.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import cached_property
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
GATE = ("strange", "arabic", "scores", "plan", "rounds", "texts", "publication")
"""One of each kind."""
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


class Pages(Mapping[str, Path]):
    """The pages that people get, each made when it is first asked for: publications of 3, 15, 60 and 200 attributes, one of them
    with hostile texts and one in Arabic, an evaluation, a plan, all rounds of a campaign."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __iter__(self) -> Iterator[str]:
        return iter(PAGES)

    def __len__(self) -> int:
        return len(PAGES)

    def __getitem__(self, name: str) -> Path:
        page = self._folder / name / "report.html"
        if not page.exists():
            makers: dict[str, Callable[[Path], object]] = {
                "publication": lambda to: self.publication.save(to),
                "scores": self._scores,
                "strange": lambda to: publish(strange_reports()).save(to),
                "fifteen": lambda to: publish(fifteen_reports(), rows=300).save(to),
                "arabic": lambda to: publish(arabic_reports(), rows=300, language="ar").save(to),
                "sixty": lambda to: publish_wide(60).save(to),
                "wide": lambda to: publish_wide(200).save(to),
                "texts": lambda to: write_page(to, report_html(with_long_texts(self.publication))),
                "rounds": lambda to: publish_rounds(reports_in_rounds()).save(to),
                "plan": self._plan,
            }
            makers[name](page.parent)
        return page

    @cached_property
    def people(self) -> Dataset:
        return ALUMNI.people(4000, seed=1)

    @cached_property
    def publication(self) -> Publication:
        terms, request = Terms(name="alumni"), CampaignRequest(epsilon=6)
        campaign = make_campaign(self.people.domain, terms, request)
        return publish(simulate(self.people, campaign, seed=1))

    def _scores(self, folder: Path) -> None:
        synthetic = self.publication.synthetic
        scores = evaluate(self.people, synthetic, classifiers=False)
        write_scorecard(scores, self.people, synthetic, folder)

    def _plan(self, folder: Path) -> None:
        found = plan(strange_people().domain, people=5000, epsilon=4.0)
        write_page(folder, plan_page(found, advice(found)))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


def write_page(folder: Path, page: bytes) -> None:
    folder.mkdir()
    (folder / "report.html").write_bytes(page)


def strange_reports() -> ReportBatch:
    people = strange_people()
    terms = Terms(name="strange", title="<b>Löhne & 收入</b>")
    return simulate(people, make_campaign(people.domain, terms, CampaignRequest(epsilon=6)), seed=1)


def publish_wide(n: int) -> Publication:
    """Of so many attributes."""
    return publish(
        wide_reports(n), structure="paper", method="em", phi=0.96, pruning=Pruning(), rows=300
    )


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


def noises(browser: Any, page: Path) -> list[str]:
    """What a page that was just opened said in the console, and whom it asked."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]
    assert page.as_uri() in asked  # or nothing is heard at all
    said = [str(entry["message"]) for entry in browser.get_log("browser")]
    return [*said, *(url for url in asked if url != page.as_uri() and url[:5] != "data:")]


def clipped(browser: Any, size: str) -> list[str]:
    """What of an open page cannot be seen; on paper, nobody can scroll."""
    if size != "paper":
        assert browser.execute_script("return innerWidth") == SIZES[size][0]
        if not browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"):
            return ["the page is wider than the screen"]
    return list(browser.execute_script(CLIPPED, size != "paper"))


def findings_of_axe(browser: Any) -> list[tuple[str, str]]:
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations
    script = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    browser.execute_script(script)
    found = browser.execute_async_script(
        "axe.run({resultTypes: ['violations', 'passes']}).then(arguments[0])"
    )
    assert found["passes"]
    return [(issue["id"], issue["nodes"][0]["html"][:200]) for issue in found["violations"]]


def test_each_page_opens_quietly_and_can_be_read_by_everybody_on_a_phone_and_on_paper(
    browser: Any, pages: Pages
):
    wrong: list[tuple[str, object]] = []
    for number, name in enumerate(GATE):
        opened(browser, pages[name], "phone", ("light", "dark")[number % 2])
        wrong += [(name, one) for one in noises(browser, pages[name])]
        wrong += [(name, one) for one in clipped(browser, "phone")]
        if name in SMALL:  # the others hold the same elements, more often, which takes axe long
            wrong += [(name, one) for one in findings_of_axe(browser)]
        opened(browser, pages[name], "", medium="print")
        wrong += [(f"{name} on paper", one) for one in clipped(browser, "paper")]
    assert wrong == []


@pytest.mark.full
@pytest.mark.parametrize("name", PAGES)
def test_nothing_on_a_page_of_any_size_is_clipped(browser: Any, pages: Pages, name: str):
    for size in SIZES:
        opened(browser, pages[name], size)
        assert (size, noises(browser, pages[name]), clipped(browser, size)) == (size, [], [])
    opened(browser, pages[name], "", medium="print")
    assert clipped(browser, "paper") == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("desk", "light"),
        ("phone", "dark"),
        ("desk", "dark"),
        ("tablet", "light"),
        ("phone", "light"),
    ],
)
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_axe_finds_nothing(browser: Any, pages: Pages, name: str, size: str, scheme: str):
    opened(browser, pages[name], size, scheme)
    assert findings_of_axe(browser) == []


def test_arabic_texts_do_not_turn_the_words_around_them(browser: Any, pages: Pages):
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


def test_hostile_texts_stay_texts(browser: Any, pages: Pages):
    opened(browser, pages["strange"], "desk")
    assert browser.execute_script("return document.scripts.length") == 0
    assert "<script>alert(1)</script>" in browser.find_element("tag name", "body").text
    assert browser.find_element("tag name", "h1").text == "Rehearsal: <b>Löhne & 收入</b>"


def test_a_page_is_dark_where_the_reader_is(browser: Any, pages: Pages):
    def paper(scheme: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    opened(browser, pages["publication"], "desk")
    assert paper("light") == "rgb(255, 255, 255)"
    assert paper("dark") == "rgb(20, 23, 28)"


def test_weak_fields_of_a_heat_map_can_be_seen_on_light_and_on_dark(browser: Any, pages: Pages):
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


@pytest.mark.parametrize(
    "name",
    [
        "texts",
        *(pytest.param(one, marks=pytest.mark.full) for one in ("strange", "arabic", *LARGE)),
    ],
)
def test_the_first_printed_page_says_what_came_out(browser: Any, pages: Pages, name: str):
    """Title, findings, use and privacy before the first page break, at 96 dots an inch, within margins of a centimetre."""
    for width, height in ((718, 1045), (739, 979)):  # A4 and Letter
        opened(browser, pages[name], "", medium="print")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        end = browser.execute_script(
            "return document.getElementById('use').parentElement.getBoundingClientRect().bottom"
        )
        assert 300 < end < height
        assert browser.execute_script(
            "return [...document.querySelectorAll('.findings li')].some(one => one.offsetHeight)"
        )


def test_marks_of_intervals_stay_within_their_bars(browser: Any, pages: Pages):
    opened(browser, pages["publication"], "phone")
    outside = browser.execute_script(
        "return [...document.querySelectorAll('.track b, .hist b')].filter(b => {"
        "const m = b.getBoundingClientRect(), t = b.parentElement.getBoundingClientRect();"
        "return m.width && (m.left < t.left - 3 || m.right > t.right + 3 || m.top < t.top - 3 || m.bottom > t.bottom + 3)"
        "}).length"
    )
    assert outside == 0
