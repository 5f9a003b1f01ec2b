"""`moments`: exact where its equations are, on its way to the truth where reports are noisy, from counts alone."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq
from test_estimation import DOMAIN, LISTED, SIZES, WISHES, batch_of, people

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    DomainError,
    Listed,
    ReportBatch,
    Terms,
    estimate,
    make_campaign,
    simulate,
)
from lopub.bulk import bulk_of
from lopub.bulk.codes import code_matrix
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.estimation.moments import MomentEquations, law_of, lens_of, on_simplex
from lopub.queries import Study
from lopub.reports.batch import N_FOLDS
from lopub.reports.counts import Counts, Table, count

MANY = 10**12
"""Reports of a campaign that never ends: counts of so many are their expectations but for rounding."""
SEPARATELY = [
    "bloom-all",
    "bloom-listed",
    "unary-symmetric-all",
    "unary-sample",
    "subset-sample",
    "direct-sample",
    "direct-listed",
]
JOINTLY = [
    "direct-fill-jointly",
    "direct-all-jointly",
    "direct-listed-jointly",
    "subset-sample-jointly",
    "unary-all-jointly",
    "bloom-jointly",
]
WEIGHTS: dict[Clique, int] = {(0,): 1, (0, 1): 2, (0, 1, 2): 1}


def campaign_of(name: str) -> Campaign:
    return make_campaign(DOMAIN, Terms(name="test"), WISHES[name])


def truth() -> np.ndarray:
    """Dependent attributes, and a cell that is empty."""
    joint = np.random.default_rng(8).dirichlet(np.full(24, 0.5)).reshape(SIZES)
    joint[1, 2, 0] = 0
    return joint / joint.sum()


def marginal_of(joint: np.ndarray, part: Clique) -> np.ndarray:
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in part))


# ---- counts of infinitely many reports


def seen(channel: Channel, probabilities: np.ndarray) -> np.ndarray:
    """For every candidate, the chance of a one at each bit."""
    law = channel.law()
    return float(law.q) + float(law.p - law.q) * probabilities @ code_matrix(law)


def tables_of_view(
    campaign: Campaign, view: Clique, joint: np.ndarray
) -> dict[tuple[Clique, int], tuple[np.ndarray, int]]:
    """Expected shares of the tables that reports of one view fill."""
    parts: list[Clique] = [(p,) for p in view] + list(combinations(view, 2))
    channels, direct = campaign.channels(view), campaign.mechanism.name == "direct"
    if campaign.jointly and not direct:
        return {
            (view, 0): (
                np.append(1.0, seen(channels[0], marginal_of(joint, view).reshape(-1))),
                N_FOLDS,
            )
        }
    if campaign.jointly:
        own, keep = marginal_of(joint, view), float(channels[0].keep)  # type: ignore[attr-defined]
        noisy = keep * own + (1 - keep) / own.size
        places = {part: tuple(view.index(p) for p in part) for part in parts}
        return {(part, own.size): (marginal_of(noisy, places[part]), N_FOLDS) for part in parts}
    found = {}
    for part in parts:
        table = marginal_of(joint, part)
        for axis, position in enumerate(part):
            every = seen(channels[view.index(position)], np.eye(SIZES[position]))
            table = np.moveaxis(np.tensordot(table, every, axes=(axis, 0)), -1, axis)
        found[part, len(view)] = (table, N_FOLDS if direct else 1)
    return found


def expected_counts(name: str, joint: np.ndarray) -> Counts:
    """The counts of MANY reports of each view (listed ones by their weight), whose answers have just this joint."""
    campaign = campaign_of(name)
    tables: dict[tuple[Clique, int], Table] = {}
    n_reports = 0
    for view in campaign.view.views(SIZES):
        n = MANY * (WEIGHTS[view] if campaign.view == LISTED else 1)
        n_reports += n
        for key, (share, n_folds) in tables_of_view(campaign, view, joint).items():
            folds = (
                np.broadcast_to(share / n_folds, (n_folds, *share.shape)) if n_folds > 1 else share
            )
            table = Table(n, np.rint(n * folds).astype(np.int64))
            tables[key] = tables[key] + table if key in tables else table
    return Counts(campaign=campaign, n_reports=n_reports, tables=dict(sorted(tables.items())))


@pytest.mark.parametrize("name", SEPARATELY + JOINTLY)
def test_pairs_are_recovered_from_exact_moments(name: str) -> None:
    joint, study = truth(), Study(expected_counts(name, truth()))
    for pair in [("a0", "a1"), ("a0", "a2"), ("a1", "a2")]:
        part = DOMAIN.positions(pair)
        np.testing.assert_allclose(
            study.estimate(pair, "moments").probabilities, marginal_of(joint, part), atol=1e-3
        )


@pytest.mark.parametrize("name", SEPARATELY + JOINTLY)
def test_marginals_are_recovered_from_exact_moments(name: str) -> None:
    joint, study = truth(), Study(expected_counts(name, truth()))
    for position, attribute in enumerate(DOMAIN.names):
        estimated = study.estimate((attribute,), "moments").probabilities
        np.testing.assert_allclose(estimated, marginal_of(joint, (position,)), atol=1e-4)


@pytest.mark.parametrize("name", ["unary-all-jointly", "bloom-all-jointly"])
def test_three_attributes_of_a_jointly_randomized_view_are_recovered_from_exact_moments(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish = CampaignRequest(
        epsilon=3,
        mechanism="bloom",
        n_bits=96,
        n_hashes=4,
        view=WISHES["unary-all-jointly"].view,
        jointly=True,
    )
    monkeypatch.setitem(WISHES, "bloom-all-jointly", wish)
    study = Study(expected_counts(name, truth()))
    np.testing.assert_allclose(
        study.estimate(DOMAIN.names, "moments").probabilities, truth(), atol=1e-3
    )


def test_a_pair_of_which_no_report_covers_both_has_the_largest_entropy() -> None:
    counts = expected_counts("direct-listed", truth())
    tables = {key: table for key, table in counts.tables.items() if key[0] not in ((0, 2), (1, 2))}
    joint = Study(Counts(campaign=counts.campaign, n_reports=len(counts), tables=tables)).estimate(
        ("a0", "a2"), "moments"
    )
    assert not joint.fit.identified
    expected = np.outer(marginal_of(truth(), (0,)), marginal_of(truth(), (2,)))
    np.testing.assert_allclose(joint.probabilities, expected, atol=1e-3)


# ---- simulated reports


@pytest.mark.parametrize("name", SEPARATELY + JOINTLY)
def test_dependent_pairs_go_to_the_truth_where_the_product_does_not(name: str) -> None:
    errors = []
    for n in (4_000, 100_000):
        people_joint = people(n).counts(("a0", "a1")) / n
        study = Study(count(batch_of(name, n)))
        errors.append(study.estimate(("a0", "a1"), "moments").avd(people_joint))
    independent = np.outer(people_joint.sum(axis=1), people_joint.sum(axis=0))
    assert np.abs(independent - people_joint).sum() / 2 > 0.2
    assert errors[1] < 0.03
    assert errors[1] < errors[0] + 0.005


@pytest.mark.parametrize("name", SEPARATELY + JOINTLY)
def test_marginals_go_to_the_truth(name: str) -> None:
    n = 100_000
    for attribute in DOMAIN.names:
        joint = estimate(count(batch_of(name, n)), (attribute,), "moments")
        assert joint.avd(people(n).counts((attribute,)) / n) < 0.02


def test_it_is_nearer_than_the_product_with_few_reports_of_a_dependent_pair() -> None:
    n = 3_000
    study, people_joint = (
        Study(batch_of("bloom-all", n, copied=0.9)),
        people(n, copied=0.9).counts(("a0", "a1")) / n,
    )
    moments, product = (
        study.estimate(("a0", "a1"), method).avd(people_joint) for method in ("moments", "product")
    )
    assert moments < product / 5


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize("names", [("a1",), ("a0", "a1"), ("a1", "a2")])
def test_it_is_a_distribution_however_few_the_reports(name: str, names: tuple[str, ...]) -> None:
    joint = Study(batch_of(name, 150)).estimate(names, "moments").probabilities
    assert joint.min() >= 0
    assert joint.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize("names", [("a1",), ("a2", "a0")])
def test_from_counts_it_is_the_same_as_from_the_batch(name: str, names: tuple[str, ...]) -> None:
    batch = batch_of(name, 1_000)
    from_batch, from_counts = (
        Study(data).estimate(names, "moments") for data in (batch, count(batch))
    )
    assert from_batch.to_csv() == from_counts.to_csv()
    assert from_batch.fit == from_counts.fit


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bloom-all",
        "direct-sample",
        *(pytest.param(n, marks=pytest.mark.full) for n in ("unary-sample", "subset-sample")),
    ],
)
def test_intervals_of_an_attribute_cover_the_truth_about_as_often_as_they_say(name: str) -> None:
    """95 % intervals of candidates of at least 0.02, over 60 collections from a population whose marginal is known."""
    population, campaign, rng = (
        people(200_000, seed=11),
        campaign_of(name),
        np.random.default_rng(3),
    )
    share = population.counts(("a2",)) / len(population)
    covered, asked = 0, 0
    for seed in range(60):
        drawn = population[rng.integers(0, len(population), 3000)]
        joint = Study(simulate(drawn, campaign, seed=seed)).estimate(("a2",), "moments")
        assert joint.standard_errors is not None
        inside = (
            np.abs(joint.probabilities - share)[share >= 0.02]
            <= 1.96 * joint.standard_errors[share >= 0.02]
        )
        covered, asked = covered + int(inside.sum()), asked + int(inside.size)
    assert 0.80 <= covered / asked <= 0.99


# ---- refused


@pytest.mark.parametrize("name", ["bloom-all", "direct-listed", "direct-all-jointly"])
@pytest.mark.parametrize("of", ["batch", "counts"])
def test_three_attributes_are_refused_with_one_sentence(name: str, of: str) -> None:
    batch = batch_of(name, 500)
    with pytest.raises(
        DomainError,
        match=r"^method moments knows co-occurrences of two attributes, got 3; use shrunk or em$",
    ):
        Study(batch if of == "batch" else count(batch)).estimate(DOMAIN.names, "moments")


SQUARE = Domain(tuple(Categorical(name=f"b{i}", values=tuple("abcdefgh")) for i in range(2)))
FEW_BITS = {
    "jointly": CampaignRequest(
        epsilon=4, mechanism="bloom", n_bits=32, n_hashes=3, view=AllAttributes(), jointly=True
    ),
    "separately": CampaignRequest(
        epsilon=8, mechanism="bloom", n_bits=6, n_hashes=2, view=AllAttributes(), jointly=False
    ),
}
"""Codes that give each cell a filter of its own, but have fewer bits than cells."""


def short_of_bits(way: str, n: int = 400) -> ReportBatch:
    campaign = make_campaign(SQUARE, Terms(name="x"), FEW_BITS[way])
    first = np.random.default_rng(2).integers(0, 8, n) ** 2 // 8
    return simulate(
        Dataset(SQUARE, np.stack([first, (first + np.arange(n) % 2) % 8], axis=1)), campaign, seed=1
    )


@pytest.mark.parametrize("names", [("b0",), ("b0", "b1")])
@pytest.mark.parametrize("of", ["batch", "counts"])
@pytest.mark.parametrize(
    ("way", "words"),
    [
        (
            "jointly",
            "the 64 cells of b0, b1 apart, because their code has rank 32; give the reports to em or shrunk, or take more bits",
        ),
        (
            "separately",
            "the 8 cells of b0 apart, because their code has rank 6; give the reports to em or shrunk, or take more bits",
        ),
    ],
)
def test_codes_of_too_low_a_rank_are_refused(
    way: str, words: str, of: str, names: tuple[str, ...]
) -> None:
    """Least squares would pick one of many joints with the same expected bits, and call it unbiased."""
    batch = short_of_bits(way)
    with pytest.raises(DomainError, match=rf"^method moments cannot tell {words}$"):
        Study(batch if of == "batch" else count(batch)).estimate(names, "moments")


def test_marginals_from_counts_of_codes_of_too_low_a_rank_are_refused() -> None:
    for way in FEW_BITS:
        with pytest.raises(DomainError, match="because their code has rank"):
            Study(count(short_of_bits(way))).marginal(0)


@pytest.mark.parametrize("way", FEW_BITS)
def test_codes_of_too_low_a_rank_are_no_obstacle_to_likelihood(way: str) -> None:
    n = 40_000
    batch = short_of_bits(way, n)
    first = np.random.default_rng(2).integers(0, 8, n) ** 2 // 8
    truth = np.bincount(first, minlength=8) / n
    study = Study(batch)
    assert study.estimate(("b0",)).avd(truth) < 0.05
    assert np.isfinite(study.marginal_error(0)[:7]).all()  # nobody has the last value


def test_a_view_whose_code_has_too_low_a_rank_leaves_the_estimate_to_the_others() -> None:
    views = Listed.of(SQUARE, [(("b0",), 1), (("b0", "b1"), 3)])
    wish = CampaignRequest(
        epsilon=6, mechanism="bloom", n_bits=32, n_hashes=3, view=views, jointly=True
    )
    n = 30_000
    first = np.random.default_rng(2).integers(0, 8, n) ** 2 // 8
    people_ = Dataset(SQUARE, np.stack([first, first], axis=1))
    counts = count(simulate(people_, make_campaign(SQUARE, Terms(name="x"), wish), seed=1))
    assert estimate(counts, ("b0",), "moments").avd(np.bincount(first, minlength=8) / n) < 0.05
    with pytest.raises(DomainError, match="the 64 cells of b0, b1 apart"):
        estimate(counts, ("b0", "b1"), "moments")


# ---- the parts


def projected(values: np.ndarray) -> np.ndarray:
    """The Euclidean projection, by looking for the number that must be subtracted from all."""
    excess = brentq(
        lambda c: np.maximum(values - c, 0).sum() - 1, values.min() - 1, values.max(), xtol=1e-14
    )
    return np.maximum(values - excess, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_distribution_is_that_of_a_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(
        scale=10.0 ** rng.integers(-3, 3), size=(rng.integers(1, 6), rng.integers(1, 6))
    )
    np.testing.assert_allclose(on_simplex(values), projected(values), atol=1e-12)


def test_no_point_of_a_grid_is_nearer_than_the_nearest_distribution() -> None:
    values, steps = np.array([0.9, -0.3, 0.7]), 60
    grid = [
        np.array([i, j, steps - i - j]) / steps
        for i in range(steps + 1)
        for j in range(steps + 1 - i)
    ]
    nearest = np.linalg.norm(on_simplex(values) - values)
    assert min(np.linalg.norm(point - values) for point in grid) >= nearest - 1e-12


def test_a_distribution_is_nearest_to_itself() -> None:
    np.testing.assert_allclose(on_simplex(truth()), truth(), atol=1e-15)


def noisy_bits(campaign: Campaign, channel: Channel, marginal: np.ndarray, n: int) -> np.ndarray:
    """The bits of n simulated reports; of `direct`, one bit a candidate."""
    rng = np.random.Generator(np.random.SFC64(1))
    candidates = rng.choice(len(marginal), size=n, p=marginal)
    payloads = bulk_of(campaign.mechanism).payloads((channel,), [candidates], rng.bit_generator)
    if isinstance(channel, DirectChannel):
        return np.eye(len(marginal))[payloads[:, 0]]
    return np.unpackbits(payloads, axis=1, bitorder="little")[:, : channel.width].astype(np.float64)


EIGHT = Domain(tuple(Categorical(name=f"b{i}", values=tuple("abcdefgh")) for i in range(2)))
WHITENED = {
    "bloom": CampaignRequest(flip_probability=0.5, n_bits=16, n_hashes=2),
    "unary symmetric": CampaignRequest(
        flip_probability=0.4, mechanism="unary", view=AllAttributes()
    ),
    "unary optimized": CampaignRequest(
        epsilon=3, mechanism="unary", view=AllAttributes(), jointly=False
    ),
    "subset of one": CampaignRequest(
        epsilon=6, mechanism="subset", view=AllAttributes(), jointly=False
    ),
    "subset of two": CampaignRequest(
        epsilon=2, mechanism="subset", view=AllAttributes(), jointly=False
    ),
    "subset of three": CampaignRequest(
        epsilon=1, mechanism="subset", view=AllAttributes(), jointly=False
    ),
    "direct": CampaignRequest(epsilon=6, mechanism="direct", view=AllAttributes(), jointly=False),
}


@pytest.mark.parametrize("name", WHITENED)
def test_whitening_uses_the_second_moments_of_the_debiased_bits(name: str) -> None:
    """square = C S^-1 C', where S is what the bits of many reports show: bits of a subset are not independent."""
    campaign = make_campaign(EIGHT, Terms(name="x"), WHITENED[name])
    channel = campaign.mechanism.channel((EIGHT.attributes[0],), 2)
    law, n_ones = law_of(campaign, 0, 2)
    marginal = np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    debiased = (noisy_bits(campaign, channel, marginal, 400_000) - float(law.q)) / float(
        law.p - law.q
    )
    with_one = np.concatenate([np.ones((len(debiased), 1)), debiased], axis=1)
    seen_moments = with_one.T @ with_one / len(with_one)
    code = np.concatenate([np.ones((8, 1)), code_matrix(law)], axis=1)
    expected = code @ np.linalg.pinv(seen_moments, rcond=1e-9, hermitian=True) @ code.T
    square = lens_of(law, n_ones, marginal).square
    np.testing.assert_allclose(
        square, expected, atol=0.04 * np.abs(expected - 1).max()
    )  # the bit that is always one gives 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_subsets_of_every_size_are_among_those_that_are_whitened(size: int) -> None:
    wish = WHITENED[f"subset of {('one', 'two', 'three')[size - 1]}"]
    assert law_of(make_campaign(EIGHT, Terms(name="x"), wish), 0, 2)[1] == size


def test_a_code_matrix_has_the_rows_of_the_law() -> None:
    law = campaign_of("bloom-all").mechanism.channel((DOMAIN.attributes[1],), 3).law()
    assert law.rows is not None
    assert [tuple(np.flatnonzero(row)) for row in code_matrix(law)] == [
        tuple(sorted(row)) for row in law.rows
    ]


def test_a_marginal_is_estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moments, asked = MomentEquations(count(batch_of("bloom-all", 500))), []
    original = moments._estimated
    monkeypatch.setattr(
        moments, "_estimated", lambda clique: asked.append(clique) or original(clique)
    )
    for clique in [(0, 1), (0, 2), (0,), (0, 1)]:
        moments.joint(clique)
    assert sorted(asked) == [(0,), (1,), (2,)]
