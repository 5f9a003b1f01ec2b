"""One way to collect, as a plan lists it."""

from dataclasses import dataclass

from lopub.bulk.designs import Design
from lopub.bulk.view_laws import view_law
from lopub.campaign.views import Sizes
from lopub.planning.design import error_of
from lopub.planning.outlook import Forecast
from lopub.planning.trial import Trial

TINY = 1e-9
UNEVEN = 1.5
"""Times as often as another one that a pair is asked, from which a label says so."""


@dataclass(frozen=True)
class Option:
    """One way to collect, with what it is expected to give."""

    design: Design
    forecast: Forecast
    report_bytes: int
    trial: Trial | None = None
    """None where it was not tried."""

    def error(self, goal: str) -> float:
        """Expected mean AVD of what a goal is about."""
        return error_of(self.forecast, goal)

    def label(self, sizes: Sizes) -> str:
        """The design in a few words; of a mixed one, how many people are asked one question."""
        law = view_law(self.design.view)
        chances = {} if law.n_alike(len(sizes)) else law.chances(sizes) or {}
        single = sum(chance for view, chance in chances.items() if len(view) == 1)
        of_pairs = [chance for view, chance in chances.items() if len(view) == 2]
        if not of_pairs or abs(single + sum(of_pairs) - 1) > TINY or len(of_pairs) < len(sizes):
            return str(self.design)
        who = (
            f"{100 * single:.0f} % one question, {100 * (1 - single):.0f} % two"
            if single > 0
            else "two questions each"
        )
        often = ", what matters more often" if max(of_pairs) > UNEVEN * min(of_pairs) else ""
        return f"{self.design.mechanism}, {who}{often}, jointly"
