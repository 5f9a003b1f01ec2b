"""Counts of reports that nobody sent: drawn from their law at once, at a cost that does not depend on how many people there
are."""

import math
from itertools import chain, combinations

import numpy as np

from lopub.bulk import bulk_of
from lopub.bulk.view_laws import view_law
from lopub.bulk.views import draw_masks
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Clique
from lopub.planning.population import Population
from lopub.reports.batch import N_FOLDS
from lopub.reports.counts import Counts, Table, form_of
from lopub.reports.counts.forms import Key

MOST_CELLS = 2**22
"""Cells of all views together that are drawn one by one."""
FEW = 50
"""Times that something is counted on average, below which a normal number is a poor likeness."""
N_DRAWN = 20_000
"""Views that are drawn where their law cannot be written down; they stand for it."""


def drawn_counts(
    campaign: Campaign, population: Population, people: int, seed: int
) -> Counts | None:
    """The counts of so many people's reports; None where each attribute is randomized apart, or views have too many cells.

    Exact where bits are independent of each other; otherwise normal with the means and covariances of the reports themselves,
    rounded, and what is counted a few times only is binomial.
    """
    views = _views(campaign) if campaign.jointly else {}
    sizes = campaign.domain.sizes
    if (
        not views
        or sum(math.prod(sizes[p] for p in view) for view in views) > MOST_CELLS
        or not _holds_all(campaign)
    ):
        return None
    rng = np.random.default_rng(seed)
    each = rng.multinomial(
        people, np.repeat(np.array(list(views.values())), N_FOLDS) / N_FOLDS
    ).reshape(-1, N_FOLDS)
    tables: dict[Key, Table] = {}
    for view, reports in zip(views, each, strict=True):
        for key, table in _tables(
            campaign, view, reports, _named(campaign, population, view, reports, rng)
        ):
            tables[key] = tables[key] + table if key in tables else table
    return Counts(campaign=campaign, n_reports=people, tables=dict(sorted(tables.items())))


def _holds_all(campaign: Campaign) -> bool:
    return form_of(campaign).holds_all(campaign)


def _views(campaign: Campaign) -> dict[Clique, float]:
    """Every view with its chance, or drawn ones."""
    rule, sizes = campaign.view, campaign.domain.sizes
    known = view_law(rule).chances(sizes)
    if known is not None:
        return dict(sorted(known.items()))
    masks, times = np.unique(
        draw_masks(rule, sizes, N_DRAWN, np.random.PCG64(0)), axis=0, return_counts=True
    )
    return {
        tuple(np.flatnonzero(mask).tolist()): n / N_DRAWN
        for mask, n in zip(masks, times.tolist(), strict=True)
    }


def _named(
    campaign: Campaign,
    population: Population,
    view: Clique,
    reports: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """How often each cell of a view is named, or its bit a one, by fold. shape (n_folds, cells)."""
    noise = bulk_of(campaign.mechanism).cell_noise(campaign.channels(view)[0].law())
    joint = population.joint(view).reshape(-1)
    if noise.independent:
        held = rng.multinomial(reports, joint / joint.sum())
        return np.asarray(
            rng.binomial(held, noise.p) + rng.binomial(reports[:, None] - held, noise.q)
        )
    spread = noise.alpha + noise.beta * joint
    drawn = np.sqrt(reports[:, None] * spread) * rng.standard_normal((N_FOLDS, len(joint)))
    drawn -= (
        spread / spread.sum() * drawn.sum(axis=1, keepdims=True)
    )  # all cells together: as many as there are reports
    signal, most = noise.p - noise.q, reports[:, None]
    chance = noise.q + signal * joint
    ones = np.rint(np.clip(most * chance + signal * drawn, 0, most)).astype(np.int64)
    few = np.broadcast_to(most * chance < FEW, ones.shape)
    rare = rng.binomial(
        np.broadcast_to(most, ones.shape)[few],
        np.broadcast_to(np.clip(chance, 0, 1), ones.shape)[few],
    )
    ones[few] = rare
    return ones


def _tables(
    campaign: Campaign, view: Clique, reports: np.ndarray, named: np.ndarray
) -> list[tuple[Key, Table]]:
    """The tables of one view, in the form that its reports are counted in."""
    if form_of(campaign).whole_views:
        return [
            (
                (view, 0),
                Table(int(reports.sum()), np.concatenate([reports[:, None], named], axis=1)),
            )
        ]
    shape = tuple(campaign.domain.sizes[position] for position in view)
    seen, found = named.reshape(N_FOLDS, *shape), []
    for axes in chain(combinations(range(len(view)), 1), combinations(range(len(view)), 2)):
        counts = seen.sum(axis=tuple(1 + axis for axis in range(len(view)) if axis not in axes))
        found.append(
            (
                (tuple(view[axis] for axis in axes), math.prod(shape)),
                Table(int(counts.sum()), counts),
            )
        )
    return found
