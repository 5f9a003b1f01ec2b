"""Joints and marginals from counts of views' bits: the formulas, and that more reports come nearer to the truth."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Fill,
    IntegerRange,
    Listed,
    Sample,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.bulk.folds import N_FOLDS
from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import Clique
from lopub.campaign.views import ViewRule
from lopub.estimation.evidence import Evidence
from lopub.estimation.joint import product_of
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.pseudo_counts import PseudoCounts, averaged
from lopub.estimation.root_kernels import likeliest_cells
from lopub.estimation.shrunk import shrunk
from lopub.estimation.view_counts import ViewCounts, interaction, plain_share, reading, table_of
from lopub.publication.stages import publish
from lopub.queries import Study
from lopub.reports.counts import Counts, Table

SIZES = (2, 3, 4, 3)
DOMAIN = Domain(
    tuple(
        Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
        for i, size in enumerate(SIZES)
    )
)
VIEWS: dict[str, ViewRule] = {
    "pairs": Sample(2),
    "threes": Sample(3),
    "fill": Fill(12),
    "all": AllAttributes(),
    "listed": Listed.of(
        DOMAIN, [(("a0", "a1"), 2), (("a1", "a2", "a3"), 2), (("a0",), 1), (("a0", "a3"), 1)]
    ),
}
MECHANISMS = {
    "subset": CampaignRequest(epsilon=2, mechanism="subset"),
    "optimized": CampaignRequest(epsilon=2, mechanism="unary"),
    "symmetric": CampaignRequest(flip_probability=0.5, mechanism="unary"),
    "hashed": CampaignRequest(epsilon=2, mechanism="hashed"),
}


def truth() -> np.ndarray:
    """A chain of dependent attributes."""
    rng = np.random.default_rng(8)
    links = [rng.dirichlet(np.full(size, 0.7), before) for before, size in pairwise(SIZES)]
    return np.einsum("a,ab,bc,cd->abcd", np.array([0.7, 0.3]), *links)


def marginal_of(joint: np.ndarray, part: Clique) -> np.ndarray:
    return np.asarray(joint.sum(axis=tuple(axis for axis in range(len(SIZES)) if axis not in part)))


def campaign_of(mechanism: str, view: str) -> Campaign:
    wish = MECHANISMS[mechanism]
    return make_campaign(
        DOMAIN,
        Terms(name="t"),
        CampaignRequest(
            epsilon=wish.epsilon,
            flip_probability=wish.flip_probability,
            mechanism=wish.mechanism,
            view=VIEWS[view],
            jointly=True,
        ),
    )


def drawn_counts(campaign: Campaign, joint: np.ndarray, n: int, seed: int) -> Counts:
    """Counts as n reports would give them, drawn bit by bit: each bit's ones have their own binomial."""
    rng, tables, total = np.random.default_rng(seed), {}, 0
    views = view_law(campaign.view).chances(SIZES, 1000)
    assert views is not None
    for view, chance in views.items():
        law, shares = campaign.channels(view)[0].law(), marginal_of(joint, view).reshape(-1)
        reports = np.full(N_FOLDS, int(n * chance / N_FOLDS))
        means = float(law.q) + float(law.p - law.q) * shares
        ones = rng.binomial(reports[:, None], means[None, :])
        tables[view, 0] = Table(
            int(reports.sum()), np.concatenate([reports[:, None], ones], axis=1)
        )
        total += int(reports.sum())
    return Counts(campaign=campaign, n_reports=total, tables=dict(sorted(tables.items())))


def error(study: Study, cliques: list[Clique]) -> float:
    return float(
        np.mean([study.joint_of(clique).avd(marginal_of(truth(), clique)) for clique in cliques])
    )


# ---- the formula


@pytest.mark.parametrize("strength", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("offset", [0.03, 2.0])
def test_the_likeliest_cells_are_those_that_a_search_finds(strength: float, offset: float) -> None:
    rng = np.random.default_rng(3)
    prior = rng.dirichlet(np.ones(7))
    counts = rng.poisson(200 * (rng.dirichlet(np.full(7, 0.5)) + offset)).astype(float)
    counts[0] = 0.2 * 200 * offset  # far fewer than noise alone shows: the cell is empty
    pseudo, cells = strength * 200 * prior, np.empty(7)
    likeliest_cells(counts, offset, pseudo, cells)

    def objective(roots: np.ndarray) -> float:
        joint = roots**2 / (roots**2).sum()
        return -float(
            (counts * np.log(joint + offset)).sum() + (pseudo * np.log(joint + 1e-300)).sum()
        )

    starts = [np.sqrt(prior), np.sqrt(cells + 1e-3), np.full(7, 0.4)]
    best = min(
        minimize(objective, start, method="BFGS", options={"gtol": 1e-9}).fun for start in starts
    )
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(1, abs=1e-12)
    assert objective(np.sqrt(cells)) <= best + 1e-6
    assert objective(np.sqrt(cells)) >= best - 1e-3


def test_counts_below_zero_only_say_that_a_cell_is_empty() -> None:
    counts, pseudo, cells = np.array([-0.5, 10.0, 30.0]), np.array([1.0, 1.0, 1.0]), np.empty(3)
    likeliest_cells(counts, 0.1, pseudo, cells)
    less = np.empty(3)
    likeliest_cells(np.array([-5.0, 10.0, 30.0]), 0.1, pseudo, less)
    assert 0 < less[0] < cells[0] < 0.1
    assert cells.sum() == pytest.approx(1, abs=1e-12)
    likeliest_cells(counts, 0.1, np.zeros(3), cells)
    assert cells[0] == 0


def test_a_subset_of_one_is_direct() -> None:
    """The same counts, and the same chance to keep a cell, so the same likelihood."""
    people = Dataset(DOMAIN, np.random.default_rng(1).integers(0, SIZES, (3000, 4)))
    wish = CampaignRequest(epsilon=6, mechanism="subset", view=Sample(2), jointly=True)
    campaign = make_campaign(DOMAIN, Terms(name="t"), wish)
    assert all(campaign.channels(view)[0].n_ones == 1 for view in campaign.view.views(SIZES))
    counts = count(simulate(people, campaign, seed=2))
    (part,) = ViewCounts(counts).parts((1, 2))
    assert isinstance(part, PseudoCounts)
    np.testing.assert_allclose(
        part.counts[:, 0], counts.tables[(1, 2), 0].counts[:, 1:], rtol=1e-9, atol=1e-9
    )
    law = campaign.channels((1, 2))[0].law()
    assert part.keeps[0] == pytest.approx(float(law.p - law.q), rel=1e-12)
    direct = KeptCell(part.axes, part.shape, np.rint(part.counts).astype(np.int64), part.keeps)
    joint = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(3, 4)
    assert part.log_likelihood(joint) == pytest.approx(direct.log_likelihood(joint), rel=1e-12)
    np.testing.assert_allclose(part.information(joint), direct.information(joint), rtol=1e-9)


@pytest.mark.slow
def test_pseudo_counts_have_equal_mean_and_variance() -> None:
    campaign = campaign_of("subset", "pairs")
    people = np.random.default_rng(4)
    chances, seen = truth().reshape(-1), []
    for seed in range(150):
        codes = np.stack(
            np.unravel_index(people.choice(len(chances), 1500, p=chances), SIZES), axis=1
        )
        (part,) = ViewCounts(count(simulate(Dataset(DOMAIN, codes), campaign, seed=seed))).parts(
            (1, 2)
        )
        assert isinstance(part, PseudoCounts)
        seen.append(part.counts.sum(axis=(0, 1)) / part.n_reports)
    n = 1500 / 6
    ratios = np.var(seen, axis=0, ddof=1) * n / np.mean(seen, axis=0)
    assert abs(ratios.mean() - 1) < 0.25


def test_averaging_takes_the_prior_where_reports_say_nothing_else() -> None:
    prior = np.array([0.7, 0.3])
    counts = np.tile(100 * (prior + 0.5), (N_FOLDS, 1, 1))
    part = PseudoCounts(
        (0,), (2,), counts, np.array([1 / (1 + 2 * 0.5)]), np.full(N_FOLDS, 100), 500.0
    )
    found = averaged(part, prior)
    np.testing.assert_allclose(found.joint, prior, atol=1e-9)
    assert found.gain == pytest.approx(0, abs=1e-9)


# ---- what is read off wider views


def test_a_clique_in_a_wider_view_is_its_plain_sum_where_interactions_are_strong() -> None:
    campaign = campaign_of("subset", "threes")
    counts = drawn_counts(campaign, truth(), 60_000, 1)
    table = table_of(campaign, (0, 1, 2), counts.tables[(0, 1, 2), 0])
    marginals = {position: marginal_of(truth(), (position,)) for position in range(4)}
    plain = reading(table, (0, 2), marginals, np.inf)
    np.testing.assert_allclose(
        plain.sums.sum(axis=0) / table.n_reports, table.shares.sum(axis=1).reshape(-1)
    )
    assert plain.alpha == pytest.approx(3 * table.alpha)
    assert plain.beta == pytest.approx(table.beta)
    strong = reading(table, (0, 2), marginals, 1e9)
    np.testing.assert_allclose(strong.sums, plain.sums, rtol=1e-5, atol=1e-3)


def test_a_clique_in_a_wider_view_is_less_noisy_where_there_are_no_interactions() -> None:
    campaign = campaign_of("subset", "threes")
    independent = product_of([marginal_of(truth(), (position,)) for position in range(4)])
    counts = drawn_counts(campaign, independent, 60_000, 1)
    table = table_of(campaign, (0, 1, 2), counts.tables[(0, 1, 2), 0])
    marginals = {position: marginal_of(truth(), (position,)) for position in range(4)}
    assert (
        reading(table, (0,), marginals, 0.0).alpha
        < 0.8 * reading(table, (0,), marginals, np.inf).alpha
    )
    assert interaction(table, marginals) < 0.005
    dependent = drawn_counts(campaign, truth(), 10**8, 1)
    of_dependent = table_of(campaign, (0, 1, 2), dependent.tables[(0, 1, 2), 0])
    assert interaction(of_dependent, marginals) > 0.03


def test_a_weighted_reading_gives_way_to_the_plain_one_by_what_noise_does_not_explain() -> None:
    keeps, reports = np.array([0.5]), np.full(1, 100)
    plain, same = (
        PseudoCounts((0,), (2,), np.array([[[60.0, 40.0]]]), keeps, reports, scale)
        for scale in (50.0, 100.0)
    )
    np.testing.assert_allclose(plain.shares, [0.7, 0.3])
    np.testing.assert_allclose(plain.variances, [60 / 50**2, 40 / 50**2])
    assert plain_share(plain, plain) == 1  # nothing to explain the difference by, and none
    assert (
        plain_share(
            PseudoCounts((0,), (2,), np.array([[[120.0, 80.0]]]), keeps, reports, 100.0), plain
        )
        == 0
    )
    difference = (plain.shares - same.shares) @ (plain.shares - same.shares)
    noise = (plain.variances - same.variances).sum()
    assert plain_share(same, plain) == pytest.approx(1 - noise / difference)
    assert 0 < plain_share(same, plain) < 1


def test_cells_of_which_nothing_is_said_are_all_alike() -> None:
    cells = np.empty(4)
    likeliest_cells(np.array([-1.0, 0.0, -2.0, 0.0]), 0.5, np.zeros(4), cells)
    np.testing.assert_array_equal(cells, 0.25)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_more_reports_come_nearer_to_the_truth(mechanism: str, view: str) -> None:
    """A hundred times the reports, a tenth of the error; up to 10^7."""
    campaign = campaign_of(mechanism, view)
    cliques = [
        clique
        for clique in [*combinations(range(4), 1), *combinations(range(4), 2)]
        if covered(campaign, clique)
    ]
    few, many = (
        np.mean([error(Study(drawn_counts(campaign, truth(), n, s)), cliques) for s in (1, 2)])
        for n in (10**5, 10**7)
    )
    assert many < 0.2 * few
    assert many < 0.012


def covered(campaign: Campaign, clique: Clique) -> bool:
    views = view_law(campaign.view).chances(SIZES, 1000)
    assert views is not None
    return any(set(clique) <= set(view) for view in views)


def test_marginals_of_very_many_reports_are_no_worse_than_row_sums() -> None:
    study = Study(drawn_counts(campaign_of("subset", "pairs"), truth(), 10**8, 3))
    truths = {position: marginal_of(truth(), (position,)) for position in range(4)}
    ours = np.mean(
        [np.abs(study.marginal(position) - truths[position]).sum() for position in truths]
    )
    sums = np.mean(
        [
            np.abs(study._basis.moments.marginal(position) - truths[position]).sum()
            for position in truths
        ]
    )
    assert ours < 1.1 * sums


def test_three_attributes_of_a_view_go_to_the_truth() -> None:
    study = Study(drawn_counts(campaign_of("optimized", "threes"), truth(), 10**7, 3))
    assert study.joint_of((0, 1, 3)).avd(marginal_of(truth(), (0, 1, 3))) < 0.03


def test_a_clique_that_only_narrower_views_touch_is_read_off_all_of_them() -> None:
    evidence = Evidence(
        (2, 3, 4),
        tuple(
            ViewCounts(drawn_counts(campaign_of("subset", "pairs"), truth(), 10**5, 1)).parts(
                (0, 1, 2)
            )
        ),
    )
    assert sorted(part.axes for part in evidence.parts) == [(0, 1), (0, 2), (1, 2)]
    uniform = [np.full(size, 1 / size) for size in (2, 3, 4)]
    assert shrunk(evidence, uniform).gain > 10


# ---- counts and reports


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reports_and_their_counts_give_the_same(mechanism: str) -> None:
    people = Dataset(DOMAIN, np.random.default_rng(1).integers(0, SIZES, (2000, 4)))
    batch = simulate(people, campaign_of(mechanism, "pairs"), seed=2)
    reports, counts = Study(batch), Study(count(batch[:1000]) + count(batch[1000:]))
    for clique in [(0,), (1, 2)]:
        one, other = reports.joint_of(clique), counts.joint_of(clique)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        np.testing.assert_array_equal(one.standard_errors, other.standard_errors)  # type: ignore[arg-type]
        assert one.fit == other.fit


def test_a_publication_of_counts_is_that_of_their_reports() -> None:
    people = Dataset(DOMAIN, np.random.default_rng(1).integers(0, SIZES, (2000, 4)))
    batch = simulate(people, campaign_of("subset", "pairs"), seed=2)
    one, other = publish(batch, rows=100), publish(count(batch), rows=100)
    np.testing.assert_array_equal(one.synthetic.codes, other.synthetic.codes)
    assert one.graph == other.graph
    assert one.fit == other.fit


def test_a_value_that_most_people_have_is_not_shrunk_away() -> None:
    """One strength of shrinking serves all cells: a hundred small ones would take more off the largest than its interval allows
    for, however many reports there are."""
    top, n = 0.9, 20_000
    domain = Domain((IntegerRange(name="a", minimum=0, maximum=99),))
    campaign = make_campaign(
        domain, Terms(name="t"), CampaignRequest(epsilon=2, mechanism="subset")
    )
    shares = np.append(top, np.full(99, (1 - top) / 99))
    deviations = []
    for seed in range(16):
        people = np.random.default_rng(seed).choice(100, (n, 1), p=shares).astype(np.uint16)
        found = Study(count(simulate(Dataset(domain, people), campaign, seed=seed))).estimate("a")
        deviations.append((found.probabilities[0] - top) / found.standard_errors[0])
    assert (
        -1.3 < np.mean(deviations) < 1.3
    )  # -2.5 where every cell may be moved as far as the small ones want
