"""Pages for people who look at a collector with a browser: what it is, and how it is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import Response

from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE

TEMPLATES = Path(__file__).parent / "templates"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_REPORTS, _JSON = (f"-H 'Content-Type: {kind}'" for kind in (FRAMED_TYPE, JSON_TYPE))
BODIES = {
    ("put", "/campaigns/{id}"): f"--data-binary @campaign.json {_JSON}",
    ("post", "/campaigns/{id}/reports"): f"--data-binary @reports.bin {_REPORTS}",
    ("post", "/campaigns/{id}/withdrawals"): f"""-d '{{"id": "REPORT"}}' {_JSON}""",
    ("post", "/campaigns/{id}/close"): f"""-d '{{"id": "ID"}}' {_JSON}""",
}
"""What a command sends where there is something to send."""


@dataclass(frozen=True)
class Described:
    """A route as the page shows it."""

    method: str
    path: str
    text: str
    command: str
    answers: Mapping[str, str]


def front_page() -> Response:
    """What this address is."""
    return _page("front.html")


def docs_page(description: Mapping[str, Any]) -> Response:
    """Every route of a description."""
    routes = sorted(described_routes(description), key=lambda route: (route.path, route.method))
    return _page("docs.html", routes=routes)


def _page(template: str, **context: Any) -> Response:
    from lopub.pages.templating import (
        rendered,
    )  # loads Jinja, which a collector that was killed should not wait for

    return Response(
        rendered(template, TEMPLATES, "en", **context), media_type="text/html", headers=HEADERS
    )


def described_routes(description: Mapping[str, Any]) -> Iterator[Described]:
    """The routes of an OpenAPI description."""
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            answers = {
                status: answer["description"] for status, answer in operation["responses"].items()
            }
            yield Described(
                method.upper(),
                path,
                operation.get("description", ""),
                command_of(method, path, operation),
                answers,
            )


def command_of(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """How curl asks a route. ID and TOKEN stand for what only the reader knows."""
    parts = [
        "curl",
        *([] if method == "get" else [f"-X {method.upper()}"]),
        f"https://COLLECTOR{path.replace('{id}', 'ID')}",
    ]
    if operation.get("security"):
        parts.append("-H 'Authorization: Bearer TOKEN'")
    return " ".join([*parts, *([body] if (body := BODIES.get((method, path))) else [])])
