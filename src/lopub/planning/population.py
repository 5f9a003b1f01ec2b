"""Reference populations: whom a forecast is about, because nobody has answered yet.

Where no table of similar people is at hand, answers are made to look like those of surveys: their shares fall geometrically, and
everybody belongs to one of two hidden halves that answer a little differently. With p the shares of an attribute and t what one
half has more of each answer, and the other less, a pair's table is p p' + t t': its marginals are the shares, and how much two
attributes depend on each other is the product of how much each hangs on the half.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lopub.bulk.questionnaire import conformed
from lopub.campaign.attribute import few
from lopub.campaign.domain import Categorical, Clique, Domain, TickList
from lopub.campaign.texts import one_line
from lopub.errors import DomainError
from lopub.estimation.agreement import Agreement
from lopub.reports.dataset import Dataset
from lopub.reports.showing import Shown

Probabilities = NDArray[np.float64]
Item = TypeVar("Item")

LOADINGS = {"weak": (0.05, 0.6), "usual": (0.1, 0.95), "strong": (0.4, 0.95)}
"""The least and the largest correlation of an attribute with the hidden half. Over all pairs of a questionnaire, independence
is then off by what it is off on public tables: the weakest are market baskets and TPC-E, the usual one is Adult, the strongest
NLTCS (see docs/choosing.md)."""
DEPENDENCES = ("none", *LOADINGS)
SKEW = 3.5
"""Over all candidates of an attribute, shares fall by nearly e^SKEW; on Adult by e^4 to e^6, on TPC-E by 1 to e^4.6."""
GOLDEN = (math.sqrt(5) - 1) / 2
N_RULED = 50_000
"""People of a table that stands for those of a questionnaire with rules."""


@dataclass(frozen=True, eq=False)
class Population(Shown):
    """People to be drawn: records of a public table, or made-up ones with given shares."""

    domain: Domain
    label: str
    dependence: str
    """How much answers depend on each other: none, weak, usual, strong, or as in the table."""
    table: Dataset | None
    shares: tuple[Probabilities, ...]
    tilts: tuple[Probabilities, ...]
    """What one hidden half has more of each answer than all people have; zero where nothing depends on anything, and none where a
    public table is all that is known."""
    origins: tuple[frozenset[int], ...] = ()
    """Of each attribute, those that its answers hang on by the questionnaire's rules: no closed form holds where they meet."""

    def __repr__(self) -> str:
        return one_line(
            self, self.label, f"{len(self.domain)} attributes: {few(self.domain.names)}"
        )

    @classmethod
    def uniform(cls, domain: Domain) -> "Population":
        """Every answer equally likely, and nothing depends on anything: the least that can be assumed."""
        shares = tuple(np.full(size, 1 / size) for size in domain.sizes)
        made = cls(
            domain,
            "uniform and independent answers",
            "none",
            None,
            shares,
            tuple(map(np.zeros_like, shares)),
        )
        return made._ruled() if domain.has_rules else made

    @classmethod
    def like_surveys(cls, domain: Domain, *, dependence: str = "usual") -> "Population":
        """Skewed shares, and a few pairs that depend on each other: what surveys look like."""
        return cls.with_shares(domain, {}, dependence=dependence)

    @classmethod
    def with_shares(
        cls, domain: Domain, shares: Mapping[str, Sequence[float]], *, dependence: str = "usual"
    ) -> "Population":
        """Given shares of answers, and skewed ones where none are given."""
        if dependence not in DEPENDENCES:
            raise DomainError(
                f"dependence must be one of {', '.join(DEPENDENCES)}, got {dependence!r}"
            )
        domain.positions(list(shares))
        found = tuple(
            _given(attribute.name, attribute.size, shares) for attribute in domain.attributes
        )
        found = _agreeing(domain, found, shares) if domain.has_rules and shares else found
        tilts = tuple(
            _tilt(own, _loading(rank, dependence))
            for rank, own in zip(_ranks(domain), found, strict=True)
        )
        known = f"given shares of {len(shares)}, else " if shares else ""
        made = cls(domain, f"{known}people like those of surveys", dependence, None, found, tilts)
        return made._ruled() if domain.has_rules else made

    @classmethod
    def of_table(cls, table: Dataset) -> "Population":
        """The records of a public table, drawn with replacement."""
        if not len(table):
            raise DomainError("a reference table needs at least one record")
        shares = tuple(table.counts((name,)) / len(table) for name in table.domain.names)
        return cls(
            table.domain, f"a table of {len(table):,} records", "as in the table", table, shares, ()
        )

    def to_arrow(self) -> pa.Table:
        """One row per answer: its attribute, and the share of people who would give it."""
        names = [attribute.name for attribute in self.domain for _ in attribute.texts]
        texts = [text for attribute in self.domain for text in attribute.texts]
        return pa.table({"attribute": names, "answer": texts, "share": np.concatenate(self.shares)})

    def has_closed_form(self, clique: Clique) -> bool:
        """Whether shares and tilts alone say how often the cells of some attributes are met."""
        if self.table is None:
            return True
        return bool(self.tilts) and not any(
            self.origins[a] & self.origins[b] for a, b in combinations(clique, 2)
        )

    def joint(self, clique: Clique) -> Probabilities:
        """The shares of the cells of some attributes together."""
        if self.table is not None and not self.has_closed_form(clique):
            return self.table.counts([self.domain.names[position] for position in clique]) / len(
                self.table
            )
        halves = [
            reduce(np.multiply.outer, [self.shares[p] + sign * self.tilts[p] for p in clique])
            for sign in (1, -1)
        ]
        return np.asarray((halves[0] + halves[1]) / 2, dtype=np.float64)

    def people(self, n: int, seed: int) -> Dataset:
        """So many people, drawn with this seed."""
        rng = np.random.default_rng(seed)
        if self.table is not None:
            return self.table[rng.integers(0, len(self.table), n)]
        return Dataset(self.domain, self._codes(rng, rng.integers(0, 2, n) * 2 - 1))

    def _codes(self, rng: np.random.Generator, half: np.ndarray) -> np.ndarray:
        """The answers of made-up people, given the half that each belongs to."""
        columns = [
            _drawn(rng, half, shares, tilt)
            for shares, tilt in zip(self.shares, self.tilts, strict=True)
        ]
        return np.stack(columns, axis=1)

    def _ruled(self) -> "Population":
        """The same people once they keep the questionnaire's rules: a table says how answers go together that rules tie to each
        other; all others still depend on each other by the hidden half alone."""
        half = np.repeat([1, -1], N_RULED // 2)
        codes = conformed(self.domain, self._all_asked()._codes(np.random.default_rng(0), half))
        of_halves = [
            [_shares_in(codes[half == sign, p], size) for p, size in enumerate(self.domain.sizes)]
            for sign in (1, -1)
        ]
        shares, tilts = (
            tuple((a + sign * b) / 2 for a, b in zip(*of_halves, strict=True)) for sign in (1, -1)
        )
        return replace(
            self,
            table=Dataset(self.domain, codes),
            shares=shares,
            tilts=tilts,
            origins=_origins(self.domain),
        )

    def _all_asked(self) -> "Population":
        """The same people, were every question to apply to all of them."""
        shares, tilts = list(self.shares), list(self.tilts)
        for position, absent in _absences(self.domain).items():
            halves = [
                _without_answer(self.shares[position] + sign * self.tilts[position], absent)
                for sign in (1, -1)
            ]
            shares[position], tilts[position] = (
                (halves[0] + halves[1]) / 2,
                (halves[0] - halves[1]) / 2,
            )
        return replace(self, shares=tuple(shares), tilts=tuple(tilts))

    def merged(self, position: int, n_candidates: int) -> "Population":
        """The same people where neighbouring answers of one attribute are taken together until so many are left."""
        size = self.domain.sizes[position]
        place = np.arange(size) * n_candidates // size
        names = tuple(str(i) for i in range(n_candidates))
        attribute = Categorical(name=self.domain.names[position], values=names)
        domain = Domain(_with(self.domain.attributes, position, attribute))
        table = self.table
        if table is not None:
            codes = table.codes.copy()
            codes[:, position] = place[codes[:, position]]
            table = Dataset(domain, codes)
        shares, tilts = (_merged(own, position, place) for own in (self.shares, self.tilts))
        return replace(self, domain=domain, table=table, shares=shares, tilts=tilts)

    def without(self, position: int) -> "Population":
        """The same people, who are not asked this question."""
        domain = Domain(_left(self.domain.attributes, position))
        table = (
            None
            if self.table is None
            else Dataset(domain, np.delete(self.table.codes, position, axis=1))
        )
        shares, tilts = (_left(own, position) for own in (self.shares, self.tilts))
        origins = _origins_without(self.origins, position)
        return replace(
            self, domain=domain, table=table, shares=shares, tilts=tilts, origins=origins
        )


def _with(items: tuple[Item, ...], position: int, item: Item) -> tuple[Item, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _left(items: tuple[Item, ...], position: int) -> tuple[Item, ...]:
    return (*items[:position], *items[position + 1 :])


def _merged(
    own: tuple[Probabilities, ...], position: int, place: np.ndarray
) -> tuple[Probabilities, ...]:
    return (
        _with(own, position, np.bincount(place, weights=own[position]).astype(np.float64))
        if own
        else own
    )


def _shares_in(column: np.ndarray, size: int) -> Probabilities:
    return np.asarray(np.bincount(column, minlength=size) / len(column), dtype=np.float64)


def _absences(domain: Domain) -> dict[int, int]:
    """Attribute that not everybody is asked -> the candidate that says so; without options of lists."""
    asked_of_some = [
        one for one in domain.questions if one.only_if is not None and not isinstance(one, TickList)
    ]
    return {
        domain.position(one.name): one.not_applicable_index
        for one in asked_of_some
        if one.not_applicable_index is not None
    }


def _without_answer(shares: Probabilities, answer: int) -> Probabilities:
    """The others' shares among themselves; all equal where they have none."""
    others = np.arange(len(shares)) != answer
    left = np.where(others, shares, 0.0)
    return np.asarray(
        left / left.sum() if left.sum() > 0 else others / others.sum(), dtype=np.float64
    )


def _origins(domain: Domain) -> tuple[frozenset[int], ...]:
    """Of each attribute, all that it follows, itself among them."""
    every = range(len(domain))
    follows = [set(domain.following(position)) for position in every]
    return tuple(
        frozenset(origin for origin in every if position in follows[origin]) for position in every
    )


def _origins_without(
    origins: tuple[frozenset[int], ...], position: int
) -> tuple[frozenset[int], ...]:
    """The same by the numbers that attributes have once one is gone; what hung on it still hangs together (-1)."""
    numbers = {
        old: -1 if old == position else old - (old > position) for old in range(len(origins))
    }
    return tuple(frozenset(numbers[old] for old in own) for own in _left(origins, position))


def _given(name: str, size: int, shares: Mapping[str, Sequence[float]]) -> Probabilities:
    """Of one attribute: what is given, or geometrically falling shares."""
    if name not in shares:
        falling = np.exp(-SKEW * np.arange(size) / (size + 1))
        return np.asarray(falling / falling.sum(), dtype=np.float64)
    own = np.array(shares[name], dtype=np.float64)
    if own.shape != (size,) or own.min() < 0 or not abs(own.sum() - 1) < 1e-6:
        raise DomainError(
            f"shares of attribute {name!r} must be {size} numbers that are not negative and sum to 1"
        )
    return np.asarray(own / own.sum(), dtype=np.float64)


def _agreeing(
    domain: Domain, found: tuple[Probabilities, ...], given: Mapping[str, Sequence[float]]
) -> tuple[Probabilities, ...]:
    """The other shares brought to agree with the given ones by the questionnaire's rules. Of a given question that applies only
    to some, the shares among these: its condition is looked at once all answers are drawn."""
    agreement, own = Agreement(domain), domain.positions(list(given))
    agreed = agreement.agreed(dict(enumerate(found)), lambda position: np.zeros((1, 1)), own)
    if contradicting := agreement.contradiction(agreed, own):
        raise DomainError(
            f"the given shares of {' and '.join(given)} contradict the questionnaire: nobody who keeps its rules about"
            f" {' and '.join(contradicting)} could have them; mend them, or leave one out"
        )
    for position in own:
        absent = domain.attributes[position].not_applicable_index
        if absent is not None and agreed[position][absent] < 1:
            agreed[position][absent] = 0.0
            agreed[position] /= agreed[position].sum()
    return tuple(agreed[position] for position in range(len(domain)))


def _ranks(domain: Domain) -> list[int]:
    """Of each attribute, its place among all, from few candidates to many: no forecast depends on the order of questions."""
    places = {
        attribute.name: place
        for place, attribute in enumerate(sorted(domain, key=lambda own: (own.size, own.name)))
    }
    return [places[name] for name in domain.names]


def _loading(rank: int, dependence: str) -> float:
    """Spread evenly over the logarithms between the least and the largest, among small attributes as among large ones."""
    if dependence not in LOADINGS:
        return 0.0
    least, largest = LOADINGS[dependence]
    return float(least * (largest / least) ** ((rank + 1) * GOLDEN % 1))


def _tilt(shares: Probabilities, loading: float) -> Probabilities:
    """The most common answers, about half of all people's, go with one hidden half, the others with the other."""
    order = np.argsort(-shares, kind="stable")
    mass = np.cumsum(shares[order])
    n_common = (
        min(int(np.argmin(np.abs(mass - 0.5))) + 1, len(shares) - 1) if len(shares) > 1 else 0
    )
    if n_common == 0 or not 0 < mass[n_common - 1] < 1:
        return np.zeros_like(shares)
    common = np.zeros(len(shares), dtype=bool)
    common[order[:n_common]] = True
    mass_common = float(mass[n_common - 1])
    odds = math.sqrt(mass_common / (1 - mass_common))
    moved = min(loading, odds, 1 / odds) * math.sqrt(mass_common * (1 - mass_common))
    return np.where(common, moved * shares / mass_common, -moved * shares / (1 - mass_common))


def _drawn(
    rng: np.random.Generator, half: np.ndarray, shares: Probabilities, tilt: Probabilities
) -> np.ndarray:
    """One attribute of everybody, given the half that each belongs to."""
    level, found = rng.random(len(half)), np.empty(len(half), dtype=np.uint16)
    for sign in (1, -1):
        edges = np.cumsum(shares + sign * tilt)
        own = half == sign
        found[own] = np.minimum(
            np.searchsorted(edges, level[own] * edges[-1], side="right"), len(shares) - 1
        )
    return found
