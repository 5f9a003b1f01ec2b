"""What a draft may write in short, the lines of its mistakes, and advice."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from lopub import CampaignError, CampaignRequest, make_campaign
from lopub.campaign.domain import Binned, Categorical, Dated, Domain, TickList
from lopub.campaign.terms import PAGE_LANGUAGES
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import draft_from_file, read_draft
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import lines_of, without_comments


def written(tmp_path: Path, text: str | dict[str, object]) -> Path:
    path = tmp_path / "draft.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def domain_of(tmp_path: Path, *fields: object, **terms: object) -> Domain:
    return draft_from_file(written(tmp_path, {"name": "d", "schema": {"fields": fields}} | terms))[
        0
    ]


def refusal(tmp_path: Path, *fields: object, **terms: object) -> str:
    with pytest.raises(CampaignError) as refused:
        domain_of(tmp_path, *fields, **terms)
    return str(refused.value).partition(": ")[2]


# ---- text


def test_comments_are_left_out_and_everything_stays_on_its_line():
    text = b'{ // one\n "a": "// not a comment", /* two\n three */ "b": [1, 2]\n}'
    plain = without_comments(text)
    assert json.loads(plain) == {"a": "// not a comment", "b": [1, 2]}
    assert plain.count(b"\n") == text.count(b"\n") and len(plain) == len(text)


def test_every_value_has_its_line():
    text = '{"a": 1,\n "b": [\n  {"c": 2},\n  3\n ],\n "d": {}}'
    assert lines_of(text) == {
        (): 1,
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 0, "c"): 3,
        ("b", 1): 4,
        ("d",): 6,
    }


def test_a_finished_campaign_file_may_not_have_comments(tmp_path):
    from lopub import Campaign

    with pytest.raises(CampaignError, match="no valid JSON"):
        Campaign.from_bytes(b'// no\n{"format":1}')


# ---- shorthand


@pytest.mark.parametrize(
    "bins",
    [{"edges": [0, 2.5, 5.0]}, {"edges": ["0", "2.50", 5e0]}, {"count": 2, "from": 0, "to": 5.0}],
)
def test_any_spelling_of_decimals_makes_the_same_bins(tmp_path, bins):
    number = domain_of(tmp_path, {"name": "x", "type": "number", "bins": bins})["x"]
    assert isinstance(number, Binned) and number.edges == ("0", "2.5", "5")


def test_equal_bins_are_decided_by_the_draft_in_exact_decimals(tmp_path):
    number = domain_of(
        tmp_path, {"name": "x", "type": "number", "bins": {"count": 3, "from": "0.1", "to": "0.4"}}
    )["x"]
    assert isinstance(number, Binned) and number.edges == ("0.1", "0.2", "0.3", "0.4")


@pytest.mark.parametrize(
    ("way", "edges"),
    [
        ("above", ("0", "1", "inf")),
        ("below", ("-inf", "0", "1")),
        ("both", ("-inf", "0", "1", "inf")),
    ],
)
def test_bins_can_be_open_ended(tmp_path, way, edges):
    number = domain_of(
        tmp_path, {"name": "x", "type": "number", "bins": {"edges": [0, 1], "open": way}}
    )["x"]
    assert isinstance(number, Binned) and number.edges == edges


def test_an_enum_alone_is_enough(tmp_path):
    colour = domain_of(
        tmp_path, {"name": "x", "type": "string", "constraints": {"enum": ["red", "blue"]}}
    )["x"]
    assert colour.texts == ("red", "blue")


@pytest.mark.parametrize(
    ("other", "value", "label"),
    [
        (True, "other", "Other"),
        ("Elsewhere", "other", "Elsewhere"),
        ({"value": "else", "label": "Else"}, "else", "Else"),
    ],
)
def test_other_is_a_category_behind_the_rest(tmp_path, other, value, label):
    field = {"name": "x", "type": "string", "categories": ["a"], "other": other}
    attribute = domain_of(tmp_path, field)["x"]
    assert (
        isinstance(attribute, Categorical)
        and attribute.texts == ("a", value)
        and attribute.labels[value] == label
    )


def test_days_stand_for_their_periods(tmp_path):
    field = {
        "name": "x",
        "type": "date",
        "period": "quarter",
        "constraints": {"minimum": "2024-02-01", "maximum": "2024-12-31"},
    }
    attribute = domain_of(tmp_path, field)["x"]
    assert isinstance(attribute, Dated) and attribute.texts == (
        "2024-Q1",
        "2024-Q2",
        "2024-Q3",
        "2024-Q4",
    )


def test_numbers_in_conditions_may_be_spelt_in_any_way(tmp_path):
    age = {"name": "age", "type": "number", "bins": {"edges": [0, 17.5, 99]}}
    for value in (17.5, "17.50", "17.5"):
        domain = domain_of(
            tmp_path,
            age,
            {"name": "x", "type": "boolean", "onlyIf": {"field": "age", "above": value}},
        )
        domain.check_questionnaire()


def test_texts_in_several_languages_become_translations(tmp_path):
    path = written(
        tmp_path,
        {
            "name": "d",
            "language": "en",
            "title": {"en": "Tea", "de": "Tee"},
            "consent": {"en": "Yes.", "de": "Ja."},
            "schema": {
                "fields": [
                    {
                        "name": "x",
                        "type": "string",
                        "question": {"en": "Which?", "de": "Welcher?"},
                        "categories": [
                            {"value": "g", "label": {"en": "green", "de": "grün"}},
                            "black",
                        ],
                    }
                ]
            },
        },
    )
    domain, terms = draft_from_file(path)
    german = terms.translations["de"]
    assert (terms.title, german.title, german.consent, german.questions) == (
        "Tea",
        "Tee",
        "Ja.",
        {"x": "Welcher?"},
    )
    assert german.labels == {"x": {"g": "grün"}} and domain["x"].question == "Which?"


def test_at_most_so_many_ticks_are_a_largest_length(tmp_path):
    field = {"name": "x", "type": "list", "categories": ["a", "b", "c"], "atMost": 2}
    question = domain_of(tmp_path, field).questions[0]
    assert isinstance(question, TickList) and question.most == 2


def test_a_schedule_need_not_say_that_it_is_once(tmp_path):
    _, terms = draft_from_file(
        written(
            tmp_path,
            {
                "name": "d",
                "schedule": {"opens": "2027-01-01", "closes": "2027-01-31"},
                "schema": {"fields": [{"name": "b", "type": "boolean"}]},
            },
        )
    )
    assert terms.schedule is not None


# ---- mistakes


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (
            {"name": "x", "type": "string"},
            "field 'x' has no categories: a free text cannot be asked",
        ),
        (
            {"name": "x", "type": "text"},
            "field 'x' of type text has no categories: a free text cannot be asked",
        ),
        (
            {"name": "x", "type": "number"},
            "field 'x' has no bins: every number would be an answer of its own",
        ),
        (
            {"name": "x", "type": "number", "bins": {"count": 0, "from": 0, "to": 1}},
            "field 'x' bins.count must be a whole number",
        ),
        (
            {"name": "x", "type": "number", "bins": {"count": 2, "from": 3, "to": 1}},
            "field 'x' bins.from must be below bins.to",
        ),
        (
            {"name": "x", "type": "number", "bins": {"count": 2, "from": "a", "to": 1}},
            "field 'x' bins.from and bins.to must be",
        ),
        (
            {"name": "x", "type": "number", "bins": {"count": 2, "from": 3}},
            "field 'x' bins.count goes with from and to",
        ),
        (
            {"name": "x", "type": "number", "bins": {"edges": [0, 1], "open": "wide"}},
            "field 'x' bins.open must be below, above or both",
        ),
        (
            {"name": "x", "type": "boolean", "question": {"de": "Was?"}},
            "field 'x' question is given in de, but not in en",
        ),
    ],
)
def test_a_shorthand_that_makes_no_sense_is_refused_by_field(tmp_path, field, message):
    assert refusal(tmp_path, field, {"name": "b", "type": "boolean"}).startswith(message)


def test_all_mistakes_come_with_their_lines(tmp_path):
    text = """{
  "name": "Bad Name",
  "schema": {"fields": [
    {"name": "a", "type": "string"},
    {"name": "b", "type": "boolean",
     "onlyIf": {"field": "c", "equals": true}},
    {"name": "c", "type": "boolean", "extra": 1}
  ]}
}"""
    draft = read_draft(written(tmp_path, text))
    found = [
        (draft.line_of(mistake), mistake.text.split(";")[0][:40]) for mistake in draft.mistakes
    ]
    assert found == [
        (4, "field 'a' has no categories: a free text"),
        (7, "field 'c': extra is not known to format "),
        (2, "name must be 1 to 100 small letters, dig"),
        (6, "the condition of 'b' looks at 'c', which"),
    ]


# ---- advice


def advice(tmp_path: Path, *fields: object, **terms: object) -> list[tuple[int | None, str]]:
    draft = read_draft(written(tmp_path, {"name": "d", "schema": {"fields": fields}} | terms))
    assert draft.mistakes == ()
    return [(draft.line_of(one), one.text) for one in advice_on(draft)]


GOOD = {"consent": "Yes.", "min_reports": 500}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (
            {"type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
            "100 whole numbers, each an answer of its own",
        ),
        (
            {"type": "string", "categories": [f"c{i}" for i in range(40)]},
            "has 40 answers; with noise, few of them",
        ),
        (
            {
                "type": "boolean",
                "onlyIf": {
                    "and": [{"field": "b", "equals": True}, {"field": "b", "equals": False}]
                },
            },
            "field 'x' can be reached by nobody: its condition never holds",
        ),
        (
            {
                "type": "boolean",
                "onlyIf": {"or": [{"field": "b", "equals": True}, {"field": "b", "equals": False}]},
            },
            "field 'x' has a condition that always holds; leave it out",
        ),
    ],
)
def test_advice_names_the_field(tmp_path, field, text):
    first = {"name": "b", "type": "boolean", "question": "?"}
    found = advice(tmp_path, first, {"name": "x", "question": "?"} | field, **GOOD)
    assert len(found) == 1 and text in found[0][1]


def test_a_question_behind_one_that_nobody_reaches_is_not_reached_either(tmp_path):
    fields = [
        {"name": "b", "type": "boolean", "question": "?"},
        {"name": "c", "type": "boolean", "question": "?", "onlyIf": {"field": "b", "equals": True}},
        {
            "name": "d",
            "type": "boolean",
            "question": "?",
            "onlyIf": {"and": [{"field": "b", "equals": False}, {"field": "c", "equals": True}]},
        },
    ]
    assert [text for _, text in advice(tmp_path, *fields, **GOOD)] == [
        "field 'd' can be reached by nobody: its condition never holds"
    ]


@pytest.mark.parametrize("tag", ["fr", "pt-BR"])
def test_a_language_that_the_page_does_not_speak_gets_advice(tmp_path, tag):
    field = {"name": "b", "type": "boolean", "question": "?"}
    for members in ({"language": tag}, {"translations": {tag: {"questions": {"b": "?"}}}}):
        ((_, found),) = advice(tmp_path, field, **GOOD | members)
        assert (
            "has its own words" in found
            and f"in English and German only; who reads {tag} sees" in found
        )
    assert advice(tmp_path, field, **GOOD | {"language": "de-AT"}) == []


def test_the_page_speaks_the_languages_that_advice_says_it_does():
    words = (Path(__file__).parents[2] / "clients" / "js" / "page" / "words.ts").read_text()
    (all_of_them,) = re.findall(r"= \{ (en: .*) \};", words)
    assert set(re.findall(r"(\w\w): ", all_of_them)) == set(PAGE_LANGUAGES)


def test_terms_get_advice_too(tmp_path):
    found = advice(tmp_path, {"name": "b", "type": "boolean"})
    assert [text.split(";")[0] for _, text in found] == [
        "field 'b' has no question and no title",
        "consent is empty",
        "min_reports is 1",
    ]


def test_the_template_is_a_draft_without_mistakes_and_without_advice(tmp_path):
    path = written(tmp_path, template("survey"))
    draft = read_draft(path)
    assert (draft.mistakes, advice_on(draft)) == ((), [])
    make_campaign(*draft_from_file(path), CampaignRequest(epsilon=4))


def test_the_template_opens_on_the_day_that_is_asked_for(tmp_path):
    day = date(2026, 2, 3)
    _, terms = draft_from_file(written(tmp_path, template("survey", day)))
    assert terms.schedule is not None and terms.schedule.opens == day < terms.schedule.closes
