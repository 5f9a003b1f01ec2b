"""From reports to a synthetic table: every mechanism and view, the same whatever the order, and close to the truth."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    DomainError,
    Fill,
    Listed,
    NeedsReports,
    ReportBatch,
    Sample,
    Terms,
    TooFewReports,
    count,
    make_campaign,
    simulate,
)
from lopub.bulk.packed import Packed
from lopub.estimation.joint import JointDistribution
from lopub.estimation.maxent import margin_of
from lopub.publication import Publication, publish
from lopub.reports.counts import Counts, Table
from lopub.synthesis.cliques import _with_margin, given_model, tree_model
from lopub.synthesis.dependence import LEAST_GAIN, Pruning
from lopub.synthesis.junction import junction_tree

SIZES = {"work": 3, "age": 4, "home": 2, "car": 3, "luck": 2}
"""Not in the order of their names."""
DOMAIN = Domain(
    tuple(
        Categorical(name=name, values=tuple(f"{name[0]}{k}" for k in range(n)))
        for name, n in SIZES.items()
    )
)
LISTED = Listed.of(
    DOMAIN, [(("work", "age"), 1), (("home", "car", "luck"), 2), (("work", "age", "home"), 1)]
)
WISHES = {
    "bloom-all": CampaignRequest(flip_probability=0.5, n_bits=16, n_hashes=2),
    "bloom-sample": CampaignRequest(flip_probability=0.5, n_bits=16, n_hashes=2, view=Sample(2)),
    "unary-symmetric-all": CampaignRequest(
        flip_probability=0.4, mechanism="unary", view=AllAttributes()
    ),
    "unary-sample": CampaignRequest(epsilon=8, mechanism="unary", view=Sample(2), jointly=False),
    "subset-sample": CampaignRequest(epsilon=6, mechanism="subset", view=Sample(2), jointly=False),
    "direct-sample": CampaignRequest(epsilon=6, mechanism="direct", view=Sample(2), jointly=False),
    "direct-listed": CampaignRequest(epsilon=6, mechanism="direct", view=LISTED, jointly=False),
    "direct-fill-jointly": CampaignRequest(epsilon=5, mechanism="direct", view=Fill(24)),
    "direct-all-jointly": CampaignRequest(
        epsilon=5, mechanism="direct", view=AllAttributes(), jointly=True
    ),
    "direct-listed-jointly": CampaignRequest(
        epsilon=5, mechanism="direct", view=LISTED, jointly=True
    ),
    "subset-sample-jointly": CampaignRequest(epsilon=4, mechanism="subset", view=Sample(2)),
    "unary-all-jointly": CampaignRequest(
        epsilon=5, mechanism="unary", view=AllAttributes(), jointly=True
    ),
    "bloom-jointly": CampaignRequest(
        epsilon=4, mechanism="bloom", n_bits=24, n_hashes=2, view=Sample(2), jointly=True
    ),
}
WAYS = [
    pytest.param(
        family,
        structure,
        marks=pytest.mark.full
        if structure == "paper"
        and family not in ("bloom-all", "direct-fill-jointly", "subset-sample-jointly")
        else (),
    )
    for family in WISHES
    for structure in ("calibrated", "paper")
]
N = 3000
PLACE = {name: place for place, name in enumerate(sorted(SIZES))}
"""Attributes count in the order of their names."""
DEPENDENT = [("work", "age"), ("work", "home"), ("age", "car")]


def people(n: int = N, *, copied: float = 0.8, seed: int = 7) -> Dataset:
    """Age and home follow work, car follows age; luck depends on nothing."""
    rng = np.random.default_rng(seed)

    def following(base: np.ndarray, size: int) -> np.ndarray:
        return np.where(rng.random(n) < copied, base % size, rng.integers(0, size, n))

    work = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    age = following(work, 4)
    columns = {
        "work": work,
        "age": age,
        "home": following(work, 2),
        "car": following(age, 3),
        "luck": rng.integers(0, 2, n),
    }
    return Dataset(DOMAIN, np.stack([columns[name] for name in SIZES], axis=1))


def campaign_of(family: str, domain: Domain = DOMAIN) -> Campaign:
    return make_campaign(domain, Terms(name="test"), WISHES[family])


@cache
def batch_of(family: str, copied: float = 0.8) -> ReportBatch:
    return simulate(people(copied=copied), campaign_of(family), seed=1)


@cache
def capped(family: str, structure: str) -> Publication:
    """With a cap that makes several cliques of what belongs together."""
    degree = {"phi": 0.1} if structure == "paper" else {}
    return publish(batch_of(family), structure=structure, rows=300, most_cells=30, **degree)


@cache
def in_both_orders(family: str) -> tuple[Publication, Publication]:
    """Of the same answers with the columns in one order and in another."""
    one, other = both_orders(family)
    return publish(one, most_cells=40), publish(other, most_cells=40)


def some_of(dataset: Dataset, *names: str) -> Dataset:
    positions = dataset.domain.positions(names)
    domain = Domain(tuple(dataset.domain.attributes[position] for position in positions))
    return Dataset(domain, dataset.codes[:, list(positions)])


def asked_directly(dataset: Dataset, epsilon: float = 6) -> ReportBatch:
    """All attributes of everybody, as one cell."""
    wish = CampaignRequest(epsilon=epsilon, mechanism="direct", view=AllAttributes(), jointly=True)
    return simulate(dataset, make_campaign(dataset.domain, Terms(name="test"), wish), seed=1)


def edge(*names: str) -> tuple[int, int]:
    low, high = sorted(PLACE[name] for name in names)
    return low, high


def avd(one: Dataset, other: Dataset, names: tuple[str, ...]) -> float:
    return float(np.abs(one.counts(names) / len(one) - other.counts(names) / len(other)).sum() / 2)


def modelled(publication: Publication) -> tuple[object, ...]:
    """All that was estimated before any table was drawn, to the last bit."""
    pairs = [(pair, publication.pairs[pair].to_csv()) for pair in sorted(publication.pairs)]
    joints = [joint.tobytes() for joint in publication.model.joints]
    marginals = [marginal.to_csv() for marginal in publication.marginals]
    return (
        marginals,
        pairs,
        publication.graph,
        publication.dropped,
        publication.model.tree,
        joints,
        publication.model.misfits,
    )


def separators_agree(publication: Publication) -> bool:
    tree, joints = publication.model.tree, publication.model.joints
    for place, parent in enumerate(tree.parents):
        if parent is not None:
            ends = [
                margin_of(
                    joints[at], tuple(tree.cliques[at].index(p) for p in tree.separators[place])
                )
                for at in (place, parent)
            ]
            if np.abs(ends[0] - ends[1]).max() > 1e-9:
                return False
    return True


def has_running_intersection(publication: Publication) -> bool:
    """A forest is a junction tree where every attribute is in one clique more than in separators."""
    tree = publication.model.tree
    return all(
        sum(place in clique for clique in tree.cliques)
        - sum(place in separator for separator in tree.separators)
        == 1
        for place in range(len(publication.names))
    )


# ---- every mechanism, view and structure


@pytest.mark.parametrize(("family", "structure"), WAYS)
def test_the_table_has_the_campaigns_columns_and_values(family: str, structure: str):
    synthetic = capped(family, structure).synthetic
    assert synthetic.domain == DOMAIN and len(synthetic) == 300
    assert set(synthetic.to_arrow()["home"].to_pylist()) == {"h0", "h1"}


@pytest.mark.parametrize(("family", "structure"), WAYS)
def test_edges_and_cliques_hold_together(family: str, structure: str):
    publication = capped(family, structure)
    cliques, kept = (
        publication.model.tree.cliques,
        set(publication.graph.edges) - set(publication.dropped),
    )
    assert has_running_intersection(publication)
    assert set(publication.dropped) <= set(publication.graph.edges)
    assert all(any(set(pair) <= set(clique) for clique in cliques) for pair in kept)
    assert max(joint.size for joint in publication.model.joints) <= 30


@pytest.mark.parametrize(("family", "structure"), WAYS)
def test_neighbouring_cliques_agree_on_what_they_share(family: str, structure: str):
    publication = capped(family, structure)
    assert separators_agree(publication)
    for joint in publication.model.joints:
        assert joint.sum() == pytest.approx(1, abs=1e-9) and joint.min() >= 0


@pytest.mark.parametrize("structure", ["calibrated", "paper"])
def test_a_cap_makes_cliques_that_share_attributes(structure: str):
    """Without separators the tests above would hold of anything."""
    assert any(capped("bloom-all", structure).model.tree.separators)
    assert capped("bloom-all", structure).dropped


@pytest.mark.parametrize("method", ["em", "product", "lasso", "hybrid"])
def test_the_papers_structure_takes_every_method_that_knows_cliques(method: str):
    publication = publish(batch_of("bloom-all"), structure="paper", method=method, rows=100)
    assert len(publication.synthetic) == 100 and separators_agree(publication)


def test_moments_know_no_more_than_pairs_and_cliques_say_what_those_imply():
    publication = publish(batch_of("bloom-all"), structure="paper", method="moments", phi=0)
    assert max(len(clique) for clique in publication.model.tree.cliques) > 2
    assert not any(publication.model.refined)


def test_moments_publish_where_the_cap_allows_pairs_only():
    publication = publish(batch_of("bloom-all"), structure="paper", method="moments", most_cells=12)
    assert max(len(clique) for clique in publication.model.tree.cliques) == 2


@pytest.mark.parametrize("family", WISHES)
def test_an_attribute_that_depends_on_nothing_gets_no_edge(family: str):
    assert PLACE["luck"] not in {
        place for pair in capped(family, "calibrated").graph.edges for place in pair
    }


@pytest.mark.parametrize("family", [family for family in WISHES if "listed" not in family])
def test_strong_dependence_is_found(family: str):
    assert {edge(*pair) for pair in DEPENDENT} <= set(capped(family, "calibrated").graph.edges)


@pytest.mark.parametrize(
    ("family", "structure"),
    [
        ("bloom-all", "paper"),
        ("direct-fill-jointly", "calibrated"),
        ("subset-sample-jointly", "calibrated"),
        *(
            pytest.param(*way, marks=pytest.mark.full)
            for way in (
                ("bloom-all", "calibrated"),
                ("direct-fill-jointly", "paper"),
                ("subset-sample-jointly", "paper"),
                ("unary-all-jointly", "calibrated"),
                ("unary-all-jointly", "paper"),
            )
        ),
    ],
)
def test_dependent_pairs_are_far_better_than_their_product(family: str, structure: str):
    truth, synthetic = people(), publish(batch_of(family), structure=structure).synthetic
    for pair in DEPENDENT:
        marginals = [truth.counts((name,)) / len(truth) for name in pair]
        product = np.abs(np.multiply.outer(*marginals) - truth.counts(pair) / len(truth)).sum() / 2
        assert avd(truth, synthetic, pair) < product / 2


def test_ends_of_a_chain_depend_on_each_other_through_its_middle():
    """Home and car have no edge of their own, and still are as dependent as in truth."""
    publication = publish(asked_directly(people()), rows=20_000, most_cells=12)
    truth = people()
    assert edge("home", "car") not in set(publication.graph.edges) - set(publication.dropped)
    assert avd(truth, publication.synthetic, ("home", "car")) < 0.05


# ---- structure


def test_independent_attributes_are_cliques_of_their_own():
    publication = publish(batch_of("direct-fill-jointly", copied=0.0), rows=100)
    assert publication.graph.edges == () and publication.dropped == ()
    assert publication.model.tree.cliques == ((0,), (1,), (2,), (3,), (4,))
    assert publication.model.misfits == (0.0,) * 5


def test_a_phi_of_zero_makes_one_clique_of_everything():
    publication = publish(batch_of("direct-all-jointly"), structure="paper", phi=0, rows=100)
    assert len(publication.graph.edges) == 10 and publication.dropped == ()
    assert publication.model.tree.cliques == ((0, 1, 2, 3, 4),)


@pytest.mark.parametrize(
    "most_cells", [12, 143, 144, *(pytest.param(n, marks=pytest.mark.full) for n in (24, 50))]
)
def test_all_edges_stay_within_the_cap(most_cells: int):
    publication = publish(
        batch_of("direct-all-jointly"), structure="paper", phi=0, rows=100, most_cells=most_cells
    )
    assert max(joint.size for joint in publication.model.joints) <= most_cells
    assert bool(publication.dropped) == (most_cells < 144)


def test_dropped_edges_are_told_strongest_first():
    publication = publish(
        batch_of("direct-all-jointly"), structure="paper", phi=0, rows=10, most_cells=12
    )
    strengths = [publication.graph.strengths[pair] for pair in publication.dropped]
    assert len(strengths) > 2 and strengths == sorted(strengths, reverse=True)


def test_no_dropped_edge_is_stronger_than_all_that_were_kept():
    publication = publish(
        batch_of("direct-all-jointly"), structure="paper", phi=0, rows=10, most_cells=12
    )
    assert publication.graph.edges[0] not in publication.dropped


def test_a_cap_smaller_than_any_pair_leaves_single_attributes():
    batch = asked_directly(some_of(people(), "work", "age", "car"))
    for structure in ("calibrated", "paper"):
        publication = publish(batch, structure=structure, most_cells=4, rows=100)
        assert publication.model.tree.cliques == ((0,), (1,), (2,))
        assert publication.dropped == publication.graph.edges != ()


def test_a_cap_smaller_than_an_attribute_is_refused_with_both_numbers():
    with pytest.raises(
        DomainError,
        match="most_cells must be at least 4, the candidates of the largest of 5 attributes, got 3",
    ):
        publish(batch_of("direct-fill-jointly"), most_cells=3)


@pytest.mark.parametrize("find", ["dependence", "independence"])
def test_pruning_saves_pairs_and_still_makes_a_table(find: str):
    publication = publish(
        batch_of("bloom-all"), structure="paper", phi=0.4, pruning=Pruning(find=find), rows=100
    )
    assert publication.graph.n_saved == 10 - 3
    assert set(publication.pairs) == set(publication.graph.strengths)
    assert (len(publication.graph.edges) >= 7) == (find == "independence")


def test_a_campaign_of_one_attribute_is_published():
    publication = publish(asked_directly(some_of(people(), "age")), rows=1000)
    assert publication.pairs == {} and publication.model.tree.cliques == ((0,),)
    assert avd(people(), publication.synthetic, ("age",)) < 0.05


def test_pairs_that_contradict_each_other_have_their_misfit_told():
    agree, differ = np.array([[0.48, 0.02], [0.02, 0.48]]), np.array([[0.02, 0.48], [0.48, 0.02]])
    tree = junction_tree((2, 2, 2), [(0, 1), (0, 2), (1, 2)])
    model = tree_model(tree, [np.full(2, 0.5)] * 3, {(0, 1): agree, (0, 2): agree, (1, 2): differ})
    assert model.misfits[0] > 0.2
    assert model.joints[0].sum() == pytest.approx(1)


def test_neighbours_that_contradict_each_other_are_brought_together():
    """Two triangles on one separator; each says something else about it."""
    rng = np.random.default_rng(1)
    tree = junction_tree((2, 3, 3, 2), [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    pairs = {pair: rng.dirichlet(np.ones(s)).reshape(-1, t) for pair, s, t in
             [((0, 1), 6, 3), ((0, 2), 6, 3), ((1, 2), 9, 3), ((1, 3), 6, 2), ((2, 3), 6, 2)]}  # fmt: skip
    model = tree_model(tree, [np.full(n, 1 / n) for n in (2, 3, 3, 2)], pairs)
    first, second = (margin_of(joint, tuple(clique.index(p) for p in (1, 2))) for clique, joint in
                     zip(tree.cliques, model.joints, strict=True))  # fmt: skip
    np.testing.assert_allclose(first, second, atol=1e-9)
    assert max(model.misfits) > 0.01


def test_consistent_pairs_are_kept_to_the_last_clique():
    """Pairs of one distribution along a chain with a triangle: reconciling must not spoil what agrees already."""
    whole = np.random.default_rng(2).dirichlet(np.ones(36)).reshape(2, 3, 3, 2)
    edges = [(0, 1), (0, 2), (1, 2), (2, 3)]
    tree = junction_tree(whole.shape, edges)
    model = tree_model(
        tree,
        [margin_of(whole, (p,)) for p in range(4)],
        {pair: margin_of(whole, pair) for pair in edges},
    )
    assert max(model.misfits) < 1e-4
    assert model.refined == (False, False)


# ---- joints that are estimated as a whole


def test_the_papers_joints_follow_their_parents_separator():
    tree = junction_tree((2, 2, 2), [(0, 1), (1, 2)])
    parent, child = np.array([[0.3, 0.2], [0.1, 0.4]]), np.array([[0.25, 0.25], [0.1, 0.4]])
    model = given_model(tree, [parent, child])
    np.testing.assert_allclose(model.joints[0], parent)
    np.testing.assert_allclose(model.joints[1], [[0.2, 0.2], [0.12, 0.48]])
    assert model.misfits == pytest.approx((0.0, 0.1))


def test_a_separator_value_that_a_clique_holds_impossible_is_followed_by_its_marginal():
    moved = _with_margin(np.array([[0.0, 0.0], [0.3, 0.7]]), (0,), np.array([0.4, 0.6]))
    np.testing.assert_allclose(moved, [[0.12, 0.28], [0.18, 0.42]])


def test_a_separator_value_that_is_next_to_impossible_does_no_harm():
    """EM halves a cell's logarithm again and again, down to denormal numbers; dividing by one is infinite."""
    moved = _with_margin(np.array([[5e-324, 0.0], [0.3, 0.7]]), (0,), np.array([0.4, 0.6]))
    np.testing.assert_allclose(moved.sum(axis=1), [0.4, 0.6])


def three_way(n: int = 20_000) -> Dataset:
    """Each two of three bits are a little alike, and their parity is mostly even, which no pair can tell."""
    rng = np.random.default_rng(3)
    cells = np.array([0.34, 0.02, 0.02, 0.20, 0.02, 0.20, 0.20, 0.0])
    codes = np.stack(np.unravel_index(rng.choice(8, n, p=cells / cells.sum()), (2, 2, 2)), axis=1)
    return Dataset(
        Domain(tuple(Categorical(name=name, values=("no", "yes")) for name in "cab")), codes
    )


def test_a_clique_says_more_than_its_pairs_where_reports_prefer_it():
    truth = three_way()
    publication = publish(asked_directly(truth, epsilon=3))
    assert publication.model.tree.cliques == ((0, 1, 2),) and publication.model.refined == (True,)
    assert avd(truth, publication.synthetic, ("a", "b", "c")) < 0.03


def test_bits_that_cover_a_clique_refine_it_too():
    wish = CampaignRequest(flip_probability=0.4, mechanism="unary", view=AllAttributes())
    truth = three_way()
    publication = publish(
        simulate(truth, make_campaign(truth.domain, Terms(name="test"), wish), seed=1)
    )
    assert publication.model.refined == (True,)
    assert avd(truth, publication.synthetic, ("a", "b", "c")) < 0.05


def test_counts_know_pairs_only_and_refine_nothing():
    truth = three_way()
    publication = publish(count(asked_directly(truth, epsilon=3)))
    assert publication.model.tree.cliques == ((0, 1, 2),) and publication.model.refined == (False,)
    assert avd(truth, publication.synthetic, ("a", "b", "c")) > 0.1
    assert avd(truth, publication.synthetic, ("a", "b")) < 0.03


@pytest.mark.parametrize(
    ("family", "method"), [("subset-sample-jointly", "em"), ("bloom-all", "product")]
)
def test_the_papers_joint_says_more_than_pairs_only_where_reports_do(family: str, method: str):
    publication = publish(batch_of(family), structure="paper", method=method, phi=0, rows=10)
    assert not any(publication.model.refined)


# ---- whatever the order


@pytest.mark.parametrize("family", ["bloom-sample", "subset-sample-jointly", "direct-fill-jointly"])
def test_the_order_of_reports_does_not_change_a_byte(family: str):
    batch = batch_of(family)
    one, other = publish(batch), publish(batch[np.random.default_rng(5).permutation(len(batch))])
    assert modelled(one) == modelled(other)
    np.testing.assert_array_equal(one.synthetic.codes, other.synthetic.codes)


def test_the_same_seed_gives_the_same_table():
    one, other = (
        publish(batch_of("direct-fill-jointly"), seed=3).synthetic.codes for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)


def test_another_seed_gives_another_table_of_the_same_model():
    one, other = (publish(batch_of("direct-fill-jointly"), seed=seed) for seed in (3, 4))
    assert modelled(one) == modelled(other)
    assert (one.synthetic.codes != other.synthetic.codes).any(axis=1).mean() > 0.5


each_order = pytest.mark.parametrize(
    "family",
    [
        "bloom-all",
        "direct-fill-jointly",
        *(
            pytest.param(n, marks=pytest.mark.full)
            for n in ("direct-sample", "direct-listed-jointly")
        ),
    ],
)
ORDER = ("luck", "car", "work", "home", "age")
"""The columns of the same table in another order."""


def reordered_domain() -> Domain:
    return Domain(tuple(DOMAIN[name] for name in ORDER))


def reordered_counts(counts: Counts) -> Counts:
    """What the same answers would be as counts of a campaign with its columns in another order."""
    place = {DOMAIN.position(name): at for at, name in enumerate(ORDER)}
    tables = {}
    for (part, noise), table in counts.tables.items():
        moved = tuple(place[position] for position in part)
        axes = (0, *(1 + at for at in np.argsort(moved)))
        tables[tuple(sorted(moved)), noise] = Table(
            table.n_reports, np.transpose(table.counts, axes)
        )
    campaign = Campaign(**{**vars_of(counts.campaign), "domain": reordered_domain()})
    return Counts(campaign=campaign, n_reports=len(counts), tables=dict(sorted(tables.items())))


def vars_of(campaign: Campaign) -> dict[str, object]:
    return {
        name: getattr(campaign, name)
        for name in ("domain", "mechanism", "view", "jointly", "terms")
    }


def reordered_filters(batch: ReportBatch) -> ReportBatch:
    """The same reports with their Bloom filters, two bytes each, in another order; filters know names, not places."""
    campaign = Campaign(**{**vars_of(batch.campaign), "domain": reordered_domain()})
    filters = batch.payloads.data.reshape(len(batch), len(SIZES), 2)[
        :, list(DOMAIN.positions(ORDER))
    ]
    return replace(
        batch, campaign=campaign, payloads=Packed.from_matrix(filters.reshape(len(batch), -1))
    )


def both_orders(family: str) -> tuple[ReportBatch | Counts, ReportBatch | Counts]:
    batch = batch_of(family)
    return (
        (batch, reordered_filters(batch))
        if family == "bloom-all"
        else (count(batch), reordered_counts(count(batch)))
    )


@each_order
def test_the_structure_does_not_depend_on_the_order_of_columns(family: str):
    one, other = in_both_orders(family)
    assert one.names == other.names == tuple(sorted(SIZES))
    assert one.graph.edges == other.graph.edges and len(one.graph.edges) > 3
    assert one.dropped == other.dropped
    assert one.model.tree == other.model.tree
    assert one.model.refined == other.model.refined


@each_order
def test_the_estimates_do_not_depend_on_the_order_of_columns(family: str):
    """But for rounding: sums are taken in another order."""
    one, other = in_both_orders(family)
    for mine, theirs in zip(one.marginals, other.marginals, strict=True):
        np.testing.assert_allclose(mine.probabilities, theirs.probabilities, atol=1e-5)
    for pair in one.pairs:
        np.testing.assert_allclose(
            one.pairs[pair].probabilities, other.pairs[pair].probabilities, atol=1e-4
        )


@pytest.mark.parametrize("family", ["bloom-all", "direct-fill-jointly"])
def test_the_table_does_not_depend_on_the_order_of_columns(family: str):
    """The same people but for those on the edge of a cell, with the campaign's columns."""
    one, other = (publication.synthetic for publication in in_both_orders(family))
    assert other.domain.names == ORDER
    same = one.codes[:, list(DOMAIN.positions(ORDER))] == other.codes
    assert same.all(axis=1).mean() > 0.99


def said(publication: Publication) -> dict[frozenset[tuple[str, str]], tuple[int, float]]:
    """Of each answer, or two, as many reports as said so, and as many as the model expects."""
    rows = [
        (zip(row.attributes, row.said.split(", "), strict=True), row) for row in publication.fit
    ]
    return {frozenset(answers): (row.observed, row.predicted) for answers, row in rows}


@pytest.mark.parametrize(
    "family", [pytest.param("direct-sample", marks=pytest.mark.full), "direct-fill-jointly"]
)
def test_the_fit_does_not_depend_on_the_order_of_columns(family: str):
    one, other = map(said, in_both_orders(family))
    assert one.keys() == other.keys()
    for answers, (observed, predicted) in one.items():
        assert other[answers] == (observed, pytest.approx(predicted, abs=2))


@pytest.mark.parametrize(
    "settings", [{}, {"structure": "paper", "phi": 0.1}], ids=["calibrated", "paper"]
)
def test_public_margins_give_the_same_whatever_the_order_of_columns(settings: dict[str, object]):
    attributes = (DOMAIN["work"], DOMAIN["car"])
    known = JointDistribution(attributes, people().counts(("work", "car")) / N)
    one, other = (
        publish(data, margins=[known], most_cells=40, **settings)
        for data in both_orders("direct-fill-jointly")
    )
    assert one.graph.edges == other.graph.edges and one.model.tree == other.model.tree
    for mine, theirs in zip(one.model.joints, other.model.joints, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.parametrize("family", ["direct-fill-jointly", "direct-sample"])
def test_the_default_cap_does_not_depend_on_the_order_of_columns(family: str):
    one, other = (publish(data, rows=10).most_cells for data in both_orders(family))
    assert one == other


# ---- from counts


@pytest.mark.parametrize(
    "family", ["direct-sample", "direct-fill-jointly", "direct-listed-jointly"]
)
def test_counts_of_direct_answers_publish_what_their_reports_do(family: str):
    reports, counts = (
        capped(family, "calibrated"),
        publish(count(batch_of(family)), rows=300, most_cells=30),
    )
    assert not any(reports.model.refined)
    assert modelled(reports) == modelled(counts)
    np.testing.assert_array_equal(reports.synthetic.codes, counts.synthetic.codes)


@pytest.mark.parametrize("family", ["direct-fill-jointly", "direct-all-jointly", "direct-sample"])
def test_counts_of_direct_answers_have_their_reports_cap(family: str):
    assert (
        publish(count(batch_of(family)), rows=10).most_cells
        == publish(batch_of(family), rows=10).most_cells
    )


def test_counts_of_bits_say_that_they_are_not_enough():
    with pytest.raises(
        NeedsReports, match="counts of bits are published with structure paper and method moments"
    ):
        publish(count(batch_of("bloom-all")))


def test_slots_are_those_of_the_reports():
    batch = batch_of("direct-fill-jointly")
    publication = publish(batch, rows=10)
    assert (publication.first_slot, publication.last_slot) == (
        int(batch.slots.min()),
        int(batch.slots.max()),
    )


def test_counts_that_do_not_tell_their_slots_are_published_without():
    publication = publish(replace(count(batch_of("direct-fill-jointly")), slots=None), rows=10)
    assert (publication.first_slot, publication.last_slot) == (None, None)


# ---- rows and progress


@pytest.mark.parametrize("rows", [1, 2, 77])
def test_the_table_has_as_many_rows_as_asked_for(rows: int):
    assert len(publish(batch_of("direct-fill-jointly"), rows=rows).synthetic) == rows


def test_unless_asked_for_there_are_as_many_rows_as_reports():
    assert len(publish(batch_of("direct-fill-jointly")).synthetic) == N


def test_progress_goes_through_the_stages_in_order():
    told: list[tuple[str, int, int | None]] = []
    publish(batch_of("direct-fill-jointly"), rows=10, progress=lambda *step: told.append(step))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages[:3] == ["estimating pairs", "fitting cliques", "synthesizing"]
    assert all(total is not None and n <= total for _, n, total in told)
    for stage in stages[:2]:
        n, total = [(n, total) for name, n, total in told if name == stage][-1]
        assert n == total


# ---- bad input


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"phi": -0.1}, r"phi must lie in 0\.\.1, got -0.1"),
        ({"phi": 1.5}, r"phi must lie in 0\.\.1, got 1.5"),
        ({"structure": "tree"}, "structure must be one of calibrated, paper, got 'tree'"),
        (
            {"method": "magic", "structure": "paper"},
            "method must be one of shrunk, em, .*, got 'magic'",
        ),
        (
            {"method": "em"},
            "structure calibrated scores edges by held-out gain, which only method shrunk has, not em; use",
        ),
        ({"pruning": Pruning()}, "pruning is a part of structure paper"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
        ({"rows": -5}, "rows must be at least 1, got -5"),
        ({"most_cells": 2**24 + 1}, "most_cells must be at most 16,777,216, got 16,777,217"),
        ({"most_cells": 0}, "most_cells must be at least 4, .* got 0"),
        ({"seed": -1}, "seed must not be negative, got -1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_one_sentence(
    settings: dict[str, object], words: str
):
    with pytest.raises(DomainError, match=f"^{words}"):
        publish(batch_of("direct-fill-jointly"), **settings)


def test_no_reports_publish_nothing():
    with pytest.raises(TooFewReports, match="there are no reports"):
        publish(batch_of("direct-fill-jointly")[:0])


def test_an_attribute_that_nobody_reported_is_named():
    view = Listed.of(DOMAIN, [(("work", "age"), 1)])
    campaign = make_campaign(
        DOMAIN, Terms(name="x"), CampaignRequest(epsilon=3, mechanism="direct", view=view)
    )
    with pytest.raises(TooFewReports, match="no report covers attribute 'home'"):
        publish(simulate(people(100), campaign, seed=1))


def test_fewer_reports_than_min_reports_publish_nothing():
    campaign = make_campaign(
        DOMAIN, Terms(name="x", min_reports=500), WISHES["direct-fill-jointly"]
    )
    with pytest.raises(
        TooFewReports, match="at least 500 reports before anything is estimated; there are 120"
    ):
        publish(simulate(people(120), campaign, seed=1))


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.full), 10])
@pytest.mark.parametrize("family", ["bloom-all", "direct-fill-jointly", "unary-all-jointly"])
def test_a_handful_of_reports_is_published_without_dependence(family: str, n: int):
    batch = simulate(people(n), campaign_of(family), seed=1)
    if len({position for view in batch.views for position in view}) == len(DOMAIN):
        publication = publish(batch, rows=5)
        assert all(strength < LEAST_GAIN for strength in publication.graph.strengths.values())


def test_every_pair_has_a_strength():
    publication = publish(batch_of("direct-listed"), rows=10)
    assert set(publication.graph.strengths) == set(combinations(range(5), 2))


def test_answers_without_noise_are_published_as_they_are():
    """A keep that is rounded to 1 would divide nothing by nothing."""
    domain = Domain((Categorical(name="who", values=tuple(f"p{i}" for i in range(24))),))
    campaign = make_campaign(
        domain, Terms(name="exact", min_reports=1), CampaignRequest(epsilon=200, mechanism="direct")
    )
    people = Dataset(domain, np.arange(3)[:, None])
    publication = publish(simulate(people, campaign, seed=1))
    assert sorted(publication.synthetic.codes[:, 0].tolist()) == [0, 1, 2]
