"""What the console shows of its own and of other packages' sentences is in the reader's language, or marked as English."""

import json
import re
from pathlib import Path

import pytest

from catalogues import CONSOLE, OTHERS, SENTENCE, course_of, literals, normal
from lopub.errors import Message
from lopub.pages.translation import Catalogue, catalogue
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object

PROGRESS = ("publication", "planning", "reports/engines", "synthesis", "collector/backup.py")
NAMES = set(
    "LoPub Deutsch English lopub token new LOPUB PUBLIC lt gt iframe src title width height campaigns href embed".split()  # noqa: SIM905
)
"""Words of templates that every language has."""
NOT_SHOWN = {"searching"}
"""What no job does."""


def words(language: str) -> Catalogue:
    return catalogue(language, CONSOLE.locale)


def in_german(sentence: str) -> str:
    return str(words("de").translated(sentence).unescape())


def is_known(sentence: str, language: str) -> bool:
    return 'lang="en"' not in words(language).translated(sentence)


@pytest.mark.parametrize("language", OTHERS)
def test_the_catalogue_has_what_the_console_says_and_nothing_else(language: str):
    entries = [entry for entry in CONSOLE.entries(language) if entry.id]
    texts, known = CONSOLE.texts(), literals(CONSOLE.rooms)
    assert texts - {entry.id for entry in entries} == set()
    own = {entry.id for entry in entries if entry.context != SENTENCE} - texts
    assert {text for text in own if normal(str(text)) not in known} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_an_error_has_an_entry(language: str):
    known = {normal(text) for text in words(language).templates}
    assert len(CONSOLE.sentences()) > 60
    assert {normal(one.text) for one in CONSOLE.sentences()} - known == set()


@pytest.mark.parametrize("language", OTHERS)
def test_the_entry_of_a_template_has_the_blanks_that_it_is_raised_with(language: str):
    """A template is looked up letter by letter, with the names of its blanks and with how they are written."""
    for sentence in CONSOLE.sentences():
        if sentence.parameters:
            assert sentence.text in words(language).templates, sentence.text
            assert sentence.names == sentence.parameters, sentence.text


@pytest.mark.parametrize("language", OTHERS)
def test_what_long_work_says_of_its_progress_is_known(language: str):
    found = course_of(PROGRESS) - NOT_SHOWN
    assert len(found) > 5
    filled = {text: text.replace("{}", "'x'") for text in found}
    assert [text for text, one in filled.items() if not is_known(one, language)] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_finished_sentence_keeps_what_stands_in_its_blanks(language: str):
    for text in words(language).templates:
        blanks = re.findall(r"\{[^{}]*\}", text)
        filled = text
        for n, blank in enumerate(blanks):
            filled = filled.replace(blank, f"<<{n}>>", 1)
        shown = str(words(language).translated(filled).unescape())
        assert len(blanks) > 1 or all(f"<<{n}>>" in shown for n in range(len(blanks))), text


def test_names_and_figures_stay_in_their_places():
    text = "field 'age' has 1,201 whole numbers, each an answer of its own; ask for a number in bins instead"
    assert in_german(text) == (
        "Feld 'age' hat 1.201 ganze Zahlen, jede eine eigene Antwort; fragen Sie besser nach einer Zahl in Klassen"
    )
    assert words("en").translated(text).unescape() == text
    assert in_german("its worker died 1,234 times; is there enough memory for it?") == (
        "der Arbeitsprozess starb 1.234-mal; reicht der Speicher dafür?"
    )


def test_an_error_inside_the_sentence_of_a_job_is_translated():
    found = words("de").translated(
        Message("there is a bug: {place}", {"place": "KeyError in plan.py:3"})
    )
    assert found == "ein Programmfehler: KeyError in plan.py:3"


def test_a_draft_without_questions_is_told_so_in_plain_words():
    read = draft_of(*parsed(b'{"name": "x", "language": "en", "schema": {"fields": []}}'))
    (mistake,) = read.mistakes
    assert words("en").translated(mistake.text) == "add at least one question"
    assert in_german(mistake.text) == "fügen Sie mindestens eine Frage hinzu"


def test_advice_on_a_plan_is_told_as_a_whole():
    binned = "age in 12 answers instead of 121 lowers the expected error of pairs from 0.412 to 0.301; about 10 of its answers"
    german = in_german(f"{binned} would become one and could no longer be told apart")
    assert german.startswith(
        "age in 12 statt 121 Antworten senkt den erwarteten Fehler der Paare von 0,412 auf 0,301; etwa 10"
    )
    weak = "epsilon 9 protects little: one report can make an observer nearly certain of an answer"
    assert is_known(f"{weak}; at 8 the expected error would be 0.1", "de")


def test_a_sentence_that_is_not_known_is_marked_as_english_and_is_a_text():
    german, english = words("de"), words("en")
    assert (
        german.translated("<b>new</b> words")
        == '<span lang="en">&lt;b&gt;new&lt;/b&gt; words</span>'
    )
    assert english.translated("<b>new</b> words") == "&lt;b&gt;new&lt;/b&gt; words"
    assert (
        german.translated("this needs a token of scope <i>")
        == "dafür braucht es ein Token mit dem Recht &lt;i&gt;"
    )


def test_no_template_says_anything_that_is_not_marked_for_translation():
    templates = Path(CONSOLE.locale.parent / "templates").glob("*.html")
    unmarked = {path.name: _unmarked(path.read_text()) - NAMES for path in templates}
    assert unmarked and {name: words for name, words in unmarked.items() if words} == {}


def _unmarked(template: str) -> set[str]:
    """The words between tags, outside of every block of words."""
    without = re.sub(
        r"\{%-? *trans.*?endtrans *-?%\}|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}",
        " ",
        template,
        flags=re.DOTALL,
    )
    return {
        word
        for piece in re.findall(r">([^<>]*)<", without)
        for word in re.findall(r"[A-Za-z]{2,}", piece)
    }


FIRST: Object = {"name": "a", "type": "boolean", "question": "A?"}
WRONG: list[Object] = [
    {"name": "Not a name"},
    {"language": "no tag!"},
    {"min_reports": "many"},
    {"min_reports": 0},
    {"retention_days": -1},
    {"schedule": {"opens": "2026-05-02", "closes": "2026-05-01"}},
    {"schedule": {"opens": "2026-05-02"}},
    {"schedule": {"opens": "soon", "closes": "2026-05-01"}},
    {"title": {"de": "Nur deutsch"}},
    {"schema": {"fields": []}},
    {"schema": {"fields": [FIRST, FIRST]}},
    *(
        {"schema": {"fields": [FIRST, {"name": "b", "question": "B?", **field}]}}
        for field in (
            {"type": "string"},
            {"type": "string", "categories": []},
            {"type": "string", "categories": ["x"]},
            {"type": "string", "categories": ["x", "x"]},
            {"type": "integer"},
            {"type": "integer", "constraints": {"minimum": 9, "maximum": 1}},
            {"type": "integer", "constraints": {"minimum": "x", "maximum": 1}},
            {"type": "integer", "constraints": {"minimum": 0, "maximum": 10**9}},
            {"type": "number"},
            {"type": "number", "bins": {}},
            {"type": "number", "bins": {"count": "x", "from": 0, "to": 1}},
            {"type": "number", "bins": {"count": 3}},
            {"type": "number", "bins": {"count": 3, "from": "x", "to": 1}},
            {"type": "number", "bins": {"count": 3, "from": 2, "to": 1}},
            {"type": "number", "bins": {"edges": ["3", "2", "1"]}},
            {"type": "number", "bins": {"edges": ["x", "y"]}},
            {"type": "date", "period": "hour"},
            {"type": "date", "period": "month"},
            {
                "type": "date",
                "period": "month",
                "constraints": {"minimum": "2026-05", "maximum": "2026-01"},
            },
            {"type": "date", "period": "weekday", "constraints": {"minimum": "2026-05"}},
            {"type": "list", "categories": ["x"]},
            {"type": "list", "categories": ["x", "x", "y"]},
            {"type": "list", "categories": ["x", "y"], "none": "z"},
            {"type": "list", "categories": ["x", "y"], "atMost": 7},
            {"type": "boolean", "onlyIf": {"field": "later", "equals": True}},
            {"type": "boolean", "onlyIf": {"field": "a", "above": 3}},
            {"type": "boolean", "onlyIf": {"field": "a"}},
            {"type": "boolean", "onlyIf": "nonsense"},
        )
    ),
]


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
@pytest.mark.parametrize("language", OTHERS)
def test_mistakes_that_a_form_can_make_are_told_in_every_language(wrong: Object, language: str):
    draft: Object = {"name": "x", "language": "en", "schema": {"fields": [FIRST]}, **wrong}
    read = draft_of(*parsed(json.dumps(draft).encode()))
    assert read.mistakes
    assert [one.text for one in read.mistakes if not is_known(one.text, language)] == []


@pytest.mark.parametrize("language", OTHERS)
def test_advice_is_told_in_every_language(language: str):
    large: list[Object] = [
        {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "s", "type": "string", "categories": [f"x{i}" for i in range(40)]},
        {
            "name": "d",
            "type": "date",
            "period": "month",
            "constraints": {"minimum": "2020-01", "maximum": "2026-01"},
        },
        {
            "name": "c",
            "type": "boolean",
            "question": {"en": "C?", "de": "C?"},
            "onlyIf": {"field": "n", "atLeast": 0},
        },
    ]
    draft = {"name": "x", "language": "en", "min_reports": 5, "schema": {"fields": [FIRST, *large]}}
    found = advice_on(draft_of(*parsed(json.dumps(draft).encode())))
    assert len(found) >= 7
    assert [one.text for one in found if not is_known(one.text, language)] == []
