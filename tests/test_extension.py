"""A mechanism, a view rule and an estimator that this file alone knows go all the way: nothing else has to change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest

from lopub import (
    Campaign,
    Categorical,
    Counts,
    Dataset,
    Domain,
    ReportBatch,
    Terms,
    count,
    estimate,
    poisoning_bound,
    publish,
    simulate,
)
from lopub.bulk import Bulk
from lopub.bulk.designs import Design
from lopub.campaign.budget import UNIT, flip_loss, float_up, times_up
from lopub.campaign.canonical import Members
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Block, Channel, Law, Mechanism, n_cells
from lopub.campaign.randomness import Randomness
from lopub.campaign.views import Sizes, ViewRule
from lopub.campaign.views.base import Losses
from lopub.estimation import METHODS, Em, Estimator, Product
from lopub.estimation.basis import Basis
from lopub.estimation.joint import Fit, JointDistribution
from lopub.planning.design import ranked
from lopub.planning.makers import Maker, maker_of
from lopub.planning.outlook import outlook_of
from lopub.planning.planner import plan
from lopub.planning.population import Population
from lopub.planning.trial import tried

DOMAIN = Domain(
    tuple(
        Categorical(name=name, values=tuple("abc"[:size]))
        for name, size in (("x", 3), ("y", 2), ("z", 3), ("w", 2))
    )
)


@dataclass(frozen=True)
class MirroredChannel(Channel):
    """Two bits a candidate, the second the first one's mirror image; each is flipped with the same probability."""

    n_candidates: int
    change_units: int

    @property
    def width(self) -> int:  # type: ignore[override]
        return 2 * self.n_candidates

    def _code(self, candidate: int) -> int:
        others = ((1 << self.n_candidates) - 1) ^ (1 << candidate)
        return 1 << candidate | others << self.n_candidates

    def law(self) -> Law:
        change = Fraction(self.change_units, UNIT)
        k = self.n_candidates
        rows = tuple((c, *(k + other for other in range(k) if other != c)) for c in range(k))
        loss = flip_loss(self.change_units)
        return Law(
            n_candidates=k,
            n_bits=2 * k,
            rows=rows,
            p=1 - change,
            q=change,
            slope=float_up(times_up(loss, 2)),
            loss=times_up(loss, 4),
        )

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        return self._code(candidate) ^ randomness.changes(self.width, self.change_units, UNIT)


def make_mirrored() -> type[Mechanism]:
    @dataclass(frozen=True)
    class Mirrored(Mechanism):
        name: ClassVar[str] = "mirrored"
        in_words: ClassVar[str] = "every bit is sent twice"
        noise: Mapping[int, int] = field(hash=False)

        def channel(self, block: Block, n_blocks: int) -> Channel:
            return MirroredChannel(n_cells(block), self._noise_for(n_blocks))

        def width_of(self, n_candidates: int) -> int:
            return 2 * n_candidates

        def to_json(self) -> dict[str, Any]:
            return {
                "name": self.name,
                "change_units": {str(n): units for n, units in self.noise.items()},
            }

        @classmethod
        def from_json(cls, members: Members) -> "Mirrored":
            units = members.members("change_units")
            return cls({1: units.integer("1")} if "1" in units else {2: units.integer("2")})

    return Mirrored


def make_neighbours() -> type[ViewRule]:
    @dataclass(frozen=True)
    class Neighbours(ViewRule):
        """Two attributes that stand side by side."""

        kind: ClassVar[str] = "neighbours"

        def check(self, sizes: Sizes, jointly: bool) -> None:
            return

        def draw(self, sizes: Sizes, randomness: Randomness) -> Clique:
            first = randomness.below(len(sizes) - 1)
            return (first, first + 1)

        def can_draw(self, view: Clique, sizes: Sizes) -> bool:
            return len(view) == 2 and view[1] == view[0] + 1

        def views(self, sizes: Sizes) -> Iterator[Clique]:
            return ((i, i + 1) for i in range(len(sizes) - 1))

        def view_sizes(self, n_attributes: int) -> tuple[int, ...]:
            return (2,)

        def most_cells(self, sizes: Sizes) -> int:
            return max(a * b for a, b in pairwise(sizes))

        def worst(self, losses: Losses, n_attributes: int) -> Decimal:
            of = losses(2)
            return max(a + b for a, b in pairwise(of))

        def to_json(self) -> dict[str, Any]:
            return {"kind": self.kind}

        @classmethod
        def from_json(cls, members: Members, domain: Domain) -> "Neighbours":
            return cls()

        def __str__(self) -> str:
            return self.kind

    return Neighbours


@pytest.fixture
def toys() -> Iterator[tuple[type[Mechanism], type[ViewRule]]]:
    """A mechanism with its NumPy half, a view rule and an estimator, for the length of one test."""
    mirrored, rule = make_mirrored(), make_neighbours()

    class MirroredBulk(Bulk):
        mechanism: ClassVar[str] = "mirrored"

        def usual_designs(self, sizes: Sizes, epsilon: float) -> Iterator[Design]:
            yield Design("mirrored", rule(), True)

    class MirroredMaker(Maker):
        mechanism: ClassVar[str] = "mirrored"

        def for_epsilon(self, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Mechanism:
            return mirrored(
                {n: int(UNIT / (1 + np.exp(float(epsilon) / (4 * n)))) + 1 for n in n_blocks}
            )

    class Halfway(Estimator):
        name: ClassVar[str] = "halfway"

        def __call__(self, basis: Basis, clique: Clique, /) -> JointDistribution:
            independent, likely = Product()(basis, clique), Em()(basis, clique)
            mixed = (independent.probabilities + likely.probabilities) / 2
            fit = Fit(method=self.name, n_reports=likely.fit.n_reports)
            return JointDistribution(independent.attributes, mixed, None, fit)

    METHODS["halfway"] = Halfway
    yield mirrored, rule
    del (
        METHODS["halfway"],
        Mechanism.known["mirrored"],
        Bulk.known["mirrored"],
        Maker.known["mirrored"],
        ViewRule.known["neighbours"],
    )


def people(n: int) -> Dataset:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < 0.8, x % 2, rng.integers(0, 2, n))
    return Dataset(DOMAIN, np.stack([x, y, rng.integers(0, 3, n), y], axis=1).astype(np.uint16))


@pytest.mark.parametrize("jointly", [True, False])
def test_a_mechanism_a_view_rule_and_an_estimator_of_ones_own_go_all_the_way(
    toys: tuple[type[Mechanism], type[ViewRule]], jointly: bool
) -> None:
    mechanism, rule = toys
    noise = maker_of(mechanism).for_epsilon(Decimal(8), (1,) if jointly else (2,))
    campaign = Campaign(
        domain=DOMAIN, mechanism=noise, view=rule(), jointly=jointly, terms=Terms(name="toy")
    )
    assert Campaign.from_bytes(campaign.canonical_bytes) == campaign
    crowd = people(4000)
    reports = simulate(crowd, campaign, seed=1)
    assert len(ReportBatch.from_reports([reports.report(i) for i in range(50)], campaign)) == 50
    truth = crowd.counts(["x", "y"]) / len(crowd)
    for method in ("shrunk", "em", "halfway"):
        joint = estimate(reports, ("x", "y"), method=method)
        assert np.abs(joint.probabilities - truth).sum() / 2 < (
            0.2 if method == "halfway" else 0.08
        )
    counts = count(reports)
    assert isinstance(counts, Counts) and len(counts) == 4000
    assert (
        np.abs(estimate(counts, ("x",), method="moments").probabilities - truth.sum(axis=1)).max()
        < 0.05
    )
    assert 0 < poisoning_bound(campaign, ["x"], n_reports=4000, n_fake=40) < 1
    assert outlook_of(campaign).at(4000).pairs > 0
    publication = publish(reports, seed=1)
    assert len(publication.synthetic) == 4000 and publication.graph.edges


def test_a_planner_compares_a_design_of_ones_own(
    toys: tuple[type[Mechanism], type[ViewRule]],
) -> None:
    own = Design("mirrored", toys[1](), True)
    assert own in [design for design, _ in ranked([own], Population.like_surveys(DOMAIN), 4.0)]
    assert own in [
        option.design for option in plan(DOMAIN, people=500, epsilon=4, n_tried=1).options
    ]
    assert 0 < tried(own, Population.uniform(DOMAIN), people=500, epsilon=4.0).share_error < 1
