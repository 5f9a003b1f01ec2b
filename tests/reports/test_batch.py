"""A batch is its single reports: written, read, cut, joined and checked as one by one."""

import contextlib
import errno
import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiers
from lopub.bulk.folds import hashes_of
from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.domain import Boolean, Domain, IntegerRange
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report, framed
from lopub.campaign.schedule import Schedule
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, ViewRule
from lopub.cli.evaluate import parquet_texts
from lopub.client.noise import randomized
from lopub.errors import (
    CampaignError,
    DomainError,
    LopubError,
    NeedsReports,
    Reason,
    ReportRejected,
    StoreError,
)
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.reports.batch import (
    Packed,
    ReportBatch,
    digests_of,
    order_of,
    save_reports,
    walk_reports,
)
from lopub.reports.batch.report_files import framed_bytes, from_frames
from lopub.reports.counts.count_files import is_counts, load_counts
from lopub.reports.dataset import _read_parquet

SEED = 20_180_301
SETTLED = settings(derandomize=True, deadline=None)
TERMS = Terms(name="batch", schedule=Schedule(opens=date(2024, 1, 1), closes=date(2024, 12, 31)))
DAYS = TERMS.schedule.slots if TERMS.schedule else range(0)
N = 60

# ---- campaigns


def integers(*sizes: int) -> Domain:
    return Domain(
        tuple(
            IntegerRange(name=chr(97 + i), minimum=1, maximum=size) for i, size in enumerate(sizes)
        )
    )


VECTORS = Path(__file__).parents[1] / "golden" / "vectors.json"
MIXED = integers(3, 40, 2, 5)
"""Blocks of one and of two bytes, with and without padding."""
SPREAD = integers(2, 3, 300, 300)
"""Pairs of one, two and three bytes."""
MANY = Domain(tuple(Boolean(name=f"q{i}") for i in range(70)))
"""A view mask of nine bytes."""
HUGE = Domain(MANY.attributes[:60])
"""2^60 cells: numbers of eight bytes."""

MECHANISMS: dict[str, dict[str, object]] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 61, "n_hashes": 4},
    "symmetric": {"flip_probability": "0.5", "mechanism": "unary"},
    "optimized": {"epsilon": 3, "mechanism": "unary"},
    "subset": {"epsilon": 3, "mechanism": "subset"},
    "direct": {"epsilon": 3, "mechanism": "direct"},
}
VIEWS: dict[str, ViewRule] = {
    "all": AllAttributes(),
    "sample": Sample(2),
    "listed": Listed.of(MIXED, [(("a", "b"), 3), (("b", "c", "d"), 2), (("d",), 1)]),
    "fill": Fill(600),
}
KINDS = [
    (m, v, how)
    for m in MECHANISMS
    for v in VIEWS
    for how in ("jointly", "separately")
    if (v, how) != ("fill", "separately")
]
NAMES = [" ".join(kind) for kind in KINDS]
UNUSUAL: dict[str, tuple[Domain, ViewRule]] = {
    "direct spread": (
        SPREAD,
        Listed.of(SPREAD, [(("a", "b"), 1), (("b", "c"), 1), (("c", "d"), 1)]),
    ),
    "direct many": (MANY, Sample(2)),
    "direct huge": (HUGE, AllAttributes()),
}
EVERY = [*NAMES, *UNUSUAL]


@cache
def campaign_of(name: str) -> Campaign:
    if name in UNUSUAL:
        domain, view = UNUSUAL[name]
        return make_campaign(
            domain, TERMS, CampaignRequest(epsilon=3, mechanism="direct", view=view, jointly=True)
        )
    mechanism, view_name, how = name.split()
    wish = CampaignRequest(**MECHANISMS[mechanism], view=VIEWS[view_name], jointly=how == "jointly")  # type: ignore[arg-type]
    return make_campaign(MIXED, TERMS, wish)


class Seeded(Randomness):
    """The client's draws from a fixed stream."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.take = random.Random(seed).randbytes  # type: ignore[method-assign]


@cache
def reports_of(name: str) -> tuple[Report, ...]:
    """One client's report after the other, each of another record and day."""
    campaign, draws, randomness = campaign_of(name), random.Random(SEED), Seeded(SEED)
    records = [[draws.randrange(size) for size in campaign.domain.sizes] for _ in range(N)]
    return tuple(
        randomized(
            campaign,
            record,
            report_id=randomness.take(16),
            slot=DAYS[i % len(DAYS)],
            randomness=randomness,
        )
        for i, record in enumerate(records)
    )


@cache
def wires_of(name: str) -> tuple[bytes, ...]:
    return tuple(report.to_bytes() for report in reports_of(name))


def batch_of(name: str) -> ReportBatch:
    return ReportBatch.from_reports(reports_of(name), campaign_of(name))


def wires_in(batch: ReportBatch) -> list[bytes]:
    return [batch.report(i).to_bytes() for i in range(len(batch))]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# ---- single reports


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_gives_back_every_report_that_it_was_made_of(name: str) -> None:
    assert wires_in(batch_of(name)) == list(wires_of(name))


@pytest.mark.parametrize("name", EVERY)
def test_every_report_of_a_batch_passes_the_checks_of_a_single_one(name: str) -> None:
    batch = batch_of(name)
    again = [
        Report.from_bytes(batch.report(i).to_bytes(), campaign_of(name)) for i in range(len(batch))
    ]
    assert again == list(reports_of(name))


@pytest.mark.parametrize("name", EVERY)
def test_framed_bytes_are_those_of_the_single_reports(name: str) -> None:
    assert framed_bytes(batch_of(name)) == framed(wires_of(name))


@pytest.mark.parametrize("name", EVERY)
def test_wire_bytes_become_the_same_batch(name: str) -> None:
    batch = from_frames(list(wires_of(name)), campaign_of(name))
    assert wires_in(batch) == list(wires_of(name)) and batch.refused == {}


@pytest.mark.parametrize("name", ["invited-bloom-all", "invited-direct-pairs"])
def test_reports_of_invited_people_are_read_without_their_signatures(name: str) -> None:
    golden = json.loads(VECTORS.read_text(encoding="ascii"))
    text = next(item["text"] for item in golden["campaigns"] if item["campaign"] == name)
    campaign = Campaign.from_bytes(text.encode())
    items = [item for item in golden["signed_reports"] if item["campaign"] == name]
    wires = [bytes.fromhex(item["bytes"]) for item in items]
    unsigned = [wire[:-256] for wire in wires]
    batch = from_frames([*wires, wires[0][:-1], wires[0] + b"\0", unsigned[0]], campaign)
    assert wires_in(batch) == unsigned
    assert batch.refused == {Reason.LENGTH: 3}
    with pytest.raises(NeedsReports, match="carry signatures, which a batch does not keep"):
        framed_bytes(batch)


def test_a_batch_names_only_views_that_can_be_drawn_in_order() -> None:
    batch = batch_of("direct sample jointly")
    assert list(batch.views) == sorted(set(batch.views)) and all(
        len(view) == 2 for view in batch.views
    )


# ---- files


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
def test_reports_that_are_written_and_read_are_the_same_bytes(
    tmp_path: Path, name: str, file: str
) -> None:
    batch_of(name).save(tmp_path / file)
    back = ReportBatch.load(tmp_path / file, campaign_of(name))
    assert wires_in(back) == list(wires_of(name)) and back.refused == {}


@pytest.mark.parametrize("name", EVERY)
def test_a_parquet_file_brings_its_own_campaign(tmp_path: Path, name: str) -> None:
    batch_of(name).save(tmp_path / "reports.parquet")
    back = ReportBatch.load(tmp_path / "reports.parquet")
    assert back.campaign == campaign_of(name) and wires_in(back) == list(wires_of(name))


@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
def test_reports_that_are_read_and_written_make_the_same_file(tmp_path: Path, file: str) -> None:
    campaign = campaign_of("direct fill jointly")
    batch_of("direct fill jointly").save(tmp_path / file)
    ReportBatch.load(tmp_path / file, campaign).save(tmp_path / f"again.{file}")
    assert (tmp_path / file).read_bytes() == (tmp_path / f"again.{file}").read_bytes()


def test_a_framed_file_is_the_single_reports_behind_their_lengths(tmp_path: Path) -> None:
    batch_of("subset sample jointly").save(tmp_path / "reports.bin")
    assert (tmp_path / "reports.bin").read_bytes() == framed(wires_of("subset sample jointly"))


def test_a_parquet_file_holds_id_slot_view_and_payload_as_on_the_wire(tmp_path: Path) -> None:
    batch_of("direct fill jointly").save(tmp_path / "reports.parquet")
    rows = pa.parquet.read_table(tmp_path / "reports.parquet").to_pylist()
    reports = reports_of("direct fill jointly")
    assert rows == [
        {"id": r.id, "slot": r.slot, "view": r.mask, "payload": r.payload} for r in reports
    ]


def test_a_parquet_file_names_its_campaign_and_carries_it(tmp_path: Path) -> None:
    batch_of("direct fill jointly").save(tmp_path / "reports.parquet")
    metadata = pa.parquet.read_schema(tmp_path / "reports.parquet").metadata
    campaign = campaign_of("direct fill jointly")
    assert metadata[b"lopub.campaign_id"].decode() == campaign.id
    assert metadata[b"lopub.campaign"] == campaign.canonical_bytes


@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
def test_a_slice_is_written_without_its_surroundings(tmp_path: Path, file: str) -> None:
    name = "direct fill jointly"
    batch_of(name)[10:30].save(tmp_path / file)
    assert wires_in(ReportBatch.load(tmp_path / file, campaign_of(name))) == list(
        wires_of(name)[10:30]
    )


@pytest.mark.parametrize(
    "name", ["bloom all separately", "direct fill jointly", "subset sample separately"]
)
@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
@pytest.mark.parametrize("block", [1, 7, N, N + 1])
def test_a_walk_in_blocks_meets_every_report_once_and_in_order(
    tmp_path: Path, name: str, file: str, block: int
) -> None:
    batch_of(name).save(tmp_path / file)
    blocks = list(walk_reports(tmp_path / file, campaign_of(name), block=block))
    assert [len(each) for each in blocks] == [block] * (N // block) + (
        [N % block] if N % block else []
    )
    assert [wire for each in blocks for wire in wires_in(each)] == list(wires_of(name))


@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
def test_a_walk_in_blocks_refuses_as_many_as_reading_at_once(tmp_path: Path, file: str) -> None:
    name = "direct sample jointly"
    write_damaged(tmp_path / file, name)
    walked = sum(
        (
            Counter(block.refused)
            for block in walk_reports(tmp_path / file, campaign_of(name), block=7)
        ),
        Counter(),
    )
    assert (
        walked == ReportBatch.load(tmp_path / file, campaign_of(name)).refused == {Reason.VIEW: 10}
    )


def write_damaged(path: Path, name: str) -> None:
    """A file in which the first ten reports claim a view that nobody can draw."""
    reports = [
        Report(**{**vars(report), "mask": b"\x07"}) if i < 10 else report
        for i, report in enumerate(reports_of(name))
    ]
    if path.suffix == ".bin":
        path.write_bytes(framed(report.to_bytes() for report in reports))
        return
    batch_of(name).save(path)
    table = pa.parquet.read_table(path)
    views = pa.array([report.mask for report in reports], pa.binary())
    pa.parquet.write_table(table.set_column(2, "view", views), path)


def test_batches_are_written_one_behind_the_other(tmp_path: Path) -> None:
    name, batch = "subset listed jointly", batch_of("subset listed jointly")
    n = save_reports(
        tmp_path / "reports.parquet",
        campaign_of(name),
        (batch[start : start + 25] for start in (0, 25, 50)),
    )
    assert n == N and wires_in(ReportBatch.load(tmp_path / "reports.parquet")) == list(
        wires_of(name)
    )


def test_a_file_may_have_many_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopub.reports.batch.report_files.BLOCK_REPORTS", 16)
    batch_of("direct fill jointly").save(tmp_path / "reports.parquet")
    assert pa.parquet.ParquetFile(tmp_path / "reports.parquet").num_row_groups == 4
    assert wires_in(ReportBatch.load(tmp_path / "reports.parquet")) == list(
        wires_of("direct fill jointly")
    )


@pytest.mark.parametrize(
    "name", ["bloom all separately", "direct fill jointly", "subset sample separately"]
)
@pytest.mark.parametrize("file", ["reports.parquet", "reports.bin"])
def test_a_batch_without_reports_is_written_and_read(tmp_path: Path, name: str, file: str) -> None:
    ReportBatch.from_reports([], campaign_of(name)).save(tmp_path / file)
    assert len(ReportBatch.load(tmp_path / file, campaign_of(name))) == 0


# ---- some of the reports

ROWS = [slice(0, 0), slice(3, 9), slice(None, None, -7), np.array([5, 5, 0]), np.arange(N) % 3 == 0]


@pytest.mark.parametrize(
    "name",
    ["bloom all separately", "direct fill jointly", "subset sample separately", "direct many"],
)
@pytest.mark.parametrize("rows", ROWS, ids=["none", "run", "backwards", "places", "mask"])
def test_some_of_the_reports_are_the_single_ones_at_their_places(
    name: str, rows: slice | np.ndarray
) -> None:
    expected = [wires_of(name)[i] for i in np.arange(N)[rows]]
    assert wires_in(batch_of(name)[rows]) == expected


@pytest.mark.parametrize(
    "name",
    ["bloom all separately", "direct fill jointly", "subset sample separately", "direct many"],
)
def test_batches_one_behind_the_other_hold_the_reports_of_all(name: str) -> None:
    batch = batch_of(name)
    parts = [batch[:1], batch[20:], ReportBatch.from_reports([], campaign_of(name)), batch[1:20]]
    wires = wires_of(name)
    assert wires_in(ReportBatch.concatenated(parts)) == [*wires[:1], *wires[20:], *wires[1:20]]


def test_refused_reports_of_batches_add_up() -> None:
    name = "direct sample jointly"
    campaign, wire = campaign_of(name), wires_of(name)[0]
    parts = [
        from_frames([b"", wire], campaign),
        from_frames([b"", b"\x09" + wire[1:]], campaign),
        from_frames([wire], campaign),
    ]
    assert ReportBatch.concatenated(parts).refused == {Reason.LENGTH: 2, Reason.VERSION: 1}


def test_batches_of_different_campaigns_do_not_go_together() -> None:
    with pytest.raises(
        DomainError, match=r"^batches of different campaigns cannot be concatenated$"
    ):
        ReportBatch.concatenated(
            [batch_of("direct all jointly"), batch_of("direct sample jointly")]
        )


def test_no_batches_at_all_make_none() -> None:
    with pytest.raises(DomainError, match=r"^no batches to concatenate$"):
        ReportBatch.concatenated([])


TAKE = "batch.packed.Packed.take: equal lengths of the taken strings and a fitting sum do not mean that all lengths are equal"


def test_taken_strings_are_the_ones_at_their_places() -> None:
    for lengths in product(range(4), repeat=4):
        packed = Packed.from_lengths(
            np.arange(sum(lengths), dtype=np.uint8), np.array(lengths, dtype=np.int64)
        )
        for rows in ([0], [1], [2], [3], [3, 1], [2, 0, 2], [0, 1, 2, 3], []):
            taken = packed.take(np.array(rows, dtype=np.int64))
            assert [taken.string(i) for i in range(len(taken))] == [
                packed.string(row) for row in rows
            ]


def test_a_report_is_itself_among_reports_of_other_lengths() -> None:
    """Lengths 1, 2, 3, 2: two bytes on average, but the second string does not start at byte 2."""
    by_length = {len(report.payload): report for report in reports_of("direct spread")}
    reports = [by_length[length] for length in (1, 2, 3, 2)]
    batch = ReportBatch.from_reports(reports, campaign_of("direct spread"))
    assert wires_in(batch[1:2]) == [reports[1].to_bytes()]


# ---- blocks


def block_names(name: str) -> list[tuple[str, ...]]:
    """Every block that some report carries."""
    campaign = campaign_of(name)
    views = {report.view(campaign) for report in reports_of(name)}
    blocks = views if campaign.jointly else {(position,) for view in views for position in view}
    return [
        tuple(campaign.domain.names[position] for position in block) for block in sorted(blocks)
    ]


def single_bits(name: str, block: tuple[str, ...]) -> dict[int, list[int]]:
    """Report -> the bits of one block, as the single report gives them."""
    campaign, positions, found = campaign_of(name), campaign_of(name).domain.positions(block), {}
    for i, report in enumerate(reports_of(name)):
        view = report.view(campaign)
        blocks = [view] if campaign.jointly else [(position,) for position in view]
        if positions in blocks:
            at = blocks.index(positions)
            output, width = report.outputs(campaign)[at], campaign.channels(view)[at].width
            found[i] = [output >> bit & 1 for bit in range(width)]
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("direct")])
def test_the_bits_of_a_block_are_the_outputs_of_the_single_reports(name: str) -> None:
    batch = batch_of(name)
    for block in block_names(name):
        found = batch.bits(block[0] if len(block) == 1 else block)
        assert dict(zip(found.rows.tolist(), found.bits.tolist(), strict=True)) == single_bits(
            name, block
        )


def test_a_block_may_be_named_in_any_order() -> None:
    batch = batch_of("subset sample jointly")
    assert np.array_equal(batch.bits(("a", "b")).bits, batch.bits(("b", "a")).bits)


@pytest.mark.parametrize(
    "name",
    [name for name in EVERY if name.startswith("direct") and not name.endswith("separately")],
)
def test_the_cells_of_a_batch_are_the_outputs_of_the_single_reports(name: str) -> None:
    campaign = campaign_of(name)
    expected = []
    for report in reports_of(name):
        channel = campaign.channels(report.view(campaign))[0]
        assert isinstance(channel, DirectChannel)
        expected.append(channel.cell(*report.outputs(campaign)))
    assert batch_of(name).cells().tolist() == expected


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("subset sample separately", ("a", "b")),
        ("subset sample jointly", ("a",)),
        ("subset sample jointly", ("a", "b", "c")),
    ],
)
def test_a_block_that_no_report_carries_is_refused(name: str, block: tuple[str, ...]) -> None:
    with pytest.raises(DomainError, match=f"no report carries {', '.join(block)} as one block"):
        batch_of(name).bits(block)


def test_numbers_have_no_bits() -> None:
    with pytest.raises(
        DomainError, match="mechanism 'direct' sends numbers, not bits; see `cells`"
    ):
        batch_of("direct all separately").bits("a")


@pytest.mark.parametrize("name", ["unary", "direct"])
def test_bits_and_separate_numbers_have_no_cells(name: str) -> None:
    with pytest.raises(DomainError):
        batch_of("symmetric all separately" if name == "unary" else "direct all separately").cells()


EMPTY = "batch.packed.Packed.matrix cannot reshape no strings to (0, -1)"


def test_a_slice_in_which_a_view_is_not_met_still_has_its_bits() -> None:
    batch = batch_of("subset sample separately")
    carrying = int(batch.bits("a").rows[0])
    found = batch[carrying : carrying + 1].bits("a")
    assert found.bits.tolist() == [single_bits("subset sample separately", ("a",))[carrying]]


def test_a_slice_without_reports_has_no_rows_of_bits() -> None:
    assert batch_of("subset sample separately")[:0].bits("a").bits.shape == (0, 3)


# ---- damaged reports


def verdict(frame: bytes, campaign: Campaign) -> Reason | None:
    """What the single report says."""
    try:
        Report.from_bytes(frame, campaign)
    except ReportRejected as error:
        return error.reason
    return None


def check_as_one_by_one(frames: list[bytes], campaign: Campaign) -> Counter[Reason]:
    """Assert that a batch keeps and refuses what single reports would; the refused ones by reason."""
    verdicts = [verdict(frame, campaign) for frame in frames]
    refused = Counter(reason for reason in verdicts if reason is not None)
    batch = from_frames(frames, campaign)
    assert wires_in(batch) == [
        frame for frame, reason in zip(frames, verdicts, strict=True) if reason is None
    ]
    assert dict(batch.refused) == dict(refused)
    return refused


def with_slot(wire: bytes, slot: int) -> bytes:
    return wire[:25] + slot.to_bytes(4) + wire[29:]


def with_mask(wire: bytes, campaign: Campaign, bits: int) -> bytes:
    return (
        wire[:HEADER_BYTES]
        + bits.to_bytes(campaign.mask_bytes, "little")
        + wire[HEADER_BYTES + campaign.mask_bytes :]
    )


def with_payload(wire: bytes, campaign: Campaign, byte: int) -> bytes:
    start = HEADER_BYTES + campaign.mask_bytes
    return wire[:start] + bytes([byte]) * (len(wire) - start)


Damage = Callable[[bytes, Campaign], bytes]
DAMAGES: list[tuple[Reason, str, Damage]] = [
    (Reason.LENGTH, "bloom all separately", lambda wire, campaign: b""),
    (Reason.LENGTH, "bloom all separately", lambda wire, campaign: wire[:HEADER_BYTES]),
    (Reason.LENGTH, "bloom all separately", lambda wire, campaign: wire[:-1]),
    (Reason.LENGTH, "bloom all separately", lambda wire, campaign: wire + b"\0"),
    (Reason.LENGTH, "subset sample jointly", lambda wire, campaign: wire[:HEADER_BYTES]),
    (Reason.LENGTH, "direct fill jointly", lambda wire, campaign: wire + b"\0"),
    (Reason.LENGTH, "direct fill jointly", lambda wire, campaign: wire[: HEADER_BYTES + 1]),
    (Reason.VERSION, "direct sample jointly", lambda wire, campaign: b"\0" + wire[1:]),
    (Reason.VERSION, "direct sample jointly", lambda wire, campaign: b"\2" + wire[1:]),
    (
        Reason.CAMPAIGN,
        "direct sample jointly",
        lambda wire, campaign: wire[:8] + bytes([wire[8] ^ 1]) + wire[9:],
    ),
    (Reason.SLOT, "direct sample jointly", lambda wire, campaign: with_slot(wire, DAYS[0] - 1)),
    (Reason.SLOT, "direct sample jointly", lambda wire, campaign: with_slot(wire, DAYS[-1] + 1)),
    (Reason.SLOT, "bloom all separately", lambda wire, campaign: with_slot(wire, 2**32 - 1)),
    (Reason.VIEW, "direct sample jointly", lambda wire, campaign: with_mask(wire, campaign, 0)),
    (
        Reason.VIEW,
        "direct sample jointly",
        lambda wire, campaign: with_mask(wire, campaign, 0b0111),
    ),
    (
        Reason.VIEW,
        "direct sample jointly",
        lambda wire, campaign: with_mask(wire, campaign, 0b0011_0000),
    ),
    (
        Reason.VIEW,
        "direct sample jointly",
        lambda wire, campaign: with_mask(wire, campaign, 0b0001_0001),
    ),
    (
        Reason.VIEW,
        "subset listed separately",
        lambda wire, campaign: with_mask(wire, campaign, 0b0101),
    ),
    (Reason.VIEW, "direct fill jointly", lambda wire, campaign: with_mask(wire, campaign, 0b0101)),
    (Reason.VIEW, "direct fill jointly", lambda wire, campaign: with_mask(wire, campaign, 0b1111)),
    (Reason.VIEW, "direct many", lambda wire, campaign: with_mask(wire, campaign, 0b11 << 70)),
    (Reason.VIEW, "direct many", lambda wire, campaign: with_mask(wire, campaign, 1 << 69)),
    (Reason.VIEW, "direct many", lambda wire, campaign: with_mask(wire, campaign, 1 << 70 | 1)),
    (
        Reason.PADDING,
        "bloom all separately",
        lambda wire, campaign: wire[:-1] + bytes([wire[-1] | 1 << 4]),
    ),
    (
        Reason.PADDING,
        "bloom fill jointly",
        lambda wire, campaign: wire[:-1] + bytes([wire[-1] | 1 << 7]),
    ),
    (
        Reason.PADDING,
        "optimized all separately",
        lambda wire, campaign: wire[:-1] + bytes([wire[-1] | 1 << 2]),
    ),
    (Reason.RANGE, "direct all jointly", lambda wire, campaign: with_payload(wire, campaign, 0xFF)),
    (Reason.RANGE, "direct all separately", lambda wire, campaign: wire[:-1] + b"\5"),
    (
        Reason.RANGE,
        "direct sample jointly",
        lambda wire, campaign: with_payload(wire, campaign, 0xFF),
    ),
    (
        Reason.RANGE,
        "direct fill jointly",
        lambda wire, campaign: with_payload(wire, campaign, 0xFF),
    ),
    (
        Reason.WEIGHT,
        "subset all jointly",
        lambda wire, campaign: with_payload(wire, campaign, 0xFF),
    ),
    (Reason.WEIGHT, "subset all jointly", lambda wire, campaign: with_payload(wire, campaign, 0)),
    (
        Reason.WEIGHT,
        "subset all separately",
        lambda wire, campaign: with_payload(wire, campaign, 0),
    ),
    (
        Reason.WEIGHT,
        "subset sample separately",
        lambda wire, campaign: with_payload(wire, campaign, 0),
    ),
]


@pytest.mark.parametrize(
    ("reason", "name", "damage"), DAMAGES, ids=lambda part: "" if callable(part) else str(part)
)
def test_every_third_report_is_refused_for_its_damage_and_the_rest_kept(
    reason: Reason, name: str, damage: Damage
) -> None:
    campaign = campaign_of(name)
    frames = [
        damage(wire, campaign) if i % 3 == 0 else wire for i, wire in enumerate(wires_of(name))
    ]
    assert check_as_one_by_one(frames, campaign) == {reason: N // 3}


def test_every_reason_but_those_of_the_json_twin_and_of_a_collector_is_tried() -> None:
    assert {reason for reason, _, _ in DAMAGES} == set(Reason) - {
        Reason.JSON,
        Reason.CONFLICT,
        Reason.WITHDRAWN,
    }


def test_reports_of_the_first_and_of_the_last_day_are_kept() -> None:
    wire = wires_of("direct sample jointly")[0]
    frames = [with_slot(wire, day) for day in (DAYS[0], DAYS[-1])]
    assert check_as_one_by_one(frames, campaign_of("direct sample jointly")).total() == 0


@pytest.mark.parametrize("n_bits", range(9, 17))
def test_every_padding_bit_must_be_zero_and_every_other_bit_may_be_one(n_bits: int) -> None:
    wish = CampaignRequest(
        flip_probability="0.5", mechanism="unary", view=AllAttributes(), jointly=False
    )
    campaign = make_campaign(integers(n_bits), TERMS, wish)
    head = bytes([1]) + campaign.prefix + bytes(16) + DAYS[0].to_bytes(4)
    frames = [head + (1 << bit).to_bytes(2, "little") for bit in range(16)]
    assert check_as_one_by_one(frames, campaign) == Counter(
        {Reason.PADDING: 16 - n_bits} if n_bits < 16 else {}
    )


@pytest.mark.parametrize("payload", [b"\xff" * 8, b"\x80" + bytes(7), b"\x8f" + b"\xff" * 7])
def test_a_number_of_eight_bytes_above_every_cell_is_refused(payload: bytes) -> None:
    wire = wires_of("direct huge")[0]
    assert check_as_one_by_one([wire, wire[:-8] + payload], campaign_of("direct huge")) == {
        Reason.RANGE: 1
    }


def test_damaged_reports_of_every_kind_leave_a_batch_without_reports() -> None:
    name = "subset sample separately"
    campaign, wire = campaign_of(name), wires_of(name)[0]
    frames = [
        b"",
        b"\2" + wire[1:],
        with_slot(wire, 0),
        with_mask(wire, campaign, 0),
        with_payload(wire, campaign, 0),
    ]
    assert check_as_one_by_one(frames, campaign).total() == 5


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """A report with up to two slips of any kind."""
    campaign, wire = campaign_of(name), draw(st.sampled_from(wires_of(name)))
    for slip in draw(
        st.lists(st.sampled_from(["flip", "cut", "more", "slot", "mask", "payload"]), max_size=2)
    ):
        if slip == "flip" and wire:
            at = draw(st.integers(0, 8 * len(wire) - 1))
            wire = wire[: at // 8] + bytes([wire[at // 8] ^ 1 << at % 8]) + wire[at // 8 + 1 :]
        elif slip == "cut":
            wire = wire[: draw(st.one_of(st.integers(-3, -1), st.integers(0, len(wire))))]
        elif slip == "more":
            wire += draw(st.binary(min_size=1, max_size=3))
        elif slip == "slot" and len(wire) > HEADER_BYTES:
            wire = with_slot(
                wire,
                draw(st.sampled_from([0, DAYS[0] - 1, DAYS[0], DAYS[-1], DAYS[-1] + 1, 2**32 - 1])),
            )
        elif slip == "mask" and campaign.mask_bytes:
            wire = with_mask(
                wire, campaign, draw(st.integers(0, 2 ** (8 * campaign.mask_bytes) - 1))
            )
        elif slip == "payload":
            wire = with_payload(wire, campaign, draw(st.integers(0, 255)))
    return wire


frames_of_a_campaign = st.sampled_from(EVERY).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(damaged(name), max_size=8))
)


@settings(SETTLED, max_examples=500 if tiers.FULL else 100)
@given(frames_of_a_campaign)
def test_a_batch_refuses_what_single_reports_refuse_for_the_same_reasons(
    drawn: tuple[str, list[bytes]],
) -> None:
    name, frames = drawn
    check_as_one_by_one(frames, campaign_of(name))


@pytest.mark.parametrize(
    "name", ["bloom all separately", "direct all jointly", "subset all separately"]
)
def test_a_report_too_long_beside_one_too_short_does_no_harm_to_a_third(name: str) -> None:
    """Whoever sends two such reports must not be able to spoil those of others in the same batch."""
    wire = wires_of(name)[0]
    assert check_as_one_by_one([wire + b"\xff", wire, wire[:-1]], campaign_of(name)) == {
        Reason.LENGTH: 2
    }


# ---- damaged files


def parquet_of(path: Path, name: str = "direct sample jointly", **columns: pa.Array) -> Path:
    """A Parquet file of reports with some columns replaced."""
    batch_of(name).save(path)
    table = pa.parquet.read_table(path)
    changed = {each: columns.get(each, table[each]) for each in table.column_names}
    pa.parquet.write_table(pa.table(changed).replace_schema_metadata(table.schema.metadata), path)
    return path


def test_a_parquet_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = parquet_of(tmp_path / "reports.parquet")
    whole = path.read_bytes()
    for length in range(4, len(whole), len(whole) // 40):
        path.write_bytes(whole[:length])
        with pytest.raises(
            StoreError, match=r"reports\.parquet is a damaged or cut-off Parquet file"
        ):
            ReportBatch.load(path)


def test_a_parquet_file_with_a_changed_bit_is_refused_in_one_sentence_or_read(
    tmp_path: Path,
) -> None:
    """Parquet does not notice every changed bit. What it notices is told by us, never by a traceback of pyarrow."""
    path, draws = parquet_of(tmp_path / "reports.parquet"), random.Random(SEED)
    whole = path.read_bytes()
    for _ in range(200):
        at = draws.randrange(32, 8 * len(whole))
        path.write_bytes(
            whole[: at // 8] + bytes([whole[at // 8] ^ 1 << at % 8]) + whole[at // 8 + 1 :]
        )
        with contextlib.suppress(LopubError):
            batch = ReportBatch.load(path)
            assert check_as_one_by_one(wires_in(batch), batch.campaign).total() == 0


def test_a_parquet_file_of_another_campaign_is_refused(tmp_path: Path) -> None:
    mine, theirs = campaign_of("direct all jointly"), campaign_of("direct sample jointly")
    path = parquet_of(tmp_path / "reports.parquet")
    with pytest.raises(CampaignError) as refusal:
        ReportBatch.load(path, mine)
    assert (
        str(refusal.value)
        == f"{path} holds reports of campaign {theirs.id[:16]}…, not of {mine.id[:16]}…"
    )


def test_a_framed_file_of_another_campaign_counts_every_report_as_refused(tmp_path: Path) -> None:
    batch_of("direct sample jointly").save(tmp_path / "reports.bin")
    batch = ReportBatch.load(tmp_path / "reports.bin", campaign_of("direct all jointly"))
    assert len(batch) == 0 and batch.refused == {Reason.CAMPAIGN: N}


def test_a_parquet_file_of_something_else_is_refused(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"id": [1], "slot": [2]}), tmp_path / "other.parquet")
    with pytest.raises(
        StoreError, match=r"other\.parquet is a Parquet file, but not one of reports"
    ):
        ReportBatch.load(tmp_path / "other.parquet")


@pytest.mark.parametrize("read", [ReportBatch.load, load_counts, _read_parquet, parquet_texts])
def test_a_parquet_file_with_a_name_that_is_not_text_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    """Found by the fuzzer: pyarrow reads such a file, and stumbles over the name later."""
    path = tmp_path / "odd.parquet"
    pa.parquet.write_table(pa.table({"abcd": [1]}), path)
    path.write_bytes(path.read_bytes().replace(b"abcd", b"ab\xffd"))
    assert not is_counts(path)
    with pytest.raises(StoreError, match=r"odd\.parquet is"):
        read(path)


@pytest.mark.parametrize(
    "metadata",
    [{b"lopub.campaign": b"{}"}, {b"lopub.campaign": b""}, {b"lopub.campaign_id": b"ab" * 32}],
)
def test_a_parquet_file_whose_campaign_was_changed_is_refused(
    tmp_path: Path, metadata: dict[bytes, bytes]
) -> None:
    path = parquet_of(tmp_path / "reports.parquet")
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(
        table.replace_schema_metadata({**table.schema.metadata, **metadata}), path
    )
    with pytest.raises(
        CampaignError,
        match=r"this is not campaign .*: its bytes were changed, or it is another campaign",
    ):
        ReportBatch.load(path)


TYPES = "batch.files._campaign_of looks at the columns' names, not at their types"


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", pa.array([bytes(16)] * N, pa.binary())),
        ("id", pa.array([bytes(8)] * N, pa.binary(8))),
        ("slot", pa.array([-1] * N, pa.int64())),
        ("slot", pa.array(["day"] * N)),
        ("view", pa.array(["\3"] * N)),
        ("payload", pa.array([b"\0"] * N, pa.large_binary())),
        ("payload", pa.array([1] * N)),
    ],
    ids=lambda part: part if isinstance(part, str) else str(part.type),
)
def test_a_parquet_file_with_a_column_of_another_type_is_refused(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    with pytest.raises(
        StoreError, match=r"reports\.parquet is a Parquet file, but not one of reports"
    ):
        ReportBatch.load(parquet_of(tmp_path / "reports.parquet", **{column: values}))


@pytest.mark.parametrize("column", ["id", "slot", "view", "payload"])
def test_a_parquet_file_with_a_gap_is_refused(tmp_path: Path, column: str) -> None:
    batch_of("direct sample jointly").save(tmp_path / "whole.parquet")
    kept = pa.parquet.read_table(tmp_path / "whole.parquet")[column].combine_chunks()
    gap = pa.concat_arrays([pa.nulls(1, kept.type), kept[1:]])
    with pytest.raises(StoreError, match="has a field without a value"):
        ReportBatch.load(parquet_of(tmp_path / "reports.parquet", **{column: gap}))


@pytest.mark.parametrize("mask", [b"", b"\3\0"])
def test_a_view_mask_of_another_length_is_a_view_that_nobody_draws(
    tmp_path: Path, mask: bytes
) -> None:
    masks = [
        mask if i < 20 else report.mask
        for i, report in enumerate(reports_of("direct sample jointly"))
    ]
    batch = ReportBatch.load(
        parquet_of(tmp_path / "reports.parquet", view=pa.array(masks, pa.binary()))
    )
    assert batch.refused == {Reason.VIEW: 20} and wires_in(batch) == list(
        wires_of("direct sample jointly")[20:]
    )


@pytest.mark.parametrize("mask", [b"", b"\3\0"])
def test_a_parquet_file_without_a_single_mask_of_the_right_length_is_read_as_refused(
    tmp_path: Path, mask: bytes
) -> None:
    batch = ReportBatch.load(
        parquet_of(tmp_path / "reports.parquet", view=pa.array([mask] * N, pa.binary()))
    )
    assert len(batch) == 0 and batch.refused == {Reason.VIEW: N}


def test_a_framed_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    """As a Parquet file is: nobody knows how many more reports there were."""
    name = "direct fill jointly"
    whole, last = framed(wires_of(name)), len(wires_of(name)[-1]) + 2
    for left in range(1, last):
        (tmp_path / "reports.bin").write_bytes(whole[: len(whole) - last + left])
        with pytest.raises(
            StoreError, match=r"reports\.bin is a damaged or cut-off file of framed reports"
        ):
            ReportBatch.load(tmp_path / "reports.bin", campaign_of(name))


def test_a_framed_file_needs_its_campaign(tmp_path: Path) -> None:
    batch_of("direct sample jointly").save(tmp_path / "reports.bin")
    with pytest.raises(
        CampaignError,
        match=r"reports\.bin is not a Parquet file, so it does not say which campaign it is of",
    ):
        ReportBatch.load(tmp_path / "reports.bin")


def test_an_empty_file_holds_no_reports(tmp_path: Path) -> None:
    (tmp_path / "reports.bin").write_bytes(b"")
    batch = ReportBatch.load(tmp_path / "reports.bin", campaign_of("direct sample jointly"))
    assert len(batch) == 0 and batch.refused == {}


def test_a_file_that_is_not_there_is_refused_before_it_is_walked(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"cannot read reports .*reports\.bin: No such file or directory"
    ):
        walk_reports(tmp_path / "reports.bin", campaign_of("direct sample jointly"))


def test_a_directory_is_no_file_of_reports(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read reports .*: Is a directory"):
        ReportBatch.load(tmp_path)


# ---- output appears whole or not at all


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FILES = ["reports.parquet", "reports.bin"]
FULL = [
    ("reports.parquet", "lopub.files.os.fsync"),
    ("reports.bin", "lopub.files.os.fsync"),
    ("reports.parquet", "pyarrow.parquet.ParquetWriter.write_table"),
    ("reports.bin", "lopub.reports.batch.report_files.framed_bytes"),
]


@pytest.mark.parametrize("file", FILES)
def test_output_that_exists_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(b"theirs")
    with pytest.raises(
        StoreError, match=f"{file} exists already; choose another name or use force=True"
    ):
        batch_of("direct sample jointly").save(tmp_path / file)
    assert (tmp_path / file).read_bytes() == b"theirs" and names_in(tmp_path) == [file]


@pytest.mark.parametrize("file", FILES)
def test_output_that_exists_is_replaced_where_forced(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(b"theirs")
    batch_of("direct sample jointly").save(tmp_path / file, force=True)
    assert len(
        ReportBatch.load(tmp_path / file, campaign_of("direct sample jointly"))
    ) == N and names_in(tmp_path) == [file]


@pytest.mark.parametrize(("file", "broken"), FULL)
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, broken: str
) -> None:
    monkeypatch.setattr(broken, full_disk)
    with pytest.raises(StoreError, match=f"cannot write .*{file}: No space left on device"):
        batch_of("direct sample jointly").save(tmp_path / file)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("file", FILES)
def test_a_source_that_fails_halfway_leaves_nothing_behind(tmp_path: Path, file: str) -> None:
    def halfway() -> Iterator[ReportBatch]:
        yield batch_of("direct sample jointly")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save_reports(tmp_path / file, campaign_of("direct sample jointly"), halfway())
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("file", FILES)
def test_reports_of_another_campaign_are_not_written(tmp_path: Path, file: str) -> None:
    with pytest.raises(LopubError, match="campaign"):
        save_reports(
            tmp_path / file, campaign_of("direct all jointly"), [batch_of("direct sample jointly")]
        )


# ---- reports whose ids are known by their hashes only


def test_hashed_ids_fall_into_the_same_folds_and_order() -> None:
    ids = np.random.default_rng(1).integers(0, 256, (1000, 16), dtype=np.uint8)
    hashes = hashes_of(ids)
    assert hashes[7].tobytes() == hashlib.sha256(ids[7].tobytes()).digest()
    assert (digests_of(hashes) == digests_of(ids)).all()
    assert (order_of(hashes, digests_of(hashes)) == order_of(ids, digests_of(ids))).all()


def test_equal_digests_are_ordered_by_the_whole_hash() -> None:
    ids = np.random.default_rng(1).integers(0, 256, (50, 16), dtype=np.uint8)
    hashes = hashes_of(ids)
    expected = sorted(range(50), key=lambda row: hashes[row].tobytes())
    assert order_of(ids, np.zeros(50, dtype=np.uint64)).tolist() == expected
    assert order_of(hashes, np.zeros(50, dtype=np.uint64)).tolist() == expected
