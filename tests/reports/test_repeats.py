"""A report that stands in files twice counts once; another report under its id is refused, and the first stays."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_batch import batch_of, campaign_of, reports_of, wires_in, wires_of

import people
from lopub import (
    CampaignRequest,
    Dataset,
    ReportBatch,
    Terms,
    estimate,
    make_campaign,
    publish,
    simulate,
)
from lopub.bulk.folds import hashes_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import Report
from lopub.errors import Reason
from lopub.reports.batch import HASH_BYTES, Packed, repeats, walk_reports
from lopub.reports.batch.repeats import later_ones, same_strings, shared_keys
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.counts import count
from lopub.reports.engines import FileSource, LocalEngine, count_source
from lopub.reports.origin import PLAIN

NAMES = [
    "direct sample jointly",
    "direct all separately",
    "subset sample jointly",
    "bloom all separately",
]


def together(campaign: Campaign, *parts: ReportBatch) -> bytes:
    """Framed files one behind the other."""
    return b"".join(framed_bytes(part) for part in parts)


def other(report: Report, campaign: Campaign, name: str) -> Report:
    """Another report under the same id."""
    return replace(
        next(each for each in reversed(reports_of(name)) if each.payload != report.payload),
        id=report.id,
    )


@pytest.fixture(params=[True, False], ids=["sieve", "sort"])
def sieve(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of finding keys that are there more than once."""
    if request.param:
        monkeypatch.setattr(repeats, "FEW", 0)


# ---- identical ones


@pytest.mark.usefixtures("sieve")
@pytest.mark.parametrize("name", NAMES)
def test_a_file_twice_over_is_the_file(tmp_path: Path, name: str):
    batch = batch_of(name)
    (tmp_path / "reports").write_bytes(together(batch.campaign, batch, batch[::-1], batch[:3]))
    again = ReportBatch.load(tmp_path / "reports", batch.campaign)
    assert wires_in(again) == list(wires_of(name))
    assert again.refused == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_parquet_file_with_repetitions_in_several_blocks_is_read_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    from lopub.reports.batch import report_files

    monkeypatch.setattr(report_files, "BLOCK_REPORTS", 7)
    batch = batch_of(name)
    report_files.save_reports(tmp_path / "r.parquet", batch.campaign, [batch, batch[5:9], batch])
    assert wires_in(ReportBatch.load(tmp_path / "r.parquet")) == list(wires_of(name))


def test_estimates_and_publications_do_not_know_how_often_or_in_which_order_reports_came(
    tmp_path: Path,
):
    campaign = make_campaign(people.DOMAIN, Terms(name="repeats"), CampaignRequest(epsilon=4))
    codes = np.random.default_rng(1).integers(0, 2, (400, 2))
    batch = replace(
        simulate(Dataset(people.DOMAIN, codes), campaign, seed=1), origin=PLAIN
    )  # frames do not tell where they are from
    order = np.random.default_rng(1).permutation(2 * len(batch)) % len(batch)
    (tmp_path / "mixed").write_bytes(framed_bytes(batch[order]))
    read = ReportBatch.load(tmp_path / "mixed", campaign)
    names = people.DOMAIN.names
    assert (estimate(read, names).probabilities == estimate(batch, names).probabilities).all()
    hashes = []
    for data, place in ((batch, "once"), (read, "twice")):
        publish(data).save(tmp_path / place)
        hashes.append((tmp_path / place / "manifest.json").read_bytes())
    assert hashes[0] == hashes[1]


def test_reports_known_by_their_hashes_only_count_once():
    batch = batch_of("subset sample jointly")
    hashed = replace(batch, ids=hashes_of(batch.ids))
    assert hashed.ids.shape[1] == HASH_BYTES
    twice = ReportBatch.concatenated([hashed, hashed[::-1]])
    assert (twice.ids == hashed.ids).all()
    assert twice.refused == {}


def test_single_reports_in_a_list_twice_make_a_batch_of_them_once():
    reports = reports_of("direct sample jointly")
    batch = ReportBatch.from_reports([*reports, *reports], campaign_of("direct sample jointly"))
    assert wires_in(batch) == list(wires_of("direct sample jointly"))


def test_a_batch_tells_how_many_repeated_reports_it_left_out_whatever_they_came_through():
    name = "direct sample jointly"
    campaign, reports = campaign_of(name), reports_of(name)
    conflicting = other(reports[0], campaign, name)
    batch = ReportBatch.from_reports([*reports, *reports[:3], conflicting], campaign)
    assert (batch.n_repeated, batch.refused) == (3, {Reason.CONFLICT: 1})
    assert ReportBatch.concatenated([batch, batch[:2]]).n_repeated == 3 + 2
    assert batch[:2].n_repeated == 0


# ---- conflicting ones


@pytest.mark.usefixtures("sieve")
@pytest.mark.parametrize("name", NAMES)
def test_of_two_reports_under_one_id_the_first_is_kept_and_the_second_refused(
    tmp_path: Path, name: str
):
    campaign, (first, *rest) = campaign_of(name), reports_of(name)
    second = other(first, campaign, name)
    day = replace(
        first,
        slot=first.slot + 1 if first.slot + 1 in {each.slot for each in rest} else rest[0].slot,
    )
    wires = [first, *rest, second, first, day]
    path = tmp_path / "reports"
    path.write_bytes(b"".join(len(each.to_bytes()).to_bytes(2) + each.to_bytes() for each in wires))
    batch = ReportBatch.load(path, campaign)
    assert wires_in(batch) == list(wires_of(name))
    assert batch.refused == {Reason.CONFLICT: 2 if day.slot != first.slot else 1}


def test_which_is_first_is_decided_by_the_order_of_the_file():
    name = "direct sample jointly"
    campaign, first = campaign_of(name), reports_of(name)[0]
    second = other(first, campaign, name)
    batches = [
        ReportBatch.from_reports(pair, campaign) for pair in ([first, second], [second, first])
    ]
    assert [batch.report(0).to_bytes() for batch in batches] == [
        first.to_bytes(),
        second.to_bytes(),
    ]
    assert all(batch.refused == {Reason.CONFLICT: 1} for batch in batches)


def test_a_malformed_report_does_not_keep_a_good_one_out(tmp_path: Path):
    """As in a collector: what is refused for itself takes no id."""
    name = "direct sample jointly"
    campaign, wire = campaign_of(name), wires_of(name)[0]
    path = tmp_path / "reports"
    damaged = wire[:-1] + b"\xff" * 30
    path.write_bytes(b"".join(len(each).to_bytes(2) + each for each in (damaged, wire)))
    batch = ReportBatch.load(path, campaign)
    assert wires_in(batch) == [wire]
    assert batch.refused == {Reason.LENGTH: 1}


def test_refused_reports_are_in_the_manifest_and_in_the_counts(tmp_path: Path):
    name = "direct sample jointly"
    campaign, reports = campaign_of(name), reports_of(name)
    batch = ReportBatch.from_reports([*reports, other(reports[0], campaign, name)], campaign)
    assert publish(batch).refused == {Reason.CONFLICT: 1}
    assert count(batch).refused == {Reason.CONFLICT: 1}


# ---- counting


@pytest.mark.parametrize("name", NAMES)
def test_counts_of_several_files_count_each_report_once(tmp_path: Path, name: str):
    campaign, batch = campaign_of(name), batch_of(name)
    (tmp_path / "a").write_bytes(framed_bytes(batch[:20]) + b"\x00\x01x")
    wrong = other(reports_of(name)[3], campaign, name).to_bytes()
    (tmp_path / "b").write_bytes(
        framed_bytes(batch[10:]) + framed_bytes(batch[15:17]) + len(wrong).to_bytes(2) + wrong
    )
    total = count_source(FileSource([tmp_path / "a", tmp_path / "b"], campaign), LocalEngine(1))
    alone = count(batch)
    assert total.n_repeated == 10 + 2
    assert total.refused == {Reason.LENGTH: 1, Reason.CONFLICT: 1}
    assert len(total) == len(alone)
    assert list(total.tables) == list(alone.tables)
    for key, table in alone.tables.items():
        for mine, theirs in zip(
            vars(table).values(), vars(total.tables[key]).values(), strict=True
        ):
            assert np.array_equal(mine, theirs)


def test_files_without_repetitions_are_walked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    walked: list[str] = []
    monkeypatch.setattr(
        "lopub.reports.engines.file_source.walk_reports",
        lambda file, campaign, within: (
            walked.append(file.name) or walk_reports(file, campaign, within=within)
        ),
    )
    batch = batch_of("direct sample jointly")
    (tmp_path / "a").write_bytes(framed_bytes(batch))
    assert len(count_source(FileSource([tmp_path / "a"], batch.campaign), LocalEngine(1))) == len(
        batch
    )
    assert walked == ["a"]


# ---- the sieve


@pytest.mark.usefixtures("sieve")
@pytest.mark.parametrize(
    "spread", [2**64, 2**20, 300, 1], ids=["random", "narrow", "crowded", "all alike"]
)
def test_shared_keys_are_those_that_are_there_more_than_once(spread: int):
    """Also where all keys fall on few bits of the sieve, as somebody who makes ids up could have it."""
    rng = np.random.default_rng(5)
    keys = (rng.integers(0, spread, 3000, dtype=np.uint64) << np.uint64(rng.integers(0, 4))).astype(
        np.uint64
    )
    distinct, n = np.unique(keys, return_counts=True)
    assert shared_keys(keys).tolist() == distinct[n > 1].tolist()


@pytest.mark.usefixtures("sieve")
def test_ids_that_share_their_first_half_are_told_apart():
    ids = np.zeros((50, 16), dtype=np.uint8)
    ids[:, 12] = np.arange(50) % 40
    later, first = later_ones(ids)
    assert sorted(zip(later.tolist(), first.tolist(), strict=True)) == [
        (40 + i, i) for i in range(10)
    ]


def test_strings_are_compared_whole():
    texts = [b"abc", b"abd", b"abc", b"ab", b"xabc", b"c"]
    strings = Packed.from_lengths(
        np.frombuffer(b"".join(texts), np.uint8), np.array([len(text) for text in texts])
    )
    pairs = [(i, j) for i in range(6) for j in range(6)]
    random.Random(1).shuffle(pairs)
    same = same_strings(strings, *np.array(pairs).T)
    assert same.tolist() == [texts[i] == texts[j] for i, j in pairs]
