"""Texts of a campaign: what may stand in them; and the short forms in which objects show themselves.

The loader compares texts code point by code point, and never normalizes one: versions of Unicode differ in the normal forms of
new characters, and all programs must agree on all campaigns. Drafts are put into normal form C as they are read, and a device
tries an answer in normal form C where the answer as given is not listed.
"""

import base64
import re
import unicodedata
from collections.abc import Iterable, Sequence

from lopub.errors import LopubError

LONGEST_TEXT = 1000
"""Code points of a name or a value."""
LONGEST_COMPOSED = 4 * LONGEST_TEXT
"""Code points of an answer that is put into normal form: sorting the marks of a longer one could take minutes."""
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
LONGEST_REPR = 120
"""Characters of a repr."""
_UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and halves of surrogate pairs."""


def check_text(text: str, what: str, error: type[LopubError]) -> None:
    """Refuse an empty, overlong or unprintable name or value."""
    if not isinstance(text, str) or not text:
        raise error(f"{what} must be a non-empty text")
    if len(text) > LONGEST_TEXT:
        raise error(f"{what} must have at most {LONGEST_TEXT} characters, got {len(text)}")
    if _UNFIT.search(text):
        raise error(f"{what} must not contain control characters or half a surrogate pair")


def check_texts(texts: Iterable[str], what: str, error: type[LopubError]) -> None:
    """Refuse these if one of them is empty, overlong or unprintable."""
    for text in texts:
        check_text(text, what, error)


def composed(text: str) -> str:
    """The answer in normal form C, in which campaigns are made; a very long one as it is.

    >>> composed("cafe\\u0301")
    'café'
    """
    return text if len(text) > LONGEST_COMPOSED else unicodedata.normalize("NFC", text)


def base64url(data: bytes) -> str:
    """Bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes | None:
    """The bytes of a text in base64url; None for any other text, and where unused bits at its end are not zero."""
    if not _BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if base64url(data) == text else None


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
