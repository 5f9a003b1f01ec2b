"""What somebody typed into the form of a draft, as a draft: what a form does not show stays as it
is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import cast

from lopub.campaign.canonical import Json
from lopub.console.drafts import (
    MOST_QUESTIONS,
    TERM_TEXTS,
    Maybe,
    fields_of,
    languages_in,
    members_of,
    new_members,
    place_among,
)
from lopub.console.question_names import free_name, is_automatic
from lopub.questionnaire.shorthand import Object

_TRUTHS: dict[str, bool] = {
    "true": True,
    "yes": True,
    "ja": True,
    "false": False,
    "no": False,
    "nein": False,
}
"""How people write the answers to a yes-or-no question."""
_OF_ALL_KINDS = ("name", "type", "question", "title", "onlyIf")
"""Members of a question that have nothing to do with its kind."""

Form = Mapping[str, str]
Earlier = Mapping[tuple[str, str], Object]
"""Questions as they were before they got another kind, by name and kind."""


def edited(draft: Object, form: Form, today: date, earlier: Earlier | None = None) -> Object:
    """The draft with what a form says. Members that no control shows stay. earlier: what to go back
    to where a question gets a kind again that it had."""
    languages = _Languages(languages_in(draft), form.get("language", "").strip() or "en")
    new: Object = {key: value for key, value in draft.items() if key != "schema"}
    new |= {"name": form.get("name", "").strip(), "language": languages.own}
    for key in TERM_TEXTS:
        _put(new, key, _text(form, key, languages))
    for key in ("min_reports", "retention_days"):
        _put(new, key, _integer(form.get(key, "")))
    _put(new, "licence", form.get("licence", "").strip())
    _put(new, "schedule", _schedule(members_of(draft.get("schedule")), form))
    typed = _typed(draft, form, languages)
    fields = [
        _of_kind(field, _Part(form, i).get("type", "string"), today, earlier or {})
        for i, field in enumerate(typed)
    ]
    return new | {"schema": {"fields": cast(Json, fields)}}


def left_behind(draft: Object, form: Form) -> Earlier:
    """The questions to which a form gives another kind, as they are before they get it."""
    languages = _Languages(languages_in(draft), form.get("language", "").strip() or "en")
    typed = _typed(draft, form, languages)
    return {
        (str(field["name"]), str(field["type"])): field
        for i, field in enumerate(typed)
        if field["type"] != _Part(form, i).get("type", "string")
    }


def _typed(draft: Object, form: Form, languages: "_Languages") -> list[Object]:
    """The questions with what a form says of them, each still of the kind that it was."""
    old = fields_of(draft)
    names = _names([str(field.get("name", "")) for field in old], form)
    kinds = [_Part(form, i).get("type") for i in range(len(old))]
    return [_field(field, _Part(form, i), languages, names, kinds) for i, field in enumerate(old)]


def _names(old: list[str], form: Form) -> list[str]:
    """What a form calls the questions; one that it does not name keeps, or gets, the name of those
    that nobody has named."""
    found: list[str] = []
    for i, name in enumerate(old):
        unnamed = name if is_automatic(name) else free_name(i + 1, {*old, *found})
        found.append(_Part(form, i).get("name") or unnamed)
    return found


def aligned(draft: Object, form: Form) -> Object:
    """A draft with the questions that a form has, in its order: for one that was changed since the
    form was made of it. What no control shows stays where a question of that name is there."""
    known = {str(field.get("name")): field for field in fields_of(draft)}
    fields: list[Object] = []
    while (part := _Part(form, len(fields))).get("type") and len(fields) < MOST_QUESTIONS:
        key = part.get("key") or part.get("name")
        fields.append(
            known.get(key, {}) | {"name": key, "type": part.get("controls") or part.get("type")}
        )
    return draft | {"schema": {"fields": cast(Json, fields)}}


@dataclass(frozen=True)
class _Languages:
    """Those that a form has texts in, in the order in which it shows them; and the draft's own, as
    the form has it now."""

    shown: list[str]
    own: str

    def joined(self, texts: Mapping[str, str]) -> Json:
        """A text in one language, or several. Where the own language gets another name, so do its
        texts."""
        given: Object = {self._tag(tag): text for tag, text in texts.items() if text}
        return given.get(self.own, "") if set(given) <= {self.own} else given

    def _tag(self, tag: str) -> str:
        return self.own if tag == self.shown[0] and self.own not in self.shown else tag


class _Part:
    """The controls of one question."""

    def __init__(self, form: Form, place: int) -> None:
        self.place = place
        self._form, self._prefix = form, f"q{place}."

    def get(self, key: str, default: str = "") -> str:
        return self._form.get(self._prefix + key, default).strip()

    def __contains__(self, key: str) -> bool:
        return self._prefix + key in self._form


def _put(target: Object, key: str, value: Maybe) -> None:
    """Set a member; an empty one is left out."""
    if value is None or value in ("", {}, []):
        target.pop(key, None)
    else:
        target[key] = value


def _text(form: Form | _Part, key: str, languages: _Languages) -> Json:
    return languages.joined({tag: form.get(f"{key}.{tag}", "").strip() for tag in languages.shown})


def _integer(text: str) -> Json:
    """A whole number; anything else as it is, which the draft's check reports."""
    try:
        return int(text.strip())
    except ValueError:
        return text.strip()


def _schedule(old: Object, form: Form) -> Object:
    new = dict(old)
    for key in ("opens", "closes"):
        _put(new, key, form.get(key, "").strip())
    return new


def _field(
    old: Object, part: _Part, languages: _Languages, names: list[str], kinds: list[str]
) -> Object:
    """One question with what its controls say. Where they are those of another kind, which a form
    may still show when the question has got a new one, its answers stay as they are."""
    kind = str(old.get("type", "string"))
    new: Object = {key: value for key, value in old.items() if key != "constraints"}
    new |= {"name": names[part.place], "type": kind}
    _put(new, "question", _text(part, "question", languages))
    constraints: Object = dict(members_of(old.get("constraints")))
    constraints.pop("required", None)
    if "required" not in part:
        constraints["required"] = False
    if (fill := _CONTROLS.get(kind)) and part.get("controls", kind) == kind:
        constraints = {
            key: value
            for key, value in constraints.items()
            if key in ("enum", "maxLength", "required")
        }
        fill(new, constraints, part, languages)
    _put(new, "onlyIf", _condition(part, names[: part.place], kinds))
    _put(new, "constraints", constraints)
    return new


def _of_kind(field: Object, kind: str, today: date, earlier: Earlier) -> Object:
    """A question of a kind: as it was when it was of that kind, if it was; else with the answers
    that it has, where both kinds have some; else as a new one."""
    if kind == field["type"]:
        return field
    known = earlier.get((str(field["name"]), kind))
    fresh = (
        new_members(kind, today)
        if known is None
        else {key: known[key] for key in known if key not in _OF_ALL_KINDS}
    )
    if known is None and "categories" in fresh and "categories" in field:
        fresh = {"categories": field["categories"]}
    constraints = members_of(fresh.get("constraints")) | {"required": False}
    if members_of(field.get("constraints")).get("required", True) is not False:
        del constraints["required"]
    new = (
        {key: value for key, value in field.items() if key in _OF_ALL_KINDS}
        | fresh
        | {"type": kind}
    )
    _put(new, "constraints", constraints)
    return new


def _one_of(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    constraints.pop("enum", None)
    new["categories"] = [
        _category(line, languages) for line in part.get("categories").splitlines() if line.strip()
    ]
    _put(new, "categoriesOrdered", True if "ordered" in part else None)
    _put(new, "other", _text(part, "other", languages))


def _several_of(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    new["categories"] = [
        _category(line, languages) for line in part.get("categories").splitlines() if line.strip()
    ]
    _put(new, "none", part.get("none"))
    _put(new, "atMost", _integer(part.get("at_most")))


def _whole(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    constraints |= {key: _integer(part.get(key)) for key in ("minimum", "maximum") if part.get(key)}


def _period(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    _put(new, "period", part.get("period"))
    constraints |= {key: part.get(key) for key in ("minimum", "maximum") if part.get(key)}


def _binned(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    bins: Object = {
        key: value for key, value in members_of(new.get("bins")).items() if key == "clamp"
    }
    if edges := [edge.strip() for edge in part.get("edges").split(",") if edge.strip()]:
        bins["edges"] = cast(Json, edges)
    else:
        bins |= {key: value for key in ("from", "to") if (value := part.get(key))}
        _put(bins, "count", _integer(part.get("count")))
    _put(bins, "open", part.get("open"))
    new["bins"] = bins


_CONTROLS: dict[str, Callable[[Object, Object, _Part, _Languages], None]] = {
    "string": _one_of,
    "list": _several_of,
    "integer": _whole,
    "number": _binned,
    "date": _period,
    "datetime": _period,
    "time": _period,
}


def _category(line: str, languages: _Languages) -> Json:
    value, *labels = (piece.strip() for piece in line.split("|"))
    label = languages.joined(dict(zip(languages.shown, labels, strict=False)))
    return {"value": value, "label": label} if label else value


def _condition(part: _Part, before: list[str], kinds: list[str]) -> Maybe:
    """before: what the questions before this one are called. kinds: of all questions."""
    if part.get("rule.json"):
        try:
            return cast(Json, json.loads(part.get("rule.json")))
        except (ValueError, RecursionError):
            return part.get("rule.json")
    if (place := place_among(before, part.get("rule.place"))) is None:
        return None
    comparison = part.get("rule.comparison", "equals")
    values: list[Json] = [
        _value(text.strip(), kinds[place]) for text in part.get("rule.value").split(",")
    ]
    return {"field": before[place], comparison: values if comparison == "oneOf" else values[0]}


def _value(text: str, kind: str) -> Json:
    """What an answer of a kind is compared with."""
    if kind == "boolean":
        return _TRUTHS.get(text.lower(), text)
    return _integer(text) if kind == "integer" else text
