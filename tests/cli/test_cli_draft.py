"""Drafts on the command line: begin one, check one; and questionnaires as a person sees them before agreeing."""

import json
import subprocess
import sys
from pathlib import Path

import questionnaires
from lopub import CampaignRequest, Terms, Translation, make_campaign
from lopub.cli.send import all_answers, answer_shown, print_questions
from lopub.pages.wording import Wording


def lopub(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lopub", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_every_mistake_is_listed_with_its_line_and_the_draft_is_refused(tmp_path):
    (tmp_path / "draft.json").write_text(
        '{"name": "d", // a name\n "schema": {"fields": [\n {"name": "x", "type": "string"}]}}'
    )
    checked = lopub(tmp_path, "draft", "check", "draft.json")
    assert checked.returncode == 1
    assert checked.stdout.startswith(
        "mistake: line 3: field 'x' has no categories: a free text cannot be asked"
    )
    assert checked.stderr == "lopub: draft.json has a mistake\n"


def test_advice_does_not_refuse_a_draft(tmp_path):
    fields = [
        {
            "name": "x",
            "type": "integer",
            "question": "?",
            "constraints": {"minimum": 0, "maximum": 99},
        }
    ]
    draft = {"name": "d", "consent": "Yes.", "min_reports": 500, "schema": {"fields": fields}}
    (tmp_path / "draft.json").write_text(json.dumps(draft, indent=1))
    checked = lopub(tmp_path, "draft", "check", "draft.json")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.splitlines() == [
        "advice: line 7: field 'x' has 100 whole numbers, each an answer of its own; ask for a number in bins instead",
        "ok: draft.json can be made into a campaign",
    ]


def wording(*languages: str) -> Wording:
    german = Translation(
        questions={"reads": "Was lesen Sie?"}, labels={"reads": {"books": "Bücher"}}
    )
    terms = Terms(name="survey", translations={"de": german})
    return Wording.of(
        make_campaign(questionnaires.DOMAIN, terms, CampaignRequest(epsilon=2)), languages
    )


def test_a_list_is_shown_as_one_question_in_the_readers_language(capsys):
    shown = all_answers(wording("de"), questionnaires.READS)
    assert shown == (
        "a list with at most 3 of books = Bücher, papers, blogs, comics, letters, nothing; nothing alone, or none: null"
    )
    print_questions(wording("de-CH"))
    flat = " ".join(capsys.readouterr().out.split())
    assert "Was lesen Sie?" in flat and "only if" in flat


def test_ones_own_answers_are_shown_with_what_does_not_apply():
    domain = questionnaires.DOMAIN
    record = {"age": "old", "job": False, "reads": ["comics", "books"], "title": "novel"}
    code_of = dict(zip(domain.names, domain.indices(record), strict=True))
    shown = {
        question.name: answer_shown(wording("de"), question, code_of)
        for question in domain.questions
    }
    assert (shown["hours"], shown["reads"], shown["age"]) == (
        "(not applicable)",
        "Bücher, comics",
        "old",
    )
    silent = code_of | dict.fromkeys(
        [name for name in domain.names if name.startswith("reads/")], 2
    )
    assert answer_shown(wording(), questionnaires.READS, silent) == "(no answer)"
