"""A job that plans: a draft's best design, tried out with simulated people, and its campaign."""

from pathlib import Path
from typing import Any

from lopub.campaign.fields import domain_of
from lopub.errors import CampaignError, all_of
from lopub.jobs.attempt import Task
from lopub.planning.advice import advice
from lopub.planning.plan_page import plan_page
from lopub.planning.planner import plan as planned
from lopub.planning.rounds import options_of
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_text import parsed

N_TRIED = 3


def plan(task: Task, part: Path) -> dict[str, Any]:
    """The plan for the people and the epsilon that were chosen, as a page; and its campaign."""
    draft = draft_of(*parsed(task.choices["draft"].encode()))
    if draft.mistakes or draft.terms is None:
        raise CampaignError(all_of([mistake.text for mistake in draft.mistakes], "the draft"))
    people, epsilon = int(task.choices["people"]), float(task.choices["epsilon"])
    reports = max(draft.terms.reports_together(people), 1)
    found = planned(
        domain_of(draft.questions),
        people=reports,
        epsilon=epsilon,
        n_tried=N_TRIED,
        progress=task.progress,
    )
    advised = advice(found)
    campaign = found.campaign(draft.terms)
    campaign.save(part / "campaign.json")
    in_rounds = options_of(campaign, people=people, population=found.population)
    page = plan_page(found, advised, progress=task.progress, people=people, in_rounds=in_rounds)
    (part / "plan.html").write_bytes(page)
    trial = found.best.trial
    return {
        "campaign": campaign.id,
        "people": people,
        "epsilon": epsilon,
        "design": found.best.label(found.domain.sizes),
        "expected": found.error,
        "tried_people": None if trial is None else trial.n_people,
        "tried_shares": None if trial is None else trial.share_error,
        "tried_pairs": None
        if trial is None or trial.pair_error != trial.pair_error
        else trial.pair_error,
        "advice": [one.text for one in advised],
    }
