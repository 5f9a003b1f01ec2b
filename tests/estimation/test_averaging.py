"""`shrunk` of separately randomized attributes: what all pairs teach, and what that is worth."""

import numpy as np
import pytest

from lopub import CampaignRequest, Categorical, Dataset, Domain, Terms, make_campaign, simulate
from lopub.campaign.views import AllAttributes, Sample
from lopub.estimation import averaging as of
from lopub.estimation.averaging import (
    STRENGTHS,
    Gains,
    averaged,
    held_out_gains,
    learned,
    taught_pairs,
    weights_of,
)
from lopub.estimation.em import em_map
from lopub.estimation.evidence import EVERY_FOLD
from lopub.estimation.joint import avd, raked
from lopub.estimation.shrunk import fitted
from lopub.estimation.tallied import TalliedEvidence, tallied
from lopub.queries import Study

N_ATTRIBUTES = 6


def survey(n: int = 2_500, *, together: bool = True, names: str = "abcdef") -> Dataset:
    """Six yes-or-no answers: of frail people mostly yes, of others mostly no; or every one for itself."""
    rng = np.random.default_rng(9)
    shares = np.where(rng.random(n) < 0.3, 0.85, 0.08)[:, None] if together else 0.3
    answers = (rng.random((n, N_ATTRIBUTES)) < shares).astype(np.uint16)
    order = sorted(range(N_ATTRIBUTES), key=lambda position: names[position])
    named = {names[position]: answers[:, order.index(position)] for position in range(N_ATTRIBUTES)}
    domain = Domain(tuple(Categorical(name=name, values=("no", "yes")) for name in names))
    return Dataset(domain, np.stack([named[name] for name in names], axis=1))


def study_of(records: Dataset, flip: str = "0.85") -> Study:
    request = CampaignRequest(flip_probability=flip, n_bits=32, n_hashes=4)
    return Study(
        simulate(records, make_campaign(records.domain, Terms(name="test"), request), seed=3)
    )


def error(records: Dataset, study: Study, method: str, k: int = 2) -> float:
    sets = [records.domain.names[start : start + k] for start in range(N_ATTRIBUTES - k + 1)]
    return float(
        np.mean(
            [
                avd(study.estimate(s, method).probabilities, records.counts(s) / len(records))
                for s in sets
            ]
        )
    )


def row(**gains: float) -> np.ndarray:
    """Gains by the number of their strength; the others are hopeless."""
    found = np.full(len(STRENGTHS), -np.inf)
    for name, gain in gains.items():
        found[int(name[1:])] = gain
    return found


def test_strong_dependence_of_all_attributes_is_not_shrunk_away_at_strong_noise():
    records = survey()
    study = study_of(records)
    assert error(records, study, "shrunk") < 0.6 * error(records, study, "product")


def test_independent_attributes_stay_independent_at_strong_noise():
    records = survey(together=False)
    study = study_of(records)
    assert error(records, study, "shrunk") < 1.1 * error(records, study, "product")


def test_little_noise_leaves_nothing_to_be_shrunk():
    """Pseudo-counts of a thousandth of the reports would be a larger error than all the noise."""
    records = survey()
    study = study_of(records, "0.1")
    assert error(records, study, "shrunk") < 1.05 * error(records, study, "em")


def test_many_pairs_that_hardly_say_it_say_it_together():
    weak = [row(s0=0.0, s4=2.0)] * 30
    weights = learned(weak)
    assert weights[4] > 0.85 and weights.sum() == pytest.approx(1)
    assert learned(weak[:1])[4] < 0.6  # one alone does not


def test_what_no_report_tells_apart_is_shrunk_the_more():
    flat = row(**{f"s{number}": 0.0 for number in range(len(STRENGTHS))})
    for weights in (learned([]), learned([flat] * 30)):
        assert weights[1:] / weights[:-1] == pytest.approx(np.full(len(STRENGTHS) - 1, 0.5))


def test_a_cliques_own_reports_weigh_on_top_of_what_was_learned():
    flat = np.full(len(STRENGTHS), 1 / len(STRENGTHS))
    own = row(s0=0.0, s3=10.0)
    weights = weights_of(Gains(own, own), flat)
    assert (
        weights[3] == pytest.approx(1 / (1 + np.exp(-of.TRUST * 10)), abs=0.02) and weights[1] == 0
    )


def test_a_lucky_pair_does_not_vouch_for_itself():
    """The only pair there is, independent, whose held-out reports happen to be explained better by 3 nats: counted once for what
    is right in general and once more for the pair, they would be taken for dependence."""
    domain = Domain(tuple(Categorical(name=name, values=tuple("abcdefghij")) for name in "xy"))
    records = Dataset(
        domain, np.random.default_rng(4).integers(0, 10, (20_000, 2)).astype(np.uint16)
    )
    request = CampaignRequest(epsilon="1", mechanism="unary", view=AllAttributes(), jointly=False)
    study = Study(simulate(records, make_campaign(domain, Terms(name="test"), request), seed=4))
    true = records.counts(domain.names) / len(records)
    errors = [
        avd(study.estimate(domain.names, method).probabilities, true)
        for method in ("shrunk", "product")
    ]
    assert study._basis.experience._taught[0, 1].raked.max() > 3
    assert errors[0] < 1.05 * errors[1]


def test_the_pairs_that_teach_are_few_and_the_same_in_any_order_of_columns():
    first, other = (study_of(survey(500, names=names)) for names in ("abcdef", "fbdace"))
    found = [
        {
            tuple(sorted(study.campaign.domain.names[p] for p in pair))
            for pair in taught_pairs(study._basis)
        }
        for study in (first, other)
    ]
    assert found[0] == found[1] and len(found[0]) == N_ATTRIBUTES * (N_ATTRIBUTES - 1) // 2


@pytest.mark.parametrize(("limit", "value"), [("MOST_TAUGHT", 4), ("MOST_TAUGHT_REPORTS", 1_300)])
def test_at_most_so_many_pairs_or_reports_teach(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int
):
    monkeypatch.setattr(of, limit, value)
    pairs = taught_pairs(study_of(survey(300))._basis)
    assert len(pairs) == len(set(pairs)) == 4


def test_joints_made_on_two_cores_are_those_made_one_by_one():
    pairs, records = [(0, 1), (2, 3), (0, 4)], survey(800)
    many, alone = study_of(records, "0.7").joints(pairs, workers=2), study_of(records, "0.7")
    assert all(
        np.array_equal(one.probabilities, alone.joint_of(p).probabilities)
        for p, one in zip(pairs, many, strict=True)
    )


def test_a_fit_is_read_as_the_people_who_reported():
    """At the mode, (counts + s N prior) / (1 + s) N is the fit; so counts / N is the fit, and s times what it moved."""
    basis = study_of(survey(1_000), "0.5")._basis
    evidence, prior = basis.summary((0, 1)), basis.independent((0, 1))
    fit = fitted(evidence, prior, 0.3, prior).joint
    people = em_map(evidence)(fit)[1]
    assert people == pytest.approx(fit + 0.3 * (fit - prior), abs=1e-4)


def test_independence_too_is_read_as_the_people_who_reported():
    """The product itself would leave out what is known about them: their answers depend on each other a little by chance."""
    basis = study_of(survey(600), "0.5")._basis
    evidence, prior, marginals = (
        basis.summary((0, 1)),
        basis.independent((0, 1)),
        [basis.marginal(0), basis.marginal(1)],
    )
    people = averaged(evidence, prior, marginals, np.eye(len(STRENGTHS))[0]).joint
    assert people == pytest.approx(
        raked(em_map(evidence)(prior)[1], [(0,), (1,)], marginals), abs=1e-5
    )
    assert np.abs(people - prior).max() > 0.01


def test_chance_frequencies_of_independent_answers_are_read_off_reports_of_little_noise():
    """300 people in 512 cells are far from the product of their marginals, though nothing depends on anything."""
    domain = Domain(tuple(Categorical(name=name, values=tuple("abcdefgh")) for name in "xyz"))
    records = Dataset(domain, np.random.default_rng(2).integers(0, 8, (300, 3)).astype(np.uint16))
    request = CampaignRequest(flip_probability="0.1", n_bits=128, n_hashes=4)
    study = Study(simulate(records, make_campaign(domain, Terms(name="test"), request), seed=3))
    true = records.counts(domain.names) / len(records)
    errors = {
        method: avd(study.estimate(domain.names, method).probabilities, true)
        for method in ("shrunk", "em", "product")
    }
    assert errors["product"] > 0.3 and errors["shrunk"] <= 1.1 * errors["em"]


@pytest.mark.parametrize("epsilon", [8, 24])
def test_few_people_who_were_asked_both_questions_do_not_speak_for_all(epsilon: int):
    """Forbids to take the chance frequencies of a sample for those of everybody, the more so the weaker the noise is."""
    domain = Domain(
        tuple(Categorical(name=name, values=tuple("abcdefgh")) for name in "pqrstuvwxy")
    )
    records = Dataset(
        domain, np.random.default_rng(2).integers(0, 8, (4_000, 10)).astype(np.uint16)
    )
    request = CampaignRequest(epsilon=epsilon, mechanism="subset", view=Sample(2), jointly=False)
    study = Study(simulate(records, make_campaign(domain, Terms(name="test"), request), seed=3))
    true = records.counts(("p", "q")) / len(records)
    errors = {
        method: avd(study.estimate(("p", "q"), method).probabilities, true)
        for method in ("shrunk", "em", "product")
    }
    assert errors["em"] > 0.2 and errors["shrunk"] <= 1.1 * errors["product"]


def test_a_tighter_average_moves_no_cell_of_one_that_converged(monkeypatch: pytest.MonkeyPatch):
    basis = study_of(survey(2_000), "0.5")._basis
    evidence, prior, marginals = (
        basis.summary((0, 1)),
        basis.independent((0, 1)),
        [basis.marginal(0), basis.marginal(1)],
    )
    found = averaged(evidence, prior, marginals, np.full(len(STRENGTHS), 1 / len(STRENGTHS)))
    monkeypatch.setattr(of, "TOLERANCE", of.TOLERANCE / 1e4)
    monkeypatch.setattr(of, "FINISH", 3_000)
    tighter = averaged(evidence, prior, marginals, np.full(len(STRENGTHS), 1 / len(STRENGTHS)))
    assert found.converged and np.abs(found.joint - tighter.joint).max() <= 1e-6


def test_the_gain_of_the_prior_itself_is_none():
    basis = study_of(survey(600))._basis
    gains = held_out_gains(
        basis.summary((0, 1)), basis.independent((0, 1)), [basis.marginal(0), basis.marginal(1)]
    )
    assert gains.raked[0] == gains.plain[0] == 0 and len(gains.raked) == len(STRENGTHS)


@pytest.mark.parametrize("folds", [EVERY_FOLD, frozenset({1, 3})])
def test_tallied_reports_say_what_they_said_one_by_one(folds: frozenset[int]):
    basis = study_of(survey(700), "0.6")._basis
    one_by_one = basis.summary((0, 1, 2))
    together = tallied(one_by_one)
    assert (
        isinstance(together.parts[0], TalliedEvidence) and len(together.parts[0].likelihood) < 700
    )
    joint = np.random.default_rng(1).dirichlet(np.ones(8)).reshape(2, 2, 2)
    one, other = (evidence.within(folds) for evidence in (one_by_one, together))
    assert other.n_reports == one.n_reports
    assert other.log_likelihood(joint) == pytest.approx(one.log_likelihood(joint), rel=1e-5)
    assert other.step(joint)[1] == pytest.approx(one.step(joint, exact=True)[1], rel=1e-5)
    assert other.information(joint) == pytest.approx(one.information(joint), rel=1e-4)


def test_large_cliques_are_not_tallied():
    domain = Domain(
        tuple(Categorical(name=name, values=tuple(f"v{i}" for i in range(9))) for name in "ab")
    )
    records = Dataset(domain, np.random.default_rng(1).integers(0, 9, (100, 2)).astype(np.uint16))
    evidence = study_of(records)._basis.summary((0, 1))
    assert tallied(evidence).parts[0] is evidence.parts[0]
