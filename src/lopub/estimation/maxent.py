"""The joint of largest entropy with given pairs: what they say about a larger clique, and nothing more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.estimation.joint import NOTHING, Probabilities, avd, product_of, raked

SWEEPS = 30
"""Noisy pairs can contradict each other, and raking then goes round for ever: this often is enough where they do not."""
MASKED_SWEEPS = 100
"""Where cells are ruled out, and all margins are raked to at the same time."""
LEAST = 1e-12
"""Raking cannot bring a zero back: a possible cell starts with at least this."""
TOLERANCE = 1e-5
"""Largest difference of a cell at which a clique's pairs are met."""

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a clique's joint should agree with: margins by the axes that they are about."""

    margins: Mapping[Axes, Probabilities]

    def met(self, joint: Probabilities, *, sweeps: int = SWEEPS) -> Probabilities:
        """The joint nearest to this one that agrees, as far as the margins agree with each other."""
        if not self.margins:
            return joint
        return raked(
            joint,
            list(self.margins),
            list(self.margins.values()),
            sweeps=sweeps,
            tolerance=TOLERANCE,
        )

    def misfit(self, joint: Probabilities) -> float:
        """The largest AVD between a margin and that of the joint."""
        return max(
            (avd(margin_of(joint, axes), margin) for axes, margin in self.margins.items()),
            default=0.0,
        )


def maximum_entropy(
    marginals: Sequence[Probabilities],
    constraints: Constraints,
    possible: NDArray[np.bool_] | None = None,
) -> Probabilities:
    """Raked from the product of marginals, which keeps the entropy largest. possible: the cells that can be above zero; all
    unless given."""
    product = product_of(marginals)
    if possible is None:
        return constraints.met(product)
    return _compromise(np.where(possible, np.maximum(product, LEAST), 0.0), marginals, constraints)


def _compromise(
    joint: Probabilities, marginals: Sequence[Probabilities], constraints: Constraints
) -> Probabilities:
    """Raked to all pairs at the same time, each by its root, and then to the marginals.

    Pairs are estimated one by one. Those of an attribute with a question and with its condition say the same twice, and differ:
    raking to one after the other would go round for ever, and end with the last. Roots end in between.
    """
    axes = range(joint.ndim)
    rests = {own: tuple(axis for axis in axes if axis not in own) for own in constraints.margins}
    singly = [(axis,) for axis in axes]
    for _ in range(MASKED_SWEEPS):
        ratios = np.ones(joint.shape)
        for own, target in constraints.margins.items():
            have = joint.sum(axis=rests[own], keepdims=True)
            ratio = np.divide(
                np.expand_dims(target, rests[own]),
                have,
                out=np.ones_like(have),
                where=have > NOTHING,
            )
            ratios = ratios * np.maximum(ratio, LEAST) ** (1 / len(constraints.margins))
        joint = raked(joint * ratios, singly, marginals, sweeps=1)
    return joint


def margin_of(joint: Probabilities, axes: Axes) -> Probabilities:
    """The sum over all other axes."""
    others = tuple(axis for axis in range(joint.ndim) if axis not in axes)
    summed: Probabilities = joint.sum(axis=others)
    return summed
