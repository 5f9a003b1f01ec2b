"""Counts: what is known of a campaign's reports once the reports themselves are put away."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lopub.batch import N_FOLDS
from lopub.campaign import Campaign
from lopub.errors import CampaignError, Reason
from lopub.view import View

Integers = NDArray[np.int64]
Key = tuple[View, int]
"""Which attributes a table is about, and how noisy the reports in it are: separately randomized, how many attributes their
views have; `direct`, jointly, how many cells; bits of jointly randomized views, always 0."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of counts, and from how many reports."""

    n_reports: int
    counts: Integers

    def __add__(self, other: "Table") -> "Table":
        return Table(self.n_reports + other.n_reports, self.counts + other.counts)


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts:
    """The counts of one campaign's reports; a + b are those of both sets of reports.

    tables, by key:
      `direct`: contingency counts of every attribute, shape (n_folds, size), and every pair, (n_folds, size, size);
      bits, separately: ones of every attribute's bits, shape (n_bits,), and how often two bits of different attributes are both
      ones, (n_bits, n_bits);
      bits, jointly: ones of every view's bits, shape (n_bits,).
    """

    campaign: Campaign
    n_reports: int
    tables: Mapping[Key, Table]
    refused: Mapping[Reason, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.n_reports

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
        )

    def noises(self, part: View) -> tuple[int, ...]:
        """The noises of the tables about these attributes, ascending."""
        return self._noises.get(part, ())

    @cached_property
    def _noises(self) -> dict[View, tuple[int, ...]]:
        found: dict[View, tuple[int, ...]] = {}
        for part, noise in sorted(self.tables):
            found[part] = (*found.get(part, ()), noise)
        return found

    def n_covering(self, clique: View) -> int:
        """How many reports cover all of these attributes; of at most two where attributes are randomized separately."""
        parts = [clique]
        if is_bits(self.campaign) and self.campaign.jointly:
            parts = [view for view in self._noises if set(clique) <= set(view)]
        return sum(self.tables[part, noise].n_reports for part in parts for noise in self.noises(part))

    def n_touching(self, clique: View) -> int:
        """How many reports cover at least one of these attributes, each counted once; where three of them may be covered together
        and counts hold pairs alone, at most as many as are covered one by one."""
        if is_bits(self.campaign) and self.campaign.jointly:
            return sum(table.n_reports for (view, _), table in self.tables.items() if set(clique) & set(view))
        singly = sum(self.n_covering((position,)) for position in clique)
        sizes = self.campaign.domain.sizes
        if any(self.campaign.view.covers_together(three, sizes) for three in combinations(clique, 3)):
            return min(singly, self.n_reports)
        return singly - sum(self.n_covering(pair) for pair in combinations(clique, 2))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the counts as Parquet, whole or not at all."""
        from lopub.counts.files import save_counts  # the files know the counts, not the other way round

        save_counts(self, path, force=force)

    @staticmethod
    def load(path: str | Path, campaign: Campaign | None = None) -> "Counts":
        """The counts that `save` wrote. campaign: the one that they must be of."""
        from lopub.counts.files import load_counts

        return load_counts(path, campaign)


def is_bits(campaign: Campaign) -> bool:
    """Whether reports carry bits; `direct` sends numbers."""
    return campaign.mechanism.name != "direct"


def shape_of(campaign: Campaign, key: Key) -> tuple[int, ...]:
    """The shape that the table of a key has."""
    part, noise = key
    attributes = tuple(campaign.domain.attributes[position] for position in part)
    if not is_bits(campaign):
        return (N_FOLDS, *(attribute.size for attribute in attributes))
    if campaign.jointly:
        return (campaign.mechanism.channel(attributes, 1).width,)
    return tuple(campaign.mechanism.channel((attribute,), noise).width for attribute in attributes)
