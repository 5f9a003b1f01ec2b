"""Made-up people answer a campaign of a demo, so that it can be watched, closed and published without anybody being asked."""

from pathlib import Path
from typing import Any

from lopub.collector.importing import import_reports
from lopub.errors import DomainError
from lopub.jobs.work import Task
from lopub.planning.population import Population
from lopub.reports.simulation.clients import simulate


def answer(task: Task, part: Path) -> dict[str, Any]:
    """As many people as were asked for, of the kind that forecasts are about. The seed makes their reports the same ones again
    where a worker was killed on the way, so that nobody counts twice."""
    entry, schedule = task.entry, task.entry.campaign.terms.schedule
    slot = entry.clock() if schedule is None else schedule.slot_on(entry.clock())
    if entry.closed is not None or slot is None:
        raise DomainError("nobody can answer today: the campaign is closed, or has not begun")
    task.progress("making up people", 0, None)
    seed = int(task.choices["seed"])
    people = Population.like_surveys(entry.campaign.domain).people(
        int(task.choices["people"]), seed
    )
    batch = simulate(people, entry.campaign, seed=seed, slot=slot)
    return {"n_people": len(batch), "n_new": import_reports(task.store, entry, [batch]).n_accepted}
