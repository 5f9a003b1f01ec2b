"""What fake reports can move at most, and how often honest ones have which view."""

from lopub.poisoning.bounds import most_exposed, poisoning_bound
from lopub.poisoning.views import drawn_views, exact_views

__all__ = ["drawn_views", "exact_views", "most_exposed", "poisoning_bound"]
