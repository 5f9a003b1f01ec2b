"""What parts of a clique say about all of it: the joint of largest entropy, with the covariance that this has.

Among the joints without an interaction of three or more attributes, p = exp(main effects + interactions of two) up to a constant,
the one that is nearest to what reports say about the parts that they cover, each in its own covariance (minimum distance).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from lopub.bulk.linear import Scatter
from lopub.estimation.joint import Probabilities, product_of
from lopub.estimation.linear import LinearPart
from lopub.estimation.maxent import margin_of
from lopub.estimation.moments import on_simplex

MOST_STEPS = 60
NEARLY_SETTLED, SETTLED = 1e-2, 1e-4
"""Of the distance, by which a step must make it smaller to be worth another: where only the covariance is wanted, and at last.
The distance is in squared standard errors, so that even a hundredth of it moves no answer by a tenth of its error."""
DAMPING = 10.0
"""Share of the square's diagonal that is added at first; more while a step makes the distance larger, less after each that does
not. The start, independent attributes, is far off: a bold step from there would leave cells at zero."""
LITTLE_DAMPING = 1e-2
"""Where a fit begins near its end."""
LEAST_DAMPING = 1e-9
USUAL_EFFECT = 2.0
"""The logarithm of an odds ratio that is nothing special: one of e^4 is. Where reports say little, this keeps cells from zero, at
which a model would take itself for certain."""
RIDGE = 1e-9
"""Share of the mean diagonal: keeps directions without information from dividing by zero."""
SMALLEST = 1e-300
FLOOR = 1e-4
"""A class that reports say nobody is in begins with this share: a logarithm of zero would keep it there."""
LARGEST = 30.0
"""A coefficient beyond this means a cell of zero; going on would change nothing."""

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fitted:
    """joint: over cells of classes. covariance: of all cells in one line. covered: whether reports spoke of every pair."""

    joint: Probabilities
    covariance: Probabilities
    covered: bool


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was said about a part of the clique: shares, with the inverse of their covariance. Both in one line."""

    axes: Axes
    shares: Probabilities
    precision: Probabilities
    variance: float
    """Of all shares together."""


@dataclass(frozen=True, eq=False)
class Shared:
    """Where a report may be in several pieces. whole: what one report says that covers all axes. together: of some axes, the
    chance that a report covers them all."""

    whole: LinearPart
    together: Callable[[Axes], float]


def fitted(
    pieces: Sequence[tuple[Axes, LinearPart]], shape: tuple[int, ...], shared: Shared | None = None
) -> Fitted:
    """The joint over all axes that is nearest to the pieces. shared: unless every report is in one piece alone."""
    pairs = [
        pair
        for pair in combinations(range(len(shape)), 2)
        if any(set(pair) <= set(axes) for axes, _ in pieces)
    ]
    design = _design(shape, tuple(pairs))
    prior = np.full(design.shape[1], 1 / USUAL_EFFECT**2)
    prior[: sum(size - 1 for size in shape)] = RIDGE  # main effects are whatever they are
    marginals, said = _marginals(pieces, shape), _gathered(pieces)
    model = _Model(shape, design, prior, _all_seen(said, product_of(marginals)))
    coefficients, _ = _descended(model, _started(marginals, design), DAMPING, NEARLY_SETTLED)
    model = replace(model, seen=_all_seen(said, model.joint(coefficients).reshape(shape)))
    coefficients, square = _descended(model, coefficients, LITTLE_DAMPING, SETTLED)
    joint = model.joint(coefficients)
    slopes = model.slopes(joint)
    moved = slopes @ _inverse(square)
    covariance = moved @ slopes.T
    if shared is not None:
        covariance += moved @ _in_common(model, joint, slopes, shared) @ moved.T
    every_pair = len(pairs) == len(shape) * (len(shape) - 1) // 2
    return Fitted(joint.reshape(shape), covariance, every_pair)


@dataclass(frozen=True, eq=False)
class _Model:
    """Joints in proportion to exp(design @ coefficients), and what they should be near to. design: shape (cells, effects)."""

    shape: tuple[int, ...]
    design: Probabilities
    prior: Probabilities
    """Of every effect, the inverse of the variance that it has before anything is seen."""
    seen: Sequence[_Seen]

    def joint(self, coefficients: Probabilities) -> Probabilities:
        """In one line."""
        scores = self.design @ coefficients
        weights = np.exp(scores - scores.max())
        joint: Probabilities = weights / weights.sum()
        return joint

    def slopes(self, joint: Probabilities) -> Probabilities:
        """How the cells move with the coefficients. shape (cells, effects)."""
        slopes: Probabilities = joint[:, None] * (self.design - joint @ self.design)
        return slopes

    def margin(self, values: Probabilities, axes: Axes) -> Probabilities:
        """Sums over the cells that make up each cell of a part; along the first axis, whatever else there is."""
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        summed: Probabilities = values.reshape(*self.shape, *values.shape[1:]).sum(axis=others)
        return summed.reshape(-1, *values.shape[1:])

    def spread(self, values: Probabilities, axes: Axes) -> Probabilities:
        """The other way round: every cell gets what the cell of a part has that it is in."""
        sizes = [size if axis in axes else 1 for axis, size in enumerate(self.shape)]
        whole = np.broadcast_to(
            values.reshape(*sizes, *values.shape[1:]), (*self.shape, *values.shape[1:])
        )
        return whole.reshape(-1, *values.shape[1:])

    def distance(self, coefficients: Probabilities) -> float:
        """From all that was said, and from no effect at all."""
        joint = self.joint(coefficients)
        gaps = [(one, one.shares - self.margin(joint, one.axes)) for one in self.seen]
        return sum(float(gap @ one.precision @ gap) for one, gap in gaps) + float(
            self.prior @ coefficients**2
        )

    def equations(self, coefficients: Probabilities) -> "_Equations":
        """Of the step that would lead to the nearest joint if cells moved along straight lines, and how they bend."""
        joint = self.joint(coefficients)
        slopes, square, right = self.slopes(joint), np.diag(self.prior), -self.prior * coefficients
        pull = np.zeros(len(joint))
        for one in self.seen:
            moved, gap = (
                self.margin(slopes, one.axes),
                one.precision @ (one.shares - self.margin(joint, one.axes)),
            )
            square = square + moved.T @ one.precision @ moved
            right = right + moved.T @ gap
            pull += self.spread(gap, one.axes)
        apart = self.design - joint @ self.design
        bent = joint * (pull - float(joint @ pull))
        return _Equations(square, right, apart.T @ (bent[:, None] * apart))


@dataclass(frozen=True, eq=False)
class _Equations:
    """square, right: Gauss's and Newton's, in which cells move along straight lines. bend: what their second derivatives take off
    the square."""

    square: Probabilities
    right: Probabilities
    bend: Probabilities

    @property
    def curvature(self) -> Probabilities:
        """Newton's own where the distance curves upwards, as it does near the nearest joint; else without what would lead to a
        saddle."""
        exact: Probabilities = self.square - self.bend
        try:
            np.linalg.cholesky(exact)
        except np.linalg.LinAlgError:
            return self.square
        return exact


@dataclass(frozen=True, eq=False)
class _Said:
    """All that is said about one part of the clique as one. shares: of its cells. parts, weights: what they are averaged from."""

    axes: Axes
    shares: Probabilities
    parts: tuple[LinearPart, ...]
    weights: tuple[float, ...]

    def seen(self, chances: Probabilities) -> _Seen:
        """With the covariance that the shares have if these are the chances of people to be in each cell of the part."""
        n = chances.size
        floored = (chances + FLOOR / n) / (1 + FLOOR)
        covariance = sum(
            (
                w**2 * part.covariance(floored)
                for w, part in zip(self.weights, self.parts, strict=True)
            ),
            np.zeros((n, n)),
        )
        return _Seen(
            self.axes,
            self.shares.reshape(-1),
            _centred_inverse(covariance),
            float(np.trace(covariance)),
        )


def _gathered(pieces: Sequence[tuple[Axes, LinearPart]]) -> list[_Said]:
    found: dict[Axes, list[LinearPart]] = {}
    for axes, part in pieces:
        found.setdefault(axes, []).append(part)
    return [_said(axes, parts) for axes, parts in sorted(found.items())]


def _said(axes: Axes, parts: Sequence[LinearPart]) -> _Said:
    """Weighted by reports over the noise of an average cell."""
    even = np.full(parts[0].shares.shape, 1 / parts[0].shares.size)
    precise = (
        [1 / float(np.trace(part.covariance(even))) for part in parts] if len(parts) > 1 else [1.0]
    )
    weights = [weight / sum(precise) for weight in precise]
    shares = sum(
        (weight * part.shares for weight, part in zip(weights, parts, strict=True)),
        np.zeros(even.shape),
    )
    if any(len(part.scatters) > 1 for part in parts):
        return _Said(axes, shares, tuple(parts), tuple(weights))
    own = [weight**2 / part.n_reports for weight, part in zip(weights, parts, strict=True)]
    scatters = [part.scatters[0] for part in parts]
    noise = sum(
        (one * scatter.noise for one, scatter in zip(own, scatters, strict=True)),
        np.zeros((even.size,) * 2),
    )
    gamma = sum(one * scatter.gamma for one, scatter in zip(own, scatters, strict=True))
    together = Scatter(noise / sum(own), gamma / sum(own), scatters[0].sigma)
    return _Said(axes, shares, (LinearPart(1, shares, (together,)),), (float(np.sqrt(sum(own))),))


def _all_seen(said: Sequence[_Said], chances: Probabilities) -> list[_Seen]:
    """All of it, if these are the chances of people to be in each cell. Never from what a part itself says: where few reports are
    in it, a cell that none of them names would pass for known to be empty."""
    return [one.seen(margin_of(chances, one.axes)) for one in said]


def _in_common(
    model: _Model, joint: Probabilities, slopes: Probabilities, shared: Shared
) -> Probabilities:
    """What the equations of two pieces have in common, because the same reports are in both; shape (effects, effects). With it
    the covariance is that of estimates from parts of a likelihood (Godambe's)."""
    own = shared.whole.covariance(joint.reshape(model.shape))
    pulls = []
    for one in model.seen:
        pull = model.spread(one.precision @ model.margin(slopes, one.axes), one.axes)
        usual = float(np.trace(model.margin(model.margin(own, one.axes).T, one.axes)))
        pulls.append(pull * np.sqrt(one.variance / max(usual, SMALLEST)))
    total = np.zeros((slopes.shape[1],) * 2)
    for (one, pull), (other, against) in combinations(zip(model.seen, pulls, strict=True), 2):
        apart = shared.together(one.axes) * shared.together(other.axes)
        both = (
            shared.together(tuple(sorted({*one.axes, *other.axes}))) / np.sqrt(apart)
            if apart > 0
            else 0.0
        )
        crossed = both * (pull.T @ own @ against)
        total += crossed + crossed.T
    return total


def _centred_inverse(covariance: Probabilities) -> Probabilities:
    """Of shares, which always have the same sum: the inverse among all directions but that one."""
    n, total = len(covariance), covariance.sum()
    rows = covariance.sum(axis=1) / n
    centred = covariance - rows[:, None] - rows + total / n**2
    scale = max(float(np.trace(centred)) / n, SMALLEST)
    return _inverse(centred + (RIDGE * np.eye(n) + 1 / n) * scale) - 1 / n / scale


def _inverse(square: Probabilities) -> Probabilities:
    """Of a symmetric matrix without negative directions, rows and columns brought to one scale first."""
    scale = 1 / np.sqrt(np.maximum(np.diag(square), SMALLEST))
    scaled = square * np.outer(scale, scale)
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(scaled, hermitian=True)
    found: Probabilities = inverse * np.outer(scale, scale)
    return found


@lru_cache(maxsize=64)
def _design(shape: tuple[int, ...], pairs: tuple[Axes, ...]) -> Probabilities:
    """Main effects and interactions of pairs, without the first class of each attribute. shape (cells, effects)."""
    columns: list[Probabilities] = []
    for effect in [*((axis,) for axis in range(len(shape))), *pairs]:
        block: Probabilities = np.ones((1, 1))
        for axis, size in enumerate(shape):
            block = np.kron(
                block, np.eye(size)[:, 1:] if axis in effect else np.ones((size, 1))
            ).astype(np.float64, copy=False)
        columns.append(block)
    return np.concatenate(columns, axis=1)


def _descended(
    model: _Model, start: Probabilities, damping: float, settled: float
) -> tuple[Probabilities, Probabilities]:
    """Newton's steps, damped as Levenberg and Marquardt do: the coefficients, and the square of the equations there. settled: the
    share of the distance that the last step makes it smaller by."""
    here, distance = start, model.distance(start)
    equations = model.equations(here)
    for _ in range(MOST_STEPS):
        square = equations.square
        scale = np.diag(square) + RIDGE * np.trace(square) / len(square) + SMALLEST
        step = np.linalg.solve(equations.curvature + damping * np.diag(scale), equations.right)
        ahead = np.clip(here + step, -LARGEST, LARGEST)
        found = model.distance(ahead)
        if found > distance:
            damping *= 5
            continue
        is_settled = distance - found <= settled * (1 + distance)
        here, distance, damping = ahead, found, max(damping / 5, LEAST_DAMPING)
        equations = model.equations(here)
        if is_settled:
            break
    return here, equations.square


def _marginals(
    pieces: Sequence[tuple[Axes, LinearPart]], shape: tuple[int, ...]
) -> list[Probabilities]:
    """The shares of each attribute's classes, from all pieces that it is in."""
    marginals = []
    for axis, size in enumerate(shape):
        total = np.zeros(size)
        for axes, part in pieces:
            if axis in axes:
                total = total + part.n_reports * margin_of(part.shares, (axes.index(axis),))
        share = on_simplex(total / total.sum()) + FLOOR
        marginals.append(share / share.sum())
    return marginals


def _started(marginals: Sequence[Probabilities], design: Probabilities) -> Probabilities:
    """The coefficients of independent attributes."""
    alone = np.concatenate([np.log(share[1:] / share[0]) for share in marginals])
    return np.concatenate([alone, np.zeros(design.shape[1] - len(alone))])
