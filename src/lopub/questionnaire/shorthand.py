"""What a draft may write in short: texts in several languages, bins by their number, answers by `enum` alone, "other".

Each rule turns a field, or the draft, into the long form that a campaign has. What a rule does not know it leaves alone, so that
mistakes are told where the long form is read.
"""

from decimal import Decimal, InvalidOperation
from typing import cast

from lopub.campaign.attribute import Value
from lopub.campaign.binned import ABOVE, BELOW
from lopub.campaign.canonical import Json, Members, decimal_text
from lopub.campaign.dated import CYCLES, SPAN_TEXTS, moment
from lopub.campaign.schedule import NO_REPEAT, SAMPLED, Schedule, day_at, repeat_from_json
from lopub.errors import CampaignError

Object = dict[str, Json]
FREE_TEXT = (
    "has no categories: a free text cannot be asked, because noise would leave nothing of it, and because it may name the person;"
    " list the answers that you expect as categories and add other, or ask another question"
)
FREE_TEXT_TYPES = ("text", "geopoint", "file", "any", "object", "array", "geojson")
MOST_BINS = 4096
_TEXTS = ("title", "question", "description")


def long_field(
    field: Object, language: str, translations: Object, numbers: dict[str, str]
) -> Object:
    """A field in its long form. translations: filled with what it says in other languages. numbers: name -> type of the fields
    before it."""
    long = {key: value for key, value in field.items() if key not in ("other", "atMost")}
    name = str(field.get("name", ""))
    for key in ("title", "question"):
        if isinstance(long.get(key), dict):
            long[key] = _in_languages(
                cast(Object, long[key]), language, translations, f"{key}s", name
            )
    _check_free_text(field)
    long |= _categories(field, language, translations, name)
    long |= _bins(field) | _dates(field)
    if "atMost" in field:
        long["constraints"] = _constraints(long) | {"maxLength": field["atMost"]}
    if isinstance(field.get("onlyIf"), dict):
        long["onlyIf"] = _condition(field["onlyIf"], numbers)
    numbers[name] = str(field.get("type", ""))
    return long


def long_terms(terms: Object, language: str, translations: Object) -> Object:
    """The terms in their long form, translations and schedule aside."""
    long = dict(terms)
    for key in ("title", "description", "consent"):
        if isinstance(long.get(key), dict):
            long[key] = _in_languages(cast(Object, long[key]), language, translations, key)
    return long


def long_schedule(schedule: Object) -> Object:
    """Rounds with their mode and their last day, which follows from the others."""
    if not isinstance(given := schedule["repeat"], dict):
        raise CampaignError(NO_REPEAT)
    long: Object = {**schedule, "repeat": {"mode": SAMPLED, **given}}
    if "closes" not in long and isinstance(opens := long.get("opens"), str):
        repeat = repeat_from_json(Members(long["repeat"], "schedule.repeat"))
        long["closes"] = str(Schedule.in_rounds(day_at(opens, "schedule.opens"), repeat).closes)
    return long


def _in_languages(texts: Object, language: str, translations: Object, *path: str) -> Json:
    """The text in the campaign's language; the others go to the translations, at this path."""
    if language not in texts:
        raise CampaignError(
            f"{path[0].removesuffix('s')} is given in {', '.join(sorted(texts))}, but not in {language}"
        )
    for other in sorted(set(texts) - {language}):
        place = cast(Object, translations.setdefault(other, {}))
        for step in path[:-1]:
            place = cast(Object, place.setdefault(step, {}))
        place[path[-1]] = texts[other]
    return texts[language]


def _constraints(field: Object) -> Object:
    found = field.get("constraints", {})
    return dict(found) if isinstance(found, dict) else {}


def _check_free_text(field: Object) -> None:
    kind = field.get("type")
    if kind in FREE_TEXT_TYPES or (
        kind == "string"
        and not {"categories", "other"} & set(field)
        and "enum" not in _constraints(field)
    ):
        raise CampaignError(FREE_TEXT if kind == "string" else f"of type {kind} {FREE_TEXT}")


def _categories(field: Object, language: str, translations: Object, name: str) -> Object:
    """Labels in one language each; `enum` alone; "other" behind the rest, whose text is never asked for."""
    listed = field.get("categories", _constraints(field).get("enum"))
    if field.get("type") not in ("string", "list") or not isinstance(listed, list):
        return {}
    categories = list(listed)
    if (other := field.get("other")) not in (None, False):
        categories.append(_other(other))
    labelled = [_labelled(item, language, translations, name) for item in categories]
    constraints = {
        key: value
        for key, value in _constraints(field).items()
        if key != "enum" or "other" not in field
    }
    return {"categories": labelled, "constraints": constraints}


def _other(given: Json) -> Json:
    if given is True:
        return {"value": "other", "label": "Other"}
    if isinstance(given, dict) and "value" not in given:
        return {"value": "other", "label": given}
    return {"value": "other", "label": given} if isinstance(given, str) else given


def _labelled(item: Json, language: str, translations: Object, name: str) -> Json:
    if not isinstance(item, dict) or not isinstance(item.get("label"), dict):
        return item
    label = cast(Object, item["label"])
    return item | {
        "label": _in_languages(
            label, language, translations, "labels", name, str(item.get("value", ""))
        )
    }


def _bins(field: Object) -> Object:
    """`{"count": 10, "from": 0, "to": 100}` and `"open": "above"`: edges, decided here and never by data."""
    bins = field.get("bins")
    if field.get("type") != "number" or not isinstance(bins, dict):
        if field.get("type") == "number" and bins is None:
            raise CampaignError(
                'has no bins: every number would be an answer of its own; give bins, such as {"count": 10, "from": 0, "to": 100}'
            )
        return {}
    long = {key: value for key, value in bins.items() if key not in ("count", "from", "to", "open")}
    if "count" in bins:
        long["edges"] = cast(Json, _equal_edges(bins, str(field.get("name", ""))))
    edges, opened = long.get("edges"), bins.get("open")
    if opened is not None and opened not in ("below", "above", "both"):
        raise CampaignError("bins.open must be below, above or both")
    if isinstance(edges, list) and opened is not None:
        long["edges"] = [
            *([BELOW] if opened != "above" else []),
            *edges,
            *([ABOVE] if opened != "below" else []),
        ]
    return {"bins": long}


def _equal_edges(bins: Object, name: str) -> list[str]:
    count = bins["count"]
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_BINS:
        raise CampaignError(f"bins.count must be a whole number from 1 to {MOST_BINS:,}")
    if "from" not in bins or "to" not in bins or "edges" in bins:
        raise CampaignError("bins.count goes with from and to, and not with edges")
    try:
        low, high = Decimal(str(bins["from"])), Decimal(str(bins["to"]))
    except InvalidOperation:
        raise CampaignError("bins.from and bins.to must be numbers") from None
    if not low.is_finite() or not high.is_finite() or low >= high:
        raise CampaignError("bins.from must be below bins.to")
    return [decimal_text(str(low + (high - low) * i / count), name) for i in range(count + 1)]


def _dates(field: Object) -> Object:
    """Days as minimum and maximum stand for the periods that they lie in."""
    period = field.get("period")
    if (
        field.get("type") not in ("date", "datetime", "time")
        or not isinstance(period, str)
        or period in CYCLES
    ):
        return {}
    constraints = _constraints(field)
    for key in ("minimum", "maximum"):
        day = moment(str(constraints.get(key, "")))[0]
        if day is not None and period in SPAN_TEXTS:
            constraints[key] = SPAN_TEXTS[period](day)
        elif isinstance(constraints.get(key), int):
            constraints[key] = str(constraints[key])
    return {"constraints": constraints}


def _condition(value: Json, numbers: dict[str, str]) -> Json:
    """Numbers that a binned answer is compared with are texts in a campaign."""
    if isinstance(value, list):
        return [_condition(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    if "field" not in value:
        return {key: _condition(item, numbers) for key, item in value.items()}
    binned = numbers.get(str(value["field"])) == "number"
    sides = ("above", "atMost", "below", "atLeast")
    return {key: _decimal(item) if binned and key in sides else item for key, item in value.items()}


def _decimal(item: Json) -> Json:
    try:
        return (
            decimal_text(cast(str | int, item), "")
            if isinstance(cast(Value, item), str | int) and not isinstance(item, bool)
            else item
        )
    except ValueError:
        return item
