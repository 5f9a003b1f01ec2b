"""Which attributes depend on each other: the paper's threshold and pruning by hand, and the held-out gain."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopub.errors import DomainError
from lopub.estimation.joint import product_of
from lopub.synthesis.dependence import (
    FALSE_SHARE,
    LEAST_GAIN,
    DependencyGraph,
    Pruning,
    check_phi,
    entropy,
    gain_graph,
    mutual_information,
    pairs_to_check,
    paper_graph,
    threshold,
)

COPIED = np.eye(2) / 2
"""Two attributes that are always equal: log 2 nats of mutual information."""
INDEPENDENT = np.full((2, 2), 0.25)
OFTEN_EQUAL = np.array([[0.4, 0.1], [0.1, 0.4]])


def spread_over(n_likely: int, n_candidates: int) -> np.ndarray:
    """A marginal of entropy log n_likely."""
    return np.repeat([1 / n_likely, 0.0], [n_likely, n_candidates - n_likely])


# ---- the paper's formulas


def test_entropy_of_equal_candidates_is_the_logarithm_of_their_number():
    assert entropy(spread_over(4, 9)) == pytest.approx(math.log(4))


def test_mutual_information_of_a_copy_is_its_entropy():
    assert mutual_information(COPIED) == pytest.approx(math.log(2))


def test_mutual_information_by_hand():
    by_hand = 2 * 0.4 * math.log(0.4 / 0.25) + 2 * 0.1 * math.log(0.1 / 0.25)
    assert mutual_information(OFTEN_EQUAL) == pytest.approx(by_hand)


def test_mutual_information_of_three_by_two_by_hand():
    joint = np.array([[0.3, 0.0], [0.1, 0.2], [0.1, 0.3]])
    rows, columns = (0.3, 0.3, 0.4), (0.5, 0.5)
    cells = [
        (joint[a, b], rows[a] * columns[b]) for a in range(3) for b in range(2) if joint[a, b] > 0
    ]
    assert mutual_information(joint) == pytest.approx(sum(p * math.log(p / q) for p, q in cells))


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any))
def test_mutual_information_is_never_negative(counts: list[int]):
    """Without the clip, rounding makes independent attributes a little less than independent."""
    assert mutual_information(np.array(counts).reshape(2, 3) / sum(counts)) >= 0


@pytest.mark.parametrize(
    ("size", "other", "phi", "tau"),
    [(2, 2, 0.2, 0.02), (3, 7, 0.3, 0.09), (7, 3, 0.3, 0.09), (16, 41, 0.5, 1.875), (2, 9, 0, 0)],
)
def test_threshold_by_hand(size: int, other: int, phi: float, tau: float):
    assert threshold(size, other, phi) == pytest.approx(tau)


# ---- Algorithm 4


@pytest.mark.parametrize("phi", [-0.01, 1.01, math.nan, math.inf])
def test_phi_outside_zero_to_one_is_refused(phi: float):
    with pytest.raises(DomainError, match=rf"^phi must lie in 0\.\.1, got {phi:g}$"):
        check_phi(phi)


@pytest.mark.parametrize("asked", ["pairs_to_check", "paper_graph", "kept"])
def test_every_door_checks_phi(asked: str):
    doors = {
        "pairs_to_check": lambda: pairs_to_check([COPIED[0]] * 2, 2),
        "paper_graph": lambda: paper_graph((2, 2), {(0, 1): COPIED}, 2),
        "kept": lambda: Pruning().kept([COPIED[0]] * 2, 2),
    }
    with pytest.raises(DomainError, match=r"phi must lie in 0\.\.1, got 2"):
        doors[asked]()


def test_a_phi_of_zero_joins_all_pairs():
    joints = dict.fromkeys(combinations(range(4), 2), INDEPENDENT)
    assert set(paper_graph((2,) * 4, joints, 0).edges) == set(joints)


def test_a_phi_of_one_joins_only_what_nearly_determines_each_other():
    joints = {(0, 1): COPIED, (0, 2): OFTEN_EQUAL, (1, 2): INDEPENDENT}
    assert paper_graph((2, 2, 2), joints, 1).edges == ((0, 1),)


def test_mutual_information_at_the_threshold_is_enough():
    phi = math.sqrt(2 * mutual_information(OFTEN_EQUAL))
    assert paper_graph((2, 2), {(0, 1): OFTEN_EQUAL}, phi * (1 - 1e-9)).edges == ((0, 1),)
    assert paper_graph((2, 2), {(0, 1): OFTEN_EQUAL}, phi * (1 + 1e-9)).edges == ()


def test_edges_come_strongest_first_whatever_the_order_of_the_joints():
    joints = {
        (0, 1): INDEPENDENT,
        (0, 2): OFTEN_EQUAL,
        (0, 3): COPIED,
        (1, 2): COPIED,
        (1, 3): OFTEN_EQUAL,
    }
    for given_joints in (joints, dict(reversed(joints.items()))):
        graph = paper_graph((2,) * 4, given_joints, 0)
        assert graph.edges == ((0, 3), (1, 2), (0, 2), (1, 3), (0, 1))


def test_a_graph_tells_how_strong_every_pair_is():
    graph = paper_graph((2, 2, 2), {(0, 1): COPIED, (0, 2): OFTEN_EQUAL, (1, 2): INDEPENDENT}, 0.5)
    assert graph.measure == "mutual information"
    assert dict(graph.strengths) == pytest.approx(
        {(0, 1): math.log(2), (0, 2): mutual_information(OFTEN_EQUAL), (1, 2): 0.0}
    )


# ---- Algorithm 5: entropy pruning


@pytest.mark.parametrize(
    ("phi", "kept", "pairs"),
    [(0.1, 14, 91), (0.2, 12, 66), (0.3, 11, 55), (0.4, 9, 36), (0.5, 8, 28)],
)
def test_half_up_gives_the_papers_number_of_pairs_on_adult(phi: float, kept: int, pairs: int):
    """Adult has 15 attributes; 15 * 0.7 is 10.5 in decimals but 10.499... or 10.5 in floats, 15 * 0.9 is 13.5."""
    marginals = [spread_over(1 + i % 2, 2) for i in range(15)]
    assert len(Pruning(rounding="half_up").kept(marginals, phi)) == kept
    assert len(pairs_to_check(marginals, phi, Pruning(rounding="half_up"))) == pairs


@pytest.mark.parametrize(
    ("phi", "kept"), [(0.0, 15), (0.1, 13), (0.2, 12), (0.3, 10), (0.4, 9), (0.5, 7), (1.0, 0)]
)
def test_floor_keeps_as_many_as_the_algorithm_says(phi: float, kept: int):
    assert len(Pruning(rounding="floor").kept([spread_over(1, 2)] * 15, phi)) == kept


@pytest.mark.parametrize("rounding", ["half_up", "floor"])
def test_whole_numbers_are_not_lost_to_floats(rounding: str):
    """10 * (1 - 0.7) is 3.0000000000000004 and 10 * (1 - 0.9) is 0.9999999999999998."""
    kept = [
        len(Pruning(rounding=rounding).kept([spread_over(1, 2)] * 10, tenths / 10))
        for tenths in range(11)
    ]
    assert kept == list(range(10, -1, -1))


def test_looking_for_dependence_keeps_the_most_entropy():
    marginals = [spread_over(n, 5) for n in (3, 1, 5, 2, 4)]
    assert Pruning(find="dependence").kept(marginals, 0.4) == (0, 2, 4)


def test_looking_for_independence_keeps_the_least_entropy():
    marginals = [spread_over(n, 5) for n in (3, 1, 5, 2, 4)]
    assert Pruning(find="independence").kept(marginals, 0.4) == (0, 1, 3)


def test_entropy_per_candidate_ranks_small_domains_higher():
    marginals = [spread_over(2, 2), spread_over(8, 64), spread_over(4, 8)]
    assert Pruning(rank="entropy").kept(marginals, 1 / 3) == (1, 2)
    assert Pruning(rank="entropy_per_candidate").kept(marginals, 1 / 3) == (0, 2)


def test_attributes_of_equal_entropy_are_kept_in_order():
    marginals = [spread_over(2, 2)] * 4
    for find in ("dependence", "independence"):
        assert Pruning(find=find).kept(marginals, 0.5) == (0, 1)


def test_without_pruning_all_pairs_are_looked_at():
    assert pairs_to_check([spread_over(2, 2)] * 3, 0.5) == [(0, 1), (0, 2), (1, 2)]


def test_pairs_that_a_search_for_dependence_skips_are_independent():
    pruning = Pruning(find="dependence")
    graph = paper_graph((2,) * 4, {(0, 1): COPIED}, 0.5, pruning)
    assert graph.edges == ((0, 1),)


def test_pairs_that_a_search_for_independence_skips_are_dependent_and_come_last():
    pruning = Pruning(find="independence")
    joints = {(1, 2): OFTEN_EQUAL, (1, 3): INDEPENDENT, (2, 3): COPIED}
    graph = paper_graph((2,) * 4, joints, 0.5, pruning)
    assert graph.edges == ((2, 3), (1, 2), (0, 1), (0, 2), (0, 3))


def test_pairs_saved_are_those_that_were_not_estimated():
    marginals = [spread_over(1 + i % 2, 2) for i in range(15)]
    wanted = pairs_to_check(marginals, 0.3, Pruning())
    graph = paper_graph((2,) * 15, dict.fromkeys(wanted, INDEPENDENT), 0.3, Pruning())
    assert (graph.n_pairs, graph.n_saved) == (105, 105 - 55)


def test_a_search_that_looks_at_everything_saves_nothing():
    joints = dict.fromkeys(combinations(range(3), 2), INDEPENDENT)
    assert paper_graph((2,) * 3, joints, 0.5).n_saved == 0


@pytest.mark.parametrize("phi", [0.0, 1.0])
def test_pruning_at_the_ends_of_phi_looks_at_everything_or_nothing(phi: float):
    marginals = [spread_over(2, 2)] * 5
    assert len(pairs_to_check(marginals, phi, Pruning())) == (10 if phi == 0 else 0)


def test_pruning_everything_while_looking_for_independence_leaves_all_edges():
    graph = paper_graph((2,) * 3, {}, 1, Pruning(find="independence"))
    assert graph.edges == ((0, 1), (0, 2), (1, 2)) and graph.n_saved == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"find": "nothing"}, "find must be dependence or independence, got 'nothing'"),
        ({"rank": "size"}, "rank must be entropy or entropy_per_candidate, got 'size'"),
        ({"rounding": "up"}, "rounding must be half_up or floor, got 'up'"),
    ],
)
def test_a_pruning_that_cannot_be_is_refused_with_one_sentence(options: dict[str, str], words: str):
    with pytest.raises(DomainError, match=f"^{words}$"):
        Pruning(**options)


# ---- held-out gain


def test_three_nats_of_gain_make_an_edge():
    gains = {(0, 1): 2.999, (0, 2): 3.0, (1, 2): 40.0}
    assert LEAST_GAIN == 3
    assert gain_graph(3, gains) == DependencyGraph(3, "held-out gain", ((1, 2), (0, 2)), gains, 3.0)


def test_more_gain_is_asked_of_few_pairs_among_many():
    """A fixed threshold of 3 nats would let about one in a hundred independent pairs through: thousands among a thousand
    attributes."""
    pairs = list(combinations(range(100), 2))
    gains = dict.fromkeys(pairs, 0.0) | {(0, 1): 20.0, (0, 2): 7.0}
    graph = gain_graph(100, gains)
    assert graph.edges == ((0, 1),)
    assert graph.least == pytest.approx(np.log(4950 / FALSE_SHARE))


def test_where_much_depends_three_nats_suffice():
    gains = {pair: 3.0 if rank % 2 else 0.0 for rank, pair in enumerate(combinations(range(20), 2))}
    graph = gain_graph(20, gains)
    assert len(graph.edges) == 95 and graph.least == 3


def test_the_largest_gains_that_reach_their_bound_together_are_taken():
    """Two gains of log(45 / 0.6) count together, where either alone would have to reach log(45 / 0.3)."""
    both = np.log(45 / (2 * FALSE_SHARE)) + 1e-9
    gains = dict.fromkeys(combinations(range(10), 2), 0.0)
    assert gain_graph(10, gains | {(0, 1): both}).edges == ()
    assert gain_graph(10, gains | {(0, 1): both, (2, 3): both}).edges == ((0, 1), (2, 3))


def test_equal_gains_are_ordered_by_position():
    gains = dict.fromkeys(reversed(list(combinations(range(4), 2))), 7.0)
    assert gain_graph(4, gains).edges == tuple(combinations(range(4), 2))


def test_no_gain_makes_no_edge():
    graph = gain_graph(3, dict.fromkeys(combinations(range(3), 2), 0.0))
    assert graph.edges == () and graph.n_saved == 0


def test_a_product_of_marginals_has_no_mutual_information():
    rng = np.random.default_rng(1)
    for sizes in ((2, 2), (5, 3), (16, 41)):
        assert (
            mutual_information(product_of([rng.dirichlet(np.ones(size)) for size in sizes])) < 1e-12
        )
