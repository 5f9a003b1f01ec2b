"""What the page says of single questions: shares of those asked, and which answer leads."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lopub.estimation.joint import Probabilities
from lopub.publication.asked import asked_shares
from lopub.publication.render.questions import AnswerShown, QuestionShown
from questionnaires import AGE, HOURS

EVEN = (
    np.diag([0.1, 0.2, 0.3, 0.4]) / 500 - np.outer([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]) / 500
)
"""The covariance of shares of 500 people without noise."""


def test_a_share_among_those_asked_leaves_the_others_out():
    found = asked_shares(HOURS, np.array([0.1, 0.2, 0.3, 0.4]), EVEN)
    assert [one.text for one in found] == list(HOURS.texts[:3])
    assert [one.value for one in found] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert all(0 < one.low < one.value < one.high < 1 for one in found)


def test_there_is_no_such_share_where_all_or_none_were_asked():
    assert asked_shares(AGE, np.array([0.5, 0.3, 0.2]), np.zeros((3, 3))) == []
    assert asked_shares(HOURS, np.array([0, 0, 0, 1.0]), np.zeros((4, 4))) == []


def test_what_is_certain_of_those_asked_has_an_interval_without_width():
    for one in asked_shares(HOURS, np.array([0.1, 0.2, 0.3, 0.4]), np.zeros((4, 4))):
        assert (one.low, one.high) == pytest.approx((one.value, one.value))


@pytest.mark.parametrize("covariance", [np.full((4, 4), np.nan), np.eye(4) * 0.1])
def test_a_share_of_those_asked_has_no_interval_where_nobody_knows_how_many_were(
    covariance: Probabilities,
):
    """Nothing is known of the errors, or that anybody was asked at all is within them."""
    found = asked_shares(HOURS, np.array([0.1, 0.2, 0.3, 0.4]), covariance)
    assert found and all(
        math.isnan(one.low) and math.isnan(one.high) and one.value > 0 for one in found
    )


def test_intervals_of_shares_of_those_asked_hold_the_truth_as_often_as_they_say():
    """Among 2,000 collections of 500 people 95 %; six standard deviations of that are 3 %."""
    rng, truth = np.random.default_rng(1), 0.2 / 0.6
    drawn = rng.multinomial(500, [0.1, 0.2, 0.3, 0.4], 2000) / 500
    found = [
        asked_shares(HOURS, shares, (np.diag(shares) - np.outer(shares, shares)) / 500)[1]
        for shares in drawn
    ]
    assert 0.92 < np.mean([one.low <= truth <= one.high for one in found]) < 0.98


@pytest.mark.parametrize(("highest", "top"), [(0.013, 0.02), (0.21, 0.3), (0.5, 0.5), (0.97, 1.0)])
def test_the_top_of_a_histogram_is_a_round_share(highest: float, top: float):
    assert replace(question((0, highest), (0, 0)), kind="histogram").most == top
    assert question((0, highest), (0, 0)).most == highest


def question(*ends: tuple[float, float] | None) -> QuestionShown:
    """Of answers with these intervals; the last stands for people who did not answer."""
    answers = []
    for place, own in enumerate(ends):
        low, high = own or (None, None)
        middle = 0.5 if own is None else sum(own) / 2
        answers.append(
            AnswerShown(
                f"a{place}", "en", "", place < len(ends) - 1, middle, low, high, middle, None
            )
        )
    return QuestionShown(
        "q", "q", "en", "q", "en", "bars", False, "", 10, 10, tuple(answers), (), False
    )


@pytest.mark.parametrize(
    ("ends", "leads"),
    [
        ([(0.5, 0.6), (0.1, 0.2), (0.7, 0.8)], True),  # the last is no answer
        ([(0.3, 0.5), (0.4, 0.45), (0, 0.1)], False),
        ([(0.1, 0.2), (0.5, 0.6), (0, 0.1)], True),
        ([None, (0.1, 0.2), (0, 0.1)], False),
    ],
)
def test_an_answer_leads_where_its_interval_lies_above_all_others(
    ends: list[tuple[float, float] | None], leads: bool
):
    assert question(*ends).has_lead is leads


@pytest.mark.parametrize(
    ("own", "is_open"),
    [((0.45, 0.55), True), ((0.51, 0.6), False), ((0.4, 0.49), False), (None, False)],
)
def test_whether_more_than_half_gave_an_answer_is_open_where_its_interval_holds_the_half(
    own, is_open: bool
):
    assert question(own, (0, 0)).answers[0].may_be_half is is_open
