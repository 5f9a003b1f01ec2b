"""The stages in order, once: marginals and pairs, dependency graph, junction tree, clique joints, synthetic table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lopub.collection.batch import ReportBatch
from lopub.collection.counts import Counts, form_of
from lopub.collection.dataset import Dataset
from lopub.contract.campaign import Campaign
from lopub.errors import DomainError, NeedsReports, Reason
from lopub.forecast.coverage import OddCoverage, odd_coverage
from lopub.inference import METHODS, Reports, Study
from lopub.inference.joint import JointDistribution
from lopub.inference.study import one_blas_thread
from lopub.model.cliques import TreeModel, given_model, tree_model
from lopub.model.dependence import DependencyGraph, Pair, Pruning, check_phi, gain_graph, pairs_to_check, paper_graph
from lopub.model.junction import GrowingGraph
from lopub.model.synthesis import synthesize
from lopub.release.estimates import Estimates
from lopub.release.fit import FitRow, fit_rows
from lopub.release.margins import Margins
from lopub.release.numbers import Statistic

Structure = Literal["calibrated", "paper"]
STRUCTURES: tuple[Structure, ...] = ("calibrated", "paper")
PHI = 0.2
"""The paper's dependency degree, where none is given."""
CELLS_PER_REPORT = 100
"""Where no cap is given, a clique may have so many cells for each undisturbed report that an average pair is worth."""
FEWEST_CELLS, MOST_CELLS = 5_000, 100_000
"""Bounds of such a cap."""
MOST_CLIQUE_CELLS = 2**24
"""The largest cap that may be given: a joint of so many cells takes 128 MiB."""

MOST_COPIES = 100
FIT_ROWS = 200_000
"""Records that stand for the model where it is compared with the reports."""
MOST_FIT_PAIRS = 300
MOST_ROWS = 100_000_000

Progress = Callable[[str, int, int], None]
"""Told which stage it is, and how much of it is done out of how much."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a publication is made."""

    method: str = "shrunk"
    structure: Structure = "calibrated"
    phi: float | None = None
    """Dependency degree of structure paper; PHI unless given."""
    pruning: Pruning | None = None
    stop: Literal["change", "paper"] = "change"
    """When em and hybrid end: once no cell changes any more, or as the paper's Algorithm 1 does, which is sooner."""
    most_cells: int | None = None
    """Cells of the largest clique joint; None: from the number of reports."""
    rows: int | None = None
    """Records of the synthetic table; None: as many as reports."""
    copies: int = 1
    """How many independent synthetic tables."""
    numbers: Literal["label", "draw"] = "label"
    """How a binned number stands in the table: its bin's label, or a number drawn inside the bin."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.phi is not None:
            check_phi(self.phi)
        if self.structure not in STRUCTURES:
            raise DomainError(f"structure must be one of {', '.join(STRUCTURES)}, got {self.structure!r}")
        if self.method not in METHODS:
            raise DomainError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.structure == "calibrated" and self.method != "shrunk":
            raise DomainError(
                f"structure calibrated scores edges by held-out gain, which only method shrunk has, not {self.method}; "
                "use structure paper"
            )
        if self.structure != "paper" and (self.pruning is not None or self.phi is not None):
            what = "pruning" if self.pruning is not None else "phi"
            raise DomainError(f"{what} is a part of structure paper")
        if self.stop not in ("change", "paper"):
            raise DomainError(f"stop must be change or paper, got {self.stop!r}")
        if self.stop == "paper" and self.method not in ("em", "hybrid"):
            raise DomainError(f"stop paper is for method em or hybrid, not {self.method}")
        if self.rows is not None and self.rows < 1:
            raise DomainError(f"rows must be at least 1, got {self.rows}")
        if self.rows is not None and self.rows > MOST_ROWS:
            raise DomainError(f"rows must be at most {MOST_ROWS:,}, got {self.rows:,}")
        if self.most_cells is not None and self.most_cells > MOST_CLIQUE_CELLS:
            raise DomainError(f"most_cells must be at most {MOST_CLIQUE_CELLS:,}, got {self.most_cells:,}")
        if not 1 <= self.copies <= MOST_COPIES:
            raise DomainError(f"copies must lie in 1..{MOST_COPIES}, got {self.copies}")
        if self.numbers not in ("label", "draw"):
            raise DomainError(f"numbers must be label or draw, got {self.numbers!r}")
        if self.seed < 0:
            raise DomainError(f"seed must not be negative, got {self.seed}")

    @property
    def estimator_options(self) -> dict[str, Any]:
        """What the method is told beyond its defaults."""
        return {"stop": "paper", "accelerate": False} if self.stop == "paper" else {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """All that is published. Attributes count in the order of their names, but for the table, which has the campaign's."""

    campaign: Campaign
    settings: Settings
    n_reports: int
    refused: Mapping[Reason, int]
    first_slot: int | None
    last_slot: int | None
    most_cells: int
    marginals: tuple[JointDistribution, ...]
    pairs: Mapping[Pair, JointDistribution]
    graph: DependencyGraph
    dropped: tuple[Pair, ...]
    """Edges that the cell cap left out, strongest first."""
    model: TreeModel
    copies: tuple[Dataset, ...]
    """Independent synthetic tables from the same model."""
    statistics: tuple[Statistic, ...]
    """Means and quantiles of numeric attributes."""
    fit: tuple[FitRow, ...]
    margins: tuple[tuple[str, ...], ...]
    """The attributes of the public margins that were taken as known."""
    odd_coverage: tuple[OddCoverage, ...]
    """What more, or fewer, reports cover than the campaign's draw gives."""

    @property
    def phi(self) -> float | None:
        """The dependency degree, where the paper's structure was asked for."""
        if self.settings.structure != "paper":
            return None
        return PHI if self.settings.phi is None else self.settings.phi

    @property
    def synthetic(self) -> Dataset:
        """The first copy."""
        return self.copies[0]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(marginal.names[0] for marginal in self.marginals)


@one_blas_thread()
def publish(
    data: ReportBatch | Counts,
    *,
    margins: Sequence[JointDistribution] = (),
    progress: Progress | None = None,
    **settings: Any,
) -> Publication:
    """A synthetic table from noisy reports, or from their counts, with all estimates that it rests on.

    margins: known from elsewhere, such as a census: they take the place of what is estimated, and the rest is raked to them.
    settings: method, structure ("calibrated" or "paper"), phi and pruning (of the paper's structure), most_cells, rows, copies,
    numbers ("label" or "draw"), stop (of em and hybrid), seed; see `Settings`.
    """
    chosen = Settings(**settings)
    told = progress or (lambda stage, n, total: None)
    counted = isinstance(data, Counts) and not form_of(data.campaign).holds_all(data.campaign)
    if counted and chosen.method not in ("moments", "product"):
        raise NeedsReports("counts of bits are published with structure paper and method moments; all else needs the reports")
    estimates = Estimates(Study(data), Margins.of(margins, data.campaign.domain))
    cap = chosen.most_cells if chosen.most_cells is not None else _default_cap(estimates)
    growing = GrowingGraph(estimates.sizes, cap)
    marginals = estimates.marginals
    graph, pairs = _dependences(estimates, chosen, told)
    for edge in graph.edges:
        growing.offer(*edge)
    model = _model(estimates, chosen, growing, pairs, told)
    copies = tuple(_synthesized(estimates, model, chosen, len(data), copy, told) for copy in range(chosen.copies))
    told("synthesizing", chosen.copies, chosen.copies)
    crowd = _drawn(estimates, model, FIT_ROWS, [chosen.seed, chosen.copies])
    own_pairs = sorted(tuple(sorted(estimates.order[place] for place in pair)) for pair in _fit_pairs(graph, pairs))
    slots = data.slots if isinstance(data, ReportBatch) else None
    return Publication(
        campaign=data.campaign,
        settings=chosen,
        n_reports=len(data),
        refused=dict(data.refused),
        first_slot=None if slots is None else int(slots.min()),
        last_slot=None if slots is None else int(slots.max()),
        most_cells=cap,
        marginals=tuple(marginals),
        pairs=pairs,
        graph=graph,
        dropped=growing.refused,
        model=model,
        copies=copies,
        statistics=estimates.statistics,
        fit=tuple(fit_rows(estimates.study.single_counts, crowd, own_pairs)),
        margins=estimates.margins.names,
        odd_coverage=odd_coverage(data),
    )


def _synthesized(
    estimates: Estimates, model: TreeModel, settings: Settings, n_reports: int, copy: int, told: Progress
) -> Dataset:
    told("synthesizing", copy, settings.copies)
    return _drawn(estimates, model, settings.rows if settings.rows is not None else n_reports, [settings.seed, copy])


def _fit_pairs(graph: DependencyGraph, pairs: Mapping[Pair, JointDistribution]) -> list[Pair]:
    """Pairs whose counts are compared with the model's: all edges, and others as far as there is room, kept or not."""
    others = [pair for pair in sorted(pairs) if pair not in set(graph.edges)]
    return [*graph.edges, *others][:MOST_FIT_PAIRS]


def _drawn(estimates: Estimates, model: TreeModel, rows: int, seed: list[int]) -> Dataset:
    """Records of the model, with the campaign's order of columns."""
    rng = np.random.default_rng(seed)
    table = synthesize(model.tree, model.joints, estimates.domain, rows, rng, stratified=True)
    return Dataset(estimates.study.domain, table.codes[:, np.argsort(estimates.order)])


def _default_cap(estimates: Estimates) -> int:
    """From the number of reports and their noise, within bounds; with room for any pair."""
    wanted = int(CELLS_PER_REPORT * estimates.reports_per_pair)
    return max(min(MOST_CELLS, max(FEWEST_CELLS, wanted)), int(np.prod(sorted(estimates.sizes)[-2:])))


def _dependences(
    estimates: Estimates, settings: Settings, told: Progress
) -> tuple[DependencyGraph, dict[Pair, JointDistribution]]:
    """The pairs that were estimated, and which of them depend on each other."""
    marginals = [marginal.probabilities for marginal in estimates.marginals]
    phi = PHI if settings.phi is None else settings.phi
    wanted = pairs_to_check(marginals, phi, settings.pruning)
    pairs = estimates.pairs(
        wanted, settings.method, lambda n, total: told("estimating pairs", n, total), **settings.estimator_options
    )
    known = [pair for pair, joint in sorted(pairs.items()) if joint.fit.method == "given"]
    if settings.structure == "calibrated":
        gains = {pair: joint.fit.gain or 0.0 for pair, joint in pairs.items() if pair not in known}
        return gain_graph(len(marginals), gains, known=known), pairs
    joints = {pair: joint.probabilities for pair, joint in pairs.items()}
    return paper_graph(estimates.sizes, joints, phi, settings.pruning, known=known), pairs


def _model(
    estimates: Estimates, settings: Settings, growing: GrowingGraph, pairs: Mapping[Pair, JointDistribution], told: Progress
) -> TreeModel:
    tree = growing.tree()
    n_cliques, n_done = len(tree.cliques), 0
    told("fitting cliques", 0, n_cliques)

    def counted(clique: tuple[int, ...], joint: Any) -> Any:
        nonlocal n_done
        n_done += 1
        told("fitting cliques", n_done, n_cliques)
        return joint

    if settings.structure == "paper" and settings.method != "moments" and isinstance(estimates.study.source, Reports):
        found = [
            counted(clique, estimates.joint(clique, settings.method, **settings.estimator_options)) for clique in tree.cliques
        ]
        whole = [len(one.names) > 2 and one.fit.identified and one.fit.method != "product" for one in found]
        return given_model(tree, [one.probabilities for one in found], whole)
    edges = {edge: pairs[edge].probabilities for edge in growing.edges if edge in pairs}
    marginals = [marginal.probabilities for marginal in estimates.marginals]
    if settings.structure == "paper":  # only pairs can be known: the joint of largest entropy says no more
        return tree_model(tree, marginals, edges, lambda clique, joint: counted(clique, None))
    return tree_model(tree, marginals, edges, lambda clique, joint: counted(clique, estimates.refined(clique, joint)))
