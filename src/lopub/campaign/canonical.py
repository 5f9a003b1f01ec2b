"""Canonical JSON: every campaign has one spelling, so that the SHA-256 of its bytes can be its name.

Only objects, lists, texts, booleans and integers of at most 53 bits, which is all that a browser reads exactly. Keys in
code-point order, no spaces, UTF-8. A loader reads a campaign, writes what it has read, and refuses bytes that differ.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from lopub.errors import CampaignError, DomainError
from lopub.files import members_once

LONGEST_FILE = 4 * 2**20
"""Bytes of a campaign."""
MOST_OPENED = 2**18
"""Characters `{` and `[` in a campaign, those in texts included: a reader builds at most so many lists and objects."""
LARGEST_INTEGER = 2**53 - 1
LONGEST_DECIMAL = 1000
"""Characters of a bin edge; the shortest plain decimal of a double has at most 344."""

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A number in a table, and an edge in any spelling: Python itself would read far more, such as 1_000."""

Value = TypeVar("Value")
Json = str | int | bool | list["Json"] | dict[str, "Json"]


def decimal_text(number: str | float | int, name: str) -> str:
    """A bin edge as the shortest plain decimal of its double.

    >>> decimal_text(1e-05, "x"), decimal_text("17.0", "x"), decimal_text(-0.0, "x")
    ('0.00001', '17', '0')
    """
    try:
        if isinstance(number, str) and (
            len(number) > LONGEST_DECIMAL or not NUMBER.fullmatch(number)
        ):
            raise InvalidOperation
        double = float(number)
        if not math.isfinite(double) or abs(double) > 1e15:
            raise InvalidOperation
    except (ValueError, TypeError, ArithmeticError):
        raise DomainError(
            f"attribute {name!r} has a bin edge that is not a number within 1e15 of zero"
        ) from None
    shortest = repr(double)
    if number == shortest.removesuffix(".0") != "-0" and "e" not in shortest:
        return str(number)  # spelt as it should be, as in every campaign file
    plain = format(Decimal(shortest), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "0") else plain


def canonical_bytes(value: Json) -> bytes:
    """The canonical bytes of a value."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    except UnicodeEncodeError:
        raise CampaignError(
            "a text contains half a surrogate pair, which no file can carry"
        ) from None


def parse(data: bytes) -> Json:
    """The value of JSON in any spelling, decimals as the texts that they are written with; refuses a member named twice."""
    try:
        value: Json = json.loads(data.decode(), object_pairs_hook=_members, parse_float=str)
        return value
    except UnicodeDecodeError:
        raise CampaignError("the file is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise CampaignError(
            f"no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise CampaignError("lists and objects are nested too deeply") from None
    except CampaignError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    try:
        return members_once(pairs)
    except ValueError:
        raise CampaignError("an object names the same member twice") from None


class Members:
    """An object being read: each member is taken with its type, and none may be left over."""

    def __init__(self, value: Json, where: str) -> None:
        if not isinstance(value, dict):
            raise CampaignError(f"{where or 'the whole'} must be an object")
        self._left = dict(value)
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def __len__(self) -> int:
        return len(self._left)

    def path(self, key: str) -> str:
        """Where a member stands, for a message."""
        return f"{self._where}.{key}" if self._where else key

    def take(self, key: str, default: Any = None) -> Any:
        """A member of any type; its default where it is left out, or an error where it has none."""
        if key not in self._left and default is None:
            raise CampaignError(f"{self.path(key)} is missing")
        return self._left.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A member that must be a text."""
        return text_at(self.take(key, default), self.path(key))

    def integer(self, key: str, default: int | None = None) -> int:
        """A member that must be an integer."""
        return integer_at(self.take(key, default), self.path(key))

    def boolean(self, key: str, default: bool | None = None) -> bool:
        """A member that must be true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise CampaignError(f"{self.path(key)} must be true or false")
        return value

    def items(self, key: str) -> list[Json]:
        """A member that must be a list."""
        value = self.take(key)
        if not isinstance(value, list):
            raise CampaignError(f"{self.path(key)} must be a list")
        return value

    def members(self, key: str) -> "Members":
        """A member that must be an object."""
        return Members(self.take(key), self.path(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A member that must be a list of texts."""
        items = self.items(key)
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) < len(items):
            wrong = next(i for i, item in enumerate(items) if not isinstance(item, str))
            raise CampaignError(f"{self.path(key)}[{wrong}] must be a text")
        return texts

    def mapping(self, key: str, read: Callable[[Json, str], Value]) -> dict[str, Value]:
        """Every member of an inner object, whatever its name, read by one function."""
        return self.members(key).every(read)

    def every(self, read: Callable[[Json, str], Value]) -> dict[str, Value]:
        """All members, whatever their names, read by one function."""
        return {name: read(value, self.path(name)) for name, value in self._left.items()}

    def done(self) -> None:
        """Refuse members that nobody has taken."""
        if self._left:
            raise CampaignError(f"{self.path(min(self._left))} is not known to format 1")


def text_at(value: Json, where: str) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise CampaignError(f"{where} must be a text")
    return value


def integer_at(value: Json, where: str) -> int:
    """The value, which must be an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise CampaignError(f"{where} must be an integer")
    if abs(value) > LARGEST_INTEGER:
        raise CampaignError(f"{where} must lie within {LARGEST_INTEGER} of zero")
    return value


def without_empty(members: Mapping[str, Json]) -> dict[str, Json]:
    """The members that are not empty and not 0, which is their default: a campaign does not write those."""
    return {key: value for key, value in members.items() if value}


def within_limits(data: bytes) -> bytes:
    """Return the bytes; refuses more of them, or more lists and objects in them, than a campaign may have."""
    if len(data) > LONGEST_FILE:
        raise CampaignError(
            f"a campaign may have at most {LONGEST_FILE:,} bytes, got {len(data):,}"
        )
    opened = data.count(b"{") + data.count(b"[")
    if opened > MOST_OPENED:
        raise CampaignError(
            f"a campaign may have at most {MOST_OPENED:,} of the characters {{ and [, got {opened:,}"
        )
    return data
