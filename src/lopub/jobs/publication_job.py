"""A job that publishes: a campaign's reports become a publication, and an archive of it."""

from pathlib import Path
from typing import Any

from lopub.collector.source import StoreSource
from lopub.errors import DomainError
from lopub.estimation.joint import JointDistribution
from lopub.jobs.attempt import Task
from lopub.jobs.queue import has_made_up_answers
from lopub.jobs.result_files import write_archive
from lopub.publication import PublishSettings, publish_rounds
from lopub.publication.sources import SourceReports, read_all, read_source
from lopub.reports.origin import Origin


def publish(task: Task, part: Path) -> dict[str, Any]:
    """The publication of a closed campaign. Of one that repeats: levels in every round and the
    changes between them; or one round that is over, like any other campaign."""
    choices, campaign = dict(task.choices), task.entry.campaign
    slot = choices.pop("round", None)
    margins = _margins(choices.pop("margins", ""), task, part)
    is_simulated = bool(choices.pop("simulated", False))
    origin = Origin(is_simulated or has_made_up_answers(task.store, task.subject))
    settings = PublishSettings(**choices)
    if not task.entry.is_final(slot):
        raise DomainError(
            "close the campaign first: what comes in later would not be in the publication"
        )
    source, directory = StoreSource(task.address, campaign), part / "publication"
    if campaign.terms.repeat is not None and slot is None:
        outcome = _publish_rounds(task, source, origin, settings.language, directory)
    else:
        reports = read_source(
            source,
            settings,
            slot=slot,
            origin=origin,
            trusted_distinct=True,
            progress=task.progress,
        )
        outcome = _publish_table(task, reports, settings, margins, directory)
    task.progress("packing the archive", 0, None)
    write_archive(directory, part / "publication.zip")
    return outcome


def _publish_rounds(
    task: Task, source: StoreSource, origin: Origin, language: str, directory: Path
) -> dict[str, Any]:
    task.progress("reading reports", 0, None)
    rounds = publish_rounds(read_all(source, origin=origin))
    rounds.save(directory, language=language)
    return {"n_reports": sum(rounds.n_reports.values()), "n_rounds": len(rounds.n_reports)}


def _publish_table(
    task: Task,
    reports: SourceReports,
    settings: PublishSettings,
    margins: list[JointDistribution],
    directory: Path,
) -> dict[str, Any]:
    publication = reports.published(settings, margins=margins, progress=task.progress)
    task.progress("writing files", 0, None)
    publication.save(directory)
    n_findings = len(publication.findings.stated)
    return {"n_reports": publication.n_reports, "n_findings": n_findings}


def _margins(text: str, task: Task, part: Path) -> list[JointDistribution]:
    """Shares that are known from elsewhere, from the text of a CSV file."""
    if not text:
        return []
    path = part / "margin.csv"
    try:
        path.write_text(text, encoding="utf-8")
        return [JointDistribution.load(path, task.entry.campaign.domain)]
    except DomainError as error:
        raise DomainError(str(error).replace(str(path), "the file of known shares")) from None
    finally:
        path.unlink(missing_ok=True)
