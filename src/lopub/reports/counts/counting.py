"""One pass over blocks of reports: their counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from lopub.campaign.campaign import Campaign
from lopub.errors import CampaignError, DomainError, Reason, checks_options
from lopub.reports.batch import ReportBatch
from lopub.reports.batch.repeats import shared_keys
from lopub.reports.counts.counts import Counts, Slots, spanned
from lopub.reports.counts.forms import Tables, form_of
from lopub.reports.origin import Origin
from lopub.reports.progress import Progress, silent


@checks_options
def count(
    reports: ReportBatch | Iterable[ReportBatch], *, progress: Progress | None = None
) -> Counts:
    """The counts of a batch; of several batches in a list, each report once; or of blocks that come one by one out of an
    iterator, which are let go, so that they may be more than memory holds, and are counted as they come.

    progress: told after every block how many reports are counted.
    """
    blocks = _blocks(reports)
    told, total = progress or silent, sum(map(len, blocks)) if isinstance(blocks, list) else None
    return _counted(iter(blocks), told, total)


def _blocks(
    reports: ReportBatch | Iterable[ReportBatch],
) -> list[ReportBatch] | Iterator[ReportBatch]:
    """What there is to count, without what is there twice, as far as that is all in memory."""
    if isinstance(reports, Iterator):
        return reports
    batches = [reports] if isinstance(reports, ReportBatch) else list(reports)
    for batch in batches:
        check_reports(batch)
    several = len({batch.campaign.id for batch in batches}) == 1 and len(batches) > 1
    if several and len(shared_keys(np.concatenate([batch.digests for batch in batches]))):
        return [ReportBatch.concatenated(batches)]
    return batches


def check_reports(batch: object) -> None:
    """Refuse what is not a batch of reports."""
    if not isinstance(batch, ReportBatch):
        raise DomainError(
            f"reports must be a ReportBatch, or several, got {type(batch).__name__}; ReportBatch.load reads a file"
        )


def _counted(blocks: Iterator[ReportBatch], told: Progress, total: int | None) -> Counts:
    first = next(blocks, None)
    if first is None:
        raise DomainError("no batches to count")
    check_reports(first)
    campaign, n_reports, refused, origin = first.campaign, 0, Counter[Reason](), Origin()
    slots: list[Slots] = []
    tally = form_of(campaign).tally(campaign)
    for block in chain([first], blocks):
        if block.campaign.id != campaign.id:
            raise CampaignError(
                f"reports of campaign {block.campaign.id[:16]}… cannot be counted with those of {campaign.id[:16]}…"
            )
        tally.add(block)
        n_reports += len(block)
        refused += Counter(block.refused)
        slots += slots_of(block)
        origin += block.origin
        told("counting", n_reports, total)
    return replace(_counts(campaign, n_reports, refused, tally.tables(), slots), origin=origin)


def count_singly(batch: ReportBatch) -> Counts:
    """The counts without the overlaps of two bits: of many attributes these take most of the room and of the time."""
    tables = form_of(batch.campaign).single_tables(batch)
    return replace(
        _counts(batch.campaign, len(batch), batch.refused, tables, slots_of(batch)),
        origin=batch.origin,
    )


def slots_of(batch: ReportBatch) -> list[Slots]:
    """The first and the last slot of a batch; nothing where it has no reports."""
    return [(int(batch.slots.min()), int(batch.slots.max()))] if len(batch) else []


def _counts(
    campaign: Campaign,
    n_reports: int,
    refused: Mapping[Reason, int],
    tables: Tables,
    slots: Sequence[Slots],
) -> Counts:
    used = {key: table for key, table in tables if table.n_reports}
    return Counts(
        campaign=campaign,
        n_reports=n_reports,
        tables=dict(sorted(used.items())),
        refused=dict(refused),
        slots=spanned(slots),
    )
