"""How often honest reports have which view."""

import math
from collections import Counter
from itertools import permutations

import numpy as np

from lopub.campaign import Campaign
from lopub.report import view_of
from lopub.simulation.views import draw_masks
from lopub.view import AllAttributes, Fill, Listed, Sample, View, ViewRule

MOST_VIEWS = 20_000
"""Views that are looked at one by one; of rules with more, so many are drawn."""
MOST_DRAWN = 2_000_000
"""Attributes times drawn views up to which drawing them takes about a second."""
MOST_WALKED = 6
"""Attributes up to which `fill` is walked in every order."""


def drawn_views(campaign: Campaign) -> dict[View, float]:
    """Every view that honest reports have, with its probability; of rules with very many, those of a fixed sample."""
    rule, sizes = campaign.view, campaign.domain.sizes
    exact = exact_views(rule, sizes)
    if exact is not None:
        return exact
    masks = draw_masks(rule, sizes, MOST_VIEWS, np.random.PCG64(0))
    found = Counter(view_of(row.tobytes()) for row in np.packbits(masks, axis=1, bitorder="little"))
    return {view: times / MOST_VIEWS for view, times in sorted(found.items())}


def many_views(campaign: Campaign) -> bool:
    """Whether views would have to be drawn, of too many attributes to do so in passing."""
    sizes = campaign.domain.sizes
    return len(sizes) * MOST_VIEWS > MOST_DRAWN and exact_views(campaign.view, sizes) is None


def exact_views(rule: ViewRule, sizes: tuple[int, ...]) -> dict[View, float] | None:
    """The law of the views, where it can be written down."""
    if isinstance(rule, Listed):
        return {view: weight / sum(rule.weights) for view, weight in zip(rule.sets, rule.weights, strict=True)}
    if isinstance(rule, AllAttributes) or (isinstance(rule, Sample) and math.comb(len(sizes), rule.n_sampled) <= MOST_VIEWS):
        views = list(rule.views(sizes))
        return dict.fromkeys(views, 1 / len(views))
    if isinstance(rule, Fill) and len(sizes) <= MOST_WALKED:
        found = Counter(rule.walked(order, sizes) for order in permutations(range(len(sizes))))
        return {view: times / found.total() for view, times in sorted(found.items())}
    return None
