"""`lopub import`: files of reports into a collector's database."""

from collections import Counter
from itertools import chain
from typing import Annotated

import typer

from lopub.campaign.schedule import GRACE_DAYS
from lopub.cli.console import count_of_reports, note, tell, working
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import AsJson, Database, Grace, SourceCampaign, Sources
from lopub.cli.sources import Sources as Named
from lopub.cli.sources import refused_by_reason, resolved
from lopub.errors import DomainError, Reason, TooFewReports
from lopub.reports.batch import walk_reports

UNDATED = (
    "these files have reports without a day, as simulated ones have none, and the campaign has"
    " reports that people sent: a publication would count both alike; use --undated to import them all"
    " the same"
)
Undated = Annotated[
    bool,
    typer.Option(
        "--undated", help="Import reports without a day also beside reports that people sent."
    ),
]


def import_reports(
    sources: Sources,
    campaign: SourceCampaign = None,
    database: Database = DEFAULT,
    grace_days: Grace = GRACE_DAYS,
    as_json: AsJson = False,
    undated: Undated = False,
) -> None:
    """Put files of reports into a collector's database, checked and counted once as if they had
    been sent.

    All files are read through before anything is kept of them, so that one that cannot be read
    leaves the database as it was. Opens the campaign if it is not there. An SQLite file must not be
    in use by a running collector. Counts, and the reports of another database, cannot be imported:
    the ids of their reports are not known.

    Example: `lopub import campaign.json reports.parquet --database sqlite:///lopub.db`

    More: docs/operating.md, and docs/commands.md on sources
    """
    named = resolved(sources, campaign)
    if named.counts or named.databases:
        what = (
            f"{named.counts[0]} holds counts"
            if named.counts
            else "a database keeps only hashes of their ids"
        )
        raise DomainError(f"only files of reports can be imported: {what}")
    is_simulated, is_undated = _check(named)
    reports = chain.from_iterable([walk_reports(file, named.campaign) for file in named.reports])
    with opened(database, create=True, alone=True) as store, working("importing"):
        from lopub.collector.campaigns import open_campaign
        from lopub.collector.imports import has_dated_reports
        from lopub.collector.imports import import_reports as imported

        entry, _ = open_campaign(store, named.campaign, grace_days=grace_days)
        if is_undated and not undated and has_dated_reports(store, entry):
            raise DomainError(UNDATED)
        result = imported(store, entry, reports)
    for reason, n in sorted(result.refused.items()):
        note(f"note: {count_of_reports(n)} refused ({reason})")
    if is_simulated:
        note(
            "note: these reports are simulated, which a database does not keep; publish them with --simulated"
        )
    document = {
        "campaign": named.campaign.id,
        "database": store.name,
        "n_accepted": result.n_accepted,
        "n_repeated": result.n_replayed,
        "refused": refused_by_reason(result.refused),
    }
    accepted = (
        f"{count_of_reports(result.n_accepted)} of campaign {named.campaign.id[:16]}… accepted"
    )
    tell(document, f"{accepted}, {result.n_replayed:,} were there already", as_json=as_json)


def _check(named: Named) -> tuple[bool, bool]:
    """Refuse files that cannot be read, or that hold no report of the campaign. Whether they say
    that reports are simulated, and whether any has no day."""
    n_reports, refused, is_simulated, is_undated = 0, Counter[Reason](), False, False
    with working("reading reports"):
        for file in named.reports:
            for batch in walk_reports(file, named.campaign):
                n_reports += len(batch)
                refused += Counter(batch.refused)
                is_simulated |= batch.origin.is_simulated
                is_undated |= bool((batch.slots == 0).any())
    if not n_reports:
        others = (
            f"; {refused[Reason.CAMPAIGN]:,} are of another campaign"
            if refused[Reason.CAMPAIGN]
            else ""
        )
        raise TooFewReports(
            f"no report of campaign {named.campaign.id[:16]}… is in these files{others}"
        )
    return is_simulated, is_undated
