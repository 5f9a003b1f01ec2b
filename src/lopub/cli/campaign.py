"""`lopub campaign`: make one, look at it, check it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from lopub.bulk.view_laws import ViewLaw, view_from_text
from lopub.campaign.budget import float_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain
from lopub.campaign.terms import Terms
from lopub.cli.campaign_figures import (
    CHOICE_PEOPLE,
    REFERENCE_PEOPLE,
    below_wish,
    described,
    expected_error,
    exposure,
    sample_in_words,
    terms_in_words,
    warnings_of,
)
from lopub.cli.console import note, out, print_json, say, table, tell
from lopub.cli.next_steps import opening_step
from lopub.cli.options import (
    OUTPUT,
    AsJson,
    CampaignFile,
    Force,
    Language,
    LifetimeEpsilon,
    SampleRate,
    language_told,
    languages_wanted,
)
from lopub.cli.options import Domain as DomainFile
from lopub.cli.outputs import check_file, check_unread, name_of
from lopub.cli.question_table import fields_of
from lopub.errors import CampaignError, DomainError
from lopub.pages.figures import lifetime_in_words, thousandths_up
from lopub.pages.wording import Wording
from lopub.planning.budgets import sampled_up, share_decimal
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft import draft_from_file
from lopub.reports.catalogue import read_domain_file
from lopub.reports.dataset import Dataset
from lopub.reports.infer import MOST_INFERRED, N_BINS, Order, infer_domain

ID_DIGITS = 64
FEWEST_DIGITS = 8
"""Of a short id that may be compared: fewer agree by chance."""

app = typer.Typer(
    no_args_is_help=True, help="Make, show and check campaigns.", rich_markup_mode="markdown"
)

Output = Annotated[
    Path,
    typer.Option(*OUTPUT, metavar="FILE", help="Where to write the campaign.", show_default=False),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="Privacy budget of a whole report. Given alone, the best known mechanism and view are chosen.",
        show_default=False,
        rich_help_panel="Privacy",
    ),
]
Flip = Annotated[
    str | None,
    typer.Option(
        "--flip-probability",
        metavar="F",
        help="Instead of epsilon: the paper's f, for bloom and unary.",
        rich_help_panel="Privacy",
    ),
]
Bits = Annotated[
    int | None,
    typer.Option("--bits", metavar="M", help="Bits of a Bloom filter.", rich_help_panel="Privacy"),
]
Hashes = Annotated[
    int | None,
    typer.Option(
        "--hashes", metavar="H", help="Hash functions of a Bloom filter.", rich_help_panel="Privacy"
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--false-positive-rate",
        metavar="P",
        help="Instead of bits and hashes: the rate that they are chosen for.",
        rich_help_panel="Privacy",
    ),
]
MechanismName = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="One of bloom, unary, subset, direct, hashed.",
        rich_help_panel="Privacy",
    ),
]
ViewText = Annotated[
    str | None,
    typer.Option(
        "--view",
        metavar="VIEW",
        help="What a report covers: all, sample:K, fill or fill:CELLS.",
        rich_help_panel="Privacy",
    ),
]
Jointly = Annotated[
    bool | None,
    typer.Option(
        "--jointly/--separately",
        help="Randomize a view as one block with the whole budget, or each attribute with its share of it.",
        rich_help_panel="Privacy",
        show_default=False,
    ),
]


People = Annotated[
    int | None,
    typer.Option(
        "--people",
        metavar="N",
        help=f"How many people answer: what the forecast is for ({REFERENCE_PEOPLE:,} unless given), and with --epsilon alone the"
        f" choice, too ({CHOICE_PEOPLE:,} unless given).",
        min=1,
        show_default=False,
    ),
]

LEAK_WARNING = (
    "warning: these candidates were learnt from the table's own rows; if the rows are private, the list is itself a leak."
    " Use it for backtests, and draw up a real campaign from public knowledge (`lopub campaign make`)."
)


def request_of(
    epsilon: str | None,
    flip_probability: str | None,
    bits: int | None,
    hashes: int | None,
    false_positive_rate: float | None,
    mechanism: str | None,
    view: str | None,
    jointly: bool | None,
    lifetime_epsilon: str | None = None,
) -> CampaignRequest:
    """The options as one request. A kind of view without its number is the usual one for the mechanism that suits it."""
    suited = ViewLaw.known[view].usual_mechanism if view in ViewLaw.known else ""
    return CampaignRequest(
        epsilon=epsilon,
        lifetime_epsilon=lifetime_epsilon,
        flip_probability=flip_probability,
        n_bits=bits,
        n_hashes=hashes,
        false_positive_rate=false_positive_rate,
        mechanism=mechanism or suited or None,
        view=None if view is None or suited else view_from_text(view),
        jointly=jointly,
    )


@app.command()
def make(
    draft: Annotated[
        Path,
        typer.Argument(
            metavar="DRAFT", help="The draft: questions and terms, as JSON.", show_default=False
        ),
    ],
    output: Output,
    epsilon: Epsilon = None,
    lifetime_epsilon: LifetimeEpsilon = None,
    flip_probability: Flip = None,
    bits: Bits = None,
    hashes: Hashes = None,
    false_positive_rate: Rate = None,
    mechanism: MechanismName = None,
    view: ViewText = None,
    jointly: Jointly = None,
    people: People = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Make a campaign from a draft, which lists the questions, and a privacy budget.

    A draft is JSON such as `{"name": "alumni", "schema": {"fields": [{"name": "gender", "type": "string",
    "categories": ["F", "M"]}, {"name": "age", "type": "integer", "constraints": {"minimum": 25, "maximum": 60}}]}}`.

    Example: `lopub campaign make draft.json -o campaign.json --epsilon 4`

    More: docs/choosing.md
    """
    check_file(output, force=force)
    check_unread(output, [draft])
    privacy = (
        epsilon,
        flip_probability,
        bits,
        hashes,
        false_positive_rate,
        mechanism,
        view,
        jointly,
        lifetime_epsilon,
    )
    request = request_of(*privacy)
    domain, terms = draft_from_file(draft)
    campaign = made(domain, terms, request, people)
    below = below_wish(campaign, request)
    write(
        campaign,
        output,
        people,
        open_choice=request.is_open,
        as_json=as_json,
        force=force,
        warnings=below,
    )


@app.command()
def infer(
    table_file: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="A csv file, gzipped or not.", show_default=False),
    ],
    output: Output,
    domain_file: DomainFile = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,…",
            help="Only these columns; all unless given.",
            show_default=False,
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            "--order", metavar="ORDER", help="Order of learnt categories: appearance or natural."
        ),
    ] = "appearance",
    most_candidates: Annotated[
        int,
        typer.Option(
            "--most-candidates", metavar="N", help="Refuse a column with more different values."
        ),
    ] = MOST_INFERRED,
    bins: Annotated[
        int,
        typer.Option(
            "--bins-per-number",
            metavar="N",
            help="Into how many equal bins a column of numbers is cut.",
        ),
    ] = N_BINS,
    epsilon: Epsilon = None,
    flip_probability: Flip = None,
    bits: Bits = None,
    hashes: Hashes = None,
    false_positive_rate: Rate = None,
    mechanism: MechanismName = None,
    view: ViewText = None,
    jointly: Jointly = None,
    people: People = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Make a campaign whose questions are learnt from a table. For backtests only: what is learnt from private rows is a leak.

    With `--epsilon` alone the best known mechanism and view are chosen; with `--flip-probability` the paper's.

    Example: `lopub campaign infer people.csv -o campaign.json --epsilon 4`

    More: docs/choosing.md
    """
    check_file(output, force=force)
    check_unread(output, [table_file])
    if order not in ("appearance", "natural"):
        raise DomainError(f"order must be appearance or natural, got {order!r}")
    request = request_of(
        epsilon, flip_probability, bits, hashes, false_positive_rate, mechanism, view, jointly
    )
    chosen = columns.split(",") if columns else None
    if domain_file is not None:
        whole = read_domain_file(domain_file)
        domain = whole if chosen is None else Domain(tuple(whole[name] for name in chosen))
        Dataset.load(table_file, domain)  # the table must be one of this domain
    else:
        natural: Order = "natural" if order == "natural" else "appearance"
        domain = infer_domain(
            table_file, columns=chosen, order=natural, most_candidates=most_candidates, n_bins=bins
        )
    campaign = made(domain, Terms(name=name_of(table_file)), request, people)
    learnt = [LEAK_WARNING] if domain_file is None else []
    write(
        campaign,
        output,
        people,
        open_choice=request.is_open,
        as_json=as_json,
        force=force,
        warnings=learnt,
    )


def made(domain: Domain, terms: Terms, request: CampaignRequest, people: int | None) -> Campaign:
    """As requested; for so many people and an epsilon alone, what `lopub plan` takes for them."""
    if people is None or not request.is_open:
        return make_campaign(domain, terms, request)
    from lopub.planning.planner import plan  # here: it takes a moment, and most commands do without

    return plan(
        domain, people=max(terms.reports_together(people), 1), epsilon=float(request.budget)
    ).campaign(terms)


def write(
    campaign: Campaign,
    output: Path,
    people: int | None,
    *,
    open_choice: bool,
    as_json: bool,
    force: bool,
    warnings: Sequence[str] = (),
) -> None:
    """Write a new campaign, and show what it is; warnings come once there is something to be warned of. open_choice: whether
    mechanism and view were left to us."""
    summary = summary_of(campaign, people, chosen=open_choice)  # before anything is written
    campaign.save(output, force=force)
    for warning in warnings:
        note(warning)
    if as_json:
        print_json(described(campaign) | {"output": str(output)})
    else:
        out.print(summary)
    warn_of(campaign)
    if not as_json:
        say(f"written: {output}")
        if people is not None:
            say(opening_step(output, people))


@app.command()
def show(
    path: CampaignFile,
    language: Language = None,
    people: People = None,
    sample_rate: SampleRate = None,
    as_json: AsJson = False,
) -> None:
    """Show what a campaign asks, how much a report reveals at most, and how long it is.

    Example: `lopub campaign show campaign.json`

    More: docs/choosing.md, and docs/theorems.md on samples
    """
    campaign = Campaign.load(path)
    share = None if sample_rate is None else share_decimal(sample_rate, "--sample-rate")
    if as_json:
        sampled = (
            {}
            if share is None
            else {"sampled_epsilon": float_up(sampled_up(campaign.lifetime_loss, share))}
        )
        print_json(described(campaign) | sampled)
        return
    wanted = languages_wanted(language)
    wording = Wording.of(campaign, wanted)
    fields, summary = fields_of(wording), summary_of(campaign, people)
    if told := language_told(wording, wanted):
        note(told)
    out.print(fields)
    out.print()
    out.print(summary)
    if share is not None:
        say(sample_in_words(campaign, share))
    warn_of(campaign)


@app.command()
def check(
    path: CampaignFile,
    expected_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="HEX",
            help="The id that the campaign must have: all 64 digits.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a campaign file is whole and canonical, and with --id that it is the one that was announced.

    Example: `lopub campaign check campaign.json --id 4f1c…`

    More: docs/format.md
    """
    short = None if expected_id is None else expected_id.lower().rstrip("….")
    if short is None or len(short) == ID_DIGITS:
        tell_checked(Campaign.load(path, expected_id=short), len(short or ""), as_json=as_json)
        return
    if not re.fullmatch(rf"[0-9a-f]{{{FEWEST_DIGITS},{ID_DIGITS - 1}}}", short):
        raise typer.BadParameter(
            f"--id takes the {ID_DIGITS} hexadecimal digits of an id, or its first {FEWEST_DIGITS} or more"
        )
    campaign = Campaign.load(path)
    if not campaign.id.startswith(short):
        raise CampaignError(
            f"{path} is campaign {campaign.id}, whose id does not begin with {short}"
        )
    tell_checked(campaign, len(short), as_json=as_json)
    note(
        f"note: its first {len(short)} digits are those given; only all {ID_DIGITS} prove that it is the campaign announced."
    )


def tell_checked(campaign: Campaign, n_digits: int, *, as_json: bool) -> None:
    """That a campaign passed; n_digits: how many digits of its id were compared with those given."""
    document = {
        "campaign": campaign.id,
        "n_digits_compared": n_digits,
        "proven": n_digits == ID_DIGITS,
    }
    tell(document, f"ok: campaign {campaign.id}", as_json=as_json)


def warn_of(campaign: Campaign) -> None:
    """The same on standard error."""
    for text in warnings_of(campaign):
        note(f"warning: {text}")


def summary_of(campaign: Campaign, people: int | None = None, *, chosen: bool = False) -> Table:
    """The totals: what a steward decides by. chosen: whether mechanism and view were just chosen."""
    how = (
        "jointly, as one block with the whole budget"
        if campaign.jointly
        else "separately, each with its share of the budget"
    )
    rows = {
        "campaign": f"{campaign.terms.name}  {campaign.id[:16]}…",
        "mechanism": campaign.mechanism.name,
        "view": f"{campaign.view}, randomized {how}",
        "epsilon": f"{thousandths_up(campaign.loss)} in total, for everything that one report says",
        **({"in all rounds": in_all} if (in_all := lifetime_in_words(campaign)) else {}),
        "expected": expected_error(campaign, people, chosen=chosen),
        "report": f"at most {campaign.longest_report:,} bytes",
        "min_reports": f"{campaign.terms.min_reports:,}",
    }
    if (exposed := exposure(campaign)) is not None:
        rows["poisoning"] = exposed
    rows |= terms_in_words(campaign)
    summary = table("", "")
    summary.show_header = False
    for name, value in rows.items():
        summary.add_row(name, value)
    return summary
