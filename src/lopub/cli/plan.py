"""`lopub plan`: how to collect, and what will come out, before a single report is."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.cli.console import note, out, print_json, say, table, working
from lopub.cli.options import OUTPUT, AsJson, Force, Margins, Seed
from lopub.cli.outputs import check_file
from lopub.collection.dataset import Dataset
from lopub.contract.budget import epsilon_warning
from lopub.contract.campaign import Campaign
from lopub.contract.domain import Domain
from lopub.contract.terms import Terms
from lopub.errors import TooFewReports
from lopub.forecast.draft import FinishedCampaign, draft_from_file
from lopub.inference.joint import JointDistribution
from lopub.planning import Option, Plan, Population, epsilon_needed, people_needed
from lopub.planning import plan as planned

N_SHOWN = 5
WHAT = {"pairs": "pairs of attributes", "marginals": "single attributes", "table": "pairs of the synthetic table"}


CampaignFile = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file, or a draft of one.", show_default=False)
]
People = Annotated[int | None, typer.Option("--people", metavar="N", help="How many people answer.", show_default=False)]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", metavar="E", help="Privacy budget of a whole report.", show_default=False)
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
    str, typer.Option("--goal", metavar="GOAL", help="What should be accurate: pairs, marginals, or table (slower).")
]
TableFile = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="A public table of similar people, to try plans on.", show_default=False),
]
Weight = Annotated[
    list[str] | None,
    typer.Option("--weight", metavar="A=W", help="Attribute A matters W times as much. May be repeated.", show_default=False),
]
Output = Annotated[
    Path | None, typer.Option(*OUTPUT, metavar="FILE", help="Where to write the finished campaign.", show_default=False)
]


def plan(
    campaign_file: CampaignFile,
    people: People = None,
    epsilon: Epsilon = None,
    error: Error = None,
    goal: Goal = "pairs",
    table_file: TableFile = None,
    margin: Margins = None,
    weight: Weight = None,
    output: Output = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Choose mechanism and view, and say how accurate the results will be, before a single report is collected.

    Give two of --people, --epsilon and --error; the third is found.

    Example: `lopub plan draft.json --people 20000 --epsilon 4 -o campaign.json`

    More: docs/choosing.md
    """
    if sum(value is None for value in (people, epsilon, error)) != 1:
        raise typer.BadParameter("give two of --people, --epsilon and --error; the third is found")
    if output is not None:
        check_file(output, force=force)
    domain, terms = read_questions(campaign_file)
    crowd = population_of(domain, table_file, margin or [])
    options: dict[str, Any] = {"goal": goal, "population": crowd, "seed": seed, "weights": weights_of(weight or [])}
    with working("trying plans"):
        if people is None:
            people = people_needed(domain, epsilon=_known(epsilon), error=_known(error), **options)
        elif epsilon is None:
            epsilon = round(epsilon_needed(domain, people=people, error=_known(error), **options), 2)
        check_enough(people, terms)
        found = planned(domain, people=people, epsilon=_known(epsilon), **options)
        campaign = found.campaign(terms)
        document = described(found) if as_json else {}
    if output is not None:
        campaign.save(output, force=force)
    if as_json:
        print_json(document | {"campaign": campaign.id, "output": None if output is None else str(output)})
    else:
        print_plan(found)
    if warning := epsilon_warning(campaign.loss):
        note(f"warning: {warning}")
    if output is not None and not as_json:
        say(f"written: {output}")


def _known(value: float | None) -> float:
    if value is None:
        raise typer.BadParameter("give two of --people, --epsilon and --error; the third is found")
    return value


def check_enough(people: int, terms: Terms) -> None:
    """Refuse fewer people than the campaign asks for."""
    if people < terms.min_reports:
        raise TooFewReports(
            f"the campaign asks for at least {terms.min_reports:,} reports before anything is estimated; {people:,} people are"
            " too few"
        )


def read_questions(path: Path) -> tuple[Domain, Terms]:
    """The fields and terms of a campaign, or of a draft."""
    try:
        return draft_from_file(path)
    except FinishedCampaign:
        campaign = Campaign.load(path)
        return campaign.domain, campaign.terms


def population_of(domain: Domain, table_file: Path | None, margins: list[Path]) -> Population:
    """Whom plans are tried on: a table, known shares, or nothing known at all."""
    if table_file is not None:
        return Population.of_table(Dataset.load(table_file, domain))
    if not margins:
        return Population.uniform(domain)
    known = [JointDistribution.load(path, domain) for path in margins]
    return Population.with_shares(domain, {one.names[0]: one.marginal(one.names[:1]).probabilities.tolist() for one in known})


def weights_of(texts: list[str]) -> dict[str, float]:
    """age=3 -> {"age": 3.0}."""
    try:
        return {name: float(value) for name, value in (text.rsplit("=", 1) for text in texts)}
    except ValueError:
        raise typer.BadParameter("--weight takes ATTRIBUTE=NUMBER, as in age=3") from None


def described(found: Plan) -> dict[str, Any]:
    """The plan for programs."""
    return {
        "people": found.people,
        "epsilon": found.epsilon,
        "warnings": [text for text in [epsilon_warning(found.epsilon)] if text],
        "goal": found.goal,
        "population": found.population,
        "error": found.error,
        "smallest_share": found.smallest_share,
        "independence_wins": found.independence_wins,
        "error_with_twice_the_people": found.error_with(people=2),
        "error_with_half_the_epsilon": found.error_with(epsilon=0.5),
        "curves": {of: [{of: value, "error": error} for value, error in found.curve(of)] for of in ("people", "epsilon")},
        "options": [described_option(option, found.people) for option in found.options],
    }


def described_option(option: Option, people: int) -> dict[str, Any]:
    """One design of a plan, for programs."""
    trial = option.trial
    errors = {} if trial is None else vars(trial)
    return {
        "mechanism": option.design.mechanism,
        "view": str(option.design.view),
        "jointly": option.design.jointly,
        "report_bytes": option.report_bytes,
        "theory": {"marginals": option.score.marginal_error(people), "pairs": option.score.shrunk_pair_error(people)},
        "tried": None
        if trial is None
        else {goal: _known_error(errors[f"{goal.removesuffix('s')}_error"]) for goal in ("marginals", "pairs", "table")},
    }


def _known_error(error: float) -> float | None:
    """JSON knows no number that is none."""
    return None if error != error else error


def print_plan(found: Plan) -> None:
    """The choice, the runners-up, and what changes with what."""
    best = found.best
    say(f"{found.people:,} people at epsilon {found.epsilon:g}: {best.design}")
    how = f"tried on: {found.population}" if best.trial else "too many attributes to be tried, so by theory"
    say(f"{how}; errors are mean AVD, the share of people in the wrong cell (0 best, 1 worst)")
    goals = ("marginals", "pairs", "table") if found.goal == "table" else ("marginals", "pairs")
    shown = table("choice", *goals, "bytes per report", "", right=(*goals, "bytes per report"))
    for option in found.options[:N_SHOWN]:
        errors = [_shown(found.shown_error(option, goal)) for goal in goals]
        how = "tried" if option.trial else "by theory"
        shown.add_row(str(option.design), *errors, f"{option.report_bytes}", how)
    out.print(shown)
    say(f"the smallest share of an answer that can be told from zero: about {100 * found.smallest_share:.1f} %")
    what = WHAT.get(found.goal, found.goal)
    say(
        f"expected error of {what}: {found.error:.4f}; with twice the people {found.error_with(people=2):.4f}, with half the"
        f" epsilon {found.error_with(epsilon=0.5):.4f}"
    )
    for of, form in (("people", ",.0f"), ("epsilon", "g")):
        values = table(of, *(f"{value:{form}}" for value, _ in found.curve(of)))
        values.add_row("error", *(f"{error:.3f}" for _, error in found.curve(of)))
        out.print(values)
    if found.independence_wins:
        note(
            "warning: at this epsilon and with so few people, do not expect to learn which answers go together: a table of"
            " independent attributes is expected to be as good. Ask more people, fewer questions, or allow a larger epsilon."
        )


def _shown(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
