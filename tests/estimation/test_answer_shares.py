"""The likeliest shares of one attribute's answers: exact, however little of an answer gets through the noise."""

import numpy as np
import pytest

from lopub.estimation.answer_shares import likeliest_shares
from lopub.estimation.evidence import Evidence
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.readers import likeliest
from lopub.reports.batch import N_FOLDS

SHARES = np.array([0.9, 0.05, 0.03, 0.02])


def chances(keeps: np.ndarray, shares: np.ndarray = SHARES) -> np.ndarray:
    return keeps[:, None] * shares + (1 - keeps[:, None]) / len(shares)


@pytest.mark.parametrize("keeps", [[0.9], [0.007], [4e-4], [0.9, 0.3, 0.01]])
def test_counts_as_they_are_expected_give_the_shares_back(keeps: list[float]):
    """EM, whose steps are of about keep, would end in between."""
    counts = 1e6 * chances(np.array(keeps))
    np.testing.assert_allclose(likeliest_shares(counts, np.array(keeps)), SHARES, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_every_share_that_is_not_zero_has_the_same_slope(seed: int):
    """The conditions of a maximum under a sum of one; some counts lie below what noise alone gives."""
    rng = np.random.default_rng(seed)
    keeps = rng.uniform(0.01, 0.6, 3)
    counts = np.stack(
        [rng.multinomial(n, row) for n, row in zip((500, 2_000, 90), chances(keeps), strict=True)]
    ).astype(float)
    shares = likeliest_shares(counts, keeps)
    slopes = (counts * keeps[:, None] / chances(keeps, shares)).sum(axis=0)
    assert shares.sum() == pytest.approx(1) and (shares >= 0).all()
    np.testing.assert_allclose(slopes[shares > 0], slopes[0], rtol=1e-7)
    assert (slopes[shares == 0] <= slopes[0] * (1 + 1e-9)).all()


def test_shares_are_those_of_em_where_it_converges():
    rng, keeps = np.random.default_rng(1), np.array([0.8, 0.5])
    counts = np.stack([rng.multinomial(4_000, row, size=N_FOLDS) for row in chances(keeps)], axis=1)
    evidence = Evidence((4,), (KeptCell((0,), (4,), counts, keeps),))
    np.testing.assert_allclose(
        likeliest_shares(counts.sum(axis=0).astype(float), keeps), likeliest(evidence), atol=1e-7
    )


def test_an_answer_that_nobody_gave_has_no_share():
    assert likeliest_shares(np.array([[90.0, 10.0, 0.0]]), np.array([0.9]))[2] == 0


def test_one_answer_that_all_gave_has_the_whole():
    np.testing.assert_allclose(
        likeliest_shares(np.array([[50.0, 0.0]]), np.array([0.3])), [1.0, 0.0]
    )
