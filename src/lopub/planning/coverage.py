"""Whether reports cover what the campaign draws. Fakes that choose their view show here; who they are does not.

A client draws its view without looking at any answer, so how many of n reports cover an attribute, or two of them together, is
binomial with a chance that the campaign fixes. By Chernoff, a count that differs from it by the relative entropy D has a
probability of at most exp(-n D) on either side.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.view_laws import view_law
from lopub.bulk.views import draw_masks
from lopub.campaign.campaign import Campaign
from lopub.campaign.views import ViewRule
from lopub.estimation.joint import Probabilities
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, Integers, covered_together, form_of

ALPHA = 1e-9
"""Chance that honest reports alone make us speak, over all counts of a publication."""
N_DRAWN = 100_000
"""Views that are drawn where their law cannot be written down."""


@dataclass(frozen=True)
class OddCoverage:
    """Attributes that more, or fewer, reports cover together than the campaign's own draw gives."""

    attributes: tuple[str, ...]
    observed: int
    expected: float


def odd_coverage(data: ReportBatch | Counts, alpha: float = ALPHA) -> tuple[OddCoverage, ...]:
    """The oddest first; empty where all is as it should be, or views are not independent. alpha: the chance that honest reports
    alone make us speak."""
    campaign, n = data.campaign, len(data)
    if not campaign.view.masked or not n or keeps_views(data):
        return ()
    observed = covering(data)
    chance, n_drawn = chances(campaign)
    share = observed / n
    both = chance if n_drawn is None else (observed + chance * n_drawn) / (n + n_drawn)
    oddness = n * relative_entropy(share, both)
    if n_drawn is not None:  # what was drawn to learn the chance is uncertain, too
        oddness += n_drawn * relative_entropy(chance, both)
    first, second = np.triu_indices(len(chance))
    limit = math.log(2 * len(first) / alpha)
    odd = sorted(
        (
            (-oddness[i, j], i, j)
            for i, j in zip(first, second, strict=True)
            if oddness[i, j] > limit
        )
    )
    names = campaign.domain.names
    return tuple(
        OddCoverage(
            (names[i],) if i == j else (names[i], names[j]),
            int(observed[i, j]),
            float(n * both[i, j]),
        )
        for _, i, j in odd
    )


def spans_rounds(data: ReportBatch | Counts) -> bool:
    """Whether one device may have sent several of the reports, which are then not independent."""
    if data.campaign.terms.repeat is None or not len(data):
        return False
    if isinstance(data, ReportBatch):
        return bool(data.slots.min() < data.slots.max())
    return data.slots is None or data.slots[0] < data.slots[1]


def keeps_views(data: ReportBatch | Counts) -> bool:
    """Whether that device kept its view, too: then not even views are independent."""
    repeat = data.campaign.terms.repeat
    return repeat is not None and repeat.is_permanent and spans_rounds(data)


def covering(data: ReportBatch | Counts) -> Integers:
    """How many reports cover each two attributes; on the diagonal, each one. shape (n_attributes, n_attributes)."""
    if isinstance(data, ReportBatch):
        return covered_together(data, range(len(data.views)))
    d = len(data.campaign.domain)
    found = np.zeros((d, d), dtype=np.int64)
    whole_views = form_of(data.campaign).whole_views
    for (part, _), table in data.tables.items():
        if whole_views:
            found[np.ix_(part, part)] += table.n_reports
        elif len(part) <= 2:
            found[part[0], part[-1]] += table.n_reports
    return np.maximum(found, found.T)


def chances(campaign: Campaign) -> tuple[Probabilities, int | None]:
    """The chance that a report covers each two attributes, and from how many drawn views it was learnt, if it had to be."""
    d, rule, sizes = len(campaign.domain), campaign.view, campaign.domain.sizes
    if view_law(rule).n_alike(d) is not None:
        whole = np.full((d, d), view_law(rule).coverage((0, 1), sizes) if d > 1 else 0.0)
        np.fill_diagonal(whole, view_law(rule).coverage((0,), sizes))
        return whole, None
    if (views := view_law(rule).chances(sizes)) is not None:
        whole = np.zeros((d, d))
        for view, chance in views.items():
            whole[np.ix_(view, view)] += chance
        return np.minimum(whole, 1.0), None
    return _drawn_chances(rule, sizes), N_DRAWN


@lru_cache(maxsize=8)
def _drawn_chances(rule: ViewRule, sizes: tuple[int, ...]) -> Probabilities:
    """As often as among drawn views; not to be written to, as a page, a card and a table all ask for it."""
    masks = draw_masks(rule, sizes, N_DRAWN, np.random.PCG64(0)).astype(np.float32)
    found = (masks.T @ masks).astype(np.float64) / N_DRAWN
    found.setflags(write=False)
    return found


def relative_entropy(share: Probabilities, chance: Probabilities) -> NDArray[np.float64]:
    """Of two coins, in nats; infinite where what happened cannot."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        heads = np.where(share > 0, share * np.log(share / chance), 0.0)
        tails = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0.0)
    entropy: NDArray[np.float64] = np.maximum(
        np.nan_to_num(heads + tails, nan=0.0, posinf=np.inf), 0.0
    )
    return entropy
