"""How often honest reports have which view."""

from collections import Counter

import numpy as np

from lopub.bulk.view_laws import MOST_VIEWS, view_law
from lopub.bulk.views import draw_masks
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.report import view_of

MOST_DRAWN = 2_000_000
"""Attributes times drawn views up to which drawing them takes about a second."""


def drawn_views(campaign: Campaign) -> dict[Clique, float]:
    """Every view that honest reports have, with its probability; of rules with very many, those of a fixed sample."""
    rule, sizes = campaign.view, campaign.domain.sizes
    exact = view_law(rule).chances(sizes)
    if exact is not None:
        return exact
    masks = draw_masks(rule, sizes, MOST_VIEWS, np.random.PCG64(0))
    found = Counter(view_of(row.tobytes()) for row in np.packbits(masks, axis=1, bitorder="little"))
    return {view: times / MOST_VIEWS for view, times in sorted(found.items())}


def many_views(campaign: Campaign) -> bool:
    """Whether views would have to be drawn, of too many attributes to do so in passing."""
    sizes = campaign.domain.sizes
    return len(sizes) * MOST_VIEWS > MOST_DRAWN and view_law(campaign.view).chances(sizes) is None
