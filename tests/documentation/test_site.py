"""The documentation site: it builds without a warning, is light, asks no other host for anything, and can be read on a phone."""

import fcntl
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from test_browser import CHROMIUM, DRIVER, SIZES, browser

import lopub

__all__ = ["browser"]  # the fixture
ROOT = Path(__file__).parents[2]
LARGEST = 300_000
"""Bytes of a page's HTML."""
KINDS = (
    "index",
    "tutorials/noisy-report",  # equations, code with what it prints, pictures
    "explanation/epsilon",  # tables, equations, pictures
    "http",  # long blocks of code
    "cli",  # lists of options
    "glossary",  # definitions
    "reference/python-device",  # signatures
    "explanation/mechanisms",  # equations in a wide table
    "search",
)
ABOUT_ANOTHER_LANGUAGE = {"browser.md"}
PYTHON_PAGES = [
    page for page in (ROOT / "docs").rglob("*.md") if page.name not in ABOUT_ANOTHER_LANGUAGE
]
ALWAYS_OF_THEIR_CLASS = {"campaign", "client", "publication", "report", "study"}
"""Variables that pages use for one thing only."""
FOUND = "#search-results li a[href*='taking-part']"
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs Chromium and ChromeDriver"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes that the tests run in."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "html" / "index.html").exists():
            _build(folder)
    return folder / "html"


def _build(folder: Path) -> None:
    build = [
        *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"),
        "-d",
        folder / "doctrees",
        "-b",
        "html",
    ]
    done = subprocess.run([*build, ROOT / "docs", folder / "html"], capture_output=True, text=True)
    if done.returncode or done.stderr:
        shutil.rmtree(folder / "html", ignore_errors=True)
        raise AssertionError(done.stderr)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def read(browser: Any, address: str, *, size: str = "desk", scheme: str = "light") -> None:
    width, height = SIZES[size]
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    for log in ("browser", "performance"):
        browser.get_log(log)  # what came before
    browser.get(address)


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_no_page_is_heavy(site: Path):
    assert len(pages(site)) > 30
    assert {
        page.name: page.stat().st_size for page in pages(site) if page.stat().st_size > LARGEST
    } == {}


def test_no_page_loads_anything_from_elsewhere(site: Path):
    """A link may lead elsewhere; a script, a style, a font or a picture may not come from there."""
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["'](?:https?:)?//[^"']*""",
            text,
        )
        assert loaded == [], page
    for style in site.rglob("*.css"):
        assert (
            re.findall(
                r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")
            )
            == []
        ), style


def test_equations_are_there_without_a_script(site: Path):
    text = "".join(page.read_text(encoding="utf-8") for page in pages(site))
    assert re.search(r"<script[^>]*mathjax", text, re.IGNORECASE) is None and "<merror" not in text
    assert text.count("<math ") > 10


def test_every_public_name_is_described_once(site: Path):
    text = "".join(
        page.read_text(encoding="utf-8") for page in (site / "reference").glob("python-*.html")
    )
    described = re.findall(r'<dt class="sig sig-object py" id="(\w+)"', text)
    assert sorted(described) == sorted(set(lopub.__all__) - {"__version__"})


def test_the_reference_shows_what_pages_use_of_a_class_and_nothing_internal(site: Path):
    text = "".join(
        page.read_text(encoding="utf-8") for page in (site / "reference").glob("python-*.html")
    )
    described = set(re.findall(r'<dt class="sig sig-object py" id="(\w+\.\w+)"', text))
    used = {name for page in PYTHON_PAGES for name in members_used(page)}
    assert used - described == set() and len(used) > 20
    assert {"Study.estimate", "Estimator.__call__"} <= described
    assert not described & {
        "Study.gain_bounds",
        "Study.single_counts",
        "ReportBatch.folds",
        "Sample.n_tried",
    }


def members_used(page: Path) -> set[str]:
    """Methods and properties of public classes that a page names, as in `Study.estimate` or `study.mean`; a field is in its
    class's signature."""
    named = re.findall(r"(?<![\w./-])(\w+)\.([a-z]\w+)\b", page.read_text(encoding="utf-8"))
    kinds = (property, classmethod, staticmethod, FunctionType)
    classes = [
        (name.capitalize() if name in ALWAYS_OF_THEIR_CLASS else name, member)
        for name, member in named
    ]
    return {
        f"{name}.{member}"
        for name, member in classes
        if name in lopub.__all__
        and isinstance(inspect.getattr_static(getattr(lopub, name), member, None), kinds)
    }


def test_the_navigation_is_in_five_parts(site: Path):
    text = (site / "index.html").read_text(encoding="utf-8")
    captions = re.findall(r'<p class="caption"[^>]*><span class="caption-text">([^<]+)', text)
    assert captions == ["Start", "Tutorials", "How-to", "Explanation", "Reference"]


def test_an_option_is_not_set_with_a_dash(site: Path):
    """Typographic dashes for two hyphens would spoil every command that a reader copies."""
    for page in pages(site):
        assert re.findall(r"(?<!\w)–[a-z]{3,}", page.read_text(encoding="utf-8")) == [], page


def test_every_page_on_disk_is_in_the_site(site: Path):
    missing = [
        p
        for p in (ROOT / "docs").rglob("*.md")
        if not (site / p.relative_to(ROOT / "docs").with_suffix(".html")).exists()
    ]
    assert missing == []


@needs_browser
@pytest.mark.xdist_group("browser")
def test_a_page_asks_this_host_only_and_says_nothing_in_the_console(browser: Any, address: str):
    for kind in KINDS:
        read(browser, f"{address}/{kind}.html")
        told = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = [
            one["params"]["request"]["url"]
            for one in told
            if one["method"] == "Network.requestWillBeSent"
        ]
        assert asked, kind
        assert [url for url in asked if not url.startswith((address, "data:"))] == [], kind
        said = [one for one in browser.get_log("browser") if "favicon" not in one["message"]]
        assert said == [], kind


@needs_browser
@pytest.mark.xdist_group("browser")
def test_a_page_fits_on_a_phone(browser: Any, address: str):
    assert [kind for kind in KINDS if not fits_on_a_phone(browser, f"{address}/{kind}.html")] == []


def fits_on_a_phone(browser: Any, address: str) -> bool:
    """Whether nothing has to be moved sideways, and the letters are large enough."""
    read(browser, address, size="phone")
    size = browser.execute_script(
        "return parseFloat(getComputedStyle(document.querySelector('article')).fontSize)"
    )
    is_narrow = "return document.documentElement.scrollWidth <= innerWidth"
    return size >= 14 and browser.execute_script(is_narrow)


@needs_browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    ("kind", "size", "scheme"),
    [("index", "desk", "light"), ("tutorials/noisy-report", "phone", "dark")],
)
def test_axe_finds_nothing_on_a_page(browser: Any, address: str, kind: str, size: str, scheme: str):
    check_by_axe(browser, f"{address}/{kind}.html", size=size, scheme=scheme)


def check_by_axe(browser: Any, address: str, *, size: str, scheme: str) -> None:
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations
    script = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()
    read(browser, address, size=size, scheme=scheme)
    browser.execute_script(script)
    found = browser.execute_async_script(
        "axe.run({resultTypes: ['violations', 'passes']}).then(arguments[0])"
    )
    assert not found["violations"], [
        (address, size, scheme, issue["id"], len(issue["nodes"]), issue["nodes"][0]["html"][:200])
        for issue in found["violations"]
    ]
    assert found["passes"]


@needs_browser
@pytest.mark.xdist_group("browser")
def test_the_search_finds_a_page_without_a_network(browser: Any, address: str):
    from selenium.webdriver.support.ui import WebDriverWait

    read(browser, f"{address}/search.html?q=withdraw")
    WebDriverWait(browser, 60).until(lambda page: page.find_elements("css selector", FOUND))


@needs_browser
@pytest.mark.xdist_group("browser")
def test_the_search_works_from_a_folder_without_a_server(browser: Any, site: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    read(browser, f"file://{site}/search.html?q=withdraw")
    WebDriverWait(browser, 60).until(lambda page: page.find_elements("css selector", FOUND))


@pytest.mark.full
@needs_browser
@pytest.mark.xdist_group("browser")
def test_every_page_fits_on_a_phone_and_axe_finds_nothing(browser: Any, site: Path, address: str):
    for page in pages(site):
        place = f"{address}/{page.relative_to(site).as_posix()}"
        assert fits_on_a_phone(browser, place), place
        for size, scheme in (
            ("desk", "light"),
            ("desk", "dark"),
            ("phone", "light"),
            ("phone", "dark"),
        ):
            check_by_axe(browser, place, size=size, scheme=scheme)
