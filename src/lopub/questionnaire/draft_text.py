"""The text of a draft: JSON in any spelling, with comments, and the line on which everything stands."""

import re
import unicodedata

from lopub.campaign.canonical import Json, parse
from lopub.errors import CampaignError

MOST_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format: sorting very many takes quadratic time."""

Path = tuple[str | int, ...]
"""Where a value stands: names of members and numbers in lists."""
Lines = dict[Path, int]

_TOKEN = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<sign>[{}\[\],:])|(?P<other>[^\s"{}\[\],:/]+)',
    re.S,
)


def parsed(data: bytes) -> tuple[Json, Lines]:
    """The value of a draft, with decimals as texts, and the line of each of its values."""
    blank = without_comments(data)
    return normalized(parse(blank)), lines_of(blank.decode())


def normalized(value: Json) -> Json:
    """The same with all texts in Unicode normal form C, so that a text has one spelling in a campaign, however it was typed."""
    if isinstance(value, str):
        return _composed(value)
    if isinstance(value, list):
        return [normalized(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {_composed(key): normalized(item) for key, item in value.items()}
    if len(members) < len(value):
        raise CampaignError("an object names the same member twice")
    return members


def _composed(text: str) -> str:
    if text.isascii():
        return text
    n_marks = 0
    for character in text:
        n_marks = n_marks + 1 if unicodedata.combining(character) else 0
        if n_marks > MOST_MARKS:
            raise CampaignError(f"a text has more than {MOST_MARKS} combining marks in a row")
    return unicodedata.normalize("NFC", text)


def without_comments(data: bytes) -> bytes:
    """The same text, with spaces for its comments, so that everything stays on its line and in its column."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data  # refused where it is parsed

    def blanked(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0]) if found.lastgroup == "comment" else found[0]

    return _TOKEN.sub(blanked, text).encode()


def lines_of(text: str) -> Lines:
    """Of valid JSON: path -> line, counted from 1."""
    lines: Lines = {(): 1}
    path: list[str | int] = []
    opened: list[str] = []
    expects_key, line, at = False, 1, 0
    for token in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, token.start()), token.start()
        sign = token[0]
        if sign in "{[":
            lines.setdefault(tuple(path), line)
            opened.append(sign)
            path.append(0 if sign == "[" else "")
            expects_key = sign == "{"
        elif sign in "}]":
            opened.pop()
            path.pop()
            expects_key = False
        elif sign == ",":
            expects_key = opened[-1] == "{"
            if not expects_key:
                path[-1] = int(path[-1]) + 1
        elif sign != ":" and expects_key:
            path[-1], expects_key = _composed(str(parse(sign.encode()))), False
            lines[tuple(path)] = line
        elif sign != ":":
            lines.setdefault(tuple(path), line)
    return lines
