"""Questions keep to the questionnaire: what it rules out is nobody's answer, whatever the noise says."""

import pytest

from lopub import Study, count, simulate
from questionnaires import campaign, people

ZEROS = [
    ("hours > 20", "not job"),
    ("weekends >= 1", "age == 'old'"),
    ("overtime == 'paid'", "not job"),
    ("`reads/nothing`", "`reads/books`"),
    ("title == 'novel'", "not `reads/books`"),
]


@pytest.fixture(scope="module", params=["reports", "counts"])
def study(request: pytest.FixtureRequest) -> Study:
    batch = simulate(people(4000), campaign(), seed=3)
    return Study(batch if request.param == "reports" else count(batch))


@pytest.mark.parametrize(("expression", "given"), ZEROS)
def test_nobody_gives_an_answer_that_the_questionnaire_rules_out(
    study: Study, expression: str, given: str
):
    answer = study.probability(expression, given=given)
    assert (answer.estimate, answer.low, answer.high) == (0, 0, 0)
    assert "people kept to the questionnaire, which leaves no other answer" in answer.assumptions
    both = study.probability(f"({expression}) and ({given})")
    assert both.estimate == both.high == 0


def test_everybody_gives_the_only_answer_that_is_left(study: Study):
    answer = study.probability("job", given="hours > 20")
    assert answer.estimate == answer.low == 1


def test_a_condition_that_is_ruled_out_is_refused_as_such(study: Study):
    answer = study.probability("age == 'old'", given="hours > 20 and not job")
    assert answer.how == "refused" and "the questionnaire rules the condition out" in answer.reason


def test_a_table_has_no_impossible_cell(study: Study):
    cells = study.table("job", "hours").cells
    assert all(cells["false", value].estimate == 0 for value in ("[0, 20]", "(20, 40]", "(40, 80]"))
    assert cells["true", "(not applicable)"].estimate == 0


def test_what_is_possible_is_answered_as_before(study: Study):
    """Within four and a half standard errors of the truth."""
    table = people(4000)
    job, hours = (table.codes[:, table.domain.position(name)] for name in ("job", "hours"))
    answer = study.probability("hours > 20", given="job")
    assert (
        answer.standard_error
        and abs(answer.estimate - (hours[job == 1] > 0).mean()) < 4.5 * answer.standard_error
    )
