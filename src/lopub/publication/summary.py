"""The figures of a publication in one place: what its page, its card and its readers cite."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Pair
from lopub.estimation.joint import INTERVAL, JointDistribution, Probabilities
from lopub.pages.figures import weakness
from lopub.planning.alarms import COVERAGE, MADE, NO_REPORTS, Alarm
from lopub.planning.coverage import OddCoverage, chances
from lopub.planning.outlook import outlook_of
from lopub.planning.risk import MEAN_DEVIATION
from lopub.publication.findings import FALSE_STATEMENTS
from lopub.publication.stages import Publication

MOSTLY = 0.5
WELL_WITHIN = 2.0
"""Standard deviations within which about 95 % of all counts should be if the model fits."""


MOST_EXPONENT = 14.0
"""Above this epsilon a factor is told as a power of ten."""


@dataclass(frozen=True)
class Concerns:
    """What a reader must know before anything else."""

    weak_epsilon: str
    """A sentence about an epsilon that protects on paper only; empty where none is due."""
    is_noise: bool
    """Whether most shares are below their own standard error."""
    is_independent: bool
    """Whether no dependence stands out of the noise."""
    odd_coverage: OddCoverage | None
    """What most more, or fewer, reports cover than the campaign's draw gives."""
    alarms: tuple[Alarm, ...]
    """Whatever else honest reports hardly ever do."""
    drift: Alarm | None
    """Days that differ, for which there may be honest reasons."""
    is_from_counts: bool
    """Whether fakes were looked for by what reports cover alone, as counts tell nothing else."""


def concerns_of(publication: Publication) -> Concerns:
    """Whether all is well."""
    figures = support(publication)
    said = {COVERAGE} if publication.odd_coverage else set()
    return Concerns(
        weak_epsilon=weakness(publication.campaign),
        is_noise=figures["marginal_cells_in_doubt"] > MOSTLY * figures["marginal_cells"],
        is_independent=bool(publication.graph.n_pairs and not publication.graph.edges),
        odd_coverage=publication.odd_coverage[0] if publication.odd_coverage else None,
        alarms=tuple(
            each for each in publication.alarms if not each.is_notice and each.kind not in said
        ),
        drift=next((each for each in publication.alarms if each.is_notice), None),
        is_from_counts=NO_REPORTS in publication.checks.values(),
    )


def warnings_of(publication: Publication) -> list[str]:
    """The concerns in words; empty where there are none."""
    concerns = concerns_of(publication)
    found = [concerns.weak_epsilon] if concerns.weak_epsilon else []
    if concerns.is_noise:
        found.append(
            "most shares are below their own standard error: this publication is mostly noise"
        )
    if concerns.is_independent:
        found.append(
            "no dependence stands out of the noise: the table is made of independent attributes"
        )
    if odd := concerns.odd_coverage:
        found.append(
            f"{odd.observed:,} reports cover {' and '.join(odd.attributes)}, where the campaign's draw gives about"
            f" {odd.expected:,.0f}: some reports did not draw what they cover, as fakes would that aim at these estimates"
        )
    found += [f"{alarm.sentence}: some reports may be fakes" for alarm in concerns.alarms]
    return found


def notices_of(publication: Publication) -> list[str]:
    """What a reader may want to know, and that may well be right."""
    drift, unmade = concerns_of(publication).drift, dict[str, list[str]]()
    for kind, made in publication.checks.items():
        if made != MADE:
            unmade.setdefault(made, []).append(kind)
    found = [f"{drift.sentence}: people, or who takes part, may have changed"] if drift else []
    if days := publication.settings.leave_out:
        found.append(
            f"{publication.n_left_out:,} reports of {', '.join(days)} were left out, as was asked for"
        )
    return found + [
        f"the checks for {', '.join(kinds)} were {why}; see docs/threats.md"
        for why, kinds in unmade.items()
    ]


def summary(publication: Publication) -> dict[str, Any]:
    """Every headline number, ready for JSON."""
    return {
        "privacy": privacy(publication),
        "reports": reports(publication),
        "synthetic_rows": len(publication.synthetic),
        "copies": len(publication.copies),
        "errors": errors(publication),
        "dependence": dependence(publication),
        "findings": findings(publication),
        "support": support(publication),
        "fit": fit(publication),
        "margins": [list(names) for names in publication.margins],
    }


def reports(publication: Publication) -> dict[str, Any]:
    """How many there are, and how many of them are expected to speak of both attributes of a pair, in the middle of all pairs."""
    chance = chances(publication.campaign)[0]
    of_two = float(np.median(chance[np.triu_indices(len(chance), 1)])) if len(chance) > 1 else 0.0
    return {
        "accepted": publication.n_reports,
        "refused": sum(publication.refused.values()),
        "of_two_questions": of_two * publication.n_reports,
    }


def privacy(publication: Publication) -> dict[str, Any]:
    """Epsilon, in total and by attribute, and what it lets an observer of one report conclude at most."""
    campaign = publication.campaign
    in_all = {"lifetime_epsilon": campaign.lifetime_epsilon} if campaign.terms.repeat else {}
    return {
        "epsilon": campaign.epsilon,
        **in_all,
        "epsilon_of": {name: campaign.epsilon_of(name) for name in campaign.domain.names},
        "odds_factor": math.exp(campaign.epsilon) if campaign.epsilon <= MOST_EXPONENT else None,
        "odds_factor_power_of_ten": math.ceil(campaign.epsilon / math.log(10)),
        "certainty_from_half": 1 / (1 + math.exp(-campaign.epsilon)),
    }


def errors(publication: Publication) -> dict[str, Any]:
    """Mean AVD of an attribute and of a pair: expected before anything was collected, and estimated from the standard errors."""
    forecast = outlook_of(publication.campaign).at(publication.n_reports)
    return {
        "expected_marginals": forecast.shares,
        "estimated_marginals": _mean_avd(publication.marginals),
        "expected_pairs": forecast.pairs if publication.pairs else None,
        "estimated_pairs_before_shrinking": _mean_avd(list(publication.pairs.values()))
        if publication.pairs
        else None,
    }


def _mean_avd(joints: Sequence[JointDistribution]) -> float | None:
    """From normal errors; None where there are no standard errors."""
    known = [
        MEAN_DEVIATION * float(np.nansum(joint.standard_errors))
        for joint in joints
        if joint.standard_errors is not None
    ]
    return min(1.0, float(np.mean(known))) if known else None


def dependence(publication: Publication) -> dict[str, Any]:
    """How many pairs depend on each other, and what the cap left out."""
    graph, sizes = publication.graph, [joint.size for joint in publication.model.joints]
    return {
        "pairs": graph.n_pairs,
        "pairs_saved": graph.n_saved,
        "edges": len(graph.edges),
        "dropped_edges": len(publication.dropped),
        "cliques": len(sizes),
        "largest_clique_cells": int(max(sizes)),
        "most_cells": publication.most_cells,
        "largest_misfit": float(max(publication.model.misfits)),
        "cliques_with_more_than_pairs": sum(publication.model.refined),
    }


def findings(publication: Publication) -> dict[str, Any]:
    """How many dependences are stated, out of how many pairs, and by which rule; see `publication.findings`."""
    found = publication.findings
    return {
        "pairs": publication.graph.n_pairs,
        "stated": len(found.stated),
        "least_gain": found.least,
        "false_share": FALSE_STATEMENTS,
    }


def support(publication: Publication) -> dict[str, Any]:
    """What the reports cannot tell: cells below their own standard error, pairs that might as well be independent."""
    return {
        "marginal_cells": sum(joint.probabilities.size for joint in publication.marginals),
        "marginal_cells_in_doubt": sum(_in_doubt(joint) for joint in publication.marginals),
        "median_half_width": _half_width(publication.marginals, np.median),
        "largest_half_width": _half_width(publication.marginals, np.max),
        "pair_cells": sum(joint.probabilities.size for joint in publication.pairs.values()),
        "pair_cells_in_doubt": sum(_in_doubt(joint) for joint in publication.pairs.values()),
        "independent_pairs": len(independent_pairs(publication)),
    }


def _half_width(
    marginals: Sequence[JointDistribution], chosen: Callable[[Probabilities], np.floating[Any]]
) -> float | None:
    """Of the 95 % intervals of shares, the one that is chosen, and 1 at most, as shares are; None where there are none."""
    errors = [
        joint.standard_errors.reshape(-1)
        for joint in marginals
        if joint.standard_errors is not None
    ]
    known = np.concatenate(errors)[~np.isnan(np.concatenate(errors))] if errors else np.zeros(0)
    return min(float(INTERVAL * chosen(known)), 1.0) if known.size else None


def why_without_strength(publication: Publication, pair: Pair) -> str:
    """Why a pair is an edge whose strength was not measured."""
    names = tuple(sorted(publication.names[position] for position in pair))
    if names in publication.margins:
        return "publicly known"
    return "by the questionnaire" if pair in publication.pairs else "assumed"


def independent_pairs(publication: Publication) -> list[tuple[str, str]]:
    """Pairs for which independence explained held-out reports as well; empty where that was not measured."""
    names, edges = publication.names, set(publication.graph.edges)
    weak = (
        pair
        for pair, joint in sorted(publication.pairs.items())
        if joint.fit.gain == 0 and pair not in edges
    )
    return [(names[a], names[b]) for a, b in weak]


def _in_doubt(joint: JointDistribution) -> int:
    return int(in_doubt(joint).sum())


def in_doubt(joint: JointDistribution) -> NDArray[np.bool_]:
    """Cells whose estimate is below its standard error, or that were held at zero."""
    errors = joint.standard_errors
    if errors is None:
        return np.zeros(joint.probabilities.shape, dtype=bool)
    doubtful: NDArray[np.bool_] = (joint.probabilities < errors) | np.isnan(errors)
    return doubtful


def fit(publication: Publication) -> dict[str, Any]:
    """How the reports agree with what reports of the synthetic people would say."""
    deviations = np.array([row.deviation for row in publication.fit])
    return {
        "counts": len(deviations),
        "share_within_two_deviations": float((np.abs(deviations) <= WELL_WITHIN).mean())
        if len(deviations)
        else None,
        "largest_deviation": float(np.abs(deviations).max()) if len(deviations) else None,
    }
