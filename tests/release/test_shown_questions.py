"""What the page says of single questions: shares of those asked, and which answer leads."""

import math

import numpy as np
import pytest

from lopub.inference.joint import JointDistribution
from lopub.release.render.questions import AnswerShown, QuestionShown
from lopub.release.render.tables import among_asked
from questionnaires import AGE, HOURS


def test_a_share_among_those_asked_leaves_the_others_out():
    marginal = JointDistribution((HOURS,), np.array([0.1, 0.2, 0.3, 0.4]))
    assert [among_asked(marginal, text) for text in HOURS.texts[:3]] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert math.isnan(among_asked(marginal, "(not applicable)"))


def test_there_is_no_such_share_where_all_or_none_were_asked():
    assert math.isnan(among_asked(JointDistribution((AGE,), np.array([0.5, 0.3, 0.2])), "young"))
    assert math.isnan(among_asked(JointDistribution((HOURS,), np.array([0, 0, 0, 1.0])), HOURS.texts[0]))


def question(*ends: tuple[float, float] | None) -> QuestionShown:
    """Of answers with these intervals; the last stands for people who did not answer."""
    answers = []
    for place, own in enumerate(ends):
        low, high = own or (None, None)
        middle = 0.5 if own is None else sum(own) / 2
        answers.append(AnswerShown(f"a{place}", "en", "", place < len(ends) - 1, middle, low, high, middle, None))
    return QuestionShown("q", "q", "en", "q", "en", "bars", False, "", 10, tuple(answers), (), False)


@pytest.mark.parametrize(
    ("ends", "leads"),
    [
        ([(0.5, 0.6), (0.1, 0.2), (0.7, 0.8)], True),  # the last is no answer
        ([(0.3, 0.5), (0.4, 0.45), (0, 0.1)], False),
        ([(0.1, 0.2), (0.5, 0.6), (0, 0.1)], True),
        ([None, (0.1, 0.2), (0, 0.1)], False),
    ],
)
def test_an_answer_leads_where_its_interval_lies_above_all_others(ends: list[tuple[float, float] | None], leads: bool):
    assert question(*ends).has_lead is leads
