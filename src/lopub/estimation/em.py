"""Expectation and maximization (Algorithm 1, corrected), plain or accelerated, with or without a prior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lopub.estimation.climb_kernels import mix
from lopub.estimation.evidence import Evidence
from lopub.joint import Probabilities

TOLERANCE = 1e-6
"""Largest change of a cell in a step at which a fit has converged."""
MOST_EVALUATIONS = 5000
PAPER_TOLERANCE = 0.001
"""The paper's convergence gap."""

MEMORY = 10
"""EM steps that an accelerated one looks back on."""
RIDGE = 1e-10
"""Keeps their mixture's equations solvable once the steps point the same way."""
FLOOR = 0.1
"""A leap leaves a cell's root at least this share of what the EM step would."""
ROUNDING = 3e-7
"""How far the log-likelihood of one report may be off: float32 work."""

Stop = Literal["change", "paper"]
Map = Callable[[Probabilities], tuple[float, Probabilities]]
"""A joint -> the objective at it, and the joint after an EM step."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a fit ended with. trace: the objective at each accepted joint."""

    joint: Probabilities
    converged: bool
    n_evaluations: int
    trace: tuple[float, ...]


def em_map(evidence: Evidence, prior: Probabilities | None = None, strength: float = 0.0) -> Map:
    """One EM step. prior: pseudo-counts strength * n_reports are spread like it, which makes the step maximum a posteriori."""
    if prior is None or strength == 0:
        return lambda joint: _likelihood_step(evidence, joint)
    pseudo = strength * evidence.n_reports * prior
    positive = pseudo > 0

    def step(joint: Probabilities) -> tuple[float, Probabilities]:
        value, counts = evidence.step(joint)
        with np.errstate(divide="ignore"):
            value += float((pseudo[positive] * np.log(joint[positive])).sum())
        return value, _normalized(counts + pseudo)

    return step


def _likelihood_step(evidence: Evidence, joint: Probabilities) -> tuple[float, Probabilities]:
    value, counts = evidence.step(joint)
    return value, _normalized(counts)


def _normalized(counts: Probabilities) -> Probabilities:
    """Counts sum to the number of reports but for rounding; this takes the rounding out."""
    return counts / float(counts.sum())


def run_plain(step: Map, start: Probabilities, *, stop: Stop, tolerance: float, most: int) -> Result:
    """Step by step. stop="paper": on the difference of the two largest probabilities, as Algorithm 1 says, which at strong noise
    ends far too early; it is here to be compared with."""
    joint, trace = start, []
    for n_evaluations in range(1, most + 1):
        value, following = step(joint)
        trace.append(value)
        gap = following.max() - joint.max() if stop == "paper" else np.abs(following - joint).max()
        joint = following
        if gap <= tolerance:
            return Result(joint, True, n_evaluations, tuple(trace))
    return Result(joint, False, most, tuple(trace))


def run_accelerated(step: Map, start: Probabilities, *, tolerance: float, most: int, slack: float = 0.0) -> Result:
    """Anderson acceleration of the EM map, in square roots of probabilities, where cells near zero move evenly.

    Each new joint mixes the last few EM steps so that their residual is least (Henderson and Varadhan 2019 do so for
    EM at large). One at which the objective falls is refused, and the plain EM step, which cannot fall, is taken instead.
    slack: how far the objective may fall by rounding alone.
    """
    joint = start
    value, image = step(joint)
    trace, n_evaluations, past = [value], 1, _Past(joint.size)
    while n_evaluations < most:
        if np.abs(image - joint).max() <= tolerance:
            return Result(image, True, n_evaluations, tuple(trace))
        leap = past.leap(joint, image)
        leap_value, leap_image = step(leap)
        n_evaluations += 1
        if not leap_value > value + slack:
            past.forget()  # near the end only rounding is left to mix: go on with a plain step
        if not leap_value >= value - slack:
            leap = image
            leap_value, leap_image = step(leap)
            n_evaluations += 1
        joint, value, image = leap, leap_value, leap_image
        trace.append(value)
    return Result(image, False, n_evaluations, tuple(trace))


class _Past:
    """How roots and residuals changed over the last few steps; a residual is where EM leads, less where it stands."""

    def __init__(self, n_cells: int) -> None:
        self._bends = np.zeros((MEMORY, n_cells))
        self._moves = np.zeros((MEMORY, n_cells))
        self._products = np.zeros((MEMORY, MEMORY))
        self._root = self._residual = np.zeros(n_cells)
        self._n_seen = 0

    def forget(self) -> None:
        """All but the last step: a refused leap says that the others mislead."""
        self._n_seen = min(self._n_seen, 1)

    def leap(self, joint: Probabilities, image: Probabilities) -> Probabilities:
        """The mixture of the EM steps with the least residual; the EM step itself while there is no past."""
        root, target = np.sqrt(joint).reshape(-1), np.sqrt(image).reshape(-1)
        residual = target - root
        step, bend = root - self._root, residual - self._residual
        self._root, self._residual = root, residual
        self._n_seen += 1
        if self._n_seen < 2:
            return image
        place, n = (self._n_seen - 2) % MEMORY, min(self._n_seen - 1, MEMORY)
        mixed = target - mix(residual, bend, step, place, n, self._bends, self._moves, self._products, RIDGE)
        leap = np.maximum(mixed, FLOOR * target)  # a root cannot be negative
        leap *= leap
        total = leap.sum()
        return (leap / total).reshape(joint.shape) if total > 0 else image
