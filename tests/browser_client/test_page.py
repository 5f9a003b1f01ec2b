"""The page on which people take part, in Chromium: all kinds of questions, rounds, languages, and what goes wrong."""

import json
import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from contributing import Proxy, Visitor, hosted, needs_chromium
from visiting import (
    BOTH,
    DAY,
    EVERYTHING,
    NUMBER_EDGES,
    THEN,
    TO_NOON,
    TODAY,
    Campaigns,
    day,
    each_full,
    page_of,
    saved_receipt,
    text_of,
)

from lopub.campaign.report import Report
from lopub.pages.contribution import assets, contribution_page, hosted_files
from tiers import FULL

pytestmark = needs_chromium


# ---- what it is


def test_every_kind_of_question_can_be_answered_and_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    kinds = campaigns["kinds"]
    person.open(page_of(proxy, kinds)).answer(EVERYTHING).take_part(THEN)
    (sent,) = set(proxy.reports)
    assert Report.from_bytes(sent, kinds).to_bytes() == sent == person.sent()


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
    person.press("form button.look")
    assert "still need an answer" in person.text("form > p[role=alert]")
    wrong = dict(
        person.run("""return [...document.querySelectorAll('fieldset.wrong')].map((e) =>
          [e.querySelector('legend').textContent, e.querySelector('.error').textContent])""")
    )
    assert wrong["Where?"] == wrong["Pay?"] == "Please answer this question."
    assert wrong["Rooms?"] == "This answer cannot be used. A whole number from 1 to 40."
    assert wrong["Owns?"] == "This answer cannot be used. Tick at most 2."
    person.answer({"Pay?": "-1"}).press("form button.look")
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


def test_the_page_shows_the_id_that_a_poster_names(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    campaign = campaigns["small"]
    assert person.open(page_of(proxy, campaign)).text(".facts .id") == campaign.id
    assert "compare this id" in person.text(".facts")


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
def test_an_example_is_explained_in_words(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, mechanism: str
):
    person.open(page_of(proxy, campaigns[mechanism])).answer(
        EVERYTHING if mechanism == "kinds" else BOTH
    )
    if mechanism == "kinds":
        person.answer(THEN)
    text = person.look().text(".example")
    if mechanism in ("bloom", "hashed"):
        assert "No answer can be read from it directly" in text
    else:
        assert re.search(r"The report (says: |names [\d,]+ of [\d,]+ )", text)
    assert "at most" in person.text(".sureness-bound")


def test_what_an_example_names_is_what_it_names(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    campaign = campaigns["small"]
    examples = person.open(page_of(proxy, campaign)).answer(BOTH).look().examples()
    assert len(examples) == 3
    report = Report.from_bytes(examples[0], campaign)
    find = "return [...document.querySelector('.example').querySelectorAll('td .cell')]"
    squares = person.run(f"{find}.map((e) => e.classList.contains('hit'))")
    bits = [bool(report.payload[i >> 3] >> (i & 7) & 1) for i in range(6)]
    assert squares == bits and "Rows: “Smoke?”; columns: “City?”." in person.text(".example")
    own = person.run(f"{find}.findIndex((e) => e.classList.contains('own'))")
    assert own == 4  # smoker, Oslo: the last attribute is the fastest
    weights = [math.e if bit else 1 for bit in bits]
    expected = sum(weights[3:]) / sum(weights)
    shown = float(re.search(r"“Smoke\?”: ([\d.]+) %", person.text(".example .sure"))[1])  # type: ignore[index]
    assert 100 * expected <= shown + 1e-3 <= 100 * expected + 1.01


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
    person.open(page_of(proxy, campaign)).answer({"Smoke?": "No"}).look()
    report = Report.from_bytes(person.examples()[0], campaign)
    text = person.text(".example .sure")
    found = re.search(r"“Smoke\?”: ([\d.]+) %; before, ([\d.]+) %", text)
    assert found and float(found[2]) == 50
    assert float(found[1]) == math.ceil(100 * believed(report, 44) - 1e-4)
    child = re.search(r"“How many\?”: ([\d.]+) %; before, ([\d.]+) %", text)
    assert child and child.groups() == found.groups()  # that it does not apply says the same


def test_a_question_that_another_one_reveals_in_part_is_not_left_out(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    campaign = campaigns["one"]
    person.open(page_of(proxy, campaign)).answer({"Smoke?": "No"}).look()
    report = Report.from_bytes(person.examples()[0], campaign)
    asked, other = (
        ("Smoke?", "How many?") if 0 in report.view(campaign) else ("How many?", "Smoke?")
    )
    assert f"“{other}” (revealed in part by “{asked}”): " in person.text(".example .sure")


NUMBERS = {
    "de": {"44,5": "44.5", "44.5": "44.5", "1.234,5": "1234.5", "1.234.567": "1234567", "0,125": "0.125", "1234": "1234",
           "1,234.5": "1234.5", "1 234,5": "1234.5", "12,125": "12.125", "-3,5": "-3.5",
           "1.000": None, "12.125": None, "1,2,3": None, "44,": None, "vier": None, "1e3": None, "": None},
    "en": {"44,5": "44.5", "44.5": "44.5", "1,234.5": "1234.5", "12.125": "12.125", "1,000,000": "1000000",
           "1,000": None, "12,125": None},
}  # fmt: skip


@pytest.mark.parametrize("language", ["de", "en"])
def test_numbers_are_read_by_the_language_of_the_page(
    language: str, person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """Forbids a field of the browser's own, which reads 44,5 as 445 where the browser is English and the page is German."""
    person.open(page_of(proxy, campaigns["numbers"])).speak(language)
    read = """const field = document.querySelector("input[inputmode=decimal]"), used = document.querySelector("fieldset .hint");
      return arguments[0].map((text) => {
        field.value = text;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        return used.textContent;
      });"""
    shown = person.run(read, list(NUMBERS[language]))
    for (text, number), hint in zip(NUMBERS[language].items(), shown, strict=True):
        bins = [edge for edge in NUMBER_EDGES if number and float(edge) < float(number)]
        used = re.search(r"(?:nur der Bereich|Only the range is used): (.*)\.", hint)
        assert bool(used) == (number is not None), (text, hint)
        if used and number:
            low = re.search(r"^(?:more than|mehr als) ([-\d.,]+)", used[1])
            plain = low and re.sub(r"[.,]", "", low[1]) if float(number) > 100 else None
            assert plain is None or plain == bins[-1], (text, hint)


def test_a_number_that_could_be_two_is_refused_with_both_spellings(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["numbers"])).speak("de").answer({"Wie viel?": "1.000"})
    person.press("form button.look").until("fieldset.wrong")
    assert "schreiben Sie 1000 oder 1,0000" in person.text("fieldset .error")


# ---- rounds, languages, preview


def test_rounds_say_both_epsilons_and_when_the_next_one_begins(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    text = person.open(page_of(proxy, campaigns["rounds"])).text()
    everything = (
        "One report has epsilon 1; everything that this device ever sends to this campaign, 4."
    )
    assert everything in text and "Your rounds begin on:" in text
    assert "one every 7 days; this device takes part in 4" in text
    assert "all of your reports together" in text and "at most 99 % sure" in text
    person.answer(BOTH).look()
    assert "at most 74 %, where it was 50 : 50 before" in person.text(".sureness-bound")
    person.agree()
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
    person.take_part(BOTH)
    first = Report.from_bytes(person.sent(), campaigns["days"])
    person.clock(TO_NOON)
    person.open(address).stage("asking")
    assert "Earlier rounds" in person.text()
    assert saved_receipt(person)["rounds"] == [{"day": day(-1), "id": text_of(first.id)}]
    proxy.instead = lambda method, path: (
        (503, {"Retry-After": "60"}, b"") if path.endswith("/withdrawals") else None
    )
    person.withdraw().until_said("Not withdrawn yet", ".earlier .status")
    person.take_part(BOTH)
    assert [each["day"] for each in saved_receipt(person)["rounds"]] == [day(-1), day(0)]
    second = Report.from_bytes(person.sent(), campaigns["days"])
    proxy.instead = lambda *_: None
    person.open(address).stage("sent").until_asked(proxy, "/withdrawals", 2)
    ids = {json.loads(body)["id"] for body in proxy.posted("/withdrawals")}
    assert ids == {text_of(first.id)}  # the wish was about the first report
    assert second.id != first.id and "last round of this device" in person.text(".ended")


def test_a_permanent_answer_is_asked_for_once(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    address = page_of(proxy, campaigns["permanent"])
    person.clock(TO_NOON - 7 * DAY)  # a week ago
    person.open(address).take_part(BOTH)
    first = person.sent()
    person.clock(TO_NOON)
    person.open(address).stage("asking")
    assert person.run("return document.querySelectorAll('form, fieldset').length") == 0
    assert "Nothing is asked this time" in person.text()
    second = person.agree().sent()
    slots = [Report.from_bytes(each, campaigns["permanent"]).slot for each in (first, second)]
    assert slots[1] == slots[0] + 7
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
    person.speak("de")
    assert person.text("h1") == "Alle Arten" and "Ihre Fragen" in person.text()
    person.speak("ar").until("html[lang=ar][dir=rtl]")
    assert person.text("h1") == "كل الأنواع"
    assert person.run("return document.documentElement.scrollWidth <= innerWidth")
    person.speak("en").until("html[lang=en][dir=ltr]")
    person.look()
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
    person.speak("de").until_said("Was Ihr Gerät verlassen könnte")
    assert "Norden" in person.text(".stays")


def test_a_preview_shows_examples_only_and_sends_nothing(
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
            person.open(f"{address}/{name}/").answer(BOTH).look()
            assert "Preview: nothing is kept, and nothing is sent." in person.text()
            assert person.run("return document.querySelector('button.agree').disabled")
            assert all(url.startswith((address, "data:")) for url in person.asked_for())
        stored = json.loads(person.stored())
        assert stored["local"] == {} and "lopub" not in stored and "lopub page" not in stored


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
        .text(".loading")
        .startswith("The questions that came are not those")
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
    told = person.open(page_of(proxy, campaigns["small"])).text(".loading")
    assert told.startswith(
        "The questions "
        + ("that came are not" if how == "huge" else "cannot be fetched at the moment")
    )
    if how != "huge":
        proxy.instead, proxy.is_slow = lambda *_: None, False
        person.press(".loading button").stage("asking")


@pytest.mark.parametrize("how", ["redirect", "refused", *each_full("huge", "strange", "closed")])
def test_a_hostile_collector_loses_nothing(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, how: str
):
    address = page_of(proxy, campaigns["small"])
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
        "closed": "has closed this campaign", "refused": "refuses the report (slotb)",
    }  # fmt: skip
    proxy.instead = lambda method, path: answers[how] if path.endswith("/reports") else None
    person.open(address).answer(BOTH).look().agree("waiting", "refused")
    person.until_said(expected[how], ".ended")
    proxy.instead = lambda *_: None
    person.open(address).stage("waiting", "sent", "refused")
    assert len(set(proxy.reports)) == 1


def test_where_storage_is_blocked_nothing_is_drawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.before_load("IDBFactory.prototype.open = () => { throw new Error('blocked'); }")
    text = person.open(page_of(proxy, campaigns["small"])).text(".alert")
    assert (
        "storage is blocked, full" in text
        and person.run("return document.querySelectorAll('form').length") == 0
    )


def test_where_storage_is_full_nothing_is_drawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH).look()
    person.run("""window.drawn = 0; const fill = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (bytes) => { window.drawn++; return fill(bytes); };
      IDBObjectStore.prototype.put = function () { this.transaction.abort(); };""")
    person.press("button.agree").until_said("storage is blocked, full", ".status")
    assert person.run("return [window.drawn, document.querySelector('button.agree').disabled]") == [
        0,
        False,
    ]


def test_without_a_generator_nothing_is_asked(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    person.before_load("Object.defineProperty(globalThis, 'crypto', { value: undefined })")
    assert "no secure source of randomness" in person.open(page_of(proxy, campaigns["small"])).text(
        ".loading"
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
        .text(".loading")
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
    person.press("form button.look")
    look()
    person.answer(EVERYTHING).answer(THEN).look()
    for n in range(2, 31 if FULL else 5):  # whatever is drawn
        person.press("button.again").until_said(f"Example {3 * n}", ".examples")
        assert person.run("return document.documentElement.scrollWidth <= innerWidth")
    look()
    proxy.instead = lambda method, path: (
        (503, {"Retry-After": "60"}, b"") if path.endswith("/reports") else None
    )
    person.agree("waiting")
    look()
    proxy.instead = lambda *_: None
    person.open(page_of(proxy, campaigns["kinds"])).stage("sent").sent()
    person.run("document.querySelectorAll('.confirmed > button').forEach((each) => each.click())")
    look()
    person.withdraw().stage("withdrawn")
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
    walk_to("Show what could leave my device")
    key(Keys.ENTER)
    person.stage("examples")
    assert "What could leave your device" in focused()  # where a screen reader goes on
    assert "Yes" in person.text(".stays") and "Oslo" in person.text(".stays")
    walk_to("again Other examples")
    key(Keys.ENTER)
    person.until_said("Example 6", ".examples")
    walk_to("agree Agree and send")
    key(Keys.ENTER)
    person.stage("sent")
    assert "Received." in focused()
    walk_to("withdraw own")
    key(Keys.SPACE)
    assert focused() == "keep No, leave it"  # so that whoever strikes a key twice loses nothing
    key(Keys.ENTER)
    assert focused() == "withdraw own Withdraw my report"
    key(Keys.ENTER)
    walk_to("sure Yes, withdraw")
    key(Keys.ENTER)
    person.stage("withdrawn")


def test_the_first_paint_does_not_wait_for_a_script(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """A script that never comes leaves title and description to be read."""
    proxy.instead = lambda method, path: (500, {}, b"") if path.endswith(".js") else None
    person.driver.get(page_of(proxy, campaigns["kinds"]))
    assert person.text("h1") == "All kinds" and "Why it is asked." in person.text()
    assert "a part of the page could not be loaded: nothing is asked" in person.text(".loading")
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
