"""How each form of reports, or of their counts, is read linearly: one function per form, which its `Reader` calls."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import Bulk, bulk_of
from lopub.bulk.linear import (
    ClassReading,
    Scatter,
    coded_reading,
    kept_scatter,
    own_bit_reading,
    own_bit_shares,
)
from lopub.bulk.view_laws import view_law
from lopub.bulk.views import chance_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel
from lopub.errors import DomainError, NeedsReports
from lopub.estimation.joint import Probabilities, product_of
from lopub.estimation.linear import Grouping, Groupings, LinearPart, cells_of, merged
from lopub.estimation.loglinear import Shared
from lopub.estimation.paired import PairedPart
from lopub.reports.counts import Counts, Table, form_of
from lopub.reports.counts.view_bits import ones_of

if TYPE_CHECKING:
    from lopub.estimation.basis import Basis, Reports
    from lopub.estimation.readers import Reader

BESIDE = "and, from counts, how often each attribute has which bit among all reports that cover it"
CHUNK = 2**16
"""Reports whose bits are spread out at once."""

Piece = tuple[Clique, LinearPart]
"""Axes of a clique, and what some reports say about the attributes there."""


def counted_pieces(
    reader: "Reader", basis: "Basis", clique: Clique, groupings: Groupings
) -> Iterator[Piece]:
    """Where counts do not tell which reports are in several tables: every pair, and the attributes that are in none."""
    met: set[int] = set()
    for axes in chain(
        combinations(range(len(clique)), 2), ((axis,) for axis in range(len(clique)))
    ):
        if len(axes) == 2 or axes[0] not in met:
            with suppress(NeedsReports):
                own = tuple(clique[axis] for axis in axes), [groupings[axis] for axis in axes]
                for part in reader.linear(basis, *own):
                    if (
                        not part.beside
                    ):  # what pairs have in common there is more than their reports
                        met |= set(axes)
                        yield axes, part


def covers_three(basis: "Basis", clique: Clique) -> bool:
    """Whether some view holds three attributes of a clique, so that its reports are in several pairs."""
    sizes = basis.campaign.domain.sizes
    return any(
        view_law(basis.campaign.view).covers_together(three, sizes)
        for three in combinations(clique, 3)
    )


def shared_by(
    whole: Callable[["Basis", Clique, Groupings], LinearPart],
    basis: "Basis",
    clique: Clique,
    groupings: Groupings,
) -> Shared | None:
    """What pairs from counts alone have in common, where views hold three attributes. whole: what one report says of all."""
    if basis.has_reports or not covers_three(basis, clique):
        return None
    rule, sizes = basis.campaign.view, basis.campaign.domain.sizes
    return Shared(
        whole(basis, clique, groupings),
        lambda axes: chance_of(rule, sizes, tuple(clique[axis] for axis in axes)),
    )


def _usual_noise(counts: Counts, clique: Clique) -> int:
    """That which most reports about two of the attributes have."""
    found = {
        noise: sum(
            counts.tables[pair, noise].n_reports
            for pair in combinations(clique, 2)
            if (pair, noise) in counts.tables
        )
        for noise in sorted({noise for _, noise in counts.tables})
    }
    return max(found, key=lambda noise: found[noise])


# ---- answers


def whole_answer(basis: "Basis", clique: Clique, groupings: Groupings) -> LinearPart:
    """What one report says that covers the clique."""
    noise, evenly = (
        _usual_noise(basis.counts, clique),
        product_of([grouping.sigma for grouping in groupings]),
    )
    return _kept_part(basis.campaign, clique, noise, 1, evenly, groupings)


def answer_parts(basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
    """Counts of attributes and pairs are all that reports say of them; more attributes take the answers themselves."""
    if len(clique) <= 2:
        tables = {
            noise: basis.counts.tables[clique, noise].counts.sum(axis=0)
            for noise in basis.counts.noises(clique)
        }
        seen = {noise: merged(table, groupings) for noise, table in tables.items()}
    elif not basis.has_reports:
        raise NeedsReports(
            f"counts hold attributes and pairs; {len(clique)} attributes together need the reports"
        )
    else:
        seen = dict(_seen(basis.as_reports(), clique, groupings))
    for noise, counts in sorted(seen.items()):
        if n := int(counts.sum()):
            yield _kept_part(basis.campaign, clique, noise, n, counts / n, groupings)


def _seen(
    reports: "Reports", clique: Clique, groupings: Groupings, rows: NDArray[np.int64] | None = None
) -> Iterator[tuple[int, Probabilities]]:
    """Of reports that cover the whole clique, or of some of them: how often each cell of classes was seen, by noise."""
    answers, shape = reports.answers, tuple(grouping.n_classes for grouping in groupings)
    columns = [answers.values[:, position] for position in clique]
    covering = (
        np.flatnonzero(np.logical_and.reduce([column >= 0 for column in columns]))
        if rows is None
        else rows
    )
    cells = np.zeros(len(covering), dtype=np.int64)
    for column, grouping in zip(columns, groupings, strict=True):
        cells = cells * grouping.n_classes + grouping.classes[column[covering]]
    place, n_cells = answers.noise[covering] * int(np.prod(shape)) + cells, int(np.prod(shape))
    counts = np.bincount(place, minlength=len(answers.noises) * n_cells).reshape(-1, *shape)
    return zip(answers.noises, counts.astype(np.float64), strict=True)


def answer_pieces(basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
    """Every part of the clique that some reports cover, and no more of it: from counts where no view covers three of it, else
    from reports. From counts alone, where views do, every pair; a report may then be in several."""
    overlap = covers_three(basis, clique)
    if overlap and basis.has_reports:
        return _exact_pieces(basis.as_reports(), clique, groupings)
    return _counted_answers(basis, clique, groupings, alone=not overlap)


def _counted_answers(
    basis: "Basis", clique: Clique, groupings: Groupings, *, alone: bool
) -> Iterator[Piece]:
    """Pairs; and reports that cover one attribute alone, where those can be told from the others."""
    counts, singles = basis.counts, dict[tuple[int, int], Probabilities]()
    for axis, position in enumerate(clique):
        for noise in counts.noises((position,)):
            singles[axis, noise] = merged(
                counts.tables[(position,), noise].counts.sum(axis=0), [groupings[axis]]
            )
    for axes in combinations(range(len(clique)), 2):
        pair, own = (clique[axes[0]], clique[axes[1]]), [groupings[axis] for axis in axes]
        for noise in counts.noises(pair):
            seen = merged(counts.tables[pair, noise].counts.sum(axis=0), own)
            yield (
                axes,
                _kept_part(basis.campaign, pair, noise, int(seen.sum()), seen / seen.sum(), own),
            )
            for axis, other in zip(axes, (1, 0), strict=True):
                singles[axis, noise] = singles[axis, noise] - seen.sum(axis=other)
    for (axis, noise), seen in singles.items():
        if alone and (n := int(seen.sum())):
            yield (
                (axis,),
                _kept_part(basis.campaign, (clique[axis],), noise, n, seen / n, [groupings[axis]]),
            )


def _exact_pieces(reports: "Reports", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
    """From the reports themselves."""
    answers = reports.answers
    covered = [answers.values[:, position] >= 0 for position in clique]
    code = sum(
        (own.astype(np.int64) << axis for axis, own in enumerate(covered)),
        np.zeros(len(answers.values), np.int64),
    )
    for found in np.unique(code[code > 0]).tolist():
        axes = tuple(axis for axis in range(len(clique)) if found >> axis & 1)
        part, own = tuple(clique[axis] for axis in axes), [groupings[axis] for axis in axes]
        for noise, counts in _seen(reports, part, own, np.flatnonzero(code == found)):
            if n := int(counts.sum()):
                yield axes, _kept_part(reports.campaign, part, noise, n, counts / n, own)


def _kept_part(
    campaign: Campaign,
    clique: Clique,
    noise: int,
    n: int,
    seen: Probabilities,
    groupings: Groupings,
) -> LinearPart:
    keeps = [bulk_of(campaign.mechanism).keep(campaign, position, noise) for position in clique]
    if campaign.jointly:
        evenly = product_of([grouping.sigma for grouping in groupings])
        shares = (seen - (1 - keeps[0]) * evenly) / keeps[0]
        return LinearPart(n, shares, (kept_scatter(keeps[0], evenly.reshape(-1)),))
    shares = seen
    for axis, (keep, grouping) in enumerate(zip(keeps, groupings, strict=True)):
        sigma = np.expand_dims(
            grouping.sigma, tuple(other for other in range(shares.ndim) if other != axis)
        )
        shares = (shares - (1 - keep) * sigma * shares.sum(axis=axis, keepdims=True)) / keep
    scatters = [
        kept_scatter(keep, grouping.sigma) for keep, grouping in zip(keeps, groupings, strict=True)
    ]
    return LinearPart(n, shares, tuple(scatters))


# ---- bits of jointly randomized views


def view_parts(
    counts: Counts, clique: Clique, groupings: Groupings, *, whole: bool = True
) -> Iterator[Piece]:
    """Every view that covers the clique, or some of it, with its other attributes summed out."""
    form = form_of(counts.campaign)
    for (view, _), table in sorted(counts.tables.items()):
        axes = tuple(axis for axis, position in enumerate(clique) if position in view)
        if axes and (len(axes) == len(clique) or not whole):
            channel, ones = counts.campaign.channels(view)[0], form.ones(table) / table.n_reports
            own = [
                groupings[clique.index(position)]
                if position in clique
                else _whole(counts, position)
                for position in view
            ]
            with suppress(
                DomainError
            ):  # where a view's code does not tell the classes apart, others' may
                shares, scatter = _block(bulk_of(counts.campaign.mechanism), channel, ones, own)
                shape = tuple(groupings[axis].n_classes for axis in axes)
                yield axes, LinearPart(table.n_reports, shares.reshape(shape), (scatter,))


def _whole(counts: Counts, position: int) -> Grouping:
    """All answers in one class."""
    return Grouping(np.zeros(counts.campaign.domain.sizes[position], dtype=np.intp), 1)


def _block(
    bulk: Bulk, channel: Channel, ones: Probabilities, groupings: Groupings
) -> tuple[Probabilities, Scatter]:
    """The shares of a block's classes from the share of reports that have each bit, and the scatter of one report."""
    law, classes = channel.law(), cells_of(groupings)
    n_classes = int(np.prod([grouping.n_classes for grouping in groupings]))
    if law.rows is not None:
        reading = coded_reading(law, classes, n_classes)
        return reading.offset + reading.gather @ ones, reading.scatter
    sigma = product_of([grouping.sigma for grouping in groupings]).reshape(-1)
    return own_bit_shares(law, ones, classes, sigma), bulk.class_scatter(channel, classes, sigma)


# ---- bits of separately randomized attributes


def attribute_parts(basis: "Basis", clique: Clique, groupings: Groupings) -> Iterator[LinearPart]:
    """Single attributes from counts; pairs from counts where the same reports were counted for both; more from reports."""
    if len(clique) == 1:
        for noise, table in _single_tables(basis, clique[0]).items():
            reading = _reading(basis.campaign, clique[0], noise, groupings[0])
            shares = reading.offset + reading.gather @ (table.counts / table.n_reports)
            yield LinearPart(table.n_reports, shares, (reading.scatter,))
    elif basis.has_reports:
        yield from (part for _, part in _read_parts(basis.as_reports(), clique, groupings))
    elif len(clique) == 2:
        for noise in basis.counts.noises(clique):
            yield _paired(basis.counts, clique, noise, groupings)
    else:
        raise NeedsReports(
            f"counts hold attributes and pairs; {len(clique)} attributes together need the reports"
        )


def whole_bits(basis: "Basis", clique: Clique, groupings: Groupings) -> LinearPart:
    """What one report says that covers the clique."""
    noise = _usual_noise(basis.counts, clique)
    readings = [
        _reading(basis.campaign, position, noise, own)
        for position, own in zip(clique, groupings, strict=True)
    ]
    evenly = product_of([grouping.sigma for grouping in groupings])
    return LinearPart(1, evenly, tuple(reading.scatter for reading in readings))


def _single_tables(basis: "Basis", position: int) -> dict[int, Table]:
    """How often each of an attribute's bits was a one, by noise. Reports are asked for this attribute alone."""
    found: dict[int, Table] = {}
    if not basis.has_reports:
        return {
            noise: basis.counts.tables[(position,), noise]
            for noise in basis.counts.noises((position,))
        }
    batch = basis.as_reports().batch
    for number, view in enumerate(batch.views):
        if position in view and len(batch.rows_of(number)):
            table = ones_of(batch, number, view.index(position))
            found[len(view)] = found[len(view)] + table if len(view) in found else table
    return dict(sorted(found.items()))


def _reading(campaign: Campaign, position: int, noise: int, grouping: Grouping) -> ClassReading:
    channel = campaign.mechanism.channel((campaign.domain.attributes[position],), noise)
    if channel.law().rows is not None:
        return coded_reading(channel.law(), grouping.classes, grouping.n_classes)
    scatter = bulk_of(campaign.mechanism).class_scatter(channel, grouping.classes, grouping.sigma)
    return own_bit_reading(channel.law(), grouping.classes, scatter)


def _paired(counts: Counts, pair: Clique, noise: int, groupings: Groupings) -> LinearPart:
    """The mean of u v' from how often two bits are ones together, and how often each is a one; see `paired` where that is known
    of other reports, too."""
    both, singles = (
        counts.tables[pair, noise],
        [counts.tables[(position,), noise] for position in pair],
    )
    n, kept = both.n_reports, tuple(both.n_reports / single.n_reports for single in singles)
    first, second = (
        _reading(counts.campaign, p, noise, grouping)
        for p, grouping in zip(pair, groupings, strict=True)
    )
    alone = [
        one.gather @ (single.counts / single.n_reports)
        for one, single in zip((first, second), singles, strict=True)
    ]
    together = first.gather @ (both.counts / n) @ second.gather.T
    shares = (
        np.outer(first.offset, second.offset)
        + np.outer(alone[0], second.offset)
        + np.outer(first.offset, alone[1])
        + together
    )
    scatters = first.scatter, second.scatter
    if kept == (1, 1):
        return LinearPart(n, shares, scatters)
    return PairedPart(
        n, shares, scatters, BESIDE, (kept[0], kept[1]), (first.offset, second.offset)
    )


def _read_parts(
    reports: "Reports", clique: Clique, groupings: Groupings, *, whole: bool = True
) -> Iterator[Piece]:
    """The mean of the product of all attributes' readings, over the reports that cover them, by part of the clique and noise."""
    views: dict[tuple[Clique, int], list[int]] = {}
    for number, view in enumerate(reports.batch.views):
        axes = tuple(axis for axis, position in enumerate(clique) if position in view)
        if axes and (len(axes) == len(clique) or not whole):
            views.setdefault((axes, len(view)), []).append(number)
    for (axes, noise), numbers in sorted(views.items()):
        readings = [
            _reading(reports.campaign, clique[axis], noise, groupings[axis]) for axis in axes
        ]
        total, n = np.zeros(tuple(groupings[axis].n_classes for axis in axes)), 0
        for number in numbers:
            rows, view = reports.batch.rows_of(number), reports.batch.views[number]
            total += _summed(
                reports, number, rows, [view.index(clique[axis]) for axis in axes], readings
            )
            n += len(rows)
        if n:
            yield axes, LinearPart(n, total / n, tuple(reading.scatter for reading in readings))


def attribute_pieces(reports: "Reports", clique: Clique, groupings: Groupings) -> Iterator[Piece]:
    """Every part of the clique that some reports cover, and no more of it."""
    return _read_parts(reports, clique, groupings, whole=False)


def _summed(
    reports: "Reports",
    number: int,
    rows: NDArray[np.int64],
    places: list[int],
    readings: list[ClassReading],
) -> Probabilities:
    total = np.zeros(tuple(len(reading.offset) for reading in readings))
    for start in range(0, len(rows), CHUNK):
        chunk, flat = rows[start : start + CHUNK], np.ones((min(CHUNK, len(rows) - start), 1))
        for place, reading in zip(places[:-1], readings[:-1], strict=True):
            own = reading.rows(reports.batch.block_bits(number, place, chunk))
            flat = (flat[:, :, None] * own[:, None, :]).reshape(len(chunk), -1)
        total += (
            flat.T @ readings[-1].rows(reports.batch.block_bits(number, places[-1], chunk))
        ).reshape(total.shape)
    return total
