"""JointDistribution: algebra against hand-made numbers, files, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from lopub import (
    Binned,
    Boolean,
    Categorical,
    Domain,
    DomainError,
    IntegerRange,
    JointDistribution,
    StoreError,
)
from lopub.estimation.joint import interval, product_of, raked

GENDER = Categorical(name="gender", values=("F", "M"))
DEGREE = Categorical(name="degree", values=("college", "master", "phd"))
HAPPY = Boolean(name="happy", missing=True)


@pytest.fixture
def joint() -> JointDistribution:
    return JointDistribution((GENDER, DEGREE), np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.1]]))


def random_joint(*attributes: object, seed: int = 1) -> JointDistribution:
    shape = tuple(attribute.size for attribute in attributes)
    values = np.random.default_rng(seed).random(shape)
    return JointDistribution(attributes, values / values.sum())


def test_marginal_sums_out_the_others_and_keeps_the_order_given():
    joint = random_joint(GENDER, DEGREE, HAPPY)
    turned = joint.marginal(("happy", "gender"))
    assert turned.names == ("happy", "gender")
    np.testing.assert_allclose(turned.probabilities, joint.probabilities.sum(axis=1).T)


def test_condition_gives_the_distribution_among_those_who_answered_so(joint: JointDistribution):
    np.testing.assert_allclose(joint.condition(gender="M").probabilities, [0.5, 0.25, 0.25])


@pytest.fixture
def with_errors() -> JointDistribution:
    """As from 400 undisturbed people: the covariance of a multinomial."""
    shares = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.1]])
    flat = shares.reshape(-1)
    covariance = (np.diag(flat) - np.outer(flat, flat)) / 400
    return JointDistribution(
        (GENDER, DEGREE), shares, np.sqrt(np.diag(covariance)).reshape(2, 3), covariance=covariance
    )


def test_a_marginal_keeps_its_errors(with_errors: JointDistribution):
    found = with_errors.marginal("degree")
    assert found.standard_errors is not None
    np.testing.assert_allclose(
        found.standard_errors**2, found.probabilities * (1 - found.probabilities) / 400
    )


def test_a_condition_keeps_its_errors(with_errors: JointDistribution):
    """It forbids errors that forget how the condition's own share is off together with the cell's."""
    found = with_errors.condition(gender="M")
    assert found.standard_errors is not None
    np.testing.assert_allclose(
        found.standard_errors**2, found.probabilities * (1 - found.probabilities) / (0.4 * 400)
    )


def test_errors_follow_their_cells_into_another_order(with_errors: JointDistribution):
    turned = with_errors.in_order(("degree", "gender"))
    again = turned.condition(gender="M").standard_errors
    np.testing.assert_allclose(again, with_errors.condition(gender="M").standard_errors)


def test_a_condition_takes_sets_and_names_that_are_no_identifiers(joint: JointDistribution):
    status = Categorical(name="marital-status", values=("single", "married", "other"))
    renamed = JointDistribution((GENDER, status), joint.probabilities)
    np.testing.assert_allclose(
        renamed.condition({"marital-status": {"single", "other"}}).probabilities, [4 / 7, 3 / 7]
    )


def test_a_condition_takes_a_range_of_whole_numbers():
    joint = random_joint(IntegerRange(name="age", minimum=20, maximum=25), GENDER)
    kept = joint.probabilities[1:4].sum(axis=0)
    np.testing.assert_allclose(joint.condition(age=range(21, 24)).probabilities, kept / kept.sum())


def test_a_condition_takes_the_bins_between_two_edges():
    pay = Binned(name="pay", edges=("0", "10", "20", "40"), missing=True)
    joint = random_joint(pay, GENDER)
    kept = joint.probabilities[1:3].sum(axis=0)
    np.testing.assert_allclose(
        joint.condition(pay=slice(10, None)).probabilities, kept / kept.sum()
    )
    with pytest.raises(
        DomainError,
        match="a slice of attribute 'pay' must go from one edge to a higher one: 0, 10, 20, 40",
    ):
        joint.condition(pay=slice(5, 20))
    with pytest.raises(DomainError, match="attribute 'gender' is not known in bins"):
        joint.condition(gender=slice(0, 1))


def test_a_joint_is_drawn_on_the_axes_that_are_given(with_errors: JointDistribution):
    axes = Figure().subplots()
    assert with_errors.plot(axes) is axes
    assert next(label.get_text() for label in axes.get_yticklabels()) == "F, phd"


def test_condition_refuses_what_nobody_answers():
    joint = JointDistribution((GENDER, DEGREE), np.array([[0.0, 0.0, 0.0], [0.2, 0.4, 0.4]]))
    with pytest.raises(DomainError, match="probability 0"):
        joint.condition(gender="F")


def test_product_has_both_as_margins_and_no_mutual_information(joint: JointDistribution):
    both = joint.marginal(("gender",)).product(joint.marginal(("degree",)))
    assert both.mutual_information() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(both.marginal(("degree",)).probabilities, [0.3, 0.3, 0.4])


def test_mutual_information_of_a_copy_is_the_entropy():
    twin = Categorical(name="twin", values=("F", "M"))
    copied = JointDistribution((GENDER, twin), np.diag([0.25, 0.75]))
    assert copied.mutual_information() == pytest.approx(copied.marginal(("twin",)).entropy())
    assert copied.entropy() == pytest.approx(-(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))


def test_rake_reaches_the_margins_and_keeps_the_odds_ratios(joint: JointDistribution):
    wanted = (
        JointDistribution((GENDER,), np.array([0.3, 0.7])),
        JointDistribution((DEGREE,), np.array([0.5, 0.25, 0.25])),
    )
    fitted = joint.rake(wanted).probabilities
    np.testing.assert_allclose(fitted.sum(axis=1), [0.3, 0.7])
    np.testing.assert_allclose(fitted.sum(axis=0), [0.5, 0.25, 0.25])
    before = joint.probabilities
    odds = [p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0]) for p in (before, fitted)]
    assert odds[0] == pytest.approx(odds[1])


def test_raking_takes_targets_whose_axes_are_in_any_order():
    joint = random_joint(GENDER, DEGREE, HAPPY).probabilities
    target = random_joint(HAPPY, GENDER, seed=2).probabilities
    fitted = raked(joint, [(2, 0)], [target])
    np.testing.assert_allclose(fitted.sum(axis=1).T, target)


def test_avd_is_half_the_sum_of_absolute_differences(joint: JointDistribution):
    other = joint.marginal(("gender",)).product(joint.marginal(("degree",)))
    assert joint.avd(other) == pytest.approx(
        np.abs(joint.probabilities - other.probabilities).sum() / 2
    )
    turned = other.marginal(("degree", "gender"))
    assert joint.avd(turned) == pytest.approx(joint.avd(other))


def test_csv_comes_back_as_it_was(tmp_path: Path):
    joint = random_joint(GENDER, HAPPY, IntegerRange(name="age", minimum=25, maximum=28))
    path = tmp_path / "joint.csv"
    joint.save(path)
    back = JointDistribution.load(path, joint.domain)
    assert back.names == joint.names
    np.testing.assert_array_equal(back.probabilities, joint.probabilities)


def test_csv_is_not_written_over_what_exists(tmp_path: Path, joint: JointDistribution):
    path = tmp_path / "joint.csv"
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        joint.save(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column 'probability'"),
        ("gender,degree\nF,phd\n", "no column 'probability'"),
        ("gender,degree,probability\nF,phd,much\n", "line 2 is not a cell"),
        ("gender,degree,probability\nF,secret-degree,0.5\n", "line 2 is not a cell"),
        ("gender,degree,probability\nF,phd,0.5\n", "sum of 0.5"),
        ("height,probability\n1,1\n", "no attribute 'height'"),
    ],
)
def test_a_csv_that_is_no_joint_is_refused_with_one_sentence(tmp_path: Path, text: str, words: str):
    path = tmp_path / "joint.csv"
    path.write_text(text)
    with pytest.raises(DomainError, match=words) as refusal:
        JointDistribution.load(path, Domain((GENDER, DEGREE)))
    assert "secret-degree" not in str(refusal.value)


def test_probabilities_that_are_negative_or_do_not_sum_to_one_are_refused():
    for wrong in ([0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0]):
        with pytest.raises(DomainError, match="sum to 1"):
            JointDistribution((GENDER,), np.array(wrong))
    with pytest.raises(DomainError, match=r"shape \(2,\)"):
        JointDistribution((GENDER,), np.array([0.2, 0.3, 0.5]))


def test_text_and_notebook_show_the_largest_cells_with_their_spread():
    joint = JointDistribution((HAPPY,), np.array([0.2, 0.7, 0.1]), np.array([0.01, 0.02, np.nan]))
    assert "0.7000 ± 0.0392  true" in str(joint)
    assert "(missing)" in str(joint)
    assert "<td>0.6608 to 0.7392</td>" in joint._repr_html_()


def test_notebook_table_escapes_what_a_value_could_smuggle_in():
    joint = JointDistribution(
        (Categorical(name="x", values=("<script>", "b")),), np.array([0.5, 0.5])
    )
    assert "<script>" not in joint._repr_html_()


def test_an_interval_stays_within_zero_and_one():
    assert interval(0.01, 0.1)[0] == 0
    assert interval(0.99, 0.1)[1] == 1


def test_product_of_marginals_sums_to_one():
    assert product_of([np.array([0.5, 0.5]), np.array([0.2, 0.3, 0.5])]).sum() == pytest.approx(1)
