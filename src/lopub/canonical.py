"""Canonical JSON: one spelling for every campaign, so that its SHA-256 can be its name.

Only objects, lists, strings, booleans and integers of at most 53 bits (a browser reads no larger ones
exactly). Keys in code-point order, no spaces, UTF-8, every text in Unicode normal form C.
"""

import json
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from lopub.errors import CampaignError, LopubError

LARGEST_INTEGER = 2**53 - 1
DEEPEST = 16
LONGEST_TEXT = 1000
"""Of a name or a value."""

Value = TypeVar("Value")
Json = str | int | bool | list["Json"] | dict[str, "Json"]


def normalize(text: str) -> str:
    """The text in Unicode normal form C; refuses what UTF-8 cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CampaignError("a text contains half a surrogate pair, which no file can carry") from None
    return unicodedata.normalize("NFC", text)


def check_text(text: str, what: str, error: type[LopubError]) -> str:
    """The text in normal form C; refuses an empty, overlong or unprintable one."""
    if not isinstance(text, str) or not text:
        raise error(f"{what} must be a non-empty text")
    if len(text) > LONGEST_TEXT:
        raise error(f"{what} must have at most {LONGEST_TEXT} characters, got {len(text)}")
    if any(ord(c) < 32 or ord(c) == 127 for c in text):
        raise error(f"{what} must not contain control characters")
    return normalize(text)


def canonical_bytes(value: Json) -> bytes:
    """The only bytes that stand for this value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def parse_canonical(data: bytes) -> Json:
    """The value of canonical bytes; refuses any other spelling of it."""
    value = parse(data)
    if canonical_bytes(value) != data:
        raise CampaignError(
            "these bytes are JSON but not canonical (spaces, order of keys or escapes); `lopub campaign make` writes them"
        )
    return value


def parse(data: bytes) -> Json:
    """JSON in any spelling, within the types that a campaign may use."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float)
    except UnicodeDecodeError:
        raise CampaignError("a campaign must be UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise CampaignError(f"no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise CampaignError(f"lists and objects may be nested at most {DEEPEST} deep") from None
    except ValueError:  # an integer of thousands of digits
        raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero") from None
    return _checked(value, DEEPEST)


def _checked(value: Any, deeper: int) -> Json:
    """The same value, made of the allowed types alone, its texts normalized."""
    if not deeper:
        raise CampaignError(f"lists and objects may be nested at most {DEEPEST} deep")
    if isinstance(value, str):
        return normalize(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero")
        return value
    if isinstance(value, list):
        return [_checked(item, deeper - 1) for item in value]
    if isinstance(value, dict):
        return {normalize(key): _checked(item, deeper - 1) for key, item in value.items()}
    raise CampaignError("null has no place in a campaign; leave the member out")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise CampaignError("an object names the same member twice")
    return members


def _no_float(text: str) -> NoReturn:
    raise CampaignError("decimals must be written as strings; only integers may stand as numbers")


class Members:
    """An object being read: each member is taken with its type, and none may be left over."""

    def __init__(self, value: Json, where: str) -> None:
        if not isinstance(value, dict):
            raise CampaignError(f"{where} must be an object")
        self._left = dict(value)
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key

    def take(self, key: str) -> Json:
        if key not in self._left:
            raise CampaignError(f"{self.path(key)} is missing")
        return self._left.pop(key)

    def text(self, key: str, default: str | None = None) -> str:
        if default is not None and key not in self._left:
            return default
        return text_at(self.take(key), self.path(key))

    def integer(self, key: str, default: int | None = None) -> int:
        if default is not None and key not in self._left:
            return default
        return integer_at(self.take(key), self.path(key))

    def boolean(self, key: str, default: bool | None = None) -> bool:
        if default is not None and key not in self._left:
            return default
        value = self.take(key)
        if not isinstance(value, bool):
            raise CampaignError(f"{self.path(key)} must be true or false")
        return value

    def items(self, key: str) -> list[Json]:
        value = self.take(key)
        if not isinstance(value, list):
            raise CampaignError(f"{self.path(key)} must be a list")
        return value

    def members(self, key: str) -> "Members":
        return Members(self.take(key), self.path(key))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(text_at(item, f"{self.path(key)}[{i}]") for i, item in enumerate(self.items(key)))

    def mapping(self, key: str, read: Callable[[Json, str], Value]) -> dict[str, Value]:
        """Every member of an inner object, whatever its name, read by one function."""
        inner = self.members(key)
        return {name: read(value, inner.path(name)) for name, value in inner._left.items()}

    def done(self) -> None:
        if self._left:
            name = min(self._left)
            raise CampaignError(f"{self.path(name)} is not known to format 1")


def text_at(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise CampaignError(f"{where} must be a text")
    return value


def integer_at(value: Json, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CampaignError(f"{where} must be an integer")
    return value


def without_defaults(members: Mapping[str, Json], defaults: Mapping[str, Json]) -> dict[str, Json]:
    """The members that differ from their default: a campaign writes nothing that goes without saying."""
    return {key: value for key, value in members.items() if key not in defaults or defaults[key] != value}
