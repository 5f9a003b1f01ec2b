"""A draft as what a form shows: every kind of question has its controls."""

import json
from dataclasses import dataclass

from lopub.campaign.canonical import Json
from lopub.console.drafts import (
    COMPARISONS,
    Maybe,
    fields_of,
    in_languages,
    languages_in,
    members_of,
)
from lopub.console.question_names import is_automatic, names_in
from lopub.questionnaire.shorthand import Object


@dataclass(frozen=True)
class QuestionForm:
    """One question as its controls show it."""

    place: int
    key: str
    """What the draft calls it."""
    name: str
    """What somebody has called it; empty where nobody has."""
    called: str
    """What it will be called in tables."""
    kind: str
    question: dict[str, str]
    is_required: bool
    is_ordered: bool
    categories: str
    other: dict[str, str]
    minimum: str
    maximum: str
    bins: dict[str, str]
    period: str
    none: str
    at_most: str
    rule: dict[str, str]


def plain_terms(draft: Object) -> dict[str, str]:
    """The terms that are no texts for people, as their controls show them."""
    terms = {
        key: str(draft.get(key, "")) for key in ("name", "min_reports", "retention_days", "licence")
    }
    schedule = members_of(draft.get("schedule"))
    return terms | {key: str(schedule.get(key, "")) for key in ("opens", "closes")}


def shown(draft: Object) -> list[QuestionForm]:
    """Every question as a form shows it."""
    languages, fields, called = languages_in(draft), fields_of(draft), names_in(draft)
    keys = [str(field.get("name", "")) for field in fields]
    return [
        _shown(place, field, languages, keys, called[place]) for place, field in enumerate(fields)
    ]


def _shown(
    place: int, field: Object, languages: list[str], keys: list[str], called: str
) -> QuestionForm:
    constraints, bins = members_of(field.get("constraints")), members_of(field.get("bins"))
    edges = bins.get("edges")
    return QuestionForm(
        place=place,
        key=keys[place],
        name="" if is_automatic(keys[place]) else keys[place],
        called=called,
        kind=str(field.get("type", "string")),
        question=in_languages(field.get("question", field.get("title")), languages),
        is_required=constraints.get("required", True) is not False,
        is_ordered=field.get("categoriesOrdered") is True,
        categories=_lines(field.get("categories", constraints.get("enum")), languages),
        other=in_languages(
            "Other" if field.get("other") is True else field.get("other"), languages
        ),
        minimum=str(constraints.get("minimum", "")),
        maximum=str(constraints.get("maximum", "")),
        bins={key: str(bins.get(key, "")) for key in ("count", "from", "to", "open")}
        | {"edges": ", ".join(map(str, edges)) if isinstance(edges, list) else ""},
        period=str(field.get("period", "")),
        none=str(field.get("none", "")),
        at_most=str(field.get("atMost", "")),
        rule=_rule(field.get("onlyIf"), keys[:place]),
    )


def _lines(categories: Maybe, languages: list[str]) -> str:
    """One answer a line: its value, then its labels in the order of the languages."""
    lines = []
    for item in categories if isinstance(categories, list) else []:
        if isinstance(item, dict):
            labels = in_languages(item.get("label"), languages)
            lines.append(" | ".join([str(item.get("value", "")), *labels.values()]).rstrip(" |"))
        else:
            lines.append(str(item))
    return "\n".join(lines)


def _rule(rule: Maybe, before: list[str]) -> dict[str, str]:
    """A single comparison with a question before this one, by its parts, that question by its
    place; whatever is more, as JSON. before: what the draft calls those questions."""
    if isinstance(rule, dict) and len(rule) == 2 and rule.get("field") in before:
        ((comparison, value),) = [(key, value) for key, value in rule.items() if key != "field"]
        if comparison in COMPARISONS:
            shown = ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
            return {
                "place": str(before.index(str(rule["field"]))),
                "comparison": comparison,
                "value": shown,
                "json": "",
            }
    return {
        "place": "",
        "comparison": "equals",
        "value": "",
        "json": json.dumps(rule, ensure_ascii=False) if rule else "",
    }


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
