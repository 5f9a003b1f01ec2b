"""What the buttons of a draft do: questions come, move and go; languages come."""

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import cast

from lopub.campaign.canonical import Json
from lopub.console.drafts import (
    KINDS,
    MOST_QUESTIONS,
    fields_of,
    languages_in,
    members_of,
    new_members,
    place_among,
)
from lopub.console.question_names import free_name
from lopub.questionnaire.shorthand import Object


def changed(draft: Object, action: str, today: date) -> tuple[Object, int | None]:
    """The draft after a button was pressed, and the question that is to be seen then."""
    verb, _, what = action.partition(":")
    fields = fields_of(draft)
    act: dict[str, Callable[[list[Object], str], int | None]] = {
        "up": _up,
        "down": _down,
        "remove": _removed,
    }
    act["add"] = partial(_added, today=today)
    if verb == "language":
        return (draft if what in ("", *languages_in(draft)) else _with_language(draft, what)), None
    place = act[verb](fields, what) if verb in act else None
    return draft | {"schema": {"fields": cast(Json, fields)}}, place


def _with_language(draft: Object, tag: str) -> Object:
    return draft | {"translations": {**members_of(draft.get("translations")), tag: {}}}


def _added(fields: list[Object], kind: str, today: date) -> int | None:
    if kind not in KINDS or len(fields) >= MOST_QUESTIONS:
        return None
    name = free_name(len(fields) + 1, {str(field.get("name")) for field in fields})
    fields.append({"name": name, "type": kind, "question": "", **new_members(kind, today)})
    return len(fields) - 1


def _up(fields: list[Object], place: str) -> int | None:
    return _swapped(fields, place, -1)


def _down(fields: list[Object], place: str) -> int | None:
    return _swapped(fields, place, 1)


def _swapped(fields: list[Object], place: str, step: int) -> int | None:
    if (at := place_among(fields, place)) is not None and 0 <= at + step < len(fields):
        fields[at], fields[at + step] = fields[at + step], fields[at]
        return at + step
    return at


def _removed(fields: list[Object], place: str) -> int | None:
    if (at := place_among(fields, place)) is not None:
        del fields[at]
    return None
