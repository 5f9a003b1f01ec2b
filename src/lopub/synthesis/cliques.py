"""TreeModel: a junction tree with the joint of every clique, fitted to estimated pairs or to whole cliques."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Clique, Pair
from lopub.estimation.joint import NOTHING, Probabilities, avd
from lopub.estimation.maxent import Constraints, margin_of, maximum_entropy
from lopub.synthesis.junction import JunctionTree

ROUNDS = 3
"""How often neighbouring cliques are brought together on what they share; afterwards little changes."""

Pairs = Mapping[Pair, Probabilities]
Possible = Callable[[Clique], NDArray[np.bool_] | None]
"""A clique -> which of its cells can be above zero; None: all."""
Refined = Callable[[Clique, Probabilities], Probabilities | None]
"""A clique and its maximum-entropy joint -> a better one, where the reports prefer it."""


def everything_possible(clique: Clique) -> None:
    """Of attributes that have nothing to do with each other."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """P = product of the cliques' joints over the product of the separators'. joints: axes in the order of each clique."""

    tree: JunctionTree
    joints: tuple[Probabilities, ...]
    misfits: tuple[float, ...]
    """Of each clique, the largest AVD between its joint's pairs and the estimated ones."""
    refined: tuple[bool, ...]
    """Which cliques' joints say more than their pairs."""


def tree_model(
    tree: JunctionTree,
    marginals: Sequence[Probabilities],
    pairs: Pairs,
    refine: Refined | None = None,
    possible: Possible = everything_possible,
) -> TreeModel:
    """Maximum entropy inside every clique, from the pairs among its attributes; then neighbours agree on what they share.

    pairs: of the edges of the graph, raked to the marginals. Other pairs are left to what these imply. possible: which cells of a
    clique can be above zero.
    """
    constraints = [_constraints(clique, pairs) for clique in tree.cliques]
    joints = [
        maximum_entropy([marginals[position] for position in clique], own, possible(clique))
        for clique, own in zip(tree.cliques, constraints, strict=True)
    ]
    told = constraints
    constraints = [
        _agreeing(clique, own, joint, possible)
        for clique, own, joint in zip(tree.cliques, told, joints, strict=True)
    ]
    better = [
        refine(clique, joint) if refine else None
        for clique, joint in zip(tree.cliques, joints, strict=True)
    ]
    joints = [
        own.met(new) if new is not None else joint
        for own, new, joint in zip(constraints, better, joints, strict=True)
    ]
    for _ in range(ROUNDS):
        _reconcile(tree, constraints, joints)
    _settle(tree, joints, possible)
    misfits = tuple(own.misfit(joint) for own, joint in zip(told, joints, strict=True))
    return TreeModel(tree, tuple(joints), misfits, tuple(new is not None for new in better))


def given_model(
    tree: JunctionTree,
    joints: Sequence[Probabilities],
    refined: Sequence[bool] | None = None,
    possible: Possible = everything_possible,
) -> TreeModel:
    """Every clique's joint as it was estimated (the paper's way); each is then used given what it shares with its parent.

    refined: which joints say more than pairs; None: none.
    """
    settled = list(joints)
    _settle(tree, settled, possible)
    moved = tuple(avd(new, old) for new, old in zip(settled, joints, strict=True))
    return TreeModel(
        tree,
        tuple(settled),
        moved,
        tuple(refined) if refined is not None else (False,) * len(settled),
    )


def _constraints(clique: Clique, pairs: Pairs) -> Constraints:
    axes = {
        pair: (clique.index(pair[0]), clique.index(pair[1])) for pair in combinations(clique, 2)
    }
    return Constraints(
        {axes[pair]: pairs[pair] for pair in combinations(clique, 2) if pair in pairs}
    )


def _agreeing(
    clique: Clique, own: Constraints, joint: Probabilities, possible: Possible
) -> Constraints:
    """What a clique's joint should agree with. Where the questionnaire rules cells out, that is what a joint can agree with: its
    own pairs, once they are a compromise."""
    if possible(clique) is None:
        return own
    return Constraints({axes: margin_of(joint, axes) for axes in own.margins})


def _shared_axes(tree: JunctionTree, place: int, clique: Clique) -> tuple[int, ...]:
    return tuple(clique.index(position) for position in tree.separators[place])


def _reconcile(
    tree: JunctionTree, constraints: Sequence[Constraints], joints: list[Probabilities]
) -> None:
    """Each clique and its parent are raked to the mean of what they say about their separator, and to their pairs again."""
    for place, parent in enumerate(tree.parents):
        if parent is None:
            continue
        axes = {at: _shared_axes(tree, place, tree.cliques[at]) for at in (place, parent)}
        mean = (margin_of(joints[place], axes[place]) + margin_of(joints[parent], axes[parent])) / 2
        for at in (place, parent):
            joints[at] = Constraints({**constraints[at].margins, axes[at]: mean}).met(
                joints[at], sweeps=3
            )


def _settle(tree: JunctionTree, joints: list[Probabilities], possible: Possible) -> None:
    """From parent to child: every separator gets the parent's margin, so that the cliques are those of one distribution."""
    for place, parent in enumerate(tree.parents):
        if parent is not None:
            axes = _shared_axes(tree, place, tree.cliques[place])
            wanted = margin_of(joints[parent], _shared_axes(tree, place, tree.cliques[parent]))
            joints[place] = _with_margin(joints[place], axes, wanted, possible(tree.cliques[place]))


def _with_margin(
    joint: Probabilities,
    axes: tuple[int, ...],
    wanted: Probabilities,
    possible: NDArray[np.bool_] | None = None,
) -> Probabilities:
    """The joint with another margin; where its own is zero, the rest is spread as it is at large, over possible cells."""
    others = tuple(axis for axis in range(joint.ndim) if axis not in axes)
    have = margin_of(joint, axes)
    rest = margin_of(joint, others)
    missing = np.expand_dims((have <= NOTHING) & (wanted > 0), others)
    share = np.divide(wanted, have, out=np.zeros_like(have), where=have > NOTHING)
    at_large = np.expand_dims(rest, axes)
    if possible is not None:
        kept = np.where(possible, np.maximum(at_large, NOTHING), 0.0)
        at_large = kept / np.maximum(kept.sum(axis=others, keepdims=True), NOTHING)
    spread = np.where(missing, np.expand_dims(wanted, others) * at_large, 0.0)
    whole: Probabilities = joint * np.expand_dims(share, others) + spread
    return whole if possible is None else whole / whole.sum()
