"""The page on which people take part, in Chromium: all kinds of questions, what it shows, refuses, and never tells."""

import base64
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from contributing import Proxy, Visitor, chromium, hosted, made, needs_chromium, proxied

from lopub import Campaign
from lopub.campaign.report import FRAMED_TYPE, Report, framed
from lopub.campaign.views import Sample
from lopub.pages.contribution import assets, contribution_page, hosted_files

pytest.importorskip("starlette")

import load
from servers import Running, running_collector
from tiers import FULL

pytestmark = needs_chromium
Campaigns = dict[str, Campaign]
NOW = datetime.now(UTC)
TODAY = NOW.date()
DAY = 86_400_000
TO_NOON = round(
    (datetime(*TODAY.timetuple()[:3], 12, tzinfo=UTC) - NOW) / timedelta(milliseconds=1)
)
"""Milliseconds by which browsers are set ahead, so that no midnight comes between two steps."""
CANARY = "73219.44717"
"""An answer that stands in no campaign, and must be found nowhere."""


def each_full(*names: str) -> list[Any]:
    """Parameters that are tried at full size only."""
    return [pytest.param(name, marks=pytest.mark.full) for name in names]


def day(n: int) -> str:
    return str(TODAY + timedelta(days=n))


KINDS: dict[str, Any] = {
    "name": "kinds",
    "title": {"en": "All kinds", "de": "Alle Arten", "ar": "كل الأنواع"},
    "description": "Why it is asked.",
    "consent": "that noise is counted",
    "min_reports": 50,
    "retention_days": 30,
    "schedule": {"opens": day(-5), "closes": day(5)},
    "schema": {
        "fields": [
            {"name": "region", "type": "string", "question": {"en": "Where?", "de": "Wo?", "ar": "أين؟"},
             "categories": [{"value": "n", "label": {"en": "North", "de": "Norden", "ar": "شمال"}}, "south"],
             "other": "Elsewhere"},
            {"name": "job", "type": "boolean", "question": "A job?"},
            {"name": "pay", "type": "number", "question": "Pay?", "bins": {"edges": [0, 1000, 50000], "open": "above"},
             "onlyIf": {"field": "job", "equals": True}},
            {"name": "bonus", "type": "boolean", "question": "A bonus?", "onlyIf": {"field": "pay", "above": 1000}},
            {"name": "health", "type": "string", "question": "Health?", "categories": ["bad", "fair", "good"],
             "categoriesOrdered": True, "constraints": {"required": False}},
            {"name": "reads", "type": "list", "question": "Reads?", "categories": ["books", "blogs", "nothing"],
             "none": "nothing"},
            {"name": "owns", "type": "list", "question": "Owns?", "categories": ["car", "bike", "boat"], "atMost": 2,
             "constraints": {"required": False}},
            {"name": "genre", "type": "string", "question": "Genre?", "categories": ["novels", "poems"],
             "onlyIf": {"field": "reads", "includes": "books"}},
            {"name": "children", "type": "integer", "question": "Children?", "constraints": {"minimum": 0, "maximum": 4}},
            {"name": "rooms", "type": "integer", "question": "Rooms?", "constraints": {"minimum": 1, "maximum": 40}},
            {"name": "moved", "type": "date", "period": "month", "question": "Moved?",
             "constraints": {"minimum": "2020-01", "maximum": "2026-12"}},
            {"name": "shops", "type": "date", "period": "weekday", "question": "Shops?"},
            {"name": "wakes", "type": "time", "period": "hour", "question": "Wakes?"},
            {"name": "week", "type": "date", "period": "week", "question": "Week?",
             "constraints": {"minimum": "2026-W01", "maximum": "2026-W52"}},
        ]
    },
}  # fmt: skip
EVERYTHING: dict[str, str | list[str]] = {
    "Where?": "North", "A job?": "Yes", "Pay?": CANARY, "Reads?": ["books", "blogs"], "Children?": "3", "Rooms?": "12",
    "Moved?": "March 2024", "Shops?": "Friday", "Wakes?": "07:00–07:59", "Week?": "2026-05-31",
}  # fmt: skip
THEN: dict[str, str | list[str]] = {"A bonus?": "No", "Genre?": "poems", "Owns?": ["car", "boat"]}
SMALL: dict[str, Any] = {
    "name": "small",
    "title": "Small",
    "schema": {"fields": [{"name": "smoker", "type": "boolean", "question": "Smoke?"},
                          {"name": "city", "type": "string", "question": "City?", "categories": ["Bonn", "Oslo", "Rome"]}]},
}  # fmt: skip
SMOKES: dict[str, Any] = {
    "name": "cigarettes",
    "schema": {"fields": [{"name": "smokes", "type": "boolean", "question": "Smoke?"},
                          {"name": "perday", "type": "integer", "question": "How many?",
                           "constraints": {"minimum": 1, "maximum": 21}, "onlyIf": {"field": "smokes", "equals": True}}]},
}  # fmt: skip
BOTH: dict[str, str | list[str]] = {"Smoke?": "Yes", "City?": "Oslo"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaigns")


@pytest.fixture(scope="module")
def campaigns(folder: Path) -> Campaigns:
    rounds = {"opens": day(0), "repeat": {"every_days": 7, "rounds": 4, "take_part": 4}}
    daily = {"opens": day(-1), "repeat": {"every_days": 1, "rounds": 2, "take_part": 2}}
    lasting = {
        "opens": day(-7),
        "repeat": {"every_days": 7, "rounds": 2, "take_part": 2, "mode": "permanent"},
    }
    permanent = {**SMALL, "name": "permanent", "min_reports": 100, "schedule": lasting}
    each = {
        "kinds": made(KINDS, folder, epsilon=4),
        "small": made(SMALL, folder, epsilon=1),
        "early": made({**SMALL, "name": "early", "schedule": {"opens": day(3), "closes": day(9)}}, folder, epsilon=1),
        "over": made({**SMALL, "name": "over", "schedule": {"opens": day(-9), "closes": day(-3)}}, folder, epsilon=1),
        "rounds": made({**SMALL, "name": "rounds", "schedule": rounds}, folder, epsilon=1),
        "days": made({**SMALL, "name": "days", "schedule": daily}, folder, epsilon=1),
        "later": made(
            {**SMALL, "name": "later", "schedule": {"opens": day(-7), "repeat": {"every_days": 7, "rounds": 2, "take_part": 1}}},
            folder, epsilon=1,
        ),
        "permanent": made(permanent, folder, epsilon=1, lifetime_epsilon=2),
        "direct": made({**SMALL, "name": "direct"}, folder, epsilon=9, mechanism="direct"),
        "cigarettes": made(SMOKES, folder, epsilon=2),
        "one": made({**SMOKES, "name": "one"}, folder, epsilon=2, view=Sample(1), jointly=True),
        "bloom": made({**SMALL, "name": "bloom"}, folder, flip_probability="0.5"),
        "hashed": made({**SMALL, "name": "hashed"}, folder, epsilon=2, mechanism="hashed"),
    }  # fmt: skip
    return each


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, campaigns: Campaigns) -> Iterator[Running]:
    address = f"sqlite:///{tmp_path_factory.mktemp('store')}/lopub.db"
    for campaign in campaigns.values():
        load.opened(address, campaign)
    with running_collector(address) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with chromium(tmp_path_factory.mktemp("profile")) as visitor:
        yield visitor


@pytest.fixture
def proxy(collector: Running) -> Iterator[Proxy]:
    with proxied(collector.port) as proxy:
        yield proxy


@pytest.fixture
def person(shared: Visitor) -> Iterator[Visitor]:
    """Somebody with an empty store, at a desk."""
    shared.size(1280).clock(TO_NOON)
    yield shared
    shared.as_before()
    shared.forget()


def page_of(proxy: Proxy, campaign: Campaign) -> str:
    return f"{proxy.address}/c/{campaign.id}"


def saved_receipt(person: Visitor) -> dict[str, Any]:
    """What the button for a receipt saves."""
    person.run("""delete window.saved;
      URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; };""")
    person.press("button.receipt")
    waiting = "const done = arguments[0], look = () => window.saved ? done(window.saved) : setTimeout(look, 5); look()"
    return dict(json.loads(person.driver.execute_async_script(waiting)))


# ---- what it is


def test_every_kind_of_question_can_be_answered_and_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    kinds = campaigns["kinds"]
    person.open(page_of(proxy, kinds)).answer(EVERYTHING).answer(THEN)
    shown = person.draw()
    assert Report.from_bytes(shown, kinds).to_bytes() == shown
    person.send()
    assert set(proxy.reports) == {shown}


def test_questions_come_and_go_with_the_answers_that_they_depend_on(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["kinds"]))

    def seen() -> set[str]:
        return set(
            person.run(
                "return [...document.querySelectorAll('fieldset:not([hidden]) legend')].map((e) => e.textContent)"
            )
        )

    hidden = {"Pay?", "A bonus?", "Genre?"}
    assert not seen() & hidden
    person.answer({"A job?": "Yes"})
    assert seen() & hidden == {"Pay?"}
    person.answer({"Pay?": "1000"})
    assert seen() & hidden == {"Pay?"}  # a bin includes its upper edge
    person.answer({"Pay?": "1000.01"})
    assert seen() & hidden == {"Pay?", "A bonus?"}
    person.answer({"A job?": "No", "Reads?": ["nothing"]})
    assert not seen() & hidden
    person.answer({"Reads?": ["books"]})
    assert seen() & hidden == {"Genre?"}
    assert not person.run(
        "return [...document.querySelectorAll('label.choice')].find((e) => e.textContent === 'nothing').firstChild.checked"
    )


def test_what_is_missing_is_said_where_it_is_missing(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["kinds"])).answer(
        {"A job?": "Yes", "Rooms?": "99", "Owns?": ["car", "bike", "boat"]}
    )
    person.press("form button.main")
    assert "still need an answer" in person.text("form > p[role=alert]")
    wrong = dict(
        person.run("""return [...document.querySelectorAll('fieldset.wrong')].map((e) =>
          [e.querySelector('legend').textContent, e.querySelector('.error').textContent])""")
    )
    assert wrong["Where?"] == wrong["Pay?"] == "Please answer this question."
    assert wrong["Rooms?"] == "This answer cannot be used. A whole number from 1 to 40."
    assert wrong["Owns?"] == "This answer cannot be used. Tick at most 2."
    person.answer({"Pay?": "-1"}).press("form button.main")
    errors = person.run(
        "return [...document.querySelectorAll('fieldset.wrong .error')].map((e) => e.textContent)"
    )
    assert "This answer cannot be used. A number from 0." in errors
    assert "Health?" not in wrong and "A job?" not in wrong
    assert (
        person.run(
            "return document.activeElement.closest('fieldset').querySelector('legend').textContent"
        )
        == "Where?"
    )
    assert not [request for request in proxy.requests if request.startswith(b"POST")]


def test_the_page_says_what_is_asked_by_whom_and_what_epsilon_means(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    text = person.open(page_of(proxy, campaigns["small"])).text()
    assert "can become at most 74 % sure" in text  # e / (1 + e), rounded up
    assert proxy.address.removeprefix("http://") in text
    text = person.open(page_of(proxy, campaigns["kinds"])).text()
    assert (
        "at most 99 % sure" in text
        and "30 days after the close" in text
        and "50 reports" in text
        and "Why it is asked." in text
    )
    text = person.open(page_of(proxy, campaigns["direct"])).text()
    assert "at most 99.99 % sure" in text and "hardly protects you" in text


def test_a_list_of_many_answers_is_searched(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    person.open(page_of(proxy, campaigns["kinds"])).answer({"Moved?": "March 2024"})
    find = """const boxes = [...document.querySelectorAll('fieldset')];
      const box = boxes.find((e) => e.querySelector('legend').textContent === 'Moved?'), field = box.querySelector('input');
      field.value = arguments[0];
      field.dispatchEvent(new Event('input', { bubbles: true }));
      return [...box.querySelectorAll('option')].map((e) => e.textContent)"""
    assert person.run(find, "MÄRCH")[:2] == ["March 2020", "March 2021"]
    assert person.run(find, "may 2025") == [
        "March 2024",
        "May 2025",
    ]  # what is chosen stays in sight
    assert person.run(find, "xyz") == ["March 2024"]


@pytest.mark.parametrize("mechanism", [*each_full("small", "direct", "hashed"), "bloom", "kinds"])
def test_a_report_is_told_in_words(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, mechanism: str
):
    person.open(page_of(proxy, campaigns[mechanism])).answer(
        EVERYTHING if mechanism == "kinds" else BOTH
    )
    if mechanism == "kinds":
        person.answer(THEN)
    person.draw()
    text = person.text(".goes")
    if mechanism in ("bloom", "hashed"):
        assert "No answer can be read off it" in text
    else:
        assert re.search(r"The report (says: |names [\d,]+ of [\d,]+ )", text)
    assert "at most" in person.text(".sure")


def test_what_a_report_names_is_what_it_names(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    campaign = campaigns["small"]
    report = Report.from_bytes(person.open(page_of(proxy, campaign)).answer(BOTH).draw(), campaign)
    squares = person.run(
        "return [...document.querySelectorAll('.goes td .cell')].map((e) => e.classList.contains('hit'))"
    )
    bits = [bool(report.payload[i >> 3] >> (i & 7) & 1) for i in range(6)]
    assert squares == bits and "Rows: “Smoke?”; columns: “City?”." in person.text(".goes")
    own = person.run(
        "return [...document.querySelectorAll('.goes td .cell')].findIndex((e) => e.classList.contains('own'))"
    )
    assert own == 4  # smoker, Oslo: the last attribute is the fastest
    weights = [math.e if bit else 1 for bit in bits]
    expected = sum(weights[3:]) / sum(weights)
    told = float(re.search(r"“Smoke\?”.* for ([\d.]+) % likely", person.text(".sure"))[1])  # type: ignore[index]
    assert 100 * expected <= told + 1e-6 <= 100 * expected + 1


def believed(report: Report, n_cells: int) -> float:
    """How likely "does not smoke" is to whoever held it for 50 % likely, and all numbers of a smoker for equally likely."""
    weights = [
        math.exp(2) if report.payload[i >> 3] >> (i & 7) & 1 else 1.0 for i in range(n_cells)
    ]
    n_answers = n_cells // 2
    none, some = weights[n_answers - 1], sum(weights[n_answers : n_cells - 1]) / (n_answers - 1)
    return none / (none + some)


def test_combinations_that_cannot_be_are_not_counted(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    campaign = campaigns["cigarettes"]
    person.open(page_of(proxy, campaign)).answer({"Smoke?": "No"})
    report = Report.from_bytes(person.draw(), campaign)
    found = re.search(
        r"“Smoke\?”: .* for ([\d.]+) % likely, in place of ([\d.]+) %", person.text(".sure")
    )
    assert (
        found
        and float(found[1]) == math.ceil(100 * believed(report, 44) - 1e-9)
        and float(found[2]) == 50
    )
    child = re.search(
        r"“How many\?”: .* for ([\d.]+) % likely, in place of ([\d.]+) %", person.text(".sure")
    )
    assert child and child.groups() == found.groups()  # that it does not apply says the same


def test_a_question_that_another_one_tells_of_is_not_said_to_be_left_out(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    campaign = campaigns["one"]
    person.open(page_of(proxy, campaign)).answer({"Smoke?": "No"})
    report = Report.from_bytes(person.draw(), campaign)
    asked, other = (
        ("Smoke?", "How many?") if 0 in report.view(campaign) else ("How many?", "Smoke?")
    )
    assert f"told of through “{asked}”" in person.text(".stays .out")
    assert re.search(
        rf"“{re.escape(other)}” \(told of through .*\d % likely, in place of 50 %",
        person.text(".sure"),
    )


# ---- one draw, kept


def test_copies_are_other_draws_and_are_never_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH)
    kept = person.draw()
    seen = set()
    for n in range(1, 13):
        person.press("button.again").until_said(f"Copy {n}", ".copy h4")
        seen.add(
            str(
                person.run(
                    "return [...document.querySelectorAll('.copy td .cell')].map((e) => e.className)"
                )
            )
        )
    assert (
        len(seen) > 1
    )  # 15 sets are equally likely but for a factor of e; twelve equal ones, below 1e-10
    assert re.search(r"named by \d+ of 12 copies", person.text(".tally"))
    assert person.report() == kept
    person.send()
    assert set(proxy.reports) == {kept} and not proxy.posted("/withdrawals")


def test_once_drawn_the_answers_are_locked_also_after_a_reload(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    kept = person.open(address).answer(BOTH).draw()
    assert person.run("return document.querySelectorAll('form, fieldset').length") == 0
    person.open(address).stage("drawn")
    assert person.report() == kept
    assert (
        person.run("return document.querySelectorAll('form, fieldset, .dice, .stays').length") == 0
    )
    assert "not kept, so they cannot be shown" in person.text()
    person.send()
    person.open(address).stage("sent")
    assert person.run("return !!document.querySelector('button.withdraw')")


def test_offline_the_report_is_kept_and_tried_again_after_a_reload(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    kept = person.open(address).answer(BOTH).draw()
    proxy.instead = lambda method, path: (
        (503, {"Retry-After": "60"}, b"") if path.endswith("/reports") else None
    )
    person.press("button.send").stage("agreed")
    proxy.instead = lambda *_: None
    person.open(address).stage("sent")
    assert set(proxy.reports) == {kept}


@pytest.mark.parametrize("has_drawn", [False, True])
def test_whoever_goes_back_to_the_page_finds_no_answer(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, has_drawn: bool
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH)
    if has_drawn:
        person.draw()
        assert "Oslo" in person.text(".stays")
    assert person.run(
        "return [...document.querySelectorAll('form')].every((each) => each.autocomplete === 'off')"
    )
    person.run(
        "dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))"
    )  # as a browser that keeps the page does
    assert person.text("body") == ""
    person.run(
        "document.body.dataset.old = '1'; dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
    )
    person.until("body:not([data-old]) main[data-stage]").stage("drawn" if has_drawn else "asking")
    assert person.run("return document.querySelectorAll('.stays, input:checked').length") == 0


def test_a_withdrawal_that_fails_is_not_done_and_is_tried_again(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    person.open(address).answer(BOTH).draw()
    person.send()
    proxy.instead = lambda method, path: (
        (503, {"Retry-After": "60"}, b"") if path.endswith("/withdrawals") else None
    )
    person.withdraw().until_said("Not withdrawn yet", ".status")
    person.open(address).stage("withdrawing").until_said("Not withdrawn yet", ".status")
    assert len(proxy.posted("/withdrawals")) >= 2  # a third where twenty seconds have passed
    person.run("dispatchEvent(new Event('online'))")
    person.until_said("Not withdrawn yet", ".status")
    proxy.instead = lambda *_: None
    person.open(address).stage("withdrawn")
    assert person.open(address).stage("withdrawn").text("h2.step").startswith("Withdrawn.")


def emptied(person: Visitor, proxy: Proxy) -> None:
    """The browser's person, or the browser, deletes what the site has stored, while the page is open."""
    person.driver.execute_cdp_cmd(
        "Storage.clearDataForOrigin", {"origin": proxy.address, "storageTypes": "all"}
    )


def test_a_report_that_was_deleted_meanwhile_is_not_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """What is not kept any more would be drawn a second time after a reload."""
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH).draw()
    emptied(person, proxy)
    person.press("button.send").until_said("has been deleted meanwhile")
    assert proxy.reports == []


def test_a_sent_report_that_was_deleted_meanwhile_can_be_withdrawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH)
    report = Report.from_bytes(person.draw(), campaigns["small"])
    person.send()
    emptied(person, proxy)
    person.withdraw().stage("withdrawn")
    (asked,) = proxy.posted("/withdrawals")
    assert json.loads(asked)["id"] == base64.urlsafe_b64encode(report.id).decode().rstrip("=")


def test_where_local_storage_refuses_the_page_knows_that_it_has_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.before_load(
        "Storage.prototype.setItem = Storage.prototype.getItem = () => { throw new DOMException('full'); }"
    )
    address = page_of(proxy, campaigns["small"])
    person.open(address).answer(BOTH).draw()
    person.send()
    person.open(address).stage("sent")


def test_where_another_tab_has_drawn_the_report_is_not_said_to_be_of_these_answers(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    first = person.driver.current_window_handle
    person.open(address).answer({"Smoke?": "No", "City?": "Rome"})
    person.driver.switch_to.new_window("tab")
    kept = person.open(address).answer(BOTH).draw()
    person.send()
    person.driver.close()
    person.driver.switch_to.window(first)
    person.press("form button.main").stage("sent")
    assert person.report() == kept
    assert person.run("return document.querySelectorAll('.stays, .own.cell').length") == 0


def test_a_closed_campaign_asks_nothing_and_says_so_after_a_reload(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    small, address = campaigns["small"], page_of(proxy, campaigns["small"])
    page = contribution_page(
        small, questions=f"../campaigns/{small.id}", collector="x", closed=True
    )
    proxy.instead = lambda method, path: (
        (200, {"Content-Type": "text/html"}, page) if path == f"/c/{small.id}" else None
    )
    assert person.open(address).text(".alert").startswith("The collector has closed this campaign")
    assert person.run("return document.querySelectorAll('form').length") == 0
    assert "Open" not in person.text(".facts") and "Kept" in person.text(".facts")
    assert (
        person.run("return document.querySelectorAll('input[type=file]').length") == 0
    )  # no withdrawal is taken, either
    proxy.instead = lambda method, path: (409, {}, b"{}") if path.endswith("/reports") else None
    person.open(address).answer(BOTH).draw()
    person.press("button.send").until_said("has closed this campaign", ".status")
    assert (
        person.open(address)
        .stage("drawn")
        .text(".alert")
        .startswith("The collector has closed this campaign")
    )
    assert "until it is closed" not in person.run(
        "return document.querySelector('.facts').textContent"
    )


def test_a_report_is_withdrawn_here_or_by_its_receipt(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, tmp_path: Path
):
    address = page_of(proxy, campaigns["small"])
    first = person.open(address).answer(BOTH).draw()
    person.send().withdraw().stage("withdrawn")
    person.forget()
    second = person.open(address).answer(BOTH).draw()
    receipt = saved_receipt(person)
    person.send()
    person.forget()
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt))
    person.open(address).run(
        "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
    )
    person.driver.find_element("css selector", "input[type=file]").send_keys(str(file))
    person.press("details button.withdraw").press(".other .keep").press("details button.withdraw")
    assert len(proxy.posted("/withdrawals")) == 1  # with a receipt, too, the page asks once more
    person.press(".other .sure").until_said("Withdrawn", ".other .status")
    withdrawn = [json.loads(body)["id"] for body in proxy.posted("/withdrawals")]
    assert len(withdrawn) == 2 and receipt["id"] == withdrawn[1]
    again = collector_says(proxy, campaigns["small"], [first, second])
    assert [item["reason"] for item in again] == ["withdrawn", "withdrawn"]
    file.write_text(json.dumps({**receipt, "campaign": "0" * 64}))
    person.driver.find_element("css selector", "input[type=file]").send_keys(str(file))
    person.press("details button.withdraw").until_said("not a receipt", ".other .status")


def collector_says(proxy: Proxy, campaign: Campaign, reports: list[bytes]) -> list[dict[str, Any]]:
    running = Running(None, proxy.port, "")  # type: ignore[arg-type]
    return list(
        running.ask(
            "POST", f"/campaigns/{campaign.id}/reports", framed(reports), Content_Type=FRAMED_TYPE
        ).json["refused"]
    )


# ---- rounds, languages, preview


def test_rounds_say_both_epsilons_and_when_the_next_one_begins(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["rounds"]))
    text = person.text()
    assert (
        "One report has epsilon 1; everything that this device ever sends to this campaign, 4."
        in text
    )
    assert (
        "one every 7 days; this device takes part in 4" in text and "Your rounds begin on:" in text
    )
    assert "all of your reports together" in text and "at most 99 % sure" in text
    person.answer(BOTH).draw()
    assert "this one report had come out as: at most 74 %" in person.text(".sure")
    person.press("button.again").until(".copy h4")
    person.send()
    next_day = TODAY + timedelta(days=7)
    assert f"next round begins on {next_day:%B} {next_day.day}, {next_day.year}" in person.text(
        ".ended"
    )
    person.open(page_of(proxy, campaigns["rounds"])).stage("sent")


def test_earlier_rounds_are_withdrawn_while_the_next_one_is_asked(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["days"])
    person.clock(TO_NOON - DAY)  # yesterday
    assert "2, one every day; this device" in person.open(address).text()
    first = Report.from_bytes(person.answer(BOTH).draw(), campaigns["days"])
    person.send().clock(TO_NOON)
    person.open(address).stage("asking")
    assert "Earlier rounds" in person.text()
    assert saved_receipt(person)["rounds"][0]["day"] == day(-1)
    proxy.instead = lambda method, path: (
        (503, {"Retry-After": "60"}, b"") if path.endswith("/withdrawals") else None
    )
    person.withdraw().until_said("Not withdrawn yet", ".status")
    second = Report.from_bytes(person.answer(BOTH).draw(), campaigns["days"])
    assert [each["day"] for each in saved_receipt(person)["rounds"]] == [day(-1), day(0)]
    proxy.instead = lambda *_: None
    person.send().open(address).stage("sent")  # the wish was about the first report, and is kept
    ids = [json.loads(body)["id"] for body in proxy.posted("/withdrawals")]
    assert {base64.urlsafe_b64decode(each + "==") for each in ids} == {first.id}
    assert second.id != first.id and "last round of this device" in person.text(".ended")


def test_a_permanent_answer_is_asked_for_once(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    address = page_of(proxy, campaigns["permanent"])
    person.clock(TO_NOON - 7 * DAY)  # a week ago
    first = person.open(address).answer(BOTH).draw()
    person.send().clock(TO_NOON)
    person.open(address).stage("asking")
    assert person.run("return document.querySelectorAll('form, fieldset').length") == 0
    assert "Nothing is asked this time" in person.text()
    second = person.press(".asking button.main").stage("drawn").report()
    assert (
        Report.from_bytes(second, campaigns["permanent"]).slot
        == Report.from_bytes(first, campaigns["permanent"]).slot + 7
    )
    person.send()
    assert set(proxy.reports) == {first, second}
    person.withdraw().stage("withdrawn")
    assert len(proxy.posted("/withdrawals")) == 2


def test_where_no_round_is_due_the_next_one_is_named(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    said = set()
    for _ in range(60):  # each device draws one of two rounds; the first one is over
        person.open(page_of(proxy, campaigns["later"]))
        said.add(
            bool(person.run("return !!document.querySelector('form')")) or person.text(".alert")
        )
        if len(said) == 2:
            break
        person.forget()
    assert said == {True, "This device has taken part in all of its rounds."}


def test_texts_are_in_the_persons_language_and_answers_survive_its_change(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["kinds"])).answer({**EVERYTHING}).answer(THEN)
    choose = "const e = document.querySelector('.languages select'); e.value = arguments[0]; e.dispatchEvent(new Event('change'))"
    person.run(choose, "de")
    person.until("html[lang=de]")
    assert person.text("h1") == "Alle Arten" and "Ihre Fragen" in person.text()
    person.run(choose, "ar")
    person.until("html[lang=ar][dir=rtl]")
    assert person.text("h1") == "كل الأنواع"
    assert person.run("return document.documentElement.scrollWidth <= innerWidth")
    person.run(choose, "en")
    person.until("html[lang=en][dir=ltr]")
    person.draw()
    for answer in (
        "North",
        "more than 50,000",
        "books, blogs",
        "car, boat",
        "12",
        "March 2024",
        "Friday",
        "2026-W22",
    ):
        assert answer in person.text(".stays"), answer


def test_a_preview_draws_copies_only_and_sends_nothing(
    person: Visitor, campaigns: Campaigns, tmp_path: Path
):
    for name in ("early", "kinds", "rounds"):
        campaign = campaigns[name]
        here = tmp_path / name
        here.mkdir()
        page = contribution_page(
            campaign, questions="campaign.json", collector="http://127.0.0.1:9/x", preview=True
        )
        for file, content in {
            **assets(),
            "campaign.json": campaign.canonical_bytes,
            "index.html": page,
        }.items():
            (here / file).write_bytes(content)
    with hosted(tmp_path) as address:
        for name in ("early", "rounds"):
            person.open(f"{address}/{name}/").answer(BOTH).draw()
            assert "Preview: nothing is kept, and nothing is sent." in person.text()
            assert person.run("return document.querySelector('button.send').disabled")
            assert all(url.startswith((address, "data:")) for url in person.asked_for())
        assert json.loads(person.stored())["local"] == {} and "lopub" not in json.loads(
            person.stored()
        )


# ---- what goes wrong


def test_a_campaign_that_has_not_begun_or_is_over_is_one_sentence(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    assert (
        person.open(page_of(proxy, campaigns["early"]))
        .text(".alert")
        .startswith("This campaign begins on ")
    )
    assert (
        person.open(page_of(proxy, campaigns["over"]))
        .text(".alert")
        .startswith("This campaign ended on ")
    )
    assert person.run("return document.querySelectorAll('form').length") == 0


def test_changed_bytes_are_not_asked(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    other = campaigns["over"].canonical_bytes
    proxy.instead = lambda method, path: (
        (200, {}, other) if path.startswith("/campaigns/") else None
    )
    assert (
        person.open(page_of(proxy, campaigns["small"]))
        .text(".told")
        .startswith("The questions that were delivered are not those")
    )


@pytest.mark.parametrize("how", ["huge", "slow", *each_full("down", "redirect", "error")])
def test_questions_that_cannot_be_fetched_are_one_sentence_and_a_button(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, how: str
):
    answers = {
        "redirect": (302, {"Location": "/elsewhere"}, b""),
        "huge": (200, {}, b"[" * (5 * 2**20)),
        "error": (500, {}, b"<script>alert(1)</script>"),
    }
    proxy.instead = lambda method, path: (
        answers.get(how, (599, {}, b"")) if path.startswith("/campaigns/") else None
    )
    proxy.is_slow = how == "slow"
    if how == "slow":  # fifteen seconds pass in a moment
        person.before_load(
            "const wait = setTimeout; window.setTimeout = (then, ms) => wait(then, ms / 100)"
        )
    told = person.open(page_of(proxy, campaigns["small"])).text(".told")
    assert told.startswith(
        "The questions "
        + ("that were delivered are not" if how == "huge" else "cannot be fetched just now")
    )
    if how != "huge":
        proxy.instead, proxy.is_slow = lambda *_: None, False
        person.press(".told button").stage("asking")


@pytest.mark.parametrize("how", ["redirect", "refused", *each_full("huge", "strange", "closed")])
def test_a_hostile_collector_loses_nothing(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, how: str
):
    address = page_of(proxy, campaigns["small"])
    kept = person.open(address).answer(BOTH).draw()
    answers = {
        "redirect": (307, {"Location": "http://127.0.0.1:9/steal"}, b""),
        "huge": (200, {}, b" " * (5 * 2**20)),
        "strange": (200, {}, b"<html>thank you"),
        "closed": (409, {}, b"{}"),
        "refused": (
            200,
            {},
            b'{"received":0,"refused":[{"index":0,"reason":"slot<b>","detail":""}]}',
        ),
    }
    expected = {
        "redirect": "or points elsewhere", "huge": "being sent", "strange": "being sent",
        "closed": "has closed this campaign", "refused": "refuses the report (slot",
    }  # fmt: skip
    proxy.instead = lambda method, path: answers[how] if path.endswith("/reports") else None
    person.press("button.send").until_said(expected[how], ".status")
    proxy.instead = lambda *_: None
    person.open(address).stage("drawn", "agreed", "sent")
    assert person.report() == kept


def test_where_storage_is_blocked_nothing_is_drawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.before_load("IDBFactory.prototype.open = () => { throw new Error('blocked'); }")
    text = person.open(page_of(proxy, campaigns["small"])).text(".alert")
    assert (
        "storage is blocked or full" in text
        and person.run("return document.querySelectorAll('form').length") == 0
    )


def test_where_storage_is_full_nothing_is_drawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH)
    person.run("""window.drawn = 0; const fill = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (bytes) => { window.drawn++; return fill(bytes); };
      IDBObjectStore.prototype.put = function () { this.transaction.abort(); };""")
    person.press("form button.main").until("form > p[role=alert]:not([hidden])")
    assert "storage is blocked or full" in person.text("form > p[role=alert]")
    assert person.run(
        "return [window.drawn, document.querySelector('form button.main').disabled]"
    ) == [0, False]


def test_without_a_generator_nothing_is_asked(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    person.before_load("Object.defineProperty(globalThis, 'crypto', { value: undefined })")
    assert "no secure source of randomness" in person.open(page_of(proxy, campaigns["small"])).text(
        ".told"
    )


@pytest.mark.parametrize(
    "how", [(404, {}, b""), (200, {"Content-Type": "text/javascript"}, b"lopub = {}")]
)
def test_a_client_that_does_not_come_is_one_sentence(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, how: Any
):
    proxy.instead = lambda method, path: how if path.endswith("lopub.js") else None
    assert (
        person.open(page_of(proxy, campaigns["small"]))
        .text(".told")
        .startswith("A part of this page could not be loaded")
    )


def test_an_unknown_campaign_is_one_sentence(person: Visitor, proxy: Proxy):
    person.driver.get(f"{proxy.address}/c/{'0' * 64}")
    assert "There is no such campaign." in person.text()


# ---- for everybody


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.full),
        pytest.param(390, "light", marks=pytest.mark.full),
    ],
)
def test_no_step_has_an_accessibility_issue_or_scrolls_sideways(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, width: int, scheme: str
):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    person.size(width).driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def look() -> None:
        person.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert person.findings() == []
        assert person.run("return document.documentElement.scrollWidth <= innerWidth")

    person.open(page_of(proxy, campaigns["kinds"]))
    look()
    person.press("form button.main")
    look()
    person.answer(EVERYTHING).answer(THEN)
    person.draw()
    for n in range(1, 31 if FULL else 6):  # whatever is drawn
        person.press("button.again").until_said(f"Copy {n}", ".copy h4")
        assert person.run("return document.documentElement.scrollWidth <= innerWidth")
    look()
    person.send()
    look()


def test_the_keyboard_alone_is_enough(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def key(*keys: str) -> None:
        ActionChains(person.driver).send_keys(*keys).perform()

    def focused() -> str:
        return str(
            person.run(
                "const e = document.activeElement; return (e.className + ' ' + (e.textContent || e.type)).trim()"
            )
        )

    def walk_to(words: str) -> None:
        for _ in range(40):
            if words in focused():
                return
            key(Keys.TAB)
        raise AssertionError(f"{words!r} is not reached")

    person.open(page_of(proxy, campaigns["small"]))
    walk_to("radio")
    key(Keys.SPACE)
    key(Keys.TAB)
    key(Keys.SPACE, Keys.ARROW_DOWN)
    walk_to("Roll the dice on my answers")
    key(Keys.ENTER)
    person.stage("drawn")
    assert "This is what leaves your device" in focused()  # where a screen reader goes on
    assert "Yes" in person.text(".stays") and "Oslo" in person.text(".stays")
    walk_to("again Roll the dice again")
    key(Keys.ENTER)
    person.until(".copy h4")
    walk_to("send Send the report")
    key(Keys.ENTER)
    person.stage("sent")
    walk_to("withdraw own")
    key(Keys.SPACE)
    assert focused() == "keep No, leave it"  # so that whoever strikes a key twice loses nothing
    key(Keys.ENTER)
    assert focused() == "withdraw own Withdraw my report"
    key(Keys.ENTER)
    walk_to("sure Yes, withdraw")
    key(Keys.ENTER)
    person.stage("withdrawn")


# ---- what is never told


def test_no_answer_is_in_network_storage_address_console_or_error_text(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    kinds = campaigns["kinds"]
    person.open(page_of(proxy, kinds)).answer({**EVERYTHING, "Pay?": CANARY, "Week?": "2026-05-30"})
    person.press("form button.main").until("fieldset.wrong")
    told = [*person.console(), person.text("form > p[role=alert]")]
    person.answer(THEN).draw()
    stored = person.stored()
    person.press("button.again").until(".copy h4")
    person.send()
    stored += person.stored()
    person.withdraw().stage("withdrawn")
    told += [stored, *person.console(), person.text(".ended"), *person.asked_for()]
    sent = b"".join(proxy.requests)
    assert sent.count(b"POST /campaigns") >= 2
    for canary in (CANARY, "2026-05-30", "poems", "Elsewhere"):
        assert canary.encode() not in sent, canary
        assert all(canary not in text for text in told), canary
    assert b"cookie" not in sent.lower() and b"referer" not in sent.lower()
    assert all(url.startswith((proxy.address, "data:")) for url in person.asked_for())
    opened = person.open(page_of(proxy, kinds))
    assert CANARY not in opened.text()


def test_the_page_is_quiet_and_asks_nobody_else(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["kinds"]))
    assert person.console() == []
    asked = [
        url.removeprefix(proxy.address) for url in person.asked_for() if not url.startswith("data:")
    ]
    kinds = campaigns["kinds"].id
    assert sorted(asked) == sorted(
        [f"/c/{kinds}", "/c/page.css", "/c/lopub.js", "/c/page.js", f"/campaigns/{kinds}"]
    )


def test_the_first_paint_does_not_wait_for_a_script(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """A script that never comes leaves title and description to be read."""
    proxy.instead = lambda method, path: (500, {}, b"") if path.endswith(".js") else None
    person.driver.get(page_of(proxy, campaigns["kinds"]))
    assert person.text("h1") == "All kinds" and "Why it is asked." in person.text()
    assert "a part of the page could not be loaded: nothing is asked" in person.text(".told")
    frames = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    person.driver.execute_async_script(frames)
    assert [entry["name"] for entry in person.run("return performance.getEntriesByType('paint')")]


def test_inline_scripts_and_other_places_are_refused_by_the_browser(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, tmp_path: Path
):
    def tried() -> list[Any]:
        return list(
            person.driver.execute_async_script("""const done = arguments[0]; window.ran = 0;
            const script = document.createElement("script");
            try { script.textContent = "window.ran = 1"; document.body.append(script); } catch {}
            const style = document.createElement("p"); style.setAttribute("style", "color: red"); document.body.append(style);
            const isRed = getComputedStyle(style).color === "rgb(255, 0, 0)";
            fetch("http://localhost:9/").then(() => 1, () => 0).then((got) => done([window.ran, isRed, got]))""")
        )

    person.open(page_of(proxy, campaigns["small"]))
    assert tried() == [0, False, 0] and any(
        "Content Security Policy" in line for line in person.console()
    )
    for file, content in hosted_files(campaigns["small"], proxy.address).items():
        (tmp_path / file).write_bytes(content)
    with hosted(tmp_path) as address:
        person.open(f"{address}/")
        assert person.console() == []
        assert tried() == [0, False, 0] and any(
            "Content Security Policy" in line for line in person.console()
        )
        person.forget()
