"""Import of files of reports into a store: checked and counted once, like those sent over HTTP."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from lopub.collector.campaigns import Entry
from lopub.collector.rows import tallies
from lopub.collector.store import ReportStore
from lopub.collector.submissions import StoredReport, Submission
from lopub.errors import CampaignClosed, Reason
from lopub.reports.batch import ReportBatch
from lopub.reports.progress import Progress, silent

GROUP_REPORTS = 8192


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What became of the reports of a file."""

    n_accepted: int
    n_replayed: int
    refused: Counter[Reason]


def import_reports(
    store: ReportStore,
    entry: Entry,
    batches: Iterable[ReportBatch],
    *,
    progress: Progress | None = None,
) -> Imported:
    """Keep all reports, group by group.

    progress: called after each group with how many were read.
    """
    show = progress or silent
    n_accepted = n_replayed = n_read = 0
    refused: Counter[Reason] = Counter()
    for submission in _submissions(entry, batches):
        written = store.write([submission])
        if written.outcomes[0].closed:
            raise CampaignClosed(
                "campaign {id}… is closed; it takes no more reports", id=entry.campaign.id[:16]
            )
        n_accepted, n_replayed = n_accepted + written.n_accepted, n_replayed + written.n_replayed
        refused.update(written.refused)
        n_read += len(submission.rows)
        show("importing", n_read, None)
    return Imported(n_accepted=n_accepted, n_replayed=n_replayed, refused=refused)


def has_dated_reports(store: ReportStore, entry: Entry) -> bool:
    """Return whether reports of a campaign bear a day, as those that people sent do."""
    dated = select(tallies.c.n).where(
        tallies.c.campaign == entry.number, tallies.c.slot > 0, tallies.c.n > 0
    )
    with store.reading() as connection:
        return connection.execute(dated.limit(1)).first() is not None


def _submissions(entry: Entry, batches: Iterable[ReportBatch]) -> Iterable[Submission]:
    for batch in batches:
        batch, refused = _in_time(batch, entry)
        for start in range(0, max(1, len(batch)), GROUP_REPORTS):
            yield Submission(
                entry.number, _rows(batch[start : start + GROUP_REPORTS], entry.number), refused
            )
            refused = {}


def _in_time(batch: ReportBatch, entry: Entry) -> tuple[ReportBatch, Mapping[Reason, int]]:
    """Return the reports whose days and rounds have begun and are not over.

    And how many others are refused, for this or another reason.
    """
    slots = np.unique(batch.slots).tolist()
    wrong = np.isin(batch.slots, [slot for slot in slots if entry.refusal_of(slot, imported=True)])
    if not wrong.any():
        return batch, batch.refused
    return batch[~wrong], Counter(batch.refused) + Counter({Reason.SLOT: int(wrong.sum())})


def _rows(batch: ReportBatch, number: int) -> list[StoredReport]:
    ids, masks, slots = batch.whole_ids, batch.masks, batch.slots.tolist()
    return [
        StoredReport(
            number,
            hashlib.sha256(ids[i].tobytes()).digest(),
            slots[i],
            masks[i].tobytes() + batch.payloads.string(i),
        )
        for i in range(len(batch))
    ]
