"""One pass over blocks of reports: their counts."""

from collections.abc import Callable, Iterable

from lopub.collection.batch import ReportBatch
from lopub.collection.counts.counts import Counts
from lopub.collection.counts.forms import Tables, form_of
from lopub.errors import DomainError, checks_options


@checks_options
def count(reports: ReportBatch | Iterable[ReportBatch], *, done: Callable[[int], None] | None = None) -> Counts:
    """The counts of a batch, or of blocks that come one by one, so that they may be more than memory holds.

    done: told after every block how many reports are counted.
    """
    total: Counts | None = None
    for block in [reports] if isinstance(reports, ReportBatch) else reports:
        counted = _counts(block, form_of(block.campaign).tables(block))
        total = counted if total is None else total + counted
        if done:
            done(len(total))
    if total is None:
        raise DomainError("no batches to count")
    return total


def count_singly(batch: ReportBatch) -> Counts:
    """The counts without the overlaps of two bits: of many attributes these take most of the room and of the time."""
    return _counts(batch, form_of(batch.campaign).single_tables(batch))


def _counts(batch: ReportBatch, tables: Tables) -> Counts:
    used = {key: table for key, table in tables if table.n_reports}
    return Counts(campaign=batch.campaign, n_reports=len(batch), tables=dict(sorted(used.items())), refused=dict(batch.refused))
