"""Expressions over attributes, such as `income == 'high' and age > 40`: from text to a tree. Nothing is ever evaluated as code.

    either     = both {"or" both}
    both       = negated {"and" negated}
    negated    = "not" negated | "(" either ")" | comparison
    comparison = name | name ["not"] "in" list | operand (comparator operand)+
    list       = "(" value {"," value} ")"

A name that is not an identifier, or is one of the words above, stands in backquotes; a backquote in it is written twice. A value
is a number, a text in quotes, `true`, `false`, or `null` for no answer. In a text, a backslash stands before a quote or another
backslash; anywhere else it is itself.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lopub.errors import DomainError

LONGEST = 20_000
"""Characters of an expression."""
DEEPEST = 50
"""Parentheses and negations within each other."""
MOST_COMPARISONS = 200
LONGEST_SHOWN = 30
"""Characters of an expression that a message quotes."""
LONGEST_NUMBER = 40

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:[^`]|``)*)`"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<sign>==|!=|<>|<=|>=|[<>=(),\[\]])"
    r")",
    re.DOTALL,
)
_WORDS = {"and", "or", "not", "in", "true", "false", "null", "none"}
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "none": None}
_SAME = {"=": "==", "<>": "!="}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARATORS = frozenset(_TURNED)
_HINTS = dict.fromkeys("&|!~", "; write and, or, not") | dict.fromkeys(
    "'\"`", "; a quote is not closed"
)
"""What may have been meant by a sign that is none of the language."""


@dataclass(frozen=True)
class Literal:
    """A value as it was written. text: what stands in a table for it."""

    value: str | bool | float | None
    text: str


@dataclass(frozen=True)
class Atom:
    """An attribute against values: sign is a comparator with one value, "in" with some, or "" where the name stands alone."""

    name: str
    sign: str
    values: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Negation:
    """What does not hold."""

    part: "Tree"


@dataclass(frozen=True)
class Conjunction:
    """All parts hold."""

    parts: tuple["Tree", ...]


@dataclass(frozen=True)
class Disjunction:
    """At least one part holds."""

    parts: tuple["Tree", ...]


Tree = Atom | Negation | Conjunction | Disjunction


def parsed(text: str) -> Tree:
    """The tree of an expression; whatever is wrong with it is said in one sentence."""
    if not isinstance(text, str):
        raise DomainError(f"an expression must be a text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise DomainError(f"an expression may have {LONGEST:,} characters, got {len(text):,}")
    if not text.strip():
        raise DomainError("the expression is empty; write one such as age > 40")
    return _Parser(unicodedata.normalize("NFC", text)).whole()


def written(name: str) -> str:
    """A name as it must be written in an expression."""
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in _WORDS
    return name if plain else f"`{name.replace('`', '``')}`"


def comparisons(tree: Tree) -> Iterator[Atom]:
    """All comparisons in a tree, from left to right."""
    if isinstance(tree, Atom):
        yield tree
    elif isinstance(tree, Negation):
        yield from comparisons(tree.part)
    else:
        for part in tree.parts:
            yield from comparisons(part)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise _meaningless(text, at)
        kind, own = found.lastgroup, found.group(found.lastgroup)
        if kind == "quoted":
            own = own.replace("``", "`")
        word = own.lower() if kind == "name" and own.lower() in _WORDS else ""
        yield _Token("word" if word else kind, word or own, found.start(found.lastgroup))
        at = found.end()
    yield _Token("end", "", end)


def _meaningless(text: str, at: int) -> DomainError:
    """A sign that is none of the language, with what may have been meant."""
    rest = text[at:].lstrip()
    hint = _HINTS.get(rest[:1], "")
    if rest[:1] in tuple("-/.:@#+?*%") and at and text[at - 1].isalnum():
        hint = "; a name with other signs than letters and digits stands in `backquotes`"
    return _mistake(f"there is a sign that means nothing here{hint}", text, len(text) - len(rest))


def _mistake(what: str, text: str, at: int) -> DomainError:
    shown = " ".join(text[at : at + LONGEST_SHOWN].split())
    where = f"at character {at + 1}, before {shown!r}" if shown else "at its end"
    return DomainError(f"expression: {what}, {where}")


CALLED = (
    "and, or, or the end is expected; an expression has no functions, and a mean or a quantile is asked for in Python, with"
    " lopub.open_study(...).mean(...) or .quantile(...)"
)


class _Parser:
    """Recursive descent; depth, length and comparisons are bounded."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next = text, list(_tokens(text)), 0
        self._n_comparisons = 0

    def whole(self) -> Tree:
        tree = self._either(0)
        if self._peek.kind == "sign" and self._peek.text == "(":
            raise self._wrong(CALLED)
        if self._peek.kind != "end":
            raise self._wrong("and, or, or the end is expected")
        return tree

    # ---- tokens

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek
        self._next += token.kind != "end"
        return token

    def _takes(self, kind: str, *texts: str) -> bool:
        """Whether the next token is one of these; it is taken then."""
        if self._peek.kind == kind and self._peek.text in texts:
            self._next += 1
            return True
        return False

    def _wrong(self, what: str) -> DomainError:
        return _mistake(what, self._text, self._peek.at)

    # ---- rules

    def _either(self, depth: int) -> Tree:
        return self._joined(
            "or",
            Disjunction,
            lambda: self._joined("and", Conjunction, lambda: self._negated(depth)),
        )

    def _joined(
        self, word: str, kind: type[Conjunction] | type[Disjunction], part: Callable[[], Tree]
    ) -> Tree:
        parts = [part()]
        while self._takes("word", word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _negated(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise self._wrong(f"parentheses and negations may be {DEEPEST} deep, and are deeper")
        if self._takes("word", "not"):
            return Negation(self._negated(depth + 1))
        if self._takes("sign", "("):
            tree = self._either(depth + 1)
            if not self._takes("sign", ")"):
                raise self._wrong("a closing parenthesis is expected")
            return tree
        return self._comparison()

    def _comparison(self) -> Tree:
        left = self._operand()
        if isinstance(left, str):
            if self._takes("word", "in"):
                return self._counted(Atom(left, "in", self._list()))
            if self._peek.text == "not" and self._peek.kind == "word":
                self._take()
                if not self._takes("word", "in"):
                    raise self._wrong("in is expected after not")
                return Negation(self._counted(Atom(left, "in", self._list())))
        parts: list[Atom] = []
        while (
            self._peek.kind == "sign"
            and (sign := _SAME.get(self._peek.text, self._peek.text)) in COMPARATORS
        ):
            at = self._take().at
            right = self._operand()
            parts.append(self._counted(self._compared(left, sign, right, at)))
            left = right
        if parts:
            return parts[0] if len(parts) == 1 else Conjunction(tuple(parts))
        if isinstance(left, Literal):
            raise self._wrong("a comparison with an attribute is expected after a value")
        return self._counted(Atom(left, ""))

    def _compared(self, left: str | Literal, sign: str, right: str | Literal, at: int) -> Atom:
        if isinstance(left, str) and isinstance(right, Literal):
            return Atom(left, sign, (right,))
        if isinstance(left, Literal) and isinstance(right, str):
            return Atom(right, _TURNED[sign], (left,))
        both = "two attributes" if isinstance(left, str) else "two values"
        hint = "; texts stand in quotes" if isinstance(left, str) else ""
        raise _mistake(f"{both} cannot be compared with each other{hint}", self._text, at)

    def _counted(self, comparison: Atom) -> Atom:
        self._n_comparisons += 1
        if self._n_comparisons > MOST_COMPARISONS:
            raise DomainError(
                f"an expression may have {MOST_COMPARISONS} comparisons, and has more; use in with a list"
            )
        return comparison

    def _operand(self) -> str | Literal:
        """The name of an attribute, or a value."""
        token = self._peek
        if token.kind in ("name", "quoted"):
            return self._take().text
        if token.kind == "word" and token.text not in _LITERALS:
            raise self._wrong(
                f"an attribute or a value is expected; an attribute called {token.text!r} stands in `backquotes`"
            )
        return self._value("an attribute or a value")

    def _value(self, wanted: str = "a value") -> Literal:
        token = self._peek
        if token.kind == "number":
            if len(token.text) > LONGEST_NUMBER or not math.isfinite(float(token.text)):
                raise self._wrong("the number is too long, or too large")
            self._take()
            return Literal(float(token.text), token.text)
        if token.kind == "text":
            self._take()
            plain = re.sub(r"""\\(['"\\])""", r"\1", token.text[1:-1])
            return Literal(plain, plain)
        if token.kind == "word" and token.text in _LITERALS:
            self._take()
            value = _LITERALS[token.text]
            return Literal(value, "" if value is None else token.text)
        raise self._wrong(f"{wanted} is expected")

    def _list(self) -> tuple[Literal, ...]:
        closing = {"(": ")", "[": "]"}.get(self._peek.text) if self._peek.kind == "sign" else None
        if closing is None:
            raise self._wrong("a list such as (1, 2) is expected after in")
        self._take()
        values = [self._value()]
        while self._takes("sign", ","):
            if self._peek.kind == "sign" and self._peek.text == closing:
                break
            values.append(self._value())
        if not self._takes("sign", closing):
            raise self._wrong(f"a comma or {closing} is expected in the list")
        return tuple(values)
