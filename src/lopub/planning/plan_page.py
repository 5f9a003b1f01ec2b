"""The page of a plan: what was chosen, what to expect, and what a published pair would look like. One file, every number
exact.

Here is what the page shows, as plain values; how it looks, and what it says, is in templates/plan.html.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lopub.campaign.domain import Pair
from lopub.estimation.joint import avd
from lopub.pages.plots import curves
from lopub.pages.templating import rendered
from lopub.planning.advice import OTHERS, Advice, in_words
from lopub.planning.option import Option
from lopub.planning.outlook import ACCURACY
from lopub.planning.planner import Plan
from lopub.planning.rounds import RoundOption, epsilon_up
from lopub.planning.trial import campaign_for, collected
from lopub.queries import Study
from lopub.reports.progress import Progress, silent

TEMPLATES = Path(__file__).parent / "templates"
N_SHOWN = 8
MOST_ROWS, MOST_COLUMNS = 12, 6
"""Answers of the pair that is shown."""
AXES = {"people": "people", "epsilon": "epsilon of a whole report"}
SECTIONS = {
    "choice": "What to do",
    "error": "How accurate it will be",
    "rounds": "What rounds cost",
    "pair": "What a published pair would look like",
    "advice": "What would help",
    "options": "What else was considered",
    "words": "What the words mean",
}


def plan_page(
    plan: Plan,
    advised: Sequence[Advice],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    people: int | None = None,
    in_rounds: Sequence[RoundOption] = (),
) -> bytes:
    """The whole page. people: how many there are, where those of the plan are the people of one round. in_rounds: what rounds
    cost, where the campaign repeats."""
    told = progress or silent
    told("drawing the page", 0, None)
    return rendered(
        "plan.html",
        TEMPLATES,
        "en",
        page=PlanPage(plan, tuple(advised), seed, people, tuple(in_rounds)),
    )


@dataclass(frozen=True)
class CurveShown:
    """Expected errors over people or epsilon: drawn, and as a table."""

    axis: str
    goal: str
    other: str
    """What is not the goal; empty where there is one question."""
    picture: str
    rows: list[tuple[float, ...]]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The head of the table."""
        return [(name, "n") for name in (self.axis, self.goal, self.other) if name]


@dataclass(frozen=True, eq=False)
class ExampleShown:
    """A true table of two questions beside a simulated published one."""

    names: list[str]
    n: int
    distance: float
    columns: list[tuple[str, str]]
    rows: list[tuple[str, list[tuple[float, float]]]]
    is_cut: bool
    """Whether there are more answers than are shown."""


@dataclass(frozen=True, eq=False)
class PlanPage:
    """What the page is made of."""

    plan: Plan
    advised: tuple[Advice, ...]
    seed: int
    people: int | None = None
    """How many there are, where the plan is for one round."""
    in_rounds: tuple[RoundOption, ...] = ()

    @property
    def links(self) -> list[tuple[str, str]]:
        """The sections, and what they are called."""
        absent = {"pair": self.example is None, "rounds": not self.in_rounds}
        return [(name, heading) for name, heading in SECTIONS.items() if not absent.get(name)]

    @property
    def epsilon_in_words(self) -> str:
        """What epsilon means for a person."""
        return in_words(self.plan.epsilon)

    def told_up(self, epsilon: float) -> str:
        """An epsilon, as it is told everywhere: rounded up."""
        return epsilon_up(epsilon)

    @property
    def others(self) -> str:
        """What others chose."""
        return OTHERS

    @property
    def accuracy(self) -> float:
        """How near forecasts come to simulations."""
        return ACCURACY

    @property
    def options(self) -> tuple[Option, ...]:
        """The best designs."""
        return self.plan.options[:N_SHOWN]

    @property
    def spread(self) -> dict[str, float]:
        """The expected error by how strongly answers hang together; empty where that does not matter."""
        return {} if self.plan.goal == "shares" else self.plan.spread

    @property
    def curves(self) -> list[CurveShown]:
        """Over people and over epsilon."""
        return [self._curve(of) for of in AXES]

    def _curve(self, of: str) -> CurveShown:
        plan = self.plan
        goal, other = ("shares", "pairs") if plan.goal == "shares" else ("pairs", "shares")
        lines = {goal: plan.curve(of)} | (
            {other: plan.curve_beside(of)} if len(plan.domain) > 1 else {}
        )
        values = [value for value, _ in lines[goal]]
        errors = {what: [error for _, error in line] for what, line in lines.items()}
        drawing = curves(
            {what: (values, own) for what, own in errors.items()},
            plan.people if of == "people" else plan.epsilon,
            x_label=AXES[of],
            y_label="expected error (AVD)",
            name=f"over-{of}",
            description=f"error over {of}: "
            + "; ".join(f"{value:g}: {error:.3f}" for value, error in lines[goal]),
        )
        rows = list(zip(values, *errors.values(), strict=True))
        return CurveShown(AXES[of], goal, other if len(lines) > 1 else "", drawing, rows)

    @cached_property
    def example(self) -> ExampleShown | None:
        """Of a pair that is off by about what pairs are off by on average; None where there is one question."""
        plan, pair = self.plan, self._typical
        if pair is None:
            return None
        truth, names = (
            plan.population.joint(pair),
            [plan.domain.names[position] for position in pair],
        )
        data, n = collected(
            campaign_for(plan.best.design, plan.domain, plan.epsilon),
            plan.population,
            plan.people,
            self.seed,
        )
        found = Study(data).estimate(names).probabilities
        first, second = (plan.domain.attributes[position].texts for position in pair)
        cells = np.stack([truth, found], axis=-1)[:MOST_ROWS, :MOST_COLUMNS].tolist()
        heads = [
            (f"{names[0]} \\ {names[1]}", ""),
            *((text or "(no answer)", "n") for text in second[:MOST_COLUMNS]),
        ]
        rows = [
            (text, [(true, made) for true, made in row])
            for text, row in zip(first[:MOST_ROWS], cells, strict=True)
        ]
        is_cut = len(first) > MOST_ROWS or len(second) > MOST_COLUMNS
        return ExampleShown(names, n, avd(found, truth), heads, rows, is_cut)

    @property
    def _typical(self) -> Pair | None:
        """Of the pairs that fit on a page, or else of all, the one whose expected error is nearest to the mean."""
        plan, errors = self.plan, np.asarray(self.plan.best.forecast.pair_errors)
        if not len(errors):
            return None
        sizes = plan.domain.sizes
        fits = np.array([sizes[a] <= MOST_ROWS and sizes[b] <= MOST_COLUMNS for a, b in plan.pairs])
        away = np.abs(errors - plan.best.forecast.pairs) + np.where(fits, 0.0, 10.0)
        return plan.pairs[int(away.argmin())]
