"""How far shares that are read off counts of ones may be off: against every output that a channel can give."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from lopub.bulk import Bulk, bulk_of
from lopub.bulk.cells import independent_noise
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.mechanisms.subset import Subset, SubsetChannel
from lopub.campaign.mechanisms.unary import OptimizedChannel, SymmetricChannel, Unary

SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
K = len(SHARES)


def subset_law(channel: SubsetChannel) -> list[tuple[list[int], np.ndarray]]:
    """Every subset, and its chance given each cell."""
    size, p = channel.subset_size, float(channel.law().p)
    sets = list(combinations(range(K), size))
    held, missed = (sum(0 in own for own in sets), sum(0 not in own for own in sets))
    chances = [
        np.array([p / held if cell in own else (1 - p) / missed for cell in range(K)])
        for own in sets
    ]
    return [
        ([int(cell in own) for cell in range(K)], chance)
        for own, chance in zip(sets, chances, strict=True)
    ]


def unary_law(channel: Channel) -> list[tuple[list[int], np.ndarray]]:
    p, q = float(channel.law().p), float(channel.law().q)
    found = []
    for bits in product((0, 1), repeat=K):
        others = np.array(
            [
                np.prod([q if b else 1 - q for j, b in enumerate(bits) if j != cell])
                for cell in range(K)
            ]
        )
        found.append((list(bits), others * np.where(bits, p, 1 - p)))
    return found


CHANNELS = {
    "symmetric": (Unary, SymmetricChannel(K, UNIT // 5), unary_law),
    "optimized": (Unary, OptimizedChannel(K, 9 * UNIT), unary_law),
    **{
        f"subset of {w}": (Subset, SubsetChannel(K, int(odds * UNIT)), subset_law)
        for w, odds in ((1, 9), (2, 2), (3, 1.2))
    },
}


def covariance(law: list[tuple[list[int], np.ndarray]], channel: Channel) -> np.ndarray:
    """Of the debiased bits of one report, whose answer is drawn from the shares."""
    p, q = float(channel.law().p), float(channel.law().q)
    chances = np.array([chance @ SHARES for _, chance in law])
    values = (np.array([bits for bits, _ in law]) - q) / (p - q)
    assert chances.sum() == pytest.approx(1)
    np.testing.assert_allclose(chances @ values, SHARES, atol=1e-12)
    return np.asarray((values * chances[:, None]).T @ values - np.outer(SHARES, SHARES))


@pytest.mark.parametrize("name", CHANNELS)
def test_the_noise_of_cells_is_that_of_all_outputs(name: str) -> None:
    """Exactly, for all differences of cells that neither the sum of all shares nor their own weights touch."""
    mechanism, channel, law = CHANNELS[name]
    noise = bulk_of(mechanism).cell_noise(channel.law())
    contrasts = np.linalg.svd(np.stack([np.ones(K), SHARES]))[2][2:]
    seen = contrasts @ covariance(law(channel), channel) @ contrasts.T  # type: ignore[arg-type]
    said = contrasts @ np.diag(noise.alpha + noise.beta * SHARES) @ contrasts.T
    np.testing.assert_allclose(said, seen, atol=1e-12)


def test_a_subset_of_the_sizes_that_are_tried_has_that_size() -> None:
    assert [CHANNELS[f"subset of {w}"][1].n_ones for w in (1, 2, 3)] == [1, 2, 3]


def test_hashed_cells_that_lie_on_no_line_are_as_noisy_as_independent_bits() -> None:
    """Three digits in base 2 or more: cells 1, g and g^2, of which none lies on a line with two others."""
    channel = HashedChannel(30, 2 * UNIT)
    g, odds = channel.n_values, Fraction(channel.odds, UNIT)
    assert (g, channel.n_digits) == (3, 4)
    cells, shares = np.array([1, 3, 9, 27]), np.array([0.5, 0.3, 0.15, 0.05])
    kept, moved = float(odds / (odds + g - 1)), float(1 / (odds + g - 1))
    total, mean = np.zeros((4, 4)), np.zeros(4)
    for function in range(channel.n_functions):
        values = np.array([channel.value(function, int(cell)) for cell in cells])
        for true, share in zip(values, shares, strict=True):
            for sent in range(g):
                bits = (values == sent).astype(float)
                chance = share * (kept if sent == true else moved) / channel.n_functions
                total, mean = total + chance * np.outer(bits, bits), mean + chance * bits
    noise = bulk_of_hashed().cell_noise(channel.law())
    contrasts = np.linalg.svd(np.stack([np.ones(4), shares]))[2][2:]
    seen = contrasts @ (total - np.outer(mean, mean)) @ contrasts.T / (noise.p - noise.q) ** 2
    np.testing.assert_allclose(
        contrasts @ np.diag(noise.alpha + noise.beta * shares) @ contrasts.T, seen, atol=1e-12
    )
    assert noise == independent_noise(channel.law())


def bulk_of_hashed() -> Bulk:
    return Bulk.known["hashed"]


def test_where_cells_share_bits_their_noise_is_that_of_an_average_one() -> None:
    law = SymmetricChannel(K, UNIT // 5).law()
    noise = Bulk.known["bloom"].cell_noise(law)
    assert not Bulk.known["bloom"].counts_tell_cells
    assert (noise.alpha, noise.beta) == (Bulk.known["bloom"].noise(law), 0.0)
