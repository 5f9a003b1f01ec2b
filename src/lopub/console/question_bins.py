"""Fewer answers by a button: a question with many of them, as the same question in bins."""

from decimal import Decimal, InvalidOperation
from typing import cast

from lopub.campaign.canonical import Json
from lopub.console.drafts import fields_of
from lopub.questionnaire.shorthand import Object

WIDTHS = (1, 2, 5, 10, 20, 25, 50)
"""Of bins of whole numbers: those that people count in; then the same times a hundred, and so on.
"""
SCALES = (1, 100, 10_000, 1_000_000, 100_000_000)


def can_bin(draft: Object, name: str) -> bool:
    """Whether a button can do it: the question has an order that bins keep, and no rule of another
    speaks of its answers."""
    fields = fields_of(draft)
    if any(_speaks_of(field.get("onlyIf"), name) for field in fields):
        return False
    return any(field.get("name") == name and _binned(field, 2) is not None for field in fields)


def binned(draft: Object, name: str, n: int) -> Object:
    """The draft with one question in about so many bins; as it is where that cannot be done by
    itself."""
    if not can_bin(draft, name):
        return draft
    fields = [
        (_binned(field, n) or field) if field.get("name") == name else field
        for field in fields_of(draft)
    ]
    return draft | {"schema": {"fields": cast(Json, fields)}}


def _speaks_of(rule: Json | None, name: str) -> bool:
    if isinstance(rule, dict):
        return rule.get("field") == name or any(_speaks_of(part, name) for part in rule.values())
    return isinstance(rule, list) and any(_speaks_of(part, name) for part in rule)


def _binned(field: Object, n: int) -> Object | None:
    kind = field.get("type")
    return _whole(field, n) if kind == "integer" else _fewer(field, n) if kind == "number" else None


def _whole(field: Object, n: int) -> Object | None:
    """Whole numbers become a number in bins of a round width."""
    constraints = field.get("constraints")
    if not isinstance(constraints, dict):
        return None
    low, high = constraints.get("minimum"), constraints.get("maximum")
    if not isinstance(low, int) or not isinstance(high, int) or not low < high:
        return None
    width = _round((high - low + 1) / max(n, 1))
    first = low // width * width
    edges = [str(edge) for edge in range(first, high + width, width)]
    kept: Object = {
        key: value for key, value in constraints.items() if key not in ("minimum", "maximum")
    }
    new: Object = {key: value for key, value in field.items() if key != "constraints"}
    return (
        new
        | {"type": "number", "bins": {"edges": cast(Json, edges)}}
        | ({"constraints": kept} if kept else {})
    )


def _round(width: float) -> int:
    """The width that people count in that is nearest, by its ratio."""
    known = [unit * scale for scale in SCALES for unit in WIDTHS]
    return min(known, key=lambda one: (max(one / width, width / one), one))


def _fewer(field: Object, n: int) -> Object | None:
    """A number in bins gets fewer of them, within the same ends."""
    bins = field.get("bins")
    if not isinstance(bins, dict):
        return None
    edges = bins.get("edges")
    if isinstance(edges, list) and len(edges) > 2:
        step = -(-(len(edges) - 1) // max(n, 1))
        return field | {"bins": bins | {"edges": cast(Json, [*edges[:-1:step], edges[-1]])}}
    return field | {"bins": bins | {"count": n}} if _is_number(bins.get("count")) else None


def _is_number(value: Json | None) -> bool:
    try:
        return Decimal(str(value)).is_finite()
    except InvalidOperation:
        return False
