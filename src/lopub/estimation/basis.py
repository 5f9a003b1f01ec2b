"""What a study rests on: reports, or their counts alone."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import Answers, bulk_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique, Domain
from lopub.errors import NeedsReports
from lopub.estimation.agreement import Agreement
from lopub.estimation.averaging import Experience
from lopub.estimation.evidence import Evidence
from lopub.estimation.joint import Probabilities
from lopub.estimation.joint_bits import JointBits
from lopub.estimation.moments import MomentEquations
from lopub.estimation.readers import Reader, reader_of
from lopub.estimation.view_counts import ViewCounts
from lopub.reports.batch import N_FOLDS, ReportBatch, order_of
from lopub.reports.counts import Counts, count, count_singly, form_of


class Basis(ABC):
    """What a study rests on: reports, or their counts alone. Estimators ask it. Attributes are at the campaign's positions here;
    only `Study` knows another order."""

    @property
    @abstractmethod
    def campaign(self) -> Campaign: ...

    @property
    def domain(self) -> Domain:
        return self.campaign.domain

    @property
    def reader(self) -> Reader:
        """Knows what reports, and counts, of the campaign's form can say."""
        return reader_of(self.campaign)

    # ---- what there is

    has_reports: ClassVar[bool]
    """Whether the reports themselves are there, not their counts alone."""

    @property
    @abstractmethod
    def slots(self) -> tuple[int, int] | None:
        """The first and the last slot of the reports; None of counts out of a file that does not tell them."""

    @property
    @abstractmethod
    def views(self) -> tuple[Clique, ...]:
        """Sets of attributes that some reports cover together; with counts of attributes and pairs, those."""

    @abstractmethod
    def signals(self) -> Iterator[tuple[int, list[float]]]:
        """For sets of attributes that reports cover: how many do, and how much of each gets through the noise, p - q."""

    @abstractmethod
    def n_covering(self, clique: Clique) -> int:
        """How many reports cover all of these attributes."""

    @abstractmethod
    def n_touching(self, clique: Clique) -> int:
        """How many reports cover at least one of these attributes, each counted once."""

    # ---- what it says

    @property
    @abstractmethod
    def counts(self) -> Counts: ...

    @property
    @abstractmethod
    def single_counts(self) -> Counts:
        """At least the counts of attributes, or of whole views: bits are counted much faster without their overlaps."""

    @cached_property
    def moments(self) -> MomentEquations:
        """What the counts say as linear equations."""
        return MomentEquations(self.counts)

    def as_reports(self) -> "Reports":
        """Itself, where reports are there."""
        raise NeedsReports("this needs the reports, and there are only their counts")

    @property
    @abstractmethod
    def has_likelihood(self) -> bool:
        """Whether a summary can be had of attributes and pairs."""

    @abstractmethod
    def evidence(self, clique: Clique) -> Evidence:
        """What is said about the clique. clique: ascending."""

    @abstractmethod
    def check(self, clique: Clique) -> None:
        """Refuse a clique of which less is known than the reports would say."""

    @abstractmethod
    def can_refine(self, clique: Clique, n_cells: int) -> bool:
        """Whether a clique of so many cells is worth a fit of its own to the reports that cover it."""

    def summary(self, clique: Clique) -> Evidence:
        """What `shrunk` goes by: counts where they are enough for it, else the same as `evidence`."""
        shape = tuple(self.domain.sizes[position] for position in clique)
        return Evidence(shape, tuple(self.reader.summary(self, clique)))

    @cached_property
    def view_counts(self) -> ViewCounts | None:
        """Where joints are read off counts of whole views' bits: what these say."""
        form = form_of(self.campaign)
        return (
            ViewCounts(self.counts) if form.whole_views and form.holds_all(self.campaign) else None
        )

    @cached_property
    def experience(self) -> Experience:
        """What its pairs teach about fits to noise like theirs."""
        return Experience(self)

    # ---- marginals, each estimated once

    def marginal(self, position: int) -> Probabilities:
        """Of an attribute that some reports cover, in agreement with the questionnaire."""
        return self._agreed[position] if self.agreement else self._alone(position)

    def _alone(self, position: int) -> Probabilities:
        """The marginal as the reports about it give it."""
        if position not in self._marginals:
            self._marginals[position] = self._estimated_marginal(position)
        return self._marginals[position]

    @cached_property
    def agreement(self) -> Agreement:
        """What the questionnaire says about estimates."""
        return Agreement(self.domain)

    @cached_property
    def _agreed(self) -> dict[int, Probabilities]:
        alone = {
            position: self._alone(position)
            for position in range(len(self.domain))
            if self.n_covering((position,))
        }
        return self.agreement.agreed(
            alone, lambda position: self.reader.covariance(self, position, alone[position])
        )

    def independent(self, clique: Clique) -> Probabilities:
        """The product of the marginals, or what comes nearest to it among joints that the questionnaire allows."""
        return self.agreement.independent(clique, self.marginal)

    def conformed(self, clique: Clique, joint: Probabilities) -> Probabilities:
        """The joint, in agreement with the questionnaire."""
        return self.agreement.conformed(clique, joint, self.marginal)

    def marginal_error(self, position: int) -> Probabilities:
        """Standard errors of a marginal, of candidates that the fit holds at zero, too."""
        if position not in self._marginal_errors:
            variances = np.diag(self.marginal_covariance(position))
            self._marginal_errors[position] = np.asarray(
                np.sqrt(np.maximum(variances, 0)), dtype=np.float64
            )
        return self._marginal_errors[position]

    def marginal_covariance(self, position: int) -> Probabilities:
        """Of the shares of a marginal."""
        return self.reader.covariance(self, position, self.marginal(position))

    @abstractmethod
    def _estimated_marginal(self, position: int) -> Probabilities: ...

    @cached_property
    def _marginals(self) -> dict[int, Probabilities]:
        return {}

    @cached_property
    def _marginal_errors(self) -> dict[int, Probabilities]:
        return {}


@dataclass(frozen=True, eq=False)
class CountsAlone(Basis):
    """Counts whose reports are put away: what they can say, the reader of their form decides."""

    given: Counts

    has_reports: ClassVar[bool] = False

    @property
    def counts(self) -> Counts:
        return self.given

    @property
    def campaign(self) -> Campaign:
        return self.given.campaign

    @property
    def slots(self) -> tuple[int, int] | None:
        return self.given.slots

    @cached_property
    def views(self) -> tuple[Clique, ...]:
        return tuple(sorted({part for part, _ in self.counts.tables}))

    def signals(self) -> Iterator[tuple[int, list[float]]]:
        form = form_of(self.campaign)
        return (
            (table.n_reports, form.signals(self.campaign, key))
            for key, table in self.counts.tables.items()
        )

    @property
    def single_counts(self) -> Counts:
        return self.counts

    def n_covering(self, clique: Clique) -> int:
        return self.counts.n_covering(clique)

    def n_touching(self, clique: Clique) -> int:
        return self.counts.n_touching(clique)

    @property
    def has_likelihood(self) -> bool:
        return self.reader.counts_suffice(self.counts)

    def evidence(self, clique: Clique) -> Evidence:
        shape = tuple(self.domain.sizes[position] for position in clique)
        return Evidence(shape, tuple(self.reader.counted_parts(self.counts, clique)))

    def check(self, clique: Clique) -> None:
        self.reader.check_counts(self.counts, clique)

    def can_refine(self, clique: Clique, n_cells: int) -> bool:
        return False

    def _estimated_marginal(self, position: int) -> Probabilities:
        return self.reader.counted_marginal(self, position)


@dataclass(frozen=True, eq=False)
class Reports(Basis):
    """A batch with an order of its rows, by SHA-256 of the report ids, so that the order of arrival does not matter."""

    batch: ReportBatch

    has_reports: ClassVar[bool] = True

    def as_reports(self) -> "Reports":
        return self

    @cached_property
    def folds(self) -> NDArray[np.int8]:
        """Of every row; ascending along the order: a fold is a range of hashes."""
        return self.batch.folds

    @cached_property
    def order(self) -> NDArray[np.int64]:
        return order_of(self.batch.ids, self.batch.digests)

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

    @property
    def slots(self) -> tuple[int, int]:
        return int(self.batch.slots.min()), int(self.batch.slots.max())

    def signals(self) -> Iterator[tuple[int, list[float]]]:
        for view, n in zip(self.batch.views, self.n_of_view.tolist(), strict=True):
            laws = [channel.law() for channel in self.campaign.channels(view)]
            yield (
                n,
                [float(law.p - law.q) for law in laws]
                * (len(view) if self.campaign.jointly else 1),
            )

    @cached_property
    def views(self) -> tuple[Clique, ...]:
        return tuple(view for view, n in zip(self.batch.views, self.n_of_view, strict=True) if n)

    @cached_property
    def n_of_view(self) -> NDArray[np.int64]:
        """How many reports have each view of the batch."""
        return np.bincount(self.batch.view_index, minlength=len(self.batch.views))

    def n_covering(self, clique: Clique) -> int:
        if self.reader.prefers_counts and len(clique) <= 2:
            return self.counts.n_covering(clique)
        return int(self.n_of_view[self._covered[:, list(clique)].all(axis=1)].sum())

    def n_touching(self, clique: Clique) -> int:
        if self.reader.prefers_counts and len(clique) <= 2:
            return self.counts.n_touching(clique)
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

    def evidence(self, clique: Clique) -> Evidence:
        shape = tuple(self.domain.sizes[position] for position in clique)
        parts = self.reader.parts(self, clique)
        return Evidence(shape, tuple(sorted(parts, key=lambda part: part.axes)))

    def check(self, clique: Clique) -> None:
        return

    def can_refine(self, clique: Clique, n_cells: int) -> bool:
        return self.reader.can_refine(self.n_covering(clique), n_cells)

    def _estimated_marginal(self, position: int) -> Probabilities:
        return self.reader.marginal(self, position)

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
