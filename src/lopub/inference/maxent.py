"""The joint of largest entropy with given pairs: what they say about a larger clique, and nothing more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopub.inference.joint import Probabilities, avd, product_of, raked

SWEEPS = 30
"""Noisy pairs can contradict each other, and raking then goes round for ever: this often is enough where they do not."""
MASKED_SWEEPS = 100
"""Where cells are ruled out, the product that raking starts from is farther away."""
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
        return raked(joint, list(self.margins), list(self.margins.values()), sweeps=sweeps, tolerance=TOLERANCE)

    def misfit(self, joint: Probabilities) -> float:
        """The largest AVD between a margin and that of the joint."""
        return max((avd(margin_of(joint, axes), margin) for axes, margin in self.margins.items()), default=0.0)


def maximum_entropy(
    marginals: Sequence[Probabilities], constraints: Constraints, possible: NDArray[np.bool_] | None = None
) -> Probabilities:
    """Raked from the product of marginals, which keeps the entropy largest. possible: the cells that can be above zero; all
    unless given."""
    product = product_of(marginals)
    if possible is None:
        return constraints.met(product)
    kept = np.where(possible, product, 0.0)
    return constraints.met(kept / kept.sum(), sweeps=MASKED_SWEEPS)


def margin_of(joint: Probabilities, axes: Axes) -> Probabilities:
    """The sum over all other axes."""
    others = tuple(axis for axis in range(joint.ndim) if axis not in axes)
    summed: Probabilities = joint.sum(axis=others)
    return summed
