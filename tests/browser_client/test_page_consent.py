"""Consent is the irrevocable step of the page: what is shown before, what happens then, and what nobody sees too early."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from contributing import Proxy, Visitor, hosted, needs_chromium
from visiting import (
    BOTH,
    CANARY,
    DAY,
    EVERYTHING,
    THEN,
    TO_NOON,
    Campaigns,
    page_of,
    saved_receipt,
    text_of,
)

from lopub.campaign.report import FRAMED_TYPE, Report, framed
from lopub.pages.contribution import contribution_page, hosted_files
from servers import Running

pytestmark = needs_chromium
DOWN = (503, {"Retry-After": "60"}, b"")


def refusing(proxy: Proxy, ending: str, answer: Any = DOWN) -> None:
    """From now on, requests to addresses with this end get another answer than the collector's."""
    proxy.instead = lambda method, path: answer if path.endswith(ending) else None


def answering(proxy: Proxy) -> None:
    proxy.instead = lambda *_: None


def asked(proxy: Proxy) -> list[str]:
    """Method and path of every request, in order."""
    return [b" ".join(request.split(b" ", 2)[:2]).decode() for request in proxy.requests]


def drawn(person: Visitor) -> int:
    """How many reports the page's origin keeps."""
    return person.stored().count('"report":"')


# ---- before consent


def test_several_examples_are_shown_and_nothing_is_drawn_kept_or_sent(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH).look()
    text = person.text(".leaving")
    assert "Nothing has been drawn or sent. These are made-up examples" in text
    assert text.count("Made up; not your report.") == 3
    seen = set(person.examples())
    for n in range(2, 6):
        person.press("button.again").until_said(f"Example {3 * n}", ".examples")
        seen |= set(person.examples())
    assert len(seen) == 15  # each with an id of its own
    assert re.search(r"\d+ of 15 examples so far name your own answers", person.text(".tally"))
    assert not proxy.posted("") and drawn(person) == 0
    person.agree()
    (sent,) = proxy.reports
    assert sent not in seen


def test_before_consent_the_answers_can_be_changed(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH).look()
    person.press("button.change").stage("asking")
    assert person.run("return document.querySelectorAll('input:checked').length") == 2
    person.answer({"City?": "Rome"}).look()
    assert "Rome" in person.text(".stays") and "Oslo" not in person.text(".stays")


def test_consent_is_asked_for_with_what_it_costs(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["kinds"])).answer(EVERYTHING).answer(THEN).look()
    text = person.text("section.act")
    assert "that noise is counted" in text and "sent without being shown first" in text
    assert "have revealed at most epsilon 0 so far" in text
    assert "With this campaign it would be 4. Your limit is 8." in text


# ---- the irrevocable step


def test_what_consent_draws_is_sent_and_shown_to_nobody_before_it_is_acknowledged(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """Forbids to show the drawn report above a button that sends it: to send only what is untrue reveals the truth."""
    address, campaign = page_of(proxy, campaigns["small"]), campaigns["small"]
    refusing(proxy, "/reports")
    person.open(address).answer(BOTH).look().agree("waiting").until_said("cannot be reached")
    (report,) = set(proxy.reports)
    for _ in range(2):
        content = person.run("return document.documentElement.outerHTML")
        for digits in (report.hex(), report.hex(" "), text_of(report[29:])):
            assert digits not in content
        assert (
            person.run("return document.querySelectorAll('.cell, .show, .goes, .stays').length")
            == 0
        )
        assert "Oslo" not in person.text()
        person.open(address).stage("waiting").until_said("cannot be reached")
    answering(proxy)
    person.open(address).stage("sent")
    assert set(proxy.reports) == {report} and Report.from_bytes(report, campaign)
    assert person.sent() == report


def test_a_reload_sends_the_same_bytes_without_asking(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    refusing(proxy, "/reports")
    person.open(address).answer(BOTH).look().agree("waiting").until_asked(proxy, "/reports")
    answering(proxy)
    person.open(address).stage("sent")
    assert len(proxy.reports) >= 2 and len(set(proxy.reports)) == 1
    proxy.requests.clear()
    person.open(address).stage("sent")
    assert proxy.reports == []


def test_a_lost_answer_leads_to_the_same_bytes_again(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    proxy.lose = 1
    person.open(page_of(proxy, campaigns["small"])).take_part(BOTH)
    assert len(proxy.reports) >= 2 and len(set(proxy.reports)) == 1


def test_what_is_cancelled_unseen_is_not_sent_stays_charged_and_is_never_drawn_again(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    refusing(proxy, "/reports")
    person.open(address).answer(BOTH).look().agree("waiting").until_asked(proxy, "/reports")
    person.confirm("button.cancel").stage("cancelled")
    answering(proxy)
    (report,) = set(proxy.reports)
    proxy.requests.clear()
    for _ in range(2):
        assert person.open(address).stage("cancelled").run("return document.forms.length") == 0
        assert "have revealed at most epsilon 1 so far" in person.unfold().text(".device")
        assert person.run("return document.querySelectorAll('.show, .goes, .cell').length") == 0
    assert proxy.reports == [] and drawn(person) == 1
    person.withdraw().stage("withdrawn")
    assert [json.loads(body)["id"] for body in proxy.posted("/withdrawals")] == [
        text_of(report[9:25])
    ]


def test_what_was_sent_is_shown_after_a_click_behind_what_choosing_by_it_would_do(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).take_part(BOTH)
    assert person.run("return document.querySelectorAll('.cell, .goes').length") == 0
    assert "can give away your true answer" in person.text(".sent")
    assert person.sent() == proxy.reports[-1]
    assert person.run("return document.querySelectorAll('.own.cell, .stays').length") == 0


def test_an_old_tab_shows_what_was_sent_and_not_the_next_round_that_waits(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """Forbids to show a drawn report that no collector has, of a round to which another tab has agreed."""
    address, old = page_of(proxy, campaigns["days"]), person.driver.current_window_handle
    person.clock(TO_NOON - DAY).open(address).take_part(BOTH)
    person.as_before()
    (first,) = set(proxy.reports)
    refusing(proxy, "/reports")
    person.driver.switch_to.new_window("tab")
    person.clock(TO_NOON).open(address).answer(BOTH).look().agree("waiting")
    person.until_asked(proxy, "/reports", 2)
    person.as_before()
    person.driver.close()
    person.driver.switch_to.window(old)
    assert len(set(proxy.reports)) == 2 and person.sent() == first


def test_a_receipt_holds_the_id_only(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    campaign = campaigns["small"]
    person.open(page_of(proxy, campaign)).take_part(BOTH)
    assert saved_receipt(person) == {
        "receipt": "lopub",
        "campaign": campaign.id,
        "collector": f"{proxy.address}/campaigns/{campaign.id}",
        "epsilon": "1.000000",
        "id": text_of(proxy.reports[0][9:25]),
    }


def test_two_tabs_that_consent_draw_one_report(person: Visitor, proxy: Proxy, campaigns: Campaigns):
    address = page_of(proxy, campaigns["small"])
    first = person.driver.current_window_handle
    person.open(address).answer({"Smoke?": "No", "City?": "Rome"}).look()
    person.driver.switch_to.new_window("tab")
    person.open(address).take_part(BOTH)
    person.driver.close()
    person.driver.switch_to.window(first)
    person.agree()
    assert len(set(proxy.reports)) == 1


@pytest.mark.parametrize("stage", ["asking", "examples", "sent"])
def test_whoever_goes_back_to_the_page_finds_no_answer(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, stage: str
):
    person.open(page_of(proxy, campaigns["small"])).answer(BOTH)
    if stage != "asking":
        person.look()
    if stage == "sent":
        person.agree()
    leave = "dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))"
    person.run(leave)  # as a browser that keeps the page does
    assert person.text("body") == ""
    person.run(
        "document.body.dataset.old = '1'; dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
    )
    person.until("body:not([data-old]) main[data-stage]")
    person.stage("sent" if stage == "sent" else "asking")
    assert person.run("return document.querySelectorAll('.stays, input:checked').length") == 0


# ---- withdrawing


def test_a_withdrawal_that_fails_is_not_done_and_is_tried_again(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    person.open(address).take_part(BOTH)
    refusing(proxy, "/withdrawals")
    person.withdraw().until_said("Not withdrawn yet", ".status")
    person.open(address).stage("withdrawing").until_said("Not withdrawn yet", ".status")
    assert len(proxy.posted("/withdrawals")) >= 2  # a third where twenty seconds have passed
    person.run("dispatchEvent(new Event('online'))")
    person.until_asked(proxy, "/withdrawals", 3)
    answering(proxy)
    person.open(address).stage("withdrawn")
    assert person.open(address).stage("withdrawn").text("h2.step").startswith("Withdrawn.")


def emptied(person: Visitor, proxy: Proxy) -> None:
    """The browser's person, or the browser, deletes what the site has stored, while the page is open."""
    person.driver.execute_cdp_cmd(
        "Storage.clearDataForOrigin", {"origin": proxy.address, "storageTypes": "all"}
    )


def test_a_sent_report_that_was_deleted_meanwhile_can_be_withdrawn(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    person.open(page_of(proxy, campaigns["small"])).take_part(BOTH)
    emptied(person, proxy)
    person.withdraw().stage("withdrawn")
    assert [json.loads(body)["id"] for body in proxy.posted("/withdrawals")] == [
        text_of(proxy.reports[0][9:25])
    ]


def test_a_closed_campaign_asks_nothing_and_offers_no_withdrawal(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    small, address = campaigns["small"], page_of(proxy, campaigns["small"])
    page = contribution_page(
        small,
        questions=f"../campaigns/{small.id}",
        collector=f"../campaigns/{small.id}",
        closed=True,
    )
    person.open(address).take_part(BOTH)
    refusing(proxy, f"/c/{small.id}", (200, {"Content-Type": "text/html"}, page))
    for stage in ("sent", "asking"):
        person.open(address).stage(stage)
        assert person.text(".alert").startswith("The collector has closed this campaign")
        find = "form, input[type=file], button.withdraw, button.receipt"
        assert person.run("return document.querySelectorAll(arguments[0]).length", find) == 0
        assert "Open" not in person.unfold().text(".facts") and "Kept" in person.text(".facts")
        person.forget()


def test_a_campaign_that_was_closed_meanwhile_is_known_to_be_after_a_reload(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    person.open(address).take_part(BOTH)
    refusing(proxy, "/withdrawals", (409, {}, b"{}"))
    person.withdraw().until_said("has closed this campaign", ".status")
    person.open(address).stage("sent")
    assert person.text(".alert").startswith("The collector has closed this campaign")
    assert person.run("return document.querySelectorAll('button.withdraw').length") == 0


def test_a_report_is_withdrawn_here_or_by_its_receipt(
    person: Visitor, proxy: Proxy, campaigns: Campaigns, tmp_path: Path
):
    address = page_of(proxy, campaigns["small"])
    person.open(address).take_part(BOTH)
    person.withdraw().stage("withdrawn").forget()
    person.open(address).take_part(BOTH)
    receipt = saved_receipt(person)
    person.forget()
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt))
    person.open(address).unfold()
    person.driver.find_element("css selector", "input[type=file]").send_keys(str(file))
    person.press(".receipt-file button.withdraw").until(".receipt-file .confirm:not([hidden])")
    person.press(".receipt-file .keep")
    assert len(proxy.posted("/withdrawals")) == 1  # with a receipt, too, the page asks once more
    person.press(".receipt-file button.withdraw").until(".receipt-file .confirm:not([hidden])")
    person.press(".receipt-file .sure").until_said("Withdrawn", ".receipt-file .status")
    withdrawn = [json.loads(body)["id"] for body in proxy.posted("/withdrawals")]
    assert len(withdrawn) == 2 and receipt["id"] == withdrawn[1]
    again = collector_answer(proxy, campaigns["small"].id, sorted(set(proxy.reports)))
    assert [item["reason"] for item in again] == ["withdrawn", "withdrawn"]
    file.write_text(json.dumps({**receipt, "campaign": "0" * 64}))
    person.driver.find_element("css selector", "input[type=file]").send_keys(str(file))
    person.press(".receipt-file button.withdraw").until_said(
        "not a receipt", ".receipt-file .status"
    )


def collector_answer(proxy: Proxy, campaign_id: str, reports: list[bytes]) -> list[dict[str, Any]]:
    running = Running(None, proxy.port, "")  # type: ignore[arg-type]
    posted = running.ask(
        "POST", f"/campaigns/{campaign_id}/reports", framed(reports), Content_Type=FRAMED_TYPE
    )
    return list(posted.json["refused"])


# ---- one device


def test_ten_campaigns_of_one_address_do_not_pass_the_limit_silently(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """Forbids a page that knows only of its own campaign: ten with one question spent epsilon 20 without a word."""
    for n in range(10):
        person.open(page_of(proxy, campaigns[f"one of ten: {n}"]))
        if n < 4:
            person.take_part(BOTH)
            shown = person.unfold().text(".device")
            assert f"have revealed at most epsilon {2 * n + 2} so far" in shown
            continue
        assert "would reveal epsilon 10 together" in person.text(".too-much")
        person.answer(BOTH).look()
        assert person.run("return document.querySelector('button.agree').disabled")
    assert len(set(proxy.reports)) == 4
    set_limit = "document.querySelector('.act .limit input').value = arguments[0]"
    person.run(set_limit, "none")
    person.press(".act .limit button").until_said("must be a number above 0", ".act .limit")
    person.run(set_limit, "10")
    person.press(".act .limit button").until("button.agree:enabled").agree()
    assert len(set(proxy.reports)) == 5
    assert "Your limit is 10." in person.unfold().text(".device")


def test_the_next_person_starts_afresh_and_a_report_that_waits_goes_out_unseen(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    refusing(proxy, "/reports")
    person.open(address).answer(BOTH).look().agree("waiting").until_asked(proxy, "/reports")
    (first,) = set(proxy.reports)
    person.unfold().press("button.next-person").stage("asking")
    assert "have revealed at most epsilon 0 so far" in person.unfold().text(".device")
    content = person.run("return document.querySelector('main').outerHTML")
    for trace in (text_of(first[9:25]), "on its way", "withdraw own", "epsilon 1 so far"):
        assert trace not in content
    assert (
        person.run("return document.querySelectorAll('input:checked, .ended, .earlier').length")
        == 0
    )
    answering(proxy)
    proxy.requests.clear()
    person.open(address).stage("asking").until_asked(proxy, "/reports")
    assert set(proxy.reports) == {first}
    assert person.run("return document.querySelectorAll('.ended, .status:not(:empty)').length") == 0
    person.take_part({"Smoke?": "No", "City?": "Bonn"})
    assert len(set(proxy.reports)) == 2
    proxy.requests.clear()
    person.open(address).stage("sent")
    assert proxy.reports == []


def test_everything_that_the_device_keeps_can_be_deleted(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    address = page_of(proxy, campaigns["small"])
    person.open(address).take_part(BOTH).unfold()
    person.press("button.delete").until(".device .confirm:not([hidden])")
    assert "a second report, and the epsilons of both add up" in person.text(".device .confirm")
    person.press(".device .sure").stage("deleted")
    stored = json.loads(person.stored())
    assert stored["lopub"] == stored["lopub page"] == []
    assert person.open(address).stage("asking").run("return document.forms.length") == 1
    assert proxy.posted("/withdrawals") == []


def test_a_page_of_files_does_not_start_in_the_frame_of_another_site(
    person: Visitor, campaigns: Campaigns, tmp_path: Path
):
    for file, content in hosted_files(campaigns["small"], "https://collector.example").items():
        (tmp_path / file).write_bytes(content)
    with hosted(tmp_path) as address, hosted(tmp_path) as other:
        (tmp_path / "around.html").write_text(f"<!doctype html><iframe src='{address}/'></iframe>")
        for place, expected in (
            (other, "does not start inside a page"),
            (address, "Your questions"),
        ):
            person.driver.get(f"{place}/around.html")
            person.driver.switch_to.frame(0)
            person.until_said(expected, "main")
            assert person.run("return document.forms.length") == (place == address)
            person.driver.switch_to.default_content()


# ---- what leaves, and what does not


KEEP_TITLES = """window.titles = [];
const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, "title");
Object.defineProperty(document, "title", { get, set(text) { window.titles.push(text); set.call(document, text); } });"""


def test_the_requests_and_titles_of_a_whole_visit_are_these_and_no_others(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    """Forbids one request more, or a title that depends on answers, whatever they hold."""
    kinds = campaigns["kinds"]
    visits = []
    person.before_load(KEEP_TITLES)
    person.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    for answers, more in (
        (EVERYTHING, THEN),
        ({**EVERYTHING, "A job?": "No", "Reads?": ["nothing"]}, {"Owns?": ["No answer"]}),
    ):
        proxy.requests.clear()
        given = {
            key: value
            for key, value in answers.items()
            if key != "Pay?" or answers["A job?"] == "Yes"
        }
        person.open(page_of(proxy, kinds)).answer(given).answer(more).look().agree()
        person.withdraw().stage("withdrawn")
        assert set(person.run("return window.titles")) == {"All kinds"} == {person.driver.title}
        visits.append(asked(proxy))
        assert [
            url for url in person.asked_for() if not url.startswith(("data:", proxy.address))
        ] == []
        person.forget()
    page, files = (
        f"GET /c/{kinds.id}",
        [f"GET /c/{name}" for name in ("lopub.js", "page.css", "page.js")],
    )
    of_campaign = [
        f"GET /campaigns/{kinds.id}",
        f"POST /campaigns/{kinds.id}/reports",
        f"POST /campaigns/{kinds.id}/withdrawals",
    ]
    for visit in visits:
        assert [visit[0], *sorted(visit[1:4]), *visit[4:]] == [page, *sorted(files), *of_campaign]


def test_no_answer_is_in_network_storage_address_console_or_error_text(
    person: Visitor, proxy: Proxy, campaigns: Campaigns
):
    kinds = campaigns["kinds"]
    person.open(page_of(proxy, kinds)).answer({**EVERYTHING, "Pay?": CANARY, "Week?": "2026-05-30"})
    person.press("form button.look").until("fieldset.wrong")
    texts = [*person.console(), person.text("form > p[role=alert]")]
    person.answer(THEN).look()
    stored = person.stored()
    person.press("button.again").until_said("Example 6", ".examples")
    person.agree()
    stored += person.stored()
    texts += [person.text(".ended")]
    person.withdraw().stage("withdrawn")
    texts += [stored, *person.console(), person.text(".ended"), *person.asked_for()]
    sent = b"".join(proxy.requests)
    assert sent.count(b"POST /campaigns") >= 2
    for canary in (CANARY, "2026-05-30", "poems", "Elsewhere"):
        assert canary.encode() not in sent, canary
        assert all(canary not in text for text in texts), canary
    assert b"cookie" not in sent.lower() and b"referer" not in sent.lower()
    assert CANARY not in person.open(page_of(proxy, kinds)).text()
