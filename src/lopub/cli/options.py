"""The words that several commands share: the same option has the same name, the same letter and the same help everywhere."""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lopub.campaign.schedule import GRACE_DAYS
from lopub.errors import DomainError
from lopub.pages.wording import Wording

SEED_HELP = "Same input and same seed, same output."
OUTPUT = ("--output", "-o")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help=SEED_HELP, min=0)]

CampaignFile = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)
]
CampaignFileOrId = Annotated[
    str,
    typer.Argument(
        metavar="CAMPAIGN",
        help="The campaign: its file, its id, or the first 8 or more digits of its id.",
        show_default=False,
    ),
]
SOURCE_HELP = (
    "Where the reports are: files of reports or of counts, a directory or a quoted pattern of them, a publication that has"
    " counts, or a database (sqlite:///FILE, postgresql://…). A campaign file among them says which campaign."
)
Sources = Annotated[
    list[str], typer.Argument(metavar="SOURCE", help=SOURCE_HELP, show_default=False)
]
SomeSources = Annotated[
    list[str] | None, typer.Argument(metavar="SOURCE", help=SOURCE_HELP, show_default=False)
]
From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="One more source of reports. May be repeated.",
        show_default=False,
    ),
]
SourceCampaign = Annotated[
    str | None,
    typer.Option(
        "--campaign",
        metavar="CAMPAIGN",
        help="The campaign, by its file or its id; needed only where the sources do not tell.",
        show_default=False,
    ),
]
Round = Annotated[
    str | None,
    typer.Option(
        "--round",
        metavar="DAY",
        help="Of a campaign that repeats: the round that begins on this day, or so, such as 2026-11.",
        show_default=False,
    ),
]
Domain = Annotated[
    Path | None,
    typer.Option(
        "--domain",
        metavar="FILE",
        help="A domain file that lists the attributes and their values.",
        show_default=False,
    ),
]
Margins = Annotated[
    list[Path] | None,
    typer.Option(
        "--margin",
        metavar="FILE",
        help="Known public shares to go by: a csv of attribute(s) and probability. May be repeated.",
        show_default=False,
    ),
]

LifetimeEpsilon = Annotated[
    str | None,
    typer.Option(
        "--lifetime-epsilon",
        metavar="L",
        help="Of everything that a device ever sends, where the draft repeats in mode permanent.",
        rich_help_panel="Privacy",
    ),
]

Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME.",
        envvar="LOPUB_DATABASE",
    ),
]
Files = Annotated[
    Path | None,
    typer.Option(
        "--files",
        metavar="DIR",
        envvar="LOPUB_FILES",
        help="Where the results of jobs lie, which console and workers share; beside an SQLite file unless given.",
        show_default=False,
    ),
]


def _public(given: str) -> str:
    """The address without the slash at its end; refused where links made of it would lead nowhere."""
    if given and not _ADDRESS.fullmatch(given):
        raise DomainError(
            "--public (LOPUB_PUBLIC) must be an address such as https://collector.example, got"
            " {given!r}",
            given=given[:80],
        )
    return given.rstrip("/")


_ADDRESS = re.compile(
    r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/%-]*)?"
)
Public = Annotated[
    str,
    typer.Option(
        "--public",
        metavar="URL",
        envvar="LOPUB_PUBLIC",
        callback=_public,
        help="The address by which people reach the collector, which links, posters and QR codes show;"
        " that of the collector on this machine unless given.",
        show_default=False,
    ),
]
Embed = Annotated[
    str,
    typer.Option(
        "--embed",
        metavar="SITES",
        envvar="LOPUB_EMBED",
        help="Sites whose pages may show the contributor's page in a frame, separated by spaces.",
        show_default=False,
    ),
]
Grace = Annotated[
    int,
    typer.Option(
        "--grace-days",
        metavar="N",
        help="Days after the schedule in which late reports and withdrawals are still taken.",
        envvar="LOPUB_GRACE_DAYS",
        min=0,
        max=GRACE_DAYS,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="TAG",
        help="Show the campaign's texts in this language, such as de; that of this terminal unless given.",
        show_default=False,
    ),
]

SampleRate = Annotated[
    str | None,
    typer.Option(
        "--sample-rate",
        metavar="SHARE",
        help="Also tell epsilon for readers of what is published if those who send are this share of the people, drawn in secret:"
        " n/N for n of N, rounded up.",
        show_default=False,
    ),
]
Stop = Annotated[
    str | None,
    typer.Option(
        "--stop",
        metavar="WHEN",
        help="With method em or hybrid: change, when no cell moves any more (the default), or paper, by its rule and gap.",
        show_default=False,
    ),
]


def refuse_given(context: typer.Context, allowed: Collection[str], why: str) -> None:
    """Refuse whatever was asked for on the command line that is not allowed here. allowed: parameters of the command."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in allowed and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"{parameter.opts[0]} {why}")


def languages_wanted(given: str | None) -> list[str]:
    """The reader's languages: the one that is given, else those that the environment names."""
    if given is not None:
        return [given]
    named = [os.environ.get(name, "").split(".")[0] for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    return [tag for tag in named if tag not in ("", "C", "POSIX")]


def language_told(wording: Wording, wanted: Sequence[str]) -> str:
    """A sentence where the campaign has no texts in the reader's language; else empty."""
    asked = wanted[0].replace("_", "-") if wanted else ""
    is_it = wording.language.split("-")[0].lower() == asked.split("-")[0].lower()
    if not asked or is_it or not wording.campaign.terms.translations:
        return ""
    return f"note: this campaign has no texts in {asked}; they are shown in {wording.language}."
