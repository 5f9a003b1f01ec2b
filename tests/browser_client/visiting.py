"""Campaigns and visitors for the tests of the page on which people take part."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from contributing import Proxy, Visitor

from lopub import Campaign

pytest.importorskip("starlette")


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
NUMBER_EDGES = ["-1000", "0", "1", "10", "100", "1000", "10000", "1000000"]
NUMBER: dict[str, Any] = {
    "name": "numbers",
    "title": {"en": "Numbers", "de": "Zahlen"},
    "schema": {"fields": [{"name": "much", "type": "number", "question": {"en": "How much?", "de": "Wie viel?"},
                           "bins": {"edges": [float(edge) for edge in NUMBER_EDGES], "open": "above"}}]},
}  # fmt: skip
SMOKES: dict[str, Any] = {
    "name": "cigarettes",
    "schema": {"fields": [{"name": "smokes", "type": "boolean", "question": "Smoke?"},
                          {"name": "perday", "type": "integer", "question": "How many?",
                           "constraints": {"minimum": 1, "maximum": 21}, "onlyIf": {"field": "smokes", "equals": True}}]},
}  # fmt: skip
BOTH: dict[str, str | list[str]] = {"Smoke?": "Yes", "City?": "Oslo"}


def text_of(report_id: bytes) -> str:
    """The id of a report as JSON has it."""
    return base64.urlsafe_b64encode(report_id).decode().rstrip("=")


def page_of(proxy: Proxy, campaign: Campaign) -> str:
    return f"{proxy.address}/c/{campaign.id}"


def saved_receipt(person: Visitor) -> dict[str, Any]:
    """What the button for a receipt saves."""
    person.run("""delete window.saved;
      URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; };""")
    person.press("button.receipt")
    waiting = "const done = arguments[0], look = () => window.saved ? done(window.saved) : setTimeout(look, 5); look()"
    return dict(json.loads(person.driver.execute_async_script(waiting)))
