"""The stages in order, once: marginals and pairs, dependency graph, junction tree, clique joints, synthetic table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lopub.batch import ReportBatch
from lopub.campaign import Campaign
from lopub.counts import Counts
from lopub.dataset import Dataset
from lopub.dependence import DependencyGraph, Pair, Pruning, check_phi, gain_graph, pairs_to_check, paper_graph
from lopub.errors import DomainError, Reason
from lopub.estimation import METHODS, Study
from lopub.joint import JointDistribution
from lopub.junction import GrowingGraph
from lopub.publication.estimates import Estimates
from lopub.publication.model import TreeModel, given_model, tree_model
from lopub.synthesis import synthesize

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

Progress = Callable[[str, int, int], None]
"""Told which stage it is, and how much of it is done out of how much."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a publication is made."""

    method: str = "shrunk"
    structure: Structure = "calibrated"
    phi: float = PHI
    pruning: Pruning | None = None
    most_cells: int | None = None
    """Cells of the largest clique joint; None: from the number of reports."""
    rows: int | None = None
    """Records of the synthetic table; None: as many as reports."""
    seed: int = 0

    def __post_init__(self) -> None:
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
        if self.pruning is not None and self.structure != "paper":
            raise DomainError("pruning is a part of structure paper")
        if self.rows is not None and self.rows < 1:
            raise DomainError(f"rows must be at least 1, got {self.rows}")
        if self.most_cells is not None and self.most_cells > MOST_CLIQUE_CELLS:
            raise DomainError(f"most_cells must be at most {MOST_CLIQUE_CELLS:,}, got {self.most_cells:,}")
        if self.seed < 0:
            raise DomainError(f"seed must not be negative, got {self.seed}")


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
    synthetic: Dataset

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(marginal.names[0] for marginal in self.marginals)


def publish(data: ReportBatch | Counts, *, progress: Progress | None = None, **settings: Any) -> Publication:
    """A synthetic table from noisy reports, or from their counts, with all estimates that it rests on.

    settings: method, structure ("calibrated" or "paper"), phi and pruning (of the paper's structure), most_cells, rows, seed;
    see `Settings`.
    """
    chosen = Settings(**settings)
    told = progress or (lambda stage, n, total: None)
    estimates = Estimates(Study(data))
    cap = chosen.most_cells if chosen.most_cells is not None else _default_cap(estimates)
    growing = GrowingGraph(estimates.sizes, cap)
    marginals = estimates.marginals
    graph, pairs = _dependences(estimates, chosen, told)
    for edge in graph.edges:
        growing.offer(*edge)
    model = _model(estimates, chosen, growing, pairs, told)
    told("synthesizing", 0, 1)
    rows = chosen.rows if chosen.rows is not None else len(data)
    table = synthesize(model.tree, model.joints, estimates.domain, rows, np.random.default_rng(chosen.seed), stratified=True)
    told("synthesizing", 1, 1)
    slots = data.slots if isinstance(data, ReportBatch) and len(data) else None
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
        synthetic=Dataset(data.campaign.domain, table.codes[:, np.argsort(estimates.order)]),
    )


def _default_cap(estimates: Estimates) -> int:
    """From the number of reports and their noise, within bounds; with room for any pair."""
    wanted = int(CELLS_PER_REPORT * estimates.reports_per_pair)
    return max(min(MOST_CELLS, max(FEWEST_CELLS, wanted)), int(np.prod(sorted(estimates.sizes)[-2:])))


def _dependences(
    estimates: Estimates, settings: Settings, told: Progress
) -> tuple[DependencyGraph, dict[Pair, JointDistribution]]:
    """The pairs that were estimated, and which of them depend on each other."""
    marginals = [marginal.probabilities for marginal in estimates.marginals]
    wanted = pairs_to_check(marginals, settings.phi, settings.pruning)
    pairs = estimates.pairs(wanted, settings.method, lambda n, total: told("estimating pairs", n, total))
    if settings.structure == "calibrated":
        gains = {pair: joint.fit.gain or 0.0 for pair, joint in pairs.items()}
        return gain_graph(len(marginals), gains), pairs
    joints = {pair: joint.probabilities for pair, joint in pairs.items()}
    return paper_graph(estimates.sizes, joints, settings.phi, settings.pruning), pairs


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

    if settings.structure == "paper":
        joints = [counted(clique, estimates.joint(clique, settings.method).probabilities) for clique in tree.cliques]
        return given_model(tree, joints)
    edges = {edge: pairs[edge].probabilities for edge in growing.edges}
    marginals = [marginal.probabilities for marginal in estimates.marginals]
    return tree_model(tree, marginals, edges, lambda clique, joint: counted(clique, estimates.refined(clique, joint)))
