"""The text of a draft: JSON in any spelling, with comments, and the line on which everything stands."""

import re

from lopub.campaign.canonical import Json, parse

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
    value = parse(blank, decimals=True)
    return value, lines_of(blank.decode())


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
            path[-1], expects_key = str(parse(sign.encode())), False
            lines[tuple(path)] = line
        elif sign != ":":
            lines.setdefault(tuple(path), line)
    return lines
