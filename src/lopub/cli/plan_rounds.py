"""What `lopub plan` says of campaigns that repeat: errors of a round, what rounds cost, and how to keep a permanent answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain
from lopub.campaign.schedule import PERMANENT
from lopub.campaign.terms import Terms
from lopub.cli.console import note, out, print_json, say, table
from lopub.cli.options import refuse_given
from lopub.errors import TooFewReports
from lopub.pages.figures import lifetime_in_words, weakness
from lopub.planning.population import Population
from lopub.planning.rounds import (
    FRESH,
    KeptOption,
    RoundOption,
    epsilon_up,
    kept_options,
    options_of,
)

WITH_KEPT = (
    *(
        "campaign_file",
        "people",
        "epsilon",
        "lifetime_epsilon",
        "goal",
        "dependence",
        "table_file",
        "margin",
    ),
    *("output", "as_json", "force"),
)
"""The parameters that a plan of mode permanent goes by."""


def is_kept(context: typer.Context, terms: Terms) -> bool:
    """Whether the campaign repeats in mode permanent; refuses the options of the other kind of plan."""
    if terms.repeat is not None and terms.repeat.is_permanent:
        refuse_given(
            context,
            WITH_KEPT,
            "does not go with mode permanent, whose few ways are compared by forecast",
        )
        return True
    everything = {parameter.name or "" for parameter in context.command.params}
    refuse_given(
        context,
        everything - {"lifetime_epsilon"},
        "belongs to drafts that repeat in mode permanent",
    )
    return False


def people_for(reports: int, terms: Terms) -> int:
    """How many people it takes for so many reports that are studied together."""
    return reports if terms.repeat is None else terms.repeat.people_for(reports)


def check_enough(reports: int, terms: Terms) -> None:
    """Refuse fewer people than the campaign asks for."""
    if reports < terms.min_reports:
        few = (
            f"{reports:,} people are"
            if terms.repeat is None
            else f"{reports:,} reports a round are"
        )
        raise TooFewReports(
            f"the campaign asks for at least {terms.min_reports:,} reports before anything is estimated; {few} too few"
        )


def say_rounds(terms: Terms, people: int) -> None:
    """Whose errors are told, where the campaign repeats."""
    if (repeat := terms.repeat) is not None:
        reports = terms.reports_together(people)
        say(
            f"{people:,} people take part in {repeat.take_part} of {repeat.rounds} rounds: {reports:,} reports a round."
        )
        say("What follows is for one round; its people are those of a round.")


def described_rounds(
    options: list[RoundOption], campaign: Campaign, people: int, reports: int
) -> dict[str, Any]:
    """What rounds cost, for programs; nothing where a campaign does not repeat."""
    if not options:
        return {}
    total = {
        "people": people,
        "reports_a_round": reports,
        "lifetime_epsilon": campaign.lifetime_epsilon,
    }
    return total | {"rounds": [vars(one) for one in options]}


def print_rounds(options: list[RoundOption]) -> None:
    """The same as a table; nothing where a campaign does not repeat."""
    titles = ("rounds", "take part", "epsilon of a report", "reports a round", "share", "change")
    shown = table(*titles, right=titles[1:])
    for one in options:
        change = f"{one.change_error:.4f}"
        if one.least_change_error < one.change_error:
            change = f"{one.least_change_error:.4f} to {change}"
        take_part = f"{one.take_part} (yours)" if one.is_own else f"{one.take_part}"
        shown.add_row(
            one.mode,
            take_part,
            epsilon_up(one.epsilon),
            f"{one.n_reports:,}",
            f"{one.share_error:.4f}",
            change,
        )
    if options:
        total = epsilon_up(options[0].lifetime_epsilon)
        say(
            f"\nin rounds, with epsilon {total} for everything that a device sends; standard errors:"
        )
        out.print(shown)
        say(
            f"{PERMANENT}: one noisy answer is kept for all rounds, so that a later answer is never heard; see docs/repeating.md"
        )


# ---- a permanent answer


@dataclass(frozen=True)
class KeptPlan:
    """What is asked of a plan of mode permanent."""

    domain: Domain
    terms: Terms
    crowd: Population
    goal: str
    people: int | None
    epsilon: float | None
    lifetime_epsilon: str | None

    def options(self) -> list[KeptOption]:
        """The best first."""
        if self.people is None or self.epsilon is None:
            raise typer.BadParameter(
                "mode permanent needs --people and --epsilon; --error cannot be asked for"
            )
        total = (
            float(self.lifetime_epsilon) if self.lifetime_epsilon else self.epsilon / float(FRESH)
        )
        check_enough(self.terms.reports_together(self.people), self.terms)
        budgets = {"epsilon": self.epsilon, "lifetime_epsilon": total}
        return kept_options(
            self.domain,
            self.terms,
            people=self.people,
            **budgets,
            population=self.crowd,
            goal=self.goal,
        )


def plan_kept(asked: KeptPlan, output: Path | None, *, as_json: bool, force: bool) -> None:
    """Compare the ways to keep a permanent answer; print them, and write the best."""
    options = asked.options()
    campaign, people = options[0].campaign, asked.people or 0
    in_rounds = options_of(campaign, people=people, population=asked.crowd)
    if output is not None:
        campaign.save(output, force=force)
    if as_json:
        print_json(
            _described(asked, options, in_rounds)
            | {"output": None if output is None else str(output)}
        )
    else:
        say_rounds(asked.terms, people)
        _print_kept(asked, options)
        print_rounds(in_rounds)
        if output is None:
            say("add -o campaign.json to write the first of these")
    if warning := weakness(campaign):
        note(f"warning: {warning}")
    if output is not None and not as_json:
        say(f"written: {output}")


def _print_kept(asked: KeptPlan, options: list[KeptOption]) -> None:
    columns = ("epsilon of a report", "of everything", "shares", "pairs", "bytes per report")
    shown = table("choice", *columns, right=columns)
    for one in options:
        made = one.campaign
        pairs = f"{one.forecast.pairs:.4f}" if len(asked.domain) > 1 else "-"
        epsilons = (decimal_up(made.loss, 3), decimal_up(made.lifetime_loss, 3))
        shown.add_row(
            one.label, *epsilons, f"{one.forecast.shares:.4f}", pairs, f"{made.longest_report:,}"
        )
    say(
        f"forecast for {asked.crowd.label}, dependence {asked.crowd.dependence}; errors are mean AVD (0 best, 1 worst)"
    )
    out.print(shown)
    say(lifetime_in_words(options[0].campaign))


def _described(
    asked: KeptPlan, options: list[KeptOption], in_rounds: list[RoundOption]
) -> dict[str, Any]:
    """The plan for programs."""
    best = options[0]
    return {
        "people": asked.people,
        "reports_a_round": best.forecast.people,
        "epsilon": best.campaign.epsilon,
        "lifetime_epsilon": best.campaign.lifetime_epsilon,
        "goal": asked.goal,
        "population": asked.crowd.label,
        "dependence": asked.crowd.dependence,
        "expected": {"shares": best.forecast.shares, "pairs": best.forecast.pairs},
        "options": [
            {
                "mechanism": one.campaign.mechanism.name,
                "view": str(one.campaign.view),
                "jointly": one.campaign.jointly,
                "epsilon": one.campaign.epsilon,
                "report_bytes": one.campaign.longest_report,
                "expected": {"shares": one.forecast.shares, "pairs": one.forecast.pairs},
            }
            for one in options
        ],
        "rounds": [vars(one) for one in in_rounds],
        "campaign": best.campaign.id,
    }
