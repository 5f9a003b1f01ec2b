"""Pages of other origins: campaigns, reports and withdrawals for everybody, without credentials; all else for nobody."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import people
from load import kept_rows, opened
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed
from lopub.collector.campaigns import close_campaign
from lopub.collector.database import store_at
from lopub.collector.tokens import new_token
from servers import Answer, Running, running_collector

CAMPAIGN = people.campaign()
CLOSING = people.campaign("closing")
ORIGIN, AGENT = "https://canary-origin-c0ffee.example", "canary-agent-c0ffee"
PATH = f"/campaigns/{CAMPAIGN.id}"


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)]
)
def collector(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """One for all tests, on each store in turn."""
    if request.param == "sqlite":
        database = f"sqlite:///{tmp_path_factory.mktemp('store')}/lopub.db"
    else:
        database = request.getfixturevalue("postgres").new_database()
    opened(database, CAMPAIGN, CLOSING)
    with running_collector(database) as running:
        yield running


def preflight(collector: Running, path: str, method: str, headers: str = "content-type") -> Answer:
    asked = {"Access_Control_Request_Method": method, "Access_Control_Request_Headers": headers}
    return collector.ask("OPTIONS", path, Origin=ORIGIN, User_Agent=AGENT, **asked)


def is_shared(answer: Answer) -> bool:
    """Whether a page of any origin may read it, and none as somebody."""
    assert (
        "access-control-allow-credentials" not in answer.headers
        and "set-cookie" not in answer.headers
    )
    return answer.headers.get("access-control-allow-origin") == "*"


def test_preflights_of_the_three_routes_are_answered(collector: Running):
    for path, method in (
        (PATH, "GET"),
        (f"{PATH}/reports", "POST"),
        (f"{PATH}/withdrawals", "POST"),
    ):
        answer = preflight(collector, path, method)
        assert answer.status == 200 and is_shared(answer)
        assert answer.headers["access-control-allow-methods"] == method
        assert "Content-Type" in answer.headers["access-control-allow-headers"]


def test_no_preflight_permits_anything_else(collector: Running):
    assert "PUT" not in preflight(collector, PATH, "PUT").headers["access-control-allow-methods"]
    asked = preflight(collector, PATH, "GET", "authorization")
    assert "authorization" not in asked.headers["access-control-allow-headers"].lower()
    for path in (
        "/campaigns",
        f"{PATH}/close",
        f"{PATH}/counts",
        "/metrics",
        "/health",
        "/openapi.json",
    ):
        answer = preflight(collector, path, "GET")
        assert answer.status in (404, 405) and not is_shared(answer), path


def test_answers_can_be_read_by_every_page_refusals_too(collector: Running):
    (report,) = people.reports(CAMPAIGN, 1)
    body = json.dumps({"id": base64url(report[9:25])}).encode()
    told = [
        (collector.ask("GET", PATH, Origin=ORIGIN), 200),
        (collector.ask("GET", PATH, Origin=ORIGIN, If_None_Match=f'"{CAMPAIGN.id}"'), 304),
        (collector.ask("GET", f"/campaigns/{'0' * 64}", Origin=ORIGIN), 404),
        (
            collector.ask(
                "POST", f"{PATH}/reports", framed([report]), Origin=ORIGIN, Content_Type=FRAMED_TYPE
            ),
            200,
        ),
        (
            collector.ask(
                "POST", f"{PATH}/reports", b"?", Origin=ORIGIN, Content_Type="text/plain"
            ),
            415,
        ),
        (
            collector.ask(
                "POST", f"{PATH}/withdrawals", body, Origin=ORIGIN, Content_Type=JSON_TYPE
            ),
            204,
        ),
        (
            collector.ask(
                "POST", f"{PATH}/withdrawals", b"{}", Origin=ORIGIN, Content_Type=JSON_TYPE
            ),
            400,
        ),
    ]
    assert [(answer.status, is_shared(answer)) for answer, _ in told] == [
        (status, True) for _, status in told
    ]


def test_what_needs_a_token_cannot_be_read_by_other_pages(collector: Running):
    store = store_at(collector.address)
    token = new_token(store, scope="manage", days=1)
    store.close()
    for path in ("/campaigns", f"{PATH}/counts"):
        answer = collector.ask("GET", path, Origin=ORIGIN, Authorization=f"Bearer {token}")
        assert not is_shared(answer)
    assert not is_shared(collector.ask("GET", "/metrics", Origin=ORIGIN))


def test_an_options_that_is_no_preflight_is_refused_as_before(collector: Running):
    answer = collector.ask("OPTIONS", f"{PATH}/reports")
    assert answer.status == 405 and answer.headers["allow"] == "POST"


def test_the_page_of_a_campaign_that_is_closed_meanwhile_says_so(collector: Running):
    assert b'data-closed=""' in collector.ask("GET", f"/c/{CLOSING.id}").body
    store = store_at(collector.address)
    close_campaign(store, CLOSING.id)
    store.close()
    assert b'data-closed="yes"' in collector.ask("GET", f"/c/{CLOSING.id}").body


def test_the_page_comes_with_a_strict_policy_and_no_cookie(collector: Running):
    page = collector.ask("GET", f"/c/{CAMPAIGN.id}")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert policy.startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    )
    assert "unsafe" not in policy and "*" not in policy and "form-action 'none'" in policy
    assert page.headers["referrer-policy"] == "no-referrer" and "set-cookie" not in page.headers
    assert (
        page.headers["cache-control"] == "no-store"
    )  # nothing of it is shown again as it was left
    for name in ("page.js", "page.css", "lopub.js"):
        found = collector.ask("GET", f"/c/{name}")
        assert found.status == 200 and name in page.body.decode()
        assert collector.ask("GET", f"/c/{name}", If_None_Match=found.headers["etag"]).status == 304
    assert collector.ask("GET", "/c/style.css").status == 404
    assert collector.ask("GET", f"/c/{'0' * 64}").status == 404
    assert collector.ask("POST", f"/c/{CAMPAIGN.id}").status == 405


def test_files_of_the_page_come_packed_to_whoever_takes_them_packed(collector: Running):
    """A third of the bytes for a phone; and never the one for the other from a cache between."""
    for name in ("page.js", "page.css", "lopub.js"):
        plain, packed = (
            collector.ask("GET", f"/c/{name}", Accept_Encoding=way)
            for way in ("identity", "gzip, br")
        )
        assert (
            "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
        )
        assert gzip.decompress(packed.body) == plain.body and 2 * len(packed.body) < len(plain.body)
        assert "Accept-Encoding" in packed.headers["vary"]


def test_origin_and_agent_are_kept_nowhere(collector: Running, request: pytest.FixtureRequest):
    reports = people.reports(CAMPAIGN, 3)
    telling = {"Origin": ORIGIN, "User_Agent": AGENT, "Referer": ORIGIN}
    for path in (PATH, f"/c/{CAMPAIGN.id}", f"/c/{AGENT}", "/c/page.js"):
        collector.ask("GET", path, **telling)
    preflight(collector, f"{PATH}/reports", "POST")
    assert (
        collector.ask(
            "POST", f"{PATH}/reports", framed(reports), Content_Type=FRAMED_TYPE, **telling
        ).status
        == 200
    )
    assert len(kept_rows(collector.address, CAMPAIGN)) == 3  # the one before was withdrawn
    bearer = f"Bearer {people.token(collector.address)}"
    told = "".join(collector.errors).encode()
    told += collector.ask("GET", "/metrics", Authorization=bearer).body
    if collector.address.startswith("sqlite"):
        files = Path(collector.address.removeprefix("sqlite:///")).parent.iterdir()
        told += b"".join(file.read_bytes() for file in files)
    else:
        told += request.getfixturevalue("postgres").dump(collector.address)
    assert b"started" in told and b"c0ffee" not in told
