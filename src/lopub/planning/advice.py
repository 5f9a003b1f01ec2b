"""Advice in plain words: what to change in a questionnaire or a plan, each with the gain that the forecast gives it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lopub.campaign.budget import WEAK_EPSILON
from lopub.planning.merging import MOST_OF_IT, merges
from lopub.planning.planner import Plan, Planner
from lopub.reports.progress import Progress, silent

OTHERS = "others chose 2 to 16 a day (Apple) and 1.67 for six hours (Microsoft); docs/choosing.md has the list"


@dataclass(frozen=True)
class Advice:
    """One thing to change. error: the expected error with it; None where it is about something else."""

    kind: str
    """bin, drop, people, epsilon or dependence."""
    text: str
    error: float | None = None
    question: str = ""
    n_candidates: int | None = None
    """To bin into so many."""


def in_words(epsilon: float) -> str:
    """What epsilon means for a person. The chance is rounded up, and never 100 %.

    >>> in_words(4)
    'whoever sees one report and took an answer to be as likely as not can be at most 98.3 % sure of it'
    """
    certain = 1 / (1 + math.exp(-epsilon))
    shown = f"{math.ceil(1000 * certain) / 10:g} %" if certain < 0.999 else "more than 99.9 %"
    return f"whoever sees one report and took an answer to be as likely as not can be at most {shown} sure of it"


def advice(plan: Plan, *, progress: Progress | None = None) -> list[Advice]:
    """What would help, the largest gain first; then what is out of reach."""
    told = progress or silent
    told("looking for advice", 0, None)
    bins = sorted(_binned(plan), key=lambda one: one.error or 0.0)
    return [*bins, *_dropped(plan, bins), *_out_of_reach(plan), *_about_epsilon(plan)]


def _what(plan: Plan) -> str:
    return "shares" if plan.goal == "shares" else "pairs"


def _binned(plan: Plan) -> Iterator[Advice]:
    """Large questions with fewer answers; the population is binned with them."""

    def error_with(position: int, n: int) -> float:
        return _with_bins(plan.planner, position, n).error(plan.people, plan.epsilon)

    for merge in merges(plan.domain.sizes, plan.error, error_with):
        size, name, n = (
            plan.domain.sizes[merge.position],
            plan.domain.names[merge.position],
            merge.n_candidates,
        )
        said = f"{name} in {n} answers instead of {size} lowers the expected error of {_what(plan)}"
        lost = f"about {size / n:.0f} of its answers would become one and could no longer be told apart"
        yield Advice(
            "bin",
            f"{said} from {plan.error:.3f} to {merge.error:.3f}; {lost}",
            merge.error,
            name,
            n,
        )


def _with_bins(planner: Planner, position: int, n: int) -> Planner:
    return Planner(
        planner.population.merged(position, n), planner.goal, planner.weights, briefly=True
    )


def _dropped(plan: Plan, bins: Sequence[Advice]) -> Iterator[Advice]:
    """The largest question left out, where that helps the others, and more than binning does."""
    if len(plan.domain) < 3:
        return
    position = max(range(len(plan.domain)), key=lambda p: plan.domain.sizes[p])
    weights = plan.planner.weights
    others = tuple(weight for p, weight in enumerate(weights) if p != position)
    if weights and sum(others) <= 0:
        return
    error = Planner(plan.population.without(position), plan.goal, others, briefly=True).error(
        plan.people, plan.epsilon
    )
    beside = _error_beside(plan, position)
    if error <= MOST_OF_IT * beside and error <= min(
        [plan.error, *(one.error for one in bins if one.error)]
    ):
        name = plan.domain.names[position]
        said = f"leaving out {name} lowers the expected error of the other questions from {beside:.3f} to {error:.3f}"
        yield Advice("drop", said, error, name)


def _error_beside(plan: Plan, position: int) -> float:
    """What is expected of all but one question, while it is asked with them."""
    found = plan.best.forecast
    if plan.goal == "shares":
        kept = [p != position for p in range(len(plan.domain))]
        return float(np.average(found.share_errors[kept], weights=found.share_weights[kept]))
    kept = [position not in pair for pair in plan.pairs]
    return float(np.average(found.pair_errors[kept], weights=found.pair_weights[kept]))


def _out_of_reach(plan: Plan) -> Iterator[Advice]:
    """Questions of which only shares will come out."""
    if plan.goal == "shares" or len(plan.domain) < 2 or plan.population.dependence == "none":
        return
    if plan.independence_wins:
        yield Advice(
            "dependence",
            "at this epsilon and with so few people, do not expect to learn which answers go together, only how often each is"
            " given; ask more people, fewer questions, or allow a larger epsilon",
        )
        return
    drowned = _drowned(plan)
    if drowned:
        few = ", ".join(drowned[:3]) + (f" and {len(drowned) - 3} more" if len(drowned) > 3 else "")
        whose = "their" if len(drowned) > 1 else "its"
        yield Advice(
            "dependence",
            f"of {few}, expect shares only: how {whose} answers go with others is out of reach",
        )


def _drowned(plan: Plan) -> list[str]:
    """Attributes of which no pair is expected to be better than independence."""
    met = {position for pair in plan.pairs for position in pair}
    told = {position for pair in plan.told_pairs for position in pair}
    return [plan.domain.names[position] for position in sorted(met - told)]


def _about_epsilon(plan: Plan) -> Iterator[Advice]:
    """What double the people would buy in privacy, and a word where epsilon is large."""
    if plan.epsilon > WEAK_EPSILON:
        error = plan.planner.error(plan.people, float(WEAK_EPSILON))
        said = f"epsilon {plan.epsilon:g} protects little: one report can make an observer nearly certain of an answer"
        yield Advice(
            "epsilon", f"{said}; at {WEAK_EPSILON} the expected error would be {error:.3f}", error
        )
