"""The joint of largest entropy with given pairs: against an optimizer, and against raking written out plainly."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lopub.estimation.joint import product_of, raked
from lopub.estimation.maxent import SWEEPS, TOLERANCE, Constraints, margin_of, maximum_entropy

SHAPE = (2, 3, 2)


def random_joint(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


def marginals_of(joint: np.ndarray) -> list[np.ndarray]:
    return [margin_of(joint, (axis,)) for axis in range(joint.ndim)]


def constraints_of(joint: np.ndarray, *pairs: tuple[int, int]) -> Constraints:
    return Constraints({axes: margin_of(joint, axes) for axes in pairs})


def entropy(joint: np.ndarray) -> float:
    positive = joint[joint > 0]
    return float(-(positive * np.log(positive)).sum())


def optimum(shape: tuple[int, ...], constraints: Constraints) -> np.ndarray:
    """The largest entropy under the same margins, by a general optimizer."""
    rows, goals = [np.ones(int(np.prod(shape)))], [1.0]
    for axes, margin in constraints.margins.items():
        for cell in np.ndindex(*margin.shape):
            chosen = np.zeros(shape)
            index = [slice(None)] * len(shape)
            for axis, value in zip(axes, cell, strict=True):
                index[axis] = value
            chosen[tuple(index)] = 1
            rows.append(chosen.reshape(-1))
            goals.append(float(margin[cell]))
    matrix, goal = np.array(rows), np.array(goals)
    basis = np.linalg.svd(matrix)[2][: np.linalg.matrix_rank(matrix)]
    right = basis @ np.linalg.lstsq(matrix, goal, rcond=None)[0]
    found = minimize(
        lambda p: float((p * np.log(np.maximum(p, 1e-300))).sum()),
        np.full(basis.shape[1], 1 / basis.shape[1]),
        jac=lambda p: np.log(np.maximum(p, 1e-300)) + 1,
        bounds=[(1e-12, 1)] * basis.shape[1],
        constraints=[{"type": "eq", "fun": lambda p: basis @ p - right, "jac": lambda p: basis}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return found.x.reshape(shape)


# ---- largest entropy


@pytest.mark.parametrize("pairs", [((0, 1),), ((0, 1), (1, 2)), ((0, 1), (0, 2), (1, 2))])
def test_raking_from_the_product_has_the_largest_entropy(pairs: tuple[tuple[int, int], ...]):
    truth = random_joint(SHAPE)
    constraints = Constraints(
        {(axis,): marginal for axis, marginal in enumerate(marginals_of(truth))}
    )
    own = constraints_of(truth, *pairs)
    found = maximum_entropy(marginals_of(truth), own)
    best = optimum(SHAPE, Constraints({**constraints.margins, **own.margins}))
    np.testing.assert_allclose(found, best, atol=2e-5)


def test_the_pairs_of_a_clique_are_met():
    truth = random_joint((3, 4, 2, 3))
    own = constraints_of(truth, *combinations(range(4), 2))
    found = maximum_entropy(marginals_of(truth), own)
    assert own.misfit(found) < 24 * TOLERANCE
    assert found.sum() == pytest.approx(1) and found.min() >= 0


def test_maximum_entropy_knows_no_more_than_its_pairs():
    """Exclusive or: pairs are independent, so the joint is, although the truth is not."""
    truth = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        truth[a, b, a ^ b] = 0.25
    found = maximum_entropy(marginals_of(truth), constraints_of(truth, *combinations(range(3), 2)))
    np.testing.assert_allclose(found, 1 / 8)


def test_a_pair_that_is_not_given_is_left_to_the_others():
    """A chain 0 - 1 - 2: given 1, the ends are independent."""
    truth = random_joint(SHAPE)
    found = maximum_entropy(marginals_of(truth), constraints_of(truth, (0, 1), (1, 2)))
    middle = margin_of(truth, (1,))
    chain = np.einsum(
        "ab,bc->abc", margin_of(truth, (0, 1)), margin_of(truth, (1, 2)) / middle[:, None]
    )
    np.testing.assert_allclose(found, chain, atol=1e-9)


def test_a_clique_without_pairs_is_the_product():
    marginals = marginals_of(random_joint(SHAPE))
    np.testing.assert_array_equal(
        maximum_entropy(marginals, Constraints({})), product_of(marginals)
    )


def test_a_pair_alone_is_that_pair():
    truth = random_joint((3, 4))
    np.testing.assert_allclose(
        maximum_entropy(marginals_of(truth), constraints_of(truth, (0, 1))), truth, atol=1e-15
    )


def test_cells_of_a_pair_that_are_zero_stay_zero():
    truth = random_joint(SHAPE)
    truth[0, 1, :] = 0
    truth /= truth.sum()
    found = maximum_entropy(marginals_of(truth), constraints_of(truth, (0, 1), (0, 2), (1, 2)))
    assert not found[0, 1].any() and np.isfinite(found).all()


# ---- contradictions

AGREE, DIFFER = np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([[0.0, 0.5], [0.5, 0.0]])
IMPOSSIBLE = Constraints(
    {(0, 1): AGREE * 0.98 + 0.005, (0, 2): AGREE * 0.98 + 0.005, (1, 2): DIFFER * 0.98 + 0.005}
)
"""0 is like 1 and like 2, but 1 is unlike 2."""


def test_contradictory_pairs_end_after_a_bounded_number_of_sweeps(monkeypatch):
    from lopub.estimation.joint import _Margin

    calls = []
    rake = _Margin.rake
    monkeypatch.setattr(
        _Margin, "rake", lambda margin, fitted: calls.append(1) or rake(margin, fitted)
    )
    found = maximum_entropy([np.full(2, 0.5)] * 3, IMPOSSIBLE)
    assert len(calls) == 3 * SWEEPS
    assert found.sum() == pytest.approx(1) and found.min() >= 0


def test_the_misfit_of_contradictory_pairs_is_the_largest_distance_of_a_pair():
    found = maximum_entropy([np.full(2, 0.5)] * 3, IMPOSSIBLE)
    by_hand = max(
        np.abs(margin_of(found, axes) - wanted).sum() / 2
        for axes, wanted in IMPOSSIBLE.margins.items()
    )
    assert IMPOSSIBLE.misfit(found) == pytest.approx(by_hand)
    assert IMPOSSIBLE.misfit(found) > 0.2


def test_nothing_asked_for_is_met_without_misfit():
    assert Constraints({}).misfit(random_joint(SHAPE)) == 0


def test_pairs_that_agree_have_hardly_any_misfit():
    truth = random_joint((4, 5, 3), seed=2)
    own = constraints_of(truth, (0, 1), (0, 2), (1, 2))
    assert own.misfit(maximum_entropy(marginals_of(truth), own)) < 1e-4


# ---- raking


def plainly_raked(joint, axes, targets, sweeps):
    """One einsum a margin, cell by cell of the target in its own order of axes."""
    fitted = joint.copy()
    for _ in range(sweeps):
        for wanted, target in zip(axes, targets, strict=True):
            have = np.einsum(fitted, range(fitted.ndim), wanted)
            share = np.where(have > 0, target / np.where(have > 0, have, 1), 0.0)
            fitted = np.einsum(fitted, range(fitted.ndim), share, wanted, range(fitted.ndim))
    return fitted / fitted.sum()


@st.composite
def rakings(draw):
    """A joint, and margins of another one about any axes in any order."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    n_margins = draw(st.integers(1, 4))
    axes = [
        tuple(
            draw(
                st.permutations(
                    draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
                )
            )
        )
        for _ in range(n_margins)
    ]
    return shape, axes, draw(st.integers(0, 2**16)), draw(st.integers(1, 4))


@given(rakings())
def test_raking_with_merged_axes_is_plain_raking(case):
    shape, axes, seed, sweeps = case
    joint, other = random_joint(shape, seed), random_joint(shape, seed + 1)
    targets = [np.einsum(other, range(len(shape)), wanted) for wanted in axes]
    found = raked(joint, axes, targets, sweeps=sweeps, tolerance=0)
    np.testing.assert_allclose(
        found, plainly_raked(joint, axes, targets, sweeps), rtol=1e-9, atol=1e-15
    )


@given(rakings())
def test_raking_leaves_its_input_as_it_was(case):
    shape, axes, seed, _ = case
    joint, other = random_joint(shape, seed), random_joint(shape, seed + 1)
    targets = [np.einsum(other, range(len(shape)), wanted) for wanted in axes]
    before = joint.copy()
    raked(joint, axes, targets)
    np.testing.assert_array_equal(joint, before)


def test_raking_takes_a_joint_in_any_memory_order():
    joint, other = random_joint((2, 3, 4)), random_joint((2, 3, 4), seed=2)
    axes = [(2, 0), (1,)]
    targets = [np.einsum(other, range(3), wanted) for wanted in axes]
    np.testing.assert_array_equal(
        raked(np.asfortranarray(joint), axes, targets), raked(joint, axes, targets)
    )


def test_raking_to_a_margin_of_everything_is_that_margin():
    other = random_joint((2, 3, 4), seed=2)
    found = raked(random_joint((2, 3, 4)), [(2, 0, 1)], [np.transpose(other, (2, 0, 1))])
    np.testing.assert_allclose(found, other, rtol=1e-12)


def test_raking_to_its_own_margins_changes_nothing():
    joint = random_joint((2, 3, 4))
    np.testing.assert_allclose(
        raked(joint, [(0, 1), (2,)], [margin_of(joint, (0, 1)), margin_of(joint, (2,))]),
        joint,
        rtol=1e-12,
    )


def test_raking_without_margins_only_normalizes():
    np.testing.assert_allclose(
        raked(2 * random_joint((2, 3)), [], []), random_joint((2, 3)), rtol=1e-12
    )


def test_what_a_zero_hides_stays_hidden():
    joint = np.array([[0.0, 0.0], [0.5, 0.5]])
    found = raked(joint, [(0,), (1,)], [np.array([0.5, 0.5]), np.array([0.3, 0.7])])
    np.testing.assert_allclose(found, [[0, 0], [0.3, 0.7]])


def test_raking_from_next_to_nothing_stays_finite():
    """EM takes a cell that it does not want down to denormal numbers; dividing by one is infinite, and then all is NaN."""
    found = raked(np.array([[5e-324, 0.0], [0.5, 0.5]]), [(0,)], [np.array([0.5, 0.5])])
    assert np.isfinite(found).all()


def test_margin_of_all_axes_is_the_joint():
    joint = random_joint((2, 3))
    np.testing.assert_array_equal(margin_of(joint, (0, 1)), joint)
