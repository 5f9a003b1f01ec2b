"""Tell me what I will get: people, epsilon and questions -> mechanism, view, expected error."""

from lopub.planning.expected import expected
from lopub.planning.planner import GOALS, Option, Plan, epsilon_needed, people_needed, plan
from lopub.planning.poisoning import poisoning_bound
from lopub.planning.population import Population
from lopub.planning.trial import Trial, tried

__all__ = [
    "GOALS",
    "Option",
    "Plan",
    "Population",
    "Trial",
    "epsilon_needed",
    "expected",
    "people_needed",
    "plan",
    "poisoning_bound",
    "tried",
]
