"""A plan for programs: what `lopub plan --json` prints."""

from typing import Any

from lopub.campaign.campaign import Campaign
from lopub.pages.figures import weakness
from lopub.planning.advice import Advice
from lopub.planning.option import Option
from lopub.planning.outlook import ACCURACY
from lopub.planning.planner import Plan


def described(found: Plan, advised: list[Advice], campaign: Campaign) -> dict[str, Any]:
    """The plan for programs."""
    forecast = found.best.forecast
    return {
        "people": found.people,
        "epsilon": found.epsilon,
        "warnings": [text for text in [weakness(campaign)] if text],
        "goal": found.goal,
        "population": found.population.label,
        "dependence": found.population.dependence,
        "error": found.error,
        "expected": {
            "shares": forecast.shares,
            "pairs": forecast.pairs,
            "independence": forecast.blind,
            "unseen": forecast.bias,
        },
        "expected_by_attribute": by_attribute(found),
        "accuracy": ACCURACY,
        "error_by_dependence": found.spread,
        "smallest_share": found.smallest_share,
        "independence_wins": found.independence_wins,
        "error_with_twice_the_people": found.error_with(people=2),
        "error_with_half_the_people": found.error_with(people=0.5),
        "error_with_twice_the_epsilon": found.error_with(epsilon=2),
        "error_with_half_the_epsilon": found.error_with(epsilon=0.5),
        "curves": {
            of: [{of: value, "error": error} for value, error in found.curve(of)]
            for of in ("people", "epsilon")
        },
        "advice": [
            {key: value for key, value in vars(one).items() if value not in (None, "")}
            for one in advised
        ],
        "options": [described_option(option) for option in found.options],
    }


def by_attribute(found: Plan) -> dict[str, float]:
    """The expected error of the shares of every attribute; each option of a list is one."""
    return dict(zip(found.domain.names, found.best.forecast.share_errors.tolist(), strict=True))


def described_option(option: Option) -> dict[str, Any]:
    """One design of a plan, for programs."""
    trial = option.trial
    return {
        "mechanism": option.design.mechanism,
        "view": str(option.design.view),
        "jointly": option.design.jointly,
        "report_bytes": option.report_bytes,
        "expected": {"shares": option.forecast.shares, "pairs": option.forecast.pairs},
        "tried": None
        if trial is None
        else {
            "people": trial.n_people,
            "shares": trial.share_error,
            "pairs": _known_error(trial.pair_error),
            "table": _known_error(trial.table_error),
        },
    }


def _known_error(error: float) -> float | None:
    """JSON knows no number that is none."""
    return None if error != error else error
