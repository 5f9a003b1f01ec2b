"""XLSForm, the spreadsheet convention of field surveys, as a draft; and a list of what could not be carried over."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import cast

from lopub.campaign.canonical import Json
from lopub.errors import DomainError
from lopub.questionnaire.relevant import (
    Compared,
    NotCarried,
    Tree,
    comparisons,
    condition,
    edge_of,
    parsed,
)
from lopub.questionnaire.shorthand import Object
from lopub.questionnaire.xlsx import Row, read_sheets

FEW_NUMBERS = 30
"""Whole numbers up to which each is an answer of its own."""
N_BINS = 10
TRUE = ("yes", "true", "true()", "1")
_METADATA = {
    "start",
    "end",
    "today",
    "deviceid",
    "username",
    "phonenumber",
    "email",
    "audit",
    "simserial",
    "subscriberid",
}
_NONE = re.compile(r"(none|no|nothing)(_of_(these|the_above))?", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?P<name>.*?)\s*\(\s*(?P<tag>[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)\s*\)")


@dataclass
class CarriedForm:
    """A form being carried over."""

    language: str
    choices: dict[str, list[Object]]
    thresholds: dict[str, list[Compared]]
    """What numbers are compared with anywhere: bins must have an edge there."""
    fields: list[Object] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def draft_from_xlsform(path: str | Path) -> tuple[Object, int, list[str]]:
    """The draft of a form, how many questions it has, and what is to be done or decided by hand."""
    sheets = read_sheets(path, ("survey", "choices", "settings"))
    if "survey" not in sheets:
        raise DomainError(f"{path} has no sheet named survey; is it an XLSForm?")
    settings = sheets.get("settings", [])
    given = settings[0][1] if settings else {}
    language = _tag(given.get("default_language", "")) or "en"
    form = CarriedForm(
        language, _choices(sheets.get("choices", []), language), _thresholds(sheets["survey"])
    )
    _survey(form, sheets["survey"])
    if not form.fields:
        raise DomainError(f"{path} has no question that can be carried over")
    name = (
        re.sub(r"[^a-z0-9._-]+", "-", (given.get("form_id") or Path(path).stem).lower()).strip(
            "-._"
        )
        or "form"
    )
    draft: Object = {"name": name[:100], "language": language, "min_reports": 100}
    if "form_title" in given:
        draft["title"] = given["form_title"]
    return draft | {"schema": {"fields": cast(Json, form.fields)}}, len(form.fields), form.left_out


def _tag(language: str) -> str:
    """`French (fr)` -> fr."""
    found = _LANGUAGE.fullmatch(language.strip())
    if found:
        return found["tag"]
    return (
        language.strip() if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*", language.strip()) else ""
    )


def _texts(cells: dict[str, str], column: str, language: str) -> Json | None:
    """A text, in several languages where the columns are `label::Language (tag)`."""
    found: Object = {language: cells[column]} if column in cells else {}
    for key, text in cells.items():
        head, sign, rest = key.partition("::")
        if head == column and sign and (tag := _tag(rest)):
            found[tag] = text
    if language not in found:
        return next(iter(found.values()), None)
    return found[language] if len(found) == 1 else found


def _choices(rows: list[Row], language: str) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for _, cells in rows:
        owner = cells.get("list_name") or cells.get("list name")
        if owner and "name" in cells:
            label = _texts(cells, "label", language)
            found.setdefault(owner, []).append(
                {"value": cells["name"], "label": cells["name"] if label is None else label}
            )
    return found


def _thresholds(rows: list[Row]) -> dict[str, list[Compared]]:
    found: dict[str, list[Compared]] = {}
    for _, cells in rows:
        for one in _comparisons(cells.get("relevant", "")):
            found.setdefault(one.field, []).append(one)
    return found


def _comparisons(text: str) -> list[Compared]:
    try:
        return comparisons(parsed(text)) if text else []
    except NotCarried:
        return []


# ---- the survey


def _survey(form: CarriedForm, rows: list[Row]) -> None:
    groups: list[Tree | None] = []
    repeats = 0
    for number, cells in rows:
        kind = cells.get("type", "").strip().replace("_", " ")
        if kind in ("begin group", "begin repeat"):
            repeats += kind == "begin repeat"
            groups.append(_relevant_of(form, number, cells))
            if kind == "begin repeat":
                form.left_out.append(
                    f"row {number}: a repeat and all in it, because one report answers each question once"
                )
        elif kind in ("end group", "end repeat"):
            repeats -= kind == "end repeat"
            if groups:
                groups.pop()
        elif not repeats and cells.get("type"):
            _carry(form, number, cells, [tree for tree in groups if tree is not None])


def _relevant_of(form: CarriedForm, number: int, cells: dict[str, str]) -> Tree | None:
    try:
        return parsed(cells["relevant"]) if "relevant" in cells else None
    except NotCarried as error:
        form.left_out.append(
            f"row {number}: the condition of a group ({error}); give its questions theirs by hand"
        )
        return None


def _carry(form: CarriedForm, number: int, cells: dict[str, str], around: list[Tree]) -> None:
    """One row; what cannot be carried over is noted, and the question left out."""
    kind, _, rest = cells["type"].strip().partition(" ")
    name = cells.get("name", "")
    if kind in _METADATA:
        return
    try:
        reader = _READERS.get(kind)
        if reader is None:
            raise NotCarried(_WHY_NOT.get(kind, "questions of this type are not known"))
        own = reader(form, cells, rest.strip())
        trees = [*around, *([parsed(cells["relevant"])] if "relevant" in cells else [])]
        if trees:
            own["onlyIf"] = condition(
                trees[0] if len(trees) == 1 else ("and", tuple(trees)), form.kinds
            )
    except NotCarried as error:
        form.left_out.append(f"row {number}: {kind} {name!r} is left out: {error}")
        return
    _describe(form, number, cells, own)
    form.fields.append({"name": name} | own)


def _describe(form: CarriedForm, number: int, cells: dict[str, str], own: Object) -> None:
    label, hint = _texts(cells, "label", form.language), cells.get("hint")
    if label is not None:
        own["question"] = label
    if hint:
        own["description"] = hint
    constraints = cast(Object, own.setdefault("constraints", {}))
    constraints["required"] = cells.get("required", "").lower() in TRUE
    for column in ("choice_filter", "calculation", "default", "repeat_count"):
        if column in cells:
            form.left_out.append(f"row {number}: {column} of {cells.get('name', '')!r}")
    form.kinds[cells.get("name", "")] = str(own.pop("kind", own["type"]))


def _listed(form: CarriedForm, rest: str) -> tuple[list[Object], bool]:
    owner, *more = rest.split()[:2] or [""]
    if owner not in form.choices:
        raise NotCarried(f"there is no list of choices {owner!r}")
    return form.choices[owner], more == ["or_other"]


def _one(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    choices, other = _listed(form, rest)
    return {"type": "string", "categories": cast(Json, choices)} | (
        {"other": True} if other else {}
    )


def _many(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    choices, other = _listed(form, rest)
    own: Object = {"type": "list", "categories": cast(Json, choices)} | (
        {"other": True} if other else {}
    )
    none = [str(choice["value"]) for choice in choices if _NONE.fullmatch(str(choice["value"]))]
    if len(none) == 1:
        own["none"] = none[0]
    for one in _comparisons(cells.get("constraint", "")):
        if one.field == "" and one.sign in ("count<=", "count<"):
            own["atMost"] = int(one.value) - (one.sign == "count<")
    return own


def _bounds(cells: dict[str, str]) -> tuple[str, str]:
    """What a constraint such as `. >= 0 and . <= 120` says."""
    low = high = ""
    for one in _comparisons(cells.get("constraint", "")):
        low = one.value if one.field == "" and one.sign in (">", ">=") else low
        high = one.value if one.field == "" and one.sign in ("<", "<=") else high
    if not low or not high:
        raise NotCarried(
            "it has no constraint with a lowest and a highest answer, such as . >= 0 and . <= 120"
        )
    return low, high


def _whole(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    low, high = _bounds(cells)
    if int(float(high)) - int(float(low)) < FEW_NUMBERS:
        return {
            "type": "integer",
            "constraints": {"minimum": int(float(low)), "maximum": int(float(high))},
        }
    return _binned(form, cells, low, high, whole=True) | {"kind": "whole number"}


def _decimal(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    return _binned(form, cells, *_bounds(cells), whole=False)


def _range(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    given = dict(
        part.split("=", 1)
        for part in cells.get("parameters", "").replace(",", " ").split()
        if "=" in part
    )
    return _binned(form, cells, given.get("start", "0"), given.get("end", "10"), whole=False)


def _binned(
    form: CarriedForm, cells: dict[str, str], low: str, high: str, *, whole: bool
) -> Object:
    """Equal bins, and an edge wherever some condition needs one."""
    try:
        first, last = Decimal(low), Decimal(high)
        step = (last - first) / N_BINS
    except ArithmeticError:
        raise NotCarried("its bounds are not numbers") from None
    edges = {first + step * i for i in range(N_BINS + 1)}
    if whole:
        edges = {edge.to_integral_value() for edge in edges}
    for one in form.thresholds.get(cells.get("name", ""), []):
        if one.is_number and (whole or one.sign in (">", "<=")):
            edges.add(Decimal(edge_of(one, whole=whole)))
    kept = [str(edge) for edge in sorted(edges) if first <= edge <= last]
    form.left_out.append(
        f"{cells.get('name', '')!r} is asked in {len(kept) - 1} bins from {low} to {high}; see whether they suit"
    )
    return {"type": "number", "bins": {"edges": cast(Json, kept)}}


def _dated(kind: str) -> "Reader":
    def read(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
        low, high = _bounds(cells)
        form.left_out.append(
            f"of {cells.get('name', '')!r} only the month is kept; another period may suit better"
        )
        return {
            "type": kind,
            "period": "month",
            "constraints": {"minimum": low[:10], "maximum": high[:10]},
        }

    return read


def _time(form: CarriedForm, cells: dict[str, str], rest: str) -> Object:
    return {"type": "time", "period": "hour"}


Reader = Callable[[CarriedForm, dict[str, str], str], Object]
_READERS: dict[str, Reader] = {
    "select_one": _one,
    "select_multiple": _many,
    "integer": _whole,
    "decimal": _decimal,
    "range": _range,
    "date": _dated("date"),
    "datetime": _dated("datetime"),
    "dateTime": _dated("datetime"),
    "time": _time,
}
_TEXT = "a free text cannot be asked; list the answers that you expect, with other"
_WHY_NOT = {
    "text": _TEXT,
    "barcode": _TEXT,
    "note": "a note is not a question; its text can go into a description",
    "calculate": "calculations are not carried over",
    "hidden": "it is not asked",
    "acknowledge": "it is not a question; say what people agree to in consent",
    **dict.fromkeys(
        ("geopoint", "geotrace", "geoshape"),
        "a place on the map would name the person; ask for a region",
    ),
    **dict.fromkeys(("image", "audio", "video", "file"), "files cannot be asked"),
    "rank": "an order of answers cannot be asked",
}
