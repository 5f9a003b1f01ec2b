"""Management over real HTTP: campaigns, tokens, counts, operations; and the description of it all."""

import hashlib
import itertools
import json
import time
from datetime import date

import pytest
import sqlalchemy

import people
from lopub.campaign.report import FRAMED_TYPE, framed
from lopub.campaign.schedule import EPOCH
from lopub.collector.campaigns import close_campaign
from lopub.collector.database import store_at
from lopub.collector.steward_log import actions
from lopub.collector.tokens import all_grants, new_token
from servers import Answer, Running, running_collector

CAMPAIGN = people.campaign(min_reports=3)
JSON = "application/json"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def collector(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """One on each kind of store."""
    database = (
        f"sqlite:///{tmp_path_factory.mktemp('store')}/lopub.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database()
    )
    with running_collector(database) as running:
        yield running


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory):
    """A collector in SQLite that the tests of this file share."""
    with running_collector(f"sqlite:///{tmp_path_factory.mktemp('steady')}/lopub.db") as running:
        yield running


def token(collector: Running, scope: str = "manage") -> dict[str, str]:
    store = store_at(collector.address)
    try:
        return {"Authorization": f"Bearer {new_token(store, scope=scope, days=1)}"}
    finally:
        store.close()


def put(collector: Running, target=CAMPAIGN, *, id: str | None = None, **headers: str) -> Answer:
    path = f"/campaigns/{id or target.id}"
    return collector.ask("PUT", path, target.canonical_bytes, Content_Type=JSON, **headers)


def assert_problem(answer: Answer, status: int, name: str, sentence: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status, answer.json["status"], answer.json["type"]) == (
        status,
        status,
        f"urn:lopub:problem:{name}",
    )
    assert sentence in answer.json["detail"]


def test_a_campaign_lives_from_its_opening_to_its_close(collector: Running):
    manage = token(collector)
    answer = put(collector, **manage)
    assert (answer.status, answer.json["open"], answer.json["name"]) == (201, True, "survey")
    assert put(collector, **manage).status == 200
    path = f"/campaigns/{CAMPAIGN.id}"
    data = people.reports(CAMPAIGN, 4)
    collector.ask("POST", f"{path}/reports", framed(data[:2]), Content_Type=FRAMED_TYPE)
    assert_problem(
        collector.ask("GET", f"{path}/counts", **manage),
        409,
        "too-few-reports",
        "shows its counts from 3 reports on",
    )
    collector.ask("POST", f"{path}/reports", framed([*data, b"bad"]), Content_Type=FRAMED_TYPE)
    counts = collector.ask("GET", f"{path}/counts", **manage).json
    assert (counts["reports"], counts["refused"], counts["withdrawn"]) == (4, {"length": 1}, 0)
    assert sum(each["reports"] for each in counts["slots"]) == 4
    assert all(
        date.fromisoformat(each["day"]).toordinal() - EPOCH.toordinal() == each["slot"]
        for each in counts["slots"]
    )
    typed = json.dumps({"id": CAMPAIGN.id})
    for wrong in (
        b"",
        b"{",
        b'{"id": 1}',
        json.dumps({"id": CAMPAIGN.id[:16]}).encode(),
        json.dumps({"id": "0" * 64}).encode(),
    ):
        assert_problem(
            collector.ask("POST", f"{path}/close", wrong, **manage),
            422,
            "wrong-campaign",
            "closing cannot be undone",
        )
    closed = collector.ask("POST", f"{path}/close", typed, **manage)
    assert (closed.status, closed.json["open"]) == (200, False)
    assert collector.ask("POST", f"{path}/close", typed, **manage).json == closed.json
    assert_problem(put(collector, **manage), 409, "closed", "is closed")
    late = collector.ask("POST", f"{path}/reports", framed(data), Content_Type=FRAMED_TYPE)
    assert_problem(late, 409, "closed", "is closed")
    listed = collector.ask("GET", "/campaigns", **manage).json["campaigns"]
    assert closed.json in listed


def test_what_stewards_do_over_http_is_logged_once(tmp_path_factory: pytest.TempPathFactory):
    """With the name of the token and the start of the id; nothing where nothing changes."""
    with running_collector(f"sqlite:///{tmp_path_factory.mktemp('log')}/lopub.db") as collector:
        manage = token(collector)
        typed = json.dumps({"id": CAMPAIGN.id})
        put(collector, **manage)
        put(collector, **manage)
        for _ in range(2):
            collector.ask("POST", f"/campaigns/{CAMPAIGN.id}/close", typed, **manage)
        assert collector.has_said("campaign closed")
        store = store_at(collector.address)
        (grant,) = all_grants(store)
        assert [one.what for one in actions(store)] == ["campaign closed", "campaign opened"]
        store.close()
    logged = [json.loads(line) for line in collector.errors if line.startswith("{")]
    stated = {"token": grant.name, "campaign": CAMPAIGN.id[:16]}
    found = [one for one in logged if "token" in one]
    assert [one["event"] for one in found] == ["campaign opened", "campaign closed"]
    assert all(one.items() >= stated.items() for one in found)


def test_a_campaign_closed_from_outside_takes_no_more_reports(collector: Running):
    """The collector has the campaign in its memory as an open one; the store has the last word."""
    target = people.campaign("outside")
    put(collector, target, **token(collector))
    path = f"/campaigns/{target.id}/reports"
    body = framed(people.reports(target, 1))
    assert collector.ask("POST", path, body, Content_Type=FRAMED_TYPE).status == 200
    store = store_at(collector.address)
    close_campaign(store, target.id)
    store.close()
    for _ in range(2):
        answer = collector.ask("POST", path, body, Content_Type=FRAMED_TYPE)
        assert_problem(answer, 409, "closed", "is closed")


def test_the_canonical_bytes_can_be_kept_for_ever(steady: Running):
    put(steady, **token(steady))
    answer = steady.ask("GET", f"/campaigns/{CAMPAIGN.id}")
    assert (answer.body, answer.headers["content-type"]) == (CAMPAIGN.canonical_bytes, JSON)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    again = steady.ask("GET", f"/campaigns/{CAMPAIGN.id}", If_None_Match=answer.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    unknown = steady.ask("GET", f"/campaigns/{'0' * 64}")
    assert_problem(unknown, 404, "unknown-campaign", "there is no campaign 0000000000000000… here")


# ---- tokens

MANAGED = [
    ("GET", "/campaigns"),
    ("PUT", f"/campaigns/{CAMPAIGN.id}"),
    ("POST", f"/campaigns/{CAMPAIGN.id}/close"),
]
MANAGED.append(("GET", f"/campaigns/{CAMPAIGN.id}/counts"))


def test_nothing_is_managed_without_a_token(steady: Running):
    wrong = (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer \xff"},
    )
    let_in = []
    for (method, path), headers in itertools.product(MANAGED, wrong):
        answer = steady.ask(method, path, **headers)
        if (answer.status, answer.headers.get("www-authenticate")) != (401, "Bearer"):
            let_in.append((method, path, headers, answer.status))
    assert let_in == []
    sentence = "this needs a token that the collector knows"
    assert_problem(answer, 401, "unauthorized", sentence)


def test_an_expired_token_is_refused(steady: Running):
    headers = token(steady)
    store = store_at(steady.address)
    with store.writing() as connection:
        connection.execute(
            sqlalchemy.text("UPDATE tokens SET expires = :now"), {"now": int(time.time()) - 1}
        )
    store.close()
    assert_problem(
        steady.ask("GET", "/campaigns", **headers), 401, "unauthorized", "the token has expired"
    )


def test_a_token_to_read_does_not_manage(steady: Running):
    headers = token(steady, "read")
    assert steady.ask("GET", "/campaigns", **headers).status == 200
    answer = put(steady, **headers)
    assert_problem(
        answer, 403, "forbidden", "this needs a token of scope manage, and this one has scope read"
    )


# ---- bad input


def test_a_campaign_that_differs_from_its_id_is_refused(steady: Running):
    answer = put(steady, id="0" * 64, **token(steady))
    assert_problem(
        answer,
        422,
        "wrong-campaign",
        "this is not campaign 0000000000000000…: its bytes were changed",
    )


def test_a_campaign_that_is_not_spelt_canonically_is_refused(steady: Running):
    body = CAMPAIGN.canonical_bytes.replace(b":", b": ", 1)
    path = f"/campaigns/{hashlib.sha256(body).hexdigest()}"
    answer = steady.ask("PUT", path, body, Content_Type=JSON, **token(steady))
    assert_problem(answer, 422, "wrong-campaign", "the file is not spelt as a campaign is")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        "7",
        '{"id": 7}',
        '{"id": "AA"}',
        '{"id": "!!!!!!!!!!!!!!!!!!!!!!"}',
        "[" * 4000,
    ],
)
def test_a_withdrawal_that_names_no_report_is_refused(steady: Running, body: str):
    put(steady, **token(steady))
    answer = steady.ask("POST", f"/campaigns/{CAMPAIGN.id}/withdrawals", body, Content_Type=JSON)
    assert_problem(answer, 400, "malformed", "bytes of id as base64url")


def test_a_withdrawal_in_another_media_type_is_refused(steady: Running):
    put(steady, **token(steady))
    answer = steady.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/withdrawals", b"x", Content_Type="text/plain"
    )
    assert_problem(answer, 415, "media-type", "the Content-Type must be application/json")


def test_what_is_not_there_is_told_as_a_problem(steady: Running):
    assert_problem(
        steady.ask("GET", "/nothing"), 404, "not-found", "there is nothing at this address"
    )
    assert_problem(
        steady.ask("DELETE", "/health"),
        405,
        "method-not-allowed",
        "this method is not allowed here",
    )


# ---- operations


def test_a_collector_says_that_it_is_alive_and_ready(steady: Running):
    assert steady.ask("GET", "/health").json == {"status": "alive"}
    assert steady.ask("GET", "/ready").json == {"status": "ready"}


def test_metrics_have_a_counter_for_every_reason(steady: Running):
    put(steady, **token(steady))
    before = steady.ask("GET", "/metrics", **token(steady)).body.decode()
    steady.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/reports", framed([b"x", b"y"]), Content_Type=FRAMED_TYPE
    )
    after = steady.ask("GET", "/metrics", **token(steady)).body.decode()

    def value(text: str, name: str) -> int:
        return int(
            next(line for line in text.splitlines() if line.startswith(name)).rpartition(" ")[2]
        )

    name = 'lopub_refused_total{reason="length"}'
    assert value(after, name) == value(before, name) + 2
    for reason in (
        "version",
        "campaign",
        "slot",
        "view",
        "padding",
        "range",
        "weight",
        "json",
        "conflict",
        "withdrawn",
    ):
        assert f'lopub_refused_total{{reason="{reason}"}} ' in after


# ---- the description


def test_the_description_names_every_route(steady: Running):
    paths = steady.ask("GET", "/openapi.json").json["paths"]
    assert {(path, method) for path, methods in paths.items() for method in methods} == {
        ("/campaigns", "get"),
        ("/campaigns/{id}", "get"),
        ("/campaigns/{id}", "put"),
        ("/campaigns/{id}/reports", "post"),
        ("/campaigns/{id}/withdrawals", "post"),
        ("/campaigns/{id}/close", "post"),
        ("/campaigns/{id}/counts", "get"),
        ("/health", "get"),
        ("/ready", "get"),
        ("/metrics", "get"),
    }
