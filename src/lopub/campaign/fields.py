"""Table Schema in: the fields of a campaign file or a draft become attributes.

A draft may leave out what goes without saying (`constraints.enum`, `required`, labels, `clamp`); the campaign file
must not. The loader sees to that: it refuses bytes that it would not write itself.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from lopub.campaign.canonical import Json, Members, decimal_text, text_at
from lopub.campaign.condition import condition_from_json
from lopub.campaign.dated import TYPES
from lopub.campaign.domain import (
    MOST_ATTRIBUTES,
    Attribute,
    Binned,
    Boolean,
    Categorical,
    Dated,
    Domain,
    IntegerRange,
    Question,
    TickList,
)
from lopub.errors import CampaignError, DomainError

Common = dict[str, Any]
"""The members that every kind of attribute has."""


def domain_from_json(members: Members) -> Domain:
    """The domain of a Table Schema."""
    fields = members.items("fields")
    members.done()
    if len(fields) > MOST_ATTRIBUTES:  # before any is read
        raise CampaignError(
            f"{members.path('fields')} must list 1 to {MOST_ATTRIBUTES:,} attributes, got {len(fields):,}"
        )
    return domain_of(
        question_from_json(item, f"{members.path('fields')}[{i}]") for i, item in enumerate(fields)
    )


def domain_of(questions: Iterable[Question]) -> Domain:
    """The domain of these questions: a list has one attribute per option."""
    attributes: list[Attribute] = []
    for question in questions:
        attributes += question.options if isinstance(question, TickList) else [question]
        if len(attributes) > MOST_ATTRIBUTES:  # refused below; no more of them are made
            break
    return Domain(tuple(attributes))


def question_from_json(value: Json, where: str) -> Question:
    """The attribute, or the list, that a Table Schema field describes."""
    members = Members(value, where)
    kind = members.text("type")
    if kind not in _READERS:
        raise CampaignError(f"{members.path('type')} must be one of {', '.join(_READERS)}")
    constraints = (
        members.members("constraints")
        if "constraints" in members
        else Members({}, members.path("constraints"))
    )
    common: Common = {key: members.text(key, "") for key in ("title", "question", "description")}
    common |= {"name": members.text("name"), "missing": not constraints.boolean("required", True)}
    if "onlyIf" in members:
        common["only_if"] = condition_from_json(members.take("onlyIf"), members.path("onlyIf"))
    attribute = _READERS[kind](members, constraints, common)
    constraints.done()
    members.done()
    return attribute


def _categorical(members: Members, constraints: Members, common: Common) -> Attribute:
    where = members.path("categories")
    pairs = [_category(item, where, i) for i, item in enumerate(members.items("categories"))]
    values, labels = tuple(value for value, _ in pairs), dict(pairs)
    if "enum" in constraints and constraints.texts("enum") != values:
        raise CampaignError(
            f"{constraints.path('enum')} must list the same values as the categories, in the same order"
        )
    return Categorical(
        values=values,
        labels=labels,
        is_ordered=members.boolean("categoriesOrdered", False),
        **common,
    )


def _category(item: Json, where: str, i: int) -> tuple[str, str]:
    if isinstance(item, str):
        return item, item
    if isinstance(item, dict) and len(item) == 2:  # as in every campaign file
        value, label = item.get("value"), item.get("label")
        if isinstance(value, str) and isinstance(label, str):
            return value, label
    category = Members(item, f"{where}[{i}]")
    value = category.text("value")
    label = category.text("label", value)
    category.done()
    return value, label


def _list(members: Members, constraints: Members, common: Common) -> Question:
    where = members.path("categories")
    pairs = [_category(item, where, i) for i, item in enumerate(members.items("categories"))]
    most, none = constraints.integer("maxLength", 0), members.text("none", "")
    return TickList(
        values=tuple(value for value, _ in pairs),
        labels=dict(pairs),
        most=most,
        none=none,
        **common,
    )


def _boolean(members: Members, constraints: Members, common: Common) -> Attribute:
    return Boolean(**common)


def _integer(members: Members, constraints: Members, common: Common) -> Attribute:
    return IntegerRange(
        minimum=constraints.integer("minimum"), maximum=constraints.integer("maximum"), **common
    )


def _binned(members: Members, constraints: Members, common: Common) -> Attribute:
    bins = members.members("bins")
    where = bins.path("edges")
    edges = tuple(
        item if isinstance(item, str) else _decimal(item, f"{where}[{i}]")
        for i, item in enumerate(bins.items("edges"))
    )
    attribute = Binned(edges=edges, clamp=bins.boolean("clamp", False), **common)
    bins.done()
    for key, edge in (("minimum", attribute.edges[0]), ("maximum", attribute.edges[-1])):
        if (
            key in constraints
            and decimal_text(_decimal(constraints.take(key), constraints.path(key)), attribute.name)
            != edge
        ):
            raise DomainError(
                f"attribute {attribute.name!r} has a {key} other than its outer bin edge {edge}"
            )
    return attribute


def _dated(kind: str, members: Members, constraints: Members, common: Common) -> Attribute:
    first, last = constraints.text("minimum", ""), constraints.text("maximum", "")
    return Dated(kind=kind, period=members.text("period"), first=first, last=last, **common)


def _decimal(value: Json, where: str, i: int | None = None) -> str:
    """A decimal is a text; a draft may give an integer. i: its number in the list at this place."""
    if isinstance(value, str):
        return value
    return (
        str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else text_at(value, f"{where}[{i}]" if i is not None else where)
    )


_READERS: dict[str, Callable[[Members, Members, Common], Question]] = {
    "string": _categorical,
    "boolean": _boolean,
    "integer": _integer,
    "number": _binned,
    "list": _list,
    **{kind: partial(_dated, kind) for kind in TYPES},
}
