"""Some reports of a source: those of one round of a campaign that repeats, or those in a range of
hashes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lopub.bulk.folds import hashes_of
from lopub.campaign.campaign import Campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.engines.base import HashRange, Partition, Source


@dataclass(frozen=True)
class RoundPart:
    """The reports of one round in a part; and how many others were refused, whose rounds nobody
    knows."""

    part: Partition
    slot: int

    @property
    def n_reports(self) -> int:
        """About how many are looked at."""
        return self.part.n_reports

    def walk(self) -> Iterator[ReportBatch]:
        return (batch.of_round(self.slot) for batch in self.part.walk())


@dataclass(frozen=True)
class OneRound:
    """A source of which only the reports of one round count."""

    source: Source
    slot: int

    @property
    def campaign(self) -> Campaign:
        return self.source.campaign

    @property
    def n_reports(self) -> int:
        """About how many are looked at."""
        return self.source.n_reports

    def parts(self, n: int) -> list[RoundPart]:
        return [RoundPart(part, self.slot) for part in self.source.parts(n)]

    def within(self, hashes: HashRange) -> list[RoundPart]:
        return [RoundPart(part, self.slot) for part in self.source.within(hashes)]


@dataclass(frozen=True)
class HashPart:
    """The reports of a part whose hashes lie in a range: all are looked at, a block at a time."""

    part: Partition
    hashes: HashRange

    @property
    def n_reports(self) -> int:
        """About how many are looked at."""
        return self.part.n_reports

    def walk(self) -> Iterator[ReportBatch]:
        first, last = np.uint64(self.hashes.start), np.uint64(self.hashes.stop - 1)
        for batch in self.part.walk():
            yield batch.only((batch.digests >= first) & (batch.digests <= last))


def all_of(source: Source) -> ReportBatch:
    """All reports of a source in memory, each once."""
    return ReportBatch.gathered(block for part in source.parts(1) for block in part.walk())


def sample_of(source: Source, hashes: HashRange) -> ReportBatch:
    """The reports of a source whose hashes lie in a range, each once, named by their hashes."""
    blocks = (block for part in source.within(hashes) for block in part.walk())
    return ReportBatch.gathered(replace(block, ids=hashes_of(block.ids)) for block in blocks)
