"""What estimates are made of: reports, or their counts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lopub.collection.batch import N_FOLDS, ReportBatch, digests_of, folds_of, order_of
from lopub.collection.counts import Counts, count, count_singly, form_of
from lopub.contract.campaign import Campaign
from lopub.contract.view import View
from lopub.inference.evidence import Evidence
from lopub.inference.joint import Probabilities
from lopub.inference.joint_bits import JointBits
from lopub.inference.moments import Moments
from lopub.inference.readers import reader_of
from lopub.inference.view_counts import ViewCounts
from lopub.laws import Answers, bulk_of


class Source(Protocol):
    """What estimates are made of: reports, or their counts."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def single_counts(self) -> Counts:
        """At least the counts of attributes, or of whole views: bits are counted much faster without their overlaps."""

    @property
    def moments(self) -> Moments:
        """What the counts say as linear equations."""

    @property
    def views(self) -> tuple[View, ...]:
        """Sets of attributes that some reports cover together; with counts of attributes and pairs, those."""

    def n_covering(self, clique: View) -> int:
        """How many reports cover all of these attributes."""

    def n_touching(self, clique: View) -> int:
        """How many reports cover at least one of these attributes, each counted once."""

    @property
    def has_likelihood(self) -> bool:
        """Whether a summary can be had of attributes and pairs."""

    def evidence(self, clique: View) -> Evidence:
        """What is said about the clique. clique: positions in the domain, ascending."""

    def summary(self, clique: View) -> Evidence:
        """What `shrunk` goes by: counts where they are enough for it, else the same."""

    @property
    def view_counts(self) -> ViewCounts | None:
        """Where joints are read off counts of whole views' bits: what these say."""

    def marginal(self, position: int) -> Probabilities:
        """The marginal of an attribute that some reports cover."""

    def check(self, clique: View) -> None:
        """Refuse a clique of which this source says less than the reports would."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts alone: enough for attributes and pairs where they hold all that the reports say."""

    counts: Counts

    @property
    def campaign(self) -> Campaign:
        return self.counts.campaign

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(sorted({part for part, _ in self.counts.tables}))

    @property
    def single_counts(self) -> Counts:
        return self.counts

    @cached_property
    def moments(self) -> Moments:
        return Moments(self.counts)

    def n_covering(self, clique: View) -> int:
        return self.counts.n_covering(clique)

    def n_touching(self, clique: View) -> int:
        return self.counts.n_touching(clique)

    @property
    def has_likelihood(self) -> bool:
        return form_of(self.campaign).holds_all(self.campaign)

    def evidence(self, clique: View) -> Evidence:
        shape = tuple(self.campaign.domain.sizes[position] for position in clique)
        return Evidence(shape, tuple(reader_of(self.campaign).counted_parts(self.counts, clique)))

    def summary(self, clique: View) -> Evidence:
        return _summary(self, clique)

    @cached_property
    def view_counts(self) -> ViewCounts | None:
        return _view_counts(self)

    def marginal(self, position: int) -> Probabilities:
        return reader_of(self.campaign).marginal(self, position) if self.has_likelihood else self.moments.marginal(position)

    def check(self, clique: View) -> None:
        reader_of(self.campaign).check_counts(self.counts, clique)


@dataclass(frozen=True, eq=False)
class Reports:
    """A batch with an order of its rows, by SHA-256 of the report ids, so that the order of arrival does not matter."""

    batch: ReportBatch

    @cached_property
    def _digests(self) -> NDArray[np.uint64]:
        return digests_of(self.batch.ids)

    @cached_property
    def folds(self) -> NDArray[np.int8]:
        """Of every row; ascending along the order: a fold is a range of hashes."""
        return folds_of(self._digests)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        return order_of(self.batch.ids, self._digests)

    @property
    def campaign(self) -> Campaign:
        return self.batch.campaign

    @cached_property
    def counts(self) -> Counts:
        return count(self.batch)

    @cached_property
    def single_counts(self) -> Counts:
        known = form_of(self.campaign).holds_all(self.campaign) or "counts" in self.__dict__
        return self.counts if known else count_singly(self.batch)

    @cached_property
    def moments(self) -> Moments:
        return Moments(self.counts)

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(view for view, n in zip(self.batch.views, self.n_of_view, strict=True) if n)

    @cached_property
    def n_of_view(self) -> NDArray[np.int64]:
        """How many reports have each view of the batch."""
        return np.bincount(self.batch.view_index, minlength=len(self.batch.views))

    def n_covering(self, clique: View) -> int:
        return int(self.n_of_view[self._covered[:, list(clique)].all(axis=1)].sum())

    def n_touching(self, clique: View) -> int:
        return int(self.n_of_view[self._covered[:, list(clique)].any(axis=1)].sum())

    @cached_property
    def _covered(self) -> NDArray[np.bool_]:
        """Which view of the batch covers which attribute."""
        covered = np.zeros((len(self.batch.views), len(self.campaign.domain)), dtype=bool)
        for number, view in enumerate(self.batch.views):
            covered[number, list(view)] = True
        return covered

    @property
    def has_likelihood(self) -> bool:
        return True

    def evidence(self, clique: View) -> Evidence:
        shape = tuple(self.campaign.domain.sizes[position] for position in clique)
        parts = reader_of(self.campaign).parts(self, clique)
        return Evidence(shape, tuple(sorted(parts, key=lambda part: part.axes)))

    def summary(self, clique: View) -> Evidence:
        return _summary(self, clique)

    @cached_property
    def view_counts(self) -> ViewCounts | None:
        return _view_counts(self)

    def marginal(self, position: int) -> Probabilities:
        return reader_of(self.campaign).marginal(self, position)

    def check(self, clique: View) -> None:
        return

    @cached_property
    def joint_bits(self) -> JointBits:
        """Where whole views were randomized to bits: what they say together."""
        return JointBits(self)

    def rows_of(self, view_number: int) -> NDArray[np.int64]:
        """The rows of the reports with this view, in order."""
        rows, starts = self._by_view
        return rows[starts[view_number] : starts[view_number + 1]]

    @cached_property
    def _by_view(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        n_views = len(self.batch.views)
        if n_views == 1:
            return self.order, np.array([0, len(self.order)])
        views = self.batch.view_index[self.order]
        by_view = np.argsort(views, kind="stable")
        return self.order[by_view], np.searchsorted(views[by_view], np.arange(n_views + 1))

    def merged(self, rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """How several views' rows, one behind the other, are put into one order."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return np.argsort(place[np.concatenate(rows)], kind="stable")

    def fold_starts(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Where each fold begins among these rows, and where the last one ends."""
        return tuple(np.searchsorted(self.folds[rows], np.arange(N_FOLDS + 1)).tolist())

    @cached_property
    def answers(self) -> Answers:
        return bulk_of(self.campaign.mechanism).answers(self.batch)


def _summary(source: Source, clique: View) -> Evidence:
    shape = tuple(source.campaign.domain.sizes[position] for position in clique)
    return Evidence(shape, tuple(reader_of(source.campaign).summary(source, clique)))


def _view_counts(source: Source) -> ViewCounts | None:
    form = form_of(source.campaign)
    return ViewCounts(source.counts) if form.whole_views and form.holds_all(source.campaign) else None
