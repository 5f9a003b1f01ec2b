"""One pass over blocks of reports: their counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from lopub.collection.batch import ReportBatch
from lopub.collection.counts.counts import Counts, Slots, spanned
from lopub.collection.counts.forms import Tables, form_of
from lopub.collection.progress import Progress, silent
from lopub.contract.campaign import Campaign
from lopub.errors import CampaignError, DomainError, Reason, checks_options


@checks_options
def count(reports: ReportBatch | Iterable[ReportBatch], *, progress: Progress | None = None) -> Counts:
    """The counts of a batch, or of blocks that come one by one, so that they may be more than memory holds.

    progress: told after every block how many reports are counted.
    """
    told, total = progress or silent, len(reports) if isinstance(reports, ReportBatch) else None
    blocks = iter([reports] if isinstance(reports, ReportBatch) else reports)
    first = next(blocks, None)
    if first is None:
        raise DomainError("no batches to count")
    campaign, n_reports, refused = first.campaign, 0, Counter[Reason]()
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
        told("counting", n_reports, total)
    return _counts(campaign, n_reports, refused, tally.tables(), slots)


def count_singly(batch: ReportBatch) -> Counts:
    """The counts without the overlaps of two bits: of many attributes these take most of the room and of the time."""
    return _counts(batch.campaign, len(batch), batch.refused, form_of(batch.campaign).single_tables(batch), slots_of(batch))


def slots_of(batch: ReportBatch) -> list[Slots]:
    """The first and the last slot of a batch; nothing where it has no reports."""
    return [(int(batch.slots.min()), int(batch.slots.max()))] if len(batch) else []


def _counts(campaign: Campaign, n_reports: int, refused: Mapping[Reason, int], tables: Tables, slots: Sequence[Slots]) -> Counts:
    used = {key: table for key, table in tables if table.n_reports}
    return Counts(
        campaign=campaign,
        n_reports=n_reports,
        tables=dict(sorted(used.items())),
        refused=dict(refused),
        slots=spanned(slots),
    )
