"""Canonical JSON: one spelling for every campaign, so that its SHA-256 can be its name.

Only objects, lists, strings, booleans and integers of at most 53 bits (a browser reads no larger ones
exactly). Keys in code-point order, no spaces, UTF-8, every text in Unicode normal form C.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, NoReturn, TypeVar

from lopub.campaign.texts import are_normalized, check_characters, normalize
from lopub.errors import CampaignError, CampaignRefusal, DomainError, refusing
from lopub.files import members_once

LONGEST_FILE = 4 * 2**20
"""Bytes of a campaign."""
MOST_OPENED = 2**18
"""Signs `{` and `[` in a campaign, its texts included: a reader builds at most so many lists and objects."""
SPELT_ANEW = "{} spells something as LoPub would not write it; `lopub campaign make` writes it anew"
LARGEST_INTEGER = 2**53 - 1
DEEPEST = 16
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
    """The only bytes that stand for this value."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    except UnicodeEncodeError:
        raise CampaignError(
            "a text contains half a surrogate pair, which no file can carry"
        ) from None


def parse_canonical(data: bytes) -> Json:
    """The value of canonical bytes; refuses any other spelling of it."""
    with refusing(CampaignRefusal.JSON):
        value = _loaded(data, dict, _whole)
        check_characters(texts := _texts_within(value))
    with refusing(CampaignRefusal.CANONICAL):
        if canonical_bytes(value) != data or not are_normalized(texts):
            raise CampaignError(
                "these bytes are JSON but not canonical (spaces, order of keys, a member twice, escapes or letters in parts);"
                " `lopub campaign make` writes them"
            )
    return value


def parse(data: bytes, *, decimals: bool = False) -> Json:
    """JSON in any spelling, within the types that a campaign may use; its texts are put into normal form C. decimals: take them,
    as the texts that they are spelt with."""
    value = _loaded(data, _unique, str if decimals else _no_float)
    check_characters(texts := _texts_within(value))
    return value if are_normalized(texts) else _normalized(value)


def _loaded(
    data: bytes,
    of_pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]],
    of_decimal: Callable[[str], Any],
) -> Json:
    try:
        value: Json = json.loads(
            data.decode(),
            object_pairs_hook=of_pairs,
            parse_float=of_decimal,
            parse_constant=_no_float,
        )
        return value
    except UnicodeDecodeError:
        raise CampaignError("a campaign must be UTF-8 text") from None
    except CampaignError:
        raise
    except json.JSONDecodeError as error:
        raise CampaignError(
            f"no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise CampaignError(f"lists and objects may be nested at most {DEEPEST} deep") from None
    except ValueError:  # an integer of thousands of digits
        raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero") from None


def _texts_within(value: Json) -> list[str]:
    """All texts, keys included; refuses what is nested too deep, and values of other types than the allowed ones.

    Level by level rather than value by value, so that a file of millions of values takes a fraction of a second.
    """
    texts: list[str] = []
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        kinds = set(map(type, level))
        if type(None) in kinds:
            raise CampaignError("null has no place in a campaign; leave the member out")
        numbers = [item for item in level if type(item) is int] if int in kinds else [0]
        if max(max(numbers), -min(numbers)) > LARGEST_INTEGER:
            raise CampaignError(f"integers must lie within {LARGEST_INTEGER} of zero")
        texts += [item for item in level if type(item) is str]
        if not kinds & {list, dict}:
            return texts
        objects = [item for item in level if type(item) is dict]
        texts += chain.from_iterable(objects)
        lists = (item for item in level if type(item) is list)
        level = [
            *chain.from_iterable(lists),
            *chain.from_iterable(item.values() for item in objects),
        ]
    raise CampaignError(f"lists and objects may be nested at most {DEEPEST} deep")


def _normalized(value: Json) -> Json:
    if isinstance(value, str):
        return normalize(value)
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if isinstance(value, dict):
        return _unique([(normalize(key), _normalized(item)) for key, item in value.items()])
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object; refuses one that is named twice."""
    try:
        return members_once(pairs)
    except ValueError:
        raise CampaignError("an object names the same member twice") from None


def _whole(text: str) -> int:
    """The integer that 1.0 or 1e2 is another spelling of."""
    return int(double) if (double := float(text)).is_integer() else _no_float(text)


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

    def __len__(self) -> int:
        return len(self._left)

    def path(self, key: str) -> str:
        """Where a member stands, for a message."""
        return f"{self._where}.{key}" if self._where else key

    def take(self, key: str) -> Json:
        """A member of any type; refuses one that is missing."""
        if key not in self._left:
            raise CampaignError(f"{self.path(key)} is missing")
        return self._left.pop(key)

    def text(self, key: str, default: str | None = None) -> str:
        """A member that must be a text."""
        if default is not None and key not in self._left:
            return default
        return text_at(self.take(key), self.path(key))

    def integer(self, key: str, default: int | None = None) -> int:
        """A member that must be an integer."""
        if default is not None and key not in self._left:
            return default
        return integer_at(self.take(key), self.path(key))

    def boolean(self, key: str, default: bool | None = None) -> bool:
        """A member that must be true or false."""
        if default is not None and key not in self._left:
            return default
        value = self.take(key)
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
        self.only(())

    def only(self, names: Collection[str]) -> None:
        """Refuse members that nobody has taken, but for these."""
        if left := self._left.keys() - names:
            name = min(left)
            raise CampaignError(f"{self.path(name)} is not known to format 1 or 2")


def text_at(value: Json, where: str) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise CampaignError(f"{where} must be a text")
    return value


def integer_at(value: Json, where: str) -> int:
    """The value, which must be an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise CampaignError(f"{where} must be an integer")
    return value


def without_defaults(members: Mapping[str, Json], defaults: Mapping[str, Json]) -> dict[str, Json]:
    """The members that differ from their default: a campaign writes nothing that goes without saying."""
    return {
        key: value
        for key, value in members.items()
        if key not in defaults or defaults[key] != value
    }


def within_limits(data: bytes) -> bytes:
    """The same bytes; refuses more of them, or more lists and objects in them, than a campaign may have."""
    if len(data) > LONGEST_FILE:
        raise CampaignError(
            f"a campaign may have at most {LONGEST_FILE:,} bytes, got {len(data):,}"
        )
    opened = data.count(b"{") + data.count(b"[")
    if opened > MOST_OPENED:
        raise CampaignError(
            f"a campaign may have at most {MOST_OPENED:,} of the signs {{ and [, got {opened:,}"
        )
    return data


def check_spelling(written: Json, given: Json, what: str) -> None:
    """Refuse what a draft may have and a campaign may not: a member that should be left out, or another spelling."""
    if given != written:
        raise CampaignError(SPELT_ANEW.format(what))
