"""95 % intervals cover the truth in 90 to 98 of 100 collections, for every mechanism, view and way to randomize.

That takes many collections: `make test-full` draws them.
A short run looks at some ways, and at how large an error is in standard errors.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

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
    ReportBatch,
    Sample,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.campaign.domain import Clique
from lopub.estimation.joint import INTERVAL
from lopub.estimation.pseudo_counts import PseudoCounts
from lopub.queries import Study
from tiers import FULL

N_COLLECTIONS = 100 if FULL else 12
N_PEOPLE = 3000
SIZES = (2, 3, 2, 3)
DOMAIN = Domain(
    tuple(
        Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
        for i, size in enumerate(SIZES)
    )
)
SETS = [
    (("a0", "a1"), 2),
    (("a0", "a1", "a2"), 2),
    (("a1", "a3"), 1),
    (("a2",), 1),
    (("a0", "a2", "a3"), 1),
]
VIEWS = {
    "all": AllAttributes(),
    "sample": Sample(3),
    "fill": Fill(12),
    "listed": Listed.of(DOMAIN, SETS),
}
MECHANISMS = {
    "bloom": CampaignRequest(epsilon=4, mechanism="bloom", n_bits=48, n_hashes=2),
    "symmetric": CampaignRequest(flip_probability=0.35, mechanism="unary"),
    "optimized": CampaignRequest(epsilon=3, mechanism="unary"),
    "subset": CampaignRequest(epsilon=3, mechanism="subset"),
    "direct": CampaignRequest(epsilon=3, mechanism="direct"),
}
WAYS = [
    (mechanism, view, jointly)
    for mechanism in MECHANISMS
    for view in VIEWS
    for jointly in (True, False)
    if jointly or view != "fill"
]
OFTEN = {
    *(("bloom", "listed", True), ("bloom", "listed", False), ("symmetric", "fill", True)),
    *(("optimized", "sample", True), ("optimized", "all", False), ("subset", "sample", False)),
    *(("direct", "fill", True), ("direct", "listed", False)),
}
"""Ways that a short run looks at: every mechanism and view, and both ways to randomize."""


def truth() -> np.ndarray:
    """A chain: each attribute depends on the one before. No cell of an attribute or of a pair that is asked for is below 0.03."""
    first = np.array([0.65, 0.35])
    second = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    third = np.array([[0.7, 0.3], [0.7, 0.3], [0.25, 0.75]])
    fourth = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    return np.einsum("a,ab,bc,cd->abcd", first, second, third, fourth)


def campaign_of(mechanism: str, view: str, jointly: bool) -> Campaign:
    """Separately, a larger epsilon: it is shared among the attributes."""
    wish = MECHANISMS[mechanism]
    epsilon = None if wish.epsilon is None else wish.epsilon + (0 if jointly else 2)
    return make_campaign(
        DOMAIN, Terms(name="t"), replace(wish, view=VIEWS[view], jointly=jointly, epsilon=epsilon)
    )


def collections(campaign: Campaign, n: int) -> Iterator[ReportBatch]:
    rng, chances = np.random.default_rng(5), truth().reshape(-1)
    for seed in range(n):
        codes = np.unravel_index(rng.choice(len(chances), N_PEOPLE, p=chances), SIZES)
        yield simulate(Dataset(DOMAIN, np.stack(codes, axis=1)), campaign, seed=seed)


def deviations(study: Study, clique: Clique, method: str) -> np.ndarray:
    """How far each cell is off, in standard errors; NaN where it is held at zero."""
    joint = study.joint_of(clique, method)
    assert joint.standard_errors is not None
    share = truth().sum(axis=tuple(axis for axis in range(len(SIZES)) if axis not in clique))
    return ((joint.probabilities - share) / joint.standard_errors).reshape(-1)


def unshrunk_marginal(study: Study, position: int) -> np.ndarray:
    """What the reports say before it is shrunk: standard errors are those of this."""
    if study._basis.view_counts is None:
        return study.marginal(position)
    (part,) = study._basis.summary((position,)).parts
    assert isinstance(part, PseudoCounts)
    counts = part.counts.sum(axis=(0, 1))
    shares = counts / counts.sum() * (1 + counts.size * part.offset) - part.offset
    return np.asarray(shares)


def check(found: list[np.ndarray]) -> None:
    """The share of intervals that cover; with few collections, the root of the mean square of the deviations."""
    every = np.concatenate(found)
    if FULL:
        assert 0.90 <= (np.abs(every) <= INTERVAL).mean() <= 0.98
    assert 0.7 <= np.sqrt(np.nanmean(every**2)) <= 1.3


def chosen(*ways: tuple[str, str, bool]) -> list[object]:
    return [
        pytest.param(
            *way, id="-".join(map(str, way)), marks=() if way in OFTEN else pytest.mark.full
        )
        for way in ways
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "view", "jointly"), chosen(*WAYS))
def test_intervals_cover_the_truth_as_often_as_they_say(mechanism: str, view: str, jointly: bool):
    """Of marginals and of a pair. It also forbids standard errors that take a Bloom code for the identity, that take what a wider
    view says of its other attributes as known, or that read a pair off a single view."""
    marginals, pairs = [], []
    for batch in collections(campaign_of(mechanism, view, jointly), N_COLLECTIONS):
        study = Study(batch)
        marginals += [deviations(study, (position,), "shrunk") for position in range(len(SIZES))]
        pairs += [deviations(study, (0, 1), "em")]
    check(marginals)
    check(pairs)


@pytest.mark.parametrize(("mechanism", "view", "jointly"), chosen(*WAYS))
def test_intervals_from_counts_cover_the_truth_as_often_as_they_say(
    mechanism: str, view: str, jointly: bool
):
    """Of marginals, and of a pair by `moments` where it gives standard errors."""
    campaign = campaign_of(mechanism, view, jointly)
    if (mechanism, view, jointly) == ("bloom", "all", True):
        pytest.skip("its code does not tell all cells apart: refused, see test_moments.py")
    marginals, pairs = [], []
    for batch in collections(campaign, N_COLLECTIONS):
        study = Study(count(batch))
        marginals += [deviations(study, (position,), "shrunk") for position in range(len(SIZES))]
        pairs += [deviations(study, (0, 1), "moments")] if not jointly else []
    check(marginals)
    if pairs:
        check(pairs)


@pytest.mark.parametrize("mechanism", ["bloom", "optimized", "subset"])
def test_the_covariance_of_counted_marginals_is_that_of_repeated_collections(mechanism: str):
    """Also between candidates: quantiles are sums of shares."""
    campaign = campaign_of(mechanism, "sample", True)
    studies = [Study(count(batch)) for batch in collections(campaign, 60)]
    seen = np.cov(np.array([unshrunk_marginal(study, 1) for study in studies]).T)
    said = np.mean([study.marginal_covariance(1) for study in studies], axis=0)
    np.testing.assert_allclose(said, seen, atol=0.45 * seen.max())
    np.testing.assert_allclose(said.sum(axis=0), 0, atol=1e-12)


def test_no_share_of_a_lopsided_attribute_is_certain():
    """With nearly everybody in one cell the fit puts all of them there; the reports do not make that certain."""
    five = Domain((IntegerRange(name="c", minimum=0, maximum=4),))
    campaign = make_campaign(five, Terms(name="t"), CampaignRequest(epsilon=2, mechanism="direct"))
    shares, covered, n_runs = np.array([0, 0, 0.94, 0, 0.06]), 0, 100
    for seed in range(n_runs):
        people = np.random.default_rng(seed).choice(5, size=(300, 1), p=shares).astype(np.uint16)
        study = Study(simulate(Dataset(five, people), campaign, seed=seed))
        marginal, covariance = study.marginal(0), study.marginal_covariance(0)
        assert np.diag(covariance).min() > 0
        spread = float(np.sqrt(np.arange(5) @ covariance @ np.arange(5)))
        covered += abs(float(marginal @ np.arange(5)) - 2.12) <= 1.96 * spread
    assert covered >= 0.9 * n_runs
