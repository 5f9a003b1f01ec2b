"""Expressions against a domain: which answers they tell apart, and which combinations of those they hold of.

Answers that an expression does not tell apart are one class. A number that is known in bins is cut where an expression asks for
less than a bin, and the bin then counts in part, as if the numbers in it were spread evenly: that is stated as an assumption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.attribute import NOT_APPLICABLE, few
from lopub.campaign.domain import (
    Attribute,
    Binned,
    Boolean,
    Clique,
    Dated,
    Domain,
    IntegerRange,
    TickList,
)
from lopub.errors import DomainError
from lopub.estimation.joint import Probabilities, product_of
from lopub.estimation.linear import Grouping
from lopub.queries.expressions import (
    Atom,
    Conjunction,
    Literal,
    Negation,
    Tree,
    comparisons,
    written,
)

MOST_CELLS = 2**16
"""Combinations of classes that a question may tell apart."""
MOST_COMPARED = 2_000
"""Values among which the nearest is looked for."""

Truth = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Question:
    """Expressions bound to a domain. clique: the attributes, ascending; groupings: of each, which answers are told apart.
    weights: of each expression, the share of every cell of classes of which it holds, between 0 and 1."""

    clique: Clique
    groupings: tuple[Grouping, ...]
    weights: tuple[Probabilities, ...]
    assumptions: tuple[str, ...]

    @property
    def evenly(self) -> Probabilities:
        """The share of candidates in each cell of classes."""
        return product_of([grouping.sigma for grouping in self.groupings])


def question(trees: Sequence[Tree], domain: Domain, spelt_out: Iterable[str] = ()) -> Question:
    """What some expressions ask, together. spelt_out: attributes of which every answer is a class of its own."""
    named = {comparison.name for tree in trees for comparison in comparisons(tree)}
    whole = {position_of(domain, name) for name in spelt_out}
    clique = tuple(sorted({position_of(domain, name) for name in named} | whole))
    attributes = [domain.attributes[position] for position in clique]
    asked = [[c for c in _distinct(trees) if c.name == attribute.name] for attribute in attributes]
    axes = [
        _Axis.of(a, own, p in whole) for a, own, p in zip(attributes, asked, clique, strict=True)
    ]
    _check_size(axes)
    weights = tuple(_weighed(tree, axes) for tree in trees)
    assumptions = tuple(dict.fromkeys(text for axis in axes for text in axis.assumptions))
    return Question(clique, tuple(axis.grouping for axis in axes), weights, assumptions)


def position_of(domain: Domain, name: str) -> int:
    """Where an attribute stands; a name that is not there gets the nearest one that is."""
    if name in domain:
        return domain.position(name)
    if options := next(
        (one.options for one in domain.questions if isinstance(one, TickList) and one.name == name),
        (),
    ):
        shown = " or ".join(written(option.name) for option in options[:2])
        raise DomainError(
            f"{_shown(name)} is a list, of which each option is asked for by itself, such as {shown}"
        )
    if near := _nearest(name, domain.names):
        raise DomainError(f"there is no attribute {_shown(name)}; did you mean {written(near)}?")
    raise DomainError(
        f"there is no attribute {_shown(name)}; the {len(domain)} attributes are {few(domain.names)}"
    )


def _distinct(trees: Sequence[Tree]) -> list[Atom]:
    return list(dict.fromkeys(comparison for tree in trees for comparison in comparisons(tree)))


def _nearest(wanted: str, known: Sequence[str]) -> str | None:
    """The name that is most like another; also where only the case differs."""
    lowered = {name.lower(): name for name in reversed(known[:MOST_COMPARED])}
    found = get_close_matches(wanted[:100].lower(), lowered, n=1)
    return lowered[found[0]] if found else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


# ---- one attribute


@dataclass(frozen=True, eq=False)
class _Axis:
    """One attribute as far as expressions tell its answers apart. signatures: of every comparison, whether it holds of each kind
    of answer, or part of a bin. mixture: of every class, its share of each kind; shape (classes, kinds)."""

    grouping: Grouping
    signatures: dict[Atom, Truth]
    mixture: Probabilities
    assumptions: tuple[str, ...]

    @staticmethod
    def of(attribute: Attribute, asked: Sequence[Atom], spelt_out: bool) -> "_Axis":
        pieces = _Pieces.of(attribute, asked)
        held = np.array([pieces.holds(comparison) for comparison in asked], dtype=bool).reshape(
            len(asked), len(pieces.owners)
        )
        of_kind, kind = _kinds(held)
        mixture, classes = np.zeros((attribute.size, len(of_kind))), np.arange(attribute.size)
        np.add.at(mixture, (pieces.owners, kind), pieces.shares)
        if not spelt_out:
            classes, first = _classes(pieces.owners, kind, attribute.size)
            mixture = mixture[first]
        signatures = {comparison: held[i][of_kind] for i, comparison in enumerate(asked)}
        return _Axis(Grouping(classes, len(mixture)), signatures, mixture, pieces.assumptions)


def _kinds(held: Truth) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pieces of which the same comparisons hold are of one kind: a piece of each, and the kind of each piece."""
    if not len(held):
        return np.zeros(1, dtype=np.intp), np.zeros(held.shape[1], dtype=np.intp)
    packed = np.ascontiguousarray(np.packbits(held, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, of_kind, kind = np.unique(keys, return_index=True, return_inverse=True)
    return of_kind, kind.reshape(-1)


def _classes(
    owners: NDArray[np.intp], kind: NDArray[np.intp], size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Candidates of one kind are a class; one that is in several pieces is a class of its own. The class of each candidate, and
    a candidate of each class."""
    of_owner = np.empty(size, dtype=np.intp)
    of_owner[owners] = kind
    cut = np.bincount(owners, minlength=size) > 1
    of_owner[cut] = kind.max() + 1 + np.arange(cut.sum())
    _, first, classes = np.unique(of_owner, return_index=True, return_inverse=True)
    return classes.reshape(-1), first


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The answers, and of a binned number the parts of its bins between the numbers that are asked for.

    owners: the candidate that each piece belongs to; shares: how much of it; ends: where each piece ends, NaN if it is no number.
    """

    attribute: Attribute
    owners: NDArray[np.intp]
    shares: Probabilities
    ends: Probabilities
    assumptions: tuple[str, ...]

    @staticmethod
    def of(attribute: Attribute, asked: Sequence[Atom]) -> "_Pieces":
        n = attribute.size
        if isinstance(attribute, Binned):
            return _Pieces._of_bins(attribute, asked)
        ends, texts = np.full(n, np.nan), []
        if isinstance(attribute, IntegerRange):
            ends[: len(attribute.answer_texts)] = np.arange(
                attribute.minimum, attribute.maximum + 1
            )
            texts = _outside(attribute.name, asked, attribute.minimum, attribute.maximum)
        return _Pieces(attribute, np.arange(n), np.ones(n), ends, tuple(texts))

    @staticmethod
    def _of_bins(attribute: Binned, asked: Sequence[Atom]) -> "_Pieces":
        edges = np.array(attribute.bounds)
        numbers = [
            v.value
            for c in asked
            if c.sign in ("<", "<=", ">", ">=")
            for v in c.values
            if isinstance(v.value, float)
        ]
        cuts = sorted({x for x in numbers if edges[0] < x < edges[-1]} - set(attribute.bounds))
        _check_ends(attribute, cuts)
        ends = np.array(sorted({*attribute.bounds[1:], *cuts}))
        starts = np.concatenate([[edges[0]], ends[:-1]])
        owners = np.searchsorted(edges, ends) - 1
        shares = np.ones(len(ends))
        cut = np.bincount(owners)[owners] > 1
        shares[cut] = ((ends - starts)[cut]) / np.diff(edges)[owners][cut]
        texts = [_even(attribute, int(np.searchsorted(edges, cut)) - 1) for cut in cuts]
        texts += [_at_edge(attribute, c) for c in asked if _asks_at_edge(attribute, c)]
        texts += _outside(attribute.name, asked, attribute.bounds[0], attribute.bounds[-1])
        others = np.arange(
            len(attribute.answer_texts), attribute.size
        )  # a missing answer, or none that applies
        owners, shares = np.append(owners, others), np.append(shares, np.ones(len(others)))
        ends = np.append(ends, np.full(len(others), np.nan))
        return _Pieces(attribute, owners, shares, ends, tuple(dict.fromkeys(texts)))

    def holds(self, comparison: Atom) -> Truth:
        """Of each piece, whether it is as the comparison says."""
        if comparison.sign == "":
            return self._alone()
        if comparison.sign in ("==", "!=", "in"):
            wanted = [_index(self.attribute, value) for value in comparison.values]
            found: Truth = np.isin(self.owners, wanted)
            return ~found if comparison.sign == "!=" else found
        return self._ordered(comparison.sign, comparison.values[0])

    def _alone(self) -> Truth:
        if not isinstance(self.attribute, Boolean):
            raise DomainError(
                f"attribute {self.attribute.name!r} is not true or false; compare it with a value, or use in"
            )
        yes: Truth = self.owners == self.attribute.index(True)
        return yes

    def _ordered(self, sign: str, value: Literal) -> Truth:
        attribute = self.attribute
        if not attribute.ordered:
            raise DomainError(
                f"attribute {attribute.name!r} has no order, so {sign} says nothing of it; use == or in"
            )
        if isinstance(attribute, Binned | IntegerRange):
            if not isinstance(value.value, float):
                raise DomainError(
                    f"attribute {attribute.name!r} is a number; compare it with one, not with {_shown(value.text)}"
                )
            places, limit = self.ends, value.value
            if isinstance(
                attribute, Binned
            ):  # a piece ends where it is cut, and that number belongs to it
                sign = {"<": "<=", ">=": ">"}.get(sign, sign)
        else:
            answered = self.owners < len(attribute.answer_texts)
            places, limit = (
                np.where(answered, self.owners.astype(np.float64), np.nan),
                float(_index(attribute, value)),
            )
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
        held: Truth = compare(places, limit)  # nothing holds of NaN
        if isinstance(attribute, Binned) and sign == ">" and limit <= attribute.bounds[0]:
            held = ~np.isnan(places)
        return held


def _check_ends(attribute: Binned, cuts: Sequence[float]) -> None:
    """In a bin without an end, nobody knows how numbers are spread."""
    known = [bound for bound in attribute.bounds if np.isfinite(bound)]
    for cut in cuts:
        if not known[0] <= cut <= known[-1]:
            side, edge = ("below", known[0]) if cut < known[0] else ("above", known[-1])
            raise DomainError(
                f"attribute {attribute.name!r} is one bin {side} {edge:g}, so nothing is known about {cut:g}"
            )


def _outside(name: str, asked: Sequence[Atom], least: float, most: float) -> list[str]:
    """What is taken for granted where a comparison asks beyond all numbers that can be reported: nobody is there."""
    limits = [
        (c.sign, v.value)
        for c in asked
        if c.sign in ("<", "<=", ">", ">=")
        for v in c.values
        if isinstance(v.value, float)
    ]
    beyond = any(
        x < least or x > most or (sign, x) in (("<", least), (">", most)) for sign, x in limits
    )
    return (
        [f"nobody's {name} lies outside {least:g} to {most:g}, as no other number can be reported"]
        if beyond
        else []
    )


def _even(attribute: Binned, number: int) -> str:
    return f"{attribute.name} is spread evenly within {attribute.answer_texts[number]}"


def _asks_at_edge(attribute: Binned, comparison: Atom) -> bool:
    inner = attribute.bounds[1:]
    return comparison.sign in ("<", ">=") and comparison.values[0].value in inner


def _at_edge(attribute: Binned, comparison: Atom) -> str:
    value = comparison.values[0]
    number = attribute.bounds.index(float(value.value or 0.0)) - 1
    return f"nobody's {attribute.name} is exactly {value.text}, which belongs to the bin {attribute.answer_texts[number]}"


def _index(attribute: Attribute, value: Literal) -> int:
    """The candidate that a value stands for; one that is not there gets the nearest that is."""
    if not value.text and not attribute.missing:
        whom, hint = (
            (" whom it concerns", f"; for all others, ask for {NOT_APPLICABLE!r}")
            if attribute.only_if
            else ("", "")
        )
        raise DomainError(
            f"attribute {attribute.name!r} is answered by everybody{whom}, so null is none of its values{hint}"
        )
    if (
        isinstance(attribute, Binned)
        and value.value is not None
        and value.text not in attribute.texts
    ):
        shown = _nearest(value.text, attribute.answer_texts) or attribute.answer_texts[0]
        raise DomainError(
            f"attribute {attribute.name!r} is known in bins; ask for a range with <= and >, or for a bin such as {shown!r}"
        )
    try:
        return attribute.index(attribute.parse(_whole_text(attribute, value)))
    except DomainError as error:
        texts = attribute.answer_texts
        if isinstance(attribute, Dated) and attribute.ordered:
            raise DomainError(
                f"attribute {attribute.name!r} has no value {_shown(value.text)}; it has {texts[0]} to {texts[-1]}"
            ) from None
        near = _nearest(value.text, texts) if value.text else None
        if near is None or isinstance(attribute, IntegerRange):
            raise DomainError(f"{error}, got {_shown(value.text)}") from None
        raise DomainError(
            f"attribute {attribute.name!r} has no value {_shown(value.text)}; did you mean {near!r}?"
        ) from None


def _whole_text(attribute: Attribute, value: Literal) -> str:
    """A value as it stands in tables: 40.0 is 40 where whole numbers are asked for, and 7 is 07 where hours are."""
    if isinstance(value.value, float) and value.value.is_integer():
        if isinstance(attribute, IntegerRange):
            return str(int(value.value))
        if isinstance(attribute, Dated) and attribute.period == "hour":
            return f"{int(value.value):02}"
    return value.text


# ---- all attributes together


def _check_size(axes: Sequence[_Axis]) -> None:
    cells = int(np.prod([float(max(axis.mixture.shape)) for axis in axes]))
    if cells > MOST_CELLS:
        raise DomainError(
            f"the question tells {cells:,} combinations of answers apart; at most {MOST_CELLS:,} can be looked at"
        )


def _weighed(tree: Tree, axes: Sequence[_Axis]) -> Probabilities:
    shape = tuple(axis.mixture.shape[1] for axis in axes)
    held = np.broadcast_to(_held(tree, axes), shape).astype(np.float64)
    for place, axis in enumerate(axes):
        held = np.moveaxis(np.tensordot(axis.mixture, held, (1, place)), 0, place)
    weights: Probabilities = np.clip(held, 0.0, 1.0)
    return weights


def _held(tree: Tree, axes: Sequence[_Axis]) -> Truth:
    """Of every combination of kinds of answers, whether the tree holds."""
    if isinstance(tree, Atom):
        place = next(i for i, axis in enumerate(axes) if tree in axis.signatures)
        others = tuple(i for i in range(len(axes)) if i != place)
        return np.expand_dims(axes[place].signatures[tree], others)
    if isinstance(tree, Negation):
        return ~_held(tree.part, axes)
    join = np.logical_and if isinstance(tree, Conjunction) else np.logical_or
    return reduce(join, [_held(part, axes) for part in tree.parts])
