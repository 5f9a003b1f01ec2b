"""Counts are what brute force counts, add up however reports are split, and come back from their files or are refused."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_batch import NAMES, campaign_of

from lopub import Dataset, publish
from lopub.bulk import ANSWERS, bulk_of
from lopub.bulk.compiling import compiled
from lopub.bulk.records import padded_views
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.errors import CampaignError, DomainError, LopubError, Reason, StoreError
from lopub.estimation.basis import Reports
from lopub.queries import Study
from lopub.reports.batch import N_FOLDS, ReportBatch, digests_of, folds_of, walk_reports
from lopub.reports.batch.report_files import from_frames
from lopub.reports.counts import Counts, Table, count, count_singly, form_of, is_counts
from lopub.reports.counts.columns import add_contingency, add_overlaps, lay_columns, ones
from lopub.reports.simulation import simulate
from tiers import FULL

SETTLED = settings(derandomize=True, deadline=None, max_examples=25 if FULL else 5)
APART = [name for name in NAMES if not name.startswith("direct") and name.endswith("separately")]
"""Those whose counts have overlaps of bits."""
DIRECT = [name for name in NAMES if name.startswith("direct")]
FEW, SOME, MANY = 50, 700, 4200
"""Less than a word of reports, several words, and more than the words that are counted at once."""
KINDS = [
    "bloom listed separately",
    "subset sample separately",
    "subset sample jointly",
    "direct fill jointly",
]
"""One of each shape of table."""
OFTEN = {
    *KINDS,
    "bloom all jointly",
    "symmetric all separately",
    "symmetric fill jointly",
    "optimized listed jointly",
    "optimized sample separately",
    "direct all separately",
    "direct listed jointly",
}
"""Every mechanism, every view, and both ways to randomize."""
each_name = pytest.mark.parametrize(
    "name",
    [name if name in OFTEN else pytest.param(name, marks=pytest.mark.full) for name in NAMES],
)


@cache
def batch_of(name: str, n: int = SOME, seed: int = 3) -> ReportBatch:
    """Reports of people with skewed answers, so that no two tables are alike by chance."""
    campaign, rng = campaign_of(name), np.random.default_rng(seed)
    columns = [np.minimum(rng.geometric(0.4, n) - 1, size - 1) for size in campaign.domain.sizes]
    return simulate(Dataset(campaign.domain, np.stack(columns, axis=1)), campaign, seed=seed)


@cache
def counts_of(name: str, n: int = SOME) -> Counts:
    return count(batch_of(name, n))


def plain(counts: Counts) -> dict[object, object]:
    """Everything in the counts, as something that can be compared."""
    tables = {key: (table.n_reports, table.counts.tolist()) for key, table in counts.tables.items()}
    return {
        "campaign": counts.campaign.id,
        "n": len(counts),
        "refused": dict(counts.refused),
        "slots": counts.slots,
        **tables,
    }


# ---- brute force


def outputs_of(batch: ReportBatch) -> Iterator[tuple[Clique, bytes, list[int]]]:
    """Clique, id and the blocks' outputs of one report after the other."""
    for row in range(len(batch)):
        report = batch.report(row)
        yield report.view(batch.campaign), report.id, list(report.outputs(batch.campaign))


def brute_overlaps(batch: ReportBatch) -> dict[object, np.ndarray]:
    """Separately randomized bits: products of the bits that `batch.bits` shows, report by report."""
    names, sizes = (
        batch.campaign.domain.names,
        np.array([len(view) for view in batch.views])[batch.view_index],
    )
    found: dict[object, np.ndarray] = {}
    carried = {position: batch.bits(names[position]) for position in range(len(names))}
    whole = {}
    for position, block in carried.items():
        whole[position] = np.zeros((len(batch), block.bits.shape[1]), dtype=np.int64)
        whole[position][block.rows] = block.bits
    for noise in np.unique(sizes):
        rows = sizes == noise
        for a in whole:
            found[(a,), int(noise)] = whole[a][rows].sum(axis=0)
        for a, b in combinations(whole, 2):
            found[(a, b), int(noise)] = whole[a][rows].T @ whole[b][rows]
    return found


def brute_views(batch: ReportBatch) -> dict[object, np.ndarray]:
    """By fold, how many reports there are, and the ones of each bit; report by report."""
    names = batch.campaign.domain.names
    found: dict[object, np.ndarray] = {}
    for view in batch.views:
        block = batch.bits([names[p] for p in view])
        table = np.zeros((N_FOLDS, 1 + block.bits.shape[1]), dtype=np.int64)
        for row, bits in zip(block.rows, block.bits, strict=True):
            table[fold_of(batch.report(row).id)] += [1, *bits]
        found[view, 0] = table
    return found


def is_answers(batch: ReportBatch) -> bool:
    return form_of(batch.campaign).name == ANSWERS


def fold_of(id_: bytes) -> int:
    return int.from_bytes(hashlib.sha256(id_).digest()[:4]) * N_FOLDS >> 32


def brute_contingency(batch: ReportBatch) -> dict[object, np.ndarray]:
    """Answers of single reports, counted one by one in dictionaries."""
    campaign, sizes = batch.campaign, batch.campaign.domain.sizes
    found: dict[object, np.ndarray] = {}
    for view, id_, outputs in outputs_of(batch):
        channels = campaign.channels(view)
        cells = [channel.cell(output) for channel, output in zip(channels, outputs, strict=True)]  # type: ignore[attr-defined]
        noise = channels[0].n_candidates if campaign.jointly else len(view)
        said = np.unravel_index(cells[0], [sizes[p] for p in view]) if campaign.jointly else cells
        answers = dict(zip(view, said, strict=True))
        fold = fold_of(id_)
        for part in [(p,) for p in view] + list(combinations(view, 2)):
            table = found.setdefault(
                (part, noise), np.zeros((N_FOLDS, *(sizes[p] for p in part)), dtype=np.int64)
            )
            table[(fold, *(answers[p] for p in part))] += 1
    return found


def brute_force(batch: ReportBatch) -> dict[object, np.ndarray]:
    if is_answers(batch):
        return brute_contingency(batch)
    return brute_views(batch) if batch.campaign.jointly else brute_overlaps(batch)


def covering(batch: ReportBatch, part: Clique, noise: int) -> int:
    """How many reports of this noise cover these attributes; by their views."""
    n = 0
    for view in np.array([*batch.views, ()], dtype=object)[batch.view_index]:
        jointly, bits = batch.campaign.jointly, (not is_answers(batch))
        own = batch.campaign.channels(view)[0].n_candidates if jointly else len(view)
        n += view == part if jointly and bits else set(part) <= set(view) and own == noise
    return int(n)


@each_name
@pytest.mark.parametrize("n", [FEW, SOME])
def test_counts_equal_brute_force(name: str, n: int) -> None:
    counts, expected = counts_of(name, n), brute_force(batch_of(name, n))
    for key, table in expected.items():
        if covering(batch_of(name, n), *key):  # type: ignore[misc]
            np.testing.assert_array_equal(counts.tables[key].counts, table)  # type: ignore[index]
    assert set(counts.tables) <= set(expected)


@each_name
def test_a_table_says_how_many_reports_it_is_of(name: str) -> None:
    batch = batch_of(name, FEW)
    for (part, noise), table in counts_of(name, FEW).tables.items():
        assert table.n_reports == covering(batch, part, noise) > 0


@pytest.mark.parametrize(
    "name",
    [
        "bloom all separately",
        "bloom listed separately",
        "subset sample jointly",
        "direct all separately",
    ],
)
def test_counts_of_more_reports_than_are_counted_at_once_equal_brute_force(name: str) -> None:
    expected = brute_force(batch_of(name, MANY))
    for key, table in counts_of(name, MANY).tables.items():
        np.testing.assert_array_equal(table.counts, expected[key])


def test_answers_that_do_not_fit_one_chunk_are_counted_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "direct fill jointly"
    whole = plain(counts_of(name))
    monkeypatch.setattr("lopub.reports.counts.answer_tables.CHUNK", 64)
    assert plain(count(batch_of(name))) == whole


def test_views_whose_bits_do_not_fit_one_chunk_are_counted_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "subset sample jointly"
    whole = plain(counts_of(name))
    monkeypatch.setattr("lopub.reports.counts.view_bits.CHUNK", 70)
    assert plain(count(batch_of(name))) == whole


@pytest.mark.parametrize("n_cores", [1, 3, pytest.param(64, marks=pytest.mark.full)])
def test_counts_do_not_depend_on_the_number_of_cores(
    n_cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "bloom listed separately"
    whole = plain(counts_of(name))
    monkeypatch.setattr("lopub.reports.counts.attribute_bits.os.cpu_count", lambda: n_cores)
    assert plain(count(batch_of(name))) == whole


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("most", [0, 300, 1_000])
def test_counts_do_not_depend_on_whether_cells_or_answers_are_counted(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, batch = plain(counts_of(name)), batch_of(name)
    monkeypatch.setattr("lopub.reports.counts.answer_tables.MOST_CELLS", most)
    alone = [batch[batch.view_index == number] for number in range(len(batch.views))]
    parts = [
        ReportBatch.from_reports([part.report(i) for i in range(len(part))], batch.campaign)
        for part in alone
    ]
    assert plain(count(parts)) == whole == plain(count(batch))


@pytest.mark.parametrize("name", DIRECT)
def test_every_answer_is_counted_once_in_every_table_that_it_belongs_to(name: str) -> None:
    for table in counts_of(name).tables.values():
        assert table.counts.sum() == table.n_reports


# ---- what a direct report says


@pytest.mark.parametrize("name", DIRECT)
def test_answers_are_the_outputs_of_single_reports(name: str) -> None:
    batch = batch_of(name, FEW)
    campaign, sizes, answers = (
        batch.campaign,
        batch.campaign.domain.sizes,
        bulk_of(batch.campaign.mechanism).answers(batch),
    )
    for row, (view, _, outputs) in enumerate(outputs_of(batch)):
        channels = campaign.channels(view)
        assert all(isinstance(channel, DirectChannel) for channel in channels)
        cells = [channel.cell(output) for channel, output in zip(channels, outputs, strict=True)]  # type: ignore[attr-defined]
        expected = np.full(len(sizes), -1)
        expected[list(view)] = (
            np.unravel_index(cells[0], [sizes[p] for p in view]) if campaign.jointly else cells
        )
        assert answers.values[row].tolist() == expected.tolist()
        noise = channels[0].n_candidates if campaign.jointly else len(view)
        assert answers.noises[answers.noise[row]] == noise


def test_a_fold_is_a_fifth_of_the_range_of_sha_256() -> None:
    ids = np.random.default_rng(1).integers(0, 256, (500, 16), dtype=np.uint8)
    digests = digests_of(ids)
    expected = [int.from_bytes(hashlib.sha256(id_.tobytes()).digest()[:8]) for id_ in ids]
    assert digests.tolist() == expected
    assert folds_of(digests).tolist() == [(digest >> 32) * 5 >> 32 for digest in expected]


def test_hashes_made_in_chunks_are_those_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.random.default_rng(1).integers(0, 256, (50, 16), dtype=np.uint8)
    whole = digests_of(ids)
    monkeypatch.setattr("lopub.bulk.folds.CHUNK", 7)
    np.testing.assert_array_equal(digests_of(ids), whole)


def test_the_first_and_the_last_hash_lie_in_the_first_and_the_last_fold() -> None:
    assert folds_of(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0, N_FOLDS - 1]


def test_folds_have_about_the_same_number_of_reports() -> None:
    ids = np.random.default_rng(2).integers(0, 256, (50_000, 16), dtype=np.uint8)
    sizes = np.bincount(folds_of(digests_of(ids)), minlength=N_FOLDS)
    assert np.abs(sizes - 10_000).max() < 6.2 * np.sqrt(8_000)


# ---- adding up


@each_name
def test_counts_of_split_batches_add_to_the_counts_of_the_whole(name: str) -> None:
    batch = batch_of(name)
    cuts = [0, 0, 1, 64, 65, 400, SOME, SOME]  # the first and the last part are empty
    parts = [count(batch[low:high]) for low, high in pairwise(cuts)]
    assert plain(sum(parts[1:], start=parts[0])) == plain(counts_of(name))


@pytest.mark.parametrize("name", KINDS)
@SETTLED
@given(
    split=st.lists(st.integers(0, 3), min_size=FEW, max_size=FEW), order=st.permutations(range(4))
)
def test_reports_may_be_split_anyhow_and_added_in_any_order(
    name: str, split: list[int], order: list[int]
) -> None:
    batch, of = batch_of(name, FEW), np.array(split)
    parts = [count(batch[of == part]) for part in order]
    assert plain((parts[0] + parts[1]) + (parts[2] + parts[3])) == plain(counts_of(name, FEW))


@each_name
def test_the_order_of_reports_does_not_matter(name: str) -> None:
    shuffled = batch_of(name)[np.random.default_rng(5).permutation(SOME)]
    assert plain(count(shuffled)) == plain(counts_of(name))


@pytest.mark.parametrize("name", KINDS)
def test_blocks_are_counted_like_the_whole(name: str) -> None:
    batch = batch_of(name)
    assert plain(count(batch[start : start + 99] for start in range(0, SOME, 99))) == plain(
        counts_of(name)
    )


@pytest.mark.parametrize("name", KINDS)
def test_an_empty_batch_has_no_tables(name: str) -> None:
    nothing = {"campaign": campaign_of(name).id, "n": 0, "refused": {}, "slots": None}
    assert plain(count(from_frames([], campaign_of(name)))) == nothing


@pytest.mark.parametrize("name", KINDS)
def test_adding_nothing_changes_nothing(name: str) -> None:
    nothing = count(batch_of(name)[:0])
    assert (
        plain(nothing + counts_of(name))
        == plain(counts_of(name) + nothing)
        == plain(counts_of(name))
    )


def test_adding_leaves_both_sides_as_they_were() -> None:
    one, before = (
        counts_of("bloom listed separately", FEW),
        plain(counts_of("bloom listed separately", FEW)),
    )
    assert plain(one + one) != before
    assert plain(one) == before


def test_after_every_block_it_is_told_how_many_reports_are_counted() -> None:
    told: list[tuple[str, int, int | None]] = []
    batch = batch_of("direct fill jointly", FEW)
    count(
        (batch[start : start + 20] for start in (0, 20, 40)),
        progress=lambda *step: told.append(step),
    )
    assert told == [("counting", n, None) for n in (20, 40, FEW)]


def test_counts_of_different_campaigns_cannot_be_added() -> None:
    one, other = counts_of("direct all jointly"), counts_of("direct sample jointly")
    words = f"counts of campaign {other.campaign.id[:16]}… cannot be added to counts of {one.campaign.id[:16]}…"
    with pytest.raises(CampaignError, match=f"^{words}$"):
        one + other


def test_counts_and_numbers_cannot_be_added() -> None:
    with pytest.raises(TypeError):
        counts_of("direct all jointly") + 1  # type: ignore[operator]


def test_blocks_of_different_campaigns_cannot_be_counted_together() -> None:
    with pytest.raises(CampaignError, match="cannot be counted with"):
        count([batch_of("direct all jointly", FEW), batch_of("direct sample jointly", FEW)])


def test_no_blocks_at_all_are_refused() -> None:
    with pytest.raises(DomainError, match=r"^no batches to count$"):
        count([])


def test_refused_reports_are_carried_along() -> None:
    campaign = campaign_of("direct sample jointly")
    wires = [batch_of("direct sample jointly").report(i).to_bytes() for i in range(3)]
    batches = [
        from_frames([b"", wires[0]], campaign),
        from_frames([b"", b"\x09" + wires[1][1:], wires[2]], campaign),
    ]
    counts = count(batches)
    assert counts.refused == {Reason.LENGTH: 2, Reason.VERSION: 1} and len(counts) == 2


@each_name
def test_counts_without_overlaps_are_those_of_all_counts(name: str) -> None:
    batch = batch_of(name)
    every, singly = count(batch), count_singly(batch)
    kept = {
        key: table
        for key, table in every.tables.items()
        if len(key[0]) == 1 or batch.campaign.jointly or is_answers(batch)
    }
    assert len(singly) == len(every)
    assert list(singly.tables) == list(kept)
    for key, table in singly.tables.items():
        assert table.n_reports == kept[key].n_reports
        np.testing.assert_array_equal(table.counts, kept[key].counts)


@pytest.mark.parametrize(
    "name",
    [n if n == KINDS[0] else pytest.param(n, marks=pytest.mark.full) for n in APART],
)
def test_publishing_counts_no_overlaps_of_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit compares single bits; with 300 Bloom attributes the overlaps of all bits would take 16 GB."""
    batch = batch_of(name)
    expected = publish(batch, rows=20, counts=False)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("overlaps were counted")

    monkeypatch.setattr("lopub.reports.counts.attribute_bits.OverlapTally", refuse)
    assert publish(batch, rows=20, counts=False).fit == expected.fit


@each_name
def test_reports_that_touch_a_clique_are_counted_once(name: str) -> None:
    batch = batch_of(name)
    counts, reports, d = count(batch), Reports(batch), len(batch.campaign.domain)
    for n in (1, 2, 3, d):
        for clique in combinations(range(d), n):
            touching = sum(
                len(batch.rows_of(number))
                for number, view in enumerate(batch.views)
                if set(view) & set(clique)
            )
            assert reports.n_touching(clique) == touching
            assert touching <= counts.n_touching(clique) <= len(batch)
            if n <= 2 or ((not is_answers(batch)) and batch.campaign.jointly):
                assert counts.n_touching(clique) == touching


OFTEN_JOINED = {"bloom listed separately", "direct fill jointly"}
"""Kinds whose joints the gate tries; the full tier tries all."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in OFTEN_JOINED else pytest.param(name, marks=pytest.mark.full)
        for name in KINDS
    ],
)
@pytest.mark.parametrize("method", ["shrunk", "product"])
def test_no_joint_is_made_of_more_reports_than_there_are(name: str, method: str) -> None:
    batch = batch_of(name)
    names = batch.campaign.domain.names
    for n in (2, 3, len(names)):
        assert Study(batch).estimate(names[:n], method).fit.n_reports <= len(batch)


@each_name
def test_reports_that_cover_a_clique_are_those_of_the_batch(name: str) -> None:
    batch, counts = batch_of(name), counts_of(name)
    for clique in [(0,), (3,), (0, 1), (1, 3)]:
        views = [
            view
            for view in np.array([*batch.views, ()], dtype=object)[batch.view_index]
            if set(clique) <= set(view)
        ]
        assert counts.n_covering(clique) == len(views)


# ---- files


@each_name
def test_counts_come_back_from_their_file(name: str, tmp_path: Path) -> None:
    counts_of(name).save(tmp_path / "counts.parquet")
    back = Counts.load(tmp_path / "counts.parquet", campaign_of(name))
    assert plain(back) == plain(counts_of(name))
    assert list(back.tables) == list(counts_of(name).tables)


def test_a_file_of_counts_brings_its_own_campaign(tmp_path: Path) -> None:
    counts_of("bloom sample jointly").save(tmp_path / "counts.parquet")
    assert Counts.load(tmp_path / "counts.parquet").campaign == campaign_of("bloom sample jointly")


@pytest.mark.parametrize("name", KINDS)
def test_the_same_counts_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    batch = batch_of(name)
    halves = count(batch[SOME // 2 :]) + count(batch[: SOME // 2])
    for file, counts in {"one": counts_of(name), "other": halves}.items():
        counts.save(tmp_path / file)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_counts_without_reports_come_back_from_their_file(tmp_path: Path) -> None:
    count(batch_of("subset sample jointly")[:0]).save(tmp_path / "counts.parquet")
    assert len(Counts.load(tmp_path / "counts.parquet")) == 0


def test_refused_reports_come_back_from_their_file(tmp_path: Path) -> None:
    count(from_frames([b"", b""], campaign_of("direct all jointly"))).save(
        tmp_path / "counts.parquet"
    )
    assert Counts.load(tmp_path / "counts.parquet").refused == {Reason.LENGTH: 2}


@pytest.mark.parametrize("name", KINDS)
def test_a_report_in_two_batches_of_a_list_is_counted_once(name: str) -> None:
    batch = batch_of(name)
    assert (
        plain(count([batch, batch]))
        == plain(count([batch[:400], batch[300:]]))
        == plain(counts_of(name))
    )


@pytest.mark.parametrize(
    "reports", ["reports.parquet", ["reports.parquet"], iter(["reports.parquet"])]
)
def test_what_is_not_a_batch_is_refused_by_its_type(reports: object) -> None:
    with pytest.raises(
        DomainError,
        match=r"^reports must be a ReportBatch, or several, got str; ReportBatch\.load reads",
    ):
        count(reports)


def days_of(batch: ReportBatch, first: int) -> ReportBatch:
    """The same reports, each on a day of its own."""
    return replace(batch, slots=np.arange(first, first + len(batch), dtype=np.uint32))


def test_the_slots_of_counts_are_the_first_and_the_last_of_all_reports() -> None:
    days = days_of(batch_of("direct all jointly"), 100)
    assert (
        (count(days[500:]) + count(days[:500])).slots
        == count(iter([days[:30], days[30:]])).slots
        == (100, 99 + SOME)
    )


def test_counts_of_nobody_have_no_slots_and_take_none_away() -> None:
    batch = batch_of("direct all jointly")
    nobody = count(batch[:0])
    assert nobody.slots is None and (nobody + count(days_of(batch, 5))).slots == (5, 4 + SOME)


def test_counts_out_of_an_older_file_do_not_tell_their_slots(tmp_path: Path) -> None:
    old = Counts.load(
        tampered(tmp_path / "c", "direct all jointly", with_metadata(b"lopub.slots", None))
    )
    assert old.slots is None and (old + counts_of("direct all jointly")).slots is None


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("block", [1 + SOME // 3, 4 * SOME])
def test_a_file_walked_in_blocks_gives_the_counts_of_the_whole(
    name: str, block: int, tmp_path: Path
) -> None:
    batch_of(name).save(tmp_path / "reports.parquet")
    assert plain(count(walk_reports(tmp_path / "reports.parquet", block=block))) == plain(
        counts_of(name)
    )


def test_a_file_that_exists_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        counts_of("direct all jointly").save(path)
    assert path.read_text() == "mine"
    counts_of("direct all jointly").save(path, force=True)
    assert is_counts(path)


def test_only_files_of_counts_are_said_to_be_such(tmp_path: Path) -> None:
    counts_of("direct all jointly").save(tmp_path / "counts.parquet")
    batch_of("direct all jointly").save(tmp_path / "reports.parquet")
    (tmp_path / "text").write_text("PAR1")
    found = {
        name: is_counts(tmp_path / name)
        for name in ("counts.parquet", "reports.parquet", "text", "nothing")
    }
    assert found == {
        "counts.parquet": True,
        "reports.parquet": False,
        "text": False,
        "nothing": False,
    }


# ---- files that are refused

Edit = Callable[[pa.Table, dict[bytes, bytes]], pa.Table]


def refusal(path: Path, error: type[LopubError], name: str | None = None) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(error) as caught:
        Counts.load(path, campaign_of(name) if name else None)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def tampered(path: Path, name: str, edit: Edit) -> Path:
    """A file of counts with something else in it."""
    counts_of(name, FEW).save(path)
    table = pa.parquet.read_table(path)
    metadata = dict(table.schema.metadata)
    table = edit(table, metadata)
    pa.parquet.write_table(table.replace_schema_metadata(metadata), path)
    return path


def with_metadata(key: bytes, value: bytes | None) -> Edit:
    def edit(table: pa.Table, metadata: dict[bytes, bytes]) -> pa.Table:
        if value is None:
            del metadata[key]
        else:
            metadata[key] = value
        return table

    return edit


def with_rows(change: Callable[[list[dict[str, object]]], object]) -> Edit:
    """Change the rows in place."""

    def edit(table: pa.Table, metadata: dict[bytes, bytes]) -> pa.Table:
        rows = table.to_pylist()
        change(rows)
        return pa.Table.from_pylist(rows, schema=table.schema)

    return edit


def test_counts_of_another_version_are_refused(tmp_path: Path) -> None:
    path = tampered(tmp_path / "c", "direct all jointly", with_metadata(b"lopub.counts", b"3"))
    assert (
        refusal(path, StoreError)
        == f"{path} holds counts of version 3; this program reads version 1"
    )


def test_counts_of_another_campaign_are_refused(tmp_path: Path) -> None:
    counts_of("direct all jointly").save(tmp_path / "c")
    own, other = (
        campaign_of("direct all jointly").id[:16],
        campaign_of("direct sample jointly").id[:16],
    )
    expected = f"{tmp_path / 'c'} holds counts of campaign {own}…, not of {other}…"
    assert refusal(tmp_path / "c", CampaignError, "direct sample jointly") == expected


def test_a_campaign_that_is_not_the_one_named_is_refused(tmp_path: Path) -> None:
    path = tampered(
        tmp_path / "c", "direct all jointly", with_metadata(b"lopub.campaign_id", b"0" * 64)
    )
    refusal(path, CampaignError)


@pytest.mark.parametrize("at", [0, 4, 100, -9])
def test_a_cut_off_file_is_refused(at: int, tmp_path: Path) -> None:
    counts_of("bloom sample separately").save(tmp_path / "c")
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:at])
    assert refusal(tmp_path / "c", StoreError).startswith(f"cannot read counts {tmp_path / 'c'}: ")


def test_a_damaged_file_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    counts_of("subset sample jointly").save(tmp_path / "c")
    whole = (tmp_path / "c").read_bytes()
    for at in range(4, 1200, 61):  # within the pages, which carry checksums
        (tmp_path / "c").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            back = Counts.load(tmp_path / "c")
        except StoreError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert plain(back) == plain(counts_of("subset sample jointly"))


def test_a_file_of_reports_is_refused(tmp_path: Path) -> None:
    batch_of("direct all jointly").save(tmp_path / "reports.parquet")
    expected = f"{tmp_path / 'reports.parquet'} is a Parquet file, but not one of counts"
    assert refusal(tmp_path / "reports.parquet", StoreError) == expected


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing", StoreError).startswith(
        f"cannot read counts {tmp_path / 'nothing'}: "
    )


def test_a_directory_is_refused(tmp_path: Path) -> None:
    refusal(tmp_path, StoreError)


def test_a_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tampered(
        tmp_path / "c", "direct all jointly", lambda table, _: table.drop_columns(["noise"])
    )
    assert refusal(path, StoreError) == f"{path} is a Parquet file, but not one of counts"


def negative(rows: list[dict[str, list[int]]]) -> None:
    rows[0]["counts"][0] -= 1_000
    rows[0]["counts"][1] += 1_000


def too_large(rows: list[dict[str, list[int]]]) -> None:
    rows[0]["counts"][0] += 1_000


TAMPERED: dict[str, Callable[[list[dict[str, object]]], object]] = {
    "a negative count": negative,  # type: ignore[dict-item]
    "more ones than reports": too_large,  # type: ignore[dict-item]
    "a count too few": lambda rows: rows[0].update(counts=rows[0]["counts"][:-1]),  # type: ignore[index]
    "a count too many": lambda rows: rows[0].update(counts=[*rows[0]["counts"], 0]),  # type: ignore[misc]
    "no counts": lambda rows: rows[0].update(counts=None),
    "no attributes": lambda rows: rows[0].update(attributes=[]),
    "attributes without a value": lambda rows: rows[0].update(attributes=None),
    "an attribute twice": lambda rows: rows[-1].update(attributes=[1, 1]),
    "attributes out of order": lambda rows: rows[-1].update(
        attributes=[*reversed(rows[-1]["attributes"]), 0]
    ),  # type: ignore[call-overload]
    "an attribute that there is not": lambda rows: rows[0].update(attributes=[4]),
    "an attribute below the first": lambda rows: rows[0].update(attributes=[-1]),
    "more reports in a table than in all": lambda rows: rows[0].update(n_reports=FEW + 1),
    "reports without a number": lambda rows: rows[0].update(n_reports=None),
    "noise without a number": lambda rows: rows[0].update(noise=None),
}


@pytest.mark.parametrize("name", KINDS)
def test_tables_that_do_not_fit_are_refused(name: str, tmp_path: Path) -> None:
    read = {}
    for what, change in TAMPERED.items():
        path = tampered(tmp_path / what, name, with_rows(change))
        try:
            read[what] = plain(Counts.load(path))
        except StoreError as error:
            words = f"{path} is a file of counts, but its tables do not fit its campaign"
            if str(error) != words:
                read[what] = str(error)
    assert read == {}


def test_direct_answers_that_do_not_sum_to_their_reports_are_refused(tmp_path: Path) -> None:
    path = tampered(
        tmp_path / "c", "direct fill jointly", with_rows(lambda rows: rows[0].update(n_reports=FEW))
    )
    assert "do not fit its campaign" in refusal(path, StoreError)


@pytest.mark.parametrize("name", KINDS)
def test_a_count_without_a_value_is_refused(name: str, tmp_path: Path) -> None:
    def nothing(rows: list[dict[str, object]]) -> None:
        rows[0]["counts"][0] = None  # type: ignore[index]

    path = tampered(tmp_path / "c", name, with_rows(nothing))
    assert "do not fit its campaign" in refusal(path, StoreError)


@pytest.mark.parametrize("name", KINDS)
def test_the_same_table_twice_is_refused(name: str, tmp_path: Path) -> None:
    path = tampered(tmp_path / "c", name, with_rows(lambda rows: rows.append(dict(rows[0]))))
    assert "do not fit its campaign" in refusal(path, StoreError)


@pytest.mark.parametrize(
    "name",
    [
        "bloom listed separately",
        "subset sample separately",
        "subset sample jointly",
        "direct fill jointly",
        "direct sample separately",
    ],
)
def test_a_noise_that_no_report_has_is_refused(name: str, tmp_path: Path) -> None:
    """Later on it would be a KeyError, a CampaignError about a noise for 77 blocks, or an estimate that is wrong."""
    path = tampered(tmp_path / "c", name, with_rows(lambda rows: rows[0].update(noise=77)))
    assert "do not fit its campaign" in refusal(path, StoreError)


def test_a_view_that_nobody_can_draw_is_refused(tmp_path: Path) -> None:
    def lone(rows: list[dict[str, object]]) -> None:
        rows.append({"attributes": [2], "noise": 0, "n_reports": 1, "counts": [0, 1]})

    path = tampered(tmp_path / "c", "subset sample jointly", with_rows(lone))
    assert "do not fit its campaign" in refusal(path, StoreError)


@pytest.mark.parametrize("name", ["bloom listed separately", "direct fill jointly"])
def test_a_pair_without_the_tables_of_its_attributes_is_refused(name: str, tmp_path: Path) -> None:
    def only_pairs(rows: list[dict[str, object]]) -> None:
        rows[:] = [row for row in rows if len(row["attributes"]) == 2]  # type: ignore[arg-type]

    path = tampered(tmp_path / "c", name, with_rows(only_pairs))
    assert "do not fit its campaign" in refusal(path, StoreError)


def test_a_pair_that_its_attributes_contradict_is_refused(tmp_path: Path) -> None:
    """A pair's answers, summed over one attribute, cannot be more than the other attribute's own: estimates would
    subtract them and go on with negative counts."""

    def heap(rows: list[dict[str, object]]) -> None:
        pair = next(row for row in rows if len(row["attributes"]) == 2)  # type: ignore[arg-type]
        pair["counts"] = [pair["n_reports"]] + [0] * (len(pair["counts"]) - 1)  # type: ignore[arg-type]

    path = tampered(tmp_path / "c", "direct fill jointly", with_rows(heap))
    assert "do not fit its campaign" in refusal(path, StoreError)


def test_counts_whose_sum_overflows_are_refused(tmp_path: Path) -> None:
    """Four times 2^62 is 0 in 64 bits."""

    def huge(rows: list[dict[str, object]]) -> None:
        rows[0]["counts"] = [2**62] * 4 + [0] * (len(rows[0]["counts"]) - 4)  # type: ignore[arg-type]
        rows[0]["n_reports"] = 0

    path = tampered(tmp_path / "c", "direct fill jointly", with_rows(huge))
    assert "do not fit its campaign" in refusal(path, StoreError)


def test_a_table_without_reports_is_refused(tmp_path: Path) -> None:
    """Estimates divide by the number of reports of a table."""

    def nobody(rows: list[dict[str, object]]) -> None:
        rows[0].update(n_reports=0, counts=[0] * len(rows[0]["counts"]))  # type: ignore[arg-type]

    path = tampered(tmp_path / "c", "subset sample jointly", with_rows(nobody))
    assert "do not fit its campaign" in refusal(path, StoreError)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"lopub.n_reports", None),
        (b"lopub.n_reports", b"many"),
        (b"lopub.n_reports", b"3"),
        (b"lopub.refused", None),
        (b"lopub.refused", b"nothing"),
        (b"lopub.refused", b"[]"),
        (b"lopub.refused", json.dumps({"boredom": 1}).encode()),
        (b"lopub.refused", json.dumps({"length": "x"}).encode()),
        (b"lopub.slots", b"many"),
        (b"lopub.slots", b"7"),
        (b"lopub.slots", b"[7]"),
        (b"lopub.slots", b"[8, 7]"),
        (b"lopub.slots", b"[-1, 7]"),
        (b"lopub.slots", b"[0, 4294967296]"),
        (b"lopub.slots", b"[0, 1.5]"),
        (b"lopub.slots", b"[null, null]"),
    ],
)
def test_numbers_of_reports_that_do_not_fit_are_refused(
    key: bytes, value: bytes | None, tmp_path: Path
) -> None:
    path = tampered(tmp_path / "c", "direct all jointly", with_metadata(key, value))
    assert (
        refusal(path, StoreError)
        == f"{path} is a file of counts, but its tables do not fit its campaign"
    )


def test_refused_reports_cannot_be_fewer_than_none(tmp_path: Path) -> None:
    path = tampered(
        tmp_path / "c", "direct all jointly", with_metadata(b"lopub.refused", b'{"length": -1}')
    )
    assert "do not fit its campaign" in refusal(path, StoreError)


def test_more_reports_than_all_in_the_tables_of_one_attribute_are_refused(tmp_path: Path) -> None:
    """Every table alone may be of no more reports than there are, while those of several noises together are of more."""
    name = "bloom listed separately"
    counts = counts_of(name, FEW)
    noises = counts.noises((1,))
    assert len(noises) == 2
    most = max(table.n_reports for table in counts.tables.values())
    path = tampered(tmp_path / "c", name, with_metadata(b"lopub.n_reports", str(most).encode()))
    assert "do not fit its campaign" in refusal(path, StoreError)


# ---- kernels


@compiled
def _ones_of(words: np.ndarray, found: np.ndarray) -> None:
    for i in range(len(words)):
        found[i] = ones(words[i])


def test_ones_are_counted_in_every_word() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, 300, dtype=np.uint64)
    words[:3] = [0, 2**64 - 1, 2**63]
    found = np.zeros(len(words), dtype=np.uint64)
    _ones_of(words, found)
    assert found.tolist() == [word.bit_count() for word in words.tolist()]


@pytest.mark.parametrize("n", [1, 7, 8, 63, 64, 65, 200])
@pytest.mark.parametrize("first", [0, 2])
def test_columns_are_the_bits_of_the_reports(n: int, first: int) -> None:
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 256, (n, 3), dtype=np.uint8)
    places = np.full(24, -1, dtype=np.int64)
    places[:21] = rng.permutation(30)[:21]
    columns = np.zeros((30, first + 4), dtype=np.uint64)
    lay_columns(rows, places, columns, first)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    expected = np.zeros((30, 64 * (first + 4)), dtype=np.uint8)
    for bit in range(21):
        expected[places[bit], 64 * first : 64 * first + n] = bits[:, bit]
    spread = np.unpackbits(columns.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(spread, expected)


@pytest.mark.parametrize("widths", [(1,), (5,), (3, 4), (1, 1, 1), (9, 2, 7, 3)])
@pytest.mark.parametrize("n_shares", [1, 3])
def test_overlaps_are_the_products_of_bits_of_different_attributes(
    widths: tuple[int, ...], n_shares: int
) -> None:
    rng = np.random.default_rng(sum(widths))
    n_bits, attribute = sum(widths), np.repeat(np.arange(len(widths)), widths)
    bits = rng.integers(0, 2, (n_bits, 130), dtype=np.uint8)
    padded = np.pad(bits, ((0, 0), (0, 192 - 130)))
    columns = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    ends = np.repeat(np.cumsum(widths), widths).astype(np.int64)
    together = np.full((n_bits, n_bits), 1000, dtype=np.int64)
    cuts = np.linspace(0, n_bits, n_shares + 1).astype(int)
    for low, high in pairwise(cuts):
        add_overlaps(columns, ends, int(low), int(high), together)
    wide = bits.astype(np.int64)
    expected = np.where(attribute[:, None] < attribute[None, :], wide @ wide.T, 0) + np.diag(
        wide.sum(axis=1)
    )
    np.testing.assert_array_equal(together - 1000, expected)


def test_contingency_counts_are_those_of_a_plain_loop() -> None:
    rng, sizes = np.random.default_rng(4), np.array([2, 3, 4])
    n, n_noises = 400, 2
    values = np.stack([rng.integers(-1, size, n) for size in sizes], axis=1).astype(np.int32)
    folds, noise = rng.integers(0, N_FOLDS, n).astype(np.int8), rng.integers(0, n_noises, n)
    starts, expected, n_cells = np.full((n_noises, 3, 3), -1, dtype=np.int64), [], 0
    for of in range(n_noises):
        for a in range(3):
            for b in range(a, 3):
                starts[of, a, b] = n_cells
                chosen = (noise == of) & (values[:, a] >= 0) & (values[:, b] >= 0)
                cells = folds[chosen] * sizes[a] + values[chosen, a]
                cells = cells if a == b else cells * sizes[b] + values[chosen, b]
                table = np.bincount(
                    cells, minlength=N_FOLDS * (sizes[a] if a == b else sizes[a] * sizes[b])
                )
                expected.append(table)
                n_cells += len(table)
    flat = np.zeros(n_cells, dtype=np.int64)
    masks = (values >= 0) @ (1 << np.arange(3))
    views = padded_views(tuple(tuple(p for p in range(3) if mask >> p & 1) for mask in range(8)))
    add_contingency(values, masks.astype(np.int32), views, folds, noise, starts, sizes, flat)
    np.testing.assert_array_equal(flat, np.concatenate(expected))


def test_tables_add_their_reports_and_their_counts() -> None:
    both = Table(2, np.array([1, 2])) + Table(3, np.array([0, 3]))
    assert both.n_reports == 5 and both.counts.tolist() == [1, 5]
