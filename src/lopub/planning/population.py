"""Reference populations: whom a plan is tried on, because nobody has answered yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lopub.collection.dataset import Dataset
from lopub.contract.domain import Domain
from lopub.errors import DomainError
from lopub.inference.joint import Probabilities
from lopub.laws.questionnaire import conformed


@dataclass(frozen=True, eq=False)
class Population:
    """People to be drawn: records of a public table, or independent answers with given shares."""

    domain: Domain
    label: str
    table: Dataset | None
    shares: tuple[Probabilities, ...]

    @classmethod
    def uniform(cls, domain: Domain) -> "Population":
        """Every answer equally likely, and nothing depends on anything: the least that can be assumed."""
        return cls(domain, "uniform", None, tuple(np.full(size, 1 / size) for size in domain.sizes))

    @classmethod
    def with_shares(cls, domain: Domain, shares: Mapping[str, Sequence[float]]) -> "Population":
        """Given shares of answers, uniform where none are given; nothing depends on anything."""
        found = []
        for attribute in domain.attributes:
            own = np.array(shares.get(attribute.name, np.full(attribute.size, 1 / attribute.size)), dtype=np.float64)
            if own.shape != (attribute.size,) or own.min() < 0 or not abs(own.sum() - 1) < 1e-6:
                raise DomainError(f"shares of attribute {attribute.name!r} must be {attribute.size} numbers that sum to 1")
            found.append(own / own.sum())
        return cls(domain, "given shares, independent", None, tuple(found))

    @classmethod
    def of_table(cls, table: Dataset) -> "Population":
        """The records of a public table, drawn with replacement."""
        if not len(table):
            raise DomainError("a reference table needs at least one record")
        return cls(table.domain, f"a table of {len(table):,} records", table, ())

    def people(self, n: int, seed: int) -> Dataset:
        """So many people, drawn with this seed."""
        rng = np.random.default_rng(seed)
        if self.table is not None:
            return self.table[rng.integers(0, len(self.table), n)]
        columns = [rng.choice(len(shares), size=n, p=shares).astype(np.uint16) for shares in self.shares]
        codes = np.stack(columns, axis=1)
        return Dataset(self.domain, conformed(self.domain, codes) if self.domain.has_rules else codes)
