"""Texts that mean the same everywhere: Unicode normal form C where it is settled, and everything else as it stands.

How a character is normalized is settled for ever once it is assigned, and not before: programs of different age would disagree on
whether a text with a newer one is in normal form. So only what Unicode 14.0 assigns is ever normalized, and of that the scripts
of SETTLED, whose letters people type in more than one way; any other character stands for itself, and parts what is normalized.
So all programs agree, whatever their version of Unicode, and none needs a table of what was assigned when. A long run of
combining marks takes quadratic time to normalize, and so is refused first.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from lopub.errors import CampaignError, LopubError

LONGEST_TEXT = 1000
"""Code points of a name or a value."""
MOST_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format."""
LONGEST_REPR = 120
"""Characters of a repr."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

SETTLED = (
    "\\x00-\u0377\u038e-\u03a1\u03a3-\u052f\u0591-\u05c7\u05d0-\u05ea\u0600-\u070d\u0898-\u0983"
    "\u10d0-\u1248\u1d00-\u1f15\u3041-\u3096\u3099-\u30ff\uac00-\ud7a3"
)
"""What is normalized: Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, kana and Hangul. Unicode 14.0 assigns every one of
these code points."""
_UNSETTLED = re.compile(f"([^{SETTLED}]+)")
_LAST_TWO = "".join(
    chr(last) for plane in range(0, 0x110000, 0x10000) for last in (plane + 0xFFFE, plane + 0xFFFF)
)
_NO_CHARACTER = re.compile(f"[\ud800-\udfff\ufdd0-\ufdef{_LAST_TWO}]")
"""Half surrogate pairs and noncharacters: the same in every version of Unicode."""


def normalize(text: str) -> str:
    """The text in normal form; refuses one that has none, or that UTF-8 cannot carry.

    >>> normalize("cafe\\u0301"), normalize("\\u0378")
    ('café', '\\u0378')
    """
    if text.isascii():
        return text
    check_characters([text])
    if _has_long_run(_settled(text)):
        raise CampaignError(f"a text has more than {MOST_MARKS} combining marks in a row")
    parts = _UNSETTLED.split(text)
    return "".join(
        part if i % 2 else unicodedata.normalize("NFC", part) for i, part in enumerate(parts)
    )


def are_normalized(texts: Iterable[str]) -> bool:
    """Whether all of these are in normal form already.

    One look at all of them: a line end composes with nothing, so it keeps them apart.
    """
    together = _settled("\n".join(text for text in texts if not text.isascii()))
    return not _has_long_run(together) and unicodedata.is_normalized("NFC", together)


def check_characters(texts: Iterable[str]) -> None:
    """Refuse half surrogate pairs and noncharacters."""
    if found := _NO_CHARACTER.search("\n".join(text for text in texts if not text.isascii())):
        code = ord(found[0])
        if 0xD800 <= code < 0xE000:
            raise CampaignError("a text contains half a surrogate pair, which no file can carry")
        raise CampaignError(f"a text contains U+{code:04X}, which is not a character")


def _settled(text: str) -> str:
    """The same with line ends in place of what is not normalized."""
    return _UNSETTLED.sub("\n", text)


def _has_long_run(text: str) -> bool:
    marks = {character for character in set(text) if unicodedata.category(character)[0] == "M"}
    return bool(marks) and bytes([True]) * (MOST_MARKS + 1) in bytes(map(marks.__contains__, text))


def check_text(text: str, what: str, error: type[LopubError]) -> str:
    """The text in normal form C; refuses an empty, overlong or unprintable one."""
    return check_texts((text,), what, error)[0]


def check_texts(texts: Sequence[str], what: str, error: type[LopubError]) -> tuple[str, ...]:
    """The same of many; what is in normal form already, as in every campaign file, is seen at one look."""
    for text in texts:
        _check_shape(text, what, error)
    try:
        check_characters(texts)
        composed = tuple(texts) if are_normalized(texts) else tuple(map(normalize, texts))
    except CampaignError as refusal:
        raise error(f"{what}: {refusal}") from None
    longest = max(map(len, composed), default=0)
    if longest > LONGEST_TEXT:
        raise error(
            f"{what} must have at most {LONGEST_TEXT} characters, got {longest} once composed"
        )
    return composed


def _check_shape(text: str, what: str, error: type[LopubError]) -> None:
    if not isinstance(text, str) or not text:
        raise error(f"{what} must be a non-empty text")
    if len(text) > LONGEST_TEXT:
        raise error(f"{what} must have at most {LONGEST_TEXT} characters, got {len(text)}")
    if _CONTROL.search(text):
        raise error(f"{what} must not contain control characters")


def composed_or_empty(value: str) -> str:
    """In normal form C; empty, which is nobody's value, where it has none."""
    try:
        return normalize(value)
    except CampaignError:
        return ""


def composed_texts(owner: object, *keys: str) -> None:
    """Put these texts of a frozen object, or the texts of these mappings, into normal form C."""
    for key in keys:
        object.__setattr__(owner, key, _composed(getattr(owner, key)))


def _composed(value: Any) -> Any:
    if isinstance(value, str):
        return normalize(value)
    inner = value.values()
    if all(isinstance(item, str) for item in inner) and are_normalized([*value, *inner]):
        return dict(value)
    return {normalize(key): _composed(item) for key, item in value.items()}


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """What a notebook shows of a table."""
    from html import escape  # a client needs none of this

    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def one_line(noun: object, *facts: str) -> str:
    """A repr that fits on a line: the class, and in brackets what one wants to know of the object first."""
    text = f"{type(noun).__name__}({', '.join(facts)})"
    return text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 2]}…)"


def changed_fields(options: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, by name."""
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    return {
        field.name: given[field.name]
        for field in fields(options)
        if given[field.name] != field.default
    }


def told_options(options: object) -> str:
    """The repr of a dataclass of options: those that differ from their defaults."""
    return one_line(
        options, *(f"{name}={value!r}" for name, value in changed_fields(options).items())
    )
