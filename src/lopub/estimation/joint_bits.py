"""Jointly randomized bits: each view's own joint, the marginals that all views agree on, and what a view says of a part of it.

The bits of a view depend on all of its attributes. What they say of some is the likelihood of their cells with the others summed
out, each as likely as the view's own joint has it given the cell. A product of marginals in its place would be inconsistent: on
one dependent pair it errs by 0.27 however many reports there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Clique
from lopub.estimation.dense import Dense
from lopub.estimation.evidence import EVERY_FOLD, Evidence, Part
from lopub.estimation.factorised import likelihood_of, overlaps_of
from lopub.estimation.joint import Probabilities, raked
from lopub.estimation.moments import MomentEquations
from lopub.estimation.shrunk import shrunk
from lopub.estimation.spread import AT_ZERO, MOST_CELLS, RIDGE
from lopub.reports.batch import N_FOLDS
from lopub.reports.threads import threads

if TYPE_CHECKING:
    from lopub.estimation.basis import Reports

ROUNDS = 2
"""How often the views' joints and the marginals are fitted in turn; a third time changes little."""
MOST_SWEEPS = 50
SETTLED = 1e-5
"""Largest change of a marginal at which its EM ends: far below what any number of reports can tell."""
CHUNK = 2**12
"""Reports whose likelihoods are summed at once."""
STRONGEST = 1e3
"""Pseudo-counts, as a share of the reports, that stand for a view's attributes being taken as independent."""
ALL_FOLDS = tuple(sorted(EVERY_FOLD))

Likelihood = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ViewFit:
    """A view's shrunk joint, raked to the marginals, and how strongly it was shrunk towards their product."""

    number: int
    view: Clique
    joint: Probabilities
    strength: float


class JointBits:
    """What the views of a batch say together; fitted when it is first asked for."""

    def __init__(self, reports: "Reports") -> None:
        self._reports = reports
        self._sizes = reports.campaign.domain.sizes
        self._profiles: dict[tuple[int, Clique], Probabilities] = {}

    @property
    def marginals(self) -> dict[int, Probabilities]:
        return self._fitted[0]

    @property
    def fits(self) -> tuple[ViewFit, ...]:
        return self._fitted[1]

    @cached_property
    def _fitted(self) -> tuple[dict[int, Probabilities], tuple[ViewFit, ...]]:
        """A start, then in turn: each view's shrunk joint, and the marginals that all views' posteriors add up to."""
        numbers = np.flatnonzero(self._reports.n_of_view).tolist()
        views = [self._reports.batch.views[number] for number in numbers]
        parts = [
            dense_part(self._reports, number, tuple(range(len(view))))
            for number, view in zip(numbers, views, strict=True)
        ]
        moments = self._reports.moments
        marginals = {
            position: _start(moments, position, self._sizes[position])
            for position in sorted({p for view in views for p in view})
        }
        for _ in range(ROUNDS):
            with threads() as pool:
                own = [[marginals[position] for position in view] for view in views]
                fits = list(
                    pool.map(
                        lambda part, own: shrunk(Evidence(part.shape, (part,)), own), parts, own
                    )
                )
            marginals = self._refitted(views, parts, [fit.joint for fit in fits], marginals)
        joints = [_raked(fit.joint, view, marginals) for fit, view in zip(fits, views, strict=True)]
        strengths = [fit.strength for fit in fits]
        return marginals, tuple(map(ViewFit, numbers, views, joints, strengths))

    def _refitted(
        self,
        views: list[Clique],
        parts: list[Dense],
        joints: list[Probabilities],
        marginals: dict[int, Probabilities],
    ) -> dict[int, Probabilities]:
        """EM for the marginals alone: every view's joint keeps its interactions and is raked to the current marginals."""
        for _ in range(MOST_SWEEPS):
            counts = {position: np.zeros(self._sizes[position]) for position in marginals}
            for view, part, joint in zip(views, parts, joints, strict=True):
                current = _raked(joint, view, marginals)
                expected = current * part.step(current)[1]
                for axis, position in enumerate(view):
                    others = tuple(other for other in range(len(view)) if other != axis)
                    counts[position] += expected.sum(axis=others)
            following = {position: count / count.sum() for position, count in counts.items()}
            moved = max(
                float(np.abs(following[position] - marginals[position]).max())
                for position in marginals
            )
            marginals = following
            if moved < SETTLED:
                break
        return marginals

    # ---- what the views say about a clique

    def parts(self, clique: Clique) -> Iterator[Part]:
        """One part for all views that cover the clique, and one for each that lies within it."""
        covering = []
        for number in np.flatnonzero(self._reports.n_of_view).tolist():
            view = self._reports.batch.views[number]
            if set(clique) <= set(view):
                covering.append(number)
            elif set(view) < set(clique):
                yield dense_part(
                    self._reports, number, tuple(clique.index(position) for position in view)
                )
        if covering:
            yield self._covering(clique, covering)

    def _covering(self, clique: Clique, numbers: list[int]) -> Dense:
        axes = tuple(range(len(clique)))
        exact = [number for number in numbers if self._reports.batch.views[number] == clique]
        if exact == numbers:
            return dense_part(self._reports, numbers[0], axes)
        fits = {fit.number: fit for fit in self.fits}
        tables = [
            self._summed(number, None if number in exact else fits[number], clique)
            for number in numbers
        ]
        starts = [self._reports.fold_starts(self._reports.rows_of(number)) for number in numbers]
        pieces = [
            table[own[fold] : own[fold + 1]]
            for fold in range(N_FOLDS)
            for table, own in zip(tables, starts, strict=True)
        ]
        ends = accumulate(
            (sum(own[fold + 1] - own[fold] for own in starts) for fold in range(N_FOLDS)), initial=0
        )
        shape = tuple(self._sizes[position] for position in clique)
        wider = [fits[number] for number in numbers if number not in exact]

        def profile(joint: Probabilities) -> Probabilities | None:
            return self._information(clique, exact, wider, joint)

        return Dense(axes, shape, np.concatenate(pieces), tuple(ends), ALL_FOLDS, profile)

    def _summed(self, number: int, fit: ViewFit | None, clique: Clique) -> Likelihood:
        """The likelihoods of the clique's cells, the view's other attributes summed out. shape (n_reports, cells)."""
        rows = self._reports.rows_of(number)
        if fit is None:
            return likelihoods(self._reports, number, rows)
        given = _given(fit, clique)
        summed = np.empty((len(rows), given.shape[1]), dtype=np.float32)
        for start in range(0, len(rows), CHUNK):
            block = likelihoods(self._reports, number, rows[start : start + CHUNK]) @ given
            summed[start : start + CHUNK] = block / block.max(axis=1, keepdims=True)
        return summed

    def _information(
        self, clique: Clique, exact: list[int], wider: list[ViewFit], joint: Probabilities
    ) -> Probabilities | None:
        """Of all covering views; None where one has too many cells."""
        if max([joint.size, *(fit.joint.size for fit in wider)]) > MOST_CELLS:
            return None
        total = sum(
            (self._profile(fit, clique) for fit in wider), np.zeros((joint.size, joint.size))
        )
        for number in exact:
            total = total + dense_part(
                self._reports, number, tuple(range(len(clique)))
            ).squared_scores(joint)
        return total

    def _profile(self, fit: ViewFit, clique: Clique) -> Probabilities:
        """What one view's reports tell of the clique's cells, when all that is unknown of the view is unknown."""
        if (fit.number, clique) not in self._profiles:
            cliques = {
                clique,
                *combinations(fit.view, 1),
                *combinations(fit.view, 2),
            }  # they share the dear part
            part = dense_part(self._reports, fit.number, tuple(range(len(fit.view))))
            found = profiles(fit, part, sorted(cliques - {fit.view}))
            self._profiles |= {(fit.number, own): profile for own, profile in found.items()}
        return self._profiles[fit.number, clique]


def profiles(fit: ViewFit, part: Dense, cliques: list[Clique]) -> dict[Clique, Probabilities]:
    """Information about the cells of some parts of a view, the rest of its joint profiled out.

    The view's own information has that of its prior added: pseudo-counts s n that pull every cell towards the product of
    marginals, s n (1 / P), less what they would say about the marginals, which the product leaves free.
    """
    joint = fit.joint.reshape(-1)
    support = np.flatnonzero(joint > AT_ZERO)
    precision = part.squared_scores(fit.joint)[np.ix_(support, support)]
    precision += min(fit.strength, STRONGEST) * part.n_reports * _interactions(fit, support)
    precision += RIDGE * np.trace(precision) / len(support) * np.eye(len(support))
    inverse = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    return {
        clique: _about(inverse, _cells(fit, clique)[support], clique, fit) for clique in cliques
    }


def _about(
    inverse: Probabilities, cells: NDArray[np.int64], clique: Clique, fit: ViewFit
) -> Probabilities:
    """The information about sums of cells, from the covariance of the cells; none about a sum without cells."""
    n_cells = int(np.prod([fit.joint.shape[fit.view.index(position)] for position in clique]))
    sums = np.zeros((n_cells, len(cells)))
    sums[cells, np.arange(len(cells))] = 1
    seen = np.flatnonzero(sums.any(axis=1))
    information = np.zeros((n_cells, n_cells))
    information[np.ix_(seen, seen)] = np.linalg.inv((sums @ inverse @ sums.T)[np.ix_(seen, seen)])
    return information


def _interactions(fit: ViewFit, support: NDArray[np.int64]) -> Probabilities:
    """diag(1 / P) on the changes of a joint that leave its marginals, and nothing on the others. Over the support."""
    joint = fit.joint.reshape(-1)[support]
    effects = np.concatenate(
        [
            np.eye(fit.joint.shape[axis])[_cells(fit, (p,))[support]]
            for axis, p in enumerate(fit.view)
        ],
        axis=1,
    )
    shared = np.linalg.pinv(effects.T @ (joint[:, None] * effects), hermitian=True)
    result: Probabilities = np.diag(1 / joint) - effects @ shared @ effects.T
    return result


def _cells(fit: ViewFit, clique: Clique) -> NDArray[np.int64]:
    """Of each cell of the view, the cell of the clique that it lies in."""
    axes = [fit.view.index(position) for position in clique]
    codes = np.unravel_index(np.arange(fit.joint.size), fit.joint.shape)
    return np.ravel_multi_index(
        [codes[axis] for axis in axes], [fit.joint.shape[axis] for axis in axes]
    )


def _given(fit: ViewFit, clique: Clique) -> Likelihood:
    """How likely each cell of the view is, given the cell of the clique that it lies in. shape (view's cells, clique's cells)."""
    cells, joint = _cells(fit, clique), np.maximum(fit.joint.reshape(-1), np.finfo(np.float32).tiny)
    totals = np.bincount(cells, joint)
    given = np.zeros((len(joint), len(totals)), dtype=np.float32)
    given[np.arange(len(joint)), cells] = joint / totals[cells]
    return given


def _raked(
    joint: Probabilities, view: Clique, marginals: dict[int, Probabilities]
) -> Probabilities:
    axes = [(axis,) for axis in range(len(view))]
    return raked(joint, axes, [marginals[position] for position in view], sweeps=10, tolerance=1e-7)


def _start(moments: MomentEquations, position: int, size: int) -> Probabilities:
    """The linear estimate; EM cannot bring a zero back, so every candidate is left a little. Uniform where there is none."""
    if not moments.knows((position,)):
        return np.full(size, 1 / size)
    marginal = moments.marginal(position)
    softened: Probabilities = np.maximum(marginal, 1e-4 / len(marginal))
    distribution: Probabilities = softened / softened.sum()
    return distribution


# ---- reports as likelihoods


def dense_part(reports: "Reports", view_number: int, axes: tuple[int, ...]) -> Dense:
    """The reports of one view about its own cells."""
    rows, view = reports.rows_of(view_number), reports.batch.views[view_number]
    shape = tuple(reports.campaign.domain.sizes[position] for position in view)
    return Dense(
        axes, shape, likelihoods(reports, view_number, rows), reports.fold_starts(rows), ALL_FOLDS
    )


def likelihoods(reports: "Reports", view_number: int, rows: NDArray[np.int64]) -> Likelihood:
    """Of the view's cells, for the reports on these rows. shape (n_reports, cells)."""
    law = reports.batch.channels(view_number)[0].law()
    table = np.empty((len(rows), law.n_candidates), dtype=np.float32)
    for start in range(0, len(rows), CHUNK):
        bits = reports.batch.block_bits(view_number, 0, rows[start : start + CHUNK])
        table[start : start + CHUNK] = likelihood_of(overlaps_of(bits, law), law.slope)
    return table
