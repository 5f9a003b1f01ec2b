"""Files in which reports stand twice, and parts that go wrong once; shared by the tests of engines."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lopub import Dataset, ReportBatch, simulate
from lopub.campaign.campaign import Campaign
from lopub.reports.batch import save_reports
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.counts import Counts, count
from lopub.reports.engines import FileSource, Partition

N = 3_000


def people_of(campaign: Campaign, n: int = N, seed: int = 5) -> ReportBatch:
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [np.minimum(rng.geometric(0.4, n) - 1, size - 1) for size in campaign.domain.sizes], axis=1
    )
    return simulate(Dataset(campaign.domain, codes), campaign, seed=seed)


def contradicted(batch: ReportBatch, rows: Sequence[int]) -> ReportBatch:
    """The reports on these rows under other ids: those of the rows before them."""
    rows = np.array(rows)
    return replace(batch[rows], ids=batch.ids[rows - 1])


def doubled_files(folder: Path, campaign: Campaign) -> list[Path]:
    """Many row groups and many frames: reports of one file again in another one, in the same file, and with another content
    under their id, before and behind it; and two that are no reports."""
    batch = people_of(campaign)
    blocks = [batch[at : at + 100] for at in range(0, 2_000, 100)]
    save_reports(
        folder / "a.parquet", campaign, [contradicted(batch, [2_500, 2_600]), *blocks, batch[50:75]]
    )
    frames = [
        framed_bytes(batch[1_900:2_950]),
        b"\x00\x03abc",
        framed_bytes(contradicted(batch, [10, 2_000, 2_000])),
    ]
    (folder / "b.reports").write_bytes(
        b"".join(frames) + framed_bytes(batch[7:8]) * 40 + b"\x00\x03end"
    )
    save_reports(folder / "c.parquet", campaign, [batch[2_900:], batch[2_950:2_960]])
    return [folder / name for name in ("a.parquet", "b.reports", "c.parquet")]


def expected_counts(paths: Sequence[Path], campaign: Campaign) -> Counts:
    """The plain way: everything in memory, then each report once."""
    return count(ReportBatch.concatenated([_all(path, campaign) for path in paths]))


def _all(path: Path, campaign: Campaign) -> ReportBatch:
    from lopub.reports.batch import walk_reports

    return ReportBatch.joined(walk_reports(path, campaign))


def saved(counts: Counts, path: Path) -> bytes:
    counts.save(path, force=True)
    return path.read_bytes()


@dataclass(frozen=True)
class Once:
    """A part that fails the first time that it is walked: by an exception, or by the death of its process."""

    part: Partition
    marker: Path
    deadly: bool

    @property
    def n_reports(self) -> int:
        return self.part.n_reports

    def walk(self) -> Iterator[ReportBatch]:
        walked = self.part.walk()
        yield next(walked)
        if not self.marker.exists():
            self.marker.touch()
            if self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("this time only")
        yield from walked


class Faltering:
    """A source one of whose parts fails once."""

    def __init__(self, source: FileSource, marker: Path, *, deadly: bool) -> None:
        self._source, self._marker, self._deadly = source, marker, deadly

    @property
    def campaign(self) -> Campaign:
        return self._source.campaign

    @property
    def n_reports(self) -> int:
        return self._source.n_reports

    def parts(self, n: int) -> list[Partition]:
        first, second, *rest = self._source.parts(n)
        return [first, Once(second, self._marker, self._deadly), *rest]


def cut_off(path: Path, target: Path) -> Path:
    """A Parquet file whose writing was not finished."""
    data = path.read_bytes()
    target.write_bytes(data[: len(data) // 2])
    return target


def damaged(path: Path, target: Path) -> Path:
    """A Parquet file that can be opened, but one of whose pages is not what was written."""
    data = bytearray(path.read_bytes())
    at = pa.parquet.ParquetFile(path).metadata.row_group(3).column(0).data_page_offset
    data[at + 200] ^= 0xFF
    target.write_bytes(bytes(data))
    return target
