"""Sentences in the reader's language that other packages and workers say in English, with names and figures in them. English
itself has a few: what is said in a programmer's words."""

import json
import re
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

from lopub.pages.templating import COMMAS

WORDS = Path(__file__).parent / "words"
BLANK = "{}"
"""Stands for a name, a figure or a sentence; of several, a translation names the first {0}."""
_FIGURE = re.compile(r"\d[\d,]*(\.\d+)?")


@cache
def sayings(language: str) -> dict[str, str]:
    """What is said -> the same in a language."""
    found: dict[str, str] = json.loads(
        (WORDS / f"said.{language}.json").read_text(encoding="utf-8")
    )
    return found


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Those with the most words of their own first, so that one that is a part of another is tried after it."""
    known = sorted(sayings(language).items(), key=lambda one: -len(one[0].replace(BLANK, "")))
    return [
        (re.compile("(.+?)".join(map(re.escape, text.split(BLANK))), re.DOTALL), other)
        for text, other in known
    ]


def told(text: str, language: str) -> str | None:
    """A sentence in a language; None where it is not known in it. Every sentence is known in English."""
    for pattern, other in _patterns(language):
        if found := pattern.fullmatch(text):
            return other.format(*(_blank(one, language) for one in found.groups()))
    return text if language == "en" else None


def _blank(text: str, language: str) -> str:
    """What stands in a blank: a sentence that is known, a figure, or a name, which stays as it is."""
    if _FIGURE.fullmatch(text):
        return text.translate(str.maketrans(",.", ".,")) if language in COMMAS else text
    return told(text, language) or text


def said(text: str, language: str) -> Markup:
    """The same for a page; a sentence that is not known stays English, and is marked as such."""
    found = told(text, language)
    return escape(found) if found is not None else Markup('<span lang="en">{}</span>').format(text)
