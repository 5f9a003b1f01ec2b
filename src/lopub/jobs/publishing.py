"""A campaign's reports become a publication, and an archive of it."""

from pathlib import Path
from typing import Any

from lopub.collection.batch import ReportBatch
from lopub.collection.counts import Counts
from lopub.collection.engines import LocalEngine, count_source
from lopub.errors import DomainError
from lopub.jobs.results import write_archive
from lopub.jobs.work import Task
from lopub.release import PublishSettings, publish_rounds, published
from lopub.release.stages import counts_suffice
from lopub.service.reading import batch_of
from lopub.service.source import StoreSource


def publish(task: Task, part: Path) -> dict[str, Any]:
    """The publication of a closed campaign; of one that repeats, levels in every round and the changes between them."""
    entry = task.entry
    if entry.closed is None:
        raise DomainError("close the campaign first: what comes in later would not be in the publication")
    directory = part / "publication"
    if entry.campaign.terms.repeat is not None:
        rounds = publish_rounds(batch_of(task.store, entry))
        rounds.save(directory)
        outcome = {"n_reports": sum(rounds.n_reports.values()), "n_rounds": len(rounds.n_reports)}
    else:
        settings = PublishSettings(**task.choices)
        publication = published(_reports(task, settings), settings, progress=task.progress)
        task.progress("writing files", 0, None)
        publication.save(directory)
        outcome = {"n_reports": publication.n_reports, "n_findings": len(publication.findings.stated)}
    task.progress("packing the archive", 0, None)
    write_archive(directory, part / "publication.zip")
    return outcome


def _reports(task: Task, settings: PublishSettings) -> ReportBatch | Counts:
    """The reports of the campaign; their counts where these suffice, so that reports are never held all at once."""
    campaign = task.entry.campaign
    if counts_suffice(campaign, settings):
        source = StoreSource(task.address, campaign)
        return count_source(source, LocalEngine(), trusted_distinct=True, progress=task.progress)
    task.progress("reading reports", 0, None)
    return batch_of(task.store, task.entry)
