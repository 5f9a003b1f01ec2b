"""A draft as a form, and back: every kind of question has its controls; what a form does not show of a draft stays as it is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from lopub.contract.canonical import Json
from lopub.forecast.draft_text import parsed
from lopub.forecast.shorthand import Object

KINDS = ("string", "boolean", "integer", "number", "date", "datetime", "time", "list")
PERIODS = ("year", "quarter", "month", "week", "monthOfYear", "weekday", "hour")
COMPARISONS = ("equals", "oneOf", "atLeast", "atMost", "above", "below", "includes")
OPEN = ("", "below", "above", "both")
MOST_QUESTIONS = 200
_TRUTHS: dict[str, bool] = {"true": True, "yes": True, "ja": True, "false": False, "no": False, "nein": False}
"""How people write the answers to a yes-or-no question."""
_TERM_TEXTS = ("title", "description", "consent")
_NEW: dict[str, Object] = {
    "string": {"categories": ["yes", "no"], "other": True},
    "boolean": {},
    "integer": {"constraints": {"minimum": 0, "maximum": 5}},
    "number": {"bins": {"count": 5, "from": 0, "to": 100, "open": "above"}},
    "date": {"period": "weekday"},
    "datetime": {"period": "hour"},
    "time": {"period": "hour"},
    "list": {"categories": ["first", "second"]},
}

Form = Mapping[str, str]
Maybe = Json | None


def read_text(text: str) -> Object:
    """The draft that a text is."""
    value, _ = parsed(text.encode())
    return value if isinstance(value, dict) else {}


def written(draft: Object) -> str:
    """The text of a draft."""
    return json.dumps(draft, ensure_ascii=False, indent=1)


def blank(name: str, language: str) -> Object:
    """A draft to begin with."""
    first: Object = {"name": "question-1", "type": "string", "question": "", **_NEW["string"]}
    terms: Object = {"name": name, "language": language, "title": "", "consent": "", "min_reports": 100, "retention_days": 90}
    return {**terms, "schema": {"fields": [first]}}


# ---- a draft as what a form shows


@dataclass(frozen=True)
class QuestionForm:
    """One question as its controls show it."""

    place: int
    name: str
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
    found = [draft.get(key) for key in _TERM_TEXTS]
    for field in fields_of(draft):
        found += [field.get("question"), field.get("title"), field.get("other")]
        listed = field.get("categories")
        found += [item.get("label") for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return found


def plain_terms(draft: Object) -> dict[str, str]:
    """The terms that are no texts for people, as their controls show them."""
    terms = {key: str(draft.get(key, "")) for key in ("name", "min_reports", "retention_days", "licence")}
    schedule = _object(draft.get("schedule"))
    return terms | {key: str(schedule.get(key, "")) for key in ("opens", "closes")}


def fields_of(draft: Object) -> list[Object]:
    """The questions of a draft, those that are objects."""
    schema = draft.get("schema")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def in_languages(text: Maybe, languages: list[str]) -> dict[str, str]:
    """A text, by language."""
    if isinstance(text, dict):
        return {tag: str(text.get(tag, "")) for tag in languages}
    return {tag: text if isinstance(text, str) and tag == languages[0] else "" for tag in languages}


def shown(draft: Object) -> list[QuestionForm]:
    """Every question as a form shows it."""
    languages = languages_in(draft)
    return [_shown(place, field, languages) for place, field in enumerate(fields_of(draft))]


def _shown(place: int, field: Object, languages: list[str]) -> QuestionForm:
    constraints, bins = _object(field.get("constraints")), _object(field.get("bins"))
    edges = bins.get("edges")
    return QuestionForm(
        place=place,
        name=str(field.get("name", "")),
        kind=str(field.get("type", "string")),
        question=in_languages(field.get("question", field.get("title")), languages),
        is_required=constraints.get("required", True) is not False,
        is_ordered=field.get("categoriesOrdered") is True,
        categories=_lines(field.get("categories", constraints.get("enum")), languages),
        other=in_languages("Other" if field.get("other") is True else field.get("other"), languages),
        minimum=str(constraints.get("minimum", "")),
        maximum=str(constraints.get("maximum", "")),
        bins={key: str(bins.get(key, "")) for key in ("count", "from", "to", "open")}
        | {"edges": ", ".join(map(str, edges)) if isinstance(edges, list) else ""},
        period=str(field.get("period", "")),
        none=str(field.get("none", "")),
        at_most=str(field.get("atMost", "")),
        rule=_rule(field.get("onlyIf")),
    )


def _object(value: Maybe) -> Object:
    return value if isinstance(value, dict) else {}


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


def _rule(rule: Maybe) -> dict[str, str]:
    """A single comparison by its parts; whatever is more, as JSON."""
    if isinstance(rule, dict) and set(rule) - {"field"} and len(rule) == 2 and "field" in rule:
        ((comparison, value),) = [(key, value) for key, value in rule.items() if key != "field"]
        if comparison in COMPARISONS:
            shown = ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
            return {"field": str(rule["field"]), "comparison": comparison, "value": shown, "json": ""}
    return {"field": "", "comparison": "equals", "value": "", "json": json.dumps(rule, ensure_ascii=False) if rule else ""}


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# ---- a form as a draft


def edited(draft: Object, form: Form) -> Object:
    """The draft with what a form says. Members that no control shows stay."""
    languages = _Languages(languages_in(draft), form.get("language", "").strip() or "en")
    new: Object = {key: value for key, value in draft.items() if key != "schema"}
    new |= {"name": form.get("name", "").strip(), "language": languages.own}
    for key in _TERM_TEXTS:
        _put(new, key, _text(form, key, languages))
    for key in ("min_reports", "retention_days"):
        _put(new, key, _integer(form.get(key, "")))
    _put(new, "licence", form.get("licence", "").strip())
    _put(new, "schedule", _schedule(_object(draft.get("schedule")), form))
    old = fields_of(draft)
    kinds = {form.get(f"q{i}.name", "").strip(): form.get(f"q{i}.type", "") for i in range(len(old))}
    fields = [_field(field, _Part(form, f"q{i}."), languages, kinds) for i, field in enumerate(old)]
    return new | {"schema": {"fields": cast(Json, fields)}}


def aligned(draft: Object, form: Form) -> Object:
    """A draft with the questions that a form has, in its order: for one that was changed since the form was made of it. What no
    control shows stays where a question of that name is there."""
    known = {str(field.get("name")): field for field in fields_of(draft)}
    fields: list[Object] = []
    while (part := _Part(form, f"q{len(fields)}.")).get("type") and len(fields) < MOST_QUESTIONS:
        old = known.get(part.get("name"), {})
        fields.append(old | {"type": part.get("type")})
    return draft | {"schema": {"fields": cast(Json, fields)}}


@dataclass(frozen=True)
class _Languages:
    """Those that a form has texts in, in the order in which it shows them; and the draft's own, as the form has it now."""

    shown: list[str]
    own: str

    def joined(self, texts: Mapping[str, str]) -> Json:
        """A text in one language, or several. Where the own language gets another name, so do its texts."""
        given: Object = {self._tag(tag): text for tag, text in texts.items() if text}
        return given.get(self.own, "") if set(given) <= {self.own} else given

    def _tag(self, tag: str) -> str:
        return self.own if tag == self.shown[0] and self.own not in self.shown else tag


class _Part:
    """The controls of one question."""

    def __init__(self, form: Form, prefix: str) -> None:
        self._form, self._prefix = form, prefix

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
    """A whole number; anything else as it is, to be told as a mistake."""
    try:
        return int(text.strip())
    except ValueError:
        return text.strip()


def _schedule(old: Object, form: Form) -> Object:
    new = dict(old)
    for key in ("opens", "closes"):
        _put(new, key, form.get(key, "").strip())
    return new


def _field(old: Object, part: _Part, languages: _Languages, kinds: Mapping[str, str]) -> Object:
    """One question, of the kind that it is now; members of another kind go."""
    kind = part.get("type", "string")
    kept = ("name", "type", "title") if kind != old.get("type") else tuple(old)
    new: Object = {key: value for key, value in old.items() if key in kept and key != "constraints"}
    new |= {"name": part.get("name"), "type": kind}
    _put(new, "question", _text(part, "question", languages))
    constraints: Object = {key: value for key, value in _object(old.get("constraints")).items() if key in ("enum", "maxLength")}
    if "required" not in part:
        constraints["required"] = False
    if kind != old.get("type"):
        constraints, new = {}, new | _NEW.get(kind, {})
    elif fill := _CONTROLS.get(kind):
        fill(new, constraints, part, languages)
    _put(new, "onlyIf", _condition(part, kinds))
    _put(new, "constraints", _object(new.get("constraints")) | constraints)
    return new


def _one_of(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    constraints.pop("enum", None)
    new["categories"] = [_category(line, languages) for line in part.get("categories").splitlines() if line.strip()]
    _put(new, "categoriesOrdered", True if "ordered" in part else None)
    _put(new, "other", _text(part, "other", languages))


def _several_of(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    new["categories"] = [_category(line, languages) for line in part.get("categories").splitlines() if line.strip()]
    _put(new, "none", part.get("none"))
    _put(new, "atMost", _integer(part.get("at_most")))


def _whole(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    constraints |= {key: _integer(part.get(key)) for key in ("minimum", "maximum") if part.get(key)}


def _period(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    _put(new, "period", part.get("period"))
    constraints |= {key: part.get(key) for key in ("minimum", "maximum") if part.get(key)}


def _binned(new: Object, constraints: Object, part: _Part, languages: _Languages) -> None:
    bins: Object = {key: value for key, value in _object(new.get("bins")).items() if key == "clamp"}
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


def _condition(part: _Part, kinds: Mapping[str, str]) -> Maybe:
    if part.get("rule.json"):
        try:
            return cast(Json, json.loads(part.get("rule.json")))
        except ValueError:
            return part.get("rule.json")
    if not (field := part.get("rule.field")):
        return None
    comparison, kind = part.get("rule.comparison", "equals"), kinds.get(field, "")
    values: list[Json] = [_value(text.strip(), kind) for text in part.get("rule.value").split(",")]
    return {"field": field, comparison: values if comparison == "oneOf" else values[0]}


def _value(text: str, kind: str) -> Json:
    """What an answer of a kind is compared with."""
    if kind == "boolean":
        return _TRUTHS.get(text.lower(), text)
    return _integer(text) if kind == "integer" else text


# ---- buttons


def changed(draft: Object, action: str) -> tuple[Object, int | None]:
    """The draft after a button was pressed, and the question that is to be seen then."""
    verb, _, what = action.partition(":")
    fields = fields_of(draft)
    act: dict[str, Callable[[list[Object], str], int | None]] = {"add": _added, "up": _up, "down": _down, "remove": _removed}
    if verb == "language":
        return (draft if what in ("", *languages_in(draft)) else _with_language(draft, what)), None
    place = act[verb](fields, what) if verb in act else None
    return draft | {"schema": {"fields": cast(Json, fields)}}, place


def _with_language(draft: Object, tag: str) -> Object:
    return draft | {"translations": {**_object(draft.get("translations")), tag: {}}}


def _added(fields: list[Object], kind: str) -> int | None:
    if kind not in KINDS or len(fields) >= MOST_QUESTIONS:
        return None
    names = {field.get("name") for field in fields}
    number = next(n for n in range(len(fields) + 1, 10**6) if f"question-{n}" not in names)
    fields.append({"name": f"question-{number}", "type": kind, "question": "", **_NEW[kind]})
    return len(fields) - 1


def _up(fields: list[Object], place: str) -> int | None:
    return _swapped(fields, _integer(place), -1)


def _down(fields: list[Object], place: str) -> int | None:
    return _swapped(fields, _integer(place), 1)


def _swapped(fields: list[Object], place: Json, step: int) -> int | None:
    if isinstance(place, int) and 0 <= place < len(fields) and 0 <= place + step < len(fields):
        fields[place], fields[place + step] = fields[place + step], fields[place]
        return place + step
    return place if isinstance(place, int) else None


def _removed(fields: list[Object], place: str) -> int | None:
    number = _integer(place)
    if isinstance(number, int) and 0 <= number < len(fields):
        del fields[number]
    return None
