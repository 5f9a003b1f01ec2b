"""`lopub audit`: what a client gives away at least, seen from outside."""

import shlex
import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from lopub.campaign.campaign import Campaign
from lopub.cli.console import progress_bar, tell
from lopub.cli.options import AsJson, CampaignFile
from lopub.evaluation.audit.auditing import Audit
from lopub.evaluation.audit.auditing import audit as audited
from lopub.evaluation.audit.respondents import Command

SECONDS_A_DAY = 86_400


def audit(
    campaign: CampaignFile,
    client: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="The client as a command: JSON records in, reports in hexadecimal out. This package's own by default.",
        ),
    ] = "",
    reports: Annotated[
        int,
        typer.Option(
            metavar="N", min=200, help="Reports of each of six made-up records, at least 200."
        ),
    ] = 12_000,
    again: Annotated[
        bool, typer.Option("--again", help='The client answers "again": the last report once more.')
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check any client as a black box: what its reports give away at least, beside the epsilon that the campaign claims.

    The client gets one JSON record per line, each that of a new respondent with an empty store, and prints one report in
    hexadecimal per line. It is started twenty times, which shows seeds. Exit code 1 where the claim is refuted, which happens to
    an honest client with a chance of at most one in a million; and where nothing can be said, because the client cannot be run
    or because most of its reports are not of this campaign.

    Example: `lopub audit campaign.json --client "node respond.mjs campaign.json"`

    More: docs/auditing.md
    """
    loaded = Campaign.load(campaign)
    own = shlex.join([sys.executable, "-m", "lopub.cli.responding", str(campaign)])
    with progress_bar("audit") as progress:
        today = int(time.time() // SECONDS_A_DAY)
        found = audited(
            loaded,
            Command(client or own),
            n_reports=reports,
            again=again or not client,
            today=today,
            progress=progress,
        )
    tell(_document(found, loaded), *_lines(found), as_json=as_json)
    if found.refuted or not found.is_conclusive:
        raise typer.Exit(1)


def _document(found: Audit, campaign: Campaign) -> dict[str, object]:
    return {"campaign": campaign.id, **asdict(found)}


def _lines(found: Audit) -> list[str]:
    lines = [
        f"epsilon claimed {found.claimed:.6g}, at least {found.at_least:.4g} with 99 % confidence"
        f" ({found.n_reports:,} reports; {found.event})"
    ]
    lines += [
        f"format: {n:,} reports have a mistake: {reason}"
        for reason, n in sorted(found.format_mistakes.items())
    ]
    for finding in found.refuted[:10]:
        bound = "" if finding.epsilon is None else f", epsilon is at least {finding.epsilon:.4g}"
        lines.append(f"REFUTED: {finding.event}{bound}")
    if not found.is_conclusive:
        counted = f"{found.n_refused:,} of {found.n_reports:,} reports"
        lines.append(
            f"NOTHING CAN BE SAID: a collector would refuse {counted}; does the client answer this campaign?"
        )
    elif not found.refuted:
        lines.append(f"Not refuted in {found.n_tests:,} tests.")
    return lines
