"""`lopub send`: one person's answers, randomized here, sent to a collector."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.campaign import Campaign
from lopub.cli.campaign import values_in_short
from lopub.cli.console import note, out, print_json, say, table
from lopub.client import Client
from lopub.errors import DomainError, StoreError
from lopub.exact import decimal_up
from lopub.keeping import FileStore
from lopub.publication.summary import MOST_EXPONENT
from lopub.sending import Patience, fetch_campaign

LONGEST_RECORD = 16 * 2**20

Url = Annotated[str, typer.Argument(metavar="CAMPAIGN_URL", help="https://host/campaigns/ID", show_default=False)]
Respondent = Annotated[str, typer.Option(metavar="NAME", help="Who answers, where several people share a machine.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Where the noisy report is kept; ~/.lopub/reports unless given.")
]
Seconds = Annotated[float, typer.Option("--patience", metavar="S", help="Seconds to try for, at most.")]
PlainHttp = Annotated[
    bool,
    typer.Option("--allow-plain-http", help="Send without TLS: anybody on the way can read and change it."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing of the campaign.")]


def send(
    url: Url,
    record_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="RECORD", help="The answers as a JSON object; - reads them from standard input.", show_default=False
        ),
    ] = None,
    epsilon_cap: Annotated[
        str | None, typer.Option("--epsilon-cap", metavar="E", help="Refuse a campaign that reveals more.", show_default=False)
    ] = None,
    respondent: Respondent = "self",
    store: Store = None,
    agreed: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    seconds: Seconds = 60.0,
    allow_plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Show what a campaign asks and reveals, randomize a record on this machine, and send the noisy report.

    The answers never leave this machine, and are not kept. The noisy report is kept, and sent again as the same bytes whenever
    this is run again, whatever the record says then; RECORD can be left out.

    Example: `lopub send https://collector.example/campaigns/4f1c… record.json --epsilon-cap 4`
    """
    if as_json and not agreed:
        raise typer.BadParameter("--json shows nothing to agree to; add --yes")
    patience = Patience(seconds=seconds)
    campaign = fetch_campaign(url, patience=patience, allow_plain_http=allow_plain_http)
    client = Client(campaign, epsilon_cap=epsilon_cap, store=FileStore(store), respondent=respondent)
    if not as_json:
        print_questions(campaign)
    made_before = client.kept() is not None
    if not made_before:
        record = read_record(record_file)
        agree(agreed)
        client.encode(record)
    n_attempts = client.send(url, patience=patience, allow_plain_http=allow_plain_http)
    if as_json:
        print_json({"campaign": campaign.id, "epsilon": campaign.epsilon, "made_before": made_before, "attempts": n_attempts})
        return
    if made_before:
        say("A report was made here before; it was sent once more, as the same bytes.")
    say("Sent: the collector has the noisy report, and counts it once, however often it is sent.")
    say("Whether it had come before, the collector does not tell.")


def read_record(path: Path | None) -> dict[str, Any]:
    """The answers. No message says what they are."""
    if path is None:
        raise DomainError("no report is kept yet, so RECORD is needed: a JSON object with an answer to every question")
    try:
        with sys.stdin.buffer if str(path) == "-" else open(path, "rb") as file:
            data = file.read(LONGEST_RECORD + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    try:
        record = json.loads(data.decode(), object_pairs_hook=_members)
    except (ValueError, RecursionError):
        raise DomainError(f"{path} must be JSON in UTF-8, with an answer to every question once") from None
    if not isinstance(record, dict) or len(data) > LONGEST_RECORD:
        raise DomainError(f"{path} must be one JSON object, with an answer to every question")
    return record


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def agree(agreed: bool) -> None:
    """Go on where the person agrees, and only then."""
    if agreed:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; add --yes to agree")
    if not typer.confirm("Randomize these answers here, and send the noisy report?", err=True):
        note("lopub: nothing was made, nothing was sent.")
        raise typer.Exit(1)


def print_questions(campaign: Campaign) -> None:
    """What a person should see before answering."""
    terms = campaign.terms
    say(f"{plain(terms.title or terms.name)}  ({campaign.id[:16]}…)")
    for text in (terms.description, terms.consent and f"You agree to this: {terms.consent}"):
        if text:
            say(f"\n{plain(text)}")
    say("")
    questions = table("attribute", "question", "answers")
    for attribute in campaign.domain.attributes:
        answers = values_in_short(attribute.texts)
        questions.add_row(attribute.name, plain(attribute.question or attribute.title), answers)
    out.print(questions, markup=False)
    say(f"\nepsilon {decimal_up(campaign.loss, 3)}: {odds(campaign.epsilon)}")
    say(what_becomes_of_it(campaign))


def odds(epsilon: float) -> str:
    """What the report lets an observer conclude at most.

    >>> odds(2.0)
    'your report shifts the odds between any two sets of answers by a factor of 7.4 at most, for whoever sees it.'
    """
    power = math.ceil(epsilon / math.log(10))
    factor = f"{math.exp(epsilon):,.1f}" if epsilon <= MOST_EXPONENT else f"10^{power}"
    return f"your report shifts the odds between any two sets of answers by a factor of {factor} at most, for whoever sees it."


def what_becomes_of_it(campaign: Campaign) -> str:
    """Days, deletion, and how many must answer."""
    terms = campaign.terms
    days = f"Reports are taken from {terms.schedule.opens} to {terms.schedule.closes}. " if terms.schedule else ""
    kept = f"deleted {terms.retention_days} days after the close" if terms.retention_days else "kept until somebody deletes them"
    return f"{days}Reports are {kept}; nothing is shown of fewer than {terms.min_reports:,}."


def plain(text: str) -> str:
    """A campaign's own words without anything that could move the cursor.

    >>> plain("a\\x1b[2Jb")
    'a [2Jb'
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)
