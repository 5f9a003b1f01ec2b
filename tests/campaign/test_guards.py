"""Guards against hostile or careless input that no other file trips."""

import errno
import json
import os
from pathlib import Path

import pytest

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Client,
    Domain,
    DomainError,
    IntegerRange,
    MemoryStore,
    Reason,
    Report,
    ReportRejected,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Bloom
from lopub.campaign.mechanisms.bloom import MOST_COMPARED, BloomChannel
from lopub.campaign.report import framed, unframed
from lopub.files import write_whole

PAIR = Domain((Boolean(name="a"), Boolean(name="b")))


def campaign(**wish: object) -> Campaign:
    return make_campaign(PAIR, Terms(name="guards"), CampaignRequest(**wish))


def test_a_filter_of_more_than_64_hashes_is_refused_before_it_is_derived():
    """A campaign of a few bytes could otherwise keep a client busy for hours."""
    with pytest.raises(CampaignError, match="hashes must be at most 64, got 65535"):
        Bloom({1: UNIT // 4}, 65536, 65535)


@pytest.mark.parametrize(("extra", "expected"), [(0, 4), (1, 6)])
def test_rows_that_are_too_many_to_compare_are_taken_at_their_bound(
    extra: int, expected: int, monkeypatch: pytest.MonkeyPatch
):
    """Up to 256 candidates the largest distance is measured, above it the bound stands for it: never too small."""
    many = IntegerRange(name="n", minimum=1, maximum=MOST_COMPARED + extra)
    channel = BloomChannel((many,), 64, 3, UNIT // 4, "0")
    alike = tuple((0, 1, 2) if i % 2 else (0, 3, 4) for i in range(many.size))
    monkeypatch.setitem(channel.__dict__, "rows", alike)
    assert channel.distance == expected


def test_a_long_text_that_is_almost_a_number_is_refused():
    with pytest.raises(DomainError, match="takes a number"):
        Binned(name="x", edges=("0", "1", "2")).parse("1" * 20_000 + "x")


def test_a_twin_of_another_campaign_is_counted_as_such():
    twin = json.loads(
        Client(campaign(epsilon=1), store=MemoryStore()).encode({"a": True, "b": False}).to_json()
    )
    with pytest.raises(ReportRejected) as refusal:
        Report.from_json(json.dumps(twin), campaign(flip_probability="0.5"))
    assert refusal.value.reason is Reason.CAMPAIGN


def test_half_a_length_is_told_as_such():
    with pytest.raises(ReportRejected, match="in the middle of its length"):
        list(unframed(b"\x01"))


def test_a_report_too_long_to_frame_is_refused():
    with pytest.raises(ReportRejected, match="report has 65536 bytes"):
        framed([bytes(65_536)])


def test_any_text_may_name_a_respondent():
    assert Client(campaign(epsilon=1), store=MemoryStore(), respondent="\ud800").encode(
        {"a": True, "b": False}
    )


def test_a_record_that_is_none_is_refused():
    with pytest.raises(DomainError, match="a record must map attributes to answers, got NoneType"):
        Client(campaign(epsilon=1), store=MemoryStore()).encode(None)  # type: ignore[arg-type]


def test_an_integer_range_needs_integers():
    with pytest.raises(DomainError, match="needs an integer as minimum"):
        IntegerRange(name="x", minimum=0.5, maximum=2)  # type: ignore[arg-type]


def test_a_file_system_without_hard_links_still_refuses_to_overwrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    write_whole(tmp_path / "new", b"whole")
    assert (tmp_path / "new").read_bytes() == b"whole"
    monkeypatch.setattr(
        Path, "exists", lambda self: False
    )  # the name is taken after the first look
    with pytest.raises(StoreError, match="exists already"):
        write_whole(tmp_path / "new", b"other")
    assert (tmp_path / "new").read_bytes() == b"whole"
