"""`open_study`: whatever LoPub has, opened for questions."""

from pathlib import Path

from lopub.campaign.campaign import Campaign
from lopub.errors import DomainError, StoreError, checks_options
from lopub.publication import Publication
from lopub.publication.loading import is_publication
from lopub.publication.published_study import PublishedStudy, study_of
from lopub.queries import Study
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts, is_counts
from lopub.reports.engines import report_files


@checks_options
def open_study(
    source: str | Path | ReportBatch | Counts | Publication,
    campaign: Campaign | str | Path | None = None,
) -> Study | PublishedStudy:
    """Return a study of reports, of their counts, of a collector's database or of a publication.

    source: the thing itself; a file of reports or of counts; a directory, or a pattern, of such
    files; a publication's directory; or a database, as `sqlite:///lopub.db`. campaign: the one that
    it must be of, or its file; needed where the source does not tell. A publication without counts
    answers from its synthetic table, and says so.
    """
    if isinstance(source, Publication):
        return study_of(source)
    if isinstance(source, ReportBatch | Counts):
        return Study(source)
    chosen = campaign if isinstance(campaign, Campaign | None) else Campaign.load(campaign)
    if "://" in str(source):
        return Study(_of_database(str(source), chosen))
    if is_publication(source):
        return _of_publication(Path(source), chosen)
    return Study(_of_files(source, chosen))


def _of_database(address: str, campaign: Campaign | None) -> ReportBatch:
    try:
        from lopub.collector.batches import batch_of

        # these load SQLAlchemy, which nobody else needs
        from lopub.collector.campaigns import the_campaign
        from lopub.collector.database import store_at
    except ImportError as error:
        raise StoreError(
            "a database needs {name}; install it with: pip install 'lopub[service]'",
            name=error.name,
        ) from None
    store = store_at(address, create=False)
    try:
        return batch_of(store, the_campaign(store, campaign))
    finally:
        store.close()


def _of_publication(path: Path, campaign: Campaign | None) -> Study | PublishedStudy:
    found = Publication.load(path)
    if campaign is not None and campaign.id != found.campaign.id:
        raise DomainError(
            f"{path} is of campaign {found.campaign.id[:16]}…, not of {campaign.id[:16]}…"
        )
    return study_of(found)


def _of_files(source: str | Path, campaign: Campaign | None) -> ReportBatch | Counts:
    files = report_files([source])
    if any(is_counts(file) for file in files):
        counted = [Counts.load(file, campaign) for file in files]
        return sum(counted[1:], start=counted[0])
    batches = [ReportBatch.load(file, campaign) for file in files]
    return batches[0] if len(batches) == 1 else ReportBatch.concatenated(batches)
