"""The contributor's page as tests reach it: a real Chromium, a proxy that keeps every byte and can misbehave, a web server."""

import http.client
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lopub import Campaign, CampaignRequest, make_campaign
from lopub.campaign.report import unframed
from lopub.questionnaire.draft import draft_from_file

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
DRIVER = shutil.which("chromedriver")
needs_chromium = [
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs Chromium and ChromeDriver"
    ),
    pytest.mark.xdist_group("browser"),
]
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--hide-scrollbars",
)  # fmt: skip
SECONDS = 60


def made(draft: Mapping[str, Any], folder: Path, **wish: Any) -> Campaign:
    """The campaign of a draft."""
    path = folder / f"{draft['name']}.json"
    path.write_text(json.dumps(draft), encoding="utf-8")
    return make_campaign(*draft_from_file(path), CampaignRequest(**wish))


# ---- servers


@dataclass
class Proxy:
    """Stands before a collector, keeps every request, and loses, delays or replaces answers as it is told."""

    port: int
    """The collector's."""
    requests: list[bytes] = field(default_factory=list)
    lose: int = 0
    """How many answers to reports are still to be lost, after the collector has committed."""
    instead: Callable[[str, str], tuple[int, Mapping[str, str], bytes] | None] = lambda *_: None
    """What is answered to a method and a path in place of the collector's answer; nothing: the collector's."""
    is_slow: bool = False
    """Whether a campaign does not come, as long as this is so."""
    address: str = ""

    def posted(self, ending: str) -> list[bytes]:
        """The bodies that were posted to addresses with this end."""
        heads = [
            request.partition(b"\r\n\r\n")
            for request in self.requests
            if request.startswith(b"POST ")
        ]
        return [body for head, _, body in heads if head.split(b" ")[1].endswith(ending.encode())]

    @property
    def reports(self) -> list[bytes]:
        """Every report that was posted, as often as it was."""
        return [report for body in self.posted("/reports") for report in unframed(body)]


class _Passing(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        proxy, body = self.proxy, self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy.requests.append(
            bytes(self.raw_requestline) + self.headers.as_bytes().replace(b"\n", b"\r\n") + body
        )
        while proxy.is_slow and self.path.startswith("/campaigns/"):
            time.sleep(0.01)
        if (replaced := proxy.instead(self.command, self.path)) is not None:
            return self._say(*replaced)
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=SECONDS)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        status, headers, content = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        if proxy.lose and self.path.endswith("/reports") and self.command == "POST":
            proxy.lose -= 1
            return self._hang_up()
        self._say(status, headers, content)

    do_GET = do_POST = do_OPTIONS = do_PUT = _pass  # noqa: N815

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def _say(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        with suppress(OSError):
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def _served(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    with _served(type("Passing", (_Passing,), {"proxy": proxy})) as address:
        proxy.address = address
        yield proxy


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """A plain web server for a folder."""
    with _served(partial(_Quiet, directory=str(folder))) as address:
        yield address


# ---- the browser


@contextmanager
def chromium(profile: Path, language: str = "en") -> Iterator["Visitor"]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--accept-lang={language}"):
        options.add_argument(flag)
    options.add_experimental_option(
        "prefs", {"intl.accept_languages": language, "download.default_directory": str(profile)}
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=DRIVER)
    )
    driver.set_script_timeout(60)
    try:
        yield Visitor(driver)
    finally:
        driver.quit()


_FILL = """
const done = (field, kind) => field.dispatchEvent(new Event(kind, { bubbles: true }));
for (const [asked, answer] of Object.entries(arguments[0])) {
  const boxes = [...document.querySelectorAll("fieldset.question")];
  const box = boxes.find((each) => each.querySelector("legend").textContent === asked);
  if (!box || box.hidden) throw new Error("not asked: " + asked);
  const labels = [...box.querySelectorAll("label.choice")], field = box.querySelector("input:not([type=radio], [type=checkbox])");
  const select = box.querySelector("select");
  const choice = (text) => labels.find((label) => label.textContent === text).querySelector("input");
  if (labels.length) [answer].flat().forEach((each) => choice(each).click());
  else if (select) {
    if (field) { field.value = answer; done(field, "input"); }
    select.value = [...select.options].find((option) => option.textContent === answer).value;
    done(select, "change");
  } else { field.value = answer; done(field, "input"); }
}"""


class Visitor:
    """A person in front of a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def forget(self) -> None:
        """Be somebody else: nothing is stored any more."""
        origin = self.driver.execute_script("return location.origin")
        self.driver.get("about:blank")
        if origin.startswith("http"):
            self.driver.execute_cdp_cmd(
                "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}
            )

    def open(self, address: str) -> "Visitor":
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(address)
        return self.until("[data-stage], .loading .alert")

    def until(self, selector: str) -> "Visitor":
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(
                lambda d: d.find_elements(By.CSS_SELECTOR, selector)
            )
        except TimeoutException:
            raise AssertionError(
                f"{selector} did not come; the page says: {self.text()[-600:]}"
            ) from None
        return self

    def until_said(self, words: str, selector: str = "main") -> "Visitor":
        """Wait for words on the page."""
        look = """const [selector, words, done] = arguments;
          const look = () => document.querySelector(selector)?.textContent.includes(words) ? done() : setTimeout(look, 5);
          look();"""
        self.driver.execute_async_script(look, selector, words)
        return self

    def until_asked(self, proxy: Proxy, ending: str, n: int = 1) -> "Visitor":
        """Wait until so many requests have been posted to addresses with this end."""
        ends = time.monotonic() + SECONDS
        while len(proxy.posted(ending)) < n:
            assert time.monotonic() < ends, f"nothing was posted to {ending}"
            time.sleep(0.01)
        return self

    def speak(self, language: str) -> "Visitor":
        """Choose a language of the campaign."""
        choose = """const e = document.querySelector('.languages select');
          e.value = arguments[0];
          e.dispatchEvent(new Event('change'))"""
        self.driver.execute_script(choose, language)
        return self.until(f"html[lang={language}]")

    def stage(self, *wanted: str) -> "Visitor":
        return self.until(", ".join(f"main[data-stage={each}]" for each in wanted))

    def answer(self, answers: Mapping[str, str | list[str]]) -> "Visitor":
        """Answer questions, named by their words, by the words of their answers."""
        self.driver.execute_script(_FILL, answers)
        return self

    def press(self, selector: str) -> "Visitor":
        self.driver.execute_script("document.querySelector(arguments[0]).click()", selector)
        return self

    def look(self) -> "Visitor":
        """Ask for what could leave the device."""
        return self.press("form button.look").stage("examples")

    def agree(self, *stages: str) -> "Visitor":
        """Consent; the report is drawn and sent."""
        return self.press("button.agree").stage(*(stages or ("sent",)))

    def take_part(self, answers: Mapping[str, str | list[str]] | None = None) -> "Visitor":
        """From the questions to a report that has arrived."""
        if answers:
            self.answer(answers)
        return self.look().agree()

    def examples(self) -> list[bytes]:
        """The examples that are shown."""
        return self._codes(".example .code")

    def sent(self) -> bytes:
        """The report that was sent, after a click on showing it."""
        self.press("button.show").until(".goes .code")
        (report,) = self._codes(".goes .code")
        return report

    def _codes(self, selector: str) -> list[bytes]:
        read = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return [bytes.fromhex(text) for text in self.driver.execute_script(read, selector)]

    def confirm(self, selector: str) -> "Visitor":
        """Press a button, and say that it is meant."""
        return self.press(selector).press(f".confirmed:has({selector}) .sure")

    def unfold(self) -> "Visitor":
        """Open every part that is folded."""
        self.driver.execute_script(
            "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
        )
        return self

    def withdraw(self) -> "Visitor":
        return self.confirm("button.withdraw.own")

    def text(self, selector: str = "main") -> str:
        return str(
            self.driver.execute_script(
                "return document.querySelector(arguments[0])?.innerText ?? ''", selector
            )
        )

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def size(self, width: int, height: int = 900) -> "Visitor":
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        return self

    def before_load(self, script: str) -> "Visitor":
        """A script that runs before those of every page from now on."""
        made = self.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": script}
        )
        self._added = [*getattr(self, "_added", []), made["identifier"]]
        return self

    def clock(self, milliseconds: int) -> "Visitor":
        """Set the browser's clock ahead from the next page on, or back."""
        self.as_before()
        return self.before_load(f"const now = Date.now; Date.now = () => now() + ({milliseconds})")

    def as_before(self) -> None:
        for identifier in getattr(self, "_added", []):
            self.driver.execute_cdp_cmd(
                "Page.removeScriptToEvaluateOnNewDocument", {"identifier": identifier}
            )
        self._added = []

    def findings(self) -> list[tuple[str, str]]:
        """What axe-core finds, at every level."""
        spec = find_spec("axe_core_python")
        assert spec is not None and spec.submodule_search_locations
        self.driver.execute_script(
            (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()
        )
        found = self.driver.execute_async_script("axe.run().then(arguments[0])")
        assert found["passes"]
        return [(issue["id"], issue["nodes"][0]["html"][:200]) for issue in found["violations"]]

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self) -> list[str]:
        """The addresses that the browser has asked for since the page was opened."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]

    def stored(self) -> str:
        """Everything that the page's origin has stored, as text."""
        return str(self.driver.execute_async_script(_STORED))


_STORED = """
const done = arguments[0], { cookie, title } = document, told = { local: { ...localStorage }, session: { ...sessionStorage } };
const all = { ...told, cookie, title, address: location.href };
const text = (value) => (value instanceof Uint8Array ? `${Array.from(value)} ${String.fromCharCode(...value)}` : value);
const opened = (name) => new Promise((next) => {
  const opening = indexedDB.open(name);
  opening.onsuccess = () => next(opening.result);
});
const rows = (table) => new Promise((next) => {
  const found = [], walk = table.openCursor();
  walk.onsuccess = () => {
    if (!walk.result) return next(found);
    found.push([walk.result.key, text(walk.result.value)]);
    walk.result.continue();
  };
});
indexedDB.databases().then(async (names) => {
  for (const { name } of names) {
    const database = await opened(name);
    all[name] = [];
    for (const table of database.objectStoreNames) {
      all[name].push(...(await rows(database.transaction(table).objectStore(table))));
    }
    database.close();
  }
  all.caches = await caches.keys();
  done(JSON.stringify(all));
});"""
