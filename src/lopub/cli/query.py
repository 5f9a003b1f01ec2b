"""`lopub query`: a question in a line, answered with an interval and a word on how it came about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import print_json, say, working
from lopub.cli.options import AsJson, From, Round, SomeSources, SourceCampaign
from lopub.cli.sources import read, refused_by_reason, resolved
from lopub.errors import TooFewReports
from lopub.publication import Publication
from lopub.publication.loading import is_publication
from lopub.publication.published_study import study_of
from lopub.queries import Study
from lopub.queries.answers import Answer
from lopub.queries.queries import Asking

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPRESSION",
        help="What is asked, such as \"income == 'high' and age > 40\".",
        show_default=False,
    ),
]
Given = Annotated[
    str | None,
    typer.Option(
        "--given",
        metavar="EXPRESSION",
        help="Ask among those of whom this holds.",
        show_default=False,
    ),
]


def query(
    sources: SomeSources = None,
    *,
    expression: Expression,
    more: From = None,
    campaign: SourceCampaign = None,
    round_name: Round = None,
    given: Given = None,
    as_json: AsJson = False,
) -> None:
    """Ask for the share of people of whom an expression holds, with a 95 % interval and how the answer came about.

    An expression compares attributes with values, or asks whether they are `in` a list, and joins that with `and`, `or`, `not`
    and parentheses. A publication without counts is asked through its synthetic table; its answers have no interval.

    Example: `lopub query reports.parquet "income == 'affluent' and age > 40" --given "gender == 'F'"`

    More: docs/queries.md, and docs/commands.md on sources
    """
    words = [*(sources or ()), *(more or ())]
    if not words and (Path(expression).exists() or "://" in expression):
        raise typer.BadParameter(
            f'{expression} is a source; what is asked of it is missing, such as "donates" or "age > 40"'
        )
    study, described = _opened(words, campaign, round_name)
    with working("asking"):
        answer = study.probability(expression, given=given)
    if answer.how == "refused":
        raise TooFewReports(f"{answer.question} has no answer: {answer.reason}")
    if as_json:
        print_json(described | answer.to_dict())
    else:
        _print(answer)


def _opened(
    words: Sequence[str], campaign: str | None, round_name: str | None
) -> tuple[Asking, dict[str, object]]:
    """What can be asked, and what it was read from, for programs."""
    if len(words) == 1 and campaign is None and round_name is None and is_publication(words[0]):
        found = Publication.load(words[0])
        if found.counts is None:
            read_from = {
                "campaign": found.campaign.id,
                "n_reports": found.n_reports,
                "n_repeated": 0,
            }
            return study_of(found), read_from | {"refused": refused_by_reason(found.refused)}
    found_reports = read(resolved(words, campaign, round_name))
    return Study(found_reports.data), found_reports.described()


def _print(answer: Answer) -> None:
    for line in str(answer).splitlines():
        say(line)
