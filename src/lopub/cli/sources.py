"""One way to name the reports that a command reads, and the campaign that they are of; docs/commands.md has the grammar.

A word is a campaign file, a database, a file of reports or of counts, or a directory or a pattern of files of reports. The
campaign is the one that is named; where none is, the one that the first source brings with it. All must be of that campaign.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import day_of
from lopub.cli.console import note, progress_bar, working
from lopub.cli.database import opened, refuse_without_service
from lopub.errors import CampaignError, DomainError, Reason, StoreError
from lopub.files import kind_of
from lopub.reports.batch import ReportBatch, walk_reports
from lopub.reports.counts import Counts, is_counts
from lopub.reports.days import round_named
from lopub.reports.engines import (
    Engine,
    FileSource,
    LocalEngine,
    OneRound,
    Several,
    Source,
    all_of,
    count_source,
    report_files,
)

ID = re.compile(r"[0-9a-fA-F]{8,64}")
SNIFFED = 512


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the words on the command line stand for."""

    campaign: Campaign
    reports: tuple[Path, ...] = ()
    counts: tuple[Path, ...] = ()
    databases: tuple[str, ...] = ()
    slot: int | None = None
    """Of the one round that is asked for."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the sources hold, added up."""

    data: ReportBatch | Counts
    n_repeated: int
    """Reports that were there more than once, and were counted once: how many were left out."""

    @property
    def campaign(self) -> Campaign:
        """The campaign of all sources."""
        return self.data.campaign

    def described(self) -> dict[str, object]:
        """What was read, for programs."""
        return {
            "campaign": self.campaign.id,
            "n_reports": len(self.data),
            "n_repeated": self.n_repeated,
            "refused": refused_by_reason(self.data.refused),
        }


# ---- words


def resolved(
    words: Sequence[str], campaign: str | None = None, round_name: str | None = None
) -> Sources:
    """What is named by the words, by --campaign and by --round; nothing is read but what tells the campaign."""
    databases = tuple(word for word in words if is_database(word))
    paths = [path for word in words if not is_database(word) for path in _paths(word)]
    campaigns = [path for path in paths if _is_campaign(path)]
    files = [path for path in paths if path not in campaigns]
    if not files and not databases:
        raise typer.BadParameter(
            "name a source of reports: a file of reports or of counts, a directory of them, or a database"
        )
    counts = tuple(file for file in files if is_counts(file))
    if len({file.resolve() for file in counts}) < len(counts):
        raise DomainError("a file of counts is named twice, and its reports would count twice")
    named = _named([*map(str, campaigns), *([campaign] if campaign else [])])
    chosen = named if isinstance(named, Campaign) else _brought(files, databases, named)
    return Sources(
        campaign=chosen,
        slot=None if round_name is None else _slot(chosen, round_name),
        reports=tuple(file for file in files if file not in counts),
        counts=counts,
        databases=databases,
    )


def _slot(campaign: Campaign, round_name: str) -> int:
    from lopub.publication.rounds import (
        rounds_of,
    )  # with all that a publication needs, and few commands do

    return round_named(rounds_of(campaign)[0], round_name)


def is_database(word: str) -> bool:
    """Whether a word is the address of a database."""
    return "://" in word


def _paths(word: str) -> list[Path]:
    """A file as it is; of a publication its counts; of a directory, and of a pattern that no file is called like, the files."""
    if os.path.isdir(word) and (counts := _counts_in(Path(word))):
        return [counts]
    found = report_files([word])
    if len(found) > 1 and len({is_counts(path) for path in found}) > 1:
        raise StoreError(
            f"{word} has files of reports and files of counts, which may be of the same reports; name the files"
        )
    return found


def _counts_in(directory: Path) -> Path | None:
    """The counts of a publication; None where the directory is not one."""
    from lopub.publication.directory import COUNTS
    from lopub.publication.loading import is_publication

    if not is_publication(directory):
        return None
    if not (counts := directory / COUNTS).exists():
        raise StoreError(
            f"{directory} was published without its counts; only `lopub query` can ask it"
        )
    return counts


def _is_campaign(path: Path) -> bool:
    """Whether a file is JSON, as a campaign is; a name that ends so is taken for one where there is no such file."""
    try:
        with open(path, "rb") as file:
            return kind_of(file.read(SNIFFED)) == "JSON"
    except OSError:
        return path.suffix == ".json"


# ---- the campaign


def _named(words: Sequence[str]) -> Campaign | str | None:
    """The campaign that is named by its file; or its id, where it is named by that."""
    if len(words) > 1:
        raise DomainError(f"name one campaign, not {len(words)}: {', '.join(words)}")
    if not words:
        return None
    word = words[0].rstrip("….")
    return (
        word.lower()
        if ID.fullmatch(word) and not os.path.exists(words[0])
        else Campaign.load(Path(words[0]))
    )


def _brought(files: Sequence[Path], databases: Sequence[str], campaign_id: str | None) -> Campaign:
    """The campaign that the first source brings that brings one; it must have the id, if one is given."""
    for file in files:
        try:
            own = _campaign_in(file)
        except CampaignError:
            continue
        if campaign_id is not None and not own.id.startswith(campaign_id):
            raise CampaignError(
                f"{file} is of campaign {own.id[:16]}…, whose id does not begin with {campaign_id}"
            )
        return own
    if databases:
        return _campaign_of_database(databases[0], campaign_id)
    raise CampaignError(
        f"{files[0]} does not say which campaign it is of; name the campaign file before it, or with --campaign"
    )


def _campaign_in(file: Path) -> Campaign:
    return Counts.load(file).campaign if is_counts(file) else next(walk_reports(file)).campaign


def _campaign_of_database(address: str, campaign_id: str | None) -> Campaign:
    with opened(address) as store:
        from lopub.collector.campaigns import all_campaigns, campaign_named

        if campaign_id is not None:
            return campaign_named(store, campaign_id).campaign
        entries = all_campaigns(store)
        if len(entries) != 1:
            raise DomainError(
                f"database {store.name} has {len(entries)} campaigns; name one by its file or its id with --campaign"
            )
        return entries[0].campaign


# ---- what they hold


def read(sources: Sources) -> Found:
    """All reports, each once; or their counts, where some source holds nothing else. With notes on what was left out."""
    if sources.counts:
        data: ReportBatch | Counts = counted(sources, LocalEngine())
    else:
        with working("reading reports"):
            batch = all_of(source_of(sources))
        data = batch if sources.slot is None else batch.of_round(sources.slot)
    return noted(data)


def noted(data: ReportBatch | Counts) -> Found:
    """What was found, with notes on what was left out."""
    note_left_out(data.refused, data.n_repeated)
    return Found(data=data, n_repeated=data.n_repeated)


def counted(
    sources: Sources,
    engine: Engine,
    *,
    n_partitions: int | None = None,
    trusted_distinct: bool = False,
) -> Counts:
    """The counts of all sources, added up. trusted_distinct: nobody looks for repeated reports, as nobody does in one store."""
    parts = [
        _of_round(Counts.load(file, sources.campaign), sources.slot, file)
        for file in sources.counts
    ]
    if sources.reports or sources.databases:
        source = _every_source(sources)
        with progress_bar("counting") as progress:
            parts.append(
                count_source(
                    source if sources.slot is None else OneRound(source, sources.slot),
                    engine,
                    n_partitions=n_partitions,
                    trusted_distinct=trusted_distinct or is_one_store(sources),
                    progress=progress,
                )
            )
    return sum(parts[1:], start=parts[0])


def _of_round(counts: Counts, slot: int | None, file: Path) -> Counts:
    """Counts do not tell rounds apart; they are taken where they are of the one that is asked for."""
    if slot is not None and counts.slots != (slot, slot):
        raise DomainError(
            f"{file} has counts that are not of the round from {day_of(slot)} alone; --round needs the reports"
        )
    return counts


def is_one_store(sources: Sources) -> bool:
    """Whether all reports come from one database, which has each of them once."""
    return not sources.reports and len(sources.databases) == 1


def source_of(sources: Sources) -> Source:
    """All reports that are named, of all rounds, as one source in their order; not counts."""
    if sources.databases and sources.reports:
        raise DomainError(
            "name either files of reports or databases; `lopub count` can add up both"
        )
    return _every_source(sources)


def _every_source(sources: Sources) -> Source:
    found: list[Source] = [FileSource(sources.reports, sources.campaign)] if sources.reports else []
    if sources.databases:
        refuse_without_service()
        from lopub.collector.source import StoreSource  # loads SQLAlchemy

        found += [StoreSource(database, sources.campaign) for database in sources.databases]
    return Several(found)


def are_made_up(sources: Sources) -> bool:
    """Whether made-up people answered the campaign in one of the databases."""
    for address in sources.databases:
        with opened(address) as store:
            from lopub.jobs.queue import has_made_up_answers

            if has_made_up_answers(store, sources.campaign.id):
                return True
    return False


def note_left_out(refused: Mapping[Reason, int], n_repeated: int = 0) -> None:
    """Say what was not counted, and why."""
    for reason, n in sorted(refused.items()):
        note(f"note: {n:,} {'report was' if n == 1 else 'reports were'} left out ({reason})")
    if n_repeated:
        note(
            f"note: {n_repeated:,} repeated {'report was' if n_repeated == 1 else 'reports were'} counted once"
        )


def refused_by_reason(refused: Mapping[Reason, int]) -> dict[str, int]:
    """The same for programs."""
    return {str(reason): n for reason, n in sorted(refused.items())}
