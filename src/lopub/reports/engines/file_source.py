"""Files of reports as a source: named one by one, by a pattern, or by their directory; cut by row groups or by runs of frames."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

from lopub.campaign.campaign import Campaign
from lopub.errors import CampaignError, StoreError
from lopub.reports.batch import ReportBatch, walk_reports
from lopub.reports.batch.report_files import (
    BLOCK_REPORTS,
    SUFFIXES,
    Stretch,
    campaign_of,
    stretches_of,
)
from lopub.reports.engines.base import HashRange
from lopub.reports.engines.selection import HashPart


def report_files(names: Sequence[str | Path]) -> list[Path]:
    """The files that are meant, in the order given; those of a directory or a pattern in the order of their names."""
    return [path for name in names for path in _files(str(name))]


def _files(name: str) -> list[Path]:
    if os.path.isdir(name):
        return _of_reports(Path(name).iterdir(), name)
    if not os.path.exists(name) and glob.has_magic(name):
        return _of_reports(map(Path, glob.glob(name, recursive=True)), name)
    return [Path(name)]


def _of_reports(paths: Iterable[Path], name: str) -> list[Path]:
    found = sorted(
        path
        for path in paths
        if path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    if not found:
        raise StoreError(f"{name} has no file of reports; their names end in {', '.join(SUFFIXES)}")
    return found


@lru_cache(maxsize=4)
def campaign_from(data: bytes) -> Campaign:
    """A campaign as it came with a part or a job, made once in each process."""
    return Campaign.from_bytes(data)


@dataclass(frozen=True)
class FilePart:
    """Runs of reports, each in one file."""

    campaign_bytes: bytes
    runs: tuple[tuple[Path, Stretch], ...]

    @property
    def n_reports(self) -> int:
        return sum(stretch.n_reports for _, stretch in self.runs)

    def walk(self) -> Iterator[ReportBatch]:
        campaign = campaign_from(self.campaign_bytes)
        for path, stretch in self.runs:
            yield from walk_reports(path, campaign, within=stretch)


class FileSource:
    """Reports in files, in the order of the files and of the reports in them."""

    def __init__(self, paths: Sequence[Path], campaign: Campaign | None = None) -> None:
        self._campaign = _one_campaign(paths, campaign)
        self._paths = [path.absolute() for path in paths]  # workers may stand in another directory

    @property
    def campaign(self) -> Campaign:
        return self._campaign

    @cached_property
    def _stretches(self) -> list[tuple[Path, Stretch]]:
        """As short as they can be."""
        return [
            (path, stretch) for path in self._paths for stretch in stretches_of(path, BLOCK_REPORTS)
        ]

    @property
    def n_reports(self) -> int:
        return sum(stretch.n_reports for _, stretch in self._stretches)

    def parts(self, n: int) -> list[FilePart]:
        """Neighbours go together, so that parts have about as many reports each; an empty source is one part."""
        groups: dict[int, list[tuple[Path, Stretch]]] = {}
        ends = accumulate(stretch.n_reports for _, stretch in self._stretches)
        for (path, stretch), end in zip(self._stretches, ends, strict=True):
            middle = 2 * end - stretch.n_reports
            group = groups.setdefault(middle * n // max(1, 2 * self.n_reports), [])
            if group and group[-1][0] == path:
                before = group.pop()[1]
                stretch = Stretch(before.start, stretch.stop, before.n_reports + stretch.n_reports)
            group.append((path, stretch))
        nothing = [(self._paths[0], Stretch(0, 0, 0))]
        return [
            FilePart(self._campaign.canonical_bytes, tuple(runs))
            for runs in groups.values() or [nothing]
        ]

    def within(self, hashes: HashRange) -> list[HashPart]:
        return [HashPart(part, hashes) for part in self.parts(1)]


def _one_campaign(paths: Sequence[Path], campaign: Campaign | None) -> Campaign:
    """The campaign that all files are of: the given one, or the one that they bring."""
    if not paths:
        raise StoreError("no file of reports was named")
    for path in paths:
        own = campaign_of(path)
        if own is None and campaign is None:
            raise CampaignError(
                f"{path} is not a Parquet file, so it does not say which campaign it is of; give the campaign"
            )
        if own is not None and campaign is not None and own.id != campaign.id:
            raise CampaignError(
                f"{path} holds reports of campaign {own.id[:16]}…, not of {campaign.id[:16]}…"
            )
        campaign = campaign or own
    if campaign is None:
        raise CampaignError("no file says which campaign it is of; give the campaign")
    return campaign
