"""`lopub draft`: begin a draft, check one."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.cli.console import print_json, say, tell
from lopub.cli.options import OUTPUT, AsJson, Force
from lopub.cli.outputs import check_file, check_unread, name_of
from lopub.errors import CampaignError
from lopub.files import write_whole
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import Draft, Mistake, read_draft
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.xlsform import draft_from_xlsform

app = typer.Typer(
    no_args_is_help=True,
    help="Begin, check and import drafts of campaigns.",
    rich_markup_mode="markdown",
)

Output = Annotated[
    Path,
    typer.Option(*OUTPUT, metavar="FILE", help="Where to write the draft.", show_default=False),
]
DraftFile = Annotated[
    Path,
    typer.Argument(
        metavar="DRAFT", help="The draft: questions and terms, as JSON.", show_default=False
    ),
]


@app.command()
def new(output: Output, as_json: AsJson = False, force: Force = False) -> None:
    """Write a draft with one question of every kind, and comments that say what to change.

    Example: `lopub draft new -o survey.json`

    More: docs/questionnaires.md
    """
    check_file(output, force=force)
    name = name_of(output.with_suffix(""))
    write_whole(output, template(name, datetime.now(UTC).date()).encode(), force=force)
    tell({"name": name, "output": str(output)}, f"written: {output}", as_json=as_json)


@app.command()
def check(path: DraftFile, as_json: AsJson = False) -> None:
    """List every mistake in a draft and every piece of advice, by field and line.

    Without --json, a draft with mistakes is refused once they are listed.

    Example: `lopub draft check survey.json`

    More: docs/questionnaires.md
    """
    draft = read_draft(path)
    advice = advice_on(draft)
    if as_json:
        print_json({"mistakes": _listed(draft, draft.mistakes), "advice": _listed(draft, advice)})
        return
    for heading, found in (("mistake", draft.mistakes), ("advice", advice)):
        for one in found:
            say(f"{heading}: {_placed(draft, one)}")
    if draft.mistakes:
        mistakes = "a mistake" if len(draft.mistakes) == 1 else f"{len(draft.mistakes)} mistakes"
        raise CampaignError(f"{path} has {mistakes}")
    say(f"ok: {path} can be made into a campaign")


@app.command("from-xlsform")
def from_xlsform(
    form: Annotated[
        Path,
        typer.Argument(
            metavar="FORM", help="An XLSForm: a .xlsx file with a sheet survey.", show_default=False
        ),
    ],
    output: Output,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Make a draft from an XLSForm, the spreadsheet of field surveys, and list what is left to do by hand.

    Example: `lopub draft from-xlsform household.xlsx -o household.json`

    More: docs/questionnaires.md
    """
    check_file(output, force=force)
    check_unread(output, [form])
    draft, n_questions, left_out = draft_from_xlsform(form)
    listed = "".join(f"// {line}\n" for line in ["To be seen to by hand:", *left_out] if left_out)
    text = json.dumps(draft, ensure_ascii=False, indent=2)
    write_whole(output, f"{listed}{text}\n".encode(), force=force)
    if as_json:
        print_json({"output": str(output), "n_questions": n_questions, "left_out": left_out})
        return
    for line in left_out:
        say(f"by hand: {line}")
    say(f"written: {output}, {n_questions} questions")


def _placed(draft: Draft, mistake: Mistake) -> str:
    line = draft.line_of(mistake)
    return mistake.text if line is None else f"line {line}: {mistake.text}"


def _listed(draft: Draft, mistakes: Sequence[Mistake]) -> list[dict[str, Any]]:
    return [{"line": draft.line_of(mistake), "text": mistake.text} for mistake in mistakes]
