"""A draft as a form, and back: nothing is lost."""

import json
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest

from lopub.campaign.schedule import Repeat, Schedule, day_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import (
    all_campaigns,
    close_campaign,
    find_campaign,
    open_campaign,
    tally,
)
from lopub.collector.database import store_at
from lopub.collector.drafts import all_drafts, find_draft, keep_text, new_draft
from lopub.console import draft_buttons, draft_edits
from lopub.console.campaign_list import state_of
from lopub.console.draft_controls import plain_terms, shown
from lopub.console.draft_edits import aligned, left_behind
from lopub.console.draft_history import MOST_DRAFTS, MOST_EARLIER, DraftHistory
from lopub.console.drafts import (
    KINDS,
    blank,
    fields_of,
    in_languages,
    languages_in,
    read_text,
    written,
)
from lopub.console.pictures import qr_code
from lopub.console.question_bins import binned, can_bin
from lopub.console.question_names import finished
from lopub.jobs import demo
from lopub.jobs.queue import State, jobs_of
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object
from lopub.reports.catalogue import ALUMNI

EXAMPLE = read_text(template("example"))
TODAY = date(2026, 11, 17)
edited, changed = (
    partial(draft_edits.edited, today=TODAY),
    partial(draft_buttons.changed, today=TODAY),
)


def form_of(draft: Object) -> dict[str, str]:
    """What a browser sends of a draft's form that nobody has touched."""
    languages = languages_in(draft)
    form = {"language": languages[0], **plain_terms(draft)}
    for key in ("title", "description", "consent"):
        form |= {
            f"{key}.{tag}": text for tag, text in in_languages(draft.get(key), languages).items()
        }
    for one in shown(draft):
        own: dict[str, str] = {
            "key": one.key,
            "name": one.name,
            "type": one.kind,
            "controls": one.kind,
            "categories": one.categories,
            "minimum": one.minimum,
        }
        own |= {
            "maximum": one.maximum,
            "period": one.period,
            "none": one.none,
            "at_most": one.at_most,
            **one.bins,
        }
        own |= {f"question.{tag}": text for tag, text in one.question.items()}
        own |= {f"other.{tag}": text for tag, text in one.other.items()}
        own |= {f"rule.{key}": text for key, text in one.rule.items()}
        own |= ({"required": "1"} if one.is_required else {}) | (
            {"ordered": "1"} if one.is_ordered else {}
        )
        form |= {f"q{one.place}.{key}": text for key, text in own.items()}
    return form


def meaning(draft: Object) -> tuple[object, ...]:
    read = draft_of(*parsed(written(draft).encode()))
    return read.questions, read.terms, [mistake.text for mistake in read.mistakes]


def test_a_form_that_nobody_touched_changes_nothing_of_a_draft():
    again = edited(EXAMPLE, form_of(EXAMPLE))
    assert meaning(again) == meaning(EXAMPLE)
    assert meaning(again)[2] == []


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "categories": ["bad", "fair", "good"], "categoriesOrdered": True},
        {"type": "string", "constraints": {"enum": ["red", "green"]}},
        {"type": "string", "categories": ["a", "b"], "other": True},
        {"type": "number", "bins": {"edges": ["0", "1000", "2500.5"], "open": "above"}},
        {"type": "number", "bins": {"edges": ["0", "20", "40"], "clamp": True}},
        {
            "type": "date",
            "period": "quarter",
            "constraints": {"minimum": "2025-Q1", "maximum": "2026-Q4"},
        },
        {"type": "time", "period": "hour", "constraints": {"required": False}},
        {"type": "integer", "constraints": {"minimum": -2, "maximum": 2, "required": False}},
        {"type": "list", "categories": ["x", "y", "z"], "none": "z", "atMost": 1},
        {"type": "boolean", "onlyIf": {"field": "first", "equals": True}},
        {"type": "boolean", "onlyIf": {"not": {"field": "first", "equals": True}}},
    ],
)
def test_every_kind_of_question_comes_back_from_its_form(field: Object):
    first: Object = {"name": "first", "type": "boolean", "question": "One?"}
    draft: Object = {
        "name": "x",
        "schema": {"fields": [first, {"name": "second", "question": "Two?", **field}]},
    }
    assert meaning(draft)[2] == []
    assert meaning(edited(draft, form_of(draft))) == meaning(draft)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("yes", True), ("No", False), ("TRUE", True), ("nein", False), ("maybe", "maybe")],
)
def test_a_rule_on_yes_or_no_takes_these_words(typed: str, meant: bool | str):
    first: Object = {"name": "first", "type": "boolean", "question": "One?"}
    second: Object = {
        "name": "second",
        "type": "boolean",
        "question": "Two?",
        "onlyIf": {"field": "first", "equals": True},
    }
    draft: Object = {"name": "x", "schema": {"fields": [first, second]}}
    found = fields_of(edited(draft, form_of(draft) | {"q1.rule.value": typed}))[1]
    assert found["onlyIf"] == {"field": "first", "equals": meant}


def test_what_no_control_shows_stays():
    draft: Object = EXAMPLE | {
        "translations": {"de": {"labels": {"job": {"true": "ja", "false": "nein"}}}}
    }
    assert meaning(edited(draft, form_of(draft))) == meaning(draft)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_of_any_kind_can_be_added_and_is_without_mistakes(kind: str):
    draft, place = changed(blank("x", "en"), f"add:{kind}")
    assert place == 1
    assert meaning(draft)[2] == []
    other = edited(draft, form_of(draft) | {"q0.type": kind})  # and the first can become one
    assert meaning(other)[2] == []


ANSWERS = "bus | Bus\ntrain | Train\nwalk"


def saved(draft: Object, form: dict[str, str], history: DraftHistory) -> Object:
    """What a page that saves as somebody types leaves of a draft."""
    history.keep_questions("d", left_behind(draft, form))
    return edited(draft, form, earlier=history.earlier_questions("d"))


def test_answers_that_were_typed_outlive_a_change_of_the_questions_kind():
    """Forbids to put the answers of a new question in the place of those that somebody typed: a reload shows nothing else."""
    draft = blank("x", "en")
    ticked = edited(draft, form_of(draft) | {"q0.categories": ANSWERS, "q0.type": "list"})
    assert fields_of(ticked)[0]["type"] == "list"
    assert shown(ticked)[0].categories == ANSWERS
    assert meaning(ticked)[2] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "string"])
def test_a_question_that_gets_its_kind_back_is_as_it_was(kind: str):
    draft, history = blank("x", "en"), DraftHistory()
    typed = form_of(draft) | {
        "q0.categories": ANSWERS,
        "q0.other.en": "something else",
        "q0.ordered": "1",
    }
    typed.pop("q0.required")
    between = saved(draft, typed | {"q0.type": kind}, history)
    assert fields_of(between)[0]["type"] == kind and meaning(between)[2] == []
    back = saved(between, form_of(between) | {"q0.type": "string"}, history)
    assert back == edited(draft, typed)
    assert shown(back)[0].categories == ANSWERS and not shown(back)[0].is_required


def test_controls_of_another_kind_that_a_page_still_shows_say_nothing():
    """Between two saves a page may show the controls of the kind that a question had."""
    draft, history = blank("x", "en"), DraftHistory()
    typed = form_of(draft) | {"q0.categories": ANSWERS, "q0.type": "integer"}
    once = saved(draft, typed, history)
    again = saved(once, typed, history)  # q0.controls is still that of one answer
    assert again == once and shown(again)[0].maximum == "5"
    assert saved(again, typed | {"q0.type": "string"}, history) == edited(
        draft, typed | {"q0.type": "string"}
    )


def test_what_is_remembered_of_other_kinds_is_bounded():
    history = DraftHistory()
    for number in range(MOST_EARLIER + 10):
        history.keep_questions("d", {(f"q{number}", "string"): {}})
    assert len(history.earlier_questions("d")) == MOST_EARLIER and (
        "q0",
        "string",
    ) not in history.earlier_questions("d")
    assert history.earlier_questions("another") == {}


@pytest.mark.parametrize(
    ("day", "months"),
    [(date(2026, 11, 17), ("2025-12", "2026-11")), (date(2026, 12, 31), ("2026-01", "2026-12"))],
)
def test_a_new_date_is_asked_for_by_month_of_the_last_year(day: date, months: tuple[str, str]):
    field = fields_of(draft_buttons.changed(blank("x", "en"), "add:date", day)[0])[1]
    assert field["period"] == "month"
    assert field["constraints"] == {"minimum": months[0], "maximum": months[1]}


# ---- names


def asked(*questions: Object) -> Object:
    return {
        "name": "x",
        "schema": {
            "fields": [{"name": f"question-{i + 1}", **one} for i, one in enumerate(questions)]
        },
    }


def finished_names(draft: Object) -> list[object]:
    return [field["name"] for field in fields_of(read_text(finished(written(draft))))]


def test_a_question_that_nobody_named_is_called_by_its_words():
    yes: Object = {"type": "boolean"}
    draft = asked(
        yes | {"question": "Do you smoke?"},
        yes | {"question": "Do you  SMOKE???"},
        yes
        | {
            "question": {
                "en": "How many days in the last week did you use public transport?",
                "de": "Wie oft?",
            }
        },
        yes | {"question": "Größe"},
        yes | {"question": ""},
        yes | {"question": "?!"},
        yes | {"question": "Own", "name": "do_you_smoke_2"},
    )
    assert finished_names(draft) == [
        "do_you_smoke", "do_you_smoke_3", "how_many_days_in_the_last_week_did_you", "grösse", "question-5", "question-6",
        "do_you_smoke_2",
    ]  # fmt: skip
    assert [one.name for one in shown(draft)] == ["", "", "", "", "", "", "do_you_smoke_2"]
    assert [one.called for one in shown(draft)] == finished_names(draft)
    assert edited(draft, form_of(draft)) == edited(edited(draft, form_of(draft)), form_of(draft))


def test_rules_and_translations_follow_a_name_that_is_made_of_words():
    draft = asked(
        {"type": "boolean", "question": "Do you smoke?"},
        {"type": "boolean", "question": "At home?", "onlyIf": {"field": "question-1", "equals": True}},
        {"type": "boolean", "question": "Much?", "onlyIf": {"and": [{"field": "question-1", "equals": True},
                                                                    {"not": {"field": "question-2", "equals": True}}]}},
    ) | {"translations": {"de": {"labels": {"question-1": {"true": "ja", "false": "nein"}}}}}  # fmt: skip
    assert meaning(draft)[2] == []
    found = read_text(finished(written(draft)))
    assert meaning(found)[2] == []
    assert fields_of(found)[1]["onlyIf"] == {"field": "do_you_smoke", "equals": True}
    assert "question-" not in finished(written(draft))


def test_a_rule_follows_a_question_that_gets_another_name():
    """Forbids to send the name of the other question with a rule: a page shows the old one until it is loaded again."""
    draft = asked(
        {"type": "boolean", "question": "One?"},
        {"type": "boolean", "question": "Two?", "onlyIf": {"field": "question-1", "equals": True}},
    )
    form = form_of(draft)
    once = edited(draft, form | {"q0.name": "first"})
    again = edited(once, form | {"q0.name": "the first"})
    assert fields_of(again)[1]["onlyIf"] == {"field": "the first", "equals": True}
    nameless = edited(again, form_of(again) | {"q0.name": ""})
    assert fields_of(nameless)[1]["onlyIf"] == {"field": "question-1", "equals": True}


def test_questions_move_and_go():
    names = [str(field["name"]) for field in fields_of(EXAMPLE)]
    for action, expected in (
        ("up:1", [names[1], names[0]]),
        ("down:0", [names[1], names[0]]),
        ("up:0", names[:2]),
    ):
        assert [field["name"] for field in fields_of(changed(EXAMPLE, action)[0])][:2] == expected
    assert [field["name"] for field in fields_of(changed(EXAMPLE, "remove:0")[0])] == names[1:]
    for nonsense in ("remove:99", "remove:x", "up:-1", "dance", "", "add:free text"):
        assert fields_of(changed(EXAMPLE, nonsense)[0]) == fields_of(EXAMPLE)


def test_a_language_is_added_and_its_texts_are_kept():
    draft, _ = changed(EXAMPLE, "language:fr")
    assert languages_in(draft) == ["en", "de", "fr"]
    again = edited(
        draft,
        form_of(draft)
        | {"title.fr": "Travail", "q0.categories": "north | North | Norden | Nord\nsouth"},
    )
    assert json.loads(written(again))["title"]["fr"] == "Travail"
    label = {"en": "North", "de": "Norden", "fr": "Nord"}
    assert fields_of(again)[0]["categories"] == [{"value": "north", "label": label}, "south"]
    assert meaning(again)[2] == []


def test_the_own_language_may_become_another_of_those_there_are_or_get_another_name():
    german = edited(EXAMPLE, form_of(EXAMPLE) | {"language": "de"})
    assert (german["language"], german["title"]) == (
        "de",
        {"en": "Work and reading", "de": "Arbeit und Lesen"},
    )
    british = edited(EXAMPLE, form_of(EXAMPLE) | {"language": "en-GB"})
    assert british["title"] == {"en-GB": "Work and reading", "de": "Arbeit und Lesen"}
    assert meaning(british)[2] == []


# ---- fewer answers by a button


def with_field(field: Object) -> Object:
    return {
        "name": "x",
        "schema": {
            "fields": [
                {"name": "first", "type": "boolean", "question": "One?"},
                {"name": "n", **field},
            ]
        },
    }


@pytest.mark.parametrize(
    ("field", "n", "expected"),
    [
        ({"type": "integer", "constraints": {"minimum": 0, "maximum": 120}}, 12, {"edges": [str(e) for e in range(0, 121, 10)]}),
        ({"type": "integer", "constraints": {"minimum": 18, "maximum": 99, "required": False}}, 8,
         {"edges": ["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]}),
        ({"type": "integer", "constraints": {"minimum": 1950, "maximum": 2009}}, 24,
         {"edges": [str(e) for e in range(1950, 2011, 2)]}),
        ({"type": "number", "bins": {"count": 40, "from": 0, "to": 200, "open": "above"}}, 8,
         {"count": 8, "from": 0, "to": 200, "open": "above"}),
        ({"type": "number", "bins": {"edges": ["0", "1", "2", "3", "4", "5"], "clamp": True}}, 2,
         {"edges": ["0", "3", "5"], "clamp": True}),
    ],
)  # fmt: skip
def test_a_button_bins_a_question_within_its_own_ends(field: Object, n: int, expected: Object):
    draft = binned(with_field(field), "n", n)
    assert meaning(draft)[2] == []
    new = fields_of(draft)[1]
    assert (new["type"], new["bins"]) == ("number", expected)
    assert new.get("constraints") == ({"required": False} if "required" in str(field) else None)


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "categories": [f"a{i}" for i in range(40)]},
        {"type": "date", "period": "month"},
        {"type": "integer", "constraints": {"minimum": "0", "maximum": 9}},
        {"type": "integer"},
        {"type": "number", "bins": {"edges": ["0", "1"]}},
        {"type": "number"},
    ],
)
def test_what_has_no_bins_to_make_is_left_to_people(field: Object):
    draft = with_field(field)
    assert not can_bin(draft, "n")
    assert binned(draft, "n", 8) == draft


def test_a_question_that_a_rule_speaks_of_is_not_binned_by_itself():
    draft = with_field({"type": "integer", "constraints": {"minimum": 0, "maximum": 99}})
    assert can_bin(draft, "n")
    rule: Object = {
        "not": {"all": [{"field": "first", "equals": True}, {"field": "n", "atLeast": 18}]}
    }
    fields_of(draft)[0]["onlyIf"] = rule
    assert not can_bin(draft, "n")


# ---- what happened a moment ago


def test_a_tab_is_known_by_what_it_left_until_somebody_else_writes():
    history = DraftHistory()
    assert not history.is_writer("d", "", "")
    history.set_writer("d", "tab", "v2")
    assert history.is_writer("d", "tab", "v2")
    assert not history.is_writer("d", "other", "v2") and not history.is_writer("d", "tab", "v3")
    history.set_writer("d", "", "v3")
    assert not history.is_writer("d", "tab", "v3") and not history.is_writer("d", "", "v3")


def test_buttons_are_taken_back_one_by_one_while_nothing_else_was_changed():
    history = DraftHistory()
    history.add_step("d", "one", "v2")
    history.add_step("d", "two", "v3")
    assert history.text_before("d", "v9") is None
    assert history.text_before("d", "v3") == "two"
    history.remove_step("d")
    assert history.text_before("d", "v2") == "one"
    history.remove_step("d")
    assert history.text_before("d", "v2") is None
    for i in range(MOST_DRAFTS + 1):
        history.add_step(f"d{i}", "x", "v")
    assert history.text_before("d0", "v") is None and history.text_before("d1", "v") == "x"


def test_a_text_is_kept_only_where_the_draft_is_as_it_was_found(tmp_path: Path):
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    found = new_draft(store, "one")
    first = keep_text(store, found, "two")
    assert first is not None and first.version != found.version
    assert keep_text(store, found, "three") is None
    assert find_draft(store, found.id).text == "two"
    store.close()


def test_a_campaign_with_a_published_round_is_still_open(tmp_path: Path):
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    schedule = Schedule.in_rounds(
        day_of(store.today()) - timedelta(days=60), Repeat(every_days=20, rounds=6, take_part=2)
    )
    questions = ALUMNI.people(1, seed=0).domain
    campaign = make_campaign(
        questions,
        Terms(name="rounds", min_reports=20, schedule=schedule),
        CampaignRequest(epsilon=4),
    )
    entry, _ = open_campaign(store, campaign)
    assert [entry.is_final(slot) for slot in (*schedule.slots, None)] == [
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    assert state_of(entry, {campaign.id}) == "open"
    close_campaign(store, campaign.id)
    closed = find_campaign(store, campaign.id)
    assert closed.is_final() and state_of(closed, {campaign.id}) == "published"
    store.close()


def test_a_form_of_an_older_draft_keeps_all_of_its_questions():
    form = form_of(EXAMPLE)
    fewer = changed(changed(EXAMPLE, "remove:0")[0], "remove:0")[0]
    assert meaning(edited(aligned(fewer, form), form))[2] == []
    assert [field["name"] for field in fields_of(aligned(fewer, form))[2:]] == [
        field["name"] for field in fields_of(EXAMPLE)[2:]
    ]
    again = edited(aligned(fewer, form), form)
    assert [field["name"] for field in fields_of(again)] == [
        field["name"] for field in fields_of(EXAMPLE)
    ]
    assert meaning(again)[0] == meaning(EXAMPLE)[0]


def test_a_code_says_its_text_to_those_who_cannot_see_it():
    drawn = qr_code('http://x/c/1?"><script>')
    assert 'role="img"' in drawn and "<script>" not in drawn
    assert '<title>http://x/c/1?"&gt;&lt;script&gt;</title>' in drawn
    assert "style=" not in drawn  # which the policy forbids


def test_a_demo_has_a_campaign_in_every_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "PEOPLE", 400)
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    demo.fill(store)
    states = {entry.campaign.terms.name: state_of(entry, set()) for entry in all_campaigns(store)}
    assert states == {"alumni": "open", "last-year": "closed", "next-month": "planned"}
    assert len(all_drafts(store)) == 1
    (job,) = jobs_of(store)
    assert (job.kind, job.state, job.choices) == ("publish", State.WAITING, {"simulated": True})
    (entry,) = (one for one in all_campaigns(store) if one.campaign.terms.name == "alumni")
    assert len(tally(store, entry).slots) == demo.DAYS
    store.close()
