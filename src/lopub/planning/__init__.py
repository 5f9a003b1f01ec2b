"""Tell me what I will get: people, epsilon and questions -> mechanism, view, expected error."""

from lopub.planning.expected import expected
from lopub.planning.planner import GOALS, Option, Plan, epsilon_needed, people_needed, plan
from lopub.planning.poisoning import most_exposed, poisoning_bound
from lopub.planning.population import Population
from lopub.planning.trial import Trial, tried
from lopub.planning.views import exact_views

__all__ = [
    "GOALS",
    "Option",
    "Plan",
    "Population",
    "Trial",
    "epsilon_needed",
    "exact_views",
    "expected",
    "most_exposed",
    "people_needed",
    "plan",
    "poisoning_bound",
    "tried",
]
