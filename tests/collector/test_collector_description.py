"""The description for programs says what the routes do: held against the routes, and against what they answer."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import lopub
import people
from lopub.campaign.report import FRAMED_TYPE, base64url, framed
from lopub.collector.app import ROUTES
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at
from lopub.collector.pages import description
from lopub.collector.problems import Kind
from lopub.errors import Reason
from servers import Answer, Running, running_collector

PAGES = {"/", "/docs", "/openapi.json", "/c/{id}"}
"""For people, or the description itself."""
CAMPAIGN = people.campaign()
JSON = "application/json"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = f"sqlite:///{tmp_path_factory.mktemp('described')}/lopub.db"
    store = store_at(database)
    open_campaign(store, CAMPAIGN)
    store.close()
    with running_collector(database) as running:
        yield running


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def resolved(part: Any) -> Any:
    """What a reference stands for."""
    while "$ref" in part:
        found: Any = description()
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def nodes(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for child in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        yield from nodes(child)


def test_every_route_is_described_and_nothing_else():
    offered = {
        (method, route.path)
        for route in ROUTES
        if route.path not in PAGES
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH")
        if hasattr(route.endpoint, method.lower())
    }
    assert offered == {(method, path) for method, path, _ in operations()}


def test_every_operation_has_a_readable_name_of_its_own():
    """Forbids names that a framework makes up, from which generators make functions that nobody can call."""
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    assert all(
        re.fullmatch("(send|withdraw|get|list|open|close)[A-Z][A-Za-z]+", name) for name in names
    )


def test_every_json_body_has_a_named_schema_and_every_list_its_items():
    for node in nodes(description()):
        if node.get("type") == "array":
            assert "items" in node
        for media_type, content in node.get("content", {}).items():
            if media_type.endswith("json"):
                schemas = content["schema"].get("oneOf", [content["schema"]])
                assert all(schema["$ref"].startswith("#/components/schemas/") for schema in schemas)


def test_every_reference_leads_somewhere():
    for node in nodes(description()):
        assert resolved(node) is not None


def test_reports_may_come_as_plain_octets_for_generated_clients():
    send = description()["paths"]["/campaigns/{id}/reports"]["post"]["requestBody"]["content"]
    assert set(send) == {FRAMED_TYPE, "application/octet-stream", JSON}


def test_whoever_is_to_come_again_is_told_when():
    for _, path, operation in operations():
        for status in {"503", "507"} & set(operation["responses"]):
            assert "Retry-After" in resolved(operation["responses"][status])["headers"], path


def test_it_names_every_reason_and_the_version_of_the_program():
    schemas = description()["components"]["schemas"]
    assert schemas["Refusal"]["properties"]["reason"]["enum"] == [str(reason) for reason in Reason]
    assert description()["info"]["version"] == lopub.__version__


def schema_of(method: str, path: str, answer: Answer) -> Any:
    """The schema that the description has for an answer; the test fails where the status is not described."""
    operation = description()["paths"][path][method.lower()]
    content = resolved(operation["responses"][str(answer.status)])["content"]
    return {
        **content[answer.headers["content-type"]]["schema"],
        "components": description()["components"],
    }


def test_answers_are_as_described(collector: Running):
    manage = {"Authorization": f"Bearer {people.token(collector.address, 'manage')}"}
    data = people.reports(CAMPAIGN, 60)
    at = f"/campaigns/{CAMPAIGN.id}"
    close = json.dumps({"id": CAMPAIGN.id})
    unknown = f"/campaigns/{'0' * 64}"
    withdrawal = json.dumps({"id": base64url(data[0][9:25])})
    asked: list[tuple[str, str, str, int, Any, dict[str, str]]] = [
        ("PUT", at, "/campaigns/{id}", 200, CAMPAIGN.canonical_bytes, manage),
        ("PUT", at, "/campaigns/{id}", 401, CAMPAIGN.canonical_bytes, {}),
        ("PUT", unknown, "/campaigns/{id}", 422, CAMPAIGN.canonical_bytes, manage),
        ("GET", at, "/campaigns/{id}", 200, None, {}),
        ("GET", unknown, "/campaigns/{id}", 404, None, {}),
        ("GET", f"{at}/counts", "/campaigns/{id}/counts", 409, None, manage),
        ("POST", f"{at}/reports", "/campaigns/{id}/reports", 200, framed(data), {"Content_Type": FRAMED_TYPE}),
        ("POST", f"{at}/reports", "/campaigns/{id}/reports", 422, "{}", {}),
        ("POST", f"{at}/reports", "/campaigns/{id}/reports", 400, "[", {}),
        ("GET", f"{at}/counts", "/campaigns/{id}/counts", 200, None, manage),
        ("GET", "/campaigns", "/campaigns", 200, None, manage),
        ("POST", f"{at}/withdrawals", "/campaigns/{id}/withdrawals", 400, "{}", {}),
        ("GET", "/health", "/health", 200, None, {}),
        ("GET", "/ready", "/ready", 200, None, {}),
        ("POST", f"{at}/close", "/campaigns/{id}/close", 422, "{}", manage),
        ("POST", f"{at}/close", "/campaigns/{id}/close", 200, close, manage),
        ("POST", f"{at}/withdrawals", "/campaigns/{id}/withdrawals", 409, withdrawal, {}),
    ]  # fmt: skip
    for method, path, described, status, body, headers in asked:
        given = {"Content_Type": JSON} | headers if body is not None else headers
        answer = collector.ask(method, path, body, **given)
        assert answer.status == status, (method, path, answer.body)
        jsonschema.validate(answer.json, schema_of(method, described, answer))


def test_every_problem_is_a_status_that_some_route_describes():
    described = {
        int(status) for _, _, operation in operations() for status in operation["responses"]
    }
    assert {kind.status for kind in Kind} - described == {Kind.METHOD_NOT_ALLOWED.status}


def test_the_description_is_a_file_that_is_read_as_it_lies(collector: Running):
    assert collector.ask("GET", "/openapi.json").json == description()
