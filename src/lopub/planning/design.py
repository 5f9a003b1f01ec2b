"""Which designs there are, and which of them suit questions, people and an epsilon best, by the one model of error."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from lopub.bulk import Bulk
from lopub.bulk.designs import Design
from lopub.bulk.view_laws import view_law
from lopub.campaign.views import Sizes
from lopub.planning.outlook import Forecast, Outlook, outlook
from lopub.planning.population import Population

PEOPLE = 50_000
"""Where nobody says how many."""
AS_GOOD = 1.005
"""Designs whose errors differ by less are as good as each other."""
GOALS = ("pairs", "shares", "table")
"""What a collection is for. A synthetic table is as good as its pairs."""
SAME_GOAL = {"marginals": "shares"}
"""Other words for a goal."""


def usual_designs(sizes: Sizes, epsilon: float) -> Iterator[Design]:
    """Those among which a campaign is made unless more is asked."""
    return chain.from_iterable(bulk.usual_designs(sizes, epsilon) for bulk in Bulk.known.values())


def designs(sizes: Sizes, epsilon: float) -> Iterator[Design]:
    """All that a planner compares, each once."""
    others = (bulk.other_designs(sizes, epsilon) for bulk in Bulk.known.values())
    return iter(dict.fromkeys(chain(usual_designs(sizes, epsilon), chain.from_iterable(others))))


def brief_designs(sizes: Sizes, epsilon: float) -> Iterator[Design]:
    """The usual ones, and one question a person: enough to say what a change of the questionnaire would bring."""
    every = dict.fromkeys(designs(sizes, epsilon))
    alone = (design for design in every if view_law(design.view).n_alike(len(sizes)) == 1)
    return iter(dict.fromkeys(chain(usual_designs(sizes, epsilon), alone)))


def error_of(forecast: Forecast, goal: str) -> float:
    """The expected error of what a goal is about."""
    return forecast.shares if goal == "shares" else forecast.pairs


def ranked(
    found: Iterable[Design],
    population: Population,
    epsilon: float,
    *,
    people: int = PEOPLE,
    goal: str = "pairs",
    weights: Sequence[float] | None = None,
) -> list[tuple[Design, Forecast]]:
    """The best first; designs that are equally good, such as a subset of one and direct, by name."""
    return ranked_at(
        [outlook(design, population, epsilon, weights) for design in found], people, goal
    )


def ranked_at(
    outlooks: Iterable[Outlook], people: int, goal: str = "pairs"
) -> list[tuple[Design, Forecast]]:
    """The same of outlooks that are there already: they know nothing of how many people there will be."""
    scored = [(one.design, one.at(people)) for one in outlooks]
    return sorted(scored, key=lambda one: (round(error_of(one[1], goal), 9), str(one[0])))
