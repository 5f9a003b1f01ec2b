"""What the questionnaire rules out: which cells of a clique nobody can be in.

The rules are public, so every joint may use them. A clique's mask is the projection of all rules about its attributes and those
that these follow from: where b applies only if a does, and a only if f holds, nobody without f has an answer to b.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.condition import Comparison, Condition
from lopub.campaign.domain import Clique, Domain, Pair, TickList

Mask = NDArray[np.bool_]
"""One axis per attribute of a clique: which cells are possible."""
MOST_CELLS = 2**22
"""Cells of a table of rules; where one would have more, what it could rule out is left to the check of synthetic records."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Which cells of a few attributes are possible. clique: ascending. follows: the attribute of which the others say whether it
    is answered, and which has a possible candidate whatever they are."""

    clique: Clique
    mask: Mask
    follows: int


class Support:
    """The rules of a domain's questionnaire as masks; positions are the domain's, whatever its order."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._masks: dict[Clique, Mask | None] = {}

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule whose table is small enough."""
        return tuple(self._rules()) if self._domain.has_rules else ()

    @cached_property
    def edges(self) -> tuple[Pair, ...]:
        """Pairs of attributes that a rule is about: only a model that joins them can keep it."""
        return tuple(sorted({pair for rule in self.rules for pair in combinations(rule.clique, 2)}))

    def mask(self, clique: Clique) -> Mask | None:
        """Which cells of the clique are possible, its axes in the clique's order; None where all are."""
        ordered = tuple(sorted(clique))
        if ordered not in self._masks:
            self._masks[ordered] = self._projected(ordered) if self.rules else None
        found = self._masks[ordered]
        return (
            found
            if found is None or ordered == clique
            else np.transpose(found, [ordered.index(p) for p in clique])
        )

    # ---- rules

    def _rules(self) -> Iterator[Rule]:
        for question in self._domain.questions:
            options = question.options if isinstance(question, TickList) else (question,)
            positions = self._domain.positions(option.name for option in options)
            centre = positions[0]
            if isinstance(question, TickList):
                centre = (
                    positions[question.values.index(question.none)] if question.none else centre
                )
                yield from self._ticks(question, positions, centre)
            if question.only_if is not None and question.not_applicable_index is not None:
                yield from self._condition(centre, question.not_applicable_index, question.only_if)

    def _condition(
        self, position: int, not_applicable: int, condition: Condition
    ) -> Iterator[Rule]:
        """The question does not apply just where the condition is false."""
        clique = tuple(sorted({position, *self._domain.positions(condition.attributes)}))
        shape = self._shape(clique)
        if math.prod(shape) > MOST_CELLS:
            return
        axes = dict(zip(clique, np.indices(shape, dtype=np.int32, sparse=True), strict=True))

        def holds(comparison: Comparison) -> Mask:
            column = axes[self._domain.position(comparison.attribute)]
            accepted = self._domain.accepted(comparison)
            return np.isin(column, np.array(sorted(accepted)))

        applies = np.asarray(condition.evaluate(holds))
        unlike = np.broadcast_to(np.not_equal(axes[position] == not_applicable, applies), shape)
        yield Rule(clique, unlike, position)

    def _ticks(self, ticks: TickList, positions: Clique, centre: int) -> Iterator[Rule]:
        """Of every option and the one that all are tied to, which is that for none if there is one: both are answered, or
        neither; and none stands alone."""
        size = ticks.options[0].size
        state = np.maximum(np.arange(size), 1)  # answered, missing, not applicable
        alike = np.equal.outer(state, state)
        if ticks.none:
            alike[1, 1] = False
        yield from (
            Rule(_pair(centre, position), alike, position)
            for position in positions
            if position != centre
        )

    # ---- projections

    def _shape(self, clique: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._domain.sizes[position] for position in clique)

    def _projected(self, clique: Clique) -> Mask | None:
        """All rules about the clique and what it follows from, with every other attribute eliminated."""
        rules = self._related(clique)
        others = {position for rule in rules for position in rule.clique} - set(clique)
        rules += self._tick_rules({*clique, *others})
        while others:
            rest, position = min(
                (self._neighbours(rules, position), position) for position in others
            )
            others.remove(position)
            touching = [rule for rule in rules if position in rule.clique]
            rules = [rule for rule in rules if position not in rule.clique]
            if (scope := rest[1:]) and rest[0] <= MOST_CELLS:
                mask = _meet(touching, (*scope, position), self._shape((*scope, position)))
                rules.append(Rule(scope, np.asarray(mask.any(axis=-1)), position))
        mask = _meet(rules, clique, self._shape(clique))
        return None if mask.all() else mask

    def _neighbours(self, rules: Iterable[Rule], position: int) -> tuple[int, ...]:
        """What an attribute has rules with: first their cells together with its own, then which they are."""
        met = sorted({p for rule in rules if position in rule.clique for p in rule.clique})
        return (math.prod(self._shape(met)), *(p for p in met if p != position))

    def _related(self, clique: Clique) -> list[Rule]:
        """The rules that decide whether attributes of the clique are answered, and those of the attributes in these, and so on.
        What follows from the clique, and is not in it, rules nothing out."""
        chosen: dict[int, list[Rule]] = {}
        waiting = list(clique)
        while waiting:
            position = waiting.pop()
            if position not in chosen:
                chosen[position] = self._rules_of.get(position, [])
                waiting += [p for rule in chosen[position] for p in rule.clique]
        return [rule for position in sorted(chosen) for rule in chosen[position]]

    @cached_property
    def _rules_of(self) -> dict[int, list[Rule]]:
        found: dict[int, list[Rule]] = {}
        for rule in self.rules:
            found.setdefault(rule.follows, []).append(rule)
        return found

    def _tick_rules(self, positions: set[int]) -> list[Rule]:
        """How many of these options of a list may be ticked: at most so many, and one at least of all where one is for none."""
        found = []
        for ticks, options in self._lists:
            own = tuple(sorted(positions.intersection(options)))
            all_there = bool(ticks.none) and len(own) == len(options)
            if (all_there or 0 < ticks.most < len(own)) and math.prod(
                self._shape(own)
            ) <= MOST_CELLS:
                found.append(
                    Rule(
                        own,
                        _well_ticked(self._shape(own), ticks.most, at_least_one=all_there),
                        own[0],
                    )
                )
        return found

    @cached_property
    def _lists(self) -> tuple[tuple[TickList, Clique], ...]:
        lists = [
            one
            for one in self._domain.questions
            if isinstance(one, TickList) and (one.most or one.none)
        ]
        return tuple(
            (one, self._domain.positions(option.name for option in one.options)) for one in lists
        )


def _pair(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


def _meet(rules: Iterable[Rule], clique: Sequence[int], shape: tuple[int, ...]) -> Mask:
    """The cells of a clique that all rules within it allow."""
    mask = np.ones(shape, dtype=bool)
    place = {position: axis for axis, position in enumerate(clique)}
    for rule in rules:
        order = np.argsort([place[position] for position in rule.clique])
        held = dict(zip(rule.clique, rule.mask.shape, strict=True))
        mask &= np.transpose(rule.mask, order).reshape(
            [held.get(position, 1) for position in clique]
        )
    return mask


def _well_ticked(shape: tuple[int, ...], most: int, *, at_least_one: bool) -> Mask:
    """Cells with as many ticks as a list allows. shape: of its options."""
    axes = np.indices(shape, dtype=np.int32, sparse=True)
    n_ticked = np.asarray(sum((axis == 1).astype(np.int32) for axis in axes))
    answered = np.asarray(sum((axis > 1).astype(np.int32) for axis in axes)) == 0
    allowed = n_ticked <= (most or len(shape))
    return np.asarray(allowed & ~(answered & (n_ticked == 0))) if at_least_one else allowed
