"""The expressions of XLSForm that say when a question is asked, as conditions: a small part of XPath, and nothing else.

expression   and, or, not(...), parentheses
comparison   ${question} = 'answer', != < <= > >=, either way round
             selected(${question}, 'option')
"""

import re
from dataclasses import dataclass

from lopub.campaign.canonical import Json
from lopub.errors import CampaignError

MOST_CHARACTERS = 2000
_TOKEN = re.compile(
    r"\s*(?:(?P<field>\$\{\s*[^{}\s]+\s*\})|(?P<text>'[^']*'|\"[^\"]*\")|(?P<number>-?\d+(?:\.\d+)?)|(?P<sign><=|>=|!=|[=<>(),.])"
    r"|(?P<word>[A-Za-z][A-Za-z-]*))"
)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}

Operand = tuple[str, str]
"""(kind, text): a field, a text, a number, or the answer itself, `.`"""


@dataclass(frozen=True)
class Compared:
    """One comparison: sign is = != < <= > >= or `selected`; field is empty for the answer itself."""

    field: str
    sign: str
    value: str
    is_number: bool


Tree = Compared | tuple[str, tuple["Tree", ...]]
"""A comparison, or (and | or | not, parts)."""


class NotCarried(CampaignError):
    """An expression that goes beyond these."""


def parsed(text: str) -> Tree:
    """The tree of an expression; NotCarried where it is not one of these."""
    if len(text) > MOST_CHARACTERS:
        raise NotCarried(
            f"an expression may have at most {MOST_CHARACTERS:,} characters, got {len(text):,}"
        )
    reader = _Reader(_tokens(text))
    tree = reader.disjunction()
    reader.end()
    return tree


def _tokens(text: str) -> list[Operand]:
    found, at = [], 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise NotCarried(f"this expression is not understood from its character {at + 1} on")
        found.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return found


class _Reader:
    """Recursive descent, as deep as there are parentheses; a short text cannot have many."""

    def __init__(self, tokens: list[Operand]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def _next(self) -> Operand:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, text: str) -> bool:
        if self._next()[1] == text and self._next()[0] != "text":
            self._at += 1
            return True
        return False

    def _must(self, text: str) -> None:
        if not self._take(text):
            raise NotCarried(f"this expression lacks {text!r}")

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise NotCarried("this expression goes on where it should end")

    def disjunction(self) -> Tree:
        parts = [self._conjunction()]
        while self._take("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else ("or", tuple(parts))

    def _conjunction(self) -> Tree:
        parts = [self._part()]
        while self._take("and"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else ("and", tuple(parts))

    def _part(self) -> Tree:
        self._depth += 1
        if self._depth > 50:
            raise NotCarried("this expression is nested too deep")
        if self._take("not"):
            self._must("(")
            inner: Tree = ("not", (self.disjunction(),))
            self._must(")")
        elif self._take("("):
            inner = self.disjunction()
            self._must(")")
        elif self._next()[1] in ("selected", "count-selected"):
            inner = self._function()
        else:
            inner = self._comparison()
        self._depth -= 1
        return inner

    def _function(self) -> Tree:
        """selected(field, option), or count-selected(.) compared with a number."""
        name = self._next()[1]
        self._at += 1
        self._must("(")
        field = self._operand()
        value: Operand = ("text", "''")
        if name == "selected":
            self._must(",")
            value = self._operand()
        self._must(")")
        if name == "selected":
            return Compared(_field(field), "selected", _plain(value), False)
        sign, value = self._sign(), self._operand()
        return Compared(_field(field), f"count{sign}", _plain(value), True)

    def _comparison(self) -> Tree:
        left, sign, right = self._operand(), self._sign(), self._operand()
        if left[0] not in ("field", "self"):
            left, sign, right = right, _TURNED[sign], left
        if left[0] not in ("field", "self") or right[0] in ("field", "self"):
            raise NotCarried("a comparison must be of one question with one value")
        return Compared(_field(left), sign, _plain(right), right[0] == "number")

    def _sign(self) -> str:
        kind, text = self._next()
        if kind != "sign" or text not in _TURNED:
            raise NotCarried("this expression lacks a comparison such as =")
        self._at += 1
        return text

    def _operand(self) -> Operand:
        kind, text = self._next()
        self._at += 1
        if (kind, text) == ("sign", "."):
            return "self", ""
        if kind == "word" and text in ("true", "false", "date"):
            self._must("(")
            inner = self._operand() if text == "date" else ("text", f"'{text}'")
            self._must(")")
            return inner
        if kind not in ("field", "text", "number"):
            raise NotCarried(f"{text or 'its end'} is not understood here")
        return kind, text


def _field(operand: Operand) -> str:
    if operand[0] == "self":
        return ""
    if operand[0] != "field":
        raise NotCarried("a function must be of a question")
    return operand[1][2:-1].strip()


def _plain(operand: Operand) -> str:
    return operand[1][1:-1] if operand[0] == "text" else operand[1]


def comparisons(tree: Tree) -> list[Compared]:
    """All of them."""
    if isinstance(tree, Compared):
        return [tree]
    return [found for part in tree[1] for found in comparisons(part)]


def condition(tree: Tree, kinds: dict[str, str]) -> Json:
    """The member `onlyIf` of a draft. kinds: type of every earlier field that was carried over."""
    if not isinstance(tree, Compared):
        word, parts = tree
        inner = [condition(part, kinds) for part in parts]
        return {word: inner[0] if word == "not" else inner}
    kind = kinds.get(tree.field)
    if kind is None:
        raise NotCarried(
            f"it looks at {tree.field!r}, which is not an earlier question that was carried over"
        )
    return _compared(tree, kind)


def _compared(one: Compared, kind: str) -> Json:
    if one.sign == "selected" or (kind == "list" and one.sign == "="):
        return {"field": one.field, "includes" if kind == "list" else "equals": one.value}
    if one.sign in ("=", "!=") and one.value == "":
        raise NotCarried(f"it asks whether {one.field!r} has no answer")
    if one.sign in ("=", "!=") and kind in ("string", "list", "integer"):
        equal: Json = {
            "field": one.field,
            "equals": _integer(one) if kind == "integer" else one.value,
        }
        if kind == "list":
            equal = {"field": one.field, "includes": one.value}
        return {"not": equal} if one.sign == "!=" else equal
    words = {"<": "below", "<=": "atMost", ">": "above", ">=": "atLeast"}
    if kind == "integer" and one.sign in words:
        return {"field": one.field, words[one.sign]: _integer(one)}
    if kind in ("number", "whole number") and one.sign in words:
        return _at_edge(one, whole=kind == "whole number")
    raise NotCarried(f"{one.field!r} cannot be compared so")


def _integer(one: Compared) -> int:
    try:
        return int(one.value)
    except ValueError:
        raise NotCarried(
            f"{one.field!r} is a whole number, and is compared with something else"
        ) from None


def edge_of(one: Compared, *, whole: bool) -> str:
    """The bin edge that a comparison of a binned number needs; of a whole number, "at least 18" is "above 17"."""
    if not one.is_number:
        raise NotCarried(f"{one.field!r} is a number, and is compared with something else")
    if one.sign in (">", "<="):
        return one.value
    if not whole:
        raise NotCarried(f"{one.field!r} is binned, and bins include their upper edge: use > or <=")
    return str(_integer(one) - 1)


def _at_edge(one: Compared, *, whole: bool) -> Json:
    above = one.sign in (">", ">=")
    return {"field": one.field, "above" if above else "atMost": edge_of(one, whole=whole)}
