"""The stages in order, once: marginals and pairs, dependency graph, junction tree, clique joints, synthetic table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Binned, IntegerRange, Pair
from lopub.campaign.texts import one_line
from lopub.errors import NeedsReports, Reason, checks_options
from lopub.estimation import Estimator
from lopub.estimation.blas import one_blas_thread
from lopub.estimation.joint import JointDistribution, Probabilities
from lopub.estimation.readers import reader_of
from lopub.pages.wording import Wording
from lopub.planning.alarms import Alarm, alarms_of, checks_of
from lopub.planning.coverage import OddCoverage, odd_coverage
from lopub.publication.asked import AskedShare, asked_shares
from lopub.publication.findings import Dependences, findings_of
from lopub.publication.fit import FitRow, fit_rows
from lopub.publication.margins import Margins
from lopub.publication.numbers import Statistic, as_asked, statistics_of
from lopub.publication.rounds import Rounds
from lopub.publication.rules import cells_of_rules, default_cap, known_edges
from lopub.publication.settings import PHI, Numbers, PublishSettings, Structure
from lopub.queries import Study
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, form_of
from lopub.reports.dataset import Dataset
from lopub.reports.origin import Origin
from lopub.reports.progress import Progress, silent
from lopub.reports.showing import Shown
from lopub.synthesis.cliques import TreeModel, given_model, tree_model
from lopub.synthesis.dependence import (
    LEAST_GAIN,
    DependencyGraph,
    Pruning,
    gain_graph,
    least_gain,
    pairs_to_check,
    paper_graph,
)
from lopub.synthesis.junction import GrowingGraph
from lopub.synthesis.synthesis import synthesize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIT_ROWS = 200_000
"""Records that stand for the model where it is compared with the reports."""
MOST_FIT_PAIRS = 300
MOST_KEPT_PAIRS = 20_000
"""Pairs whose joints are held, and published, at most: those of 200 attributes. Of more, the strongest are."""
ROUNDED = 0.1
"""Nats by which a gain may exceed its bound, because folds are not all of one size."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication(Shown):
    """All that is published. Attributes count in the order of their names, but for the table, which has the campaign's."""

    campaign: Campaign
    settings: PublishSettings
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
    asked_shares: tuple[AskedShare, ...]
    """Of questions that were asked of some people only: shares among these."""
    fit: tuple[FitRow, ...]
    findings: Dependences
    """Which dependences are sure enough to be stated."""
    margins: tuple[tuple[str, ...], ...]
    """The attributes of the public margins that were taken as known."""
    odd_coverage: tuple[OddCoverage, ...]
    """What more, or fewer, reports cover than the campaign's draw gives."""
    alarms: tuple[Alarm, ...]
    """What honest reports hardly ever do, and notices."""
    checks: Mapping[str, str]
    """Of every kind of alarm, whether it was looked for, and why not; empty where that is not known."""
    origin: Origin
    """What readers should know of where the reports come from."""
    n_left_out: int = 0
    """Reports that were left out by the rule that the settings state."""
    counts: Counts | None = None
    """The counts of the reports, unless they are left out."""
    rounds: Rounds | None = None
    """All rounds, where this is the publication of one and its maker has the reports of the others."""

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

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes, in the order in which they count."""
        return tuple(marginal.names[0] for marginal in self.marginals)

    @property
    def dependences(self) -> dict[Pair, float]:
        """The edges that the model kept, with their strength in nats."""
        dropped = set(self.dropped)
        return {
            edge: self.graph.strengths.get(edge, 0.0)
            for edge in self.graph.edges
            if edge not in dropped
        }

    @cached_property
    def wording(self) -> Wording:
        """The campaign's texts in the language of the pages."""
        return Wording.of(self.campaign, [self.settings.language] if self.settings.language else ())

    def to_arrow(self) -> pa.Table:
        """The first synthetic table."""
        return self.synthetic.to_arrow()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Which attributes depend on each other: the stronger, the wider the line."""
        from lopub.pages.drawing import draw_dependence  # loads matplotlib

        return draw_dependence(self.names, self.dependences, ax)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a directory with the synthetic tables, all estimates, a report and a manifest, whole or not at all; the same
        reports and settings give the same bytes. An existing publication is refused unless forced."""
        from lopub.publication.directory import (
            save_publication,
        )  # the files know the publication, not the other way round

        save_publication(self, path, force=force)

    @staticmethod
    def load(path: str | Path) -> "Publication":
        """The publication in a directory; see `loading` for what its files do not hold."""
        from lopub.publication.loading import load_publication

        return load_publication(path)

    def __repr__(self) -> str:
        edges = f"{len(self.graph.edges)} dependent pairs"
        made = f"{len(self.synthetic):,} synthetic records"
        return one_line(
            self, repr(self.campaign.terms.name), f"{self.n_reports:,} reports", edges, made
        )


@checks_options
def publish(
    data: ReportBatch | Counts,
    *,
    method: str | Estimator = PublishSettings.method,
    structure: Structure = PublishSettings.structure,
    phi: float | None = PublishSettings.phi,
    pruning: Pruning | None = PublishSettings.pruning,
    most_cells: int | None = PublishSettings.most_cells,
    rows: int | None = PublishSettings.rows,
    copies: int = PublishSettings.copies,
    numbers: Numbers = PublishSettings.numbers,
    seed: int = PublishSettings.seed,
    language: str = PublishSettings.language,
    counts: bool = PublishSettings.counts,
    leave_out: tuple[str, ...] = PublishSettings.leave_out,
    margins: JointDistribution | Sequence[JointDistribution] = (),
    progress: Progress | None = None,
) -> Publication:
    """A synthetic table from noisy reports, or from their counts, with all estimates that it rests on.

    The options from method to leave_out are those of `PublishSettings`, which says what each means. margins: known from
    elsewhere, such as a census; they take the place of what is estimated, and the rest is raked to them. progress: told the
    stage, and how much of it is done out of how much.
    """
    settings = PublishSettings(
        method=method,
        structure=structure,
        phi=phi,
        pruning=pruning,
        most_cells=most_cells,
        rows=rows,
        copies=copies,
        numbers=numbers,
        seed=seed,
        language=language,
        counts=counts,
        leave_out=leave_out,
    )
    return published(data, settings, margins=margins, progress=progress)


def counts_suffice(campaign: Campaign, settings: PublishSettings) -> bool:
    """Whether counts alone give the same publication as the reports that they are of, but for alarms that need the reports."""
    return (
        settings.structure == "calibrated"
        and not settings.leave_out
        and reader_of(campaign).counts_say_all(campaign)
    )


@one_blas_thread()
def published(
    data: ReportBatch | Counts,
    chosen: PublishSettings,
    *,
    sample: ReportBatch | None = None,
    margins: JointDistribution | Sequence[JointDistribution] = (),
    progress: Progress | None = None,
) -> Publication:
    """What `publish` gives, from settings that were made before: all stages, in order.

    sample: where the data are counts, those of their reports in which fakes are looked for.
    """
    told = progress or silent
    given = [margins] if isinstance(margins, JointDistribution) else margins
    study = Study(data.without(chosen.leave_out) if chosen.leave_out else data)
    n_left_out, data = len(data) - len(study), study.data
    known = Margins.of(given, data.campaign.domain)
    if not study.has_likelihood and chosen.estimator.name not in ("moments", "product"):
        raise NeedsReports(
            "counts of bits are published with structure paper and method moments; all else needs the reports"
        )
    cap = chosen.most_cells if chosen.most_cells is not None else default_cap(study)
    growing = GrowingGraph(study.domain.sizes, max(cap, cells_of_rules(study)))
    study.check_covered(study.campaign.domain.names)
    known = known.agreeing(study)
    marginals = [known.share(study.distribution(position)) for position in range(len(study.domain))]
    graph, pairs = _dependences(study, known, marginals, chosen, told)
    for edge in graph.edges:
        growing.offer(*edge)
    model = _model(study, known, marginals, chosen, growing, pairs, told)
    copies = tuple(_synthesized(study, model, chosen, copy, told) for copy in range(chosen.copies))
    told("synthesizing", chosen.copies, chosen.copies)
    crowd = _drawn(study, model, FIT_ROWS, [chosen.seed, chosen.copies])
    first_slot, last_slot = study.slots or (None, None)
    return Publication(
        campaign=data.campaign,
        settings=chosen,
        n_reports=len(data),
        refused=dict(data.refused),
        first_slot=first_slot,
        last_slot=last_slot,
        most_cells=cap,
        marginals=tuple(marginals),
        pairs=pairs,
        graph=graph,
        dropped=growing.refused,
        model=model,
        copies=copies,
        statistics=tuple(_statistics(study, marginals)),
        asked_shares=tuple(_asked_shares(study, marginals)),
        findings=findings_of(study, graph, pairs, told),
        fit=tuple(
            fit_rows(study.single_counts, crowd, _fit_pairs(study.domain.names, graph, pairs))
        ),
        margins=known.names,
        odd_coverage=odd_coverage(data),
        alarms=alarms_of(data, sample=sample),
        checks=checks_of(data, sample=sample),
        origin=data.origin,
        n_left_out=n_left_out,
        counts=study.counts
        if chosen.counts and form_of(data.campaign).can_be_published(data.campaign)
        else None,
    )


def _statistics(study: Study, marginals: Sequence[JointDistribution]) -> Iterator[Statistic]:
    """Means and quantiles of all numeric attributes; those that are publicly known are certain."""
    for position, marginal in enumerate(marginals):
        attribute = marginal.attributes[0]
        if isinstance(attribute, Binned | IntegerRange):
            rows = statistics_of(
                attribute, marginal.probabilities, _covariance(study, position, marginal)
            )
            yield from rows if marginal.fit.method == "given" else as_asked(rows, study)


def _asked_shares(study: Study, marginals: Sequence[JointDistribution]) -> Iterator[AskedShare]:
    """Of all attributes that do not apply to everybody."""
    for position, marginal in enumerate(marginals):
        attribute = marginal.attributes[0]
        if attribute.not_applicable_index is not None:
            yield from asked_shares(
                attribute, marginal.probabilities, _covariance(study, position, marginal)
            )


def _covariance(study: Study, position: int, marginal: JointDistribution) -> Probabilities:
    """Of an attribute's shares; what is publicly known is certain."""
    certain = marginal.fit.method == "given"
    return (
        np.zeros((marginal.probabilities.size,) * 2)
        if certain
        else study.marginal_covariance(position)
    )


def _synthesized(
    study: Study, model: TreeModel, settings: PublishSettings, copy: int, told: Progress
) -> Dataset:
    told("synthesizing", copy, settings.copies)
    return _drawn(
        study,
        model,
        settings.rows if settings.rows is not None else len(study),
        [settings.seed, copy],
    )


def _fit_pairs(
    names: Sequence[str], graph: DependencyGraph, pairs: Mapping[Pair, JointDistribution]
) -> list[tuple[str, str]]:
    """Pairs of names whose counts are compared with the model's: all edges, and others as far as there is room, kept or not."""
    others = [pair for pair in sorted(pairs) if pair not in set(graph.edges)]
    return [(names[a], names[b]) for a, b in [*graph.edges, *others][:MOST_FIT_PAIRS]]


def _drawn(study: Study, model: TreeModel, rows: int, seed: list[int]) -> Dataset:
    """Records of the model, with the campaign's order of columns."""
    rng, columns = np.random.default_rng(seed), study.campaign.domain
    return synthesize(
        model.tree, model.joints, study.domain, rows, rng, stratified=True, columns=columns
    )


def _dependences(
    study: Study,
    known: Margins,
    marginals: Sequence[JointDistribution],
    settings: PublishSettings,
    told: Progress,
) -> tuple[DependencyGraph, dict[Pair, JointDistribution]]:
    """The pairs that were estimated, and which of them depend on each other."""
    shares = [marginal.probabilities for marginal in marginals]
    phi = PHI if settings.phi is None else settings.phi
    wanted = pairs_to_check(shares, phi, settings.pruning)
    if settings.structure == "calibrated":
        return _calibrated(study, known, shares, wanted, told)
    joints = study.joints(wanted, settings.estimator, progress=told)
    pairs = {
        (a, b): known.in_pair(joint, [shares[a], shares[b]])
        for (a, b), joint in zip(wanted, joints, strict=True)
    }
    cells = {pair: joint.probabilities for pair, joint in pairs.items()}
    return paper_graph(
        study.domain.sizes, cells, phi, settings.pruning, known=known_edges(study, _given(pairs))
    ), pairs


def _calibrated(
    study: Study,
    known: Margins,
    shares: Sequence[Probabilities],
    wanted: Sequence[Pair],
    told: Progress,
) -> tuple[DependencyGraph, dict[Pair, JointDistribution]]:
    """By held-out gain. Of very many pairs only those are fitted that may reach it, and only the strongest joints are held."""
    fitted = wanted if len(wanted) <= MOST_KEPT_PAIRS else _promising(study, known, wanted)
    pairs: dict[Pair, JointDistribution] = {}
    gains: dict[Pair, float] = {}
    for start in range(0, len(fitted), MOST_KEPT_PAIRS):
        block = fitted[start : start + MOST_KEPT_PAIRS]
        joints = study.joints(block, progress=partial(_told_further, told, start, len(fitted)))
        for (a, b), joint in zip(block, joints, strict=True):
            pairs[a, b], gains[a, b] = (
                known.in_pair(joint, [shares[a], shares[b]]),
                joint.fit.gain or 0.0,
            )
        pairs = _strongest(pairs, gains)
    given = known_edges(study, _given(pairs))
    gains = {pair: gain for pair, gain in gains.items() if pair not in set(given)}
    return gain_graph(len(shares), gains, known=given, n_ruled_out=len(wanted) - len(fitted)), pairs


def _told_further(
    told: Progress, before: int, total: int, doing: str, n: int, _: int | None
) -> None:
    told(doing, before + n, total)


def _given(pairs: Mapping[Pair, JointDistribution]) -> list[Pair]:
    """Those that are publicly known."""
    return [pair for pair, joint in sorted(pairs.items()) if joint.fit.method == "given"]


def _promising(study: Study, known: Margins, pairs: Sequence[Pair]) -> list[Pair]:
    """Without a fit: the pairs that may turn out to be edges. As no gain exceeds its bound, `least_gain` asks for at least what
    it would ask for if the bounds were the gains."""
    names, bounds = study.domain.names, study.gain_bounds(pairs)
    least = least_gain(bounds) - ROUNDED
    return [
        (a, b)
        for (a, b), bound in zip(pairs, bounds, strict=True)
        if bound >= least or known.has((names[a], names[b]))
    ]


def _strongest(
    pairs: dict[Pair, JointDistribution], gains: Mapping[Pair, float]
) -> dict[Pair, JointDistribution]:
    """The joints that are held: publicly known ones, and the strongest, as many as there is room for."""
    if len(pairs) <= MOST_KEPT_PAIRS:
        return pairs
    held = {*_given(pairs), *sorted(pairs, key=lambda pair: (-gains[pair], pair))[:MOST_KEPT_PAIRS]}
    return {pair: joint for pair, joint in pairs.items() if pair in held}


def _model(
    study: Study,
    known: Margins,
    marginals: Sequence[JointDistribution],
    settings: PublishSettings,
    growing: GrowingGraph,
    pairs: Mapping[Pair, JointDistribution],
    told: Progress,
) -> TreeModel:
    tree = growing.tree()
    n_cliques, n_done = len(tree.cliques), 0
    told("fitting cliques", 0, n_cliques)

    def counted(clique: tuple[int, ...], joint: Any) -> Any:
        nonlocal n_done
        n_done += 1
        told("fitting cliques", n_done, n_cliques)
        return joint

    if settings.structure == "paper" and settings.estimator.name != "moments" and study.has_reports:
        found = [
            counted(clique, known.in_clique(study.joint_of(clique, settings.estimator)))
            for clique in tree.cliques
        ]
        whole = [
            len(one.names) > 2 and one.fit.identified and one.fit.method != "product"
            for one in found
        ]
        return given_model(tree, [one.probabilities for one in found], whole, study.support.mask)
    edges = {edge: pairs[edge].probabilities for edge in growing.edges if edge in pairs}
    shares = [marginal.probabilities for marginal in marginals]
    if (
        settings.structure == "paper"
    ):  # only pairs can be known: the joint of largest entropy says no more
        return tree_model(
            tree, shares, edges, lambda clique, joint: counted(clique, None), study.support.mask
        )
    return tree_model(
        tree,
        shares,
        edges,
        lambda own, joint: counted(own, study.refined(own, joint, LEAST_GAIN)),
        study.support.mask,
    )
