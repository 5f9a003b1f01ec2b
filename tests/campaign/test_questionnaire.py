"""Questionnaires as people write them: questions that apply only to some, and lists of which any number can be ticked."""

import json
from itertools import product

import pytest

from every import every
from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    DomainError,
    IntegerRange,
    MemoryStore,
    Sample,
    Terms,
    make_campaign,
)
from lopub.bulk.view_laws import chance_of_order, chance_of_set, view_law
from lopub.campaign.condition import Both, Comparison, Condition, Either, Not, condition_from_json
from lopub.campaign.domain import NOT_APPLICABLE, TickList
from lopub.campaign.fields import domain_of

WORKS = Comparison("job", "equals", (True,))
JOB = Boolean(name="job")
HOURS = Binned(name="hours", edges=("0", "20", "40", "80"), only_if=WORKS)
OVERTIME = Categorical(
    name="overtime",
    values=("paid", "unpaid"),
    missing=True,
    only_if=Comparison("hours", "above", ("40",)),
)
TICKS = TickList(
    name="reads",
    values=("books", "papers", "blogs", "nothing"),
    most=2,
    none="nothing",
    missing=True,
)
TITLE = Categorical(
    name="title", values=("novel", "other"), only_if=Comparison("reads", "includes", ("books",))
)
EVERYTHING = domain_of((JOB, HOURS, OVERTIME, TICKS, TITLE))


def campaign_of(domain: Domain = EVERYTHING, **wish: object) -> Campaign:
    return make_campaign(
        domain, Terms(name="survey"), CampaignRequest(**{"epsilon": 2, "view": Sample(2)} | wish)
    )


# ---- conditions


def holds(condition: Condition, **answers: int) -> bool:
    return Domain((JOB, HOURS, OVERTIME)).holds(condition, answers)


@every(
    [
        (Comparison("hours", "above", ("20",)), {1, 2}),
        (Comparison("hours", "atMost", ("40",)), {0, 1}),
        (Comparison("hours", "equals", ("(20, 40]",)), {1}),
        (Comparison("hours", "oneOf", ("[0, 20]", "(40, 80]")), {0, 2}),
        (Not(Comparison("hours", "above", ("20",))), {0, 3}),
        (
            Both((Comparison("hours", "above", ("20",)), Comparison("hours", "atMost", ("40",)))),
            {1},
        ),
        (
            Either((Comparison("hours", "above", ("40",)), Comparison("hours", "atMost", ("20",)))),
            {0, 2},
        ),
    ]
)
def test_a_condition_holds_for_the_answers_that_it_names_and_never_for_not_applicable(
    condition, true_for
):
    assert {hours for hours in range(HOURS.size) if holds(condition, hours=hours)} == true_for


@every(
    [
        ("atLeast", {2, 3}),
        ("above", {3}),
        ("atMost", {0, 1, 2}),
        ("below", {0, 1}),
        ("equals", {2}),
    ]
)
def test_whole_numbers_are_compared_with_each_operator_and_a_missing_one_never_holds(
    operator, true_for
):
    children = IntegerRange(name="n", minimum=0, maximum=3, missing=True)
    accepted = children.accepted(Comparison("n", operator, (2,)))
    assert {candidate for candidate in range(children.size) if candidate in accepted} == true_for


@every(
    [
        ({"field": "age"}, "onlyIf must compare with exactly one of equals, atLeast"),
        ({"field": "age", "equals": 1, "above": 1}, "onlyIf must compare with exactly one of"),
        (
            {"field": "age", "equals": [1]},
            "onlyIf.equals must be a text, an integer, or true or false",
        ),
        ({"field": "age", "oneOf": []}, "a condition on 'age' compares with nothing"),
        (
            {"and": [{"field": "a", "equals": 1}]},
            "a condition with 'and' needs at least 2 parts, got 1",
        ),
        ({"not": {"field": "a", "equals": 1}, "or": []}, "onlyIf.or is not known"),
        (
            {"or": [{"field": "a", "equals": i} for i in range(33)]},
            "onlyIf may have at most 32 comparisons, got 33",
        ),
    ]
)
def test_json_that_is_no_condition_is_refused_with_its_place(value, message):
    with pytest.raises(CampaignError) as refused:
        condition_from_json(value, "onlyIf")
    assert str(refused.value).startswith(message)


@every(
    [
        (
            Comparison("later", "equals", (True,)),
            "the condition of 'x' looks at 'later', which does not stand before it",
        ),
        (
            Comparison("x", "equals", (True,)),
            "the condition of 'x' looks at 'x', which does not stand before it",
        ),
        (
            Comparison("nobody", "equals", (True,)),
            "the condition of 'x' looks at 'nobody', which is not asked",
        ),
        (
            Comparison("hours", "above", ("30",)),
            r"the condition of 'x': attribute 'hours' is binned .* \(20, 40\)",
        ),
        (Comparison("hours", "atLeast", ("20",)), "can only be compared by above or atMost"),
        (Comparison("hours", "above", (20,)), "can only be compared by above or atMost"),
        (
            Comparison("job", "above", (False,)),
            "attribute 'job' cannot be compared by above, which needs ordered answers",
        ),
        (Comparison("job", "equals", ("yes",)), "attribute 'job' takes true or false, got str"),
        (
            Comparison("reads", "equals", ("books",)),
            "which is a list, of which one option can be asked, by includes",
        ),
        (Comparison("reads", "includes", ("comics",)), "is not asked, or has no such option"),
        (Comparison("job", "includes", (True,)), "is not asked, or has no such option"),
        (
            Both((Comparison("job", "equals", (True,)), Comparison("job", "equals", (1,)))),
            "attribute 'job' takes true or false, got int",
        ),
    ]
)
def test_a_campaign_refuses_a_condition_that_cannot_be_evaluated(condition, message):
    domain = domain_of(
        (JOB, HOURS, TICKS, Boolean(name="x", only_if=condition), Boolean(name="later"))
    )
    with pytest.raises(CampaignError, match=message):
        campaign_of(domain)


# ---- records

WHOLE = {
    "job": True,
    "hours": 41,
    "overtime": "paid",
    "reads": ["books", "blogs"],
    "title": "novel",
}


@every(
    [
        ({}, (1, 2, 0, 1, 0, 1, 0, 0)),
        ({"hours": 40, "overtime": None}, (1, 1, 3, 1, 0, 1, 0, 0)),
        ({"overtime": None}, (1, 2, 2, 1, 0, 1, 0, 0)),
        ({"job": False, "hours": None, "overtime": None}, (0, 3, 3, 1, 0, 1, 0, 0)),
        ({"reads": None, "title": None}, (1, 2, 0, 2, 2, 2, 2, 2)),
        ({"reads": ["nothing"], "title": None}, (1, 2, 0, 0, 0, 0, 1, 2)),
    ]
)
def test_the_client_derives_not_applicable_from_the_whole_record(change, candidates):
    assert EVERYTHING.indices(WHOLE | change) == candidates


def test_a_question_that_does_not_apply_may_be_left_out_of_a_record():
    assert EVERYTHING.indices({"job": False, "reads": ["nothing"]}) == (0, 3, 3, 0, 0, 0, 1, 2)


@every(
    [
        ({"job": False}, "^attribute 'hours' is answered, but does not apply to this record$"),
        ({"hours": 20}, "attribute 'overtime' is answered, but does not apply to this record"),
        (
            {"hours": None},
            "attribute 'hours' has no answer, and the campaign does not take a missing one",
        ),
        ({"hours": NOT_APPLICABLE}, "attribute 'hours' applies to this record"),
        ({"reads": ["blogs"]}, "attribute 'title' is answered, but does not apply to this record"),
        ({"reads": ["books", "papers", "blogs"]}, "list 'reads' takes at most 2 ticks"),
        (
            {"reads": ["books", "nothing"]},
            "^list 'reads' has an option that stands alone ticked together with others$",
        ),
        (
            {"reads": []},
            "list 'reads' needs at least one tick; 'nothing' is for none of the others",
        ),
        ({"reads": ["books", "books"]}, "list 'reads' has the same option ticked twice"),
        ({"reads": ["comics"]}, r"list 'reads' does not have this option \(4 options\)"),
        ({"reads": "books"}, "list 'reads' takes a list of its options, as texts"),
        ({"reads/books": True}, "the record has a key that the campaign does not ask for"),
    ]
)
def test_a_record_that_contradicts_the_questionnaire_is_refused_by_name(change, message):
    with pytest.raises(DomainError, match=message):
        EVERYTHING.indices(WHOLE | change)


def test_a_refusal_never_names_an_answer_that_was_given():
    with pytest.raises(DomainError) as refused:
        EVERYTHING.indices(WHOLE | {"job": False, "reads": ["secret"]})
    assert "secret" not in str(refused.value) and "paid" not in str(refused.value)


def test_a_list_that_must_be_answered_refuses_none():
    with pytest.raises(DomainError, match="list 'x' has no answer"):
        domain_of((TickList(name="x", values=("a", "b")),)).indices({"x": None})


@every(
    [
        ({"values": ("a",)}, "list 'x' must have 2 to 64 options, got 1"),
        ({"values": tuple(map(str, range(65)))}, "list 'x' must have 2 to 64 options, got 65"),
        ({"values": ("a", "a")}, "list 'x' has the same option twice"),
        ({"values": ("a", "b"), "none": "c"}, "list 'x' must name one of its own options as none"),
        (
            {"values": ("a", "b", "c"), "most": 3},
            "list 'x' must allow at most 1 to 2 ticks, or any number",
        ),
        (
            {"values": ("a", "b"), "labels": {"c": "C"}},
            "list 'x' has a label for an option that it does not have",
        ),
    ]
)
def test_a_list_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(DomainError, match=message):
        TickList(name="x", **options)


def test_a_category_must_not_read_as_not_applicable_where_that_is_a_candidate():
    with pytest.raises(DomainError, match=r"no answer may be '\(not applicable\)'"):
        Categorical(name="x", values=("a", NOT_APPLICABLE), only_if=WORKS)


# ---- campaigns


def test_a_campaign_with_rules_comes_back_as_it_was():
    campaign = campaign_of()
    written = json.loads(campaign.canonical_bytes)
    assert Campaign.from_bytes(campaign.canonical_bytes) == campaign
    assert written["schema"]["fields"][1]["onlyIf"] == {"field": "job", "equals": True}
    assert written["schema"]["fields"][3]["constraints"] == {"required": False, "maxLength": 2}


def test_every_answered_question_has_the_same_report_length_whether_it_applies_or_not():
    campaign = campaign_of(view=Sample(8), mechanism="subset", jointly=False)
    records = (WHOLE, {"job": False, "reads": None})
    assert (
        len(
            {
                len(Client(campaign, store=MemoryStore()).encode(record).to_bytes())
                for record in records
            }
        )
        == 1
    )


def test_an_attributes_epsilon_counts_what_follows_from_it():
    """Separately: two of the sampled attributes may follow from the same answer, so that both shares count."""
    campaign = campaign_of(mechanism="direct", jointly=False)
    whole = campaign.loss
    shares = {name: campaign.loss_of(name) for name in campaign.domain.names}
    assert shares["job"] == shares["hours"] == shares["reads/blogs"] == whole
    assert shares["title"] == shares["overtime"] < whole


# ---- views: a list is one question


def view_chances(n_ordinary: int, n_options: int, k: int) -> dict[tuple[int, ...], float]:
    sizes = (2,) * (n_ordinary + n_options)
    rule = Sample(k).with_lists((tuple(range(n_ordinary, n_ordinary + n_options)),))
    found = view_law(rule).chances(sizes, 10**6)
    assert found is not None
    return found


def test_ordinary_pairs_keep_four_fifths_of_their_reports_beside_a_list_of_twenty_options():
    alone = 20_000 / 91
    beside = 20_000 * view_chances(14, 20, 2)[0, 1]
    as_attributes = 20_000 / 561
    assert (round(alone), round(beside), round(as_attributes)) == (220, 190, 36)
    assert beside >= 0.8 * alone


@every([1, 2, 3])
def test_the_chances_of_all_views_add_up_to_one(k):
    assert sum(view_chances(3, 4, k).values()) == pytest.approx(1, abs=1e-12)


def test_the_chance_of_a_view_is_that_of_all_its_orders():
    lists = ((1, 2, 3),)
    assert chance_of_order((0, 2), 4, lists) == pytest.approx(1 / 2 * 1 / 3)
    assert chance_of_order((1, 2), 4, lists) == pytest.approx(1 / 2 * 1 / 3 * 1 / 2 * 1 / 2)
    assert chance_of_set((1, 2), 4, lists) == pytest.approx(1 / 12)


def test_every_pair_of_answers_has_a_record():
    """Nothing that the questionnaire allows is refused: each attribute's candidates all occur."""
    seen = [set() for _ in EVERYTHING]
    ticks = [None, ["nothing"], ["books"], ["papers", "blogs"]]
    answers = product(
        (True, False), (None, 10, 30, 50), (None, "paid", "unpaid"), ticks, (None, "novel", "other")
    )
    for record in (
        dict(zip(("job", "hours", "overtime", "reads", "title"), each, strict=True))
        for each in answers
    ):
        try:
            codes = EVERYTHING.indices(record)
        except DomainError:
            continue
        for place, code in zip(seen, codes, strict=True):
            place.add(code)
    assert [len(place) for place in seen] == list(EVERYTHING.sizes)
