"""What reports of each form say about a clique, and what their counts alone say: one reader for each form of counts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import ANSWERS, ATTRIBUTE_BITS, VIEW_BITS, bulk_of
from lopub.bulk.view_laws import view_law
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Law
from lopub.errors import CampaignError, NeedsReports
from lopub.estimation.answer_shares import likeliest_shares
from lopub.estimation.contingency import Contingency
from lopub.estimation.em import (
    MOST_EVALUATIONS,
    ROUNDING,
    STALLED,
    TOLERANCE,
    em_map,
    run_accelerated,
    settled,
)
from lopub.estimation.evidence import Evidence, Part
from lopub.estimation.factorised import Factorised, Overlaps, overlaps_of
from lopub.estimation.joint import Probabilities
from lopub.estimation.joint_bits import ALL_FOLDS
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.linear import Groupings, LinearPart
from lopub.estimation.linear_readers import (
    Piece,
    answer_parts,
    answer_pieces,
    attribute_parts,
    attribute_pieces,
    counted_pieces,
    shared_by,
    view_parts,
    whole_answer,
    whole_bits,
)
from lopub.estimation.loglinear import Shared
from lopub.estimation.screening import gain_bounds
from lopub.estimation.spread import free_covariance
from lopub.reports.batch import N_FOLDS, ReportBatch
from lopub.reports.counts import Counts, form_of

if TYPE_CHECKING:
    from lopub.estimation.basis import Basis, CountsAlone, Reports

CHUNK = 2**16
"""Reports whose bits are spread out at once."""
MOST_TRIED = 2**20
"""Sets of attributes that are looked at to find that no view has more than two: all pairs of 1,000 attributes, and some."""
MOST_WORK = 2e7
"""Reports times cells of a fit in which every report is looked at in every step."""


class Reader(ABC):
    """Says what reports of one form mean, and alone decides what their counts can say."""

    form: ClassVar[str]
    known: ClassVar[dict[str, "Reader"]] = {}
    prefers_counts: ClassVar[bool] = False
    """Whether what reports say of attributes and pairs is read off their counts."""
    averages: ClassVar[bool] = False
    """Whether `shrunk` averages over strengths, with weights that all pairs teach together."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        Reader.known[cls.form] = cls()

    # ---- reports

    @abstractmethod
    def parts(self, reports: "Reports", clique: Clique) -> Iterator[Part]:
        """What reports say about the clique."""

    def summary(self, basis: "Basis", clique: Clique) -> Iterable[Part]:
        """What `shrunk` goes by; where counts are enough for it, they are what it goes by, so that reports give the same."""
        return basis.evidence(clique).parts

    def marginal(self, basis: "Basis", position: int) -> Probabilities:
        """Maximum likelihood from all reports that cover the attribute, alone or with others."""
        return likeliest(basis.evidence((position,)))

    def can_refine(self, n_reports: int, n_cells: int) -> bool:
        """Whether a clique of so many cells, which so many reports cover, is worth a fit of its own."""
        return n_reports * n_cells <= MOST_WORK

    # ---- counts alone

    def counts_suffice(self, counts: Counts) -> bool:
        """Whether counts alone give a summary of attributes and pairs; otherwise they are read as linear equations."""
        return form_of(counts.campaign).holds_all(counts.campaign)

    def counts_say_all(self, campaign: Campaign) -> bool:
        """Whether `shrunk` takes nothing from reports, not even about three attributes or more, that their counts do not hold."""
        return False

    def counted_parts(self, counts: Counts, clique: Clique) -> Iterator[Part]:
        """What counts alone say about the clique."""
        raise NeedsReports(
            "counts of bits are not enough for a likelihood; give the reports, or use method moments"
        )

    def counted_marginal(self, counted: "CountsAlone", position: int) -> Probabilities:
        """The marginal of an attribute from counts alone."""
        return (
            self.marginal(counted, position)
            if counted.has_likelihood
            else counted.moments.marginal(position)
        )

    def check_counts(self, counts: Counts, clique: Clique) -> None:
        """Refuse a clique whose counts say less than its reports would."""
        return

    def gain_bounds(self, basis: "Basis", pairs: Sequence[Clique]) -> Probabilities:
        """What the held-out gain of each pair cannot exceed, without a fit; infinite where only a fit can tell."""
        return np.full(len(pairs), np.inf)

    # ---- either

    @abstractmethod
    def linear(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
        """What reports that cover the whole clique say linearly, about classes of its answers."""

    def pieces(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
        """What all reports say linearly about the parts of the clique that they cover. From counts alone, a report may be in
        several pieces, unless whole views were counted."""
        return counted_pieces(self, basis, clique, groupings)

    def shared(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Shared | None:
        """What pieces have in common where a report may be in several; None where each is in one."""
        return None

    def covariance(self, basis: "Basis", position: int, marginal: Probabilities) -> Probabilities:
        """Of a marginal's shares. From counts of jointly randomized bits, and where views have too many cells for their
        information, that of the linear estimate, which is the wider one."""
        alone = (position,)
        information = (
            basis.summary(alone).information(marginal)
            if basis.has_likelihood
            else basis.moments.information(alone)
        )
        if information is not None:
            return free_covariance(information)
        knows = basis.campaign.jointly and basis.moments.knows(alone)
        linear = basis.moments.covariance(alone) if knows else None
        return linear if linear is not None else np.full((len(marginal),) * 2, np.nan)


def reader_of(campaign: Campaign) -> Reader:
    """The reader of a campaign's reports."""
    name = form_of(campaign).name
    if name not in Reader.known:
        raise CampaignError(
            f"nobody reads counts of {name!r}; subclass lopub.estimation.readers.Reader for them"
        )
    return Reader.known[name]


def likeliest(evidence: Evidence) -> Probabilities:
    """The marginal that explains the evidence best."""
    start = np.full(evidence.shape, 1 / evidence.shape[0])
    slack = ROUNDING * evidence.n_reports
    found = run_accelerated(
        em_map(evidence),
        start,
        tolerance=TOLERANCE,
        most=MOST_EVALUATIONS,
        slack=slack,
        patience=STALLED,
    )
    return settled(
        em_map(evidence, exact=True), found, tolerance=TOLERANCE, most=MOST_EVALUATIONS
    ).joint


# ---- answers


class AnswerReader(Reader):
    """Attributes and pairs from counts, so that counts and reports cannot differ; more attributes from the answers themselves."""

    form: ClassVar[str] = ANSWERS
    prefers_counts: ClassVar[bool] = True

    def parts(self, reports: "Reports", clique: Clique) -> Iterator[Part]:
        return (
            _counted_parts(reports.counts, clique)
            if len(clique) <= 2
            else _answer_parts(reports, clique)
        )

    def marginal(self, basis: "Basis", position: int) -> Probabilities:
        tables = {
            noise: table.sum(axis=0) for noise, table in _tables(basis.counts, (position,)).items()
        }
        keeps = [
            bulk_of(basis.campaign.mechanism).keep(basis.campaign, position, noise)
            for noise in tables
        ]
        return likeliest_shares(np.array(list(tables.values()), dtype=np.float64), np.array(keeps))

    def counted_parts(self, counts: Counts, clique: Clique) -> Iterator[Part]:
        return _counted_parts(counts, clique)

    def counts_say_all(self, campaign: Campaign) -> bool:
        rule, sizes = campaign.view, campaign.domain.sizes
        first = islice(rule.views(sizes), MOST_TRIED)
        return (
            all(len(view) <= 2 for view in first) and rule.n_tried(sizes, MOST_TRIED) <= MOST_TRIED
        )

    def check_counts(self, counts: Counts, clique: Clique) -> None:
        if len(clique) > 2 and view_law(counts.campaign.view).covers_together(
            clique, counts.campaign.domain.sizes
        ):
            raise NeedsReports(
                f"counts hold attributes and pairs; {len(clique)} attributes together need the reports"
            )

    def linear(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
        return answer_parts(basis, clique, groupings)

    def pieces(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
        return answer_pieces(basis, clique, groupings)

    def shared(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Shared | None:
        return shared_by(whole_answer, basis, clique, groupings)

    def gain_bounds(self, basis: "Basis", pairs: Sequence[Clique]) -> Probabilities:
        positions = sorted({position for pair in pairs for position in pair})
        return gain_bounds(
            basis.counts, pairs, {position: basis.marginal(position) for position in positions}
        )

    def can_refine(self, n_reports: int, n_cells: int) -> bool:
        return True


def _counted_parts(counts: Counts, clique: Clique) -> Iterator[Part]:
    """An attribute or a pair, from its tables; a report that covers one of the pair alone is in that one's table only."""
    if len(clique) == 1:
        yield from _parts_of(counts.campaign, (0,), clique, _tables(counts, clique))
        return
    both = _tables(counts, clique)
    for axis in (0, 1):
        alone = _tables(counts, (clique[axis],))
        for noise, table in both.items():
            alone[noise] = alone[noise] - table.sum(axis=2 - axis)
        yield from _parts_of(counts.campaign, (axis,), (clique[axis],), alone)
        if axis == 0:
            yield from _parts_of(counts.campaign, (0, 1), clique, both)


def _tables(counts: Counts, clique: Clique) -> dict[int, NDArray[np.int64]]:
    """Noise -> counts, shape (n_folds, *sizes)."""
    return {noise: counts.tables[clique, noise].counts for noise in counts.noises(clique)}


def _parts_of(
    campaign: Campaign, axes: Clique, clique: Clique, tables: dict[int, NDArray[np.int64]]
) -> Iterator[Part]:
    """Counts by noise as evidence: one part for all noises jointly, one part a noise separately."""
    used = {noise: table for noise, table in sorted(tables.items()) if table.any()}
    if not used:
        return
    if not campaign.jointly:
        for noise, table in used.items():
            yield Contingency(
                axes,
                table,
                tuple(
                    bulk_of(campaign.mechanism).keep(campaign, position, noise)
                    for position in clique
                ),
            )
        return
    shape = next(iter(used.values())).shape[1:]
    counts = np.stack([table.reshape(N_FOLDS, -1) for table in used.values()], axis=1)
    yield KeptCell(
        axes,
        shape,
        counts,
        np.array([bulk_of(campaign.mechanism).keep(campaign, clique[0], noise) for noise in used]),
    )


def _answer_parts(reports: "Reports", clique: Clique) -> Iterator[Part]:
    """Counts of the answers seen, for each part of the clique that some reports cover."""
    answers, sizes = reports.answers, reports.campaign.domain.sizes
    columns = [answers.values[:, position] for position in clique]
    covered = sum((column >= 0).astype(np.int64) << axis for axis, column in enumerate(columns))
    for code in np.unique(covered):
        axes = tuple(axis for axis in range(len(clique)) if code >> axis & 1)
        if axes:
            rows = np.flatnonzero(covered == code)
            shape = tuple(sizes[clique[axis]] for axis in axes)
            cells = np.ravel_multi_index(tuple(columns[axis][rows] for axis in axes), shape)
            tables = _tables_of(reports, rows, cells, shape)
            yield from _parts_of(
                reports.campaign, axes, tuple(clique[axis] for axis in axes), tables
            )


def _tables_of(
    reports: "Reports", rows: NDArray[np.int64], cells: NDArray[np.int64], shape: tuple[int, ...]
) -> dict[int, NDArray[np.int64]]:
    """The reports on these rows as counts per (fold, cell), by noise."""
    n_noises, n_cells = len(reports.answers.noises), int(np.prod(shape))
    place = (reports.answers.noise[rows] * N_FOLDS + reports.folds[rows]) * n_cells + cells
    counts = np.bincount(place, minlength=n_noises * N_FOLDS * n_cells).reshape(
        n_noises, N_FOLDS, *shape
    )
    return dict(zip(reports.answers.noises, counts, strict=True))


# ---- bits of jointly randomized views


class ViewReader(Reader):
    """The bits of a view depend on all of its attributes; see `view_counts`, and `joint_bits` for the likelihood of reports."""

    form: ClassVar[str] = VIEW_BITS

    def parts(self, reports: "Reports", clique: Clique) -> Iterator[Part]:
        return reports.joint_bits.parts(clique)

    def summary(self, basis: "Basis", clique: Clique) -> Iterable[Part]:
        return (
            super().summary(basis, clique)
            if basis.view_counts is None
            else basis.view_counts.parts(clique)
        )

    def marginal(self, basis: "Basis", position: int) -> Probabilities:
        if basis.view_counts is None:
            return cast("Reports", basis).joint_bits.marginals[position]
        return basis.view_counts.marginals[position]

    def counts_say_all(self, campaign: Campaign) -> bool:
        return form_of(campaign).holds_all(campaign)

    def can_refine(self, n_reports: int, n_cells: int) -> bool:
        return False

    def linear(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
        return (part for _, part in view_parts(basis.counts, clique, groupings))

    def pieces(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
        return view_parts(basis.counts, clique, groupings, whole=False)


# ---- bits of separately randomized attributes


class AttributeReader(Reader):
    """Given the record, the bits of different attributes are independent."""

    form: ClassVar[str] = ATTRIBUTE_BITS
    averages: ClassVar[bool] = True

    def parts(self, reports: "Reports", clique: Clique) -> Iterator[Part]:
        return _factorised(reports, clique)

    def linear(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
        return attribute_parts(basis, clique, groupings)

    def pieces(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
        has_reports = basis.has_reports
        return (
            attribute_pieces(basis.as_reports(), clique, groupings)
            if has_reports
            else super().pieces(basis, clique, groupings)
        )

    def shared(self, basis: "Basis", clique: Clique, groupings: Groupings) -> Shared | None:
        return shared_by(whole_bits, basis, clique, groupings)


def _views_by_part(batch: ReportBatch, clique: Clique) -> dict[Clique, list[int]]:
    """Covered part of the clique, as axes of it -> the views that cover just that part."""
    found: dict[Clique, list[int]] = {}
    for number, view in enumerate(batch.views):
        axes = tuple(axis for axis, position in enumerate(clique) if position in view)
        if axes:
            found.setdefault(axes, []).append(number)
    return found


def _factorised(reports: "Reports", clique: Clique) -> Iterator[Part]:
    batch = reports.batch
    for axes, numbers in _views_by_part(batch, clique).items():
        for n_blocks in sorted({len(batch.views[number]) for number in numbers}):
            chosen = [number for number in numbers if len(batch.views[number]) == n_blocks]
            rows = [reports.rows_of(number) for number in chosen]
            order = reports.merged(rows) if len(rows) > 1 else rows[0][:0]
            tables, slopes = [], []
            for axis in axes:
                places = [(number, batch.views[number].index(clique[axis])) for number in chosen]
                law = batch.channels(chosen[0])[places[0][1]].law()
                parts = [
                    _overlaps_in(batch, number, at, law, own)
                    for (number, at), own in zip(places, rows, strict=True)
                ]
                tables.append(parts[0] if len(parts) == 1 else np.concatenate(parts)[order])
                slopes.append(law.slope)
            starts = reports.fold_starts(rows[0] if len(rows) == 1 else np.concatenate(rows)[order])
            yield Factorised(axes, tuple(tables), tuple(slopes), starts, ALL_FOLDS)


def _overlaps_in(
    batch: ReportBatch, number: int, at: int, law: Law, rows: NDArray[np.int64]
) -> Overlaps:
    """Of one block on these rows of a view; a chunk at a time, because bits spread out take eight times their room."""
    overlaps = np.empty((len(rows), law.n_candidates), dtype=np.uint8)
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        overlaps[start : start + CHUNK] = overlaps_of(batch.block_bits(number, at, chunk), law)
    return overlaps
