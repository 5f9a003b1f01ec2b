"""Which of very many pairs are worth a fit: a bound of their held-out gain that needs none.

No joint explains reports better than their own frequencies do, and a fit explains the reports it has seen better than those held
out from it. So the gain of a pair over independence is at most the sum of n log(n / (N chance)) over what was seen n times of N,
where `chance` is that of independent attributes.
"""

from collections.abc import Sequence

import numpy as np

from lopub.bulk import bulk_of
from lopub.campaign.domain import Clique
from lopub.estimation.joint import Probabilities
from lopub.reports.counts import Counts, Table

BLOCK = 2**16
"""Pairs whose tables are laid side by side at once."""


def gain_bounds(
    counts: Counts, pairs: Sequence[Clique], marginals: dict[int, Probabilities]
) -> Probabilities:
    """Of each pair, in nats, from counts of answers. marginals: of all attributes of the pairs. shape (n_pairs,)."""
    bounds = np.zeros(len(pairs))
    alike: dict[tuple[int, int, int], list[int]] = {}
    for number, pair in enumerate(pairs):
        sizes = len(marginals[pair[0]]), len(marginals[pair[1]])
        for noise in counts.noises(pair):
            alike.setdefault((noise, *sizes), []).append(number)
    for (noise, *_), numbers in sorted(alike.items()):
        for start in range(0, len(numbers), BLOCK):
            block = numbers[start : start + BLOCK]
            bounds[block] += _of_block(
                counts, [pairs[number] for number in block], noise, marginals
            )
    return bounds


def _of_block(
    counts: Counts, pairs: Sequence[Clique], noise: int, marginals: dict[int, Probabilities]
) -> Probabilities:
    """Of pairs that are all of one size. What was never seen adds nothing."""
    tables: list[Table] = [counts.tables[pair, noise] for pair in pairs]
    seen = np.stack([table.counts for table in tables]).sum(axis=1).astype(np.float64)
    expected = np.array([table.n_reports for table in tables])[:, None, None] * _independent(
        counts, pairs, noise, marginals
    )
    found: Probabilities = np.where(
        seen > 0, seen * np.log(np.maximum(seen, 1) / expected), 0.0
    ).sum(axis=(1, 2))
    return found


def _independent(
    counts: Counts, pairs: Sequence[Clique], noise: int, marginals: dict[int, Probabilities]
) -> Probabilities:
    """The chance of seeing each two answers if attributes are independent. shape (n_pairs, size, size)."""
    first, second = (np.stack([marginals[pair[axis]] for pair in pairs]) for axis in (0, 1))
    campaign, n_cells = counts.campaign, first.shape[1] * second.shape[1]
    keep = bulk_of(campaign.mechanism).keep
    if campaign.jointly:
        kept = keep(campaign, pairs[0][0], noise)
        joint: Probabilities = kept * first[:, :, None] * second[:, None, :] + (1 - kept) / n_cells
        return joint
    smeared = []
    for axis, shares in enumerate((first, second)):
        kept_each = np.array([keep(campaign, pair[axis], noise) for pair in pairs])[:, None]
        smeared.append(kept_each * shares + (1 - kept_each) / shares.shape[1])
    product: Probabilities = smeared[0][:, :, None] * smeared[1][:, None, :]
    return product
