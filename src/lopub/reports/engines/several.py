"""Several sources of one campaign as one, in the order given."""

from collections.abc import Sequence

from lopub.campaign.campaign import Campaign
from lopub.errors import CampaignError, DomainError
from lopub.reports.engines.base import HashRange, Partition, Source


class Several:
    """One source behind the other."""

    def __init__(self, sources: Sequence[Source]) -> None:
        if not sources:
            raise DomainError("no sources to count")
        self._sources = sources
        for source in sources:
            if source.campaign.id != self.campaign.id:
                raise CampaignError(
                    f"a source holds reports of campaign {source.campaign.id[:16]}…, not of {self.campaign.id[:16]}…"
                )

    @property
    def campaign(self) -> Campaign:
        return self._sources[0].campaign

    @property
    def n_reports(self) -> int:
        return sum(source.n_reports for source in self._sources)

    def parts(self, n: int) -> list[Partition]:
        """Each source is cut by its share of the reports."""
        total = max(1, self.n_reports)
        shares = [max(1, round(n * source.n_reports / total)) for source in self._sources]
        return [
            part
            for source, share in zip(self._sources, shares, strict=True)
            for part in source.parts(share)
        ]

    def within(self, hashes: HashRange) -> list[Partition]:
        return [part for source in self._sources for part in source.within(hashes)]
