"""What is read of a source of reports to publish it: by the command and by the job, from files and
from databases alike.

Where counts suffice for the estimates, reports are counted where they are and never held all at
once. Fakes are looked for in the reports themselves: in all of them, or in as many as fit into
memory. Which ones follows from the counts of all reports, so that the same reports give the same
publication each time, and nobody who sends some of them can know it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lopub.estimation.joint import JointDistribution
from lopub.publication.rounds import Rounds, rounds_beside
from lopub.publication.settings import PublishSettings
from lopub.publication.stages import Publication, counts_suffice, published
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts
from lopub.reports.engines import HashRange, LocalEngine, Source, all_of, count_source, sample_of
from lopub.reports.origin import PLAIN, Origin
from lopub.reports.progress import Progress, silent

MOST_CHECKED = 50_000
"""Reports in which fakes are looked for; of more, some are drawn."""


@dataclass(frozen=True, kw_only=True)
class SourceReports:
    """What was read of a source."""

    data: ReportBatch | Counts
    """What everything is estimated from."""
    sample: ReportBatch | None = None
    """Where the data are counts: those of their reports in which fakes are looked for. None where
    there are counts alone."""
    rounds: Rounds | None = None
    """All rounds of the campaign, where the data are those of one."""

    def published(
        self,
        settings: PublishSettings,
        *,
        margins: Sequence[JointDistribution] = (),
        progress: Progress | None = None,
    ) -> Publication:
        """The publication, through all stages. margins: shares that are known from elsewhere."""
        publication = published(
            self.data, settings, sample=self.sample, margins=margins, progress=progress
        )
        return replace(publication, rounds=self.rounds)


def read_source(
    source: Source,
    settings: PublishSettings,
    *,
    slot: int | None = None,
    origin: Origin = PLAIN,
    trusted_distinct: bool = False,
    progress: Progress | None = None,
) -> SourceReports:
    """What a publication with these settings is made of.

    slot: of the one round that is published; all rounds are then shown beside it. origin: what the
    source does not say of where its reports come from. trusted_distinct: the source has every
    report once, as a store does.
    """
    called = progress or silent
    campaign = source.campaign
    if campaign.terms.repeat is None and counts_suffice(campaign, settings):
        counts = count_source(
            source, LocalEngine(), trusted_distinct=trusted_distinct, progress=called
        )
        called("looking for fakes", 0, None)
        sample = sample_of(source, _range_to_check(counts))
        return SourceReports(data=replace(counts, origin=counts.origin + origin), sample=sample)
    called("reading reports", 0, None)
    every = read_all(source, origin=origin)
    if slot is None:
        return SourceReports(data=every)
    own = every.of_round(slot)
    return SourceReports(data=own, rounds=rounds_beside(every, own))


def read_all(source: Source, *, origin: Origin = PLAIN) -> ReportBatch:
    """All reports of a source, in memory. origin: what the source does not say of where they come
    from."""
    batch = all_of(source)
    return replace(batch, origin=batch.origin + origin)


def _range_to_check(counts: Counts) -> HashRange:
    """The range of hashes whose reports are looked at, chosen by eight bytes that depend on every
    count."""
    hashed = hashlib.sha256()
    for key in sorted(counts.tables):
        hashed.update(np.ascontiguousarray(counts.tables[key].counts, dtype="<i8").tobytes())
    draw = int.from_bytes(hashed.digest()[:8])
    return HashRange.drawn(draw, len(counts), MOST_CHECKED)
