"""Expectation and maximization (Algorithm 1, corrected), plain or accelerated, with or without a prior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lopub.estimation.climb_kernels import FLOOR, MEMORY, RIDGE, mix
from lopub.estimation.evidence import Evidence
from lopub.estimation.joint import Probabilities

TOLERANCE = 1e-6
"""How far a cell of a fit that has converged may be from where it would end. The search ends at the first step that changes no
cell by more; `settled` then finds out how far that is."""
MOST_EVALUATIONS = 5000
PAPER_TOLERANCE = 0.001
"""The paper's convergence gap."""

ROUNDING = 3e-7
"""How far the log-likelihood of one report may be off: float32 work."""
EXACT_ROUNDING = 1e-13
"""The same as a share of the whole log-likelihood: float64 work."""

PLAIN_STEPS = 10
"""By which a fit is judged: as many as it takes until the slowest directions are what is left of its residual."""
FEWEST_STEPS = 4
MOST_RATE = 1 - 1e-7
"""Beyond this a rate is rounding."""
NEXT_TO_NOTHING = 0.02
"""Of the tolerance."""
SAFETY = 30
"""How much farther than the steps' rate says it may be: cells on their way to zero slow down as they go."""
OUT_OF_REACH = 100_000
"""Tolerances to go, safety included, at which a fit is left where it is: the reports hardly tell such joints apart."""
FINISH = 300
"""Most evaluations of a fit that is within reach, on top of those of its search."""
STALLED = 20
"""Steps in a row without a gain at which a search ends: what it still moves by is rounding."""

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


def em_map(
    evidence: Evidence,
    prior: Probabilities | None = None,
    strength: float = 0.0,
    *,
    exact: bool = False,
) -> Map:
    """One EM step. prior: pseudo-counts strength * n_reports are spread like it, which makes the step maximum a posteriori.
    exact: in float64."""
    if prior is None or strength == 0:
        return lambda joint: _likelihood_step(evidence, joint, exact)
    pseudo = strength * evidence.n_reports * prior
    positive = pseudo > 0

    def step(joint: Probabilities) -> tuple[float, Probabilities]:
        value, counts = evidence.step(joint, exact=exact)
        with np.errstate(divide="ignore"):
            value += float((pseudo[positive] * np.log(joint[positive])).sum())
        return value, _normalized(counts + pseudo)

    return step


def _likelihood_step(
    evidence: Evidence, joint: Probabilities, exact: bool
) -> tuple[float, Probabilities]:
    value, counts = evidence.step(joint, exact=exact)
    return value, _normalized(counts)


def _normalized(counts: Probabilities) -> Probabilities:
    """Counts sum to the number of reports but for rounding; this takes the rounding out."""
    return counts / float(counts.sum())


def run_plain(
    step: Map, start: Probabilities, *, stop: Stop, tolerance: float, most: int
) -> Result:
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


def run_accelerated(
    step: Map,
    start: Probabilities,
    *,
    tolerance: float,
    most: int,
    slack: float = 0.0,
    patience: int | None = None,
    exact: bool = False,
) -> Result:
    """Anderson acceleration of the EM map, in square roots of probabilities, where cells near zero move evenly.

    Each new joint mixes the last few EM steps so that their residual is least (Henderson and Varadhan 2019 do so for
    EM at large). One at which the objective falls is refused, and the plain EM step, which cannot fall, is taken instead.
    slack: how far the objective may fall by rounding alone. patience: end after so many steps in a row without a gain.
    exact: the steps are, so that a smaller one is a gain as well; near the end the objective shows none.
    """
    joint, idle = start, 0
    value, image = step(joint)
    trace, n_evaluations, past = [value], 1, _Past(joint.size)
    while n_evaluations < most and (patience is None or idle < patience):
        if _largest(image - joint) <= tolerance:
            return Result(image, True, n_evaluations, tuple(trace))
        leap = past.leap(joint, image)
        leap_value, leap_image = step(leap)
        n_evaluations += 1
        gains = leap_value > value + slack
        if not (gains or (exact and _largest(leap_image - leap) < _largest(image - joint))):
            past.forget()  # near the end only rounding is left to mix: go on with a plain step
        if not leap_value >= value - slack:
            leap = image
            leap_value, leap_image = step(leap)
            n_evaluations += 1
        idle = (
            0 if leap_value > value + slack else idle + 1
        )  # also of the plain step that took the place of a refused leap
        joint, value, image = leap, leap_value, leap_image
        trace.append(value)
    return Result(image, False, n_evaluations, tuple(trace))


def settled(
    step: Map, found: Result, *, tolerance: float, most: int, finish: int = FINISH
) -> Result:
    """A fit taken on until it has converged: until no cell is farther than the tolerance from where it would end. step: exact.

    A small step does not say so: at strong noise a step goes a thousandth of the way. Near the end the steps of EM shrink by a
    factor, whose largest value their inner products in roots of probabilities tend to; a last step s then leaves
    s rate / (1 - rate) to go. That must be next to nothing; or small, after a tighter fit has moved little as well, since
    directions that are slower still may hide behind the others. A fit that has farther to go than acceleration brings it in
    `finish` evaluations is left where it is, and says so.
    """
    joint, trace, n_evaluations, moved, near = (
        found.joint,
        list(found.trace),
        found.n_evaluations,
        np.inf,
        tolerance,
    )
    last = min(most, n_evaluations + finish)
    while n_evaluations + PLAIN_STEPS <= last:
        joint, rate, to_go, values = _judged(step, joint, tolerance)
        trace += values
        n_evaluations += len(values)
        if to_go <= (tolerance if moved <= tolerance / 10 else NEXT_TO_NOTHING * tolerance):
            return Result(joint, True, n_evaluations, tuple(trace))
        if to_go > OUT_OF_REACH * tolerance or n_evaluations + PLAIN_STEPS >= last:
            break
        near = min(near / 10, NEXT_TO_NOTHING * tolerance * (1 - rate) / SAFETY)
        slack = EXACT_ROUNDING * abs(values[-1])
        most_here = last - n_evaluations - PLAIN_STEPS
        nearer = run_accelerated(
            step, joint, tolerance=near, most=most_here, slack=slack, exact=True
        )
        moved = _largest(nearer.joint - joint)
        joint, n_evaluations = nearer.joint, n_evaluations + nearer.n_evaluations
        trace += nearer.trace
    return Result(joint, False, n_evaluations, tuple(trace))


def _judged(
    step: Map, joint: Probabilities, tolerance: float
) -> tuple[Probabilities, float, float, list[float]]:
    """A few plain steps on: the joint, the rate at which the steps shrink, how far there is to go, and the objective's values.
    As few as FEWEST_STEPS where that is next to nothing, or too much already."""
    rate, to_go, before = 0.0, np.inf, np.zeros(joint.shape)
    values: list[float] = []
    while len(values) < FEWEST_STEPS or (
        len(values) < PLAIN_STEPS and NEXT_TO_NOTHING * tolerance < to_go <= tolerance
    ):
        value, image = step(joint)
        residual = np.sqrt(image) - np.sqrt(joint)
        if (square := float((before * before).sum())) > 0:
            rate = float(np.clip((residual * before).sum() / square, 0, MOST_RATE))
        to_go = SAFETY * _largest(image - joint) * rate / (1 - rate)
        joint, before = image, residual
        values.append(value)
    return joint, rate, to_go, values


def _largest(change: Probabilities) -> float:
    return float(np.abs(change).max())


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
        mixed = target - mix(
            residual, bend, step, place, n, self._bends, self._moves, self._products, RIDGE
        )
        leap = np.maximum(mixed, FLOOR * target)  # a root cannot be negative
        leap *= leap
        total = leap.sum()
        return (leap / total).reshape(joint.shape) if total > 0 else image
