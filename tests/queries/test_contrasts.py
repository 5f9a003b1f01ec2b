"""A dependence in a few figures: which group and answer are told, and how often each gives the other."""

import numpy as np
import pytest

from lopub import CampaignRequest, Terms, make_campaign, simulate
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Attribute, Binned, Boolean, Categorical, Domain
from lopub.estimation.joint import JointDistribution
from lopub.queries import Study
from lopub.queries.contrasts import IN, OUT, UNANSWERED, AnswerSplit, clearest, contrast_of
from lopub.reports.dataset import Dataset

OWNS = Boolean(name="owns")
COLOUR = Categorical(name="colour", values=("red", "green", "blue"))
AGE = Binned(name="age", edges=("0", "30", "60", "100"))
ASKED = Categorical(
    name="asked", values=("a", "b"), missing=True, only_if=Comparison("owns", "equals", (True,))
)


def told(
    first: Attribute, second: Attribute, cells: list[list[float]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = clearest(JointDistribution((first, second), np.array(cells) / np.sum(cells)))
    assert found is not None
    return found[0].texts, found[1].texts


def test_of_yes_or_no_the_yes_is_told_whichever_way_it_goes():
    assert told(OWNS, OWNS, [[4, 1], [1, 4]]) == (("true",), ("true",))
    assert told(OWNS, OWNS, [[1, 4], [4, 1]]) == (("true",), ("true",))


def test_of_categories_those_are_told_that_go_together_most():
    assert told(OWNS, COLOUR, [[30, 10, 10], [10, 10, 30]]) in (
        (("true",), ("red",)),
        (("true",), ("blue",)),
    )
    assert told(OWNS, COLOUR, [[10, 22, 18], [10, 4, 36]]) in (
        (("true",), ("green",)),
        (("true",), ("blue",)),
    )
    assert told(OWNS, COLOUR, [[10, 25, 15], [10, 9, 31]]) == (
        ("true",),
        ("blue",),
    )  # more often before less often


def test_of_numbers_a_group_is_all_from_one_on():
    assert told(AGE, OWNS, [[30, 5], [30, 5], [10, 40]]) == (("(60, 100]",), ("true",))
    assert told(AGE, OWNS, [[30, 5], [10, 40], [10, 40]]) == (("(30, 60]", "(60, 100]"), ("true",))


def test_who_was_not_asked_or_did_not_answer_counts_nowhere():
    assert ASKED.texts == ("a", "b", "", "(not applicable)")
    assert AnswerSplit(ASKED, (0,)).classes.tolist() == [IN, OUT, UNANSWERED, UNANSWERED]


def test_a_missing_answer_moves_no_choice():
    plain = [[30.0, 10.0, 0.0], [10.0, 30.0, 0.0]]
    odd = [[30.0, 10.0, 400.0], [10.0, 30.0, 0.0]]
    second = Categorical(name="asked", values=("a", "b"), missing=True)
    assert told(OWNS, second, plain) == told(OWNS, second, odd) == (("true",), ("b",))


def test_where_nobody_answered_there_is_nothing_to_tell():
    second = Categorical(name="asked", values=("a", "b"), missing=True)
    assert clearest(JointDistribution((OWNS, second), np.array([[0, 0, 0.5], [0, 0, 0.5]]))) is None


@pytest.mark.parametrize(
    "request_", [{"epsilon": 3}, {"epsilon": 8, "mechanism": "direct"}], ids=str
)
def test_the_shares_of_a_contrast_are_those_of_the_people(request_: dict[str, object]):
    """Both orders of the questionnaire; standard errors tell how near. 12 collections, each share within 4.5 of them."""
    rng = np.random.default_rng(5)
    owns = rng.integers(0, 2, 20_000)
    colour = np.where(rng.random(20_000) < 0.4, 2 * owns, rng.integers(0, 3, 20_000))
    for order in ((OWNS, COLOUR), (COLOUR, OWNS)):
        columns = {"owns": owns, "colour": colour}
        table = Dataset(Domain(order), np.stack([columns[one.name] for one in order], axis=1))
        campaign = make_campaign(table.domain, Terms(name="t"), CampaignRequest(**request_))
        for seed in range(3):
            study = Study(simulate(table, campaign, seed=seed))
            found = contrast_of(study, study.estimate(["owns", "colour"]))
            assert found is not None
            assert (
                found.group.attribute.name == order[0].name
            )  # what is asked first makes the group
            group, answer = (
                np.isin(columns[one.attribute.name], one.codes)
                for one in (found.group, found.answer)
            )
            for estimate, chosen in ((found.within, group), (found.outside, ~group)):
                assert abs(estimate.value - answer[chosen].mean()) < 4.5 * estimate.standard_error
                assert estimate.low < estimate.value < estimate.high
