"""Synthesis: the records follow the clique joints, and nothing else than the separators ties cliques together."""

import numpy as np
import pytest
from scipy import stats

from lopub.campaign.domain import Domain, IntegerRange
from lopub.errors import DomainError
from lopub.synthesis.junction import JunctionTree, junction_tree
from lopub.synthesis.synthesis import synthesize

ALPHA = 1e-9
SIZES = (3, 4, 2, 5, 3, 2)
EDGES = [(0, 1), (1, 2), (0, 2), (1, 3), (4, 5)]
"""Cliques 012, 13 and 45: a separator, and a second component."""
N_ROWS = 200_000


def domain_of(sizes):
    return Domain(
        tuple(
            IntegerRange(name=f"a{i}", minimum=0, maximum=size - 1) for i, size in enumerate(sizes)
        )
    )


def consistent_joints(tree, sizes, seed=0):
    """Joints of the cliques, all marginals of one distribution over everything."""
    whole = np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.2)).reshape(sizes)
    return [
        whole.sum(axis=tuple(i for i in range(len(sizes)) if i not in clique))
        for clique in tree.cliques
    ]


DOMAIN = domain_of(SIZES)
TREE = junction_tree(SIZES, EDGES)
JOINTS = consistent_joints(TREE, SIZES)


def counted(synthetic, clique):
    return synthetic.counts([f"a{position}" for position in clique])


def fits(counts, joint):
    """Whether a chi-square test at ALPHA lets the joint pass; a count in a cell of probability zero refuses it."""
    possible = joint > 0
    if counts[~possible].any():
        return False
    expected = joint[possible] * counts.sum()
    return (
        stats.chisquare(counts[possible], expected * (counts.sum() / expected.sum())).pvalue > ALPHA
    )


def drawn(seed=1, *, n_rows=N_ROWS, stratified=False):
    return synthesize(
        TREE, JOINTS, DOMAIN, n_rows, np.random.default_rng(seed), stratified=stratified
    )


def nudged(joint):
    """A slightly different joint: every other cell a twentieth up, the others down."""
    tilted = joint * np.where(np.arange(joint.size) % 2, 1.05, 0.95).reshape(joint.shape)
    return tilted / tilted.sum()


# ---- the law


@pytest.mark.parametrize("place", range(len(TREE.cliques)))
def test_records_follow_every_clique_joint(place):
    counts = counted(drawn(), TREE.cliques[place])
    assert fits(counts, JOINTS[place])
    assert not fits(counts, nudged(JOINTS[place]))


def test_cliques_are_independent_given_their_separator():
    """P(012, 3) = P(012) P(3 given 1)."""
    counts = counted(drawn(), (0, 1, 2, 3))
    first, second = (JOINTS[TREE.cliques.index(clique)] for clique in ((0, 1, 2), (1, 3)))
    expected = np.einsum("abc,bd->abcd", first, second / second.sum(axis=1, keepdims=True))
    assert fits(counts, expected)
    assert not fits(counts, nudged(expected))


def test_components_are_independent_of_each_other():
    counts = counted(drawn(), (0, 4))
    left = JOINTS[TREE.cliques.index((0, 1, 2))].sum(axis=(1, 2))
    right = JOINTS[TREE.cliques.index((4, 5))].sum(axis=1)
    assert fits(counts, np.multiply.outer(left, right))
    assert not fits(counts, nudged(np.multiply.outer(left, right)))


@pytest.mark.parametrize("stratified", [False, True])
def test_a_cell_of_probability_zero_is_never_drawn(stratified):
    joint = np.zeros((50, 40))
    joint[::7, 3::9] = np.random.default_rng(2).random(joint[::7, 3::9].shape)
    joint /= joint.sum()
    tree = JunctionTree(((0, 1), (1, 2)), (None, 0))
    turned = joint.T.copy()
    synthetic = synthesize(
        tree,
        [joint, turned],
        domain_of((50, 40, 50)),
        100_000,
        np.random.default_rng(3),
        stratified=stratified,
    )
    assert not counted(synthetic, (0, 1))[joint == 0].any()
    assert not counted(synthetic, (1, 2))[turned == 0].any()


class Constant(np.random.Generator):
    """Draws the same number again and again."""

    number = 0.0

    def random(self, size=None):
        return np.full(size, self.number)


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
def test_an_extreme_number_stays_in_the_row_of_its_separator(number):
    """Forbids adding the row to the number without care: 39,998 + 0.99... rounds up into the next row."""
    tree = JunctionTree(((0, 1), (0, 1, 2)), (None, 0))
    root = np.zeros((200, 200))
    root[199, 198] = 1
    child = np.zeros((200, 200, 3))
    child[..., 1] = 1 / 40_000
    rng = Constant(np.random.PCG64(0))
    rng.number = number
    synthetic = synthesize(tree, [root, child], domain_of((200, 200, 3)), 5, rng)
    assert synthetic.codes.tolist() == [[199, 198, 1]] * 5


def test_an_impossible_separator_value_is_followed_by_the_marginal():
    root = np.array([[0.0, 0.5], [0.0, 0.5]])
    child = np.array([[0.2, 0.6, 0.2], [0.0, 0.0, 0.0]])
    synthetic = synthesize(
        JunctionTree(((0, 1), (1, 2)), (None, 0)),
        [root, child],
        domain_of((2, 2, 3)),
        N_ROWS,
        np.random.default_rng(4),
    )
    assert fits(counted(synthetic, (2,)), np.array([0.2, 0.6, 0.2]))
    assert set(synthetic.column("a1").tolist()) == {1}


# ---- stratified


def error(synthetic):
    """The largest distance between a clique's frequencies and its joint, in variation."""
    pairs = zip(TREE.cliques, JOINTS, strict=True)
    return max(
        float(np.abs(counted(synthetic, clique) / len(synthetic) - joint).sum()) / 2
        for clique, joint in pairs
    )


def test_stratified_records_are_nearer_to_the_joints():
    plain = [error(drawn(seed, n_rows=5_000)) for seed in range(10)]
    even = [error(drawn(seed, n_rows=5_000, stratified=True)) for seed in range(10)]
    assert max(even) < min(plain) / 2


def test_stratified_counts_of_the_first_clique_are_within_one_of_those_expected():
    counts = counted(drawn(n_rows=5_000, stratified=True), TREE.cliques[0])
    assert np.abs(counts - 5_000 * JOINTS[0]).max() < 1


def test_stratified_records_have_the_stated_joint_on_average():
    """A single record of each of many seeds is an independent draw."""
    tree, joint = JunctionTree(((0, 1), (1, 2)), (None, 0)), np.array([[0.1, 0.2], [0.3, 0.4]])
    other = np.array([[0.1, 0.3], [0.45, 0.15]])
    small = domain_of((2, 2, 2))
    rng = np.random.default_rng(6)
    rows = [
        synthesize(tree, [joint, other], small, 3, rng, stratified=True).codes[0]
        for _ in range(5_000)
    ]
    counts = np.bincount(np.ravel_multi_index(tuple(np.array(rows).T), (2, 2, 2)), minlength=8)
    expected = np.einsum("ab,bc->abc", joint, other / other.sum(axis=1, keepdims=True)).reshape(-1)
    assert fits(counts, expected)
    assert not fits(counts, expected[::-1].copy())


def test_stratified_cliques_are_independent_given_their_separator():
    """Forbids leaving the records of a separator value in the order in which the parent was drawn."""
    counts = counted(drawn(stratified=True), (0, 1, 2, 3))
    first, second = (JOINTS[TREE.cliques.index(clique)] for clique in ((0, 1, 2), (1, 3)))
    expected = np.einsum("abc,bd->abcd", first, second / second.sum(axis=1, keepdims=True))
    assert fits(counts, expected)
    assert not fits(counts, nudged(expected))


@pytest.mark.parametrize("stratified", [False, True])
def test_the_first_rows_are_a_fair_sample(stratified):
    part = drawn(stratified=stratified)[: N_ROWS // 4]
    for clique, joint in zip(TREE.cliques, JOINTS, strict=True):
        assert fits(counted(part, clique), joint)


# ---- reproducible, and careful at the door


@pytest.mark.parametrize("stratified", [False, True])
def test_one_seed_gives_one_table(stratified):
    first, again, other = (drawn(seed, n_rows=1_000, stratified=stratified) for seed in (1, 1, 2))
    assert np.array_equal(first.codes, again.codes)
    assert not np.array_equal(first.codes, other.codes)


@pytest.mark.parametrize("stratified", [False, True])
def test_one_row_can_be_drawn(stratified):
    assert drawn(n_rows=1, stratified=stratified).codes.shape == (1, 6)


@pytest.mark.parametrize("n_rows", [0, -3])
def test_rows_must_be_at_least_one(n_rows):
    with pytest.raises(DomainError, match=f"rows must be at least 1, got {n_rows}"):
        drawn(n_rows=n_rows)


def refused(words, *, tree=TREE, joints=JOINTS, domain=DOMAIN):
    with pytest.raises(DomainError, match=words):
        synthesize(tree, joints, domain, 10, np.random.default_rng(0))


def test_the_tree_must_cover_the_domain():
    refused("must cover the domain's 7 attributes and no other", domain=domain_of((*SIZES, 2)))
    refused("must cover the domain's 5 attributes and no other", domain=domain_of(SIZES[:-1]))


def test_there_must_be_one_joint_a_clique():
    refused("joints must be one a clique, 3, got 2", joints=JOINTS[:-1])


def test_a_joint_must_have_the_shape_of_its_clique():
    refused(
        r"joint 1 must have shape \(4, 5\), got \(5, 4\)",
        joints=[JOINTS[0], JOINTS[1].T, JOINTS[2]],
    )


@pytest.mark.parametrize("wrong", [2.0, np.nan])
def test_a_joint_must_sum_to_one(wrong):
    refused("joint 2 must not be negative and sum to 1", joints=[*JOINTS[:2], JOINTS[2] * wrong])


def test_a_joint_must_not_be_negative():
    bent = JOINTS[0].copy()
    bent[0, 0, 0], bent[1, 1, 1] = -0.1, bent[1, 1, 1] + bent[0, 0, 0] + 0.1
    refused("joint 0 must not be negative", joints=[bent, *JOINTS[1:]])


# ---- blocks and columns


@pytest.mark.parametrize("stratified", [False, True])
def test_records_do_not_depend_on_how_many_are_drawn_at_once(stratified, monkeypatch):
    whole = drawn(n_rows=1_000, stratified=stratified)
    monkeypatch.setattr("lopub.synthesis.synthesis.BLOCK", 77)
    np.testing.assert_array_equal(drawn(n_rows=1_000, stratified=stratified).codes, whole.codes)


def test_columns_may_have_another_order_than_the_cliques():
    turned = Domain(DOMAIN.attributes[::-1])
    table = synthesize(TREE, JOINTS, DOMAIN, 500, np.random.default_rng(1), columns=turned)
    assert table.domain == turned
    np.testing.assert_array_equal(table.codes[:, ::-1], drawn(n_rows=500).codes)
