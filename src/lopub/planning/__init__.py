"""Tell me what I will get: people, epsilon and questions -> mechanism, view, expected error."""

from lopub.planning.planner import GOALS, Option, Plan, epsilon_needed, people_needed, plan
from lopub.planning.population import Population
from lopub.planning.trial import Trial, tried

__all__ = ["GOALS", "Option", "Plan", "Population", "Trial", "epsilon_needed", "people_needed", "plan", "tried"]
