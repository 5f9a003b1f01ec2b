"""`shrunk` of separately randomized attributes: what all pairs teach, and what that is worth."""

import numpy as np
import pytest

from lopub import CampaignRequest, Categorical, Dataset, Domain, Terms, make_campaign, simulate
from lopub.inference import Study
from lopub.inference import averaging as of
from lopub.inference.averaging import STRENGTHS, averaged, held_out_gains, learned, taught_pairs
from lopub.inference.em import em_map
from lopub.inference.joint import avd
from lopub.inference.shrunk import fitted

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
    return Study(simulate(records, make_campaign(records.domain, Terms(name="test"), request), seed=3))


def error(records: Dataset, study: Study, method: str, k: int = 3) -> float:
    sets = [records.domain.names[start : start + k] for start in range(N_ATTRIBUTES - k + 1)]
    return float(np.mean([avd(study.estimate(s, method).probabilities, records.counts(s) / len(records)) for s in sets]))


def row(**gains: float) -> np.ndarray:
    """Gains of the first prior by the number of their strength; the others and the second prior are hopeless."""
    found = np.full((2, len(STRENGTHS)), -np.inf)
    for name, gain in gains.items():
        found[0, int(name[1:])] = gain
    return found


def test_strong_dependence_of_all_attributes_is_not_shrunk_away_at_strong_noise():
    records = survey()
    study = study_of(records)
    assert error(records, study, "shrunk") < 0.75 * error(records, study, "product")


def test_independent_attributes_stay_independent_at_strong_noise():
    records = survey(together=False)
    study = study_of(records)
    assert error(records, study, "shrunk") < 1.1 * error(records, study, "product")


def test_little_noise_leaves_little_to_be_shrunk():
    records = survey()
    study = study_of(records, "0.3")
    assert error(records, study, "shrunk") < 1.1 * error(records, study, "em")


def test_many_pairs_that_hardly_say_it_say_it_together():
    weak = [row(s0=0.0, s4=1.0)] * 30
    weights = np.exp(learned(weak))
    assert weights[0, 4] > 0.9 and weights.sum() == pytest.approx(1)
    assert np.exp(learned(weak[:1]))[0, 4] < 0.75  # one alone does not


def test_no_pairs_teach_nothing():
    assert np.ptp(learned([])) == 0


def test_the_pairs_that_teach_are_few_and_the_same_in_any_order_of_columns():
    first, other = (study_of(survey(500, names=names)) for names in ("abcdef", "fbdace"))
    found = [
        {tuple(sorted(study.campaign.domain.names[p] for p in pair)) for pair in taught_pairs(study._basis)}
        for study in (first, other)
    ]
    assert found[0] == found[1] and len(found[0]) == N_ATTRIBUTES * (N_ATTRIBUTES - 1) // 2


def test_at_most_so_many_pairs_teach(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(of, "MOST_TAUGHT", 4)
    pairs = taught_pairs(study_of(survey(300))._basis)
    assert len(pairs) == len(set(pairs)) == 4


def test_joints_made_on_two_cores_are_those_made_one_by_one():
    pairs, records = [(0, 1), (2, 3), (0, 4)], survey(800)
    many, alone = study_of(records, "0.7").joints(pairs, workers=2), study_of(records, "0.7")
    assert all(np.array_equal(one.probabilities, alone.joint_of(p).probabilities) for p, one in zip(pairs, many, strict=True))


def test_a_fit_is_read_as_the_people_who_reported():
    """At the mode, (counts + s N prior) / (1 + s) N is the fit; so counts / N is the fit, and s times what it moved."""
    basis = study_of(survey(1_000), "0.5")._basis
    evidence, prior = basis.summary((0, 1)), basis.independent((0, 1))
    fit = fitted(evidence, prior, 0.3, prior).joint
    people = em_map(evidence)(fit)[1]
    assert people == pytest.approx(fit + 0.3 * (fit - prior), abs=1e-4)


def test_an_average_is_of_the_fits_that_the_weights_name():
    basis = study_of(survey(1_000), "0.5")._basis
    trials = basis.experience._tried((0, 1))
    only = np.full((2, len(STRENGTHS)), -1e6)
    only[0, 0] = 0.0
    assert averaged(trials, only).joint == pytest.approx(em_map(trials.evidence)(trials.priors[0])[1], abs=1e-6)


def test_the_gain_of_the_prior_itself_is_none():
    basis = study_of(survey(600))._basis
    gains = held_out_gains(basis.summary((0, 1)), basis.independent((0, 1)))
    assert gains[0] == 0 and len(gains) == len(STRENGTHS)
