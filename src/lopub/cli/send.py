"""`lopub send`: one person's answers, randomized here, sent to a collector."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from lopub.campaign.budget import decimal_up, float_up, total_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import NOT_APPLICABLE, Dated, IntegerRange, Question, TickList
from lopub.campaign.report import Report
from lopub.campaign.schedule import GRACE_DAYS, day_of, days_in_short
from lopub.cli.console import note, one_line, out, plain, print_json, say, table
from lopub.cli.options import AsJson, Language, language_told, languages_wanted
from lopub.client.client import Client
from lopub.client.rows import Fate
from lopub.client.sending import fetch_campaign
from lopub.client.store import FileStore
from lopub.errors import (
    CollectorError,
    DomainError,
    EpsilonTooHigh,
    ReportRejected,
    StoreError,
    TryLater,
)
from lopub.files import members_once
from lopub.pages.figures import factor_up, lifetime_in_words, rounds_in_words, weakness
from lopub.pages.wording import Wording

LONGEST_RECORD = 16 * 2**20
NO_ANSWER, NOTHING_TICKED = "(no answer)", "(nothing)"

Url = Annotated[
    str,
    typer.Argument(
        metavar="CAMPAIGN_URL",
        help="The campaign's address: https://HOST/campaigns/ID.",
        show_default=False,
    ),
]
Respondent = Annotated[
    str,
    typer.Option(
        "--respondent", metavar="NAME", help="Who answers, where several people share a machine."
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="The directory in which reports are kept, in one file; ~/.lopub unless given.",
        show_default=False,
    ),
]
Seconds = Annotated[
    float, typer.Option("--patience", metavar="SECONDS", help="How long to try, at most.")
]
PlainHttp = Annotated[
    bool,
    typer.Option(
        "--allow-plain-http",
        help="Connect without TLS: anybody on the way can read and change what is sent.",
    ),
]
Cap = Annotated[
    str | None,
    typer.Option(
        "--epsilon-cap",
        metavar="E",
        help="Refuse a campaign with a larger epsilon.",
        show_default=False,
    ),
]
LifetimeCap = Annotated[
    str | None,
    typer.Option(
        "--lifetime-cap",
        metavar="E",
        help="Refuse if the epsilons of all reports from this store would add up to more.",
        show_default=False,
    ),
]


def send(
    url: Url,
    record_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="RECORD",
            help="The answers as a JSON object; - reads them from standard input.",
            show_default=False,
        ),
    ] = None,
    epsilon_cap: Cap = None,
    lifetime_cap: LifetimeCap = None,
    respondent: Respondent = "self",
    store: Store = None,
    language: Language = None,
    agreed: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show what was sent, once the collector has it.")
    ] = False,
    seconds: Seconds = 60.0,
    allow_plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Show what a campaign asks and how much it reveals, randomize a record on this machine, and send the randomized report.

    The answers never leave this machine and are not kept. To agree is final: the report is made, kept and sent, and not shown
    before the collector has it. Where the collector is out of reach, the report waits, and running this again sends it, as the
    same bytes and without RECORD. Of a campaign that repeats, this can be run every day: it sends what waits, makes
    a report where one is due, which takes a RECORD with the answers of that round, and says so where there is nothing to do. With
    --json, which shows no campaign, --yes is needed, too.

    Example: `lopub send https://collector.example/campaigns/4f1c… record.json --epsilon-cap 4`

    More: docs/operating.md
    """
    if as_json and not agreed:
        raise typer.BadParameter("--json shows nothing to agree to; add --yes")
    options: SendOptions = {"patience": seconds, "allow_plain_http": allow_plain_http}
    campaign = fetch_campaign(url, **options)
    client = Client(
        campaign,
        epsilon_cap=epsilon_cap,
        lifetime_cap=lifetime_cap,
        store=FileStore(store),
        respondent=respondent,
    )
    sent_before = client.sent()
    is_refused = send_waiting(client, url, options, as_json=as_json)
    made_before, outcome = client.sent(), None
    if nothing := nothing_to_do(client):
        if not as_json:
            say(nothing)
    else:
        wanted = languages_wanted(language)
        wording = Wording.of(campaign, wanted)
        if not as_json:
            print_campaign(client, wording, wanted)
        record = read_record(record_file, begun=client.has_begun) if client.needs_record else None
        agree(wording, record, agreed=agreed, capped=epsilon_cap is not None)
        outcome = client.contribute(record, url, **options)
    if as_json:
        days = [str(day_of(report.slot)) for report in client.sent() if report not in sent_before]
        members = {"sent": days, "nothing_due": nothing or None}
        print_json(_document(client, campaign) | members | {"outcome": outcome and outcome.fate})
    elif outcome and outcome.fate is Fate.SENT:
        print_sent(client, [report for report in client.sent() if report not in made_before])
    if show:
        print_reports(client, as_json=as_json)
    if outcome and outcome.fate is not Fate.SENT:
        waits = "the report is kept, and goes out when this is run again: "
        raise CollectorError(f"{waits if outcome.fate is Fate.WAITING else ''}{outcome.why}")
    if is_refused:
        raise typer.Exit(1)


class SendOptions(TypedDict):
    """How a collector is reached."""

    patience: float
    allow_plain_http: bool


def send_waiting(client: Client, url: str, options: SendOptions, *, as_json: bool) -> bool:
    """Send what waits, before anybody is asked about a new report: that was agreed to then. Whether something was refused, which
    does not keep back a new report; where the collector is out of reach, it goes on waiting."""
    if not (waiting := client.waiting()):
        return False
    try:
        client.send(url, **options)
    except TryLater as error:
        if client.due() is None:
            raise
        note(f"warning: {error}")
    except ReportRejected as error:
        note(f"warning: {error}")
        return True
    else:
        days = [day_of(report.slot) for report in waiting]
        what = (
            f"what was made in the {rounds_from(days)}"
            if client.rounds()
            else "the report that was made before"
        )
        if not as_json:
            say(f"Sent, because it was waiting: {what}.")
    return False


def _document(client: Client, campaign: Campaign) -> dict[str, Any]:
    """What a program is told of the campaign and the store."""
    return {
        "campaign": campaign.id,
        "epsilon": campaign.epsilon,
        "lifetime_epsilon": campaign.lifetime_epsilon,
        "spent": float_up(client.spent()),
        "rounds": [str(day) for day in client.rounds()],
    }


NOTHING = {
    None: "the campaign takes no reports today",
    Fate.WAITING: "the report of this device still waits",
    Fate.SENT: "the collector has the report of this device",
    Fate.REFUSED: "the collector has refused the report of this device",
    Fate.WITHDRAWN: "the report was withdrawn",
    Fate.CANCELLED: "the report was cancelled",
}


def nothing_to_do(client: Client) -> str:
    """What to say where no report is to be made today; else empty."""
    days, fate = client.rounds(), client.fate
    if client.due() is not None:
        return ""
    if not days:
        return f"Nothing is due: {NOTHING[fate]}{', and no second one is made' if fate else ''}."
    following = client.next_round()
    sentence = (
        f"Nothing is due today: the next round of this device begins on {following}."
        if following
        else f"Nothing is due any more: this device takes part in no round after the one from {days[-1]}."
    )
    if missed := client.missed():
        sentence += f" Too late to send what was made in the {rounds_from(missed)}: no collector had it in time."
    return sentence


def print_sent(client: Client, reports: Sequence[Report]) -> None:
    """What the collector has now."""
    days = client.rounds()
    of_rounds = (
        f" of the {rounds_from([day_of(report.slot) for report in reports])}" if days else ""
    )
    many, it = ("s", "each") if len(reports) > 1 else ("", "it")
    say(
        f"Sent: the collector has the randomized report{many}{of_rounds}, and counts {it} once, however often it is sent."
    )
    say("Whether it had come before, the collector does not tell.")
    if days:
        say(f"This device takes part in the {rounds_from(days)}; a round that it misses is lost.")


def print_reports(client: Client, *, as_json: bool) -> None:
    """What was sent, behind a sentence on what choosing by it would do."""
    write = note if as_json else say
    if not (reports := client.sent()):
        write("Nothing is shown: a report is shown only once a collector has it.")
        return
    write(
        "This is what was sent. It is partly random. Whoever decides by it whether to withdraw it, or what else to send, can"
        " reveal the true answers completely."
    )
    for report in reports:
        write(report.to_json())


def rounds_from(days: Sequence[date]) -> str:
    """Rounds, by their first days.

    >>> rounds_from([date(2026, 11, 2)]), rounds_from([date(2026, 11, 2), date(2026, 11, 30)])
    ('round from 2026-11-02', 'rounds from 2026-11-02, 2026-11-30')
    """
    return f"round{'s' if len(days) > 1 else ''} from {days_in_short(days)}"


# ---- the record


def read_record(path: Path | None, *, begun: bool = False) -> dict[str, Any]:
    """The answers. No message says what they are. begun: whether reports of earlier rounds are kept."""
    if path is None:
        why = "a report of a new round is due" if begun else "no report is kept yet"
        raise DomainError(
            f"{why}, so RECORD is needed: a JSON object with an answer to every question"
        )
    try:
        with sys.stdin.buffer if str(path) == "-" else open(path, "rb") as file:
            data = file.read(LONGEST_RECORD + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    try:
        record = json.loads(data.decode(), object_pairs_hook=members_once)
    except (ValueError, RecursionError):
        raise DomainError(
            f"{path} must be JSON in UTF-8, with an answer to every question once"
        ) from None
    if not isinstance(record, dict) or len(data) > LONGEST_RECORD:
        raise DomainError(f"{path} must be one JSON object, with an answer to every question")
    return record


def candidates_of(campaign: Campaign, record: Mapping[str, Any]) -> tuple[int, ...]:
    """The record as candidate numbers; a message about it in the words of JSON."""
    try:
        return campaign.domain.indices(record)
    except DomainError as error:
        raise DomainError(str(error).replace(" (None in Python)", "")) from None


# ---- agreeing


def agree(
    wording: Wording, record: Mapping[str, Any] | None, *, agreed: bool, capped: bool
) -> None:
    """Go on where the record fits and the person agrees, and only then. record: None where a permanent answer is kept."""
    campaign = wording.campaign
    candidates, warning = (
        None if record is None else candidates_of(campaign, record),
        weakness(campaign),
    )
    if agreed:
        if warning and not capped:
            raise EpsilonTooHigh(
                f"{warning}; --yes alone does not agree to that: add an --epsilon-cap that allows it"
            )
        if warning:
            note(f"warning: {warning}")
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; add --yes to agree")
    if out.is_terminal and candidates is not None:  # and nowhere else: what is piped may be kept
        print_answers(wording, candidates)
    question = (
        "Send a report made of the randomized answer that is kept here?"
        if candidates is None
        else "Randomize these answers here, and send the report? It is not shown before, and cannot be unsent."
    )
    doubt = f"Beware: {warning}, so it would hardly protect you.\n" if warning else ""
    if not typer.confirm(doubt + question, err=True):
        note("lopub: nothing was made, nothing was sent.")
        raise typer.Exit(1)


# ---- what a person should see before agreeing


def print_campaign(client: Client, wording: Wording, wanted: Sequence[str]) -> None:
    """What is asked, and what it reveals."""
    print_questions(wording)
    if fallback := language_told(wording, wanted):
        note(fallback)
    print_spent(client, wording.campaign)


def print_questions(wording: Wording) -> None:
    """Whose words they are is visible: those of the campaign stand in a table, or behind a bar."""
    campaign = wording.campaign
    say(f"{one_line(wording.title)}  ({campaign.id[:16]}…)")
    for heading, text in (("", wording.description), ("\nYou agree to this:", wording.consent)):
        if text:
            say(heading)
            say("\n".join(f"| {line}" for line in plain(text).split("\n")))
    say("")
    questions = table("attribute", "question", "answers")
    for question in campaign.domain.questions:
        asked = one_line(wording.question(question))
        if question.only_if is not None:
            asked += f" (only if {one_line(str(question.only_if))})"
        questions.add_row(
            one_line(question.name),
            "" if asked == question.name else asked,
            all_answers(wording, question),
        )
    out.print(questions)
    say(f"\nepsilon {decimal_up(campaign.loss, 3)}: {odds(campaign.loss)}")
    if in_all := lifetime_in_words(campaign):
        say(in_all)
    say(what_becomes_of_it(campaign))


def all_answers(wording: Wording, question: Question) -> str:
    """Every answer, as it stands in a record and, where the two differ, as it reads."""
    none = ", or none: null" if question.missing else ""
    if isinstance(question, IntegerRange):
        return f"{question.minimum} to {question.maximum}{none}"
    if isinstance(question, Dated):
        return f"a {question.kind}, of which the {question.period} is kept{none}"
    texts = question.values if isinstance(question, TickList) else question.answer_texts
    labels = {text: wording.label(question, text) for text in texts}
    shown = ", ".join(
        one_line(text if text == label else f"{text} = {label}") for text, label in labels.items()
    )
    if isinstance(question, TickList):
        most = f"at most {question.most} of " if question.most else "any of "
        return (
            f"a list with {most}{shown}{f'; {question.none} alone' if question.none else ''}{none}"
        )
    return shown + none


def print_answers(wording: Wording, candidates: tuple[int, ...]) -> None:
    """What the person is about to answer, in the words of the questions."""
    answers, domain = table("your answers", ""), wording.campaign.domain
    code_of = dict(zip(domain.names, candidates, strict=True))
    for question in domain.questions:
        answers.add_row(
            one_line(wording.question(question)), one_line(answer_shown(wording, question, code_of))
        )
    out.print()
    out.print(answers)
    out.print()


def answer_shown(wording: Wording, question: Question, code_of: Mapping[str, int]) -> str:
    """How an answer reads; of a list, all that is ticked."""
    first = question.options[0] if isinstance(question, TickList) else question
    text = first.texts[code_of[first.name]]
    if not isinstance(question, TickList) or text in ("", NOT_APPLICABLE):
        return wording.label(question, text) or NO_ANSWER
    ticked = [
        wording.label(question, option.value) for option in question.options if code_of[option.name]
    ]
    return ", ".join(ticked) or NOTHING_TICKED


def print_spent(client: Client, campaign: Campaign) -> None:
    """What was revealed from this store, and what it will be."""
    spent = client.spent()
    total = decimal_up(total_up([spent, campaign.lifetime_loss]), 3)
    after = "" if client.has_begun else f", {total} after this"
    say(f"This store has spent epsilon {decimal_up(spent, 3)} of yours so far{after}.")


def odds(loss: Decimal) -> str:
    """What the report lets an observer conclude at most.

    >>> odds(Decimal(2))
    'your report shifts the odds between any two sets of answers by a factor of 7.4 at most, for whoever sees it.'
    """
    factor = factor_up(loss)
    return f"your report shifts the odds between any two sets of answers by a factor of {factor} at most, for whoever sees it."


def what_becomes_of_it(campaign: Campaign) -> str:
    """Days, deletion, and how many must answer."""
    terms = campaign.terms
    days = ""
    if terms.schedule:
        days = f"Reports are taken from {terms.schedule.opens} to {terms.schedule.closes}{rounds_in_words(campaign)}. "
    close = (
        f"the close, at most {GRACE_DAYS} days after the last one"
        if terms.schedule
        else "the close"
    )
    kept = (
        f"deleted {terms.retention_days} days after {close}"
        if terms.retention_days
        else "kept until somebody deletes them"
    )
    return f"{days}Reports are {kept}; nothing is shown of fewer than {terms.min_reports:,}."
