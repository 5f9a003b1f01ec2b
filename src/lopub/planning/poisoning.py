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

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np

from lopub.campaign import Campaign
from lopub.counts import is_bits
from lopub.errors import DomainError
from lopub.estimation.moments import code_matrix
from lopub.joint import Probabilities
from lopub.mechanism import Channel
from lopub.report import view_of
from lopub.simulation.views import draw_masks
from lopub.view import AllAttributes, Fill, Listed, Sample, View, ViewRule

MOST_VIEWS = 20_000
"""Views that are looked at one by one; of rules with more, so many are drawn."""
MOST_WALKED = 6
"""Attributes up to which `fill` is walked in every order."""
MOST_CODE = 2**22
"""Entries of a code matrix that is inverted."""


@dataclass(frozen=True)
class Reach:
    """What one report can say for a cell. low, high: shape (cells,), or (1,) where all cells are alike."""

    low: Probabilities
    high: Probabilities
    weight: float


def poisoning_bound(
    campaign: Campaign, names: Sequence[str], *, n_reports: int, n_fake: int, share: float | None = None
) -> float:
    """The largest shift of a cell's debiased frequency by so many fake reports among n_reports honest ones.

    Before the simplex: an estimate that is held between 0 and 1 cannot move further than 1. Exact for whatever the honest reports
    say, where as many of them as expected cover the attributes. share: the true share of the cell among honest people; then the
    largest shift on average over their noise.
    """
    clique = tuple(sorted(set(campaign.domain.positions(tuple(names)))))
    if n_reports < 0 or n_fake < 0 or n_reports + n_fake < 1:
        raise DomainError(f"n_reports and n_fake must be at least 0, and together at least 1, got {n_reports} and {n_fake}")
    views = {view: chance for view, chance in drawn_views(campaign).items() if set(clique) <= set(view)}
    if not views:
        raise DomainError(f"no view covers {', '.join(names)} together, so no report speaks of it directly")
    reaches = {view: reach(campaign, clique, view) for view in views}
    return max(_shift(reaches, views, one, n_reports, n_fake, share) for one in reaches.values())


def _shift(
    reaches: dict[View, Reach], chances: dict[View, float], fake: Reach, n_reports: int, n_fake: int, share: float | None
) -> float:
    """Of the cell that moves furthest, where all fakes have one view."""
    weights = {view: chances[view] * one.weight for view, one in reaches.items()}
    total = sum(weights.values())
    low = sum(weights[view] * one.low for view, one in reaches.items()) / total if share is None else share
    high = sum(weights[view] * one.high for view, one in reaches.items()) / total if share is None else share
    leverage = n_fake * fake.weight / (n_reports * total + n_fake * fake.weight)
    return float(leverage * np.maximum(fake.high - low, high - fake.low).max())


def reach(campaign: Campaign, clique: View, view: View) -> Reach:
    """What a report of this view can say for the cells of a clique that the view covers."""
    channels = campaign.channels(view)
    if campaign.jointly:
        return _of_block(channels[0], clique, view, campaign)
    reached = [_of_block(channels[view.index(position)], (position,), (position,), campaign) for position in clique]
    low, high, weight = np.ones(1), np.ones(1), 1.0
    for one in reached:  # a product of numbers of either sign: its extremes are among those of the sides
        corners = [np.multiply.outer(a, b).reshape(-1) for a in (low, high) for b in (one.low, one.high)]
        low, high, weight = np.minimum.reduce(corners), np.maximum.reduce(corners), weight * one.weight
    return Reach(low, high, weight)


def _of_block(channel: Channel, clique: View, block: View, campaign: Campaign) -> Reach:
    """What the output of one block can say for the cells of a part of it."""
    law, sizes = channel.law(), campaign.domain.sizes
    p, q = law.p, law.q
    own = math.prod(sizes[position] for position in clique)
    n_summed = law.n_candidates // own  # cells of the block that add up to one of the clique
    weight = float((p - q) ** 2 / (q * (1 - q))) / n_summed if is_bits(campaign) else float((p - q) ** 2)
    if law.rows is None:
        n_ones = channel.n_ones if is_bits(campaign) else 1
        most = n_summed if n_ones is None else min(n_ones, n_summed)
        least = 0 if n_ones is None else max(0, n_ones - (law.n_candidates - n_summed))
        low, high = ((ones - n_summed * q) / (p - q) for ones in (least, most))
        return Reach(np.array([float(low)]), np.array([float(high)]), weight)
    code = code_matrix(law)
    if code.size > MOST_CODE:
        raise DomainError(f"a code of {code.size:,} bits is too large to be inverted; at most {MOST_CODE:,} are")
    shares = np.linalg.pinv(code.T).reshape(*(sizes[position] for position in block), law.n_bits)
    shares = shares.sum(axis=tuple(axis for axis, position in enumerate(block) if position not in clique)).reshape(own, -1)
    debiased = shares.sum(axis=1) * float(q)
    low, high = np.minimum(shares, 0).sum(axis=1) - debiased, np.maximum(shares, 0).sum(axis=1) - debiased
    return Reach(low / float(p - q), high / float(p - q), weight)


def drawn_views(campaign: Campaign) -> dict[View, float]:
    """Every view that honest reports have, with its probability; of rules with very many, those of a fixed sample."""
    rule, sizes = campaign.view, campaign.domain.sizes
    exact = _exact_views(rule, sizes)
    if exact is not None:
        return exact
    masks = draw_masks(rule, sizes, MOST_VIEWS, np.random.default_rng(0))
    found = Counter(view_of(row.tobytes()) for row in np.packbits(masks, axis=1, bitorder="little"))
    return {view: times / MOST_VIEWS for view, times in sorted(found.items())}


def _exact_views(rule: ViewRule, sizes: tuple[int, ...]) -> dict[View, float] | None:
    """The law of the views, where it can be written down."""
    if isinstance(rule, Listed):
        return {view: weight / sum(rule.weights) for view, weight in zip(rule.sets, rule.weights, strict=True)}
    if isinstance(rule, AllAttributes) or (isinstance(rule, Sample) and math.comb(len(sizes), rule.n_sampled) <= MOST_VIEWS):
        views = list(islice(rule.views(sizes), MOST_VIEWS))
        return dict.fromkeys(views, 1 / len(views))
    if isinstance(rule, Fill) and len(sizes) <= MOST_WALKED:
        found = Counter(rule.walked(order, sizes) for order in permutations(range(len(sizes))))
        return {view: times / found.total() for view, times in sorted(found.items())}
    return None
