"""Tell me what I will get: people, epsilon and questions -> mechanism, view, expected error."""

from lopub.forecast.design import GOALS
from lopub.forecast.population import Population
from lopub.planning.advice import Advice, advice
from lopub.planning.option import Option
from lopub.planning.plan_page import plan_page
from lopub.planning.planner import Plan, Planner, epsilon_needed, people_needed, plan, planner_of
from lopub.planning.trial import Trial, tried

__all__ = [
    "GOALS",
    "Advice",
    "Option",
    "Plan",
    "Planner",
    "Population",
    "Trial",
    "advice",
    "epsilon_needed",
    "people_needed",
    "plan",
    "plan_page",
    "planner_of",
    "tried",
]
