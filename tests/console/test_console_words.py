"""What the console shows of other packages' sentences is in the reader's language, or marked as English."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lopub
from lopub.collector.queue import State
from lopub.console.app import SCREENS
from lopub.console.sayings import BLANK, said, sayings, told
from lopub.errors import Reason
from lopub.pages.templating import LANGUAGES
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object

SOURCES = Path(lopub.__file__).parent
SAYING = ("console", "jobs", "collector/queue.py", "questionnaire/advice.py", "planning/advice.py")
"""Whose sentences people meet in the console."""
SAID_BY = {
    "refused",
    "DomainError",
    "NoCampaign",
    "CampaignError",
    "progress",
    "_progress",
    "told",
    "_say",
    "Advice",
    "_end",
    "record",
}
PROGRESS = (
    "publication",
    "planning",
    "reports/engines",
    "synthesis",
    "collector/backup.py",
)
OTHERS = [language for language in LANGUAGES if language != "en"]
NOT_SHOWN = {
    "importing",
    "searching",
    "{} from {} to {}; {}",
    "{}; at {} the expected error would be {}",
}
"""What no job does; and parts of sentences of which the whole is looked at below."""


def files(*places: str) -> Iterator[Path]:
    for place in places:
        yield from (
            sorted((SOURCES / place).rglob("*.py"))
            if (SOURCES / place).is_dir()
            else [SOURCES / place]
        )


def sentence(node: ast.expr) -> str | None:
    """A text with blanks for what is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else BLANK for part in node.values
        )
    return None


def sentences(path: Path, callers: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        texts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            texts = list(node.args) if name in callers else []
            texts += [word.value for word in node.keywords if word.arg == "what"]
            texts += [item for one in texts if isinstance(one, ast.List) for item in one.elts]
        elif isinstance(node, ast.Yield) and path.name == "advice.py" and node.value is not None:
            texts = list(node.value.elts) if isinstance(node.value, ast.Tuple) else [node.value]
        for text in texts:
            found = sentence(text)
            if found and re.search(r"[a-z]{3}", found) and not found.endswith(".html"):
                yield found


def every_sentence() -> set[str]:
    found = {text for path in files(*SAYING) for text in sentences(path, SAID_BY)}
    found |= {
        text
        for path in files(*PROGRESS)
        for text in sentences(path, {"progress", "told", "_progress"})
    }
    return {text for text in found if " " in text or text in SINGLE} - NOT_SHOWN


SINGLE = {"counting", "synthesizing", "sign-in", "sign-out"}


def blanks_filled(text: str) -> str:
    return text.replace(BLANK, "'x'")


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_the_console_and_of_jobs_is_known_in_every_language(language: str):
    found = every_sentence()
    assert len(found) > 60
    unknown = sorted(text for text in found if told(blanks_filled(text), language) is None)
    assert not unknown


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_blanks_of_its_sentence(language: str):
    for text, other in sayings(language).items():
        n = text.count(BLANK)
        filled = other.format(*(f"<{i}>" for i in range(n)))
        assert all(f"<{i}>" in filled for i in range(n)) or n > 1, text


@pytest.mark.parametrize("language", OTHERS)
def test_states_reasons_and_names_of_actions_are_known(language: str):
    words = [str(state) for state in State if state not in (State.WAITING, State.RUNNING)]
    words += [str(reason) for reason in Reason] + [screen.what for screen in SCREENS if screen.what]
    assert [word for word in words if told(word, language) is None] == []


def test_names_and_figures_stay_in_their_places():
    text = "field 'age' has 1,201 whole numbers, each an answer of its own; ask for a number in bins instead"
    german = told(text, "de")
    assert (
        german
        == "Feld 'age' hat 1.201 ganze Zahlen, jede eine eigene Antwort; fragen Sie besser nach einer Zahl in Klassen"
    )
    assert told(text, "en") == text
    assert told("attempt 2 taken up again: its worker had died", "de") == (
        "Versuch 2: wieder aufgenommen, weil der Arbeitsprozess gestorben war"
    )


def test_a_draft_without_questions_is_told_so_in_plain_words():
    read = draft_of(*parsed(b'{"name": "x", "language": "en", "schema": {"fields": []}}'))
    (mistake,) = read.mistakes
    assert told(mistake.text, "en") == "add at least one question"
    assert told(mistake.text, "de") == "fügen Sie mindestens eine Frage hinzu"


def test_advice_on_a_plan_is_told_as_a_whole():
    binned = "age in 12 answers instead of 121 lowers the expected error of pairs from 0.412 to 0.301; about 10 of its answers"
    german = told(f"{binned} would become one and could no longer be told apart", "de")
    assert german is not None
    assert german.startswith(
        "age in 12 statt 121 Antworten senkt den erwarteten Fehler der Paare von 0,412 auf 0,301; etwa 10"
    )
    weak = "epsilon 9 protects little: one report can make an observer nearly certain of an answer"
    assert told(f"{weak}; at 8 the expected error would be 0.1", "de") is not None


def test_a_sentence_that_is_not_known_is_marked_as_english_and_is_a_text():
    assert said("<b>new</b> words", "de") == '<span lang="en">&lt;b&gt;new&lt;/b&gt; words</span>'
    assert said("<b>new</b> words", "en") == "&lt;b&gt;new&lt;/b&gt; words"
    assert (
        said("this needs a token of scope <i>", "de")
        == "dafür braucht es ein Token mit dem Recht &lt;i&gt;"
    )


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
    assert [mistake.text for mistake in read.mistakes if told(mistake.text, language) is None] == []


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
    assert [one.text for one in found if told(one.text, language) is None] == []
