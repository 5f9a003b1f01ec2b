"""The planner: theory ranks the choices, the few best are tried with the real estimator, and the best of those is taken."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lopub.collection.progress import Progress, silent
from lopub.contract.campaign import Campaign
from lopub.contract.domain import Domain
from lopub.contract.terms import Terms
from lopub.contract.texts import one_line
from lopub.errors import CampaignError, DomainError, TooFewReports, checks_options
from lopub.forecast.design import Score, designs, ranked
from lopub.laws.designs import Design
from lopub.planning.population import Population
from lopub.planning.trial import MOST_PAIRS, Trial, affordable, campaign_for, tried

GOALS = ("pairs", "marginals", "table")
"""What a collection is for. A synthetic table is ranked by theory like its pairs; a trial publishes one and scores that."""
N_TRIED = 3
MOST_PEOPLE = 10**10
EPSILONS = (0.01, 50.0)
FIRST_PEOPLE, FIRST_EPSILON = 10_000, 4.0
"""Where the search for what is needed begins."""
PEOPLE_BOUNDS = (10.0, float(MOST_PEOPLE))
ROUNDS = 16
STEP = 4.0
"""Factor from one trial to the next until the wanted error lies between two."""
NEAR = 1.2
CONVINCING = 0.95
"""A dependence estimate is worth having where its error is below this share of independence's."""
INTERVAL = 1.96
PEOPLE_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
DROWNED = 1.5
"""Expected AVD of an unshrunk pair, were every cell equally likely, above which held-out reports prefer independence."""


@dataclass(frozen=True)
class Option:
    """One way to collect, with what it is expected to give."""

    design: Design
    score: Score
    trial: Trial | None
    """None where it was not tried."""
    report_bytes: int

    def error(self, goal: str, people: int) -> float:
        """Mean AVD: tried where it was tried, else by theory."""
        if self.trial is not None:
            if goal == "marginals" or len(self.score.sizes) == 1:
                return self.trial.marginal_error
            return self.trial.table_error if goal == "table" else self.trial.pair_error
        return theory(self.score, goal, people)


@dataclass(frozen=True)
class Plan:
    """The chosen way, and the runners-up, best first."""

    domain: Domain
    people: int
    epsilon: float
    goal: str
    population: str
    dependent: bool
    """Whether the population's answers depend on each other."""
    options: tuple[Option, ...]

    def __repr__(self) -> str:
        how = f"best: {self.best.design}"
        return one_line(self, f"{self.people:,} people", f"epsilon {self.epsilon:g}", f"goal {self.goal}", how)

    @property
    def best(self) -> Option:
        """The option that is chosen."""
        return self.options[0]

    @property
    def error(self) -> float:
        """Expected mean AVD of what the goal is about."""
        return self.best.error(self.goal, self.people)

    def shown_error(self, option: Option, goal: str) -> float:
        """Of an option that was not tried: what theory says of it, scaled as theory and trial differ for the best one."""
        if option.trial is not None:
            return option.error(goal, self.people)
        there = theory(self.best.score, goal, self.people)
        return min(1.0, theory(option.score, goal, self.people) * self.best.error(goal, self.people) / there) if there else 1.0

    @property
    def independence_wins(self) -> bool:
        """Whether no estimate of dependence is expected to beat independence: on a table of people whose answers depend on each
        other, as the trial says; where nothing is known of that, if the noise of a typical pair would drown any dependence."""
        trial = self.best.trial
        if self.goal == "marginals" or len(self.domain) == 1:
            return False
        if not any(self.best.score.pair_worths):
            return True
        if self.dependent and trial is not None:
            return trial.pair_error >= CONVINCING * trial.independence_error
        return self.best.score.typical_spread(self.people) > DROWNED

    @property
    def smallest_share(self) -> float:
        """The smallest share of an answer that can be told from zero, for a typical attribute."""
        worths = zip(self.best.score.sizes, self.best.score.marginal_worths, strict=True)
        errors = [math.sqrt(1 / (size * worth * self.people)) for size, worth in worths if worth > 0]
        return min(1.0, INTERVAL * sum(errors) / len(errors))

    def error_with(self, *, people: float = 1.0, epsilon: float = 1.0) -> float:
        """Expected error with so many times the people or the epsilon: what was tried, scaled as theory says, with the design
        that is then best."""
        if people == epsilon == 1:
            return self.error
        sizes, then = self.domain.sizes, self.epsilon * epsilon
        n = max(1, round(self.people * people))
        there = ranked(designs(sizes, then), sizes, then, people=n, goal=self.goal, weights=self.best.score.weights)
        ratio = theory(there[0], self.goal, n) / theory(self.best.score, self.goal, self.people)
        return min(1.0, self.error * ratio)

    def curve(self, of: str) -> list[tuple[float, float]]:
        """(value, expected error) for an eighth to eight times the "people", or a quarter to four times the "epsilon"."""
        factors = PEOPLE_FACTORS if of == "people" else EPSILON_FACTORS
        here = self.people if of == "people" else self.epsilon
        return [(here * factor, self.error_with(**{of: factor})) for factor in factors]

    def campaign(self, terms: Terms) -> Campaign:
        """The finished campaign."""
        return campaign_for(self.best.design, Population.uniform(self.domain), self.epsilon, terms)


@checks_options
def plan(
    domain: Domain,
    *,
    people: int,
    epsilon: float,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
    n_tried: int = N_TRIED,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """How best to collect from so many people at this total epsilon.

    goal: "pairs", "marginals" or "table" (a whole synthetic table). population: whom to try it on; uniform unless given.
    weights: of attributes that matter more, or less, than 1. progress: told before each trial, with its design.
    """
    _check(people, epsilon, goal)
    told = progress or silent
    crowd = population or Population.uniform(domain)
    own = _weights(domain, weights or {})
    scores = ranked(designs(domain.sizes, epsilon), domain.sizes, epsilon, people=people, goal=goal, weights=own)
    tries = _tries(scores, people, n_tried, known=crowd.table is not None)
    options = []
    for one in scores:
        trial = None
        if one in tries:
            told(f"trying {one.design}", tries.index(one), len(tries))
            trial = tried(
                one.design,
                crowd,
                people=people,
                epsilon=epsilon,
                seed=seed,
                most_pairs=0 if goal == "marginals" else MOST_PAIRS,
                weights=own,
                with_table=goal == "table",
            )
        size = campaign_for(one.design, crowd, epsilon).longest_report
        options.append(Option(one.design, one, trial, size))
    options.sort(key=lambda option: (option.trial is None, _rank(option, goal, people, crowd)))
    return Plan(domain, people, epsilon, goal, crowd.label, crowd.table is not None, tuple(options))


def _weights(domain: Domain, weights: Mapping[str, float]) -> list[float]:
    """Of all attributes, 1 unless given."""
    domain.positions(list(weights))
    if any(not weight >= 0 for weight in weights.values()) or sum(weights.get(name, 1.0) for name in domain.names) <= 0:
        raise DomainError("weights must not be negative, and at least one must be above 0")
    return [weights.get(name, 1.0) for name in domain.names]


def _tries(scores: list[Score], people: int, n_tried: int, *, known: bool) -> list[Score]:
    """The best by theory that a trial can afford; and where noise drowns pairs, or it is known how much people's answers depend
    on each other, also one question a person, which forgoes pairs."""
    able = [one for one in scores if affordable(one.design, len(one.sizes))]
    single = [one for one in able if one.design.view.n_alike(len(one.sizes)) == 1]
    if single and single[0] not in able[:n_tried] and (known or scores[0].typical_spread(people) > DROWNED):
        return [*able[: n_tried if known else n_tried - 1], single[0]]
    return able[:n_tried]


def _rank(option: Option, goal: str, people: int, crowd: Population) -> float:
    """What options are compared by: the error tried, and among people whose answers depend on nothing, also the dependence
    that would be lost among others."""
    lost = 0.0 if crowd.table is not None or goal == "marginals" else option.score.shrunk_pair_error(people)
    return option.error(goal, people) + lost


@checks_options
def people_needed(
    domain: Domain,
    *,
    epsilon: float,
    error: float,
    goal: str = "pairs",
    population: Population | None = None,
    weights: Mapping[str, float] | None = None,
    n_tried: int = N_TRIED,
    seed: int = 0,
    progress: Progress | None = None,
) -> int:
    """How many people it takes for a wanted error: the least, within a fifth, for which a plan's trial reaches it."""
    _check(1, epsilon, goal)
    _check_error(error)

    def at(people: float) -> Plan:
        return plan(
            domain,
            people=math.ceil(people),
            epsilon=epsilon,
            goal=goal,
            population=population,
            weights=weights,
            n_tried=n_tried,
            seed=seed,
            progress=progress,
        )

    found = _least(at, FIRST_PEOPLE, PEOPLE_BOUNDS, error)
    if isinstance(found, Plan):
        raise TooFewReports(
            f"no number of people up to {MOST_PEOPLE:,} reaches an error of {error:g} at epsilon {epsilon:g};"
            f" the nearest is {found.error:.2g}"
        )
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
    n_tried: int = N_TRIED,
    seed: int = 0,
    progress: Progress | None = None,
) -> float:
    """The epsilon it takes for a wanted error with so many people, found in the same way."""
    _check(people, 1.0, goal)
    _check_error(error)

    def at(epsilon: float) -> Plan:
        return plan(
            domain,
            people=people,
            epsilon=epsilon,
            goal=goal,
            population=population,
            weights=weights,
            n_tried=n_tried,
            seed=seed,
            progress=progress,
        )

    found = _least(at, FIRST_EPSILON, EPSILONS, error)
    if isinstance(found, Plan):
        raise TooFewReports(
            f"{people:,} people do not reach an error of {error:g} at any epsilon up to {EPSILONS[1]:g};"
            f" the nearest is {found.error:.2g}"
        )
    return found


def _least(at: Callable[[float], Plan], first: float, bounds: tuple[float, float], error: float) -> float | Plan:
    """The least value whose plan reaches the error, within NEAR; the plan of the largest value where none does."""
    low, high = bounds
    value, reached = first, False
    for _ in range(ROUNDS):
        here = at(value)
        if here.error <= error:
            high, reached = value, True
        elif value >= bounds[1]:
            return here
        else:
            low = value
        if reached and high / low <= NEAR:
            break
        if not reached:
            value = min(value * STEP, high)
        elif low == bounds[0]:
            value = max(high / STEP, low)
        else:
            value = math.sqrt(low * high)
    return high if reached else at(bounds[1])


def theory(one: Score, goal: str, people: int) -> float:
    """Mean AVD by theory."""
    return one.marginal_error(people) if goal == "marginals" or len(one.sizes) == 1 else one.shrunk_pair_error(people)


def _check(people: int, epsilon: float, goal: str) -> None:
    if goal not in GOALS:
        raise DomainError(f"goal must be one of {', '.join(GOALS)}, got {goal!r}")
    if not epsilon > 0:
        raise CampaignError(f"epsilon must be above 0, got {epsilon:g}; at 0 a report says nothing")
    if people < 1:
        raise TooFewReports(f"people must be at least 1, got {people}")


def _check_error(error: float) -> None:
    if not 0 < error < 1:
        raise DomainError(f"error must lie between 0 and 1, got {error:g}")
