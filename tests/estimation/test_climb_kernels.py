"""The compiled search for a shrunk joint against the same search in NumPy."""

from collections.abc import Callable

import numpy as np
import pytest

from lopub.estimation.climb_kernels import Folds, best_strength, climb, dense_step, kept_step, step
from lopub.estimation.dense import Dense
from lopub.estimation.em import (
    MOST_EVALUATIONS,
    ROUNDING,
    TOLERANCE,
    Result,
    em_map,
    run_accelerated,
    run_plain,
)
from lopub.estimation.evidence import EVERY_FOLD, Evidence
from lopub.estimation.kept_cell import KeptCell
from lopub.estimation.shrunk import (
    PATIENCE,
    STRENGTHS,
    TRIAL_TOLERANCE,
    chosen_strength,
    fitted,
    shrunk,
)

SHAPE = (3, 4)
CELLS = 12
NO_KEEPS = np.zeros(0)


def joint_of(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(CELLS, 2.0)).reshape(SHAPE)


def dependent(copied: float) -> np.ndarray:
    """A joint whose second attribute follows the first as often as told."""
    joint = np.full(SHAPE, (1 - copied) / CELLS)
    joint[np.arange(3), np.arange(3)] += copied / 3
    return joint


def kept_cells(
    n: int = 3000, copied: float = 0.5, keeps: tuple[float, ...] = (0.5, 0.8), seed: int = 1
) -> KeptCell:
    """Reports that keep their cell, or draw any one."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((len(EVERY_FOLD), len(keeps), CELLS), dtype=np.int64)
    for place, keep in enumerate(keeps):
        true = rng.choice(CELLS, n // len(keeps), p=dependent(copied).reshape(-1))
        seen = np.where(rng.random(len(true)) < keep, true, rng.integers(0, CELLS, len(true)))
        np.add.at(counts, (rng.integers(0, len(EVERY_FOLD), len(true)), place, seen), 1)
    return KeptCell((0, 1), SHAPE, counts, np.array(keeps))


def dense(n: int = 3000, copied: float = 0.5, seed: int = 1) -> Dense:
    """Reports with one bit a cell: set with 0.7 at the true cell, with 0.3 elsewhere."""
    rng = np.random.default_rng(seed)
    true = rng.choice(CELLS, n, p=dependent(copied).reshape(-1))
    bits = rng.random((n, CELLS)) < np.where(np.arange(CELLS) == true[:, None], 0.7, 0.3)
    odds = (0.3 / 0.7) ** 2
    likelihood = np.where(bits, 1.0, odds).astype(np.float32)
    likelihood /= likelihood.max(axis=1, keepdims=True)
    starts = tuple(int(n * fold / len(EVERY_FOLD)) for fold in range(len(EVERY_FOLD) + 1))
    return Dense((0, 1), SHAPE, likelihood, starts, tuple(sorted(EVERY_FOLD)))


FORMS: dict[str, Callable[..., KeptCell | Dense]] = {"kept": kept_cells, "dense": dense}


def single_report(form: str) -> KeptCell | Dense:
    part = kept_cells(1, keeps=(0.8,)) if form == "kept" else dense(1)
    assert part.n_reports == 1
    return part


def matrix_of(part: KeptCell | Dense) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(part, Dense):
        return part.rows, NO_KEEPS
    return part.counts.sum(axis=0).astype(np.float64), part.keeps


def whole(part: KeptCell | Dense) -> Evidence:
    return Evidence(SHAPE, (part,))


def in_numpy(
    evidence: Evidence, prior: np.ndarray, strength: float, start: np.ndarray, tolerance: float
) -> Result:
    """`fitted`, past its compiled twin."""
    slack = ROUNDING * evidence.n_reports
    return run_accelerated(
        em_map(evidence, prior, strength),
        start,
        tolerance=tolerance,
        most=MOST_EVALUATIONS,
        slack=slack,
    )


def chosen_in_numpy(evidence: Evidence, prior: np.ndarray) -> tuple[float, float]:
    """`chosen_strength`, past its compiled twin and written for itself: strength and gain."""
    pairs = [
        (evidence.within(EVERY_FOLD - {fold}), evidence.within(frozenset({fold})))
        for fold in sorted(EVERY_FOLD)
    ]
    pairs = [
        (training, held_out)
        for training, held_out in pairs
        if training.n_reports and held_out.n_reports
    ]
    joints = [prior] * len(pairs)
    best, best_gain, worse = np.inf, 0.0, 0
    for strength in STRENGTHS:
        joints = [
            in_numpy(t, prior, strength, at, TRIAL_TOLERANCE).joint
            for (t, _), at in zip(pairs, joints, strict=True)
        ]
        found = sum(h.log_likelihood(joint) for (_, h), joint in zip(pairs, joints, strict=True))
        gain = found - sum(h.log_likelihood(prior) for _, h in pairs)
        if gain > best_gain:
            best, best_gain, worse = strength, gain, 0
        elif best < np.inf:
            worse += 1
        if worse > PATIENCE:
            break
    return best, best_gain


def marginals_of(joint: np.ndarray) -> list[np.ndarray]:
    return [joint.sum(axis=1), joint.sum(axis=0)]


def climbed(
    part: KeptCell | Dense, prior: np.ndarray, strength: float, most: int = MOST_EVALUATIONS
) -> Result:
    """`climb`, called as `fitted` calls it."""
    matrix, keeps = matrix_of(part)
    trace = np.full(most, np.nan)
    pseudo, slack = strength * part.n_reports * prior.reshape(-1), ROUNDING * part.n_reports
    start = np.full(CELLS, 1 / CELLS)
    joint, converged, n, n_trace = climb(matrix, keeps, pseudo, start, TOLERANCE, slack, trace)
    assert np.isnan(trace[n_trace:]).all()
    return Result(joint, bool(converged), int(n), tuple(trace[:n_trace].tolist()))


# ---- one step


@pytest.mark.parametrize("keeps", [(0.6,), (0.2, 0.5, 0.9), (1.0,)])
def test_a_kept_step_is_numpys(keeps: tuple[float, ...]):
    part, joint, ratio = kept_cells(keeps=keeps), joint_of(), np.full(CELLS, np.nan)
    value, expected = part.step(joint)
    assert kept_step(*matrix_of(part), joint.reshape(-1), ratio) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(ratio, expected.reshape(-1), rtol=1e-10)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 3000])
def test_a_dense_step_is_numpys(n: int):
    """Around the blocks that are summed as float32, too."""
    part, joint, ratio = dense(n), joint_of(), np.full(CELLS, np.nan)
    value, expected = part.step(joint)
    assert dense_step(part.rows, joint.reshape(-1), ratio) == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ratio, expected.reshape(-1), rtol=2e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-30])
def test_a_dense_step_does_not_lose_small_chances(scale: float):
    """Their product alone would be zero after a few reports."""
    likelihood, ratio = np.full((4000, 2), scale, dtype=np.float32), np.zeros(2)
    found = dense_step(likelihood, np.full(2, 0.5), ratio)
    assert found == pytest.approx(4000 * np.log(np.float64(np.float32(scale))), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(ratio, 4000, rtol=1e-6)


def test_a_dense_step_of_an_impossible_report_is_minus_infinity_and_no_error():
    likelihood = np.array([[0.0, 1.0]], dtype=np.float32)
    assert dense_step(likelihood, np.array([1.0, 0.0]), np.zeros(2)) == -np.inf


def test_cells_that_nobody_saw_add_nothing_although_they_are_impossible():
    """0 log 0 is nothing; NumPy's twin makes NaN of it, which is why a joint's zeros are possible only with keeps below 1."""
    ratio = np.zeros(2)
    assert kept_step(np.array([[5.0, 0.0]]), np.array([1.0]), np.array([1.0, 0.0]), ratio) == 0
    np.testing.assert_allclose(ratio, [5, 0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_a_step_is_that_of_the_em_map(form: str, strength: float):
    part, joint, prior = FORMS[form](), joint_of(), joint_of(4)
    expected_value, expected = em_map(whole(part), prior, strength)(joint)
    image = np.empty(CELLS)
    pseudo = strength * part.n_reports * prior.reshape(-1)
    value = step(*matrix_of(part), pseudo, joint.reshape(-1), image)
    assert value == pytest.approx(expected_value, rel=1e-6)
    np.testing.assert_allclose(image, expected.reshape(-1), rtol=2e-5)
    assert image.sum() == pytest.approx(1)


@pytest.mark.parametrize("form", FORMS)
def test_a_step_leaves_the_joint_as_it_was(form: str):
    part, joint = FORMS[form](), joint_of().reshape(-1)
    before = joint.copy()
    step(*matrix_of(part), np.zeros(CELLS), joint, np.empty(CELLS))
    np.testing.assert_array_equal(joint, before)


# ---- a whole fit


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strength", [0.0, 0.01, 1.0])
def test_a_climb_ends_at_the_maximum_that_plain_em_goes_to(form: str, strength: float):
    part, prior = FORMS[form](), joint_of(4)
    uniform = np.full(SHAPE, 1 / CELLS)
    plain = run_plain(
        em_map(whole(part), prior, strength), uniform, stop="change", tolerance=1e-9, most=20_000
    )
    found = climbed(part, prior, strength)
    assert found.converged
    reached = em_map(whole(part), prior, strength)(found.joint.reshape(SHAPE))[0]
    assert reached == pytest.approx(plain.trace[-1], rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_a_climb_gives_the_joint_of_run_accelerated(form: str, strength: float):
    part, prior = FORMS[form](), joint_of(4)
    uniform = np.full(SHAPE, 1 / CELLS)
    expected = in_numpy(whole(part), prior, strength, uniform, TOLERANCE)
    found = climbed(part, prior, strength)
    assert (found.converged, expected.converged) == (True, True)
    np.testing.assert_allclose(found.joint, expected.joint.reshape(-1), atol=2e-5)
    assert found.trace[-1] == pytest.approx(expected.trace[-1], rel=1e-6)


def test_a_climb_on_counts_takes_the_very_steps_of_run_accelerated():
    part, prior = kept_cells(), joint_of(4)
    expected = in_numpy(whole(part), prior, 0.01, np.full(SHAPE, 1 / CELLS), TOLERANCE)
    found = climbed(part, prior, 0.01)
    assert found.n_evaluations == expected.n_evaluations
    np.testing.assert_allclose(found.trace, expected.trace, rtol=1e-9)
    np.testing.assert_allclose(found.joint, expected.joint.reshape(-1), atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("copied", [0.0, 0.5, 1.0])
def test_the_trace_of_a_climb_never_falls_but_for_rounding(form: str, copied: float):
    part = FORMS[form](copied=copied)
    for strength in (0.0, 0.1):
        trace = climbed(part, joint_of(4), strength).trace
        assert len(trace) > 1
        assert np.diff(trace).min() >= -ROUNDING * part.n_reports


@pytest.mark.parametrize("form", FORMS)
def test_a_climb_that_may_not_go_on_says_so(form: str):
    found = climbed(FORMS[form](), joint_of(4), 0.0, most=3)
    assert not found.converged
    assert found.n_evaluations >= 3 and len(found.trace) <= 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6])
def test_a_climb_never_writes_past_its_trace(form: str, most: int):
    """A refused leap evaluates twice; what lies behind the trace must stay."""
    part = FORMS[form]()
    matrix, keeps = matrix_of(part)
    room = np.full(most + 8, -1.0)
    _, _, _, n_trace = climb(
        matrix, keeps, np.zeros(CELLS), np.full(CELLS, 1 / CELLS), 0.0, 0.0, room[:most]
    )
    assert n_trace <= most
    assert (room[most:] == -1).all()


def test_a_climb_leaves_its_start_as_it_was():
    part = kept_cells()
    start = np.full(CELLS, 1 / CELLS)
    climb(*matrix_of(part), np.zeros(CELLS), start, TOLERANCE, 0.0, np.empty(100))
    np.testing.assert_array_equal(start, 1 / CELLS)


@pytest.mark.parametrize("form", FORMS)
def test_a_climb_keeps_zeros_of_prior_and_start(form: str):
    part, prior = FORMS[form](), joint_of(4)
    prior[0] = 0
    prior /= prior.sum()
    found = fitted(whole(part), prior, 0.1, prior)
    assert found.converged and not found.joint[0].any()
    assert found.joint.sum() == pytest.approx(1)


# ---- the strength


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("copied", [0.05, 0.3, 0.8])
def test_the_best_strength_is_that_of_the_plain_loop(form: str, copied: float):
    evidence = whole(FORMS[form](copied=copied))
    prior = np.multiply.outer(*marginals_of(dependent(copied)))
    strength, gain, start = chosen_strength(evidence, prior)
    expected_strength, expected_gain = chosen_in_numpy(evidence, prior)
    assert strength == expected_strength
    assert gain == pytest.approx(
        expected_gain, abs=0.01, rel=5e-4
    )  # trials end early, and float32 ends them elsewhere
    assert start.shape == SHAPE and start.sum() == pytest.approx(1)


@pytest.mark.parametrize("form", FORMS)
def test_independent_attributes_gain_next_to_nothing(form: str):
    evidence = whole(FORMS[form](copied=0.0))
    prior = np.full(SHAPE, 1 / CELLS)
    strength, gain, _ = chosen_strength(evidence, prior)
    expected_strength, expected_gain = chosen_in_numpy(evidence, prior)
    assert strength == expected_strength and gain == pytest.approx(expected_gain, abs=0.01)
    assert gain < 3


def test_a_prior_that_no_strength_beats_is_kept():
    """The reports are just the prior's, so whatever is fitted to some of them explains the others worse."""
    counts = np.tile(np.full((1, CELLS), 40), (len(EVERY_FOLD), 1, 1))
    counts[np.arange(len(EVERY_FOLD)), 0, np.arange(len(EVERY_FOLD))] += 9
    part = KeptCell((0, 1), SHAPE, counts, np.array([0.5]))
    prior = (counts.sum(axis=(0, 1)) / counts.sum()).reshape(SHAPE)
    strength, gain, start = chosen_strength(whole(part), prior)
    assert (strength, gain) == (np.inf, 0.0)
    np.testing.assert_array_equal(start, prior)


def test_a_fold_without_reports_is_left_out():
    part = kept_cells(copied=0.8)
    counts = part.counts.copy()
    counts[2] = 0
    part = KeptCell(part.axes, part.shape, counts, part.keeps)
    prior = np.full(SHAPE, 1 / CELLS)
    strength, gain, _ = chosen_strength(whole(part), prior)
    assert (strength, gain) == pytest.approx(chosen_in_numpy(whole(part), prior), abs=0.01)
    assert gain > 100


def test_dense_folds_without_reports_are_left_out():
    part = dense(copied=0.8)
    n = len(part.likelihood)
    part = Dense(part.axes, part.shape, part.likelihood, (0, 0, n // 2, n // 2, n, n), part.folds)
    prior = np.full(SHAPE, 1 / CELLS)
    strength, gain, _ = chosen_strength(whole(part), prior)
    assert (strength, gain) == pytest.approx(chosen_in_numpy(whole(part), prior), abs=0.01)


@pytest.mark.parametrize("form", FORMS)
def test_a_single_report_says_nothing_about_dependence(form: str):
    prior = joint_of()
    strength, gain, start = chosen_strength(whole(single_report(form)), prior)
    assert (strength, gain) == (np.inf, 0.0)
    np.testing.assert_array_equal(start, prior)


@pytest.mark.parametrize("form", FORMS)
def test_a_shrunk_joint_of_a_single_report_is_the_product(form: str):
    marginals = marginals_of(joint_of())
    found = shrunk(whole(single_report(form)), marginals)
    np.testing.assert_allclose(found.joint, np.multiply.outer(*marginals))
    assert found.gain == 0 and np.isinf(found.strength)


@pytest.mark.parametrize("form", FORMS)
def test_the_search_gives_up_after_a_few_worse_strengths(form: str):
    """With as many strengths as one likes, those behind the patience are not tried: a far better last one is not found."""
    part = FORMS[form](copied=0.0)
    matrix, keeps = matrix_of(part)
    bounds = np.array([[0, len(matrix), 0, len(matrix)]])
    prior = np.full(CELLS, 1 / CELLS)
    sizes, trace = np.array([float(part.n_reports)]), np.empty(MOST_EVALUATIONS)
    folds = Folds(matrix, matrix, bounds, sizes, ROUNDING * sizes)
    strengths = np.array([0.1, 10.0, 10.0, 10.0, 0.0])
    patient, _, _ = best_strength(folds, keeps, prior, strengths, TRIAL_TOLERANCE, 3, trace)
    hasty, _, _ = best_strength(folds, keeps, prior, strengths, TRIAL_TOLERANCE, 2, trace)
    assert (patient, hasty) == (4, 0)
