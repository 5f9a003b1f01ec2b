"""What fake reports can move at most.

Nobody can check an answer that nobody may see, so whoever sends k reports may choose their outputs, and their views. The
debiased frequency of a cell is a weighted mean over the reports that cover it,

    sum of w_r x_r / sum of w_r,    x_r = (<g, bits_r> - q <g, 1>) / (p - q),

where g says how the bits of a block speak for the cell: a single one where each candidate has a bit of its own; ones at all
cells of the view that add up to it where a view was randomized jointly; a row of the code's pseudo-inverse with `bloom`. Where
attributes are randomized separately, x is the product of one such number for each. The weight w is the precision of a view, as
in `moments`; it matters only where views differ in their noise.

An honest x has a mean between 0 and 1. A fake one is as high as an output can make it, and passes 1 by the more, the stronger
the noise is that debiasing takes off. k fakes of one view with weight w move the mean by

    k w / (T + k w) * (x_fake - honest mean),    T = sum of the honest weights,

which is linear-fractional in how fakes are mixed: all alike is worst. Where views are drawn, T counts only the honest reports
that cover the cell, but every fake covers it. People who lie about their record, but follow the protocol, move it by k / (n + k)
at most on average.
"""

from collections.abc import Sequence

import numpy as np

from lopub.bulk import bulk_of
from lopub.bulk.codes import MOST_CODE, code_size
from lopub.bulk.reach import Reach
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.errors import DomainError, checks_options
from lopub.estimation.joint import Probabilities
from lopub.estimation.moments import indistinct
from lopub.planning.honest_views import drawn_views, many_views

MOST_LOOKED_AT = 100_000
"""Attributes of all views together up to which the most exposed one is looked for: it takes seconds."""
MOST_WORK = 2**28
"""Entries of a code matrix times its smaller side, summed over all codes, up to which they are inverted in passing: it takes
about a second."""


@checks_options
def poisoning_bound(
    campaign: Campaign,
    names: str | Sequence[str],
    *,
    n_reports: int,
    n_fake: int,
    share: float | None = None,
) -> float:
    """The largest shift of a cell's debiased frequency by so many fake reports among n_reports honest ones.

    Before the simplex: an estimate that is held between 0 and 1 cannot move further than 1. Exact for whatever the honest reports
    say, where as many of them as expected cover the attributes. share: the true share of the cell among honest people; then the
    largest shift on average over their noise.
    """
    clique = tuple(sorted(set(campaign.domain.positions(names))))
    if n_reports < 0 or n_fake < 0 or n_reports + n_fake < 1:
        raise DomainError(
            f"n_reports and n_fake must be at least 0, and together at least 1, got {n_reports} and {n_fake}"
        )
    views = {
        view: chance for view, chance in drawn_views(campaign).items() if set(clique) <= set(view)
    }
    return _bound(campaign, clique, views, n_reports, n_fake, share)


def most_exposed(campaign: Campaign, *, n_reports: int, n_fake: int) -> tuple[str, float] | None:
    """The attribute whose shares can be moved furthest, and how far; None where there are too many to look at, or where no linear
    estimate of one exists."""
    if many_views(campaign) or _work(campaign) > MOST_WORK:
        return None
    views = drawn_views(campaign)
    if sum(map(len, views)) > MOST_LOOKED_AT:
        return None
    covering: dict[int, dict[Clique, float]] = {}
    for view, chance in views.items():
        for position in view:
            covering.setdefault(position, {})[view] = chance
    if any(all(_refused(campaign, (p,), view) for view in views) for p, views in covering.items()):
        return None
    bounds = {
        p: _bound(campaign, (p,), covering[p], n_reports, n_fake, None) for p in sorted(covering)
    }
    worst = max(bounds, key=lambda position: bounds[position])
    return campaign.domain.names[worst], bounds[worst]


def _bound(
    campaign: Campaign,
    clique: Clique,
    views: dict[Clique, float],
    n_reports: int,
    n_fake: int,
    share: float | None,
) -> float:
    """views: those that hold the clique."""
    if not views:
        names = ", ".join(campaign.domain.names[position] for position in clique)
        raise DomainError(f"no view covers {names} together, so no report speaks of it directly")
    refused = {view: _refused(campaign, clique, view) for view in views}
    views = {view: chance for view, chance in views.items() if refused[view] is None}
    if not views:
        raise DomainError(
            f"the debiased frequency, which is bounded here, {next(iter(refused.values()))}; take more bits"
        )
    reaches = {view: reach(campaign, clique, view) for view in views}
    weights = {view: chance * reaches[view].weight for view, chance in views.items()}
    total = sum(weights.values())
    low, high = np.array([share]), np.array([share])
    if share is None:
        low = np.sum([weights[view] * one.low for view, one in reaches.items()], axis=0) / total
        high = np.sum([weights[view] * one.high for view, one in reaches.items()], axis=0) / total
    return max(_shift(one, low, high, n_reports * total, n_fake) for one in reaches.values())


def _refused(campaign: Campaign, clique: Clique, view: Clique) -> str | None:
    """Why a linear estimate makes nothing of this view; it then makes do with the others."""
    blocks = [view] if campaign.jointly else [(position,) for position in view]
    for block, channel in zip(blocks, campaign.channels(view), strict=True):
        if set(block) & set(clique):
            if (size := code_size(channel.law())) > MOST_CODE:
                raise DomainError(
                    f"a code of {size:,} bits is too large to be inverted; at most {MOST_CODE:,} are"
                )
            if refused := indistinct(campaign, block, len(blocks)):
                return refused
    return None


def _shift(
    fake: Reach, low: Probabilities, high: Probabilities, honest_weight: float, n_fake: int
) -> float:
    """Of the cell that moves furthest, where all fakes have one view, and the honest mean lies between low and high."""
    leverage = n_fake * fake.weight / (honest_weight + n_fake * fake.weight)
    return float(leverage * np.maximum(fake.high - low, high - fake.low).max())


def reach(campaign: Campaign, clique: Clique, view: Clique) -> Reach:
    """What a report of this view can say for the cells of a clique that the view covers."""
    bulk, channels, sizes = (
        bulk_of(campaign.mechanism),
        campaign.channels(view),
        campaign.domain.sizes,
    )
    if campaign.jointly:
        shape = tuple(sizes[position] for position in view)
        return bulk.reach(channels[0], shape, tuple(view.index(position) for position in clique))
    reached = [
        bulk.reach(channels[view.index(position)], (sizes[position],), (0,)) for position in clique
    ]
    low, high, weight = np.ones(1), np.ones(1), 1.0
    for (
        one
    ) in reached:  # a product of numbers of either sign: its extremes are among those of the sides
        corners = [
            np.multiply.outer(a, b).reshape(-1) for a in (low, high) for b in (one.low, one.high)
        ]
        low, high, weight = (
            np.minimum.reduce(corners),
            np.maximum.reduce(corners),
            weight * one.weight,
        )
    return Reach(low, high, weight)


def _work(campaign: Campaign) -> int:
    """Of inverting all codes, where candidates share bits."""
    if not campaign.mechanism.codes_differ_by_block:
        return 0
    sides = ((channel.n_candidates, channel.width) for channel in campaign.coded_channels)
    return sum(n_candidates * width * min(n_candidates, width) for n_candidates, width in sides)
