"""The deletion of a campaign's reports, for good, and the certificate of it.

Retention, too, deletes reports, in the collector; the certificate is always made here: workers look
for campaigns whose reports are gone and that have none yet, and ask for the same job that a steward
asks for.
"""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import select

from lopub.campaign.schedule import day_of
from lopub.collector.campaigns import hides_a_round
from lopub.collector.retention import erase
from lopub.collector.rows import campaigns
from lopub.collector.store import ReportStore
from lopub.errors import DomainError
from lopub.jobs.attempt import Task
from lopub.jobs.queue import ask, jobs_of, subjects_done

CERTIFICATE = "certificate.json"
REMAINS = [
    "copies of what was published before",
    "exported reports, and backups of the database, wherever they were saved",
    "the database's own write-ahead log, replicas and dumps, until they are recycled",
    "snapshots and backups of the disk",
]
"""What a deletion cannot reach."""
MOST_TRIES = 3
"""Jobs about one campaign, after which no other one is asked for without a steward."""


def delete(task: Task, part: Path) -> dict[str, Any]:
    """The certificate that the reports of a closed campaign were deleted. They are deleted first,
    unless that was done before, by retention or by an attempt that was killed; then their number is
    not known any more."""
    if task.entry.closed is None:
        raise DomainError("close the campaign first: it still takes reports")
    task.progress("deleting reports", 0, None)
    n_rows = _erased(task)
    entry = task.entry
    certificate = {
        "campaign": entry.campaign.id,
        "name": entry.campaign.terms.name,
        "deleted_on": None if entry.erased is None else str(day_of(entry.erased)),
        "rows_deleted": n_rows,
        "may_remain": REMAINS,
    }
    (part / CERTIFICATE).write_text(
        json.dumps(certificate, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    return certificate


def _erased(task: Task) -> int | None:
    """How many rows were deleted now; None where that is not known, or not to be shown: a number
    below the campaign's min_reports, or a total that would give away a round of fewer."""
    entry = task.entry
    if entry.erased is not None:
        return None
    is_shown = not hides_a_round(task.store, entry)
    n_rows = erase(task.store, entry)
    return n_rows if is_shown and n_rows >= entry.campaign.terms.min_reports else None


def ask_for_certificates(store: ReportStore) -> None:
    """Ask for a certificate for every campaign whose reports are deleted and that has none; where
    jobs failed again and again, that is left to a steward."""
    with store.reading() as connection:
        erased = select(campaigns.c.id).where(campaigns.c.erased.is_not(None))
        found = [campaign_id.hex() for campaign_id in connection.scalars(erased)]
    for campaign_id in sorted(set(found) - subjects_done(store, "delete")):
        if len(jobs_of(store, campaign_id, kind="delete", most=MOST_TRIES)) < MOST_TRIES:
            ask(store, "delete", campaign_id)
