"""The console lets in whom it knows, does what they may ask, and shows texts as texts; under min_reports it shows nothing."""

import asyncio
import hashlib
import html
import io
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet
import pytest
from sqlalchemy import Engine, event
from starlette.responses import Response

import people
from consoles import FORM, Console, ConsoleHere, begun, console_here, opened, send, worker_here
from lopub.campaign.schedule import day_of
from lopub.collector.backup import restore
from lopub.collector.campaigns import Entry, all_campaigns, close_campaign, find_campaign
from lopub.collector.database import store_at
from lopub.collector.imports import _rows
from lopub.collector.retention import erase
from lopub.collector.steward_log import Action, actions
from lopub.collector.store import ReportStore, Submission
from lopub.collector.tokens import all_grants, new_token, revoke
from lopub.console import campaign_list, sessions, storage_pages
from lopub.console.app import HEADERS, PAGES, console_app, prepare
from lopub.console.context import MOST_WAITING
from lopub.console.requests import PageRequest, place_within
from lopub.console.responses import HERE
from lopub.console.sessions import Attempts, grant_of_session, new_session
from lopub.errors import Message, StorageFull
from lopub.files import claimed
from lopub.jobs.queue import ask, find_job, jobs_of
from lopub.pages import contribution
from lopub.pages.templating import LANGUAGES
from lopub.reports.batch import ReportBatch
from lopub.reports.dataset import Dataset
from lopub.reports.simulation.clients import simulate
from servers import Answer
from tiers import FULL

SCREENS = ("", "/watch", "/poster", "/publish", "/read", "/delete")
"""Of a campaign."""
SCRIPT = "<script>alert(1)</script>"
HOSTILE = {
    "name": "hostile",
    "language": "en",
    "title": {"en": SCRIPT, "de": SCRIPT + "de"},
    "description": {"en": SCRIPT, "de": f"'{SCRIPT}"},
    "consent": {"en": SCRIPT, "de": f'"{SCRIPT}'},
    "min_reports": 3,
    "licence": SCRIPT,
    "schema": {
        "fields": [
            {"name": SCRIPT, "type": "string", "question": {"en": SCRIPT, "de": SCRIPT}, "title": SCRIPT,
             "categories": [{"value": SCRIPT, "label": {"en": f"'{SCRIPT}", "de": SCRIPT}}, "b"],
             "other": {"en": SCRIPT, "de": SCRIPT}},
            {"name": "c", "type": "boolean", "question": f"{{{{ 7777 * 7777 }}}}{SCRIPT}"},
            {"name": f"d{SCRIPT}", "type": "list", "question": {"en": f"<img src=x onerror=alert(1)>{SCRIPT}", "de": SCRIPT},
             "categories": [{"value": f"x{SCRIPT}", "label": {"en": SCRIPT, "de": f"{SCRIPT}de"}}, f"-{SCRIPT}"],
             "none": f"-{SCRIPT}", "onlyIf": {"field": SCRIPT, "equals": SCRIPT}},
        ]
    },
}  # fmt: skip
"""A script in every text that a draft has, in every language."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    directory = tmp_path_factory.mktemp("console")
    with (
        console_here(f"sqlite:///{directory}/lopub.db", directory) as found,
        worker_here(found, directory),
    ):
        yield found


@pytest.fixture
def stranger(console: Console) -> Console:
    return console.stranger()


@pytest.fixture
def reader(stranger: Console) -> Console:
    """Somebody whose token may only read."""
    stranger.sign_in(stranger.reader)
    return stranger


def done(console: Console) -> list[Action]:
    """What the log holds."""
    store = store_at(console.address)
    found = actions(store)
    store.close()
    return found


def addresses() -> list[tuple[str, str, str]]:
    """Every page, with places in its path filled."""
    blanks = {"{draft}": "0" * 16, "{id}": "0" * 64, "{job}": "1", "{name}": "x"}
    found = []
    for one in PAGES:
        path = one.path
        for blank, text in blanks.items():
            path = path.replace(blank, text)
        found += [(method, path, one.scope) for method in sorted((one.methods or set()) - {"HEAD"})]
    return found


# ---- who may come in


def test_a_stranger_is_shown_where_to_sign_in_and_nothing_else(stranger: Console):
    for method, path, scope in addresses():
        if scope:
            answer = stranger.ask(method, path)
            back = f"?{urlencode({'back': path})}" if method == "GET" and path != "/console" else ""
            assert (answer.status, answer.headers["location"], answer.body) == (
                303,
                f"/console/sign-in{back}",
                b"",
            ), path


def test_a_part_of_a_page_sends_a_stranger_to_sign_in_as_a_whole(stranger: Console):
    answer = stranger.ask("GET", "/console/jobs/1", HX_Request="true")
    assert (answer.status, answer.headers["hx-redirect"], answer.body) == (
        204,
        "/console/sign-in",
        b"",
    )


def test_who_signs_in_is_led_back_to_where_they_were(stranger: Console):
    address = stranger.ask("GET", "/console?q=a%20b&state=open").headers["location"]
    form = re.search(
        r'name="back" value="([^"]+)"',
        stranger.get(address).partition('action="/console/sign-in"')[2],
    )
    assert form and html.unescape(form[1]) == "/console?q=a%20b&state=open"
    part = {"HX_Request": "true", "HX_Current_URL": f"{stranger.home}/console/jobs/1#lines"}
    assert (
        stranger.ask("GET", "/console/jobs/1", **part).headers["hx-redirect"]
        == "/console/sign-in?back=%2Fconsole%2Fjobs%2F1"
    )
    told = stranger.post("/console/sign-in", {"token": "wrong", "back": "/console/log"})
    assert told.status == 403 and b'name="back" value="/console/log"' in told.body
    answer = stranger.post("/console/sign-in", {"token": stranger.token, "back": "/console/log"})
    assert (answer.status, answer.headers["location"]) == (303, "/console/log")


ELSEWHERE = [
    "https://example.org", "//example.org", "/\\example.org", "/console//example.org", "/console/../metrics", "/consoles",
    "/metrics", "/console@example.org", "javascript:alert(1)", "/console/a\r\nSet-Cookie: a=b", "/console?a=b\n",
    "/console/log#x", "/console/ä", "", " /console/log", "/console/%2e%2e/metrics", f"/console?q={'a' * 2000}",
]  # fmt: skip


def test_nobody_is_led_out_of_the_console():
    assert [back for back in ELSEWHERE if place_within(back) != "/console"] == []


def test_a_token_that_reads_does_not_manage(reader: Console):
    for method, path, scope in addresses():
        if scope == "manage":
            answer = reader.ask(method, path)
            assert answer.status == 403, path
            assert b"this needs a token of scope manage" in answer.body
    assert "New draft" not in reader.get("/console")


def test_a_form_of_another_site_is_refused(console: Console):
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        for part in ("drafts", "sign-in", "language", "sign-out"):
            answer = console.post(f"/console/{part}", {"token": console.token}, **headers)
            assert answer.status == 403, (part, headers)
            assert b"came from another site" in answer.body, (part, headers)


def test_a_cookie_from_before_signing_in_is_worth_nothing(stranger: Console):
    stranger.cookie = "chosen-by-somebody-else"
    assert (
        stranger.post("/console/sign-in", {"token": stranger.token})
        .headers["set-cookie"]
        .count("chosen")
        == 0
    )
    assert stranger.ask("GET", "/console").status == 303


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(stranger: Console):
    cookie = stranger.sign_in().headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=lax", "Path=/console", f"Max-Age={sessions.LIFE_SECONDS}"):
        assert part in cookie
    assert "Secure" not in cookie
    assert (
        "Secure"
        in stranger.post(
            "/console/sign-in", {"token": stranger.token}, X_Forwarded_Proto="https"
        ).headers["set-cookie"]
    )


def test_after_signing_out_the_cookie_opens_nothing_and_no_page_was_kept(stranger: Console):
    stranger.sign_in()
    assert stranger.ask("GET", "/console").headers["cache-control"] == "no-store"
    assert stranger.post("/console/sign-out").status == 303
    assert stranger.ask("GET", "/console").status == 303


def test_a_revoked_token_ends_its_sessions(stranger: Console):
    store = store_at(stranger.address)
    known = {grant.name for grant in all_grants(store)}
    token = new_token(store, scope="read", days=1)
    (name,) = {grant.name for grant in all_grants(store)} - known
    stranger.sign_in(token)
    assert stranger.ask("GET", "/console").status == 200
    revoke(store, name)
    assert stranger.ask("GET", "/console").status == 303
    store.close()


def test_guessing_tokens_comes_to_an_end(stranger: Console, console: Console):
    answers = [
        stranger.sign_in(f"lopub_guess{i}").status for i in range(sessions.MOST_FAILURES + 2)
    ]
    assert answers[0] == 403
    assert answers[-1] == 429
    n_written = sum(action.what == "sign-in refused" for action in done(console))
    assert [stranger.sign_in(f"lopub_more{i}").status for i in range(20)] == [429] * 20
    assert (
        sum(action.what == "sign-in refused" for action in done(console)) == n_written
    )  # nothing is written any more
    assert console.ask("GET", "/console").status == 200  # who is in stays in
    assert "lopub_guess" not in console.get("/console/log")
    assert not [line for line in console.errors if "lopub_guess" in line]


def test_a_stranger_who_guesses_keeps_nobody_out(stranger: Console):
    """Forbids to try no token at all for a while: anybody who reaches the console could lock its stewards out."""
    assert [stranger.sign_in(f"lopub_guess{i}").status for i in range(sessions.MOST_FAILURES + 2)][
        -1
    ] == 429
    assert stranger.sign_in(stranger.reader).status == 303
    assert stranger.ask("GET", "/console").status == 200
    store = store_at(stranger.address)
    token = new_token(store, scope="read", days=1)
    (name,) = {grant.name for grant in all_grants(store)} & {
        hashlib.sha256(token.encode()).hexdigest()[:12]
    }
    revoke(store, name)
    store.close()
    assert stranger.sign_in(token).status == 429


def test_failures_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    attempts = Attempts()
    for _ in range(sessions.MOST_FAILURES):
        assert attempts.are_few()
        attempts.count()
    assert not attempts.are_few()
    now = sessions.WINDOW_SECONDS + 1.0
    assert attempts.are_few()


def test_a_session_ends_after_eight_hours(console: ConsoleHere, monkeypatch: pytest.MonkeyPatch):
    store, began = console.context.store, time.time()
    cookie = new_session(store, console.token)
    for hours, is_there in ((0.0, True), (7.9, True), (8.1, False)):
        monkeypatch.setattr("time.time", lambda hours=hours: began + 3600 * hours)
        assert (grant_of_session(store, cookie) is not None) is is_there


def test_only_so_many_sessions_are_kept_and_the_oldest_go(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    now = time.time()
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        store, cookies = console.context.store, []
        for second in range(5):
            monkeypatch.setattr("time.time", lambda second=second: now + second)
            cookies.append(new_session(store, console.token))
        assert [grant_of_session(store, one) is not None for one in cookies] == [False] * 2 + [
            True
        ] * 3


def test_a_session_row_holds_hashes_and_never_a_token(tmp_path: Path):
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        assert console.ask("GET", "/console").status == 200
        secrets = (console.token, console.token[6:], console.cookie)
        console.context.store.close()
        content = b"".join(path.read_bytes() for path in tmp_path.glob("lopub.db*"))
    assert hashlib.sha256(console.token.encode()).digest() in content
    assert [secret for secret in secrets if secret.encode() in content] == []


def test_an_expired_token_ends_its_sessions(stranger: ConsoleHere, monkeypatch: pytest.MonkeyPatch):
    store = stranger.context.store
    token = new_token(store, scope="read", days=1)
    stranger.sign_in(token)
    assert stranger.ask("GET", "/console").status == 200
    monkeypatch.setattr(sessions, "LIFE_SECONDS", 10 * 86_400)
    stranger.sign_in(token)
    later = time.time() + 86_401
    monkeypatch.setattr("time.time", lambda: later)
    assert stranger.ask("GET", "/console").status == 303


# ---- what every answer says


def test_every_answer_is_under_the_policy_and_is_not_kept(console: Console, stranger: Console):
    for visitor in (console, stranger):
        for method, path, _ in addresses():
            if path in ("/console/sign-in", "/console/sign-out") and method == "POST":
                continue  # no more guesses, and nobody leaves
            answer = visitor.ask(method, path)
            for name, value in HEADERS.items():
                assert answer.headers[name.lower()] == value, (path, name)
    policy = HEADERS["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy and "unsafe" not in policy


OUTSIDE = (
    "/console/static/..%2fapp.py",
    "/console/static/../app.py",
    "/console/static/%2e%2e/app.py",
    "/console/static/htmx.LICENSE",
    "/console/jobs/1/files/..%2foutcome.json",
    "/console/jobs/1/files/../../../lopub.db",
    "/console/jobs/1/files/outcome.json",
    "/console/jobs/%2e%2e/files/publication.zip",
    "/console/jobs/1%2f..%2f2/page",
    "/console/campaigns/..%2f..%2fx",
    "/console/jobs/99999999999/page",
    "/console/jobs/-1",
    "/console/drafts/..%2fx",
)


def test_no_address_leads_out_of_what_is_to_be_had(console: Console):
    store = store_at(console.address)
    ask(store, "plan", "x")
    store.close()
    answers = {path: console.ask("GET", path).status for path in OUTSIDE}
    assert {path: status for path, status in answers.items() if status not in (404, 405)} == {}


def test_the_console_has_no_metrics(console: Console):
    assert console.ask("GET", "/metrics").status == 404


VENDORED = {
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
}
"""htmx 2.0.11 as it was released."""


def test_scripts_of_others_are_as_they_were_released_with_their_licence(console: Console):
    for name, expected in VENDORED.items():
        body = console.ask("GET", f"/console/static/{name}").body
        assert hashlib.sha256(body).hexdigest() == expected, name
        licence = HERE / "static" / name.replace(".min.js", ".LICENSE")
        assert licence.stat().st_size > 100, name


def test_every_file_that_a_page_of_the_console_names_is_there(console: Console):
    pages = (console.get("/console"), console.get(begun(console)))
    named = {one for page in pages for one in re.findall(r'(?:src|href)="([^"]*\.\w+)"', page)}
    assert "/console/static/style.css" in named
    answers = {path: console.ask("GET", path) for path in named}
    assert {path for path, answer in answers.items() if answer.status != 200} == set()


# ---- texts


def test_a_script_in_any_text_of_a_draft_stays_a_text(console: Console):
    address = begun(console, HOSTILE)
    campaign = opened(console, HOSTILE)
    pages = [
        address,
        *(f"{address}{part}" for part in ("/plan", "/advice", "/preview", "/page")),
        "/console",
    ]
    pages += [
        f"{campaign}{part}" for part in ("", "/watch", "/poster", "/publish", "/read", "/delete")
    ]
    pages += ["/console/log", f"/console?q={SCRIPT}", f"{campaign}/ask?question={SCRIPT}"]
    for path in pages:
        for language in LANGUAGES:
            page = console.get(
                path.replace("<", "%3C").replace(">", "%3E"), Accept_Language=language
            )
            assert SCRIPT not in page, path
            assert page.count("<script") == len(
                re.findall(
                    r'<script (?:defer |type="module" )*src="/console/(?:static|contribute)/', page
                )
            )
            assert "<img src=x" not in page
            assert str(7777 * 7777) not in page


def test_a_slider_of_people_and_the_field_beside_it_move_each_other(console: Console):
    address = begun(console)
    moved = console.get(f"{address}/plan?scale=4.3&epsilon=2", HX_Request="true")
    assert 'hx-swap-oob="true"' in moved and 'name="people" value="20000"' in moved
    typed = console.get(f"{address}/plan?people=777&epsilon=2", HX_Request="true")
    assert (
        "777" in typed
        and 'name="people"' not in typed
        and 'name="scale" min="1" max="7" step="0.1" value="2.9"' in typed
    )
    for scale in ("nan", "inf", "-inf", "x", "1e999", ""):
        assert 'id="forecast"' in console.get(
            f"{address}/plan?scale={scale}&epsilon=2", HX_Request="true"
        )


def test_a_plan_is_kept_by_whichever_way_one_goes_on(console: Console):
    """Only the main button kept it once: whoever went on by the steps above opened a campaign for other people."""
    address = begun(console)
    ways = {"write": "", "preview": "/preview", "save": "/plan", "": "/plan"}
    for n, (button, place) in enumerate(ways.items(), start=700):
        answer = console.post(f"{address}/plan", {"people": str(n), "epsilon": "2.5", "do": button})
        assert answer.headers["location"] == f"{address}{place}"
        assert f'name="people" value="{n}"' in console.get(f"{address}/plan")
        assert f'value="{n}">{n}</data>' in console.get(f"{address}/preview")
    plan = console.get(f"{address}/plan")
    assert all(
        f'<button form="plan" name="do" value="{step}">' in plan for step in ("write", "preview")
    )
    assert all(
        f'<button form="draft" name="do" value="{step}">' in console.get(address)
        for step in ("plan", "preview")
    )


def test_a_plan_is_kept_as_it_is_moved(console: Console, reader: Console):
    address = begun(console)
    form = {"scale": "4.3", "epsilon": "2"}
    moved = console.post(f"{address}/plan", form, HX_Request="true")
    assert (moved.status, moved.headers["hx-trigger"]) == (200, "planned")
    assert 'id="people" name="people" value="20000"' in moved.body.decode()
    assert 'name="people" value="20000"' in console.get(f"{address}/plan")
    seen = reader.get(
        f"{address}/plan?people=5&epsilon=2"
    )  # who may only read keeps nothing, and is shown no button for it
    assert (
        'name="people" value="5"' in seen and "hx-post" not in seen and "button form=" not in seen
    )
    assert 'name="people" value="20000"' in reader.get(f"{address}/plan")


def test_advice_is_about_the_people_on_the_page(console: Console):
    address = begun(console)
    few, many = (
        console.get(f"{address}/advice?people={n}&epsilon=2", HX_Request="true")
        for n in (500, 50_000)
    )
    assert few != many and all("planned from:body" in text for text in (few, many))


def test_each_option_of_a_list_has_a_forecast(console: Console):
    fields = [
        {
            "name": "reads",
            "type": "list",
            "question": "What do you read?",
            "categories": ["books", "papers"],
        },
        {"name": "owns", "type": "boolean", "question": "A car?"},
    ]
    plan = console.get(
        f"{begun(console, {'name': 'reads', 'schema': {'fields': fields}})}/plan?people=1000&epsilon=2"
    )
    for asked in ("What do you read?: books", "What do you read?: papers", "A car?"):
        assert re.search(
            rf'<th scope="row">{re.escape(asked)}</th><td class="n"><data value="0\.\d+">', plan
        ), asked


def test_a_language_that_the_page_does_not_speak_gets_advice_beside_its_field(console: Console):
    draft = {
        "name": "tongues",
        "language": "fr",
        "translations": {"it": {}},
        "schema": {"fields": [{"name": "a", "type": "boolean"}]},
    }
    page = console.get(begun(console, draft))
    for place, tag in {"language": "fr", "translations": "it"}.items():
        box = re.search(rf'<div id="{place}-remarks">(.*?)</div>', page, re.DOTALL)
        assert (
            box
            and f"in English and German only; who reads {tag} sees your texts in {tag}" in box[1]
        )


def test_a_draft_is_taken_along_as_a_file(console: Console):
    address = begun(
        console, {"name": "along", "schema": {"fields": [{"name": "a", "type": "boolean"}]}}
    )
    answer = console.ask("GET", f"{address}/file")
    assert answer.headers["content-disposition"] == 'attachment; filename="along.json"'
    assert json.loads(answer.body)["schema"]["fields"][0]["name"] == "a"
    hostile = begun(console, {"name": 'x"/../y', "schema": {"fields": []}})
    assert (
        'filename="draft.json"'
        in console.ask("GET", f"{hostile}/file").headers["content-disposition"]
    )


def test_delete_counts_the_days_that_people_were_promised(console: Console):
    """Reports go at the end of the last of so many whole days after that of the close; one more was counted once."""
    draft = {
        "name": "kept",
        "min_reports": 1,
        "retention_days": 90,
        "schema": {"fields": [{"name": "a", "type": "boolean"}]},
    }
    address = opened(console, draft)
    store = store_at(console.address)
    entry = close_campaign(store, address.rpartition("/")[2])
    store.close()
    assert entry.closed is not None
    assert f"in 90 days, at the end of {day_of(entry.closed + 90)}" in console.get(
        f"{address}/delete"
    )
    assert "Closes by itself" not in console.get(address)


def test_epsilon_is_explained_and_above_8_there_is_a_warning(console: Console):
    address = begun(console)
    plain, weak = (
        console.get(f"{address}/plan?epsilon={epsilon}", HX_Request="true") for epsilon in (8, 9)
    )
    assert "What epsilon means: whoever sees one report" in plain and "is above 8" not in plain
    assert "Epsilon 9 is above 8: it protects on paper only." in weak


REPEAT = {"every_days": 7, "rounds": 6, "take_part": 3, "mode": "sampled"}


def in_rounds(name: str, **repeat: str | int) -> dict:
    fields = [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]
    opens = str(datetime.now(UTC).date() - timedelta(days=1))
    schedule = {"opens": opens, "repeat": REPEAT | repeat}
    return {"name": name, "min_reports": 40, "schedule": schedule, "schema": {"fields": fields}}


def test_a_campaign_in_rounds_is_planned_for_one_of_them_and_both_epsilons_are_shown(
    console: Console,
):
    address = begun(console, in_rounds("months"))
    plan = console.get(f"{address}/plan?people=1000&epsilon=2", HX_Request="true")
    assert 'take part in 3 of 6, which makes <data value="500">500</data> reports per round' in plan
    assert (
        "Epsilon of all reports of one device</dt><dd>6</dd>" in plan and "is above 8" not in plan
    )
    once = begun(
        console, {key: value for key, value in in_rounds("once").items() if key != "schedule"}
    )
    shares = [
        re.findall(r"one question</dt><dd>(.*?)</dd>", text)
        for text in (plan, console.get(f"{once}/plan?people=500&epsilon=2"))
    ]
    assert shares[0] == shares[1]
    assert "Epsilon 9 is above 8" in console.get(
        f"{address}/plan?people=1000&epsilon=3", HX_Request="true"
    )
    console.post(f"{address}/plan", {"people": "1000", "epsilon": "2"})
    assert "Epsilon of all reports of one device</dt><dd>6</dd>" in console.get(
        f"{address}/preview"
    )
    campaign = console.get(console.post(f"{address}/open").headers["location"])
    assert "Epsilon of all reports of one device</dt><dd>6</dd>" in campaign
    assert "6 of 7 days; a device takes part in 3 (sampled)" in campaign


def test_a_draft_that_keeps_an_answer_is_not_planned_as_if_it_were_asked_once(console: Console):
    answer = console.ask(
        "GET", f"{begun(console, in_rounds('kept', mode='permanent') | {'min_reports': 100})}/plan"
    )
    assert answer.status == 400 and b"a campaign in mode permanent is made with" in answer.body


def test_a_preview_is_the_contributors_own_page_and_knows_no_collector(console: Console):
    address = begun(console)
    assert f'<iframe src="{address}/page"' in console.get(f"{address}/preview")
    answer = console.ask("GET", f"{address}/page")
    page = answer.body.decode()
    assert 'data-collector=""' in page and 'data-preview="yes"' in page and 'data-closed=""' in page
    policy = answer.headers["content-security-policy"]
    assert policy == contribution.policy("data:", framed=True)
    assert answer.headers["cache-control"] == "no-store"
    for name, hashed in re.findall(r'(?:src|href)="(/[^"]+)" integrity="([^"]+)"', page):
        found = console.ask("GET", name)
        assert found.status == 200
        assert contribution.integrity(name.rpartition("/")[2]) == hashed
    assert console.ask("GET", "/console/contribute/page.html").status == 404


def test_what_is_opened_is_what_the_preview_showed(console: Console):
    address = begun(console, HOSTILE | {"name": "stale", "title": "Stale"})
    shown = re.search(r'name="campaign" value="(\w{64})"', console.get(f"{address}/preview"))
    assert shown
    assert (
        console.post(
            f"{address}/text", {"text": json.dumps(HOSTILE | {"name": "stale", "title": "Newer"})}
        ).status
        == 303
    )
    answer = console.post(f"{address}/open", {"campaign": shown[1]})
    assert answer.status == 400
    assert b"the draft was changed after this preview was shown" in answer.body
    assert "Newer" in console.get(address)


def test_the_embed_snippet_is_still_safe_once_it_is_pasted(console: Console):
    quoted = HOSTILE | {"name": "quoted", "title": '" onload="alert(1)'}
    page = console.get(opened(console, quoted))
    snippet = re.search(r'<textarea id="link"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert snippet
    assert html.unescape(snippet[1]).count('"') == 2
    assert "&lt;iframe" not in page  # no other site may frame it here


def test_a_hostile_upload_is_refused_with_a_sentence(console: Console, tmp_path: Path):
    import hostile_xlsx

    contents = [
        b"PK\x03\x04 nothing of the kind",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"name": "\xed"}',
        b"{}" * 10,
    ]
    for name in hostile_xlsx.HOSTILE if FULL else ("a_bomb_of_half_a_gigabyte", "formulas"):
        contents.append(hostile_xlsx.written(tmp_path / f"{name}.xlsx", name).read_bytes())
    before = console.get("/console").count("/console/drafts/")
    for content in contents:
        file = (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../x.xlsx"\r\n\r\n'
            + content
            + b"\r\n--x--\r\n"
        )
        answer = console.ask(
            "POST", "/console/drafts", file, Content_Type="multipart/form-data; boundary=x"
        )
        assert answer.status in (400, 413), content[:20]
        assert b"has a bug" not in answer.body
    assert console.get("/console").count("/console/drafts/") == before


def test_a_file_becomes_a_draft(console: Console):
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="d.json"\r\n\r\n'
    body = head + people.campaign("uploaded").canonical_bytes + b"\r\n--x--\r\n"
    answer = console.ask(
        "POST", "/console/drafts", body, Content_Type="multipart/form-data; boundary=x"
    )
    assert answer.status == 303
    assert 'value="uploaded"' in console.get(answer.headers["location"])


def test_what_is_wrong_stands_beside_its_field(console: Console):
    address = begun(
        console, HOSTILE | {"name": "Not a name", "min_reports": -1, "schedule": {"opens": "x"}}
    )
    page = console.get(address)
    for place in ("name", "min_reports", "schedule"):
        beside = re.search(f'<div id="{place}-remarks">(.*?)</div>', page, re.DOTALL)
        assert beside and 'class="mistake"' in beside[1], place
        assert f'aria-describedby="{place}-remarks"' in page
    part = {"Content_Type": "application/x-www-form-urlencoded", "HX_Request": "true"}
    body = urlencode(form_on(console, address) | {"name": "mended"}).encode()
    again = console.ask("POST", address, body, **part).body.decode()
    assert re.search(r'<div id="name-remarks" hx-swap-oob="true">\s*</div>', again)
    assert re.search(r'<div id="min_reports-remarks" hx-swap-oob="true">\s*<ul', again)


# ---- one draft in two tabs


def form_on(console: Console, address: str) -> dict[str, str]:
    """Every control of a draft's page with what stands in it."""
    page = (
        console.get(address)
        .partition('<form method="post" action="/console/drafts/')[2]
        .partition("</form>")[0]
    )
    found = {
        name: html.unescape(value)
        for name, value in re.findall(
            r'<input type="\w+"[^>]* name="([^"]+)" value="([^"]*)"', page
        )
    }
    found |= {
        name: html.unescape(text)
        for name, text in re.findall(
            r'<textarea[^>]* name="([^"]+)"[^>]*>(.*?)</textarea>', page, re.DOTALL
        )
    }
    kinds = re.findall(
        r'<select id="[^"]+" name="([^"]+)">.*?<option value="([^"]*)" selected', page
    )
    return found | dict(kinds)


def test_a_second_tab_does_not_overwrite_what_the_first_one_saved(console: Console):
    address = begun(console)
    first, second = form_on(console, address), form_on(console, address)
    assert first["tab"] != second["tab"]
    assert console.post(address, first | {"title.en": "From the first tab"}).status == 303
    part = {"Content_Type": "application/x-www-form-urlencoded", "HX_Request": "true"}
    body = urlencode(second | {"title.en": "From the second tab"}).encode()
    told = console.ask("POST", address, body, **part)
    assert b"was changed elsewhere after this page was loaded" in told.body
    assert b"Saved." not in told.body
    answer = console.post(address, second | {"title.en": "From the second tab", "do": "plan"})
    assert answer.status == 409
    assert "From the first tab" in console.get(address)
    copy = re.search(r'class="button main" href="([^"]+)"', answer.body.decode())
    assert copy and copy[1] != address
    kept = form_on(console, copy[1])
    assert kept["title.en"] == "From the second tab"
    assert {key: kept[key] for key in second if key.startswith("q")} == {
        key: second[key] for key in second if key.startswith("q")
    }


def test_a_text_does_not_overwrite_what_another_tab_saved(console: Console):
    address = begun(console)
    old = form_on(console, address)["version"]
    assert (
        console.post(
            f"{address}/text", {"text": json.dumps(HOSTILE | {"title": "Newer"}), "version": old}
        ).status
        == 303
    )
    answer = console.post(
        f"{address}/text", {"text": json.dumps(HOSTILE | {"title": "Older"}), "version": old}
    )
    assert answer.status == 409
    assert "Newer" in console.get(address)


def test_a_tab_that_saves_as_somebody_types_goes_on_saving(console: Console):
    address = begun(console)
    form = form_on(console, address)
    headers = {"Content_Type": "application/x-www-form-urlencoded", "HX_Request": "true"}
    for title in ("One", "Two"):  # the second is under way before the page has heard of the first
        body = urlencode(form | {"title.en": title}).encode()
        assert b"Saved." in console.ask("POST", address, body, **headers).body
    assert console.post(address, form | {"title.en": "Three"}).status == 303
    assert form_on(console, address)["title.en"] == "Three"


def test_a_question_is_binned_by_a_button_and_the_button_is_taken_back(console: Console):
    fields = [{"name": "age", "type": "integer", "question": "How old?", "constraints": {"minimum": 0, "maximum": 119}},
              {"name": "job", "type": "boolean", "question": "A job?"}]  # fmt: skip
    address = begun(
        console,
        {"name": "binned", "title": "Binned", "min_reports": 10, "schema": {"fields": fields}},
    )
    advice = console.get(f"{address}/advice")
    offered = re.search(
        r'name="version" value="(\w+)"><input type="hidden" name="question" value="age"><input[^>]*value="(\d+)"',
        advice,
    )
    assert offered, advice
    form = {"version": offered[1], "question": "age", "n": offered[2]}
    assert console.post(f"{address}/bin", form | {"version": "0" * 16}).status == 409
    assert console.post(f"{address}/bin", form | {"question": "job"}).status == 400
    assert console.post(f"{address}/bin", form).status == 303
    assert 'name="q0.edges" value="0, ' in console.get(address)
    assert "Take back the last change" in console.get(f"{address}/plan")
    assert (
        console.post(f"{address}/undo", {"from": "plan"}).headers["location"] == f"{address}/plan"
    )
    assert 'name="q0.maximum" value="119"' in console.get(address)
    assert console.post(f"{address}/undo").status == 303  # the text that it began with
    assert console.post(f"{address}/undo").status == 400


def test_a_draft_that_saves_itself_presses_no_button(console: Console):
    """htmx sends the button that has the focus along: whoever typed and went on by keyboard lost, or doubled, a question."""
    address = begun(console)
    before = form_on(console, address)
    for button in ("remove:0", "add:list", "copy"):
        form = before | {"title.en": button, "do": button}
        assert console.post(address, form, HX_Request="true").status == 200
        after = form_on(console, address)
        assert (after["title.en"], after["q0.key"], len(after)) == (
            button,
            before["q0.key"],
            len(before),
        )
    assert 'hx-params="not do"' in console.get(address)


def test_a_removed_question_comes_back(console: Console):
    address = begun(console)
    before = form_on(console, address)
    assert console.post(address, before | {"do": "remove:0"}).status == 303
    assert form_on(console, address)["q0.name"] != before["q0.name"]
    assert console.post(f"{address}/undo").status == 303
    assert form_on(console, address)["q0.name"] == before["q0.name"]


def test_a_draft_goes_only_where_somebody_says_that_it_is_meant(console: Console):
    address = begun(console)
    assert console.post(f"{address}/drop").status == 400
    assert 'name="sure" value="1" required' in console.get(address)
    assert console.post(f"{address}/drop", {"sure": "1"}).status == 303
    assert console.ask("GET", address).status == 404


# ---- what a token that reads is shown


def test_a_token_that_reads_is_shown_nothing_that_it_may_not_follow(
    console: ConsoleHere, reader: Console
):
    """A page offered readers the files with reports once, and every button of a draft."""
    draft = begun(console)
    console.post(f"{draft}/bin")
    closed = opened(console, GERMAN | {"name": "read", "language": "en", "title": "Read"})
    console.post(f"{closed}/close", {"typed": closed.rpartition("/")[2]})
    job = ask(console.context.store, "publish", closed.rpartition("/")[2])
    todo, seen = {"/console", draft, closed, f"/console/jobs/{job.number}"}, set[str]()
    n_forms = 0
    while todo:
        seen.add(path := todo.pop())
        answer = reader.ask("GET", path)
        assert answer.status in (200, 400), (path, answer.status)  # a draft may have mistakes
        page = html.unescape(answer.body.decode()) if b"<html" in answer.body else ""
        page = re.sub("<noscript>.*?</noscript>", "", page)  # of a form that only asks
        posts = re.findall(
            r'method="post" action="([^"]+)"|hx-post="([^"]+)"|formaction="([^"]+)', page
        )
        forms = {one for found in posts for one in found if one}
        n_forms += len(forms)
        assert forms <= {"/console/language", "/console/sign-out"}, path
        assert not re.findall(r'<button[^>]* name="do"', page), path
        links = re.findall(r'(?:href|src|hx-get)="(/[^"#]*)', page)
        todo |= {one for one in links if one.startswith("/console")} - seen
    assert n_forms and {f"{draft}/plan", f"{draft}/preview", f"{closed}/read"} <= seen


# ---- forms, downloads, and what takes long

FORMS = {
    b"": "Missing boundary",
    b"; boundary=x": "the form ended too early",
    b"; boundary=y": "Invalid multipart data",
}


@pytest.mark.parametrize("kind", list(FORMS))
def test_a_malformed_form_is_refused_with_a_sentence(console: Console, kind: bytes):
    body = b'--x\r\nContent-Disposition: form-data; name="from"\r\n\r\nblank'
    content_type = "multipart/form-data" + kind.decode()
    before = console.get("/console").count("/console/drafts/")
    answer = console.ask("POST", "/console/drafts", body, Content_Type=content_type)
    assert answer.status == 400 and FORMS[kind] in answer.body.decode()
    assert console.get("/console").count("/console/drafts/") == before


@pytest.mark.parametrize(
    "body",
    [
        b"&".join(b"a%d=" % i for i in range(20_001)),
        b"--x\r\nContent-Disposition: form-data\r\n\r\nx\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n\r\n' * 2 + b"--x--",
    ],
    ids=["fields", "nameless", "files"],
)
def test_a_form_with_too_many_parts_or_without_names_is_refused(console: Console, body: bytes):
    kind = "multipart/form-data; boundary=x" if body.startswith(b"--") else FORM
    answer = console.ask("POST", "/console/drafts", body, Content_Type=kind)
    assert answer.status == 400 and b"the form cannot be read: " in answer.body


def test_a_form_that_is_too_long_is_refused_before_all_of_it_is_kept(console: Console):
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    for body, kind in (
        (part + bytes(3 * 2**20) + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b"a=" + b"b" * 3 * 2**20, FORM),
    ):
        answer = console.ask("POST", "/console/drafts", body, Content_Type=kind)
        assert answer.status == 413 and b"at most 2,097,152 bytes" in answer.body


def test_a_body_of_another_kind_is_no_form(console: Console):
    answer = console.ask("POST", "/console/drafts", b"{}", Content_Type="application/json")
    assert answer.status == 415 and b"a form must come as" in answer.body


@pytest.mark.parametrize("charset", ["punycode", "undefined", '"PunyCode"', "idna", "latin-1", ""])
def test_a_form_is_not_decoded_as_its_sender_says(console: Console, charset: str):
    """Forbids to leave the codec to the sender: one form in punycode would stop the console for
    hours, and `undefined` fails."""
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    body = b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\nx\r\n--x--\r\n'
    answer = console.ask("POST", "/console/sign-in", body, Content_Type=kind)
    assert answer.status == 415 and b"must be encoded in UTF-8" in answer.body


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", "utf8", '"Utf-8"'])
def test_a_form_may_say_that_it_is_in_utf_8(console: Console, charset: str):
    answer = console.post(
        "/console/sign-in", {"token": "x"}, Content_Type=f"{FORM}; charset={charset}"
    )
    # read, and refused as a wrong token; 429 after too many of these
    assert answer.status in (403, 429) and b"in UTF-8" not in answer.body


def test_a_form_that_anybody_may_send_is_short(console: Console):
    for path in ("/console/sign-in", "/console/language"):
        answer = console.post(path, {"token": "x" * 16 * 2**10})
        assert answer.status == 413 and b"at most 16,384 bytes" in answer.body
        answer = console.post(path, {f"a{i}": "" for i in range(21)})
        assert answer.status == 400 and b"Too many fields" in answer.body


def test_reports_are_exported_whole_and_nothing_stays_here(console: ConsoleHere, reader: Console):
    address = send(console, "exported", 30, min_reports=1)
    answer = console.post(f"{address}/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="reports.parquet"'
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert pyarrow.parquet.read_table(io.BytesIO(answer.body)).num_rows == 30
    assert [*(console.context.files / "downloads").iterdir()] == []
    assert reader.post(f"{address}/export").status == 403
    assert ("reports exported", address.rpartition("/")[2]) in {
        (one.what, one.subject) for one in done(console)
    }


def test_a_backup_that_is_fetched_is_restored(console: ConsoleHere, tmp_path: Path):
    send(console, "saved", 30, min_reports=1)
    answer = console.post("/console/backup")
    assert int(answer.headers["content-length"]) == len(answer.body)
    (tmp_path / "lopub.backup").write_bytes(answer.body)
    other = store_at(f"sqlite:///{tmp_path}/other.db")
    restore(tmp_path / "lopub.backup", other)
    assert "saved" in {entry.campaign.terms.name for entry in all_campaigns(other)}
    other.close()
    assert [*(console.context.files / "downloads").iterdir()] == []
    assert "database backed up" in {one.what for one in done(console)}


def test_a_backup_that_cannot_be_made_is_a_page_with_a_sentence(
    console: ConsoleHere, monkeypatch: pytest.MonkeyPatch
):
    """Forbids to begin to send what is not whole: half a file would look like a backup."""

    def full(*_: object) -> int:
        raise StorageFull("no space")

    monkeypatch.setattr(storage_pages, "backup", full)
    answer = console.post("/console/backup")
    assert answer.status == 507 and b'role="alert"' in answer.body
    assert [*(console.context.files / "downloads").iterdir()] == []


def test_what_a_killed_console_left_half_made_is_removed(console: ConsoleHere):
    downloads = console.context.files / "downloads"
    for name in ("left", "under way"):
        (downloads / name).mkdir(parents=True)
        (downloads / name / "lopub.backup").write_text("reports")
    with claimed(downloads / "under way"):
        prepare(console.context)
        assert [path.name for path in downloads.iterdir()] == ["under way"]
    prepare(console.context)
    assert [*downloads.iterdir()] == []


def test_reports_that_are_deleted_meanwhile_are_not_exported(
    console: ConsoleHere, monkeypatch: pytest.MonkeyPatch
):
    address = send(console, "erased", 30, min_reports=1)
    entry = close_campaign(console.context.store, address.rpartition("/")[2])
    read = storage_pages.batch_of

    def read_then_erased(store: ReportStore, entry: Entry) -> ReportBatch:
        batch = read(store, entry)
        erase(store, entry)
        return batch

    monkeypatch.setattr(storage_pages, "batch_of", read_then_erased)
    assert console.post(f"{address}/export").status >= 400
    assert entry.erased is None
    assert [*(console.context.files / "downloads").iterdir()] == []


def test_whoever_asks_a_question_keeps_nobody_waiting(
    console: ConsoleHere, monkeypatch: pytest.MonkeyPatch
):
    """Questions waited for each other in threads that everything else needed; more than there were of them stopped all."""
    address = send(console, "asked", 1, min_reports=1)
    goes_on, n_running = threading.Event(), 0

    def slow(request: PageRequest) -> Response:
        nonlocal n_running
        n_running += 1
        goes_on.wait(60)
        n_running -= 1
        return Response(str(n_running))

    (route,) = (one for one in PAGES if one.path == "/console/campaigns/{id}/ask")
    monkeypatch.setattr(route, "handler", slow)
    headers = {"cookie": f"lopub_console={console.cookie}", "host": "console.test"}

    async def at_once() -> tuple[list[Answer], Answer]:
        n = MOST_WAITING + 4
        asked = [
            asyncio.create_task(console.answered("GET", f"{address}/ask", b"", headers))
            for _ in range(n)
        ]
        other = await console.answered("GET", "/console", b"", headers)
        async with asyncio.timeout(600):
            while sum(task.done() for task in asked) < n - MOST_WAITING - 1:
                await asyncio.sleep(0.01)  # until all but those that may wait are sent away
        goes_on.set()
        return await asyncio.gather(*asked), other

    answers, other = console.runner.run(at_once())
    assert other.status == 200
    found = Counter(answer.status for answer in answers)
    assert found[200] == MOST_WAITING + 1 and found[503] == 3
    assert {answer.body for answer in answers if answer.status == 200} == {b"0"}  # one at a time
    assert b"the console is busy" in next(one.body for one in answers if one.status == 503)


# ---- numbers


def wait_for(holds: Callable[[], bool]) -> None:
    over = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < over
        time.sleep(0.1)


def test_below_min_reports_no_screen_gives_the_number_away(console: Console):
    few, more = (send(console, name, n, min_reports=40) for name, n in (("few", 17), ("fewer", 23)))
    for part in ("", "/watch", "/poster", "/publish", "/read", "/delete"):
        one, two = (
            console.get(address + part).replace(address.rpartition("/")[2], "id")
            for address in (few, more)
        )
        one, two = (
            re.sub(r"few(er)?|[0-9a-f]{8,16}|<svg.*?</svg>", "", page) for page in (one, two)
        )
        assert one == two
    assert "Not enough yet." in console.get(few)
    store = store_at(console.address)
    close_campaign(store, few.rpartition("/")[2])
    store.close()
    answer = console.post(f"{few}/publish")
    assert answer.status == 400
    assert b">there are not enough reports yet to publish anything</p>" in answer.body


def test_no_page_of_the_console_counts_rows(console: ConsoleHere, monkeypatch: pytest.MonkeyPatch):
    """Forbids to look at the table of reports for a page: with ten million of them that takes seconds."""
    address = send(console, "counted", 30, min_reports=20)
    # which looks at a bounded number, beside the pages
    monkeypatch.setattr(console.context.alarm_checks, "last", lambda *_: None)
    statements: list[str] = []

    def heard(*given: Any) -> None:
        statements.append(given[2])

    event.listen(Engine, "before_cursor_execute", heard)
    for path in ("/console", "/console/log", *(address + part for part in SCREENS)):
        console.get(path)
    event.remove(Engine, "before_cursor_execute", heard)
    assert len(statements) > 5 and "tallies" in " ".join(statements)
    assert not [text for text in statements if re.search(r"\breports\b", text)]


def test_from_min_reports_on_the_counts_are_shown(console: Console):
    page = console.get(send(console, "enough", 42, min_reports=40))
    assert '<data value="42">42</data>' in page
    assert "Reports by day" in page


def test_what_is_watched_of_rounds_is_one_of_them_and_hides_those_with_too_few(console: Console):
    """A second round with as many reports is no reason to expect less error of a share."""
    address = opened(console, in_rounds("watched"))
    store = store_at(console.address)
    entry = find_campaign(store, address.rpartition("/")[2])
    pages = []
    for number, n in enumerate((60, 60, 7)):
        slot = entry.campaign.terms.schedule.slots[number]
        table = Dataset(entry.campaign.domain, np.zeros((n, 2), dtype=np.uint16))
        store.write(
            [
                Submission(
                    entry.number,
                    _rows(simulate(table, entry.campaign, seed=slot, slot=slot), entry.number),
                )
            ]
        )
        pages.append(
            re.findall(r'<div id="watch".*?</details>', console.get(address), re.DOTALL)[0]
        )
    store.close()
    errors = [
        re.findall(r"Expected error in the last of them</dt><dd>(.*?)</dd>", page) for page in pages
    ]
    assert len(errors[0]) == 1 and errors[0] == errors[1]
    assert pages[2] == pages[1] and '<data value="120">120</data>' in pages[1]
    assert "Reports by round" in pages[0] and "at this pace" not in pages[0]


def test_a_campaign_closes_only_where_its_id_was_typed(console: Console):
    address = send(console, "typed", 1, min_reports=1)
    campaign_id = address.rpartition("/")[2]
    for typed in ("", campaign_id[:7], "0" * 64, "typed"):
        assert console.post(f"{address}/close", {"typed": typed}).status == 400
        assert console.post(f"{address}/delete", {"typed": typed}).status == 400
    assert (
        console.post(f"{address}/delete", {"typed": campaign_id}).status == 400
    )  # not before it is closed
    assert console.post(f"{address}/close", {"typed": campaign_id[:8]}).status == 303
    store = store_at(console.address)
    (entry,) = (one for one in all_campaigns(store) if one.campaign.id == campaign_id)
    store.close()
    assert entry.closed is not None
    assert "campaign closed" in console.get("/console/log")


def test_what_stewards_do_is_in_the_log(console: Console):
    own = opened(console, HOSTILE | {"name": "logged"}).rpartition("/")[2]
    assert console.ask("GET", f"{begun(console)}/file").status == 200
    assert console.post(f"/console/campaigns/{own}/close", {"typed": own}).status == 303
    found = {(one.what, one.subject) for one in done(console) if one.who}
    assert {("campaign opened", own), ("campaign closed", own)} <= found
    assert "file fetched" in {what for what, _ in found}


def test_made_up_people_answer_in_a_demo_only(console: Console):
    address = send(console, "earnest", 1, min_reports=1)
    answer = console.post(f"{address}/answer", {"people": "50"})
    assert answer.status == 403
    assert b"only in a demo do made-up people answer" in answer.body
    assert "/answer" not in console.get(address)


@pytest.mark.parametrize("typed", ["abc", "-5", "0", "", "2.5", "100001"])
def test_only_a_number_of_made_up_people_answers(tmp_path: Path, typed: str):
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path, is_demo=True) as console:
        address = send(console, "demo", 1, min_reports=1)
        told = console.post(f"{address}/answer", {"people": typed})
        assert told.status == 400 and b"a whole number from 1 to 100,000" in told.body
        assert jobs_of(console.context.store) == []
        assert console.post(f"{address}/answer", {"people": "7"}).status == 303
        assert [job.choices["people"] for job in jobs_of(console.context.store)] == [7]


def test_the_first_page_says_that_nothing_is_deleted_at_present(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    """Retention that stops because of a clock stopped silently: nobody learned that reports stay for longer."""
    told = Message("no report is deleted: a clock shows {today}", {"today": "2027-01-01"})
    assert 'role="alert"' not in console.get("/console")
    monkeypatch.setattr(campaign_list, "retention_problem", lambda _: told)
    assert "no report is deleted: a clock shows 2027-01-01" in console.get("/console")


def test_states_are_told_apart(console: Console):
    later = people.campaign("later")
    draft = HOSTILE | {
        "name": "later",
        "title": "Later",
        "schedule": {"opens": "2990-12-01", "closes": "2990-12-31"},
    }
    opened(console, draft)
    send(console, "running", 1, min_reports=1)
    over = send(console, "finished", 1, min_reports=1).rpartition("/")[2]
    store = store_at(console.address)
    close_campaign(store, over)
    store.close()
    page = console.get("/console?q=Later")
    assert 'class="state planned"' in page and 'class="state open"' not in page
    assert 'class="state open"' in console.get("/console?q=running")
    assert 'class="state closed"' in console.get("/console?q=finished")
    assert later.terms.name not in console.get("/console?q=running&state=open").split("<tbody>")[1]
    assert "Nothing is called like that" in console.get("/console?q=no-such-thing")


def test_a_publication_in_another_language_is_asked_for_with_its_choices(console: Console):
    address = send(console, "choices", 5, min_reports=5)
    assert b"close the campaign first" in console.post(f"{address}/publish").body
    store = store_at(console.address)
    close_campaign(store, address.rpartition("/")[2])
    assert console.post(f"{address}/publish", {"copies": "1000"}).status == 400
    assert (
        b"this round cannot be published" in console.post(f"{address}/publish", {"round": "3"}).body
    )
    chosen = {
        "numbers": "draw",
        "language": "de",
        "copies": "2",
        "seed": "7",
        "rows": "9",
        "counts": "1",
    }
    job = find_job(
        store,
        int(console.post(f"{address}/publish", chosen).headers["location"].rpartition("/")[2]),
    )
    store.close()
    expected = {
        "structure": "calibrated",
        "method": "shrunk",
        "numbers": "draw",
        "language": "de",
        "copies": 2,
        "seed": 7,
        "rows": 9,
    }
    assert job.choices == expected | {"counts": True}


def test_a_plan_that_was_tried_out_is_what_is_opened(console: Console):
    address = begun(console, HOSTILE | {"name": "tried", "title": "Tried"})
    assert (
        console.post(f"{address}/plan", {"people": "60", "epsilon": "3", "do": "try"}).status == 303
    )
    wait_for(
        lambda: re.search('class="state (done|failed)"', console.get(f"{address}/plan")) is not None
    )
    assert 'class="state done"' in console.get(f"{address}/plan"), console.get(
        "/console/log"
    ) + "".join(console.errors)
    number = re.findall(r"/console/jobs/(\d+)", console.get(f"{address}/plan"))[0]
    made = console.ask("GET", f"/console/jobs/{number}/files/campaign.json")
    assert made.headers["content-disposition"].startswith("attachment")
    campaign = console.post(f"{address}/open").headers["location"].rpartition("/")[2]
    assert campaign == hashlib.sha256(made.body).hexdigest()
    page = console.ask("GET", f"/console/jobs/{number}/page")
    assert page.headers["content-security-policy"].startswith("sandbox;")


# ---- words


GERMAN = {
    "name": "deutsch", "language": "de", "title": "Deutsch", "min_reports": 3,
    "schema": {"fields": [
        {"name": "alter", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "beruf", "type": "boolean", "question": "Ein Beruf?", "onlyIf": {"field": "alter", "atLeast": 0}},
    ]},
}  # fmt: skip


def test_no_page_in_german_says_anything_in_english(console: Console):
    """Texts of other packages that nobody has translated are marked as English; there must be none."""
    address = begun(console, GERMAN)
    wrong = begun(console, GERMAN | {"name": "Falscher Name", "min_reports": 0})
    campaign = opened(console, GERMAN | {"title": "Zwei"})
    console.post(f"{address}/plan", {"people": "60", "epsilon": "3", "do": "try"})
    job = re.findall(r"/console/jobs/\d+", console.get(f"{address}/plan"))[0]
    wait_for(lambda: 'class="state done"' in console.get(job))
    pages = [
        address,
        wrong,
        f"{address}/plan",
        f"{address}/advice",
        f"{address}/preview",
        job,
        "/console/log",
        "/console",
    ]
    pages += [
        f"{campaign}{part}" for part in ("", "/watch", "/poster", "/publish", "/read", "/delete")
    ]
    told = [console.ask("GET", path, Accept_Language="de") for path in pages]
    assert {answer.status for answer in told} == {200}
    told += [
        console.ask("GET", path, Accept_Language="de")
        for path in (f"{wrong}/plan", "/console/drafts/x", "/console/jobs/99999")
    ]
    told += [
        console.post(f"{campaign}{part}", Accept_Language="de")
        for part in ("/close", "/publish", "/delete")
    ]
    told += [
        console.post(f"{address}/bin", Accept_Language="de"),
    ]
    for answer in told:
        english = re.findall(r'lang="en"[^>]*>([^<]*)', answer.body.decode())
        assert english in (["English"], []), english
        assert '<html lang="de">' in answer.body.decode() or b"<html" not in answer.body


def test_the_console_speaks_the_readers_language(console: Console):
    assert '<html lang="de">' in console.get("/console", Accept_Language="de-AT,en;q=0.5")
    assert "Erhebungen" in console.get("/console", Accept_Language="de")
    assert "Campaigns" in console.get("/console", Accept_Language="fr")


def test_another_language_is_chosen_where_one_is(console: Console):
    address = f"{begun(console)}/plan"
    form = re.search(
        r'action="/console/language"><input type="hidden" name="back" value="([^"]+)"',
        console.get(address),
    )
    assert form and form[1] == address
    assert (
        console.post("/console/language", {"language": "de", "back": address}).headers["location"]
        == address
    )
    assert (
        console.post("/console/language", {"language": "de", "back": "//example.org"}).headers[
            "location"
        ]
        == "/console"
    )


# ---- what an operator has set


@pytest.mark.parametrize(
    ("public", "is_warned_of"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("http://0.0.0.0:8000", True),
        ("https://collector.example", False),
        ("http://192.0.2.1:8000/lopub", False),
    ],
)
def test_a_poster_that_leads_to_this_machine_only_says_so(
    tmp_path: Path, public: str, is_warned_of: bool
):
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as here:
        campaign = send(here, "poster", 1, min_reports=1)
        context = replace(here.context, public=public)
        here.app = console_app(context)
        for page in (campaign, f"{campaign}/poster"):
            shown = here.get(page)
            assert ("This address leads to this machine only" in shown) is is_warned_of
            assert f"{public}/c/" in shown


def test_closing_a_closed_campaign_is_not_logged_again(tmp_path: Path):
    with console_here(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as here:
        campaign = send(here, "twice", 1, min_reports=1)
        typed = {"typed": campaign.rpartition("/")[2]}
        for _ in range(2):
            assert here.post(f"{campaign}/close", typed).status == 303
        assert [one.what for one in done(here)].count("campaign closed") == 1
