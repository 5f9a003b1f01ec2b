"""Counts are the same bytes however a source is cut, in whatever order its parts are done, and wherever."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from crowds import (
    N,
    contradicted,
    cut_off,
    damaged,
    doubled_files,
    expected_counts,
    people_of,
    saved,
)
from test_batch import DAYS, NAMES, campaign_of

from lopub.bulk.folds import hashes_of
from lopub.errors import CampaignError, DomainError, EngineError, Reason, StoreError
from lopub.reports.batch import save_reports
from lopub.reports.batch.report_files import framed_bytes, stretches_of, walk_reports
from lopub.reports.counts import count
from lopub.reports.engines import (
    FileSource,
    HashRange,
    LocalEngine,
    Partition,
    Several,
    all_of,
    count_source,
    engine_of,
    once,
    report_files,
    sample_of,
)
from lopub.reports.engines.base import Exchanged, Job
from lopub.reports.engines.passing import bytes_of_counts, counts_of_bytes
from lopub.reports.origin import Origin
from lopub.reports.progress import Progress

KINDS = [
    "direct fill jointly",
    "direct all separately",
    "subset sample jointly",
    "bloom listed separately",
]
DIRECT = "direct fill jointly"


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are cut, too."""
    monkeypatch.setattr("lopub.reports.engines.file_source.BLOCK_REPORTS", 100)


class Shuffled(LocalEngine):
    """Parts are done in any order, some of them twice."""

    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        order = list(range(len(parts)))
        random.Random(len(parts)).shuffle(order)
        for number in order[:3]:
            job.split(parts[number])
        sent = {number: job.split(parts[number]) for number in order}
        gathered = []
        for number in range(job.n_ranges):
            parcels = [
                sent[part].parcels[number]
                for part in range(len(parts))
                if number in sent[part].parcels
            ]
            gathered += [job.gather(parcels)] if parcels else []
        return Exchanged(job.merge([sent[number].result for number in order]), gathered)


# ---- the same bytes


@pytest.mark.parametrize("name", [*KINDS[:3], pytest.param(KINDS[3], marks=pytest.mark.full)])
def test_counts_do_not_depend_on_the_number_of_parts(name: str, tmp_path: Path):
    campaign = campaign_of(name)
    files = doubled_files(tmp_path, campaign)
    expected = saved(expected_counts(files, campaign), tmp_path / "counts")
    for n_workers, n_partitions in ((1, 1), (1, 7), (2, 64), (3, None)):
        counts = count_source(
            FileSource(files, campaign), LocalEngine(n_workers), n_partitions=n_partitions
        )
        assert saved(counts, tmp_path / "counts") == expected
    assert counts.n_reports == N and counts.refused == {Reason.CONFLICT: 5, Reason.LENGTH: 2}


@pytest.mark.parametrize("n_partitions", [1, 7, 64])
def test_the_slots_of_counts_are_those_of_the_reports_that_count(n_partitions: int, tmp_path: Path):
    """A report that contradicts an earlier one is refused, and its day with it."""
    campaign = campaign_of(DIRECT)
    batch = people_of(campaign)
    first = replace(batch, slots=np.full(len(batch), DAYS[0] + 1, dtype=np.uint32))
    later = replace(
        contradicted(batch, [10, 20]), slots=np.array([DAYS[0], DAYS[-1]], dtype=np.uint32)
    )
    save_reports(
        tmp_path / "a.parquet", campaign, [first[at : at + 100] for at in range(0, N, 100)]
    )
    later.save(tmp_path / "b.parquet")
    source = FileSource([tmp_path / "a.parquet", tmp_path / "b.parquet"], campaign)
    counts = count_source(source, LocalEngine(2), n_partitions=n_partitions)
    assert counts.refused == {Reason.CONFLICT: 2} and counts.slots == (DAYS[0] + 1, DAYS[0] + 1)


@pytest.mark.parametrize("n_partitions", [2, 7, 64])
def test_counts_do_not_depend_on_the_order_in_which_parts_are_done(
    n_partitions: int, tmp_path: Path
):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    counts = count_source(FileSource(files, campaign), Shuffled(1), n_partitions=n_partitions)
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


@pytest.mark.parametrize(
    ("keys", "bits", "size"), [(100, 64, 2**26), (2**22, 2**27, 1_000), (37, 2**10, 5_000)]
)
def test_counts_do_not_depend_on_how_keys_and_reports_are_spread(
    keys: int, bits: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also where the sieve is so small that all reports go through the second exchange."""
    monkeypatch.setattr(LocalEngine, "keys_at_once", keys)
    monkeypatch.setattr(once, "MOST_SIEVE_BITS", bits)
    monkeypatch.setattr(once, "PART_REPORTS", 150)
    monkeypatch.setattr(once, "RANGE_BYTES", size)
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    counts = count_source(FileSource(files, campaign), LocalEngine(2), n_partitions=7)
    assert saved(counts, tmp_path / "c") == saved(expected_counts(files, campaign), tmp_path / "d")


def test_which_of_two_reports_is_first_is_decided_by_the_order_of_the_files(tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    there, back = (
        count_source(FileSource(some, campaign), LocalEngine(1), n_partitions=5)
        for some in (files, files[::-1])
    )
    assert there.refused == back.refused
    assert bytes_of_counts(there) != bytes_of_counts(back)
    assert bytes_of_counts(back) == bytes_of_counts(expected_counts(files[::-1], campaign))


@pytest.mark.parametrize(
    "name",
    [name if name in KINDS else pytest.param(name, marks=pytest.mark.full) for name in NAMES],
)
def test_streamed_counts_of_every_mechanism_are_those_of_the_whole_batch(name: str, tmp_path: Path):
    batch = people_of(campaign_of(name), 700)
    save_reports(tmp_path / "r.parquet", batch.campaign, [batch[:300], batch[300:310], batch[310:]])
    counts = count_source(FileSource([tmp_path / "r.parquet"]), LocalEngine(2), n_partitions=3)
    assert bytes_of_counts(counts) == bytes_of_counts(count(batch))


def test_trusted_sources_are_not_searched_for_repetitions(tmp_path: Path):
    batch = people_of(campaign_of(DIRECT), 300)
    save_reports(tmp_path / "r.parquet", batch.campaign, [batch, batch[:10]])
    source = FileSource([tmp_path / "r.parquet"])
    assert len(count_source(source, LocalEngine(1), trusted_distinct=True)) == 310
    assert len(count_source(source, LocalEngine(1))) == 300


def test_an_empty_source_has_counts_of_nobody(tmp_path: Path):
    campaign = campaign_of(DIRECT)
    save_reports(tmp_path / "r.parquet", campaign, [people_of(campaign, 10)[:0]])
    (tmp_path / "none.bin").write_bytes(b"")
    counts = count_source(
        FileSource([tmp_path / "r.parquet", tmp_path / "none.bin"]), LocalEngine(2), n_partitions=3
    )
    assert (len(counts), counts.tables, counts.refused) == (0, {}, {})


def test_several_sources_are_one_behind_the_other(tmp_path: Path):
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    several = Several([FileSource([file], campaign) for file in files])
    counts = count_source(several, LocalEngine(1), n_partitions=7)
    assert bytes_of_counts(counts) == bytes_of_counts(expected_counts(files, campaign))


@pytest.mark.parametrize("n_partitions", [1, 2, 5])
def test_withdrawn_reports_are_counted_once_however_a_file_is_cut(
    n_partitions: int, tmp_path: Path
):
    """Forbids to add what a file says of all its reports for every part of it."""
    campaign = campaign_of(DIRECT)
    batch = replace(people_of(campaign, 500), origin=Origin(n_withdrawn=3))
    blocks = [batch.only(np.arange(500) // 100 == block) for block in range(5)]
    save_reports(tmp_path / "r.parquet", campaign, blocks)
    source = FileSource([tmp_path / "r.parquet"])
    counts = count_source(source, LocalEngine(1), n_partitions=n_partitions)
    assert counts.origin == Origin(n_withdrawn=3)


# ---- ranges of hashes


def test_a_range_of_hashes_has_the_same_reports_wherever_they_lie(tmp_path: Path):
    """Each of them once; those that were repeated, or contradicted, as often as where all are read."""
    campaign = campaign_of(DIRECT)
    files = doubled_files(tmp_path, campaign)
    whole = all_of(FileSource(files, campaign))
    hashes = HashRange.drawn(2**63, len(whole), len(whole) // 3)
    sample = sample_of(FileSource(files, campaign), hashes)
    assert len(whole) // 4 < len(sample) < len(whole) // 2
    is_within = (whole.digests >= hashes.start) & (whole.digests < hashes.stop)
    expected = whole.only(is_within)
    assert hashes_of(expected.ids).tolist() == sample.ids.tolist()
    assert expected.slots.tolist() == sample.slots.tolist()
    several = Several([FileSource([file], campaign) for file in files])
    assert sample_of(several, hashes).ids.tolist() == sample.ids.tolist()
    assert sample_of(several, HashRange()).ids.tolist() == hashes_of(whole.ids).tolist()


def test_ranges_of_hashes_leave_out_nothing_at_either_end():
    assert HashRange() == HashRange.drawn(7, 50, 50) and HashRange().high is None
    first, last = (HashRange.drawn(draw, 1_000, 10) for draw in (0, 2**64 - 1))
    assert (first.low, first.stop) == (bytes(8), 2**64 * 10 // 1_000)
    assert 2**64 - 2**8 < last.stop <= 2**64


def test_progress_is_told_part_by_part(tmp_path: Path):
    campaign, told = campaign_of(DIRECT), []
    save_reports(
        tmp_path / "r.parquet",
        campaign,
        [people_of(campaign, 500)[at : at + 100] for at in range(0, 500, 100)],
    )
    count_source(
        FileSource([tmp_path / "r.parquet"]),
        LocalEngine(2),
        n_partitions=5,
        progress=lambda *n: told.append(n),
    )
    assert told == [("counting", k, 5) for k in range(1, 6)]


@pytest.mark.parametrize("name", KINDS)
def test_counts_come_back_from_their_bytes(name: str):
    counts = count(people_of(campaign_of(name), 200))
    again = counts_of_bytes(bytes_of_counts(counts), counts.campaign)
    assert bytes_of_counts(again) == bytes_of_counts(counts)
    assert all(
        np.array_equal(again.tables[key].counts, table.counts)
        for key, table in counts.tables.items()
    )


# ---- sources


@pytest.mark.parametrize("file", ["r.parquet", "r.reports"])
@pytest.mark.parametrize("size", [1, 99, 100, 250, 10_000])
def test_the_stretches_of_a_file_are_the_file(file: str, size: int, tmp_path: Path):
    batch = people_of(campaign_of(DIRECT), 500)
    save_reports(
        tmp_path / file, batch.campaign, [batch[at : at + 100] for at in range(0, 500, 100)]
    )
    stretches = stretches_of(tmp_path / file, size)
    walked = [
        block
        for part in stretches
        for block in walk_reports(tmp_path / file, batch.campaign, within=part, block=64)
    ]
    assert sum(part.n_reports for part in stretches) == 500
    assert b"".join(framed_bytes(block) for block in walked) == framed_bytes(batch)


def test_a_framed_file_of_many_reads_is_walked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lopub.reports.batch.framed.BYTES_AT_ONCE", 200)
    batch = people_of(campaign_of(DIRECT), 300)
    (tmp_path / "r.bin").write_bytes(framed_bytes(batch))
    blocks = list(walk_reports(tmp_path / "r.bin", batch.campaign))
    assert b"".join(framed_bytes(block) for block in blocks) == framed_bytes(batch)
    assert not any(block.refused for block in blocks)


def test_directories_and_patterns_name_files_in_the_order_of_their_names(tmp_path: Path):
    for name in ("b.parquet", "a.reports", "notes.txt", ".hidden.parquet"):
        (tmp_path / name).touch()
    there = [path.name for path in report_files([tmp_path])]
    assert there == ["a.reports", "b.parquet"]
    assert [path.name for path in report_files([f"{tmp_path}/*.parquet", tmp_path / "none"])] == [
        "b.parquet",
        "none",
    ]


# ---- what is refused


def refused(paths: Sequence[Path], **options: int) -> Iterator[str]:
    with pytest.raises((StoreError, CampaignError, DomainError)) as caught:
        count_source(FileSource(paths), LocalEngine(2), **options)
    return str(caught.value)


def test_a_file_that_was_not_finished_is_refused(tmp_path: Path):
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    assert "half.parquet is a damaged or cut-off Parquet file" in refused(
        [cut_off(files[0], tmp_path / "half.parquet")]
    )


@pytest.mark.parametrize("missing", [1, 3, 20])
def test_a_framed_file_that_was_not_finished_is_refused(missing: int, tmp_path: Path):
    """What is there of it must not pass for all of it."""
    (tmp_path / "half.bin").write_bytes(
        framed_bytes(people_of(campaign_of(DIRECT), 500))[:-missing]
    )
    with pytest.raises(
        StoreError,
        match=r"half\.bin is a damaged or cut-off file of framed reports: the last one is not whole$",
    ):
        FileSource([tmp_path / "half.bin"], campaign_of(DIRECT)).parts(3)


def test_a_part_that_cannot_be_read_is_refused(tmp_path: Path):
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    assert "bad.parquet is a damaged Parquet file" in refused(
        [damaged(files[0], tmp_path / "bad.parquet")], n_partitions=7
    )


def test_files_of_two_campaigns_are_refused(tmp_path: Path):
    for name, file in ((DIRECT, "a.parquet"), ("direct all jointly", "b.parquet")):
        save_reports(tmp_path / file, campaign_of(name), [people_of(campaign_of(name), 10)])
    assert "b.parquet holds reports of campaign" in refused(
        [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    )


def test_a_framed_file_needs_a_campaign(tmp_path: Path):
    (tmp_path / "r.reports").write_bytes(framed_bytes(people_of(campaign_of(DIRECT), 10)))
    assert "give the campaign" in refused([tmp_path / "r.reports"])


@pytest.mark.parametrize(
    ("names", "words"),
    [(["*.nothing"], "has no file of reports"), (["."], "has no file of reports")],
)
def test_names_of_nothing_are_refused(
    names: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=words):
        report_files(names)


def test_no_parts_at_all_are_refused(tmp_path: Path):
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    assert "n_partitions must be at least 1, got 0" in refused(files[:1], n_partitions=0)


def test_an_engine_that_is_not_known_is_refused():
    with pytest.raises(DomainError, match="engine must be one of local, dask, spark, got 'abacus'"):
        engine_of("abacus")


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("spark", "pyspark")])
def test_an_engine_that_is_not_installed_is_refused(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(
        EngineError,
        match=rf"engine {name} is not installed; install it with: pip install 'lopub\[{name}\]'",
    ):
        engine_of(name)


def test_the_local_engine_has_no_address():
    with pytest.raises(DomainError, match="engine local has no address"):
        engine_of("local", "tcp://here:1")


def test_a_full_temporary_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lopub.reports.engines.local.IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    files = doubled_files(tmp_path, campaign_of(DIRECT))
    assert "cannot write to the temporary directory" in refused(files[:1])
