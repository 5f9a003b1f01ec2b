"""The planner: every design gets a forecast by the one model of error; the best is taken, and tried out where that is asked
for."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from lopub.bulk.designs import Design
from lopub.campaign.budget import WEAK_EPSILON
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain, Pair
from lopub.campaign.terms import Terms
from lopub.campaign.texts import one_line
from lopub.errors import CampaignError, DomainError, TooFewReports, checks_options
from lopub.planning.design import AS_GOOD, GOALS, SAME_GOAL, brief_designs, designs, error_of
from lopub.planning.mixed import FEWEST_OF_PAIR, FEWEST_OF_UNKNOWN, mixed_designs
from lopub.planning.option import Option
from lopub.planning.outlook import Forecast, Outlook, crowd_of, outlook
from lopub.planning.population import DEPENDENCES, LOADINGS, Population
from lopub.planning.trial import affordable, campaign_for, tried
from lopub.reports.progress import Progress, silent
from lopub.reports.showing import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PEOPLE = 10**10
EPSILONS = (0.01, 50.0)
CONVINCING = 0.95
"""A dependence estimate is worth having where its error is below this share of independence's."""
FEW_TOLD = 0.05
"""Where no larger part of all pairs is better than independence, only shares are promised."""
INTERVAL = 1.96
PEOPLE_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
NEAR = 1.01
"""What is needed is found within one in a hundred."""


@dataclass(frozen=True, eq=False)
class Planner:
    """Questions, a reference population and a goal: the best design for any number of people and any epsilon."""

    population: Population
    goal: str = "pairs"
    weights: tuple[float, ...] = ()
    briefly: bool = False
    """Whether only the usual designs are compared, which is faster."""
    _known: dict[float, list[tuple[Outlook, int]]] = field(default_factory=dict, repr=False)
    _ranked: dict[tuple[int, float], list[tuple[Design, Forecast]]] = field(
        default_factory=dict, repr=False
    )

    @property
    def domain(self) -> Domain:
        """The questions."""
        return self.population.domain

    def outlooks(self, epsilon: float, people: int) -> list[Outlook]:
        """Of all designs at an epsilon that so many people are enough for; made once."""
        if epsilon not in self._known:
            own, sizes = self.weights or (1.0,) * len(self.domain), self.domain.sizes
            plain = brief_designs(sizes, epsilon) if self.briefly else designs(sizes, epsilon)
            known = self.population.dependence not in LOADINGS
            mixed = mixed_designs(
                self.domain, epsilon, own, FEWEST_OF_PAIR if known else FEWEST_OF_UNKNOWN
            )
            every = dict(mixed) | dict.fromkeys(plain, 1)
            self._known[epsilon] = [
                (outlook(design, self.population, epsilon, own), fewest)
                for design, fewest in every.items()
            ]
        return [one for one, fewest in self._known[epsilon] if people >= fewest]

    def ranked(
        self, people: int, epsilon: float, progress: Progress = silent
    ) -> list[tuple[Design, Forecast]]:
        """Every design, the best first; designs that are equally good, such as a subset of one and direct, by name."""
        if (people, epsilon) not in self._ranked:
            outlooks = self.outlooks(epsilon, people)
            found: list[tuple[Design, Forecast]] = []
            for one in outlooks:
                progress("comparing designs", len(found), len(outlooks))
                found.append((one.design, one.at(people)))
            self._ranked[people, epsilon] = sorted(
                found, key=lambda one: (round(error_of(one[1], self.goal), 9), str(one[0]))
            )
        return self._ranked[people, epsilon]

    def chosen(
        self, people: int, epsilon: float, progress: Progress = silent
    ) -> list[tuple[Design, Forecast]]:
        """Every design, that which is taken first: of those that are as good as the best within AS_GOOD, the one that sees most
        of what depends on what."""
        found = self.ranked(people, epsilon, progress)
        least = error_of(found[0][1], self.goal)
        able = [one for one in found if error_of(one[1], self.goal) <= AS_GOOD * least]
        first = (
            able[0] if self.goal == "shares" else min(able, key=lambda one: round(one[1].bias, 9))
        )
        return [first, *(one for one in found if one is not first)]

    def error(self, people: int, epsilon: float) -> float:
        """The least that any design is expected to give. It falls with people and with epsilon."""
        return error_of(self.ranked(people, epsilon)[0][1], self.goal)


@dataclass(frozen=True, eq=False)
class Plan(Shown):
    """The chosen way, and the runners-up, best first."""

    planner: Planner
    people: int
    epsilon: float
    options: tuple[Option, ...]

    def __repr__(self) -> str:
        how = f"best: {self.best.design}"
        return one_line(
            self, f"{self.people:,} people", f"epsilon {self.epsilon:g}", f"goal {self.goal}", how
        )

    def to_arrow(self) -> pa.Table:
        """One row per option, the best first: its design, the expected error, its bytes, and its error where it was tried."""
        columns = {
            "design": [option.label(self.domain.sizes) for option in self.options],
            "expected_error": [option.error(self.goal) for option in self.options],
            "report_bytes": [option.report_bytes for option in self.options],
            "tried_share_error": [
                None if option.trial is None else option.trial.share_error
                for option in self.options
            ],
            "tried_pair_error": [
                None if option.trial is None else option.trial.pair_error for option in self.options
            ],
        }
        return pa.table({name: pa.array(values) for name, values in columns.items()})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The expected error with fewer and with more people."""
        from lopub.pages.drawing import draw_curve  # loads matplotlib

        marked = float(self.people), self.planner.error(self.people, self.epsilon)
        return draw_curve(
            self.curve("people"), marked, "people", f"expected error of {self.goal}", ax
        )

    @property
    def domain(self) -> Domain:
        """The questions."""
        return self.planner.domain

    @property
    def goal(self) -> str:
        """What should be accurate."""
        return self.planner.goal

    @property
    def population(self) -> Population:
        """Whom the forecasts are about."""
        return self.planner.population

    @property
    def best(self) -> Option:
        """The option that is chosen."""
        return self.options[0]

    @property
    def error(self) -> float:
        """Expected mean AVD of what the goal is about. The chosen option's own may be larger by AS_GOOD, and no more."""
        return self.planner.error(self.people, self.epsilon)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that the forecasts are about."""
        return crowd_of(self.population, self.planner.weights).pairs

    @property
    def independence_wins(self) -> bool:
        """Whether hardly any estimate of dependence is expected to beat independence."""
        if self.goal == "shares" or len(self.domain) == 1 or self.population.dependence == "none":
            return False
        return len(self.told_pairs) <= FEW_TOLD * len(self.pairs)

    @property
    def told_pairs(self) -> list[Pair]:
        """Pairs of which more is expected to come out than their shares."""
        found = self.best.forecast
        able = found.pair_errors < CONVINCING * found.blind_errors
        return [pair for pair, convincing in zip(self.pairs, able, strict=True) if convincing]

    @property
    def smallest_share(self) -> float:
        """The smallest share of an answer that can be told from zero, for a typical attribute."""
        sizes = self.domain.sizes
        errors = [
            2 * error / size / 0.8
            for error, size in zip(self.best.forecast.share_errors, sizes, strict=True)
        ]
        return min(1.0, INTERVAL * float(sum(errors)) / len(errors))

    def error_with(self, *, people: float = 1.0, epsilon: float = 1.0) -> float:
        """Expected error with so many times the people or the epsilon, and with the design that is then best: what a plan for
        them would say."""
        return self.planner.error(max(1, round(self.people * people)), self.epsilon * epsilon)

    def curve(self, of: str) -> list[tuple[float, float]]:
        """(value, expected error) for an eighth to eight times the "people", or a quarter to four times the "epsilon"."""
        if of == "people":
            return [(float(n), self.planner.error(n, self.epsilon)) for n in self._counts]
        return [(budget, self.planner.error(self.people, budget)) for budget in self._budgets]

    def curve_beside(self, of: str) -> list[tuple[float, float]]:
        """The same for what is not the goal, shares or pairs: of the chosen design throughout, since the design that is best for
        the goal at another point may be worse for the rest."""
        other = "pairs" if self.goal == "shares" else "shares"
        own = self.planner.weights or (1.0,) * len(self.domain)
        design, crowd = self.best.design, self.population
        if of == "people":
            here = outlook(design, crowd, self.epsilon, own)
            return [(float(n), error_of(here.at(n), other)) for n in self._counts]
        return [
            (budget, error_of(outlook(design, crowd, budget, own).at(self.people), other))
            for budget in self._budgets
        ]

    @property
    def _counts(self) -> list[int]:
        return sorted({max(1, round(self.people * factor)) for factor in PEOPLE_FACTORS})

    @property
    def _budgets(self) -> list[float]:
        return [self.epsilon * factor for factor in EPSILON_FACTORS]

    @cached_property
    def spread(self) -> dict[str, float]:
        """The error of the chosen design among people whose answers depend on each other weakly, as usual, or strongly; empty
        where a table says how much they do."""
        if self.population.dependence not in DEPENDENCES:
            return {}
        known = (
            ()
            if self.population.table is not None
            else zip(self.domain.names, self.population.shares, strict=True)
        )
        shares = {name: own.tolist() for name, own in known}
        crowds = {
            one: Population.with_shares(self.domain, shares, dependence=one) for one in LOADINGS
        }
        own = self.planner.weights or None
        return {
            one: error_of(
                outlook(self.best.design, crowd, self.epsilon, own).at(self.people), self.goal
            )
            for one, crowd in crowds.items()
        }

    def campaign(self, terms: Terms) -> Campaign:
        """The finished campaign."""
        return campaign_for(self.best.design, self.domain, self.epsilon, terms)


@checks_options
def plan(
    domain: Domain,
    *,
    people: int,
    epsilon: float,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
    n_tried: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """How best to collect from so many people at this total epsilon.

    goal: "pairs", "shares" or "table" (a whole synthetic table). population: whom the forecasts are about; people like those of
    surveys unless given. weights: of attributes that matter more, or less, than 1. n_tried: how many of the best designs are
    tried out with simulated reports; the best of those that were tried wins. progress: told before each trial, with its design.
    """
    _check(people, epsilon)
    made = planner_of(domain, goal=goal, population=population, weights=weights)
    told = progress or silent
    found = [
        Option(design, forecast, campaign_for(design, domain, epsilon).longest_report)
        for design, forecast in made.chosen(people, epsilon, told)
    ]
    able = [option for option in found[:n_tried] if affordable(option.design, domain.sizes)]
    options = [
        _tried(option, made, people, epsilon, seed, told, (i, len(able)))
        for i, option in enumerate(able)
    ]
    options.sort(key=lambda option: _of_trial(option, made.goal))
    if len(options) < min(
        n_tried, len(found)
    ):  # one that cannot be tried may be better than those that were
        tried_ones = {option.design: option for option in options}
        return Plan(
            made, people, epsilon, tuple(tried_ones.get(option.design, option) for option in found)
        )
    return Plan(made, people, epsilon, (*options, *found[len(options) :]))


def planner_of(
    domain: Domain,
    *,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
) -> Planner:
    """A planner for these questions."""
    goal = SAME_GOAL.get(goal, goal)
    if goal not in GOALS:
        raise DomainError(f"goal must be one of {', '.join(GOALS)}, got {goal!r}")
    crowd = population or Population.like_surveys(domain)
    if crowd.domain.sizes != domain.sizes or crowd.domain.names != domain.names:
        raise DomainError("the population has other attributes than the questions")
    own = _weights(domain, weights or {})
    return Planner(
        crowd, goal if sum(weight > 0 for weight in own) > 1 else "shares", own
    )  # one alone has no pair


def _tried(
    option: Option,
    made: Planner,
    people: int,
    epsilon: float,
    seed: int,
    told: Progress,
    at: tuple[int, int],
) -> Option:
    told(f"trying {option.design}", *at)
    trial = tried(
        option.design,
        made.population,
        people=people,
        epsilon=epsilon,
        seed=seed,
        pairs=[] if made.goal == "shares" else crowd_of(made.population, made.weights).pairs,
        weights=made.weights,
        with_table=made.goal == "table",
    )
    return Option(option.design, option.forecast, option.report_bytes, trial)


def _of_trial(option: Option, goal: str) -> float:
    trial = option.trial
    if (
        trial is None or trial.n_people < option.forecast.people
    ):  # with fewer people it would look worse than it is
        return math.inf
    return {"shares": trial.share_error, "pairs": trial.pair_error, "table": trial.table_error}[
        goal
    ]


def _weights(domain: Domain, weights: Mapping[str, float]) -> tuple[float, ...]:
    """Of all attributes, 1 unless given."""
    domain.positions(list(weights))
    if (
        any(not weight >= 0 for weight in weights.values())
        or sum(weights.get(name, 1.0) for name in domain.names) <= 0
    ):
        raise DomainError("weights must not be negative, and at least one must be above 0")
    return tuple(weights.get(name, 1.0) for name in domain.names)


@checks_options
def people_needed(
    domain: Domain,
    *,
    epsilon: float,
    error: float,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> int:
    """How many people it takes for a wanted error: the least, within one in a hundred."""
    _check(1, epsilon)
    _check_error(error)
    made = planner_of(domain, goal=goal, population=population, weights=weights)
    found = _least(
        lambda people: made.error(math.ceil(people), epsilon),
        (1.0, float(MOST_PEOPLE)),
        error,
        progress,
    )
    if found is None:
        raise TooFewReports(_out_of_reach(made, MOST_PEOPLE, epsilon, error))
    return math.ceil(found)


@checks_options
def epsilon_needed(
    domain: Domain,
    *,
    people: int,
    error: float,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> float:
    """The epsilon it takes for a wanted error with so many people: the least, within one in a hundred."""
    _check(people, 1.0)
    _check_error(error)
    made = planner_of(domain, goal=goal, population=population, weights=weights)
    found = _least(lambda epsilon: made.error(people, _short(epsilon)), EPSILONS, error, progress)
    if found is None:
        raise TooFewReports(_out_of_reach(made, people, float(WEAK_EPSILON), error))
    return _short(found)


def _short(epsilon: float) -> float:
    """Three digits, rounded up, as people write it."""
    digits = max(0, 2 - math.floor(math.log10(epsilon)))
    return float(math.ceil(round(epsilon * 10**digits, 6)) / 10**digits)


def _out_of_reach(made: Planner, people: int, epsilon: float, error: float) -> str:
    """Why an error cannot be reached, and what would help."""
    nearest = made.error(people, epsilon)
    said = f"{people:,} people at epsilon {epsilon:g} do not reach an error of {error:g}; the nearest is {nearest:.2g}"
    return (
        f"{said}: fewer questions, fewer answers to the large ones{_others_help(people)} would help"
    )


def _others_help(people: int) -> str:
    return ", or more people" if people < MOST_PEOPLE else ""


def _least(
    error_at: Callable[[float], float],
    bounds: tuple[float, float],
    error: float,
    progress: Progress | None,
) -> float | None:
    """The least value that reaches the error, within NEAR; None where none does. The error falls with the value."""
    low, high = bounds
    told, step = progress or silent, 0
    if error_at(high) > error:
        return None
    if error_at(low) <= error:
        return low
    total = math.ceil(math.log2(math.log(high / low) / math.log(NEAR)))
    while high / low > NEAR:
        told("searching", step, total)
        middle = math.sqrt(low * high)
        low, high = (low, middle) if error_at(middle) <= error else (middle, high)
        step += 1
    return high


def _check(people: int, epsilon: float) -> None:
    if not epsilon > 0:
        raise CampaignError(f"epsilon must be above 0, got {epsilon:g}; at 0 a report says nothing")
    if people < 1:
        raise TooFewReports(f"people must be at least 1, got {people}")


def _check_error(error: float) -> None:
    if not 0 < error < 1:
        raise DomainError(f"error must lie between 0 and 1, got {error:g}")
