"""Triangulation and junction trees: valid on any graph, the same in any order, never past the cap."""

import math
import os
import subprocess
import sys
import time
from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lopub.errors import DomainError
from lopub.synthesis import junction
from lopub.synthesis.junction import GrowingGraph, JunctionTree, capped, junction_tree, triangulated
from tiers import FULL

PAPER_EDGES = [(0, 1), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]
"""The paper's figure, attributes counted from 0; the sixth stands alone."""


@st.composite
def graphs(draw, most_attributes=10):
    """Sizes of attributes, and edges in any order."""
    sizes = draw(st.lists(st.integers(2, 5), min_size=2, max_size=most_attributes))
    pairs = st.sampled_from(list(combinations(range(len(sizes)), 2)))
    return sizes, draw(st.lists(pairs, unique=True, max_size=len(sizes) * 3))


def covered(cliques):
    """The graph whose cliques these are."""
    graph = nx.Graph()
    for clique in cliques:
        graph.add_nodes_from(clique)
        graph.add_edges_from(combinations(clique, 2))
    return graph


def assert_valid(tree, sizes, edges):
    """A junction tree of a chordal graph that holds these edges; the tree checks running intersection itself."""
    graph = covered(tree.cliques)
    assert set(graph) == set(range(len(sizes)))
    assert all(graph.has_edge(*edge) for edge in edges)
    assert nx.is_chordal(graph)
    assert {frozenset(clique) for clique in tree.cliques} == set(nx.chordal_graph_cliques(graph))
    JunctionTree(tree.cliques, tree.parents)
    assert {frozenset(part) for part in tree.components} == {
        frozenset(part) for part in nx.connected_components(graph)
    }


# ---- triangulation


def test_the_papers_figure_has_the_papers_cliques():
    assert triangulated([2] * 6, PAPER_EDGES) == ((0, 1), (1, 2, 4), (1, 3, 4), (5,))


def test_the_papers_figure_has_the_papers_separators():
    tree = junction_tree([2] * 6, PAPER_EDGES)
    assert sorted(tree.separators) == [(), (), (1,), (1, 4)]
    assert tree.components == ((0, 1, 2, 3, 4), (5,))


def test_no_edges_make_every_attribute_its_own_clique():
    tree = junction_tree([2, 3, 4], [])
    assert tree == JunctionTree(((0,), (1,), (2,)), (None, None, None))
    assert tree.most_cells([2, 3, 4]) == 4


def test_all_edges_make_one_clique():
    assert triangulated([2] * 5, combinations(range(5), 2)) == ((0, 1, 2, 3, 4),)


@pytest.mark.parametrize("n", [4, 5, 9])
def test_a_cycle_is_cut_into_triangles(n):
    cliques = triangulated([2] * n, [*pairwise(range(n)), (0, n - 1)])
    assert [len(clique) for clique in cliques] == [3] * (n - 2)


def test_a_tie_in_fill_goes_to_fewer_cells():
    assert triangulated([9, 2, 9, 2], [(0, 1), (1, 2), (2, 3), (0, 3)]) == ((0, 1, 3), (1, 2, 3))
    assert triangulated([2, 9, 2, 9], [(0, 1), (1, 2), (2, 3), (0, 3)]) == ((0, 1, 2), (0, 2, 3))


@given(graphs())
def test_junction_trees_are_valid_on_random_graphs(graph):
    sizes, edges = graph
    assert_valid(junction_tree(sizes, edges), sizes, edges)


@given(graphs())
def test_a_chordal_graph_gets_no_edge_more(graph):
    sizes, edges = graph
    chordal = covered(triangulated(sizes, edges))
    again = covered(triangulated(sizes, chordal.edges))
    assert nx.utils.graphs_equal(
        nx.Graph(sorted(map(sorted, again.edges))), nx.Graph(sorted(map(sorted, chordal.edges)))
    )


@given(graphs(), st.randoms())
def test_the_tree_does_not_depend_on_the_order_of_edges(graph, random):
    sizes, edges = graph
    turned = [
        edge[::-1] if random.random() < 0.5 else edge for edge in random.sample(edges, len(edges))
    ]
    assert junction_tree(sizes, turned) == junction_tree(sizes, edges)


@given(graphs())
def test_the_tree_has_the_largest_separators_of_all_trees(graph):
    sizes, edges = graph
    tree = junction_tree(sizes, edges)
    links = nx.Graph()
    links.add_nodes_from(tree.cliques)
    links.add_weighted_edges_from(
        (a, b, len(set(a) & set(b))) for a, b in combinations(tree.cliques, 2)
    )
    best = nx.maximum_spanning_tree(links).size(weight="weight")
    assert sum(map(len, tree.separators)) == best


def test_of_equal_separators_the_one_with_more_cells_goes_first():
    edges = [(0, 1), (0, 2), (1, 3)]
    assert junction_tree([2, 5, 2, 2], edges) == JunctionTree(
        ((0, 1), (1, 3), (0, 2)), (None, 0, 0)
    )
    assert junction_tree([5, 2, 2, 2], edges) == JunctionTree(
        ((0, 1), (0, 2), (1, 3)), (None, 0, 0)
    )


@pytest.mark.parametrize("edge", [(0, 0), (-1, 1), (1, 3)])
def test_an_edge_must_join_two_attributes_that_are_there(edge):
    with pytest.raises(DomainError, match=rf"positions 0 to 2, got {edge[0]} and {edge[1]}"):
        junction_tree([2, 2, 2], [edge])


# ---- the tree checks itself


@pytest.mark.parametrize(
    ("cliques", "parents", "words"),
    [
        ((), (), "needs a parent or None a clique"),
        (((0,),), (None, None), "got 2 for 1"),
        (((),), (None,), "clique 0 must be ascending"),
        (((1, 0),), (None,), "clique 0 must be ascending"),
        (((0, 0),), (None,), "clique 0 must be ascending"),
        (((-1, 0),), (None,), "clique 0 must be ascending"),
        (((0, 1), (1, 2)), (None, 1), "the parent of clique 1 must stand before it, got 1"),
        (((0, 1), (1, 2)), (1, None), "the parent of clique 0 must stand before it, got 1"),
        (((0, 1), (2, 3)), (None, 0), "clique 1 shares no attribute with its parent 0"),
        (
            ((0, 1), (1, 2), (2, 3)),
            (None, 0, 0),
            "clique 2 shares attributes with earlier cliques that its parent 0",
        ),
        (
            ((0, 1), (1, 2)),
            (None, None),
            "clique 1 shares attributes with earlier cliques that its parent None",
        ),
        (((0, 1, 2), (1, 2)), (None, 0), "clique 1 adds no attribute"),
    ],
)
def test_a_tree_that_does_not_hold_together_is_refused(cliques, parents, words):
    with pytest.raises(DomainError, match=words):
        JunctionTree(cliques, parents)


# ---- growing


@settings(max_examples=300 if FULL else 50)
@given(graphs(), st.integers(25, 400))
def test_a_growing_graph_is_always_a_valid_tree_within_its_cap(graph, most_cells):
    sizes, edges = graph
    growing = GrowingGraph(sizes, most_cells)
    for edge in edges:
        before = growing.tree()
        fits = growing.offer(*edge)
        tree = growing.tree()
        assert tree.most_cells(sizes) <= most_cells
        assert fits or tree == before
        assert_valid(tree, sizes, growing.edges)
    assert sorted(growing.edges + growing.refused) == sorted(edges)


@given(graphs())
def test_without_a_cap_that_binds_every_edge_is_taken(graph):
    sizes, edges = graph
    growing = GrowingGraph(sizes, math.prod(sizes))
    assert all(growing.offer(*edge) for edge in edges)
    assert growing.edges == tuple(edges)
    assert growing.refused == ()


@given(graphs(), st.integers(25, 100))
def test_an_edge_between_components_always_fits(graph, most_cells):
    sizes, edges = graph
    growing = GrowingGraph(sizes, most_cells)
    for a, b in edges:
        apart = not any(a in part and b in part for part in growing.tree().components)
        assert growing.offer(a, b) or not apart


def test_a_bridge_fits_where_min_fill_from_scratch_would_pass_the_cap(monkeypatch):
    """Forbids refusing a bridge, or taking a triangulation past the cap, because min-fill happened to be unlucky."""
    growing = GrowingGraph([2] * 8, 8)
    for a, b in [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7)]:
        assert growing.offer(a, b)
    lucky, caps = junction._elimination, []

    def unlucky_once(remainder, most_cells=math.inf):
        caps.append(most_cells)
        return lucky(remainder, most_cells) if len(caps) > 1 else []

    monkeypatch.setattr(junction, "_elimination", unlucky_once)
    assert growing.offer(3, 4)
    assert caps == [8, math.inf]
    monkeypatch.undo()
    assert growing.tree().most_cells([2] * 8) == 8
    assert_valid(growing.tree(), [2] * 8, growing.edges)
    assert growing.offer(2, 5)


def test_an_edge_that_is_there_fits_without_being_listed_twice():
    growing = GrowingGraph([2, 2], 4)
    assert growing.offer(0, 1)
    assert growing.offer(1, 0)
    assert growing.edges == ((0, 1),)


def test_an_edge_inside_a_clique_outlives_the_fill_that_made_the_clique():
    """Forbids taking an edge for granted because some fill-in covers it: a later elimination may go another way."""
    sizes = [2, 2, 2, 2, 2, 2]
    growing = GrowingGraph(sizes, 16)
    for edge in [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (0, 4), (4, 2), (0, 5), (5, 2)]:
        growing.offer(*edge)
        assert_valid(growing.tree(), sizes, growing.edges)


def test_a_pair_larger_than_the_cap_is_refused():
    growing = GrowingGraph([5, 5, 2], 20)
    assert not growing.offer(0, 1)
    assert growing.offer(1, 2)
    assert growing.refused == ((0, 1),)


def test_a_cap_below_the_largest_attribute_is_refused():
    with pytest.raises(
        DomainError,
        match="most_cells must be at least 7, the candidates of the largest of 3 attributes, got 6",
    ):
        GrowingGraph([2, 7, 3], 6)


def test_capped_drops_the_weakest_edge_of_a_triangle():
    graph = capped([3, 3, 3], {(0, 1): 0.2, (2, 1): 0.3, (0, 2): 0.1}, most_cells=9)
    assert graph.edges == ((1, 2), (0, 1))
    assert graph.refused == ((0, 2),)


def test_capped_does_not_depend_on_the_order_of_equal_edges():
    edges = list(combinations(range(6), 2))
    forth = capped([2] * 6, dict.fromkeys(edges, 1.0), most_cells=8)
    back = capped([2] * 6, dict.fromkeys(reversed(edges), 1.0), most_cells=8)
    assert forth.tree() == back.tree()
    assert forth.refused == back.refused


# ---- order and speed

HASHED = """
from itertools import combinations
from random import Random
from lopub.synthesis.junction import capped, junction_tree
random = Random(5)
edges = random.sample(list(combinations(range(30), 2)), 90)
sizes = [random.randint(2, 6) for _ in range(30)]
print(junction_tree(sizes, frozenset(edges)))
graph = capped(sizes, {edge: random.random() for edge in edges}, most_cells=500)
print(graph.edges, graph.refused, graph.tree())
"""


def test_no_result_depends_on_the_hash_seed():
    def printed(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, "-c", HASHED], env=environment, check=True, capture_output=True
        ).stdout

    assert printed("1") == printed("2") != b""


@pytest.mark.full
def test_two_hundred_attributes_take_a_thousand_offers_in_seconds():
    """A band wide enough for a busy machine; alone it takes about a second."""
    pairs = sorted(
        combinations(range(200), 2), key=lambda pair: (pair[0] * 7919 + pair[1] * 104729) % 99991
    )[:1000]
    started = time.process_time()
    growing = GrowingGraph([2] * 200, 2**15)
    for pair in pairs:
        growing.offer(*pair)
    assert growing.tree().most_cells([2] * 200) <= 2**15
    assert time.process_time() - started < 20
