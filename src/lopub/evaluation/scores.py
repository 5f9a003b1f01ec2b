"""A real and a synthetic table side by side: tables, dependence, classifiers."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lopub.campaign.domain import Domain, names_of
from lopub.campaign.texts import one_line
from lopub.errors import DomainError, checks_options
from lopub.evaluation.classifiers import (
    CLASSIFIERS,
    LEAST_RECORDS,
    ClassifierScore,
    held_out,
    target_scores,
    thinned,
)
from lopub.evaluation.distance import (
    Marginals,
    SetScore,
    WayScore,
    drawn_sets,
    marginals_of,
    mean,
    set_score,
)
from lopub.reports.dataset import Dataset
from lopub.reports.progress import Progress, silent
from lopub.reports.showing import Shown
from lopub.synthesis.dependence import check_phi, threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PAIRS = 20_000
"""All pairs of 200 attributes; of more, so many are drawn."""
MOST_WAYS = 3
MOST_TARGETS = 3
LARGEST_TARGET = 10
"""Candidates of a target that is chosen without being named."""
MAJORITY_BOUNDS = (0.5, 0.9)
"""Of such a target: below, there are many small classes; above, a constant prediction is hard to beat."""

Names = tuple[str, ...]
"""Of a clique, in domain order."""


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Pairs that the paper's rule calls dependent, I >= threshold (Algorithm 4), in the real and the synthetic table."""

    phi: float
    found: tuple[Names, ...]
    """In both."""
    added: tuple[Names, ...]
    """In the synthetic table only."""
    lost: tuple[Names, ...]
    """In the real table only."""


@dataclass(frozen=True, kw_only=True)
class Evaluation(Shown):
    """How far a synthetic table is from the real one."""

    n_real: int
    n_synthetic: int
    ways: tuple[WayScore, ...]
    """For k = 1, 2, 3, as far as there are so many attributes."""
    dependent: tuple[SetScore, ...]
    """The most dependent pairs of the real table, the most dependent first."""
    edges: Edges
    classifiers: tuple[ClassifierScore, ...]

    def __repr__(self) -> str:
        distances = ", ".join(f"{way.k}: {way.mean:.4f}" for way in self.ways)
        return one_line(
            self,
            f"{self.n_real:,} real records",
            f"{self.n_synthetic:,} synthetic",
            f"mean AVD by k {distances}",
        )

    @property
    def dependent_mean(self) -> float | None:
        """Mean AVD of the most dependent pairs; None where there is no pair."""
        return mean([score.avd for score in self.dependent]) if self.dependent else None

    @property
    def dependent_independence(self) -> float | None:
        """What independence would be off by on those pairs."""
        return mean([score.product_of_real for score in self.dependent]) if self.dependent else None

    def to_arrow(self) -> pa.Table:
        """One row per set of attributes that was compared: how many they are, their AVD, and what independence would give."""
        every = [(way.k, score) for way in self.ways for score in way.sets]
        columns = {
            "k": [k for k, _ in every],
            "attributes": [", ".join(score.names) for _, score in every],
            "avd": [score.avd for _, score in every],
            "product_of_real": [score.product_of_real for _, score in every],
        }
        return pa.table(columns)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Mean AVD by the number of attributes, beside what independence would give."""
        from lopub.pages.drawing import draw_bars  # loads matplotlib

        labels = [f"{way.k} attribute{'s' * (way.k > 1)}" for way in self.ways]
        bars = {
            "synthetic table": [way.mean for way in self.ways],
            "independence": [way.product_of_real for way in self.ways],
        }
        return draw_bars(labels, bars, "mean AVD from the real table", ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; numbers are not rounded."""
        return {
            "n_real": self.n_real,
            "n_synthetic": self.n_synthetic,
            "avd": {str(way.k): _way_dict(way) for way in self.ways},
            "dependent": {
                "mean": self.dependent_mean,
                "product_of_real": self.dependent_independence,
                "sets": [asdict(score) for score in self.dependent],
            },
            "edges": {
                "phi": self.edges.phi,
                "n_found": len(self.edges.found),
                "n_added": len(self.edges.added),
                "n_lost": len(self.edges.lost),
                "found": [list(pair) for pair in self.edges.found],
                "added": [list(pair) for pair in self.edges.added],
                "lost": [list(pair) for pair in self.edges.lost],
            },
            "classifiers": [asdict(score) for score in self.classifiers],
        }


def _way_dict(way: WayScore) -> dict[str, Any]:
    return {
        "n_possible": way.n_possible,
        "n_sets": len(way.sets),
        "mean": way.mean,
        "largest": way.worst.avd,
        "product_of_real": way.product_of_real,
        "product_of_synthetic": way.product_of_synthetic,
        "sets": [asdict(score) for score in way.sets],
    }


@checks_options
def evaluate(
    real: Dataset,
    synthetic: Dataset,
    *,
    most_sets: int = 200,
    phi: float = 0.2,
    n_dependent: int = 12,
    targets: str | Sequence[str] | None = None,
    classifiers: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """AVD for k = 1, 2, 3, dependence and classifier rates of a synthetic table, measured on the real one.

    Of more than `most_sets` triples so many are drawn; of pairs, all up to 200 attributes. Edges and the most dependent
    pairs are looked for among the pairs that are scored. targets: what classifiers predict; unless given, see
    `chosen_targets`. progress: told after each set and each classifier.
    """
    _check(real, synthetic, most_sets=most_sets, phi=phi, n_dependent=n_dependent, seed=seed)
    targets = None if targets is None else names_of(targets)
    marginals = marginals_of(real, synthetic)
    named = _named_targets(real, marginals, targets) if classifiers else []
    n_targets = len(named) if targets is not None else min(MOST_TARGETS, len(named))
    sets = _sets(real.domain, most_sets, seed)
    told = progress or silent
    total, steps = sum(map(len, sets)) + n_targets * 2 * len(CLASSIFIERS), count(1)

    def advance() -> None:
        told("comparing", next(steps), total)

    ways = tuple(_way(real, synthetic, some, marginals, advance) for some in sets)
    pairs = ways[1].sets if len(ways) > 1 else ()
    chosen = named if targets is not None else chosen_targets(named, pairs)
    return Evaluation(
        n_real=len(real),
        n_synthetic=len(synthetic),
        ways=ways,
        dependent=tuple(
            sorted(pairs, key=lambda pair: (-pair.product_of_real, sorted(pair.names)))[
                :n_dependent
            ]
        ),
        edges=edges_of(pairs, real.domain, phi),
        classifiers=_classifier_scores(real, synthetic, chosen, seed, advance),
    )


# ---- tables


def _sets(domain: Domain, most_sets: int, seed: int) -> list[list[tuple[int, ...]]]:
    """The sets of one, two and three attributes that are scored."""
    most = {1: len(domain), 2: MOST_PAIRS, 3: most_sets}
    sizes = range(1, min(MOST_WAYS, len(domain)) + 1)
    return [
        drawn_sets(domain, k, most=most[k], rng=np.random.default_rng([seed, k])) for k in sizes
    ]


def _way(
    real: Dataset,
    synthetic: Dataset,
    sets: list[tuple[int, ...]],
    marginals: Marginals,
    advance: Callable[[], None],
) -> WayScore:
    scores = []
    for positions in sets:
        scores.append(set_score(real, synthetic, positions, marginals))
        advance()
    k = len(sets[0])
    return WayScore(k=k, n_possible=comb(len(real.domain), k), sets=tuple(scores))


# ---- dependence


def edges_of(pairs: Sequence[SetScore], domain: Domain, phi: float) -> Edges:
    """The dependency edges of both tables, compared; each in domain order."""
    least = {
        pair.names: threshold(domain[pair.names[0]].size, domain[pair.names[1]].size, phi)
        for pair in pairs
    }
    ours = {pair.names: pair.real_information >= least[pair.names] for pair in pairs}
    theirs = {pair.names: pair.synthetic_information >= least[pair.names] for pair in pairs}
    return Edges(
        phi=phi,
        found=tuple(names for names in least if ours[names] and theirs[names]),
        added=tuple(names for names in least if theirs[names] and not ours[names]),
        lost=tuple(names for names in least if ours[names] and not theirs[names]),
    )


# ---- classifiers


def _named_targets(real: Dataset, marginals: Marginals, targets: Sequence[str] | None) -> list[str]:
    """The targets that were given, checked, or all that could be chosen."""
    if targets is None:
        return eligible_targets(real, marginals)
    for name in targets:
        real.domain.position(name)
        if list(targets).count(name) > 1:
            raise DomainError(f"targets names attribute {name!r} twice")
    if targets and len(real) < LEAST_RECORDS:
        raise DomainError(
            f"classifiers need at least {LEAST_RECORDS} real records, got {len(real)}"
        )
    return list(targets)


def eligible_targets(real: Dataset, marginals: Marginals) -> list[str]:
    """Attributes of 2 to 10 candidates whose most frequent one has a share of 0.5 to 0.9, and something to learn from."""
    if len(real) < LEAST_RECORDS or len(real.domain) < 2:
        return []
    low, high = MAJORITY_BOUNDS
    pairs = zip(real.domain.attributes, marginals.real, strict=True)
    return [
        a.name for a, shares in pairs if a.size <= LARGEST_TARGET and low <= shares.max() <= high
    ]


def chosen_targets(eligible: Sequence[str], pairs: Sequence[SetScore]) -> list[str]:
    """Up to three of the eligible targets: those with the most dependent pairs of the real table."""
    dependence = dict.fromkeys(eligible, 0.0)
    for pair in pairs:
        for name in dependence.keys() & set(pair.names):
            dependence[name] = max(dependence[name], pair.product_of_real)
    return sorted(eligible, key=lambda name: (-dependence[name], name))[:MOST_TARGETS]


def _classifier_scores(
    real: Dataset,
    synthetic: Dataset,
    targets: Sequence[str],
    seed: int,
    advance: Callable[[], None],
) -> tuple[ClassifierScore, ...]:
    """What each target's classifiers reach; the same records are held out for all of them."""
    rng = np.random.default_rng([seed, 0])
    training, test = held_out(real, rng)
    source = thinned(synthetic, rng)
    state = int(rng.integers(2**32))
    scores = [
        target_scores(training, test, source, target, seed=state, advance=advance)
        for target in targets
    ]
    return tuple(score for several in scores for score in several)


# ---- the door


def _check(
    real: Dataset, synthetic: Dataset, *, most_sets: int, phi: float, n_dependent: int, seed: int
) -> None:
    for what, dataset in (("real", real), ("synthetic", synthetic)):
        if not len(dataset):
            raise DomainError(f"the {what} table has no records; there is nothing to compare")
    _check_domains(real.domain, synthetic.domain)
    check_phi(phi)
    for name, number, least in (
        ("most_sets", most_sets, 1),
        ("n_dependent", n_dependent, 1),
        ("seed", seed, 0),
    ):
        if number < least:
            raise DomainError(f"{name} must be at least {least}, got {number}")


def _check_domains(real: Domain, synthetic: Domain) -> None:
    """Titles and questions may differ; names, their order and candidates may not."""
    if real.names != synthetic.names:
        raise DomainError(
            f"the real and the synthetic table must have the same attributes in the same order; got {len(real)} and"
            f" {len(synthetic)}: read both with one domain"
        )
    for ours, theirs in zip(real.attributes, synthetic.attributes, strict=True):
        if ours.texts != theirs.texts:
            raise DomainError(
                f"attribute {ours.name!r} has other candidates in the synthetic table: read both with one domain"
            )
