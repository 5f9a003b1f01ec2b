"""Counts: what is known of a campaign's reports once the reports themselves are put away."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from lopub.bulk.view_laws import view_law
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.texts import one_line
from lopub.errors import CampaignError, NeedsReports, Reason
from lopub.reports.counts.forms import Key, Table, form_of
from lopub.reports.origin import PLAIN, Origin
from lopub.reports.showing import Shown

Slots = tuple[int, int]
"""The first and the last of some reports."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(Shown):
    """The counts of one campaign's reports; a + b are those of both sets of reports.

    tables, by the positions of their attributes and a number for their noise, in the form that the mechanism takes:
      answers: contingency counts of every attribute, shape (n_folds, size), and every pair, (n_folds, size, size);
      bits, separately: ones of every attribute's bits, shape (n_bits,), and how often two bits of different attributes are both
      ones, (n_bits, n_bits);
      bits, jointly: of every view, by fold, the number of reports and then the ones of each bit, (n_folds, 1 + n_bits).
    """

    campaign: Campaign
    n_reports: int
    tables: Mapping[Key, Table]
    refused: Mapping[Reason, int] = field(default_factory=dict)
    n_repeated: int = 0
    """Reports that were left out because the same report was counted already; not kept in files."""
    slots: Slots | None = None
    """The first and the last slot of the reports; None where there are no reports, and of files that do not tell."""
    origin: Origin = PLAIN
    """What readers should know of where the reports come from."""

    def __len__(self) -> int:
        return self.n_reports

    def __repr__(self) -> str:
        return one_line(
            self,
            repr(self.campaign.terms.name),
            f"{self.n_reports:,} reports",
            f"{len(self.tables):,} tables",
        )

    def to_arrow(self) -> pa.Table:
        """One row per table: its attributes, their noise, and how many reports stand behind it."""
        names = self.campaign.domain.names
        columns = [
            [", ".join(names[position] for position in clique) for clique, _ in self.tables],
            [noise for _, noise in self.tables],
            [table.n_reports for table in self.tables.values()],
        ]
        return pa.table(dict(zip(("attributes", "noise", "n_reports"), columns, strict=True)))

    def __add__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        if other.campaign.id != self.campaign.id:
            raise CampaignError(
                f"counts of campaign {other.campaign.id[:16]}… cannot be added to counts of {self.campaign.id[:16]}…"
            )
        tables = dict(self.tables)
        for key, table in other.tables.items():
            tables[key] = tables[key] + table if key in tables else table
        return Counts(
            campaign=self.campaign,
            n_reports=self.n_reports + other.n_reports,
            tables=dict(sorted(tables.items())),
            refused=dict(Counter(self.refused) + Counter(other.refused)),
            n_repeated=self.n_repeated + other.n_repeated,
            slots=_slots_of_all([self, other]),
            origin=self.origin + other.origin,
        )

    def noises(self, clique: Clique) -> tuple[int, ...]:
        """The noises of the tables about these attributes, ascending."""
        return self._noises.get(clique, ())

    @cached_property
    def _noises(self) -> dict[Clique, tuple[int, ...]]:
        found: dict[Clique, tuple[int, ...]] = {}
        for clique, noise in sorted(self.tables):
            found[clique] = (*found.get(clique, ()), noise)
        return found

    def n_covering(self, clique: Clique) -> int:
        """How many reports cover all of these attributes; of at most two where attributes are randomized separately."""
        parts = [clique]
        if form_of(self.campaign).whole_views:
            parts = [view for view in self._noises if set(clique) <= set(view)]
        return sum(
            self.tables[part, noise].n_reports for part in parts for noise in self.noises(part)
        )

    def n_touching(self, clique: Clique) -> int:
        """How many reports cover at least one of these attributes, each counted once; where three of them may be covered together
        and counts hold pairs alone, at most as many as are covered one by one."""
        if form_of(self.campaign).whole_views:
            return sum(
                table.n_reports
                for (view, _), table in self.tables.items()
                if set(clique) & set(view)
            )
        singly = sum(self.n_covering((position,)) for position in clique)
        sizes = self.campaign.domain.sizes
        if any(
            view_law(self.campaign.view).covers_together(three, sizes)
            for three in combinations(clique, 3)
        ):
            return min(singly, self.n_reports)
        return singly - sum(self.n_covering(pair) for pair in combinations(clique, 2))

    def without(self, days: Sequence[str]) -> "Counts":
        """As of reports, which alone tell their days."""
        if days:
            raise NeedsReports("counts do not tell days apart; leave_out needs the reports")
        return self

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the counts as Parquet, whole or not at all."""
        from lopub.reports.counts.count_files import (
            save_counts,
        )  # the files know the counts, not the other way round

        save_counts(self, path, force=force)

    @staticmethod
    def load(path: str | Path, campaign: Campaign | None = None) -> "Counts":
        """The counts that `save` wrote. campaign: the one that they must be of."""
        from lopub.reports.counts.count_files import load_counts

        return load_counts(path, campaign)


def _slots_of_all(parts: Sequence[Counts]) -> Slots | None:
    """None where some of the reports do not tell theirs."""
    slots = [part.slots for part in parts if part.n_reports]
    known = [each for each in slots if each is not None]
    return spanned(known) if len(known) == len(slots) else None


def spanned(parts: Sequence[Slots]) -> Slots | None:
    """The first and the last slot of all reports, from those of their parts."""
    return (min(first for first, _ in parts), max(last for _, last in parts)) if parts else None
