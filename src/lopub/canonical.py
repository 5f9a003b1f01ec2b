"""Canonical JSON: one spelling for every campaign, so that its SHA-256 can be its name.

Only objects, lists, strings, booleans and integers of at most 53 bits (a browser reads no larger ones
exactly). Keys in code-point order, no spaces, UTF-8, every text in Unicode normal form C.
"""

import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeVar

from lopub.errors import CampaignError, DomainError, LopubError

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
    try:
        composed = normalize(text)
    except CampaignError as refusal:
        raise error(f"{what}: {refusal}") from None
    if len(composed) > LONGEST_TEXT:
        raise error(f"{what} must have at most {LONGEST_TEXT} characters, got {len(composed)} once composed")
    return composed


def composed_texts(owner: object, *keys: str) -> None:
    """Put these texts of a frozen object, or the texts of these mappings, into normal form C."""
    for key in keys:
        object.__setattr__(owner, key, _composed(getattr(owner, key)))


def _composed(value: Any) -> Any:
    if isinstance(value, str):
        return normalize(value)
    return {normalize(key): _composed(item) for key, item in value.items()}


def decimal_text(number: str | float | int, name: str) -> str:
    """A bin edge as the shortest plain decimal of its double.

    >>> decimal_text(1e-05, "x"), decimal_text("17.0", "x"), decimal_text(-0.0, "x")
    ('0.00001', '17', '0')
    """
    try:
        double = float(number)
        if not math.isfinite(double) or abs(double) > 1e15:
            raise InvalidOperation
    except (ValueError, TypeError, ArithmeticError):
        raise DomainError(f"attribute {name!r} has a bin edge that is no number within 1e15 of zero") from None
    plain = format(Decimal(repr(double)), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "0") else plain


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
    except CampaignError:
        raise
    except json.JSONDecodeError as error:
        raise CampaignError(f"no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise CampaignError(f"lists and objects may be nested at most {DEEPEST} deep") from None
    except ValueError:  # an integer of thousands of digits
        raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero") from None
    return _checked(value, DEEPEST)


def _checked(value: Any, deeper: int) -> Json:
    """The same value, made of the allowed types alone, its texts normalized."""
    if not deeper and isinstance(value, list | dict):
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
        return _unique([(normalize(key), _checked(item, deeper - 1)) for key, item in value.items()])
    raise CampaignError("null has no place in a campaign; leave the member out")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object; refuses one that is named twice."""
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
            raise CampaignError(f"{where or 'the whole'} must be an object")
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
        return self.members(key).every(read)

    def every(self, read: Callable[[Json, str], Value]) -> dict[str, Value]:
        """All members, whatever their names, read by one function."""
        return {name: read(value, self.path(name)) for name, value in self._left.items()}

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
