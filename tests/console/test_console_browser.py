"""The whole way of a campaign in a real browser, by keyboard alone: from an empty database to a published report.

The gate walks it once; LOPUB_FULL=1 on both stores, on a desk and on a phone, with every screen in light and in dark.
"""

import html
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from consoles import Console, begun, running_console, send
from lopub import Client, MemoryStore
from lopub.campaign.report import FRAMED_TYPE
from lopub.collector.campaigns import all_campaigns
from lopub.collector.database import store_at
from lopub.console.drafts import KINDS
from tiers import FULL

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
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")
MOST_TABS = 200
SECONDS = 600
PICTURES = os.environ.get("LOPUB_PICTURES")
"""A directory for pictures of every screen, to be looked at."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """For tests that write a draft each, and look at no other."""
    directory = tmp_path_factory.mktemp("console")
    with running_console(f"sqlite:///{directory}/lopub.db", directory) as found:
        yield found


class Walk:
    """Somebody with a keyboard, who checks every screen that is reached."""

    def __init__(self, browser: Any, console: Console, size: str) -> None:
        self.browser, self.console, self.size = browser, console, size
        self.n_screens = 0
        browser.delete_all_cookies()
        browser.set_window_size(*SIZES[size])
        for log in ("browser", "performance"):
            browser.get_log(log)
        spec = find_spec("axe_core_python")
        assert spec is not None and spec.submodule_search_locations
        self._axe = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def to(self, selector: str) -> None:
        """Tab until the focus is where a selector says."""
        from selenium.webdriver.common.keys import Keys

        for _ in range(MOST_TABS):
            if self.browser.execute_script(
                "return document.activeElement.matches(arguments[0])", selector
            ):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"the keyboard does not reach {selector}")

    def write(self, selector: str, text: str) -> None:
        """Replace what stands in a control."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        self.to(selector)
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(
            Keys.CONTROL
        ).perform()
        self.press(Keys.DELETE, text)

    def choose(self, selector: str, heading: str) -> None:
        """Press Enter on a button or a link, and see the screen with this heading."""
        from selenium.webdriver.common.keys import Keys

        self.to(selector)
        self.until("return !document.querySelector('.htmx-request')")
        self.browser.execute_script("window.before = true")
        self.press(Keys.ENTER)
        self.until("return !window.before && document.readyState === 'complete'")
        self.check(heading)

    def until(self, script: str) -> None:
        self.wait(lambda: bool(self.browser.execute_script(script)))

    def wait(self, holds: Callable[[], bool]) -> None:
        over = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < over, self.text
            time.sleep(0.05)

    @property
    def text(self) -> str:
        return str(self.browser.find_element("tag name", "body").text)

    def check(self, heading: str) -> None:
        """What must hold of every screen: the heading, no finding of axe, no sideways scrolling.

        In the gate, light and dark take turns.
        """
        assert heading in self.browser.find_element("tag name", "h1").text, self.text
        self.n_screens += 1
        for scheme in SCHEMES if FULL else (SCHEMES[self.n_screens % 2],):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            if PICTURES:
                self.browser.save_screenshot(
                    f"{PICTURES}/{self.size}-{self.n_screens:02}-{scheme}.png"
                )
            self.browser.execute_script(self._axe)
            found = self.browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
            assert not found, [(one["id"], one["nodes"][0]["html"][:300]) for one in found]
        assert self.browser.execute_script(
            "return document.documentElement.scrollWidth <= window.innerWidth"
        )

    def was_quiet(self) -> None:
        """Nothing in the console of the browser, and no request to anybody else."""
        said = [entry["message"] for entry in self.browser.get_log("browser")]
        assert not said, "\n".join(said)
        messages = [
            json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")
        ]
        asked = {
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        }
        assert {
            url for url in asked if not url.startswith(("data:", f"{self.console.home}/console"))
        } == set()


@contextmanager
def other_site() -> Iterator[tuple[str, list[str]]]:
    """The address of another web site, and what its only page holds."""
    content = [""]

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content[0].encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", content
    server.shutdown()
    server.server_close()


def answer_it(console: Console, n: int) -> None:
    """So many people answer the only open campaign."""
    store = store_at(console.address)
    (campaign,) = (entry.campaign for entry in all_campaigns(store) if entry.closed is None)
    store.close()
    framed = b"".join(
        len(data).to_bytes(2) + data
        for i in range(n)
        for data in [
            Client(campaign, store=MemoryStore())
            .encode({"tea": "green" if i % 3 else "black"})
            .to_bytes()
        ]
    )
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.request(
        "POST", f"/campaigns/{campaign.id}/reports", framed, {"Content-Type": FRAMED_TYPE}
    )
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


@pytest.mark.parametrize(
    ("database", "size"),
    [
        ("sqlite", "desk"),
        pytest.param("sqlite", "phone", marks=pytest.mark.full),
        pytest.param("postgresql", "desk", marks=pytest.mark.full),
        pytest.param("postgresql", "phone", marks=pytest.mark.full),
    ],
    indirect=["database"],
)
def test_the_whole_way_by_keyboard(browser: Any, database: str, tmp_path: Path, size: str):
    from selenium.webdriver.common.keys import Keys

    with running_console(database, tmp_path) as console:
        walk = Walk(browser, console, size)
        browser.get(f"{console.home}/console")
        walk.check("Sign in")
        walk.until("return document.activeElement.id === 'token'")
        walk.press(console.token)
        walk.choose("button.main", "Campaigns")
        assert "There is no campaign yet." in walk.text
        walk.choose("button[value=blank]", "draft")
        walk.write("#name", "tea")
        walk.write("#title-en", "Tea or <b>tea</b>?")
        walk.write("#consent-en", "Noise only.")
        walk.write("#min_reports", "50")
        walk.write("#q0-question-en", "Which tea?")
        walk.write("#q0-name", "tea")
        walk.write("#q0-categories", "green | Green\nblack | Black")
        walk.write("#q0-other-en", "")
        walk.press(Keys.TAB)
        walk.wait(
            lambda: (
                "&#34;other&#34;"
                not in console.get(f"/console/drafts/{browser.current_url.rpartition('/')[2]}")
            )
        )
        browser.refresh()
        assert browser.find_element("id", "title-en").get_attribute("value") == "Tea or <b>tea</b>?"
        walk.choose("button[value='add:boolean']", "Tea or <b>tea</b>?")
        walk.choose("button[value='remove:1']", "Tea or <b>tea</b>?")
        walk.choose("button[value=plan]", "Tea or <b>tea</b>?")
        walk.write("#people", "200")
        walk.until("return document.querySelector('#forecast').innerText.includes('200,')")
        walk.until("return !document.querySelector('#advice[data-awaited]')")
        walk.check("Tea or <b>tea</b>?")
        walk.choose("button.main[value=preview]", "preview")
        browser.switch_to.frame(0)
        walk.until("return document.querySelectorAll('form input').length > 1")
        assert "Preview: nothing is kept, and nothing is sent." in walk.text
        browser.switch_to.default_content()
        walk.choose("form[action$='/open'] button", "Tea or <b>tea</b>?")
        assert "Not enough yet." in walk.text
        answer_it(console, 120)
        browser.refresh()
        assert "120" in walk.text
        assert len(browser.find_elements("css selector", "svg.bars rect")) == 1
        walk.choose("a[href$='/poster']", "Tea or <b>tea</b>?")
        walk.choose(".screen a", "Tea or <b>tea</b>?")
        digits = browser.current_url.rpartition("/")[2][:8]
        walk.write("#typed", digits)
        walk.choose("form[action$='/close'] button", "closed")
        walk.choose("a.main[href$='/publish']", "Tea or <b>tea</b>?")
        walk.choose("button.main", "publication")
        walk.until("return document.querySelector('.state').classList.contains('done')")
        walk.choose("a.main[href$='/read']", "Tea or <b>tea</b>?")
        walk.write("#question", "tea == 'green'")
        walk.choose("form[action$='/ask'] button", "Tea or <b>tea</b>?")
        assert "Reports that speak of this\n120" in walk.text
        walk.choose("a[href$='/delete']", "Tea or <b>tea</b>?")
        walk.write("#typed", digits)
        walk.choose("form[action$='/delete'] button", "deletion")
        walk.until("return document.querySelector('.state').classList.contains('done')")
        walk.choose("a.main[href$='/delete']", "Tea or <b>tea</b>?")
        assert "What may remain" in walk.text
        walk.choose("a[href='/console/log']", "Log and jobs")
        walk.choose("form[action$='/sign-out'] button", "Sign in")
        browser.back()  # no page of the session was kept
        walk.until("return document.readyState === 'complete'")
        walk.check("Sign in")
        walk.was_quiet()


SLOW_SAVING = """
const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function (...body) { setTimeout(() => send.apply(this, body), 700); };
const note = (what) => sessionStorage.setItem("order", `${sessionStorage.getItem("order") ?? ""} ${what}`);
addEventListener("htmx:beforeSend", () => note("saving"));
addEventListener("htmx:afterRequest", ({ detail }) => detail.xhr.status && note("saved"));
addEventListener("pagehide", () => note("left"));
"""


@pytest.mark.full
def test_a_button_that_is_pressed_while_a_draft_is_being_saved_waits_for_it(
    browser: Any, tmp_path: Path
):
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        walk = Walk(browser, console, "desk")
        browser.get(f"{console.home}/console/sign-in")
        walk.until("return document.activeElement.id === 'token'")
        walk.press(console.token)
        walk.choose("button.main", "Campaigns")
        walk.choose("button[value=blank]", "draft")
        browser.execute_script(f"window.before = true; {SLOW_SAVING}")
        walk.write("#title-en", "Typed and pressed at once")
        browser.find_element("css selector", "button[value='add:boolean']").click()
        walk.until("return !window.before && document.readyState === 'complete'")
        walk.check("Typed and pressed at once")
        assert browser.find_element("id", "q1-name").get_attribute("placeholder") == "question-2"
        order = browser.execute_script("return sessionStorage.getItem('order')").split()
        assert (
            order[0] == "saving"
            and order.count("saving") == order.count("saved")
            and order[-2:] == ["saved", "left"]
        )
        walk.was_quiet()


@pytest.mark.full
@pytest.mark.parametrize("size", sorted(SIZES))
def test_questions_of_every_kind_are_written_by_keyboard(browser: Any, tmp_path: Path, size: str):
    from selenium.webdriver.common.keys import Keys

    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        walk = Walk(browser, console, size)
        browser.get(f"{console.home}/console")
        walk.until("return document.activeElement.id === 'token'")
        walk.press(console.token)
        walk.choose("button.main", "Campaigns")
        walk.choose("button[value=blank]", "draft")
        walk.write("#name", "kinds")
        walk.write("#title-en", "Every kind")
        walk.write("#consent-en", "Noise only.")
        for kind in KINDS:
            walk.choose(f"button[value='add:{kind}']", "Every kind")
        for place, kind in enumerate(("first", *KINDS)):
            walk.write(f"#q{place}-question-en", f"What about {kind}?")
        walk.choose("button[value='up:2']", "Every kind")
        walk.choose("button[value='down:1']", "Every kind")
        last = len(KINDS)
        walk.to(f"#q{last} summary")
        walk.press(Keys.ENTER)
        walk.to(f"#q{last}-rule-place")
        walk.press(Keys.DOWN)
        walk.write(f"#q{last}-rule-value", "yes")
        walk.write("#new_language", "de")
        walk.choose("button[value=language]", "Every kind")
        walk.write("#title-de", "Jede Art")
        walk.choose("button[value=save]:not(.unseen)", "Every kind")
        assert not browser.find_elements("css selector", ".mistake"), walk.text
        rule = browser.find_element("id", f"q{last}-rule-place").get_attribute("value")
        assert rule == "0"
        walk.choose("button[value=plan]", "Every kind")
        walk.until("return !document.querySelector('#advice[data-awaited]')")
        walk.choose("button.main[value=preview]", "preview")
        browser.switch_to.frame(0)
        walk.until(
            "return document.querySelectorAll('form fieldset, form select, form input').length > 8"
        )
        assert all(f"What about {kind}?" in walk.text for kind in ("first", *KINDS[:-1]))
        assert f"What about {KINDS[-1]}?" not in walk.text  # until the first is answered with yes
        browser.switch_to.default_content()
        walk.was_quiet()


@pytest.mark.full
def test_the_questions_can_be_framed_on_a_site_that_is_named_and_on_no_other(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with other_site() as named, other_site() as unnamed:
        monkeypatch.setenv("LOPUB_EMBED", named[0])
        with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
            page = console.get(send(console, "framed", 1, min_reports=1))
            snippet = re.search(r'<textarea id="embed"[^>]*>(.*?)</textarea>', page, re.DOTALL)
            assert snippet
            shown = {}
            for address, content in (named, unnamed):
                content[0] = html.unescape(snippet[1])
                browser.get(address)
                browser.switch_to.frame(0)
                shown[address] = browser.find_elements("css selector", "body[data-collector]")
                browser.switch_to.default_content()
            assert shown[named[0]] and not shown[unnamed[0]]


# ---- what somebody types is not lost


def writing(browser: Any, console: Console) -> tuple[Walk, str]:
    """Somebody who writes a draft, in a session of their own: the walk, and where the draft is."""
    walk = Walk(browser, console, "desk")
    draft = begun(console)
    browser.get(f"{console.home}{draft}")
    walk.until("return document.activeElement.id === 'token'")
    walk.press(console.token)
    walk.choose("button.main", "draft")
    assert browser.current_url == f"{console.home}{draft}"
    return walk, draft


def sign_out_elsewhere(walk: Walk) -> None:
    """The session ends in another tab; this one does not notice."""
    script = """
    const done = arguments[0];
    fetch("/console/sign-out", { method: "POST", body: new URLSearchParams() }).then(() => done());
    """
    walk.browser.execute_async_script(script)


def value(walk: Walk, name: str) -> str:
    return str(walk.browser.find_element("id", name).get_attribute("value"))


def saved(walk: Walk, console: Console, draft: str, text: str) -> None:
    walk.wait(lambda: text in console.get(draft))


def test_what_is_typed_while_the_session_ended_elsewhere_is_there_after_signing_in_again(
    browser: Any, console: Console
):
    walk, draft = writing(browser, console)
    walk.write("#title-en", "Saved before")
    saved(walk, console, draft, "Saved before")
    sign_out_elsewhere(walk)
    walk.write("#title-en", "Typed afterwards")  # is sent, and leads to where one signs in
    walk.until(
        "return location.pathname === '/console/sign-in' && document.readyState === 'complete'"
    )
    walk.until("return document.activeElement.id === 'token'")
    walk.press(console.token)
    walk.choose("button.main", "draft")
    assert browser.current_url == f"{console.home}{draft}"
    assert value(walk, "title-en") == "Typed afterwards"
    assert "What you had typed before you had to sign in again is back in the form." in walk.text
    saved(walk, console, draft, "Typed afterwards")  # by itself
    walk.until("return !document.querySelector('.htmx-request')")  # and the page knows it
    browser.refresh()
    assert "What you had typed" not in walk.text and value(walk, "title-en") == "Typed afterwards"
    walk.check("Typed afterwards")
    walk.was_quiet()


@pytest.mark.full
def test_a_button_that_is_pressed_after_the_session_ended_loses_nothing_that_was_typed(
    browser: Any, console: Console
):
    walk, draft = writing(browser, console)
    sign_out_elsewhere(walk)
    browser.execute_script("document.getElementById('title-en').value = 'Typed'")
    browser.execute_script(
        "document.getElementsByName('q0.required')[0].checked = false"
    )  # without an event, as if the button came before any save
    walk.choose("button[value=save]:not(.unseen)", "Sign in")
    walk.until("return document.activeElement.id === 'token'")
    walk.press(console.token)
    walk.choose("button.main", "draft")
    assert value(walk, "title-en") == "Typed"
    assert not browser.find_element("name", "q0.required").is_selected()
    saved(walk, console, draft, "Typed")


@pytest.mark.full
def test_a_draft_that_somebody_changed_meanwhile_is_not_overwritten_by_what_comes_back(
    browser: Any, console: Console
):
    walk, draft = writing(browser, console)
    sign_out_elsewhere(walk)
    text = '{"name": "other", "title": "By somebody else", "schema": {"fields": [{"name": "a", "type": "boolean"}]}}'
    assert console.post(f"{draft}/text", {"text": text}).status == 303
    walk.write("#title-en", "Mine")
    walk.until(
        "return location.pathname === '/console/sign-in' && document.readyState === 'complete'"
    )
    walk.until("return document.activeElement.id === 'token'")
    walk.press(console.token)
    walk.choose("button.main", "draft")
    walk.until(
        "return document.querySelector('#remarks').innerText.includes('was changed elsewhere')"
    )
    assert value(walk, "title-en") == "Mine"
    assert "By somebody else" in console.get(draft)


@pytest.mark.full
def test_a_text_that_was_edited_as_a_whole_comes_back_too(browser: Any, console: Console):
    walk, _ = writing(browser, console)
    sign_out_elsewhere(walk)
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    browser.execute_script("document.getElementById('text').value = '{}'")
    walk.choose("form[action$='/text'] button", "Sign in")
    walk.until("return document.activeElement.id === 'token'")
    walk.press(console.token)
    walk.choose("button.main", "draft")
    assert value(walk, "text") == "{}" and browser.find_element("id", "text").is_displayed()


@pytest.mark.full
def test_a_plan_goes_along_by_the_steps_above_it_and_through_reload_and_back(
    browser: Any, console: Console
):
    walk, draft = writing(browser, console)
    fields = [
        {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 60}}
        for name in ("a", "b")
    ]
    many = {
        "name": "many",
        "title": "Many answers",
        "consent": "Noise only.",
        "schema": {"fields": fields},
    }
    assert console.post(f"{draft}/text", {"text": json.dumps(many)}).status == 303
    browser.get(f"{console.home}{draft}/plan")
    walk.until("return !document.querySelector('#advice[data-awaited]')")
    walk.write("#people", "777")
    browser.find_element(
        "css selector", ".steps button[value=preview]"
    ).click()  # before anything was sent of it
    walk.until(
        "return location.pathname.endsWith('/preview') && document.readyState === 'complete'"
    )
    assert "Planned for people\n777" in walk.text
    browser.back()
    walk.until("return location.pathname.endsWith('/plan') && document.readyState === 'complete'")
    assert value(walk, "people") == "777"
    browser.find_element("css selector", "#by-question summary").click()
    walk.write("#people", "888")
    walk.until("return document.querySelector('#forecast').innerText.includes('888,')")
    pairs = (
        "[...document.querySelectorAll('#forecast dl div')].at(-1).querySelector('data').innerText"
    )
    walk.until(
        f"return document.querySelector('#advice').innerText.includes('from ' + {pairs})"
    )  # of the same people
    assert browser.find_element(
        "css selector", "#by-question table"
    ).is_displayed()  # as it was unfolded
    browser.refresh()
    assert value(walk, "people") == "888"
    walk.until("return !document.querySelector('#advice[data-awaited]')")
    walk.check("plan")
    walk.was_quiet()


@pytest.mark.full
def test_a_plan_is_kept_without_scripts(browser: Any, console: Console):
    from selenium.webdriver.common.keys import Keys

    walk, draft = writing(browser, console)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        for people, act in {
            "611": "noscript button",
            "622": "",
            "633": ".steps button[value=write]",
        }.items():
            browser.get(f"{console.home}{draft}/plan")
            field = browser.find_element("id", "people")
            field.clear()
            field.send_keys(people, *([] if act else [Keys.ENTER]))
            if act:
                browser.find_element("css selector", act).click()
            walk.wait(
                lambda people=people: (
                    f'name="people" value="{people}"' in console.get(f"{draft}/plan")
                )
            )
            assert (
                browser.current_url == f"{console.home}{draft}{'' if 'write' in act else '/plan'}"
            )
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.full
def test_another_kind_shows_its_controls_at_once_and_the_first_kind_comes_back_as_it_was(
    browser: Any, console: Console
):
    from selenium.webdriver.support.select import Select

    walk, draft = writing(browser, console)
    answers = "bus | Bus\ntrain | Train"
    browser.get(f"{console.home}/console")
    walk.choose("button[value=blank]", "draft")
    draft = browser.current_url.removeprefix(console.home)
    walk.write("#q0-categories", answers)
    Select(browser.find_element("id", "q0-type")).select_by_value("integer")
    walk.until(
        "return document.getElementById('q0-maximum') && !document.getElementById('q0-categories')"
    )
    assert value(walk, "q0-maximum") == "5"
    assert browser.find_element("id", "q0-legend").text == "1. whole number"
    assert browser.execute_script("return document.activeElement.id") == "q0-type"
    walk.write("#q0-maximum", "9")
    saved(walk, console, draft, 'value="9"')
    Select(browser.find_element("id", "q0-type")).select_by_value("list")
    walk.until("return document.getElementById('q0-categories')")
    Select(browser.find_element("id", "q0-type")).select_by_value("string")
    walk.until("return document.getElementById('q0-other-en')")
    assert value(walk, "q0-categories").replace("\r", "") == answers
    browser.refresh()
    assert value(walk, "q0-categories").replace("\r", "") == answers
    Select(browser.find_element("id", "q0-type")).select_by_value("integer")
    walk.until("return document.getElementById('q0-maximum')")
    assert value(walk, "q0-maximum") == "9"
    walk.check("draft")
    walk.was_quiet()


@pytest.mark.full
def test_no_other_site_frames_the_console(browser: Any, console: Console):
    _, draft = writing(browser, console)
    with other_site() as (address, content):
        paths = [
            "/console",
            draft,
            f"{draft}/preview",
            f"{draft}/page",
            "/console/sign-in",
            "/console/log",
        ]
        content[0] = "".join(f'<iframe src="{console.home}{path}"></iframe>' for path in paths)
        browser.get(address)
        for number, path in enumerate(paths):
            browser.switch_to.frame(number)
            assert not browser.find_elements("css selector", "main, form"), path
            browser.switch_to.default_content()
        browser.get(f"{console.home}{draft}/preview")  # its own frame is shown
        browser.switch_to.frame(0)
        assert browser.find_elements("css selector", "main, form")
        browser.switch_to.default_content()
