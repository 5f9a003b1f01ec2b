"""Whatever the console shows to ask with can be asked as it stands there."""

from lopub.campaign.attribute import Boolean, Categorical, IntegerRange
from lopub.campaign.binned import Binned
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Domain
from lopub.console.report_pages import MOST_SHOWN, askables
from lopub.queries.expressions import parsed
from lopub.queries.predicates import question

DOMAIN = Domain(
    (
        Boolean(name="question-1", missing=True),
        Categorical(name="in", values=("it's", 'a "b"', "back\\slash", "end\\", "true")),
        Categorical(
            name="a `quoted` name",
            values=("1", "2"),
            only_if=Comparison("question-1", "equals", (True,)),
        ),
        IntegerRange(name="Größe", minimum=-3, maximum=90, missing=True),
        Binned(name="pay per hour", edges=("0", "10", "20", "inf")),
    )
)


def test_every_name_and_answer_that_is_shown_can_be_asked_as_it_is_shown():
    for one in askables(DOMAIN):
        assert one.example == f"{one.name} == {one.values[0]}"
        for value in one.values:
            question([parsed(f"{one.name} == {value}")], DOMAIN)


def test_names_stand_in_backquotes_where_they_must_and_long_lists_are_cut():
    found = {one.name: one for one in askables(DOMAIN)}
    assert found["`question-1`"].values == ("false", "true", "null")
    assert "`in`" in found and found["Größe"].values[0] == "-3"
    assert (
        len(found["Größe"].values) == MOST_SHOWN
        and found["Größe"].is_cut
        and not found["`in`"].is_cut
    )
