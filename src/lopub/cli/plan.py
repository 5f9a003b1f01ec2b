"""`lopub plan`: how to collect, and what will come out, before a single report is."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from lopub.bulk.view_laws import ViewLaw
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain, TickList
from lopub.campaign.terms import Terms
from lopub.cli.console import note, noted_warnings, out, print_json, progress_bar, say, table
from lopub.cli.next_steps import opening_step
from lopub.cli.options import OUTPUT, AsJson, Force, LifetimeEpsilon, Margins, Seed
from lopub.cli.outputs import check_file
from lopub.cli.plan_document import by_attribute, described
from lopub.cli.plan_rounds import (
    KeptPlan,
    check_enough,
    described_rounds,
    is_kept,
    people_for,
    plan_kept,
    print_rounds,
    say_rounds,
)
from lopub.errors import DomainError
from lopub.estimation.joint import JointDistribution
from lopub.files import write_whole
from lopub.pages.figures import weakness
from lopub.planning.advice import OTHERS, Advice, advice, in_words
from lopub.planning.makers import Maker
from lopub.planning.option import Option
from lopub.planning.outlook import ACCURACY
from lopub.planning.plan_page import plan_page
from lopub.planning.planner import Plan, epsilon_needed, people_needed
from lopub.planning.planner import plan as planned
from lopub.planning.population import Population
from lopub.planning.rounds import options_of
from lopub.questionnaire.draft import FinishedCampaign, draft_from_file
from lopub.reports.dataset import Dataset

N_SHOWN = 5
N_ATTRIBUTES = 12
WHAT = {
    "pairs": "pairs of attributes",
    "shares": "single attributes",
    "table": "pairs of the synthetic table",
}
HOW = {
    "jointly": "the answers of one report are randomized as one, with the whole epsilon",
    "separately": "each answer of a report is randomized with its share of epsilon",
}
IMPORTANT = 4.0
"""How much more an important attribute matters."""
MOST_APART = 0.005
"""Between the shares that two files give of one attribute: what rounding can do."""


CampaignFile = Annotated[
    Path,
    typer.Argument(
        metavar="CAMPAIGN", help="The campaign file, or a draft of one.", show_default=False
    ),
]
People = Annotated[
    int | None,
    typer.Option("--people", metavar="N", help="How many people answer.", show_default=False),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon", metavar="E", help="Privacy budget of a whole report.", show_default=False
    ),
]
Error = Annotated[
    float | None,
    typer.Option(
        "--error",
        metavar="X",
        help="The wanted mean error (AVD): the share of people in the wrong cell, 0 to 1.",
        show_default=False,
    ),
]
Goal = Annotated[
    str,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help="What should be accurate: pairs, shares, or table (a synthetic table).",
    ),
]
Dependence = Annotated[
    str,
    typer.Option(
        "--dependence",
        metavar="HOW",
        help="How much answers hang together, where no table says so: none, weak, usual or strong.",
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--table",
        metavar="FILE",
        help="A public table of similar people, to plan for.",
        show_default=False,
    ),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="A=W",
        help="Attribute A matters W times as much. May be repeated.",
        show_default=False,
    ),
]
Important = Annotated[
    list[str] | None,
    typer.Option(
        "--important",
        metavar="A,B",
        help=f"Attributes that matter {IMPORTANT:g} times as much as the others.",
        show_default=False,
    ),
]
Try = Annotated[
    int,
    typer.Option(
        "--try",
        metavar="N",
        help="Try out the N best choices with simulated people; the best tried wins.",
        min=0,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Draw the plan as a page, one file.", show_default=False
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        *OUTPUT, metavar="FILE", help="Where to write the finished campaign.", show_default=False
    ),
]


def plan(
    context: typer.Context,
    campaign_file: CampaignFile,
    people: People = None,
    epsilon: Epsilon = None,
    lifetime_epsilon: LifetimeEpsilon = None,
    error: Error = None,
    goal: Goal = "pairs",
    dependence: Dependence = "usual",
    table_file: TableFile = None,
    margin: Margins = None,
    important: Important = None,
    weight: Weight = None,
    n_tried: Try = 1,
    html: Html = None,
    output: Output = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Choose mechanism and view, and say how accurate the results will be, before a single report is collected.

    Give two of --people, --epsilon and --error; the third is found. Where the campaign repeats, errors are those of one round;
    in mode permanent give --people and --epsilon, of one report, and --lifetime-epsilon, of everything.

    Example: `lopub plan draft.json --people 20000 --epsilon 4 -o campaign.json`

    More: docs/choosing.md
    """
    check_two_given(people, epsilon, error)
    files = checked_files(output, html, force=force)
    domain, terms = read_questions(campaign_file)
    crowd = population_of(domain, table_file, margin or [], dependence)
    if is_kept(context, terms):
        asked = KeptPlan(domain, terms, crowd, goal, people, epsilon, lifetime_epsilon)
        return plan_kept(asked, output, as_json=as_json, force=force)
    weights = weights_of(domain, weight or [], important or [])
    with noted_warnings(), progress_bar("planning") as told:
        question: dict[str, Any] = {
            "goal": goal,
            "population": crowd,
            "weights": weights,
            "progress": told,
        }
        reports, budget = third_found(
            domain,
            None if people is None else terms.reports_together(people),
            epsilon,
            error,
            question,
        )
        check_enough(reports, terms)
        found = planned(
            domain, people=reports, epsilon=budget, n_tried=n_tried, seed=seed, **question
        )
        campaign, advised = found.campaign(terms), advice(found, progress=told)
        people = people or people_for(reports, terms)
        in_rounds = options_of(campaign, people=people, population=crowd)
        drawn: dict[str, Any] = {
            "seed": seed,
            "progress": told,
            "people": people,
            "in_rounds": in_rounds,
        }
        page = plan_page(found, advised, **drawn) if html is not None else b""
    document = described(found, advised, campaign) | described_rounds(
        in_rounds, campaign, people, reports
    )
    write_files(campaign, output, page, html, force=force)  # once nothing more can be refused
    if as_json:
        print_json(
            document | {"campaign": campaign.id, "output": None if output is None else str(output)}
        )
    else:
        say_rounds(terms, people)
        print_plan(found, advised)
        print_rounds(in_rounds)
        if output is None:
            is_plain = (
                goal == "pairs"
                and not (table_file or margin or weights)
                and dependence == "usual"
                and n_tried <= 1
            )
            say(
                next_step(
                    campaign_file, found, people, plain=is_plain and not is_finished(campaign_file)
                )
            )
    tell_end(campaign, [] if as_json else files, output, people)


def check_two_given(*values: float | None) -> None:
    """Of the three."""
    if sum(value is None for value in values) != 1:
        raise typer.BadParameter("give two of --people, --epsilon and --error; the third is found")


def third_found(
    domain: Domain,
    reports: int | None,
    epsilon: float | None,
    error: float | None,
    question: dict[str, Any],
) -> tuple[int, float]:
    """How many reports are studied together, and epsilon, one of which may have to be found."""
    if reports is None:
        return people_needed(
            domain, epsilon=_known(epsilon), error=_known(error), **question
        ), _known(epsilon)
    if epsilon is None:
        return reports, epsilon_needed(domain, people=reports, error=_known(error), **question)
    return reports, epsilon


def checked_files(*files: Path | None, force: bool) -> list[Path]:
    """Those that are asked for; refused where one cannot be written."""
    asked = [file for file in files if file is not None]
    for file in asked:
        check_file(file, force=force)
    return asked


def write_files(
    campaign: Campaign, output: Path | None, page: bytes, html: Path | None, *, force: bool
) -> None:
    """The campaign and the page, where they are asked for."""
    if output is not None:
        campaign.save(output, force=force)
    if html is not None:
        write_whole(html, page, force=force)


def tell_end(campaign: Campaign, files: list[Path], output: Path | None, people: int) -> None:
    """What to beware of, where things lie now, and what comes next. output: the campaign's, where it is written."""
    if warning := weakness(campaign):
        note(f"warning: {warning}")
    for file in files:
        say(f"written: {file}")
    if files and output is not None:
        say(opening_step(output, people))


def next_step(path: Path, found: Plan, people: int, *, plain: bool) -> str:
    """How to get the campaign. plain: whether nothing was asked for that `lopub campaign make` does not know."""
    said = "add -o campaign.json to write this campaign"
    if not plain:
        return said
    same = (
        f"lopub campaign make {path} --epsilon {found.epsilon:g} --people {people} -o campaign.json"
    )
    return f"{said}; `{same}` makes the same one"


def is_finished(path: Path) -> bool:
    """Whether the questions come from a finished campaign, which is not made again."""
    try:
        draft_from_file(path)
    except FinishedCampaign:
        return True
    return False


def _known(value: float | None) -> float:
    if value is None:
        raise typer.BadParameter("give two of --people, --epsilon and --error; the third is found")
    return value


def read_questions(path: Path) -> tuple[Domain, Terms]:
    """The fields and terms of a campaign, or of a draft."""
    try:
        return draft_from_file(path)
    except FinishedCampaign:
        campaign = Campaign.load(path)
        return campaign.domain, campaign.terms


def population_of(
    domain: Domain, table_file: Path | None, margins: list[Path], dependence: str
) -> Population:
    """Whom the forecasts are about: a table, or people like those of surveys, with known shares where they are given."""
    if table_file is not None:
        if margins:
            raise typer.BadParameter(
                "give either --table or --margin: a table knows its own shares"
            )
        return Population.of_table(Dataset.load(table_file, domain))
    shares: dict[str, list[float]] = {}
    for path in margins:
        known = JointDistribution.load(path, domain)
        for name in known.names:
            own = known.marginal((name,)).probabilities.tolist()
            if (
                name in shares
                and max(abs(a - b) for a, b in zip(own, shares[name], strict=True)) > MOST_APART
            ):
                raise DomainError(
                    f"{path} and another --margin give different shares of attribute {name!r}"
                )
            shares[name] = own
    return Population.with_shares(domain, shares, dependence=dependence)


def weights_of(domain: Domain, texts: list[str], important: list[str]) -> dict[str, float]:
    """age=3 -> {"age": 3.0}; and of important attributes, IMPORTANT. The name of a list stands for all its options."""
    names = [name.strip() for text in important for name in text.split(",") if name.strip()]
    try:
        own = {name: float(value) for name, value in (text.rsplit("=", 1) for text in texts)}
    except ValueError:
        raise typer.BadParameter("--weight takes ATTRIBUTE=NUMBER, as in age=3") from None
    lists = {
        one.name: [option.name for option in one.options]
        for one in domain.questions
        if isinstance(one, TickList)
    }
    found = {
        part: value
        for name, value in (dict.fromkeys(names, IMPORTANT) | own).items()
        for part in lists.get(name, [name])
    }
    domain.positions(list(found))
    return found


def print_plan(found: Plan, advised: list[Advice]) -> None:
    """The choice, the runners-up, and what changes with what."""
    best = found.best
    say(f"{found.people:,} people at epsilon {found.epsilon:g}: {best.label(found.domain.sizes)}")
    crowd = found.population
    say(f"forecast for {crowd.label}, dependence {crowd.dependence}")
    say(f"epsilon {found.epsilon:g}: {in_words(found.epsilon)}; {OTHERS}")
    out.print(_options(found))
    say(
        "errors are mean AVD, the share of people in the wrong cell (0 best, 1 worst); nineteen of twenty forecasts are within"
        f" {100 * ACCURACY:.0f} %"
    )
    say(
        f"the smallest share of an answer that can be told from zero: about {100 * found.smallest_share:.1f} %"
    )
    say(
        f"expected error of {WHAT[found.goal]}: {found.error:.4f}{_range(found)}; with twice the people"
        f" {found.error_with(people=2):.4f}, with half {found.error_with(people=0.5):.4f}; with half the epsilon"
        f" {found.error_with(epsilon=0.5):.4f}"
    )
    for of in ("people", "epsilon"):
        values = table(of, *(_value(value) for value, _ in found.curve(of)))
        values.add_row("error", *(f"{error:.3f}" for _, error in found.curve(of)))
        out.print(values)
    out.print(_attributes(found))
    for one in advised:
        say(f"advice: {one.text}")
    say(f"{'; '.join(explained(found))}; more in docs/choosing.md")


def explained(found: Plan) -> list[str]:
    """What the words in the table of choices mean, those that are in it."""
    shown = " ".join(option.label(found.domain.sizes) for option in found.options[:N_SHOWN])
    words = {maker.mechanism: maker.in_short for maker in Maker.known.values()}
    words |= {law.kind: law.in_short for law in ViewLaw.known.values()} | HOW
    present = shown.replace(",", " ").replace(":", " ").split()
    return [f"{word}: {meaning}" for word, meaning in words.items() if meaning and word in present]


def _attributes(found: Plan) -> Table:
    """What is expected of each, the worst first; each option of a list stands for itself."""
    shown = table(
        "attribute", "expected error of its shares", right=("expected error of its shares",)
    )
    worst = sorted(by_attribute(found).items(), key=lambda one: -one[1])
    for name, error in worst[:N_ATTRIBUTES]:
        shown.add_row(name, f"{error:.3f}")
    if len(worst) > N_ATTRIBUTES:
        shown.add_row(
            f"{len(worst) - N_ATTRIBUTES} others", f"at most {worst[N_ATTRIBUTES][1]:.3f}"
        )
    return shown


def _options(found: Plan) -> Table:
    columns = ("shares", "pairs", "tried", "bytes per report")
    shown = table("choice", *columns, right=columns)
    for option in found.options[:N_SHOWN]:
        errors = [
            _shown(option.forecast.shares),
            _shown(option.forecast.pairs) if len(found.domain) > 1 else "-",
        ]
        shown.add_row(
            option.label(found.domain.sizes),
            *errors,
            _tried(option, found.goal),
            f"{option.report_bytes:,}",
        )
    return shown


def _tried(option: Option, goal: str) -> str:
    trial = option.trial
    return (
        ""
        if trial is None
        else _shown(
            {"shares": trial.share_error, "table": trial.table_error}.get(goal, trial.pair_error)
        )
    )


def _range(found: Plan) -> str:
    """How much the answer hangs on how much answers depend on each other."""
    if not found.spread or found.goal == "shares":
        return ""
    weak, strong = found.spread["weak"], found.spread["strong"]
    return f" ({weak:.4f} if answers hang together weakly, {strong:.4f} if strongly)"


def _value(value: float) -> str:
    """As short as a column wants it.

    >>> _value(0.125), _value(12500.0), _value(4869675252.0)
    ('0.125', '12,500', '4.87e+09')
    """
    return f"{value:.3g}" if value < 1000 or value >= 1e8 else f"{value:,.0f}"


def _shown(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
