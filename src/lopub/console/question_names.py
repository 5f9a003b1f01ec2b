"""What questions are called in tables: as somebody says, or else by the words of the question
itself.

A draft calls a question that nobody has named `question-1`, and so on, and this never changes, so
that rules can rely on it. What is planned, previewed and opened has names that readers of a report
understand.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import cast

from lopub.campaign.canonical import Json
from lopub.console.drafts import fields_of, in_languages, languages_in, read_text, written
from lopub.questionnaire.shorthand import Object

LONGEST = 40
"""Of a name that is made of a question."""
_AUTOMATIC = re.compile(r"question-\d+")


def is_automatic(name: str) -> bool:
    """Whether nobody has named a question of this name."""
    return bool(_AUTOMATIC.fullmatch(name))


def free_name(number: int, taken: Collection[str]) -> str:
    """A name for a question that nobody has named."""
    return next(
        name
        for n in range(number, number + len(taken) + 1)
        if (name := f"question-{n}") not in taken
    )


def names_in(draft: Object) -> list[str]:
    """What the questions of a draft will be called, in their order."""
    fields, languages = fields_of(draft), languages_in(draft)
    names = [str(field.get("name", "")) for field in fields]
    taken = {name for name in names if not is_automatic(name)}
    found = []
    for name, field in zip(names, fields, strict=True):
        text = in_languages(field.get("question"), languages)[languages[0]]
        found.append(_made_of(text, taken) or name if is_automatic(name) else name)
        taken.add(found[-1])
    return found


def _made_of(text: str, taken: Collection[str]) -> str:
    """A name of the first words of a question; empty where it has none."""
    name = ""
    for word in re.findall(r"\w+", text.casefold()):
        longer = f"{name}_{word}" if name else word[:LONGEST]
        if len(longer) > LONGEST:
            break
        name = longer
    if not name or name not in taken:
        return name
    return next(other for n in range(2, len(taken) + 3) if (other := f"{name}_{n}") not in taken)


@lru_cache(maxsize=64)
def finished(text: str) -> str:
    """The text of a draft in which every question has its name, and rules and translations call it
    so."""
    draft = read_text(text)
    old = [str(field.get("name", "")) for field in fields_of(draft)]
    called = {name: new for name, new in zip(old, names_in(draft), strict=True) if name != new}
    if not called:
        return text
    fields = [
        _renamed(field, called) | {"name": called.get(name, name)}
        for name, field in zip(old, fields_of(draft), strict=True)
    ]
    new = draft | {"schema": {"fields": cast(Json, fields)}}
    if isinstance(translations := draft.get("translations"), dict):
        new["translations"] = {
            tag: _keys_renamed(texts, called) for tag, texts in translations.items()
        }
    return written(new)


def _renamed(field: Object, called: Mapping[str, str]) -> Object:
    return field | ({"onlyIf": _rule(field["onlyIf"], called)} if "onlyIf" in field else {})


def _rule(rule: Json, called: Mapping[str, str]) -> Json:
    if isinstance(rule, list):
        return [_rule(part, called) for part in rule]
    if not isinstance(rule, dict):
        return rule
    return {
        key: called.get(str(value), value) if key == "field" else _rule(value, called)
        for key, value in rule.items()
    }


def _keys_renamed(texts: Json, called: Mapping[str, str]) -> Json:
    """Of one language: under every kind of text there is an object whose members are named like
    questions."""
    if not isinstance(texts, dict):
        return texts
    return {
        kind: {called.get(name, name): text for name, text in by_name.items()}
        if isinstance(by_name, dict)
        else by_name
        for kind, by_name in texts.items()
    }
