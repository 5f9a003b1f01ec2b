"""Drafts as the console knows them: their text, their questions and languages, and what a new
question is."""

import json
from collections.abc import Sequence
from datetime import date

from lopub.campaign.canonical import Json
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object

KINDS = ("string", "boolean", "integer", "number", "date", "datetime", "time", "list")
PERIODS = ("year", "quarter", "month", "week", "monthOfYear", "weekday", "hour")
COMPARISONS = ("equals", "oneOf", "atLeast", "atMost", "above", "below", "includes")
OPEN = ("", "below", "above", "both")
MOST_QUESTIONS = 200
TERM_TEXTS = ("title", "description", "consent")
_NEW: dict[str, Object] = {
    "string": {"categories": ["yes", "no"], "other": True},
    "boolean": {},
    "integer": {"constraints": {"minimum": 0, "maximum": 5}},
    "number": {"bins": {"count": 5, "from": 0, "to": 100, "open": "above"}},
    "date": {"period": "month"},
    "datetime": {"period": "hour"},
    "time": {"period": "hour"},
    "list": {"categories": ["first", "second"]},
}

FIRST = "question-1"
Maybe = Json | None

STEPS = {"write": "", "plan": "/plan", "preview": "/preview"}
"""The screens of a draft, by the buttons that lead there."""


def step_of(draft_id: str, button: str, *, here: str) -> str:
    """Where a button of a draft leads: to another step, or back to where it was pressed."""
    return f"/console/drafts/{draft_id}{STEPS.get(button, STEPS[here])}"


def read_text(text: str) -> Object:
    """The draft that a text is."""
    value, _ = parsed(text.encode())
    return value if isinstance(value, dict) else {}


def written(draft: Object) -> str:
    """The text of a draft."""
    return json.dumps(draft, ensure_ascii=False, indent=1)


def new_members(kind: str, today: date) -> Object:
    """What a question of a kind has before anybody has said more. A date is asked for by month, in
    the year up to today."""
    if kind != "date":
        return dict(_NEW.get(kind, {}))
    first = date(today.year - 1, today.month + 1, 1) if today.month < 12 else date(today.year, 1, 1)
    return _NEW[kind] | {"constraints": {"minimum": f"{first:%Y-%m}", "maximum": f"{today:%Y-%m}"}}


def blank(name: str, language: str) -> Object:
    """A draft to begin with."""
    first: Object = {"name": FIRST, "type": "string", "question": "", **_NEW["string"]}
    terms: Object = {
        "name": name,
        "language": language,
        "title": "",
        "consent": "",
        "min_reports": 100,
        "retention_days": 90,
    }
    return {**terms, "schema": {"fields": [first]}}


def languages_in(draft: Object) -> list[str]:
    """The draft's own language, then all others that it has texts in, by their tags."""
    own = str(draft.get("language", "en"))
    found: dict[str, None] = {}
    translations = draft.get("translations")
    found |= dict.fromkeys(translations if isinstance(translations, dict) else ())
    for text in _texts(draft):
        found |= dict.fromkeys(text if isinstance(text, dict) else ())
    return [own, *sorted(set(found) - {own})]


def _texts(draft: Object) -> list[Maybe]:
    found = [draft.get(key) for key in TERM_TEXTS]
    for field in fields_of(draft):
        found += [field.get("question"), field.get("title"), field.get("other")]
        listed = field.get("categories")
        found += (
            [item.get("label") for item in listed if isinstance(item, dict)]
            if isinstance(listed, list)
            else []
        )
    return found


def fields_of(draft: Object) -> list[Object]:
    """The questions of a draft, those that are objects."""
    schema = draft.get("schema")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return (
        [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []
    )


def place_among(fields: Sequence[object], text: str) -> int | None:
    """The place of a question that a form names by its number, from 0 on; None where there is none."""
    place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else len(fields)
    return place if place < len(fields) else None


def in_languages(text: Maybe, languages: list[str]) -> dict[str, str]:
    """A text, by language."""
    if isinstance(text, dict):
        return {tag: str(text.get(tag, "")) for tag in languages}
    return {tag: text if isinstance(text, str) and tag == languages[0] else "" for tag in languages}


def members_of(value: Maybe) -> Object:
    """What is an object, as it is; whatever else as an empty one."""
    return value if isinstance(value, dict) else {}
