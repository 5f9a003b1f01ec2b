"""The figures of a publication in one place: what its page, its card and its readers cite."""

import math
from typing import Any

import numpy as np

from lopub.publication.stages import Publication

WELL_WITHIN = 2.0
"""Standard deviations within which about 95 % of all counts should be if the model fits."""


def summary(publication: Publication) -> dict[str, Any]:
    """Every headline number, ready for JSON."""
    return {
        "privacy": privacy(publication),
        "reports": {"accepted": publication.n_reports, "refused": sum(publication.refused.values())},
        "synthetic_rows": len(publication.synthetic),
        "copies": len(publication.copies),
        "dependence": dependence(publication),
        "support": support(publication),
        "fit": fit(publication),
        "margins": [list(names) for names in publication.margins],
    }


def privacy(publication: Publication) -> dict[str, Any]:
    """Epsilon, in total and by attribute, and what it lets an observer of one report conclude at most."""
    campaign = publication.campaign
    factor = math.exp(min(campaign.epsilon, 700.0))
    return {
        "epsilon": campaign.epsilon,
        "epsilon_of": {name: campaign.epsilon_of(name) for name in campaign.domain.names},
        "odds_factor": factor,
        "certainty_from_half": factor / (1 + factor),
    }


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


def support(publication: Publication) -> dict[str, Any]:
    """What the reports cannot tell: cells below their own standard error, pairs that might as well be independent."""
    return {
        "marginal_cells": sum(joint.probabilities.size for joint in publication.marginals),
        "marginal_cells_in_doubt": sum(_in_doubt(joint) for joint in publication.marginals),
        "pair_cells": sum(joint.probabilities.size for joint in publication.pairs.values()),
        "pair_cells_in_doubt": sum(_in_doubt(joint) for joint in publication.pairs.values()),
        "independent_pairs": len(independent_pairs(publication)),
    }


def independent_pairs(publication: Publication) -> list[tuple[str, str]]:
    """Pairs for which independence explained held-out reports as well; empty where that was not measured."""
    names = publication.names
    return [(names[a], names[b]) for (a, b), joint in sorted(publication.pairs.items()) if joint.fit.gain == 0]


def _in_doubt(joint: Any) -> int:
    """Cells whose estimate is below its standard error, or that were held at zero."""
    errors = joint.standard_errors
    if errors is None:
        return 0
    return int(((joint.probabilities < errors) | np.isnan(errors)).sum())


def fit(publication: Publication) -> dict[str, Any]:
    """How the reports agree with what reports of the synthetic people would say."""
    deviations = np.array([row.deviation for row in publication.fit])
    return {
        "counts": len(deviations),
        "share_within_two_deviations": float((np.abs(deviations) <= WELL_WITHIN).mean()) if len(deviations) else None,
        "largest_deviation": float(np.abs(deviations).max()) if len(deviations) else None,
    }
