"""Questions to a publication without counts: its synthetic table answers, and says that it does."""

from dataclasses import dataclass

from lopub.campaign.domain import Domain
from lopub.campaign.texts import one_line
from lopub.estimation.joint import Probabilities
from lopub.estimation.linear import merged
from lopub.publication.stages import Publication
from lopub.queries import Study
from lopub.queries.grounds import VALID, Grounds, TreeGrounds
from lopub.queries.predicates import Question
from lopub.queries.queries import Asking
from lopub.reports.dataset import Dataset

REASON = f"from the synthetic table, without an interval, as the counts were not published: it joins pairs in a tree, {VALID}"
MOST_CELLS = 2**22
"""Of a question's attributes, before answers are put together."""


@dataclass(frozen=True, eq=False)
class PublishedStudy(Asking):
    """A synthetic table that can be asked what a study can. n_reports: those that it was made from."""

    synthetic: Dataset
    n_reports: int

    def __len__(self) -> int:
        """The number of reports."""
        return self.n_reports

    def __repr__(self) -> str:
        return one_line(
            self, f"{len(self.synthetic):,} synthetic records", f"from {self.n_reports:,} reports"
        )

    @property
    def asked_domain(self) -> Domain:
        return self.synthetic.domain

    def found(
        self, asked: Question, contrast: Probabilities, condition: Probabilities | None = None
    ) -> Grounds | str:
        """The shares of synthetic people."""
        names = [self.asked_domain.names[position] for position in asked.clique]
        cells = 1
        for position in asked.clique:
            cells *= self.asked_domain.sizes[position]
        if cells > MOST_CELLS:
            return f"these {len(names)} attributes have {cells:,} cells together; at most {MOST_CELLS:,} can be looked at"
        shares = merged(self.synthetic.counts(names), asked.groupings) / len(self.synthetic)
        return TreeGrounds(shares, self.n_reports, REASON)


def study_of(publication: Publication) -> "Study | PublishedStudy":
    """What can be asked of a publication: its counts, or without them the synthetic table."""
    counts = publication.counts
    return (
        Study(counts)
        if counts is not None
        else PublishedStudy(publication.synthetic, publication.n_reports)
    )
