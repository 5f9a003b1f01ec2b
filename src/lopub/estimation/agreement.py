"""Estimates that agree with the questionnaire: nobody in a cell that it rules out, and shares that can be true together.

A question does not apply to those for whom its condition is false. Both shares are estimated, from different reports, and differ
by noise. Raking to both at once, with zeros where nobody can be, would not converge; so they are brought to agree first, each
moved by as much as it is uncertain.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.support import Mask, Support
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Clique, Domain, TickList
from lopub.estimation.joint import NOTHING, Probabilities, product_of, raked

Marginal = Callable[[int], Probabilities]
"""Position of an attribute -> its shares."""
SWEEPS = 300
TOLERANCE = 1e-11
ROUNDS = 10
"""How often conditions on several attributes and groups of equal share are brought to agree in turn."""
MOST_CELLS = 2**16
"""Of a condition on several attributes and its question; with more, raking has to make do with what is estimated."""
CONTRADICTION = 0.005
"""How far shares that are known may be from what some people could have: they are printed with few digits."""
LEAST = 1e-12
"""Raking cannot bring a zero back: a possible cell starts with at least this."""

Candidates = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Equal:
    """Two groups of candidates, of two attributes, that hold the same people."""

    one: int
    one_group: Candidates
    other: int
    other_group: Candidates


@dataclass(frozen=True, eq=False)
class ConditionSplit:
    """The cells of some attributes in which a condition is false, and whose share is that of one candidate of another one."""

    clique: Clique
    false: Mask
    position: int
    candidate: int


class Agreement:
    """What the questionnaire says about the estimates of a campaign; positions are the campaign's."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self.support = Support(domain)

    def __bool__(self) -> bool:
        return self._domain.has_rules

    # ---- marginals

    def agreed(
        self,
        marginals: Mapping[int, Probabilities],
        covariance: Callable[[int], Probabilities],
        certain: Collection[int] = (),
    ) -> dict[int, Probabilities]:
        """The marginals moved, by least squares, to where groups that hold the same people have the same share. certain: those
        that stay as they are, as what is publicly known does."""
        links = [link for link in self._links if link.one in marginals and link.other in marginals]
        found = self._equalled(marginals, covariance, links, certain)
        for _ in range(ROUNDS):
            moved = [
                self._compromise(split, found, certain)
                for split in self._splits
                if len(split.clique) > 1
            ]
            _level(found, links, certain)
            if max(moved, default=0.0) < TOLERANCE:
                break
        return found | {position: np.array(marginals[position]) for position in certain}

    def contradiction(
        self, marginals: Mapping[int, Probabilities], certain: Collection[int]
    ) -> tuple[str, ...]:
        """The attributes of a rule that no people with these shares could keep, where some of them are certain and the others
        were brought to agree with these; none where all rules can be kept."""
        for clique in self._tied_to(certain):
            mask = self.mask(clique)
            if (
                mask is not None
                and mask.size <= MOST_CELLS
                and all(position in marginals for position in clique)
            ):
                wanted = [marginals[position] for position in clique]
                if (
                    _residue(np.where(mask, np.maximum(product_of(wanted), LEAST), 0.0), wanted)
                    > CONTRADICTION
                ):
                    return tuple(self._domain.names[position] for position in clique)
        return ()

    def _tied_to(self, certain: Collection[int]) -> list[Clique]:
        """What rules are about that have to do with certain attributes: conditions with their questions, also by way of others;
        of lists, those options that are certain themselves, because only shares of single options are brought to agree."""
        conditions = [tuple(sorted({*split.clique, split.position})) for split in self._splits]
        reached = set(certain)
        for _ in conditions:
            reached.update(*(clique for clique in conditions if reached.intersection(clique)))
        options = (
            tuple(sorted(set(certain).intersection(options))) for options in self._domain.lists
        )
        return [
            *(clique for clique in conditions if reached.intersection(clique)),
            *filter(None, options),
        ]

    def _equalled(
        self,
        marginals: Mapping[int, Probabilities],
        covariance: Callable[[int], Probabilities],
        links: Sequence[Equal],
        certain: Collection[int],
    ) -> dict[int, Probabilities]:
        """By least squares, each marginal moved as far as its covariance lets it."""
        positions = sorted({position for link in links for position in (link.one, link.other)})
        if not links:
            return {position: marginal.copy() for position, marginal in marginals.items()}
        starts = dict(
            zip(positions, np.cumsum([0, *(len(marginals[p]) for p in positions)]), strict=False)
        )
        flat = np.concatenate([marginals[position] for position in positions])
        spread, rows = np.zeros((len(flat), len(flat))), np.zeros((len(links), len(flat)))
        for position in positions:
            own = slice(starts[position], starts[position] + len(marginals[position]))
            spread[own, own] = (
                0.0
                if position in certain
                else _spread_of(marginals[position], covariance(position))
            )
        for row, link in zip(rows, links, strict=True):
            row[starts[link.one] : starts[link.one] + len(link.one_group)] += link.one_group
            row[starts[link.other] : starts[link.other] + len(link.other_group)] -= link.other_group
        moved = flat - spread @ rows.T @ np.linalg.pinv(rows @ spread @ rows.T, hermitian=True) @ (
            rows @ flat
        )
        found = {p: _shares(moved[starts[p] : starts[p] + len(marginals[p])]) for p in positions}
        _level(found, links, certain)
        return {
            position: found.get(position, marginal.copy())
            for position, marginal in marginals.items()
        }

    def _compromise(
        self, split: ConditionSplit, marginals: dict[int, Probabilities], certain: Collection[int]
    ) -> float:
        """Of a condition on several attributes: marginals that some joint without impossible cells has, in place of those that
        none may have; how far they were moved. Where one has them, they stay, and so do certain ones in any case."""
        clique = tuple(sorted({*split.clique, split.position}))
        mask = self.mask(clique)
        if (
            mask is None
            or mask.size > MOST_CELLS
            or not all(position in marginals for position in clique)
        ):
            return 0.0
        wanted = [
            _shares(marginals[position]) for position in clique
        ]  # of noise, zeros can contradict each other
        joint = np.where(mask, np.maximum(product_of(wanted), LEAST), 0.0)
        hard = [axis for axis, position in enumerate(clique) if position in certain]
        margins = _nearest_margins(joint / joint.sum(), wanted, hard)
        for position, margin in zip(clique, margins, strict=True):
            marginals[position] = margin
        return max(float(np.abs(new - old).max()) for new, old in zip(margins, wanted, strict=True))

    @cached_property
    def _links(self) -> tuple[Equal, ...]:
        """Of conditions on one attribute, and of the options of lists."""
        found: list[Equal] = []
        for question in self._domain.questions:
            options = question.options if isinstance(question, TickList) else (question,)
            positions = self._domain.positions(option.name for option in options)
            for candidate in (
                (question.missing_index, question.not_applicable_index) if len(options) > 1 else ()
            ):
                if candidate is not None:
                    group = _only(options[0].size, candidate)
                    found += [
                        Equal(positions[0], group, position, group) for position in positions[1:]
                    ]
        return (
            *found,
            *(
                link
                for split in self._splits
                if (link := _link(split, self._domain.sizes)) is not None
            ),
        )

    @cached_property
    def _splits(self) -> tuple[ConditionSplit, ...]:
        """One for each condition."""
        found = []
        for question in self._domain.questions:
            if question.only_if is None or question.not_applicable_index is None:
                continue
            clique = tuple(sorted(self._domain.positions(question.only_if.attributes)))
            first = question.options[0].name if isinstance(question, TickList) else question.name
            shape = tuple(self._domain.sizes[position] for position in clique)
            axes = dict(zip(clique, np.indices(shape, dtype=np.int32, sparse=True), strict=True))

            def holds(comparison: Comparison, axes: dict[int, NDArray[np.int32]] = axes) -> Mask:
                accepted = np.array(sorted(self._domain.accepted(comparison)))
                return np.isin(axes[self._domain.position(comparison.attribute)], accepted)

            applies = np.broadcast_to(np.asarray(question.only_if.evaluate(holds)), shape)
            found.append(
                ConditionSplit(
                    clique, ~applies, self._domain.position(first), question.not_applicable_index
                )
            )
        return tuple(found)

    # ---- joints

    def mask(self, clique: Clique) -> Mask | None:
        """Which cells of a clique are possible; None where all are."""
        return self.support.mask(clique) if self else None

    def conformed(self, clique: Clique, joint: Probabilities, marginal: Marginal) -> Probabilities:
        """The joint without impossible cells, raked to the marginals and to the shares of conditions on several attributes; as it
        is where the questionnaire says nothing about the clique. marginal: of any attribute."""
        mask, shares = self.mask(clique), self._shares_within(clique, marginal) if self else []
        if mask is None and not shares:
            return joint
        possible = np.ones(joint.shape, dtype=bool) if mask is None else mask
        fitted = np.where(possible, np.maximum(joint, LEAST), 0.0)
        for _ in range(SWEEPS):
            off = 0.0
            for false, share in shares:
                off = max(off, _scale_groups(fitted, false, share))
            for axis, position in enumerate(clique):
                others = tuple(a for a in range(joint.ndim) if a != axis)
                wanted = np.expand_dims(marginal(position), others)
                off = max(off, _scale(fitted, fitted.sum(axis=others, keepdims=True), wanted))
            if off < TOLERANCE:
                break
        return np.asarray(fitted / fitted.sum(), dtype=np.float64)

    def independent(self, clique: Clique, marginal: Marginal) -> Probabilities:
        """What is as near to independence as the questionnaire allows."""
        return self.conformed(
            clique, product_of([marginal(position) for position in clique]), marginal
        )

    def _shares_within(self, clique: Clique, marginal: Marginal) -> list[tuple[Mask, float]]:
        """Of conditions on several attributes that all lie in the clique, and whose question does not: which cells make them
        false, and the share of these, which is that of "not applicable"."""
        found = []
        for split in self._splits:
            if (
                len(split.clique) > 1
                and split.position not in clique
                and set(split.clique) <= set(clique)
            ):
                shape = [self._domain.sizes[p] if p in split.clique else 1 for p in clique]
                order = np.argsort([clique.index(p) for p in split.clique])
                share = float(marginal(split.position)[split.candidate])
                found.append((np.transpose(split.false, order).reshape(shape), share))
        return found


def _nearest_margins(
    joint: Probabilities, wanted: Sequence[Probabilities], hard: Sequence[int]
) -> list[Probabilities]:
    """The margins of a joint raked to all of the wanted ones at the same time, each by its root: where no joint has them all,
    that ends at the one whose margins differ from them by the least sum of divergences. hard: axes that are raked to as they
    are, after the others."""
    others = [tuple(a for a in range(joint.ndim) if a != axis) for axis in range(joint.ndim)]

    def ratio(axis: int) -> Probabilities:
        have = joint.sum(axis=others[axis])
        return np.asarray(
            np.divide(wanted[axis], have, out=np.ones_like(have), where=have > NOTHING),
            dtype=np.float64,
        )

    for _ in range(SWEEPS):
        ratios = np.ones(joint.shape)
        for axis in (axis for axis in range(joint.ndim) if axis not in hard):
            ratios = ratios * np.expand_dims(ratio(axis) ** (1 / joint.ndim), others[axis])
        joint = joint * ratios
        joint /= joint.sum()
        for axis in hard:
            joint = joint * np.expand_dims(ratio(axis), others[axis])
    return [np.asarray(joint.sum(axis=rest), dtype=np.float64) for rest in others]


def _residue(start: Probabilities, wanted: Sequence[Probabilities]) -> float:
    """How far from the wanted margins a joint remains that is raked to them."""
    axes = range(start.ndim)
    fitted = raked(start, [(axis,) for axis in axes], wanted, sweeps=SWEEPS)
    margins = [fitted.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return max(float(np.abs(have - want).max()) for have, want in zip(margins, wanted, strict=True))


def _only(size: int, candidate: int) -> Candidates:
    return np.asarray(np.arange(size) == candidate)


def _link(split: ConditionSplit, sizes: Sequence[int]) -> Equal | None:
    """A condition on one attribute, as two groups of candidates."""
    if len(split.clique) > 1:
        return None
    return Equal(
        split.position, _only(sizes[split.position], split.candidate), split.clique[0], split.false
    )


def _spread_of(marginal: Probabilities, covariance: Probabilities) -> Probabilities:
    """The covariance; where there is none, that of a multinomial, up to a factor."""
    if np.isfinite(covariance).all() and np.trace(covariance) > 0:
        return covariance
    return np.diag(marginal) - np.outer(marginal, marginal)


def _shares(values: Probabilities) -> Probabilities:
    positive = np.maximum(values, LEAST)
    return np.asarray(positive / positive.sum(), dtype=np.float64)


def _level(
    marginals: dict[int, Probabilities], links: Sequence[Equal], certain: Collection[int]
) -> None:
    """Make linked groups exactly equal, in place: what was cut off at zero has put them a little apart. What is certain stays."""
    for _ in range(SWEEPS):
        off = 0.0
        for link in links:
            one, other = marginals[link.one], marginals[link.other]
            first, second = float(one[link.one_group].sum()), float(other[link.other_group].sum())
            off = max(off, abs(first - second))
            share = (
                first
                if link.one in certain
                else second
                if link.other in certain
                else (first + second) / 2
            )
            for position, cells, group in (
                (link.one, one, link.one_group),
                (link.other, other, link.other_group),
            ):
                if position not in certain:
                    _scale_groups(cells, group, share)
        if off < TOLERANCE:
            return


def _scale(joint: Probabilities, have: Probabilities, wanted: Probabilities) -> float:
    """Scale a joint, in place, to a margin; how far it was off."""
    joint *= np.divide(wanted, have, out=np.zeros_like(have), where=have > NOTHING)
    return float(np.abs(wanted - have).max())


def _scale_groups(cells: Probabilities, group: NDArray[np.bool_], share: float) -> float:
    """Scale cells, in place, so that those of a group have a share; how far it was off."""
    inside = np.broadcast_to(group, cells.shape)
    have, total = float(cells[inside].sum()), float(cells.sum())
    if have > NOTHING and total - have > NOTHING:
        cells *= np.where(inside, share * total / have, (1 - share) * total / (total - have))
    return abs(share * total - have)
