"""A campaign's reports become a publication, and an archive of it."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lopub.collector.queue import jobs_of
from lopub.collector.reading import batch_of
from lopub.collector.source import StoreSource
from lopub.console.alarming import PREFIX_BYTES, looked_at, range_at
from lopub.errors import DomainError
from lopub.estimation.joint import JointDistribution
from lopub.jobs.results import write_archive
from lopub.jobs.work import Task
from lopub.planning.alarms import COVERAGE, MADE, NO_REPORTS, alarms_of
from lopub.publication import Publication, PublishSettings, publish_rounds, published
from lopub.publication.rounds import Rounds, rounds_beside
from lopub.publication.stages import counts_suffice
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts
from lopub.reports.engines import LocalEngine, count_source
from lopub.reports.origin import Origin

Data = TypeVar("Data", ReportBatch, Counts)


def publish(task: Task, part: Path) -> dict[str, Any]:
    """The publication of a closed campaign. Of one that repeats: levels in every round and the changes between them; or one
    round that is over, as any other campaign."""
    choices = dict(task.choices)
    slot, margins = choices.pop("round", None), _margins(choices.pop("margins", ""), task, part)
    origin = Origin(is_simulated=bool(choices.pop("simulated", False)) or _are_made_up(task))
    entry = task.entry
    if not entry.is_final(slot):
        raise DomainError(
            "close the campaign first: what comes in later would not be in the publication"
        )
    directory = part / "publication"
    settings = PublishSettings(**choices)
    if entry.campaign.terms.repeat is not None and slot is None:
        rounds = publish_rounds(_marked(batch_of(task.store, entry), origin))
        rounds.save(directory, language=settings.language)
        outcome = {"n_reports": sum(rounds.n_reports.values()), "n_rounds": len(rounds.n_reports)}
    else:
        reports, rounds_too = _reports(task, settings, slot, origin)
        publication = published(reports, settings, progress=task.progress, margins=margins)
        if isinstance(reports, Counts):
            publication = _looked_through(publication, reports, task)
        task.progress("writing files", 0, None)
        replace(publication, rounds=rounds_too).save(directory)
        outcome = {
            "n_reports": publication.n_reports,
            "n_findings": len(publication.findings.stated),
        }
    task.progress("packing the archive", 0, None)
    write_archive(directory, part / "publication.zip")
    return outcome


def _are_made_up(task: Task) -> bool:
    """Whether made-up people were let answer the campaign: a database of reports does not tell, but its jobs do."""
    return bool(jobs_of(task.store, task.subject, kind="answer", most=1))


def _marked(data: Data, origin: Origin) -> Data:
    """The same reports, or counts, with what is known of where they come from."""
    return replace(data, origin=data.origin + origin)


def _looked_through(publication: Publication, counts: Counts, task: Task) -> Publication:
    """The publication with signs of fakes that only the reports show, looked for as the page of the running campaign does: among
    all, or as many as fit. Which ones follows from the counts of all reports, so that it is the same each time, and nobody who
    sends some of them can know it."""
    task.progress("looking for fakes", 0, None)
    drawn = range_at(int.from_bytes(_fingerprint(counts)), len(counts))
    batch = looked_at(task.store, task.entry, *drawn)
    told = MADE if drawn[1] is None else f"made among {len(batch):,} reports that were drawn"
    checks = {
        kind: told if made == NO_REPORTS else made for kind, made in publication.checks.items()
    }
    seen = [alarm for alarm in alarms_of(batch) if alarm.kind != COVERAGE]
    return replace(publication, checks=checks, alarms=(*publication.alarms, *seen))


def _fingerprint(counts: Counts) -> bytes:
    """Eight bytes that depend on every count."""
    hashed = hashlib.sha256()
    for key in sorted(counts.tables):
        hashed.update(np.ascontiguousarray(counts.tables[key].counts, dtype="<i8").tobytes())
    return hashed.digest()[:PREFIX_BYTES]


def _margins(text: str, task: Task, part: Path) -> list[JointDistribution]:
    """Shares that are known from elsewhere, from the text of a csv file."""
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


def _reports(
    task: Task, settings: PublishSettings, slot: int | None, origin: Origin
) -> tuple[ReportBatch | Counts, Rounds | None]:
    """The reports of the campaign; their counts where these suffice, so that reports are never held all at once. Of one round,
    its reports, and all rounds beside it."""
    campaign = task.entry.campaign
    if slot is None and counts_suffice(campaign, settings):
        source = StoreSource(task.address, campaign)
        return _marked(
            count_source(source, LocalEngine(), trusted_distinct=True, progress=task.progress),
            origin,
        ), None
    task.progress("reading reports", 0, None)
    every = _marked(batch_of(task.store, task.entry), origin)
    if slot is None:
        return every, None
    own = every.of_round(slot)
    return own, rounds_beside(every, own)
