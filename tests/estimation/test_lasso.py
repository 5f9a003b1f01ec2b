"""The paper's Lasso and hybrid as they are, and what counts alone are enough for."""

from typing import Any

import numpy as np
import pytest
from test_estimation import DOMAIN, WISHES, batch_of, people
from test_paper_transformation import FILTERS, REPORTS, number

from lopub import (
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    DomainError,
    ReportBatch,
    Sample,
    Terms,
    TooFewReports,
    estimate,
    estimate_pairs,
    make_campaign,
    simulate,
)
from lopub.campaign.mechanisms import bloom
from lopub.campaign.report import Report, pack
from lopub.errors import NeedsReports
from lopub.estimation import Hybrid, Lasso
from lopub.estimation.basis import Reports
from lopub.estimation.lasso import candidate_matrix, debiased_bits, lasso_joint
from lopub.queries import Study
from lopub.reports.counts import Counts, Table, count

BITS_SEPARATELY = [
    "bloom-all",
    "bloom-sample",
    "bloom-listed",
    "unary-symmetric-all",
    "unary-sample",
    "subset-sample",
]
OTHERS = ["direct-sample", "direct-fill-jointly", "subset-sample-jointly", "bloom-jointly"]
DIRECT = [
    "direct-sample",
    "direct-listed",
    "direct-fill-jointly",
    "direct-all-jointly",
    "direct-listed-jointly",
]

# ---- the paper's example


@pytest.fixture
def alumni(monkeypatch: pytest.MonkeyPatch) -> ReportBatch:
    """The four reports of the paper, Gender and Education, f = 1/2, on the paper's filters."""

    def positions(
        salt: str, names: tuple[str, ...], texts: tuple[str, ...], **lengths: int
    ) -> tuple[int, ...]:
        return tuple(i for i, bit in enumerate(FILTERS[names[0]][texts[0]]) if bit == "1")

    monkeypatch.setattr(bloom, "positions", positions)
    names = ("Gender", "Education")
    domain = Domain(tuple(Categorical(name=name, values=tuple(FILTERS[name])) for name in names))
    campaign = _with_the_papers_lengths(domain, monkeypatch)
    reports = []
    for i, noisy in enumerate(REPORTS.values()):
        outputs = [
            number(bits.replace("_", "")) for (name, _), bits in noisy.items() if name in names
        ]
        payload = pack(outputs, campaign.channels((0, 1)))
        reports.append(
            Report(campaign=campaign.prefix, id=bytes([i] * 16), slot=0, mask=b"", payload=payload)
        )
    return ReportBatch.from_reports(reports, campaign)


def _with_the_papers_lengths(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Gender takes one hash on two bits, Education two on four: a campaign has one number of hashes, so each channel is made
    with the weight that its own filters have."""
    original = bloom.BloomChannel

    def channel(
        block: tuple[Categorical, ...], n_bits: int, n_hashes: int, *noise: Any
    ) -> bloom.BloomChannel:
        filters = list(FILTERS[block[0].name].values())
        return original(block, len(filters[0]), filters[0].count("1"), *noise)

    monkeypatch.setattr(bloom, "BloomChannel", channel)
    return make_campaign(
        domain, Terms(name="alumni"), CampaignRequest(flip_probability=0.5, n_bits=4, n_hashes=2)
    )


def test_the_papers_count_vector_is_2_0_1_4_3_1(alumni: ReportBatch) -> None:
    counts = count(alumni)
    found = [counts.tables[(position,), 2].counts.tolist() for position in (0, 1)]
    assert found == [[2, 0], [1, 4, 3, 1]]


def test_the_papers_count_vector_debiased_is_2_minus_2_0_6_4_0(alumni: ReportBatch) -> None:
    """Not clipped: a count below zero is information."""
    counts = count(alumni)
    shares = np.concatenate([debiased_bits(counts, position)[0] for position in (0, 1)])
    np.testing.assert_allclose(4 * shares, [2, -2, 0, 6, 4, 0], atol=1e-12)


PAPERS_MATRIX = ["010101", "010110", "011100", "100101", "100110", "101100"]


def test_the_candidate_matrix_has_the_papers_six_rows(alumni: ReportBatch) -> None:
    """The paper writes one row a cell, we one column."""
    matrix = candidate_matrix(count(alumni), (0, 1)).toarray().T
    assert ["".join(str(int(bit)) for bit in row) for row in matrix] == PAPERS_MATRIX


def test_the_papers_matrix_has_rank_4(alumni: ReportBatch) -> None:
    """Six unknown cells in four equations: not "the only beta" that the paper says there should be."""
    assert np.linalg.matrix_rank(candidate_matrix(count(alumni), (0, 1)).toarray()) == 4


def test_the_papers_negative_counts_give_no_negative_cells(alumni: ReportBatch) -> None:
    """Without `positive`, men would be fewer than none: y has 2 for the bit of women and -2 for that of men."""
    joint = lasso_joint(count(alumni), (0, 1), 1e-9)
    assert joint.min() >= 0
    assert joint[1].sum() == pytest.approx(1, abs=1e-5)


# ---- Algorithm 2


def bloom_counts(joint: np.ndarray, n: int = 10**9) -> Counts:
    """Counts of so many reports, as they are expected for a joint of a0 and a1."""
    campaign = make_campaign(DOMAIN, Terms(name="test"), WISHES["bloom-all"])
    tables = {}
    codes = {}
    for position in (0, 1):
        law = campaign.mechanism.channel((DOMAIN.attributes[position],), 3).law()
        rows = np.zeros((law.n_candidates, law.n_bits))
        np.put_along_axis(rows, np.array(law.rows), 1, axis=1)
        codes[position] = float(law.q) + float(law.p - law.q) * rows
        ones = n * joint.sum(axis=1 - position) @ codes[position]
        tables[(position,), 3] = Table(n, np.rint(ones).astype(np.int64))
    tables[(0, 1), 3] = Table(n, np.rint(n * codes[0].T @ joint @ codes[1]).astype(np.int64))
    return Counts(campaign=campaign, n_reports=n, tables=dict(sorted(tables.items())))


FOLLOWING = np.array([[0.3, 0.0, 0.1], [0.0, 0.2, 0.4]])
INDEPENDENT = np.outer(FOLLOWING.sum(axis=1), FOLLOWING.sum(axis=0))


def test_joints_with_the_same_marginals_give_the_same_lasso_estimate() -> None:
    """What the paper's Lasso cannot see."""
    one, other = (lasso_joint(bloom_counts(joint), (0, 1)) for joint in (FOLLOWING, INDEPENDENT))
    np.testing.assert_array_equal(one, other)
    assert np.abs(FOLLOWING - INDEPENDENT).sum() / 2 > 0.3


def test_moments_tells_joints_with_the_same_marginals_apart() -> None:
    for joint in (FOLLOWING, INDEPENDENT):
        estimated = Study(bloom_counts(joint)).estimate(("a0", "a1"), "moments").probabilities
        np.testing.assert_allclose(estimated, joint, atol=1e-3)


def test_lasso_recovers_the_marginals_of_a_pair() -> None:
    estimated = lasso_joint(bloom_counts(FOLLOWING), (0, 1))
    np.testing.assert_allclose(estimated.sum(axis=1), FOLLOWING.sum(axis=1), atol=1e-3)
    np.testing.assert_allclose(estimated.sum(axis=0), FOLLOWING.sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("name", BITS_SEPARATELY)
def test_lasso_of_an_attribute_goes_to_the_truth(name: str) -> None:
    n = 60_000
    assert estimate(batch_of(name, n), ("a1",), "lasso").avd(people(n).counts(("a1",)) / n) < 0.03


def test_lasso_of_a_dependent_pair_stays_wrong_however_many_reports() -> None:
    n = 100_000
    share = people(n, copied=0.9).counts(("a1", "a2")) / n
    study = Study(batch_of("bloom-all", n, copied=0.9))
    assert study.estimate(("a1", "a2"), "lasso").avd(share) > 0.1
    assert study.estimate(("a1", "a2"), "moments").avd(share) < 0.02


@pytest.mark.parametrize("name", BITS_SEPARATELY)
@pytest.mark.parametrize("names", [("a0",), ("a0", "a1"), ("a0", "a1", "a2")])
def test_lasso_is_a_distribution(name: str, names: tuple[str, ...]) -> None:
    joint = Study(batch_of(name, 300)).estimate(names, "lasso")
    assert joint.probabilities.min() >= 0
    assert joint.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert joint.standard_errors is None and joint.fit.method == "lasso"


@pytest.mark.parametrize("name", BITS_SEPARATELY)
@pytest.mark.parametrize("names", [("a0",), ("a2", "a1"), ("a0", "a1", "a2")])
def test_lasso_from_counts_is_the_same_as_from_the_batch(name: str, names: tuple[str, ...]) -> None:
    batch = batch_of(name, 600)
    one, other = (Study(data).estimate(names, "lasso") for data in (batch, count(batch)))
    assert one.to_csv() == other.to_csv() and one.fit == other.fit


def test_lasso_with_an_alpha_above_every_correlation_is_uniform() -> None:
    joint = Study(batch_of("bloom-all", 500)).estimate(("a0", "a1"), Lasso(alpha=100.0))
    np.testing.assert_allclose(joint.probabilities, 1 / 6)


def test_a_larger_alpha_keeps_fewer_cells() -> None:
    study = Study(batch_of("bloom-all", 2_000))
    kept = [
        int((study.estimate(DOMAIN.names, Lasso(alpha=alpha)).probabilities > 0).sum())
        for alpha in (1e-5, 0.02, 0.04)
    ]
    assert kept[0] > kept[1] > kept[2] > 0


def test_alpha_shrinks_with_the_noise() -> None:
    """The universal threshold: with a hundred times the reports it is a tenth, and hardly biases a marginal."""
    errors = [
        float(np.abs(lasso_joint(bloom_counts(FOLLOWING, n), (0,)) - FOLLOWING.sum(axis=1)).max())
        for n in (10**4, 10**6)
    ]
    assert errors[1] < errors[0] / 5


# ---- Algorithm 3


@pytest.mark.parametrize("name", ["bloom-all", "unary-sample", "subset-sample"])
def test_a_cell_that_lasso_drops_never_returns_in_hybrid(name: str) -> None:
    study = Study(batch_of(name, 3_000))
    lasso, hybrid = (
        study.estimate(("a1", "a2"), method).probabilities
        for method in (Lasso(alpha=0.05), Hybrid(alpha=0.05))
    )
    assert 0 < (lasso == 0).sum() < lasso.size
    assert (hybrid[lasso == 0] == 0).all()


@pytest.mark.parametrize("name", ["bloom-all", "unary-sample", "subset-sample"])
@pytest.mark.parametrize("names", [("a0", "a1"), ("a1", "a2")])
def test_hybrid_ends_at_a_likelihood_no_lower_than_it_starts(
    name: str, names: tuple[str, ...]
) -> None:
    batch = batch_of(name, 3_000)
    study = Study(batch)
    lasso, hybrid = (study.estimate(names, method) for method in ("lasso", "hybrid"))
    assert hybrid.fit.method == "hybrid" and hybrid.fit.converged
    evidence = Reports(batch).evidence(DOMAIN.positions(names))
    assert evidence.log_likelihood(hybrid.probabilities) >= evidence.log_likelihood(
        lasso.probabilities
    )
    assert evidence.log_likelihood(hybrid.probabilities) >= hybrid.fit.trace[0]


def test_hybrid_where_lasso_keeps_every_cell_ends_where_em_ends() -> None:
    study = Study(batch_of("bloom-all", 20_000))
    em, hybrid = (
        study.estimate(("a0", "a1"), "em"),
        study.estimate(("a0", "a1"), Hybrid(alpha=1e-7)),
    )
    assert (lasso_joint(study.counts, (0, 1), 1e-7) > 0).all()
    assert hybrid.avd(em) < 1e-3


def test_hybrid_takes_the_papers_stop() -> None:
    study = Study(batch_of("bloom-all", 2_000))
    early, late = (study.estimate(("a0", "a1"), Hybrid(stop=stop)) for stop in ("paper", "change"))
    assert early.fit.n_evaluations < late.fit.n_evaluations


# ---- refused


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("method", ["lasso", "hybrid"])
def test_a_campaign_without_bits_of_single_attributes_is_refused(name: str, method: str) -> None:
    words = rf"^method {method} regresses bits of separately randomized attributes, as bloom sends them; use moments$"
    with pytest.raises(DomainError, match=words):
        estimate(batch_of(name, 200), ("a0", "a1"), method)


NEEDS = r"^counts of bits are not enough for a likelihood; give the reports, or use method moments$"


@pytest.mark.parametrize("name", [*BITS_SEPARATELY, "subset-sample-jointly", "unary-all-jointly"])
def test_a_likelihood_from_counts_of_bits_says_that_it_needs_reports(name: str) -> None:
    with pytest.raises(NeedsReports, match=NEEDS):
        estimate(count(batch_of(name, 200)), ("a0", "a1"), "em")


@pytest.mark.parametrize("name", BITS_SEPARATELY)
def test_shrunk_from_counts_of_bits_of_attributes_says_that_it_needs_reports(name: str) -> None:
    with pytest.raises(NeedsReports, match=NEEDS):
        estimate(count(batch_of(name, 200)), ("a0", "a1"), "shrunk")


@pytest.mark.parametrize("name", BITS_SEPARATELY)
def test_hybrid_from_counts_of_bits_says_that_it_needs_reports(name: str) -> None:
    with pytest.raises(NeedsReports, match=NEEDS):
        estimate(count(batch_of(name, 200)), ("a0", "a1"), "hybrid")


def test_a_method_that_needs_reports_says_so_when_all_pairs_are_asked_for() -> None:
    with pytest.raises(NeedsReports, match=NEEDS):
        estimate_pairs(count(batch_of("bloom-all", 200)))


# ---- direct: counts are all that there is to know of attributes and pairs


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("method", ["em", "shrunk", "product", "moments"])
@pytest.mark.parametrize("names", [("a1",), ("a0", "a1"), ("a2", "a1")])
def test_direct_counts_give_the_same_bytes_as_reports(
    name: str, method: str, names: tuple[str, ...]
) -> None:
    batch = batch_of(name, 2_000)
    from_reports, from_counts = (
        Study(data).estimate(names, method) for data in (batch, count(batch))
    )
    assert from_reports.probabilities.tobytes() == from_counts.probabilities.tobytes()
    assert from_reports.to_csv() == from_counts.to_csv()
    assert from_reports.fit == from_counts.fit


@pytest.mark.parametrize("name", ["direct-sample", "direct-fill-jointly"])
def test_all_pairs_from_direct_counts_are_those_from_reports(name: str) -> None:
    batch = batch_of(name, 2_000)
    from_reports, from_counts = estimate_pairs(batch), estimate_pairs(count(batch))
    assert {pair: joint.to_csv() for pair, joint in from_reports.items()} == {
        pair: joint.to_csv() for pair, joint in from_counts.items()
    }


def test_direct_counts_added_over_days_give_the_same_bytes_as_all_reports() -> None:
    batch = batch_of("direct-fill-jointly", 2_000)
    days = [count(batch[start : start + 500]) for start in (1_500, 0, 500, 1_000)]
    added = sum(days[1:], start=days[0])
    assert estimate(added, ("a0", "a1")).to_csv() == estimate(batch, ("a0", "a1")).to_csv()


@pytest.mark.parametrize("name", ["direct-all-jointly", "direct-listed", "direct-listed-jointly"])
@pytest.mark.parametrize("method", ["em", "shrunk"])
def test_three_attributes_that_reports_cover_cannot_be_read_off_counts(
    name: str, method: str
) -> None:
    words = r"^counts hold attributes and pairs; 3 attributes together need the reports$"
    with pytest.raises(NeedsReports, match=words):
        estimate(count(batch_of(name, 1_000)), DOMAIN.names, method)


@pytest.mark.parametrize("method", ["em", "shrunk"])
def test_three_attributes_that_no_report_covers_are_the_same_from_counts(method: str) -> None:
    batch = batch_of("direct-sample", 2_000)
    from_reports, from_counts = (
        estimate(data, DOMAIN.names, method) for data in (batch, count(batch))
    )
    assert not from_reports.fit.identified
    assert from_reports.to_csv() == from_counts.to_csv()


@pytest.mark.parametrize("names", [("a0",), ("a0", "a1")])
def test_a_product_is_read_off_counts_of_jointly_randomized_bits(names: tuple[str, ...]) -> None:
    estimate(count(batch_of("unary-all-jointly", 1_000)), names, "product")


def test_an_attribute_is_read_off_counts_of_bits_by_the_default() -> None:
    n = 20_000
    for name in ("bloom-all", "subset-sample-jointly"):
        joint = estimate(count(batch_of(name, n)), ("a1",))
        assert joint.avd(people(n).counts(("a1",)) / n) < 0.05
        assert joint.standard_errors is not None and np.isfinite(joint.standard_errors).all()


# ---- few reports


@pytest.mark.parametrize("name", ["direct-fill-jointly", "bloom-all"])
def test_counts_of_fewer_reports_than_min_reports_are_refused_with_both_numbers(name: str) -> None:
    campaign = make_campaign(DOMAIN, Terms(name="test", min_reports=500), WISHES[name])
    parts = [count(simulate(people(120), campaign, seed=seed)) for seed in (1, 2)]
    with pytest.raises(
        TooFewReports, match="at least 500 reports before anything is estimated; there are 240"
    ):
        estimate(parts[0] + parts[1], ("a0",), "moments")


def test_counts_that_add_up_to_min_reports_are_estimated_from() -> None:
    campaign = make_campaign(
        DOMAIN, Terms(name="test", min_reports=200), WISHES["direct-fill-jointly"]
    )
    parts = [count(simulate(people(120), campaign, seed=seed)) for seed in (1, 2)]
    assert estimate(parts[0] + parts[1], ("a0",)).fit.n_reports > 0


def test_counts_of_no_reports_are_said_to_be_of_none() -> None:
    with pytest.raises(TooFewReports, match="no reports"):
        estimate(count(batch_of("bloom-all", 100)[:0]), ("a0",), "moments")


@pytest.mark.parametrize("method", ["moments", "lasso"])
def test_an_attribute_that_nobody_reported_is_named_from_counts_too(method: str) -> None:
    domain = Domain(DOMAIN.attributes[:2])
    campaign = make_campaign(
        domain,
        Terms(name="x"),
        CampaignRequest(epsilon=3, mechanism="unary", view=Sample(1), jointly=False),
    )
    batch = simulate(Dataset(domain, np.zeros((40, 2), dtype=np.uint16)), campaign, seed=1)
    only_first = batch[np.array([batch.views[i] == (0,) for i in batch.view_index])]
    with pytest.raises(TooFewReports, match="no report covers attribute 'a1'"):
        estimate(count(only_first), ("a0", "a1"), method)
