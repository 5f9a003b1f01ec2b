"""What is counted of reports. There are three forms, each in a file of its own; a mechanism's law says which one it takes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.errors import CampaignError
from lopub.reports.batch import ReportBatch

Integers = NDArray[np.int64]
Key = tuple[Clique, int]
"""Which attributes a table is about, and how noisy the reports in it are; what the number means is up to the form."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of counts, and from how many reports."""

    n_reports: int
    counts: Integers

    def __add__(self, other: "Table") -> "Table":
        return Table(self.n_reports + other.n_reports, self.counts + other.counts)


Tables = Iterator[tuple[Key, Table]]


class GrowingTables(ABC):
    """The tables of one form while they grow: reports are added block by block, and let go."""

    @abstractmethod
    def add(self, batch: ReportBatch) -> None:
        """Count these reports, too."""

    @abstractmethod
    def tables(self) -> Tables:
        """All tables of the reports so far."""


class Sums(GrowingTables):
    """Tables made of every block, and added up."""

    def __init__(self, tables_of: Callable[[ReportBatch], Tables]) -> None:
        self._tables_of = tables_of
        self._total: dict[Key, Table] = {}

    def add(self, batch: ReportBatch) -> None:
        for key, table in self._tables_of(batch):
            self._total[key] = self._total[key] + table if key in self._total else table

    def tables(self) -> Tables:
        yield from self._total.items()


class Form(ABC):
    """One way to count the reports of a campaign in integers that add up."""

    name: ClassVar[str]
    known: ClassVar[dict[str, "Form"]] = {}
    whole_views: ClassVar[bool] = False
    """Whether a table is about a whole view; otherwise about one or two attributes."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        Form.known[cls.name] = cls()

    @abstractmethod
    def tables(self, batch: ReportBatch) -> Tables:
        """All tables of a batch."""

    def tally(self, campaign: Campaign) -> GrowingTables:
        """All tables of batches that come one by one; by default those of each, added up."""
        return Sums(self.tables)

    def single_tables(self, batch: ReportBatch) -> Tables:
        """At least the tables of attributes, or of whole views, where that is much less work than all."""
        return self.tables(batch)

    @abstractmethod
    def shape(self, campaign: Campaign, key: Key) -> tuple[int, ...]:
        """The shape that the table of a key has."""

    @abstractmethod
    def can_have(self, campaign: Campaign, key: Key) -> bool:
        """Whether some reports make such a table. key: attributes that the campaign has."""

    @abstractmethod
    def signals(self, campaign: Campaign, key: Key) -> list[float]:
        """How much of each attribute gets through the noise: p - q."""

    def holds_all(self, campaign: Campaign) -> bool:
        """Whether attributes and pairs are estimated from the tables, so that nobody needs the reports for them."""
        return False

    def can_be_published(self, campaign: Campaign) -> bool:
        """Whether all tables of a campaign are small enough to go into a publication."""
        return True

    def fits(self, table: Table) -> bool:
        """Whether so many reports can give these counts."""
        return bool(table.counts.min() >= 0 and table.counts.max() <= table.n_reports)

    def at_least(self, pair: Table, axis: int) -> Integers:
        """What the table of one attribute of a pair must show at least."""
        raise TypeError(f"counts of {self.name} have no tables of pairs")

    def ones(self, table: Table) -> Integers:
        """How often each bit, or each two, were ones."""
        return table.counts


def form_of(campaign: Campaign) -> Form:
    """The form in which the reports of a campaign are counted."""
    name = bulk_of(campaign.mechanism).form(campaign.jointly)
    if name not in Form.known:
        raise CampaignError(
            f"mechanism {campaign.mechanism.name!r} asks for counts of {name!r}, which nobody makes"
        )
    return Form.known[name]
