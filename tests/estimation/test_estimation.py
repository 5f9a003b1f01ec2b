"""Evidence against brute force, EM's invariants, and estimates that go to the truth."""

import itertools
import math

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
    IntegerRange,
    Listed,
    NoiseWarning,
    ReportBatch,
    Sample,
    Terms,
    TooFewReports,
    estimate,
    estimate_pairs,
    make_campaign,
    simulate,
)
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.estimation import Em
from lopub.estimation.basis import Reports
from lopub.estimation.em import TOLERANCE, em_map, run_accelerated, run_plain
from lopub.estimation.evidence import EVERY_FOLD
from lopub.estimation.joint import product_of
from lopub.estimation.shrunk import shrunk
from lopub.queries import Study
from tiers import FULL

SIZES = (2, 3, 4)
DOMAIN = Domain(
    tuple(
        Categorical(name=f"a{i}", values=tuple(f"v{k}" for k in range(n)))
        for i, n in enumerate(SIZES)
    )
)
LISTED = Listed.of(DOMAIN, [(("a0",), 1), (("a0", "a1"), 2), (("a0", "a1", "a2"), 1)])
WISHES = {
    "bloom-all": CampaignRequest(flip_probability=0.5, n_bits=16, n_hashes=2),
    "bloom-sample": CampaignRequest(flip_probability=0.5, n_bits=16, n_hashes=2, view=Sample(2)),
    "bloom-listed": CampaignRequest(
        epsilon=4, mechanism="bloom", n_bits=16, n_hashes=2, view=LISTED
    ),
    "unary-symmetric-all": CampaignRequest(
        flip_probability=0.4, mechanism="unary", view=AllAttributes()
    ),
    "unary-sample": CampaignRequest(epsilon=3, mechanism="unary", view=Sample(2), jointly=False),
    "subset-sample": CampaignRequest(epsilon=3, mechanism="subset", view=Sample(2), jointly=False),
    "direct-sample": CampaignRequest(epsilon=4, mechanism="direct", view=Sample(2), jointly=False),
    "direct-listed": CampaignRequest(epsilon=4, mechanism="direct", view=LISTED, jointly=False),
    "direct-fill-jointly": CampaignRequest(epsilon=3, mechanism="direct", view=Fill(8)),
    "direct-all-jointly": CampaignRequest(
        epsilon=3, mechanism="direct", view=AllAttributes(), jointly=True
    ),
    "direct-listed-jointly": CampaignRequest(
        epsilon=3, mechanism="direct", view=LISTED, jointly=True
    ),
    "subset-sample-jointly": CampaignRequest(epsilon=3, mechanism="subset", view=Sample(2)),
    "unary-all-jointly": CampaignRequest(
        epsilon=3, mechanism="unary", view=AllAttributes(), jointly=True
    ),
    "bloom-jointly": CampaignRequest(
        epsilon=3, mechanism="bloom", n_bits=24, n_hashes=2, view=Sample(2), jointly=True
    ),
}


def people(n: int, *, seed: int = 7, copied: float = 0.6) -> Dataset:
    """Dependent attributes: a1 and a2 follow a0 with probability `copied`, else anything."""
    rng = np.random.default_rng(seed)
    first = (rng.random(n) < 0.3).astype(np.int64)
    columns = [first]
    for size in SIZES[1:]:
        columns.append(
            np.where(rng.random(n) < copied, first * (size - 1), rng.integers(0, size, n))
        )
    return Dataset(DOMAIN, np.stack(columns, axis=1))


def batch_of(name: str, n: int, *, seed: int = 1, **options: float) -> ReportBatch:
    campaign = make_campaign(DOMAIN, Terms(name="test"), WISHES[name])
    return simulate(people(n, **options), campaign, seed=seed)


def likelihood(batch: ReportBatch, row: int, record: tuple[int, ...]) -> float:
    """P(report | record) up to a factor that is the same for all records, straight from the mechanism's law."""
    report, campaign = batch.report(row), batch.campaign
    view = report.view(campaign)
    total = 1.0
    inputs = [record[p] for p in view]
    if campaign.jointly:
        inputs = [int(np.ravel_multi_index(inputs, [SIZES[p] for p in view]))]
    for channel, output, x in zip(
        campaign.channels(view), report.outputs(campaign), inputs, strict=True
    ):
        law = channel.law()
        if isinstance(channel, DirectChannel):
            total *= float(law.p if channel.cell(output) == x else law.q)
        else:
            positions = (x,) if law.rows is None else law.rows[x]
            total *= math.exp(law.slope * sum(output >> position & 1 for position in positions))
    return total


def brute_force(batch: ReportBatch, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expected cell counts under the joint of all attributes, and the chances of the reports."""
    records = list(itertools.product(*(range(n) for n in SIZES)))
    table = np.array(
        [[likelihood(batch, row, record) for record in records] for row in range(len(batch))]
    )
    chances = table @ joint.reshape(-1)
    return (joint.reshape(-1) * (table / chances[:, None]).sum(axis=0)).reshape(SIZES), chances


def random_joint(seed: int = 3) -> np.ndarray:
    joint = np.random.default_rng(seed).random(SIZES) + 0.05
    return joint / joint.sum()


@pytest.mark.parametrize("name", WISHES)
def test_a_step_equals_brute_force_over_all_records(name: str):
    batch = batch_of(name, 60)
    evidence = Reports(batch).evidence((0, 1, 2))
    joint, other = random_joint(), random_joint(4)
    value, counts = evidence.step(joint)
    expected, chances = brute_force(batch, joint)
    np.testing.assert_allclose(counts, expected, rtol=2e-5)
    difference = np.log(chances).sum() - np.log(brute_force(batch, other)[1]).sum()
    assert value - evidence.step(other)[0] == pytest.approx(difference, abs=2e-4)
    assert evidence.log_likelihood(joint) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("name", WISHES)
def test_the_folds_of_an_evidence_add_up_to_the_whole(name: str):
    evidence = Reports(batch_of(name, 300)).evidence((0, 1, 2))
    joint = random_joint()
    parts = [evidence.within(frozenset({fold})).step(joint) for fold in sorted(EVERY_FOLD)]
    whole = evidence.step(joint)
    np.testing.assert_allclose(sum(counts for _, counts in parts), whole[1], rtol=1e-5)
    assert sum(value for value, _ in parts) == pytest.approx(whole[0], rel=1e-6)
    rest = evidence.within(EVERY_FOLD - {2}).step(joint)
    np.testing.assert_allclose(rest[1] + parts[2][1], whole[1], rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in WISHES if not name.startswith("direct")])
def test_information_is_the_sum_of_squared_scores(name: str):
    batch = batch_of(name, 40)
    joint = random_joint()
    records = list(itertools.product(*(range(n) for n in SIZES)))
    table = np.array(
        [[likelihood(batch, row, record) for record in records] for row in range(len(batch))]
    )
    scores = table / (table @ joint.reshape(-1))[:, None]
    np.testing.assert_allclose(
        Reports(batch).evidence((0, 1, 2)).information(joint), scores.T @ scores, rtol=1e-4
    )


@pytest.mark.parametrize("name", [name for name in WISHES if name.startswith("direct")])
def test_information_of_direct_answers_is_the_expected_sum_of_squared_scores(name: str):
    """At the joint that people have, the expectation and the sum over many reports agree."""
    n = 40_000
    batch = batch_of(name, n)
    joint = people(n).counts(DOMAIN.names) / n
    evidence = Reports(batch).evidence((0, 1, 2))
    chosen = np.random.default_rng(1).choice(n, 600, replace=False)
    records = list(itertools.product(*(range(n) for n in SIZES)))
    table = np.array(
        [[likelihood(batch, row, record) for record in records] for row in chosen.tolist()]
    )
    scores = table / (table @ joint.reshape(-1))[:, None]
    weight = joint.reshape(-1)  # cells that hardly anybody is in are seen by chance
    expected, summed = (
        np.sqrt(weight @ matrix @ weight)
        for matrix in (evidence.information(joint), scores.T @ scores * n / 600)
    )
    assert expected == pytest.approx(summed, rel=1e-3)
    spread = (
        evidence.information(joint)[np.diag_indices(len(records))]
        / (scores**2).sum(axis=0)
        * 600
        / n
    )
    assert np.median(spread) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    "name", ["bloom-all", "direct-sample", "direct-fill-jointly", "subset-sample-jointly"]
)
@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_the_objective_never_falls_and_joints_stay_distributions(name: str, strength: float):
    evidence = Reports(batch_of(name, 3000)).evidence((0, 1, 2))
    uniform = np.full(SIZES, 1 / 24)
    step = em_map(evidence, uniform, strength)
    slack = 3e-7 * evidence.n_reports
    for result in (
        run_plain(step, uniform, stop="change", tolerance=1e-9, most=200),
        run_accelerated(step, uniform, tolerance=1e-7, most=500, slack=slack),
    ):
        assert np.diff(result.trace).min() >= -slack
        assert result.joint.min() >= 0
        assert result.joint.sum() == pytest.approx(1, abs=1e-5)


def test_acceleration_ends_where_plain_em_ends_with_a_fifth_of_its_evaluations():
    batch = simulate(
        people(20_000 if FULL else 4_000),
        make_campaign(DOMAIN, Terms(name="x"), CampaignRequest(flip_probability=0.9)),
        seed=1,
    )
    evidence = Reports(batch).evidence((0, 1, 2))
    step, start = em_map(evidence), np.full(SIZES, 1 / 24)
    plain = run_plain(step, start, stop="change", tolerance=1e-6, most=20000)
    fast = run_accelerated(step, start, tolerance=1e-6, most=20000, slack=3e-7 * evidence.n_reports)
    assert plain.converged and fast.converged
    assert fast.n_evaluations * 5 <= plain.n_evaluations
    assert fast.trace[-1] >= plain.trace[-1] - 0.05


@pytest.mark.parametrize(
    "wish",
    [
        *(
            CampaignRequest(flip_probability=f, mechanism="bloom")
            for f in (0.1, 0.3, 0.5, 0.7, 0.9)
        ),
        *(CampaignRequest(epsilon=epsilon) for epsilon in (2, 4, 8, 16)),
    ],
    ids=lambda wish: (
        f"f={wish.flip_probability}" if wish.epsilon is None else f"epsilon={wish.epsilon}"
    ),
)
@pytest.mark.parametrize("method", ["em", "shrunk"])
def test_a_tighter_fit_moves_no_cell_of_one_that_converged(wish: CampaignRequest, method: str):
    """A small last step does not say so: at strong noise it is a thousandth of what is left."""
    campaign = make_campaign(DOMAIN, Terms(name="x"), wish)
    for seed in range(3 if FULL else 1):
        batch = simulate(people(4000), campaign, seed=seed)
        study = Study(batch)
        for clique in itertools.combinations(range(len(DOMAIN)), 2):
            found = study.joint_of(clique, method)
            evidence = Reports(batch).evidence(clique)
            exact, fit = em_map(evidence, exact=True), found.fit
            joint = found.probabilities
            if (
                method == "shrunk"
            ):  # a fit itself: afterwards it is raked, and of separate bits it is one of several
                evidence = evidence.covering(2)
                marginals = [study.marginal(position) for position in clique]
                alone = shrunk(evidence, marginals)
                exact = em_map(evidence, product_of(marginals), alone.strength, exact=True)
                joint, fit = alone.fit.joint, alone.fit
            if not fit.converged or (method == "shrunk" and alone.strength == np.inf):
                continue
            tighter = run_accelerated(exact, joint, tolerance=TOLERANCE / 1e5, most=3000)
            assert np.abs(tighter.joint - joint).max() <= TOLERANCE


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_at_weak_noise_converges_in_few_evaluations(seed: int):
    """The float32 search ends above the tolerance, at its own rounding; it used to go on for 5,000 evaluations."""
    campaign = make_campaign(
        DOMAIN, Terms(name="x"), CampaignRequest(flip_probability=0.1, mechanism="bloom")
    )
    study = Study(simulate(people(20_000), campaign, seed=seed))
    for clique in itertools.combinations(range(len(DOMAIN)), 2):
        fit = study.joint_of(clique, "em").fit
        assert fit.converged and fit.n_evaluations < 150


def test_an_exact_step_is_the_step_but_for_rounding():
    for name in ("bloom-all", "subset-sample-jointly", "direct-sample", "direct-fill-jointly"):
        evidence = Reports(batch_of(name, 3000)).evidence((0, 1, 2))
        uniform = np.full(SIZES, 1 / 24)
        (value, counts), (exact_value, exact_counts) = (
            evidence.step(uniform),
            evidence.step(uniform, exact=True),
        )
        assert value == pytest.approx(exact_value, rel=1e-6)
        np.testing.assert_allclose(counts, exact_counts, rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["bloom-all", "subset-sample-jointly", "direct-fill-jointly", "direct-sample"]
)
def test_the_order_of_arrival_does_not_change_a_byte(name: str):
    batch = batch_of(name, 4000)
    shuffled = batch[np.random.default_rng(5).permutation(len(batch))]
    for method in ("shrunk", "em"):
        one, other = (estimate(b, ("a0", "a2"), method) for b in (batch, shuffled))
        assert one.to_csv() == other.to_csv()


@pytest.mark.parametrize("name", WISHES)
def test_estimates_go_to_the_truth(name: str):
    """With many reports the joint of a covered pair is right, whatever the mechanism and view."""
    n = 60_000
    truth = people(n).counts(("a0", "a1")) / n
    for method in ("em", "shrunk"):
        joint = estimate(batch_of(name, n), ("a0", "a1"), method)
        assert (
            joint.fit.converged or method == "shrunk"
        )  # one without any shrinking may be left a hair before its end
        assert joint.avd(truth) < 0.05


@pytest.mark.parametrize(
    "name",
    [
        "subset-sample-jointly",
        "unary-all-jointly",
        pytest.param("bloom-jointly", marks=pytest.mark.full),
    ],
)
def test_marginals_of_jointly_randomized_bits_are_consistent(name: str):
    """A product of marginals in the E-step errs however many reports there are: on these dependent attributes by 0.05."""
    errors = []
    for n in (5_000, 320_000):
        batch = batch_of(name, n, copied=0.95)
        truth = people(n, copied=0.95).counts(("a1",)) / n
        errors.append(estimate(batch, ("a1",)).avd(truth))
    assert errors[1] < 0.006
    assert errors[1] < errors[0] + 0.002


def test_the_default_beats_the_worse_of_em_and_product():
    independent = simulate(
        people(4000, copied=0.0),
        make_campaign(DOMAIN, Terms(name="x"), WISHES["subset-sample"]),
        seed=2,
    )
    joint = estimate(independent, ("a1", "a2"))
    assert joint.fit.strength is not None and joint.fit.strength >= 0.3
    assert joint.fit.gain is not None and joint.fit.gain < 3


def test_a_dependent_pair_has_a_large_held_out_gain():
    assert (estimate(batch_of("direct-fill-jointly", 20_000), ("a0", "a1")).fit.gain or 0) > 50


def test_shrunk_joints_are_raked_to_the_marginals():
    study = Study(batch_of("direct-fill-jointly", 5_000))
    joint = study.estimate(("a0", "a1"))
    for axis, name in enumerate(("a0", "a1")):
        np.testing.assert_allclose(
            joint.marginal((name,)).probabilities, study.marginal(axis), atol=1e-8
        )


@pytest.mark.parametrize(
    "name",
    [
        "bloom-all",
        "direct-fill-jointly",
        *(pytest.param(n, marks=pytest.mark.full) for n in ("unary-all-jointly", "subset-sample")),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(name: str):
    """95 % intervals of cells of at least 0.01, over 60 collections from a population whose joint is known."""
    population = people(400_000, seed=11)
    truth = population.counts(("a0", "a1")) / len(population)
    campaign = make_campaign(DOMAIN, Terms(name="x"), WISHES[name])
    rng = np.random.default_rng(3)
    covered, asked = 0, 0
    for seed in range(60):
        drawn = population[rng.integers(0, len(population), 4000)]
        joint = estimate(simulate(drawn, campaign, seed=seed), ("a0", "a1"), "em")
        large = truth >= 0.01
        inside = np.abs(joint.probabilities - truth)[large] <= 1.96 * joint.standard_errors[large]
        covered, asked = covered + int(inside.sum()), asked + int(large.sum())
    assert 0.90 <= covered / asked <= 0.98


def test_a_clique_that_no_view_covers_is_said_to_be_unidentified():
    batch = batch_of("subset-sample-jointly", 5_000)
    joint = estimate(batch, ("a0", "a1", "a2"))
    assert not joint.fit.identified
    pair = estimate(batch, ("a0", "a2"))
    assert pair.fit.identified
    np.testing.assert_allclose(
        joint.marginal(("a0", "a2")).probabilities, pair.probabilities, atol=0.02
    )


def test_a_part_of_a_jointly_randomized_view_is_estimated_through_its_view():
    n = 30_000
    joint = estimate(batch_of("unary-all-jointly", n), ("a0", "a1"))
    assert joint.fit.identified
    assert joint.avd(people(n).counts(("a0", "a1")) / n) < 0.05


def test_attributes_come_back_in_the_order_in_which_they_were_asked_for():
    batch = batch_of("direct-fill-jointly", 2_000)
    one, other = estimate(batch, ("a2", "a0")), estimate(batch, ("a0", "a2"))
    assert one.names == ("a2", "a0")
    np.testing.assert_array_equal(one.probabilities, other.probabilities.T)
    np.testing.assert_array_equal(one.standard_errors, other.standard_errors.T)


def test_all_pairs_are_the_single_pairs_whatever_the_number_of_workers():
    batch = batch_of("bloom-all", 2_000)
    for workers in (1, 2):
        pairs = estimate_pairs(batch, workers=workers)
        assert list(pairs) == [("a0", "a1"), ("a0", "a2"), ("a1", "a2")]
        assert pairs["a0", "a2"].to_csv() == estimate(batch, ("a0", "a2")).to_csv()


# ---- the paper


def alumni_evidence() -> object:
    """The four reports of the paper's example, attributes Gender (M 01, F 10) and Education (college, master, phd)."""
    from lopub.estimation.evidence import Evidence
    from lopub.estimation.factorised import Factorised

    gender_codes, degree_codes = ("01", "10"), ("0101", "0110", "1100")
    reports = (("10", "0111"), ("00", "1110"), ("10", "0100"), ("00", "0110"))

    def overlaps(bits: str, codes: tuple[str, ...]) -> list[int]:
        return [sum(b == c == "1" for b, c in zip(bits, code, strict=True)) for code in codes]

    gender = np.array([overlaps(g, gender_codes) for g, _ in reports], dtype=np.uint8)
    degree = np.array([overlaps(e, degree_codes) for _, e in reports], dtype=np.uint8)
    slope = 2 * math.log(3)  # f = 1/2
    starts = (0, 4, 4, 4, 4, 4)
    return Evidence(
        (2, 3), (Factorised((0, 1), (gender, degree), (slope, slope), starts, (0, 1, 2, 3, 4)),)
    )


def test_the_worked_update_gives_0_1574():
    """The paper prints 0.1564 (a slip)."""
    _, counts = alumni_evidence().step(np.full((2, 3), 1 / 6))
    assert counts[1, 2] / 4 == pytest.approx(0.1574, abs=5e-5)


def plain_loop(batch: ReportBatch, gap: float) -> tuple[np.ndarray, int]:
    """Algorithm 1, corrected (the candidate's bits are compared), line by line."""
    joint = dict.fromkeys(itertools.product(*(range(n) for n in SIZES)), 1 / 24)
    given = [{record: likelihood(batch, i, record) for record in joint} for i in range(len(batch))]
    steps = 0
    while True:
        following = dict.fromkeys(joint, 0.0)
        for chances in given:
            total = sum(joint[record] * chances[record] for record in joint)
            for record in joint:
                following[record] += joint[record] * chances[record] / total / len(batch)
        steps += 1
        done = max(following.values()) - max(joint.values()) <= gap
        joint = following
        if done:
            return np.array(list(joint.values())).reshape(SIZES), steps


def test_em_with_the_papers_stop_equals_a_plain_loop_step_by_step():
    batch = batch_of("bloom-all", 80)
    joint = Study(batch).estimate(("a0", "a1", "a2"), Em(stop="paper"))
    looped, steps = plain_loop(batch, 0.001)
    assert joint.fit.n_evaluations == steps
    np.testing.assert_allclose(joint.probabilities, looped, rtol=1e-4)


# ---- bad input


@pytest.mark.parametrize(
    ("names", "options", "error", "words"),
    [
        (("a0", "height"), {}, DomainError, "there is no attribute 'height'"),
        (("a0", "a0"), {}, DomainError, "names attribute 'a0' twice"),
        ((), {}, DomainError, "at least one attribute"),
        (
            ("a0",),
            {"method": "magic"},
            DomainError,
            "method must be one of shrunk, em, moments, product, lasso, hybrid, got 'magic'",
        ),
    ],
)
def test_a_question_that_cannot_be_answered_gets_one_sentence(names, options, error, words):
    with pytest.raises(error, match=words):
        estimate(batch_of("direct-fill-jointly", 100), names, **options)


def test_a_clique_with_too_many_cells_is_refused_with_both_numbers():
    domain = Domain(
        tuple(Categorical(name=f"b{i}", values=tuple(str(k) for k in range(40))) for i in range(4))
    )
    campaign = make_campaign(domain, Terms(name="x"), CampaignRequest(epsilon=8))
    batch = simulate(Dataset(domain, np.zeros((10, 4), dtype=np.uint16)), campaign, seed=1)
    with pytest.raises(DomainError, match="2,560,000 cells together; at most 1,048,576"):
        estimate(batch, domain.names)


def test_no_reports_are_said_to_be_none():
    with pytest.raises(TooFewReports, match="no reports"):
        estimate(batch_of("direct-fill-jointly", 100)[:0], ("a0",))


def test_fewer_reports_than_min_reports_are_refused_with_both_numbers():
    wish = WISHES["direct-fill-jointly"]
    campaign: Campaign = make_campaign(DOMAIN, Terms(name="test", min_reports=500), wish)
    with pytest.raises(
        TooFewReports, match="at least 500 reports before anything is estimated; there are 120"
    ):
        estimate(simulate(people(120), campaign, seed=1), ("a0",))


def test_an_attribute_that_nobody_reported_is_named():
    campaign = make_campaign(
        DOMAIN,
        Terms(name="x"),
        CampaignRequest(epsilon=3, mechanism="direct", view=Listed.of(DOMAIN, [(("a0", "a1"), 1)])),
    )
    with pytest.raises(TooFewReports, match="no report covers attribute 'a2'"):
        estimate(simulate(people(100), campaign, seed=1), ("a0", "a2"))


def test_noise_that_drowns_everything_is_warned_of_with_the_expected_error():
    campaign = make_campaign(
        DOMAIN,
        Terms(name="x"),
        CampaignRequest(epsilon=0.05, mechanism="direct", view=AllAttributes(), jointly=True),
    )
    with pytest.warns(NoiseWarning, match=r"expected AVD is 1\.00 of at most 1"):
        estimate(simulate(people(200), campaign, seed=1), ("a0", "a1", "a2"))


def test_a_search_whose_leaps_are_refused_goes_on_while_plain_steps_gain():
    """Told from refused leaps alone that nothing was gained, a fit of many candidates ended after 42 of 247 evaluations."""
    towns = Domain((IntegerRange(name="town", minimum=1, maximum=300),))
    people = np.where(np.random.default_rng(1).random(8000) < 0.9, 7, np.arange(8000) % 300).astype(
        np.uint16
    )
    campaign = make_campaign(towns, Terms(name="t"), CampaignRequest(epsilon=1, mechanism="hashed"))
    joint = Study(simulate(Dataset(towns, people[:, None]), campaign, seed=1)).estimate(
        ["town"], method="em"
    )
    assert joint.probabilities[7] > 0.7
