"""One round of a source whose campaign repeats."""

from collections.abc import Iterator
from dataclasses import dataclass

from lopub.campaign.campaign import Campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.engines.base import Partition, Source


@dataclass(frozen=True)
class RoundPart:
    """The reports of one round in a part; and how many others were refused, whose rounds nobody knows."""

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
